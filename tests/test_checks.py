"""What check() promises: it names a mistake only when it is established, never rejects a right
answer for its style, and leaves the session as it was."""

import math
import sys
import time
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from helpers import guard, load_journey
from helpers.checks import Verdict, check, engine
from helpers.checks.exercises import EXERCISES

CATALOGUE = {  # the names of the shared list of mistakes, which others rely on
    "scores": [
        "multiplied but did not add up",
        "summed over the tokens",
        "1-based index",
        "cosine instead of dot product",
        "distance instead of similarity",
        "operands the wrong way round",
        "accumulates into torch.empty",
        "loop stops one early",
    ],
    "softmax": [
        "divided by the sum",
        "naive exp overflow",
        "not normalised",
        "sigmoid per score",
        "exp missing in the numerator",
        "log_softmax",
        "softmax twice",
        "divided by the largest exp",
        "base 2 instead of e",
        "sign flipped",
        "scaled before softmax",
    ],
    "context_vector": [
        "added over the embedding",
        "mean instead of sum",
        "scores instead of weights",
        "took the winner",
        "added the query back",
        "cell run twice",
        "accumulator is a view of the query",
        "zip truncates unequal vectors",
        "weights rounded to 2 decimals first",
    ],
    "attention_weights": [
        "softmax over the wrong axis",
        "softmax over the whole matrix",
        "keepdim forgotten",
        "rows divided by their sum",
        "naive exp overflow",
        "subtracted the global max",
        "transposed the result",
        "softmax result thrown away",
    ],
    "self_attention": [
        "weights transposed",
        "attention between features",
        "scores instead of weights",
        "one context copied",
        "rows divided by sum",
        "residual added",
        "scaled",
    ],
}


def student(code):
    """code as a function that shows nothing of where it comes from."""
    return lambda *args: code(*args)


MISTAKES = [
    pytest.param(exercise.name, mistake, id=f"{exercise.name}-{mistake.name}")
    for exercise in EXERCISES.values()
    for mistake in exercise.mistakes
]


@pytest.mark.parametrize("exercise, mistake", MISTAKES)
def test_every_declared_mistake_is_rejected_and_called_by_its_name(exercise, mistake):
    for form in mistake.forms():
        verdict = check(exercise, student(form))
        assert verdict.passed is False
        assert verdict.mistakes == (mistake.name,)
        assert verdict.message.startswith(f"✘ {exercise}: {mistake.name}.")
        assert max(map(len, verdict.message.splitlines())) <= 100


@pytest.mark.parametrize("exercise", CATALOGUE)
def test_no_mistake_of_the_shared_list_is_missing(exercise):
    assert set(CATALOGUE[exercise]) <= {m.name for m in EXERCISES[exercise].mistakes}


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_a_mistake_is_never_declared_by_nan_alone(exercise):
    # Then every answer that is all NaN, whatever its cause, would get that name.
    for mistake in exercise.mistakes:
        if mistake.shows:
            continue
        for form in mistake.forms():
            results = [engine.attempt(form, p, engine.call_ours) for p in exercise.probes()]
            assert not all(r.numbers is not None and r.numbers.isnan().all() for r in results)


# --- the mistakes as students write them ---


