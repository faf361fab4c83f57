"""The functions that lesson 12 builds: its right answers."""

import torch

from ...attention import scaled_scores


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
