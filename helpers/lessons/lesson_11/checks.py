"""What the checks of lesson 11 need besides exercises.toml: see helpers/checks/exercises.py."""

import torch

from ...checks._arguments import exact, matrix, sentence
from ..masks import TRUTHS, is_of_truths  # noqa: F401


def step():
    """Return the query of *step*, and all keys and values, as the lesson makes them."""
    generator = torch.Generator().manual_seed(19)
    queries, keys, values = (sentence() @ torch.randn(3, 2, generator=generator) for _ in "QKV")
    return queries[-1], keys, values


def doubles(*tensors):
    return [x.double() for x in tensors]


def own_key(sizes, step):
    """Return the query, made longer, as its own key, so that its score is the largest."""
    return matrix("d_k")(sizes, 3) * sizes["far"] ** 1.5


def with_new(query, keys, values):
    """Return the arguments of next_context, in which the last word is the new one."""
    return query, keys[-1], values[-1], keys[:-1], values[:-1]


def long_cache():
    """Return the arguments of next_context for a cache of 40 words: d_k = 3, d_v = 5."""
    shapes = ((3,), 5), ((3,), 7), ((5,), 3), ((40, 3), 7), ((40, 5), 5)
    return [exact(*shape, step=step, unit=4).double() for shape, step in shapes]


def scoring(scores):
    """Return a query, keys and values with these scores once scaled: sqrt(d_k) is 2."""
    query = torch.tensor([2.0, 0.0, 0.0, 0.0])
    keys = exact(len(scores), 4, step=3)
    keys[:, 0] = torch.tensor(scores)
    return query, keys, exact(len(scores), 3, step=7)
