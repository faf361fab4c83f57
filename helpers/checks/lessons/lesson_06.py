"""Lesson 06: weights that cannot see the future."""

import torch

from ... import attention
from ..catalogue.mask import CAUSAL_MASK, future, hide, later, past, the_future
from ..catalogue.scale import SCALE
from ..catalogue.softmax import EXP_OF_ROWS, SOFTMAX_OF_MASKED, weigh
from ..counterfactual import LooksBack
from ..exercise import Exercise, Probe, cured
from ..pipeline import Pipeline, Stage
from ..probes import any_size, numbers, seeded, sentence, wide

# --- causal_weights ---


def _weights_of(takes, hidden):
    """Return a pipeline from given scores to weights."""
    return Pipeline(
        takes,
        "weights",
        hidden,
        score=Stage(lambda s: s.scores, {"sign flipped": lambda s: -s.scores}),
        scale=SCALE,
        mask=CAUSAL_MASK,
        exp=EXP_OF_ROWS,
        normalise=SOFTMAX_OF_MASKED.plus({"weights transposed": lambda s: weigh(s).mT}),
    )


def _tables():
    """Return triples of a label, scores and d_k."""
    W_query, W_key, _ = seeded()
    mixed = numbers("causal_mixed", torch.float64)
    return [
        ("the scores of the sentence", sentence() @ W_query @ (sentence() @ W_key).T, 2),
        ("5 x 5 scores with a 0 and negative numbers", mixed, 3),
        ("4 x 4 scores near ±1000", numbers("causal_large"), 4),
        ("4 x 4 scores with one of -4000000", numbers("causal_low"), 1024),
    ]


def _scores():
    probes = [Probe(f"{where} (d_k = {d_k})", (scores, d_k)) for where, scores, d_k in _tables()]
    return [*probes, *wide(any_size("n", "n"), "d_k")]


RENAMED = {
    "scores instead of weights": "not normalised",
    "not divided by the sum": "not normalised",
    "softmax over the wrong axis": "softmax over columns",
}
CAUSAL = Exercise(
    "causal_weights(scores, d_k) -> (n, n)",
    "weights",
    attention.causal_weights,
    _scores,
    _weights_of("scores d_k", the_future),
    names=RENAMED,
)

# --- window_weights ---


def outside(state):
    """Return the mask of the window: True for the future, and for words that are too old."""
    return future(state.scores) | past(state.scores, -state.window)


def _too_old(state):
    return past(state.scores, -state.window)


def _hidden(mask):
    """Return a variant that hides. mask: takes scores and the window, returns what is hidden."""
    return hide(lambda s: mask(s.scores, s.window))


def _other_block(state):
    block = torch.arange(state.scores.shape[-1]) // state.window
    return block[:, None] != block


def _far_back():
    scores = torch.zeros(3, 3)
    scores[2, 0] = 1000
    return scores


def _from_the_end(scores, d_k, window):
    """Begin each row at i - window + 1, which counts from the end where it is negative."""
    weights = torch.zeros_like(scores)
    for i in range(len(scores)):
        seen = slice(i - window + 1, i + 1)
        weights[i, seen] = torch.softmax(scores[i, seen] / d_k**0.5, dim=-1)
    return weights


def _windows():
    windows = (2, 3, 4, 1)  # of 4, the last word sees all
    return [
        Probe(f"{where} (d_k = {d_k}, window = {window})", (scores, d_k, window))
        for (where, scores, d_k), window in zip(_tables(), windows, strict=True)
    ] + [
        *wide(any_size("n", "n"), "d_k", "window"),
        Probe("a score of 1000 too far back (window = 2)", (_far_back(), 4, 2), if_right=True),
    ]


WINDOW = Exercise(
    "window_weights(scores, d_k, window) -> (n, n)",
    "weights",
    attention.window_weights,
    _windows,
    _weights_of("scores d_k window", outside),
    names={**RENAMED, "mask upside down, diagonal kept": "the past hidden instead"},
    mistakes={"first rows left empty": _from_the_end},
    variants={
        "mask": {
            "wrong diagonal sign": cured(LooksBack, _hidden(lambda s, w: future(s) | past(s, w))),
            "window not applied": hide(the_future),
            "future not hidden": (
                hide(_too_old),
                _hidden(lambda s, w: past(s, -w) | future(s, w)),
            ),
            "window too wide by 1": _hidden(lambda s, w: future(s) | past(s, -w - 1)),
            "window too narrow by 1": _hidden(lambda s, w: future(s) | past(s, -w + 1)),
            "the past hidden instead": _hidden(lambda s, w: past(s, -1) | future(s, w)),
            "mask after softmax": later(hidden=_too_old, before=hide(the_future)),
            "blocks instead of a window": (
                hide(lambda s: _other_block(s) | the_future(s)),
                hide(_other_block),
            ),
        }
    },
)
