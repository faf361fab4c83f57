"""Read attention weights, and change them, while a model of transformers runs.

A model that computes attention with transformers' AttentionInterface calls the function that is
registered under a name. Ours calls the model's own eager function: scaling, mask, window, cap,
bias and softmax stay the model's. Only changed weights are multiplied with the values again;
OwnModel first checks that this reproduces the model's own output.
Source: transformers, "Attention Interface" in its documentation.
"""

import sys
from contextlib import contextmanager
from contextvars import ContextVar

import torch

NAME = "weights_that_can_be_changed"
_running = ContextVar("running", default=None)  # each thread has its own


class Run:
    """The attention of one run of a model.

    weights: of each call, (heads, queries, keys), before any change.
    change(layer, weights, values): see subject.py.
    """

    def __init__(self, change=None):
        self.change, self.weights = change, []

    @contextmanager
    def watch(self):
        token = _running.set(self)
        try:
            yield
        finally:
            _running.reset(token)


def register(transformers):
    """Register our function under NAME, with the masks of eager attention."""
    transformers.AttentionInterface.register(NAME, _attention)
    masks = transformers.AttentionMaskInterface
    masks.register(NAME, masks()["eager"])


def _attention(module, query, key, value, attention_mask, **kwargs):
    own = sys.modules[type(module).__module__].eager_attention_forward
    output, weights = own(module, query, key, value, attention_mask, **kwargs)
    run = _running.get()
    if run is None:
        return output, weights
    run.weights.append(weights[0])
    if run.change is None:
        return output, weights
    # grouped keys: several heads read each value
    values = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
    changed, values = run.change(len(run.weights) - 1, weights[0], values[0])
    blended = (changed.to(values.dtype) @ values).transpose(0, 1)
    return blended.reshape(output.shape).contiguous(), changed[None]


def even(weights):
    """Return even weights over all keys that any head of a layer looks at.

    weights: (..., heads, rows, columns).  Returns (..., 1, rows, columns): see even_over.
    """
    return even_over((weights > 0).any(-3, keepdim=True)).to(weights)


def even_over(seen):
    """Return even weights over the True entries of seen, (..., rows, columns); each row sums to 1,
    or to 0 if it has no True entry."""
    return seen / seen.sum(-1, keepdim=True).clamp(min=1)


def without(weights, keep):
    """Remove weights where keep is False, and rescale the rest so that row sums stay the same.

    weights: (..., rows, columns).  keep: bool, (rows, columns). A row without any weight left is 0.
    """
    left = weights * keep
    total = left.sum(-1, keepdim=True)
    return left * torch.where(total > 0, weights.sum(-1, keepdim=True) / total, 0)
