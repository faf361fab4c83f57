"""What the checks of lesson 10 need besides exercises.toml: see helpers/checks/exercises.py."""

import torch
from torch.nn import functional as F

from ... import attention
from ...checks._arguments import exact, places
from ...checks.exercise import Case
from ..measures import LEARNS, learning  # noqa: F401


def _normed(factor, shift):
    return lambda x: factor * F.layer_norm(x, x.shape[-1:]) + shift


def _mean_so_far(x):
    """Return causal attention with even weights; its values are the words, rolled by one place."""
    return attention.uniform_causal(x.shape[-2]).to(x) @ x.roll(1, dims=-1) + 0.125


# The parts of a block: they take any width, and no two give the same.
PARTS = {
    "norm_1": _normed(1, 0.25),
    "attention": _mean_so_far,
    "norm_2": _normed(1.5, -0.375),
    "feed_forward": lambda x: (0.75 * x + 0.5).relu() - x.flip(-1) / 4,
}


def part(name):
    """Return a function (sizes, step) that gives this part of a block."""
    return lambda sizes, step: PARTS[name]


def scored_texts(words, v, up=0.0):
    """Return scores (b, n, v) in no order, and the words, (b, n), as a tensor: if rows rise alike,
    all pairings have one mean loss.  up: is added to the scores."""
    draws, words = torch.Generator().manual_seed(1), torch.tensor(words)
    return torch.randint(-16, 17, (*words.shape, v), generator=draws) / 8 + up, words


def _small_model(v):
    """Return a model, (1, n) -> scores (1, n, v), of which row i depends on all words up to i.

    It seeds torch, so that all who draw with torch.multinomial after a call draw the same words."""
    known = exact(v, v, step=7, unit=4, period=29)

    def model(words):
        torch.default_generator.manual_seed(int(words.sum()) + words.shape[-1])
        return known[words].cumsum(1).sin() * 2 + known[words] / 4

    return model


def to_write_on():
    """Return the cases of write_on: texts to continue, with words that no other way draws."""
    for n, count, v, temperature, if_right in (
        (3, 12, 7, 2.0, False),
        (5, 9, 11, 0.5, False),
        (1, 30, 13, 1.5, True),
        (2, 0, 5, 1.0, True),
    ):
        label = f"{n} words and {count} more (vocabulary of {v}, temperature {temperature:g})"
        words = places("n", "v")(dict(n=n, v=v), 3)[None]
        yield Case(label, (_small_model(v), words, count, temperature), if_right=if_right)
