"""Lesson 03: context vectors."""

from dataclasses import replace
from operator import attrgetter

import torch

from .. import attention
from . import stages
from .declare import Exercise, Mistake, Probe, is_one_row, is_prefix, naive, soft, stable
from .experiments import low_is_lowest, plus_is_minus
from .lesson_01 import ONE_BASED
from .probes import FAR, LARGE, of_inputs, of_query
from .results import close
from .sources import SOURCES
from .stages import Staged, by, dot, hide, masked_later, only_alone, varied, wrong

# --- the context of one word ---


def _asks(query):
    """query: takes at, returns the word that asks (d,)."""
    return lambda at: (query(at)[None], at.inputs, at.inputs)


CONTEXT_STAGES = Staged(
    ("inputs", "i"),
    (
        ("project", _asks(lambda at: at.inputs[at.i])),
        ("score", dot),
        ("scale", stages.unscaled),
        ("mask", stages.nothing_hidden),
        ("exp", lambda at: stable),
        ("normalise", stages.weigh),
        ("blend", stages.blend),
    ),
    lambda at: at.contexts[0],
)


def _itself(at):
    """True for the word that asks."""
    return torch.arange(at.scores.shape[-1]) == at.i


OTHERS_STAGES = CONTEXT_STAGES.with_({"mask": hide(_itself)})


def _cell_run_twice(code):
    return Mistake(
        "cell run twice",
        code,
        "A whole number of times the right answer: what you add to was not reset to zeros. Set "
        "it to torch.zeros inside the function.",
        shows=lambda seen: seen.adds_up,
        source="a cell is run again while its total is still there",
    )


def _onto_the_query(staged):
    """Contexts, added to what is a view of the inputs: in a loop, or at once."""
    weights = replace(staged, gives=lambda at: at.weights[0])

    def in_a_loop(inputs, i, exp=stable):
        shares = weights.with_(stages.exp_is(exp))(inputs, i)
        context = inputs[i]
        for j in range(len(inputs)):
            context += shares[j] * inputs[j]
        return context

    def at_once(inputs, i, exp=stable):
        shares = weights.with_(stages.exp_is(exp))(inputs, i)
        context = inputs[i]
        context += shares @ inputs
        return context

    return in_a_loop, at_once


SCALED_ALREADY = wrong(
    "scale",
    "scaled before softmax",
    "This simplified version has no scaling yet. Use the scores as they are.",
    stages.by_root,
    by(lambda at: 3**0.5),
    source=SOURCES["scaled before softmax"],
)


IN_NORMALISE = (
    stages.SIGMOID_DIVIDED,
    stages.LESS_ABOVE_ONLY,
    stages.ONE_ADDED,
)


def _of_one_word(staged):
    """Mistakes in the context of one word, whichever words take part. staged: the right one."""
    in_a_loop, at_once = _onto_the_query(staged)
    return (
        wrong(
            "blend",
            "added over the embedding",
            "You added within each word. Add over the words (dim 0).",
            lambda at: (at.weights[0][:, None] * at.values).sum(1)[None],
            source="alecwangcq/show-attend-and-tell#6 (summed over the wrong axis)",
        ),
        stages.MEAN,
        wrong(
            "blend",
            "added the query back",
            stages.RESIDUAL.advice,
            lambda at: stages.blend(at) + at.inputs[at.i],
            source="a published walk-through adds it back",
        ),
        _cell_run_twice(lambda inputs, i: 2 * staged(inputs, i)),
        Mistake(
            "accumulator is a view of the query",
            in_a_loop,
            "inputs[i] is a view of inputs: += overwrote your data. Start from torch.zeros(...).",
            also=(at_once,),
            source="PyTorch documentation, Tensor Views",
        ),
        Mistake(
            "zip truncates unequal vectors",
            lambda inputs, i: staged(inputs, i)[:2],
            "Your result ends too early: zip stops at the shorter list, and a loop over a fixed "
            "count drops the rest too. Run the loop over all numbers.",
            shows=lambda seen: seen.always(is_prefix) and not seen.always(close),
            source="a published walk-through: 9 numbers become 2",
        ),
        stages.ROUNDED,
        stages.WINNER,
        stages.TWICE,
        wrong(
            "project",
            "1-based index",
            ONE_BASED,
            _asks(lambda at: at.inputs[at.i + 1]),
            _asks(lambda at: at.inputs[at.i - 1]),
            source=SOURCES["1-based index"],
        ),
        wrong(
            "project",
            "always the query 1",
            "You used inputs[1] (journey) as the query for every i. Use inputs[i].",
            _asks(lambda at: at.inputs[1]),
            source=SOURCES["always the query 1"],
        ),
        stages.SIGN_FLIPPED,
        stages.AVERAGED,
        SCALED_ALREADY,
        stages.SIGMOID,
        *IN_NORMALISE,
        stages.OVERFLOW,
        stages.overflow_of_python(staged),
    )


