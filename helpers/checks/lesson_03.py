"""Lesson 03: context vectors."""

import torch

from .. import attention
from .declare import (
    Exercise,
    Mistake,
    Probe,
    is_one_row,
    is_prefix,
    naive,
    overflow,
    soft,
    stable,
)
from .lesson_01 import ONE_BASED
from .lesson_02 import TWICE
from .probes import FAR, LARGE, of_inputs, of_query
from .results import close

NO_SOFTMAX = "A weighted average can not exceed its inputs: you used scores, not weights."
RESIDUAL = "You added the input back: that is a residual connection, a later and separate step."
EQUAL = "That is the plain mean: blend with the weights that softmax makes of the scores."
ROUNDED = "Keep full precision; round only when printing."


def _query(inputs, i, exp=stable):
    """Weights of word i."""
    return soft(inputs @ inputs[i], exp)


def _written_over(inputs, i, weights):
    context = inputs[i]
    for j in range(len(inputs)):
        context += weights[j] * inputs[j]
    return context


def _added_to(inputs, i, weights):
    context = inputs[i]
    context += weights @ inputs
    return context


def _cell_run_twice(code):
    return Mistake(
        "cell run twice",
        code,
        "A whole number of times the right answer: what you add to was not reset to zeros. Set "
        "it to torch.zeros inside the function.",
        shows=lambda seen: seen.adds_up,
    )


def _blending(weigh, right):
    """Mistakes in blending words by their weights, whichever words take part.

    weigh(inputs, i, exp): the weights (n,).  right(inputs, i): the right answer (d,).
    """
    return (
        Mistake(
            "added over the embedding",
            lambda inputs, i, exp=stable: (weigh(inputs, i, exp)[:, None] * inputs).sum(1),
            "You added within each word; add over the words (dim 0).",
        ),
        Mistake(
            "mean instead of sum",
            lambda inputs, i, exp=stable: (weigh(inputs, i, exp)[:, None] * inputs).mean(0),
            "mean divides by the number of words again; the weights already sum to 1.",
        ),
        Mistake(
            "added the query back",
            lambda inputs, i, exp=stable: inputs[i] + weigh(inputs, i, exp) @ inputs,
            RESIDUAL,
        ),
        _cell_run_twice(lambda inputs, i: 2 * right(inputs, i)),
        Mistake(
            "accumulator is a view of the query",
            lambda inputs, i, exp=stable: _written_over(inputs, i, weigh(inputs, i, exp)),
            "inputs[i] is a view of inputs: += overwrote your data. Start from torch.zeros(...).",
            also=(lambda inputs, i, exp=stable: _added_to(inputs, i, weigh(inputs, i, exp)),),
        ),
        Mistake(
            "zip truncates unequal vectors",
            lambda inputs, i: right(inputs, i)[:2],
            "Your result ends too early: zip stops at the shorter list, and a loop over a fixed "
            "count drops the rest too, without a word.",
            shows=lambda seen: seen.always(is_prefix) and not seen.always(close),
        ),
        Mistake(
            "weights rounded to 2 decimals first",
            lambda inputs, i, exp=stable: weigh(inputs, i, exp).round(decimals=2) @ inputs,
            ROUNDED,
        ),
        *overflow(lambda inputs, i, exp: weigh(inputs, i, exp) @ inputs),
    )


CONTEXT = Exercise(
    "context_vector",
    "context_vector(inputs, i) -> (d,)",
    "context",
    attention.context_vector,
    of_query,
    (
        Mistake(
            "scores instead of weights",
            lambda inputs, i: (inputs @ inputs[i]) @ inputs,
            NO_SOFTMAX,
        ),
        Mistake(
            "took the winner",
            lambda inputs, i: inputs[(inputs @ inputs[i]).argmax()],
            "You picked the top word; the context is a blend of ALL words.",
        ),
        *_blending(_query, attention.context_vector),
        Mistake(
            "1-based index",
            lambda inputs, i, exp=stable: _query(inputs, i + 1, exp) @ inputs,
            ONE_BASED,
            also=(lambda inputs, i, exp=stable: _query(inputs, i - 1, exp) @ inputs,),
        ),
        Mistake("all weights equal", lambda inputs, i: inputs.mean(0), EQUAL),
        Mistake(
            "softmax twice",
            lambda inputs, i, exp=stable: soft(_query(inputs, i, exp), exp) @ inputs,
            TWICE,
        ),
        Mistake(
            "divided by the sum",
            lambda inputs, i: (inputs @ inputs[i] / (inputs @ inputs[i]).sum()) @ inputs,
            "No exp: use softmax, a negative score gives a negative weight here.",
        ),
        Mistake(
            "scaled before softmax",
            lambda inputs, i, exp=stable: (
                soft(inputs @ inputs[i] / inputs.shape[-1] ** 0.5, exp) @ inputs
            ),
            "You scaled the scores by a root; this simplified version has no scaling yet.",
            also=(lambda inputs, i, exp=stable: soft(inputs @ inputs[i] / 3**0.5, exp) @ inputs,),
        ),
    ),
)


