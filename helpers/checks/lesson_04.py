"""Lesson 04: queries, keys and values."""

from functools import partial
from math import prod
from operator import attrgetter

import torch
from torch import nn

from .. import attention
from . import stages
from .declare import Exercise, Mistake, Probe, is_one_row, soft, stable
from .lesson_01 import ALREADY_WEIGHTS, IS_DISTANCE, NOT_ADDED, without_last
from .modules import (
    drawn_after,
    formula_args,
    keeping,
    keeping_mistakes,
    module_of,
    outputs_like,
    seeding,
    training,
)
from .probes import MIXED, sentence
from .sources import SOURCES
from .stages import Staged, by, dot, roles, wrong

GIVEN = "Use the W_query, W_key and W_value that it is given."


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
    words = MIXED.clone()
    words[2] = 0  # scores of exactly 0
    return [
        Probe("the sentence", (sentence(), *seeded())),
        Probe(
            "5 words, d_in = 4, d_k = 3, d_out = 6",
            (
                words,
                exact(4, 3, step=5).double(),
                exact(4, 3, step=7).double(),
                exact(4, 6, step=3).double(),
            ),
        ),
        Probe("4 words with scores near 1000, all matrices 16 x 16", _strong()),
    ]


# --- scaled_scores ---


SCALED_STAGES = Staged(
    ("queries", "keys"),
    (
        ("project", lambda at: (at.queries, at.keys, at.keys)),
        ("score", dot),
        ("scale", stages.by_root),
    ),
    attrgetter("scores"),
)


def _score(name, advice, form, **more):
    """Right or wrong in the scale as well: the score is what to look at first."""
    choices = ({"score": form}, {"score": form, "scale": stages.unscaled})
    return Mistake(name, None, advice, stages=choices, **more)


def _softmax_of(dim, scale=stages.by_root):
    def code(queries, keys, exp=stable):
        return soft(SCALED_STAGES.with_({"scale": scale})(queries, keys), exp, dim)

    return code


SCALED = Exercise(
    "scaled_scores",
    "scaled_scores(queries, keys) -> (n, m)",
    "scores",
    attention.scaled_scores,
    _queries_and_keys,
    (
        *stages.varied(
            stages.IN_SCALE,
            {
                "no scaling": (
                    "no scaling",
                    "These are the plain dot products. Divide them by the square root of d_k.",
                ),
                "scaled by the number of words": ("scaled by the number of keys", stages.COUNTED),
            },
        ),
        wrong(
            "scale",
            "scaled by the number of queries",
            stages.COUNTED,
            by(lambda at: at.scores.shape[-2] ** 0.5),
            by(lambda at: at.scores.shape[-2]),
            source="len(queries), or shape[0], taken for a size",
        ),
        wrong(
            "scale",
            "scaled by the embedding size",
            "sqrt(3) is the root of the size of a WORD. Use d_k, the size of a KEY.",
            by(lambda at: 3**0.5),
            source=SOURCES["scaled by the embedding size"],
        ),
        _score(
            "queries and keys the other way round",
            stages.SWAPPED,
            lambda at: dot(at).mT,
            source="the scores of words are symmetric, these are not",
        ),
        _score(
            "keys not transposed",
            stages.INNER,
            lambda at: at.queries @ at.keys,
            source=SOURCES["keys not transposed"],
        ),
        _score(
            "attention between coordinates",
            stages.COMPARED,
            stages.of_coordinates,
            source=SOURCES["attention between coordinates"],
        ),
        _score(
            "cosine instead of dot product",
            "You divided by the lengths of queries and keys. Divide the plain dot products by the "
            "square root of d_k only.",
            stages.cosine,
            source=SOURCES["cosine instead of dot product"],
        ),
        _score(
            "distance instead of similarity",
            IS_DISTANCE,
            lambda at: (at.queries[:, None] - at.keys).norm(dim=-1),
            source=SOURCES["distance instead of similarity"],
        ),
        _score(
            "multiplied but did not add up",
            NOT_ADDED,
            lambda at: at.queries[:, None] * at.keys,
            source=SOURCES["multiplied but did not add up"],
        ),
        Mistake(
            "softmax already applied",
            _softmax_of(-1),
            ALREADY_WEIGHTS,
            also=(_softmax_of(0), _softmax_of(-1, stages.unscaled)),
            source=SOURCES["softmax already applied"],
        ),
        wrong(
            "score",
            "sign flipped",
            "The sign is flipped. Give a high score to a good match.",
            lambda at: -dot(at),
            source=SOURCES["sign flipped"],
        ),
        stages.AVERAGED,
        Mistake(
            "loop stops one early",
            without_last(SCALED_STAGES, True, True),
            "A loop missed the last query, or the last key. Run it over all.",
            also=(
                without_last(SCALED_STAGES, True, False),
                without_last(SCALED_STAGES, False, True),
            ),
            source=SOURCES["loop stops one early"],
        ),
    ),
    staged=SCALED_STAGES,
)


