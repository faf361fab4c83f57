"""Lesson 05: the self-attention module."""

from functools import partial
from itertools import permutations

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from ... import attention
from ...attention import attention_loss
from ..catalogue.losses import ALL, paired
from ..catalogue.whole import ATTENTION, IN_FORMULA
from ..exercise import Exercise, Probe
from ..modules import (
    CUT_OFF,
    KEEPING,
    drawn_after,
    formula_args,
    keeping,
    learning,
    outputs_like,
    training,
)
from ..probes import exact, matrix, places, sentence, shares, wide, words

# --- linear ---


def _linear(inputs, weight, bias):
    return inputs @ weight.T + bias


def _layers():
    return [
        Probe("the sentence (d_in = 3, d_out = 2)", (sentence(), exact(2, 3), exact(2, step=7))),
        Probe(
            "a sentence of 4 words (d_in = 3, d_out = 3)",
            (exact(4, 3, step=3), exact(3, 3, step=7), exact(3, step=5)),
        ),
        Probe(
            "a sentence of 5 words (d_in = 2, d_out = 4)",
            (exact(5, 2, step=7).double(), exact(4, 2).double(), exact(4, step=3).double()),
        ),
        *wide(words("n", "d_in"), matrix("d_out", "d_in"), matrix("d_out")),
    ]


LINEAR = Exercise(
    "linear(inputs, weight, bias) -> (n, d_out)",
    "scores",
    _linear,
    _layers,
    avoid="Linear",
    mistakes={
        "weight not transposed": lambda x, weight, bias: x @ weight + bias,
        "bias not added": lambda x, weight, bias: x @ weight.T,
        "weight not transposed, no bias": lambda x, weight, bias: x @ weight,
        "multiplied by the bias": lambda x, weight, bias: x @ weight.T * bias,
        "a row for each output": lambda x, weight, bias: _linear(x, weight, bias).T,
    },
)

# --- attention_loss ---


# An answer about the wanted weight of each row.
_each = partial(paired, ALL, ALL, chances_of=lambda weights: weights)


def _wanted():
    """Return probes in which no row wants the last column, so that all can move by one."""
    square, oblong = exact(4, 4, step=3), exact(5, 7, step=7).double()
    return [
        Probe(
            "the weights of the sentence (wanted = [4, 4, 4, 2, 0, 1])",
            (attention.attention_weights(attention.all_scores(sentence())), _at(4, 4, 4, 2, 0, 1)),
        ),
        Probe("4 x 4 weights (wanted = [2, 0, 2, 1])", (square.softmax(-1), _at(2, 0, 2, 1))),
        Probe("5 x 7 weights (wanted = [4, 1, 1, 0, 3])", (oblong.softmax(-1), _at(4, 1, 1, 0, 3))),
        *wide(shares("n", "m", spread=16), places("n", "m")),
        Probe(
            "trainable weights",
            (square.softmax(-1), _at(2, 0, 2, 1)),
            measure=learning,
            if_right=True,
        ),
    ]


def _at(*columns):
    return torch.tensor(columns)


LOSS = Exercise(
    "attention_loss(weights, wanted) -> a number",
    "scores",
    attention_loss,
    _wanted,
    mistakes={
        **CUT_OFF,
        "every row with every wanted column": lambda weights, wanted: (
            -weights[:, wanted].log().mean()
        ),
        "no minus before the logarithm": lambda weights, wanted: -attention_loss(weights, wanted),
        "added instead of averaged": (_each(then=torch.sum), _each(then=torch.sum, loss=torch.log)),
        "a loss for each row": _each(then=lambda losses: losses),
        "averaged before the logarithm": (
            _each(loss=lambda x: -x.mean().log()),
            _each(loss=lambda x: x.mean().log()),
        ),
        "logarithm forgotten": (
            _each(loss=lambda x: x),
            _each(loss=torch.neg),
            _each(loss=lambda x: 1 - x),
        ),
        "wrong logarithm": tuple(
            _each(loss=lambda x, log=log: -log(x)) for log in (torch.log2, torch.log10, torch.log1p)
        ),
        "softmax of weights": cross_entropy,
        "rows and columns swapped": (
            lambda weights, wanted: -weights[wanted, torch.arange(len(wanted))].log().mean()
        ),
        "whole rows picked": lambda weights, wanted: -weights[wanted].log().mean(),
        "all weights used": lambda weights, wanted: -weights.log().mean(),
        "averaged over the whole table": lambda weights, wanted: (
            _each(then=torch.sum)(weights, wanted) / weights.numel()
        ),
        "same column for every row": lambda weights, wanted: -weights[:, wanted[0]].log().mean(),
    },
)

# --- SelfAttention ---


def _created(*names, draw=torch.rand):
    """Return a class that creates its matrices in this order, each by draw(d_in, d_out)."""

    class Created(attention.SelfAttention):
        def __init__(self, d_in, d_out):
            nn.Module.__init__(self)
            for name in names:
                setattr(self, f"W_{name}", nn.Parameter(draw(d_in, d_out)))

    return Created


class _DrawnTurned(attention.SelfAttention):
    def __init__(self, d_in, d_out):
        super().__init__(d_out, d_in)

    def forward(self, inputs):
        return ATTENTION(inputs, self.W_query.T, self.W_key.T, self.W_value.T)


class _DrawnOnce(attention.SelfAttention):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        self.W_key.data = self.W_query.data.clone()
        self.W_value.data = self.W_query.data.clone()


class _WithBiases(attention.SelfAttentionLinear):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out, qkv_bias=True)


def _built():
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


SELF_CLASS = Exercise(
    "SelfAttention(d_in, d_out)",
    "values",
    attention.SelfAttention,
    _built,
    ATTENTION,
    variants=IN_FORMULA,
    mistakes={
        **KEEPING,
        "W_key created before W_query": _created("key", "query", "value"),
        "matrices created in the wrong order": tuple(
            _created(*order)
            for order in permutations(("query", "key", "value"))
            if order[:2] not in (("query", "key"), ("key", "query"))
        ),
        "matrices drawn as (d_out, d_in)": _DrawnTurned,
        "one draw for three matrices": _DrawnOnce,
        "nn.Linear instead of Parameter(rand)": (attention.SelfAttentionLinear, _WithBiases),
        "randn instead of rand": _created("query", "key", "value", draw=torch.randn),
    },
    without={
        "inputs overwritten": "raises what values made from the keys raise",
        "values made from the keys": "raises what inputs written over raise",
    },
    names={"matrices transposed": "d_in and d_out swapped"},
    formula_args=formula_args,
)
