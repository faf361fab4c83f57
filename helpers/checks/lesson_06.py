"""Lesson 06: attention in several heads.

As in lesson 04, each table holds the forms of one stage. A tensor of the heads is
(b, num_heads, n, head_dim); b sentences of n words.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace

import torch
from torch.nn.functional import multi_head_attention_forward

from .. import attention
from .declare import Exercise, Mistake, Probe, overflow, soft, stable
from .lesson_04 import (
    BLEND,
    COUNTED,
    MASK,
    NORMALISE,
    PROJECT,
    SCALE,
    SCORE,
    WRONG_ROLES,
    WRONG_SCALE,
    WRONG_WEIGHTS,
    attend,
    exact,
    future,
    mistake,
    past,
    plainly,
    wrong,
)
from .probes import sentence
from .results import attempt, call_ours, same

VIEW = (
    "view(b, num_heads, n, head_dim) cuts the sentence into pieces: use "
    "view(b, n, num_heads, head_dim), then transpose(1, 2)."
)
NO_TRANSPOSE = "Without transpose(1, 2) the heads of one word attend to each other, not the words."
GLUED = (
    "You put words of one head beside each other: transpose(1, 2) back to "
    "(b, n, num_heads, head_dim) first, then reshape to (b, n, d_out)."
)
NOT_CONTIGUOUS = (
    "transpose changes the order without moving a number, and view needs them in order: "
    ".contiguous().view(...) or .reshape(...)."
)
ALONG_WORDS = (
    "You put the heads below each other, as if they were more words: put them side by side, "
    "along the LAST dim."
)
NOT_AVERAGED = "Heads are put side by side, not averaged."
NOT_ADDED_UP = "Heads are put side by side, not added."
ALL_HEADS = "All heads are wanted, side by side."
REPLACED = "Each head replaced the one before: put them side by side."
STILL_4 = "Still 4 dims: num_heads and head_dim become one, d_out."
DEALT = "A head has head_dim numbers in a row: view(b, n, num_heads, head_dim)."
MIXED_UP = "num_heads and head_dim are mixed up: view(b, n, num_heads, head_dim)."


# --- stages ---


def _cut(x, num_heads):
    """(b, n, num_heads, head_dim)"""
    return x.unflatten(-1, (num_heads, -1))


def _cut_wrongly(x, num_heads):
    """(b, n, head_dim, num_heads)"""
    return x.unflatten(-1, (-1, num_heads))


SPLIT = {
    "right": lambda x, num_heads: _cut(x, num_heads).transpose(1, 2),
    "by view": lambda x, num_heads: x.reshape(len(x), num_heads, x.shape[1], -1),
    "by view, then transposed": lambda x, num_heads: SPLIT["by view"](x, num_heads).transpose(1, 2),
    "not transposed": _cut,
    "dealt out": lambda x, num_heads: _cut_wrongly(x, num_heads).permute(0, 3, 1, 2),
    "sizes mixed up": lambda x, num_heads: _cut_wrongly(x, num_heads).transpose(1, 2),
    "sizes mixed up, not transposed": _cut_wrongly,
    "transpose(2, 3)": lambda x, num_heads: _cut(x, num_heads).transpose(2, 3),
    "transpose(1, 3)": lambda x, num_heads: _cut(x, num_heads).transpose(1, 3),
    "heads first": lambda x, num_heads: _cut(x, num_heads).permute(2, 0, 1, 3),
    "transpose(0, 1)": lambda x, num_heads: _cut(x, num_heads).transpose(0, 1),
    "first sentence": lambda x, num_heads: _cut(x, num_heads)[0].transpose(0, 1),
    "all to each": lambda x, num_heads: x[:, None].expand(-1, num_heads, -1, -1),
    "one": lambda x, num_heads: x[:, None],
    "not at all": lambda x, num_heads: x,
    "first head": lambda x, num_heads: _cut(x, num_heads)[:, None, :, 0],
    "2 heads": lambda x, num_heads: _cut(x, 2).transpose(1, 2),
    "2 numbers": lambda x, num_heads: x.view(*x.shape[:2], num_heads, 2).transpose(1, 2),
    "batch and words exchanged": lambda x, num_heads: _cut(x, num_heads).permute(1, 2, 0, 3),
}
# merge(x, b, n), x of the heads.
MERGE = {
    "right": lambda x, b, n: x.transpose(1, 2).reshape(b, n, -1),
    "as the heads say": lambda x, b, n: x.transpose(1, 2).flatten(2),
    "not transposed": lambda x, b, n: x.reshape(b, n, -1),
    "view": lambda x, b, n: x.transpose(1, 2).view(b, n, -1),
    "average": lambda x, b, n: x.mean(1),
    "sum": lambda x, b, n: x.sum(1),
    "along the words": lambda x, b, n: x.flatten(1, 2),
    "along the batch": lambda x, b, n: x.transpose(0, 1).flatten(0, 1),
    "dealt out": lambda x, b, n: x.permute(0, 2, 3, 1).reshape(b, n, -1),
    "transpose(2, 3)": lambda x, b, n: x.transpose(2, 3).reshape(b, n, -1),
    "transpose(1, 3)": lambda x, b, n: x.transpose(1, 3).reshape(b, n, -1),
    "first head": lambda x, b, n: x[:, 0],
    "last head": lambda x, b, n: x[:, -1],
    "transposed only": lambda x, b, n: x.transpose(1, 2),
    "not at all": lambda x, b, n: x,
    "first sentence": lambda x, b, n: x[0].transpose(0, 1).flatten(1),
    "batch lost": lambda x, b, n: x.transpose(1, 2).reshape(n, -1),
    "batch and words exchanged": lambda x, b, n: x.transpose(1, 2).flatten(2).transpose(0, 1),
}


def _hidden(diagonal, upper=True, value=-torch.inf):
    """What is on and above the diagonal, or on and below it, has this score."""

    part = future if upper else past
    return lambda scores, at: scores.masked_fill(part(scores, diagonal), value)


def _low(number):
    """A low number hides the scores, after they are scaled or before."""

    def before(scores, at):
        return _hidden(1, value=number / SCALE["right"](at))(scores, at)

    return _hidden(1, value=number), before


def _mask_of_words(at):
    return attention.causal_mask(at.inputs.shape[1])


MASK = MASK | {
    "low": _hidden(1, value=-1e9),
    "zero": _hidden(1, value=0.0),
    "infinite": _hidden(1, value=torch.inf),
    "upside down": _hidden(0, upper=False),
    "upside down, diagonal kept": _hidden(-1, upper=False),
    "diagonal too": _hidden(0),
    "too generous": _hidden(2),
    "ones added": lambda scores, at: scores + torch.ones_like(scores).triu(1),
    "made for n words": lambda scores, at: scores.masked_fill(_mask_of_words(at), -torch.inf),
    "made for n words, in place": lambda scores, at: scores.masked_fill_(
        _mask_of_words(at), -torch.inf
    ),
}
# What .T does to a tensor of 4 dims, without its warning.
SCORE = SCORE | {".T": lambda queries, keys: queries @ keys.permute(3, 2, 1, 0)}
NORMALISE = NORMALISE | {
    "over the heads": lambda scores, exp: soft(scores, exp, dim=1),
    "over the batch": lambda scores, exp: soft(scores, exp, dim=0),
    "over batch and heads": lambda scores, exp: soft(scores, exp, dim=(0, 1)),
    "masked after": lambda scores, exp: soft(scores, exp).tril(),
    "masked between": lambda scores, exp: soft(soft(scores, exp).tril(), exp),
    "0 for NaN": lambda scores, exp: soft(scores, exp).nan_to_num(0.0),
}
SCALE = SCALE | {
    "d_out": lambda at: (at.keys.shape[-1] * at.num_heads) ** 0.5,
    "d_out, no root": lambda at: at.keys.shape[-1] * at.num_heads,
    "head_dim of one head": lambda at: (at.keys.shape[-1] / at.num_heads) ** 0.5,
    "heads": lambda at: at.num_heads**0.5,
    "heads, no root": lambda at: at.num_heads,
    "batch": lambda at: len(at.inputs) ** 0.5,
}
OUTPUT = {
    "right": lambda x, W_out, b_out: x @ W_out + b_out,
    "none": lambda x, W_out, b_out: x,
    "no bias": lambda x, W_out, b_out: x @ W_out,
    "transposed": lambda x, W_out, b_out: x @ W_out.T + b_out,
    "transposed, no bias": lambda x, W_out, b_out: x @ W_out.T,
}


def _each(split):
    """Queries, keys and values split alike."""
    return lambda *qkv, num_heads: tuple(split(x, num_heads) for x in qkv)


def _all_but_values(form):
    def split(queries, keys, values, num_heads):
        queries, keys = (SPLIT["right"](x, num_heads) for x in (queries, keys))
        return queries, keys, SPLIT[form](values, num_heads)

    return split


@dataclass(frozen=True)
class MultiHead:
    """multi_head in stages."""

    project: Callable = PROJECT["qkv"]
    split: Callable = _each(SPLIT["right"])
    score: Callable = SCORE["right"]
    scale: Callable = SCALE["right"]
    mask: Callable = MASK["causal"]
    normalise: Callable = NORMALISE["right"]
    blend: Callable = BLEND["right"]
    merge: Callable = MERGE["right"]
    output: Callable = OUTPUT["right"]

    def __call__(self, inputs, W_query, W_key, W_value, W_out, b_out, num_heads, exp=stable):
        projected = self.project(inputs, W_query, W_key, W_value)
        queries, keys, values = self.split(*projected, num_heads=num_heads)
        at = SimpleNamespace(
            inputs=inputs, queries=queries, keys=keys, values=values, num_heads=num_heads
        )
        merged = self.merge(attend(self, at, exp), *inputs.shape[:2])
        return self.output(merged, W_out, b_out)


# --- probes ---


def _different(*shape):
    """No number twice, and sixteenths, so that most are rounded by rounding to 3 decimals."""
    return exact(*shape, step=7, unit=16, period=127)


def _batches():
    return [
        Probe("a batch of 1, 6 words of 4 numbers, 2 heads", (_different(1, 6, 4), 2)),
        Probe("a batch of 2, 5 words of 12 numbers, 3 heads", (_different(2, 5, 12).double(), 3)),
        Probe("a batch of 3, 4 words of 6 numbers, 2 heads", (_different(3, 4, 6), 2)),
    ]


def _batches_of_heads():
    return [
        Probe("a batch of 1, 2 heads, 6 words of 2 numbers", (_different(1, 2, 6, 2),)),
        Probe("a batch of 2, 3 heads, 5 words of 4 numbers", (_different(2, 3, 5, 4).double(),)),
        Probe("a batch of 3, 2 heads, 4 words of 3 numbers", (_different(3, 2, 4, 3),)),
    ]


# In the first sentence the first two numbers of a word make its scores: near -4000000 for the
# first two words, below every number that somebody may take for low, and near 1000 for the last.
# The second sentence shows what an exp that overflows hides in the first.
STRONG = torch.tensor(
    [
        [[-4000.0, 2000.0, 0.5], [-4000.0, 2000.5, -1.0], [1.0, 2001.0, 1.5]],
        [[0.5, -1.5, 1.25], [-1.0, 2.0, 0.75], [1.5, 0.5, -1.0]],
    ],
    dtype=torch.float64,
)


def _strong_matrices():
    """2 heads of 4 numbers, so that sqrt(head_dim) is exact."""
    query, key, value = (exact(3, 8, step=step).double() for step in (5, 3, 7))
    for matrix, row in ((query, 0), (key, 1)):
        matrix[:, ::4] = 0
        matrix[:2] = 0
        matrix[row, ::4] = 1
    value[:2] = 0
    return query, key, value, exact(8, 8, step=5).double(), exact(8, step=3).double()


def _sentences():
    generator = torch.Generator().manual_seed(123)
    first = [torch.rand(3, 4, generator=generator) for _ in range(3)]
    second = (exact(4, 6, step=step).double() for step in (5, 7, 3))
    return [
        Probe(
            "the sentence, 2 heads",
            (sentence()[None], *first, exact(4, 4), exact(4, step=3), 2),
        ),
        Probe(
            "2 sentences of 5 words, 3 heads",
            (
                exact(2, 5, 4, step=7, unit=4).double(),
                *second,
                exact(6, 6).double(),
                exact(6, step=3).double(),
                3,
            ),
        ),
        Probe(
            "2 sentences, one with scores near 1000 and -4000000, 2 heads",
            (STRONG, *_strong_matrices(), 2),
        ),
        # 2 of everything: what raises elsewhere shows its numbers here.
        Probe(
            "2 sentences of 2 words, 2 heads of 2 numbers",
            (
                exact(2, 2, 3, step=3, unit=4),
                *(exact(3, 4, step=step) for step in (7, 5, 3)),
                exact(4, 4, step=9),
                exact(4, step=5),
                2,
            ),
        ),
    ]


# --- split_heads and merge_heads ---


def _merging(*rows):
    """Mistakes of merge_heads: name, advice, wrong forms."""

    def sized(merge):
        return lambda x: merge(x, len(x), x.shape[2])

    return tuple(mistake(name, advice, *map(sized, forms)) for name, advice, *forms in rows)


SPLITTING = Exercise(
    "split_heads",
    "split_heads(x, num_heads) -> (b, num_heads, n, head_dim)",
    "scores",
    attention.split_heads,
    _batches,
    (
        mistake(
            "split by view without transpose",
            VIEW,
            SPLIT["by view"],
            SPLIT["by view, then transposed"],
        ),
        mistake(
            "transpose left out",
            "You have (b, n, num_heads, head_dim): exchange words and heads with transpose(1, 2).",
            SPLIT["not transposed"],
        ),
        mistake("numbers dealt out in turn", DEALT, SPLIT["dealt out"]),
        mistake(
            "num_heads and head_dim mixed up",
            MIXED_UP,
            SPLIT["sizes mixed up"],
            SPLIT["sizes mixed up, not transposed"],
        ),
        mistake(
            "wrong dimensions exchanged",
            "Only dim 1 and dim 2 change places: view(...).transpose(1, 2).",
            SPLIT["transpose(2, 3)"],
            SPLIT["transpose(1, 3)"],
            SPLIT["transpose(0, 1)"],
        ),
        mistake(
            "heads before the batch",
            "The batch comes first: stack the heads along dim 1.",
            SPLIT["heads first"],
        ),
        mistake(
            "batch lost",
            "Only the first sentence is left: keep dim 0, the batch, as it is.",
            SPLIT["first sentence"],
        ),
        mistake(
            "every head gets all numbers",
            "d_out is shared out: a head gets d_out / num_heads numbers of each word.",
            SPLIT["all to each"],
            SPLIT["one"],
        ),
        mistake("only the first head", "All heads are wanted, along dim 1.", SPLIT["first head"]),
        mistake(
            "not split", "This is x as it was: give each head its own numbers.", SPLIT["not at all"]
        ),
        mistake("always 2 heads", "The number of heads is num_heads.", SPLIT["2 heads"]),
        mistake(
            "always 2 numbers for a head",
            "head_dim is d_out / num_heads.",
            SPLIT["2 numbers"],
        ),
    ),
)

MERGING = Exercise(
    "merge_heads",
    "merge_heads(x) -> (b, n, d_out)",
    "scores",
    attention.merge_heads,
    _batches_of_heads,
    _merging(
        ("merged without transposing back", GLUED, MERGE["not transposed"]),
        ("view after transpose", NOT_CONTIGUOUS, MERGE["view"]),
        ("heads averaged", NOT_AVERAGED, MERGE["average"]),
        ("heads added", NOT_ADDED_UP, MERGE["sum"]),
        ("concatenated along tokens", ALONG_WORDS, MERGE["along the words"]),
        (
            "concatenated along the batch",
            "You made more sentences of the heads: put them side by side, along the LAST dim.",
            MERGE["along the batch"],
        ),
        (
            "numbers dealt out in turn",
            "The numbers of a head stay together: all of head 0, then all of head 1.",
            MERGE["dealt out"],
        ),
        (
            "wrong dimensions exchanged",
            "Exchange heads and words, dim 1 and dim 2: transpose(1, 2).",
            MERGE["transpose(2, 3)"],
            MERGE["transpose(1, 3)"],
        ),
        ("only the first head", ALL_HEADS, MERGE["first head"]),
        (
            "only the last head",
            REPLACED,
            MERGE["last head"],
        ),
        (
            "not merged",
            STILL_4,
            MERGE["not at all"],
            MERGE["transposed only"],
        ),
        (
            "batch lost",
            "Keep dim 0, the batch, as it is: the result is (b, n, d_out).",
            MERGE["first sentence"],
            MERGE["batch lost"],
        ),
    ),
)

# --- multi_head ---


def _over(name, advice, *normalise):
    """Softmax along another dim: with minus infinity all hidden ones can meet, and give NaN."""
    masks = (MASK["causal"], MASK["low"])
    return mistake(
        name, advice, *(MultiHead(normalise=f, mask=m) for f in normalise for m in masks)
    )


def _heads_among_themselves():
    """Each mask and each way to merge that can follow a split without transpose."""
    for mask in ("made for n words", "made for n words, in place", "causal", "low", "none"):
        for merge in ("right", "not transposed", "as the heads say"):
            split = _each(SPLIT["not transposed"])
            yield plainly(MultiHead(split=split, mask=MASK[mask], merge=MERGE[merge]))


def _mask_of_words_across_batch(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    """nn.MultiheadAttention, which takes the first dim for the words."""
    d_out = W_query.shape[1]
    return multi_head_attention_forward(
        *PROJECT["qkv"](inputs, W_query, W_key, W_value),
        d_out,
        num_heads,
        torch.eye(d_out, dtype=inputs.dtype).repeat(3, 1),
        *(None, None, None, False, 0.0),
        W_out.T,
        b_out,
        attn_mask=torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool).triu(1),
    )[0]


def _misfit(name, advice, *forms):
    """Not d_out numbers in a row, which is what W_out takes. Without W_out they are seen; with
    it many mistakes raise the same error, and an experiment with a W_out that fits tells which
    one it is."""
    bare = [replace(form, output=OUTPUT["none"]) for form in forms]

    def shows(seen):
        probe = seen.probes[1]
        if not isinstance(seen.mine[1].outcome.error, RuntimeError):
            return False
        *rest, W_out, b_out, num_heads = probe.args
        for form, without in zip(forms, bare, strict=True):
            rows = without(*probe.args).shape[-1]
            fitting = torch.cat([k * W_out for k in range(1, num_heads + 1)])[:rows]
            args = (*rest, fitting, b_out, num_heads)
            if same(seen.ask(1, args=args), attempt(form, replace(probe, args=args), call_ours)):
                return True
        return False

    code, *also = map(plainly, forms)
    return (
        mistake(name, advice, *bare),
        Mistake(name, code, advice, also=tuple(also), shows=shows),
    )


def _merged(*merges):
    return (MultiHead(merge=MERGE[merge]) for merge in merges)


_across_batch = MultiHead(
    split=_each(SPLIT["batch and words exchanged"]), merge=MERGE["batch and words exchanged"]
)
_one_head = MultiHead(split=_each(SPLIT["one"]))

MULTI_HEAD = Exercise(
    "multi_head",
    "multi_head(inputs, W_query, W_key, W_value, W_out, b_out, num_heads) -> (b, n, d_out)",
    "values",
    attention.multi_head,
    _sentences,
    (
        # Split.
        mistake(
            "split by view without transpose",
            VIEW,
            MultiHead(split=_each(SPLIT["by view"])),
            MultiHead(split=_each(SPLIT["by view"]), merge=MERGE["not transposed"]),
        ),
        mistake("transpose left out", NO_TRANSPOSE, *_heads_among_themselves()),
        mistake(
            "numbers dealt out in turn",
            DEALT,
            MultiHead(split=_each(SPLIT["dealt out"])),
            MultiHead(split=_each(SPLIT["dealt out"]), merge=MERGE["dealt out"]),
        ),
        mistake(
            "heads not split",
            "This is ONE head of full width.",
            _one_head,
            replace(_one_head, scale=SCALE["head_dim of one head"]),
        ),
        *_misfit(
            "values not split",
            "The values need split_heads too, like queries and keys.",
            MultiHead(split=_all_but_values("one")),
        ),
        mistake(
            "values not split",
            "The values need split_heads too, like queries and keys.",
            plainly(MultiHead(split=_all_but_values("not at all"))),
        ),
        *_misfit(
            "every head gets all numbers",
            "d_out is shared out: a head gets d_out / num_heads numbers of each word.",
            MultiHead(split=_each(SPLIT["all to each"])),
        ),
        mistake(
            "batch_first forgotten",
            "The batch was taken for the words: nn.MultiheadAttention expects (n, b, d) unless "
            "batch_first=True.",
            _across_batch,
            replace(_across_batch, mask=MASK["none"]),
            _mask_of_words_across_batch,
        ),
        # Roles, score and scale.
        *wrong(MultiHead, "project", *WRONG_ROLES),
        mistake(
            ".T on a batch",
            ".T reverses ALL dims of a tensor: use transpose(-2, -1).",
            *(MultiHead(score=SCORE[".T"], mask=MASK[mask]) for mask in ("causal", "none")),
        ),
        *wrong(
            MultiHead,
            "scale",
            (
                "scaled by sqrt(d_model)",
                "d_k is the size of a key of ONE head, d_out / num_heads, not d_out.",
                SCALE["d_out"],
                SCALE["d_out, no root"],
            ),
            ("no scaling", "1/sqrt(head_dim) is missing.", SCALE["none"]),
            (
                "always sqrt(2)",
                "sqrt(2) is right for keys of 2 numbers only: d_k is head_dim, d_out / num_heads.",
                SCALE["sqrt(2)"],
            ),
            *WRONG_SCALE,
            (
                "scaled by sqrt(h)",
                "The number of heads is not d_k: it must be sqrt(head_dim).",
                SCALE["heads"],
                SCALE["heads, no root"],
            ),
            (
                "scaled by the embedding size",
                "You divided by the root of the size of a WORD; d_k is head_dim.",
                SCALE["d_in"],
            ),
            (
                "scaled by the number of words",
                COUNTED,
                SCALE["keys counted"],
                SCALE["keys counted, no root"],
            ),
            ("scaled by the size of the batch", COUNTED, SCALE["batch"]),
        ),
        # Mask.
        *wrong(
            MultiHead,
            "mask",
            (
                "no causal mask",
                "A word sees the words after it: hide the scores above the diagonal.",
                MASK["none"],
            ),
            ("masked with 0", "exp(0) = 1: use minus infinity.", MASK["zero"]),
            (
                "mask upside down",
                "Upside down: you hid the words BEFORE. The words after are to be hidden.",
                MASK["upside down"],
            ),
            (
                "mask upside down, diagonal kept",
                "Upside down: the first word sees all, the last one only itself.",
                MASK["upside down, diagonal kept"],
            ),
            (
                "diagonal masked too",
                "A word may see itself: use diagonal=1. Row 0 has nothing left, 0/0 = NaN.",
                MASK["diagonal too"],
            ),
            (
                "one step too generous",
                "Off by one: each word sees the NEXT word, the very one to predict.",
                MASK["too generous"],
            ),
            (
                "mask of ones added",
                "The mask was added to the scores as a number 1: it must be minus infinity.",
                MASK["ones added"],
            ),
        ),
        mistake(
            "a number not low enough",
            "Another score can be lower still: use minus infinity.",
            *(
                plainly(MultiHead(mask=mask))
                for number in (-100, -10, -5, -2, -1)
                for mask in _low(number)
            ),
        ),
        mistake(
            "+inf",
            "exp of infinity is infinite, and inf / inf is NaN: it must be MINUS infinity.",
            plainly(MultiHead(mask=MASK["infinite"])),
        ),
        mistake(
            "bool mask handed to the wrong function",
            "scaled_dot_product_attention: True = MAY attend; nn.MultiheadAttention: True = may "
            "NOT. Use ~mask.",
            MultiHead(mask=MASK["upside down"], normalise=NORMALISE["0 for NaN"]),
        ),
        # Weights.
        *wrong(MultiHead, "normalise", *WRONG_WEIGHTS),
        *overflow(MultiHead()),
        _over(
            "softmax over the heads",
            "Softmax over dim 1 = heads; it must be the keys (dim -1).",
            NORMALISE["over the heads"],
        ),
        _over(
            "softmax over the queries",
            "Softmax over the queries; it must be the keys (dim -1).",
            NORMALISE["over the queries"],
        ),
        _over(
            "softmax over the batch",
            "Softmax ran over the batch; it must be the keys (dim -1).",
            NORMALISE["over the batch"],
            NORMALISE["over batch and heads"],
        ),
        mistake(
            "mask after softmax",
            "The rows no longer sum to 1: hide the scores BEFORE softmax.",
            MultiHead(mask=MASK["none"], normalise=NORMALISE["masked after"]),
        ),
        mistake(
            "softmax, mask, softmax",
            "The second softmax turns the zeros into exp(0) = 1. Divide by the sum instead.",
            MultiHead(mask=MASK["none"], normalise=NORMALISE["masked between"]),
        ),
        *wrong(
            MultiHead,
            "blend",
            (
                "weights transposed",
                "Row i must blend with ROW i of the weights: weights @ values.",
                BLEND["transposed"],
            ),
        ),
        # Merge and output.
        *wrong(
            MultiHead,
            "merge",
            ("merged without transposing back", GLUED, MERGE["not transposed"]),
            ("view after transpose", NOT_CONTIGUOUS, MERGE["view"]),
            (
                "merged with numbers in turn",
                "The numbers of a head stay together: all of head 0, then all of head 1.",
                MERGE["dealt out"],
            ),
        ),
        *_misfit("heads averaged", NOT_AVERAGED, *_merged("average")),
        *_misfit("heads added", NOT_ADDED_UP, *_merged("sum")),
        *_misfit("only the first head", ALL_HEADS, *_merged("first head")),
        *_misfit("only the last head", REPLACED, *_merged("last head")),
        *_misfit("concatenated along tokens", ALONG_WORDS, *_merged("along the words")),
        *_misfit("not merged", STILL_4, *_merged("not at all", "transposed only")),
        *wrong(
            MultiHead,
            "output",
            (
                "out_proj forgotten",
                "The last step is missing: @ W_out + b_out, which mixes the heads.",
                OUTPUT["none"],
            ),
            ("bias of out_proj forgotten", "b_out is missing.", OUTPUT["no bias"]),
            (
                "W_out transposed",
                "W_out is used as it is: @ W_out, without .T (nn.Linear keeps it transposed).",
                OUTPUT["transposed"],
                OUTPUT["transposed, no bias"],
            ),
        ),
    ),
)
