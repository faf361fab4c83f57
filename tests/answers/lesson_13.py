"""Answers to lesson 13: writing with a cache."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right

from helpers import attention

from .parts import numpy_softmax

# --- cache_bytes: right answers, in any style ---


def of_a_real_cache(n, layers, num_kv_heads, head_dim, bytes_per_number, batch):
    dtypes = {1: torch.int8, 2: torch.float16, 4: torch.float32, 8: torch.float64}
    kind = {"dtype": dtypes[bytes_per_number], "device": "meta"}
    size = 0
    for _ in range(layers):
        for _ in ("keys", "values"):
            kept = torch.zeros(batch, num_kv_heads, n, head_dim, **kind)
            size += kept.numel() * kept.element_size()
    return size


# --- next_context: right answers, in any style ---


def with_new(query, key, value, keys, values):
    return query, torch.cat([keys, key[None]]), torch.cat([values, value[None]])


def by_numpy(query, key, value, keys, values):
    keys, values = np.vstack([keys, key]), np.vstack([values, value])
    return numpy_softmax(keys @ query.numpy() / np.sqrt(len(query))) @ values


def by_loops(query, key, value, keys, values):
    rows = [*keys, key]
    scores = [sum(float(a) * float(b) for a, b in zip(query, row, strict=True)) for row in rows]
    scores = [score / math.sqrt(len(query)) for score in scores]
    exps = [math.exp(score - max(scores)) for score in scores]
    blend = torch.zeros(len(value), dtype=value.dtype)
    for exp, row in zip(exps, [*values, value], strict=True):
        blend += exp / sum(exps) * row
    return blend


def by_einsum(query, key, value, keys, values):
    keys = torch.cat((keys, key.unsqueeze(0)), dim=0)
    values = torch.cat((values, value.unsqueeze(0)), dim=0)
    weights = torch.einsum("d,nd->n", query, keys).div(keys.size(1) ** 0.5).softmax(0)
    return torch.einsum("n,nd->d", weights, values)


def by_pytorch(*args, **options):
    query, keys, values = with_new(*args)
    return F.scaled_dot_product_attention(query[None], keys, values, **options)[0]


def new_word_first(query, key, value, keys, values):
    keys, values = torch.vstack([key, keys]), torch.vstack([value, values])
    return torch.softmax(query @ keys.T * len(query) ** -0.5, -1) @ values


def scores_joined(query, key, value, keys, values):
    scores = torch.cat([keys @ query, (key @ query).view(1)]) / math.sqrt(query.shape[0])
    weights = torch.softmax(scores, dim=-1)
    return weights[:-1] @ values + weights[-1] * value


def filled(query, key, value, keys, values):
    all_keys = torch.empty(len(keys) + 1, len(key), dtype=keys.dtype)
    all_keys[:-1], all_keys[-1] = keys, key
    all_values = torch.zeros(len(keys) + 1, len(value), dtype=keys.dtype)
    all_values[:-1] = values
    all_values[-1] = value
    return (torch.softmax(all_keys @ query / len(key) ** 0.5, 0)[:, None] * all_values).sum(0)


def last_row_of_causal(*args):
    query, keys, values = with_new(*args)
    queries = query.expand(len(keys), -1)
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)[-1]


# --- cache_mask: right answers, in any style ---


def mask_by_loops(cached, new):
    mask = torch.zeros(new, cached + new, dtype=torch.bool)
    for i in range(new):
        mask[i, : cached + i + 1] = True
    return mask


def mask_side_by_side(cached, new):
    past = torch.tril(torch.ones(new, new))
    return torch.cat([torch.ones(new, cached), past], dim=1) == 1


def mask_by_places(cached, new):
    return torch.arange(cached + new) <= torch.arange(cached, cached + new)[:, None]


STYLES = {
    "cache_bytes": [
        of_a_real_cache,
        lambda *sizes: np.prod(sizes) * 2,
        lambda *sizes: torch.tensor(sizes).prod() * 2,
        lambda *sizes: 2.0 * math.prod(sizes),
        lambda n, layers, h, d, size, b: sum(2 * h * d * size * b * n for _ in range(layers)),
        lambda n, L, h, d, size, b, extra=None: 2 * b * L * n * h * d * size,
    ],
    "next_context": [
        by_numpy,
        by_loops,
        by_einsum,
        by_pytorch,
        new_word_first,
        scores_joined,
        filled,
        last_row_of_causal,
        lambda *args: by_pytorch(*args).tolist(),
        lambda *args: attention.attend_in_blocks(*with_new(*args), 3),
    ],
    "cache_mask": [
        mask_by_loops,
        mask_side_by_side,
        mask_by_places,
        lambda cached, new: torch.ones(cached + new, cached + new).tril()[cached:].bool(),
        lambda cached, new: ~torch.ones(new, cached + new).triu(cached + 1).bool(),
        lambda cached, new: np.tri(new, cached + new, cached, dtype=bool),
        lambda cached, new: mask_by_loops(cached, new).tolist(),
        lambda cached, new: mask_by_loops(cached, new).float(),
        lambda cached, new: causal_lower_right(new, cached + new)._materialize(),
    ],
}

# --- mistakes as they are written ---


def past_only(query, key, value, keys, values):
    scores = keys @ query / keys.shape[-1] ** 0.5
    return torch.softmax(scores, dim=0) @ values


AS_WRITTEN = {
    "cache_bytes": [
        (lambda n, L, h, d, size, b: 2 * n * n * L * h * d * size * b, "n squared"),
        (lambda n, L, h, d, size, b: 8 * n * L * h * d * b, "always 4 bytes"),
    ],
    "next_context": [
        (past_only, "own key and value not added"),
        (lambda *args: by_pytorch(*args, is_causal=True), "is_causal with one query"),
        (lambda q, k, v, K, V: v, "only the new word"),
    ],
    "cache_mask": [
        (
            lambda cached, new: torch.tril(torch.ones(new, cached + new)).bool(),
            "aligned at the upper left",
        ),
        (lambda cached, new: torch.ones(new, cached + new).bool(), "the future not hidden"),
        (lambda cached, new: ~mask_by_loops(cached, new), "hidden and seen exchanged"),
        (
            lambda cached, new: (
                torch.arange(cached + new) < torch.arange(cached, cached + new)[:, None]
            ),
            "diagonal masked too",
        ),
        (lambda cached, new: torch.ones(new, new).tril().bool(), "the cache left out"),
        (
            lambda cached, new: torch.ones(cached + new, cached + new).tril(),
            "rows for the cache too",
        ),
    ],
}


# --- wrong, and nobody knows why ---

UNKNOWN = {
    "cache_bytes": [
        (lambda n, L, h, d, size, b: 2 * n * h * d * size, "it ignores L."),
        (lambda *sizes: sum(sizes), "numbers are wrong"),
        (lambda *sizes: 5 * math.prod(sizes), "always 2.5 times the right answer"),
        (lambda *sizes: "2 MiB", "it returned a str"),
        (lambda *sizes: [2 * math.prod(sizes)], "wrong shape"),
        (lambda *sizes: print(2 * math.prod(sizes)), "it returned None"),
    ],
    "next_context": [
        (lambda q, k, v, K, V: (q @ k).cos() * v, "numbers are wrong"),
        (lambda *args: by_pytorch(*args)[None], "wrong shape"),
        (lambda q, k, v, K, V: by_pytorch(q, k, v, K, 2 * V), "numbers are wrong"),
        (lambda q, k, v, K, V: by_pytorch(q, q, v, -K, V), "numbers are wrong"),
        (lambda q, k, v, K, V: by_pytorch(q, k, v, K[-8:], V[-8:]), "numbers are wrong"),
        (lambda q, k, v, K, V: K.nothing, "AttributeError"),
        (lambda q, k, v, K, V: torch.full_like(v, torch.nan), "numbers are NaN"),
    ],
    "cache_mask": [
        (lambda cached, new: torch.eye(new, cached + new), "numbers are wrong"),
        (lambda cached, new: mask_by_loops(cached + 1, new), "wrong shape"),
        (lambda cached, new: "a mask", "it returned a str"),
        (lambda cached, new: print(mask_by_loops(cached, new)), "it returned None"),
    ],
}
