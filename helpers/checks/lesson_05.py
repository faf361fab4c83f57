"""Lesson 05: causal attention."""

from dataclasses import replace
from functools import partial

import torch
from torch.nn import functional as F

from .. import attention
from .declare import Exercise, Mistake, Probe, global_max, overflow, soft, stable
from .experiments import (
    FillsInPlace,
    LooksBack,
    TurnsTheLastTwo,
    ZeroTimesInfinityIsZero,
    low_is_lowest,
    plus_is_minus,
)
from .lesson_02 import FLIPPED, TWICE
from .lesson_04 import MASK, WRONG_ROLES, Attention, future, past, seeded, wrong
from .modules import in_modules, keeping, keeping_mistakes, module_of, outputs_like, training
from .probes import sentence
from .results import Observed, close, numbers_of

AFTER_SOFTMAX = (
    "The zeros are right but rows no longer sum to 1: mask BEFORE softmax, or divide each row by "
    "its sum again."
)
ZERO_SCORE = 'exp(0) = 1, so a score of 0 is not "nothing": fill with minus infinity.'
NOT_LOW = "Another score can be lower still: fill with minus infinity."


# --- scores with a part hidden ---


def hide(scores, hidden, value=-torch.inf):
    return scores.masked_fill(hidden, value)


def _hiding(hidden, value=-torch.inf):
    """Causal weights with something else hidden. hidden: takes scores, returns a mask."""

    def code(scores, d_k, exp=stable):
        scores = scores / d_k**0.5
        return soft(hide(scores, hidden(scores), value), exp)

    return code


def _filled(value):
    """Hidden by a number after the scores are scaled."""
    return lambda scores, d_k: _hiding(future, value)(scores, d_k)


def _filled_first(value):
    """Hidden by a number before the scores are scaled."""
    return lambda scores, d_k: soft(hide(scores, future(scores), value) / d_k**0.5)


def _scaled(divisor):
    """Causal weights with another scale. divisor: takes scores and d_k."""

    def code(scores, d_k, exp=stable):
        return soft(hide(scores / divisor(scores, d_k), future(scores)), exp)

    return code


_causal = _hiding(future)
_open = _hiding(lambda scores: torch.tensor(False))


def _zeroed(scores, d_k, exp=stable):
    return _open(scores, d_k, exp) * past(scores)


def _exp_then_zeroed(scores, d_k, exp):
    exps = exp(scores / d_k**0.5, -1) * past(scores)
    return exps / exps.sum(-1, keepdim=True)


def _zeroed_then_divided(scores, d_k, exp):
    weights = _zeroed(scores, d_k, exp)
    return weights / weights.sum(-1, keepdim=True)


def _dropped(scores, d_k):
    scores = scores / d_k**0.5
    scores.masked_fill(future(scores), -torch.inf)
    return soft(scores)


def _added(value):
    return lambda scores, d_k: soft(scores / d_k**0.5 + future(scores) * value)


def _hid_zero_scores(scores, d_k, exp=stable):
    kept = scores.tril()
    return soft(hide(kept, kept == 0) / d_k**0.5, exp)


def _hid_queries(after):
    return _hiding(lambda scores: (torch.arange(scores.shape[-1]) > after)[:, None])


def _over_queries(scores, d_k, exp=stable):
    return soft(hide(scores / d_k**0.5, future(scores)), exp, dim=-2)


def _uniform(scores, d_k):
    counts = past(scores).to(scores.dtype).expand(scores.shape)
    return counts / counts.sum(-1, keepdim=True)


def _global_max(scores, d_k):
    return _causal(scores, d_k, global_max)


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


LOW = (10, *range(1, 10), 20, 50, 100, 500, 1000, 1e4, 1e5, 1e6)
# Filled after scaling, before it, and added: each gives other numbers.
LOWS = [fill(-float(size)) for fill in (_filled, _filled_first, _added) for size in LOW]

LOW_BY_NUMBERS = Mistake("a number not low enough", LOWS[0], NOT_LOW, also=tuple(LOWS[1:]))

