"""Lesson 05: causal attention."""

from dataclasses import replace
from functools import partial
from operator import attrgetter

import torch
from torch.nn import functional as F

from .. import attention
from . import stages
from .declare import Exercise, Mistake, Probe, naive, soft, stable
from .experiments import (
    FillsInPlace,
    LooksBack,
    TurnsTheLastTwo,
    ZeroTimesInfinityIsZero,
    plus_is_minus,
)
from .lesson_04 import QKV_STAGES, seeded
from .modules import formula_args, keeping, keeping_mistakes, module_of, outputs_like, training
from .probes import sentence
from .results import Observed, close, numbers_of
from .sources import SOURCES
from .stages import Staged, future, hide, masked_later, past, the_future, wrong

# --- causal_weights ---


def _weights_of(takes, mask):
    """Weights of scores that are given, with a mask."""
    return Staged(
        takes,
        (
            ("score", lambda at: at.scores),
            ("scale", stages.by_root),
            ("mask", mask),
            ("exp", lambda at: stable),
            ("normalise", stages.weigh),
        ),
        attrgetter("weights"),
    )


CAUSAL_STAGES = _weights_of(("scores", "d_k"), stages.causal)


def _tables():
    """Scores with d_k. In the second, word 3 gives word 1 a score of exactly 0."""
    W_query, W_key, _ = seeded()
    return [
        ("the scores of the sentence", sentence() @ W_query @ (sentence() @ W_key).T, 2),
        (
            "5 x 5 scores with negative ones and a 0, d_k = 3",
            torch.tensor(
                [
                    [0.5, -1.25, 2.5, 0.75, -3.0],
                    [1.5, 0.25, -0.5, -2.0, 1.0],
                    [-0.75, -1.0, -0.25, -2.5, -1.5],
                    [3.0, 0.0, 1.25, -0.5, -1.75],
                    [0.5, 2.0, -1.5, 1.0, 0.25],
                ],
                dtype=torch.float64,
            ),
            3,
        ),
        # No word sees only scores that are far below those that are hidden.
        (
            "4 x 4 scores near 1000 and -1000, d_k = 4",
            torch.tensor(
                [
                    [1.0, -0.5, 2.0, 0.0],
                    [1000.0, 998.5, 1001.0, 999.0],
                    [-1000.0, -998.5, -1001.0, -999.5],
                    [0.5, 1.5, -1.0, 0.25],
                ]
            ),
            4,
        ),
        (
            "4 x 4 scores, one of them -4000000, d_k = 4",
            torch.tensor(
                [
                    [-4e6, 1.0, 0.0, 2.0],
                    [0.5, -1.0, 1.5, 0.0],
                    [1.0, -0.5, 2.0, 1.0],
                    [0.25, 1.5, -1.0, 0.5],
                ]
            ),
            4,
        ),
    ]


def _scores():
    *first, last = [Probe(where, args) for where, *args in _tables()]
    return [*first, replace(last, may_fail=True)]


def _zeroed_and_divided(hidden):
    """Right, but that exp overflows: hidden after exp, or after softmax, and divided again."""

    def exps(at):
        kept = naive(at.scores).masked_fill(hidden(at), 0)
        return kept / kept.sum(-1, keepdim=True)

    def weights(at):
        kept = soft(at.scores, naive).masked_fill(hidden(at), 0)
        return kept / kept.sum(-1, keepdim=True)

    return tuple(
        {"mask": stages.nothing_hidden, "exp": lambda at: naive, "normalise": form}
        for form in (exps, weights)
    )


def _overflow(staged, hidden):
    return (
        replace(stages.OVERFLOW, stages=(*stages.OVERFLOW.stages, *_zeroed_and_divided(hidden))),
        stages.overflow_of_python(staged),
    )


