"""Lesson 02: weights."""

from dataclasses import replace
from operator import attrgetter

import torch

from .. import attention
from . import stages
from .declare import Exercise, Mistake, global_max, naive, soft, stable
from .probes import rows, rows_with_temperature, tables
from .sources import SOURCES
from .stages import Staged, by

TWICE = "The second softmax flattens the weights towards uniform. Apply it once, to the scores."
FLIPPED = "The sign is flipped. Give a high weight to a high score."
STILL_SCORES = "These are still scores. Make them positive, with a sum of 1."
LOGARITHMS = "These are the logarithms of the weights (none is positive). Return the weights."
ONLY_EXPS = "These are the exps. Divide them by their SUM."
NO_EXP = "You subtracted the largest score and divided by the sum. Take exp in between."
BY_LARGEST = "You divided by the largest score. Subtract it instead."


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
        "exp can still overflow. Subtract the LARGEST score (not the smallest, nor the mean): "
        "then nothing is above 0.",
        also=tuple(others),
        source="max(dim) is a pair, so min, mean or s[0] was taken",
    )


def _base_2(code):
    """code: the right answer with a parameter `exp`, which comes last."""

    def form(exp):
        return lambda *args: code(*args, exp)

    return Mistake(
        "base 2 instead of e",
        form(lambda scores, dim: 2 ** (scores - scores.amax(dim, keepdim=True))),
        "You took powers of 2, which divides the scores by 1.44. Use powers of e: exp.",
        also=(form(lambda scores, dim: 2**scores),),
        source="2 ** x is known from school, exp(x) less",
    )


def _scaled(size):
    """size: takes the scores, returns what somebody takes for d_k."""
    return lambda scores, exp=stable: soft(scores / size(scores) ** 0.5, exp)


SCALED = Mistake(
    "scaled before softmax",
    _scaled(lambda scores: 3),
    "This simplified version has no scaling yet. Use the scores as they are.",
    also=(_scaled(len),),
    source=SOURCES["scaled before softmax"],
)
IN_STAGES = (
    stages.SIGMOID_DIVIDED,
    stages.NO_EXP_BELOW,
    stages.LESS_ABOVE_ONLY,
    stages.ONE_ADDED,
    stages.OVER_ONE_NUMBER,
    stages.NEVER_BELOW_0,
)


def _in_stages(staged, mistakes=IN_STAGES):
    """Mistakes that are declared in stages, for an answer that has exp and normalise only."""

    def code(choice):
        return lambda *args, exp=stable: staged.with_(stages.exp_is(exp), choice)(*args)

    for mistake in mistakes:
        first, *others = map(code, mistake.stages)
        yield replace(mistake, code=first, also=tuple(others), stages=())


def _overflow(staged):
    return (*_in_stages(staged, [stages.OVERFLOW]), stages.overflow_of_python(staged))


WEIGHTS_STAGES = Staged(
    ("scores",), (("exp", lambda at: stable), ("normalise", stages.weigh)), attrgetter("weights")
)
TEMPERED_STAGES = Staged(
    ("scores", "temperature"),
    (("scale", by(lambda at: at.temperature)), *WEIGHTS_STAGES.forms),
    attrgetter("weights"),
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
            "A negative score gives a negative weight here. Take exp of each score before you "
            "divide by the sum.",
            source="a published walk-through prints it",
        ),
        *_overflow(WEIGHTS_STAGES),
        _less(soft),
        Mistake(
            "not normalised",
            lambda scores: scores,
            STILL_SCORES,
            also=(lambda scores: scores - scores.max(),),
            source=SOURCES["not normalised"],
        ),
        Mistake(
            "not divided by the sum", naive, ONLY_EXPS, source=SOURCES["not divided by the sum"]
        ),
        Mistake(
            "exp missing",
            lambda scores: (scores - scores.max()) / (scores - scores.max()).sum(),
            NO_EXP,
            source=SOURCES["exp missing"],
        ),
        Mistake(
            "divided by the largest score",
            lambda scores, exp=stable: soft(scores / scores.max(), exp),
            BY_LARGEST,
            source=SOURCES["divided by the largest score"],
        ),
        Mistake(
            "sigmoid per score",
            lambda scores: scores.sigmoid(),
            "Sigmoid squashes each score alone. Make them compete: divide the exps by their SUM.",
            also=(lambda scores: 1 / (1 + (-scores).exp()),),
            source=SOURCES["sigmoid per score"],
        ),
        Mistake(
            "exp missing in the numerator",
            lambda scores, exp=stable: scores / exp(scores).sum(),
            "Take exp above AND below the fraction bar.",
            also=(lambda scores: (scores - scores.max()) / (scores - scores.max()).exp().sum(),),
            source="exp was written once, below the fraction bar only",
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
            source=SOURCES["log_softmax"],
        ),
        Mistake(
            "softmax twice",
            lambda scores, exp=stable: soft(soft(scores, exp), exp),
            TWICE,
            source=SOURCES["softmax twice"],
        ),
        Mistake(
            "divided by the largest exp",
            lambda scores, exp=stable: exp(scores) / exp(scores).max(),
            "Your largest number is 1, because exp(s - max) is exp(s) / exp(max). Divide these by "
            "their SUM.",
            also=(stable,),
            source="exp(s - max) is stopped one step before its sum",
        ),
        _base_2(soft),
        Mistake(
            "sign flipped",
            lambda scores, exp=stable: soft(-scores, exp),
            FLIPPED,
            source=SOURCES["sign flipped"],
        ),
        SCALED,
        *_in_stages(WEIGHTS_STAGES),
    ),
)