# --- qkv_attention ---

QKV_STAGES = Staged(
    ("inputs", "W_query", "W_key", "W_value"),
    (
        ("project", roles("qkv")),
        ("score", dot),
        ("scale", stages.by_root),
        ("mask", stages.nothing_hidden),
        ("exp", lambda at: stable),
        ("normalise", stages.weigh),
        ("blend", stages.blend),
    ),
    attrgetter("contexts"),
)


def _also_differently_scaled(name, order, advice, **more):
    """d_k can be taken from the inputs or from a matrix here, and has no meaning."""
    scales = (stages.by_root, by(lambda at: at.W_key.shape[-1] ** 0.5), stages.unscaled)
    choices = ({"project": roles(order), "scale": scale} for scale in scales)
    return Mistake(name, None, advice, stages=tuple(choices), **more)


def _between_coordinates(at):
    """The values, blended over their coordinates."""
    return at.values @ at.weights


IN_FORMULA = (
    *stages.IN_SCALE,
    stages.BY_EMBEDDING,
    stages.AFTER_SOFTMAX,
    stages.VALUES_SCALED,
    stages.TWICE,
    stages.WHOLE_MATRIX,
    stages.ONLY_EXPS,
    stages.OVER_THE_QUERIES,
    stages.KEEPDIM,
    stages.ROUNDED,
    stages.BY_SUM,
    stages.SIGMOID,
    stages.LOGARITHM,
    stages.SIGMOID_DIVIDED,
    stages.NO_EXP_BELOW,
    stages.LESS_ABOVE_ONLY,
    stages.ONE_ADDED,
    stages.OVER_ONE_NUMBER,
    stages.COLUMNS_TOO,
    stages.NO_SOFTMAX,
    stages.OVERFLOW,
    stages.GLOBAL_MAX,
    wrong(
        "mask",
        "causal mask applied",
        "You hid the words that come later. Use no mask: here every word sees all words.",
        stages.causal,
        source="sgl-project/sglang#35434, huggingface/transformers#42820",
    ),
    *stages.IN_ROLES,
    wrong(
        "project",
        "queries not projected",
        "Use inputs @ W_query as the queries.",
        roles("xkv"),
        source="inputs passed on by their old name",
    ),
    wrong(
        "project",
        "keys not projected",
        "Use inputs @ W_key as the keys.",
        roles("qxv"),
        source="inputs passed on by their old name",
    ),
    wrong(
        "project",
        "values not projected",
        "You blended the inputs as they are. Blend the values, inputs @ W_value.",
        roles("qkx"),
        source="asked in maoyunyao/JOINT#2, Kyubyong/transformer#170",
    ),
    _also_differently_scaled(
        "scores from the raw inputs",
        "xxv",
        "The scores ignore W_query and W_key. Use (inputs @ W_query) @ (inputs @ W_key).T.",
        source="scores of lesson 3 taken over, only values projected",
    ),
    _also_differently_scaled(
        "nothing projected",
        "xxx",
        "This is attention without anything to train. Use the three matrices.",
        source="rongzhou7/ADCCA#5 (no weights for key, query and value)",
    ),
    stages.KEYS_NOT_TRANSPOSED,
    stages.SIGN_FLIPPED,
    stages.AVERAGED,
    stages.NORMALISED_Q_AND_K,
    Mistake(
        "attention between coordinates",
        None,
        stages.COMPARED,
        stages=({"score": stages.of_coordinates, "blend": _between_coordinates},),
        source=SOURCES["attention between coordinates"],
    ),
    stages.TRANSPOSED,
    stages.MEAN,
    stages.ALL_EQUAL,
    stages.WINNER,
    stages.NOT_BLENDED,
    stages.ONE_FOR_ALL,
    stages.RETURNED,
    Mistake(
        "only the context of journey",
        None,
        "This is the context vector of inputs[1] only. Return one row for each word.",
        stages=({"blend": lambda at: stages.blend(at)[1]},),
        source="the lesson computes query 1 before all queries",
    ),
    stages.RESIDUAL,
)