def _columns(hidden):
    """Softmax over columns, hidden before or after."""

    def normalise(at):
        return soft(at.scores, at.exp, dim=-2).masked_fill(hidden(at), 0)

    return Mistake(
        "softmax over columns",
        None,
        "Columns sum to 1. Normalise over the keys (dim=-1).",
        stages=(
            *stages.OVER_THE_QUERIES.stages,
            {"mask": stages.nothing_hidden, "normalise": normalise},
        ),
        source="the printed solution 3.2 of rasbt/LLMs-from-scratch",
    )


def _twice(hidden):
    """Softmax twice, hidden before the first or between them."""

    def normalise(at):
        return soft(stages.weigh(at).masked_fill(hidden(at), -torch.inf))

    return replace(
        stages.TWICE,
        stages=(
            *stages.TWICE.stages,
            {"mask": stages.nothing_hidden, "normalise": normalise},
        ),
    )


NOT_NORMALISED = (
    "not normalised",
    "These rows do not sum to 1. Divide each by its own sum.",
)
IN_MASKED_WEIGHTS = (
    stages.NEVER_BELOW_0,
    stages.SIGMOID_DIVIDED,
    stages.LESS_ABOVE_ONLY,
    stages.ONE_ADDED,
    replace(
        stages.OVER_ONE_NUMBER,
        stages=({"mask": stages.nothing_hidden} | stages.OVER_ONE_NUMBER.stages[0],),
    ),
    # Another mistake beside these leaves nothing but NaN.
    stages.only_alone(stages.OVER_ONE_NUMBER),
    stages.only_alone(stages.COLUMNS_TOO),
)
# Mistakes in weights, wherever the future is hidden.
IN_CAUSAL_WEIGHTS = (
    *stages.IN_CAUSAL_MASK,
    *stages.low_numbers(the_future),
    *stages.IN_SCALE,
    stages.AFTER_SOFTMAX,
    stages.GLOBAL_MAX,
    _columns(the_future),
    _twice(the_future),
    stages.WHOLE_MATRIX,
    stages.KEEPDIM,
    stages.SIGMOID,
    *IN_MASKED_WEIGHTS,
    *stages.varied([stages.ONLY_EXPS], {"not divided by the sum": NOT_NORMALISED}),
)
# Mistakes of an answer that gives weights.
IN_GIVEN_WEIGHTS = (
    wrong(
        "score",
        "sign flipped",
        stages.FLIPPED,
        lambda at: -at.scores,
        source=SOURCES["sign flipped"],
    ),
    wrong(
        "normalise",
        "weights transposed",
        "Your matrix is the transpose. Make row = query, column = key.",
        lambda at: stages.weigh(at).mT,
        source=SOURCES["weights transposed"],
    ),
    Mistake(
        "still scores",
        None,
        "These are the masked scores. Apply softmax to them.",
        stages=stages.NO_SOFTMAX.stages,
        source=SOURCES["still scores"],
    ),
    wrong(
        "normalise",
        "log_softmax",
        "These are the logarithms of the weights. Return the weights.",
        lambda at: at.scores.log_softmax(-1),
        source=SOURCES["log_softmax"],
    ),
)

CAUSAL = Exercise(
    "causal_weights",
    "causal_weights(scores, d_k) -> (n, n)",
    "weights",
    attention.causal_weights,
    _scores,
    (*IN_CAUSAL_WEIGHTS, *IN_GIVEN_WEIGHTS, *_overflow(CAUSAL_STAGES, the_future)),
    staged=CAUSAL_STAGES,
)


# --- window_weights ---


def outside(at):
    """What the window hides: the future, and what is too old."""
    return future(at.scores) | past(at.scores, -at.window)


def _too_old(at):
    return past(at.scores, -at.window)


def _hidden(mask):
    """mask: takes scores and the window, returns what is hidden."""
    return hide(lambda at: mask(at.scores, at.window))


WINDOW_STAGES = _weights_of(("scores", "d_k", "window"), hide(outside))


