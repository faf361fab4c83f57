"""Answers to lesson 07: dropout, and causal attention as a module."""

import random
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .parts import NEG_INF, changed, masked

# --- dropout: right answers, in any style ---


def loop_dropout(weights, p, training):
    if not training:
        return weights
    result = weights.flatten().tolist()
    for i, weight in enumerate(result):
        result[i] = 0.0 if random.random() < p else weight / (1 - p)
    return torch.tensor(result).reshape(weights.shape)


def numpy_dropout(weights, p, training):
    if training:
        return weights.numpy() * (np.random.rand(*weights.shape) > p) / (1 - p)
    return weights.numpy()


# --- CausalAttention: right classes, in any style ---


class Textbook(nn.Module):
    def __init__(self, d_in, d_out, context_length, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.create(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def create(self, d_in, d_out, bias):
        self.W_query = nn.Linear(d_in, d_out, bias=bias)
        self.W_key = nn.Linear(d_in, d_out, bias=bias)
        self.W_value = nn.Linear(d_in, d_out, bias=bias)

    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)

    def score(self, queries, keys):
        return queries @ keys.transpose(1, 2)

    def hide(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill_(self.mask.bool()[:n, :n], -torch.inf)

    def weigh(self, scores, keys):
        return torch.softmax(self.hide(scores) / keys.shape[-1] ** 0.5, dim=-1)

    def forward(self, x):
        queries, keys, values = self.project(x)
        return self.weigh(self.score(queries, keys), keys) @ values


textbook = partial(changed, Textbook)  # textbook(hide=...) hides in another way


class Dropout(Textbook):
    """With dropout, which nobody asked for."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.dropout = nn.Dropout(0.5)

    def weigh(self, scores, keys):
        return self.dropout(super().weigh(scores, keys))


class Fused(Textbook):
    def create(self, d_in, d_out, bias):
        self.qkv = nn.Linear(d_in, 3 * d_out)

    def project(self, x):
        return self.qkv(x).chunk(3, dim=-1)

    def hide(self, scores):
        return masked(scores)


class FusedParameter(Textbook):
    def create(self, d_in, d_out, bias):
        self.W = nn.Parameter(torch.randn(d_in, 3 * d_out))

    def project(self, x):
        return (x @ self.W).chunk(3, dim=-1)


class TwoFused(Textbook):
    def create(self, d_in, d_out, bias):
        self.ask, self.kv = nn.Linear(d_in, d_out), nn.Linear(d_in, 2 * d_out)

    def project(self, x):
        return self.ask(x), *self.kv(x).chunk(2, dim=-1)


class Nameless(Textbook):
    """Created in the order value, key, query, with names that do not say so."""

    def create(self, d_in, d_out, bias):
        self.layers = nn.ModuleList([nn.Linear(d_in, d_out) for _ in range(3)])

    def project(self, x):
        return self.layers[2](x), self.layers[1](x), self.layers[0](x)

    def hide(self, scores):
        return masked(scores, -1e9)


class Created(Textbook):
    """Created in another order, with names that say so."""

    def create(self, d_in, d_out, bias):
        self.to_v = nn.Linear(d_in, d_out)
        self.to_q = nn.Linear(d_in, d_out)
        self.to_k = nn.Linear(d_in, d_out)

    def project(self, x):
        return self.to_q(x), self.to_k(x), self.to_v(x)

    def hide(self, scores):
        mask = torch.ones(scores.shape[-2:], device=scores.device).tril() == 0
        return scores.masked_fill(mask, torch.finfo(scores.dtype).min)


class Transposed(Textbook):
    """Parameters as nn.Linear keeps them."""

    def create(self, d_in, d_out, bias):
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.rand(d_out, d_in)))

    def project(self, x):
        return x @ self.query.T, x @ self.key.T, F.linear(x, self.value)


class AddedMask(Textbook):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("mask", torch.triu(torch.full((sizes[2], sizes[2]), NEG_INF), 1)[None])

    def hide(self, scores):
        n = scores.shape[-1]
        return scores + self.mask[:, :n, :n]


class Renormalised(Textbook):
    def weigh(self, scores, keys):
        n = scores.shape[1]
        weights = torch.softmax(scores / self.d_out**0.5, -1) * (1 - self.mask)[:n, :n]
        return weights / weights.sum(-1, keepdim=True)


class PlainMask(Textbook):
    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length)
        mask = self.mask
        del self.mask
        self.mask = mask


class TrainedMask(Textbook):
    """A Parameter of ones and zeros: no gradient reaches it, but it is among the parameters."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        mask = self.mask
        del self.mask
        self.mask = nn.Parameter(mask)


class FrozenMask(TrainedMask):
    """A Parameter that is not to be trained will do."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.mask.requires_grad_(False)


class BroughtOver(PlainMask):
    """The mask is no buffer, and forward takes it where the inputs are."""

    def hide(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill(self.mask.to(scores.device)[:n, :n].bool(), NEG_INF)


class Remembering(Textbook):
    """Keeps what it computed, for a picture later."""

    def weigh(self, scores, keys):
        self.last_weights = super().weigh(scores, keys)
        return self.last_weights


class Loops(Textbook):
    def forward(self, x):
        return torch.stack([self.one(sentence) for sentence in x])

    def one(self, x):
        q, k, v = self.project(x)
        rows = []
        for i in range(len(x)):
            weights = torch.softmax(k[: i + 1] @ q[i] / self.d_out**0.5, dim=0)
            rows.append(weights @ v[: i + 1])
        return torch.stack(rows)


STYLES = {
    "dropout": [
        loop_dropout,
        numpy_dropout,
        lambda w, p, training: F.dropout(w, p, training),
        lambda w, p, training: w * (torch.rand(w.shape) >= p) / (1 - p) if training else w,
        lambda w, p, training: (
            w * torch.bernoulli(torch.full_like(w, 1 - p)) / (1 - p) if training else w.clone()
        ),
        lambda w, p, training: nn.Dropout(p).train(training)(w),
        lambda w, p, training: (
            w.masked_fill(torch.rand_like(w) < p, 0) * (1 / (1 - p)) if training else w
        ),
        lambda w, p, training: (
            torch.where(torch.rand(w.shape) > p * training, w, 0) / (1 - p * training)
        ),
        lambda w, p, training: F.dropout(w.half(), p, training).tolist(),
    ],
    "CausalAttention": [
        Textbook,
        Fused,
        FusedParameter,
        TwoFused,
        Nameless,
        Created,
        Transposed,
        AddedMask,
        Renormalised,
        BroughtOver,
        FrozenMask,
        Remembering,
        Loops,
        textbook(create=lambda self, *sizes, bias: Textbook.create(self, *sizes, bias=True)),
        changed(Fused, project=lambda self, x: [self.qkv(x).chunk(3, -1)[k] for k in (2, 0, 1)]),
        textbook(hide=lambda self, s: s + (1.0 - torch.tril(torch.ones_like(s[0]))) * -1e9),
        textbook(weigh=lambda self, s, keys: self.hide(s * self.d_out**-0.5).softmax(-1)),
        textbook(
            forward=lambda self, x: F.scaled_dot_product_attention(*self.project(x), is_causal=True)
        ),
    ],
}


# --- mistakes as they are written ---


def seeded_dropout(weights, p, training):
    torch.manual_seed(123)
    return F.dropout(weights, p, training)


def fixed_generator(weights, p, training):
    coins = np.random.default_rng(0).random(weights.shape)
    return weights * torch.tensor(coins >= p) / (1 - p) if training else weights


def in_place_dropout(weights, p, training):
    if training:
        weights *= (torch.rand(weights.shape) >= p) / (1 - p)
    return weights


def unscaled(self, scores, keys):
    return torch.softmax(self.hide(scores), dim=-1)


AS_WRITTEN = {
    "dropout": [
        (lambda w, p, training: F.dropout(w, p), "left on in evaluation"),
        (lambda w, p, training: nn.Dropout(p)(w), "left on in evaluation"),
        (lambda w, p, training: F.dropout(w, 1 - p, training), "p taken as keep probability"),
        (seeded_dropout, "same mask at each call"),
        (fixed_generator, "same mask at each call"),
        (in_place_dropout, "input changed in place"),
        (lambda w, p, training: F.dropout1d(w[None], p, training)[0], "whole rows dropped"),
    ],
    "CausalAttention": [
        (Dropout, "dropout that is not asked for"),
        (PlainMask, "mask not registered"),
        (TrainedMask, "mask to be trained"),
        (changed(PlainMask, weigh=unscaled), "no scaling"),
        (textbook(hide=lambda self, s: s - 1e9 * self.mask), "sequence length fixed"),
        (textbook(hide=lambda self, s: s.tril()), "masked with 0"),
        (
            textbook(weigh=lambda self, s, keys: (s / keys.shape[-1] ** 0.5).softmax(-1).tril()),
            "mask after softmax",
        ),
        (
            changed(Fused, score=lambda self, q, k: torch.einsum("id,jd->ij", q, k)),
            "one sentence only",
        ),
    ],
}


# --- wrong, and nobody knows why ---


def four_mistakes(self, inputs):
    queries, keys, values = self.project(inputs)
    weights = torch.softmax(-(keys @ queries.mT).tril(-1), dim=-2)
    return weights @ values / 5


UNKNOWN = {
    "dropout": [
        (
            lambda w, p, training: F.dropout(w, 0.2, training),
            "share that is dropped: yours 0.2, right 0.6",
        ),
        (lambda w, p, training: w * torch.rand(w.shape), "not one for all"),
        (lambda w, p, training: torch.softmax(w + torch.rand(w.shape), -1), "not one"),
        (lambda w, p, training: torch.zeros_like(w), "what is dropped: yours everything"),
        (lambda w, p, training: w[0], "shape: yours (100,)"),
        (lambda w, p, training: w * torch.nan, "nan"),
        (lambda w, p, training: w.nothing, "AttributeError"),
        (lambda w, p, training: {1: w}, "it returned a dict"),
    ],
    "CausalAttention": [
        (textbook(hide=lambda self, s: masked(s, diagonal=3)), "future is visible"),
        (textbook(hide=lambda self, s: masked(s.tanh())), "numbers are wrong"),
        (textbook(forward=four_mistakes), "the future is visible"),
        (textbook(hide=lambda self, s: masked(s, 1)), "future is visible"),
        (textbook(forward=lambda self, x: self.W_key(x).T.nothing), "AttributeError"),
        (textbook(hide=lambda self, s: s * torch.nan), "numbers are NaN"),
        (textbook(forward=lambda self, x: self.nothing), "AttributeError"),
        (textbook(forward=lambda self, x: print(x)), "it returned None"),
        (textbook(forward=nn.Module.forward, foward=Textbook.forward), "forward"),
        (
            textbook(__init__=lambda self, *sizes: Textbook.__init__(self, *sizes[:2], 6)),
            "RuntimeError",
        ),
    ],
}
