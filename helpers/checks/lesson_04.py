"""Lesson 04: queries, keys and values.

Attention is written once, in stages; a mistake is the right stages with one of them replaced.
Each table holds the forms of one stage, the right one and the wrong ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn.functional import normalize

from .. import attention
from .declare import Exercise, Mistake, Probe, global_max, is_one_row, overflow, soft, stable
from .lesson_01 import IS_DISTANCE, NOT_ADDED, without_last
from .lesson_02 import TWICE
from .lesson_03 import RESIDUAL, ROUNDED, less_column_max
from .modules import (
    drawn_after,
    in_modules,
    keeping,
    keeping_mistakes,
    outputs_like,
    seeding,
    training,
)
from .probes import MIXED, sentence

COMPARED = "queries.T @ keys compares the coordinates; queries @ keys.T compares the words."
INNER = "Inner sizes must match: (n, d_k) @ (d_k, m) is queries @ keys.T."
SWAPPED = "Your rows belong to the keys: row = query, column = key is queries @ keys.T."
ROTATED = (
    "All three roles are rotated: inputs @ W_query asks, inputs @ W_key is matched, "
    "inputs @ W_value is blended."
)
GIVEN = "Use W_query, W_key and W_value, which it is given."
COUNTED = "A count is not d_k, with or without a root: d_k is the SIZE of a key, keys.shape[-1]."


# --- stages ---


def roles(order):
    """What asks, what is matched, what is blended, in this order: q, k and v are made by
    W_query, W_key and W_value, x are the inputs as they are."""

    def project(inputs, W_query, W_key, W_value):
        made = dict(q=inputs @ W_query, k=inputs @ W_key, v=inputs @ W_value, x=inputs)
        return tuple(made[letter] for letter in order)

    return project


def _copied_from_linear(inputs, *matrices):
    return tuple(inputs @ W.T for W in matrices)


SIZES = (  # of matrices that somebody makes instead of using the given ones
    lambda matrices: [(3, 2)] * 3,
    lambda matrices: [matrices[0].shape] * 3,
    lambda matrices: [W.shape for W in matrices],
)


def drawn(draw, seed, sizes_of):
    """Not the matrices that are given, but others, drawn after a seed.

    draw: takes three sizes, returns three functions of the inputs.
    """

    def project(inputs, *matrices):
        sizes = sizes_of(matrices)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            made = draw(sizes)
        return tuple(f(inputs.float()).to(inputs.dtype) for f in made)

    return project


def _product_with(W):
    return lambda inputs: inputs @ W


def _in_order(order):
    def draw(sizes):
        made = {k: _product_with(torch.rand(sizes[k])) for k in order}
        return [made[k] for k in range(3)]

    return draw


def _turned(sizes):
    return [_product_with(torch.rand(d_out, d_in).T) for d_in, d_out in sizes]


def _linear(sizes, bias=False):
    return [nn.Linear(*size, bias=bias) for size in sizes]


def _drawn(draw, *seeds):
    return tuple(drawn(draw, seed, sizes_of) for seed in seeds for sizes_of in SIZES)


PROJECT = {"".join(order): roles(order) for order in product("qkvx", repeat=3)} | {
    "copied from nn.Linear": _copied_from_linear,
}
DRAWN = {
    "as given": _drawn(_in_order((0, 1, 2)), 123),
    "k, q, v": _drawn(_in_order((1, 0, 2)), 123),
    "turned": _drawn(_turned, 123),
    "nn.Linear": _drawn(_linear, 123, 789),
    "nn.Linear with bias": _drawn(partial(_linear, bias=True), 123, 789),
    "another seed": _drawn(_in_order((0, 1, 2)), 0, 1, 42, 321, 1234),
}


def _dot(queries, keys):
    return queries @ keys.transpose(-2, -1)


SCORE = {
    "right": _dot,
    "cosine": lambda queries, keys: _dot(normalize(queries, dim=-1), normalize(keys, dim=-1)),
    "keys not transposed": lambda queries, keys: queries @ keys,
    "coordinates": lambda queries, keys: queries.transpose(-2, -1) @ keys,
    "swapped": lambda queries, keys: _dot(keys, queries),
    "sign": lambda queries, keys: -_dot(queries, keys),
    "not added": lambda queries, keys: queries[..., :, None, :] * keys[..., None, :, :],
    "distance": torch.cdist,
}
# What the scores are divided by.
SCALE = {
    "right": lambda at: at.keys.shape[-1] ** 0.5,
    "none": lambda at: 1,
    "no root": lambda at: at.keys.shape[-1],
    "inverted": lambda at: at.keys.shape[-1] ** -0.5,
    "half": lambda at: at.keys.shape[-1] / 2,
    "twice": lambda at: at.keys.shape[-1] * 2,
    "squared": lambda at: at.keys.shape[-1] ** 2,
    "sqrt(2)": lambda at: 2**0.5,
    "sqrt(3)": lambda at: 3**0.5,
    "d_in": lambda at: at.inputs.shape[-1] ** 0.5,
    "d_k of W_key": lambda at: at.W_key.shape[-1] ** 0.5,
    "values": lambda at: at.values.shape[-1] ** 0.5,
    "queries counted": lambda at: at.queries.shape[-2] ** 0.5,
    "keys counted": lambda at: at.keys.shape[-2] ** 0.5,
    "queries counted, no root": lambda at: at.queries.shape[-2],
    "keys counted, no root": lambda at: at.keys.shape[-2],
}


def future(scores, diagonal=1):
    """(n, n) of bool: True above the diagonal."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)


