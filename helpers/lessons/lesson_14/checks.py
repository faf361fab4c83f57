"""What the checks of lesson 14 need besides exercises.toml: see helpers/checks/exercises.py."""

import torch

from ...checks._arguments import places, wide
from ...checks.exercise import Case

# A word three times; a word right after itself, and word 0; no copies at all; a single word.
TEXTS = [5, 2, 5, 5, 7, 2], [4, 0, 9, 4, 0, 0, 4, 8, 9], [3, 1, 0, 2], [6]
# For code with room for only so many words, some of these are the same word.
FAR_APART = [3, *(3 + room for room in (32, 50, 64, 100, 128, 256, 1000, 1024, 10_000)), 3]


def tokens(count, below):
    """Return a function (sizes, step): like places(), but from -1, and once far apart."""
    return lambda sizes, step: (places(count, below)(sizes, step) - 1) * sizes["far"] ** 5


def texts_with_copies():
    """Return all cases of look_back."""
    return [
        *(Case(f"the words {words}", (torch.tensor(words),)) for words in TEXTS),
        Case(f"the words {FAR_APART}", (torch.tensor(FAR_APART),), if_right=True),
        *wide(tokens("n", "d")),
    ]
