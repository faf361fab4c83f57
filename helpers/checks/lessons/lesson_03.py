"""Lesson 03: context vectors."""

import torch

from ... import attention
from ..catalogue.blend import BLEND_OF_ALL, blend
from ..catalogue.mask import MASK, hide
from ..catalogue.project import ONE_QUERY, every_word
from ..catalogue.scale import SCORE, between_coordinates, by, by_root, unscaled
from ..catalogue.softmax import EXP_OF_ROWS, ROUNDED, SOFTMAX_OF_ROWS, exp_is, naive, soft, stable
from ..catalogue.whole import of_one_query
from ..exercise import Exercise, Probe, detected
from ..pipeline import Pipeline
from ..probes import exact, numbers, of_inputs, of_query
from ..results import close, is_one_row, is_prefix

SCALED_ALREADY = (by_root, by(lambda s: 3**0.5))


def _cell_run_twice(code):
    return detected(lambda seen: seen.adds_up, code)


# --- the context of one word ---

CONTEXT_PIPELINE = of_one_query("inputs i", ONE_QUERY, SCORE, unscaled)
OF_ONE_WORD = {
    "scale": {"scaled before softmax": SCALED_ALREADY},
    "blend": {
        "added over the embedding": lambda s: (s.weights[0][:, None] * s.values).sum(1)[None],
        "added the query back": lambda s: blend(s) + s.inputs[s.i],
    },
}


def _onto_the_query(pipeline, exp):
    """Contexts, added to what is a view of the inputs: in a loop, or at once."""
    weights = pipeline.replace({"exp": exp_is(exp)}, gives=lambda s: s.weights[0])

    def in_a_loop(inputs, i):
        shares = weights(inputs, i)
        context = inputs[i]
        for j in range(len(inputs)):
            context += shares[j] * inputs[j]
        return context

    def at_once(inputs, i):
        shares = weights(inputs, i)
        context = inputs[i]
        context += shares @ inputs
        return context

    return in_a_loop, at_once


def _of_one_word(pipeline):
    """Mistakes in the context of one word, whichever words take part."""
    return {
        "not started from zeros": _cell_run_twice(lambda inputs, i: 2 * pipeline(inputs, i)),
        "accumulator is a view of the query": (
            *_onto_the_query(pipeline, stable),
            *_onto_the_query(pipeline, naive),
        ),
        "the last numbers left out": detected(
            lambda seen: seen.always(is_prefix) and not seen.always(close),
            lambda inputs, i: pipeline(inputs, i)[:2],
        ),
    }


CONTEXT = Exercise(
    "context_vector",
    "context_vector(inputs, i) -> (d,)",
    "context",
    attention.context_vector,
    # Wider than the sentence has words: six zeros to add to are too few there.
    lambda: of_query(Probe("3 words of 7 numbers, i = 1", (exact(3, 7), 1))),
    CONTEXT_PIPELINE,
    variants={
        **OF_ONE_WORD,
        "blend": {**OF_ONE_WORD["blend"], "not blended": lambda s: s.inputs[s.i][None]},
    },
    mistakes=_of_one_word(CONTEXT_PIPELINE),
)
REPAIR_CONTEXT = CONTEXT.called("repair_context")

# --- the contexts of all words ---

SELF = Exercise(
    "self_attention",
    "self_attention(inputs) -> (n, d)",
    "context",
    attention.self_attention,
    lambda: of_inputs(Probe("4 words with scores near 1000 and -1000", (numbers("large"),))),
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
            "attention between features": {
                "score": between_coordinates,
                "blend": lambda s: s.values @ s.weights,
            }
        },
        "scale": {"scaled": SCALED_ALREADY},
        "normalise": {"weights transposed": lambda s: naive(s.scores) / naive(s.scores).sum(-1)},
    },
    mistakes={
        "one context copied": detected(
            lambda seen: seen.always(is_one_row),
            lambda inputs: attention.context_vector(inputs, 1).expand_as(inputs),
        ),
        "not started from zeros": _cell_run_twice(
            lambda inputs: 2 * attention.self_attention(inputs)
        ),
    },
)


# --- the context of one word, from the others ---


def _itself(state):
    """True for the word that asks."""
    return torch.arange(state.scores.shape[-1]) == state.i


def _only(place):
    """True at one place. place: takes the state; it raises IndexError where there is no such
    word."""

    def hidden(state):
        mask = torch.zeros(state.scores.shape[-1], dtype=torch.bool)
        mask[place(state)] = True
        return mask

    return hidden


def _query_removed(inputs, i):
    rest = torch.cat([inputs[:i], inputs[i + 1 :]])
    return soft(rest @ rest[i]) @ rest


def _score_removed(inputs, i):
    scores = inputs @ inputs[i]
    return soft(torch.cat([scores[:i], scores[i + 1 :]])) @ inputs


OTHERS_PIPELINE = CONTEXT_PIPELINE.replace({"mask": MASK}, hidden=_itself)

OTHERS = Exercise(
    "context_of_others",
    "context_of_others(inputs, i) -> (d,)",
    "context",
    attention.context_of_others,
    lambda: of_query(
        Probe("4 words with scores near -4000000, i = 2", (numbers("far"), 2)), least=2
    ),
    OTHERS_PIPELINE,
    variants={
        **OF_ONE_WORD,
        "mask": {
            "hid the wrong word": (
                hide(_only(lambda s: s.i + 1)),
                hide(_only(lambda s: s.i - 1)),
                hide(_only(lambda s: 0)),
                hide(_only(lambda s: 1)),
                hide(_only(lambda s: -1)),
            ),
            "only itself left": hide(lambda s: ~_itself(s)),
            "scores instead of weights": {
                "mask": hide(_itself, 0.0),
                "normalise": lambda s: s.scores,
            },
        },
    },
    mistakes={
        **_of_one_word(OTHERS_PIPELINE),
        "score removed, word kept": _score_removed,
        "query removed too": _query_removed,
    },
)