def _and_itself(at):
    return future(at.scores, 0) | _too_old(at)


def _other_block(at):
    block = torch.arange(at.scores.shape[-1]) // at.window
    return block[:, None] != block


def _last_dropped(at):
    scores = stages.causal(at)
    scores.masked_fill(_too_old(at), -torch.inf)
    return scores


def _old_with_zero(at):
    return at.scores.masked_fill(_too_old(at), 0.0).masked_fill(the_future(at), -torch.inf)


def _half_later(name, advice, weigh, **more):
    """All of it hidden after softmax, or one half before and the other after."""
    versions = (
        (outside, stages.nothing_hidden),
        (_too_old, stages.causal),
        (the_future, hide(_too_old)),
    )
    mistakes = [masked_later(name, advice, h, weigh, before, **more) for h, before in versions]
    return replace(mistakes[0], stages=tuple(m.stages[0] for m in mistakes))


def _windows():
    (first, *one), (second, *two), (third, *three), (fourth, *four) = _tables()
    return [
        Probe(f"{first}, window = 2", (*one, 2)),
        Probe(f"{second}, window = 3", (*two, 3)),
        Probe(f"{third}, window = 4", (*three, 4)),  # the last word sees all
        Probe(f"{fourth}, window = 1", (*four, 1), may_fail=True),
    ]


