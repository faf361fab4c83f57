"""Answers to the exercises of lesson 05 and to the class of lesson 04, as in answers.py."""

import math
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from helpers import attention

CATALOGUE = {
    "SelfAttention": [
        "no scaling",
        "scaled by the embedding size",
        "divided by d_k, root forgotten",
        "multiplied by sqrt(d_k)",
        "softmax over the wrong axis",
        "softmax over the whole matrix",
        "keys and values swapped",
        "queries and values swapped",
        "roles rotated (k,v,q)",
        "roles rotated (v,q,k)",
        "queries used as keys",
        "weights transposed",
        "softmax twice",
        "scores from the raw inputs",
        "normalised q and k",
        "matrices created in another order (k,q,v)",
        "drawn as (d_out,d_in)",
        "nn.Linear instead of Parameter(rand)",
        "bias left on",
        "another seed",
        "plain tensors as weights",
        "Python list of layers",
        "requires_grad=False left",
        "new random weights in forward",
        "gradient cut",
        "super().__init__() forgotten",
        "input changed in place",
    ],
    "causal_weights": [
        "no mask",
        "masked_fill result dropped",
        "mask after softmax",
        "masked with 0",
        "mask upside down",
        "mask upside down, diagonal kept",
        "diagonal masked too",
        "one step too generous",
        "+inf",
        "mask * -inf added",
        "softmax, mask, softmax",
        "mask as a row vector of queries",
        "masked where tril(S)==0",
        "softmax over columns",
        "mask only, scores unused",
    ],
    "dropout": [
        "no rescaling",
        "p taken as keep probability",
        "rescaled by 1/p",
        "left on in evaluation",
        "dropout before softmax",
        "whole rows dropped",
        "same mask at each call",
    ],
    "CausalAttention": [
        "plain tensors as weights",
        "Python list of layers",
        "requires_grad=False left",
        "mask not registered",
        "new random weights in forward",
        "sequence length fixed",
        "keys.T",
        "gradient cut",
        "super().__init__() forgotten",
        "input changed in place",
        "no mask",
        "mask after softmax",
        "mask upside down",
        "masked with 0",
        "diagonal masked too",
        "no scaling",
        "softmax over columns",
    ],
}

INF = float("-inf")


# --- parts of answers ---


def upper(scores, diagonal=1):
    n = scores.shape[-1]
    return torch.triu(torch.ones(n, n), diagonal=diagonal).bool()


def masked(scores, fill=INF, diagonal=1):
    return scores.masked_fill(upper(scores, diagonal), fill)


def loop_weights(scores, d_k, window=None):
    n = len(scores)
    result = torch.zeros(n, n, dtype=scores.dtype)
    for i in range(n):
        first = 0 if window is None else max(0, i - window + 1)
        exps = [math.exp((scores[i, j] - max(scores[i, first : i + 1])) / math.sqrt(d_k))
                for j in range(first, i + 1)]  # fmt: skip
        for j in range(first, i + 1):
            result[i, j] = exps[j - first] / sum(exps)
    return result


def numpy_weights(scores, d_k, window=None):
    scores = scores.numpy() / np.sqrt(d_k)
    hidden = np.triu(np.ones(scores.shape, dtype=bool), 1)
    if window is not None:
        hidden |= np.tril(np.ones(scores.shape, dtype=bool), -window)
    scores = np.where(hidden, -np.inf, scores)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True)


def renormalised(scores, d_k):
    weights = torch.softmax(scores / d_k**0.5, dim=-1) * torch.tril(torch.ones_like(scores))
    return weights / weights.sum(dim=-1, keepdim=True)


def renormalised_window(scores, d_k, window):
    weights = torch.softmax(scores / d_k**0.5, dim=-1) * band(scores, window)
    return weights / weights.sum(dim=-1, keepdim=True)


def in_place(scores, d_k):
    scores = scores.clone()
    scores.masked_fill_(upper(scores), -torch.inf)
    return torch.softmax(scores / math.sqrt(d_k), dim=-1)


def by_index(scores, d_k):
    scores = scores / d_k**0.5
    scores[upper(scores)] = INF
    return F.softmax(scores, dim=-1)


