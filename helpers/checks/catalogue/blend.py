"""Blend: add up the values, each times its weight."""

from ..pipeline import Stage
from .softmax import divided


def blend(state):
    return state.weights @ state.values


def _winner(state):
    """If several weights are the largest, average their values: picking the first would, together
    with other mistakes, give the first word whatever the weights are."""
    largest = state.weights == state.weights.amax(-1, keepdim=True)
    return divided(largest.to(state.values.dtype)) @ state.values


BLEND = Stage(
    blend,
    {
        "mean instead of sum": lambda s: blend(s) / s.values.shape[-2],
        "all weights equal": lambda s: s.values.mean(-2, keepdim=True).expand(
            *s.weights.shape[:-1], -1
        ),
        "only the top word": _winner,
        "weights returned": lambda s: s.weights,
    },
)
# For all words at once.
BLEND_OF_ALL = BLEND.plus(
    {
        "weights transposed": lambda s: s.weights.transpose(-2, -1) @ s.values,
        "not blended": lambda s: s.values,
        "input added back": lambda s: blend(s) + s.inputs,
    }
)