CONTEXT = Exercise(
    "context_vector",
    "context_vector(inputs, i) -> (d,)",
    "context",
    attention.context_vector,
    of_query,
    (
        *varied(
            [stages.NO_SOFTMAX],
            {
                stages.NO_SOFTMAX.name: (
                    stages.NO_SOFTMAX.name,
                    "A weighted average can not exceed its inputs, but you used scores. Use "
                    "weights, after softmax.",
                )
            },
        ),
        *_of_one_word(CONTEXT_STAGES),
        stages.LOGARITHM,
        stages.NO_EXP_BELOW,
        stages.OVER_ONE_NUMBER,
        replace(stages.NOT_BLENDED, stages=({"blend": lambda at: at.inputs[at.i][None]},)),
        stages.ALL_EQUAL,
        *varied(
            [stages.BY_SUM], {stages.BY_SUM.name: ("divided by the sum", stages.BY_SUM.advice)}
        ),
    ),
    staged=CONTEXT_STAGES,
)


# --- the contexts of all words ---

SELF_STAGES = Staged(
    ("inputs",),
    (
        ("project", lambda at: (at.inputs,) * 3),
        ("score", dot),
        ("scale", stages.unscaled),
        ("exp", lambda at: stable),
        ("normalise", stages.weigh),
        ("blend", stages.blend),
    ),
    attrgetter("contexts"),
)

SELF = Exercise(
    "self_attention",
    "self_attention(inputs) -> (n, d)",
    "context",
    attention.self_attention,
    lambda: of_inputs(Probe("4 words with scores near 1000 and -1000", (LARGE,))),
    (
        # Scores are symmetric here: softmax over the queries gives the transpose.
        Mistake(
            "weights transposed",
            None,
            "You blended with the COLUMNS of the weights (a .T, dim=0, or keepdim=True missing). "
            "Blend with ROW i for output i.",
            stages=(
                *stages.TRANSPOSED.stages,
                {"normalise": lambda at: naive(at.scores) / naive(at.scores).sum(-1)},
            ),
            source=SOURCES["weights transposed"],
        ),
        stages.KEEPDIM,
        Mistake(
            "attention between features",
            None,
            "inputs.T @ inputs compares the COORDINATES. Compare the words: inputs @ inputs.T.",
            stages=(
                {
                    "score": stages.of_coordinates,
                    "blend": lambda at: at.values @ at.weights,
                },
            ),
            source=SOURCES["attention between features"],
        ),
        *varied(
            [stages.NO_SOFTMAX],
            {
                stages.NO_SOFTMAX.name: (
                    stages.NO_SOFTMAX.name,
                    "A context must stay inside the range of the inputs. Apply softmax to the "
                    "scores first.",
                )
            },
        ),
        Mistake(
            "one context copied",
            lambda inputs: attention.context_vector(inputs, 1).expand_as(inputs),
            "All rows are equal. Give each word its OWN weights.",
            shows=lambda seen: seen.always(is_one_row),
            source=SOURCES["one context copied"],
        ),
        stages.BY_SUM,
        stages.RESIDUAL,
        *varied([SCALED_ALREADY], {SCALED_ALREADY.name: ("scaled", SCALED_ALREADY.advice)}),
        stages.OVERFLOW,
        stages.overflow_of_python(SELF_STAGES),
        stages.GLOBAL_MAX,
        stages.ALL_EQUAL,
        stages.WHOLE_MATRIX,
        _cell_run_twice(lambda inputs: 2 * attention.self_attention(inputs)),
        stages.TWICE,
        stages.ROUNDED,
        stages.SIGMOID,
        *IN_NORMALISE,
        stages.LOGARITHM,
        stages.NO_EXP_BELOW,
        stages.OVER_ONE_NUMBER,
        stages.COLUMNS_TOO,
        replace(stages.NOT_BLENDED, stages=(stages.OWN_VALUE,)),
        stages.SIGN_FLIPPED,
        stages.AVERAGED,
        stages.MEAN,
        stages.WINNER,
    ),
    staged=SELF_STAGES,
)


# --- the context of one word, from the others ---


