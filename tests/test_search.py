"""What check() does with several mistakes at once: it names every wrong stage."""

import random
from itertools import combinations, product

import pytest
import torch
from making import every_way, made

from helpers.checks import check
from helpers.checks.exercises import CHECKED, LESSON_OF
from helpers.checks.results import attempt, call_ours, same
from helpers.checks.search import Search, independent

# One of the mistakes is to use .T on a batch, of which PyTorch warns.
pytestmark = pytest.mark.filterwarnings("ignore:The use of `x.T`")

PAIRS = 10  # of each exercise
STAGED = [e for e in CHECKED.values() if e.pipeline and not e.texts]


def each(exercises):
    return [pytest.param(e, id=f"{LESSON_OF[e.name]}-{e.name}") for e in exercises]


# --- the search itself ---


@pytest.mark.parametrize("exercise", each(STAGED))
def test_what_pairs_have_in_common_is_computed_once_with_the_same_result(exercise):
    search = Search(exercise, exercise.probes())
    k = next(k for k, args in enumerate(search.args) if args is not None)
    pairs = combinations(range(len(search.moves)), 2)
    pairs = [p for p in pairs if independent(*(search.moves[m].choice for m in p))]
    for pair in random.Random(0).sample(pairs, min(40, len(pairs))):
        code = exercise.pipeline.replace(*(search.moves[m].choice for m in pair))
        result = attempt(code, _with_args(exercise.probes()[k], search.args[k]), call_ours)
        if result.outcome.error is not None:
            assert pair not in search._on(k)
        else:
            assert pair in search.pairs_that_give(result.numbers, k)


def _with_args(probe, args):
    return type(probe)(probe.label, args)


# --- what is told ---


def in_stages(exercise):
    return [
        m
        for m in exercise.all_mistakes
        if m.choices and not (m.detect or m.counterfactual or m.alone)
    ]


def as_student(exercise, choices):
    """Return the answer with these choices, as code that does not show where it comes from."""
    code = made(exercise, *choices)
    return type("Student", (code,), {}) if exercise.is_class else lambda *args: code(*args)


def probes(exercise):
    """Return the probes on which a wrong answer is called."""
    return [probe for probe in exercise.probes() if not probe.if_right]


def give_the_same(exercise, one, other):
    return all(
        same(attempt(one, probe, call_ours), attempt(other, probe, call_ours))
        for probe in probes(exercise)
    )


def tells_nothing(exercise, code):
    """Is everything that it gives NaN, wherever it does not raise?"""
    results = [attempt(code, probe, call_ours) for probe in probes(exercise)]
    numbers = [result.numbers for result in results if result.numbers is not None]
    return bool(numbers) and all(x.isnan().all() for x in numbers)


def explains(exercise, names, code):
    """Can mistakes of these names together give what this code gives, on every probe?"""
    named = [[m for m in exercise.all_mistakes if m.name == name] for name in names]
    if len(names) == 1:
        ways = (way for mistake in named[0] for way in every_way(exercise, mistake))
        # A mistake that is established by an experiment has no single way.
        if any(m.detect for m in named[0]) or any(
            give_the_same(exercise, way, code) for way in ways
        ):
            return True
    choices = [[choice for mistake in some for choice in mistake.choices] for some in named]
    return any(
        independent(*chosen) and give_the_same(exercise, made(exercise, *chosen), code)
        for chosen in product(*choices)
    )


def is_right_elsewhere(exercise, choices):
    """Does it give what the right stages give, on numbers that are no probe's?"""
    wrong, right = exercise.pipeline.replace(*choices), exercise.pipeline
    generator = torch.Generator().manual_seed(7)
    for args in filter(None, map(exercise.formula_args, exercise.probes())):
        other = [
            torch.randn(x.shape, generator=generator).to(x.dtype) if torch.is_tensor(x) else x
            for x in args
        ]
        if not torch.allclose(wrong(*other), right(*other), 1e-4, 1e-5):
            return False
    return True


def assert_explained(exercise, mistakes, choices):
    verdict = check(exercise.name, as_student(exercise, choices))
    names = [mistake.name for mistake in mistakes]
    if verdict.passed:
        # Two mistakes can cancel out, such as a transpose of a transpose.
        assert is_right_elsewhere(exercise, choices), names
    elif not verdict.mistakes:
        # NaN has many causes: check() claims none that is not established.
        assert tells_nothing(exercise, made(exercise, *choices)), names
    elif set(verdict.mistakes) != set(names):
        assert 0 < len(verdict.mistakes) <= len(names), (names, verdict.mistakes)
        code = made(exercise, *choices)
        assert explains(exercise, verdict.mistakes, code), (names, verdict.mistakes)


def every_pair(exercise):
    """Return pairs of mistakes that can be made together, with ways to make them, shuffled."""
    random_ = random.Random(0)
    pairs = [
        (mistakes, choices)
        for mistakes in combinations(in_stages(exercise), 2)
        for choices in [[random_.choice(mistake.choices) for mistake in mistakes]]
        if independent(*choices)
    ]
    random_.shuffle(pairs)
    return pairs


@pytest.mark.parametrize("exercise", each(STAGED))
def test_two_wrong_stages_are_named(exercise):
    for mistakes, choices in every_pair(exercise)[:PAIRS]:
        assert_explained(exercise, mistakes, choices)


OVER_QUERIES = "softmax over the wrong axis"


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


@pytest.mark.parametrize(
    "exercise, code, names",
    [
        ("SelfAttention", FrozenAndOverQueries, ("requires_grad=False left in", OVER_QUERIES)),
        ("qkv_attention", changed_and_unscaled, ("input changed in place", "no scaling")),
    ],
    ids=["04-class", "04-function"],
)
def test_beside_what_is_no_wrong_number_another_mistake_is_named(exercise, code, names):
    assert check(exercise, code).mistakes == names
