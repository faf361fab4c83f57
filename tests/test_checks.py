"""What check() promises: it names a mistake only when it is established, never rejects a right
answer for its style, and leaves the session as it was."""

import math
import random
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from helpers import attention, load_journey
from helpers.checks import check
from helpers.tools.pages.puzzle import Answer

# --- the mistakes as students write them ---


context = torch.zeros(3)


def in_a_global_tensor(inputs, i):
    global context
    weights = torch.softmax(inputs @ inputs[i], dim=0)
    for j in range(len(inputs)):
        context += weights[j] * inputs[j]
    return context


@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_cell_run_several_times_is_recognised(before):
    context[:] = before * attention.context_vector(load_journey()[1], 1)
    kept = context.clone()
    verdicts = [check("context_vector", in_a_global_tensor) for _ in range(2)]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0].mistakes == ("total not started at zero",)
    assert torch.equal(context, kept)


# --- wrong for no known reason ---


def by_math_exp(scores):
    exps = [math.exp(x) for x in scores - scores.min()]
    return [x / sum(exps) for x in exps]


def last_is_0(x, i):
    return torch.cat([x[:-1] @ x[i], torch.zeros(1)])


async def later(scores):
    return scores.softmax(0)


FACTS = [
    ("softmax", later, "Write def instead of async def."),
    ("scores", last_is_0, "Entries 0 to 4 are right; entry 5 is wrong."),
    ("softmax", lambda s: torch.sofmax(s), "Perhaps `softmax`"),
    ("cache_mask", lambda cached, new: torch.ones(new, cached), "should be 7 (`cached + new`)"),
    ("scores", lambda x, i: x @ x[i] / torch.zeros(1), "infinite"),
    ("softmax", lambda s: torch.softmax(s, 0) + 0.01, "sum to 1.0600, not 1"),
    ("softmax", lambda s: torch.full_like(s, 1 / len(s)), "changing `s` has no effect."),
    ("softmax", lambda s: [].append(s), "✘ softmax: it returned None (is `return` missing?)."),
    ("softmax", lambda s: [1.0, "a"], "it returned a list with a str inside."),
    ("softmax", lambda s: [[1.0], [1.0, 2.0]], "a list whose parts differ in shape."),
    ("softmax", lambda s: torch.ones(6) * 1j, "it returned a tensor of complex numbers."),
    ("softmax", lambda s: s.summ(), "'Tensor' object has no attribute 'summ' (line"),
    ("softmax", lambda s: s - s.max(dim=-1), "Add .values (or use amax)"),
    ("softmax", by_math_exp, "overflows above 709"),
]


@pytest.mark.parametrize("exercise, code, fact", FACTS)
def test_what_nobody_declared_is_rejected_with_a_fact_and_without_a_cause(exercise, code, fact):
    verdict = check(exercise, code)
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert fact in " ".join(verdict.message.split())
    assert max(map(len, verdict.message.splitlines())) <= 100


def test_what_it_printed_is_shown_shortened():
    def chatty(scores):
        for k in range(5):
            print("step", k, "x" * (200 * k))
        return scores

    lines = check("softmax", chatty).message.splitlines()
    at = lines.index("  Your function printed:")
    assert lines[at + 1] == "    step 0"
    assert len(lines) == at + 4 and max(map(len, lines)) <= 100


# --- what is replaced, how long it takes ---

# Each of these makes wrong answers right, or right ones wrong, where the checks use it.
REPLACED = {
    (torch, "equal"): lambda a, b: True,
    (torch.Tensor, "__matmul__"): lambda x, y: x,
    (F, "softmax"): lambda x, *args, **more: x,
}


@pytest.mark.parametrize("place, name", REPLACED)
def test_what_a_notebook_replaced_in_torch_decides_no_verdict(place, name, monkeypatch):
    def answers(x):
        return attention.self_attention(x), x.clone(), F.softmax(x @ x.T, 0) @ x

    codes = [lambda x, k=k: answers(x)[k] for k in range(3)]
    before = [check("self_attention", code) for code in codes]
    assert [verdict.passed for verdict in before] == [True, False, False]
    monkeypatch.setattr(place, name, REPLACED[place, name], raising=False)
    assert [check("self_attention", code) for code in codes] == before
    assert vars(place)[name] is REPLACED[place, name]  # it is the notebook's again


