"""What the checks of lesson 5 need besides exercises.toml: see helpers/checks/exercises.py."""

import re

import torch
from torch import nn

from ... import attention
from ...checks._arguments import exact, sentence, shares
from ...checks.exercise import Case
from ...checks.results import NotNumbers, numbers_of
from .. import measures  # noqa: F401
from ..measures import (
    drawn_after,
    keeping,
    learning,  # noqa: F401
    outputs_like,
    training,
)


def stepped(code, step, goal, rate, times=1):
    """Return the loss that a training step returns, and all numbers of the model after it.

    code: called with a model, a loss and this rate.  step: decides the numbers of the model, which
    has gradients from before.  goal: the word to look at.  times: how often code is called.
    """
    model, words = attention.SelfAttention(3, 2), sentence()
    matrices = list(model.parameters())  # these are to change, not new ones in their place
    with torch.enable_grad():
        for k, matrix in enumerate(matrices):
            matrix.data.copy_(exact(3, 2, step=step + 2 * k))

        def loss(model, goal=goal):
            wanted = torch.full((len(words),), goal)
            return attention.attention_loss(model.weights(words), wanted)

        loss.__qualname__ = "loss"  # as an error shows it
        loss(model, (goal + 1) % len(words)).backward()
        for _ in range(times):
            value = numbers_of(code(model, loss, rate))
            if value.dim():
                raise NotNumbers(value, f"numbers of shape {tuple(value.shape)}")
    return torch.cat([x.detach().flatten() for x in (value, *matrices)])


def training_steps():
    """Return all cases of one_step."""
    steps = (5, 4, 0.5), (3, 0, 2.0), (7, 2, 0.125)
    joined = {"the loss": (), "W_query": (3, 2), "W_key": (3, 2), "W_value": (3, 2)}
    once = [
        Case(f"a step with rate {step[-1]:g}", step, measure=stepped, parts=joined)
        for step in steps
    ]
    twice = (5, 4, 0.5, 2)
    more = Case("two steps on one model", twice, measure=stepped, if_right=True, parts=joined)
    return [*once, more]


def created(*names, draw=torch.rand):
    """Return a class that creates its matrices in this order, each by draw(d_in, d_out)."""

    class Created(attention.SelfAttention):
        def __init__(self, d_in, d_out):
            nn.Module.__init__(self)
            for name in names:
                setattr(self, f"W_{name}", nn.Parameter(draw(d_in, d_out)))

    return Created


def takes_another_step(submission):
    """Does an optimizer of torch other than plain SGD take the step?"""
    other = re.search(r"optim\.(?!SGD\b)[A-Z]\w*\(|\bmomentum=|\b(Adam|AdamW)\(", submission.body)
    return bool(other) and not submission.raises(Exception, "")


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
        Case(
            "a sentence of 40 words (d_in = 5, d_out = 3)",
            (exact(40, 5), (5, 3), tuple(exact(5, 3, step=step) for step in (5, 3, 7))),
            measure=outputs,
        ),
        Case("a single word", (inputs[:1], sizes, matrices), measure=outputs, if_right=True),
        Case(
            "a module in training mode", (inputs, sizes, matrices), measure=training, if_right=True
        ),
    ]


def sharp_shares(*names):
    """Return a function like shares(), with weights that differ more."""
    return shares(*names, spread=16)
