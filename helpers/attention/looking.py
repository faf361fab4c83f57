"""What lessons 11 to 13 do with weights: read one, change some, say where a head should look.

As in functions.py, n is the number of tokens and b that of sentences in a batch.
"""

import torch

from .fits import expect_sizes


# Lesson 11
def weight_between(weights, queries, keys):
    """The weight with which one token of each sentence looks at another one.

    weights: (b, n, n).  queries, keys: (b,), the positions of the two, 0 to n - 1.
    Returns (b,). Raises IndexError if there is no such position.
    """
    sentences = torch.arange(len(weights), device=weights.device)
    return weights[sentences, queries, keys]


def exchange(weights, queries, first, second):
    """An intervention: each query gives two keys the weight that it gave the other one.

    weights: (b, n, n).  queries, first, second: (b,), the positions of the three, 0 to n - 1.
    Returns a copy (b, n, n) whose rows sum to what they did. Raises IndexError if there is no
    such position.
    """
    sentences = torch.arange(len(weights), device=weights.device)
    changed = weights.clone()
    changed[sentences, queries, first] = weights[sentences, queries, second]
    changed[sentences, queries, second] = weights[sentences, queries, first]
    return changed


def erase(weights, queries, keys):
    """An intervention: each query gives one key no weight, and the others take it over.

    weights: (b, n, n).  queries, keys: (b,), the positions of the two, 0 to n - 1.
    Returns a copy (b, n, n) whose rows sum to 1; a row with no other weight is NaN. Raises
    IndexError if there is no such position.
    Source: Serrano and Smith 2019, section 3.
    """
    sentences = torch.arange(len(weights), device=weights.device)
    changed = weights.clone()
    changed[sentences, queries, keys] = 0
    return changed / changed.sum(dim=-1, keepdim=True)


# Lesson 12
def uniform_causal(n):
    """Weights of attention that looks at all allowed tokens alike: the baseline.

    n: number of tokens, at least 1.
    Returns (n, n), float32: row i has 1 / (i + 1) for the keys 0 to i and 0 after them.
    """
    expect_sizes(n=n)
    allowed = torch.ones(n, n).tril()
    return allowed / allowed.sum(dim=-1, keepdim=True)


def look_back(words):
    """Where an induction head must look: the position after the last copy of each word.

    words: (n,), whole numbers, one for each different word; n >= 1.
    Returns (n,), whole numbers from -1 to n - 1: j + 1 for the last j < i with the same word
    as at i, or -1 where there is none.
    Source: induction heads, Elhage et al. 2021 and Olsson et al. 2022.
    """
    earlier_copies = (words[:, None] == words).tril(diagonal=-1)
    after = torch.arange(1, len(words) + 1, device=words.device)
    return torch.where(earlier_copies, after, -1).amax(dim=-1)


# Lesson 13
def interchange(weights, values, others, query, key):
    """Patching: contexts where one query reads one key as it is in another sentence.

    weights: (n, n).  values, others: (n, d), of this sentence and of the other one.  query, key:
    positions, 0 to n - 1.
    Returns (n, d): weights @ values but for the row of the query, where the value of the key is
    that of others. Raises IndexError if there is no such position.
    Source: Vig et al. 2020, Meng et al. 2022.
    """
    contexts = weights @ values
    contexts[query] += weights[query, key] * (others[key] - values[key])
    return contexts
