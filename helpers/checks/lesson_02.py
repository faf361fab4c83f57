"""Lesson 02: weights."""

import math

import torch

from .. import attention
from .declare import Exercise, Mistake, global_max, naive, overflow, soft, stable
from .probes import rows, rows_with_temperature, tables

TWICE = "Softmax was applied twice; the second flattens the weights towards uniform."
FLIPPED = "The sign is flipped: a high score must give a high weight."
STILL_SCORES = "These are still scores; weights are positive and sum to 1."
LOGARITHMS = "You returned the logarithms of the weights (none is positive)."
ONLY_EXPS = "These are the exps; divide them by their SUM."
NO_EXP = "You subtracted the largest score and divided by the sum: exp comes in between."
BY_LARGEST = "SUBTRACT the largest score, do not divide by it: scores - scores.max()."


def _less(code):
    """One mistake, because the numbers do not tell what it was that was subtracted.

    code: the right answer with a parameter `exp`, which comes last.
    """

    def form(reduced):
        return lambda *args: code(*args, lambda scores, dim: (scores - reduced(scores)).exp())

    smallest, *others = (
        form(lambda scores: scores.amin(-1, keepdim=True)),
        form(lambda scores: scores.mean(-1, keepdim=True)),
        form(lambda scores: scores.median(-1, keepdim=True).values),
        form(lambda scores: scores[..., :1]),
        form(lambda scores: scores[..., 1:2]),
        form(lambda scores: scores[..., -1:]),
        form(torch.min),
        form(torch.mean),
    )
    return Mistake(
        "subtracted less than the largest",
        smallest,
        "exp can still overflow: subtract the LARGEST score (not the smallest, nor the mean), "
        "then nothing is above 0.",
        also=tuple(others),
    )


SOFTMAX = Exercise(
    "softmax",
    "softmax(scores) -> (n,)",
    "weights",
    attention.softmax,
    rows,
    (
        Mistake(
            "divided by the sum",
            lambda scores: scores / scores.sum(),
            "Dividing by the sum is not softmax: a negative score gives a negative weight.",
        ),
        *overflow(soft),
        _less(soft),
        Mistake(
            "not normalised",
            lambda scores: scores,
            STILL_SCORES,
            also=(lambda scores: scores - scores.max(),),
        ),
        Mistake("not divided by the sum", naive, ONLY_EXPS),
        Mistake(
            "exp missing",
            lambda scores: (scores - scores.max()) / (scores - scores.max()).sum(),
            NO_EXP,
        ),
        Mistake(
            "divided by the largest score",
            lambda scores, exp=stable: soft(scores / scores.max(), exp),
            BY_LARGEST,
        ),
        Mistake(
            "sigmoid per score",
            lambda scores: scores.sigmoid(),
            "Sigmoid squashes each score alone; softmax makes them compete (sum 1).",
            also=(lambda scores: 1 / (1 + (-scores).exp()),),
        ),
        Mistake(
            "exp missing in the numerator",
            lambda scores, exp=stable: scores / exp(scores).sum(),
            "exp is needed above AND below the fraction bar.",
            also=(lambda scores: (scores - scores.max()) / (scores - scores.max()).exp().sum(),),
        ),
        Mistake(
            "log_softmax",
            lambda scores: torch.log_softmax(scores, 0),
            LOGARITHMS,
            also=(
                lambda scores: soft(scores, naive).log(),
                lambda scores: soft(scores).log(),
                lambda scores: scores - scores.exp().sum().log(),
            ),
        ),
        Mistake("softmax twice", lambda scores, exp=stable: soft(soft(scores, exp), exp), TWICE),
        Mistake(
            "divided by the largest exp",
            lambda scores, exp=stable: exp(scores) / exp(scores).max(),
            "Your largest number is 1, because exp(s - max) is exp(s) / exp(max). What is left to "
            "do: divide these by their SUM.",
            also=(stable,),
        ),
        Mistake(
            "base 2 instead of e",
            lambda scores: soft((scores - scores.max()) * math.log(2)),
            "The base is e, not 2 (this is softmax at temperature 1.44).",
            also=(lambda scores: 2**scores / (2**scores).sum(),),
        ),
        Mistake("sign flipped", lambda scores, exp=stable: soft(-scores, exp), FLIPPED),
        Mistake(
            "scaled before softmax",
            lambda scores, exp=stable: soft(scores / 3**0.5, exp),
            "You scaled the scores by a root; this simplified version has no scaling yet.",
            also=(lambda scores, exp=stable: soft(scores / len(scores) ** 0.5, exp),),
        ),
    ),
)

