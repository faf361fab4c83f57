"""Lesson 06: attention in several heads.

A tensor of the heads is (b, num_heads, n, head_dim); b sentences of n words.
"""

from dataclasses import replace
from operator import attrgetter

import torch
from torch.nn.functional import multi_head_attention_forward

from .. import attention
from . import stages
from .declare import Exercise, Mistake, Probe, stable
from .lesson_04 import exact
from .lesson_05 import IN_MASKED_WEIGHTS
from .probes import sentence
from .sources import SOURCES
from .stages import Staged, by, dot, hide, past, roles, the_future, wrong

VIEW = (
    "view(b, num_heads, n, head_dim) cuts the sentence into pieces. Use view(b, n, num_heads, "
    "head_dim), then transpose(1, 2)."
)
NO_TRANSPOSE = (
    "The heads of one word attend to each other, not the words. Exchange words and heads: "
    "transpose(1, 2)."
)
GLUED = (
    "You put words of one head beside each other. Use transpose(1, 2) back to (b, n, num_heads, "
    "head_dim) first, then reshape to (b, n, d_out)."
)
NOT_CONTIGUOUS = (
    "transpose changes the order without moving a number, and view needs them in order. Use "
    ".contiguous().view(...) or .reshape(...)."
)
ALONG_WORDS = (
    "You put the heads below each other, as if they were more words. Put them side by side, along "
    "the LAST dim."
)
NOT_AVERAGED = "Put the heads side by side, do not average them."
NOT_ADDED_UP = "Put the heads side by side, do not add them."
NOT_LARGEST = "You kept the largest number of all heads. Put the heads side by side."
NOT_ALIKE = "All heads are the same. Give head h the numbers from h * head_dim on."
STEPS = "Head h starts at h * head_dim. Use x[..., h * head_dim : (h + 1) * head_dim]."
CUT_FIRST = "Cut first, then transpose: view(b, n, num_heads, head_dim).transpose(1, 2)."
HEADS_BEFORE = (
    "With (num_heads, b, n, head_dim) a view mixes up sentences and heads. Make it (b, n, "
    "num_heads, head_dim) first."
)
ALL_HEADS = "Put all heads side by side."
REPLACED = "Each head replaced the one before. Put them side by side."
STILL_4 = "There are still 4 dims. Make num_heads and head_dim one, d_out."
DEALT = "A head has head_dim numbers in a row. Use view(b, n, num_heads, head_dim)."
MIXED_UP = "Use view(b, n, num_heads, head_dim): first num_heads, then head_dim."


# --- stages ---


def _cut(x, num_heads):
    """(b, n, num_heads, head_dim)"""
    return x.unflatten(-1, (num_heads, -1))


def _cut_wrongly(x, num_heads):
    """(b, n, head_dim, num_heads)"""
    return x.unflatten(-1, (-1, num_heads))


def _slices(x, num_heads, step):
    """head_dim numbers of each word for each head. step: from one head's first to the next's."""
    head_dim = x.shape[-1] // num_heads
    return torch.stack([x[..., step * k : step * k + head_dim] for k in range(num_heads)], dim=1)


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
    "first head to all": lambda x, num_heads: (
        _cut(x, num_heads)[:, :, :1].transpose(1, 2).expand(-1, num_heads, -1, -1)
    ),
    "slices from k on": lambda x, num_heads: _slices(x, num_heads, step=1),
    "slices from k * num_heads on": lambda x, num_heads: _slices(x, num_heads, step=num_heads),
    "transposed, then cut": lambda x, num_heads: x.transpose(1, 2).reshape(
        len(x), num_heads, x.shape[1], -1
    ),
    "transposed, then cut, transposed again": lambda x, num_heads: (
        x.transpose(1, 2).reshape(len(x), x.shape[1], num_heads, -1).transpose(1, 2)
    ),
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
    "largest": lambda x, b, n: x.amax(1),
    "heads before the batch": lambda x, b, n: x.transpose(0, 1).reshape(b, n, -1),
    "words before the batch": lambda x, b, n: x.permute(1, 2, 0, 3).reshape(b, n, -1),
    "transposed only": lambda x, b, n: x.transpose(1, 2),
    "not at all": lambda x, b, n: x,
    "first sentence": lambda x, b, n: x[0].transpose(0, 1).flatten(1),
    "batch lost": lambda x, b, n: x.transpose(1, 2).reshape(n, -1),
    "batch and words exchanged": lambda x, b, n: x.transpose(1, 2).flatten(2).transpose(0, 1),
}


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
# first word, below every number that somebody may take for low, near 4000000 for the second, with
# the last word 250 above it, which -100 does not hide, and near 1000 for the last.
# The second sentence shows what an exp that overflows hides in the first.
STRONG = torch.tensor(
    [
        [[-4000.0, 2000.0, 0.5], [4000.0, 2000.5, -1.0], [1.0, 2000.625, 1.5]],
        [[0.5, -1.5, 1.25], [-1.0, 2.0, 0.75], [1.5, 0.5, -1.0]],
    ],
    dtype=torch.float64,
)