# Matrices that somebody makes instead of using the given ones.

SIZES = (
    lambda matrices: [(3, 2)] * 3,
    lambda matrices: [matrices[0].shape] * 3,
    lambda matrices: [W.shape for W in matrices],
)


def _drawn(draw, *seeds):
    """Not the matrices that are given, but others, drawn after a seed.

    draw: takes three sizes, returns three functions of the inputs.
    """

    def projecting(seed, sizes_of):
        def project(at):
            sizes = sizes_of((at.W_query, at.W_key, at.W_value))
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(seed)
                made = draw(sizes)
            return tuple(f(at.inputs.float()).to(at.inputs.dtype) for f in made)

        return project

    return tuple(projecting(seed, sizes_of) for seed in seeds for sizes_of in SIZES)


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


def _own_matrices(name, advice, *forms, **more):
    return stages.only_alone(wrong("project", name, f"{advice} {GIVEN}", *forms, **more))


def _written_over(at):
    queries = at.inputs @ at.W_query
    keys = queries @ at.W_key
    return queries, keys, keys @ at.W_value


OVERWRITTEN = "inputs = inputs @ W_query loses the inputs. Give each result a name of its own."

QKV = Exercise(
    "qkv_attention",
    "qkv_attention(inputs, W_query, W_key, W_value) -> (n, d_out)",
    "values",
    attention.qkv_attention,
    _inputs_and_matrices,
    (
        *IN_FORMULA,
        stages.overflow_of_python(QKV_STAGES),
        wrong(
            "scale",
            "scaled by the size of a value",
            "A value may be wider than a key. Use keys.shape[-1] as d_k.",
            by(lambda at: at.values.shape[-1] ** 0.5),
            source="d_k and d_out are equal in every example of the lesson",
        ),
        wrong(
            "project",
            "values made from the keys",
            "You multiplied the keys, which were projected already. Use inputs @ W_value as the "
            "values.",
            lambda at: (*roles("qk")(at), at.inputs @ at.W_key @ at.W_value),
            source="shenweichen/DeepCTR#490 and #494 (keys written over before the values are "
            "made)",
        ),
        wrong(
            "project",
            "inputs written over",
            OVERWRITTEN,
            _written_over,
            source="fchollet/deep-learning-with-python-notebooks#261 (query = "
            "query_dense(query) in a loop)",
        ),
        Mistake(
            "one context copied",
            lambda *args: QKV_STAGES(*args)[1].expand(len(args[0]), -1),
            "All rows are equal. Give each word its OWN query.",
            shows=lambda seen: seen.always(is_one_row),
            source=SOURCES["one context copied"],
        ),
        _own_matrices(
            "matrices created in another order (k,q,v)",
            "Your function makes its own matrices, and W_key has the numbers of W_query.",
            *_drawn(_in_order((1, 0, 2)), 123),
            source=SOURCES["matrices created in another order (k,q,v)"],
        ),
        _own_matrices(
            "drawn as (d_out,d_in)",
            "Your function makes its own matrices, drawn as (d_out, d_in) and transposed: the "
            "same numbers land in other places.",
            *_drawn(_turned, 123),
            source=SOURCES["drawn as (d_out,d_in)"],
        ),
        _own_matrices(
            "nn.Linear instead of Parameter(rand)",
            "Your function makes its own matrices with nn.Linear, which draws other numbers than "
            "torch.rand.",
            *_drawn(_linear, 123, 789),
            source=SOURCES["nn.Linear instead of Parameter(rand)"],
        ),
        _own_matrices(
            "bias left on",
            "Your function makes its own matrices with nn.Linear and its bias, which adds "
            "numbers AND shifts the draws.",
            *_drawn(partial(_linear, bias=True), 123, 789),
            source=SOURCES["bias left on"],
        ),
        _own_matrices(
            "another seed",
            "Your function makes its own matrices, after another seed than 123.",
            *_drawn(_in_order((0, 1, 2)), 0, 1, 42, 321, 1234),
            source=SOURCES["another seed"],
        ),
        _own_matrices(
            "matrices it was given not used",
            "Your function makes its own matrices, or takes those of a cell above.",
            *_drawn(_in_order((0, 1, 2)), 123),
            source="names of a cell above taken, or the lesson's seed copied",
        ),
    ),
    staged=QKV_STAGES,
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
        return QKV_STAGES(inputs, self.W_query.T, self.W_key.T, self.W_value.T)


class _DrawnAsOne(attention.SelfAttention):
    def __init__(self, d_in, d_out):
        nn.Module.__init__(self)
        self.W = nn.Parameter(torch.rand(d_in, 3 * d_out))

    def forward(self, inputs):
        return QKV_STAGES(inputs, *self.W.chunk(3, dim=-1))


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
    inputs[3] = 0  # scores of exactly 0
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


SELF_CLASS = Exercise(
    "SelfAttention",
    "SelfAttention(d_in, d_out)",
    "values",
    attention.SelfAttention,
    _built,
    (
        *keeping_mistakes(QKV_STAGES),
        Mistake(
            "another seed",
            _SeedInside,
            "A seed is set inside your class, so all modules have the same matrices. Set it "
            "before you build the module.",
            shows=lambda seen: seen.wrong == [2] and seen.measured(seeding, "sets the seed", k=2),
            source=SOURCES["another seed"],
        ),
        *IN_FORMULA,
        Mistake(
            "matrices created in another order (k,q,v)",
            _created(("key", "query", "value")),
            "Same seed, other order: your W_key has the numbers of W_query. Create W_query first, "
            "then W_key, then W_value.",
            source=SOURCES["matrices created in another order (k,q,v)"],
        ),
        Mistake(
            "matrices created in another order",
            _created(("value", "key", "query")),
            "The matrices come in another order. Create W_query first, then W_key, then W_value.",
            also=(
                _created(("query", "value", "key")),
                _created(("key", "value", "query")),
                _created(("value", "query", "key")),
            ),
            source="neetcode-gh/leetcode#5169",
        ),
        Mistake(
            "drawn as (d_out,d_in)",
            _DrawnTurned,
            "Drawn as (d_out, d_in) and transposed: the same numbers land in other places. "
            "Draw torch.rand(d_in, d_out).",
            source=SOURCES["drawn as (d_out,d_in)"],
        ),
        Mistake(
            "drawn as one matrix",
            _DrawnAsOne,
            "Drawn as (d_in, 3 * d_out) and split: the same numbers land in other places. "
            "Draw torch.rand(d_in, d_out) three times.",
            source="fused nn.Linear(d_in, 3 * d_out), as in nanoGPT and timm",
        ),
        Mistake(
            "nn.Linear instead of Parameter(rand)",
            attention.SelfAttentionLinear,
            "The formula is right, but nn.Linear draws other numbers. Use torch.rand, which is "
            "asked for here.",
            source=SOURCES["nn.Linear instead of Parameter(rand)"],
        ),
        Mistake(
            "bias left on",
            _WithBias,
            "The formula is right, but nn.Linear draws other numbers, and its bias adds numbers "
            "AND shifts the draws. Use torch.rand, which is asked for here.",
            source=SOURCES["bias left on"],
        ),
        Mistake(
            "randn instead of rand",
            _created(("query", "key", "value"), draw=torch.randn),
            "The formula is right, but torch.randn draws around 0. Use torch.rand, which draws "
            "from 0 to 1.",
            source="d2l-ai/d2l-en#2125 (rand where randn was meant)",
        ),
    ),
    staged=QKV_STAGES,
    made=partial(module_of, attention.SelfAttention),
    formula_args=formula_args,
)
