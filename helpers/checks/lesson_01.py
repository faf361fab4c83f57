"""Lesson 01: scores."""

import torch

from .. import attention
from .declare import Exercise, Mistake, Probe, is_one_row, soft, stable
from .probes import SQUARE, of_inputs, of_query

ONE_BASED = "Python counts from 0: journey is inputs[1]; you used its neighbour as the query."
IS_COSINE = (
    "You divided by the lengths: that is the cosine. The score here is the plain dot product."
)
IS_DISTANCE = "This is a distance (0 = same); a score must be LARGE for a match."
NOT_ADDED = "You have the products; a dot product also ADDS them, over the numbers of a word."


def _multiplied_only(inputs, i):
    return inputs * inputs[i]


def _distance(inputs, i):
    return (inputs - inputs[i]).norm(dim=-1)


SCORES = Exercise(
    "scores",
    "scores(inputs, i) -> (n,)",
    "scores",
    attention.scores,
    lambda: of_query(SQUARE),
    (
        Mistake("multiplied but did not add up", _multiplied_only, NOT_ADDED),
        Mistake(
            "summed over the tokens",
            lambda inputs, i: (inputs * inputs[i]).sum(0),
            "You added over the words (dim 0); add over the numbers of each word (dim -1).",
        ),
        Mistake(
            "1-based index",
            lambda inputs, i: inputs @ inputs[i + 1],
            ONE_BASED,
            also=(lambda inputs, i: inputs @ inputs[i - 1],),
        ),
        Mistake(
            "cosine instead of dot product",
            lambda inputs, i: torch.cosine_similarity(inputs, inputs[i : i + 1]),
            IS_COSINE,
        ),
        Mistake("distance instead of similarity", _distance, IS_DISTANCE),
        Mistake(
            "operands the wrong way round",
            lambda inputs, i: inputs[i] @ inputs,
            "Inner sizes must match: (6, 3) @ (3,) is inputs @ inputs[i].",
        ),
        Mistake(
            "loop stops one early",
            lambda inputs, i: torch.cat([inputs[:-1] @ inputs[i], inputs.new_zeros(1)]),
            "The loop never reached the last word.",
        ),
    ),
)


def without_last(scores_of, rows, columns):
    """Scores by loops that stop one early. scores_of: makes all of them."""

    def code(*args):
        scores = scores_of(*args)
        if rows:
            scores[-1] = 0
        if columns:
            scores[:, -1] = 0
        return scores

    return code


ALL_SCORES = Exercise(
    "all_scores",
    "all_scores(inputs) -> (n, n)",
    "scores",
    attention.all_scores,
    lambda: of_inputs(Probe("4 words with scores near 1000 and -1000", (SQUARE,))),
    (
        Mistake(
            "attention between features",
            lambda inputs: inputs.T @ inputs,
            "inputs.T @ inputs compares the coordinates; inputs @ inputs.T compares the words.",
        ),
        Mistake(
            "operands the wrong way round",
            lambda inputs: inputs @ inputs,
            "Inner sizes must match: (6, 3) @ (3, 6) is inputs @ inputs.T.",
        ),
        Mistake(
            "multiplied but did not add up",
            lambda inputs: inputs * inputs,
            NOT_ADDED,
            also=(lambda inputs: inputs[:, None] * inputs,),
        ),
        Mistake(
            "only the diagonal",
            lambda inputs: (inputs * inputs).sum(-1),
            "You compared each word with itself only; compare it with all words.",
            also=(lambda inputs: (inputs @ inputs.T).diag().diag(),),
        ),
        Mistake(
            "one row copied",
            lambda inputs: (inputs @ inputs[1]).expand(len(inputs), -1),
            "All rows are equal: row i needs word i as its query.",
            shows=lambda seen: seen.always(is_one_row),
        ),
        Mistake(
            "half of the table empty",
            lambda inputs: (inputs @ inputs.T).tril(),
            "Both loops must run over all words: the score of (i, j) and of (j, i).",
            also=(
                lambda inputs: (inputs @ inputs.T).triu(),
                lambda inputs: (inputs @ inputs.T).tril(-1),
                lambda inputs: (inputs @ inputs.T).triu(1),
            ),
        ),
        Mistake(
            "loop stops one early",
            without_last(attention.all_scores, True, True),
            "A loop never reached the last word.",
            also=(
                without_last(attention.all_scores, True, False),
                without_last(attention.all_scores, False, True),
            ),
        ),
        Mistake(
            "cosine instead of dot product",
            lambda inputs: torch.cosine_similarity(inputs[:, None], inputs[None], dim=-1),
            IS_COSINE,
        ),
        Mistake(
            "distance instead of similarity",
            lambda inputs: (inputs[:, None] - inputs).norm(dim=-1),
            IS_DISTANCE,
        ),
        Mistake(
            "softmax already applied",
            lambda inputs, exp=stable: soft(inputs @ inputs.T, exp),
            "These are weights; the scores come before softmax.",
        ),
    ),
)


