"""The functions that lesson 13 builds: its right answers."""

import torch


def weight_between(weights, queries, keys):
    """Return the weight that one token of each sentence gives a second one.

    weights: (b, n, n).  queries, keys: (b,), the positions of the two tokens, 0 to n - 1.
    Returns (b,). Raises IndexError if there is no such position.
    """
    sentences = torch.arange(len(weights), device=weights.device)
    return weights[sentences, queries, keys]


def exchange(weights, queries, first, second):
    """Intervene: swap the weights that each query gives two keys.

    weights: (b, n, n).  queries, first, second: (b,), positions of the query and its two keys, 0 to
    n - 1.  Returns a copy (b, n, n) whose rows keep their sums. Raises IndexError if there is no
    such position.
    """
    sentences = torch.arange(len(weights), device=weights.device)
    changed = weights.clone()
    changed[sentences, queries, first] = weights[sentences, queries, second]
    changed[sentences, queries, second] = weights[sentences, queries, first]
    return changed


def erase(weights, queries, keys):
    """Intervene: take the weight of one key away from each query, and scale up the rest of its row.

    weights: (b, n, n).  queries, keys: (b,), their positions, 0 to n - 1.
    Returns a copy (b, n, n) whose rows sum to 1; a row without any other weight is NaN. Raises
    IndexError if there is no such position.
    Source: Serrano and Smith 2019, section 3.
    """
    sentences = torch.arange(len(weights), device=weights.device)
    changed = weights.clone()
    changed[sentences, queries, keys] = 0
    return changed / changed.sum(dim=-1, keepdim=True)
