"""What the checks of lesson 7 need besides exercises.toml: see helpers/checks/exercises.py."""

from dataclasses import replace

import torch

from ... import attention
from ...checks._arguments import exact
from ...checks.exercise import Case
from ...checks.results import Observed
from .. import measures  # noqa: F401
from ..masks import TRUTHS, is_of_truths  # noqa: F401
from ..measures import BUFFERS, build, keeping, outputs_like, training


def padded(n, *left, right=0):
    """Return (b, n) of bool: True for the first words, as many as left says, and for the last."""
    places = torch.arange(n)
    return (places < torch.tensor(left)[:, None]) | (places >= n - right)


def padding(b, n):
    """Return a function (sizes, step): (b, n) of bool, True for padding on the left."""
    return lambda sizes, step: padded(sizes[n], *(k % sizes[n] for k in range(sizes[b])))


class CausalWithoutDropout(attention.CausalAttention):
    """The right class without dropout, which the lesson explains only after this exercise."""

    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length, dropout=0.0)


# --- measured of a class with a mask ---

TURNED = "layers from d_out to d_in"


def training_with_mask(cls, inputs, sizes, matrices):
    """Observe what training() does, and how many masks would be trained too."""
    facts = training(cls, inputs, sizes, matrices, has_mask=True)
    trained = [x.shape for x in build(cls, sizes).parameters() if x.requires_grad]
    facts["masks to train"] = sum(shape[-2:] == (sizes[2], sizes[2]) for shape in trained)
    return facts


def buffered(cls, inputs, sizes, matrices):
    """Observe how many buffers a module has."""
    return Observed({BUFFERS: len([*build(cls, sizes).buffers()])})


def turned(cls, inputs, sizes, matrices):
    """Observe whether a module has an nn.Linear(d_out, d_in)."""
    layers = [x for x in build(cls, sizes).modules() if isinstance(x, torch.nn.Linear)]
    wrong = sizes[1], sizes[0]
    return Observed({TURNED: any((x.in_features, x.out_features) == wrong for x in layers)})


def full_length_works(submission):
    """Is the class right if context_length is the number of words, and not otherwise?"""
    k = submission.wrong[0]
    inputs, (d_in, d_out, most, *rest), matrices = submission.cases[k].args
    n = inputs.shape[-2]
    args = inputs, (d_in, d_out, n, *rest), matrices
    return n != most and submission.is_right(k, submission.ask(k, args=args))


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
        # As long as the context, like the first batch: a mask that is not cut fits both.
        Case(
            "a batch of 3 sentences of 8 words (d_in = 5, d_out = 3, context_length = 8)",
            (exact(3, 8, 5), (5, 3, 8), tuple(exact(5, 3, step=step) for step in (5, 3, 7))),
            measure=outputs,
        ),
        Case(
            "a batch with a single word",
            (short[1:2, 2:], sizes, matrices),
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
    *cases, last = causal_attention_cases()
    inputs, *rest = cases[3].args
    label = "one sentence without a batch"
    return [*cases, replace(cases[3], label=label, args=(inputs[0], *rest), if_right=True), last]