def test_an_answer_that_is_right_but_slow_is_told_just_that(monkeypatch):
    monkeypatch.setattr("helpers.guard.SECONDS", 2)
    monkeypatch.setattr("helpers.guard.WAITS", 1)  # to sleep is to work
    above = "import time\nimport torch"
    code = "def my(scores):\n    time.sleep(0.9)\n    return torch.softmax(scores, 0)"
    verdict = check("softmax", Answer("softmax", None, "", (), above, code).run())
    said = verdict.said
    assert said.head == "✘ softmax: it takes too long." and said.why[0] == "Right so far."
    assert "all calls together did not end within 2 seconds" in " ".join(verdict.message.split())
    assert said.advice.startswith("Let torch work on whole tensors")


# --- the verdict and the session ---


def test_a_verdict_at_the_end_of_a_cell_is_not_shown_twice(capsys):
    formatters = pytest.importorskip("IPython.core.formatters")
    verdict = check("softmax", lambda scores: ...)
    capsys.readouterr()
    assert formatters.DisplayFormatter().format(verdict) == ({}, {})
    assert capsys.readouterr().out == ""
    assert repr(verdict) == "Verdict(passed=None, mistakes=())"


class Noisy(attention.SelfAttention):
    def forward(self, x):
        return super().forward(x) + torch.rand(1)


def prints_an_address(scores):
    print(object())
    return torch.softmax(scores, 0) + torch.randn(len(scores))


def raises_an_address(scores):
    raise ValueError(f"{object()} is no tensor")


@pytest.mark.parametrize(
    "exercise, code",
    [
        ("softmax", lambda s: s + torch.rand(s.shape)),
        ("softmax", lambda s: s.numpy() + np.random.rand(*s.shape)),
        ("softmax", lambda s: [x * (random.random() > 0.5) for x in s]),
        ("SelfAttention", Noisy),
        ("softmax", prints_an_address),
        ("softmax", raises_an_address),
    ],
)
def test_the_same_answer_gets_the_same_words(exercise, code):
    first = check(exercise, code)
    torch.rand(3), np.random.rand(3), random.random()
    assert check(exercise, code) == first
    assert "0x" not in first.message


def test_a_check_shows_no_warning():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert check("softmax", lambda scores: F.softmax(scores)).passed
    assert shown == []


# --- what the student's code says ---


def said_to(exercise, *codes):
    """Return what the check says of each of these answers, one after another."""
    before = "import torch\nfrom helpers.attention import split_heads\n"
    return [check(exercise, Answer(exercise, None, "", (), before, c).run()).said for c in codes]


def test_what_a_function_from_another_cell_changes_is_put_back():
    above = "import torch\nlog = []\ndef helper(x):\n    log.append(1)\n    return x.softmax(0)"
    code = "def my(x, i):\n    return helper(x @ x[i]) @ x + 1"
    answer = Answer("context_vector", False, "", (), above, code).run()
    assert not check("context_vector", answer) and answer.__globals__["log"] == []


def test_a_decorator_is_called_once_however_many_changes_are_tried():
    above = "import torch\nlog = []\ndef noted(f):\n    log.append(1)\n    return f"
    code = "@noted\ndef my(x, i):\n    return (x @ x[i]).softmax(0) @ x * 1.37 + 1"
    answer = Answer("context_vector", False, "", (), above, code).run()
    assert not check("context_vector", answer) and answer.__globals__["log"] == [1]


def test_no_change_is_advised_where_the_code_is_right_once_its_cell_runs_again():
    code = "def my(x, i, size=size):\n    return x @ x[i] * size"
    answer = Answer("scores", False, "", (), "import torch\nsize = 2.0", code).run()
    answer.__globals__["size"] = 1.0  # since the cell of the answer ran
    assert "small change" not in check("scores", answer).message


LOOP_VARIABLE = """n):
    weights = torch.ones(n, n).tril()
    for i, row in enumerate(weights):
        row = row / (i + 1)
    return weights
"""


@pytest.mark.parametrize(
    "exercise, code, advice",
    [
        ("softmax", "s): e = (s - s.max()).exp(); e.div(e.sum()); return e", "write `e = e.div("),
        ("uniform_causal", LOOP_VARIABLE, "store each new `row`"),
        # that a result is not kept does no harm here
        ("softmax", "s): s.unsqueeze(0); return s.exp() / s.exp().max()", "by the sum of"),
    ],
)
def test_of_what_is_not_kept_only_what_matters_is_told(exercise, code, advice):
    (said,) = said_to(exercise, f"def my({code}")
    assert advice in said.advice.lower()