def test_the_catalogue_is_recognised_in_loops_and_numpy():
    def early(inputs, i):
        result = torch.empty(len(inputs))
        for j in range(len(inputs) - 1):
            result[j] = torch.dot(inputs[j], inputs[i])
        return result

    def adds(inputs, i):
        result = torch.empty(6)
        for j, key in enumerate(inputs):
            for a, b in zip(key, inputs[i], strict=True):
                result[j] += a * b
        return result

    def next_one(inputs, i):
        return [sum(a * b for a, b in zip(x, inputs[i + 1], strict=True)) for x in inputs]

    def columns(scores):
        exps = np.exp(scores.numpy() - scores.numpy().max(0))
        return exps / exps.sum(0)

    def truncated(inputs, i):
        weights = torch.softmax(inputs @ inputs[i], 0)
        result = [0.0, 0.0]
        for weight, x in zip(weights, inputs, strict=True):
            result = [a + weight * b for a, b in zip(result, x)]  # noqa: B905
        return result

    def viewed(inputs, i):
        query = inputs[i]
        weights = torch.softmax(inputs @ query, dim=0)
        context = query
        for j, x in enumerate(inputs):
            context += weights[j] * x
        return context

    assert check("scores", early).mistakes == ("loop stops one early",)
    assert check("scores", adds).mistakes == ("accumulates into torch.empty",)
    assert check("scores", next_one).mistakes == ("1-based index",)
    assert check("attention_weights", columns).mistakes == ("softmax over the wrong axis",)
    assert check("context_vector", truncated).mistakes == ("zip truncates unequal vectors",)
    assert check("context_vector", viewed).mistakes == ("accumulator is a view of the query",)


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

    assert check("attention_weights", columns).mistakes == ("softmax over the wrong axis",)
    assert check("softmax", twice).mistakes == ("softmax twice",)
    assert check("context_vector", averaged).mistakes == ("mean instead of sum",)


def by_hand(scores, less=0.0):
    exps = (scores - less).exp()
    return exps / exps.sum(-1, keepdim=True)


def by_math_exp(scores):
    exps = [math.exp(s) for s in scores]
    return [e / sum(exps) for e in exps]


def by_powers_of_e(scores):
    exps = [math.e ** float(s) for s in scores]
    return torch.tensor(exps) / sum(exps)


def one_dividing_by_all(scores):
    exps = (scores - scores.amax(-1, keepdim=True)).exp()
    return exps / exps.sum(-1)


AS_WRITTEN = [
    ("softmax", lambda s: by_hand(s, s.min()), "subtracted less than the largest"),
    ("softmax", lambda s: by_hand(s.double(), s.mean()), "subtracted less than the largest"),
    ("softmax", lambda s: by_hand(s, s[0]), "subtracted less than the largest"),
    ("softmax", by_math_exp, "naive exp overflow"),
    ("softmax", by_powers_of_e, "naive exp overflow"),
    ("softmax", lambda s: (s - s.max()).exp(), "divided by the largest exp"),
    ("softmax", lambda s: s.exp(), "not divided by the sum"),
    ("softmax", lambda s: (s - s.max()) / (s - s.max()).sum(), "exp missing"),
    ("softmax", lambda s: torch.softmax(s / s.max(), 0), "divided by the largest score"),
    ("softmax", lambda s: [round(x, 3) for x in s.softmax(0).tolist()], "numbers rounded"),
    (
        "softmax_with_temperature",
        lambda s, t: by_hand(s / t, (s / t).min()),
        "subtracted less than the largest",
    ),
    (
        "softmax_with_temperature",
        lambda s, t: by_hand(s / t, (s / t).mean()),
        "subtracted less than the largest",
    ),
    ("softmax_with_temperature", lambda s, t: by_math_exp(s / t), "naive exp overflow"),
    (
        "attention_weights",
        lambda s: torch.stack([by_hand(row, row.min()) for row in s]),
        "subtracted less than the largest",
    ),
    ("attention_weights", lambda s: by_hand(s, s.mean()), "subtracted less than the largest"),
    ("attention_weights", lambda s: [by_math_exp(row) for row in s], "naive exp overflow"),
    (
        "attention_weights",
        lambda s: torch.softmax(s, 0).T,
        "columns normalised, then transposed",
    ),
    ("attention_weights", lambda s: s.softmax(1).round(decimals=4), "numbers rounded"),
    ("context_vector", lambda x, i: torch.ones(len(x)) / len(x) @ x.float(), "all weights equal"),
    (
        "context_vector",
        lambda x, i: torch.tensor(by_math_exp(x @ x[i])) @ x.float(),
        "naive exp overflow",
    ),
    ("context_vector", lambda x, i: torch.softmax(x @ x[1], 0) @ x, "always the query 1"),
    ("self_attention", lambda x: one_dividing_by_all(x @ x.T) @ x, "keepdim forgotten"),
    (
        "self_attention",
        lambda x: (x @ x.T).exp() / (x @ x.T).exp().sum(-1) @ x,
        "weights transposed",
    ),
    ("scores", lambda x, i: x @ x[1], "always the query 1"),
    ("cosine_scores", lambda x, i: F.cosine_similarity(x, x[1:2]), "always the query 1"),
    (
        "cosine_scores",
        lambda x, i: x @ x[i] / x.norm(dim=1) * x[i].norm(),
        "parentheses forgotten",
    ),
    (
        "cosine_scores",
        lambda x, i: x @ x[i] / (len(x[i]) * len(x[i])),
        "count instead of length",
    ),
    (
        "context_of_others",
        lambda x, i: renormalised(x, i, by_hand(x @ x[i])),
        "naive exp overflow",
    ),
    *(
        ("context_of_others", lambda x, i, c=c: masked_with(x, i, c), "a number not low enough")
        for c in (-1, -2, -5, -10, -20, -50, -100, -900, -999, -1000, -1e4, -1e6)
    ),
]