def _tempered(scores, temperature, exp):
    return soft(scores / temperature, exp)


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
            "A large temperature must make the weights even. Divide the scores by it.",
            source="bowang-lab/BLEEP#5",
        ),
        Mistake(
            "temperature ignored",
            lambda scores, temperature, exp=stable: soft(scores, exp),
            "The result must depend on the temperature. Divide the scores by it.",
            source="google/gemma.cpp#981 (it cancels out), sokrypton/ColabDesign#182",
        ),
        Mistake(
            "divided after softmax",
            lambda scores, temperature, exp=stable: soft(scores, exp) / temperature,
            "These do not sum to 1. Divide the SCORES by the temperature, before softmax.",
            source="pytorch/translate#508",
        ),
        Mistake(
            "divided in the numerator only",
            lambda scores, temperature, exp=stable: exp(scores / temperature) / exp(scores).sum(),
            "Divide by the temperature below the fraction bar too, inside exp.",
            source="one of two lines was changed",
        ),
        Mistake(
            "divided in the sum only",
            lambda scores, temperature, exp=stable: exp(scores) / exp(scores / temperature).sum(),
            "Divide by the temperature above the fraction bar too, inside exp.",
            source="one of two lines was changed",
        ),
        Mistake(
            "divided by the root of the temperature",
            lambda scores, temperature, exp=stable: soft(scores / temperature**0.5, exp),
            "Divide by the temperature itself, without a root.",
            source="mixed up with the root of d_k",
        ),
        Mistake(
            "temperature applied twice",
            lambda scores, temperature, exp=stable: soft(scores / temperature / temperature, exp),
            "You divided by the temperature twice. Divide by it once.",
            source="RL-Align/RL-Kernel#81, Adibvafa/CodonTransformer#20",
        ),
        Mistake(
            "temperature as a power of the weights",
            lambda scores, temperature, exp=stable: soft(scores, exp) ** (1 / temperature),
            "Weights ** (1 / T) no longer sum to 1. Divide the SCORES by T before softmax.",
            also=(lambda scores, temperature: (scores.log_softmax(0) / temperature).exp(),),
            source="MoonshotAI/Kimi-Audio#161 (log_softmax first, then divided)",
        ),
        *_overflow(TEMPERED_STAGES),
        _less(_tempered),
        Mistake(
            "only the largest score divided",
            lambda scores, temperature: soft(
                scores, lambda s, dim: (s - s.max() / temperature).exp()
            ),
            "/ comes before -: scores - scores.max() / T divides the maximum only. Write "
            "(...) / T.",
            source="operator precedence: / binds more strongly than -",
        ),
        Mistake(
            "subtracted the undivided maximum",
            lambda scores, temperature: soft(
                scores, lambda s, dim: (s / temperature - s.max()).exp()
            ),
            "You subtracted the largest score undivided: exp can overflow again. Divide first, "
            "then subtract the largest of what you have.",
            source="the stable softmax copied, the temperature put in after",
        ),
        Mistake(
            "log_softmax",
            lambda scores, temperature: torch.log_softmax(scores / temperature, 0),
            LOGARITHMS,
            also=(lambda scores, temperature: soft(scores / temperature).log(),),
            source=SOURCES["log_softmax"],
        ),
        Mistake(
            "softmax twice",
            lambda scores, temperature, exp=stable: soft(soft(scores / temperature, exp), exp),
            TWICE,
            also=(
                lambda scores, temperature, exp=stable: soft(soft(scores, exp) / temperature, exp),
            ),
            source=SOURCES["softmax twice"],
        ),
        Mistake(
            "not normalised",
            lambda scores, temperature: scores / temperature,
            STILL_SCORES,
            source=SOURCES["not normalised"],
        ),
        Mistake(
            "not divided by the sum",
            lambda scores, temperature, exp=stable: exp(scores / temperature),
            ONLY_EXPS,
            source=SOURCES["not divided by the sum"],
        ),
        Mistake(
            "sign flipped",
            lambda scores, temperature, exp=stable: soft(-scores / temperature, exp),
            FLIPPED,
            source=SOURCES["sign flipped"],
        ),
        _base_2(_tempered),
        *_in_stages(TEMPERED_STAGES, (stages.SIGMOID, *IN_STAGES)),
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
            "Your COLUMNS sum to 1, but each row is one query. Use dim=-1.",
            also=(lambda scores, exp=stable: exp(scores) / exp(scores).sum(0),),
            source=SOURCES["softmax over the wrong axis"],
        ),
        Mistake(
            "softmax over the whole matrix",
            lambda scores, exp=stable: soft(scores, exp, dim=(0, 1)),
            "The whole matrix sums to 1, not every ROW. Normalise along dim=-1.",
            also=(lambda scores, exp=stable: exp(scores) / exp(scores).sum(),),
            source=SOURCES["softmax over the whole matrix"],
        ),
        Mistake(
            "keepdim forgotten",
            lambda scores, exp=stable: exp(scores) / exp(scores).sum(1),
            "A sum or maximum over dim 1 has shape (n,), and (n, n) with (n,) pairs it with the "
            "columns. Use keepdim=True.",
            also=(
                lambda scores: soft(scores, lambda s, dim: (s - s.amax(1)).exp()),
                lambda scores: (
                    (scores - scores.amax(1)).exp() / (scores - scores.amax(1)).exp().sum(1)
                ),
            ),
            source=SOURCES["keepdim forgotten"],
        ),
        Mistake(
            "rows divided by their sum",
            lambda scores: scores / scores.sum(-1, keepdim=True),
            "Rows sum to 1, but without exp negative scores break it. Take exp first.",
            source="a published walk-through prints it",
        ),
        *_overflow(WEIGHTS_STAGES),
        _less(soft),
        Mistake(
            "subtracted the global max",
            lambda scores: soft(scores, global_max),
            stages.GLOBAL_MAX.advice,
            source=SOURCES["subtracted the global max"],
        ),
        Mistake(
            "transposed the result",
            lambda scores, exp=stable: soft(scores, exp).T,
            "Your matrix is the transpose. Make row = query, column = key.",
            source="rows and columns, queries and keys mixed up",
        ),
        Mistake(
            "columns normalised, then transposed",
            lambda scores, exp=stable: soft(scores, exp, dim=0).T,
            "Your rows sum to 1, but row i holds the weights of COLUMN i. Use dim=-1 and no .T.",
            source="a .T put on to repair sums of columns",
        ),
        Mistake(
            "exp missing",
            lambda scores: (
                (scores - scores.amax(-1, keepdim=True))
                / (scores - scores.amax(-1, keepdim=True)).sum(-1, keepdim=True)
            ),
            NO_EXP,
            source=SOURCES["exp missing"],
        ),
        Mistake(
            "divided by the largest score",
            lambda scores, exp=stable: soft(scores / scores.amax(-1, keepdim=True), exp),
            BY_LARGEST,
            also=(lambda scores, exp=stable: soft(scores / scores.max(), exp),),
            source=SOURCES["divided by the largest score"],
        ),
        Mistake(
            "softmax result thrown away",
            lambda scores: scores,
            "You kept the old tensor; softmax returns a NEW one. Return that one.",
            source="softmax(x) taken for an operation in place",
        ),
        Mistake(
            "softmax twice",
            lambda scores, exp=stable: soft(soft(scores, exp), exp),
            TWICE,
            source=SOURCES["softmax twice"],
        ),
        Mistake(
            "not normalised",
            lambda scores, exp=stable: exp(scores),
            "These rows do not sum to 1. Divide each by its own sum.",
            source=SOURCES["not normalised"],
        ),
        Mistake(
            "log_softmax",
            lambda scores: scores.log_softmax(-1),
            LOGARITHMS,
            source=SOURCES["log_softmax"],
        ),
        _base_2(soft),
        SCALED,
        *_in_stages(WEIGHTS_STAGES, (stages.SIGMOID, stages.COLUMNS_TOO, *IN_STAGES)),
        Mistake(
            "sign flipped",
            lambda scores, exp=stable: soft(-scores, exp),
            FLIPPED,
            source=SOURCES["sign flipped"],
        ),
    ),
)