def by_einsum(scores, d_k):
    exps = torch.exp(scores / d_k**0.5 - (scores / d_k**0.5).amax(-1, keepdim=True))
    exps = torch.einsum("ij,ij->ij", exps, torch.tril(torch.ones_like(exps)))
    return exps / torch.einsum("ij->i", exps)[:, None]


def row_by_row(scores, d_k):
    rows = []
    for i, row in enumerate(scores):
        weights = torch.softmax(row[: i + 1] / d_k**0.5, dim=0)
        rows.append(F.pad(weights, (0, len(scores) - i - 1)))
    return torch.stack(rows)


def band(scores, window):
    n = len(scores)
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return (j <= i) & (j > i - window)


def loop_dropout(weights, p, training):
    if not training:
        return weights
    result = weights.tolist()
    for i, row in enumerate(result):
        for j, weight in enumerate(row):
            result[i][j] = 0.0 if random.random() < p else weight / (1 - p)
    return torch.tensor(result)


def indexed_loop_dropout(weights, p, training):
    result = weights.clone()
    if training:
        for i in range(weights.shape[0]):
            for j in range(weights.shape[1]):
                result[i, j] = weights[i, j] / (1 - p) if torch.rand(1) > p else 0
    return result


def numpy_dropout(weights, p, training):
    if training:
        return weights.numpy() * (np.random.rand(*weights.shape) > p) / (1 - p)
    return weights.numpy()


def drop(weights, p):
    return weights * (torch.rand(weights.shape) >= p) / (1 - p)


# --- classes ---


