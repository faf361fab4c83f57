"""Say how a number is computed, for `explain` of a View."""

import numpy as np

from ..pictures.given import as_array, bare

MAX_TERMS = 8  # products that an explanation shows


def dot_in_full(a, b):
    """Return a dot product in full, for explain: "0.55 × 0.43 + 0.87 × 0.15".

    a, b: vectors of one length; for long vectors the text has the first eight products.
    """
    a, b = as_array(a, "a").ravel(), as_array(b, "b").ravel()
    terms = [f"{x:.2f} × {y:.2f}" for x, y in zip(a, b, strict=True)]
    if len(terms) > MAX_TERMS:
        terms = [*terms[:MAX_TERMS], "…"]
    return " + ".join(terms)


def softmax_in_full(scores, j, temperature=None):
    """Return how softmax computes weight j of scores (n,): "exp(0.95 - 1.50) / 4.20, where ...".

    As in softmax, the largest score is subtracted from all scores first; the divisor is the
    sum of all these exponentials. The text says what each number is.
    temperature: the number that divides the scores before that.
    """
    given = as_array(scores, "scores").ravel()
    scores = given if temperature is None else given / temperature
    top = scores.max()
    if top == -np.inf:
        return "0 / 0: there is nothing to see"
    one, what, largest = f"{scores[j]:.2f}", "the score", "the largest in its row"
    if temperature is not None:
        what += f" {given[j]:.4g} divided by the temperature {bare(temperature):g}"
    where = f"{one} is {what}, {largest}"
    if scores[j] < top:
        where = f"{one} is {what} and {top:.2f} {largest}"
    return f"exp({one} - {top:.2f}) / {np.exp(scores - top).sum():.2f}, where {where}"
