"""The classes that the exercises about a class need: those that make mistakes, and their probes."""

from dataclasses import replace

import torch
from torch import nn

from .. import attention
from .cases import exact, sentence
from .exercise import Probe
from .modules import drawn_after, keeping, outputs_like, training, training_with_mask

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
    def __init__(self, d_in, d_out):
        super().__init__(d_out, d_in)

    def forward(self, inputs):
        return attention.qkv_attention(inputs, self.W_query.T, self.W_key.T, self.W_value.T)


class DrawnOnce(attention.SelfAttention):
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
        Probe("a module with d_in = 4, d_out = 5", (inputs, sizes, matrices), measure=keeping),
        Probe("a sentence of 7 words", (strong, sizes, matrices), measure=outputs),
        Probe(
            "the sentence after manual_seed(123)", (sentence(), (3, 2), 123), measure=drawn_after
        ),
        Probe("a single word", (inputs[:1], sizes, matrices), measure=outputs, if_right=True),
        Probe(
            "a sentence of 40 words (d_in = 5, d_out = 3)",
            (exact(40, 5), (5, 3), tuple(exact(5, 3, step=step) for step in (5, 3, 7))),
            measure=outputs,
            if_right=True,
        ),
        Probe(
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
        Probe(
            "a module with d_in = 4, d_out = 5, context_length = 7",
            (long, sizes, matrices),
            measure=keeping,
        ),
        Probe("a batch of two sentences of 7 words", (long, sizes, matrices), measure=outputs),
        Probe(
            "a batch of 6 sentences of 3 words",
            (short, sizes, matrices),
            may_fail=True,
            measure=outputs,
        ),
        Probe(
            "a batch with a single word",
            (short[1:2, 2:], sizes, matrices),
            measure=outputs,
            if_right=True,
        ),
        Probe(
            "a batch of 3 sentences of 9 words (d_in = 5, d_out = 3, context_length = 11)",
            (exact(3, 9, 5), (5, 3, 11), tuple(exact(5, 3, step=step) for step in (5, 3, 7))),
            measure=outputs,
            if_right=True,
        ),
        Probe(
            "a module in training mode",
            (drawn(2, 3, 4), sizes, matrices),
            measure=training_with_mask,
            if_right=True,
        ),
    ]


def repair_causal_cases():
    """Return the probes and a sentence without a batch, where the code to repair is right."""
    *_, last = probes = causal_attention_cases()
    inputs, *rest = last.args
    return [*probes, replace(last, label="one sentence without a batch", args=(inputs[0], *rest))]