def _table(inputs, exp=stable):
    """Weights of all words."""
    return soft(inputs @ inputs.T, exp)


def _by_sum_of_column(exps):
    return exps / exps.sum(-1)


def less_column_max(scores, dim=-1):
    return (scores - scores.amax(-1)).exp()


SELF = Exercise(
    "self_attention",
    "self_attention(inputs) -> (n, d)",
    "context",
    attention.self_attention,
    lambda: of_inputs(Probe("4 words with scores near 1000 and -1000", (LARGE,))),
    (
        Mistake(
            "weights transposed",
            lambda inputs, exp=stable: _table(inputs, exp).T @ inputs,
            "You blended with the COLUMNS of the weights (a .T, dim=0, or keepdim=True missing): "
            "output i must blend with ROW i.",
            also=(lambda inputs: _by_sum_of_column(naive(inputs @ inputs.T)) @ inputs,),
        ),
        Mistake(
            "keepdim forgotten",
            lambda inputs: _by_sum_of_column(stable(inputs @ inputs.T)) @ inputs,
            "A sum or maximum over dim 1 has shape (n,), and (n, n) with (n,) pairs it with the "
            "columns: use keepdim=True.",
            also=(
                lambda inputs: soft(inputs @ inputs.T, less_column_max) @ inputs,
                lambda inputs: _by_sum_of_column(less_column_max(inputs @ inputs.T)) @ inputs,
            ),
        ),
        Mistake(
            "attention between features",
            lambda inputs, exp=stable: inputs @ soft(inputs.T @ inputs, exp),
            "inputs.T @ inputs compares the COORDINATES; inputs @ inputs.T compares the words.",
        ),
        Mistake(
            "scores instead of weights",
            lambda inputs: (inputs @ inputs.T) @ inputs,
            "Softmax is missing: a context must stay inside the range of the inputs.",
        ),
        Mistake(
            "one context copied",
            lambda inputs: attention.context_vector(inputs, 1).expand_as(inputs),
            "All rows are equal: each word needs its OWN weights.",
            shows=lambda seen: seen.always(is_one_row),
        ),
        Mistake(
            "rows divided by sum",
            lambda inputs: (
                ((inputs @ inputs.T) / (inputs @ inputs.T).sum(-1, keepdim=True)) @ inputs
            ),
            "No exp: use softmax.",
        ),
        Mistake(
            "residual added",
            lambda inputs, exp=stable: inputs + _table(inputs, exp) @ inputs,
            "That is a residual connection: a later step.",
        ),
        Mistake(
            "scaled",
            lambda inputs, exp=stable: (
                soft(inputs @ inputs.T / inputs.shape[-1] ** 0.5, exp) @ inputs
            ),
            "No scaling in the simplified version.",
            also=(lambda inputs, exp=stable: soft(inputs @ inputs.T / 3**0.5, exp) @ inputs,),
        ),
        *overflow(lambda inputs, exp: _table(inputs, exp) @ inputs),
        Mistake("all weights equal", lambda inputs: inputs.mean(0).expand_as(inputs), EQUAL),
        Mistake(
            "softmax over the whole matrix",
            lambda inputs, exp=stable: soft(inputs @ inputs.T, exp, dim=(0, 1)) @ inputs,
            "The whole matrix sums to 1: every ROW must (normalise along dim=-1).",
        ),
        _cell_run_twice(lambda inputs: 2 * attention.self_attention(inputs)),
        Mistake(
            "softmax twice",
            lambda inputs, exp=stable: soft(_table(inputs, exp), exp) @ inputs,
            TWICE,
        ),
    ),
)


