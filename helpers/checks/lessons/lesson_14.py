"""Lesson 14: what attention costs."""

import torch

from ... import attention
from ..catalogue.scale import SCALE_BESIDE_VALUES, SCORE_OF_KEYS, by_count
from ..catalogue.softmax import soft
from ..catalogue.whole import of_one_query
from ..exercise import Exercise, Probe
from ..pipeline import Stage
from ..probes import any_size, exact, matrix, scoring, sentence, wide, words

# --- attend_in_blocks: probes ---


def _step():
    """Return the query of *step*, and all keys and values, as the lesson makes them."""
    generator = torch.Generator().manual_seed(19)
    queries, keys, values = (sentence() @ torch.randn(3, 2, generator=generator) for _ in "QKV")
    return queries[-1], keys, values


def _far_below():
    """Return arguments whose last block is so far below that exp of the difference overflows."""
    query, keys, values = exact(3, step=7) * 4, exact(11, 3, step=5) * 4, exact(11, 5, step=3) * 4
    keys[8:] -= 1000 * query
    return query.double(), keys.double(), values.double()


def _doubled(scores):
    return [x.double() for x in scoring(scores)]


def _growing():
    return _doubled([-9000.0, -8999.5, 8999.0, 8998.5, 9000.0])


def _texts_in_blocks():
    return [
        Probe('the query of "step" (blocks of 4)', (*_step(), 4)),
        Probe("11 words (blocks of 4)", (*_far_below(), 4)),
        Probe("5 words with scores from -9000 to 9000 (blocks of 2)", (*_growing(), 2)),
        Probe(
            "4 words with scores near -1000 (one block)",
            (*scoring([-1000.0, -998.5, -1001.0, -999.0]), 9),
        ),
        *wide(matrix("d_k"), words("n", "d_k"), matrix("n", "d_v"), "block_size"),
    ]


# --- its variants ---


def _kept(old, new):
    return 1.0


def _shrunk(old, new):
    return (old - new).exp()


def _grown(old, new):
    return (new - old).exp()


def _from_0(old, new):
    """The old maximum is still 0."""
    return (-new).exp()


def _in_blocks(old_sum=_shrunk, old_blend=_shrunk, top=torch.maximum, divided_at_once=False):
    """Return a variant of normalise that collects the weights block by block.

    old_sum, old_blend: take the old maximum and the new one, return the factor for what was
    collected before.  top: takes the old maximum and that of the block, returns the new one.
    divided_at_once: divide after every block, not once at the end?
    """

    def normalise(state):
        blocks = state.scores.split(state.block_size, dim=-1)
        maximum = blocks[0].amax(-1, keepdim=True)
        total, shares = torch.zeros_like(maximum), blocks[0][..., :0]
        for block in blocks:
            larger = top(maximum, block.amax(-1, keepdim=True))
            exps = (block - larger).exp()
            total = total * old_sum(maximum, larger) + exps.sum(-1, keepdim=True)
            shares = torch.cat([shares * old_blend(maximum, larger), exps], dim=-1)
            shares = shares / total if divided_at_once else shares
            maximum = larger
        return shares if divided_at_once else shares / total

    return normalise


def _each_alone(share):
    """Return a variant of normalise: softmax of each block by itself, times a share. share: takes
    a block, the number of blocks and the number of words."""

    def normalise(state):
        blocks, words = state.scores.split(state.block_size, dim=-1), state.scores.shape[-1]
        weights = [soft(block, state.exp) * share(block, len(blocks), words) for block in blocks]
        return torch.cat(weights, dim=-1)

    return normalise


def _hide_places(hidden):
    """Return a variant of mask. hidden: takes positions (n,), n and the size of a block."""

    def mask(state):
        n = state.scores.shape[-1]
        return state.scores.masked_fill(hidden(torch.arange(n), n, state.block_size), -torch.inf)

    return mask


# --- the exercises ---

