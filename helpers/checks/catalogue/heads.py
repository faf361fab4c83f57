"""Split, merge and output: the stages that several heads add to attention. A tensor of heads is
(b, num_heads, n, head_dim), for b sentences of n words."""

import torch

from ..pipeline import Stage

# --- split: takes x (b, n, d_out) and num_heads ---


def _cut(x, num_heads):
    """Return x as (b, n, num_heads, head_dim)."""
    return x.reshape(*x.shape[:2], num_heads, x.shape[-1] // num_heads)


def _mixed_up(x, num_heads):
    """Return x as (b, n, head_dim, num_heads)."""
    return x.reshape(*x.shape[:2], x.shape[-1] // num_heads, num_heads)


def _split(x, num_heads):
    return _cut(x, num_heads).transpose(1, 2)


def _by_view(x, num_heads):
    return x.reshape(len(x), num_heads, x.shape[1], -1)


def _dealt_out(x, num_heads):
    return _mixed_up(x, num_heads).permute(0, 3, 1, 2)


def _one_head(x, num_heads):
    return x[:, None]


def _one_for_all(x, num_heads):
    return _split(x, num_heads)[:, :1].expand(-1, num_heads, -1, -1)


def _every_number_on(x, num_heads):
    """Give head k the head_dim numbers that start at number k, so that the heads overlap."""
    head_dim = x.shape[-1] // num_heads
    return torch.stack([x[..., k : k + head_dim] for k in range(num_heads)], dim=1)


WRONG_SPLITS = {
    "split by view without transpose": _by_view,
    "transpose left out": _cut,
    "numbers dealt out in turn": _dealt_out,
    "num_heads and head_dim mixed up": (
        lambda x, num_heads: _mixed_up(x, num_heads).transpose(1, 2),
        _mixed_up,
    ),
    "wrong dimensions swapped": lambda x, num_heads: _cut(x, num_heads).transpose(2, 3),
    "heads before the batch": lambda x, num_heads: _cut(x, num_heads).permute(2, 0, 1, 3),
    "batch lost": lambda x, num_heads: _split(x, num_heads)[0],
    "each head gets all the numbers": (
        lambda x, num_heads: x[:, None].expand(-1, num_heads, -1, -1),
        _one_head,
    ),
    "the same numbers for every head": _one_for_all,
    "slices do not step by head_dim": _every_number_on,
    "transposed before splitting": lambda x, num_heads: x.transpose(1, 2).reshape(
        len(x), num_heads, x.shape[1], -1
    ),
}

# --- merge: takes x (b, num_heads, n, head_dim), b and n ---


def _merged(x, b, n):
    return x.transpose(1, 2).reshape(b, n, -1)


def _not_transposed(x, b, n):
    return x.reshape(b, n, -1)


def _exchanged(x, b, n):
    return x.transpose(2, 3).reshape(b, n, -1)


def _of_heads_first(x, b, n):
    return x.transpose(0, 1).reshape(b, n, -1)


WRONG_MERGES = {
    "merged without transposing back": _not_transposed,
    "view after transpose": lambda x, b, n: x.transpose(1, 2).view(b, n, -1),
    "heads averaged": lambda x, b, n: x.mean(1),
    "heads added": lambda x, b, n: x.sum(1),
    "only the largest of the heads": lambda x, b, n: x.amax(1),
    "merged with the heads before the batch": _of_heads_first,
    "heads joined along the words": lambda x, b, n: x.flatten(1, 2),
    "heads interleaved": lambda x, b, n: x.permute(0, 2, 3, 1).reshape(b, n, -1),
    "wrong dimensions swapped": _exchanged,
    "not merged": lambda x, b, n: x.transpose(1, 2),
    "batch lost": lambda x, b, n: x.transpose(1, 2).reshape(n, -1),
}

# --- the stages, for exercises that take ..., W_out, b_out, num_heads ---


def split_by(way):
    """Return the choice that splits queries, keys and values all in this way."""
    return {"split": lambda s: tuple(way(x, s.num_heads) for x in (s.queries, s.keys, s.values))}


def merge_by(way):
    return {"merge": lambda s: way(s.contexts, *s.inputs.shape[:2])}


def output(state):
    return state.contexts @ state.W_out + state.b_out


NO_OUTPUT = {"output": lambda s: s.contexts}
SPLIT = Stage(
    split_by(_split)["split"],
    {
        "split by view without transpose": (
            split_by(_by_view),
            split_by(_by_view) | merge_by(_not_transposed),
        ),
        "transpose left out": (split_by(_cut), split_by(_cut) | merge_by(_not_transposed)),
        "numbers dealt out in turn": split_by(_dealt_out),
        "heads not split": split_by(_one_head),
        "the same numbers for every head": split_by(_one_for_all),
    },
)
MERGE = Stage(
    merge_by(_merged)["merge"],
    {
        "merged without transposing back": merge_by(_not_transposed),
        "merged with the heads before the batch": merge_by(_of_heads_first),
        "wrong dimensions swapped": merge_by(_exchanged),
    },
)
OUTPUT = Stage(
    output,
    {
        "out_proj forgotten": NO_OUTPUT,
        "bias of out_proj forgotten": lambda s: s.contexts @ s.W_out,
        "W_out transposed": lambda s: s.contexts @ s.W_out.T + s.b_out,
        "input added back": lambda s: output(s) + s.inputs,
    },
)