def _strong_matrices():
    """4 heads of 4 numbers, so that the roots of head_dim and of d_out are exact."""
    query, key, value = (exact(3, 16, step=step).double() for step in (5, 3, 7))
    for matrix, row in ((query, 0), (key, 1)):
        matrix[:, ::4] = 0
        matrix[:2] = 0
        matrix[row, ::4] = 1
    value[:2] = 0
    return query, key, value, exact(16, 16, step=5).double(), exact(16, step=3).double()


def _sentences():
    generator = torch.Generator().manual_seed(123)
    first = [torch.rand(3, 4, generator=generator) for _ in range(3)]
    second = (exact(7, 12, step=step).double() for step in (5, 7, 3))
    words = exact(2, 5, 7, step=3, unit=4).double()
    words[1, 2] = 0  # scores of exactly 0
    return [
        Probe(
            "the sentence, 2 heads",
            (sentence()[None], *first, exact(4, 4), exact(4, step=3), 2),
        ),
        Probe(
            "2 sentences of 5 words, 3 heads",
            (
                words,
                *second,
                exact(12, 12).double(),
                exact(12, step=3).double(),
                3,
            ),
        ),
        Probe(
            "2 sentences, one with scores near 1000 and 4000000, 4 heads",
            (STRONG, *_strong_matrices(), 4),
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


def mistake(name, advice, *codes, **more):
    """A Mistake that is made by several codes."""
    code, *also = codes
    return Mistake(name, code, advice, also=tuple(also), **more)


def _merging(name, advice, *forms, **more):
    """A mistake of merge_heads. forms: of MERGE."""

    def sized(merge):
        return lambda x: merge(x, len(x), x.shape[2])

    return mistake(name, advice, *(sized(MERGE[form]) for form in forms), **more)


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
            source=SOURCES["split by view without transpose"],
        ),
        mistake(
            "transpose left out",
            "You have (b, n, num_heads, head_dim). Exchange words and heads with transpose(1, 2).",
            SPLIT["not transposed"],
            source=SOURCES["transpose left out"],
        ),
        mistake(
            "numbers dealt out in turn",
            DEALT,
            SPLIT["dealt out"],
            source=SOURCES["numbers dealt out in turn"],
        ),
        mistake(
            "num_heads and head_dim mixed up",
            MIXED_UP,
            SPLIT["sizes mixed up"],
            SPLIT["sizes mixed up, not transposed"],
            source="both orders multiply to d_out, and nothing raises",
        ),
        mistake(
            "wrong dimensions exchanged",
            "Only dim 1 and dim 2 change places. Use view(...).transpose(1, 2).",
            SPLIT["transpose(2, 3)"],
            SPLIT["transpose(1, 3)"],
            SPLIT["transpose(0, 1)"],
            source=SOURCES["wrong dimensions exchanged"],
        ),
        mistake(
            "heads before the batch",
            "The batch comes first. Put the heads along dim 1.",
            SPLIT["heads first"],
            source="torch.stack puts the new dim first",
        ),
        mistake(
            "batch lost",
            "Only the first sentence is left. Keep dim 0, the batch, as it is.",
            SPLIT["first sentence"],
            source=SOURCES["batch lost"],
        ),
        mistake(
            "every head gets all numbers",
            "d_out is shared out. Give a head d_out / num_heads numbers of each word.",
            SPLIT["all to each"],
            SPLIT["one"],
            source=SOURCES["every head gets all numbers"],
        ),
        mistake(
            "only the first head",
            "Return all heads, along dim 1.",
            SPLIT["first head"],
            source=SOURCES["only the first head"],
        ),
        mistake(
            "not split",
            "This is x as it was. Give each head its own numbers.",
            SPLIT["not at all"],
            source="view returns a new tensor; x itself was returned",
        ),
        mistake(
            "one projection for all heads",
            NOT_ALIKE,
            SPLIT["first head to all"],
            source=SOURCES["one projection for all heads"],
        ),
        mistake(
            "slices do not step by head_dim",
            STEPS,
            SPLIT["slices from k on"],
            SPLIT["slices from k * num_heads on"],
            source=SOURCES["slices do not step by head_dim"],
        ),
        mistake(
            "transposed before it was cut",
            CUT_FIRST,
            SPLIT["transposed, then cut"],
            SPLIT["transposed, then cut, transposed again"],
            source=SOURCES["transposed before it was cut"],
        ),
        mistake(
            "always 2 heads",
            "Use num_heads as the number of heads.",
            SPLIT["2 heads"],
            source="the sentence is shown with 2 heads",
        ),
        mistake(
            "always 2 numbers for a head",
            "Use d_out / num_heads as head_dim.",
            SPLIT["2 numbers"],
            source="the example has head_dim 2",
        ),
    ),
)

