"""Split, merge and output: what several heads add to attention. A tensor of the heads is
(b, num_heads, n, head_dim), for b sentences of n words."""

from dataclasses import replace

import torch

from ..exercise import alone, seen_on
from ..pipeline import Stage
from .mask import hide, nothing_hidden
from .scale import by


def each_way(change, table):
    """The same table, each way changed. change: takes a way, returns another one."""
    return {
        name: tuple(map(change, ways if isinstance(ways, tuple) else (ways,)))
        for name, ways in table.items()
    }


# --- split: takes x (b, n, d_out) and num_heads ---


def _cut(x, num_heads):
    """(b, n, num_heads, head_dim)"""
    return x.reshape(*x.shape[:2], num_heads, x.shape[-1] // num_heads)


def _mixed_up(x, num_heads):
    """(b, n, head_dim, num_heads)"""
    return x.reshape(*x.shape[:2], x.shape[-1] // num_heads, num_heads)


def _split(x, num_heads):
    return _cut(x, num_heads).transpose(1, 2)


def _by_view(x, num_heads):
    return x.reshape(len(x), num_heads, x.shape[1], -1)


def _dealt_out(x, num_heads):
    return _mixed_up(x, num_heads).permute(0, 3, 1, 2)


def _all_to_each(x, num_heads):
    return x[:, None].expand(-1, num_heads, -1, -1)


def _one_head(x, num_heads):
    return x[:, None]


def _not_at_all(x, num_heads):
    return x


def _slices(step):
    """head_dim numbers of each word for each head. step: takes num_heads, returns how far it is
    from the first number of one head to that of the next."""

    def split(x, num_heads):
        head_dim = x.shape[-1] // num_heads
        starts = range(0, step(num_heads) * num_heads, step(num_heads))
        return torch.stack([x[..., k : k + head_dim] for k in starts], dim=1)

    return split


WRONG_SPLITS = {
    "split by view without transpose": (
        _by_view,
        lambda x, num_heads: _by_view(x, num_heads).transpose(1, 2),
    ),
    "transpose left out": _cut,
    "numbers dealt out in turn": _dealt_out,
    "num_heads and head_dim mixed up": (
        lambda x, num_heads: _mixed_up(x, num_heads).transpose(1, 2),
        _mixed_up,
    ),
    "wrong dimensions exchanged": (
        lambda x, num_heads: _cut(x, num_heads).transpose(2, 3),
        lambda x, num_heads: _cut(x, num_heads).transpose(1, 3),
        lambda x, num_heads: _cut(x, num_heads).transpose(0, 1),
    ),
    "heads before the batch": lambda x, num_heads: _cut(x, num_heads).permute(2, 0, 1, 3),
    "batch lost": lambda x, num_heads: _split(x, num_heads)[0],
    "every head gets all numbers": (_all_to_each, _one_head),
    "only the first head": lambda x, num_heads: _split(x, num_heads)[:, :1],
    "not split": _not_at_all,
    "one projection for all heads": lambda x, num_heads: _split(x, num_heads)[:, :1].expand(
        -1, num_heads, -1, -1
    ),
    "slices do not step by head_dim": (
        _slices(lambda num_heads: 1),
        _slices(lambda num_heads: num_heads),
    ),
    "transposed before it was cut": (
        lambda x, num_heads: x.transpose(1, 2).reshape(len(x), num_heads, x.shape[1], -1),
        lambda x, num_heads: (
            x.transpose(1, 2).reshape(len(x), x.shape[1], num_heads, -1).transpose(1, 2)
        ),
    ),
    "always 2 heads": lambda x, num_heads: _split(x, 2),
    "always 2 numbers for a head": lambda x, num_heads: x.reshape(
        *x.shape[:2], num_heads, 2
    ).transpose(1, 2),
}

# --- merge: takes x of the heads, b and n ---


def _merged(x, b, n):
    return x.transpose(1, 2).reshape(b, n, -1)


def _not_transposed(x, b, n):
    return x.reshape(b, n, -1)


def _sizes_kept(x, b, n):
    """Whatever b and n are."""
    return x.transpose(1, 2).flatten(2)


def _merged_in_turn(x, b, n):
    return x.permute(0, 2, 3, 1).reshape(b, n, -1)


IN_TURN = "numbers dealt out in turn"
WRONG_MERGES = {
    "merged without transposing back": _not_transposed,
    "view after transpose": lambda x, b, n: x.transpose(1, 2).view(b, n, -1),
    "heads averaged": lambda x, b, n: x.mean(1),
    "heads added": lambda x, b, n: x.sum(1),
    "largest of the heads": lambda x, b, n: x.amax(1),
    "merged with the heads before the batch": (
        lambda x, b, n: x.transpose(0, 1).reshape(b, n, -1),
        lambda x, b, n: x.permute(1, 2, 0, 3).reshape(b, n, -1),
    ),
    "concatenated along tokens": lambda x, b, n: x.flatten(1, 2),
    "concatenated along the batch": lambda x, b, n: x.transpose(0, 1).flatten(0, 1),
    IN_TURN: _merged_in_turn,
    "wrong dimensions exchanged": (
        lambda x, b, n: x.transpose(2, 3).reshape(b, n, -1),
        lambda x, b, n: x.transpose(1, 3).reshape(b, n, -1),
    ),
    "only the first head": lambda x, b, n: x[:, 0],
    "only the last head": lambda x, b, n: x[:, -1],
    "not merged": (lambda x, b, n: x, lambda x, b, n: x.transpose(1, 2)),
    "batch lost": (
        lambda x, b, n: x[0].transpose(0, 1).flatten(1),
        lambda x, b, n: x.transpose(1, 2).reshape(n, -1),
    ),
}

# --- as variants ---


def _of_all(way):
    """Queries, keys and values split alike."""
    return lambda s: tuple(way(x, s.num_heads) for x in (s.queries, s.keys, s.values))


def split_by(way):
    return {"split": _of_all(way)}


def _values_by(way):
    """Queries and keys split as they should be, values like this."""
    return {"split": lambda s: (*_of_all(_split)(s)[:2], way(s.values, s.num_heads))}


def _merging(way):
    return lambda s: way(s.contexts, *s.inputs.shape[:2])


def merge_by(way):
    return {"merge": _merging(way)}


def output(state):
    return state.contexts @ state.W_out + state.b_out


NO_OUTPUT = {"output": lambda s: s.contexts}


def _fitting(rows_of):
    """A W_out for rows of other sizes: with the right one many mistakes raise the same error.

    rows_of: takes d_out and num_heads.
    """

    def change(probe):
        *rest, W_out, b_out, num_heads = probe.args
        fitting = torch.cat([k * W_out for k in range(1, num_heads + 1)])
        rows = rows_of(len(W_out), num_heads)
        return replace(probe, args=(*rest, fitting[:rows], b_out, num_heads))

    return change


_for_one_head = _fitting(lambda d_out, num_heads: d_out // num_heads)
_for_whole_heads = _fitting(lambda d_out, num_heads: d_out * num_heads)


def _misfit(change, *choices):
    """Not d_out numbers in a row, which is what W_out takes: seen without W_out, or with one
    that fits."""
    return alone(*(choice | NO_OUTPUT for choice in choices)), seen_on(change, *choices)


def _future_words(state):
    """(n, n), however many scores there are."""
    n = state.inputs.shape[1]
    return torch.ones(n, n, dtype=torch.bool).triu(1)


def _heads_among_themselves():
    """Each mask and each way to merge that can follow a split without transpose."""
    masks = (
        {},
        {"mask": hide(_future_words)},
        {"mask": lambda s: s.scores.masked_fill_(_future_words(s), -torch.inf)},
        {"mask": hide(value=-1e9)},
        {"mask": nothing_hidden},
    )
    merges = ({}, merge_by(_not_transposed), merge_by(_sizes_kept))
    first, second, *others = (split_by(_cut) | mask | merge for mask in masks for merge in merges)
    return first, second, alone(*others)


# --- the stages, of exercises that take ..., W_out, b_out, num_heads ---

_SPLITS = each_way(_of_all, WRONG_SPLITS)
_OF_OTHER_SHAPES = (
    "num_heads and head_dim mixed up",
    "wrong dimensions exchanged",
    "batch lost",
    "not split",
    "always 2 numbers for a head",
)
# Only the first head: the numbers are the same where all are split and one is merged.
SPLIT = Stage(_of_all(_split), _SPLITS).less("only the first head")
SPLIT = SPLIT.plus(
    {
        "split by view without transpose": (
            *_SPLITS["split by view without transpose"],
            split_by(_by_view) | merge_by(_not_transposed),
        ),
        "transpose left out": _heads_among_themselves(),
        **{name: alone(*_SPLITS[name]) for name in _OF_OTHER_SHAPES},
        IN_TURN: (_of_all(_dealt_out), split_by(_dealt_out) | merge_by(_merged_in_turn)),
        "every head gets all numbers": _misfit(_for_whole_heads, split_by(_all_to_each)),
        "heads not split": (
            _of_all(_one_head),
            split_by(_one_head) | {"scale": by(lambda s: (s.d_k / s.num_heads) ** 0.5)},
        ),
        "values not split": (
            *_misfit(_for_whole_heads, _values_by(_one_head)),
            alone(_values_by(_not_at_all)),
        ),
    }
)
_MERGES = each_way(_merging, WRONG_MERGES)
# With these a row has head_dim numbers only.
_OF_ONE_HEAD = (
    "heads averaged",
    "heads added",
    "largest of the heads",
    "concatenated along tokens",
    "concatenated along the batch",
    "only the first head",
    "only the last head",
    "not merged",
)
MERGE = Stage(_merging(_merged), _MERGES).less(IN_TURN)
MERGE = MERGE.plus(
    {
        **{
            name: _misfit(_for_one_head, *({"merge": variant} for variant in _MERGES[name]))
            for name in _OF_ONE_HEAD
        },
        "view after transpose": alone(*_MERGES["view after transpose"]),
        "merged with numbers in turn": _MERGES[IN_TURN],
    }
)
OUTPUT = Stage(
    output,
    {
        "out_proj forgotten": NO_OUTPUT,
        "bias of out_proj forgotten": lambda s: s.contexts @ s.W_out,
        "W_out transposed": (
            lambda s: s.contexts @ s.W_out.T + s.b_out,
            lambda s: s.contexts @ s.W_out.T,
        ),
        "residual added": (
            lambda s: output(s) + s.inputs,
            lambda s: s.inputs + output(s),  # where sizes do not fit, it raises other words
        ),
    },
)
