"""Complete attention in several heads: to write in lesson 09, and to repair in lesson 08."""

import torch

from ... import attention
from ..exercise import Exercise, Probe, alone
from ..pipeline import Pipeline
from ..probes import exact, matrix, numbers, sentence, wide, words
from .blend import BLEND_OF_ALL
from .heads import MERGE, NO_OUTPUT, OUTPUT, SPLIT
from .mask import CAUSAL_MASK, hide, nothing_hidden, past, the_future
from .project import PROJECT
from .scale import SCALE_OF_KEYS, SCORE_OF_KEYS, by
from .softmax import EXP_OF_ROWS, ROUNDED, SOFTMAX_OF_MASKED, over, weigh


def _strong_matrices():
    """Return matrices for 4 heads of 4 numbers: the roots of head_dim and d_out are exact."""
    query, key, value = (exact(3, 16, step=step).double() for step in (5, 3, 7))
    for W, row in ((query, 0), (key, 1)):
        W[:, ::4] = 0
        W[:2] = 0
        W[row, ::4] = 1
    value[:2] = 0
    return query, key, value, exact(16, 16, step=5).double(), exact(16, step=3).double()


def _sentences():
    generator = torch.Generator().manual_seed(123)
    first = [torch.rand(3, 4, generator=generator) for _ in range(3)]
    second = (exact(7, 12, step=step).double() for step in (5, 7, 3))
    some = exact(2, 5, 7, step=3, unit=4).double()
    some[1, 2] = 0  # scores of exactly 0
    return [
        Probe(
            "the sentence (2 heads)", (sentence()[None], *first, exact(4, 4), exact(4, step=3), 2)
        ),
        Probe(
            "2 sentences of 5 words (3 heads)",
            (some, *second, exact(12, 12).double(), exact(12, step=3).double(), 3),
        ),
        Probe(
            "2 sentences, one with scores near 1000 and 4000000 (4 heads)",
            (numbers("strong_heads", torch.float64), *_strong_matrices(), 4),
        ),
        # Most sizes are 2, so that answers that raise elsewhere give numbers here.
        Probe(
            "2 sentences of 2 words (2 heads of size 2)",
            (
                exact(2, 2, 4, step=3, unit=4),
                *(exact(4, 4, step=step) for step in (7, 5, 3)),
                exact(4, 4, step=9),
                exact(4, step=5),
                2,
            ),
        ),
        *wide(
            words("b", "n", "d_in"),
            *(matrix("d_in", "d_out") for _ in range(3)),
            matrix("d_out", "d_out"),
            matrix("d_out"),
            "num_heads",
        ),
    ]


NOTHING_HIDDEN = {"mask": nothing_hidden}


def _turned(state):
    """Compute scores with what keys.T gives for 4 dimensions, but without its warning."""
    return state.queries @ state.keys.permute(3, 2, 1, 0)


MULTI_HEAD = Exercise(
    "multi_head(inputs, W_query, W_key, W_value, W_out, b_out, num_heads) -> (b, n, d_out)",
    "values",
    attention.multi_head,
    _sentences,
    Pipeline(
        "inputs W_query W_key W_value W_out b_out num_heads",
        "contexts",
        hidden=the_future,
        project=PROJECT,
        split=SPLIT,
        score=SCORE_OF_KEYS,
        scale=SCALE_OF_KEYS,
        mask=CAUSAL_MASK,
        exp=EXP_OF_ROWS,
        normalise=SOFTMAX_OF_MASKED.plus(ROUNDED),
        blend=BLEND_OF_ALL,
        merge=MERGE,
        output=OUTPUT,
    ),
    variants={
        "score": {".T on a batch": (_turned, {"score": _turned} | NOTHING_HIDDEN)},
        "scale": {
            "scaled by sqrt(d_out)": by(lambda s: (s.d_k * s.num_heads) ** 0.5),
            "scaled by the number of heads": by(lambda s: s.num_heads**0.5),
        },
        "mask": {
            "True and False swapped in the mask": {
                "mask": hide(lambda s: past(s.scores)),
                "normalise": lambda s: weigh(s).nan_to_num(0.0),
            },
        },
        "normalise": {
            # With minus infinity, a softmax over hidden scores only would give NaN.
            "softmax over the heads": (
                over(1),
                alone({"mask": hide(value=-1e9), "normalise": over(1)}),
            ),
        },
        "blend": {
            "weights returned": {
                "blend": lambda s: s.weights,
                "merge": lambda s: s.contexts,
                **NO_OUTPUT,
            }
        },
    },
    names={"softmax over the wrong axis": "softmax over the queries"},
)
