"""What check() promises: it names a mistake only when it is established, never rejects a right
answer for its style, and leaves the session as it was."""

import math
import random
import sys
import time
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from answers.parts import by_math_exp
from torch import nn

from helpers import attention, guard, load_journey
from helpers.checks import check
from helpers.checks.exercises import CHECKED
from helpers.checks.verdict import forget


@pytest.fixture(autouse=True)
def new_kernel():
    """What a verdict says may depend on what was told before."""
    forget()


# --- the mistakes as students write them ---


@pytest.mark.parametrize("exps", [torch.exp, lambda s: torch.exp(s - s.max())])
def test_a_mistake_keeps_its_name_with_an_exp_that_overflows(exps):
    def columns(scores):
        return exps(scores) / exps(scores).sum(0)

    def twice(scores):
        once = exps(scores) / exps(scores).sum()
        return exps(once) / exps(once).sum()

    def averaged(inputs, i):
        weights = exps(inputs @ inputs[i]) / exps(inputs @ inputs[i]).sum()
        return (weights[:, None] * inputs).mean(0)

    also = {"naive exp overflow"} if exps is torch.exp else set()
    for exercise, code, name in (
        ("attention_weights", columns, "softmax over the wrong axis"),
        ("softmax", twice, "softmax twice"),
        ("context_vector", averaged, "mean instead of sum"),
    ):
        assert set(check(exercise, code).mistakes) == {name} | also


def test_one_advice_is_true_for_all_that_give_the_same_numbers():
    undivided = check("softmax", lambda s: (s - s.max()).exp()).message
    assert "Divide these by their SUM" in " ".join(undivided.split())
    columns = check("self_attention", lambda x: torch.softmax(x @ x.T, 0) @ x).message
    assert "(a .T, dim=0, or keepdim=True missing)" in " ".join(columns.split())
    assert "inputs @ inputs.T." in check("all_scores", lambda x: x @ x).message


context = torch.zeros(3)
total = [0.0, 0.0, 0.0]


def in_a_global_tensor(inputs, i):
    global context
    weights = torch.softmax(inputs @ inputs[i], dim=0)
    for j in range(len(inputs)):
        context += weights[j] * inputs[j]
    return context


def in_a_global_list(inputs, i):
    weights = torch.softmax(inputs @ inputs[i], dim=0)
    for j in range(len(inputs)):
        for k in range(inputs.shape[1]):
            total[k] += float(weights[j] * inputs[j, k])
    return total


@pytest.mark.parametrize("code", [in_a_global_tensor, in_a_global_list])
@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_cell_run_several_times_is_recognised(code, before):
    _, inputs = load_journey()
    context[:] = before * attention.context_vector(inputs, 1)
    total[:] = context.tolist()
    kept = context.clone()
    verdicts = [check("context_vector", code) for _ in range(2)]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0].mistakes == ("cell run twice",)
    assert torch.equal(context, kept) and total == kept.tolist()


@pytest.mark.parametrize("times", [2, 3, 17])
def test_any_whole_multiple_is_the_cell_run_again(times):
    verdict = check("context_vector", lambda inputs, i: times * attention.context_vector(inputs, i))
    assert verdict.mistakes == ("cell run twice",)
    assert check("context_vector", lambda x, i: 0.5 * attention.context_vector(x, i)).mistakes == ()


def test_the_mistake_is_shown_with_both_numbers_and_what_to_try():
    verdict = check("softmax", lambda scores: torch.softmax(torch.softmax(scores, 0), 0))
    assert verdict.message.splitlines() == [
        "✘ softmax: softmax twice.",
        "  The second softmax flattens the weights towards uniform.",
        "  On the scores of journey, from entry [0]:",
        "    yours 0.1618 0.1787 0.1779",
        "    right 0.1385 0.2379 0.2333",
        "  Try: Apply it once, to the scores.",
    ]


