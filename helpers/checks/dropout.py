"""What can be observed of dropout, whichever weights are drawn."""

from functools import partial

import torch

from .exercise import Probe
from .results import Observed, numbers_of

CALLS = 40  # with p = 0.2, all of these give the same once in 7,500 times


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


def all_or_nothing(evidence):
    """Is everything dropped in some calls, nothing in others, and no part in any?"""
    first = evidence.mine[0].observed or {}
    both = {"nothing", "everything"}
    if first.get("what is dropped") not in both:
        return False
    many = [evidence.ask(0).observed or {} for _ in range(CALLS)]
    return {facts.get("what is dropped") for facts in many} == both


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


def dropout_cases():
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
