"""Answers to lesson 10: learned attention."""

import numpy as np
import torch
import torch.nn.functional as F

from helpers import attention

# --- right answers, in any style ---


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


def erase_by_loop(weights, queries, keys):
    erased = weights.clone()
    for k in range(len(weights)):
        erased[k, queries[k], keys[k]] = 0
        erased[k, queries[k]] /= erased[k, queries[k]].sum()
    return erased


def erase_by_subtraction(weights, queries, keys):
    n = weights.shape[-1]
    one = F.one_hot(queries * n + keys, n * n).view(-1, n, n)
    return F.normalize(weights * (1 - one), p=1.0, dim=-1)


def erase_before_softmax(weights, queries, keys):
    scores = weights.log()
    scores[torch.arange(len(weights)), queries, keys] = -torch.inf
    return scores.softmax(-1)


STYLES = {
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
    "erase": [erase_by_loop, erase_by_subtraction, erase_before_softmax],
}

# --- mistakes as they are written ---


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


def erase_without_copy(weights, queries, keys):
    weights[torch.arange(len(weights)), queries, keys] = 0
    return weights / weights.sum(-1, keepdim=True)


def erase_in_two_brackets(weights, queries, keys):
    erased, k = weights.clone(), torch.arange(len(weights))
    erased[k, queries][k, keys] = 0
    return erased / erased.sum(-1, keepdim=True)


def erase_then_softmax(weights, queries, keys):
    erased = weights.clone()
    for k in range(len(weights)):
        erased[k, queries[k], keys[k]] = 0
        erased[k, queries[k]] = erased[k, queries[k]].softmax(-1)
    return erased


AS_WRITTEN = {
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
    "erase": [
        (erase_without_copy, "input changed in place"),
        (erase_in_two_brackets, "nothing taken away"),
        (erase_then_softmax, "softmax twice"),
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


UNKNOWN = {
    "weight_between": [
        (lambda weights, queries, keys: torch.ones(len(weights)), "change nothing."),
        (lambda weights, queries, keys: weights[0], "wrong shape"),
        (lambda *args: 1 - between_by_gather(*args), "numbers are wrong"),
        (lambda *args: between_by_gather(*args).log(), "numbers are wrong"),
        (lambda *args: between_by_gather(*args).flip(0), "numbers are wrong"),
        (lambda weights, queries, keys: weights[queries[9]], "IndexError"),
    ],
    "exchange": [
        (exchange_to_the_middle, "numbers are wrong"),
        (exchange_reversed, "it ignores first"),
        (lambda weights, *positions: weights.mT, "change nothing."),
        (lambda weights, *positions: weights[:, :2], "wrong shape"),
        (lambda weights, *positions: {1: weights}, "a dict"),
        (lambda weights, *positions: weights.nothing, "AttributeError"),
    ],
    "erase": [
        (lambda weights, queries, keys: weights[0], "wrong shape"),
        (lambda *args: attention.erase(*args) * 2, "always 2 times the right answer"),
        (lambda weights, queries, keys: weights.mT, "they do not sum to 1"),
    ],
}
