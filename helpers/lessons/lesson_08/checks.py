"""What the checks of lesson 8 need besides exercises.toml: see helpers/checks/exercises.py."""

import torch

from ...checks._arguments import exact, numbers, sentence
from ..lesson_06.checks import different  # noqa: F401


def heads_of_sentence():
    """Return arguments of repair_heads: the sentence, and random matrices."""
    generator = torch.Generator().manual_seed(123)
    matrices = [torch.rand(3, 4, generator=generator) for _ in range(3)]
    return sentence()[None], *matrices, exact(4, 4), exact(4, step=3), 2


def heads_of_two():
    """Return arguments of repair_heads: two sentences, with scores of exactly 0."""
    inputs = exact(2, 5, 7, step=3, unit=4).double()
    inputs[1, 2] = 0
    matrices = (exact(7, 12, step=step).double() for step in (5, 7, 3))
    return inputs, *matrices, exact(12, 12).double(), exact(12, step=3).double(), 3


def far_heads():
    """Return arguments of repair_heads: large scores, in 4 heads of 4 numbers, so that the roots of
    head_dim and d_out are exact."""
    query, key, value = (exact(3, 16, step=step).double() for step in (5, 3, 7))
    for W, row in ((query, 0), (key, 1)):
        W[:, ::4] = 0
        W[:2] = 0
        W[row, ::4] = 1
    value[:2] = 0
    W_out, b_out = exact(16, 16, step=5).double(), exact(16, step=3).double()
    return numbers("strong_heads", torch.float64), query, key, value, W_out, b_out, 4


def heads_of_size_2():
    """Return arguments of repair_heads: most sizes are 2, so that answers that raise elsewhere give
    numbers here."""
    matrices = (exact(4, 4, step=step) for step in (7, 5, 3, 9))
    return exact(2, 2, 4, step=3, unit=4), *matrices, exact(4, step=5), 2
