"""Leave the reader's session as it was: a check and a picture may be run at any time, any number of
times, and nothing that the notebook holds is changed by what they run."""

import builtins
import math
import os
import random
import sys
import threading
import types
import warnings
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

import numpy
import torch
from torch import nn

from . import guard
from .contents import remember


@contextmanager
def untouched(answer):
    """Restore at the end what an answer, and whatever else runs inside, has changed: all that the
    notebook holds, see contents.py, and what unchanged() restores. guard.call lists what is not.

    Inside, the libraries have their own functions, random numbers and the default type are the same
    in every check, torch.empty returns NaN instead of old memory, and blocks around the check, such
    as torch.autocast, do not count. Yields a function that works like guard.call.
    """
    with ExitStack() as stack:  # undone in reverse order
        stack.callback(genuine())
        if not guard.cell_elsewhere():  # what changes then may be its own work
            stack.callback(remember(answer, getattr(guard.get_ipython(), "user_ns", None)))
        stack.enter_context(unchanged())
        if torch.get_default_device().type != "cpu":  # this costs time in every operation
            stack.enter_context(torch.device("cpu"))
        stack.enter_context(torch.autocast("cpu", enabled=False))
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        torch.set_default_dtype(torch.float32)
        torch.default_generator.manual_seed(0)
        random.seed(0)
        numpy.random.seed(0)
        # use_deterministic_algorithms() imports the compiler, which takes 1.4 seconds.
        torch.set_deterministic_debug_mode("warn")
        _set_fill(True)
        warnings.simplefilter("ignore")
        during = _settings()
        worker = guard.Worker()
        stack.callback(worker.end)
        yield partial(guard.call, worker=worker, after=lambda: (genuine(), _set(during)))


@contextmanager
def unchanged(numbers=None, unless=lambda: False):
    """Restore at the end random numbers, SETTINGS, warnings, and functions of libraries that were
    replaced.

    numbers: a list with the state of random numbers to begin with, or an empty one. It gets their
    state at the end, so that a picture goes on drawing where it stopped.
    unless: asked at the end; if it returns True, nothing is restored.
    """
    settings, replaced, before = _settings(), _replaced(), _random_state()
    hooks = remember(*_hooks())
    if numbers:
        _set_random_state(numbers[0])
    try:
        with warnings.catch_warnings():
            yield
    finally:
        if not unless():
            genuine()
            _replace(replaced)
            if numbers is not None:
                numbers[:] = [_random_state()]
            _set_random_state(before)
            _set(settings)
            hooks()


@contextmanager
def unchanged_by_a_picture(numbers):
    """Do as unchanged(numbers) does. Of pictures that work at the same time, the last to end
    restores what the first has found. Restores nothing if a cell runs elsewhere meanwhile: what
    changes then may be the cell's own work, such as the numbers that a training draws."""
    if guard.cell_elsewhere():
        yield
        return
    cells = _cells()
    alone = unchanged(numbers, lambda: guard.cell_elsewhere() or _cells() != cells)
    if guard.is_inside():  # a part of a picture or a check
        with alone:
            yield
        return
    with _lock:
        if not _at_work:
            alone.__enter__()
            _at_work.append(alone)
        _at_work.append(None)
    try:
        yield
    finally:
        with _lock:
            _at_work.pop()
            if len(_at_work) == 1:
                _at_work.pop().__exit__(None, None, None)


_lock, _at_work = threading.Lock(), []  # what restores the session, and None for each picture


def _cells():
    """Return how many cells have run."""
    return getattr(guard.get_ipython(), "execution_count", 0)


# --- settings ---

# Set whether torch.empty returns NaN.
_set_fill = partial(setattr, torch.utils.deterministic, "fill_uninitialized_memory")


def _folder():
    with suppress(OSError):  # it may have been deleted
        return os.getcwd()


def _set_environment(before):
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


