"""Answers to lesson 10: learned attention."""

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


def between_by_zip(weights, queries, keys):
    pairs = zip(weights, queries.tolist(), keys.tolist(), strict=True)
    return torch.tensor([w[q, k].item() for w, q, k in pairs])


def between_by_gather(weights, queries, keys):
    rows = weights.gather(1, queries[:, None, None].expand(-1, 1, weights.shape[-1]))[:, 0]
    return rows.gather(1, keys[:, None])[:, 0]


def between_by_one_hot(weights, queries, keys):
    n = weights.shape[-1]
    query, key = F.one_hot(queries, n).float(), F.one_hot(keys, n).float()
    return torch.einsum("bij,bi,bj->b", weights, query, key)


def between_by_flat_index(weights, queries, keys):
    b, n, _ = weights.shape
    return weights.flatten()[torch.arange(b) * n * n + queries * n + keys]


def exchange_by_loop(weights, queries, first, second):
    changed = weights.clone()
    for k in range(len(weights)):
        i, a, b = queries[k], first[k], second[k]
        changed[k, i, a] = weights[k, i, b]
        changed[k, i, b] = weights[k, i, a]
    return changed


def exchange_by_lists(weights, queries, first, second):
    changed = weights.tolist()
    for k, matrix in enumerate(changed):
        row = matrix[queries[k]]
        row[first[k]], row[second[k]] = row[second[k]], row[first[k]]
    return changed


def exchange_by_numpy(weights, queries, first, second):
    changed = weights.numpy().copy()
    for k in range(len(changed)):
        i, a, b = int(queries[k]), int(first[k]), int(second[k])
        changed[k, i, [a, b]] = changed[k, i, [b, a]]
    return changed


def exchange_with_a_copy_of_one(weights, queries, first, second):
    changed, k = weights.detach().clone(), torch.arange(weights.shape[0])
    kept = changed[k, queries, first].clone()
    changed[k, queries, first] = changed[k, queries, second]
    changed[k, queries, second] = kept
    return changed


def exchange_by_order(weights, queries, first, second):
    changed = []
    for k, matrix in enumerate(weights):
        order = list(range(weights.shape[-1]))
        order[first[k]], order[second[k]] = int(second[k]), int(first[k])
        rows = [row[order] if i == queries[k] else row for i, row in enumerate(matrix)]
        changed.append(torch.stack(rows))
    return torch.stack(changed)


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
    "weight_between": [
        between_by_zip,
        between_by_gather,
        between_by_one_hot,
        between_by_flat_index,
        lambda weights, queries, keys: [w[queries[k], keys[k]] for k, w in enumerate(weights)],
        lambda weights, queries, keys: weights[range(len(weights)), queries, keys],
        lambda weights, queries, keys: weights[:, queries, keys].diagonal(),
        lambda weights, queries, keys: weights.numpy()[np.arange(len(weights)), queries, keys],
        lambda weights, queries, keys: weights.mT[torch.arange(len(weights)), keys, queries],
    ],
    "exchange": [
        exchange_by_loop,
        exchange_by_lists,
        exchange_by_numpy,
        exchange_with_a_copy_of_one,
        exchange_by_order,
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


def exchange_under_another_name(weights, queries, first, second):
    k, changed = torch.arange(len(weights)), weights
    kept = weights[k, queries, first]
    changed[k, queries, first] = weights[k, queries, second]
    changed[k, queries, second] = kept
    return changed


def exchange_of_views(weights, queries, first, second):
    for k in range(len(weights)):
        i, a, b = queries[k], first[k], second[k]
        weights[k, i, a], weights[k, i, b] = weights[k, i, b], weights[k, i, a]
    return weights


def exchange_in_two_brackets(weights, queries, first, second):
    changed, k = weights.clone(), torch.arange(len(weights))
    changed[k, queries][k, first] = weights[k, queries, second]
    changed[k, queries][k, second] = weights[k, queries, first]
    return changed


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


AS_WRITTEN = {
    "uniform_causal": [
        (partial(uniform_by_loops, more=0), "diagonal masked too"),
        (uniform_of_whole_numbers, "cut to whole numbers"),
        (lambda n: torch.ones(n, n).softmax(-1), "the future not hidden"),
        (lambda n: torch.zeros(n, n).softmax(-1).tril(), "divided by n"),
        (lambda n: torch.ones(n, n).tril() / torch.arange(1, n + 1), "keepdim forgotten"),
        (
            lambda n: np.tril(np.ones((n, n))) / np.tril(np.ones((n, n))).sum(0),
            "columns divided by their sums",
        ),
    ],
    "weight_between": [
        (
            lambda weights, queries, keys: [w[k, q] for w, q, k in zip(weights, queries, keys)],  # noqa: B905
            "query and key exchanged",
        ),
        (
            lambda weights, queries, keys: weights.numpy()[:, queries.numpy(), keys.numpy()],
            "every sentence with every pair",
        ),
    ],
    "exchange": [
        (exchange_under_another_name, "input changed in place"),
        (
            lambda weights, *positions: exchange_of_views(weights.clone(), *positions),
            "both weights are the same now",
        ),
        (exchange_of_views, ("input changed in place", "both weights are the same now")),
        (exchange_in_two_brackets, "nothing exchanged"),
    ],
    "look_back": [
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


def exchange_to_the_middle(weights, queries, first, second):
    changed, k = weights.clone(), torch.arange(len(weights))
    both = weights[k, queries, first] + weights[k, queries, second]
    changed[k, queries, first] = changed[k, queries, second] = both / 2
    return changed


def exchange_reversed(weights, queries, first, second):
    changed, k = weights.clone(), torch.arange(len(weights))
    changed[k, queries] = weights[k, queries].flip(-1)
    return changed


def look_with_none(words):
    return [None if position == -1 else position for position in look_by_dict(words)]


UNKNOWN = {
    "uniform_causal": [
        (lambda n: torch.rand(n, n), "a second call with the same arguments"),
        (lambda n: uniform_by_loops(n)[-1], "wrong shape"),
        (lambda n: uniform_by_loops(n) * 2, "always 2 times the right answer"),
        (lambda n: torch.ones(n, n).tril() / 0, "infinite"),
        (lambda n: uniform_by_loops(6), "Look for a 3 or a 6"),
        (lambda n: uniform_by_loops(n) - 0.5 / n, "negative weights"),
        (lambda n: uniform_by_loops(n) ** 2, "does not sum to 1"),
        (lambda n: uniform_by_loops(n).flip(0), "the future is visible"),
        (lambda n: torch.ones(n, n).triu(1).masked_fill(1, 0), "TypeError"),
    ],
    "weight_between": [
        (lambda weights, queries, keys: torch.ones(len(weights)), "it ignores"),
        (lambda weights, queries, keys: weights[0], "wrong shape"),
        (lambda *args: 1 - between_by_gather(*args), "numbers are wrong"),
        (lambda *args: between_by_gather(*args).log(), "numbers are wrong"),
        (lambda *args: between_by_gather(*args).flip(0), "numbers are wrong"),
        (lambda weights, queries, keys: weights[queries[9]], "IndexError"),
    ],
    "exchange": [
        (exchange_to_the_middle, "numbers are wrong"),
        (exchange_reversed, "it ignores first"),
        (lambda weights, *positions: weights.mT, "it ignores queries"),
        (lambda weights, *positions: weights[:, :2], "wrong shape"),
        (lambda weights, *positions: {1: weights}, "a dict"),
        (lambda weights, *positions: weights.nothing, "AttributeError"),
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