MERGING = Exercise(
    "merge_heads",
    "merge_heads(x) -> (b, n, d_out)",
    "scores",
    attention.merge_heads,
    _batches_of_heads,
    (
        _merging(
            "merged without transposing back",
            GLUED,
            "not transposed",
            source=SOURCES["merged without transposing back"],
        ),
        _merging(
            "view after transpose", NOT_CONTIGUOUS, "view", source=SOURCES["view after transpose"]
        ),
        _merging("heads averaged", NOT_AVERAGED, "average", source=SOURCES["heads averaged"]),
        _merging("heads added", NOT_ADDED_UP, "sum", source=SOURCES["heads added"]),
        _merging(
            "largest of the heads", NOT_LARGEST, "largest", source=SOURCES["largest of the heads"]
        ),
        _merging(
            "merged with the heads before the batch",
            HEADS_BEFORE,
            "heads before the batch",
            "words before the batch",
            source=SOURCES["merged with the heads before the batch"],
        ),
        _merging(
            "concatenated along tokens",
            ALONG_WORDS,
            "along the words",
            source=SOURCES["concatenated along tokens"],
        ),
        _merging(
            "concatenated along the batch",
            "You made more sentences of the heads. Put them side by side, along the LAST dim.",
            "along the batch",
            source="torch.cat has dim=0 as its default",
        ),
        _merging(
            "numbers dealt out in turn",
            "The numbers of a head stay together. Put all of head 0 first, then all of head 1.",
            "dealt out",
            source=SOURCES["numbers dealt out in turn"],
        ),
        _merging(
            "wrong dimensions exchanged",
            "Exchange heads and words, dim 1 and dim 2: transpose(1, 2).",
            "transpose(2, 3)",
            "transpose(1, 3)",
            source=SOURCES["wrong dimensions exchanged"],
        ),
        _merging(
            "only the first head", ALL_HEADS, "first head", source=SOURCES["only the first head"]
        ),
        _merging("only the last head", REPLACED, "last head", source=SOURCES["only the last head"]),
        _merging(
            "not merged", STILL_4, "not at all", "transposed only", source=SOURCES["not merged"]
        ),
        _merging(
            "batch lost",
            "Keep dim 0, the batch, as it is: the result is (b, n, d_out).",
            "first sentence",
            "batch lost",
            source=SOURCES["batch lost"],
        ),
    ),
)

# --- multi_head ---


def each(split):
    """Queries, keys and values split alike."""
    return lambda at: tuple(split(x, at.num_heads) for x in (at.queries, at.keys, at.values))


def _split(name):
    return {"split": each(SPLIT[name])}


def _merge(name):
    merge = MERGE[name]
    return {"merge": lambda at: merge(at.contexts, *at.inputs.shape[:2])}


def _all_but_values(form):
    def split(at):
        queries, keys = (SPLIT["right"](x, at.num_heads) for x in (at.queries, at.keys))
        return queries, keys, SPLIT[form](at.values, at.num_heads)

    return {"split": split}


def _masked(mask):
    return {"mask": mask}


def _mask_of_words(at):
    return attention.causal_mask(at.inputs.shape[1])


