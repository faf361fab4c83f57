"""Answers to lesson 12: what attention costs."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from helpers import attention

from .parts import NEG_INF, numpy_softmax

# --- cache_bytes: right answers, in any style ---


def of_a_real_cache(n, layers, num_kv_heads, head_dim, bytes_per_number, batch):
    dtype = {1: torch.int8, 2: torch.float16, 4: torch.float32}[bytes_per_number]
    size = 0
    for _ in range(layers):
        for _ in ("keys", "values"):
            kept = torch.zeros(batch, num_kv_heads, n, head_dim, dtype=dtype)
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


# --- attend_in_blocks: right answers, in any style ---


def blocks(shrunk="sum blend", grows=99, start=NEG_INF, top=torch.maximum, step=None, divide=True):
    """attend_in_blocks with a running maximum. grows: from this word on, the factor is turned."""

    def code(query, keys, values, block_size):
        m, s, o = torch.tensor(start), 0.0, 0.0
        for begin in range(0, len(keys), step or block_size):
            block = slice(begin, begin + block_size)
            scores = keys[block] @ query / keys.shape[-1] ** 0.5
            new = top(m, scores.max())
            factor = torch.exp(new - m if begin >= grows else m - new)
            exps = torch.exp(scores - new)
            s = s * (factor if "sum" in shrunk else 1) + exps.sum()
            o = o * (factor if "blend" in shrunk else 1) + exps @ values[block]
            m = new
        return o / s if divide else o

    return code


def from_the_first_block(query, keys, values, block_size):
    blocks = list(zip(keys.split(block_size), values.split(block_size), strict=True))
    scores = blocks[0][0] @ query / math.sqrt(len(query))
    m = scores.max()
    e = (scores - m).exp()
    s, o = e.sum(), e @ blocks[0][1]
    for k, v in blocks[1:]:
        scores = k @ query / math.sqrt(len(query))
        if scores.max() > m:
            shrink = (m - scores.max()).exp()
            s, o, m = s * shrink, o * shrink, scores.max()
        e = (scores - m).exp()
        s, o = s + e.sum(), o + e @ v
    return o / s


def in_numpy(query, keys, values, block_size):
    query, keys, values = (x.numpy() for x in (query, keys, values))
    maximum, total, blend = -np.inf, 0, np.zeros(values.shape[1])
    for start in range(0, len(keys), block_size):
        part = slice(start, start + block_size)
        scores = keys[part] @ query / np.sqrt(len(query))
        new = max(maximum, scores.max())
        total = total * np.exp(maximum - new) + np.exp(scores - new).sum()
        blend = blend * np.exp(maximum - new) + np.exp(scores - new) @ values[part]
        maximum = new
    return blend / total


def each_block_alone(query, keys, values, block_size):
    """For each block: its scores, and the blend of its own softmax."""
    for k, v in zip(keys.split(block_size), values.split(block_size), strict=True):
        scores = k @ query / len(query) ** 0.5
        yield scores, scores.softmax(0) @ v


def blended_by_sums(*args):
    """Each block normalised by itself, and blended by the sums of the blocks."""
    scores, blends = zip(*each_block_alone(*args), strict=True)
    sums = torch.stack([block.logsumexp(0) for block in scores])
    return torch.softmax(sums, 0) @ torch.stack(blends)


def in_two_rounds(query, keys, values, block_size):
    starts = range(0, len(keys), block_size)
    scores = [keys[s : s + block_size] @ query / len(query) ** 0.5 for s in starts]
    top = max(float(block.max()) for block in scores)
    total = sum((block - top).exp().sum() for block in scores)
    parts = [
        (block - top).exp() / total @ values[s : s + block_size]
        for s, block in zip(starts, scores, strict=True)
    ]
    return sum(parts)


def divided_every_time(query, keys, values, block_size):
    """As the first algorithm was published: divided after each block, and multiplied back."""
    m, s, o = torch.tensor(-math.inf), 0.0, 0.0
    for k, v in zip(keys.split(block_size), values.split(block_size), strict=True):
        scores = k @ query / len(query) ** 0.5
        new = torch.maximum(m, scores.max())
        e = (scores - new).exp()
        s_new = s * (m - new).exp() + e.sum()
        o = (o * s * (m - new).exp() + e @ v) / s_new
        m, s = new, s_new
    return o


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
        lambda *args: blocks()(*with_new(*args), 1),
    ],
    "attend_in_blocks": [
        blocks(),
        from_the_first_block,
        in_numpy,
        blended_by_sums,
        in_two_rounds,
        divided_every_time,
        lambda q, K, V, size: from_the_first_block(q, K.flip(0), V.flip(0), size),
        lambda q, K, V, size: torch.softmax(K @ q / len(q) ** 0.5, 0) @ V,
        lambda q, K, V, size: F.scaled_dot_product_attention(q[None], K, V)[0],
        lambda q, K, V, size: blocks()(q, K, V, 1),
        lambda q, K, V, size: from_the_first_block(q, K, V, size).requires_grad_(),
    ],
}

# --- mistakes as they are written ---


def past_only(query, key, value, keys, values):
    scores = keys @ query / keys.shape[-1] ** 0.5
    return torch.softmax(scores, dim=0) @ values


def whole_blocks(query, keys, values, block_size):
    count = len(keys) // block_size * block_size or len(keys)
    return from_the_first_block(query, keys[:count], values[:count], block_size)


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
    "attend_in_blocks": [
        (blocks(""), "old blocks not rescaled"),
        (blocks("sum"), "only the sum rescaled"),
        (blocks("blend"), "only the blend rescaled"),
        (blocks(grows=1), "rescaled the wrong way round"),
        (blocks(grows=0), "rescaled the wrong way round"),
        (blocks(start=0.0), "running maximum starts at 0"),
        (blocks(divide=False), "blend not divided by the sum"),
        (blocks(top=lambda old, new: new), "maximum of the block only"),
        (blocks("", top=lambda old, new: new), "maximum of the block only"),
        (blocks(top=lambda old, new: 0 * new), "naive exp overflow"),
        (blocks(step=1), "blocks overlap"),
        (whole_blocks, "incomplete last block dropped"),
        (lambda *args: next(each_block_alone(*args))[1], "only the first block"),
        (lambda *args: [*each_block_alone(*args)][-1][1], "only the last block"),
        (
            lambda *args: torch.stack([blend for _, blend in each_block_alone(*args)]).mean(0),
            "each block normalised by itself",
        ),
    ],
}


# --- wrong, and nobody knows why ---

UNKNOWN = {
    "cache_bytes": [
        (lambda n, L, h, d, size, b: 2 * n * h * d * size, "it ignores layers"),
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
        (lambda q, k, v, K, V: K.nothing, "AttributeError"),
        (lambda q, k, v, K, V: torch.full_like(v, torch.nan), "numbers are NaN"),
    ],
    "attend_in_blocks": [
        (lambda q, K, V, size: V[size - 2], "it ignores query"),
        (lambda q, K, V, size: V[:2].mean(0), "it ignores query"),
        (lambda q, K, V, size: in_numpy(q, K, V, size)[:-1], "wrong shape"),
        (lambda q, K, V, size: in_numpy(q, K + 0.1, V, size) ** 2, "wrong"),
        (lambda q, K, V, size: (K @ q).nothing, "AttributeError"),
        (lambda q, K, V, size: V[0] * torch.nan, "numbers are NaN"),
        # NaN for the same reason as rescaling the wrong way round, and more is wrong.
        (lambda q, K, V, size: blocks(grows=0)(q + 0.1, K, V, size), "numbers are NaN"),
    ],
}
