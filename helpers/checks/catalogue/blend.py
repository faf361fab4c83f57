"""Blend: the values, by their weights."""

import torch

from ..exercise import alone
from ..pipeline import Stage
from .project import roles
from .softmax import divided


def blend(state):
    return state.weights @ state.values


def _winner(state):
    """Of several that are the largest none is picked: together with other mistakes, that would
    give the first word without any look at the weights."""
    largest = state.weights == state.weights.amax(-1, keepdim=True)
    return divided(largest.to(state.values.dtype)) @ state.values


def _first_winner(state):
    places = state.weights.argmax(-1)
    return (
        torch.nn.functional.one_hot(places, state.weights.shape[-1]).to(state.values.dtype)
        @ state.values
    )


def _always_word(place):
    return lambda s: s.values[..., place, :][..., None, :].expand(*s.weights.shape[:-1], -1)


def own_value(state):
    return state.values


BLEND = Stage(
    blend,
    {
        "mean instead of sum": lambda s: blend(s) / s.values.shape[-2],
        "all weights equal": lambda s: s.values.mean(-2, keepdim=True).expand(
            *s.weights.shape[:-1], -1
        ),
        "took the winner": (_winner, alone(_first_winner)),
        "one word for all": (_always_word(0), _always_word(-1)),
        "weights returned": lambda s: s.weights,
    },
)
# Of all words at once.
BLEND_OF_ALL = BLEND.plus(
    {
        "weights transposed": lambda s: s.weights.transpose(-2, -1) @ s.values,
        "not blended": own_value,
        "residual added": (
            lambda s: blend(s) + s.inputs,
            lambda s: s.inputs + blend(s),  # where sizes do not fit, it raises other words
        ),
    }
)
# Of keys and queries that are made by matrices: a name can be returned that was made before.
BLEND_OF_ROLES = BLEND_OF_ALL.plus(
    {
        "not blended": (
            own_value,
            {"project": roles("qkq"), "blend": own_value},
            {"project": roles("qkk"), "blend": own_value},
        ),
    }
)
