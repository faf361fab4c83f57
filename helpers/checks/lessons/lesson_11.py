"""Lesson 11: learned attention."""

import torch

from ... import attention
from ..catalogue.softmax import divided, soft
from ..exercise import Exercise, Probe
from ..probes import places, shares, wide

# --- weight_between, exchange and erase ---

ALL = slice(None)


def _sentences(weights):
    """Return the indices of the sentences, (b,)."""
    return torch.arange(len(weights))


def _batch(n, dtype=torch.float32, **positions):
    """Return a Probe of weights (b, n, n) and these positions of words in the b sentences."""
    b = len(next(iter(positions.values())))
    weights = torch.rand(b, n, n, generator=torch.Generator().manual_seed(b), dtype=dtype)
    said = ", ".join(f"{name} = {[*at]}" for name, at in positions.items())
    return Probe(
        f"{b} {'sentence' if b == 1 else 'sentences'} of {n} words ({said})",
        (divided(weights), *map(torch.tensor, positions.values())),
    )


def _read(place, then=lambda found: found):
    """Return an answer that reads weights at this place. place: takes the indices of the sentences,
    the queries and the keys, (b,) each, returns an index.  then: takes what was read."""
    return lambda weights, queries, keys: then(weights[place(_sentences(weights), queries, keys)])


BETWEEN = Exercise(
    "weight_between(weights, queries, keys) -> (b,)",
    "scores",
    attention.weight_between,
    # Positions differ between sentences, and none is the last, where one more would raise.
    lambda: [
        _batch(6, queries=[4, 3, 2], keys=[1, 2, 0]),
        _batch(5, torch.float64, queries=[3, 1], keys=[0, 3]),
        _batch(4, queries=[2], keys=[1]),
        *wide(shares("b", "n", "n"), *(places("b", "n") for _ in range(2))),
    ],
    mistakes={
        "query and key swapped": _read(lambda k, i, j: (k, j, i)),
        "every pair in every sentence": (
            _read(lambda k, i, j: (ALL, i, j)),
            _read(lambda k, i, j: (ALL, j, i)),
        ),
        "first sentence's positions used for all": _read(lambda k, i, j: (k, i[0], j[0])),
        "always the first sentence": _read(lambda k, i, j: (0, i, j)),
        "one number for all sentences": (
            _read(lambda k, i, j: (k, i, j), torch.mean),
            _read(lambda k, i, j: (k, i, j), torch.sum),
        ),
        "the whole row": _read(lambda k, i, j: (k, i)),
        "positions shifted by one": (
            _read(lambda k, i, j: (k, i - 1, j - 1)),
            _read(lambda k, i, j: (k, i + 1, j + 1)),
        ),
        "the last word as the query": _read(lambda k, i, j: (k, -1, j)),
        "the largest weight": _read(lambda k, i, j: (k, i), lambda row: row.amax(-1)),
        "one word taken twice": (
            _read(lambda k, i, j: (k, i, i)),
            _read(lambda k, i, j: (k, j, j)),
        ),
        "softmax twice": lambda weights, *at: attention.weight_between(weights.softmax(-1), *at),
    },
)


def _write(new):
    """Return an answer that writes at the two places. new: takes the two weights, returns two."""

    def code(weights, queries, first, second):
        changed, k = weights.clone(), _sentences(weights)
        old = weights[k, queries, first], weights[k, queries, second]
        changed[k, queries, first], changed[k, queries, second] = new(*old)
        return changed

    return code


def _swap(places):
    """Return an answer that swaps the weights at these places. places: takes the indices of the
    sentences, the queries and the two positions, (b,) each, returns two indices."""

    def code(weights, *positions):
        changed = weights.clone()
        one, other = places(_sentences(weights), *positions)
        changed[one], changed[other] = weights[other], weights[one]
        return changed

    return code


def _swap_at(change):
    """Return the right exchange at different positions. change: takes the three, returns three."""
    return lambda weights, *positions: attention.exchange(weights, *change(*positions))


