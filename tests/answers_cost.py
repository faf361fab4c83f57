"""Answers to the exercises of lesson 08, as in answers.py."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from helpers import attention

CATALOGUE = {}  # the shared list has none of these exercises
INF = float("inf")


# --- cache_bytes ---


def of_a_real_cache(n, layers, num_kv_heads, head_dim, bytes_per_number, batch):
    dtype = {1: torch.int8, 2: torch.float16, 4: torch.float32}[bytes_per_number]
    size = 0
    for _ in range(layers):
        for _ in ("keys", "values"):
            kept = torch.zeros(batch, num_kv_heads, n, head_dim, dtype=dtype)
            size += kept.numel() * kept.element_size()
    return size


def in_steps(n, layers, heads, head_dim, size, batch):
    per_word = 2 * heads * head_dim * size
    per_text = n * per_word * layers
    return per_text * batch


def by_bits(n, layers, heads, head_dim, size, batch):
    bits = 2 * n * layers * heads * head_dim * size * 8 * batch
    return bits // 8


# --- next_context ---


def by_numpy(query, key, value, keys, values):
    keys, values = np.vstack([keys, key]), np.vstack([values, value])
    scores = keys @ query.numpy() / np.sqrt(len(query))
    exps = np.exp(scores - scores.max())
    return exps @ values / exps.sum()


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


def by_pytorch(query, key, value, keys, values):
    keys, values = torch.cat([keys, key[None]]), torch.cat([values, value[None]])
    return F.scaled_dot_product_attention(query[None], keys, values)[0]


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


def last_row_of_causal(query, key, value, keys, values):
    keys, values = torch.cat([keys, key[None]]), torch.cat([values, value[None]])
    queries = query.expand(len(keys), -1)
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)[-1]


# --- attend_in_blocks ---


def from_minus_infinity(query, keys, values, block_size):
    maximum = torch.tensor(-torch.inf)
    total = torch.tensor(0.0)
    blend = torch.zeros(values.shape[1], dtype=values.dtype)
    for start in range(0, len(keys), block_size):
        scores = keys[start : start + block_size] @ query / len(query) ** 0.5
        new = torch.maximum(maximum, scores.max())
        exps = torch.exp(scores - new)
        total = total * torch.exp(maximum - new) + exps.sum()
        blend = blend * torch.exp(maximum - new) + exps @ values[start : start + block_size]
        maximum = new
    return blend / total


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


def in_floats(query, keys, values, block_size):
    scale = len(query) ** -0.5
    maximum, total, blend = -INF, 0.0, [0.0] * values.shape[1]
    for start in range(0, len(keys), block_size):
        for j in range(start, min(start + block_size, len(keys))):
            score = float(keys[j] @ query) * scale
            new = max(maximum, score)
            old_part, new_part = math.exp(maximum - new), math.exp(score - new)
            total = total * old_part + new_part
            blend = [
                b * old_part + new_part * float(v) for b, v in zip(blend, values[j], strict=True)
            ]
            maximum = new
    return [b / total for b in blend]


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


def normalised_and_weighed(query, keys, values, block_size):
    """Each block normalised by itself, and blended by the sums of the blocks."""
    sums, blends = [], []
    for k, v in zip(keys.split(block_size), values.split(block_size), strict=True):
        scores = k @ query / len(query) ** 0.5
        sums.append(scores.logsumexp(0))
        blends.append(scores.softmax(0) @ v)
    return torch.softmax(torch.stack(sums), 0) @ torch.stack(blends)


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
    m, s, o = torch.tensor(-INF), 0.0, 0.0
    for k, v in zip(keys.split(block_size), values.split(block_size), strict=True):
        scores = k @ query / len(query) ** 0.5
        new = torch.maximum(m, scores.max())
        e = (scores - new).exp()
        s_new = s * (m - new).exp() + e.sum()
        o = (o * s * (m - new).exp() + e @ v) / s_new
        m, s = new, s_new
    return o


def backwards(query, keys, values, block_size):
    return from_the_first_block(query, keys.flip(0), values.flip(0), block_size)


STYLES = {
    "cache_bytes": [
        of_a_real_cache,
        in_steps,
        by_bits,
        lambda *sizes: math.prod(sizes) * 2,
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
        lambda q, k, v, K, V: attention.attend_in_blocks(
            q, torch.cat([K, k[None]]), torch.cat([V, v[None]]), 3
        ),
        lambda q, k, v, K, V: from_minus_infinity(
            q, torch.cat([K, k[None]]), torch.cat([V, v[None]]), 1
        ),
    ],
    "attend_in_blocks": [
        from_minus_infinity,
        from_the_first_block,
        in_floats,
        in_numpy,
        normalised_and_weighed,
        in_two_rounds,
        divided_every_time,
        backwards,
        lambda q, K, V, size: torch.softmax(K @ q / len(q) ** 0.5, 0) @ V,
        lambda q, K, V, size: F.scaled_dot_product_attention(q[None], K, V)[0],
        lambda q, K, V, size: from_minus_infinity(q, K, V, 1),
        lambda q, K, V, size: from_the_first_block(q, K, V, size).requires_grad_(),
    ],
}


# --- mistakes as students write them ---


def past_only(query, key, value, keys, values):
    scores = keys @ query / keys.shape[-1] ** 0.5
    return torch.softmax(scores, dim=0) @ values


def added_after(query, key, value, keys, values):
    """Its own key and value come into the cache, but too late for its own step."""
    context = torch.softmax(keys @ query / len(query) ** 0.5, dim=0) @ values
    keys, values = torch.cat([keys, key[None]]), torch.cat([values, value[None]])
    return context


def causal_flag(query, key, value, keys, values):
    keys, values = torch.cat([keys, key[None]]), torch.cat([values, value[None]])
    return F.scaled_dot_product_attention(query[None], keys, values, is_causal=True)[0]


def written_over(query, key, value, keys, values):
    keys, values = keys.clone(), values.clone()
    if len(keys) == 0:
        return value
    keys[-1], values[-1] = key, value
    return torch.softmax(keys @ query / len(query) ** 0.5, dim=0) @ values


def into_the_cache(query, key, value, keys, values):
    context = by_einsum(query, key, value, keys, values)
    keys.mul_(0)
    return context


def blocks(
    shrink_sum=True, shrink_blend=True, grows=False, start=-INF, divide=True, own=False, late=1
):
    """attend_in_blocks as a student writes it, with these changes."""

    def code(query, keys, values, block_size):
        m, s, o = torch.tensor(start), 0.0, 0.0
        for begin in range(0, len(keys), block_size):
            block = slice(begin, begin + block_size)
            scores = keys[block] @ query / keys.shape[-1] ** 0.5
            new = scores.max() if own else torch.maximum(m, scores.max())
            factor = torch.exp(new - m if grows and begin >= late else m - new)
            exps = torch.exp(scores - new)
            s = s * (factor if shrink_sum else 1) + exps.sum()
            o = o * (factor if shrink_blend else 1) + exps @ values[block]
            m = new
        return o / s if divide else o

    return code


def averaged(query, keys, values, block_size):
    parts = []
    for k, v in zip(keys.split(block_size), values.split(block_size), strict=True):
        parts.append(torch.softmax(k @ query / len(query) ** 0.5, 0) @ v)
    return torch.stack(parts).mean(0)


def whole_blocks(query, keys, values, block_size):
    count = len(keys) // block_size * block_size or len(keys)
    return from_the_first_block(query, keys[:count], values[:count], block_size)


def inside_the_loop(query, keys, values, block_size):
    for start in range(0, len(keys), block_size):
        block = slice(start, start + block_size)
        return torch.softmax(keys[block] @ query / len(query) ** 0.5, 0) @ values[block]


def replaced(query, keys, values, block_size):
    for start in range(0, len(keys), block_size):
        block = slice(start, start + block_size)
        context = torch.softmax(keys[block] @ query / len(query) ** 0.5, 0) @ values[block]
    return context


def no_maximum(query, keys, values, block_size):
    total, blend = 0.0, 0.0
    for start in range(0, len(keys), block_size):
        block = slice(start, start + block_size)
        exps = torch.exp(keys[block] @ query / len(query) ** 0.5)
        total, blend = total + exps.sum(), blend + exps @ values[block]
    return blend / total


def every_start(query, keys, values, block_size):
    m, s, o = torch.tensor(-INF), 0.0, 0.0
    for start in range(len(keys)):
        block = slice(start, start + block_size)
        scores = keys[block] @ query / len(query) ** 0.5
        new = torch.maximum(m, scores.max())
        exps = torch.exp(scores - new)
        s = s * torch.exp(m - new) + exps.sum()
        o = o * torch.exp(m - new) + exps @ values[block]
        m = new
    return o / s


def by_block_size(query, keys, values, block_size):
    return from_the_first_block(query * (len(query) / block_size) ** 0.5, keys, values, block_size)


def unscaled(query, keys, values, block_size):
    return blocks(shrink_blend=False)(query * len(query) ** 0.5, keys, values, block_size)


AS_WRITTEN = [
    ("cache_bytes", lambda n, L, h, d, size, b: n * L * h * d * size * b, "factor 2 forgotten"),
    ("cache_bytes", lambda n, L, h, d, size, b: 2 * n * n * L * h * d * size * b, "n squared"),
    ("cache_bytes", lambda n, L, h, d, size, b: 2 * n * h * d * size * b, "layers forgotten"),
    ("cache_bytes", lambda n, L, h, d, size, b: 2 * n * L * h * d * size, "batch forgotten"),
    ("cache_bytes", lambda n, L, h, d, size, b: 2 * n * L * h * d * b, "numbers instead of bytes"),
    (
        "cache_bytes",
        lambda *sizes: 2 * math.prod(sizes) / 2**20,
        "other units than bytes",
    ),
    ("cache_bytes", lambda *sizes: 16 * math.prod(sizes), "bits instead of bytes"),
    ("cache_bytes", lambda *sizes: 3 * math.prod(sizes), "queries kept too"),
    ("cache_bytes", lambda n, L, h, d, size, b: 8 * n * L * h * d * b, "always 4 bytes"),
    ("next_context", past_only, "own key and value not added"),
    ("next_context", added_after, "own key and value not added"),
    ("next_context", causal_flag, "is_causal with one query"),
    ("next_context", written_over, "last word of the cache replaced"),
    ("next_context", into_the_cache, "input changed in place"),
    ("next_context", lambda q, k, v, K, V: v, "only the new word"),
    (
        "next_context",
        lambda q, k, v, K, V: past_only(q, k, v, torch.cat([K, k]), V),
        "key not made a row",
    ),
    (
        "next_context",
        lambda q, k, v, K, V: past_only(q, k, v, torch.cat([K, k[None]], dim=1), V),
        "concatenated along the numbers",
    ),
    (
        "next_context",
        lambda q, k, v, K, V: past_only(q, k, v, torch.cat([K, k[None]]), V),
        "own value not added",
    ),
    (
        "next_context",
        lambda q, k, v, K, V: (
            torch.softmax(torch.cat([K, k[None]]) @ q, 0) @ torch.cat([V, v[None]])
        ),
        "no scaling",
    ),
    (
        "next_context",
        lambda q, k, v, K, V: past_only(q * len(q) ** 0.5, k, v, K, V),
        ("own key and value not added", "no scaling"),
    ),
    (
        "next_context",
        lambda q, k, v, K, V: (
            torch.softmax(torch.cat([K, k[None]]) @ q / len(v) ** 0.5, 0) @ torch.cat([V, v[None]])
        ),
        "scaled by the size of a value",
    ),
    ("attend_in_blocks", blocks(False, False), "old blocks not rescaled"),
    ("attend_in_blocks", blocks(shrink_blend=False), "only the sum rescaled"),
    ("attend_in_blocks", blocks(shrink_sum=False), "only the blend rescaled"),
    ("attend_in_blocks", blocks(grows=True), "rescaled the wrong way round"),
    ("attend_in_blocks", blocks(grows=True, late=0), "rescaled the wrong way round"),
    ("attend_in_blocks", blocks(start=0.0), "running maximum starts at 0"),
    ("attend_in_blocks", blocks(divide=False), "blend not divided by the sum"),
    ("attend_in_blocks", blocks(own=True), "maximum of the block only"),
    ("attend_in_blocks", blocks(False, False, own=True), "maximum of the block only"),
    ("attend_in_blocks", averaged, "each block normalised by itself"),
    ("attend_in_blocks", whole_blocks, "incomplete last block dropped"),
    ("attend_in_blocks", inside_the_loop, "only the first block"),
    ("attend_in_blocks", replaced, "only the last block"),
    ("attend_in_blocks", no_maximum, "naive exp overflow"),
    ("attend_in_blocks", every_start, "blocks overlap"),
    ("attend_in_blocks", by_block_size, "scaled by the size of a block"),
    ("attend_in_blocks", unscaled, ("no scaling", "only the sum rescaled")),
]


# --- wrong, and nobody declared why ---


UNKNOWN = [
    ("cache_bytes", lambda n, L, h, d, size, b: 2 * n * h * d * size, "it ignores layers"),
    ("cache_bytes", lambda n, L, h, d, size, b: n + L + h + d + size + b, "numbers are wrong"),
    ("cache_bytes", lambda *sizes: 5 * math.prod(sizes), "always 2.5 times the right answer"),
    ("cache_bytes", lambda *sizes: "2 MiB", "it returned a str"),
    ("cache_bytes", lambda *sizes: [2 * math.prod(sizes)], "wrong shape"),
    ("cache_bytes", lambda *sizes: print(2 * math.prod(sizes)), "it returned None"),
    ("next_context", lambda q, k, v, K, V: (q @ k).cos() * v, "numbers are wrong"),
    ("next_context", lambda q, k, v, K, V: by_pytorch(q, k, v, K, V)[None], "wrong shape"),
    ("next_context", lambda q, k, v, K, V: by_pytorch(q, k, v, K, 2 * V), "numbers are wrong"),
    ("next_context", lambda q, k, v, K, V: by_pytorch(q, q, v, -K, V), "numbers are wrong"),
    ("next_context", lambda q, k, v, K, V: K.nothing, "AttributeError"),
    ("next_context", lambda q, k, v, K, V: torch.full_like(v, torch.nan), "numbers are NaN"),
    ("attend_in_blocks", lambda q, K, V, size: V[size - 2], "it ignores query"),
    ("attend_in_blocks", lambda q, K, V, size: V[:2].mean(0), "it ignores query"),
    ("attend_in_blocks", lambda q, K, V, size: in_numpy(q, K, V, size)[:-1], "wrong shape"),
    ("attend_in_blocks", lambda q, K, V, size: in_numpy(q, K + 0.1, V, size) ** 2, "wrong"),
    ("attend_in_blocks", lambda q, K, V, size: (K @ q).nothing, "AttributeError"),
    ("attend_in_blocks", lambda q, K, V, size: V[0] * torch.nan, "numbers are NaN"),
    # NaN for the same reason as rescaling the wrong way round, and more is wrong.
    (
        "attend_in_blocks",
        lambda q, K, V, size: blocks(grows=True, late=0)(q + 0.1, K, V, size),
        "numbers are NaN",
    ),
]
