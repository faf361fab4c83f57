"""What check() says of two mistakes at once: two wrong steps are named, or whatever else gives the
same numbers; and a wrong step besides what no number shows."""

import random
from itertools import combinations

import pytest
import torch
from making import explains, independent, made, student

from helpers.checks import check
from helpers.checks.exercises import CHECKED, LESSON_OF

# One of the mistakes is to use .T on a batch, of which PyTorch warns.
pytestmark = pytest.mark.filterwarnings("ignore:The use of `x.T`")

PAIRS = 8  # of each exercise


def ways_of(mistake):
    return [way for way in mistake.ways if isinstance(way, dict) and not mistake.only_if]


def pairs_of(exercise):
    """Return pairs of mistakes with ways to make both, in an order that is random and fixed."""
    known = [(m, way) for m in exercise.mistakes for way in ways_of(m)]
    pairs = [p for p in combinations(known, 2) if independent(p[0][1], p[1][1])]
    random.Random(0).shuffle(pairs)
    return pairs[:PAIRS]


WITH_PAIRS = [e for e in CHECKED.values() if not e.name.startswith("repair_") and pairs_of(e)]


@pytest.mark.parametrize(
    "exercise", [pytest.param(e, id=f"{LESSON_OF[e.name]}-{e.name}") for e in WITH_PAIRS]
)
def test_two_wrong_steps_are_named(exercise):
    named = 0
    for (one, way), (other, second) in pairs_of(exercise):
        code = made(exercise, way, second)
        verdict = check(exercise.name, student(code))
        names = {one.name, other.name}
        named += set(verdict.mistakes) == names
        # two mistakes can cancel out, or give what a simpler mistake gives, or NaN
        if not names.issuperset(verdict.mistakes):
            assert explains(exercise, verdict.mistakes, code), (names, verdict.mistakes)
    assert named


class FrozenAndOverQueries(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            matrix = torch.nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
            setattr(self, name, matrix)

    def forward(self, inputs):
        queries, keys, values = (inputs @ matrix for matrix in self.parameters())
        return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=0) @ values


def changed_and_unscaled(inputs, W_query, W_key, W_value):
    queries, keys, values = inputs @ W_query, inputs @ W_key, inputs @ W_value
    inputs[0] = 0
    return torch.softmax(queries @ keys.T, dim=-1) @ values


OVER_QUERIES = "softmax over columns"


@pytest.mark.parametrize(
    "exercise, code, names",
    [
        ("SelfAttention", FrozenAndOverQueries, ("requires_grad=False left in", OVER_QUERIES)),
        ("qkv_attention", changed_and_unscaled, ("input changed in place", "no scaling")),
    ],
    ids=["05-class", "04-function"],
)
def test_beside_what_is_no_wrong_number_another_mistake_is_named(exercise, code, names):
    verdict = check(exercise, code)
    assert verdict.mistakes == names
    assert verdict.message.startswith(f"✘ {exercise}: {names[0]}.")
    assert "another mistake;" in verdict.message and names[1] not in verdict.message


STEPS_FOR_ALL = """
def answer(model, loss, rate):
    model.zero_grad()
    before = loss(model)
    before.backward()
    with torch.no_grad():
        for matrix in model.parameters():
            matrix -= rate * matrix.grad
    return before
"""
NO_MASK = """
def answer(scores, d_k):
    return torch.softmax(scores / d_k**0.5, dim=-1)
"""


@pytest.mark.parametrize(
    "exercise, code, names",
    [("one_step", STEPS_FOR_ALL, ()), ("causal_weights", NO_MASK, ("nothing hidden",))],
    ids=["05", "06"],
)
def test_of_code_that_cannot_be_read_nothing_is_told(exercise, code, names):
    """It has a backward, and no masked_fill whose result could be lost."""
    space = {"torch": torch}
    exec(code, space)
    assert check(exercise, space["answer"]).mistakes == names