_masking = (
    Mistake(
        "masked_fill result dropped",
        _dropped,
        "masked_fill returns a NEW tensor: assign it, or use masked_fill_. Without it the future "
        "is visible.",
        shows=lambda seen: seen.cured_by(FillsInPlace),
    ),
    Mistake(
        "mask * -inf added",
        _added(-torch.inf),
        "0 * -inf is NaN: use masked_fill, not multiplication.",
        shows=lambda seen: seen.cured_by(ZeroTimesInfinityIsZero),
    ),
    Mistake("no mask", _open, "The future is visible: mask what is above the diagonal."),
    Mistake("mask after softmax", _zeroed, AFTER_SOFTMAX),
    Mistake(
        "masked with 0",
        _hiding(future, 0.0),
        ZERO_SCORE,
    ),
    LOW_BY_NUMBERS,
    Mistake(
        "a number not low enough",
        _filled(-35.0),
        NOT_LOW,
        shows=lambda seen: seen.cured_by(low_is_lowest),
    ),
    Mistake(
        "mask upside down",
        _hiding(past),
        "Upside down: you hid the PAST. True in the mask must mean that the key comes after the "
        "query: above the diagonal.",
    ),
    Mistake(
        "mask upside down, diagonal kept",
        _hiding(lambda scores: past(scores, -1)),
        "Upside down: word 0 sees everything, the last word only itself.",
    ),
    Mistake(
        "diagonal masked too",
        _hiding(lambda scores: future(scores, 0)),
        "A word may see itself: use diagonal=1. Row 0 has nothing left: 0 / 0 is NaN.",
    ),
    Mistake(
        "one step too generous",
        _hiding(lambda scores: future(scores, 2)),
        "Off by one: each word sees the NEXT word, the very one to predict. Use diagonal=1.",
    ),
    Mistake(
        "+inf",
        _filled(torch.inf),
        "exp of plus infinity is infinite, and inf / inf is NaN: it must be MINUS infinity.",
        shows=lambda seen: seen.cured_by(plus_is_minus),
    ),
    Mistake(
        "softmax, mask, softmax",
        lambda scores, d_k, exp=stable: soft(_zeroed(scores, d_k, exp), exp),
        "The second softmax turns the zeros into exp(0) = 1. Divide by the row sum instead.",
    ),
    Mistake(
        "mask as a row vector of queries",
        _hid_queries(0),
        "You masked QUERIES (rows); hide KEYS (columns), others in each row.",
        also=tuple(map(_hid_queries, (1, 2))),
    ),
    Mistake(
        "masked where tril(S)==0",
        _hid_zero_scores,
        "A real score can be 0: build the mask from positions, not from values.",
    ),
    Mistake(
        "softmax over columns",
        _over_queries,
        "Columns sum to 1: normalise over the keys (dim=-1).",
        also=(lambda scores, d_k, exp=stable: soft(scores / d_k**0.5, exp, -2) * past(scores),),
    ),
    Mistake(
        "mask only, scores unused",
        _uniform,
        "You averaged the past evenly: the scores were not used.",
    ),
    Mistake(
        "softmax twice",
        lambda scores, d_k, exp=stable: soft(_causal(scores, d_k, exp), exp),
        TWICE,
        also=(
            lambda scores, d_k, exp=stable: soft(
                hide(_open(scores, d_k, exp), future(scores)), exp
            ),
        ),
    ),
    Mistake(
        "sign flipped",
        lambda scores, d_k, exp=stable: _causal(-scores, d_k, exp),
        FLIPPED,
    ),
    Mistake(
        "weights transposed",
        lambda scores, d_k, exp=stable: _causal(scores, d_k, exp).mT,
        "Your matrix is the transpose: row = query, column = key.",
    ),
    Mistake(
        "not normalised",
        lambda scores, d_k: (scores / d_k**0.5).exp() * past(scores),
        "These rows do not sum to 1: divide each by its own sum.",
        also=(lambda scores, d_k: stable(hide(scores / d_k**0.5, future(scores))),),
    ),
    Mistake(
        "still scores",
        lambda scores, d_k: hide(scores / d_k**0.5, future(scores)),
        "These are the masked scores: softmax comes next.",
        also=(lambda scores, d_k: hide(scores, future(scores)),),
    ),
    Mistake(
        "subtracted the global max",
        _global_max,
        "Subtract each ROW's maximum, not the global one: other rows underflow to 0 / 0.",
    ),
)

