"""Answers to lesson 06: weights that cannot see the future, and the loss of the next word."""

import math
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

from helpers import attention

from .parts import NEG_INF, masked, upper

# --- weights: right answers, in any style ---


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


def band(scores, window):
    n = len(scores)
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return (j <= i) & (j > i - window)


def renormalised(scores, d_k, window=math.inf):
    weights = torch.softmax(scores / d_k**0.5, dim=-1) * band(scores, window)
    return weights / weights.sum(dim=-1, keepdim=True)


def in_place(scores, d_k):
    scores = scores.clone()
    scores.masked_fill_(upper(scores), -torch.inf)
    return torch.softmax(scores / math.sqrt(d_k), dim=-1)


def by_index(scores, d_k, fill=NEG_INF, diagonal=1):
    scores = scores / d_k**0.5
    scores[upper(scores, diagonal)] = fill
    return F.softmax(scores, dim=-1)


def by_einsum(scores, d_k):
    exps = torch.exp(scores / d_k**0.5 - (scores / d_k**0.5).amax(-1, keepdim=True))
    exps = torch.einsum("ij,ij->ij", exps, torch.tril(torch.ones_like(exps)))
    return exps / torch.einsum("ij->i", exps)[:, None]


# --- next_word_losses: right answers, in any style ---


def loop_losses(scores, words):
    chances = torch.softmax(scores, dim=-1)
    losses = torch.empty(len(words) - 1)
    for i in range(len(words) - 1):
        losses[i] = -chances[i, words[i + 1]].log()
    return losses


def math_losses(scores, words):
    result = []
    for row, word in zip(scores[:-1].tolist(), words[1:].tolist(), strict=True):
        exps = [math.exp(score - max(row)) for score in row]
        result.append(math.log(sum(exps) / exps[word]))
    return result


def numpy_losses(scores, words):
    scores = scores.numpy()
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    chances = exps / exps.sum(-1, keepdims=True)
    return -np.log(chances[np.arange(len(words) - 1), words.numpy()[1:]])


def gathered(scores, words):
    return -scores.log_softmax(-1)[:-1].gather(-1, words[1:].unsqueeze(-1)).squeeze(-1)


def one_hot(scores, words):
    return -(F.one_hot(words[1:], scores.shape[-1]) * scores[:-1].log_softmax(-1)).sum(-1)


STYLES = {
    "causal_weights": [
        loop_weights,
        numpy_weights,
        in_place,
        by_index,
        lambda s, d_k: torch.softmax(masked(s / d_k**0.5, -1e9), -1),
        lambda s, d_k: torch.softmax(masked(s, -1e9) / d_k**0.5, -1),
        lambda s, d_k: torch.softmax(masked(s * d_k**-0.5, torch.finfo(s.dtype).min), -1),
        lambda s, d_k: torch.softmax(masked(s, torch.finfo(torch.float32).min) / d_k**0.5, -1),
        lambda s, d_k: torch.softmax(s / d_k**0.5 + torch.full_like(s, NEG_INF).triu(1), -1),
        lambda s, d_k: torch.softmax(s / d_k**0.5 - 1e9 * upper(s), dim=1),
        lambda s, d_k: torch.where(upper(s), NEG_INF, s / d_k**0.5).softmax(-1).requires_grad_(),
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
        lambda s, d_k, w: torch.softmax(s.masked_fill(~band(s, w), -1e9) / d_k**0.5, -1),
        lambda s, d_k, w: torch.softmax(s / d_k**0.5 + band(s, w).double().log(), -1),
        lambda s, d_k, w: torch.softmax(s * d_k**-0.5 - 1e9 * ~band(s, w), -1),
        lambda s, d_k, w: torch.where(band(s, w), s / d_k**0.5, NEG_INF).softmax(dim=1),
        lambda s, d_k, w: torch.softmax(
            masked(s / d_k**0.5).masked_fill(torch.ones_like(s).tril(-w) == 1, NEG_INF), dim=-1
        ),
    ],
    "next_word_losses": [
        loop_losses,
        math_losses,
        numpy_losses,
        gathered,
        one_hot,
        lambda s, words: F.cross_entropy(s[:-1], words[1:], reduction="none"),
        lambda s, words: s[:-1].logsumexp(-1) - s[range(len(s) - 1), words[1:]],
        lambda s, words: -torch.log(torch.softmax(s, -1)[torch.arange(len(s) - 1), words[1:]]),
    ],
}


# --- mistakes as they are written ---


def dropped_fill(scores, d_k):
    scores = scores / d_k**0.5
    torch.masked_fill(scores, upper(scores), NEG_INF)
    return torch.softmax(scores, dim=-1)


def dropped_fill_of_the_past(scores, d_k):
    scores.masked_fill(~upper(scores), NEG_INF)
    return torch.softmax(scores / d_k**0.5, dim=-1)


