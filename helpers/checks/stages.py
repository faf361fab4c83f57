"""Attention in stages, each with its right form and its wrong ones.

A form takes `at`, which holds the arguments of the exercise by their names and what the stages
before it made, and returns what its stage makes. A wrong form is declared here once and serves
every exercise that has the stage.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace

import torch
from torch.nn.functional import normalize

from .declare import Mistake, global_max, less_column_max, naive, of_python, soft, stable
from .experiments import (
    FillsInPlace,
    ZeroTimesInfinityIsZero,
    low_is_lowest,
    plus_is_minus,
)
from .sources import SOURCES

# In the order in which the computation runs, with what each stage makes.
MAKES = {
    "project": ("queries", "keys", "values"),
    "split": ("queries", "keys", "values"),
    "score": ("scores",),
    "scale": ("scores",),
    "mask": ("scores",),
    "exp": ("exp",),
    "normalise": ("weights",),
    "blend": ("contexts",),
    "merge": ("contexts",),
    "output": ("contexts",),
}


@dataclass(frozen=True)
class Staged:
    """An answer in stages.

    takes: names of its arguments.  forms: (stage, form) pairs in the order of MAKES.  gives:
    takes `at` after the last stage, returns the answer.
    """

    takes: tuple[str, ...]
    forms: tuple[tuple[str, Callable], ...]
    gives: Callable

    def __call__(self, *args):
        at = SimpleNamespace(**dict(zip(self.takes, args, strict=True)))
        for stage, form in self.forms:
            take(at, stage, form(at))
        return self.gives(at)

    def with_(self, *choices):
        """The same with other forms. choices: dicts from stage to form."""
        other = {stage: form for choice in choices for stage, form in choice.items()}
        return Staged(
            self.takes, tuple((s, other.get(s, form)) for s, form in self.forms), self.gives
        )


def take(at, stage, made):
    """Keep what a stage made."""
    names = MAKES[stage]
    for name, x in zip(names, (made,) if len(names) == 1 else made, strict=True):
        setattr(at, name, x)
    if "keys" in names:
        at.d_k = at.keys.shape[-1]


def wrong(stage, name, advice, *forms, **more):
    """A mistake in one stage. forms: the wrong ones.  more: see declare.Mistake."""
    return Mistake(name, None, advice, stages=tuple({stage: form} for form in forms), **more)


def only_alone(mistake):
    """The same mistake, never looked for together with others."""
    return replace(mistake, stages=(), alone=mistake.choices)


def varied(mistakes, named=None, without=()):
    """The same mistakes in another exercise.

    named: from name to (name, advice) there.  without: those that are no mistake of their own
    there.
    """
    for mistake in mistakes:
        if mistake.name not in without:
            name, advice = (named or {}).get(mistake.name, (mistake.name, mistake.advice))
            yield replace(mistake, name=name, advice=advice)


# --- project: what asks, what is matched, what is blended ---


def roles(order):
    """In this order: q, k and v are made by W_query, W_key and W_value, x are the inputs as
    they are."""

    def project(at):
        made = dict(q="W_query", k="W_key", v="W_value")
        return tuple(
            at.inputs if letter == "x" else at.inputs @ getattr(at, made[letter])
            for letter in order
        )

    return project


SWAPPED = "Your rows belong to the keys. Exchange queries and keys: row = query, column = key."
ROTATED = (
    "All three roles are rotated. Use inputs @ W_query to ask, inputs @ W_key to be matched, "
    "inputs @ W_value to be blended."
)
IN_ROLES = (
    wrong(
        "project",
        "keys and values swapped",
        "You matched against the VALUES and blended the KEYS. Exchange the two.",
        roles("qvk"),
        source="jsbaan/transformer-from-scratch#1 (q, v, k taken for q, k, v)",
    ),
    wrong(
        "project",
        "queries and values swapped",
        "You blended the QUERIES and asked with the values. Exchange the two.",
        roles("vkq"),
        source="the three results given out in another order",
    ),
    wrong(
        "project",
        "roles rotated (k,v,q)",
        ROTATED,
        roles("kvq"),
        source="q, k, v given out in another order than they were made",
    ),
    wrong(
        "project",
        "roles rotated (v,q,k)",
        ROTATED,
        roles("vqk"),
        source="q, k, v given out in another order than they were made",
    ),
    wrong(
        "project",
        "queries and keys swapped",
        SWAPPED,
        roles("kqv"),
        source="keys @ queries.T has the right shape too",
    ),
    wrong(
        "project",
        "queries used as keys",
        "You matched queries with queries. Make the keys with W_key.",
        roles("qqv"),
        source="datawhalechina/learn-nlp-with-transformers#45 (q * q in place of q * k)",
    ),
    wrong(
        "project",
        "keys used as queries",
        "You matched keys with keys. Make the queries with W_query.",
        roles("kkv"),
        source="594422814/TransformerTrack#33 (key and query share one matrix)",
    ),
    wrong(
        "project",
        "values used as queries",
        "Make the queries with W_query.",
        roles("vkv"),
        source="line copied, one of its two names changed",
    ),
    wrong(
        "project",
        "values used as keys",
        "Make the keys with W_key.",
        roles("qvv"),
        source="Genentech/ARGMINN#1",
    ),
    wrong(
        "project",
        "queries used as values",
        "You blended the queries. Blend the VALUES.",
        roles("qkq"),
        source="kvfrans/notes#4",
    ),
    wrong(
        "project",
        "keys used as values",
        "You blended the keys. Blend the VALUES.",
        roles("qkk"),
        source="fchollet/deep-learning-with-python-notebooks#261, ruvnet/agentic-flow#191",
    ),
    wrong(
        "project",
        "one matrix for all three",
        "Give queries, keys and values a matrix each.",
        roles("qqq"),
        roles("kkk"),
        roles("vvv"),
        source="copied line, its matrix not changed",
    ),
    wrong(
        "project",
        "nn.Linear weight copied without .T",
        "nn.Linear keeps (d_out, d_in), but here a matrix is (d_in, d_out). Use inputs @ W, "
        "without .T.",
        lambda at: tuple(at.inputs @ W.T for W in (at.W_query, at.W_key, at.W_value)),
        source="rasbt/LLMs-from-scratch, exercise 3.1 and #857",
    ),
)


# --- score ---


def dot(at):
    return at.queries @ at.keys.transpose(-2, -1)


def cosine(at):
    return normalize(at.queries, dim=-1) @ normalize(at.keys, dim=-1).transpose(-2, -1)


def of_coordinates(at):
    return at.queries.transpose(-2, -1) @ at.keys


INNER = "Inner sizes must match: (n, d_k) @ (d_k, m). Use queries @ keys.T."
COMPARED = "queries.T @ keys compares the coordinates. Compare the words: queries @ keys.T."
FLIPPED = "The sign is flipped. Give a high weight to a high score."

KEYS_NOT_TRANSPOSED = wrong(
    "score",
    "keys not transposed",
    INNER,
    lambda at: at.queries @ at.keys,
    source=SOURCES["keys not transposed"],
)
SIGN_FLIPPED = wrong(
    "score", "sign flipped", FLIPPED, lambda at: -dot(at), source=SOURCES["sign flipped"]
)
AVERAGED = wrong(
    "score",
    "averaged instead of added",
    "A dot product ADDS the products; mean divides by their number as well. Use sum, not mean.",
    lambda at: dot(at) / at.keys.shape[-1],
    source=SOURCES["averaged instead of added"],
)


# --- scale ---


def by(divisor):
    """Scores divided by something. divisor: takes at."""
    return lambda at: at.scores / divisor(at)


by_root = by(lambda at: at.d_k**0.5)


def unscaled(at):
    return at.scores


NORMALISED_Q_AND_K = Mistake(
    "normalised q and k",
    None,
    "You divided queries and keys by their lengths. Use plain dot products, scaled by 1/sqrt(d_k) "
    "only.",
    stages=({"score": cosine}, {"score": cosine, "scale": unscaled}),
    source="alanqrwang/nwhead#3 (a dot product that was a cosine)",
)
COUNTED = "A count is not d_k, with or without a root. Use d_k, the SIZE of a key: keys.shape[-1]."
NO_SCALING = wrong(
    "scale",
    "no scaling",
    "The scores are too far apart for large d_k. Divide them by sqrt(d_k).",
    unscaled,
    source="huggingface/blog#2893, ethen8181/machine-learning#13",
)
IN_SCALE = (
    NO_SCALING,
    wrong(
        "scale",
        "divided by d_k, root forgotten",
        "You divided by d_k in all. Divide by its square ROOT, and once.",
        by(lambda at: at.d_k),
        source="tunz/transformer-pytorch#8, asked in thegregyang/NTK4A#3",
    ),
    wrong(
        "scale",
        "multiplied by sqrt(d_k)",
        "You multiplied by sqrt(d_k). Divide by it, once.",
        by(lambda at: at.d_k**-0.5),
        source="esceptico/perceiver-io#9, rasbt/LLMs-from-scratch#856",
    ),
    wrong(
        "scale",
        "parentheses forgotten",
        "d_k ** 1/2 is (d_k ** 1) / 2. Write d_k ** 0.5.",
        by(lambda at: at.d_k / 2),
        by(lambda at: at.d_k * 2),
        by(lambda at: 2 / at.d_k),
        source="mkara44/transunet_pytorch#4 (dk ** 1 / 2)",
    ),
    wrong(
        "scale",
        "root taken twice",
        "You divided by the root of the root of d_k. Take one root, unless queries AND keys are "
        "divided by it each.",
        by(lambda at: at.d_k**0.25),
        source="openai/guided-diffusion#38, huggingface/diffusers#929 (a root each, read as one)",
    ),
    wrong(
        "scale",
        "squared instead of root",
        "You divided by the square of d_k. Use the square root: d_k ** 0.5.",
        by(lambda at: at.d_k**2),
        source="d_k ** 2 written for the root",
    ),
    wrong(
        "scale",
        "always sqrt(2)",
        "sqrt(2) is right for keys of 2 numbers only. Use d_k, the size of a key.",
        by(lambda at: 2**0.5),
        source="d_k is 2 in the lesson, and the 2 was copied",
    ),
    wrong(
        "scale",
        "scaled by the number of words",
        COUNTED,
        by(lambda at: at.scores.shape[-1] ** 0.5),
        by(lambda at: at.scores.shape[-1]),
        source="shape[0] or shape[-2] taken for the size of a key",
    ),
)
BY_EMBEDDING = wrong(
    "scale",
    "scaled by the embedding size",
    "You divided by the root of the size of a WORD. Use d_k, the size of a KEY.",
    by(lambda at: at.inputs.shape[-1] ** 0.5),
    by(lambda at: 3**0.5),
    source=SOURCES["scaled by the embedding size"],
)
AFTER_SOFTMAX = Mistake(
    "scaled after softmax",
    None,
    "You divided the weights or the contexts by sqrt(d_k). Divide the SCORES, before softmax.",
    stages=({"scale": unscaled, "normalise": lambda at: soft(at.scores, at.exp) / at.d_k**0.5},),
    source="FrancescoSaverioZuppichini/ViT#2",
)
VALUES_SCALED = Mistake(
    "values scaled in place of keys",
    None,
    "You divided the values, which make no scores. Divide the KEYS by the root, like the queries.",
    stages=(
        {
            "scale": by(lambda at: at.d_k**0.25),
            "blend": lambda at: blend(at) / at.d_k**0.25,
        },
    ),
    source="pbloem/former#2 (queries and values divided)",
)


# --- mask ---


def future(scores, diagonal=1):
    """(n, n) of bool: True above the diagonal."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)