def test_right_on_the_sentence_only_is_said_with_the_probe():
    verdict = check("softmax", lambda scores: scores.exp() / scores.exp().sum())
    assert "Right on the scores of journey, wrong on scores near 1000." in verdict.message


# --- wrong, and nobody knows why ---


@pytest.mark.parametrize(
    "value, words",
    [
        (None, "it returned None: is `return` missing?"),
        ("0.1", "it returned a str."),
        ({1: 2}, "it returned a dict."),
        ((x for x in [1.0]), "it returned a generator."),
        (len, "it returned a builtin_function_or_method."),
        ([1.0, "a"], "it returned a list with a str inside."),
        ([[1.0], [1.0, 2.0]], "it returned a list with parts of different shapes inside."),
        (np.array(["a"]), "it returned a list with a str inside."),
        (torch.ones(6) * 1j, "it returned a tensor of complex numbers."),
        ([], "wrong shape."),
        (0.5, "wrong shape."),
        (True, "wrong shape."),
    ],
)
def test_an_answer_that_is_no_row_of_numbers_is_told_so(value, words):
    verdict = check("softmax", lambda scores: value)
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert verdict.message.startswith(f"✘ softmax: {words}")


def test_none_is_not_the_stub_when_something_was_computed():
    def forgets(scores):
        exps = scores.exp()
        exps / exps.sum()

    assert check("softmax", forgets).message.startswith("✘ softmax: it returned None: is `return`")


def test_an_error_comes_with_its_type_its_message_and_its_line():
    def broken(scores):
        exps = scores.exp()
        return exps / exps.summ()

    verdict = check("softmax", broken)
    text = " ".join(verdict.message.split())
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert "AttributeError: 'Tensor' object has no attribute 'summ'" in text
    assert ": return exps / exps.summ())" in text


def test_an_error_without_a_message_is_no_riddle():
    def asserts(scores):
        raise AssertionError

    def leaves(scores):
        sys.exit()

    class Unspeakable(Exception):
        def __str__(self):
            raise ValueError

    def raises_unspeakable(scores):
        raise Unspeakable

    assert "an error whose own message" in check("softmax", raises_unspeakable).message
    assert "AssertionError (line" in check("softmax", asserts).message
    assert "SystemExit" in check("softmax", leaves).message


def test_what_it_printed_is_shown_on_failure_only(capsys):
    def chatty(scores):
        for k in range(5):
            print("step", k, "x" * (200 * k))
        return scores

    verdict = check("softmax", chatty)
    assert capsys.readouterr().out == verdict.message + "\n"
    lines = verdict.message.splitlines()
    at = lines.index("  Your function printed:")
    assert lines[at + 1] == "    step 0"
    assert len(lines) == at + 4 and max(map(len, lines)) <= 100

    def chatty_and_right(scores):
        print("hello")
        return torch.softmax(scores, 0)

    check("softmax", chatty_and_right)
    assert capsys.readouterr().out == "✔ softmax: right.\n"


def test_an_endless_loop_is_stopped_at_the_limit(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 0.3)

    def endless(scores):
        while True:
            pass

    def endless_later(scores):
        while scores.abs().max() > 900:
            pass
        return torch.softmax(scores, 0)

    start = time.monotonic()
    verdict = check("softmax", endless)
    assert verdict.passed is False and verdict.mistakes == ()
    assert "it did not return within 0.3 seconds" in verdict.message
    later = " ".join(check("softmax", endless_later).message.split())
    assert "Right on the scores of journey, wrong on scores near 1000." in later
    assert "all calls together did not end within 0.3 seconds" in later
    assert time.monotonic() - start < 3


