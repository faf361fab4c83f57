"""Leaves the student's session as it was: a check may be run at any time, any number of times."""

import inspect
import random
import sys
import warnings
from contextlib import contextmanager

import numpy
import torch

from .. import guard


@contextmanager
def untouched(answer):
    """What a function or class may change outside of itself is as before afterwards, also on
    an interrupt.

    Inside, random numbers and the default type are the same in every check, and torch.empty
    gives NaN instead of whatever the memory held.
    """
    filling = torch.utils.deterministic
    # The public switch imports the compiler first: 1.4 seconds that nobody needs here.
    switch = torch._C._set_deterministic_algorithms
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    fill = filling.fill_uninitialized_memory
    dtype, stdout = torch.get_default_dtype(), sys.stdout
    put_back = _remember(answer)
    python_random, numpy_random = random.getstate(), numpy.random.get_state()
    with (
        torch.random.fork_rng(devices=[]),
        torch._tensor_str.printoptions(),
        warnings.catch_warnings(),
    ):
        try:
            warnings.simplefilter("ignore")
            torch.set_default_dtype(torch.float32)
            torch.default_generator.manual_seed(0)
            random.seed(0)
            numpy.random.seed(0)
            switch(True, warn_only=True)
            filling.fill_uninitialized_memory = True
            yield
        finally:
            switch(deterministic, warn_only=warn_only)
            filling.fill_uninitialized_memory = fill
            torch.set_default_dtype(dtype)
            random.setstate(python_random)
            numpy.random.set_state(numpy_random)
            # guard's own router may still be there, for a call that had to be left behind.
            if sys.stdout is not stdout and not isinstance(sys.stdout, guard._Router):
                sys.stdout = stdout
            put_back()


def own_functions(answer):
    """The functions that belong to it and are not a library's: itself, or the methods of a
    class and of those that it is made from."""
    found = [answer]
    if inspect.isclass(answer):
        found = [f for cls in answer.__mro__ for f in vars(cls).values()]
    found = [inspect.unwrap(f) for f in found if callable(f)]
    return [
        f for f in found if hasattr(f, "__code__") and "site-packages" not in f.__code__.co_filename
    ]


def _remember(answer):
    """Returns a function that gives names their values back: the global variables of a
    function, or those of a class's methods and what belongs to the class."""
    functions = own_functions(answer)
    spaces = {id(f.__globals__): f.__globals__ for f in functions}.values()
    each = [_remember_names(space) for space in spaces]
    if inspect.isclass(answer):
        each.append(_remember_attributes(answer))

    def put_back():
        for give in each:
            give()

    return put_back


def _remember_attributes(cls):
    names = dict(vars(cls))

    def put_back():
        for name in vars(cls).keys() - names.keys():
            delattr(cls, name)
        for name, value in names.items():
            if vars(cls).get(name, put_back) is not value:
                setattr(cls, name, value)

    return put_back


def _remember_names(space):
    """Returns a function that gives all names there back their values: the names, and the
    contents of tensors, arrays and lists, which `+=` changes in place."""
    names = dict(space)
    tensors = [(x, x.detach().clone()) for x in names.values() if torch.is_tensor(x)]
    arrays = [(x, x.copy()) for x in names.values() if isinstance(x, numpy.ndarray)]
    lists = [(x, x.copy()) for x in names.values() if type(x) is list]

    def put_back():
        for name in space.keys() - names.keys():
            del space[name]
        for name, value in names.items():
            if space.get(name, put_back) is not value:
                space[name] = value
        # Only what was changed: writing to a tensor cuts it off from the graph it is in.
        for x, copy in tensors:
            if x.shape != copy.shape or x.dtype != copy.dtype:
                x.data = copy
            elif not torch.equal(x.detach(), copy):
                x.detach().copy_(copy)
        for x, copy in arrays:
            if x.tobytes() != copy.tobytes():
                x[...] = copy
        for x, copy in lists:
            if len(x) != len(copy) or any(a is not b for a, b in zip(x, copy, strict=True)):
                x[:] = copy

    return put_back
