"""The functions of lessons 11 to 16; functions.py has those of the lessons before."""

import torch

from .functions import attention_weights, scaled_scores


# Lesson 11
def cache_bytes(n, layers, num_kv_heads, head_dim, bytes_per_number, batch):
    """Return the bytes of all keys and values in the cache of a model.

    n: tokens of a text.  num_kv_heads: heads of keys and values in each layer; with grouped
    queries fewer than the heads of queries.  bytes_per_number: 4 for float32, 2 for float16 and
    bfloat16.  batch: texts at a time.
    Returns an int.
    Source: Pope et al. 2022, section 3.3; grouped queries: Ainslie et al. 2023.
    """
    return 2 * n * layers * num_kv_heads * head_dim * bytes_per_number * batch


def next_context(query, key, value, keys, values):
    """Return the context vector of one new token, which sees all tokens before it, and itself.

    query, key: (d_k,) and value: (d_v,), of the new token.  keys: (n, d_k) and values:
    (n, d_v), of the tokens before it; n may be 0.
    Returns (d_v,): the last row of causal attention.
    """
    keys, values = torch.cat([keys, key[None]]), torch.cat([values, value[None]])
    return attention_weights(scaled_scores(query[None], keys))[0] @ values


def cache_mask(cached, new):
    """Return which tokens each new token may attend to: the cached ones, and new ones up to itself.

    cached: tokens in the cache, at least 0.  new: at least 1.
    Returns (new, cached + new) of bool, True where a token may attend.
    """
    return torch.ones(new, cached + new, dtype=torch.bool).tril(diagonal=cached)


# Lesson 12
def merge_blocks(maxima, sums, blends):
    """Return the context vector of one query, from what was computed for each block of keys.

    maxima: (m,), the largest score in each of m blocks, m >= 1.  sums: (m,), the sum of exp(score -
    maximum) in each block.  blends: (m, d_v), these exps @ values.  Returns (d_v,).
    Source: Milakov and Gimelshein 2018, section 3.1.
    """
    factors = (maxima - maxima.max()).exp()
    return factors @ blends / (factors @ sums)


def attend_in_blocks(query, keys, values, block_size):
    """Return the context vector of one query, block by block, without a whole row of scores.

    query: (d_k,).  keys: (n, d_k), n >= 1.  values: (n, d_v).  block_size: keys per block, at
    least 1.  Returns (d_v,).
    Source: Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1.
    """
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


# Lesson 13
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


# Lesson 14
def look_back(words):
    """Return where an induction head must look: the position after the last copy of each word.

    words: (n,), whole numbers, equal for equal words; n >= 1.
    Returns (n,), whole numbers from -1 to n - 1: j + 1 for the last j < i with the same word
    as at i, or -1 if there is none.
    Source: induction heads, Elhage et al. 2021 and Olsson et al. 2022.
    """
    earlier_copies = (words[:, None] == words).tril(diagonal=-1)
    after = torch.arange(1, len(words) + 1, device=words.device)
    return torch.where(earlier_copies, after, -1).amax(dim=-1)


# Lesson 15
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


# Lesson 16
def rotate(x, positions, base):
    """Return vectors turned by their positions: pair i, numbers i and i + d / 2, by the angle
    position / base ** (2 * i / d).

    x: (..., n, d), d even, such as queries or keys that are split into heads.  positions: (n,),
    whole numbers.  base: above 1.  Returns (..., n, d); each vector keeps its length.
    Source: Su et al. 2021, section 3.4.2; the halves instead of neighbours: Llama in transformers.
    """
    half = x.shape[-1] // 2
    angles = positions[:, None] / base ** (torch.arange(half, device=x.device) / half)
    first, second = x[..., :half], x[..., half:]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def next_turned_context(query, key, value, keys, values, position, base):
    """Return the context vector of one new token, whose cache holds keys that are turned already.

    query, key, value: (d,), of the new token, not turned.  keys: (n, d), of the tokens before it,
    turned by their own positions; values: (n, d).  n may be 0.  position: of the new token in the
    whole text, which may be above n.  base: as for rotate.  Returns (d,).
    """
    here = torch.tensor([position], device=query.device)
    query, key = rotate(torch.stack([query, key])[:, None], here, base)[:, 0]
    return next_context(query, key, value, keys, values)


def grouped_attention(queries, keys, values):
    """Return attention in which several heads of queries share a head of keys and values.

    queries: (num_heads, n, d_k).  keys: (num_kv_heads, n, d_k).  values: (num_kv_heads, n, d_v).
    num_kv_heads divides num_heads; query heads next to each other share.  Every token sees all.
    Returns (num_heads, n, d_v).
    Source: Ainslie et al. 2023.
    """
    group = len(queries) // len(keys)
    keys, values = (x.repeat_interleave(group, dim=0) for x in (keys, values))
    return attention_weights(scaled_scores(queries, keys)) @ values
