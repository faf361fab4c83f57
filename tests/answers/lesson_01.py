"""Answers to lesson 01: scores."""

import numpy as np
import torch
import torch.nn.functional as F

from helpers import load_journey

from .parts import FIXED, loop_scores

# --- right answers, in any style ---


def nested_all_scores(inputs):
    n = inputs.shape[0]
    result = torch.empty(n, n)
    for i, x in enumerate(inputs):
        for j, y in enumerate(inputs):
            result[i, j] = torch.dot(x, y)
    return result


def norm_loop(inputs, i):
    q = inputs[i]
    return [
        torch.dot(x, q) / (torch.sqrt((x * x).sum()) * torch.sqrt((q * q).sum())) for x in inputs
    ]


STYLES = {
    "scores": [
        loop_scores,
        lambda x, i: torch.mv(x, x[i]),
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
    "all_scores": [
        nested_all_scores,
        lambda x: x @ x.T,
        lambda x: torch.einsum("id,jd->ij", x, x),
        lambda x: np.inner(x.numpy(), x.numpy()),
        lambda x: [[torch.dot(a, b).item() for b in x] for a in x],
        lambda x: (x[:, None] * x[None]).sum(-1),
        lambda x: torch.cdist(x, x).pow(0) * x.matmul(x.t()).requires_grad_(),
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

# --- mistakes as they are written ---


def one_early(inputs, i):
    result = torch.empty(len(inputs))
    for j in range(len(inputs) - 1):
        result[j] = torch.dot(inputs[j], inputs[i])
    return result


def added_to_empty(inputs, i):
    result = torch.empty(6)
    for j, key in enumerate(inputs):
        for a, b in zip(key, inputs[i], strict=True):
            result[j] += a * b
    return result


def the_next_one(inputs, i):
    return [sum(a * b for a, b in zip(x, inputs[i + 1], strict=True)) for x in inputs]


AS_WRITTEN = {
    "scores": [
        (one_early, "loop stops one early"),
        (added_to_empty, "accumulates into torch.empty"),
        (the_next_one, "1-based index"),
    ],
    "cosine_scores": [
        (lambda x, i: F.cosine_similarity(x, x[1:2]), "always the query 1"),
        (lambda x, i: x @ x[i] / x.norm(dim=1) * x[i].norm(), "parentheses forgotten"),
    ],
}

# --- wrong, and nobody knows why ---

UNKNOWN = {
    "scores": [
        (lambda x, i: x @ x[i] + 0.001, "numbers are wrong"),
        (lambda x, i: (x @ x[i])[:, None], "The numbers themselves are right."),
        (lambda x, i: 3 * (x @ x[i]), "3 times"),
        (lambda x, i: x.long() @ x[i].long(), "the numbers are wrong"),
        (lambda x, i: (x @ x[i]).tanh(), "numbers are wrong"),
        (lambda x, i: x @ x[i] / torch.zeros(1), "infinite"),
        (lambda x, i: x @ x[i] * torch.nan, "6 of 6 numbers are NaN"),
        (lambda x, i: x @ x[i] + torch.rand(1), "second call"),
        (lambda x, i: x[:6, :3] @ x[i, :3], "Right on the sentence"),
        (lambda x, i: (x @ x[i]).sum(), "it returned one single number; right is shape (6,)"),
        (lambda x, i: (x @ x[i])[0].item(), "See whether `return` is inside the loop, or"),
        (lambda x, i: [x[j] @ x[i] for j in range(6)], FIXED),
        (lambda x, i: load_journey()[1] @ load_journey()[1][i], "wrong shape"),
        (lambda x, i: [sum(y[k] * x[i, k] for k in range(3)) for y in x], FIXED),
    ],
    "all_scores": [
        (lambda x: x @ x.T + 1, "numbers are wrong"),
        (lambda x: x @ x.T @ torch.zeros(2, 2), "RuntimeError"),
    ],
    "cosine_scores": [(lambda x, i: (x @ x[i]).clamp(-1, 1), "numbers are wrong")],
}
