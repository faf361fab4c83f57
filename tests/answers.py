"""Answers to the exercises of lessons 01 to 03: mistakes as they are written, right ones in many
styles, wrong ones that nobody declared. Each file of answers defines the same four names."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from helpers import attention

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


# --- the mistakes as students write them ---


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

# --- wrong, and nobody knows why ---


def four_mistakes_of_self_attention(inputs):
    weights = torch.softmax(-(inputs @ inputs.T) / 3, 0).round(decimals=2)
    return weights.T @ inputs / len(inputs) + inputs


UNKNOWN = [
    ("scores", lambda x, i: x @ x[i] + 0.001, "numbers are wrong"),
    ("scores", lambda x, i: (x @ x[i])[:, None], "The numbers themselves are right."),
    ("scores", lambda x, i: 3 * (x @ x[i]), "3 times"),
    ("scores", lambda x, i: x.long() @ x[i].long(), "the numbers are wrong"),
    ("scores", lambda x, i: (x @ x[i]).tanh(), "numbers are wrong"),
    ("scores", lambda x, i: x @ x[i] / torch.zeros(1), "infinite"),
    ("scores", lambda x, i: x @ x[i] * torch.nan, "6 of 6 numbers are NaN"),
    ("scores", lambda x, i: x @ x[i] + torch.rand(1), "second call"),
    ("scores", lambda x, i: x[:6, :3] @ x[i, :3], "Right on the sentence"),
    ("softmax", lambda s: torch.softmax(s, 0) - 0.2, "negative weights"),
    ("softmax", lambda s: torch.softmax(s, 0) + 0.01, "sum to 1.0600 instead of 1"),
    ("softmax", lambda s: torch.full_like(s, 1 / len(s)), "it ignores scores"),
    ("softmax", lambda s: torch.softmax(s.tanh(), 0), "numbers are wrong"),
    ("softmax", lambda s: torch.softmax(s, 0) ** 2, "they do not sum to 1"),
    ("softmax", lambda s: torch.softmax(s.clamp(-9, 9), 0), "wrong on scores near 1000"),
    ("attention_weights", lambda s: torch.full_like(s, 1 / len(s)), "it ignores scores"),
    ("attention_weights", lambda s: torch.softmax(-s / 3, 0).T / 2, "sums to 0.5000 instead"),
    ("attention_weights", lambda s: torch.softmax(s, -1) + 0.01, "sums to 1.0600 instead"),
    ("context_vector", lambda x, i: 1.5 * x.amax(0), "it ignores i"),
    ("context_vector", lambda x, i: x.median(0).values, "it ignores i"),
    ("context_vector", lambda x, i: F.normalize(attention.self_attention(x))[i], "numbers are"),
    ("self_attention", lambda x: x.amax(0).expand_as(x), "all rows are equal"),
    ("self_attention", lambda x: x.flip(0), "numbers are wrong"),
    ("self_attention", lambda x: torch.softmax(x @ x.T, -1) @ x.roll(1, 0), "numbers are wrong"),
    ("self_attention", lambda x: torch.softmax((x @ x.T) ** 2, -1) @ x, "numbers are wrong"),
    ("self_attention", lambda x: torch.softmax(x @ x.T / 2, -1) @ x, "numbers are wrong"),
    ("self_attention", four_mistakes_of_self_attention, "outside the range"),
    ("all_scores", lambda x: x @ x.T + 1, "numbers are wrong"),
    ("all_scores", lambda x: x @ x.T @ torch.zeros(2, 2), "RuntimeError"),
    ("cosine_scores", lambda x, i: (x @ x[i]).clamp(-1, 1), "numbers are wrong"),
    ("context_of_others", lambda x, i: x.median(0).values, "it ignores i"),
    ("context_of_others", lambda x, i: attention.context_of_others(x, i) - x[i], "outside"),
    ("context_of_others", lambda x, i: torch.zeros(x.shape[1]), "it ignores inputs"),
    ("softmax_with_temperature", lambda s, t: torch.softmax(s / (t + 1), 0), "numbers are wrong"),
]
