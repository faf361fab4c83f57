"""The functions of the lessons beyond the core, 11 to 15, as functions.py has those of the core."""

import torch

from .fits import expect_sizes
from .functions import attention_weights, scaled_scores


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


# Lesson 14
def merge_blocks(maxima, sums, blends):
    """Context vector of one query, from what was collected of each block of keys by itself.

    maxima: (m,), the largest score of each of m blocks, m >= 1.  sums: (m,), of the exps of its
    scores minus that maximum.  blends: (m, d_v), the same exps @ values.  Returns (d_v,).
    Source: Milakov and Gimelshein 2018, section 3.1.
    """
    factors = (maxima - maxima.max()).exp()
    return factors @ blends / (factors @ sums)


def attend_in_blocks(query, keys, values, block_size):
    """Context vector of one query, from blocks of keys, without a whole row of scores.

    query: (d_k,).  keys: (n, d_k), n >= 1.  values: (n, d_v).  block_size: keys at a time, at
    least 1.  Returns (d_v,).
    Source: Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1.
    """
    expect_sizes(block_size=block_size)
    maximum, total, blend = -torch.inf, 0.0, 0.0
    for start in range(0, len(keys), block_size):
        block = slice(start, start + block_size)
        scores = scaled_scores(query[None], keys[block])[0]
        larger = scores.max().clamp(min=maximum)
        exps, shrink = (scores - larger).exp(), (maximum - larger).exp()
        total = total * shrink + exps.sum()
        blend = blend * shrink + exps @ values[block]
        maximum = larger
    return blend / total


# Lesson 15
def cache_bytes(n, layers, num_kv_heads, head_dim, bytes_per_number, batch):
    """Bytes of the keys and values that a model keeps of the tokens it has seen.

    n: tokens of a text.  num_kv_heads: heads of keys and values in each layer; with grouped
    queries fewer than there are heads.  bytes_per_number: 4 for float32, 2 for float16 and
    bfloat16.  batch: texts at a time.
    Returns an int.
    Source: Pope et al. 2022, section 3.3; grouped queries: Ainslie et al. 2023.
    """
    expect_sizes(
        n=n, layers=layers, num_kv_heads=num_kv_heads, head_dim=head_dim,
        bytes_per_number=bytes_per_number, batch=batch,
    )  # fmt: skip
    return 2 * n * layers * num_kv_heads * head_dim * bytes_per_number * batch


def next_context(query, key, value, keys, values):
    """Context vector of one new token, which sees all that came before it, and itself.

    query, key: (d_k,) and value: (d_v,), of the new token.  keys: (n, d_k) and values:
    (n, d_v), of those before it; n may be 0.  Returns (d_v,): the last row of causal attention.
    """
    keys, values = torch.cat([keys, key[None]]), torch.cat([values, value[None]])
    return attention_weights(scaled_scores(query[None], keys))[0] @ values


def cache_mask(cached, new):
    """What new tokens see of those before them, which are in a cache, and of each other.

    cached: tokens in the cache, at least 0.  new: at least 1.
    Returns (new, cached + new) of bool, True where a token may attend.
    """
    expect_sizes(new=new)
    return torch.ones(new, cached + new, dtype=torch.bool).tril(diagonal=cached)