_scaling = (
    Mistake(
        "no scaling",
        _scaled(lambda scores, d_k: 1),
        "The scores are not divided by sqrt(d_k): they are too far apart for large d_k.",
    ),
    Mistake(
        "divided by d_k, root forgotten",
        _scaled(lambda scores, d_k: d_k),
        "Divide by the square ROOT of d_k.",
    ),
    Mistake(
        "multiplied by sqrt(d_k)",
        _scaled(lambda scores, d_k: d_k**-0.5),
        "You multiplied by sqrt(d_k): divide by it.",
    ),
    Mistake(
        "parentheses forgotten",
        _scaled(lambda scores, d_k: d_k / 2),
        "d_k ** 1/2 is (d_k ** 1) / 2: write d_k ** 0.5.",
    ),
    Mistake(
        "scaled by the number of words",
        _scaled(lambda scores, d_k: scores.shape[-1] ** 0.5),
        "A count of words is not d_k, which is the size of a key.",
        also=(_scaled(lambda scores, d_k: scores.shape[-1]),),
    ),
    Mistake(
        "scaled after softmax",
        lambda scores, d_k, exp=stable: _causal(scores, 1, exp) / d_k**0.5,
        "You divided the weights by sqrt(d_k): divide the SCORES, before softmax.",
    ),
)

CAUSAL = Exercise(
    "causal_weights",
    "causal_weights(scores, d_k) -> (n, n)",
    "weights",
    attention.causal_weights,
    _scores,
    (
        *_masking,
        *_scaling,
        *overflow(_causal, _exp_then_zeroed, _zeroed_then_divided),
    ),
)


# --- a window ---


def _windowed(hidden, value=-torch.inf, divisor=lambda d_k: d_k**0.5):
    """Weights with something hidden. hidden: takes scores and the window, returns a mask."""

    def code(scores, d_k, window, exp=stable):
        return soft(hide(scores / divisor(d_k), hidden(scores, window), value), exp)

    return code


def _outside(scores, window):
    """What the window hides: the future, and what is too old."""
    return future(scores) | past(scores, -window)


def _window_zeroed(before, after):
    """Something is hidden before softmax, something else set to 0 after it."""

    def code(scores, d_k, window, exp=stable):
        weights = _windowed(before)(scores, d_k, window, exp)
        return weights.masked_fill(after(scores, window), 0)

    return code


def _nothing(scores, window):
    return torch.zeros(scores.shape, dtype=torch.bool)


def _future(scores, window):
    return future(scores)


def _old(scores, window):
    return past(scores, -window)


def _window_dropped(scores, d_k, window):
    scores = scores / d_k**0.5
    scores.masked_fill(_outside(scores, window), -torch.inf)
    return soft(scores)


def _window_last_dropped(scores, d_k, window):
    scores = hide(scores / d_k**0.5, future(scores))
    scores.masked_fill(_old(scores, window), -torch.inf)
    return soft(scores)


def _old_with_zero(scores, d_k, window, exp=stable):
    scores = hide(scores / d_k**0.5, _old(scores, window), 0.0)
    return soft(hide(scores, future(scores)), exp)


def _uniform_window(scores, d_k, window):
    seen = (~_outside(scores, window)).to(scores.dtype)
    return seen / seen.sum(-1, keepdim=True)


def _window_zeroed_then_divided(scores, d_k, window, exp):
    exps = hide(exp(scores / d_k**0.5, -1), _outside(scores, window), 0.0)
    return exps / exps.sum(-1, keepdim=True)


def _windows():
    (first, *one), (second, *two), (third, *three), (fourth, *four) = _tables()
    return [
        Probe(f"{first}, window = 2", (*one, 2)),
        Probe(f"{second}, window = 3", (*two, 3)),
        Probe(f"{third}, window = 2", (*three, 2)),
        Probe(f"{fourth}, window = 1", (*four, 1), may_fail=True),
    ]