ONLY = "Try: Look for a 3 or a 6, or a name from a cell above, inside your function."
HINTS = [
    ("softmax", lambda s: s - s.max(dim=-1), "Add .values (or use amax)"),
    ("attention_weights", lambda s: s.sub(s.max(dim=-1)), "Add .values (or use amax)"),
    ("scores", lambda x, i: (x @ x[i]).sum(), "it returned one single number; right is shape (6,)"),
    ("scores", lambda x, i: (x @ x[i])[0].item(), "See whether `return` is inside the loop, or"),
    ("scores", lambda x, i: [x[j] @ x[i] for j in range(6)], ONLY),
    ("scores", lambda x, i: load_journey()[1] @ load_journey()[1][i], ONLY),
    (
        "scores",
        lambda x, i: [sum(x[j, k] * x[i, k] for k in range(3)) for j in range(len(x))],
        ONLY,
    ),
    ("context_vector", lambda x, i: torch.zeros(3) + torch.softmax(x @ x[i], 0) @ x, ONLY),
    ("softmax", lambda s: torch.stack([s.softmax(0)[k] for k in range(6)]), ONLY),
    (
        "causal_weights",
        lambda s, d_k: s.masked_fill(torch.ones(s.shape).triu(1), -math.inf),
        "Add .bool() to the mask",
    ),
    ("softmax", lambda s: by_math_exp(s - s.min()), "overflows above 709"),
    ("softmax", lambda s: s + math.inf, "or an infinity that you wrote yourself"),
]


@pytest.mark.parametrize("exercise, code, hint", HINTS)
def test_what_can_be_seen_comes_with_what_to_try(exercise, code, hint):
    verdict = check(exercise, code)
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert hint in " ".join(verdict.message.split())


def test_a_hint_of_fixed_sizes_is_given_only_where_nothing_but_the_first_is_right():
    def large_only(scores):
        return scores.softmax(0) if scores.abs().max() < 100 else scores.nothing

    for code in (large_only, lambda scores: scores.nothing):
        assert ONLY not in " ".join(check("softmax", code).message.split())


def test_damaged_data_is_a_sentence_too(monkeypatch, tmp_path):
    monkeypatch.setattr("helpers.data.JOURNEY", tmp_path / "journey.csv")  # not there
    verdict = check("scores", attention.scores)
    assert verdict.passed is False
    assert "git checkout data/journey.csv" in " ".join(verdict.message.split())


# --- the verdict and the session ---


def test_a_verdict_at_the_end_of_a_cell_is_not_shown_twice(capsys):
    formatters = pytest.importorskip("IPython.core.formatters")
    verdict = check("softmax", lambda scores: ...)
    capsys.readouterr()
    assert formatters.DisplayFormatter().format(verdict) == ({}, {})
    assert capsys.readouterr().out == ""
    assert repr(verdict) == "Verdict(passed=None, mistakes=())"


def test_the_same_answer_gets_the_same_words():
    def noisy(scores):
        print(object())
        return torch.softmax(scores, 0) + torch.randn(len(scores))

    def with_an_address(scores):
        raise ValueError(f"{object()} is no tensor")

    for code in (noisy, with_an_address):
        first = check("softmax", code).message
        torch.rand(3)
        assert check("softmax", code).message == first
        assert "0x" not in first


def wobbling(weights, p, training):
    return weights + torch.rand(weights.shape)


def in_place_dropout(weights, p, training):
    weights[torch.rand(weights.shape) < p] = 0
    return weights


def loop_dropout(weights, p, training):
    return [[0 if random.random() < p else float(w) / (1 - p) for w in row] for row in weights]


def numpy_dropout(weights, p, training):
    return weights.numpy() * (np.random.rand(*weights.shape) > p)


class Noisy(attention.SelfAttention):
    def forward(self, x):
        return super().forward(x) + torch.rand(1)


class LinearInForward(attention.SelfAttention):
    def forward(self, x):
        return nn.Linear(x.shape[-1], self.W_value.shape[-1])(x)