MULTI_HEAD_STAGES = Staged(
    ("inputs", "W_query", "W_key", "W_value", "W_out", "b_out", "num_heads"),
    (
        ("project", roles("qkv")),
        ("split", each(SPLIT["right"])),
        ("score", dot),
        ("scale", stages.by_root),
        ("mask", stages.causal),
        ("exp", lambda at: stable),
        ("normalise", stages.weigh),
        ("blend", stages.blend),
        *_merge("right").items(),
        ("output", lambda at: at.contexts @ at.W_out + at.b_out),
    ),
    attrgetter("contexts"),
)
NO_OUTPUT = {"output": lambda at: at.contexts}
LOW = _masked(hide(the_future, -1e9))


def staged(name, advice, *choices, **more):
    return Mistake(name, None, advice, stages=choices, **more)


def _over(name, advice, *dims, **more):
    """Softmax along other dims: with minus infinity all hidden ones can meet, and give NaN."""
    forms = [{"normalise": stages.over(*dim)} for dim in dims]
    return staged(name, advice, *forms, alone=tuple(form | LOW for form in forms), **more)


def _heads_among_themselves():
    """Each mask and each way to merge that can follow a split without transpose."""
    masks = (
        {},
        _masked(lambda at: at.scores.masked_fill(_mask_of_words(at), -torch.inf)),
        _masked(lambda at: at.scores.masked_fill_(_mask_of_words(at), -torch.inf)),
        LOW,
        _masked(stages.nothing_hidden),
    )
    merges = ({}, _merge("not transposed"), _merge("as the heads say"))
    return [_split("not transposed") | mask | merge for mask in masks for merge in merges]


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


def _fitting(rows_of):
    """A W_out for rows of other sizes: with the right one many mistakes raise the same error.

    rows_of: takes d_out and num_heads.
    """

    def variant(probe):
        *rest, W_out, b_out, num_heads = probe.args
        fitting = torch.cat([k * W_out for k in range(1, num_heads + 1)])
        rows = rows_of(len(W_out), num_heads)
        return replace(probe, args=(*rest, fitting[:rows], b_out, num_heads))

    return variant


