"""What the checks of lesson 9 need besides exercises.toml: see helpers/checks/exercises.py."""

import torch
from torch.nn import functional as F

from ... import attention
from ...checks._arguments import exact
from ...checks.exercise import Case
from ...checks.results import Observed, close, numbers_of
from .. import measures  # noqa: F401
from ..lesson_07.checks import (  # noqa: F401
    TURNED,
    buffered,
    full_length_works,
    training_with_mask,
    turned,
)
from ..lesson_08.checks import far_heads
from ..measures import (  # noqa: F401
    MATRICES,
    OUTPUTS,
    UNUSED,
    Filled,
    blocks,
    build,
    counts,
    drops,
    heads_of,
    is_bias,
    keeping,
    more_to_train,
    outputs_like,
    role,
)


def without_0(d_out, step):
    """Return (d_out, d_out) different numbers, in sixteenths, so that rounding changes most."""
    return exact(d_out, d_out, step=step, unit=16, period=211) + 7


DROPPED = "in training, dropout sets to 0"
STILL_DROPPED = "dropped in evaluation"
SINGLE = "single numbers"
REFUSED = "5 numbers for 2 heads"
OTHERS = "other matrices to train"
SMALL = "layers for a part of a word"
BIASED = "biases of queries, keys and values"
BIAS = "out_proj has a bias"
NAMED, NAMES = "its names", ("num_heads", "W_query", "W_key", "W_value", "out_proj", "mask")


class MultiHeadAttention(attention.MultiHeadAttention):
    """The right class, with the arguments that the exercise names."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__(d_in, d_out, context_length, dropout, num_heads)


def keeping_all(cls, inputs, sizes, matrices):
    """Observe what keeping() does, how many matrices are neither of queries, keys and values, nor
    read the merged heads, and how many biases belong to queries, keys and values."""
    facts = keeping(cls, inputs, sizes, matrices)
    masks = sizes[2], sizes[2]
    named = [x for x in build(cls, sizes).named_parameters() if x[1].shape[-2:] != masks]
    layers = [name.removesuffix("weight") for name, _ in blocks(named, sizes)]
    biases = [name for name, x in named if is_bias(x, sizes)]
    facts[BIASED] = sum(x.removesuffix("bias") in layers or role(x) is not None for x in biases)
    others = [x for _, x in named if x.dim() > 1 and not any(counts([("", x)], sizes).values())]
    facts[OTHERS] = len(others)
    facts[SMALL] = sum(sizes[0] // sizes[4] in x.shape for x in others)
    return facts


def dropping(cls, inputs, sizes, matrices):
    """Observe what a class drops. With these matrices, all numbers of a value are the first number
    of its word, and the outputs are the heads side by side. So a weight that is dropped changes all
    numbers of a head alike, and those of a first word become 0 or twice as large."""
    module, ours = (Filled(each, sizes).put(matrices) for each in (cls, MultiHeadAttention))
    torch.default_generator.manual_seed(0)
    resting, left = (numbers_of(module.train(on)(inputs.clone())) for on in (False, True))
    whole = numbers_of(ours(inputs))
    heads = (left / inputs[..., :1]).unflatten(-1, (sizes[4], -1))
    if close(left, whole):
        dropped = "nothing"
    elif left.isnan().any() or close(left[:, 0], whole[:, 0]):
        dropped = "something before softmax"
    elif not close(heads, heads[..., :1].expand_as(heads)):
        dropped = SINGLE
    elif close(heads, heads[..., :1, :].expand_as(heads)):
        dropped = "words"
    else:
        dropped = "weights"
    facts = {STILL_DROPPED: not close(resting, whole), DROPPED: dropped}
    if dropped == "weights":
        facts["kept weights multiplied by"] = float(heads[:, 0].max())
    return Observed(facts)


def named(cls, inputs, sizes, matrices):
    """Observe whether a module has the names that the exercise asks for, and out_proj a bias."""
    module = build(cls, sizes)
    bias = getattr(getattr(module, "out_proj", None), "bias", True)
    return Observed({NAMED: all(hasattr(module, x) for x in NAMES), BIAS: bias is not None})


def refusing(cls, inputs, sizes, matrices):
    """Observe whether heads of different sizes are refused."""
    try:
        cls(*sizes)
    except Exception:
        return Observed({REFUSED: "refused"})
    return Observed({REFUSED: "accepted"})


def multi_head_cases():
    generator = torch.Generator().manual_seed(135)

    def drawn(*shape):
        return torch.randint(-4, 5, shape, generator=generator) / 4

    def case(label, inputs, sizes, measure, if_right=False):
        d_in, d_out = sizes[:2]
        matrices = (*(drawn(d_in, d_out) for _ in range(3)), drawn(d_out, d_out))
        return Case(label, (inputs, sizes, matrices), measure=measure, if_right=if_right)

    sizes, outputs = (10, 6, 7, 0.0, 2), outputs_like(MultiHeadAttention)
    two, three = drawn(2, 7, 10), drawn(2, 5, 7)
    three[1, 2] = 0  # scores of exactly 0
    far, query, key, value, W_out, _, _ = (torch.as_tensor(x).float() for x in far_heads())
    of_far = (*(F.pad(W, (0, 0, 0, 2)) for W in (query, key, value)), W_out)  # d_in = 5, not 3
    first_number = F.pad(torch.ones(1, 6), (0, 0, 0, 4))
    return [
        case("a module with d_in = 10, d_out = 6, 2 heads", two, sizes, keeping_all),
        case("2 sentences of 7 words (2 heads)", two, sizes, outputs),
        case("2 sentences of 5 words (3 heads)", three, (7, 12, 8, 0.0, 3), outputs),
        Case(
            "2 sentences, one with scores near 1000 and 4000000 (4 heads)",
            (F.pad(far, (0, 2)), (5, 16, 6, 0.0, 4), of_far),
            measure=outputs,
        ),
        # As long as the context, like the first two: a mask that is not cut fits both.
        case("4 sentences of 9 words (5 heads)", drawn(4, 9, 3), (3, 10, 9, 0.0, 5), outputs),
        case("a single word (1 head)", drawn(1, 1, 5), (5, 3, 4, 0.0, 1), outputs, True),
        case("a module for 5 numbers and 2 heads", three, (4, 5, 7, 0.0, 2), refusing, True),
        case("a module in training mode", drawn(2, 3, 10), sizes, training_with_mask, True),
        Case(
            "a module with dropout = 0.5",
            (exact(8, 5, 5, step=3) + 2, (5, 6, 5, 0.5, 2), (*3 * [first_number], torch.eye(6))),
            measure=dropping,
            if_right=True,
        ),
    ]


def cuts_words(submission):
    """Are the words cut into heads? Then a layer takes a part of a word, or gets one."""
    d_in, *_, num_heads = submission.cases[0].args[1]
    part = f"x{d_in // num_heads} and {d_in}x"
    return bool(submission.fact(SMALL)) or submission.raises(RuntimeError, part)


def wrong_output(submission):
    """Is there a layer beside queries, keys and values, and none that is (d_out, d_out)?"""
    has, others = submission.fact(OUTPUTS), submission.fact(OTHERS)
    return has == 0 and (
        submission.fact(MATRICES) == 4 or submission.fact(MATRICES) == 3 and others
    )
