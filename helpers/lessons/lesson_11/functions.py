"""The functions that lesson 11 builds: its right answers."""

import torch

from ...attention import attention_weights, scaled_scores


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
