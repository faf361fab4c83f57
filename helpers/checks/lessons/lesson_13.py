"""Lesson 13: a claim on trial."""

import torch

from ... import attention
from ..exercise import Exercise, Probe, explained
from ..probes import exact, matrix, shares, wide

# --- interchange ---


def _sentence(n, d, query, key, dtype=torch.float32):
    """Return a Probe: weights that sum to 1, none of them 0, and the values of two sentences."""
    weights = exact(n, n, step=7).softmax(-1)
    values, others = exact(n, d), exact(n, d, step=3, period=11)
    given = (x.to(dtype) for x in (weights, values, others))
    label = f"a sentence of {n} words (query {query}, key {key})"
    return Probe(label, (*given, query, key))


def _row(new):
    """Return an answer that adds to the query's row of the contexts. new: takes the five arguments,
    returns what is added."""

    def code(weights, values, others, query, key):
        contexts = weights @ values
        contexts[query] += new(weights, values, others, query, key)
        return contexts

    return code


def _at(change):
    """Return the right answer at different positions. change: takes query and key, returns both."""
    return lambda w, v, o, query, key: attention.interchange(w, v, o, *change(query, key))


def _for_all(weights, values, others, query, key):
    changed = values.clone()
    changed[key] = others[key]
    return weights @ changed


INTERCHANGE = Exercise(
    "interchange(weights, values, others, query, key) -> (n, d)",
    "values",
    attention.interchange,
    # Never the last word, so that an answer that goes one too far still finds a word.
    lambda: [
        _sentence(6, 3, 4, 1),
        _sentence(5, 2, 1, 3, torch.float64),
        _sentence(4, 5, 2, 0),
        *wide(shares("n", "n"), *[matrix("n", "d")] * 2, "i", lambda sizes, _: sizes["i"] // 2),
    ],
    mistakes={
        "every word reads the other value": _for_all,
        "the whole row from the other sentence": _row(lambda w, v, o, q, k: w[q] @ o - w[q] @ v),
        "all contexts from the other sentence": lambda w, v, o, q, k: w @ o,
        "added, not swapped": _row(lambda w, v, o, q, k: w[q, k] * o[k]),
        "removed, not swapped": _row(lambda w, v, o, q, k: -w[q, k] * v[k]),
        "row overwritten": explained(
            _row(lambda w, v, o, q, k: w[q, k] * o[k] - w[q] @ v),
            _row(lambda w, v, o, q, k: o[k] - w[q] @ v),
            why="The query no longer gets anything from the other words.",
            advice="Change only what comes from `key`: which line loses the rest of the row?",
            source="contexts[query] = ... instead of +=",
        ),
        "the weight left out": _row(lambda w, v, o, q, k: o[k] - v[k]),
        "the two sentences mixed up": (
            _row(lambda w, v, o, q, k: w[q, k] * (v[k] - o[k])),
            lambda w, v, o, q, k: attention.interchange(w, o, v, q, k),
        ),
        "query and key swapped": _at(lambda query, key: (key, query)),
        "weight read the wrong way round": _row(lambda w, v, o, q, k: w[k, q] * (o[k] - v[k])),
        "value of the query swapped": _row(lambda w, v, o, q, k: w[q, k] * (o[q] - v[q])),
        "always the last row": _at(lambda query, key: (-1, key)),
        "positions shifted by one": (
            _at(lambda query, key: (query - 1, key - 1)),
            _at(lambda query, key: (query + 1, key + 1)),
        ),
        "only the context of the query": lambda *args: attention.interchange(*args)[args[3]],
        "nothing swapped": lambda w, v, o, q, k: w @ v,
        "weights transposed": lambda w, v, o, q, k: attention.interchange(w.T, v, o, q, k),
    },
)
