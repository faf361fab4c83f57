"""Lesson 01: scores."""

import torch

from .. import attention
from .declare import Exercise, Mistake, Probe, is_one_row, soft, stable
from .probes import SQUARE, of_inputs, of_query
from .sources import SOURCES
from .stages import AVERAGED

ONE_BASED = (
    "Python counts from 0; you used a neighbour of word i as the query. Use inputs[i]; journey is "
    "inputs[1]."
)
IS_COSINE = "You divided by the lengths: that is the cosine. Use the plain dot product."
IS_DISTANCE = "This is a distance (0 = same). Make a score that is LARGE for a match."
ALREADY_WEIGHTS = "These are weights. Return the scores, which come before softmax."
NO_SCALING = "There is no scaling yet. Use the plain dot product."
NOT_ADDED = (
    "You have the products; a dot product also ADDS them. Add them over the numbers of a word."
)


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
        Mistake(
            "multiplied but did not add up",
            _multiplied_only,
            NOT_ADDED,
            source=SOURCES["multiplied but did not add up"],
        ),
        Mistake(
            "summed over the tokens",
            lambda inputs, i: (inputs * inputs[i]).sum(0),
            "You added over the words (dim 0). Add over the numbers of each word (dim -1).",
            source="dim=0 taken for the dim of the numbers",
        ),
        Mistake(
            "1-based index",
            lambda inputs, i: inputs @ inputs[i + 1],
            ONE_BASED,
            also=(lambda inputs, i: inputs @ inputs[i - 1],),
            source=SOURCES["1-based index"],
        ),
        Mistake(
            "cosine instead of dot product",
            lambda inputs, i: torch.cosine_similarity(inputs, inputs[i : i + 1]),
            IS_COSINE,
            source=SOURCES["cosine instead of dot product"],
        ),
        Mistake(
            "distance instead of similarity",
            _distance,
            IS_DISTANCE,
            source=SOURCES["distance instead of similarity"],
        ),
        Mistake(
            "operands the wrong way round",
            lambda inputs, i: inputs[i] @ inputs,
            "Inner sizes must match: (6, 3) @ (3,). Use inputs @ inputs[i].",
            source=SOURCES["operands the wrong way round"],
        ),
        Mistake(
            "loop stops one early",
            lambda inputs, i: torch.cat([inputs[:-1] @ inputs[i], inputs.new_zeros(1)]),
            "The loop missed the last word. Run it over all words.",
            source=SOURCES["loop stops one early"],
        ),
        Mistake(
            "averaged instead of added",
            lambda inputs, i: (inputs * inputs[i]).mean(-1),
            AVERAGED.advice,
            source=SOURCES["averaged instead of added"],
        ),
        Mistake(
            "scaled",
            lambda inputs, i: inputs @ inputs[i] / inputs.shape[-1] ** 0.5,
            NO_SCALING,
            also=(lambda inputs, i: inputs @ inputs[i] / 3**0.5,),
            source=SOURCES["scaled"],
        ),
        Mistake(
            "softmax already applied",
            lambda inputs, i, exp=stable: soft(inputs @ inputs[i], exp),
            ALREADY_WEIGHTS,
            source=SOURCES["softmax already applied"],
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
            "inputs.T @ inputs compares the coordinates. Compare the words: inputs @ inputs.T.",
            source=SOURCES["attention between features"],
        ),
        Mistake(
            "operands the wrong way round",
            lambda inputs: inputs @ inputs,
            "Inner sizes must match: (6, 3) @ (3, 6). Use inputs @ inputs.T.",
            source=SOURCES["operands the wrong way round"],
        ),
        Mistake(
            "multiplied but did not add up",
            lambda inputs: inputs * inputs,
            NOT_ADDED,
            also=(lambda inputs: inputs[:, None] * inputs,),
            source=SOURCES["multiplied but did not add up"],
        ),
        Mistake(
            "only the diagonal",
            lambda inputs: (inputs * inputs).sum(-1),
            "You compared each word with itself only. Compare it with all words.",
            also=(lambda inputs: (inputs @ inputs.T).diag().diag(),),
            source="one loop, with i for both words",
        ),
        Mistake(
            "one row copied",
            lambda inputs: (inputs @ inputs[1]).expand(len(inputs), -1),
            "All rows are equal. Use word i as the query of row i.",
            shows=lambda seen: seen.always(is_one_row),
            source="scores of one query computed once, outside the loop",
        ),
        Mistake(
            "half of the table empty",
            lambda inputs: (inputs @ inputs.T).tril(),
            "Only half of the table is filled. Run both loops over all words: (i, j) and (j, i).",
            also=(
                lambda inputs: (inputs @ inputs.T).triu(),
                lambda inputs: (inputs @ inputs.T).tril(-1),
                lambda inputs: (inputs @ inputs.T).triu(1),
            ),
            source="hexiangnan/sigir16-eals#3",
        ),
        Mistake(
            "loop stops one early",
            without_last(attention.all_scores, True, True),
            "A loop missed the last word. Run it over all words.",
            also=(
                without_last(attention.all_scores, True, False),
                without_last(attention.all_scores, False, True),
            ),
            source=SOURCES["loop stops one early"],
        ),
        Mistake(
            "cosine instead of dot product",
            lambda inputs: torch.cosine_similarity(inputs[:, None], inputs[None], dim=-1),
            IS_COSINE,
            source=SOURCES["cosine instead of dot product"],
        ),
        Mistake(
            "distance instead of similarity",
            lambda inputs: (inputs[:, None] - inputs).norm(dim=-1),
            IS_DISTANCE,
            source=SOURCES["distance instead of similarity"],
        ),
        Mistake(
            "softmax already applied",
            lambda inputs, exp=stable: soft(inputs @ inputs.T, exp),
            ALREADY_WEIGHTS,
            source=SOURCES["softmax already applied"],
        ),
        Mistake(
            "averaged instead of added",
            lambda inputs: (inputs[:, None] * inputs).mean(-1),
            AVERAGED.advice,
            source=SOURCES["averaged instead of added"],
        ),
        Mistake(
            "scaled",
            lambda inputs: inputs @ inputs.T / inputs.shape[-1] ** 0.5,
            NO_SCALING,
            also=(lambda inputs: inputs @ inputs.T / 3**0.5,),
            source=SOURCES["scaled"],
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
            "This is the dot product. Divide it by the lengths of both vectors.",
            source="the function of the exercise before, unchanged",
        ),
        Mistake(
            "divided by the query's length only",
            lambda inputs, i: inputs @ inputs[i] / inputs[i].norm(),
            "Divide by the length of the other vector too: its own for every word.",
            source="only one of the two lengths was thought of",
        ),
        Mistake(
            "divided by the words' lengths only",
            lambda inputs, i: inputs @ inputs[i] / inputs.norm(dim=-1),
            "Divide by the length of word i too.",
            source="the query is one of the words, so it seems done",
        ),
        Mistake(
            "divided by squared lengths",
            lambda inputs, i: inputs @ inputs[i] / ((inputs**2).sum(-1) * (inputs[i] ** 2).sum()),
            "These are squares of the lengths. Take the ROOT of each.",
            source="FoundationsMachineLearning-Fa18/LectureNotes#24",
        ),
        Mistake(
            "divided by the query's squared length",
            lambda inputs, i: inputs @ inputs[i] / (inputs[i] @ inputs[i]),
            "You divided by the length of word i twice. Divide once by that of the other word.",
            source="usnistgov/oscal-deep-diff#100, incanter/incanter#73",
        ),
        Mistake(
            "divided by the sum of the lengths",
            lambda inputs, i: inputs @ inputs[i] / (inputs.norm(dim=-1) + inputs[i].norm()),
            "Divide by the PRODUCT of the two lengths.",
            source="+ written for the product of the lengths",
        ),
        Mistake(
            "parentheses forgotten",
            lambda inputs, i: inputs @ inputs[i] / inputs.norm(dim=-1) * inputs[i].norm(),
            "a / b * c multiplies by c. Write a / (b * c).",
            also=(lambda inputs, i: inputs @ inputs[i] / inputs[i].norm() * inputs.norm(dim=-1),),
            source="a / b * c is (a / b) * c, not a / (b * c)",
        ),
        Mistake(
            "count instead of length",
            _by_counts(lambda n, d: d),
            "len() and shape only count. Take the root of the sum of the squares: "
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
            source="len() is called length, but counts",
        ),
        Mistake(
            "length of the whole matrix",
            lambda inputs, i: inputs @ inputs[i] / (inputs.norm() * inputs[i].norm()),
            "norm() of a matrix is one number; each word has its own length. Use dim=-1.",
            also=(lambda inputs, i: inputs @ inputs[i] / inputs.norm() ** 2,),
            source="deepchem/deepchem#2022",
        ),
        Mistake(
            "length over the wrong axis",
            lambda inputs, i: (inputs / inputs.norm(dim=0)) @ (inputs / inputs.norm(dim=0))[i],
            "You divided each column by its length; each row (word) is a vector. Use dim=-1.",
            also=(lambda inputs, i: inputs @ inputs[i] / (inputs.norm(dim=0) * inputs[i].norm()),),
            source="facebookresearch/WMReward#11",
        ),
        Mistake(
            "sum of the numbers instead of the length",
            lambda inputs, i: inputs @ inputs[i] / (inputs.sum(-1) * inputs[i].sum()),
            "A sum is not a length. Take the root of the sum of SQUARES.",
            also=(
                lambda inputs, i: (
                    inputs @ inputs[i] / (inputs.abs().sum(-1) * inputs[i].abs().sum())
                ),
            ),
            source="autonomousvision/gta#2 (squares forgotten)",
        ),
        Mistake(
            "root taken twice",
            lambda inputs, i: inputs @ inputs[i] / (inputs.norm(dim=-1) * inputs[i].norm()) ** 0.5,
            "norm() is the square root of the sum of squares already. Take no other root.",
            source="PaddlePaddle/FastDeploy#648 (np.linalg.norm has the root already)",
        ),
        Mistake(
            "divided by the words' squared lengths",
            lambda inputs, i: inputs @ inputs[i] / (inputs**2).sum(-1),
            "You divided by the length of the other word twice. Divide once by that of the query.",
            source="usnistgov/oscal-deep-diff#100, incanter/incanter#73 (one vector twice "
            "below the bar)",
        ),
        Mistake(
            "divided by the length of the dot products",
            lambda inputs, i: inputs @ inputs[i] / (inputs @ inputs[i]).norm(),
            "Divide by the lengths of the two WORDS, not by that of the list of dot products.",
            also=(
                lambda inputs, i: (
                    inputs @ inputs[i] / ((inputs @ inputs[i]).norm() * inputs[i].norm())
                ),
            ),
            source="distillpub/post--activation-atlas#12",
        ),
        Mistake(
            "cosine distance",
            lambda inputs, i: 1 - torch.cosine_similarity(inputs, inputs[i : i + 1]),
            "This is 1 - cosine, a distance (0 = same direction). Return the cosine, which is "
            "LARGE for a match.",
            source="ixaxaar/pytorch-dnc#56 (distance and similarity mixed up)",
        ),
        Mistake(
            "distance instead of similarity",
            _distance,
            IS_DISTANCE,
            source=SOURCES["distance instead of similarity"],
        ),
        Mistake(
            "1-based index",
            lambda inputs, i: torch.cosine_similarity(inputs, inputs[i + 1], dim=-1),
            ONE_BASED,
            also=(lambda inputs, i: torch.cosine_similarity(inputs, inputs[i - 1], dim=-1),),
            source=SOURCES["1-based index"],
        ),
        Mistake(
            "multiplied but did not add up",
            _multiplied_only,
            NOT_ADDED,
            source=SOURCES["multiplied but did not add up"],
        ),
    ),
)
