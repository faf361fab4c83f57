"""Parts of answers that serve several lessons."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

NEG_INF = float("-inf")
# What is said where an answer is right on the sentence and fits nothing else.
FIXED = "in your function is a size: take sizes from the arguments."


def changed(base, **methods):
    """The same class with these methods in place of its own."""
    return type("Changed", (base,), methods)


def loop_scores(inputs, i):
    result = torch.empty(len(inputs))
    for j, key in enumerate(inputs):
        result[j] = torch.dot(key, inputs[i])
    return result


def by_hand(scores, less=0.0):
    exps = (scores - less).exp()
    return exps / exps.sum(-1, keepdim=True)


def stable_by_hand(scores):
    return by_hand(scores, scores.max(dim=-1, keepdim=True).values)


def by_math_exp(scores):
    exps = [math.exp(s) for s in scores]
    return [e / sum(exps) for e in exps]


def list_softmax(scores):
    largest = max(scores)
    exps = [torch.exp(s - largest) for s in scores]
    return [e / sum(exps) for e in exps]


def numpy_softmax(scores):
    scores = np.asarray(scores)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True)


def upper(scores, diagonal=1):
    n = scores.shape[-1]
    return torch.triu(torch.ones(n, n), diagonal=diagonal).bool()


def masked(scores, fill=NEG_INF, diagonal=1):
    return scores.masked_fill(upper(scores, diagonal), fill)


def scaled_dot(inputs, W_query, W_key, W_value, **options):
    return F.scaled_dot_product_attention(
        inputs @ W_query, inputs @ W_key, inputs @ W_value, **options
    )


def one_word_after_the_other(inputs, W_query, W_key, W_value):
    keys, values = inputs @ W_key, inputs @ W_value
    contexts = []
    for x in inputs:
        query = x @ W_query
        weights = torch.softmax(keys @ query / keys.shape[1] ** 0.5, dim=0)
        context = torch.zeros(values.shape[1])
        for weight, value in zip(weights, values, strict=True):
            context = context + weight * value
        contexts.append(context)
    return torch.stack(contexts)


class Parameters(nn.Module):
    names = "W_query", "W_key", "W_value"

    def __init__(self, d_in, d_out):
        super().__init__()
        for name in self.names:
            setattr(self, name, self.matrix(d_in, d_out))

    def matrix(self, d_in, d_out):
        return nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values