_for_one_head = _fitting(lambda d_out, num_heads: d_out // num_heads)
_for_whole_heads = _fitting(lambda d_out, num_heads: d_out * num_heads)


def _misfit(name, advice, variant, *choices, **more):
    """Not d_out numbers in a row, which is what W_out takes: seen without W_out, or with one
    that fits."""
    return (
        staged(name, advice, alone=tuple(choice | NO_OUTPUT for choice in choices), **more),
        staged(name, advice, *choices, variant=variant, **more),
    )


_across_batch = _split("batch and words exchanged") | _merge("batch and words exchanged")
_in_turn = _split("dealt out")
VALUES_NOT_SPLIT = (
    "values not split",
    "Use split_heads for the values too, as for queries and keys.",
)
NEEDS_NO_SCORES = "the values need no scores, so they seem done"

MULTI_HEAD = Exercise(
    "multi_head",
    "multi_head(inputs, W_query, W_key, W_value, W_out, b_out, num_heads) -> (b, n, d_out)",
    "values",
    attention.multi_head,
    _sentences,
    (
        # Split.
        staged(
            "split by view without transpose",
            VIEW,
            _split("by view"),
            _split("by view") | _merge("not transposed"),
            source=SOURCES["split by view without transpose"],
        ),
        staged(
            "transpose left out",
            NO_TRANSPOSE,
            *_heads_among_themselves()[:2],
            alone=tuple(_heads_among_themselves()[2:]),
            source=SOURCES["transpose left out"],
        ),
        staged(
            "numbers dealt out in turn",
            DEALT,
            _in_turn,
            _in_turn | _merge("dealt out"),
            source=SOURCES["numbers dealt out in turn"],
        ),
        staged(
            "heads not split",
            "Cut the ONE wide head into num_heads heads.",
            _split("one"),
            _split("one") | {"scale": by(lambda at: (at.d_k / at.num_heads) ** 0.5)},
            source="num_heads is taken and not used",
        ),
        staged(
            "one projection for all heads",
            NOT_ALIKE,
            _split("first head to all"),
            source=SOURCES["one projection for all heads"],
        ),
        staged(
            "slices do not step by head_dim",
            STEPS,
            _split("slices from k on"),
            _split("slices from k * num_heads on"),
            source=SOURCES["slices do not step by head_dim"],
        ),
        staged(
            "transposed before it was cut",
            CUT_FIRST,
            _split("transposed, then cut"),
            _split("transposed, then cut, transposed again"),
            source=SOURCES["transposed before it was cut"],
        ),
        *_misfit(
            *VALUES_NOT_SPLIT,
            _for_whole_heads,
            _all_but_values("one"),
            source=NEEDS_NO_SCORES,
        ),
        staged(
            *VALUES_NOT_SPLIT,
            alone=(_all_but_values("not at all"),),
            source=NEEDS_NO_SCORES,
        ),
        *_misfit(
            "every head gets all numbers",
            "d_out is shared out. Give a head d_out / num_heads numbers of each word.",
            _for_whole_heads,
            _split("all to each"),
            source=SOURCES["every head gets all numbers"],
        ),
        Mistake(
            "batch_first forgotten",
            _mask_of_words_across_batch,
            "The batch was taken for the words: nn.MultiheadAttention expects (n, b, d). Set "
            "batch_first=True.",
            stages=(_across_batch, _across_batch | _masked(stages.nothing_hidden)),
            source="aipixel/AEMatter#3",
        ),
        # Roles, score and scale.
        *stages.IN_ROLES,
        staged(
            ".T on a batch",
            ".T reverses ALL dims of a tensor. Use transpose(-2, -1).",
            *(
                # What .T does to a tensor of 4 dims, without its warning.
                {"score": lambda at: at.queries @ at.keys.permute(3, 2, 1, 0)} | mask
                for mask in ({}, _masked(stages.nothing_hidden))
            ),
            source="flrngel/Self-Attentive-tensorflow#3 (transpose turned all dims)",
        ),
        stages.SIGN_FLIPPED,
        stages.AVERAGED,
        stages.NORMALISED_Q_AND_K,
        *stages.IN_SCALE,
        wrong(
            "scale",
            "scaled by sqrt(d_model)",
            "d_k is the size of a key of ONE head, not d_out. Use d_out / num_heads as d_k.",
            by(lambda at: (at.d_k * at.num_heads) ** 0.5),
            by(lambda at: at.d_k * at.num_heads),
            source="omihub777/ViT-CIFAR#11, chelsea0x3b/dfdx#171",
        ),
        wrong(
            "scale",
            "scaled by sqrt(h)",
            "The number of heads is not d_k. Divide by sqrt(head_dim).",
            by(lambda at: at.num_heads**0.5),
            by(lambda at: at.num_heads),
            source="tenstorrent/tt-metal#56789",
        ),
        wrong(
            "scale",
            "scaled by the embedding size",
            "You divided by the root of the size of a WORD. Use head_dim as d_k.",
            by(lambda at: at.inputs.shape[-1] ** 0.5),
            source=SOURCES["scaled by the embedding size"],
        ),
        wrong(
            "scale",
            "scaled by the size of the batch",
            stages.COUNTED,
            by(lambda at: len(at.inputs) ** 0.5),
            source="shape[0] was right without a batch",
        ),
        stages.AFTER_SOFTMAX,
        stages.VALUES_SCALED,
        # Mask.
        *stages.varied(
            stages.IN_CAUSAL_MASK,
            {
                "no mask": (
                    "no causal mask",
                    "A word sees the words after it. Hide the scores above the diagonal.",
                )
            },
        ),
        *stages.low_numbers(the_future, sizes=(100, 10, 5, 2, 1)),
        staged(
            "bool mask handed to the wrong function",
            "scaled_dot_product_attention: True = MAY attend; nn.MultiheadAttention: True = may "
            "NOT. Use ~mask.",
            {
                "mask": hide(lambda at: past(at.scores)),
                "normalise": lambda at: stages.weigh(at).nan_to_num(0.0),
            },
            source="rasbt/LLMs-from-scratch#1061",
        ),
        # Weights.
        wrong(
            "normalise",
            "weights averaged over the heads",
            "Each head blends with its own weights. Keep the heads apart: average nothing over "
            "dim 1.",
            lambda at: stages.weigh(at).mean(1, keepdim=True),
            source="nn.MultiheadAttention returns the weights averaged (average_attn_weights=True)",
        ),
        stages.TWICE,
        stages.WHOLE_MATRIX,
        stages.ONLY_EXPS,
        stages.SIGMOID,
        *IN_MASKED_WEIGHTS,
        stages.GLOBAL_MAX,
        stages.OVERFLOW,
        stages.overflow_of_python(MULTI_HEAD_STAGES),
        _over(
            "softmax over the heads",
            "Softmax ran over dim 1, the heads. Run it over the keys (dim -1).",
            (1,),
            source="CAMMA-public/rendezvous-in-time#3",
        ),
        _over(
            "softmax over the queries",
            "Softmax ran over the queries. Run it over the keys (dim -1).",
            (-2,),
            source="labmlai/annotated_deep_learning_paper_implementations#146",
        ),
        _over(
            "softmax over the batch",
            "Softmax ran over the batch. Run it over the keys (dim -1).",
            (0,),
            (0, 1),
            source=SOURCES["softmax over the batch"],
        ),
        stages.TRANSPOSED,
        stages.MEAN,
        stages.ALL_EQUAL,
        stages.WINNER,
        stages.NOT_BLENDED,
        stages.ONE_FOR_ALL,
        # Merge and output.
        staged(
            "merged without transposing back",
            GLUED,
            _merge("not transposed"),
            source=SOURCES["merged without transposing back"],
        ),
        staged(
            "view after transpose",
            NOT_CONTIGUOUS,
            alone=(_merge("view"),),
            source=SOURCES["view after transpose"],
        ),
        staged(
            "wrong dimensions exchanged",
            "You exchanged other dimensions than heads and words. Exchange these: transpose(1, 2).",
            _merge("transpose(2, 3)"),
            _merge("transpose(1, 3)"),
            source="every transpose of two dimensions looks alike",
        ),
        staged(
            "merged with numbers in turn",
            "The numbers of a head stay together. Put all of head 0 first, then all of head 1.",
            _merge("dealt out"),
            source="permute(0, 2, 3, 1): the heads moved to the end",
        ),
        *_misfit(
            "heads averaged",
            NOT_AVERAGED,
            _for_one_head,
            _merge("average"),
            source=SOURCES["heads averaged"],
        ),
        *_misfit(
            "heads added", NOT_ADDED_UP, _for_one_head, _merge("sum"), source=SOURCES["heads added"]
        ),
        *_misfit(
            "largest of the heads",
            NOT_LARGEST,
            _for_one_head,
            _merge("largest"),
            source=SOURCES["largest of the heads"],
        ),
        staged(
            "merged with the heads before the batch",
            HEADS_BEFORE,
            _merge("heads before the batch"),
            _merge("words before the batch"),
            source=SOURCES["merged with the heads before the batch"],
        ),
        *_misfit(
            "only the first head",
            ALL_HEADS,
            _for_one_head,
            _merge("first head"),
            source=SOURCES["only the first head"],
        ),
        *_misfit(
            "only the last head",
            REPLACED,
            _for_one_head,
            _merge("last head"),
            source=SOURCES["only the last head"],
        ),
        *_misfit(
            "concatenated along tokens",
            ALONG_WORDS,
            _for_one_head,
            _merge("along the words"),
            source=SOURCES["concatenated along tokens"],
        ),
        *_misfit(
            "not merged",
            STILL_4,
            _for_one_head,
            _merge("not at all"),
            _merge("transposed only"),
            source=SOURCES["not merged"],
        ),
        staged(
            "out_proj forgotten",
            "The last step, which mixes the heads, is missing. Use @ W_out + b_out.",
            NO_OUTPUT,
            source="jwallbridge/translob#4, awf/functional-transformer#8",
        ),
        wrong(
            "output",
            "bias of out_proj forgotten",
            "Add b_out.",
            lambda at: at.contexts @ at.W_out,
            source="matrix written by hand, the bias of nn.Linear left out",
        ),
        wrong(
            "output",
            "W_out transposed",
            "nn.Linear keeps W_out transposed, but here it is as it is used. Use @ W_out, without "
            ".T.",
            lambda at: at.contexts @ at.W_out.T + at.b_out,
            lambda at: at.contexts @ at.W_out.T,
            source="AaltoML/SUQ#2 (a .T of the projection missing)",
        ),
    ),
    staged=MULTI_HEAD_STAGES,
)
