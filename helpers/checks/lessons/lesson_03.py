"""Lesson 03: context vectors."""

import torch

from ... import attention
from ..catalogue.blend import BLEND_OF_ALL, blend
from ..catalogue.mask import MASK, hide
from ..catalogue.project import ONE_QUERY, every_word
from ..catalogue.scale import SCORE, between_coordinates, by, by_root, unscaled
from ..catalogue.softmax import EXP_OF_ROWS, ROUNDED, SOFTMAX_OF_ROWS, naive, soft
from ..catalogue.whole import of_one_query
from ..exercise import Exercise, Probe, detected
from ..pipeline import Pipeline
from ..probes import exact, numbers, of_inputs, of_query
from ..results import close, is_one_row, is_prefix

SCALED_ALREADY = (by_root, by(lambda s: 3**0.5))
NOT_FROM_ZEROS = {"total not started at zero": detected(lambda evidence: evidence.adds_up)}


# --- the context of one word ---

CONTEXT_PIPELINE = of_one_query("inputs i", ONE_QUERY, SCORE, unscaled)
OF_ONE_WORD = {
    "scale": {"scaled before softmax": SCALED_ALREADY},
    "blend": {
        "added within each word": lambda s: (s.weights[0][:, None] * s.values).sum(1)[None],
        "added the query back": lambda s: blend(s) + s.inputs[s.i],
    },
}


IN_ONE_CONTEXT = {
    **NOT_FROM_ZEROS,
    "the last numbers left out": detected(
        lambda evidence: evidence.always(is_prefix) and not evidence.always(close)
    ),
}

CONTEXT = Exercise(
    "context_vector(inputs, i) -> (d,)",
    "context",
    attention.context_vector,
    # Words of more numbers than the sentence has words: six zeros to add to are too few here.
    lambda: of_query(Probe("a sentence of 3 words (d = 7, i = 1)", (exact(3, 7), 1))),
    CONTEXT_PIPELINE,
    variants={
        **OF_ONE_WORD,
        "blend": {**OF_ONE_WORD["blend"], "not blended": lambda s: s.inputs[s.i][None]},
    },
    mistakes=IN_ONE_CONTEXT | {"the word itself left out": attention.context_of_others},
    names={"scores divided by their sum": "divided by the sum"},
)
REPAIR_CONTEXT = CONTEXT.called("repair_context")

# --- the contexts of all words ---

SELF = Exercise(
    "self_attention(inputs) -> (n, d)",
    "context",
    attention.self_attention,
    lambda: of_inputs(Probe("a sentence with scores near ±1000 (n = 4)", (numbers("large"),))),
    Pipeline(
        "inputs",
        "contexts",
        project=every_word,
        score=SCORE,
        scale=unscaled,
        exp=EXP_OF_ROWS,
        normalise=SOFTMAX_OF_ROWS.plus(ROUNDED),
        blend=BLEND_OF_ALL,
    ),
    variants={
        "score": {
            "columns compared instead of words": {
                "score": between_coordinates,
                "blend": lambda s: s.values @ s.weights,
            }
        },
        "scale": {"scaled too early": SCALED_ALREADY},
        "normalise": {"weights transposed": lambda s: naive(s.scores) / naive(s.scores).sum(-1)},
    },
    mistakes={
        "one context copied": detected(lambda evidence: evidence.always(is_one_row)),
        **NOT_FROM_ZEROS,
    },
    names={"softmax over the wrong axis": "weights transposed"},
)


# --- the context of one word, from the others ---


def _itself(state):
    """Return the mask (n,), True for the word that asks."""
    return torch.arange(state.scores.shape[-1]) == state.i


def _only(place):
    """Return a mask that is True at one place only. place: takes the state. The mask raises
    IndexError if there is no such word."""

    def hidden(state):
        mask = torch.zeros(state.scores.shape[-1], dtype=torch.bool)
        mask[place(state)] = True
        return mask

    return hidden


def _moved_up(inputs, i):
    return soft(torch.cat((inputs[:i], inputs[i + 1 :])) @ inputs[i]) @ inputs[:-1]


def _blanked(inputs, i):
    others = inputs.clone()
    others[i] = 0
    return soft(others @ inputs[i]) @ others


def _shared_out(inputs, i):
    weights = soft(inputs @ inputs[i])
    weights = weights + weights[i] / (len(weights) - 1)
    weights[i] = 0
    return weights @ inputs


OTHERS_PIPELINE = CONTEXT_PIPELINE.replace({"mask": MASK}, hidden=_itself)

OTHERS = Exercise(
    "context_of_others(inputs, i) -> (d,)",
    "context",
    attention.context_of_others,
    lambda: of_query(
        Probe("a sentence with scores near -4000000 (n = 4, i = 2)", (numbers("far").double(), 2)),
        least=2,
    ),
    OTHERS_PIPELINE,
    variants={
        **OF_ONE_WORD,
        "mask": {
            "hid the wrong word": (
                hide(lambda s: s.scores == s.scores.amax(-1, keepdim=True)),
                hide(_only(lambda s: s.i + 1)),
                hide(_only(lambda s: s.i - 1)),
                hide(_only(lambda s: 0)),
                hide(_only(lambda s: 1)),
            ),
            "equal words hidden too": hide(lambda s: (s.inputs == s.inputs[s.i]).all(-1)),
            "only the word itself left": hide(lambda s: ~_itself(s)),
        },
    },
    mistakes=IN_ONE_CONTEXT
    | {
        "word blanked, not hidden": _blanked,
        "weights on the wrong words": _moved_up,
        "shared out equally": _shared_out,
    },
    # Minus infinity among the scores makes all numbers NaN, infinite or 0.
    without={
        "maximum never below 0": "gives NaN",
        "softmax over one number": "gives NaN",
        "scores divided by their sum": "gives NaN",
        "exp missing in the sum": "gives 0",
        "scores instead of weights": "gives infinity: log_softmax",
    },
    names={
        "a large number instead of a low one": "only the word itself left",
        "mask only, scores unused": "all weights equal",
    },
)
