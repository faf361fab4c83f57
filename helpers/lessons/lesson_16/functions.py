"""The functions that lesson 16 builds: its right answers."""

import torch

from ...attention import attention_weights, scaled_scores
from ..lesson_11.functions import next_context


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
