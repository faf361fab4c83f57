"""Where right and wrong answers part: arguments that leave no room for luck.

Numbers that float32 holds exactly, so that sums in another order are the same sums.
"""

from math import prod

import torch

from .. import attention
from ..data import load_journey
from .exercise import Probe
from .texts import contents


def numbers(name, dtype=torch.float32):
    """A tensor of probes.toml, such as numbers("mixed")."""
    return torch.tensor(contents("probes.toml")[name], dtype=dtype)


def mixed():
    return numbers("mixed", torch.float64)


def mixed_table():
    return numbers("mixed_table", torch.float64)


def sentence():
    return load_journey()[1]


def of_inputs(*last):
    """Probes for a function of inputs."""
    return [
        Probe("the sentence", (sentence(),)),
        Probe("5 words with negative numbers", (mixed(),)),
        *last,
    ]


def of_query(large="large"):
    """Probes for a function of inputs and i: a middle, the first and the last word."""
    return [
        Probe("the sentence, i = 1", (sentence(), 1)),
        Probe("5 words with negative numbers, i = 0", (mixed(), 0)),
        Probe("4 words with scores near 1000 and -1000, i = 3", (numbers(large), 3)),
    ]


def rows():
    return [
        Probe("the scores of journey", (attention.scores(sentence(), 1),)),
        Probe("scores with a 0 and negative ones", (mixed_table()[0],)),
        Probe("scores near 1000", (numbers("far_rows")[1],)),
        Probe("scores from -9000 to -1000", (numbers("low"),)),
    ]


def tables():
    return [
        Probe("the scores of the sentence", (attention.all_scores(sentence()),)),
        Probe("5 x 5 scores with a 0 and negative ones", (mixed_table(),)),
        Probe("a row of scores near 1000 and one from -9000 to -1000", (numbers("far_rows"),)),
    ]


def rows_with_temperature():
    words, some, large, low = (probe.args[0] for probe in rows())
    return [
        Probe("the scores of journey, temperature 2", (words, 2.0)),
        Probe("scores with a 0 and negative ones, temperature 0.25", (some, 0.25)),
        Probe("scores near 500, temperature 0.5", (large / 2, 0.5)),
        # So near to 1 that a maximum is good enough here, be it the undivided one.
        Probe("scores from -9600 to -1000, temperature 1.0625", (1.0625 * low, 1.0625)),
    ]


# --- numbers for the later lessons ---


def exact(*shape, step=5, unit=8, period=13):
    """Numbers around 0 which float32 holds exactly, each the same as the one a period later.

    step: another one, another order.  unit: 1 / unit is the difference of neighbours."""
    numbers = (torch.arange(prod(shape)) * step + 3) % period - period // 2
    return numbers.reshape(shape) / unit


def seeded(d_in=3, d_out=2):
    """W_query, W_key and W_value as the lessons draw them."""
    generator = torch.Generator().manual_seed(123)
    return [torch.rand(d_in, d_out, generator=generator) for _ in range(3)]


def scoring(scores):
    """A query, and keys and values that give it these scores; d_k is 4, so its root is 2."""
    query = torch.tensor([2.0, 0.0, 0.0, 0.0])
    keys = exact(len(scores), 4, step=3)
    keys[:, 0] = torch.tensor(scores)
    return query, keys, exact(len(scores), 3, step=7)


# --- not probes, but what several lessons do wrong ---


def without_last(scores_of):
    """Scores by loops that stop one early: both, the outer, the inner. scores_of: makes all."""

    def code(rows, columns):
        def stopping(*args):
            scores = scores_of(*args)
            if rows:
                scores[-1] = 0
            if columns:
                scores[:, -1] = 0
            return scores

        return stopping

    return code(True, True), code(True, False), code(False, True)
