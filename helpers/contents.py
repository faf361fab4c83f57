"""What the reader's session holds: remember it, to give it back, or copy it, to run code on copies.

What a notebook holds is found from its functions: the variables of the notebook (all of them, since
one function may call another), what these hold in turn, default arguments, and the variables of
enclosing functions. Not followed: objects of libraries other than torch and numpy, and what takes
more than LARGEST bytes.
"""

import builtins
import copy
import functools
import inspect
import random
import sys
import types
from collections import deque
from itertools import chain

import numpy
import torch
from torch import nn

from .guard import OTHERS

LARGEST = 2**26  # bytes of one tensor's or array's memory
LARGEST_COPY = 2**24  # a picture copies at each move of a control
NEVER_CHANGE = int, float, str, bytes, bool, complex, range, type(None), torch.dtype, torch.device
PLAIN = list, dict, set, deque
OF_CLASS = "__dict__", "__weakref__", "__doc__"  # what Python itself puts into a class
DRAWN = random.Random, numpy.random.RandomState, torch.Generator  # they have a state


def _is_the_readers(code_or_class):
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


# --- remember ---


def remember(*roots):
    """Return a function that gives everything that can be reached from these objects its present
    content back. Each object stays the same object."""
    # The objects are held, so that no other gets the id of one that has gone.
    python = vars(builtins)  # each notebook holds Python's own names, as __builtins__
    visited, memory, undo, left = {id(python): python}, {}, [], list(roots)
    while left:
        x = left.pop()
        if id(x) not in visited and not isinstance(x, NEVER_CHANGE):
            visited[id(x)] = x
            put_back, parts = _kept(x, memory)
            undo += put_back
            left += parts
    return lambda: [one() for one in undo]


def _kept(x, memory):
    """Return ([functions that restore x], [what it holds]).  memory: {address: its restorer}."""
    undo, parts = [], []
    if isinstance(x, torch.Tensor):
        return _tensor(x, memory)
    if isinstance(x, numpy.ndarray):
        if x.flags.writeable and x.nbytes <= LARGEST:
            numbers = x.copy()
            undo.append(lambda: x.__setitem__(..., numbers))
        return undo, list(x.flat) if x.dtype == object else parts
    if isinstance(x, types.FunctionType):
        return _function(x)
    if isinstance(x, type):
        return _class(x) if _is_the_readers(x) else ([], [])
    if isinstance(x, PLAIN):
        undo, parts = [_container(x)], list(x)
        parts += x.values() if isinstance(x, dict) else ()
    elif isinstance(x, bytearray):
        before = bytes(x)
        undo = [lambda: x.__setitem__(slice(None), before)]
    elif isinstance(x, (tuple, frozenset)):
        parts = list(x)
    elif isinstance(x, DRAWN):
        undo = [_state(x)]
    elif isinstance(x, numpy.random.Generator):
        before = x.bit_generator.state
        undo = [lambda: setattr(x.bit_generator, "state", before)]
    elif isinstance(x, types.MethodType):
        parts = [x.__func__, x.__self__]
    elif isinstance(x, functools.partial):
        parts = [x.func, x.args, x.keywords]
    elif isinstance(x, (staticmethod, classmethod)):
        parts = [x.__func__]
    elif isinstance(x, property):
        parts = [x.fget, x.fset]
    if _has_attributes(x):
        slots = _slots(x)
        undo += [functools.partial(object.__setattr__, x, *pair) for pair in slots.items()]
        parts += [getattr(x, "__dict__", None), *slots.values(), type(x)]
    return undo, parts


def _has_attributes(x):
    """Does x keep what the reader gave it in attributes?"""
    known = nn.Module, types.SimpleNamespace
    optimizers = sys.modules.get("torch.optim.optimizer")
    known += (optimizers.Optimizer,) if optimizers else ()
    return isinstance(x, known) or _is_the_readers(type(x))


def _container(x):
    """Return a function that restores what a list, dict, set or deque holds."""
    before = x.copy()
    as_ids = _ids(x)

    def put_back():
        if _ids(x) == as_ids:
            return
        if isinstance(x, dict) and "__builtins__" in before:
            # variables of a notebook: never empty, since a picture may read them meanwhile
            for name in x.keys() - before.keys():
                del x[name]
            x.update(before)
            return
        x.clear()
        x.extend(before) if isinstance(x, (list, deque)) else x.update(before)

    return put_back


def _ids(x):
    held = chain.from_iterable(x.items()) if isinstance(x, dict) else x
    return list(map(id, held))


def _tensor(x, memory):
    parts = [vars(x)] if hasattr(x, "__dict__") and vars(x) else []
    if x.layout is not torch.strided or x.device.type == "meta":
        return [], parts
    was, needs_grad, grad = plain(x), x.requires_grad, x.grad if x.is_leaf else None
    storage = was.untyped_storage()
    if storage.nbytes() > LARGEST:
        return [], parts
    undo, parts = [], [*parts, *([] if grad is None else [grad])]
    if storage.data_ptr() not in memory:
        read = torch.empty(0, dtype=torch.uint8, device=x.device).set_(storage)
        numbers = read.clone()
        # Compared first: what is read-only, as from a file, was not changed.
        memory[storage.data_ptr()] = True
        undo.append(lambda: torch.equal(read, numbers) or read.copy_(numbers))

    def put_back():
        now = plain(x)
        if (now.data_ptr(), now.shape, now.stride()) != (was.data_ptr(), was.shape, was.stride()):
            x.data = was
        if x.is_leaf:
            x.requires_grad_(needs_grad)
            if x.grad is not grad:
                x.grad = grad

    return [*undo, put_back], parts