def _only(place):
    """True at one place. place: takes at; it raises IndexError where there is no such word."""

    def hidden(at):
        mask = torch.zeros(at.scores.shape[-1], dtype=torch.bool)
        mask[place(at)] = True
        return mask

    return hidden


def _hid_zero_scores(at):
    scores = at.scores.masked_fill(_itself(at), 0)
    return scores.masked_fill(scores == 0, -torch.inf)


def _hid_key(inputs, i):
    """The word is removed from the inputs, and with it the row that was the query."""
    rest = torch.cat([inputs[:i], inputs[i + 1 :]])
    return soft(rest @ rest[i]) @ rest


def _score_removed(inputs, i):
    scores = inputs @ inputs[i]
    return soft(torch.cat([scores[:i], scores[i + 1 :]])) @ inputs


OTHERS = Exercise(
    "context_of_others",
    "context_of_others(inputs, i) -> (d,)",
    "context",
    attention.context_of_others,
    lambda: [
        *of_query(),
        Probe("4 words with scores near -4000000, i = 2", (FAR, 2), may_fail=True),
    ],
    (
        wrong(
            "mask",
            "masked with 0",
            stages.ZERO_SCORE,
            hide(_itself, 0.0),
            source="HKUST-KnowComp/MnemonicReader#7 (scores[:, i, i] = 0)",
        ),
        only_alone(
            wrong(
                "mask",
                "a number not low enough",
                "Another score can be lower still. Use minus infinity.",
                *(hide(_itself, -float(size)) for size in (10, *range(1, 10))),
                source=SOURCES["a number not low enough"],
            )
        ),
        wrong(
            "mask",
            "a number not low enough",
            "Another score can be lower still. Use minus infinity.",
            hide(_itself, -35.0),
            world=low_is_lowest,
            source=SOURCES["a number not low enough"],
        ),
        masked_later(
            "mask after softmax",
            "The weights no longer sum to 1. Hide the score BEFORE softmax (or divide by the sum "
            "again).",
            _itself,
            stages.as_they_are,
            source=SOURCES["mask after softmax"],
        ),
        wrong(
            "mask",
            "nothing hidden",
            "Word i still takes part. Set its score to minus infinity before softmax.",
            stages.nothing_hidden,
            source="the exercise before, copied unchanged",
        ),
        wrong(
            "mask",
            "+inf",
            stages.PLUS_INFINITY,
            hide(_itself, torch.inf),
            world=plus_is_minus,
            source=SOURCES["+inf"],
        ),
        wrong(
            "mask",
            "hid the wrong word",
            "You hid another word: Python counts from 0. Hide the word inputs[i].",
            *(
                hide(_only(place))
                for place in (
                    lambda at: at.i + 1,
                    lambda at: at.i - 1,
                    lambda at: 0,
                    lambda at: 1,
                    lambda at: -1,
                )
            ),
            source="people count words from 1, Python from 0",
        ),
        wrong(
            "mask",
            "only itself left",
            "Upside down: word i is all that is left. Set its score to MINUS infinity, and no "
            "other score.",
            hide(lambda at: ~_itself(at)),
            source="the condition j == i in place of j != i",
        ),
        masked_later(
            "softmax, mask, softmax",
            "The second softmax turns the zero into exp(0) = 1. Divide by the sum instead.",
            _itself,
            stages.softmax_again,
            source=SOURCES["softmax, mask, softmax"],
        ),
        wrong(
            "mask",
            "masked where the score is 0",
            "A real score can be 0. Hide by position, not by value.",
            _hid_zero_scores,
            source="score set to 0 first, then every 0 hidden",
        ),
        Mistake(
            "score removed, word kept",
            _score_removed,
            "There is one weight less than words. Remove row i from the inputs as well, or set "
            "its score to minus infinity.",
            source="score i dropped, its row of the inputs kept",
        ),
        Mistake(
            "query removed too",
            _hid_key,
            "After removing row i, inputs[i] is the next word. Take the query first.",
            source="row i deleted first, then inputs[i] is the next word",
        ),
        Mistake(
            "scores instead of weights",
            None,
            "A weighted average can not exceed its inputs, but you used scores. Use weights, "
            "after softmax.",
            stages=({"mask": hide(_itself, 0.0), "normalise": lambda at: at.scores},),
            source=SOURCES["scores instead of weights"],
        ),
        *_of_one_word(OTHERS_STAGES),
        Mistake(
            "all weights equal",
            None,
            stages.ALL_EQUAL.advice,
            stages=(*stages.ALL_EQUAL.stages, {"normalise": stages.evenly}),
            source=SOURCES["all weights equal"],
        ),
    ),
    staged=OTHERS_STAGES,
)