@pytest.mark.parametrize(
    "exercise, code",
    [
        ("dropout", wobbling),
        ("dropout", in_place_dropout),
        ("dropout", numpy_dropout),
        ("dropout", loop_dropout),
        ("SelfAttention", Noisy),
        ("SelfAttention", LinearInForward),
    ],
)
def test_what_is_drawn_at_random_changes_no_verdict(exercise, code):
    first = check(exercise, code)
    torch.rand(3), np.random.rand(3), random.random()
    assert check(exercise, code) == first


# --- experiments ---


def upper(scores):
    return torch.ones(scores.shape, dtype=torch.bool).triu(1)


class KeysWithoutName(attention.CausalAttention):
    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length, 0.0)

    def forward(self, inputs):
        return self.W_key(inputs).T.nothing


class FilledWith1(KeysWithoutName):
    def forward(self, inputs):
        scores = self.W_query(inputs) @ self.W_key(inputs).mT
        n = scores.shape[-1]
        weights = torch.softmax(
            scores.masked_fill(self.mask[:n, :n], 1) / self.W_key.weight.shape[0] ** 0.5, -1
        )
        return weights @ self.W_value(inputs)


@pytest.mark.parametrize(
    "exercise, code",
    [
        # As in a named mistake, but what an experiment changes is not what is wrong.
        ("causal_weights", lambda s, d_k: s.masked_fill(upper(s), -torch.inf) * torch.nan),
        ("causal_weights", lambda s, d_k: s - s / 0 * upper(s)),
        ("CausalAttention", KeysWithoutName),
        ("CausalAttention", FilledWith1),
    ],
)
def test_the_same_looks_without_the_same_cause_get_no_name(exercise, code):
    assert check(exercise, code).mistakes == ()


def test_a_fill_that_is_dropped_is_told_from_no_mask_at_all():
    def dropped(hidden):
        def code(scores, d_k):
            scores = scores / d_k**0.5
            scores.masked_fill(hidden(scores), -torch.inf)
            return torch.softmax(scores, dim=-1)

        return code

    named = check("causal_weights", dropped(upper)).mistakes
    assert named == ("masked_fill result dropped",)
    assert check("causal_weights", dropped(lambda s: ~upper(s))).mistakes == ("no mask",)


class PlainTensors(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (torch.rand(d_in, d_out) for _ in range(3))

    forward = attention.SelfAttention.forward


def test_what_is_observed_of_a_class_is_said_in_whole_numbers():
    verdict = check("SelfAttention", PlainTensors)
    assert verdict.message.splitlines() == [
        "✘ SelfAttention: plain tensors as weights.",
        "  parameters() does not find your matrices.",
        "  On a module with d_in = 4, d_out = 5:",
        "    matrices to train:         yours 0, right 3",
        "    matrices in plain tensors: yours 3, right 0",
        "  Try: Wrap each of them in nn.Parameter (or use nn.Linear).",
    ]


def test_a_blend_of_values_is_not_held_to_the_range_of_the_inputs():
    for name in ("SelfAttention", "CausalAttention", "qkv_attention"):
        assert CHECKED[name].kind == "values"


def test_the_default_type_is_the_same_in_every_check():
    found = []

    def looks(scores):
        found.append(torch.get_default_dtype())
        return torch.softmax(scores, 0)

    torch.set_default_dtype(torch.float64)
    try:
        assert check("softmax", looks).passed
        assert torch.get_default_dtype() is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert set(found) == {torch.float32}


def test_what_became_of_an_argument_is_shown_even_where_each_call_differs():
    message = check("dropout", in_place_dropout).message
    assert "before" in message and "after" in message


def test_an_answer_that_sets_another_default_type_is_not_compared_with_errors_of_ours():
    class Doubles(attention.SelfAttention):
        def __init__(self, d_in, d_out):
            torch.set_default_dtype(torch.float64)
            super().__init__(d_in, d_out)

    verdict = check("SelfAttention", Doubles)
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert "expected m1 and m2 to have the same dtype" in " ".join(verdict.message.split())


def test_a_check_shows_no_warning():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert check("softmax", lambda scores: F.softmax(scores)).passed
    assert shown == []