def _function(x):
    """A function: its variables, its default arguments, its attributes."""
    if not _is_the_readers(x):
        return [], []
    defaults, named = x.__defaults__, x.__kwdefaults__
    cells = [(cell, cell.cell_contents) for cell in x.__closure__ or () if _is_filled(cell)]

    def put_back():
        x.__defaults__, x.__kwdefaults__ = defaults, named
        for cell, content in cells:
            cell.cell_contents = content

    return [put_back], [x.__globals__, defaults, named, vars(x), *(held for _, held in cells)]


def _is_filled(cell):
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

    return [put_back], [*before.values(), *x.__bases__]


def _slots(x):
    """Return {name: value} of the attributes that a class has in __slots__."""
    held = chain.from_iterable(vars(cls).items() for cls in type(x).__mro__)
    names = [name for name, kind in held if isinstance(kind, types.MemberDescriptorType)]
    return {name: getattr(x, name) for name in names if hasattr(x, name)}


def _state(x):
    get, set_ = (
        (x.getstate, x.setstate) if isinstance(x, random.Random) else (x.get_state, x.set_state)
    )
    before = get()
    return lambda: set_(before)


# --- copy ---


def on_copies(fn):
    """Return the reader's fn, to be called on copies: of the variables that it, and the functions
    of the notebook which it calls, name, of default arguments, and of the variables of enclosing
    functions. The notebook's own classes are copied with their methods. What it writes goes to the
    copies. They are made at once.

    Shared, not copied: modules and tensors of more than LARGEST_COPY bytes, and objects of
    libraries other than torch and numpy.
    """
    return _copied(fn, {})


def copies(space, names):
    """Return {name: copy} of the variables in space (a dict) that have these names."""
    made = {}
    return {name: _copied(space[name], made) for name in names & space.keys()}


def _copied(x, copies):
    """Return a copy of x, or x itself where it cannot be copied.  copies: {id: copy}, as
    copy.deepcopy has it."""
    if isinstance(x, NEVER_CHANGE) or id(x) in copies:
        return copies.get(id(x), x)
    copied = functools.partial(_copied, copies=copies)
    if isinstance(x, types.FunctionType):
        return _rebound(x, copies) if _is_the_readers(x) else x
    if isinstance(x, type):
        return _copied_class(x, copies) if _is_the_readers(x) else x
    if isinstance(x, types.MethodType):
        return types.MethodType(copied(x.__func__), copied(x.__self__))
    if isinstance(x, (staticmethod, classmethod)):
        return type(x)(copied(x.__func__))
    if isinstance(x, property):
        return property(copied(x.fget), copied(x.fset), copied(x.fdel), x.__doc__)
    if isinstance(x, functools.partial):
        named = {name: copied(value) for name, value in x.keywords.items()}
        return functools.partial(copied(x.func), *map(copied, x.args), **named)
    if isinstance(x, types.CellType):
        made = copies[id(x)] = types.CellType()
        if _is_filled(x):
            made.cell_contents = copied(x.cell_contents)
        return made
    if type(x) is tuple:
        return tuple(map(copied, x))
    if isinstance(x, torch.Tensor):
        return _copied_tensor(x, copies)
    if isinstance(x, torch.Generator):
        made = copies[id(x)] = torch.Generator(x.device)
        return made.set_state(x.get_state())
    if isinstance(x, (numpy.ndarray, numpy.random.Generator, *DRAWN)):
        return x if getattr(x, "nbytes", 0) > LARGEST_COPY else copy.deepcopy(x, copies)
    if isinstance(x, nn.Module) and _size(x) > LARGEST_COPY:
        return x
    if not isinstance(x, PLAIN) and not _has_attributes(x):
        return x
    made = copies[id(x)] = copy.copy(x)
    if isinstance(x, dict):
        made.update((name, copied(value)) for name, value in x.items())
    elif isinstance(x, list | deque):
        for k, value in enumerate(x):
            made[k] = copied(value)
    if _has_attributes(x):
        for name, value in {**getattr(x, "__dict__", {}), **_slots(x)}.items():
            object.__setattr__(made, name, copied(value))
        if type(x) is not copied(type(x)):
            made.__class__ = copied(type(x))
    return made


def _copied_class(x, copies):
    """Return a copy of a reader's class with its methods; x itself if Python makes none, as of an
    Enum."""
    bases = tuple(_copied(base, copies) for base in x.__bases__)
    held = {name: value for name, value in vars(x).items() if name not in OF_CLASS}
    slots = [name for name, value in held.items() if isinstance(value, types.MemberDescriptorType)]
    for name in slots:  # Python makes them anew
        del held[name]
    try:
        made = copies[id(x)] = type(x)(x.__name__, bases, held)
        for name, value in held.items():
            setattr(made, name, _copied(value, copies))
    except Exception:
        made = copies[id(x)] = x
    return made


def _size(module):
    """Return the bytes of a module's parameters and buffers."""
    return sum(x.nbytes for x in chain(module.parameters(), module.buffers()))


def _copied_tensor(x, copies):
    if x.layout is not torch.strided or x.device.type == "meta" or x.nbytes > LARGEST_COPY:
        return x
    if not x.is_leaf:  # it was computed: its gradient would go to what the notebook holds
        made = copies[id(x)] = x.detach().clone()
        return made
    made = copy.deepcopy(x, copies)
    if x.grad is not None and made.grad is None:
        made.grad = x.grad.clone()
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
        if _is_filled(cell):
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
