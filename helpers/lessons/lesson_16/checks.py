"""What the checks of lesson 16 need besides exercises.toml: see helpers/checks/exercises.py."""

import torch

from ...checks._arguments import exact
from .functions import rotate


def heads(count, n, size, step=5):
    """Return vectors (count, n, size) that float32 holds exactly, all different in a head."""
    return exact(count, n, size, step=step, unit=8, period=53)


def to_turn(count, size, *positions, base=50, double=False):
    """Return the arguments of rotate.  positions: with gaps and not from 0, as after a cache."""
    x = heads(count, len(positions), size)
    return x.double() if double else x, torch.tensor(positions), base


def grouped(num_heads, num_kv_heads, n, d_k, d_v):
    """Return queries, keys and values of heads that are all different."""
    queries, keys = heads(num_heads, n, d_k), heads(num_kv_heads, n, d_k, 7)
    return queries, keys, heads(num_kv_heads, n, d_v, 3)


def cached(size, position, *positions, base=50, double=False):
    """Return the arguments of next_turned_context: keys turned when they came, and the new word."""
    n = len(positions)
    query, key, value = heads(1, 3, size, 9)[0]
    key, query = key + query / 2, query / 8  # every word gets some weight, the new one too
    keys = rotate(heads(1, n, size, 7), torch.tensor(positions), base)[0]
    values = heads(1, n, size, 3)[0]
    tensors = [query, key, value, keys, values]
    return [*(x.double() if double else x for x in tensors), position, base]


def far_heads():
    """Return queries, keys and values of 8 and 2 heads: scores far above 0, and far below in every
    other head."""
    queries, keys, values = grouped(8, 2, 6, 4, 3)
    keys[..., 0], queries[::2, :, 0], queries[1::2, :, 0] = 80, 80, -80
    return queries, keys, values


def far(factor, own):
    """Return the arguments of next_turned_context with scores that are about factor / 11, that of
    the new word about own / 11."""
    query, key, value, keys, values, position, base = cached(4, 9, 0, 1, 2, 5)
    turned = rotate(query[None], torch.tensor([position]), base)[0]
    return query, key + own * query, value, keys + factor * turned, values, position, base