@pytest.mark.parametrize("exercise, code, name", AS_WRITTEN)
def test_a_mistake_has_its_name_as_a_student_writes_it(exercise, code, name):
    assert check(exercise, code).mistakes == (name,)


def test_one_advice_is_true_for_all_that_give_the_same_numbers():
    undivided = check("softmax", lambda s: (s - s.max()).exp()).message
    assert undivided == check("softmax", lambda s: s.exp() / s.exp().max()).message
    assert "divide these by their SUM" in " ".join(undivided.split())
    columns = check("self_attention", lambda x: torch.softmax(x @ x.T, 0) @ x).message
    assert "(a .T, dim=0, or keepdim=True missing)" in " ".join(columns.split())
    assert "inputs @ inputs.T." in check("all_scores", lambda x: x @ x).message


def test_advice_speaks_the_words_of_the_lessons():
    texts = {p.where for e in EXERCISES.values() for p in e.probes()}
    for exercise in EXERCISES.values():
        texts |= {text for m in exercise.mistakes for text in (m.name, m.advice)}
    for text in texts - {name for names in CATALOGUE.values() for name in names}:
        for word in ("token", "entr", "feature", "embedding", "probabilit", "log-weight"):
            assert word not in text.lower()


right_context = EXERCISES["context_vector"].right
context = torch.zeros(3)
total = [0.0, 0.0, 0.0]
calls = 0


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
    context[:] = before * right_context(inputs, 1)
    total[:] = context.tolist()
    kept = context.clone()
    verdicts = [check("context_vector", code) for _ in range(2)]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0].mistakes == ("cell run twice",)
    assert torch.equal(context, kept) and total == kept.tolist()


@pytest.mark.parametrize("times", [2, 3, 17])
def test_any_whole_multiple_is_the_cell_run_again(times):
    verdict = check("context_vector", lambda inputs, i: times * right_context(inputs, i))
    assert verdict.mistakes == ("cell run twice",)
    assert check("context_vector", lambda x, i: 0.5 * right_context(x, i)).mistakes == ()


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_a_right_answer_that_changes_its_argument_is_not_right(exercise):
    def changes(*args):
        answer = exercise.right(*args)
        args[0][-1] += 1
        return answer

    verdict = check(exercise.name, changes)
    assert verdict.mistakes == ("input changed in place",)
    assert "before" in verdict.message and "after" in verdict.message


def test_the_mistake_is_shown_with_both_numbers_and_what_to_try():
    verdict = check("softmax", lambda scores: torch.softmax(torch.softmax(scores, 0), 0))
    assert verdict.message.splitlines() == [
        "✘ softmax: softmax twice.",
        "  On the scores of journey, from entry [0]:",
        "    yours 0.1618 0.1787 0.1779",
        "    right 0.1385 0.2379 0.2333",
        "  Softmax was applied twice; the second flattens the weights towards uniform.",
    ]


