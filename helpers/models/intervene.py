"""Weights of attention seen, and changed, while a model of transformers runs.

A model that computes attention by transformers' AttentionInterface calls whatever function is
registered under a name. Ours calls the model's own eager function: scaling, mask, window, cap,
bias and softmax stay the model's. Only what was changed is blended again; OwnModel tries first
whether that gives what the model itself gives.
Source: transformers, "Attention Interface" in its documentation.
"""

import sys
from contextlib import contextmanager
from contextvars import ContextVar

import torch

NAME = "weights_that_can_be_changed"
_running = ContextVar("running", default=None)  # each thread has its own


class Run:
    """What attention did while a model ran once.

    weights: of each call, (heads, queries, keys), before they were changed.
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
    """Make our function known under NAME, with the masks of eager attention."""
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
    # grouped keys: each value is read by several heads
    values = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
    changed, values = run.change(len(run.weights) - 1, weights[0], values[0])
    blended = (changed.to(values.dtype) @ values).transpose(0, 1)
    return blended.reshape(output.shape).contiguous(), changed[None]


def even(weights):
    """Even weights over all that any head of a layer looks at.

    weights: (..., heads, rows, columns).  Returns (..., 1, rows, columns): see even_over.
    """
    return even_over((weights > 0).any(-3, keepdim=True)).to(weights)


def even_over(seen):
    """Even weights over what may be seen, (..., rows, columns) of bool; rows sum to 1, or to 0
    where nothing is seen."""
    return seen / seen.sum(-1, keepdim=True).clamp(min=1)


def without(weights, keep):
    """Weights taken out where keep is False, the rest divided so that rows sum as before.

    weights: (..., rows, columns).  keep: bool, (rows, columns). A row that loses everything is 0.
    """
    left = weights * keep
    total = left.sum(-1, keepdim=True)
    return left * torch.where(total > 0, weights.sum(-1, keepdim=True) / total, 0)