def _plots():
    """Return matplotlib's settings and its open figures; None while nobody has imported it."""
    if "matplotlib" not in sys.modules:
        return None
    managers = sys.modules.get("matplotlib._pylab_helpers")
    # as they stand: asked for one by one, they would take ten times as long
    settings = dict(dict.items(sys.modules["matplotlib"].rcParams))
    return settings, dict(managers.Gcf.figs if managers else ())


def _set_plots(before):
    if before is None:  # the answer has imported it
        return
    settings, figures = before
    if "matplotlib.pyplot" in sys.modules:
        pyplot, managers = (
            sys.modules["matplotlib.pyplot"],
            sys.modules["matplotlib._pylab_helpers"],
        )
        if pyplot.rcParams._get("backend") != settings["backend"]:
            pyplot.switch_backend(settings["backend"])
        managers.Gcf.figs.clear()
        managers.Gcf.figs.update(figures)
    dict.update(sys.modules["matplotlib"].rcParams, settings)


# Pairs of a getter and a setter.
SETTINGS = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (lambda: torch.utils.deterministic.fill_uninitialized_memory, _set_fill),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda modes: torch.set_anomaly_enabled(*modes),
    ),
    (
        lambda: dict(vars(torch._tensor_str.PRINT_OPTS)),
        lambda options: vars(torch._tensor_str.PRINT_OPTS).update(options),
    ),
    (numpy.get_printoptions, lambda options: numpy.set_printoptions(**options)),
    (numpy.geterr, lambda modes: numpy.seterr(**modes)),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (lambda: list(sys.path), partial(sys.path.__setitem__, slice(None))),
    (_folder, lambda folder: folder and os.chdir(folder)),
    (lambda: dict(os.environ), _set_environment),
    (_plots, _set_plots),
)


def _settings():
    return [get() for get, _ in SETTINGS]


def _set(values):
    for (get, set_), value in zip(SETTINGS, values, strict=True):
        if get() != value:
            set_(value)


def _hooks():
    """Return the dicts of hooks that all modules of torch call."""
    names = vars(nn.modules.module).items()
    return [x for name, x in names if name.startswith("_global_") and isinstance(x, dict)]


# --- random numbers ---


def _random_state():
    return random.getstate(), numpy.random.get_state(), torch.default_generator.get_state()


def _set_random_state(state):
    random.setstate(state[0])
    numpy.random.set_state(state[1])
    torch.default_generator.set_state(state[2])


# --- functions of libraries ---

# Where an answer or a notebook may replace what a check uses: `torch.softmax = mine`.
PLACES = torch, torch.Tensor, nn, nn.Module, nn.functional, torch.linalg, numpy, math, builtins
# What they had when the course was imported, except what a library keeps for itself.
_GENUINE = [
    (place, {k: x for k, x in vars(place).items() if isinstance(place, type) or k[0] != "_"})
    for place in PLACES
]
# Of Python's own names, guard.call and IPython replace some while they need to.
_GENUINE[-1] = (
    builtins,
    {
        k: x
        for k, x in _GENUINE[-1][1].items()
        if isinstance(x, type | types.BuiltinFunctionType) and k != "input"
    },
)


def genuine():
    """Put the libraries' own functions where others stand: after torch.allclose = lambda *a: True,
    every answer would be right. Return a function that undoes it."""
    found = _replaced()
    for place, own in _GENUINE:
        _replace([(place, name, own.get(name)) for at, name, _ in found if at is place])
    return partial(_replace, found)


def _replaced():
    """Return [(place, name, what stands there)] for all that is not the libraries' own."""
    found = []
    for place, own in _GENUINE:
        now = vars(place)
        # The comparison is far faster than the loop, and nearly always enough.
        is_same = own.items() <= now.items()
        names = [] if is_same else [k for k, x in own.items() if now.get(k) is not x]
        if isinstance(place, type):  # a new name may hide what a class inherits
            names += [k for k in now.keys() - own.keys() if hasattr(place.__base__, k)]
        found += [(place, k, now.get(k)) for k in names]
    return found


def _replace(found):
    for place, name, x in found:
        if x is not None:
            setattr(place, name, x)
        elif name in vars(place):
            delattr(place, name)
