"""Lesson 07: dropout, an exercise about random numbers."""

from functools import partial

import torch
from torch.nn import functional as F

from ... import attention
from ..exercise import Exercise, Probe
from ..results import Observed, numbers_of

# --- what can be measured, whichever weights are dropped ---


def dropping(fn, weights, p, training, calls=1):
    """Observe what dropout does, whichever weights are drawn. weights: enough that chance does not
    round a share to a different tenth, and few enough for a loop to finish in time."""
    before = weights.clone()
    first = numbers_of(fn(weights, p, training)).to(before.dtype)
    facts = Observed({"shape": str(tuple(first.shape))})
    if first.shape != before.shape:
        return facts
    zero = first == 0
    facts["what is dropped"] = _dropped_together(zero)
    if facts["what is dropped"] == "individual weights":
        facts["share dropped"] = round(float(zero.double().mean()), 1)
    factor = "kept weights multiplied by" if training else "in evaluation, weights multiplied by"
    facts[factor] = _factor(first[~zero] / before[~zero])
    sums, sums_before = first.sum(-1), before.sum(-1)
    facts["each row keeps its sum"] = torch.allclose(sums, sums_before, atol=1e-3)
    if calls == 2:
        second = numbers_of(fn(before.clone(), p, training)) == 0
        facts["same drops in two calls"] = torch.equal(second, zero) and bool(zero.any())
        # By chance, both counts are exactly this share less than once in a thousand times.
        many = {int(second.sum()), int(zero.sum())}
        facts["each call drops exactly a share p"] = many == {round(p * zero.numel())}
    return facts


def _dropped_together(zero):
    if not zero.any():
        return "nothing"
    if zero.all():
        return "everything"
    for what, dim in (
        ("whole rows", -1),
        ("whole columns", -2),
        ("whole matrices", (-2, -1)),
        ("the same places in each matrix", 0),
    ):
        if torch.equal(zero.all(dim), zero.any(dim)):
            return what
    if _in_pairs(zero) or _in_pairs(zero.mT):
        return "neighbours together"
    return "individual weights"


def _in_pairs(zero):
    """Are neighbours along the last dimension dropped in pairs, counted from 0 or from 1?"""
    return any(
        torch.equal(zero[..., k:-1:2], zero[..., k + 1 :: 2][..., : zero[..., k:-1:2].shape[-1]])
        for k in (0, 1)
    )


def _factor(ratios):
    """Return the factor if it is the same for all; otherwise NaN, or words."""
    if len(ratios) == 0:
        return "none is left"
    if ratios.isnan().any():
        return torch.nan
    middle = float(ratios.median())
    one = (ratios - middle).abs().max() <= 5e-3 * abs(middle)
    return float(f"{middle:.3g}") if one else "different factors"


def _many_weights():
    """Return 40 x 100 weights: enough rows and columns that each is dropped or not by itself."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(40, 100, generator=generator).softmax(-1)


def _dropping():
    weights = _many_weights()
    return [
        Probe(
            "40 x 100 weights (p = 0.2, in training)",
            (weights, 0.2, True),
            measure=partial(dropping, calls=2),
        ),
        Probe("40 x 100 weights (p = 0.6, in training)", (weights, 0.6, True), measure=dropping),
        Probe("40 x 100 weights (p = 0.6, in evaluation)", (weights, 0.6, False), measure=dropping),
        Probe(
            "4 x 30 x 50 weights (p = 0.3, in training)",
            (weights.reshape(-1)[:1000].repeat(6).reshape(4, 30, 50), 0.3, True),
            measure=dropping,
            if_right=True,
        ),
    ]


# --- dropout with something else in it ---


def _drop(keep, factor, evaluation=lambda weights, p: weights):
    """Return a dropout with these parts. keep: takes weights and p, returns a mask.  factor:
    takes p.  evaluation: takes weights and p, returns the result in evaluation."""

    def code(weights, p, training):
        if not training:
            return evaluation(weights, p)
        return weights * keep(weights, p) * factor(p)

    return code


def _keep(weights, p):
    """Toss a coin for each weight, True with probability 1 - p."""
    return torch.rand(weights.shape) >= p


def _inverse(p):
    return 1 / (1 - p)


def _one(p):
    return 1


def _same_coins(weights, p):
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return _keep(weights, p)


def _or_minus_infinity(weights, p):
    return torch.where(_keep(weights, p), 1.0, -torch.inf)


_dropout = _drop(_keep, _inverse)

DROPOUT = Exercise(
    "dropout(weights, p, training) -> same shape",
    "random",
    attention.dropout,
    _dropping,
    avoid="Dropout",
    mistakes={
        "no rescaling": _drop(_keep, _one),
        "p taken as the share to keep": (
            _drop(lambda weights, p: ~_keep(weights, p), _inverse),
            _drop(lambda weights, p: ~_keep(weights, p), _one),
        ),
        "rescaled by 1/p": _drop(_keep, lambda p: 1 / p),
        "multiplied by 1 - p": _drop(_keep, lambda p: 1 - p),
        "dropout left on in evaluation": lambda weights, p, training: _dropout(weights, p, True),
        "off in training, on in evaluation": lambda weights, p, training: _dropout(
            weights, p, not training
        ),
        "nothing dropped": lambda weights, p, training: weights * 1,
        "rescaled in evaluation": (
            _drop(_keep, _one, lambda weights, p: weights * (1 - p)),
            _drop(_keep, _inverse, lambda weights, p: weights * (1 - p)),
            _drop(_keep, _one, lambda weights, p: weights / (1 - p)),
            _drop(_keep, _inverse, lambda weights, p: weights / (1 - p)),
        ),
        "rescaled twice": _drop(_keep, lambda p: _inverse(p) ** 2),
        "p not passed on": lambda weights, p, training: F.dropout(weights, training=training),
        "filled with minus infinity": _drop(_or_minus_infinity, _inverse),
        "randn instead of rand": _drop(
            lambda weights, p: torch.randn(weights.shape) >= p, _inverse
        ),
        "rows normalised again": lambda weights, p, training: F.normalize(
            _dropout(weights, p, training), p=1.0, dim=-1
        ),
        "whole rows dropped": _drop(lambda w, p: _keep(w[:, :1], p), _inverse),
        "whole columns dropped": _drop(lambda w, p: _keep(w[:1], p), _inverse),
        "the same weights dropped in every call": _drop(_same_coins, _inverse),
    },
)
