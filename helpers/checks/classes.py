"""What the exercises about a class need: classes that make mistakes, cases, and facts that show a
mistake."""

from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from .. import attention
from .arguments import exact, sentence
from .counterfactual import NothingDropped
from .examples import far_heads
from .exercise import Case
from .modules import (
    BESIDE,
    LIKE_TRAINING,
    MATRICES,
    OUTPUTS,
    Filled,
    blocks,
    build,
    counts,
    drawn_after,
    is_bias,
    keeping,
    outputs_like,
    role,
    training,
    training_with_mask,
)
from .results import Observed, close, numbers_of, same

# --- SelfAttention ---


def created(*names, draw=torch.rand):
    """Return a class that creates its matrices in this order, each by draw(d_in, d_out)."""

    class Created(attention.SelfAttention):
        def __init__(self, d_in, d_out):
            nn.Module.__init__(self)
            for name in names:
                setattr(self, f"W_{name}", nn.Parameter(draw(d_in, d_out)))

    return Created


class DrawnTransposed(attention.SelfAttention):
    """Draws matrices (d_out, d_in), and multiplies by their transposes."""

    def __init__(self, d_in, d_out):
        super().__init__(d_out, d_in)

    def forward(self, inputs):
        return attention.qkv_attention(inputs, self.W_query.T, self.W_key.T, self.W_value.T)


class DrawnOnce(attention.SelfAttention):
    """Draws one matrix, and copies it for the other two."""

    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        self.W_key.data = self.W_query.data.clone()
        self.W_value.data = self.W_query.data.clone()


class WithBiases(attention.SelfAttentionLinear):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out, qkv_bias=True)


def self_attention_cases():
    # With this seed, the long word below has a positive score with itself only.
    generator = torch.Generator().manual_seed(1568)
    inputs, *matrices = (
        torch.randint(-4, 5, shape, generator=generator) / 4 for shape in [(7, 4)] + 3 * [(4, 5)]
    )
    inputs[3] = 0  # scores of exactly 0
    strong = inputs.clone()
    strong[0] *= 40  # exp of its score with itself overflows
    sizes, matrices = (4, 5), tuple(matrices)
    outputs = outputs_like(attention.SelfAttention)
    return [
        Case("a module with d_in = 4, d_out = 5", (inputs, sizes, matrices), measure=keeping),
        Case("a sentence of 7 words", (strong, sizes, matrices), measure=outputs),
        Case("the sentence after manual_seed(123)", (sentence(), (3, 2), 123), measure=drawn_after),
        Case("a single word", (inputs[:1], sizes, matrices), measure=outputs, if_right=True),
        Case(
            "a sentence of 40 words (d_in = 5, d_out = 3)",
            (exact(40, 5), (5, 3), tuple(exact(5, 3, step=step) for step in (5, 3, 7))),
            measure=outputs,
            if_right=True,
        ),
        Case(
            "a module in training mode", (inputs, sizes, matrices), measure=training, if_right=True
        ),
    ]


# --- CausalAttention ---


class CausalWithoutDropout(attention.CausalAttention):
    """The right class without dropout, which the lesson explains only after this exercise."""

    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length, dropout=0.0)


def causal_attention_cases():
    # With this seed, the scores of the long words below have the signs that they need.
    generator = torch.Generator().manual_seed(135)

    def drawn(*shape):
        return torch.randint(-4, 5, shape, generator=generator) / 4

    sizes, matrices = (4, 5, 7), tuple(drawn(4, 5) for _ in range(3))
    long, short = drawn(2, 7, 4), drawn(2, 3, 4)
    # The first words of two sentences are long: their scores with themselves, the only ones
    # they see, are about 1000 and -1000000.
    long[0, 0] *= 40
    short[0, 0] *= 1000
    short[1, 1] = 0  # scores of exactly 0
    # The number of sentences differs from all other sizes.
    short = torch.cat([short, *(short[1:] * by for by in (0.25, 0.5, -0.5, -1))])
    outputs = outputs_like(CausalWithoutDropout)
    return [
        Case(
            "a module with d_in = 4, d_out = 5, context_length = 7",
            (long, sizes, matrices),
            measure=keeping,
        ),
        Case("a batch of two sentences of 7 words", (long, sizes, matrices), measure=outputs),
        Case(
            "a batch of 6 sentences of 3 words",
            (short, sizes, matrices),
            may_fail=True,
            measure=outputs,
        ),
        Case(
            "a batch with a single word",
            (short[1:2, 2:], sizes, matrices),
            measure=outputs,
            if_right=True,
        ),
        Case(
            "a batch of 3 sentences of 9 words (d_in = 5, d_out = 3, context_length = 11)",
            (exact(3, 9, 5), (5, 3, 11), tuple(exact(5, 3, step=step) for step in (5, 3, 7))),
            measure=outputs,
            if_right=True,
        ),
        Case(
            "a module in training mode",
            (drawn(2, 3, 4), sizes, matrices),
            measure=training_with_mask,
            if_right=True,
        ),
    ]


