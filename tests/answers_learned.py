"""Answers to the exercises of lesson 07, as in answers.py."""

import numpy as np
import torch

from helpers import attention

CATALOGUE = {}  # the shared list of mistakes has none of these exercises


# --- right answers ---


def uniform_by_loops(n):
    weights = torch.zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            weights[i, j] = 1 / (i + 1)
    return weights


def uniform_by_softmax(n):
    scores = torch.zeros(n, n)
    scores[torch.triu(torch.ones(n, n), diagonal=1).bool()] = float("-inf")
    return torch.softmax(scores, dim=-1)


def uniform_renormalised(n):
    weights = torch.full((n, n), 1 / n).tril()
    return weights / weights.sum(dim=1, keepdim=True)


def uniform_by_numpy(n):
    return np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]


def uniform_in_empty(n):
    weights = torch.empty(n, n)
    for i in range(n):
        weights[i] = 0
        weights[i, : i + 1] = 1 / (i + 1)
    return weights


def between_by_loop(weights, queries, keys):
    return [weights[k, queries[k], keys[k]] for k in range(len(weights))]


def between_by_zip(weights, queries, keys):
    pairs = zip(weights, queries.tolist(), keys.tolist(), strict=True)
    return torch.tensor([w[q, k].item() for w, q, k in pairs])


def between_by_gather(weights, queries, keys):
    rows = weights.gather(1, queries[:, None, None].expand(-1, 1, weights.shape[-1]))[:, 0]
    return rows.gather(1, keys[:, None])[:, 0]


def between_by_one_hot(weights, queries, keys):
    n = weights.shape[-1]
    query = torch.nn.functional.one_hot(queries, n).float()
    key = torch.nn.functional.one_hot(keys, n).float()
    return torch.einsum("bij,bi,bj->b", weights, query, key)


def between_by_flat_index(weights, queries, keys):
    b, n, _ = weights.shape
    return weights.flatten()[torch.arange(b) * n * n + queries * n + keys]


def between_by_append(weights, queries, keys):
    found = []
    for matrix, query, key in zip(weights, queries, keys):  # noqa: B905
        row = matrix[query]
        found.append(row[key])
    return torch.stack(found)


def exchange_by_loop(weights, queries, first, second):
    changed = weights.clone()
    for k in range(len(weights)):
        i, a, b = queries[k], first[k], second[k]
        changed[k, i, a] = weights[k, i, b]
        changed[k, i, b] = weights[k, i, a]
    return changed


def exchange_by_items(weights, queries, first, second):
    changed = torch.clone(weights)
    for k, (i, a, b) in enumerate(zip(queries.tolist(), first.tolist(), second.tolist())):  # noqa: B905
        one, other = changed[k, i, a].item(), changed[k, i, b].item()
        changed[k, i, a], changed[k, i, b] = other, one
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


def exchange_by_difference(weights, queries, first, second):
    k, changed = torch.arange(len(weights)), weights.clone()
    more = weights[k, queries, second] - weights[k, queries, first]
    changed[k, queries, first] += more
    changed[k, queries, second] -= more
    return changed


def look_by_loops(words):
    positions = torch.full((len(words),), -1)
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


def look_backwards(words):
    positions = []
    for i in range(len(words)):
        position = -1
        for j in range(i - 1, -1, -1):
            if words[j] == words[i]:
                position = j + 1
                break
        positions.append(position)
    return positions


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


def look_by_max(words):
    words = words.tolist()
    return [
        max([j + 1 for j in range(i) if words[j] == words[i]], default=-1)
        for i in range(len(words))
    ]


def look_by_reversed_list(words):
    words = words.tolist()
    positions = []
    for i, word in enumerate(words):
        before = words[:i][::-1]
        positions.append(float(i - before.index(word)) if word in before else -1.0)
    return positions


