"""Copy what the reader's code names, to run the code on copies: what it changes are the copies."""

import copy
import functools
import inspect
import types
from contextlib import suppress
from itertools import chain

import numpy
import torch
from torch import nn

from . import guard
from .contents import (
    DRAWN,
    NEVER_CHANGE,
    OF_CLASS,
    PLAIN,
    has_attributes,
    has_memory,
    is_filled,
    is_the_readers,
    own_dict,
    own_slots,
    plain,
)

LARGEST_COPY = 2**24  # bytes; a picture copies at each move of a control


def on_copies(fn):
    """Return the reader's fn, to be called on copies: of the variables that it, and the functions
    of the notebook which it calls, name, of default arguments, and of the variables of enclosing
    functions. The notebook's own classes are copied with their methods. What it writes goes to the
    copies. They are made at once.

    Shared, not copied: modules and tensors of more than LARGEST_COPY bytes, objects of libraries
    other than torch and numpy, members of an Enum, and what Python cannot copy. A tensor that was
    computed is copied without the way it was computed; its gradient does not go further.
    An optimizer that has a scheduler still steps the notebook's own parameters. While a cell runs,
    copies have no gradients.
    """
    return _copied(fn, {})


def copies(space, names):
    """Return {name: copy} of the variables in space (a dict) that have these names."""
    made = {}
    return {name: _copied(space[name], made) for name in names & space.keys()}


def _copied(x, copies):
    """Return a copy of x, or x itself where it cannot be copied.  copies: {id: copy}, as
    copy.deepcopy has it."""
    if type(x) in NEVER_CHANGE or id(x) in copies:
        return copies.get(id(x), x)
    made = x
    with suppress(Exception):
        made = _made(x, type(x), copies)
    copies[id(x)] = made
    return made


def _made(x, kind, copies):
    """Return a copy of x, whose type is kind; an object that may hold itself is put into copies
    first."""
    copied = functools.partial(_copied, copies=copies)
    if kind is types.FunctionType:
        return _rebound(x, copies) if is_the_readers(x) else x
    if issubclass(kind, type):
        return _copied_class(x, copies) if is_the_readers(x) else x
    if kind is types.MethodType:
        return types.MethodType(copied(x.__func__), copied(x.__self__))
    if kind in (staticmethod, classmethod):
        return kind(copied(x.__func__))
    if kind is property:
        return property(copied(x.fget), copied(x.fset), copied(x.fdel), x.__doc__)
    if kind is functools.partial:
        named = {name: copied(value) for name, value in x.keywords.items()}
        return functools.partial(copied(x.func), *map(copied, x.args), **named)
    if kind is types.CellType:
        made = copies[id(x)] = types.CellType()
        if is_filled(x):
            made.cell_contents = copied(x.cell_contents)
        return made
    if issubclass(kind, tuple):
        return tuple.__new__(copied(kind), map(copied, x))
    if issubclass(kind, torch.Tensor):
        return _copied_tensor(x, copies)
    if kind is torch.Generator:
        return torch.Generator(x.device).set_state(x.get_state())
    if issubclass(kind, (numpy.ndarray, numpy.random.Generator, *DRAWN)):
        return x if getattr(x, "nbytes", 0) > LARGEST_COPY else copy.deepcopy(x, copies)
    if issubclass(kind, nn.Module) and _size(x) > LARGEST_COPY:
        return x
    if kind in PLAIN or issubclass(kind, PLAIN) or has_attributes(kind):
        return _copied_object(x, kind, copies)
    return x