WINDOW = Exercise(
    "window_weights",
    "window_weights(scores, d_k, window) -> (n, n)",
    "weights",
    attention.window_weights,
    _windows,
    (
        wrong(
            "mask",
            "masked_fill result dropped",
            stages.DROPPED,
            stages.dropped(outside),
            _last_dropped,
            world=FillsInPlace,
            source=SOURCES["masked_fill result dropped"],
        ),
        wrong(
            "mask",
            "mask * -inf added",
            stages.TIMES_INFINITY,
            stages.added(outside, -torch.inf),
            world=ZeroTimesInfinityIsZero,
            source=SOURCES["mask * -inf added"],
        ),
        wrong(
            "mask",
            "sign of the diagonal",
            "What is too old lies to the LEFT of the diagonal. Use tril(diagonal=-window).",
            _hidden(lambda s, w: future(s) | past(s, w)),
            world=LooksBack,
            source="huggingface/transformers#41228 (+ sliding_window in place of -)",
        ),
        wrong(
            "mask",
            "the window not applied",
            "This is plain causal attention. Hide also what lies `window` or more words back.",
            stages.causal,
            source="pytorch/executorch#21384",
        ),
        wrong(
            "mask",
            "no mask",
            "Nothing is hidden (no word is in the future AND too old: join the masks with |). "
            "Hide the future, and what lies `window` or more words back.",
            stages.nothing_hidden,
            source="lucidrains/local-attention#5 (the two masks joined by and, not or)",
        ),
        wrong(
            "mask",
            "the future not hidden",
            "The future is visible: the window looks back only. Hide what is above the diagonal.",
            hide(_too_old),
            _hidden(lambda s, w: past(s, -w) | future(s, w)),
            source="keras-team/keras#22814 (a band on both sides unless a causal mask is added)",
        ),
        wrong(
            "mask",
            "window one too wide",
            "Off by one: each word sees window + 1 words. Count the word itself among them.",
            _hidden(lambda s, w: future(s) | past(s, -w - 1)),
            source="huggingface/transformers#39408, ml-explore/mlx-lm#390",
        ),
        wrong(
            "mask",
            "window one too narrow",
            "Off by one: each word sees window - 1 words. Let it see itself with window = 1.",
            _hidden(lambda s, w: future(s) | past(s, -w + 1)),
            source="huggingface/transformers#47010 (< in place of <=)",
        ),
        wrong(
            "mask",
            "the past hidden instead",
            "Upside down: your window looks into the future. Let it look back.",
            _hidden(lambda s, w: past(s, -1) | future(s, w)),
            _hidden(lambda s, w: past(s, -1)),
            source="tril and triu exchanged",
        ),
        wrong(
            "mask",
            "the window hidden instead",
            "You hid the window and kept what is older. Hide what lies `window` or more words "
            "back.",
            _hidden(lambda s, w: ~past(s, -w)),
            hide(lambda at: ~outside(at)),
            source="True read as: may be seen",
        ),
        wrong(
            "mask",
            "diagonal masked too",
            "A word may see itself. Use diagonal=1 for the future.",
            hide(_and_itself),
            source=SOURCES["diagonal masked too"],
        ),
        wrong(
            "mask",
            "one step too generous",
            "Off by one: each word sees the NEXT word. Use diagonal=1 for the future.",
            _hidden(lambda s, w: future(s, 2) | past(s, -w)),
            source=SOURCES["one step too generous"],
        ),
        _half_later(
            "mask after softmax",
            stages.MASK_LATER,
            stages.as_they_are,
            source=SOURCES["mask after softmax"],
        ),
        _half_later(
            "softmax, mask, softmax",
            stages.MASK_BETWEEN,
            stages.softmax_again,
            source=SOURCES["softmax, mask, softmax"],
        ),
        wrong(
            "mask",
            "masked with 0",
            stages.ZERO_SCORE,
            hide(outside, 0.0),
            _old_with_zero,
            source=SOURCES["masked with 0"],
        ),
        wrong(
            "mask",
            "+inf",
            stages.PLUS_INFINITY,
            hide(outside, torch.inf),
            world=plus_is_minus,
            source=SOURCES["+inf"],
        ),
        stages.low_numbers(outside)[-1],
        stages.large_number(outside),
        stages.ones_added(outside),
        stages.nan_replaced(_and_itself),
        stages.MASKED_QUERIES,
        stages.where_tril_is_0(outside),
        stages.where_triu_is_not_0(outside),
        wrong(
            "mask",
            "blocks instead of a window",
            "You cut the sentence into blocks of `window` words. Move the window with each word.",
            hide(lambda at: _other_block(at) | the_future(at)),
            hide(_other_block),
            source="maxjcohen/transformer#12, mit-han-lab/duo-attention#3 (chunks taken for a "
            "window)",
        ),
        wrong(
            "normalise",
            "mask only, scores unused",
            "You averaged the words in the window evenly. Make the weights from the scores.",
            stages.evenly,
            source=SOURCES["mask only, scores unused"],
        ),
        *stages.IN_SCALE,
        stages.AFTER_SOFTMAX,
        _columns(outside),
        _twice(outside),
        stages.WHOLE_MATRIX,
        stages.GLOBAL_MAX,
        stages.SIGMOID,
        *IN_MASKED_WEIGHTS,
        *stages.varied([stages.ONLY_EXPS], {"not divided by the sum": NOT_NORMALISED}),
        *IN_GIVEN_WEIGHTS,
        *_overflow(WINDOW_STAGES, outside),
    ),
    staged=WINDOW_STAGES,
)


# --- dropout ---


def dropping(fn, weights, p, training, calls=1):
    """What dropout does, whichever weights are drawn. Enough weights that no share is rounded
    to another tenth by chance, and no more than a loop can do in time."""
    before = weights.clone()
    first = numbers_of(fn(weights, p, training)).to(before.dtype)
    facts = Observed({"shape": str(tuple(first.shape))})
    if first.shape != before.shape:
        return facts
    zero = first == 0
    facts["what is dropped"] = _dropped_together(zero)
    if facts["what is dropped"] == "single weights":
        facts["share that is dropped"] = _tenth(zero)
    facts["factor of the others"] = _factor(first[~zero] / before[~zero])
    sums, sums_before = first.sum(-1), before.sum(-1)
    facts["each row sums to what it did"] = torch.allclose(sums, sums_before, atol=1e-3)
    if training:
        # Before a softmax, what was dropped is the lowest of its row, if they were weights; the
        # highest, if they were logarithms of weights.
        logs = first.log()
        lowest, highest = logs.amin(-1, keepdim=True), logs.amax(-1, keepdim=True)
        facts["share of 0 before a softmax"] = _tenth((logs - lowest).abs() < 1e-6)
        facts["share of 0 as a logarithm before it"] = _tenth((logs - highest).abs() < 1e-6)
    if calls == 2:
        second = numbers_of(fn(before.clone(), p, training))
        facts["two calls drop the same"] = torch.equal(second == 0, zero) and bool(zero.any())
    return facts