def test_right_on_the_sentence_only_is_said_with_the_probe():
    verdict = check("softmax", lambda scores: scores.exp() / scores.exp().sum())
    assert "Right on the scores of journey, wrong on scores near 1000." in verdict.message


# --- right answers, in any style ---


def loop_scores(inputs, i):
    result = torch.empty(len(inputs))
    for j, key in enumerate(inputs):
        result[j] = torch.dot(key, inputs[i])
    return result


def float32_inside(inputs, i):
    result = torch.zeros(inputs.shape[0], dtype=torch.float32)
    for j in range(len(inputs)):
        result[j] = inputs[j] @ inputs[i]
    return torch.softmax(result, dim=0) @ inputs  # raises where inputs are float64


def loop_context(inputs, i):
    weights = torch.softmax(loop_scores(inputs, i), dim=0)
    context = torch.zeros(inputs[i].shape)
    for j, x in enumerate(inputs):
        context += weights[j] * x
    return context


def list_softmax(scores):
    largest = max(scores)
    exps = [torch.exp(s - largest) for s in scores]
    return [e / sum(exps) for e in exps]


def numpy_softmax(scores):
    scores = np.asarray(scores)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True)


def rows_softmax(scores):
    result = torch.empty(scores.shape)
    for row in range(len(scores)):
        result[row] = torch.softmax(scores[row], dim=0)
    return result


def nested_all_scores(inputs):
    n = inputs.shape[0]
    result = torch.empty(n, n)
    for i, x in enumerate(inputs):
        for j, y in enumerate(inputs):
            result[i, j] = torch.dot(x, y)
    return result


def in_place_on_own_copy(scores):
    scores = scores.clone()
    scores -= scores.max(dim=-1, keepdim=True).values
    scores.exp_()
    scores /= scores.sum(dim=-1, keepdim=True)
    return scores


def renormalised(inputs, i, weights=None):
    if weights is None:
        weights = torch.softmax(inputs @ inputs[i], dim=0)
    weights[i] = 0
    return weights / weights.sum() @ inputs


def renormalised_floats(inputs, i):
    weights = torch.softmax(inputs @ inputs[i], dim=0).tolist()
    weights[i] = 0.0
    return torch.tensor([w / sum(weights) for w in weights]) @ inputs.float()


def taken_out(inputs, i):
    weights = torch.softmax(inputs @ inputs[i], dim=0)
    return (weights @ inputs - weights[i] * inputs[i]) / (1 - weights[i])


def masked_with(inputs, i, number):
    scores = inputs @ inputs[i]
    scores[i] = number
    return torch.softmax(scores, dim=0) @ inputs


def deleted(inputs, i):
    others = torch.cat([inputs[:i], inputs[i + 1 :]])
    return torch.softmax(others @ inputs[i], 0) @ others


def masked_fill(inputs, i):
    hidden = torch.arange(len(inputs)) == i
    return torch.softmax((inputs @ inputs[i]).masked_fill(hidden, float("-inf")), -1) @ inputs


def loop_others(inputs, i):
    n = len(inputs)
    scores = [torch.dot(inputs[j], inputs[i]) for j in range(n) if j != i]
    weights = list_softmax(scores)
    rows = [inputs[j] for j in range(n) if j != i]
    return sum(w * x for w, x in zip(weights, rows, strict=True))


def norm_loop(inputs, i):
    q = inputs[i]
    return [
        torch.dot(x, q) / (torch.sqrt((x * x).sum()) * torch.sqrt((q * q).sum())) for x in inputs
    ]