TEMPERATURE = Exercise(
    "softmax_with_temperature",
    "softmax_with_temperature(scores, temperature) -> (n,)",
    "weights",
    lambda scores, temperature: attention.softmax(scores, temperature),
    rows_with_temperature,
    (
        Mistake(
            "multiplied by the temperature",
            lambda scores, temperature, exp=stable: soft(scores * temperature, exp),
            "Divide by the temperature: a large one makes the scores small and the weights even.",
        ),
        Mistake(
            "temperature ignored",
            lambda scores, temperature, exp=stable: soft(scores, exp),
            "The result must depend on the temperature: divide the scores by it.",
        ),
        Mistake(
            "divided after softmax",
            lambda scores, temperature, exp=stable: soft(scores, exp) / temperature,
            "These do not sum to 1: divide the SCORES by the temperature, before softmax.",
        ),
        Mistake(
            "divided in the numerator only",
            lambda scores, temperature, exp=stable: exp(scores / temperature) / exp(scores).sum(),
            "The exps below the fraction bar need the temperature too.",
        ),
        Mistake(
            "divided in the sum only",
            lambda scores, temperature, exp=stable: exp(scores) / exp(scores / temperature).sum(),
            "The exps above the fraction bar need the temperature too.",
        ),
        Mistake(
            "divided by the root of the temperature",
            lambda scores, temperature, exp=stable: soft(scores / temperature**0.5, exp),
            "Divide by the temperature itself, without a root.",
        ),
        *overflow(lambda scores, temperature, exp: soft(scores / temperature, exp)),
        _less(lambda scores, temperature, exp: soft(scores / temperature, exp)),
        Mistake(
            "subtracted the maximum before dividing",
            lambda scores, temperature: soft(
                scores, lambda s, dim: (s / temperature - s.max()).exp()
            ),
            "You subtracted the largest score undivided: exp can overflow again. Divide first, "
            "then subtract the largest of what you have.",
        ),
        Mistake(
            "log_softmax",
            lambda scores, temperature: torch.log_softmax(scores / temperature, 0),
            LOGARITHMS,
            also=(lambda scores, temperature: soft(scores / temperature).log(),),
        ),
        Mistake(
            "softmax twice",
            lambda scores, temperature, exp=stable: soft(soft(scores / temperature, exp), exp),
            TWICE,
            also=(
                lambda scores, temperature, exp=stable: soft(soft(scores, exp) / temperature, exp),
            ),
        ),
        Mistake(
            "not normalised",
            lambda scores, temperature: scores / temperature,
            STILL_SCORES,
        ),
        Mistake(
            "not divided by the sum",
            lambda scores, temperature, exp=stable: exp(scores / temperature),
            ONLY_EXPS,
        ),
        Mistake(
            "sign flipped",
            lambda scores, temperature, exp=stable: soft(-scores / temperature, exp),
            FLIPPED,
        ),
    ),
)

WEIGHTS = Exercise(
    "attention_weights",
    "attention_weights(scores) -> (n, n)",
    "weights",
    attention.attention_weights,
    tables,
    (
        Mistake(
            "softmax over the wrong axis",
            lambda scores, exp=stable: soft(scores, exp, dim=0),
            "Your COLUMNS sum to 1. Each row is one query: use dim=-1.",
            also=(lambda scores, exp=stable: exp(scores) / exp(scores).sum(0),),
        ),
        Mistake(
            "softmax over the whole matrix",
            lambda scores, exp=stable: soft(scores, exp, dim=(0, 1)),
            "The whole matrix sums to 1: every ROW must (normalise along dim=-1).",
            also=(lambda scores, exp=stable: exp(scores) / exp(scores).sum(),),
        ),
        Mistake(
            "keepdim forgotten",
            lambda scores, exp=stable: exp(scores) / exp(scores).sum(1),
            "A sum or maximum over dim 1 has shape (n,), and (n, n) with (n,) pairs it with the "
            "columns: use keepdim=True.",
            also=(
                lambda scores: soft(scores, lambda s, dim: (s - s.amax(1)).exp()),
                lambda scores: (
                    (scores - scores.amax(1)).exp() / (scores - scores.amax(1)).exp().sum(1)
                ),
            ),
        ),
        Mistake(
            "rows divided by their sum",
            lambda scores: scores / scores.sum(-1, keepdim=True),
            "Rows sum to 1 but there is no exp: negative scores break it.",
        ),
        *overflow(soft),
        _less(soft),
        Mistake(
            "subtracted the global max",
            lambda scores: soft(scores, global_max),
            "Subtract each ROW's maximum, not the global one: other rows underflow to 0/0.",
        ),
        Mistake(
            "transposed the result",
            lambda scores, exp=stable: soft(scores, exp).T,
            "Your matrix is the transpose: row = query, column = key.",
        ),
        Mistake(
            "columns normalised, then transposed",
            lambda scores, exp=stable: soft(scores, exp, dim=0).T,
            "Your rows sum to 1, but row i holds the weights of COLUMN i: use dim=-1 and no .T.",
        ),
        Mistake(
            "exp missing",
            lambda scores: (
                (scores - scores.amax(-1, keepdim=True))
                / (scores - scores.amax(-1, keepdim=True)).sum(-1, keepdim=True)
            ),
            NO_EXP,
        ),
        Mistake(
            "divided by the largest score",
            lambda scores, exp=stable: soft(scores / scores.amax(-1, keepdim=True), exp),
            BY_LARGEST,
            also=(lambda scores, exp=stable: soft(scores / scores.max(), exp),),
        ),
        Mistake(
            "softmax result thrown away",
            lambda scores: scores,
            "softmax returns a NEW tensor; you kept the old one.",
        ),
        Mistake("softmax twice", lambda scores, exp=stable: soft(soft(scores, exp), exp), TWICE),
        Mistake(
            "not normalised",
            lambda scores, exp=stable: exp(scores),
            "These rows do not sum to 1: divide each by its own sum.",
        ),
        Mistake("sign flipped", lambda scores, exp=stable: soft(-scores, exp), FLIPPED),
    ),
)