def _masked(inputs, i, value, exp=stable):
    scores = inputs @ inputs[i]
    scores[i] = value
    return soft(scores, exp) @ inputs


def _low(size):
    return lambda inputs, i: _masked(inputs, i, -float(size))


def _others(inputs, i, exp=stable):
    """Weights of all words but i; that of i is 0."""
    scores = inputs @ inputs[i]
    scores[i] = -torch.inf
    return soft(scores, exp)


def _zeroed(inputs, i, exp=stable):
    """Weights of all words, then that of i set to 0."""
    weights = _query(inputs, i, exp)
    weights[i] = 0
    return weights


def _hid(inputs, i, hidden):
    scores = inputs @ inputs[i]
    scores[hidden] = -torch.inf
    return soft(scores) @ inputs


def _hid_zero_scores(inputs, i):
    scores = inputs @ inputs[i]
    scores[i] = 0
    scores[scores == 0] = -torch.inf
    return soft(scores) @ inputs


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
        Mistake(
            "masked with 0",
            lambda inputs, i, exp=stable: _masked(inputs, i, 0.0, exp),
            'exp(0) = 1, so a score of 0 is not "nothing": use minus infinity.',
        ),
        Mistake(
            "a number not low enough",
            _low(10),  # stands for all that are lower
            "Another score can be lower still: use minus infinity.",
            also=tuple(map(_low, range(1, 10))),
        ),
        Mistake(
            "mask after softmax",
            lambda inputs, i, exp=stable: _zeroed(inputs, i, exp) @ inputs,
            "The weights no longer sum to 1: hide the score BEFORE softmax (or divide by the "
            "sum again).",
        ),
        Mistake(
            "nothing hidden",
            lambda inputs, i, exp=stable: _query(inputs, i, exp) @ inputs,
            "Word i still takes part: give its score minus infinity before softmax.",
        ),
        Mistake(
            "hid the wrong word",
            lambda inputs, i: _hid(inputs, i, i + 1),
            "You hid another word: Python counts from 0, the word to hide is inputs[i].",
            also=(
                lambda inputs, i: _hid(inputs, i, i - 1),
                lambda inputs, i: _hid(inputs, i, 0),
                lambda inputs, i: _hid(inputs, i, 1),
                lambda inputs, i: _hid(inputs, i, -1),
            ),
        ),
        Mistake(
            "only itself left",
            lambda inputs, i: inputs[i],
            "Upside down: you hid the OTHERS. Only the score of word i becomes minus infinity.",
        ),
        Mistake(
            "softmax, mask, softmax",
            lambda inputs, i, exp=stable: soft(_zeroed(inputs, i, exp), exp) @ inputs,
            "The second softmax turns the zero into exp(0) = 1. Divide by the sum instead.",
        ),
        Mistake(
            "masked where the score is 0",
            _hid_zero_scores,
            "A real score can be 0: hide by position, not by value.",
        ),
        Mistake(
            "score removed, word kept",
            _score_removed,
            "One weight less than words: remove row i from the inputs as well, or set its "
            "score to minus infinity.",
        ),
        Mistake(
            "query removed too",
            _hid_key,
            "After removing row i, inputs[i] is the next word: take the query first.",
        ),
        Mistake(
            "scores instead of weights",
            lambda inputs, i: _hid_score_zero(inputs, i) @ inputs,
            NO_SOFTMAX,
        ),
        Mistake(
            "took the winner",
            lambda inputs, i: inputs[_others(inputs, i).argmax()],
            "You picked the top word; the context is a blend of ALL the others.",
        ),
        *_blending(_others, attention.context_of_others),
        Mistake(
            "all weights equal",
            lambda inputs, i: inputs.mean(0),
            EQUAL,
            also=(lambda inputs, i: (inputs.sum(0) - inputs[i]) / (len(inputs) - 1),),
        ),
    ),
)


def _hid_score_zero(inputs, i):
    scores = inputs @ inputs[i]
    scores[i] = 0
    return scores
