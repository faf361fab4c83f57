"""Lesson 02: weights."""

from dataclasses import replace

from ... import attention
from ..catalogue.scale import by, unscaled
from ..catalogue.softmax import (
    EXP,
    EXP_OF_ROWS,
    SOFTMAX,
    SOFTMAX_OF_ROWS,
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
    """Return exp of the scores minus reduced(scores), instead of minus their maximum."""
    return exp_is(lambda scores, dim=-1: (scores - reduced(scores)).exp())


def _base_2(scores, dim=-1):
    return 2 ** (scores - scores.amax(dim, keepdim=True))


IN_EXP = {
    # One mistake, because the numbers do not show what was subtracted.
    "subtracted less than the maximum": (
        _less(lambda scores: scores.amin(-1, keepdim=True)),
        _less(lambda scores: scores.mean(-1, keepdim=True)),
        _less(lambda scores: scores.median(-1, keepdim=True).values),
    ),
    "running maximum subtracted": exp_is(lambda x, dim=-1: (x - x.cummax(-1).values).exp()),
    "base 2 instead of e": (exp_is(_base_2), exp_is(lambda scores, dim=-1: 2**scores)),
}
IN_SCALE = {
    "sign flipped": lambda s: -s.scores,
    "scaled before softmax": (by(lambda s: 3**0.5), by(lambda s: len(s.scores) ** 0.5)),
}
RENAMED = {
    "scores divided by their sum": "divided by the sum",
    "scores instead of weights": "not normalised",
}

SOFTMAX_ROW = Exercise(
    "softmax(scores) -> (n,)",
    "weights",
    attention.softmax,
    rows,
    Pipeline("scores", "weights", scale=unscaled, exp=EXP, normalise=SOFTMAX),
    without={"not divided by the sum": "with a maximum it is: divided by the largest exp"},
    names=RENAMED,
    variants={
        "scale": {**IN_SCALE, "divided by the largest score": lambda s: s.scores / s.scores.max()},
        "exp": IN_EXP,
        "normalise": {
            "running maximum subtracted": lambda s: (
                stable(s.scores) / (s.scores - s.scores.cummax(-1).values).exp().sum()
            ),
            "not divided by the sum": lambda s: naive(s.scores),
            "divided by the largest exp": lambda s: s.exp(s.scores) / s.exp(s.scores).max(),
        },
    },
)


# --- softmax_with_temperature ---


def _undivided(normalise):
    """Return a choice in which only normalise uses the temperature."""
    return {"scale": unscaled, "normalise": normalise}


def _maximum_as(maximum):
    """Return exp of scores minus maximum(), which takes their maximum and the temperature."""
    return lambda s: lambda scores, dim=-1: (scores - maximum(scores.max(), s.temperature)).exp()


TEMPERATURE = Exercise(
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
                "temperature the wrong way round": lambda s: s.scores * s.temperature,
                "temperature ignored": unscaled,
                "divided by the square root of the temperature": by(lambda s: s.temperature**0.5),
                "temperature applied twice": by(lambda s: s.temperature**2),
                "sign flipped": by(lambda s: -s.temperature),
                "divided after softmax": _undivided(lambda s: weigh(s) / s.temperature),
                "divided in the numerator only": _undivided(
                    lambda s: s.exp(s.scores / s.temperature) / s.exp(s.scores).sum()
                ),
                "divided in the sum only": _undivided(
                    lambda s: s.exp(s.scores) / s.exp(s.scores / s.temperature).sum()
                ),
                "temperature applied to the weights": _undivided(
                    lambda s: weigh(s) ** (1 / s.temperature)
                ),
                "softmax twice": _undivided(lambda s: soft(weigh(s) / s.temperature, s.exp)),
            },
        ),
        exp=EXP,
        normalise=SOFTMAX,
    ),
    names=RENAMED,
    variants={
        "exp": {
            **IN_EXP,
            "only the largest score divided": {
                "scale": unscaled,
                "exp": _maximum_as(lambda largest, temperature: largest / temperature),
            },
            "maximum not divided by the temperature": _maximum_as(
                lambda largest, temperature: largest * temperature
            ),
        },
    },
)

# --- attention_weights ---

WEIGHTS = Exercise(
    "attention_weights(scores) -> (n, n)",
    "weights",
    attention.attention_weights,
    tables,
    Pipeline("scores", "weights", scale=unscaled, exp=EXP_OF_ROWS, normalise=SOFTMAX_OF_ROWS),
    avoid="softmax|log_softmax",
    names={
        "scores divided by their sum": "rows divided by their sum",
        "scores instead of weights": "not normalised",
        "not divided by the sum": "not normalised",
    },
    variants={
        "scale": {
            **IN_SCALE,
        },
        "exp": IN_EXP,
        "normalise": {
            "softmax over the whole matrix": lambda s: s.exp(s.scores) / s.exp(s.scores).sum(),
            "result transposed": lambda s: weigh(s).T,
            "columns normalised and transposed": lambda s: soft(s.scores, s.exp, dim=0).T,
        },
    },
)
REPAIR_WEIGHTS = replace(WEIGHTS.called("repair_weights"), avoid="")