def naive_numpy(scores, d_k):
    exps = np.exp(scores.numpy() / d_k**0.5) * np.tril(np.ones(scores.shape))
    return exps / exps.sum(1, keepdims=True)


AS_WRITTEN = {
    "causal_weights": [
        (dropped_fill, "masked_fill result dropped"),
        (dropped_fill_of_the_past, "no mask"),
        (partial(by_index, fill=0), "masked with 0"),
        (lambda s, d_k: torch.softmax(torch.tril(s) / d_k**0.5, -1), "masked with 0"),
        (partial(by_index, fill=float("inf")), "+inf"),
        (lambda s, d_k: torch.softmax(torch.where(upper(s), torch.inf, s) / d_k**0.5, -1), "+inf"),
        (partial(by_index, fill=-33.3), "a number not low enough"),
        (lambda s, d_k: torch.softmax(s / d_k**0.5 - 77 * upper(s), -1), "a number not low enough"),
        (partial(by_index, diagonal=0), "diagonal masked too"),
        (naive_numpy, "naive exp overflow"),
        (lambda s, d_k: torch.full_like(s, 1 / len(s)), ("no mask", "mask only, scores unused")),
    ],
    "window_weights": [
        (lambda s, d_k, w: numpy_weights(s, d_k, w + 1), "window one too wide"),
        (lambda s, d_k, w: loop_weights(s, d_k), "the window not applied"),
    ],
    "next_word_losses": [
        (lambda s, words: F.cross_entropy(s, words, reduction="none"), "each word predicts itself"),
        (lambda s, words: F.cross_entropy(s[:-1], words[1:]), "one loss for all words"),
        (
            lambda s, words: F.cross_entropy(s[:-1].softmax(-1), words[1:], reduction="none"),
            "softmax twice",
        ),
        (
            lambda s, words: F.nll_loss(s[:-1], words[1:], reduction="none"),
            "scores taken for chances",
        ),
        (
            lambda s, words: F.cross_entropy(s[1:], words[:-1], reduction="none"),
            "each word predicts the one before it",
        ),
        (
            lambda s, words: [-math.log(p) for p in s.softmax(-1)[:-1].diagonal(1)][: len(s) - 1],
            "words not used",
        ),
    ],
}


# --- wrong, and nobody knows why ---


def some_rows_nan(scores, d_k):
    weights = attention.causal_weights(scores, d_k)
    weights[:-1] = torch.nan
    return weights


def either(scores, d_k, window):
    hidden = upper(scores) or ~band(scores, window)
    return torch.softmax(scores.masked_fill(hidden, NEG_INF) / d_k**0.5, dim=-1)


UNKNOWN = {
    "causal_weights": [
        # Where what is hidden is far larger, nothing is left to divide by.
        (renormalised, "numbers are NaN"),
        (by_einsum, "numbers are NaN"),
        (some_rows_nan, "numbers are NaN"),
        # What an experiment changes, or a hint names, is not what is wrong.
        (lambda s, d_k: masked(s) * torch.nan, "numbers are NaN"),
        (lambda s, d_k: s - s / 0 * upper(s), "infinite"),
        (
            lambda s, d_k: s.masked_fill(torch.ones(s.shape).triu(1), NEG_INF),
            "Add .bool() to the mask",
        ),
        (lambda s, d_k: s * torch.nan, "36 of 36 numbers are NaN"),
        (lambda s, d_k: attention.causal_weights(s.clamp(-9, 9), d_k), "wrong"),
        (lambda s, d_k: torch.softmax(masked(s.tanh()), -1), "it ignores d_k"),
        (lambda s, d_k: attention.causal_weights(s, d_k) ** 2, "sum to 1"),
        (lambda s, d_k: torch.softmax((-s.T).tril(-1), 0).softmax(0), "every column"),
        (lambda s, d_k: torch.eye(len(s)), "other values of s change nothing."),
        (lambda s, d_k: attention.causal_weights(s, d_k)[:, 0], "wrong shape"),
        (lambda s, d_k: attention.causal_weights(s + 1 / (s + 9), d_k), "wrong"),
    ],
    "window_weights": [
        (renormalised, "numbers are NaN"),
        (either, "Try: Write | for or"),
        (lambda s, d_k, w: attention.window_weights(s, d_k, w + 2), "numbers are wrong"),
        (lambda s, d_k, w: attention.window_weights(s, d_k, 2), "it ignores w."),
        (lambda s, d_k, w: torch.zeros_like(s), "sums to 0.0000 instead"),
        (lambda s, d_k, w: band(s, w) * s.tanh(), "does not sum to 1"),
    ],
    "next_word_losses": [
        (lambda s, words: F.cross_entropy(s[:-1], words[1:], reduction="none") ** 2, "wrong"),
        (lambda s, words: -s.log_softmax(-1), "wrong shape"),
        (lambda s, words: -s[0].log_softmax(-1)[words[1:]], "wrong"),
        (lambda s, words: words[1:], "ignores s."),
    ],
}