class Parameters(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


class OtherNames(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.a = nn.Parameter(torch.rand(d_in, d_out))
        self.b = nn.Parameter(torch.rand(d_in, d_out))
        self.c = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, inputs):
        scores = torch.einsum("id,jd->ij", inputs @ self.a, inputs @ self.b)
        return scores.div(self.a.shape[1] ** 0.5).softmax(-1).matmul(inputs @ self.c)


class Letters(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.d_k = n_out
        self.wq, self.wk, self.wv = (nn.Parameter(torch.rand(n_in, n_out)) for _ in range(3))

    def forward(self, x):
        q, k, v = (torch.matmul(x, w) for w in (self.wq, self.wk, self.wv))
        return F.scaled_dot_product_attention(q, k, v)


class Stacked(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W = nn.Parameter(torch.rand(3, d_in, d_out))
        self.scale = torch.tensor(d_out).sqrt()

    def forward(self, x):
        q, k, v = x @ self.W
        return torch.softmax((q / self.scale) @ k.mT, -1) @ v


class Filled(nn.Module):
    def __init__(self, d_in, d_out, device=None):
        super().__init__()
        for name in ("query", "key", "value"):
            self.register_parameter(name, nn.Parameter(torch.empty(d_in, d_out).uniform_()))

    def forward(self, x):
        contexts = []
        for word in x:
            scores = [word @ self.query @ (other @ self.key) for other in x]
            weights = torch.softmax(torch.stack(scores) / math.sqrt(self.key.shape[1]), dim=0)
            contexts.append(sum(w * (other @ self.value) for w, other in zip(weights, x)))  # noqa: B905
        return torch.stack(contexts)


class InADict(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W = nn.ParameterDict({k: torch.rand(d_in, d_out) for k in ("q", "k", "v")})

    def forward(self, x, scale=True):
        q, k, v = x @ self.W["q"], x @ self.W["k"], x @ self.W["v"]
        self.weights = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1)
        return self.weights @ v


class Textbook(nn.Module):
    def __init__(self, d_in, d_out, context_length, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

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


class Dropout(Textbook):
    """With dropout, which does nothing in evaluation."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.dropout = nn.Dropout(0.5)

    def weigh(self, scores, keys):
        return self.dropout(super().weigh(scores, keys))


class Bias(Textbook):
    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length, qkv_bias=True)


class Fused(Textbook):
    def __init__(self, d_in, d_out, context_length):
        nn.Module.__init__(self)
        self.qkv = nn.Linear(d_in, 3 * d_out)

    def project(self, x):
        return self.qkv(x).chunk(3, dim=-1)

    def hide(self, scores):
        return masked(scores)


class FusedInAnotherOrder(Fused):
    def project(self, x):
        k, v, q = self.qkv(x).chunk(3, dim=-1)
        return q, k, v


class FusedParameter(Fused):
    def __init__(self, d_in, d_out, context_length):
        nn.Module.__init__(self)
        self.W = nn.Parameter(torch.randn(d_in, 3 * d_out))

    def project(self, x):
        return (x @ self.W).chunk(3, dim=-1)


class TwoFused(Fused):
    def __init__(self, d_in, d_out, context_length):
        nn.Module.__init__(self)
        self.ask, self.kv = nn.Linear(d_in, d_out), nn.Linear(d_in, 2 * d_out)

    def project(self, x):
        return self.ask(x), *self.kv(x).chunk(2, dim=-1)


class Nameless(Textbook):
    """Created in the order value, key, query, with names that do not say so."""

    def __init__(self, d_in, d_out, context_length):
        nn.Module.__init__(self)
        self.layers = nn.ModuleList([nn.Linear(d_in, d_out) for _ in range(3)])

    def project(self, x):
        return self.layers[2](x), self.layers[1](x), self.layers[0](x)

    def hide(self, scores):
        return masked(scores, -1e9)


class Created(Textbook):
    """Created in another order, with names that say so."""

    def __init__(self, d_in, d_out, context_length):
        nn.Module.__init__(self)
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

    def __init__(self, d_in, d_out, context_length):
        nn.Module.__init__(self)
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Parameter(torch.rand(d_out, d_in)))
        self.register_buffer("bias", torch.ones(context_length, context_length).tril()[None])

    def project(self, x):
        return x @ self.query.T, x @ self.key.T, F.linear(x, self.value)

    def hide(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill(self.bias[:, :n, :n] == 0, INF)


class AddedMask(Textbook):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("mask", torch.triu(torch.full((sizes[2], sizes[2]), INF), 1))

    def hide(self, scores):
        n = scores.shape[-1]
        return scores + self.mask[:n, :n]


class LargeNegative(Textbook):
    def hide(self, scores):
        return scores + (1.0 - torch.tril(torch.ones_like(scores[0]))) * -1e9


class ScaledFirst(Textbook):
    def weigh(self, scores, keys):
        return torch.softmax(self.hide(scores * self.d_out**-0.5), dim=-1)


class ScaledQueries(Textbook):
    def score(self, queries, keys):
        return torch.einsum("bid,bjd->bij", queries / self.d_out**0.5, keys)

    def weigh(self, scores, keys):
        return F.softmax(self.hide(scores), -1)


class Renormalised(Textbook):
    def weigh(self, scores, keys):
        weights = (
            torch.softmax(scores / self.d_out**0.5, -1)
            * (1 - self.mask)[: scores.shape[1], : scores.shape[1]]
        )
        return weights / weights.sum(-1, keepdim=True)


class BuiltIn(Textbook):
    def forward(self, x):
        return F.scaled_dot_product_attention(*self.project(x), is_causal=True)


class BroughtOver(Textbook):
    """The mask is no buffer, and forward takes it where the inputs are."""

    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length)
        mask = self.mask
        del self.mask
        self.mask = mask

    def hide(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill(self.mask.to(scores.device)[:n, :n].bool(), INF)


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
    "SelfAttention": [
        Parameters,
        OtherNames,
        Letters,
        Stacked,
        Filled,
        InADict,
        type("Subclass", (Parameters,), {}),
    ],
    "causal_weights": [
        loop_weights,
        numpy_weights,
        renormalised,
        in_place,
        by_index,
        by_einsum,
        row_by_row,
        lambda s, d_k: torch.softmax(masked(s / d_k**0.5), -1),
        lambda s, d_k: torch.softmax(masked(s) / math.sqrt(d_k), -1),
        lambda s, d_k: torch.softmax(masked(s / d_k**0.5, -1e9), -1),
        lambda s, d_k: torch.softmax(masked(s, -1e9) / d_k**0.5, -1),
        lambda s, d_k: torch.softmax(masked(s * d_k**-0.5, torch.finfo(s.dtype).min), -1),
        lambda s, d_k: torch.softmax(masked(s, torch.finfo(torch.float32).min) / d_k**0.5, -1),
        lambda s, d_k: torch.softmax(s / d_k**0.5 + torch.full_like(s, INF).triu(1), -1),
        lambda s, d_k: torch.softmax(s / d_k**0.5 - 1e9 * upper(s), dim=1),
        lambda s, d_k: torch.where(upper(s), INF, s / d_k**0.5).softmax(-1).requires_grad_(),
        lambda s, d_k: numpy_weights(s, d_k).tolist(),
        lambda s, d_k: torch.softmax(s / d_k**0.5 + torch.tril(torch.ones_like(s)).log(), -1),
        lambda s, d_k: F.scaled_dot_product_attention(
            s.float(), torch.eye(len(s)), torch.eye(len(s)), is_causal=True, scale=d_k**-0.5
        ),
        lambda s, d_k, mask=None: attention.causal_weights(s.double(), d_k),
    ],
    "window_weights": [
        loop_weights,
        numpy_weights,
        lambda s, d_k, w: torch.softmax((s / d_k**0.5).masked_fill(~band(s, w), INF), -1),
        lambda s, d_k, w: torch.softmax(s.masked_fill(~band(s, w), -1e9) / d_k**0.5, -1),
        lambda s, d_k, w: torch.softmax(s / d_k**0.5 + band(s, w).double().log(), -1),
        lambda s, d_k, w: torch.softmax(s * d_k**-0.5 - 1e9 * ~band(s, w), -1),
        lambda s, d_k, w: torch.where(band(s, w), s / d_k**0.5, INF).softmax(dim=1),
        renormalised_window,
        lambda s, d_k, w: torch.softmax(
            (s / d_k**0.5)
            .masked_fill(torch.ones_like(s).triu(1) == 1, INF)
            .masked_fill(torch.ones_like(s).tril(-w) == 1, INF),
            dim=-1,
        ),
    ],
    "dropout": [
        loop_dropout,
        indexed_loop_dropout,
        numpy_dropout,
        lambda w, p, training: F.dropout(w, p, training),
        lambda w, p, training: drop(w, p) if training else w,
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
        lambda w, p, training: torch.einsum(
            "ij,ij->ij", w, F.dropout(torch.ones_like(w), p, training)
        ),
        lambda w, p, training: F.dropout(w.half(), p, training).tolist(),
    ],
    "CausalAttention": [
        Textbook,
        Dropout,
        Bias,
        Fused,
        FusedInAnotherOrder,
        FusedParameter,
        TwoFused,
        Nameless,
        Created,
        Transposed,
        AddedMask,
        LargeNegative,
        ScaledFirst,
        ScaledQueries,
        Renormalised,
        BuiltIn,
        BroughtOver,
        Remembering,
        Loops,
    ],
}


# --- the mistakes as students write them ---


class PlainTensors(Parameters):
    def __init__(self, d_in, d_out):
        nn.Module.__init__(self)
        self.W_query = torch.rand(d_in, d_out)
        self.W_key = torch.rand(d_in, d_out)
        self.W_value = torch.rand(d_in, d_out)


class PlainAndUnscaled(PlainTensors):
    def forward(self, x):
        scores = (x @ self.W_query) @ (x @ self.W_key).T
        return torch.softmax(scores, -1) @ (x @ self.W_value)


class GradientAsked(PlainTensors):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        for W in (self.W_query, self.W_key, self.W_value):
            W.requires_grad_()


class ListOfParameters(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W = [nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3)]

    def forward(self, x):
        q, k, v = (x @ W for W in self.W)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, -1) @ v


class FrozenParameters(Parameters):
    def __init__(self, d_in, d_out):
        nn.Module.__init__(self)
        for name in ("W_query", "W_key", "W_value"):
            W = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
            setattr(self, name, W)


class LinearInForward(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_in, self.d_out = d_in, d_out

    def forward(self, x):
        q, k, v = (nn.Linear(self.d_in, self.d_out)(x) for _ in range(3))
        return torch.softmax(q @ k.T / self.d_out**0.5, -1) @ v


class SeededInForward(LinearInForward):
    def forward(self, x):
        torch.manual_seed(123)
        return super().forward(x)


class RedrawnParameters(Parameters):
    def forward(self, x):
        self.W_key = nn.Parameter(torch.randn(self.W_key.shape))
        return super().forward(x)


class NoSuper(nn.Module):
    def __init__(self, d_in, d_out):
        self.W_query = nn.Linear(d_in, d_out)


class NoSuperOfClass(nn.Module):
    def __init__(self, d_in, d_out, context_length):
        self.d_out = d_out
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))


class Detached(Parameters):
    def forward(self, x):
        return torch.tensor(super().forward(x).tolist())


class NoGrad(Parameters):
    @torch.no_grad()
    def forward(self, x):
        return super().forward(x)


class DetachedWeights(Parameters):
    def forward(self, x):
        weights = torch.softmax(
            (x @ self.W_query) @ (x @ self.W_key).T / self.W_key.shape[1] ** 0.5, -1
        )
        return weights.detach() @ (x @ self.W_value)


class Seeded42(Parameters):
    def __init__(self, d_in, d_out):
        torch.manual_seed(42)
        super().__init__(d_in, d_out)


class Centred(Parameters):
    def forward(self, x):
        x -= x.mean(dim=-1, keepdim=True)
        return super().forward(x)


class KeyFirst(Parameters):
    def __init__(self, d_in, d_out):
        nn.Module.__init__(self)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))


class KeyFirstWithoutNames(OtherNames):
    def forward(self, inputs):
        scores = (inputs @ self.b) @ (inputs @ self.a).T
        return torch.softmax(scores / self.a.shape[1] ** 0.5, -1) @ (inputs @ self.c)


class LinearLayers(nn.Module):
    bias = False

    def __init__(self, d_in, d_out):
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=self.bias)
        self.key = nn.Linear(d_in, d_out, bias=self.bias)
        self.value = nn.Linear(d_in, d_out, bias=self.bias)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, -1) @ v


class LinearLayersWithBias(LinearLayers):
    bias = True


def textbook(**methods):
    return type("Wrong", (Textbook,), methods)


class PlainMask(Textbook):
    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length)
        del self.mask
        self.mask = torch.triu(torch.ones(context_length, context_length), diagonal=1)


class PlainBoolMask(PlainMask):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.mask = self.mask.bool()

    def hide(self, scores):
        n = scores.shape[1]
        return torch.where(self.mask[:n, :n], INF, scores)


class PlainMaskUnscaled(PlainMask):
    def hide(self, scores):
        n = scores.shape[1]
        return scores.masked_fill(self.mask[:n, :n].bool(), INF)

    def weigh(self, scores, keys):
        return torch.softmax(self.hide(scores), dim=-1)


def dropped(self, scores):
    scores.masked_fill(self.mask.bool()[: scores.shape[1], : scores.shape[1]], INF)
    return scores


def unsliced(self, scores):
    return scores.masked_fill(self.mask.bool(), -torch.inf)


def added_unsliced(self, scores):
    return scores - 1e9 * self.mask


def zeroed(self, scores, keys):
    weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
    return weights * torch.tril(torch.ones_like(weights))


def over(dim):
    def weigh(self, scores, keys):
        return torch.softmax(self.hide(scores) / keys.shape[-1] ** 0.5, dim=dim)

    return weigh


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


def dropped_fill(scores, d_k):
    scores = scores / d_k**0.5
    torch.masked_fill(scores, upper(scores), INF)
    return torch.softmax(scores, dim=-1)


def dropped_fill_of_argument(scores, d_k):
    scores.masked_fill(upper(scores), INF)
    return torch.softmax(scores / d_k**0.5, dim=-1)


def set_where(fill, diagonal=1):
    def code(scores, d_k):
        scores = scores / d_k**0.5
        scores[upper(scores, diagonal)] = fill
        return torch.softmax(scores, dim=-1)

    return code


AS_WRITTEN = [
    ("SelfAttention", PlainTensors, "plain tensors as weights"),
    ("SelfAttention", PlainAndUnscaled, ("plain tensors as weights", "no scaling")),
    ("SelfAttention", GradientAsked, "plain tensors as weights"),
    ("SelfAttention", ListOfParameters, "Python list of layers"),
    ("SelfAttention", FrozenParameters, "requires_grad=False left"),
    ("SelfAttention", LinearInForward, ("new random weights in forward", "bias left on")),
    ("SelfAttention", SeededInForward, ("new random weights in forward", "bias left on")),
    ("SelfAttention", RedrawnParameters, "new random weights in forward"),
    ("SelfAttention", NoSuper, "super().__init__() forgotten"),
    ("SelfAttention", Detached, "gradient cut"),
    ("SelfAttention", NoGrad, "gradient cut"),
    ("SelfAttention", DetachedWeights, "gradient cut"),
    ("SelfAttention", Seeded42, "another seed"),
    ("SelfAttention", Centred, "input changed in place"),
    ("SelfAttention", KeyFirst, "matrices created in another order (k,q,v)"),
    ("SelfAttention", KeyFirstWithoutNames, "matrices created in another order (k,q,v)"),
    ("SelfAttention", LinearLayers, "nn.Linear instead of Parameter(rand)"),
    ("SelfAttention", LinearLayersWithBias, "bias left on"),
    ("causal_weights", dropped_fill, "masked_fill result dropped"),
    ("causal_weights", dropped_fill_of_argument, "masked_fill result dropped"),
    ("causal_weights", set_where(0), "masked with 0"),
    ("causal_weights", lambda s, d_k: torch.softmax(torch.tril(s) / d_k**0.5, -1), "masked with 0"),
    ("causal_weights", set_where(float("inf")), "+inf"),
    ("causal_weights", lambda s, d_k: torch.softmax(masked(s, -INF) / d_k**0.5, -1), "+inf"),
    (
        "causal_weights",
        lambda s, d_k: torch.softmax(torch.where(upper(s), torch.inf, s) / d_k**0.5, -1),
        "+inf",
    ),
    ("causal_weights", set_where(-1e4), "a number not low enough"),
    ("causal_weights", set_where(-33.3), "a number not low enough"),
    (
        "causal_weights",
        lambda s, d_k: torch.softmax(s / d_k**0.5 - 77 * upper(s), -1),
        "a number not low enough",
    ),
    (
        "causal_weights",
        lambda s, d_k: torch.softmax(s / d_k**0.5 + upper(s) * -1234.5, -1),
        "a number not low enough",
    ),
    ("causal_weights", set_where(INF, diagonal=0), "diagonal masked too"),
    (
        "causal_weights",
        lambda s, d_k: torch.softmax(s / d_k**0.5 + upper(s) * INF, -1),
        "mask * -inf added",
    ),
    (
        "causal_weights",
        lambda s, d_k: torch.softmax((s + INF * upper(s).double()) / d_k**0.5, -1),
        "mask * -inf added",
    ),
    (
        "causal_weights",
        lambda s, d_k: torch.softmax(masked(s, math.inf, 2) / d_k**0.5, -1),
        ("+inf", "one step too generous"),
    ),
    (
        "causal_weights",
        lambda s, d_k: (
            np.exp(s.numpy() / d_k**0.5)
            * np.tril(np.ones(s.shape))
            / (np.exp(s.numpy() / d_k**0.5) * np.tril(np.ones(s.shape))).sum(1, keepdims=True)
        ),
        "naive exp overflow",
    ),
    (
        "window_weights",
        lambda s, d_k, w: numpy_weights(s, d_k, w + 1),
        "window one too wide",
    ),
    (
        "window_weights",
        lambda s, d_k, w: torch.softmax(
            s.masked_fill((torch.ones(s.shape).tril(diagonal=w) + upper(s)).bool(), INF) / d_k**0.5,
            -1,
        ),
        "sign of the diagonal",
    ),
    ("window_weights", lambda s, d_k, w: loop_weights(s, d_k), "the window not applied"),
    (
        "window_weights",
        lambda s, d_k, w: torch.softmax(s / d_k**0.5 - 500 * ~band(s, w), -1),
        "a number not low enough",
    ),
    (
        "causal_weights",
        lambda s, d_k: torch.full_like(s, 1 / len(s)),
        ("no mask", "mask only, scores unused"),
    ),
    ("dropout", lambda w, p, training: F.dropout(w, p), "left on in evaluation"),
    ("dropout", lambda w, p, training: nn.Dropout(p)(w), "left on in evaluation"),
    (
        "dropout",
        lambda w, p, training: F.dropout(w, 1 - p, training),
        "p taken as keep probability",
    ),
    ("dropout", lambda w, p, training: drop(w, p) * (1 - p) if training else w, "no rescaling"),
    ("dropout", seeded_dropout, "same mask at each call"),
    ("dropout", fixed_generator, "same mask at each call"),
    ("dropout", in_place_dropout, "input changed in place"),
    (
        "dropout",
        lambda w, p, training: torch.softmax(F.dropout(w, p, training), -1),
        "dropout before softmax",
    ),
    (
        "dropout",
        lambda w, p, training: F.dropout(w.log(), p, training).softmax(-1),
        "dropout before softmax",
    ),
    ("dropout", lambda w, p, training: F.dropout1d(w[None], p, training)[0], "whole rows dropped"),
    ("CausalAttention", PlainMask, "mask not registered"),
    ("CausalAttention", PlainBoolMask, "mask not registered"),
    ("CausalAttention", PlainMaskUnscaled, "no scaling"),
    ("CausalAttention", NoSuperOfClass, "super().__init__() forgotten"),
    ("CausalAttention", textbook(hide=unsliced), "sequence length fixed"),
    ("CausalAttention", textbook(hide=added_unsliced), "sequence length fixed"),
    ("CausalAttention", textbook(hide=dropped), "masked_fill result dropped"),
    ("CausalAttention", textbook(hide=lambda self, s: s), "no mask"),
    ("CausalAttention", textbook(hide=lambda self, s: masked(s, 0.0)), "masked with 0"),
    ("CausalAttention", textbook(hide=lambda self, s: s.tril()), "masked with 0"),
    (
        "CausalAttention",
        textbook(hide=lambda self, s: masked(s, -1e4)),
        "a number not low enough",
    ),
    (
        "CausalAttention",
        textbook(hide=lambda self, s: masked(s, diagonal=0)),
        "diagonal masked too",
    ),
    (
        "CausalAttention",
        textbook(hide=lambda self, s: s.masked_fill(~upper(s), INF)),
        "mask upside down",
    ),
    ("CausalAttention", textbook(hide=lambda self, s: s + upper(s) * INF), "mask * -inf added"),
    ("CausalAttention", textbook(weigh=zeroed), "mask after softmax"),
    ("CausalAttention", textbook(weigh=over(1)), "softmax over columns"),
    ("CausalAttention", textbook(weigh=over(0)), "softmax over the batch"),
    (
        "CausalAttention",
        textbook(weigh=lambda self, s, keys: torch.softmax(self.hide(s), -1)),
        "no scaling",
    ),
    ("CausalAttention", textbook(score=lambda self, q, k: q @ k.T), "keys.T"),
    ("CausalAttention", textbook(score=lambda self, q, k: q @ k.t()), "keys.T"),
    ("CausalAttention", textbook(score=lambda self, q, k: q @ k.transpose(0, 1)), "keys.T"),
    (
        "CausalAttention",
        type("Wrong", (Fused,), {"score": lambda self, q, k: torch.einsum("id,jd->ij", q, k)}),
        "one sentence only",
    ),
    ("CausalAttention", textbook(forward=lambda self, x: self.project(x)[0]), "not blended"),
]


# --- wrong, and nobody knows why ---


class TwoMatrices(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        scores = (x @ self.W_query) @ (x @ self.W_query).T / self.W_query.shape[1] ** 0.5
        return torch.softmax(scores, -1) @ (x @ self.W_value)


class Halved(Parameters):
    def forward(self, x):
        return super().forward(x) / 2


class Noisy(Parameters):
    def forward(self, x):
        return super().forward(x) + torch.randn(len(x), 1)


class Counting(Parameters):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) * self.calls


class ZeroMatrices(Parameters):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        with torch.no_grad():
            self.W_key.zero_()


class TwoOutputs(Parameters):
    def forward(self, x):
        return super().forward(x), x


class ForwardMisspelt(Textbook):
    forward = nn.Module.forward

    def foward(self, x):
        return x


class FixedToSix(Textbook):
    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, 6)


def four_mistakes(self, inputs):
    queries, keys, values = self.project(inputs)
    weights = torch.softmax(-(keys @ queries.mT).tril(-1), dim=-2)
    return weights @ values / 5


def some_rows_nan(scores, d_k):
    weights = attention.causal_weights(scores, d_k)
    weights[:-1] = torch.nan
    return weights


UNKNOWN = [
    ("SelfAttention", TwoMatrices, "matrices to train: yours 2, right 3"),
    ("SelfAttention", Halved, "numbers are wrong"),
    ("SelfAttention", Noisy, "numbers are wrong"),
    ("SelfAttention", Counting, "a second call gives the same: yours no, right yes"),
    ("SelfAttention", ZeroMatrices, "On the sentence, after torch.manual_seed(123)"),
    ("SelfAttention", TwoOutputs, "a tuple with parts of different shapes inside"),
    ("causal_weights", some_rows_nan, "numbers are NaN"),
    ("causal_weights", lambda s, d_k: s * torch.nan, "36 of 36 numbers are NaN"),
    ("causal_weights", lambda s, d_k: attention.causal_weights(s.clamp(-9, 9), d_k), "wrong"),
    ("causal_weights", lambda s, d_k: torch.softmax(masked(s.tanh()), -1), "it ignores d_k"),
    ("causal_weights", lambda s, d_k: attention.causal_weights(s, d_k) ** 2, "sum to 1"),
    ("causal_weights", lambda s, d_k: torch.softmax((-s.T).tril(-1), 0).softmax(0), "every column"),
    ("causal_weights", lambda s, d_k: torch.eye(len(s)), "it ignores scores"),
    ("causal_weights", lambda s, d_k: attention.causal_weights(s, d_k)[:, 0], "wrong shape"),
    ("causal_weights", lambda s, d_k: attention.causal_weights(s + 1 / (s + 9), d_k), "wrong"),
    (
        "window_weights",
        lambda s, d_k, w: attention.window_weights(s, d_k, w + 2),
        "numbers are wrong",
    ),
    ("window_weights", lambda s, d_k, w: attention.window_weights(s, d_k, 2), "it ignores window"),
    ("window_weights", lambda s, d_k, w: torch.zeros_like(s), "sums to 0.0000 instead"),
    ("window_weights", lambda s, d_k, w: band(s, w) * s.tanh(), "does not sum to 1"),
    (
        "dropout",
        lambda w, p, training: F.dropout(w, 0.2, training),
        "share that is dropped: yours 0.2, right 0.6",
    ),
    ("dropout", lambda w, p, training: w * torch.rand(w.shape), "not one for all"),
    ("dropout", lambda w, p, training: torch.softmax(w + torch.rand(w.shape), -1), "not one"),
    ("dropout", lambda w, p, training: torch.zeros_like(w), "what is dropped: yours everything"),
    ("dropout", lambda w, p, training: w[0], "shape: yours (100,)"),
    ("dropout", lambda w, p, training: w * torch.nan, "nan"),
    ("dropout", lambda w, p, training: w.nothing, "AttributeError"),
    ("dropout", lambda w, p, training: {1: w}, "it returned a dict"),
    ("CausalAttention", textbook(hide=lambda self, s: masked(s, diagonal=3)), "future is visible"),
    ("CausalAttention", textbook(hide=lambda self, s: masked(s.tanh())), "numbers are wrong"),
    ("CausalAttention", textbook(forward=four_mistakes), "the future is visible"),
    ("CausalAttention", textbook(hide=lambda self, s: s * torch.nan), "numbers are NaN"),
    ("CausalAttention", textbook(forward=lambda self, x: self.nothing), "AttributeError"),
    ("CausalAttention", textbook(forward=lambda self, x: print(x)), "it returned None"),
    ("CausalAttention", ForwardMisspelt, "forward"),
    ("CausalAttention", FixedToSix, "RuntimeError"),
]
