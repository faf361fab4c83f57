"""Lesson 08: split, merge, and attention in several heads to repair."""

from ... import attention
from ..catalogue import multi_head
from ..catalogue.heads import WRONG_MERGES, WRONG_SPLITS
from ..exercise import Exercise, Probe
from ..probes import exact, wide, words

# --- split_heads and merge_heads ---


def _different(*shape):
    """Return different numbers, in sixteenths, so that rounding to 3 decimals changes most."""
    return exact(*shape, step=7, unit=16, period=127)


SPLITTING = Exercise(
    "split_heads(x, num_heads) -> (b, num_heads, n, head_dim)",
    "scores",
    attention.split_heads,
    lambda: [
        Probe("1 text of 6 words (d_out = 4, 2 heads)", (_different(1, 6, 4), 2)),
        Probe("2 texts of 5 words (d_out = 12, 3 heads)", (_different(2, 5, 12).double(), 3)),
        Probe("3 texts of 4 words (d_out = 6, 2 heads)", (_different(3, 4, 6), 2)),
        *wide(words("b", "n", "d_out"), "num_heads"),
    ],
    mistakes=WRONG_SPLITS,
)
MERGING = Exercise(
    "merge_heads(x) -> (b, n, d_out)",
    "scores",
    attention.merge_heads,
    lambda: [
        Probe("1 text of 6 words (2 heads of size 2)", (_different(1, 2, 6, 2),)),
        Probe("2 texts of 5 words (3 heads of size 4)", (_different(2, 3, 5, 4).double(),)),
        Probe("3 texts of 4 words (2 heads of size 3)", (_different(3, 2, 4, 3),)),
        *wide(words("b", "num_heads", "n", "head_dim")),
    ],
    mistakes={
        name: lambda x, merge=merge: merge(x, len(x), x.shape[2])
        for name, merge in WRONG_MERGES.items()
    }
    | {"n and num_heads swapped": lambda x: x.transpose(1, 2).reshape(len(x), x.shape[1], -1)},
)

# --- heads_to_repair ---

REPAIR_HEADS = multi_head.MULTI_HEAD.called("repair_heads")
