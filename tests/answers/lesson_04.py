"""Answers to lesson 04: queries, keys and values."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .parts import (
    Parameters,
    by_math_exp,
    numpy_softmax,
    one_word_after_the_other,
    scaled_dot,
    stable_by_hand,
)

# --- scaled_scores and qkv_attention: right answers, in any style ---


def loop_scaled(queries, keys):
    result = torch.zeros(len(queries), len(keys))
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            result[i, j] = torch.dot(query, key) / math.sqrt(len(key))
    return result


def with_linear(inputs, *matrices):
    layers = []
    for W in matrices:
        layer = nn.Linear(*W.shape, bias=False, dtype=W.dtype)
        layer.weight.data = W.T
        layers.append(layer)
    queries, keys, values = (layer(inputs) for layer in layers)
    return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values


def with_einsum(inputs, *matrices):
    queries, keys, values = (torch.einsum("nd,dk->nk", inputs, W) for W in matrices)
    scores = torch.einsum("ik,jk->ij", queries, keys) * keys.size(1) ** -0.5
    return torch.einsum("ij,jv->iv", stable_by_hand(scores), values)


def with_numpy(inputs, *matrices):
    queries, keys, values = (inputs.numpy() @ W.numpy() for W in matrices)
    return numpy_softmax(queries @ keys.T / np.sqrt(keys.shape[1])) @ values


def in_three_lines(inputs, W_query, W_key, W_value):
    keys = inputs @ W_key
    scores = inputs @ W_query @ keys.T
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1) @ (inputs @ W_value)


def blended(code):
    """code(queries, keys, values, d_k) as an answer to qkv_attention."""
    return lambda inputs, *matrices: code(*(inputs @ W for W in matrices), matrices[1].shape[1])


STYLES = {
    "scaled_scores": [
        loop_scaled,
        lambda queries, keys: (queries * queries.shape[1] ** -0.5) @ keys.T,
        lambda q, k: torch.einsum("nd,md->nm", q, k) / math.sqrt(k.size(1)),
        lambda q, k: torch.matmul(q, k.t()).div(torch.tensor(k.shape[1]).sqrt()),
        lambda q, k: q.numpy() @ k.numpy().T / np.sqrt(k.shape[1]),
        lambda q, k: [[float(torch.dot(a, b)) / len(b) ** 0.5 for b in k] for a in q],
        lambda q, k: (k.double() @ q.double().T).T / k.shape[-1] ** 0.5,
        lambda q, k: ((q[:, None] * k[None]).sum(-1) / k.shape[-1] ** 0.5).requires_grad_(),
    ],
    "qkv_attention": [
        one_word_after_the_other,
        with_linear,
        with_einsum,
        with_numpy,
        in_three_lines,
        scaled_dot,
        lambda x, *W: scaled_dot(x[None], *W)[0],
        lambda x, *W: with_einsum(x.double(), *(w.double() for w in W)),
        lambda x, *W: one_word_after_the_other(x, *W).tolist(),
        blended(lambda q, k, v, d_k: torch.softmax((q / d_k**0.5) @ k.T, dim=1) @ v),
        blended(lambda q, k, v, d_k: torch.softmax(k @ q.T / math.sqrt(d_k), dim=0).T @ v),
        blended(lambda q, k, v, d_k: stable_by_hand(q / d_k**0.25 @ (k / d_k**0.25).T) @ v),
        lambda x, W_query, W_key, W_value: (
            torch.softmax(x @ W_query @ W_key.T @ x.T / W_key.shape[1] ** 0.5, -1) @ x @ W_value
        ),
    ],
}

# --- mistakes as they are written ---


def loop_scaled_by_len_of_keys(queries, keys):
    return [[sum(q * k) / math.sqrt(len(keys)) for k in keys] for q in queries]


def by_rows(scores):
    return (torch.tensor(by_math_exp(row), dtype=scores.dtype) for row in scores)


def module_inside(inputs, W_query, W_key, W_value):
    torch.manual_seed(42)
    return Parameters(3, 2)(inputs)


seeded = torch.Generator().manual_seed(123)
W_query_above, W_key_above, W_value_above = (torch.rand(3, 2, generator=seeded) for _ in range(3))


def names_of_a_cell_above(inputs, W_query, W_key, W_value):
    return in_three_lines(inputs, W_query_above, W_key_above, W_value_above)


AS_WRITTEN = {
    "scaled_scores": [
        (loop_scaled_by_len_of_keys, "scaled by the number of keys"),
        (lambda q, k: q @ k.T / k.shape[-1] ** 1 / 2, "parentheses forgotten"),
        (lambda q, k: q @ k.T / 1.4142, "always sqrt(2)"),
        (torch.matmul, "keys not transposed"),
    ],
    "qkv_attention": [
        (names_of_a_cell_above, "matrices it was given not used"),
        (module_inside, "another seed"),
        (lambda *args: scaled_dot(*args, scale=1.0), "no scaling"),
        (lambda *args: scaled_dot(*args, is_causal=True), "causal mask applied"),
        (
            blended(lambda q, k, v, d: F.scaled_dot_product_attention(q / d**0.5, k, v)),
            "divided by d_k itself",
        ),
        (lambda x, *W: one_word_after_the_other(x, W[0], W[0], W[2]), "queries used as keys"),
        (
            blended(lambda q, k, v, d: [softmax @ v for softmax in by_rows(q @ k.T / d**0.5)]),
            "naive exp overflow",
        ),
    ],
}


# --- wrong, and nobody knows why ---


def four_mistakes(queries, keys, values, d_k):
    return torch.softmax(-(keys @ queries.T), dim=0) @ values / len(values)


UNKNOWN = {
    "scaled_scores": [
        (lambda q, k: q @ k.T / k.shape[1] ** 0.5 + 0.01, "numbers are wrong"),
        (lambda q, k: 3 * (q @ k.T) / k.shape[1] ** 0.5, "always 3 times"),
        (lambda q, k: q @ k.T // k.shape[1] ** 0.5, "numbers are wrong"),
        (lambda q, k: (q @ k.T).relu() / k.shape[1] ** 0.5, "Right on queries and keys"),
    ],
    "qkv_attention": [
        (lambda *args: 2 * scaled_dot(*args), "always 2 times"),
        (lambda *args: scaled_dot(*args) * torch.nan, "12 of 12 numbers are NaN"),
        (lambda *args: scaled_dot(*args).T, "wrong shape"),
        (lambda x, *W: torch.stack(list(W)) @ x, "RuntimeError"),
        (
            blended(lambda q, k, v, d: torch.softmax(q.cos() @ q.sin().mT, -1) @ v.cos()),
            "other values of W_key change nothing.",
        ),
        # It looks ahead, and rightly.
        (blended(lambda q, k, v, d: (q @ k.mT).cos() @ v), "the numbers are wrong."),
        *(
            (blended(code), "numbers are wrong")
            for code in (
                four_mistakes,
                lambda q, k, v, d: v + F.scaled_dot_product_attention(q, k, v),
                lambda q, k, v, d: F.scaled_dot_product_attention(q, k[:-1], v[:-1]),
                lambda q, k, v, d: torch.softmax((q @ k.T).tanh() / d**0.5, -1) @ v,
                lambda q, k, v, d: torch.softmax(q @ k.T / (d + 1) ** 0.5, -1) @ v,
                lambda q, k, v, d: torch.softmax(q @ k.T / d**0.5, -1).flip(0) @ v,
                lambda q, k, v, d: torch.softmax(q @ k.T / d**0.5, -1) @ (v - v.mean(0)),
                lambda q, k, v, d: torch.softmax(q @ k.T / d**0.5, -1).cumsum(-1) @ v,
                lambda q, k, v, d: torch.softmax(-torch.cdist(q, k), -1) @ v,
            )
        ),
        (
            blended(lambda q, k, v, d: F.dropout(torch.softmax(q @ k.T / d**0.5, -1), 0.5) @ v),
            "second call",
        ),
    ],
}
