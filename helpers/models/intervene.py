"""Weights of attention seen, and changed, while a model of transformers runs.

A model that computes attention by transformers' AttentionInterface calls whatever function is
registered under a name. Ours calls the model's own eager function: scaling, mask, window, cap,
sinks, bias and softmax stay the model's. Only weights that were changed are put
before the values again; OwnModel tries first whether that gives what the model itself gives.
Source: transformers, "Attention Interface" in its documentation.
"""

import sys
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from ..errors import InputError

NAME = "weights_that_can_be_changed"
_running = ContextVar("running", default=None)  # each thread has its own


class Run:
    """What attention did while a model ran once.

    modules: those that computed attention, in the order of their calls.
    weights: of each call, (batch, heads, queries, keys), before they were changed.
    change(call, weights) -> weights, call counted from 0.  error: what change raised.
    """

    def __init__(self, change=None):
        self.change, self.modules, self.weights, self.error = change, [], [], None

    @contextmanager
    def watch(self):
        token = _running.set(self)
        try:
            yield self
        finally:
            _running.reset(token)

    def changed(self, module, weights):
        call = len(self.modules)
        self.modules.append(module)
        self.weights.append(weights)
        if self.change is None:
            return weights
        try:
            return self.change(call, weights)
        except Exception as error:
            self.error = error
            raise


def register(transformers):
    """Make our function known under NAME, with the masks of eager attention."""
    transformers.AttentionInterface.register(NAME, _attention)
    masks = transformers.AttentionMaskInterface
    masks.register(NAME, masks()["eager"])


def _attention(module, query, key, value, attention_mask, **kwargs):
    own = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if own is None:
        raise InputError(f"{type(module).__name__} has no eager attention that is known")
    output, weights = own(module, query, key, value, attention_mask, **kwargs)
    run = _running.get()
    if run is None:
        return output, weights
    if weights is None or weights.ndim != 4:
        raise InputError(f"{type(module).__name__} keeps its weights to itself")
    changed = run.changed(module, weights)
    if changed is weights:
        return output, weights
    # grouped keys: each value is read by several heads
    values = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
    blended = (changed.to(weights.dtype) @ values).transpose(1, 2)
    return blended.reshape(output.shape).contiguous(), changed


def places(model, modules):
    """The layer of each call of attention, counted from 0: as the model numbers it.

    A layer is the first number in a module's name. A module that stands in several layers is
    called in their order. Where one is called more often than it stands (ALBERT), there has to
    be one call for each layer that the model says it has.
    Returns (the layers, how many layers the model has). Raises InputError if calls have no layer.
    """
    known, total = {}, 0
    for name, module in model.named_modules(remove_duplicate=False):
        path = name.split(".")
        k = next((k for k, step in enumerate(path) if step.isdigit()), None)
        if k is not None and any(module is one for one in modules):
            known.setdefault(id(module), []).append(int(path[k]))
            total = max(total, len(model.get_submodule(".".join(path[:k]))))
    layers, calls = [], {}
    for module in modules:
        calls[id(module)] = k = calls.get(id(module), -1) + 1
        layers.append(known.get(id(module), [])[k : k + 1])
    if all(layers):  # also if there are no calls
        return [layer for (layer,) in layers], total
    if len(modules) != getattr(model.config.get_text_config(), "num_hidden_layers", None):
        raise InputError("it cannot be told which of its layers computes which attention")
    return list(range(len(modules))), len(modules)


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
