"""Lesson 07: causal attention as a module."""

from dataclasses import replace

import torch

from ... import attention
from ..catalogue.softmax import over
from ..catalogue.whole import CAUSAL_ATTENTION
from ..counterfactual import TurnsTheLastTwo
from ..exercise import Exercise, Probe, cured, detected
from ..modules import KEEPING, build, formula_args, keeping, outputs_like, training
from ..probes import exact


class _Right(attention.CausalAttention):
    """The right class without dropout, which the lesson explains only after this exercise."""

    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length, dropout=0.0)


_SIZES = (4, 5, 7)


def _training(cls, inputs, sizes, matrices):
    """Observe what training() does, and how many masks would be trained too."""
    facts = training(cls, inputs, sizes, matrices, biases=True)
    trained = [x.shape for x in build(cls, sizes).parameters() if x.requires_grad]
    facts["masks to train"] = sum(shape[-2:] == (sizes[2], sizes[2]) for shape in trained)
    return facts


def class_probes():
    # With this seed, the scores of the long words below have the signs that they need.
    generator = torch.Generator().manual_seed(135)

    def drawn(*shape):
        return torch.randint(-4, 5, shape, generator=generator) / 4

    matrices = tuple(drawn(4, 5) for _ in range(3))
    long, short = drawn(2, 7, 4), drawn(2, 3, 4)
    # The first words of two sentences are long: their scores with themselves, the only ones
    # they see, are about 1000 and -1000000.
    long[0, 0] *= 40
    short[0, 0] *= 1000
    short[1, 1] = 0  # scores of exactly 0
    # The number of sentences differs from all other sizes.
    short = torch.cat([short, *(short[1:] * by for by in (0.25, 0.5, -0.5, -1))])
    outputs = outputs_like(_Right)
    return [
        Probe(
            "a module with d_in = 4, d_out = 5, context_length = 7",
            (long, _SIZES, matrices),
            measure=keeping,
        ),
        Probe("a batch of two sentences of 7 words", (long, _SIZES, matrices), measure=outputs),
        Probe(
            "a batch of 6 sentences of 3 words",
            (short, _SIZES, matrices),
            may_fail=True,
            measure=outputs,
        ),
        Probe(
            "a batch with a single word",
            (short[1:2, 2:], _SIZES, matrices),
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
            (drawn(2, 3, 4), _SIZES, matrices),
            measure=_training,
            if_right=True,
        ),
    ]


def _full_length_works(evidence):
    """Is the answer right if context_length is the number of words in the inputs?"""
    k = evidence.wrong[0]
    inputs, (d_in, d_out, _), matrices = evidence.probes[k].args
    sizes = (d_in, d_out, inputs.shape[-2])
    return sizes != _SIZES and evidence.is_right(k, evidence.ask(k, args=(inputs, sizes, matrices)))


CAUSAL_CLASS = Exercise(
    "CausalAttention(d_in, d_out, context_length)",
    "values",
    _Right,
    class_probes,
    CAUSAL_ATTENTION,
    variants={
        "score": {
            "keys.T on a batch": cured(
                TurnsTheLastTwo, lambda s: s.queries @ s.keys.transpose(0, 1)
            ),
        },
        "normalise": {"softmax over the batch": over(0)},
    },
    mistakes={
        "mask made trainable": detected(lambda evidence: bool(evidence.fact("masks to train"))),
        **KEEPING,
        "mask not registered": detected(
            lambda evidence: bool(evidence.fact("tensors that .to() leaves behind"))
        ),
        "fixed sequence length": detected(_full_length_works),
    },
    without={
        "inputs overwritten": "raises what values made from the keys raise",
        "values made from the keys": "raises what inputs written over raise",
    },
    names={
        "matrices transposed": "d_in and d_out swapped",
        "scores instead of weights": "not normalised",
        "not divided by the sum": "not normalised",
        "softmax over the wrong axis": "softmax over columns",
    },
    formula_args=formula_args,
)


def _repair_probes():
    """Return the probes and a sentence without a batch, where the code to repair is right."""
    *probes, last = class_probes()
    inputs, *rest = last.args
    alone = replace(last, label="one sentence without a batch", args=(inputs[0], *rest))
    return [*probes, last, alone]


REPAIR_CAUSAL = replace(CAUSAL_CLASS.called("repair_causal"), probes=_repair_probes)
