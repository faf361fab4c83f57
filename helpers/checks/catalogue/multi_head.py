"""Attention in several heads, whole: an exercise of lesson 09, and in lesson 08 to be repaired."""

import torch
from torch.nn.functional import multi_head_attention_forward

from ... import attention
from ..exercise import Exercise, Probe, alone
from ..pipeline import Pipeline
from ..probes import exact, matrix, numbers, sentence, wide, words
from .blend import BLEND_OF_ROLES
from .heads import MERGE, NO_OUTPUT, OUTPUT, SPLIT, merge_by, split_by
from .mask import CAUSAL_MASK, LOW, hide, low_numbers, nothing_hidden, past, the_future
from .project import PROJECT
from .scale import SCALE_OF_KEYS, SCORE_OF_KEYS, by
from .softmax import EXP_OF_ROWS, ROUNDED, SOFTMAX_OF_MASKED, global_max, naive, over, weigh


def _strong_matrices():
    """4 heads of 4 numbers, so that the roots of head_dim and of d_out are exact."""
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
            "the sentence, 2 heads", (sentence()[None], *first, exact(4, 4), exact(4, step=3), 2)
        ),
        Probe(
            "2 sentences of 5 words, 3 heads",
            (some, *second, exact(12, 12).double(), exact(12, step=3).double(), 3),
        ),
        Probe(
            "2 sentences, one with scores near 1000 and 4000000, 4 heads",
            (numbers("strong_heads", torch.float64), *_strong_matrices(), 4),
        ),
        # 2 of everything: what raises elsewhere shows its numbers here.
        Probe(
            "2 sentences of 2 words, 2 heads of 2 numbers",
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


def _mask_of_words_across_batch(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    """nn.MultiheadAttention, which takes the first dim for the words."""
    d_out = W_query.shape[1]
    return multi_head_attention_forward(
        *(inputs @ W for W in (W_query, W_key, W_value)),
        d_out,
        num_heads,
        torch.eye(d_out, dtype=inputs.dtype).repeat(3, 1),
        *(None, None, None, False, 0.0),
        W_out.T,
        b_out,
        attn_mask=torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool).triu(1),
    )[0]


ACROSS_BATCH = split_by(
    lambda x, num_heads: x.unflatten(-1, (num_heads, -1)).permute(1, 2, 0, 3)
) | merge_by(lambda x, b, n: x.permute(2, 0, 1, 3).flatten(2))
NOTHING_HIDDEN = {"mask": nothing_hidden}


def _turned(state):
    """What .T does to a tensor of 4 dims, without its warning."""
    return state.queries @ state.keys.permute(3, 2, 1, 0)


def _over(*dims):
    """Softmax along other dims: with minus infinity all hidden ones can meet, and give NaN."""
    return over(*dims), alone({"mask": hide(value=-1e9), "normalise": over(*dims)})


MULTI_HEAD = Exercise(
    "multi_head",
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
        # Larger numbers that are added are low enough here.
        mask=CAUSAL_MASK.plus({"a number not low enough": low_numbers(*LOW[:13])}),
        exp=EXP_OF_ROWS,
        normalise=SOFTMAX_OF_MASKED.plus(ROUNDED),
        blend=BLEND_OF_ROLES,
        merge=MERGE,
        output=OUTPUT,
    ),
    # They raise wherever a word has not d_out numbers, and hide what else is wrong there.
    variants={
        "score": {".T on a batch": (_turned, {"score": _turned} | NOTHING_HIDDEN)},
        "scale": {
            "scaled by sqrt(d_out)": (
                by(lambda s: (s.d_k * s.num_heads) ** 0.5),
                by(lambda s: s.d_k * s.num_heads),
            ),
            "scaled by sqrt(h)": (by(lambda s: s.num_heads**0.5), by(lambda s: s.num_heads)),
            "scaled by the size of the batch": by(lambda s: len(s.inputs) ** 0.5),
        },
        "mask": {
            "bool mask handed to the wrong function": {
                "mask": hide(lambda s: past(s.scores)),
                "normalise": lambda s: weigh(s).nan_to_num(0.0),
            },
        },
        "normalise": {
            "keepdim forgotten": (
                lambda s: naive(s.scores) / naive(s.scores).sum(-1),
                lambda s: global_max(s.scores) / global_max(s.scores).sum(-1),
            ),
            "weights averaged over the heads": lambda s: weigh(s).mean(1, keepdim=True),
            "softmax over the heads": _over(1),
            "softmax over the batch": (*_over(0), *_over(0, 1)),
        },
        "blend": {
            "weights returned": {
                "blend": lambda s: s.weights,
                "merge": lambda s: s.contexts,
                **NO_OUTPUT,
            }
        },
    },
    mistakes={
        "batch_first forgotten": (
            _mask_of_words_across_batch,
            ACROSS_BATCH,
            ACROSS_BATCH | NOTHING_HIDDEN,
        ),
    },
)
