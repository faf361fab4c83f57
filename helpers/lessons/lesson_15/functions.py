"""The functions that lesson 15 builds: its right answers."""

import torch


def interchange(weights, values, others, query, key):
    """Return contexts in which one query reads one key's value from a second sentence (patching).

    weights: (n, n).  values, others: (n, d), of this sentence and of the second one.  query, key:
    positions, 0 to n - 1.
    Returns (n, d): weights @ values, except in the row of the query, which uses the value of the
    key from others. Raises IndexError if there is no such position.
    Source: Vig et al. 2020, Meng et al. 2022.
    """
    contexts = weights @ values
    contexts[query] += weights[query, key] * (others[key] - values[key])
    return contexts


def read_and_needed(own, other, swapped, without):
    """Return in how many strings a weight is read, and in how many it is needed.

    own, other, swapped, without: (n,), whole numbers: the answers to n strings, to their partners,
    and to the strings with one value from the partner or with the weight taken out.
    Returns (2,), whole numbers: where swapped is the partner's answer; where the own one is lost.
    """
    return torch.stack([(swapped == other).sum(), (without != own).sum()])
