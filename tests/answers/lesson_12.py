"""Answers to lesson 12: what attention costs."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from .parts import NEG_INF

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


# --- merge_blocks: right answers, in any style ---


def merged_by_loop(maxima, sums, blends):
    top, total, blend = maxima[0], sums[0], blends[0].clone()
    for m, s, o in zip(maxima[1:], sums[1:], blends[1:], strict=True):
        new = torch.maximum(top, m)
        total = total * (top - new).exp() + s * (m - new).exp()
        blend = blend * (top - new).exp() + o * (m - new).exp()
        top = new
    return blend / total


def merged_in_numpy(maxima, sums, blends):
    maxima, sums, blends = (x.numpy() for x in (maxima, sums, blends))
    factors = np.exp(maxima - maxima.max())
    return (factors[:, None] * blends).sum(0) / (factors * sums).sum()


def merged_by_logs(maxima, sums, blends):
    shares = torch.softmax(maxima + sums.log(), dim=0)
    return shares @ (blends / sums[:, None])


STYLES = {
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
    "merge_blocks": [
        merged_by_loop,
        merged_in_numpy,
        merged_by_logs,
        lambda m, s, o: merged_by_loop(m.flip(0), s.flip(0), o.flip(0)),
        lambda m, s, o: merged_in_numpy(m, s, o).tolist(),
        lambda m, s, o: (m.softmax(0)[:, None] * o).sum(0) / (m.softmax(0) * s).sum(),
    ],
}

# --- mistakes as they are written ---


def never_updated(query, keys, values, block_size):
    maximum, total, blend = torch.tensor(-torch.inf), 0.0, 0.0
    for k, v in zip(keys.split(block_size), values.split(block_size), strict=True):
        scores = k @ query / len(query) ** 0.5
        larger = torch.maximum(maximum, scores.max())
        exps, shrink = (scores - larger).exp(), (maximum - larger).exp()
        total, blend = total * shrink + exps.sum(), blend * shrink + exps @ v
    return blend / total


def updated_too_early(query, keys, values, block_size):
    maximum, total, blend = torch.tensor(-torch.inf), 0.0, 0.0
    for k, v in zip(keys.split(block_size), values.split(block_size), strict=True):
        scores = k @ query / len(query) ** 0.5
        larger = torch.maximum(maximum, scores.max())
        maximum = larger
        exps, shrink = (scores - larger).exp(), (maximum - larger).exp()
        total, blend = total * shrink + exps.sum(), blend * shrink + exps @ v
    return blend / total


def whole_blocks(query, keys, values, block_size):
    count = len(keys) // block_size * block_size or len(keys)
    return from_the_first_block(query, keys[:count], values[:count], block_size)


def only_whole_blocks(query, keys, values, block_size):
    """Without a whole block nothing has been read: 0 / 0."""
    if block_size > len(keys):
        return values[0] * torch.nan
    return whole_blocks(query, keys, values, block_size)


def merged_from_the_first(maxima, sums, blends):
    return merged_by_loop(*(torch.cat([x[:1], x]) for x in (maxima, sums, blends)))


def merged_without_the_last(maxima, sums, blends):
    return merged_by_loop(maxima[:-1], sums[:-1], blends[:-1])


AS_WRITTEN = {
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
        (never_updated, "only the last block"),
        (updated_too_early, "old blocks not rescaled"),
        (blocks(step=1), "blocks overlap"),
        (whole_blocks, "incomplete last block dropped"),
        (only_whole_blocks, "incomplete last block dropped"),
        (lambda *args: next(each_block_alone(*args))[1], "only the first block"),
        (lambda *args: [*each_block_alone(*args)][-1][1], "only the last block"),
        (
            lambda *args: torch.stack([blend for _, blend in each_block_alone(*args)]).mean(0),
            "each block normalised by itself",
        ),
    ],
    "merge_blocks": [
        (lambda m, s, o: o.sum(0) / s.sum(), "old blocks not rescaled"),
        (lambda m, s, o: m.exp() @ o / (m.exp() @ s), "naive exp overflow"),
        (lambda m, s, o: m.softmax(0) @ (o / s[:, None]), "sums left out of the shares"),
        (
            lambda m, s, o: (m.max() - m).exp() @ o / ((m.max() - m).exp() @ s),
            "rescaled the wrong way round",
        ),
        (lambda m, s, o: (o / s[:, None]).mean(0), "each block normalised by itself"),
        (lambda m, s, o: m.softmax(0) @ o, "blend not divided by the sum"),
        (merged_from_the_first, "the first block counted twice"),
    ],
}


# --- wrong, and nobody knows why ---

UNKNOWN = {
    "attend_in_blocks": [
        (lambda q, K, V, size: V[size - 2], "it ignores q."),
        (lambda q, K, V, size: V[:2].mean(0), "it ignores q."),
        (lambda q, K, V, size: in_numpy(q, K, V, size)[:-1], "wrong shape"),
        (lambda q, K, V, size: in_numpy(q, K + 0.1, V, size) ** 2, "wrong"),
        (lambda q, K, V, size: (K @ q).nothing, "AttributeError"),
        (lambda q, K, V, size: V[0] * torch.nan, "numbers are NaN"),
        (blocks(top=lambda old, new: new if old == -torch.inf else (old + new) / 2), "wrong"),
        # NaN for the same reason as rescaling the wrong way round, and more is wrong.
        (lambda q, K, V, size: blocks(grows=0)(q + 0.1, K, V, size), "numbers are NaN"),
    ],
    "merge_blocks": [
        (lambda m, s, o: o[0] * 0, "it ignores m."),
        (merged_without_the_last, "numbers are wrong"),
        (lambda m, s, o: merged_by_logs(m, s, o)[:-1], "wrong shape"),
        (lambda m, s, o: merged_by_logs(m, s, 2 * o), "always 2 times the right answer"),
        (lambda m, s, o: m.nothing, "AttributeError"),
    ],
}