WINDOW = Exercise(
    "window_weights",
    "window_weights(scores, d_k, window) -> (n, n)",
    "weights",
    attention.window_weights,
    _windows,
    (
        Mistake(
            "masked_fill result dropped",
            _window_dropped,
            "masked_fill returns a NEW tensor: assign it, or use masked_fill_.",
            also=(_window_last_dropped,),
            shows=lambda seen: seen.cured_by(FillsInPlace),
        ),
        Mistake(
            "mask * -inf added",
            lambda s, d_k, w: soft(s / d_k**0.5 + _outside(s, w) * -torch.inf),
            "0 * -inf is NaN: use masked_fill, not multiplication.",
            shows=lambda seen: seen.cured_by(ZeroTimesInfinityIsZero),
        ),
        Mistake(
            "sign of the diagonal",
            lambda s, d_k, w: _windowed(lambda s, w: future(s) | past(s, w))(s, d_k, w),
            "What is too old lies to the LEFT of the diagonal: tril(diagonal=-window).",
            shows=lambda seen: seen.cured_by(LooksBack),
        ),
        Mistake(
            "the window not applied",
            _windowed(_future),
            "This is plain causal attention: hide also what lies `window` or more words back.",
        ),
        Mistake(
            "no mask",
            _windowed(_nothing),
            "Nothing is hidden: hide the future, and what lies `window` or more words back.",
        ),
        Mistake(
            "the future not hidden",
            _windowed(_old),
            "The future is visible: the window looks back only, hide what is above the diagonal.",
            also=(_windowed(lambda s, w: past(s, -w) | future(s, w)),),
        ),
        Mistake(
            "window one too wide",
            _windowed(lambda s, w: future(s) | past(s, -w - 1)),
            "Off by one: each word sees window + 1 words. It counts among them itself.",
        ),
        Mistake(
            "window one too narrow",
            _windowed(lambda s, w: future(s) | past(s, -w + 1)),
            "Off by one: each word sees window - 1 words. With window = 1 it sees itself.",
        ),
        Mistake(
            "the past hidden instead",
            _windowed(lambda s, w: past(s, -1) | future(s, w)),
            "Upside down: your window looks into the future.",
            also=(_windowed(lambda s, w: past(s, -1)),),
        ),
        Mistake(
            "the window hidden instead",
            _windowed(lambda s, w: ~past(s, -w)),
            "You hid the window and kept what is older: hide what lies `window` or more words "
            "back.",
            also=(_windowed(lambda s, w: ~_outside(s, w)),),
        ),
        Mistake(
            "diagonal masked too",
            _windowed(lambda s, w: future(s, 0) | past(s, -w)),
            "A word may see itself: use diagonal=1 for the future.",
        ),
        Mistake(
            "one step too generous",
            _windowed(lambda s, w: future(s, 2) | past(s, -w)),
            "Off by one: each word sees the NEXT word. Use diagonal=1 for the future.",
        ),
        Mistake(
            "mask after softmax",
            _window_zeroed(_nothing, _outside),
            AFTER_SOFTMAX,
            also=(_window_zeroed(_future, _old), _window_zeroed(_old, _future)),
        ),
        Mistake(
            "softmax, mask, softmax",
            lambda s, d_k, w, exp=stable: soft(
                _window_zeroed(_nothing, _outside)(s, d_k, w, exp), exp
            ),
            "The second softmax turns the zeros into exp(0) = 1. Divide by the row sum instead.",
            also=(
                lambda s, d_k, w, exp=stable: soft(
                    _window_zeroed(_future, _old)(s, d_k, w, exp), exp
                ),
            ),
        ),
        Mistake("masked with 0", _windowed(_outside, 0.0), ZERO_SCORE, also=(_old_with_zero,)),
        Mistake(
            "+inf",
            lambda s, d_k, w: _windowed(_outside, torch.inf)(s, d_k, w),
            "exp of plus infinity is infinite, and inf / inf is NaN: it must be MINUS infinity.",
            shows=lambda seen: seen.cured_by(plus_is_minus),
        ),
        Mistake(
            "a number not low enough",
            lambda s, d_k, w: _windowed(_outside, -10.0)(s, d_k, w),
            NOT_LOW,
            shows=lambda seen: seen.cured_by(low_is_lowest),
        ),
        Mistake(
            "no scaling",
            _windowed(_outside, divisor=lambda d_k: 1),
            "The scores are not divided by sqrt(d_k): they are too far apart for large d_k.",
        ),
        Mistake(
            "divided by d_k, root forgotten",
            _windowed(_outside, divisor=lambda d_k: d_k),
            "Divide by the square ROOT of d_k.",
        ),
        Mistake(
            "multiplied by sqrt(d_k)",
            _windowed(_outside, divisor=lambda d_k: d_k**-0.5),
            "You multiplied by sqrt(d_k): divide by it.",
        ),
        Mistake(
            "softmax over columns",
            lambda s, d_k, w, exp=stable: soft(hide(s / d_k**0.5, _outside(s, w)), exp, -2),
            "Columns sum to 1: normalise over the keys (dim=-1).",
        ),
        Mistake(
            "softmax twice",
            lambda s, d_k, w, exp=stable: soft(_windowed(_outside)(s, d_k, w, exp), exp),
            TWICE,
        ),
        Mistake(
            "mask only, scores unused",
            _uniform_window,
            "You averaged the words in the window evenly: the scores were not used.",
        ),
        *overflow(
            _windowed(_outside),
            _window_zeroed_then_divided,
        ),
    ),
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
            "Survivors must be multiplied by 1 / (1 - p), so that the expected sum stays 1.",
        ),
        Mistake(
            "p taken as keep probability",
            _drop(_wrong_coins, _inverse),
            "p is the share to DROP: 1 - p is the share that survives.",
            also=tuple(
                _drop(_wrong_coins, factor)
                for factor in (lambda p: 1 / p, lambda p: 1, lambda p: p, lambda p: 1 - p)
            ),
        ),
        Mistake(
            "rescaled by 1/p",
            _drop(_keep, lambda p: 1 / p),
            "The factor is 1 / (1 - p), not 1 / p: few are dropped, little is made up for.",
        ),
        Mistake(
            "multiplied by 1 - p",
            _drop(_keep, lambda p: 1 - p),
            "Survivors must GROW: divide by 1 - p.",
            also=(_drop(_keep, lambda p: p),),
        ),
        Mistake(
            "left on in evaluation",
            _always(_dropout),
            "Dropout is still on in evaluation: without training, return the weights as they are.",
            also=(
                _always(_drop(_keep, lambda p: 1)),
                _drop(_keep, _inverse, lambda weights, p: weights * _keep(weights, p)),
            ),
        ),
        Mistake(
            "off in training, on in evaluation",
            lambda weights, p, training: _dropout(weights, p, not training),
            "The wrong way round: drop in training, return the weights as they are otherwise.",
        ),
        Mistake(
            "nothing dropped",
            lambda weights, p, training: weights * 1,
            "In training, some weights must become 0.",
        ),
        Mistake(
            "rescaled in evaluation",
            _drop(_keep, lambda p: 1, lambda weights, p: weights * (1 - p)),
            "Here the survivors grow in training; in evaluation the weights stay as they are.",
            also=(
                _drop(_keep, _inverse, lambda weights, p: weights * (1 - p)),
                _drop(_keep, _inverse, lambda weights, p: weights / (1 - p)),
                _drop(_keep, lambda p: 1, lambda weights, p: weights / (1 - p)),
            ),
        ),
        Mistake(
            "rows divided by their sum again",
            lambda weights, p, training: F.normalize(_dropout(weights, p, training), p=1.0, dim=-1),
            "Every survivor grows by the same factor 1 / (1 - p); a row sums to 1 only on average.",
        ),
        Mistake(
            "dropout before softmax",
            _softmax_after(lambda w, p: F.dropout(w, p), always=True),
            "Dropping a SCORE sets it to 0, and exp(0) = 1: drop the weights, after softmax.",
            also=(
                _softmax_after(lambda w, p: F.dropout(w, p)),
                _softmax_after(lambda w, p: w * _keep(w, p), always=True),
                _softmax_after(lambda w, p: w * _keep(w, p)),
                _softmax_after(lambda w, p: F.dropout(w.log(), p)),
                _softmax_after(lambda w, p: w.log() * _keep(w, p)),
            ),
        ),
        Mistake(
            "whole rows dropped",
            _drop(_coins(0, 1), _inverse),
            "One coin for each row drops a whole query: toss one coin for each weight.",
            also=(_drop(_coins(0, 1), lambda p: 1),),
        ),
        Mistake(
            "whole columns dropped",
            _drop(_coins(1, 0), _inverse),
            "One coin for each column drops a word for every query: toss one coin for each weight.",
            also=(_drop(_coins(1, 0), lambda p: 1),),
        ),
        Mistake(
            "same mask at each call",
            _drop(_same_coins, _inverse),
            "Every call drops the same weights: toss new coins at each call, and set no seed "
            "inside the function.",
            also=(_drop(_same_coins, lambda p: 1),),
        ),
    ),
)


