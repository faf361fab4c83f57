"""What the checks of lesson 4 need besides exercises.toml: see helpers/checks/exercises.py."""

import torch

from ...checks._arguments import exact, mixed


def mixed_attention():
    """Return mixed() words, one of which has scores of exactly 0, and three matrices."""
    inputs = mixed()
    inputs[2] = 0
    sizes = (4, 3, 5), (4, 3, 7), (4, 6, 3)
    return inputs, *(exact(m, n, step=step).double() for m, n, step in sizes)


def strong_attention():
    """Return words whose first two numbers make the scores: after scaling, about 1000, -1000 and
    125. d_k is 16, so that even its fourth root, which some take, is exact; and all matrices are
    16 x 16, so that a .T does not raise."""
    sizes = (4, 5), (16, 3), (16, 7), (16, 5)
    inputs, query, key, value = (exact(n, 16, step=step).double() for n, step in sizes)
    inputs[:, 0] = torch.tensor([1.0, -1.0, 0.125, 1.0])
    inputs[:, 1] = torch.tensor([4000.0, 4001.0, 3999.0, 4002.0])
    for W, row in ((query, 0), (key, 1)):
        W[:2] = 0
        W[:, 0] = 0
        W[row, 0] = 1
    value[1] = 0
    return inputs, query, key, value