def _copied_object(x, kind, copies):
    """Return a copy of a container, or of an object with attributes."""
    own = _copied(kind, copies)
    library = next(cls for cls in kind.__mro__ if not is_the_readers(cls))
    # without calls of what the reader's class defines, such as __new__ with its arguments
    simple = kind is not library and library.__new__ is object.__new__
    made = copies[id(x)] = object.__new__(own) if simple else copy.copy(x)
    if made is x:
        return x
    copied = functools.partial(_copied, copies=copies)
    if issubclass(kind, (dict, set)):
        is_dict = issubclass(kind, dict)
        held = {copied(k): copied(v) for k, v in x.items()} if is_dict else set(map(copied, x))
        made.clear()
        made.update(held)
    elif issubclass(kind, PLAIN):
        for k, value in enumerate(x):
            if type(value) not in NEVER_CHANGE:  # a list may have a million numbers
                made[k] = copied(value)
    if has_attributes(kind):
        if type(made) is not own:
            made.__class__ = own
        for name, value in (own_dict(x) or {}).items():
            own_dict(made)[name] = copied(value)
        for name, value in own_slots(x, kind).items():
            object.__setattr__(made, name, copied(value))
    return made


def _copied_class(x, copies):
    """Return a copy of a reader's class with its methods. As of an Enum, Python may make none."""
    bases = tuple(_copied(base, copies) for base in x.__bases__)
    held = {name: value for name, value in vars(x).items() if name not in OF_CLASS}
    slots = [name for name, value in held.items() if isinstance(value, types.MemberDescriptorType)]
    # Python makes the slots anew. A hook for subclasses would take the copies for new ones.
    for name in {*slots, "__init_subclass__"} & held.keys():
        del held[name]
    library = next(cls for cls in type(x).__mro__ if not is_the_readers(cls))
    made = library.__new__(_copied(type(x), copies), x.__name__, bases, held)
    copies[id(x)] = made
    for name, value in held.items():
        type.__setattr__(made, name, _copied(value, copies))
    return made


def _size(module):
    """Return the bytes of a module's parameters and buffers."""
    return sum(x.nbytes for x in chain(module.parameters(), module.buffers()))


def _copied_tensor(x, copies):
    if not has_memory(x) or plain(x).untyped_storage().nbytes() > LARGEST_COPY:
        return x
    # PyTorch may crash if a gradient is read while a training in another thread writes it.
    grad = x.grad if guard.cell_elsewhere() != "runs" and (x.is_leaf or x.retains_grad) else None
    if isinstance(x, nn.parameter.UninitializedTensorMixin):
        made = copy.deepcopy(x, copies)
    elif x.is_leaf:  # a copy of the memory, which others may share
        made = copy.deepcopy(x.detach(), copies)
        made = nn.Parameter(made) if type(x) is nn.Parameter else made
        made.requires_grad_(x.requires_grad)
    else:  # it was computed: its gradient would go to what the notebook holds
        made = x.detach().requires_grad_().clone()
    if grad is not None:
        made.grad = grad.clone()
        if not made.is_leaf:
            made.retain_grad()
    vars(made).update(_copied(vars(x), copies))
    return made


def _rebound(fn, copies):
    """Return a reader's function with copies of the variables that it names."""
    own, key = fn.__globals__, ("variables", id(fn.__globals__))
    space = copies.setdefault(key, dict(own))
    cells = tuple(types.CellType() for _ in fn.__closure__ or ())
    made = types.FunctionType(fn.__code__, space, fn.__name__, None, cells or None)
    copies[id(fn)] = made  # first, since functions may name each other
    made.__qualname__, made.__module__ = fn.__qualname__, fn.__module__
    for cell, filled in zip(fn.__closure__ or (), cells, strict=True):
        if is_filled(cell):
            filled.cell_contents = _copied(cell.cell_contents, copies)
    made.__defaults__ = _copied(fn.__defaults__, copies)
    made.__kwdefaults__ = _copied(fn.__kwdefaults__, copies)
    vars(made).update(_copied(vars(fn), copies))
    space.update((name, _copied(own[name], copies)) for name in names_in(fn) & own.keys())
    return made


# --- the names in code ---


def codes_of(code):
    """Return the code of a function, or this code, and that of what is defined inside."""
    codes = [getattr(code, "__code__", code)]
    for code in codes:  # the list grows on the way, by the codes inside
        codes += filter(inspect.iscode, code.co_consts)
    return codes


def names_in(code):
    """Return the names of global variables, attributes and modules in a function or a code."""
    return {name for each in codes_of(code) for name in each.co_names}
