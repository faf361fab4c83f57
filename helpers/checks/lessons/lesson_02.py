"""Lesson 02: weights."""

import torch

from ... import attention
from ..catalogue.scale import by, unscaled
from ..catalogue.softmax import (
    EXP,
    EXP_OF_ROWS,
    SOFTMAX,
    SOFTMAX_OF_ROWS,
    divided,
    exp_is,
    naive,
    soft,
    stable,
    weigh,
)
from ..exercise import Exercise
from ..pipeline import Pipeline, Stage
from ..probes import rows, rows_with_temperature, tables


def _less(reduced):
    """exp of scores less something else than their maximum."""
    return exp_is(lambda scores, dim=-1: (scores - reduced(scores)).exp())


def _base_2(scores, dim=-1):
    return 2 ** (scores - scores.amax(dim, keepdim=True))


def _less_maximum(state):
    return state.scores - state.scores.amax(-1, keepdim=True)


IN_EXP = {
    # One mistake, because the numbers do not tell what it was that was subtracted.
    "subtracted less than the largest": (
        _less(lambda scores: scores.amin(-1, keepdim=True)),
        _less(lambda scores: scores.mean(-1, keepdim=True)),
        _less(lambda scores: scores.median(-1, keepdim=True).values),
        _less(lambda scores: scores[..., :1]),
        _less(lambda scores: scores[..., 1:2]),
        _less(lambda scores: scores[..., -1:]),
        _less(torch.min),
        _less(torch.mean),
    ),
    "base 2 instead of e": (exp_is(_base_2), exp_is(lambda scores, dim=-1: 2**scores)),
}
IN_SCALE = {
    "sign flipped": lambda s: -s.scores,
    "scaled before softmax": (by(lambda s: 3**0.5), by(lambda s: len(s.scores) ** 0.5)),
}
LOGARITHMS = {
    "log_softmax": (
        lambda s: soft(s.scores, naive).log(),
        lambda s: soft(s.scores).log(),
        lambda s: s.scores - s.scores.exp().sum(-1, keepdim=True).log(),
    )
}

SOFTMAX_ROW = Exercise(
    "softmax",
    "softmax(scores) -> (n,)",
    "weights",
    attention.softmax,
    rows,
    Pipeline("scores", "weights", scale=unscaled, exp=EXP, normalise=SOFTMAX),
    variants={
        "scale": {**IN_SCALE, "divided by the largest score": lambda s: s.scores / s.scores.max()},
        "exp": IN_EXP,
        "normalise": {
            **LOGARITHMS,
            "not normalised": _less_maximum,
            "not divided by the sum": lambda s: naive(s.scores),
            "divided by the largest exp": (
                lambda s: s.exp(s.scores) / s.exp(s.scores).max(),
                lambda s: stable(s.scores),
            ),
            "exp missing": lambda s: divided(_less_maximum(s)),
            "exp missing in the numerator": (
                lambda s: s.scores / s.exp(s.scores).sum(),
                lambda s: _less_maximum(s) / stable(s.scores).sum(),
            ),
            "sigmoid per score": lambda s: 1 / (1 + (-s.scores).exp()),
        },
    },
)


# --- softmax_with_temperature ---


def _undivided(normalise):
    """The temperature comes in later."""
    return {"scale": unscaled, "normalise": normalise}


def _maximum_as(maximum):
    """exp of scores less this. maximum: takes their maximum and the temperature."""
    return lambda s: lambda scores, dim=-1: (scores - maximum(scores.max(), s.temperature)).exp()


TEMPERATURE = Exercise(
    "softmax_with_temperature",
    "softmax_with_temperature(scores, temperature) -> (n,)",
    "weights",
    lambda scores, temperature: attention.softmax(scores, temperature),
    rows_with_temperature,
    Pipeline(
        "scores temperature",
        "weights",
        scale=Stage(
            by(lambda s: s.temperature),
            {
                "multiplied by the temperature": lambda s: s.scores * s.temperature,
                "temperature ignored": unscaled,
                "divided by the root of the temperature": by(lambda s: s.temperature**0.5),
                "temperature applied twice": by(lambda s: s.temperature**2),
                "sign flipped": by(lambda s: -s.temperature),
                "divided after softmax": _undivided(lambda s: weigh(s) / s.temperature),
                "divided in the numerator only": _undivided(
                    lambda s: s.exp(s.scores / s.temperature) / s.exp(s.scores).sum()
                ),
                "divided in the sum only": _undivided(
                    lambda s: s.exp(s.scores) / s.exp(s.scores / s.temperature).sum()
                ),
                "temperature as a power of the weights": (
                    _undivided(lambda s: weigh(s) ** (1 / s.temperature)),
                    _undivided(lambda s: (s.scores.log_softmax(-1) / s.temperature).exp()),
                ),
                "softmax twice": _undivided(lambda s: soft(weigh(s) / s.temperature, s.exp)),
            },
        ),
        exp=EXP,
        normalise=SOFTMAX,
    ),
    variants={
        "exp": {
            **IN_EXP,
            "only the largest score divided": {
                "scale": unscaled,
                "exp": _maximum_as(lambda largest, temperature: largest / temperature),
            },
            "subtracted the undivided maximum": _maximum_as(
                lambda largest, temperature: largest * temperature
            ),
        },
        "normalise": LOGARITHMS,
    },
)

# --- attention_weights ---

WEIGHTS = Exercise(
    "attention_weights",
    "attention_weights(scores) -> (n, n)",
    "weights",
    attention.attention_weights,
    tables,
    Pipeline("scores", "weights", scale=unscaled, exp=EXP_OF_ROWS, normalise=SOFTMAX_OF_ROWS),
    variants={
        "scale": {
            **IN_SCALE,
            "divided by the largest score": (
                lambda s: s.scores / s.scores.amax(-1, keepdim=True),
                lambda s: s.scores / s.scores.max(),
            ),
        },
        "exp": IN_EXP,
        "normalise": {
            "softmax over the wrong axis": lambda s: s.exp(s.scores) / s.exp(s.scores).sum(0),
            "softmax over the whole matrix": lambda s: s.exp(s.scores) / s.exp(s.scores).sum(),
            "transposed the result": lambda s: weigh(s).T,
            "columns normalised, then transposed": lambda s: soft(s.scores, s.exp, dim=0).T,
            "exp missing": lambda s: divided(_less_maximum(s)),
        },
    },
)
REPAIR_WEIGHTS = WEIGHTS.called("repair_weights")
