"""What is in the student's variables, to be put back: `+=`, append and the like change in place."""

import inspect
from collections import Counter, defaultdict, deque
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, ModuleType

import numpy
import torch
from torch import nn

MOST = 20_000  # so many things are looked into
ABSENT = object()
# Most of what is found, told at once.
NOTHING_INSIDE = {type(None), bool, int, float, str, bytes, ModuleType, BuiltinFunctionType}


def plain(tensor):
    """Its numbers as a tensor of torch's own class, whatever a class of the student's does."""
    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.detach(tensor)


def remember(spaces, *more):
    """Returns a function that gives everything found from here the contents that it has now.

    spaces: global variables of functions, each a dict.  more: other things to begin with.
    Looks into lists, dicts, sets, tensors, arrays and modules, and into functions, classes and
    objects of classes written where these variables are.
    """
    known = {id(space): space for space in spaces}
    where = {space.get("__name__") for space in spaces}
    seen, found, todo = {}, [], deque([*spaces, *more])
    while todo and len(seen) < MOST:
        x = todo.popleft()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        try:
            put_back, inside = _look(x, known, where)
        except Exception:  # of a class that answers to nothing
            continue
        found.append(put_back)
        todo.extend(one for one in inside if type(one) not in NOTHING_INSIDE)

    def put_back_all():
        for put_back in filter(None, found):
            with suppress(Exception):  # the others all the same
                put_back()

    return put_back_all


def _look(x, spaces, where):
    """(what puts the contents of x back or None, what is in it)."""
    kind = type(x)
    if kind is list or kind is deque:
        return _list(x)
    if kind in (dict, defaultdict, Counter):
        return _names(x) if id(x) in spaces else _dict(x)
    if kind is set:
        return _set(x)
    if kind is tuple:
        return None, x
    if issubclass(kind, torch.Tensor):
        return _tensor(x)
    if kind is numpy.ndarray:
        return _array(x)
    if kind is FunctionType and id(x.__globals__) in spaces:
        return None, [x.__defaults__, x.__kwdefaults__, vars(x)]
    if inspect.isclass(x) and x.__module__ in where:
        return _class(x)
    if issubclass(kind, nn.Module) or kind.__module__ in where:
        return None, [vars(x)]
    return None, ()


def _differ(one, other):
    one, other = list(one), list(other)
    return len(one) != len(other) or any(a is not b for a, b in zip(one, other, strict=True))


def _list(x):
    copy = list(x)

    def put_back():
        if _differ(x, copy):
            x.clear()
            x.extend(copy)

    return put_back, copy


def _dict(x):
    copy = dict(x)

    def put_back():
        if _differ(x, copy) or _differ(x.values(), copy.values()):
            x.clear()
            x.update(copy)

    return put_back, copy.values()


def _names(space):
    """As _dict, but a live view on another thread may need the other names meanwhile."""
    copy = dict(space)

    def put_back():
        for name in space.keys() - copy.keys():
            del space[name]
        for name, value in copy.items():
            if space.get(name, ABSENT) is not value:
                space[name] = value

    return put_back, copy.values()


def _set(x):
    copy = set(x)

    def put_back():
        if {*map(id, x)} != {*map(id, copy)}:
            x.clear()
            x.update(copy)

    return put_back, ()


def _array(x):
    copy = x.copy()

    def put_back():
        if x.tobytes() != copy.tobytes():
            x[...] = copy

    return put_back, ()


def _tensor(x):
    """Its memory as a whole, since views share it; then which part of it the tensor is."""
    leaf, needs_grad = x.is_leaf, x.requires_grad
    grad = x.grad if leaf else None
    alias = plain(x)
    memory = torch.empty(0, dtype=torch.uint8, device=x.device).set_(alias.untyped_storage())
    copy = memory.clone()

    def place(tensor):
        storage = tensor.untyped_storage()
        return (
            tensor.dtype,
            tensor.shape,
            tensor.stride(),
            tensor.storage_offset(),
            storage.data_ptr(),
        )

    def put_back():
        if not torch.equal(memory, copy):
            memory.copy_(copy)
        if leaf and not x.is_leaf:
            x.detach_()
        if place(plain(x)) != place(alias):
            x.data = alias
        if leaf:
            x.requires_grad_(needs_grad)
            if x.grad is not grad:
                x.grad = grad

    return put_back, [grad]


def _class(cls):
    names = dict(vars(cls))

    def put_back():
        for name in vars(cls).keys() - names.keys():
            delattr(cls, name)
        for name, value in names.items():
            if vars(cls).get(name, ABSENT) is not value:
                setattr(cls, name, value)

    return put_back, names.values()