STYLES = {
    "uniform_causal": [
        uniform_by_loops,
        uniform_by_softmax,
        uniform_renormalised,
        uniform_by_numpy,
        uniform_in_empty,
        lambda n: attention.causal_weights(torch.ones(n, n), 1),
        lambda n: torch.ones(n, n).tril() / torch.arange(1, n + 1).unsqueeze(1),
        lambda n: [[1 / (i + 1) if j <= i else 0 for j in range(n)] for i in range(n)],
        lambda n: [[1 / (i + 1)] * (i + 1) + [0] * (n - i - 1) for i in range(n)],
        lambda n: torch.ones(n, n, dtype=torch.float64).tril().div(torch.arange(n)[:, None] + 1),
        lambda n: torch.nn.functional.normalize(torch.ones(n, n).tril(), p=1.0, dim=1),
    ],
    "weight_between": [
        between_by_loop,
        between_by_zip,
        between_by_gather,
        between_by_one_hot,
        between_by_flat_index,
        between_by_append,
        lambda weights, queries, keys: weights[range(len(weights)), queries, keys],
        lambda weights, queries, keys: weights[:, queries, keys].diagonal(),
        lambda weights, queries, keys: weights.numpy()[np.arange(len(weights)), queries, keys],
        lambda weights, queries, keys: weights.mT[torch.arange(len(weights)), keys, queries],
    ],
    "exchange": [
        exchange_by_loop,
        exchange_by_items,
        exchange_by_lists,
        exchange_by_numpy,
        exchange_with_a_copy_of_one,
        exchange_by_order,
        exchange_by_difference,
        lambda weights, *positions: torch.cat(
            [
                attention.exchange(weights[k : k + 1], *(x[k : k + 1] for x in positions))
                for k in range(len(weights))
            ]
        ),
        lambda weights, queries, first, second: attention.exchange(
            weights, queries, second, first
        ).numpy(),
    ],
    "look_back": [
        look_by_loops,
        look_by_dict,
        look_backwards,
        look_by_nonzero,
        look_by_numpy,
        look_by_argmax,
        look_by_max,
        look_by_reversed_list,
        lambda words: attention.look_back(words).int(),
        lambda words: tuple(attention.look_back(words)),
    ],
}


# --- the mistakes as students write them ---


def uniform_divided_by_row_number(n):
    weights = torch.zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            weights[i, j] = 1 / i
    return weights


def uniform_of_those_before(n):
    weights = torch.zeros(n, n)
    for i in range(n):
        for j in range(i):
            weights[i, j] = 1 / i
    return weights


def uniform_of_whole_numbers(n):
    weights = torch.zeros(n, n, dtype=torch.long)
    for i in range(n):
        weights[i, : i + 1] = torch.ones(i + 1) / (i + 1)
    return weights


def uniform_added_to_empty(n):
    weights = torch.empty(n, n)
    weights += uniform_by_loops(n)
    return weights


def between_in_return(weights, queries, keys):
    for k in range(len(weights)):
        return weights[k, queries[k], keys[k]]


def exchange_in_place(weights, queries, first, second):
    for k in range(len(weights)):
        i, a, b = queries[k], first[k], second[k]
        kept = weights[k, i, a].clone()
        weights[k, i, a] = weights[k, i, b]
        weights[k, i, b] = kept
    return weights


def exchange_under_another_name(weights, queries, first, second):
    k, changed = torch.arange(len(weights)), weights
    kept = weights[k, queries, first]
    changed[k, queries, first] = weights[k, queries, second]
    changed[k, queries, second] = kept
    return changed


def exchange_of_views(weights, queries, first, second):
    changed = weights.clone()
    for k in range(len(weights)):
        i, a, b = queries[k], first[k], second[k]
        changed[k, i, a], changed[k, i, b] = changed[k, i, b], changed[k, i, a]
    return changed


def exchange_with_a_kept_view(weights, queries, first, second):
    changed = weights.clone()
    for k in range(len(weights)):
        row = changed[k, queries[k]]
        kept = row[first[k]]
        row[first[k]] = row[second[k]]
        row[second[k]] = kept
    return changed


def exchange_of_views_in_place(weights, queries, first, second):
    for k in range(len(weights)):
        i, a, b = queries[k], first[k], second[k]
        weights[k, i, a], weights[k, i, b] = weights[k, i, b], weights[k, i, a]
    return weights


def exchange_of_names(weights, queries, first, second):
    changed = weights.clone()
    for k in range(len(weights)):
        one = changed[k, queries[k], first[k]]
        other = changed[k, queries[k], second[k]]
        one, other = other, one
    return changed


def exchange_in_two_brackets(weights, queries, first, second):
    changed, k = weights.clone(), torch.arange(len(weights))
    changed[k, queries][k, first] = weights[k, queries, second]
    changed[k, queries][k, second] = weights[k, queries, first]
    return changed


def exchange_of_rows(weights, queries, first, second):
    changed = weights.clone()
    for k in range(len(weights)):
        changed[k, first[k]] = weights[k, second[k]]
        changed[k, second[k]] = weights[k, first[k]]
    return changed


def exchange_without_sentences(weights, queries, first, second):
    changed = weights.clone()
    for query, one, other in zip(queries, first, second):  # noqa: B905
        changed[query, one] = weights[query, other]
        changed[query, other] = weights[query, one]
    return changed


