"""Answers to lesson 11: what weights explain."""

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

from helpers import attention

# --- right answers, in any style ---


def uniform_by_loops(n, more=1):
    weights = torch.zeros(n, n)
    for i in range(n):
        for j in range(i + more):
            weights[i, j] = 1 / (i + more)
    return weights


def uniform_by_softmax(n):
    scores = torch.zeros(n, n)
    scores[torch.triu(torch.ones(n, n), diagonal=1).bool()] = float("-inf")
    return torch.softmax(scores, dim=-1)


def uniform_renormalised(n):
    weights = torch.full((n, n), 1 / n).tril()
    return weights / weights.sum(dim=1, keepdim=True)


def look_by_loops(words, prepared=None):
    positions = torch.full_like(words, -1) if prepared is None else prepared
    for i in range(len(words)):
        for j in range(i):
            if words[j] == words[i]:
                positions[i] = j + 1
    return positions


def look_by_dict(words):
    after, positions = {}, []
    for i, word in enumerate(words.tolist()):
        positions.append(after.get(word, -1))
        after[word] = i + 1
    return torch.tensor(positions)


def look_by_nonzero(words):
    positions = -torch.ones(len(words))
    for i, word in enumerate(words):
        copies = (words[:i] == word).nonzero()
        if len(copies) > 0:
            positions[i] = copies[-1, 0] + 1
    return positions


def look_by_numpy(words):
    words = words.numpy()
    found = [np.flatnonzero(words[:i] == word) for i, word in enumerate(words)]
    return np.array([copies[-1] + 1 if copies.size else -1 for copies in found])


def look_by_argmax(words):
    n = len(words)
    numbers = torch.arange(1, n + 1)
    copies = (words[None, :] == words[:, None]) * torch.tril(torch.ones(n, n), -1) * numbers
    return torch.where(copies.amax(1) > 0, copies.argmax(1) + 1, -1)


STYLES = {
    "uniform_causal": [
        uniform_by_loops,
        uniform_by_softmax,
        uniform_renormalised,
        lambda n: np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None],
        lambda n: [[1 / (i + 1)] * (i + 1) + [0] * (n - i - 1) for i in range(n)],
        lambda n: torch.ones(n, n, dtype=torch.float64).tril().div(torch.arange(n)[:, None] + 1),
        lambda n: F.normalize(torch.ones(n, n).tril(), p=1.0, dim=1),
    ],
    "look_back": [
        look_by_loops,
        look_by_dict,
        look_by_nonzero,
        look_by_numpy,
        look_by_argmax,
        lambda words: attention.look_back(words).int(),
        lambda words: tuple(attention.look_back(words)),
    ],
}

# --- mistakes as they are written ---


def uniform_of_whole_numbers(n):
    weights = torch.zeros(n, n, dtype=torch.long)
    for i in range(n):
        weights[i, : i + 1] = torch.ones(i + 1) / (i + 1)
    return weights


def look_in_a_dict_of_tensors(words):
    after, positions = {}, []
    for i, word in enumerate(words):
        positions.append(after[word] if word in after else -1)
        after[word] = i + 1
    return torch.tensor(positions)


def look_where_true(words):
    last, positions = {}, []
    for i, word in enumerate(words.tolist()):
        positions.append(last[word] + 1 if last.get(word) else -1)
        last[word] = i
    return positions


def look_with_else(words):
    positions = torch.full_like(words, -1)
    for i in range(len(words)):
        for j in range(i):
            positions[i] = j + 1 if words[j] == words[i] else -1
    return positions


def look_by_index(words):
    words = words.tolist()
    return [words.index(word) + 1 if word in words[:i] else -1 for i, word in enumerate(words)]


def look_by_argmax_of_first(words):
    copies = (words[:, None] == words).tril(-1)
    return copies.int().argmax(-1) + 1


def look_without_neighbour(words):
    positions = torch.full_like(words, -1)
    for i in range(len(words)):
        for j in range(i):
            if words[j] == words[i] and j + 1 != i:
                positions[i] = j + 1
    return positions


AS_WRITTEN = {
    "uniform_causal": [
        (partial(uniform_by_loops, more=0), "diagonal masked too"),
        (uniform_of_whole_numbers, "cut to whole numbers"),
        (lambda n: torch.ones(n, n).softmax(-1), "the future not hidden"),
        (
            lambda n: torch.zeros(n, n).masked_fill(torch.ones(n, n).triu(1) == 1, -10).softmax(-1),
            "a number not low enough",
        ),
        (lambda n: torch.zeros(n, n).softmax(-1).tril(), "divided by n"),
        (lambda n: torch.ones(n, n).tril() / torch.arange(1, n + 1), "keepdim forgotten"),
        (
            lambda n: np.tril(np.ones((n, n))) / np.tril(np.ones((n, n))).sum(0),
            "columns divided by their sums",
        ),
    ],
    "look_back": [
        (look_without_neighbour, "the word right before is left out"),
        (look_in_a_dict_of_tensors, "no copy is ever found"),
        (lambda words: [words.tolist().index(w) for w in words], "the copy itself"),
        (look_where_true, "the copy at position 0 is missed"),
        (look_with_else, "only the word right before is compared"),
        (look_by_index, "the first copy instead of the last"),
        (look_by_argmax_of_first, "the first copy instead of the last"),
        (lambda words: look_by_loops(words, 0 * words), "not -1 where a word is new"),
        (lambda words: look_by_loops(words, torch.empty(len(words))), "not -1 where a word is new"),
    ],
}

# --- wrong, and nobody knows why ---


def look_with_none(words):
    return [None if position == -1 else position for position in look_by_dict(words)]


UNKNOWN = {
    "uniform_causal": [
        (lambda n: torch.rand(n, n), "a second call with the same arguments"),
        (lambda n: uniform_by_loops(n)[-1], "wrong shape"),
        (lambda n: uniform_by_loops(n) * 2, "always 2 times the right answer"),
        (lambda n: torch.ones(n, n).tril() / 0, "infinite"),
        (lambda n: uniform_by_loops(6), "See whether 6 in your function is a size"),
        (lambda n: uniform_by_loops(n) - 0.5 / n, "negative weights"),
        (lambda n: uniform_by_loops(n) ** 2, "does not sum to 1"),
        (lambda n: uniform_by_loops(n).flip(0), "the future is visible"),
        (lambda n: torch.ones(n, n).triu(1).masked_fill(1, 0), "TypeError"),
    ],
    "look_back": [
        (look_with_none, "it returned a list with None inside"),
        (lambda words: words + 0.5, "yours 5.5 2.5 5.5 right -1 -1 1"),
        (lambda words: torch.arange(len(words)), "numbers are wrong"),
        (lambda words: attention.look_back(words) * 2, "always 2 times the right answer"),
        (lambda words: attention.look_back(words).clamp(max=2), "numbers are wrong"),
        (lambda words: (words[:, None] == words).tril(-1), "wrong shape"),
        (lambda words: attention.look_back(words[:6]), "wrong shape"),
    ],
}