def past(scores, diagonal=0):
    """(n, n) of bool: True on and below the diagonal."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril(diagonal)


def hide(hidden, value=-torch.inf):
    """Something has this score. hidden: takes at, returns a mask."""
    return lambda at: at.scores.masked_fill(hidden(at), value)


def the_future(at):
    return future(at.scores)


def nothing_hidden(at):
    return at.scores


causal = hide(the_future)


def dropped(hidden):
    def mask(at):
        at.scores.masked_fill(hidden(at), -torch.inf)
        return at.scores

    return mask


def added(hidden, value):
    return lambda at: at.scores + hidden(at) * value


ZERO_SCORE = (
    'exp(0) = 1, so a score of 0 is not "nothing", and -1e-9 is 0 too. Fill with minus infinity.'
)
NOT_LOW = "Another score can be lower still. Fill with minus infinity."
TIMES_INFINITY = "0 * -inf is NaN. Use masked_fill, not multiplication."
PLUS_INFINITY = "exp of plus infinity is infinite, and inf / inf is NaN. Use MINUS infinity."
DROPPED = "masked_fill returns a NEW tensor. Assign it, or use masked_fill_."
MASK_LATER = (
    "The zeros are right, but the rows no longer sum to 1. Hide the scores BEFORE softmax, or "
    "divide each row by its sum again."
)
MASK_BETWEEN = "The second softmax turns the zeros into exp(0) = 1. Divide by the row sum instead."


def masked_later(name, advice, hidden, weigh, before=nothing_hidden, **more):
    """Hidden after softmax: in the weights. weigh: takes the weights and at, returns weights."""

    def normalise(at):
        return weigh(soft(at.scores, at.exp).masked_fill(hidden(at), 0), at)

    return Mistake(name, None, advice, stages=({"mask": before, "normalise": normalise},), **more)


def as_they_are(weights, at):
    return weights


def softmax_again(weights, at):
    return soft(weights)


def evenly(at):
    """Equal weights of all that is not hidden."""
    seen = (at.scores > -torch.inf).to(at.scores.dtype)
    return seen / seen.sum(-1, keepdim=True)


NOT_OF_VALUES = "A real score can be 0. Build the mask from positions, not from values."
MASKED_QUERIES = wrong(
    "mask",
    "mask as a row vector of queries",
    "You masked QUERIES (rows). Hide KEYS (columns), others in each row.",
    *(hide(lambda at, k=k: (torch.arange(at.scores.shape[-2]) > k)[:, None]) for k in range(3)),
    source="hyunwoongko/transformer#40, lsdefine/attention-is-all-you-need-keras#16",
)


def where_tril_is_0(hidden):
    """Hidden where the score is 0 after what is to be hidden was set to 0."""
    return wrong(
        "mask",
        "masked where tril(S)==0",
        NOT_OF_VALUES,
        lambda at: at.scores.masked_fill(hidden(at) | (at.scores == 0), -torch.inf),
        source="nanoGPT's bias == 0, used on the scores",
    )


def where_triu_is_not_0(hidden):
    """Hidden where the score is not 0 after what may be seen was set to 0."""
    return wrong(
        "mask",
        "masked where triu(S) is not 0",
        "A real score can be 0 or negative. Build the mask from positions, not from values.",
        hide(lambda at: hidden(at) & (at.scores != 0)),
        hide(lambda at: hidden(at) & (at.scores > 0)),
        source="the mask is built from the scores, as with tril(S) == 0",
    )


def large_number(hidden):
    return wrong(
        "mask",
        "a large number instead of a low one",
        "exp of a LARGE number takes all the weight. Fill with MINUS infinity.",
        hide(hidden, 1e9),
        source="lucidrains/memory-compressed-attention#2 (the sign of the filling number)",
    )


def ones_added(hidden):
    return wrong(
        "mask",
        "mask of ones added",
        "The mask was added to the scores as a number 1. Fill with minus infinity instead.",
        added(hidden, 1),
        source="asked in huggingface/transformers#205, facebookresearch/fairseq#2963",
    )


def nan_replaced(hidden):
    """hidden: the diagonal too."""
    return Mistake(
        "NaN replaced by 0",
        None,
        "nan_to_num hides what the mask did wrong: row 0 must see itself. Use diagonal=1.",
        stages=({"mask": hide(hidden), "normalise": lambda at: weigh(at).nan_to_num(0.0)},),
        source="nan_to_num is the first answer found to NaN in row 0",
    )


NO_MASK = wrong(
    "mask",
    "no mask",
    "The future is visible. Hide what is above the diagonal.",
    nothing_hidden,
    source="huggingface/transformers#22001, facebookresearch/xformers#103",
)
IN_CAUSAL_MASK = (
    wrong(
        "mask",
        "masked_fill result dropped",
        "The future is visible: " + DROPPED,
        dropped(the_future),
        world=FillsInPlace,
        source=SOURCES["masked_fill result dropped"],
    ),
    wrong(
        "mask",
        "mask * -inf added",
        TIMES_INFINITY,
        added(the_future, -torch.inf),
        world=ZeroTimesInfinityIsZero,
        source=SOURCES["mask * -inf added"],
    ),
    NO_MASK,
    masked_later(
        "mask after softmax",
        MASK_LATER,
        the_future,
        as_they_are,
        source=SOURCES["mask after softmax"],
    ),
    masked_later(
        "softmax, mask, softmax",
        MASK_BETWEEN,
        the_future,
        softmax_again,
        source=SOURCES["softmax, mask, softmax"],
    ),
    wrong(
        "mask", "masked with 0", ZERO_SCORE, hide(the_future, 0.0), source=SOURCES["masked with 0"]
    ),
    wrong(
        "mask",
        "mask upside down",
        "Upside down: you hid the PAST. Use a mask that is True where the key comes after the "
        "query: above the diagonal.",
        hide(lambda at: past(at.scores)),
        hide(lambda at: past(at.scores), -1e9),
        source="pytorch/examples#649; 1 = may see read as hidden: harvard-edge/cs249r_book#1785",
    ),
    wrong(
        "mask",
        "mask upside down, diagonal kept",
        "Upside down: the last word sees only itself. Hide what is ABOVE the diagonal.",
        hide(lambda at: past(at.scores, -1)),
        source="rasbt/LLMs-from-scratch#1061, pytorch/examples#649",
    ),
    wrong(
        "mask",
        "diagonal masked too",
        "A word may see itself; row 0 has nothing left, and 0 / 0 is NaN. Use diagonal=1.",
        hide(lambda at: future(at.scores, 0)),
        source=SOURCES["diagonal masked too"],
    ),
    wrong(
        "mask",
        "one step too generous",
        "Off by one: each word sees the NEXT word, the very one to predict. Use diagonal=1.",
        hide(lambda at: future(at.scores, 2)),
        source=SOURCES["one step too generous"],
    ),
    wrong(
        "mask",
        "+inf",
        PLUS_INFINITY,
        hide(the_future, torch.inf),
        world=plus_is_minus,
        source=SOURCES["+inf"],
    ),
    large_number(the_future),
    ones_added(the_future),
    nan_replaced(lambda at: future(at.scores, 0)),
    MASKED_QUERIES,
    where_tril_is_0(the_future),
    where_triu_is_not_0(the_future),
    wrong(
        "normalise",
        "mask only, scores unused",
        "You averaged the past evenly. Make the weights from the scores.",
        evenly,
        source=SOURCES["mask only, scores unused"],
    ),
)
# Numbers that somebody takes for low: filled in after scaling, before it, or added. Each gives
# other numbers.
LOW = (10, *range(1, 10), 20, 50, 100, 500, 1000, 1e4, 1e5, 1e6)


def low_numbers(hidden, sizes=LOW):
    """A number that is not low enough, recognised by its value, or by an experiment."""
    name = "a number not low enough"
    source = "TransformerLensOrg/TransformerLens#318 (real scores below -1e5)"

    def before_scaling(size):
        return lambda at: at.scores.masked_fill(hidden(at), -size / at.d_k**0.5)

    fills = [
        form
        for size in map(float, sizes)
        for form in (hide(hidden, -size), before_scaling(size), added(hidden, -size))
    ]
    return (
        only_alone(wrong("mask", name, NOT_LOW, *fills, source=source)),
        wrong("mask", name, NOT_LOW, hide(hidden, -35.0), world=low_is_lowest, source=source),
    )


# --- exp and normalise ---


def exp_is(form):
    return {"exp": lambda at: form}


def weigh(at):
    return soft(at.scores, at.exp)


def divided(x, dim=-1):
    return x / x.sum(dim, keepdim=True)


def less_maximum_or_0(scores, dim=-1):
    return (scores - scores.amax(dim, keepdim=True).clamp(min=0)).exp()


def over(*dims):
    return lambda at: soft(at.scores, at.exp, dim=dims)


OVERFLOW = wrong(
    "exp",
    "naive exp overflow",
    "exp of a large score overflows. Subtract the LARGEST score of the row first.",
    lambda at: naive,
    source="a published walk-through defines it",
)
GLOBAL_MAX = wrong(
    "exp",
    "subtracted the global max",
    "A row far below what you subtract underflows to 0/0. Subtract each row's OWN maximum.",
    lambda at: global_max,
    source=SOURCES["subtracted the global max"],
)
NEVER_BELOW_0 = wrong(
    "exp",
    "maximum never below 0",
    "The search for the largest score started at 0, which is wrong if all are negative. Start "
    "with the first score of the row, or use max().",
    lambda at: less_maximum_or_0,
    source="FluxML/NNlib.jl#43 (max(0, maximum) subtracted)",
)
TWICE = wrong(
    "normalise",
    "softmax twice",
    "The second softmax flattens the weights towards uniform. Apply it once, to the scores.",
    lambda at: soft(weigh(at)),
    source=SOURCES["softmax twice"],
)
WHOLE_MATRIX = wrong(
    "normalise",
    "softmax over the whole matrix",
    "The whole matrix sums to 1 instead of each row. Normalise along dim=-1.",
    over(-2, -1),
    source=SOURCES["softmax over the whole matrix"],
)
ONLY_EXPS = wrong(
    "normalise",
    "not divided by the sum",
    "These rows do not sum to 1. Divide the exps of each row by their own sum.",
    lambda at: stable(at.scores),
    lambda at: naive(at.scores),
    source=SOURCES["not divided by the sum"],
)
OVER_THE_QUERIES = wrong(
    "normalise",
    "softmax over the wrong axis",
    "Softmax ran over the queries (dim 0). Run it over the keys (dim -1).",
    over(-2),
    source=SOURCES["softmax over the wrong axis"],
)
KEEPDIM = wrong(
    "normalise",
    "keepdim forgotten",
    "A sum or maximum over dim 1 has shape (n,), and (n, n) with (n,) pairs it with the columns. "
    "Use keepdim=True.",
    lambda at: at.exp(at.scores) / at.exp(at.scores).sum(-1),
    lambda at: soft(at.scores, less_column_max),
    lambda at: less_column_max(at.scores) / less_column_max(at.scores).sum(-1),
    source=SOURCES["keepdim forgotten"],
)
ROUNDED = wrong(
    "normalise",
    "weights rounded to 2 decimals first",
    "Keep full precision, and round only when printing.",
    lambda at: weigh(at).round(decimals=2),
    source="a published walk-through multiplies 4 decimals by hand",
)
BY_SUM = wrong(
    "normalise",
    "rows divided by sum",
    "There is no exp, so a negative score gives a negative weight. Use softmax.",
    lambda at: at.scores / at.scores.sum(-1, keepdim=True),
    source="a published walk-through prints it",
)
SIGMOID = wrong(
    "normalise",
    "sigmoid per score",
    "Sigmoid squashes each score alone. Make them compete: divide the exps by their SUM.",
    lambda at: at.scores.sigmoid(),
    source=SOURCES["sigmoid per score"],
)
SIGMOID_DIVIDED = wrong(
    "normalise",
    "sigmoid, then divided by the sum",
    "They sum to 1, but sigmoid levels out high scores. Divide the EXPS by their sum.",
    lambda at: divided(at.scores.sigmoid()),
    source="Wang-Tianwei/Decoupled-attention-network#14 (sigmoid and then normalised)",
)
NO_EXP_BELOW = wrong(
    "normalise",
    "exp missing in the sum",
    "exp is needed above AND below the fraction bar. Divide by the sum of the EXPS.",
    lambda at: naive(at.scores) / at.scores.sum(-1, keepdim=True),
    source="keras-team/keras-io#320, p2irc/deepplantphenomics#50",
)
LESS_ABOVE_ONLY = wrong(
    "normalise",
    "maximum subtracted above only",
    "Subtract the largest score in BOTH exps, above and below the fraction bar.",
    lambda at: stable(at.scores) / naive(at.scores).sum(-1, keepdim=True),
    source="only one of the two lines was changed",
)
ONE_ADDED = wrong(
    "normalise",
    "1 added to the sum",
    "The weights sum to less than 1. Divide by the sum of the exps and nothing else.",
    lambda at: at.exp(at.scores) / (1 + at.exp(at.scores).sum(-1, keepdim=True)),
    source="proposed in karpathy/llama2.c#59 (softmax1), or a guard against 0",
)
OVER_ONE_NUMBER = wrong(
    "normalise",
    "softmax over one number",
    "Every weight is 1, as after softmax along a dimension of size 1. Run softmax over all scores "
    "of a word.",
    lambda at: soft(at.scores[..., None], at.exp)[..., 0],
    source="DEEP-PolyU/KEQA_WSDM19#2, localminimum/R-net#8 (all weights are 1)",
)
COLUMNS_TOO = wrong(
    "normalise",
    "columns divided again",
    "After softmax the rows sum to 1; dividing by the sum of the columns spoils that. Keep the "
    "weights as they are.",
    lambda at: divided(weigh(at), dim=-2),
    source="MenghaoGuo/PCT#13 (softmax, then divided along the other dimension)",
)
LOGARITHM = wrong(
    "normalise",
    "log_softmax",
    "You blended with logarithms (none is positive). Blend with the weights.",
    lambda at: at.scores.log_softmax(-1),
    source=SOURCES["log_softmax"],
)
NO_SOFTMAX = Mistake(
    "scores instead of weights",
    None,
    "You blended with scores, not weights. Apply softmax to the scores first.",
    stages=(
        {"normalise": lambda at: at.scores},
        {"normalise": lambda at: at.scores, "scale": unscaled},
    ),
    source=SOURCES["scores instead of weights"],
)


def overflow_of_python(staged):
    """math.exp overflows with an error where that of torch gives infinity.

    staged: the right answer.
    """
    python = staged.with_(exp_is(of_python))
    return Mistake(
        OVERFLOW.name,
        python,
        OVERFLOW.advice,
        shows=lambda seen: seen.overflows_like(python),
        source=OVERFLOW.source,
    )


# --- blend ---


def blend(at):
    return at.weights @ at.values


RESIDUAL = wrong(
    "blend",
    "residual added",
    "You added the input back: a residual connection, which is a later step. Return the blend "
    "alone.",
    lambda at: blend(at) + at.inputs,
    lambda at: at.inputs + blend(at),  # where sizes do not fit, it raises other words
    source="a published walk-through adds it back",
)
MEAN = wrong(
    "blend",
    "mean instead of sum",
    "mean divides by the number of words again; the weights already sum to 1. Use sum, not mean.",
    lambda at: blend(at) / at.values.shape[-2],
    source="asked in cgpotts/cs224u#116 (a lecture slide takes the mean)",
)
ALL_EQUAL = wrong(
    "blend",
    "all weights equal",
    "That is the plain mean. Blend with the weights that softmax makes of the scores.",
    lambda at: at.values.mean(-2, keepdim=True).expand(*at.weights.shape[:-1], -1),
    source=SOURCES["all weights equal"],
)


def _picked(places, at):
    return torch.nn.functional.one_hot(places, at.weights.shape[-1]).to(at.values.dtype) @ at.values


WINNER = wrong(
    "blend",
    "took the winner",
    "You picked the top word. Blend ALL words, each by its weight.",
    # Of several that are the largest none is picked: together with other mistakes, that would
    # give the first word without any look at the weights.
    lambda at: (
        divided((at.weights == at.weights.amax(-1, keepdim=True)).to(at.values.dtype)) @ at.values
    ),
    alone=({"blend": lambda at: _picked(at.weights.argmax(-1), at)},),
    source="attention as focus on one word",
)
TRANSPOSED = wrong(
    "blend",
    "weights transposed",
    "Output i came from COLUMN i of the weights. Use ROW i: weights @ values, without .T.",
    lambda at: at.weights.transpose(-2, -1) @ at.values,
    source=SOURCES["weights transposed"],
)
OWN_VALUE = {"blend": lambda at: at.values}
NOT_BLENDED = Mistake(
    "not blended",
    None,
    "Each word got its own value, query or key, and nothing of the others. Blend the values of "
    "all words that it may see: weights @ values.",
    stages=(
        OWN_VALUE,
        {"project": roles("qkq")} | OWN_VALUE,
        {"project": roles("qkk")} | OWN_VALUE,
    ),
    source="a name returned that was made before the last step",
)
ONE_FOR_ALL = wrong(
    "blend",
    "one word for all",
    "Every word got the value of the same word. Blend with the weights of each word: weights @ "
    "values.",
    lambda at: at.values[..., :1, :].expand(*at.weights.shape[:-1], -1),
    lambda at: at.values[..., -1:, :].expand(*at.weights.shape[:-1], -1),
    source="an index, 0 or -1, left over from a trial with one word",
)
RETURNED = wrong(
    "blend",
    "weights returned",
    "These are the weights. Return weights @ values.",
    lambda at: at.weights,
    source="weights are what is looked at, so they are returned",
)
