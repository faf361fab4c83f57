"""Remember what the reader's session holds, to give it back; copies.py copies it.

What a notebook holds is found from its functions: the variables of the notebook (all of them, since
one function may call another), what these hold in turn, default arguments, and the variables of
enclosing functions. Not followed: objects of libraries other than torch and numpy, and what takes
more than LARGEST bytes. An object that lies about itself or refuses is left out; types are asked
for, and not objects, because an object's attributes may be code of the reader.
"""

import builtins
import functools
import gc
import random
import sys
import types
from collections import deque
from contextlib import suppress
from itertools import chain
from operator import is_

import numpy
import torch
from torch import nn

from .guard import OTHERS

LARGEST = 2**26  # bytes of one tensor's or array's memory
NEVER_CHANGE = {int, float, str, bytes, bool, complex, range, type(None), torch.dtype, torch.device}
PLAIN = list, dict, set, deque
OF_CLASS = "__dict__", "__weakref__", "__doc__"  # what Python itself puts into a class
WRAPPERS = types.MethodType, types.CellType, functools.partial, staticmethod, classmethod, property
DRAWN = random.Random, numpy.random.RandomState, torch.Generator  # they have a state


def is_the_readers(code_or_class):
    """Was this function or class written by the reader, and not by a library or the course?"""
    if isinstance(code_or_class, type):
        module = sys.modules.get(code_or_class.__module__)
        own = code_or_class.__module__ == "__main__"
        file = "__main__" if own else getattr(module, "__file__", None)
    else:
        file = code_or_class.__code__.co_filename
    return bool(file) and not file.startswith((*OTHERS, "<frozen")) and "site-packages" not in file


def plain(tensor):
    """Return the tensor, detached and of torch's own class, whatever a student's subclass does."""
    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.detach(tensor)


def remember(*roots):
    """Return a function that gives everything that can be reached from these objects its present
    content back. Each object stays the same object."""
    # The objects are held, so that no other gets the id of one that has gone.
    python = vars(builtins)  # each notebook holds Python's own names, as __builtins__
    visited, memory, undo, left = {id(python): python}, set(), [], list(roots)
    with torch._C.DisableTorchFunctionSubclass():
        while left:
            x = left.pop()
            if id(x) not in visited:
                visited[id(x)] = x
                with suppress(Exception):
                    put_back, parts = _kept(x, type(x), memory)
                    undo += put_back
                    left += (part for part in parts if type(part) not in NEVER_CHANGE)

    def give_back():
        with torch._C.DisableTorchFunctionSubclass():
            for one in undo:
                with suppress(Exception):
                    one()

    return give_back


def _kept(x, kind, memory):
    """Return ([functions that restore x], [what it holds]).  kind: its type.
    memory: {(address, bytes)} of what is restored already."""
    if issubclass(kind, torch.Tensor):
        return _tensor(x, memory)
    if issubclass(kind, numpy.ndarray):
        return _array(x)
    undo, held = [], gc.get_referents(x)  # without a call of the reader's code
    if kind is types.FunctionType or issubclass(kind, type):
        if not is_the_readers(x):
            return [], []
        return [_class(x) if issubclass(kind, type) else _function(x)], held
    if issubclass(kind, PLAIN):
        undo.append(_container(x, kind))
    elif kind is bytearray:
        before = bytes(x)
        undo.append(lambda: x.__setitem__(slice(None), before))
    elif issubclass(kind, DRAWN):
        undo.append(_state(x))
    elif kind is numpy.random.Generator:
        before = x.bit_generator.state
        undo.append(lambda: setattr(x.bit_generator, "state", before))
    elif not (kind in WRAPPERS or issubclass(kind, (tuple, frozenset)) or has_attributes(kind)):
        return [], []
    if kind not in PLAIN and has_attributes(kind):
        undo.append(_attributes(x, kind))
        held += [own_dict(x), kind]
    return undo, held


def _attributes(x, kind):
    slots, own = own_slots(x, kind), own_dict(x)

    def put_back():
        if type(x) is not kind:
            object.__setattr__(x, "__class__", kind)
        if own_dict(x) is not own:
            object.__setattr__(x, "__dict__", own)
        for name, value in slots.items():
            object.__setattr__(x, name, value)

    return put_back


