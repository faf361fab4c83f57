"""Lesson 04: queries, keys and values."""

from functools import partial

import torch
from torch import nn

from ... import attention
from ..catalogue.scale import (
    CONSTANT,
    SCALE,
    SCORE,
    between_coordinates,
    by,
    by_count,
    cosine,
    dot,
    unscaled,
)
from ..catalogue.softmax import naive, soft, stable
from ..catalogue.whole import ATTENTION, IN_FORMULA
from ..exercise import Exercise, Probe, alone, detected
from ..pipeline import Pipeline
from ..probes import exact, matrix, mixed, seeded, sentence, wide, without_last, words
from ..results import is_one_row

# --- scaled_scores ---


def _queries_and_keys():
    W_query, W_key, _ = seeded()
    return [
        Probe("queries and keys of the sentence", (sentence() @ W_query, sentence() @ W_key)),
        Probe(
            "4 queries and 5 keys of 3 numbers",
            (exact(4, 3, step=5).double() * 4, exact(5, 3, step=7).double() * 4),
        ),
        Probe("3 queries and 4 keys of 4 numbers", (exact(3, 4, step=3), exact(4, 4, step=7))),
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
    """Right or wrong in the scale as well: the score is what to look at first."""
    return {"score": variant}, {"score": variant, "scale": unscaled}


def _softmax_of(dim, exp, pipeline=SCALED_PIPELINE):
    return lambda queries, keys: soft(pipeline(queries, keys), exp, dim)


SCALED = Exercise(
    "scaled_scores",
    "scaled_scores(queries, keys) -> (n, m)",
    "scores",
    attention.scaled_scores,
    _queries_and_keys,
    SCALED_PIPELINE,
    variants={
        "score": {
            "queries and keys the other way round": _score(lambda s: dot(s).mT),
            "keys not transposed": _score(lambda s: s.queries @ s.keys),
            "attention between coordinates": _score(between_coordinates),
            "cosine instead of dot product": _score(cosine),
            "distance instead of similarity": _score(
                lambda s: (s.queries[:, None] - s.keys).norm(dim=-1)
            ),
            "multiplied but did not add up": _score(lambda s: s.queries[:, None] * s.keys),
        },
        "scale": {
            **CONSTANT,
            "scaled by the number of queries": by_count(lambda s: s.scores.shape[-2]),
            "scaled by the embedding size": by(lambda s: 3**0.5),
        },
    },
    mistakes={
        "softmax already applied": tuple(
            way
            for exp in (stable, naive)
            for way in (
                _softmax_of(-1, exp),
                _softmax_of(0, exp),
                _softmax_of(-1, exp, SCALED_PIPELINE.replace({"scale": unscaled})),
            )
        ),
        "loop stops one early": without_last(SCALED_PIPELINE),
    },
)

# --- qkv_attention ---


def _strong():
    """Words of which the first two numbers make the scores: after scaling about 1000, -1000 and
    125. d_k is 16, because then even the fourth root of it, which some take, is exact; and all
    matrices are 16 x 16, so that a .T does not raise."""
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
            "5 words, d_in = 4, d_k = 3, d_out = 6",
            (some, *(exact(m, n, step=step).double() for m, n, step in sizes)),
        ),
        Probe("4 words with scores near 1000, all matrices 16 x 16", _strong()),
        *wide(
            words("n", "d_in"),
            *(matrix("d_in", "d_k") for _ in range(2)),
            matrix("d_in", "d_v"),
        ),
    ]


# Matrices that somebody makes instead of using the given ones.

SIZES = (
    lambda matrices: [(3, 2)] * 3,
    lambda matrices: [matrices[0].shape] * 3,
    lambda matrices: [W.shape for W in matrices],
)


def _drawn(draw, *seeds):
    """Not the matrices that are given, but others, drawn after a seed.

    draw: takes three sizes, returns three matrices or layers.
    """

    def projecting(seed, sizes_of):
        def project(state):
            sizes = sizes_of((state.W_query, state.W_key, state.W_value))
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(seed)
                made = draw(sizes)
            x = state.inputs.float()
            projected = (one(x) if callable(one) else x @ one for one in made)
            return tuple(one.to(state.inputs.dtype) for one in projected)

        return project

    return alone(*(projecting(seed, sizes_of) for seed in seeds for sizes_of in SIZES))


def _in_order(*order):
    def draw(sizes):
        made = {k: torch.rand(sizes[k]) for k in order}
        return [made[k] for k in range(3)]

    return draw


def _turned(sizes):
    return [torch.rand(d_out, d_in).T for d_in, d_out in sizes]


def _linear(sizes, bias=False):
    return [nn.Linear(*size, bias=bias) for size in sizes]


QKV = Exercise(
    "qkv_attention",
    "qkv_attention(inputs, W_query, W_key, W_value) -> (n, d_out)",
    "values",
    attention.qkv_attention,
    _inputs_and_matrices,
    ATTENTION,
    variants={
        **IN_FORMULA,
        "scale": CONSTANT,
        "project": {
            "matrices created in another order (k,q,v)": _drawn(_in_order(1, 0, 2), 123),
            "drawn as (d_out,d_in)": _drawn(_turned, 123),
            "nn.Linear instead of Parameter(rand)": _drawn(_linear, 123, 789),
            "bias left on": _drawn(partial(_linear, bias=True), 123, 789),
            "another seed": _drawn(_in_order(0, 1, 2), 0, 1, 42, 321, 1234),
            "matrices it was given not used": _drawn(_in_order(0, 1, 2), 123),
        },
    },
    mistakes={
        "one context copied": detected(
            lambda seen: seen.always(is_one_row),
            lambda *args: ATTENTION(*args)[1].expand(len(args[0]), -1),
        ),
    },
)
REPAIR_QKV = QKV.called("repair_qkv")