# --- the class ---


class _Right(attention.CausalAttention):
    """Without dropout: the exercise comes before it."""

    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length, dropout=0.0)


def _with(weigh, d_k=lambda inputs, keys: keys.shape[-1]):
    """A formula from inputs and matrices. weigh: takes scores and d_k."""

    def formula(inputs, W_query, W_key, W_value):
        queries, keys = inputs @ W_query, inputs @ W_key
        return weigh(queries @ keys.mT, d_k(inputs, keys)) @ (inputs @ W_value)

    return formula


_formula = _with(_causal)


def _over_batch(scores, d_k, exp=stable):
    return soft(hide(scores / d_k**0.5, future(scores)), exp, dim=0)


def _only_for_one(turned):
    def formula(inputs, W_query, W_key, W_value):
        queries, keys = inputs @ W_query, inputs @ W_key
        return _causal(queries @ turned(keys), keys.shape[-1]) @ (inputs @ W_value)

    return formula


def _two_sizes(inputs, W_query, W_key, W_value):
    n, _ = inputs.shape
    return _formula(inputs, W_query, W_key, W_value) * n / n


class _Unregistered(_Right):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        mask = self.mask
        del self.mask
        self.mask = mask


class _Long(_Right):
    def weights(self, inputs):
        scores = attention.scaled_scores(self.W_query(inputs), self.W_key(inputs))
        return soft(hide(scores, self.mask))


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
        *keeping_mistakes(_formula),
        Mistake(
            "mask not registered",
            _Unregistered,
            'Register the mask: self.register_buffer("mask", ...). As a plain attribute it stays '
            "behind when the module moves to another device.",
            shows=lambda seen: bool(seen.fact("tensors that .to() leaves behind")),
        ),
        Mistake(
            "sequence length fixed",
            _Long,
            "It fails for fewer words than context_length: slice the mask, mask[:n, :n].",
            shows=_full_length_works,
        ),
        Mistake(
            "keys.T",
            module_of(_Right, _only_for_one(lambda keys: keys.T)),
            "keys.T, .t() and transpose(0, 1) work for one sentence only; for a batch too: "
            "keys.transpose(-2, -1).",
            also=(
                module_of(_Right, _only_for_one(lambda keys: keys.t())),
                module_of(_Right, _only_for_one(lambda keys: keys.transpose(0, 1))),
            ),
            shows=lambda seen: seen.cured_by(TurnsTheLastTwo),
        ),
        Mistake(
            "one sentence only",
            module_of(_Right, _two_sizes),
            "It works for one sentence and fails for a batch (b, n, d_in): count dimensions from "
            "the end, as in inputs.shape[-2].",
            shows=_one_sentence_works,
        ),
        *in_modules(
            _Right,
            [m for m in (*_masking, *_scaling) if m is not LOW_BY_NUMBERS],
            _with,
        ),
        *in_modules(
            _Right,
            (
                Mistake(
                    "scaled by the embedding size",
                    _with(_causal, d_k=lambda inputs, keys: inputs.shape[-1]),
                    "You divided by the root of d_in, the size of a WORD; d_k is the size of a "
                    "KEY, here d_out.",
                ),
                Mistake(
                    "softmax over the batch",
                    _with(_over_batch),
                    "dim=0 of a batch is the sentences: normalise over the keys (dim=-1).",
                ),
                *wrong(partial(Attention, mask=MASK["causal"]), "project", *WRONG_ROLES),
                overflow(lambda *args: _with(partial(_causal, exp=args[-1]))(*args[:-1]))[0],
            ),
        ),
    ),
)