def past(scores, diagonal=0):
    """(n, n) of bool: True on and below the diagonal."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril(diagonal)


MASK = {
    "none": lambda scores, at: scores,
    "causal": lambda scores, at: scores.masked_fill(future(scores), -torch.inf),
}


NORMALISE = {
    "right": soft,
    "none": lambda scores, exp: scores,
    "exps only": lambda scores, exp: exp(scores),
    "over the queries": lambda scores, exp: soft(scores, exp, dim=-2),
    "whole matrix": lambda scores, exp: soft(scores, exp, dim=(-2, -1)),
    "twice": lambda scores, exp: soft(soft(scores, exp), exp),
    "sum": lambda scores, exp: scores / scores.sum(-1, keepdim=True),
    "sigmoid": lambda scores, exp: scores.sigmoid(),
    "logarithm": lambda scores, exp: scores.log_softmax(-1),
    "rounded": lambda scores, exp: soft(scores, exp).round(decimals=2),
    "no keepdim": lambda scores, exp: exp(scores) / exp(scores).sum(-1),
    "maximum without keepdim": lambda scores, exp: soft(scores, less_column_max),
    "both without keepdim": lambda scores, exp: (
        less_column_max(scores) / less_column_max(scores).sum(-1)
    ),
}

BLEND = {
    "right": lambda weights, values: weights @ values,
    "transposed": lambda weights, values: weights.transpose(-2, -1) @ values,
    "mean": lambda weights, values: weights @ values / values.shape[-2],
    "all equal": lambda weights, values: values.mean(-2, keepdim=True).expand_as(values),
    "winner": lambda weights, values: values[weights.argmax(-1)],
    "weights": lambda weights, values: weights,
}


def attend(stages, at, exp):
    """From queries, keys and values to contexts; stages has a form of each stage as a field.

    at: queries, keys and values, and what a wrong form may take in place of them."""
    scores = stages.score(at.queries, at.keys) / stages.scale(at)
    weights = stages.normalise(stages.mask(scores, at), exp)
    return stages.blend(weights, at.values)


@dataclass(frozen=True)
class Attention:
    """qkv_attention in stages."""

    project: Callable = PROJECT["qkv"]
    score: Callable = SCORE["right"]
    scale: Callable = SCALE["right"]
    mask: Callable = MASK["none"]
    normalise: Callable = NORMALISE["right"]
    blend: Callable = BLEND["right"]

    def __call__(self, inputs, W_query, W_key, W_value, exp=stable):
        queries, keys, values = self.project(inputs, W_query, W_key, W_value)
        at = SimpleNamespace(inputs=inputs, W_key=W_key, queries=queries, keys=keys, values=values)
        return attend(self, at, exp)


@dataclass(frozen=True)
class ScaledScores:
    """scaled_scores in stages."""

    score: Callable = SCORE["right"]
    scale: Callable = SCALE["right"]

    def __call__(self, queries, keys):
        return self.score(queries, keys) / self.scale(SimpleNamespace(queries=queries, keys=keys))


# --- probes ---


def exact(*shape, step=5, unit=8, period=13):
    """Numbers around 0 which float32 holds exactly, each the same as the one a period later.

    step: another one, another order.  unit: 1 / unit is the difference of neighbours."""
    numbers = (torch.arange(prod(shape)) * step + 3) % period - period // 2
    return numbers.reshape(shape) / unit


def seeded(d_in=3, d_out=2):
    """W_query, W_key and W_value as the lessons draw them."""
    generator = torch.Generator().manual_seed(123)
    return [torch.rand(d_in, d_out, generator=generator) for _ in range(3)]


def _strong():
    """Words of which the first two numbers make the scores: after scaling about 1000, -1000 and
    500. d_k is 16, because then even the fourth root of it, which some take, is exact; and all
    matrices are 16 x 16, so that a .T does not raise."""
    inputs, query, key, value = (
        exact(n, 16, step=s) for n, s in ((4, 5), (16, 3), (16, 7), (16, 5))
    )
    inputs[:, :2] = torch.tensor([[1.0, 4000.0], [-1.0, 4001.0], [0.5, 3999.0], [1.0, 4002.0]])
    for matrix, row in ((query, 0), (key, 1)):
        matrix[:2] = 0
        matrix[:, 0] = 0
        matrix[row, 0] = 1
    value[1] = 0
    return tuple(x.double() for x in (inputs, query, key, value))


def _queries_and_keys():
    W_query, W_key, _ = seeded()
    return [
        Probe("queries and keys of the sentence", (sentence() @ W_query, sentence() @ W_key)),
        Probe(
            "4 queries and 5 keys of 3 numbers",
            (exact(4, 3, step=5).double() * 4, exact(5, 3, step=7).double() * 4),
        ),
        Probe("3 queries and 4 keys of 4 numbers", (exact(3, 4, step=3), exact(4, 4, step=7))),
    ]


def _inputs_and_matrices():
    return [
        Probe("the sentence", (sentence(), *seeded())),
        Probe(
            "5 words, d_in = 4, d_k = 3, d_out = 6",
            (
                MIXED,
                exact(4, 3, step=5).double(),
                exact(4, 3, step=7).double(),
                exact(4, 6, step=3).double(),
            ),
        ),
        Probe("4 words with scores near 1000, all matrices 16 x 16", _strong()),
    ]


# --- mistakes of one stage ---


def plainly(form):
    """Without the ways to write exp, where they do not matter."""
    return lambda *args: form(*args)


def mistake(name, advice, *forms):
    code, *also = forms
    return Mistake(name, code, advice, also=tuple(also))


def wrong(stages, stage, *rows, plain=False):
    """Mistakes in one stage.

    stages: Attention or another class with this stage as a field.  rows: name, advice, wrong
    forms of the stage.  plain: the ways to write exp do not matter for them.
    """
    for name, advice, *forms in rows:
        forms = (stages(**{stage: form}) for form in forms)
        yield mistake(name, advice, *(map(plainly, forms) if plain else forms))


WRONG_SCALE = (
    (
        "divided by d_k, root forgotten",
        "You divided by d_k in all: divide by its square ROOT, and once.",
        SCALE["no root"],
    ),
    (
        "multiplied by sqrt(d_k)",
        "You multiplied by sqrt(d_k): the scale was inverted twice.",
        SCALE["inverted"],
    ),
    (
        "parentheses forgotten",
        "d_k ** 1/2 is (d_k ** 1) / 2: write d_k ** 0.5.",
        SCALE["half"],
        SCALE["twice"],
    ),
    (
        "squared instead of root",
        "You divided by the square of d_k; d_k ** 0.5 is the square root.",
        SCALE["squared"],
    ),
)
WRONG_ROLES = (
    (
        "keys and values swapped",
        "You matched against the VALUES and blended the KEYS: swap them.",
        PROJECT["qvk"],
    ),
    (
        "queries and values swapped",
        "You blended the QUERIES: the output must be weights @ values.",
        PROJECT["vkq"],
    ),
    ("roles rotated (k,v,q)", ROTATED, PROJECT["kvq"]),
    ("roles rotated (v,q,k)", ROTATED, PROJECT["vqk"]),
    ("queries and keys swapped", SWAPPED, PROJECT["kqv"]),
    (
        "queries used as keys",
        "You matched queries with queries: the keys must come from W_key.",
        PROJECT["qqv"],
    ),
    (
        "keys used as queries",
        "You matched keys with keys: the queries must come from W_query.",
        PROJECT["kkv"],
    ),
    ("values used as queries", "The queries must come from W_query.", PROJECT["vkv"]),
    ("values used as keys", "The keys must come from W_key.", PROJECT["qvv"]),
    ("queries used as values", "You blended the queries: blend the VALUES.", PROJECT["qkq"]),
    ("keys used as values", "You blended the keys: blend the VALUES.", PROJECT["qkk"]),
    (
        "one matrix for all three",
        "Queries, keys and values each need their own matrix.",
        PROJECT["qqq"],
        PROJECT["kkk"],
        PROJECT["vvv"],
    ),
    (
        "nn.Linear weight copied without .T",
        "nn.Linear keeps (d_out, d_in). Here a matrix is (d_in, d_out): inputs @ W, without .T.",
        PROJECT["copied from nn.Linear"],
    ),
)
WRONG_WEIGHTS = (
    ("softmax twice", TWICE, NORMALISE["twice"]),
    (
        "softmax over the whole matrix",
        "The whole matrix sums to 1 instead of each row: normalise along dim=-1.",
        NORMALISE["whole matrix"],
    ),
    (
        "not divided by the sum",
        "These rows do not sum to 1: divide the exps of each row by their own sum.",
        NORMALISE["exps only"],
    ),
)


# --- scaled_scores ---

_scaled = ScaledScores()


def _also_unscaled(name, score, advice):
    """Right or wrong in the scale as well: the score is what to look at first."""
    form = ScaledScores(score=SCORE[score])
    return Mistake(name, form, advice, also=(replace(form, scale=SCALE["none"]),))


SCALED = Exercise(
    "scaled_scores",
    "scaled_scores(queries, keys) -> (n, m)",
    "scores",
    attention.scaled_scores,
    _queries_and_keys,
    (
        *wrong(
            ScaledScores,
            "scale",
            (
                "no scaling",
                "These are the plain dot products: divide them by the square root of d_k.",
                SCALE["none"],
            ),
            *WRONG_SCALE,
            (
                "always sqrt(2)",
                "sqrt(2) is right for keys of 2 numbers only: d_k is keys.shape[-1].",
                SCALE["sqrt(2)"],
            ),
            (
                "scaled by the embedding size",
                "sqrt(3) is the root of the size of a WORD; d_k is the size of a KEY.",
                SCALE["sqrt(3)"],
            ),
            (
                "scaled by the number of keys",
                COUNTED,
                SCALE["keys counted"],
                SCALE["keys counted, no root"],
            ),
            (
                "scaled by the number of queries",
                COUNTED,
                SCALE["queries counted"],
                SCALE["queries counted, no root"],
            ),
        ),
        _also_unscaled("queries and keys the other way round", "swapped", SWAPPED),
        _also_unscaled("keys not transposed", "keys not transposed", INNER),
        _also_unscaled("attention between coordinates", "coordinates", COMPARED),
        _also_unscaled(
            "cosine instead of dot product",
            "cosine",
            "You divided by the lengths of queries and keys; divide the plain dot products by "
            "the square root of d_k only.",
        ),
        _also_unscaled("distance instead of similarity", "distance", IS_DISTANCE),
        _also_unscaled("multiplied but did not add up", "not added", NOT_ADDED),
        Mistake(
            "softmax already applied",
            lambda queries, keys, exp=stable: soft(_scaled(queries, keys), exp),
            "These are weights; the scores come before softmax.",
            also=(
                lambda queries, keys, exp=stable: soft(_scaled(queries, keys), exp, dim=0),
                lambda queries, keys, exp=stable: soft(SCORE["right"](queries, keys), exp),
            ),
        ),
        Mistake(
            "sign flipped",
            ScaledScores(score=SCORE["sign"]),
            "The sign is flipped: a good match must give a high score.",
        ),
        Mistake(
            "loop stops one early",
            without_last(_scaled, True, True),
            "A loop never reached the last query, or the last key.",
            also=(without_last(_scaled, True, False), without_last(_scaled, False, True)),
        ),
    ),
)

# --- qkv_attention ---

_right = Attention()


def _scaled_after(*args, exp=stable):
    *_, W_key, _ = args
    return Attention(scale=SCALE["none"])(*args, exp) / W_key.shape[-1] ** 0.5


def _between_coordinates(inputs, W_query, W_key, W_value, exp=stable):
    scores = SCORE["coordinates"](inputs @ W_query, inputs @ W_key)
    return inputs @ W_value @ soft(scores / W_key.shape[-1] ** 0.5, exp)


def _also_differently_scaled(name, order, advice):
    """d_k can be taken from the inputs or from a matrix here, and has no meaning."""
    scales = ("right", "d_k of W_key", "none")
    return mistake(name, advice, *(Attention(PROJECT[order], scale=SCALE[x]) for x in scales))


QKV = Exercise(
    "qkv_attention",
    "qkv_attention(inputs, W_query, W_key, W_value) -> (n, d_out)",
    "values",
    attention.qkv_attention,
    _inputs_and_matrices,
    (
        *wrong(
            Attention,
            "scale",
            (
                "no scaling",
                "The scores are not divided by sqrt(d_k): they are too far apart for large d_k.",
                SCALE["none"],
            ),
            *WRONG_SCALE,
            (
                "always sqrt(2)",
                "sqrt(2) is right for keys of 2 numbers only: d_k is keys.shape[-1].",
                SCALE["sqrt(2)"],
            ),
            (
                "scaled by the embedding size",
                "You divided by the root of the size of a WORD; d_k is the size of a KEY.",
                SCALE["d_in"],
                SCALE["sqrt(3)"],
            ),
            (
                "scaled by the number of words",
                COUNTED,
                SCALE["keys counted"],
                SCALE["keys counted, no root"],
            ),
            (
                "scaled by the size of a value",
                "A value may be wider than a key: d_k is keys.shape[-1].",
                SCALE["values"],
            ),
        ),
        Mistake(
            "scaled after softmax",
            _scaled_after,
            "You divided the weights or the contexts by sqrt(d_k): divide the SCORES, before "
            "softmax.",
        ),
        *wrong(
            Attention,
            "normalise",
            *WRONG_WEIGHTS,
            (
                "softmax over the wrong axis",
                "Softmax over the queries (dim 0); it must run over the keys (dim -1).",
                NORMALISE["over the queries"],
            ),
            (
                "keepdim forgotten",
                "A sum or maximum over dim 1 has shape (n,), and (n, n) with (n,) pairs it with "
                "the columns: use keepdim=True.",
                NORMALISE["no keepdim"],
                NORMALISE["maximum without keepdim"],
                NORMALISE["both without keepdim"],
            ),
            ("weights rounded to 2 decimals first", ROUNDED, NORMALISE["rounded"]),
        ),
        *wrong(
            Attention,
            "normalise",
            (
                "rows divided by sum",
                "No exp: use softmax, a negative score gives a negative weight here.",
                NORMALISE["sum"],
            ),
            (
                "sigmoid per score",
                "Sigmoid squashes each score alone; softmax makes them compete (sum 1).",
                NORMALISE["sigmoid"],
            ),
            (
                "log_softmax",
                "You blended with the logarithms of the weights (none is positive).",
                NORMALISE["logarithm"],
            ),
            plain=True,
        ),
        mistake(
            "scores instead of weights",
            "Softmax is missing: you blended with scores, not weights.",
            *(
                plainly(Attention(normalise=NORMALISE["none"], scale=SCALE[scale]))
                for scale in ("right", "none")
            ),
        ),
        *overflow(_right),
        Mistake(
            "subtracted the global max",
            lambda *args: _right(*args, exp=global_max),
            "Subtract each ROW's maximum, not the global one: other rows underflow to 0/0.",
        ),
        Mistake(
            "causal mask applied",
            Attention(mask=MASK["causal"]),
            "You hid the words that come later: here every word sees all words.",
        ),
        *wrong(
            Attention,
            "project",
            *WRONG_ROLES,
            ("queries not projected", "The queries are inputs @ W_query.", PROJECT["xkv"]),
            ("keys not projected", "The keys are inputs @ W_key.", PROJECT["qxv"]),
            (
                "values not projected",
                "You blended the inputs as they are: the values are inputs @ W_value.",
                PROJECT["qkx"],
            ),
        ),
        _also_differently_scaled(
            "scores from the raw inputs",
            "xxv",
            "The scores ignore W_query and W_key: use (inputs @ W_query) @ (inputs @ W_key).T.",
        ),
        _also_differently_scaled(
            "nothing projected",
            "xxx",
            "The three matrices are not used: this is attention without anything to train.",
        ),
        *wrong(
            Attention,
            "score",
            ("keys not transposed", INNER, SCORE["keys not transposed"]),
            (
                "sign flipped",
                "The sign is flipped: a high score must give a high weight.",
                SCORE["sign"],
            ),
        ),
        mistake(
            "normalised q and k",
            "You divided queries and keys by their lengths; plain dot products are scaled by "
            "1/sqrt(d_k) only.",
            *(Attention(score=SCORE["cosine"], scale=SCALE[x]) for x in ("right", "none")),
        ),
        Mistake("attention between coordinates", _between_coordinates, COMPARED),
        *wrong(
            Attention,
            "blend",
            (
                "weights transposed",
                "Output i must blend with ROW i of the weights: weights @ values, without .T.",
                BLEND["transposed"],
            ),
            (
                "mean instead of sum",
                "mean divides by the number of words again; the weights already sum to 1.",
                BLEND["mean"],
            ),
            (
                "all weights equal",
                "That is the plain mean of the values: blend with the weights.",
                BLEND["all equal"],
            ),
            (
                "took the winner",
                "You picked the value of the top word; the context is a blend of ALL values.",
                BLEND["winner"],
            ),
            (
                "weights returned",
                "These are the weights; the last step is weights @ values.",
                BLEND["weights"],
            ),
        ),
        Mistake(
            "one context copied",
            lambda *args: _right(*args)[1].expand(len(args[0]), -1),
            "All rows are equal: each word needs its OWN query.",
            shows=lambda seen: seen.always(is_one_row),
        ),
        Mistake(
            "only the context of journey",
            lambda *args, exp=stable: _right(*args, exp)[1],
            "This is the context vector of inputs[1] only: return one row for each word.",
        ),
        Mistake(
            "residual added",
            lambda inputs, *matrices, exp=stable: inputs + _right(inputs, *matrices, exp),
            RESIDUAL,
            also=(lambda inputs, *matrices, exp=stable: _right(inputs, *matrices, exp) + inputs,),
        ),
        *wrong(
            Attention,
            "project",
            (
                "matrices created in another order (k,q,v)",
                "Your function makes its own matrices, and W_key has the numbers of W_query. "
                + GIVEN,
                *DRAWN["k, q, v"],
            ),
            (
                "drawn as (d_out,d_in)",
                "Your function makes its own matrices, drawn as (d_out, d_in) and transposed: "
                "the same numbers land in other places. " + GIVEN,
                *DRAWN["turned"],
            ),
            (
                "nn.Linear instead of Parameter(rand)",
                "Your function makes its own matrices with nn.Linear, which draws other "
                "numbers than torch.rand. " + GIVEN,
                *DRAWN["nn.Linear"],
            ),
            (
                "bias left on",
                "Your function makes its own matrices with nn.Linear and its bias, which adds "
                "numbers AND shifts the draws. " + GIVEN,
                *DRAWN["nn.Linear with bias"],
            ),
            (
                "another seed",
                "Your function makes its own matrices, after another seed than 123. " + GIVEN,
                *DRAWN["another seed"],
            ),
            (
                "matrices it was given not used",
                "Your function makes its own matrices, or takes those of a cell above. " + GIVEN,
                *DRAWN["as given"],
            ),
            plain=True,
        ),
    ),
)


# --- SelfAttention ---


def _created(names, draw=torch.rand):
    """A class that creates its matrices in this order, and draws them like this."""

    class Created(attention.SelfAttention):
        def __init__(self, d_in, d_out):
            nn.Module.__init__(self)
            for name in names:
                setattr(self, f"W_{name}", nn.Parameter(draw(d_in, d_out)))

    return Created


class _DrawnTurned(attention.SelfAttention):
    def __init__(self, d_in, d_out):
        super().__init__(d_out, d_in)

    def forward(self, inputs):
        return _right(inputs, self.W_query.T, self.W_key.T, self.W_value.T)


class _DrawnAsOne(attention.SelfAttention):
    def __init__(self, d_in, d_out):
        nn.Module.__init__(self)
        self.W = nn.Parameter(torch.rand(d_in, 3 * d_out))

    def forward(self, inputs):
        return _right(inputs, *self.W.chunk(3, dim=-1))


class _WithBias(attention.SelfAttentionLinear):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out, qkv_bias=True)


class _SeedInside(attention.SelfAttention):
    def __init__(self, d_in, d_out):
        torch.default_generator.manual_seed(0)
        super().__init__(d_in, d_out)


def _built():
    # With this seed, the long word below has a positive score with itself only.
    generator = torch.Generator().manual_seed(1568)
    inputs, *matrices = (
        torch.randint(-4, 5, shape, generator=generator) / 4 for shape in [(7, 4)] + 3 * [(4, 5)]
    )
    strong = inputs.clone()
    strong[0] *= 40  # exp of its score with itself overflows
    sizes, matrices = (4, 5), tuple(matrices)
    return [
        Probe("a module with d_in = 4, d_out = 5", (inputs, sizes, matrices), measure=keeping),
        Probe(
            "7 words, d_in = 4, d_out = 5",
            (strong, sizes, matrices),
            measure=outputs_like(attention.SelfAttention),
        ),
        Probe(
            "the sentence, after torch.manual_seed(123)",
            (sentence(), (3, 2), 123),
            measure=drawn_after,
        ),
        Probe("a module to be trained", (inputs, sizes, matrices), measure=training, if_right=True),
    ]


def _formulas():
    """The mistakes of qkv_attention that are about its formula."""
    for mistake in QKV.mistakes:
        own_matrices = GIVEN in mistake.advice
        if not (own_matrices or mistake.shows or mistake.name == "scaled by the size of a value"):
            yield mistake


SELF_CLASS = Exercise(
    "SelfAttention",
    "SelfAttention(d_in, d_out)",
    "values",
    attention.SelfAttention,
    _built,
    (
        *keeping_mistakes(_right),
        Mistake(
            "another seed",
            _SeedInside,
            "A seed is set inside your class: set it before you build the module, or all modules "
            "have the same matrices.",
            shows=lambda seen: seen.wrong == [2] and seen.measured(seeding, "sets the seed", k=2),
        ),
        *in_modules(attention.SelfAttention, _formulas()),
        Mistake(
            "matrices created in another order (k,q,v)",
            _created(("key", "query", "value")),
            "Same seed, other order: your W_key has the numbers of W_query. Create W_query, "
            "W_key, W_value.",
        ),
        Mistake(
            "matrices created in another order",
            _created(("value", "key", "query")),
            "Same seed, other order: create W_query first, then W_key, then W_value.",
            also=(
                _created(("query", "value", "key")),
                _created(("key", "value", "query")),
                _created(("value", "query", "key")),
            ),
        ),
        Mistake(
            "drawn as (d_out,d_in)",
            _DrawnTurned,
            "Drawn as (d_out, d_in) and transposed: the same numbers land in other places. "
            "Draw torch.rand(d_in, d_out).",
        ),
        Mistake(
            "drawn as one matrix",
            _DrawnAsOne,
            "Drawn as (d_in, 3 * d_out) and split: the same numbers land in other places. "
            "Draw torch.rand(d_in, d_out) three times.",
        ),
        Mistake(
            "nn.Linear instead of Parameter(rand)",
            attention.SelfAttentionLinear,
            "The formula is right; nn.Linear draws other numbers than torch.rand, which is asked "
            "for here.",
        ),
        Mistake(
            "bias left on",
            _WithBias,
            "The formula is right; nn.Linear draws other numbers than torch.rand, and its bias "
            "adds numbers AND shifts the draws.",
        ),
        Mistake(
            "randn instead of rand",
            _created(("query", "key", "value"), draw=torch.randn),
            "The formula is right; torch.randn draws around 0, torch.rand from 0 to 1.",
        ),
    ),
)