BLOCKS = Exercise(
    "attend_in_blocks(query, keys, values, block_size) -> (d_v,)",
    "values",
    attention.attend_in_blocks,
    _texts_in_blocks,
    of_one_query(
        "query keys values block_size",
        Stage(
            lambda s: (s.query[None], s.keys, s.values),
            {"keys blended": lambda s: (s.query[None], s.keys, s.keys)},
        ),
        SCORE_OF_KEYS,
        SCALE_BESIDE_VALUES,
    ),
    variants={
        "scale": {"scaled by the size of a block": by_count(lambda s: s.block_size)},
        "mask": {
            "incomplete last block dropped": _hide_places(
                lambda place, n, size: place >= max(n - n % size, min(n, size))
            ),
            "only the first block": _hide_places(lambda place, n, size: place >= size),
            "only the last block counts": _hide_places(
                lambda place, n, size: place < (n - 1) // size * size
            ),
        },
        "normalise": {
            "old blocks not rescaled": _in_blocks(_kept, _kept),
            "only the sum rescaled": _in_blocks(old_blend=_kept),
            "only the blend rescaled": _in_blocks(old_sum=_kept),
            "rescaled the wrong way round": _in_blocks(_grown, _grown),
            "maximum of the block only": (
                _in_blocks(top=lambda old, new: new),
                _in_blocks(_kept, _kept, top=lambda old, new: new),
            ),
            "maximum of the first block only": _in_blocks(_kept, _kept, top=lambda old, new: old),
            "each block normalised separately": (
                _each_alone(lambda block, count, n: 1 / count),
                _each_alone(lambda block, count, n: block.shape[-1] / n),
            ),
            "divided after every block": _in_blocks(divided_at_once=True),
            "maximum never updated": _in_blocks(
                _from_0, _from_0, top=lambda old, new: new.clamp(min=0)
            ),
        },
    },
    names={
        "not divided by the sum": "blend not divided by the sum",
        "maximum never below 0": "running maximum starts at 0",
    },
)


def _collected(query, keys, values, block_size):
    """Return the maxima (m,), sums (m,) and blends (m, d_v) of the m blocks, each by itself."""
    scores = attention.scaled_scores(query[None], keys)[0]
    found = []
    for row, rows in zip(scores.split(block_size), values.split(block_size), strict=True):
        exps = (row - row.max()).exp()
        found.append((row.max(), exps.sum(), exps @ rows))
    return tuple(map(torch.stack, zip(*found, strict=True)))


def _several_blocks():
    return [
        Probe('the 3 blocks of the "step" row', _collected(*_step(), 2)),
        Probe("3 blocks with maxima from -9000 to 9000", _collected(*_growing(), 2)),
        Probe(
            "2 blocks with maxima near -1000",
            _collected(*scoring([-1000.0, -998.5, -1001.0, -999.0]), 2),
        ),
        Probe(
            "12 blocks with falling maxima",
            _collected(*_doubled([12.0 - k / 2 for k in range(24)]), 2),
        ),
        *wide(any_size("m"), lambda *x: matrix("m")(*x) + 3, matrix("m", "d_v")),
    ]


def _merged(of_sums, of_blends=None):
    """Return an answer. of_sums, of_blends: take the maxima, return factors for the blocks."""

    def code(maxima, sums, blends):
        return (of_blends or of_sums)(maxima) @ blends / (of_sums(maxima) @ sums)

    return code


def _small(maxima):
    return (maxima - maxima.max()).exp()


def _large(maxima):
    return (maxima.max() - maxima).exp()


def _running(maxima):
    """Return what a loop multiplies each block by when it comes, and never again."""
    return (maxima - maxima.cummax(0).values).exp()


def _ones(maxima):
    return torch.ones_like(maxima)


def _means(sums, blends):
    """Return the context of each block by itself."""
    return blends / sums[:, None]


MERGE = Exercise(
    "merge_blocks(maxima, sums, blends) -> (d_v,)",
    "values",
    attention.merge_blocks,
    _several_blocks,
    mistakes={
        "old blocks not rescaled": (_merged(_ones), _merged(_running)),
        "only the sum rescaled": (_merged(_small, _ones), _merged(_small, _running)),
        "only the blend rescaled": (_merged(_ones, _small), _merged(_running, _small)),
        "rescaled the wrong way round": (_merged(_large), _merged(_ones, _large)),
        "blocks with a smaller maximum not rescaled": _merged(
            lambda maxima: (maxima.cummax(0).values - maxima.max()).exp()
        ),
        "exp overflows": _merged(lambda maxima: maxima.exp()),
        "subtracted less than the maximum": (
            _merged(lambda maxima: (maxima - maxima[0]).exp()),
            _merged(lambda maxima: (maxima - maxima.mean()).exp()),
        ),
        "blend not divided by the sum": lambda maxima, sums, blends: _small(maxima) @ blends,
        "each block normalised separately": (
            lambda maxima, sums, blends: _means(sums, blends).mean(0),
            lambda maxima, sums, blends: _small(maxima) @ _means(sums, blends),
        ),
        "blocks weighted by their maxima only": (
            lambda maxima, sums, blends: torch.softmax(maxima, dim=0) @ _means(sums, blends)
        ),
        "only the block with the largest score": (
            lambda maxima, sums, blends: _means(sums, blends)[maxima.argmax()]
        ),
    },
)