def exchange_in_return(weights, queries, first, second):
    changed = weights.clone()
    for k in range(len(weights)):
        changed[k, queries[k], first[k]] = weights[k, queries[k], second[k]]
        changed[k, queries[k], second[k]] = weights[k, queries[k], first[k]]
        return changed


def look_in_a_dict_of_tensors(words):
    after, positions = {}, []
    for i, word in enumerate(words):
        positions.append(after[word] if word in after else -1)
        after[word] = i + 1
    return torch.tensor(positions)


def look_in_a_dict_too_late(words):
    after, positions = {}, []
    for i, word in enumerate(words.tolist()):
        after[word] = i + 1
        positions.append(after.get(word, -1))
    return torch.tensor(positions)


def look_for_the_copy_in_zeros(words):
    positions = torch.zeros_like(words)
    for i in range(len(words)):
        for j in range(i):
            if words[i] == words[j]:
                positions[i] = j
    return positions


def look_in_a_dict_of_copies(words):
    last, positions = {}, []
    for i, word in enumerate(words.tolist()):
        positions.append(last.get(word, -1) + 1)
        last[word] = i
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
            if words[j] == words[i]:
                positions[i] = j + 1
            else:
                positions[i] = -1
    return positions


def look_until_found(words):
    positions = torch.full_like(words, -1)
    for i in range(len(words)):
        for j in range(i):
            if words[j] == words[i]:
                positions[i] = j + 1
                break
    return positions


def look_by_index(words):
    words = words.tolist()
    return [words.index(word) + 1 if word in words[:i] else -1 for i, word in enumerate(words)]


def look_by_argmax_of_first(words):
    copies = (words[:, None] == words).tril(-1)
    return copies.int().argmax(-1) + 1


def look_in_zeros(words):
    positions = torch.zeros(len(words))
    for i in range(len(words)):
        for j in range(i):
            if words[i] == words[j]:
                positions[i] = j + 1
    return positions


def look_in_empty(words):
    positions = torch.empty(len(words))
    for i in range(len(words)):
        for j in range(i):
            if words[i] == words[j]:
                positions[i] = j + 1
    return positions


def look_and_forget(words):
    positions = attention.look_back(words)
    words[:] = 0
    return positions


AS_WRITTEN = [
    ("uniform_causal", uniform_divided_by_row_number, "divided by i"),
    ("uniform_causal", uniform_of_those_before, "diagonal masked too"),
    ("uniform_causal", uniform_of_whole_numbers, "cut to whole numbers"),
    ("uniform_causal", uniform_added_to_empty, "accumulates into torch.empty"),
    ("uniform_causal", lambda n: torch.ones(n, n).softmax(-1), "the future not hidden"),
    (
        "uniform_causal",
        lambda n: torch.where(torch.ones(n, n).tril() == 1, 0.0, torch.inf).softmax(-1),
        "+inf",
    ),
    ("uniform_causal", lambda n: torch.zeros(n, n).softmax(-1).tril(), "divided by n"),
    (
        "uniform_causal",
        lambda n: torch.ones(n, n).tril() / torch.arange(1, n + 1),
        "keepdim forgotten",
    ),
    (
        "uniform_causal",
        lambda n: np.tril(np.ones((n, n))) / np.tril(np.ones((n, n))).sum(0),
        "columns divided by their sums",
    ),
    ("uniform_causal", lambda n: uniform_by_loops(n).round(decimals=2), "numbers rounded"),
    ("weight_between", between_in_return, "only the first sentence"),
    (
        "weight_between",
        lambda weights, queries, keys: [w[k, q] for w, q, k in zip(weights, queries, keys)],  # noqa: B905
        "query and key exchanged",
    ),
    (
        "weight_between",
        lambda weights, queries, keys: weights.numpy()[:, queries.numpy(), keys.numpy()],
        "every sentence with every pair",
    ),
    (
        "weight_between",
        lambda weights, queries, keys: torch.stack([w[queries[0]][keys[0]] for w in weights]),
        "positions of the first sentence for all",
    ),
    (
        "weight_between",
        lambda weights, queries, keys: between_by_append(weights, queries, keys).mean(),
        "one number for all sentences",
    ),
    (
        "weight_between",
        lambda weights, queries, keys: [
            round(float(x), 3) for x in between_by_append(weights, queries, keys)
        ],  # fmt: skip
        "numbers rounded",
    ),
    ("exchange", exchange_in_place, "input changed in place"),
    (
        "exchange",
        exchange_under_another_name,
        "input changed in place",
    ),
    ("exchange", exchange_of_views, "both weights are the same now"),
    ("exchange", exchange_with_a_kept_view, "both weights are the same now"),
    (
        "exchange",
        exchange_of_views_in_place,
        ("input changed in place", "both weights are the same now"),
    ),
    ("exchange", exchange_of_names, "nothing exchanged"),
    ("exchange", exchange_in_two_brackets, "nothing exchanged"),
    ("exchange", exchange_of_rows, "two rows exchanged"),
    ("exchange", exchange_in_return, "only the first sentence"),
    ("exchange", exchange_without_sentences, "no index for the sentence"),
    ("look_back", look_in_a_dict_of_tensors, "no copy is ever found"),
    ("look_back", look_for_the_copy_in_zeros, "the copy itself"),
    ("look_back", lambda words: [words.tolist().index(w) for w in words], "the copy itself"),
    ("look_back", look_in_a_dict_too_late, "counts itself as a copy"),
    ("look_back", look_in_a_dict_of_copies, "not -1 where a word is new"),
    ("look_back", look_where_true, "the copy at position 0 is missed"),
    ("look_back", look_with_else, "only the word right before is compared"),
    ("look_back", look_until_found, "the first copy instead of the last"),
    ("look_back", look_by_index, "the first copy instead of the last"),
    ("look_back", look_by_argmax_of_first, "the first copy instead of the last"),
    ("look_back", look_in_zeros, "not -1 where a word is new"),
    ("look_back", look_in_empty, "not -1 where a word is new"),
    ("look_back", look_and_forget, "input changed in place"),
]


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
    return [None if position == -1 else position for position in look_by_max(words)]


