"""What the checks of lesson 15 need besides exercises.toml: see helpers/checks/exercises.py."""

import torch

from ...checks._arguments import exact
from ...checks.exercise import Case


def half(name):
    """Return a function (sizes, step) that gives half of the size of this name, rounded down."""
    return lambda sizes, step: sizes[name] // 2


def two_sentences(n, d, dtype=torch.float32):
    """Return weights (n, n) that sum to 1, none of them 0, and the values (n, d) of two sentences.

    Choose positions before the last word, so that an answer one too far still finds a word.
    """
    weights = exact(n, n, step=7).softmax(-1)
    return [x.to(dtype) for x in (weights, exact(n, d), exact(n, d, step=3, period=11))]


def answers_in_four_runs():
    """Return all cases of read_and_needed. The partners of two strings have the own answer: one
    string keeps it when the value is swapped, and one does not."""
    cases = []
    for n, many in ((6, 3), (64, 16), (9, 4), (1, 3)):
        draws = torch.Generator().manual_seed(n)
        own, swapped, without = torch.randint(many, (3, n), generator=draws)
        other = (own + torch.randint(1, many, (n,), generator=draws)) % many
        first = (swapped == other).nonzero()[:1]
        without[first] = own[first]  # read, and not needed
        if n > 1:
            other[-2:] = own[-2:]
            swapped[-2:] = (own[-2:] + torch.tensor([0, 1])) % many
        cases.append(Case(f"{n} strings", (own, other, swapped, without), if_right=n == 1))
    return cases
