"""Leaves the student's session as it was: a check may be run at any time, any number of times."""

import ast
import gc
import inspect
import locale
import os
import random
import sys
import textwrap
import warnings
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import FunctionType, MethodType

import numpy
import torch

from .. import guard
from . import genuine, snapshot


@contextmanager
def untouched(answer):
    """What a function or class may change outside of itself is as before afterwards, also on
    an interrupt.

    Inside, random numbers and the default type are the same in every check, torch.empty
    gives NaN instead of whatever the memory held, and functions of torch and Python that the
    student has replaced are genuine. Yields call(fn, *args, seconds=None), which is guard.call
    with the student's replacements in force; it undoes those that are made in it.
    """
    replaced = genuine.take_away()
    with ExitStack() as stack:  # undone from the last to the first
        stack.callback(genuine.put, replaced)
        stack.callback(genuine.keep_own())
        stack.callback(_keep_open(0, 1, 2))
        functions = own_functions(answer)
        # The variables of the cells, what they hold, and what belongs to the answer.
        spaces = [f.__globals__ for f in functions]
        stack.callback(snapshot.remember(spaces, answer, *functions))
        stack.callback(random.setstate, random.getstate())
        stack.callback(numpy.random.set_state, numpy.random.get_state())
        stack.callback(_set, _settings())
        stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.enter_context(torch._tensor_str.printoptions())
        stack.enter_context(warnings.catch_warnings())
        if torch.get_default_device().type != "cpu":  # ours is slow where it is not needed
            stack.enter_context(torch.device("cpu"))
        stack.callback(genuine.take_away)
        torch.set_default_dtype(torch.float32)
        torch.default_generator.manual_seed(0)
        random.seed(0)
        numpy.random.seed(0)
        # use_deterministic_algorithms() imports the compiler: 1.4 seconds that nobody needs here.
        torch.set_deterministic_debug_mode("warn")
        _set_fill(True)
        during = _settings()
        warnings.simplefilter("ignore")
        yield partial(_call, replaced, during)


def _call(replaced, during, fn, *args, seconds=None):
    clean = genuine.take_away  # here, since fn may replace the name

    def with_replacements():
        genuine.put(replaced)
        return fn(*args)

    def after():
        clean()
        _set(during)
        warnings.simplefilter("ignore")

    outcome = guard.call(with_replacements, seconds=seconds, after=after)
    try:
        str(outcome.error), type(outcome.error).__name__
    except BaseException:
        outcome.error = RuntimeError("an error whose own message raises an error")
    return outcome


# --- settings ---


def _set_environment(value):
    for name in os.environ.keys() - value.keys():
        del os.environ[name]
    os.environ.update(value)


def _set_stream(name, value):
    # guard's own router may still be there, for a call that had to be left behind.
    if not isinstance(getattr(sys, name), guard._Router):
        setattr(sys, name, value)


def _keep_open(*descriptors):
    """Returns a function that opens again what os.close() closed."""
    kept = {}
    for number in descriptors:
        with suppress(OSError):  # there may be none
            kept[number] = os.dup(number)

    def open_again():
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)

    return open_again


HOOKS = "excepthook", "displayhook", "tracebacklimit", "__stdout__", "__stderr__"
# Whether torch.empty gives NaN.
_set_fill = partial(setattr, torch.utils.deterministic, "fill_uninitialized_memory")
# Pairs of get() and set(value).
SETTINGS = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (lambda: torch.utils.deterministic.fill_uninitialized_memory, _set_fill),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (lambda: sys.stdout, partial(_set_stream, "stdout")),
    (lambda: sys.stderr, partial(_set_stream, "stderr")),
    *((partial(getattr, sys, name, None), partial(setattr, sys, name)) for name in HOOKS),
    (lambda: list(sys.path), lambda value: sys.path.__setitem__(slice(None), value)),
    (lambda: list(sys.meta_path), lambda value: sys.meta_path.__setitem__(slice(None), value)),
    (gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    (lambda: dict(os.environ), _set_environment),
    (partial(locale.setlocale, locale.LC_ALL),) * 2,
    (os.getcwd, os.chdir),
)


def _settings():
    """The values of SETTINGS; for one that cannot be told the error."""
    values = []
    for get, _ in SETTINGS:
        try:
            values.append(get())
        except OSError as error:  # the working directory was deleted
            values.append(error)
    return values


def _set(values):
    """Only what was changed."""
    for (_, set_), value, now in zip(SETTINGS, values, _settings(), strict=True):
        if now is not value and now != value:
            with suppress(Exception):
                set_(value)


# --- variables ---


def own_functions(answer):
    """The functions that belong to it and are not a library's: itself, or the methods of a
    class and of those that it is made from."""
    found = [answer]
    if inspect.isclass(answer):
        found = [f for cls in answer.__mro__ for f in vars(cls).values()]
    found = [unwrapped(f) for f in found if callable(f)]
    found = [f for f in found if type(f) in (FunctionType, MethodType)]
    return [f for f in found if "site-packages" not in f.__code__.co_filename]


def unwrapped(function):
    """Without what decorators put around it."""
    try:
        return inspect.unwrap(function)
    except Exception:  # a circle, or attributes of the student's own making
        return function


def code_of(answer):
    """What cells of the notebook say of an answer, and of the functions of other cells that it
    names: see Evidence.code. What stands in a file is not the student's."""
    todo, seen, texts = own_functions(answer), set(), []
    while todo:
        function = todo.pop()
        code = function.__code__
        if code in seen or os.path.exists(code.co_filename):
            continue
        seen.add(code)
        try:
            texts.append(ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(code)))))
        except (OSError, SyntaxError, ValueError):
            return ""  # a part of it would prove nothing
        todo += filter(inspect.isfunction, variables_of(function))
    return "\n".join(texts)


def variables_of(function):
    """The values of the variables of its notebook that a function names."""
    codes = [function.__code__]
    for code in codes:  # those of comprehensions and inner functions are found on the way
        codes += filter(inspect.iscode, code.co_consts)
    known, names = function.__globals__, {name for code in codes for name in code.co_names}
    return [known[name] for name in sorted(names) if name in known]