STYLES = {
    "scores": [
        loop_scores,
        lambda x, i: torch.mv(x, x[i]),
        lambda x, i: (x * x[i]).sum(-1),
        lambda x, i: (x[i] * x).sum(dim=1, keepdim=True).squeeze(1),
        lambda x, i: (x @ x.T)[i],
        lambda x, i: torch.einsum("nd,d->n", x, x[i]),
        lambda x, i: x.numpy() @ x[i].numpy(),
        lambda x, i: (x @ x[i]).tolist(),
        lambda x, i: tuple(x @ x[i]),
        lambda x, i: x.double() @ x[i].double(),
        lambda x, i: x.float() @ x.float()[i],
        lambda x, i: x.half() @ x.half()[i],
        lambda x, i: x.requires_grad_() @ x[i],
        lambda inputs, i, verbose=False: inputs @ inputs[i],
        lambda *args: args[0] @ args[0][args[1]],
    ],
    "softmax": [
        list_softmax,
        numpy_softmax,
        in_place_on_own_copy,
        lambda s: torch.softmax(s, dim=0),
        lambda s: F.softmax(s, -1),
        lambda s: F.softmax(s),
        lambda s: s.softmax(0).half(),
        lambda s: (s - s.logsumexp(0)).exp(),
        lambda s: torch.nn.Softmax(dim=0)(s),
        lambda s: torch.exp(s - max(s)) / torch.exp(s - max(s)).sum(dim=0, keepdim=True),
        lambda s: 1 / torch.exp(s[None, :] - s[:, None]).sum(1),
        lambda s: torch.softmax(s.requires_grad_(), 0),
        lambda s: [np.float32(x) for x in numpy_softmax(s)],
        lambda scores, dim=0: torch.softmax(scores, dim),
        torch.nn.Softmax(dim=0),
    ],
    "attention_weights": [
        rows_softmax,
        numpy_softmax,
        in_place_on_own_copy,
        lambda s: torch.softmax(s, dim=1),
        lambda s: torch.stack([torch.softmax(row, 0) for row in s]),
        lambda s: [torch.softmax(row, 0) for row in s],
        lambda s: [list_softmax(row) for row in s],
        lambda s: torch.softmax(s.T, dim=0).T,
        lambda s: (s - s.logsumexp(1, keepdim=True)).exp(),
        lambda s: torch.softmax(s.double(), -1).float().requires_grad_(),
        lambda s: numpy_softmax(s).astype(np.float16),
    ],
    "context_vector": [
        loop_context,
        float32_inside,
        lambda x, i: torch.softmax(x @ x[i], 0) @ x,
        lambda x, i: F.scaled_dot_product_attention(x[i][None], x, x, scale=1.0)[0],
        lambda x, i: (torch.softmax(x @ x[i], 0)[:, None] * x).sum(0),
        lambda x, i: numpy_softmax(x @ x[i]) @ x.numpy(),
        lambda x, i: (torch.softmax(x @ x[i], 0).unsqueeze(-1) * x).sum(0, keepdim=True)[0],
        lambda x, i: loop_context(x.requires_grad_(), i).tolist(),
        lambda x, i: sum(w * v for w, v in zip(list_softmax(x @ x[i]), x, strict=True)),
    ],
    "self_attention": [
        lambda x: torch.softmax(x @ x.T, -1) @ x,
        lambda x: torch.stack([loop_context(x, i) for i in range(len(x))]),
        lambda x: [loop_context(x, i).numpy() for i in range(len(x))],
        lambda x: F.scaled_dot_product_attention(x, x, x, scale=1.0),
        lambda x: numpy_softmax(x @ x.T) @ x.numpy(),
        lambda x: torch.einsum("ij,jd->id", rows_softmax(x @ x.T), x.float()),
        lambda x: torch.softmax(x @ x.T, 0).T @ x,
    ],
    "all_scores": [
        nested_all_scores,
        lambda x: x @ x.T,
        lambda x: torch.einsum("id,jd->ij", x, x),
        lambda x: np.inner(x.numpy(), x.numpy()),
        lambda x: [[torch.dot(a, b).item() for b in x] for a in x],
        lambda x: (x[:, None] * x[None]).sum(-1),
        lambda x: torch.cdist(x, x).pow(0) * x.matmul(x.t()).requires_grad_(),
    ],
    "softmax_with_temperature": [
        lambda s, temperature: torch.softmax(s / temperature, 0),
        lambda scores, t: numpy_softmax(scores.numpy() / t),
        lambda s, t: list_softmax([x / t for x in s]),
        lambda s, t: torch.softmax(s * (1 / t), -1).double(),
        lambda s, t: torch.exp((s - s.max()) / t) / torch.exp((s - s.max()) / t).sum(),
        lambda s, t: (s / t - (s / t).logsumexp(0)).exp(),
        lambda s, t: torch.softmax(s.requires_grad_() / torch.tensor(t), 0),
    ],
    "context_of_others": [
        deleted,
        masked_fill,
        loop_others,
        renormalised,
        lambda x, i: (
            numpy_softmax(np.delete(x.numpy(), i, 0) @ x[i].numpy()) @ np.delete(x.numpy(), i, 0)
        ),
        lambda x, i: deleted(x.double(), i).requires_grad_(),
        renormalised_floats,
        taken_out,
        lambda x, i: masked_with(x, i, -1e9),
        lambda x, i: masked_with(x, i, torch.finfo(torch.float32).min),
        lambda x, i: masked_with(x, i, (x @ x[i]).min() - 1000),
    ],
    "cosine_scores": [
        norm_loop,
        lambda x, i: F.cosine_similarity(x, x[i], dim=-1),
        lambda x, i: F.normalize(x) @ F.normalize(x)[i],
        lambda x, i: x @ x[i] / (x.norm(dim=1) * x[i].norm()),
        lambda x, i: ((x / x.norm(dim=1, keepdim=True)) @ (x[i] / x[i].norm())).tolist(),
        lambda x, i: x.numpy() @ x[i].numpy() / np.linalg.norm(x, axis=1) / np.linalg.norm(x[i]),
    ],
}


