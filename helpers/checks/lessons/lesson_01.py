"""Lesson 01: scores."""

from ... import attention
from ..catalogue.project import ONE_QUERY, every_word
from ..catalogue.scale import SCORE, between_coordinates, by, cosine, dot, unscaled
from ..catalogue.softmax import naive, soft
from ..exercise import Exercise, Probe, detected
from ..pipeline import Pipeline, Stage
from ..probes import numbers, of_inputs, of_query
from ..results import is_one_row

IN_SCORE = {
    "cosine instead of dot product": cosine,
    "distance instead of similarity": lambda s: (s.queries[:, None] - s.keys).norm(dim=-1),
    "sums multiplied": lambda s: s.queries.sum(-1)[:, None] * s.keys.sum(-1),
}
IN_SCALE = {
    "scaled too early": by(lambda s: s.d_k**0.5),
    "softmax already applied": (lambda s: soft(s.scores), lambda s: soft(s.scores, naive)),
}

SCORES = Exercise(
    "scores(inputs, i) -> (n,)",
    "scores",
    attention.scores,
    lambda: of_query(large="square"),
    Pipeline("inputs i", lambda s: s.scores[0], project=ONE_QUERY, score=SCORE, scale=unscaled),
    variants={"score": IN_SCORE, "scale": IN_SCALE},
    mistakes={
        "multiplied but not summed": lambda inputs, i: inputs * inputs[i],
        "summed over the words": lambda inputs, i: (inputs * inputs[i]).sum(0),
    },
)

ALL_SCORES = Exercise(
    "all_scores(inputs) -> (n, n)",
    "scores",
    attention.all_scores,
    lambda: of_inputs(Probe("a sentence with scores near ±1000 (n = 4)", (numbers("square"),))),
    Pipeline("inputs", "scores", project=every_word, score=SCORE, scale=unscaled),
    variants={
        "score": {**IN_SCORE, "columns compared instead of words": between_coordinates},
        "scale": IN_SCALE,
    },
    mistakes={
        "multiplied but not summed": lambda inputs: inputs * inputs,
        "only the diagonal": lambda inputs: (inputs @ inputs.T).diag().diag(),
        "one row copied": detected(lambda evidence: evidence.always(is_one_row)),
        "half of the table empty": (
            lambda inputs: (inputs @ inputs.T).triu(),
            lambda inputs: (inputs @ inputs.T).tril(-1),
        ),
    },
)


# --- cosine_scores ---


def _lengths(state):
    return state.keys.norm(dim=-1)


def _length(state):
    return state.queries.norm()


COSINE = Exercise(
    "cosine_scores(inputs, i) -> (n,)",
    "scores",
    attention.cosine_scores,
    of_query,
    Pipeline(
        "inputs i",
        lambda s: s.scores[0],
        project=ONE_QUERY,
        score=dot,
        scale=Stage(
            by(lambda s: _lengths(s) * _length(s)),
            {
                "dot product not divided": unscaled,
                "divided by the query's length only": by(_length),
                "divided by the words' lengths only": by(_lengths),
                "divided by squared lengths": by(lambda s: (_lengths(s) * _length(s)) ** 2),
                "divided by the query's squared length": by(lambda s: _length(s) ** 2),
                "divided by the sum of the lengths": by(lambda s: _lengths(s) + _length(s)),
                "parentheses forgotten": by(lambda s: _lengths(s) / _length(s)),
                "count instead of length": (
                    by(lambda s: s.d_k),
                    by(lambda s: s.d_k**2),
                    by(lambda s: len(s.inputs)),
                ),
                "length of the whole matrix": by(lambda s: s.inputs.norm() * _length(s)),
                "sum of the numbers instead of the length": (
                    by(lambda s: s.keys.sum(-1) * s.queries.sum()),
                    by(lambda s: s.keys.abs().sum(-1) * s.queries.abs().sum()),
                ),
                "divided by the words' squared lengths": by(lambda s: _lengths(s) ** 2),
                "dot products scaled to length 1": by(lambda s: s.scores.norm()),
                "cosine distance": lambda s: 1 - s.scores / (_lengths(s) * _length(s)),
            },
        ),
    ),
    mistakes={
        "length over the wrong axis": lambda inputs, i: (
            (inputs / inputs.norm(dim=0)) @ (inputs / inputs.norm(dim=0))[i]
        ),
        "distance instead of similarity": lambda inputs, i: (inputs - inputs[i]).norm(dim=-1),
        "multiplied but not summed": lambda inputs, i: inputs * inputs[i],
    },
)