def _dropped_together(zero):
    if not zero.any():
        return "nothing"
    if zero.all():
        return "everything"
    for what, dim in (("whole rows", 1), ("whole columns", 0)):
        if torch.equal(zero.all(dim), zero.any(dim)):
            return what
    return "single weights"


def _tenth(which):
    return round(float(which.double().mean()), 1)


def _factor(ratios):
    """The one factor, or "not one for all"."""
    if len(ratios) == 0:
        return "none is left"
    if ratios.isnan().any():
        return torch.nan
    middle = float(ratios.median())
    one = (ratios - middle).abs().max() <= 5e-3 * abs(middle)
    return float(f"{middle:.3g}") if one else "not one for all"


def _many_weights():
    """40 x 100: rows and columns enough that each is dropped or not by itself."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(40, 100, generator=generator).softmax(-1)


def _dropping():
    weights = _many_weights()
    return [
        Probe(
            "40 x 100 weights, p = 0.2, in training",
            (weights, 0.2, True),
            measure=partial(dropping, calls=2),
        ),
        Probe("40 x 100 weights, p = 0.6, in training", (weights, 0.6, True), measure=dropping),
        Probe("40 x 100 weights, p = 0.6, in evaluation", (weights, 0.6, False), measure=dropping),
    ]


def _drop(keep, factor, evaluation=lambda weights, p: weights):
    """Dropout with something else. keep: takes weights and p, returns a mask.  factor: takes
    p.  evaluation: what it returns then."""

    def code(weights, p, training):
        if not training:
            return evaluation(weights, p)
        return weights * keep(weights, p) * factor(p)

    return code


def _coins(*shape):
    """A coin for each number of this shape, True with probability 1 - p."""
    return lambda weights, p: torch.rand(*(n or weights.shape[k] for k, n in enumerate(shape))) >= p


_keep = _coins(0, 0)


def _wrong_coins(weights, p):
    return torch.rand(weights.shape) < p


def _inverse(p):
    return 1 / (1 - p)


def _always(code):
    return lambda weights, p, training: code(weights, p, True)


def _softmax_after(dropped, always=False):
    """Softmax of what a dropout left. dropped: takes weights and p."""
    return lambda weights, p, training: (
        dropped(weights, p if training else 0.0).softmax(-1) if training or always else weights
    )


def _same_coins(weights, p):
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return _keep(weights, p)


def _minus_infinity(factor):
    def code(weights, p, training):
        if not training:
            return weights
        return weights.masked_fill(~_keep(weights, p), -torch.inf) * factor(p)

    return code


_dropout = _drop(_keep, _inverse)

DROPOUT = Exercise(
    "dropout",
    "dropout(weights, p, training) -> same shape",
    "random",
    attention.dropout,
    _dropping,
    (
        Mistake(
            "no rescaling",
            _drop(_keep, lambda p: 1),
            "The expected sum must stay 1. Multiply survivors by 1 / (1 - p).",
            source="Srivastava 2014 rescales in evaluation only",
        ),
        Mistake(
            "p taken as keep probability",
            _drop(_wrong_coins, _inverse),
            "p is the share to DROP. Let a share of 1 - p survive.",
            also=tuple(
                _drop(_wrong_coins, factor)
                for factor in (lambda p: 1 / p, lambda p: 1, lambda p: p, lambda p: 1 - p)
            ),
            source="TensorFlow's keep_prob is torch's 1 - p",
        ),
        Mistake(
            "rescaled by 1/p",
            _drop(_keep, lambda p: 1 / p),
            "Where few are dropped, little is made up for. Use the factor 1 / (1 - p), not 1 / p.",
            source="lmjohns3/theanets#123, rasbt/LLMs-from-scratch#431",
        ),
        Mistake(
            "multiplied by 1 - p",
            _drop(_keep, lambda p: 1 - p),
            "Survivors must GROW. Divide by 1 - p.",
            also=(_drop(_keep, lambda p: p),),
            source="the factor of evaluation (Srivastava 2014) used in training",
        ),
        Mistake(
            "left on in evaluation",
            _always(_dropout),
            "Dropout is still on in evaluation. Return the weights as they are if training is "
            "False.",
            also=(
                _always(_drop(_keep, lambda p: 1)),
                _drop(_keep, _inverse, lambda weights, p: weights * _keep(weights, p)),
            ),
            source="delip/PyTorchNLPBook#28 (F.dropout has training=True), karpathy/nanoGPT#240",
        ),
        Mistake(
            "off in training, on in evaluation",
            lambda weights, p, training: _dropout(weights, p, not training),
            "The wrong way round. Drop in training, and return the weights as they are otherwise.",
            source="`if training: return weights`, the condition reversed",
        ),
        Mistake(
            "nothing dropped",
            lambda weights, p, training: weights * 1,
            "Set a share p of the weights to 0 in training.",
            source="facebookresearch/xformers#122",
        ),
        Mistake(
            "rescaled in evaluation",
            _drop(_keep, lambda p: 1, lambda weights, p: weights * (1 - p)),
            "Here the survivors grow in training only. Return the weights as they are in "
            "evaluation.",
            also=(
                _drop(_keep, _inverse, lambda weights, p: weights * (1 - p)),
                _drop(_keep, _inverse, lambda weights, p: weights / (1 - p)),
                _drop(_keep, lambda p: 1, lambda weights, p: weights / (1 - p)),
                _drop(_keep, lambda p: 1, lambda weights, p: weights * p),
                _drop(_keep, _inverse, lambda weights, p: weights * p),
            ),
            source="karpathy/convnetjs#61 and #106; expected in keras-team/keras#3305",
        ),
        Mistake(
            "rescaled twice",
            _drop(_keep, lambda p: _inverse(p) ** 2),
            "F.dropout divides by 1 - p itself. Divide only once.",
            source="teelinsan/KerasDropconnect#1 (the built-in dropout rescales, which is not "
            "expected)",
        ),
        Mistake(
            "p not passed on",
            lambda weights, p, training: F.dropout(weights, training=training),
            "F.dropout and nn.Dropout drop one half unless they get p. Give it to them: "
            "F.dropout(weights, p, training).",
            source="p=0.5 is the default in torch.nn.functional.dropout; 0.5 fixed in "
            "mp2893/retain#1",
        ),
        Mistake(
            "filled with minus infinity",
            _minus_infinity(_inverse),
            "Minus infinity is for scores, before softmax. Set a dropped weight to 0.",
            also=(_minus_infinity(lambda p: 1),),
            source="facebookresearch/fairseq#351 (dropped weights set to -inf), without the "
            "second softmax",
        ),
        Mistake(
            "randn instead of rand",
            _drop(lambda weights, p: torch.randn(weights.shape) >= p, _inverse),
            "torch.randn draws around 0, so p is not the share that is dropped. Use torch.rand.",
            source="one letter; torch.rand is from 0 to 1, torch.randn is not",
        ),
        Mistake(
            "rows divided by their sum again",
            lambda weights, p, training: F.normalize(_dropout(weights, p, training), p=1.0, dim=-1),
            "A row sums to 1 only on average. Use the same factor 1 / (1 - p) for every survivor.",
            source="proposed in huggingface/transformers#31468, asked in "
            "karpathy/ng-video-lecture#30",
        ),
        Mistake(
            "dropout before softmax",
            _softmax_after(lambda w, p: F.dropout(w, p), always=True),
            "Dropping a SCORE sets it to 0, and exp(0) = 1. Drop the weights, after softmax.",
            also=(
                _softmax_after(lambda w, p: F.dropout(w, p)),
                _softmax_after(lambda w, p: w * _keep(w, p), always=True),
                _softmax_after(lambda w, p: w * _keep(w, p)),
                _softmax_after(lambda w, p: F.dropout(w.log(), p)),
                _softmax_after(lambda w, p: w.log() * _keep(w, p)),
            ),
            source="asked in dmlc/dgl#1016; Parakeet#74",
        ),
        Mistake(
            "whole rows dropped",
            _drop(_coins(0, 1), _inverse),
            "One coin for each row drops a whole query. Toss one coin for each weight.",
            also=(_drop(_coins(0, 1), lambda p: 1),),
            source="torch.rand(n, 1) or rand(len(w))[:, None]",
        ),
        Mistake(
            "whole columns dropped",
            _drop(_coins(1, 0), _inverse),
            "One coin for each column drops a word for every query. Toss one coin for each weight.",
            also=(_drop(_coins(1, 0), lambda p: 1),),
            source="keras-team/keras#9841 (noise_shape of one row)",
        ),
        Mistake(
            "same mask at each call",
            _drop(_same_coins, _inverse),
            "Every call drops the same weights. Toss new coins at each call, and set no seed "
            "inside the function.",
            also=(_drop(_same_coins, lambda p: 1),),
            source="a seed put inside, to have the same numbers again",
        ),
    ),
)


# --- the class ---


class _Right(attention.CausalAttention):
    """Without dropout: the exercise comes before it."""

    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length, dropout=0.0)


CAUSAL_QKV = QKV_STAGES.with_({"mask": stages.causal})


def _two_sizes(inputs, W_query, W_key, W_value):
    n, _ = inputs.shape
    return CAUSAL_QKV(inputs, W_query, W_key, W_value) * n / n


class _Unregistered(_Right):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        mask = self.mask
        del self.mask
        self.mask = mask


class _Long(_Right):
    def weights(self, inputs):
        scores = attention.scaled_scores(self.W_query(inputs), self.W_key(inputs))
        return soft(scores.masked_fill(self.mask, -torch.inf))


_SIZES = (4, 5, 7)


def class_probes():
    # With this seed, the scores of the long words below have the signs that they need.
    generator = torch.Generator().manual_seed(135)

    def numbers(*shape):
        return torch.randint(-4, 5, shape, generator=generator) / 4

    matrices = tuple(numbers(4, 5) for _ in range(3))
    long, short = numbers(2, 7, 4), numbers(2, 3, 4)
    # The first words of two sentences are long: their scores with themselves, all that they
    # see, are about 1000 and -1000000.
    long[0, 0] *= 40
    short[0, 0] *= 1000
    short[1, 1] = 0  # scores of exactly 0
    outputs = outputs_like(_Right)
    return [
        Probe(
            "a module with d_in = 4, d_out = 5, context_length = 7",
            (long, _SIZES, matrices),
            measure=keeping,
        ),
        Probe("a batch of two sentences of 7 words", (long, _SIZES, matrices), measure=outputs),
        Probe(
            "a batch of two sentences of 3 words",
            (short, _SIZES, matrices),
            may_fail=True,
            measure=outputs,
        ),
        Probe(
            "a module to be trained",
            (numbers(2, 3, 4), _SIZES, matrices),
            measure=training,
            if_right=True,
        ),
    ]


def _one_sentence_works(seen):
    """Is it right for one sentence, where a batch raises?"""
    k = seen.wrong[0]
    if seen.mine[k].outcome.error is None or seen.probes[k].args[0].dim() != 3:
        return False
    inputs, *rest = seen.probes[k].args
    alone = seen.ask(k, args=(inputs[1], *rest)).numbers
    right = seen.right[k].numbers
    return alone is not None and right is not None and close(alone, right[1])


def _full_length_works(seen):
    """Is it right if the module is made for as many words as there are?"""
    k = seen.wrong[0]
    inputs, (d_in, d_out, _), matrices = seen.probes[k].args
    sizes = (d_in, d_out, inputs.shape[-2])
    return sizes != _SIZES and seen.is_right(k, seen.ask(k, args=(inputs, sizes, matrices)))


CAUSAL_CLASS = Exercise(
    "CausalAttention",
    "CausalAttention(d_in, d_out, context_length)",
    "values",
    _Right,
    class_probes,
    (
        *keeping_mistakes(CAUSAL_QKV),
        Mistake(
            "mask not registered",
            _Unregistered,
            "A plain attribute stays behind when the module moves to another device. Register the "
            'mask: self.register_buffer("mask", ...).',
            shows=lambda seen: bool(seen.fact("tensors that .to() leaves behind")),
            source="LAION-AI/temporal-embedding-aggregation#58 (attn_mask stays on the CPU)",
        ),
        Mistake(
            "sequence length fixed",
            _Long,
            "It fails for fewer words than context_length. Slice the mask: mask[:n, :n].",
            shows=_full_length_works,
            source="facebookresearch/xformers#66",
        ),
        wrong(
            "score",
            "keys.T",
            "keys.T, .t() and transpose(0, 1) work for one sentence only. Use keys.transpose(-2, "
            "-1), for a batch too.",
            lambda at: at.queries @ at.keys.T,
            lambda at: at.queries @ at.keys.t(),
            lambda at: at.queries @ at.keys.transpose(0, 1),
            world=TurnsTheLastTwo,
            source="a published walk-through; torch deprecates .T for more than 2 dims",
        ),
        Mistake(
            "one sentence only",
            module_of(_Right, _two_sizes),
            "It works for one sentence and fails for a batch (b, n, d_in). Count dimensions from "
            "the end, as in inputs.shape[-2].",
            shows=_one_sentence_works,
            source="n, d = inputs.shape fails for a batch",
        ),
        # What this gives is what a right answer that divides again gives.
        *stages.varied(IN_CAUSAL_WEIGHTS, without=[stages.NEVER_BELOW_0.name]),
        stages.VALUES_SCALED,
        stages.SIGN_FLIPPED,
        stages.AVERAGED,
        stages.NORMALISED_Q_AND_K,
        stages.TRANSPOSED,
        stages.MEAN,
        stages.ALL_EQUAL,
        stages.WINNER,
        stages.NOT_BLENDED,
        stages.ONE_FOR_ALL,
        stages.RETURNED,
        wrong(
            "normalise",
            "still scores",
            "You blended with the masked scores. Apply softmax to them first.",
            lambda at: at.scores,
            source=SOURCES["still scores"],
        ),
        *stages.varied(
            [stages.BY_EMBEDDING],
            {
                stages.BY_EMBEDDING.name: (
                    stages.BY_EMBEDDING.name,
                    "You divided by the root of d_in, the size of a WORD. Use d_k, the size of a "
                    "KEY, here d_out.",
                )
            },
        ),
        wrong(
            "normalise",
            "softmax over the batch",
            "dim=0 of a batch is the sentences. Normalise over the keys (dim=-1).",
            stages.over(0),
            source=SOURCES["softmax over the batch"],
        ),
        *stages.IN_ROLES,
        stages.OVERFLOW,
    ),
    staged=CAUSAL_QKV,
    made=partial(module_of, _Right),
    formula_args=formula_args,
)
