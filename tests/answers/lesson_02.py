"""Answers to lesson 02: weights."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from .parts import FIXED, by_hand, by_math_exp, list_softmax, numpy_softmax

# --- right answers, in any style ---


def rows_softmax(scores):
    result = torch.empty(scores.shape)
    for row in range(len(scores)):
        result[row] = torch.softmax(scores[row], dim=0)
    return result


def in_place_on_own_copy(scores):
    scores = scores.clone()
    scores -= scores.max(dim=-1, keepdim=True).values
    scores.exp_()
    scores /= scores.sum(dim=-1, keepdim=True)
    return scores


STYLES = {
    "softmax": [
        list_softmax,
        numpy_softmax,
        in_place_on_own_copy,
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
    "softmax_with_temperature": [
        lambda scores, t: numpy_softmax(scores.numpy() / t),
        lambda s, t: list_softmax([x / t for x in s]),
        lambda s, t: torch.softmax(s * (1 / t), -1).double(),
        lambda s, t: torch.exp((s - s.max()) / t) / torch.exp((s - s.max()) / t).sum(),
        lambda s, t: (s / t - (s / t).logsumexp(0)).exp(),
        lambda s, t: torch.softmax(s.requires_grad_() / torch.tensor(t), 0),
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
}

# --- mistakes as they are written ---


def by_powers_of_e(scores):
    exps = [math.e ** float(s) for s in scores]
    return torch.tensor(exps) / sum(exps)


def columns(scores):
    exps = np.exp(scores.numpy() - scores.numpy().max(0))
    return exps / exps.sum(0)


AS_WRITTEN = {
    "softmax": [
        (lambda s: by_hand(s.double(), s.mean()), "subtracted less than the largest"),
        (by_math_exp, "naive exp overflow"),
        (by_powers_of_e, "naive exp overflow"),
        (lambda s: [round(x, 3) for x in s.softmax(0).tolist()], "numbers rounded"),
    ],
    "softmax_with_temperature": [(lambda s, t: by_math_exp(s / t), "naive exp overflow")],
    "attention_weights": [
        (
            lambda s: torch.stack([by_hand(row, row.min()) for row in s]),
            "subtracted less than the largest",
        ),
        (lambda s: [by_math_exp(row) for row in s], "naive exp overflow"),
        (columns, "softmax over the wrong axis"),
    ],
}

# --- wrong, and nobody knows why ---


def forgets_return(scores):
    exps = scores.exp()
    exps / exps.sum()


NO_ROWS = [
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
]

UNKNOWN = {
    "softmax": [
        (lambda s: torch.softmax(s, 0) - 0.2, "negative weights"),
        (lambda s: torch.softmax(s, 0) + 0.01, "sum to 1.0600 instead of 1"),
        (lambda s: torch.full_like(s, 1 / len(s)), "change nothing."),
        (lambda s: torch.softmax(s.tanh(), 0), "numbers are wrong"),
        (lambda s: torch.softmax(s, 0) ** 2, "they do not sum to 1"),
        (lambda s: torch.softmax(s.clamp(-9, 9), 0), "wrong on scores near 1000"),
        (forgets_return, "✘ softmax: it returned None: is `return` missing?"),
        *((lambda s, x=value: x, f"✘ softmax: {words}") for value, words in NO_ROWS),
        (lambda s: s.summ(), "AttributeError: 'Tensor' object has no attribute 'summ' (line"),
        (lambda s: s - s.max(dim=-1), "Add .values (or use amax)"),
        (lambda s: torch.stack([s.softmax(0)[k] for k in range(6)]), FIXED),
        (lambda s: by_math_exp(s - s.min()), "overflows above 709"),
        (lambda s: s + math.inf, "or an infinity that you wrote yourself"),
    ],
    "softmax_with_temperature": [(lambda s, t: torch.softmax(s / (t + 1), 0), "numbers are wrong")],
    "attention_weights": [
        (lambda s: s.sub(s.max(dim=-1)), "Add .values (or use amax)"),
        (lambda s: torch.full_like(s, 1 / len(s)), "change nothing."),
        (lambda s: torch.softmax(-s / 3, 0).T / 2, "sums to 0.5000 instead"),
        (lambda s: torch.softmax(s, -1) + 0.01, "sums to 1.0600 instead"),
    ],
}