@pytest.mark.parametrize(
    "exercise, code",
    [
        pytest.param(name, code, id=f"{name}-{k}")
        for name, codes in STYLES.items()
        for k, code in enumerate([*codes, student(EXERCISES[name].right)])
    ],
)
def test_a_right_answer_is_right_in_any_style(exercise, code):
    verdict = check(exercise, code)
    assert verdict.passed is True and verdict
    assert (verdict.mistakes, verdict.message) == ((), f"✔ {exercise}: right.")


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_right_answer_that_takes_two_seconds_a_call_is_in_time(exercise):
    times = []

    def counted(*args):
        times.append(1)
        return EXERCISES[exercise].right(*args)

    assert check(exercise, counted).passed
    assert 2 * len(times) < guard.SECONDS


# --- wrong, and nobody knows why ---

UNKNOWN = [
    ("scores", lambda x, i: x @ x[i] + 0.001, "numbers are wrong"),
    ("scores", lambda x, i: (x @ x[i])[:, None], "The numbers themselves are right."),
    ("scores", lambda x, i: 3 * (x @ x[i]), "3 times"),
    ("scores", lambda x, i: x.long() @ x[i].long(), "numbers are wrong"),
    ("scores", lambda x, i: x @ x[i] / torch.zeros(1), "infinite"),
    ("scores", lambda x, i: x @ x[i] * torch.nan, "6 of 6 numbers are NaN"),
    ("scores", lambda x, i: x @ x[i] + torch.rand(1), "second call"),
    ("scores", lambda x, i: x[:6, :3] @ x[i, :3], "Right on the sentence"),
    ("softmax", lambda s: torch.softmax(s, 0) - 0.2, "negative weights"),
    ("softmax", lambda s: torch.softmax(s, 0) + 0.01, "sum to 1.0600 instead of 1"),
    ("softmax", lambda s: torch.full_like(s, 1 / len(s)), "numbers are wrong"),
    ("softmax", lambda s: torch.softmax(s.clamp(-9, 9), 0), "wrong on scores near 1000"),
    ("attention_weights", lambda s: torch.full_like(s, 1 / len(s)), "all rows are equal"),
    ("attention_weights", lambda s: torch.softmax(s, -1) + 0.01, "sums to 1.0600 instead"),
    ("context_vector", lambda x, i: 1.5 * x.amax(0), "outside the range"),
    ("context_vector", lambda x, i: x.median(0).values, "numbers are wrong"),
    ("self_attention", lambda x: x.amax(0).expand_as(x), "all rows are equal"),
    ("self_attention", lambda x: x.flip(0), "numbers are wrong"),
    ("all_scores", lambda x: x @ x.T + 1, "numbers are wrong"),
    ("all_scores", lambda x: x @ x.T @ torch.zeros(2, 2), "RuntimeError"),
    ("cosine_scores", lambda x, i: (x @ x[i]).clamp(-1, 1), "numbers are wrong"),
    ("context_of_others", lambda x, i: x.median(0).values, "numbers are wrong"),
    ("softmax_with_temperature", lambda s, t: torch.softmax(s / (t + 1), 0), "numbers are wrong"),
]


