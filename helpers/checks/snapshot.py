"""What the variables that an answer names hold, to be put back: `+=`, append and the like."""

import copy
from collections import deque

import numpy
import torch
from torch import nn


def plain(tensor):
    """Its numbers as a tensor of torch's own class, whatever a class of the student's does."""
    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.detach(tensor)


def remember(space, names):
    """Returns a function that gives the variables of these names what they hold now, and takes
    away those that are new. space: global variables, a dict."""
    before = dict(space)
    kept = [_kept(before[name]) for name in names if name in before]

    def put_back():
        for name in space.keys() - before.keys():
            del space[name]
        space.update(before)
        for one in filter(None, kept):
            one()

    return put_back


def _kept(x):
    """What puts the contents of x back, or None."""
    if isinstance(x, torch.Tensor) and x.layout is torch.strided and x.device.type != "meta":
        numbers, was = plain(x).clone(), x.requires_grad
        return lambda: _numbers(x, numbers, was)
    if isinstance(x, numpy.ndarray):
        numbers = x.copy()
        return lambda: x.__setitem__(..., numbers)
    if isinstance(x, nn.Module):
        state = copy.deepcopy(x.state_dict())
        return lambda: x.load_state_dict(state)
    if isinstance(x, (list, deque, dict, set)):
        inside = copy.deepcopy(x)
        fill = x.extend if isinstance(x, (list, deque)) else x.update
        return lambda: (x.clear(), fill(inside))
    return None


def _numbers(x, numbers, needs_grad):
    if plain(x).shape != numbers.shape or not torch.equal(plain(x), numbers):
        x.data = numbers
    if x.is_leaf:
        x.requires_grad_(needs_grad)