UNKNOWN = [
    ("uniform_causal", lambda n: torch.rand(n, n), "a second call with the same arguments"),
    ("uniform_causal", lambda n: uniform_by_loops(n)[-1], "wrong shape"),
    ("uniform_causal", lambda n: uniform_by_loops(n) * 2, "always 2 times the right answer"),
    ("uniform_causal", lambda n: torch.ones(n, n).tril() / 0, "infinite"),
    ("uniform_causal", lambda n: uniform_by_loops(6), "Look for a 3 or a 6"),
    ("uniform_causal", lambda n: uniform_by_loops(n) - 0.5 / n, "negative weights"),
    ("uniform_causal", lambda n: uniform_by_loops(n) ** 2, "does not sum to 1"),
    ("uniform_causal", lambda n: uniform_by_loops(n).flip(0), "the future is visible"),
    ("uniform_causal", lambda n: torch.ones(n, n).triu(1).masked_fill(1, 0), "TypeError"),
    ("weight_between", lambda weights, queries, keys: torch.ones(len(weights)), "it ignores"),
    ("weight_between", lambda weights, queries, keys: weights[0], "wrong shape"),
    (
        "weight_between",
        lambda weights, queries, keys: 1 - between_by_append(weights, queries, keys),
        "numbers are wrong",
    ),
    (
        "weight_between",
        lambda weights, queries, keys: between_by_append(weights, queries, keys).log(),
        "numbers are wrong",
    ),
    (
        "weight_between",
        lambda weights, queries, keys: between_by_append(weights, queries, keys).flip(0),
        "numbers are wrong",
    ),
    ("weight_between", lambda weights, queries, keys: weights[queries[9]], "IndexError"),
    ("exchange", exchange_to_the_middle, "numbers are wrong"),
    ("exchange", exchange_reversed, "it ignores first"),
    ("exchange", lambda weights, queries, first, second: weights.mT, "it ignores queries"),
    ("exchange", lambda weights, queries, first, second: weights[:, :2], "wrong shape"),
    ("exchange", lambda weights, queries, first, second: None or {1: weights}, "a dict"),
    ("exchange", lambda weights, queries, first, second: weights.nothing, "AttributeError"),
    ("look_back", look_with_none, "it returned a list with None inside"),
    ("look_back", lambda words: words + 0.5, "yours 5.5 2.5 5.5 right -1 -1 1"),
    ("look_back", lambda words: torch.arange(len(words)), "numbers are wrong"),
    ("look_back", lambda words: attention.look_back(words) * 2, "always 2 times the right answer"),
    ("look_back", lambda words: attention.look_back(words).clamp(max=2), "numbers are wrong"),
    ("look_back", lambda words: (words[:, None] == words).tril(-1), "wrong shape"),
    ("look_back", lambda words: attention.look_back(words[:6]), "wrong shape"),
]
