"""What the checks of lesson 6 need besides exercises.toml: see helpers/checks/exercises.py."""

from ...checks._arguments import exact, seeded, sentence


def sentence_scores():
    """Return the scores of the sentence, (6, 6), with the matrices of seeded()."""
    W_query, W_key, _ = seeded()
    return sentence() @ W_query @ (sentence() @ W_key).T


def different(*shape):
    """Return different numbers, in sixteenths, so that rounding to 3 decimals changes most."""
    return exact(*shape, step=7, unit=16, period=127)