def has_attributes(kind):
    """Do objects of this type keep what the reader gave them in attributes?"""
    known = nn.Module, types.SimpleNamespace
    is_known = issubclass(kind, known) or kind.__module__.startswith("torch.optim.")
    return is_known or is_the_readers(kind)


def own_dict(x):
    """Return the dict of an object's attributes, or None."""
    with suppress(AttributeError):
        return object.__getattribute__(x, "__dict__")


def own_slots(x, kind):
    """Return {name: value} of the attributes that the reader's classes have in __slots__."""
    held, classes = {}, [cls for cls in kind.__mro__ if is_the_readers(cls)]
    for name, slot in chain.from_iterable(vars(cls).items() for cls in classes):
        with suppress(AttributeError):  # it has no value
            if isinstance(slot, types.MemberDescriptorType):
                held[name] = slot.__get__(x)
    return held


def _container(x, kind):
    """Return a function that restores what a list, dict, set or deque holds."""
    # its methods as the library has them, whatever a subclass of the reader's does
    library = next(cls for cls in kind.__mro__ if not is_the_readers(cls))
    before = library.copy(x)

    def held(x):
        return [*x, *dict.values(x)] if isinstance(x, dict) else list(library.__iter__(x))

    def put_back():
        now, then = held(x), held(before)
        if len(now) == len(then) and all(map(is_, now, then)):
            return
        if kind is dict and "__builtins__" in before:
            # variables of a notebook: never empty, since a picture may read them meanwhile
            for name in x.keys() - before.keys():
                del x[name]
            x.update(before)
            return
        library.clear(x)
        (library.update if issubclass(kind, (dict, set)) else library.extend)(x, before)

    return put_back


def _array(x):
    held, undo = x.view(numpy.ndarray), []
    if x.flags.writeable and x.nbytes <= LARGEST:
        numbers = held.copy()

        def put_back():
            held[...] = numbers
            x.shape, x.flags.writeable = held.shape, True

        undo.append(put_back)
    return undo, list(held.flat) if x.dtype == object else []


def _tensor(x, memory):
    if not has_memory(x):
        return [], [own_dict(x)]
    was, needs_grad, grad = plain(x), x.requires_grad, x.grad if x.is_leaf else None
    storage, undo = was.untyped_storage(), []
    size, place = storage.nbytes(), (storage.data_ptr(), storage.nbytes())
    if size <= LARGEST and place not in memory:
        read = torch.empty(0, dtype=torch.uint8, device=x.device).set_(storage)
        numbers = read.clone()
        memory.add(place)

        def rewrite():
            if storage.nbytes() != size:
                storage.resize_(size)
            # Compared first: what is read-only, as from a file, was not changed.
            if not torch.equal(read, numbers):
                read.copy_(numbers)

        undo.append(rewrite)

    def put_back():
        now = plain(x)
        if (now.data_ptr(), now.shape, now.stride()) != (was.data_ptr(), was.shape, was.stride()):
            x.data = was
        if x.is_leaf:
            x.requires_grad_(needs_grad)
            if x.grad is not grad:
                x.grad = grad

    return [*undo, put_back], [own_dict(x), grad]


def has_memory(x):
    """Does this tensor have one block of memory, with its numbers?"""
    return x.layout is torch.strided and x.device.type != "meta" and not x.is_nested


def _function(x):
    """A function: its code, its default arguments, the variables of enclosing functions."""
    code, defaults, named = x.__code__, x.__defaults__, x.__kwdefaults__
    cells = [(cell, cell.cell_contents) for cell in x.__closure__ or () if is_filled(cell)]

    def put_back():
        x.__code__, x.__defaults__, x.__kwdefaults__ = code, defaults, named
        for cell, content in cells:
            cell.cell_contents = content

    return put_back


def is_filled(cell):
    try:
        return bool([cell.cell_contents])
    except ValueError:
        return False


def _class(x):
    """A class: its methods and what else it holds for all its objects."""
    before = {name: value for name, value in vars(x).items() if name not in OF_CLASS}

    def put_back():
        for name in vars(x).keys() - before.keys() - {*OF_CLASS}:
            type.__delattr__(x, name)
        for name, value in before.items():
            if vars(x).get(name) is not value:
                type.__setattr__(x, name, value)

    return put_back


def _state(x):
    get, set_ = (
        (x.getstate, x.setstate) if isinstance(x, random.Random) else (x.get_state, x.set_state)
    )
    before = get()
    return lambda: set_(before)
