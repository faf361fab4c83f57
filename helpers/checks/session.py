"""Leaves the student's session as it was: a check may be run at any time, any number of times."""

import inspect
import sys
import warnings
from contextlib import contextmanager

import numpy
import torch

from .. import guard


@contextmanager
def untouched(fn):
    """What fn may change outside of itself is as before afterwards, also on an interrupt.

    Inside, random numbers are the same in every check, and torch.empty gives NaN instead of
    whatever the memory held.
    """
    filling = torch.utils.deterministic
    # The public switch imports the compiler first: 1.4 seconds that nobody needs here.
    switch = torch._C._set_deterministic_algorithms
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    fill = filling.fill_uninitialized_memory
    dtype, stdout = torch.get_default_dtype(), sys.stdout
    put_back = _remember(fn)
    with (
        torch.random.fork_rng(devices=[]),
        torch._tensor_str.printoptions(),
        warnings.catch_warnings(),
    ):
        try:
            warnings.simplefilter("ignore")
            torch.default_generator.manual_seed(0)
            switch(True, warn_only=True)
            filling.fill_uninitialized_memory = True
            yield
        finally:
            switch(deterministic, warn_only=warn_only)
            filling.fill_uninitialized_memory = fill
            torch.set_default_dtype(dtype)
            # guard's own router may still be there, for a call that had to be left behind.
            if sys.stdout is not stdout and not isinstance(sys.stdout, guard._Router):
                sys.stdout = stdout
            put_back()


def _remember(fn):
    """Returns a function that gives fn's global variables back their values: names, and the
    contents of tensors, arrays and lists, which `+=` changes in place."""
    fn = inspect.unwrap(fn)
    code = getattr(fn, "__code__", None)
    if code is None or "site-packages" in code.co_filename:
        return lambda: None
    space = fn.__globals__
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