EXCHANGE = Exercise(
    "exchange(weights, queries, first, second) -> (b, n, n)",
    "scores",
    attention.exchange,
    # In the second probe the query gives one of the two weights to itself.
    lambda: [
        _batch(6, queries=[4, 3, 2], first=[1, 4, 0], second=[2, 0, 3]),
        _batch(5, torch.float64, queries=[3, 1], first=[0, 3], second=[2, 1]),
        _batch(4, queries=[2], first=[0], second=[1]),
        *wide(shares("b", "n", "n"), *(places("b", "n") for _ in range(3))),
    ],
    mistakes={
        "both weights are the same now": (
            _write(lambda one, other: (other, other)),
            _write(lambda one, other: (one, one)),
        ),
        "nothing swapped": _write(lambda one, other: (one, other)),
        "swapped in every row": _swap(lambda k, i, one, other: ((k, ALL, one), (k, ALL, other))),
        "two rows swapped": _swap(lambda k, i, one, other: ((k, one), (k, other))),
        "swapped in the query's column": _swap(
            lambda k, i, one, other: ((k, one, i), (k, other, i))
        ),
        "only the first sentence": lambda weights, *at: torch.cat(
            [attention.exchange(weights, *at)[:1], weights[1:]]
        ),
        "first sentence's positions used for all": _swap_at(
            lambda i, one, other: (i[0], one[0], other[0])
        ),
        "every pair in every sentence": _swap(
            lambda k, i, one, other: ((ALL, i, one), (ALL, i, other))
        ),
        "always the last row": _swap_at(lambda i, one, other: (-1, one, other)),
        "positions shifted by one": (
            _swap_at(lambda i, one, other: (i - 1, one - 1, other - 1)),
            _swap_at(lambda i, one, other: (i + 1, one + 1, other + 1)),
            _swap_at(lambda i, one, other: (i + 1, one, other)),
        ),
        "only the row of the query": lambda weights, i, *keys: attention.exchange(
            weights, i, *keys
        )[_sentences(weights), i],
        "batch lost": lambda *args: attention.exchange(*args)[0],
    },
)


def _erased(at=lambda *here: here, then=divided, new=0.0):
    """Return an answer that writes a new number at this place. at: takes the indices of the
    sentences, the queries and the keys, (b,) each, returns an index.  then: takes all weights."""

    def code(weights, queries, keys):
        changed = weights.clone()
        changed[at(_sentences(weights), queries, keys)] = new
        return then(changed)

    return code


def _softmax_of_the_row(weights, queries, keys, new=0.0):
    changed, k = weights.clone(), _sentences(weights)
    changed[k, queries, keys] = new
    changed[k, queries] = changed[k, queries].softmax(-1)
    return changed


def _shared(without):
    """Return an answer that adds equal parts of the weight. without: 1 if not to itself."""

    def code(weights, queries, keys):
        k = _sentences(weights)
        part = weights[k, queries, keys] / (weights.shape[-1] - without)
        changed = weights.clone()
        changed[k, queries] += part[:, None]
        changed[k, queries, keys] = part * (1 - without)
        return changed

    return code


ERASE = Exercise(
    "erase(weights, queries, keys) -> (b, n, n)",
    "weights",
    attention.erase,
    lambda: [
        _batch(6, queries=[4, 3, 2], keys=[1, 4, 0]),
        _batch(5, torch.float64, queries=[3, 1], keys=[0, 2]),
        _batch(4, queries=[2], keys=[1]),
        *wide(shares("b", "n", "n"), *(places("b", "n") for _ in range(2)), n=3),
    ],
    mistakes={
        "not divided by the sum": _erased(then=lambda changed: changed),
        "softmax twice": (
            _softmax_of_the_row,
            lambda *args: _softmax_of_the_row(*args, -torch.inf),
            _erased(then=soft),
            _erased(then=soft, new=-torch.inf),
        ),
        "shared out equally": (_shared(0), _shared(1)),
        "erased in every row": _erased(lambda k, i, j: (k, ALL, j)),
        "every pair in every sentence": _erased(lambda k, i, j: (ALL, i, j)),
        "query and key swapped": _erased(lambda k, i, j: (k, j, i)),
        "always the last row": _erased(lambda k, i, j: (k, -1, j)),
        "divided by the sum of the whole matrix": _erased(
            then=lambda changed: divided(changed, dim=(1, 2))
        ),
        "only the row of the query": lambda weights, i, j: attention.erase(weights, i, j)[
            _sentences(weights), i
        ],
        "only the first sentence": lambda weights, *at: torch.cat(
            [attention.erase(weights, *at)[:1], weights[1:]]
        ),
        "first sentence's positions used for all": _erased(lambda k, i, j: (k, i[0], j[0])),
    },
)