def repair_causal_cases():
    """Return the cases and a sentence without a batch, where the code to repair is right."""
    *_, wide, last = cases = causal_attention_cases()
    inputs, *rest = wide.args
    alone = replace(wide, label="one sentence without a batch", args=(inputs[0], *rest))
    return [*cases[:-1], alone, last]


# --- MultiHeadAttention ---

DROPPED = "in training, dropout sets to 0"
STILL_DROPPED = "dropped in evaluation"
REFUSED = "5 numbers for 2 heads"
OTHERS = "other matrices to train"
SMALL = "layers for a part of a word"
BIASED = "biases of queries, keys and values"


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
        dropped = "numbers of a head"
    elif close(heads, heads[..., :1, :].expand_as(heads)):
        dropped = "words"
    else:
        dropped = "weights"
    facts = {STILL_DROPPED: not close(resting, whole), DROPPED: dropped}
    if dropped == "weights":
        facts["kept weights multiplied by"] = float(heads[:, 0].max())
    return Observed(facts)


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
        case("a single word (1 head)", drawn(1, 1, 5), (5, 3, 4, 0.0, 1), outputs, True),
        case("4 sentences (5 heads)", drawn(4, 9, 3), (3, 10, 11, 0.0, 5), outputs, True),
        case("a module for 5 numbers and 2 heads", three, (4, 5, 7, 0.0, 2), refusing, True),
        case("a module in training mode", drawn(2, 3, 10), sizes, training_with_mask, True),
        Case(
            "a module with dropout = 0.5",
            (exact(8, 5, 5, step=3) + 2, (5, 6, 5, 0.5, 2), (*3 * [first_number], torch.eye(6))),
            measure=dropping,
            if_right=True,
        ),
    ]


# --- facts that show a mistake: the entries of lessons/*.toml name them ---


def drops(submission):
    """Does dropout change the numbers of the first wrong case?"""
    k = submission.wrong[0]
    return "dropout" in submission.code.lower() and not same(
        submission.ask(k, NothingDropped), submission.mine[k]
    )


def differs_in_training(submission):
    """Does the class give different numbers in training, even where nothing can be dropped?"""
    without = (submission.ask(k, NothingDropped) for k in range(len(submission.mine)))
    return submission.fact(LIKE_TRAINING) is False and any(
        LIKE_TRAINING in (result.observed or ()) for result in without
    )


def cut(submission):
    """Does a gradient miss one of the matrices, or the words?"""
    learning = submission.fact("matrices that learn")
    return (learning is not None and learning < 3) or submission.fact(
        "a gradient reaches the words"
    ) is False


def more_to_train(submission):
    """Are there numbers to train besides the three matrices?"""
    return (submission.fact(BESIDE) or 0) > 0 or (submission.fact(MATRICES) or 0) > 3


def full_length_works(submission):
    """Is the class right if context_length is the number of words, and not otherwise?"""
    k = submission.wrong[0]
    inputs, (d_in, d_out, most, *rest), matrices = submission.cases[k].args
    n = inputs.shape[-2]
    args = inputs, (d_in, d_out, n, *rest), matrices
    return n != most and submission.is_right(k, submission.ask(k, args=args))


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
