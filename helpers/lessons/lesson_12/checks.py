"""What the checks of lesson 12 need besides exercises.toml: see helpers/checks/exercises.py."""

import torch

from ... import attention
from ...checks._arguments import exact, matrix
from ..lesson_11.checks import doubles, scoring, step  # noqa: F401


def far_below():
    """Return arguments whose last block is so far below that exp of the difference overflows."""
    query, keys, values = exact(3, step=7) * 4, exact(11, 3, step=5) * 4, exact(11, 5, step=3) * 4
    keys[8:] -= 1000 * query
    return doubles(query, keys, values)


def growing():
    """Return a query (4,), keys (5, 4) and values (5, 3) with scores from -9000 to 9000."""
    return doubles(*scoring([-9000.0, -8999.5, 8999.0, 8998.5, 9000.0]))


def blocks_of(query, keys, values):
    """Return the maxima (m,), sums (m,) and blends (m, d_v) of blocks of 2, each by itself."""
    scores = attention.scaled_scores(query[None], keys)[0]
    found = []
    for row, rows in zip(scores.split(2), values.split(2), strict=True):
        exps = (row - row.max()).exp()
        found.append((row.max(), exps.sum(), exps @ rows))
    return tuple(map(torch.stack, zip(*found, strict=True)))


def positive(*names):
    """Return a maker of numbers above 0."""
    return lambda *sizes_and_step: matrix(*names)(*sizes_and_step) + 3
