"""Answers to lesson 03: context vectors."""

import numpy as np
import torch
import torch.nn.functional as F

from helpers import attention

from .parts import FIXED, by_math_exp, list_softmax, loop_scores, numpy_softmax

# --- right answers, in any style ---


def loop_context(inputs, i):
    weights = torch.softmax(loop_scores(inputs, i), dim=0)
    context = torch.zeros(inputs[i].shape)
    for j, x in enumerate(inputs):
        context += weights[j] * x
    return context


def float32_inside(inputs, i):
    result = torch.zeros(inputs.shape[0], dtype=torch.float32)
    for j in range(len(inputs)):
        result[j] = inputs[j] @ inputs[i]
    return torch.softmax(result, dim=0) @ inputs  # raises where inputs are float64


def renormalised(inputs, i):
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
    rows = [x for j, x in enumerate(inputs) if j != i]
    weights = list_softmax([torch.dot(x, inputs[i]) for x in rows])
    return sum(w * x for w, x in zip(weights, rows, strict=True))


STYLES = {
    "context_vector": [
        loop_context,
        float32_inside,
        lambda x, i: F.scaled_dot_product_attention(x[i][None], x, x, scale=1.0)[0],
        lambda x, i: (torch.softmax(x @ x[i], 0).unsqueeze(-1) * x).sum(0, keepdim=True)[0],
        lambda x, i: numpy_softmax(x @ x[i]) @ x.numpy(),
        lambda x, i: loop_context(x.requires_grad_(), i).tolist(),
        lambda x, i: sum(w * v for w, v in zip(list_softmax(x @ x[i]), x, strict=True)),
    ],
    "self_attention": [
        lambda x: torch.stack([loop_context(x, i) for i in range(len(x))]),
        lambda x: [loop_context(x, i).numpy() for i in range(len(x))],
        lambda x: F.scaled_dot_product_attention(x, x, x, scale=1.0),
        lambda x: numpy_softmax(x @ x.T) @ x.numpy(),
        lambda x: torch.einsum("ij,jd->id", torch.softmax(x @ x.T, -1).float(), x.float()),
        lambda x: torch.softmax(x @ x.T, 0).T @ x,
    ],
    "context_of_others": [
        deleted,
        masked_fill,
        loop_others,
        lambda x, i: (
            numpy_softmax(np.delete(x.numpy(), i, 0) @ x[i].numpy()) @ np.delete(x.numpy(), i, 0)
        ),
        lambda x, i: deleted(x.double(), i).requires_grad_(),
        lambda x, i: masked_with(x, i, -1e9),
        lambda x, i: masked_with(x, i, torch.finfo(torch.float32).min),
        lambda x, i: masked_with(x, i, (x @ x[i]).min() - 1000),
    ],
}

# --- mistakes as they are written ---


def zipped(inputs, i):
    weights = torch.softmax(inputs @ inputs[i], 0)
    result = [0.0, 0.0]
    for weight, x in zip(weights, inputs, strict=True):
        result = [a + weight * b for a, b in zip(result, x)]  # noqa: B905
    return result


AS_WRITTEN = {
    "context_vector": [
        (zipped, "the last numbers left out"),
        (lambda x, i: torch.ones(len(x)) / len(x) @ x.float(), "all weights equal"),
        (lambda x, i: torch.tensor(by_math_exp(x @ x[i])) @ x.float(), "naive exp overflow"),
        *((lambda x, i, n=n: n * loop_context(x, i), "not started from zeros") for n in (2, 3, 17)),
    ],
    "context_of_others": [
        (lambda x, i, number=number: masked_with(x, i, number), "a number not low enough")
        for number in (-10, -33.3, -999, -1e4)
    ],
}

# --- wrong, and nobody knows why ---


def four_mistakes(inputs):
    weights = torch.softmax(-(inputs @ inputs.T) / 3, 0).round(decimals=2)
    return weights.T @ inputs / len(inputs) + inputs


UNKNOWN = {
    "context_vector": [
        (lambda x, i: 1.5 * x.amax(0), "it ignores i"),
        (lambda x, i: x.cos().mean(0), "it ignores i."),
        (lambda x, i: 0.5 * loop_context(x, i), "always 0.5 times"),
        (lambda x, i: torch.zeros(3) + torch.softmax(x @ x[i], 0) @ x, FIXED),
        (lambda x, i: x.median(0).values, "it ignores i"),
        (lambda x, i: F.normalize(attention.self_attention(x))[i], "numbers are"),
    ],
    "self_attention": [
        (lambda x: x.amax(0).expand_as(x), "all rows are equal"),
        (lambda x: x.flip(0), "numbers are wrong"),
        (lambda x: torch.softmax(x @ x.T, -1) @ x.roll(1, 0), "numbers are wrong"),
        (lambda x: torch.softmax((x @ x.T) ** 2, -1) @ x, "numbers are wrong"),
        (lambda x: torch.softmax(x @ x.T / 2, -1) @ x, "numbers are wrong"),
        (four_mistakes, "outside the range"),
    ],
    "context_of_others": [
        # Where a word looks at itself only, nothing is left to divide by.
        (renormalised, "3 of 3 numbers are NaN"),
        (renormalised_floats, "it raised ZeroDivisionError"),
        (taken_out, "3 of 3 numbers are NaN"),
        (lambda x, i: x.median(0).values, "it ignores i"),
        (lambda x, i: attention.context_of_others(x, i) - x[i], "outside"),
        (lambda x, i: torch.zeros(x.shape[1]), "change nothing."),
    ],
}
