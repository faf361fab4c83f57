"""Restore the student's session, so that a check may be run at any time, any number of times."""

import math
import random
import sys
import warnings
from collections import deque
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy
import torch
from torch import nn

from . import guard


@contextmanager
def untouched(named):
    """Restore at the end what student code has changed outside itself: the notebook's variables
    that it names (with the contents of lists, dicts, sets, tensors, arrays and modules), random
    numbers, warnings, SETTINGS, and what it replaced in PLACES. Not restored: default arguments,
    the rest of the process (os, sys), and what objects of the student's own classes hold.

    named: pairs of a dict of global variables and names in it.

    Inside, the libraries have their own functions, random numbers and the default type are the same
    in every check, and torch.empty returns NaN instead of old memory. Yields a function that works
    like guard.call.
    """
    with ExitStack() as stack:  # undone in reverse order
        stack.callback(genuine())
        for space, names in named:
            stack.callback(remember(space, names))
        stack.callback(random.setstate, random.getstate())
        stack.callback(numpy.random.set_state, numpy.random.get_state())
        stack.callback(_set, _settings())
        stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.enter_context(torch._tensor_str.printoptions())
        stack.enter_context(warnings.catch_warnings())
        if torch.get_default_device().type != "cpu":  # this costs time in every operation
            stack.enter_context(torch.device("cpu"))
        torch.set_default_dtype(torch.float32)
        torch.default_generator.manual_seed(0)
        random.seed(0)
        numpy.random.seed(0)
        # use_deterministic_algorithms() imports the compiler, which takes 1.4 seconds.
        torch.set_deterministic_debug_mode("warn")
        _set_fill(True)
        warnings.simplefilter("ignore")
        during = _settings()
        stack.callback(genuine)  # the first to be undone: the others use torch
        yield partial(guard.call, after=lambda: (genuine(), _set(during)))


# Set whether torch.empty returns NaN.
_set_fill = partial(setattr, torch.utils.deterministic, "fill_uninitialized_memory")
# Pairs of a getter and a setter.
SETTINGS = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (lambda: torch.utils.deterministic.fill_uninitialized_memory, _set_fill),
    (torch.get_num_threads, torch.set_num_threads),
    (sys.getrecursionlimit, sys.setrecursionlimit),
)


# Where an answer or a notebook may replace what a check uses: `torch.softmax = mine`.
PLACES = torch, torch.Tensor, nn, nn.Module, nn.functional, torch.linalg, numpy, math
# What they had when the course was imported, except what a library keeps for itself.
_GENUINE = [
    (place, {k: x for k, x in vars(place).items() if isinstance(place, type) or k[0] != "_"})
    for place in PLACES
]


def genuine():
    """Put the libraries' own functions where others stand: after torch.allclose = lambda *a: True,
    every answer would be right. Return a function that undoes it."""
    found = []
    for place, own in _GENUINE:
        now = vars(place)
        # The comparison is far faster than the loop, and nearly always enough.
        is_same = own.items() <= now.items()
        names = [] if is_same else [k for k, x in own.items() if now.get(k) is not x]
        if isinstance(place, type):  # a new name may hide what a class inherits
            names += [k for k in now.keys() - own.keys() if hasattr(place.__base__, k)]
        found += [(place, k, now.get(k)) for k in names]
        _replace((place, k, own.get(k)) for k in names)
    return partial(_replace, found)


def _replace(found):
    for place, name, x in found:
        if x is not None:
            setattr(place, name, x)
        elif name in vars(place):
            delattr(place, name)


def _settings():
    return [get() for get, _ in SETTINGS]


def _set(values):
    for (_, set_), value in zip(SETTINGS, values, strict=True):
        set_(value)


# --- the contents of variables: `+=`, append and the like change them in place ---


def plain(tensor):
    """Return the tensor, detached and of torch's own class, whatever a student's subclass does."""
    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.detach(tensor)


def remember(space, names):
    """Return a function that gives all variables in space (a dict) their present values back, with
    the present contents of those in names, and deletes new ones."""
    before, visited = dict(space), set()
    kept = [_kept(before[name], visited) for name in names if name in before]

    def put_back():
        for name in space.keys() - before.keys():
            del space[name]
        space.update(before)
        for one in kept:
            one()

    return put_back


def _kept(x, visited):
    """Return a function that restores the contents of x.  visited: ids of objects already kept."""
    if id(x) in visited:
        return list
    visited.add(id(x))
    if isinstance(x, torch.Tensor) and x.layout is torch.strided and x.device.type != "meta":
        return _tensor(x)
    if isinstance(x, numpy.ndarray):
        numbers = x.copy()
        return lambda: x.__setitem__(..., numbers)
    if isinstance(x, nn.Module):
        return _all([*x.parameters(), *x.buffers()], visited)
    if isinstance(x, list | deque | dict | set):
        before, fill = x.copy(), x.extend if isinstance(x, list | deque) else x.update
        inside = _all(before.values() if isinstance(x, dict) else before, visited)
        return lambda: (x.clear(), fill(before), inside())
    return list


def _all(parts, visited):
    kept = [_kept(part, visited) for part in parts]
    return lambda: [put_back() for put_back in kept]


def _tensor(x):
    """Return a function that restores a tensor's shape, and its memory, which its views share."""
    was, needs_grad = plain(x), x.requires_grad
    memory = torch.empty(0, dtype=torch.uint8, device=x.device).set_(was.untyped_storage())
    numbers = memory.clone()

    def put_back():
        memory.copy_(numbers)
        if plain(x).shape != was.shape:
            x.data = was
        if x.is_leaf:
            x.requires_grad_(needs_grad)

    return put_back
