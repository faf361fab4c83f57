"""Lesson 06: weights that cannot see the future."""

import torch

from ... import attention
from ..catalogue.mask import CAUSAL_MASK, as_they_are, future, hide, later, past, the_future
from ..catalogue.scale import CONSTANT, SCALE
from ..catalogue.softmax import EXP_OF_ROWS, SOFTMAX_OF_MASKED, soft, weigh
from ..counterfactual import FillsInPlace, LooksBack
from ..exercise import Exercise, Probe, cured
from ..pipeline import Pipeline, Stage
from ..probes import any_size, numbers, seeded, sentence, wide

# --- causal_weights ---


def _weights_of(takes, hidden):
    """Weights of scores that are given."""
    return Pipeline(
        takes,
        "weights",
        hidden,
        score=Stage(lambda s: s.scores, {"sign flipped": lambda s: -s.scores}),
        scale=SCALE.plus(CONSTANT),
        mask=CAUSAL_MASK,
        exp=EXP_OF_ROWS,
        normalise=SOFTMAX_OF_MASKED.plus({"weights transposed": lambda s: weigh(s).mT}),
    )


def _tables():
    """Scores with d_k."""
    W_query, W_key, _ = seeded()
    mixed = numbers("causal_mixed", torch.float64)
    return [
        ("the scores of the sentence", sentence() @ W_query @ (sentence() @ W_key).T, 2),
        ("5 x 5 scores with negative ones and a 0, d_k = 3", mixed, 3),
        ("4 x 4 scores near 1000 and -1000, d_k = 4", numbers("causal_large"), 4),
        ("4 x 4 scores, one of them -4000000, d_k = 4", numbers("causal_low"), 4),
    ]


def _scores():
    probes = [Probe(where, tuple(args)) for where, *args in _tables()]
    return [*probes, *wide(any_size("n", "n"), "d_k")]


CAUSAL = Exercise(
    "causal_weights",
    "causal_weights(scores, d_k) -> (n, n)",
    "weights",
    attention.causal_weights,
    _scores,
    _weights_of("scores d_k", the_future),
)

# --- window_weights ---


def outside(state):
    """What the window hides: the future, and what is too old."""
    return future(state.scores) | past(state.scores, -state.window)


def _too_old(state):
    return past(state.scores, -state.window)


def _hidden(mask):
    """mask: takes scores and the window, returns what is hidden."""
    return hide(lambda s: mask(s.scores, s.window))


def _other_block(state):
    block = torch.arange(state.scores.shape[-1]) // state.window
    return block[:, None] != block


def _last_dropped(state):
    scores = hide(the_future)(state)
    scores.masked_fill(_too_old(state), -torch.inf)
    return scores


def _old_with_zero(state):
    return state.scores.masked_fill(_too_old(state), 0.0).masked_fill(the_future(state), -torch.inf)


def _half_later(weights):
    """The one half hidden before softmax, the other one after."""
    return (
        later(weights, hidden=_too_old, before=hide(the_future)),
        later(weights, hidden=the_future, before=hide(_too_old)),
    )


def _windows():
    (first, *one), (second, *two), (third, *three), (fourth, *four) = _tables()
    return [
        Probe(f"{first}, window = 2", (*one, 2)),
        Probe(f"{second}, window = 3", (*two, 3)),
        Probe(f"{third}, window = 4", (*three, 4)),  # the last word sees all
        Probe(f"{fourth}, window = 1", (*four, 1)),
        *wide(any_size("n", "n"), "d_k", "window"),
    ]


WINDOW = Exercise(
    "window_weights",
    "window_weights(scores, d_k, window) -> (n, n)",
    "weights",
    attention.window_weights,
    _windows,
    _weights_of("scores d_k window", outside),
    variants={
        "mask": {
            "masked_fill result dropped": cured(FillsInPlace, _last_dropped),
            "sign of the diagonal": cured(LooksBack, _hidden(lambda s, w: future(s) | past(s, w))),
            "the window not applied": hide(the_future),
            "the future not hidden": (
                hide(_too_old),
                _hidden(lambda s, w: past(s, -w) | future(s, w)),
            ),
            "window one too wide": _hidden(lambda s, w: future(s) | past(s, -w - 1)),
            "window one too narrow": _hidden(lambda s, w: future(s) | past(s, -w + 1)),
            "the past hidden instead": (
                _hidden(lambda s, w: past(s, -1) | future(s, w)),
                _hidden(lambda s, w: past(s, -1)),
            ),
            "the window hidden instead": (
                _hidden(lambda s, w: ~past(s, -w)),
                hide(lambda s: ~outside(s)),
            ),
            "mask after softmax": _half_later(as_they_are),
            "softmax, mask, softmax": _half_later(soft),
            "masked with 0": _old_with_zero,
            "blocks instead of a window": (
                hide(lambda s: _other_block(s) | the_future(s)),
                hide(_other_block),
            ),
        }
    },
)
