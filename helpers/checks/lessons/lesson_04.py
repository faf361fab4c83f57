"""Lesson 04: queries, keys and values."""

import torch

from ... import attention
from ..catalogue.scale import SCALE, SCORE, cosine, dot, unscaled
from ..catalogue.softmax import soft
from ..catalogue.whole import ATTENTION, IN_FORMULA
from ..exercise import Exercise, Probe, detected
from ..pipeline import Pipeline
from ..probes import exact, matrix, mixed, seeded, sentence, wide, words
from ..results import is_one_row

# --- scaled_scores ---


def _queries_and_keys():
    W_query, W_key, _ = seeded()
    return [
        Probe("the queries and keys of the sentence", (sentence() @ W_query, sentence() @ W_key)),
        Probe(
            "4 queries and 5 keys of size 3",
            (exact(4, 3, step=5).double() * 4, exact(5, 3, step=7).double() * 4),
        ),
        Probe("3 queries and 4 keys of size 4", (exact(3, 4, step=3), exact(4, 4, step=7))),
        *wide(words("n", "d_k"), matrix("m", "d_k")),
    ]


SCALED_PIPELINE = Pipeline(
    "queries keys",
    "scores",
    project=lambda s: (s.queries, s.keys, s.keys),
    score=SCORE,
    scale=SCALE,
)


def _score(variant):
    """Return this score with the right scale and with none: both have the score to fix first."""
    return {"score": variant}, {"score": variant, "scale": unscaled}


def _softmax_of(pipeline):
    return lambda queries, keys: soft(pipeline(queries, keys))


SCALED = Exercise(
    "scaled_scores(queries, keys) -> (n, m)",
    "scores",
    attention.scaled_scores,
    _queries_and_keys,
    SCALED_PIPELINE,
    variants={
        "score": {
            "queries and keys swapped": _score(lambda s: dot(s).mT),
            "cosine instead of dot product": _score(cosine),
            "distance instead of similarity": _score(
                lambda s: (s.queries[:, None] - s.keys).norm(dim=-1)
            ),
            "multiplied but not summed": _score(lambda s: s.queries[:, None] * s.keys),
        },
    },
    mistakes={
        "softmax already applied": (
            _softmax_of(SCALED_PIPELINE),
            _softmax_of(SCALED_PIPELINE.replace({"scale": unscaled})),
        ),
    },
    names={"scaled by the number of words": "scaled by the number of keys"},
)

# --- qkv_attention ---


def _strong():
    """Return words whose first two numbers make the scores: after scaling, about 1000, -1000 and
    125. d_k is 16, so that even its fourth root, which some take, is exact; and all matrices are
    16 x 16, so that a .T does not raise."""
    inputs, query, key, value = (
        exact(n, 16, step=s) for n, s in ((4, 5), (16, 3), (16, 7), (16, 5))
    )
    inputs[:, :2] = torch.tensor([[1.0, 4000.0], [-1.0, 4001.0], [0.125, 3999.0], [1.0, 4002.0]])
    for W, row in ((query, 0), (key, 1)):
        W[:2] = 0
        W[:, 0] = 0
        W[row, 0] = 1
    value[1] = 0
    return tuple(x.double() for x in (inputs, query, key, value))


def _inputs_and_matrices():
    some = mixed()
    some[2] = 0  # scores of exactly 0
    sizes = ((4, 3, 5), (4, 3, 7), (4, 6, 3))
    return [
        Probe("the sentence", (sentence(), *seeded())),
        Probe(
            "a sentence of 5 words (d_in = 4, d_k = 3, d_out = 6)",
            (some, *(exact(m, n, step=step).double() for m, n, step in sizes)),
        ),
        Probe("a sentence with scores near 1000 (n = 4, matrices 16 x 16)", _strong()),
        *wide(
            words("n", "d_in"),
            *(matrix("d_in", "d_k") for _ in range(2)),
            matrix("d_in", "d_v"),
        ),
    ]


QKV = Exercise(
    "qkv_attention(inputs, W_query, W_key, W_value) -> (n, d_out)",
    "values",
    attention.qkv_attention,
    _inputs_and_matrices,
    ATTENTION,
    variants=IN_FORMULA,
    mistakes={"one context copied": detected(lambda evidence: evidence.always(is_one_row))},
)
REPAIR_QKV = QKV.called("repair_qkv")