def _by_counts(of_counts):
    return lambda inputs, i: inputs @ inputs[i] / of_counts(*inputs.shape)


COSINE = Exercise(
    "cosine_scores",
    "cosine_scores(inputs, i) -> (n,)",
    "scores",
    attention.cosine_scores,
    of_query,
    (
        Mistake(
            "dot product not divided",
            lambda inputs, i: inputs @ inputs[i],
            "This is the dot product; divide it by the lengths of both vectors.",
        ),
        Mistake(
            "divided by the query's length only",
            lambda inputs, i: inputs @ inputs[i] / inputs[i].norm(),
            "Divide by the length of the other vector too: its own for every word.",
        ),
        Mistake(
            "divided by the words' lengths only",
            lambda inputs, i: inputs @ inputs[i] / inputs.norm(dim=-1),
            "Divide by the length of word i too.",
        ),
        Mistake(
            "divided by squared lengths",
            lambda inputs, i: inputs @ inputs[i] / ((inputs**2).sum(-1) * (inputs[i] ** 2).sum()),
            "The length is the square ROOT of the sum of squares.",
        ),
        Mistake(
            "divided by the query's squared length",
            lambda inputs, i: inputs @ inputs[i] / (inputs[i] @ inputs[i]),
            "You divided by the length of word i twice: once it must be the other word's.",
        ),
        Mistake(
            "divided by the sum of the lengths",
            lambda inputs, i: inputs @ inputs[i] / (inputs.norm(dim=-1) + inputs[i].norm()),
            "Divide by the PRODUCT of the two lengths.",
        ),
        Mistake(
            "parentheses forgotten",
            lambda inputs, i: inputs @ inputs[i] / inputs.norm(dim=-1) * inputs[i].norm(),
            "a / b * c multiplies by c: write a / (b * c).",
            also=(lambda inputs, i: inputs @ inputs[i] / inputs[i].norm() * inputs.norm(dim=-1),),
        ),
        Mistake(
            "count instead of length",
            _by_counts(lambda n, d: d),
            "len() only counts. The length of a vector is the root of the sum of its squares: "
            "inputs[i].norm().",
            also=(
                _by_counts(lambda n, d: n),
                _by_counts(lambda n, d: d * d),
                _by_counts(lambda n, d: n * n),
                _by_counts(lambda n, d: n * d),
                _by_counts(lambda n, d: d**0.5),
                _by_counts(lambda n, d: n**0.5),
                _by_counts(lambda n, d: (n * d) ** 0.5),
            ),
        ),
        Mistake(
            "length of the whole matrix",
            lambda inputs, i: inputs @ inputs[i] / (inputs.norm() * inputs[i].norm()),
            "norm() of a matrix is one number; each word has its own: use dim=-1.",
            also=(lambda inputs, i: inputs @ inputs[i] / inputs.norm() ** 2,),
        ),
        Mistake(
            "length over the wrong axis",
            lambda inputs, i: (inputs / inputs.norm(dim=0)) @ (inputs / inputs.norm(dim=0))[i],
            "You divided each column by its length; each row (word) is a vector: use dim=-1.",
            also=(lambda inputs, i: inputs @ inputs[i] / (inputs.norm(dim=0) * inputs[i].norm()),),
        ),
        Mistake(
            "sum of the numbers instead of the length",
            lambda inputs, i: inputs @ inputs[i] / (inputs.sum(-1) * inputs[i].sum()),
            "A length is the root of the sum of SQUARES.",
            also=(
                lambda inputs, i: (
                    inputs @ inputs[i] / (inputs.abs().sum(-1) * inputs[i].abs().sum())
                ),
            ),
        ),
        Mistake("distance instead of similarity", _distance, IS_DISTANCE),
        Mistake(
            "1-based index",
            lambda inputs, i: torch.cosine_similarity(inputs, inputs[i + 1], dim=-1),
            ONE_BASED,
            also=(lambda inputs, i: torch.cosine_similarity(inputs, inputs[i - 1], dim=-1),),
        ),
        Mistake("multiplied but did not add up", _multiplied_only, NOT_ADDED),
    ),
)