@pytest.mark.parametrize("exercise, code, fact", UNKNOWN)
def test_what_nobody_declared_is_rejected_without_a_cause(exercise, code, fact):
    verdict = check(exercise, code)
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert fact in " ".join(verdict.message.split())
    assert max(map(len, verdict.message.splitlines())) <= 100


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


ONLY = "only: is there a 3 or a 6, or a name from a cell above, inside your function?"
HINTS = [
    ("softmax", lambda s: s - s.max(dim=-1), "add .values (or use amax)"),
    ("attention_weights", lambda s: s.sub(s.max(dim=-1)), "add .values (or use amax)"),
    ("scores", lambda x, i: (x @ x[i]).sum(), "it returned one single number; right is shape (6,)"),
    ("scores", lambda x, i: (x @ x[i])[0].item(), "Is `return` inside the loop, or is everything"),
    ("scores", lambda x, i: [x[j] @ x[i] for j in range(6)], ONLY),
    ("scores", lambda x, i: load_journey()[1] @ load_journey()[1][i], ONLY),
    (
        "scores",
        lambda x, i: [sum(x[j, k] * x[i, k] for k in range(3)) for j in range(len(x))],
        ONLY,
    ),
    ("context_vector", lambda x, i: torch.zeros(3) + torch.softmax(x @ x[i], 0) @ x, ONLY),
    ("softmax", lambda s: torch.stack([s.softmax(0)[k] for k in range(6)]), ONLY),
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


# --- the stub ---


def dots(scores): ...


def passes(scores):
    pass


def documented(scores):
    """Softmax."""


def documented_and_passes(scores):
    """Softmax."""
    pass


def returns_nothing(scores):
    return


def dots_in_a_variable(scores):
    weights = ...  # your code here
    return weights


def not_implemented(scores):
    raise NotImplementedError


def not_implemented_with_words(scores):
    """Softmax."""
    raise NotImplementedError("your turn")


@pytest.mark.parametrize(
    "stub",
    [
        dots,
        passes,
        documented,
        documented_and_passes,
        returns_nothing,
        dots_in_a_variable,
        not_implemented,
        not_implemented_with_words,
        torch.no_grad()(dots),
        lambda scores: ...,
    ],
)
def test_a_stub_is_neither_right_nor_wrong(stub):
    verdict = check("softmax", stub)
    assert verdict == Verdict(None, "… softmax: not written yet.", ())
    assert not verdict


def test_a_word_as_the_answer_is_not_a_stub():
    assert check("softmax", lambda scores: "x").passed is False

    def no_result(scores):
        return "nothing"

    assert check("softmax", no_result).passed is False


def test_an_operation_that_torch_does_not_have_is_not_a_stub():
    def unlucky(scores):
        return torch.empty(2, device="meta") + helper()

    def helper():
        raise NotImplementedError("'add' not implemented for 'Bool'")

    assert check("softmax", unlucky).passed is False


# --- bad use ---


@pytest.mark.parametrize(
    "args, words",
    [
        (("sofmax", dots), "there is no exercise 'sofmax'. Did you mean 'softmax'?"),
        (("x" * 500, dots), "The exercises are scores, "),
        ((dots, "softmax"), "the name of the exercise comes first"),
        ((dots,), "the name of the exercise comes first"),
        ((None, None), "the name of the exercise comes first"),
        (("softmax",), "a function is expected, this is None"),
        (("softmax", torch.ones(6)), "a function is expected, this is a Tensor"),
        (("softmax", "softmax"), "a function is expected, this is a str"),
        (("softmax", dict), "a function is expected, this is the class dict"),
        (("softmax", lambda a, b: a), "your function takes (a, b). It is called with (scores)"),
        (("scores", None), "Write def my_scores(inputs, i): and pass its name"),
        (("softmax", dict), "Write def my_softmax(scores): and pass its name"),
        (("scores", lambda: 1), "write def my_scores(inputs, i):"),
        (("scores", dots), "write def dots(inputs, i):"),
        (("scores", lambda: 1), "your function takes (). It is called with (inputs, i)"),
        (("scores", lambda inputs, *, i: 1), "It is called with (inputs, i)"),
        (("softmax", torch.softmax), 'softmax() missing 1 required positional arguments: "dim"'),
    ],
)
def test_bad_use_is_answered_in_a_sentence(args, words, capsys):
    verdict = check(*args)
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert words in " ".join(verdict.message.split())
    assert max(map(len, verdict.message.splitlines())) <= 100
    assert capsys.readouterr().out == verdict.message + "\n"


def test_damaged_data_is_a_sentence_too(monkeypatch, tmp_path):
    monkeypatch.setattr("helpers.journey.FILE", tmp_path / "gone.csv")
    verdict = check("scores", loop_scores)
    assert verdict.passed is False
    assert "git checkout data/journey.csv" in " ".join(verdict.message.split())


# --- the verdict and the session ---


def test_a_verdict_at_the_end_of_a_cell_is_not_shown_twice(capsys):
    formatters = pytest.importorskip("IPython.core.formatters")
    verdict = check("softmax", dots)
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


def rude(scores):
    """Changes all it can reach."""
    global calls, newcomer
    calls += 1
    newcomer = 1
    context.add_(1)
    total.append(1.0)
    torch.manual_seed(calls)
    torch.rand(3)
    torch.set_default_dtype(torch.float64)
    torch.set_printoptions(precision=1, sci_mode=True)
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(False)
    warnings.simplefilter("error")
    sys.stdout = sys.stderr
    return scores


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("ending", ["returns", "interrupted"])
def test_the_session_is_as_before(ending, fill, monkeypatch):
    def session():
        return (
            torch.get_rng_state().tolist(),
            torch.get_default_dtype(),
            torch._tensor_str.get_printoptions(),
            torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
            list(warnings.filters),
            sys.stdout,
            calls,
            context.tolist(),
            list(total),
            "newcomer" in globals(),
        )

    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", fill)
    torch.set_printoptions(precision=3)
    before = session()
    if ending == "interrupted":
        call = guard.call

        def interrupted(fn, *args, **kwargs):
            call(fn, *args, **kwargs)
            raise KeyboardInterrupt

        monkeypatch.setattr(guard, "call", interrupted)
        with pytest.raises(KeyboardInterrupt):
            check("softmax", rude)
    else:
        assert check("softmax", rude).passed is False
    assert session() == before
    torch.set_printoptions(profile="default")


def test_a_check_shows_no_warning():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert check("softmax", lambda scores: F.softmax(scores)).passed
    assert shown == []
