"""Functions of torch and Python that a student has replaced, as in torch.softmax = my_softmax.

Our own code needs the genuine ones, as they were when helpers was imported; the student's code
gets the student's. Other threads, such as a live view's, see the genuine ones meanwhile.
What an answer does to our own modules, and to the table of all modules, is undone at once.
"""

import builtins
import inspect
import math
import operator
import random
import sys
import time
from itertools import repeat

import numpy
import torch
from torch import nn

ABSENT = object()


def _genuine(place):
    """What is there by name. Of a class also names that it inherits: as ABSENT, since a
    method given to torch.Tensor hides the one of its base. New names in a module hide nothing."""
    own = vars(place)
    if inspect.isclass(place):
        return {name: own.get(name, ABSENT) for name in dir(place)}
    return {k: value for k, value in own.items() if callable(value) or isinstance(value, float)}


_CLASSES = (torch.Tensor, nn.Module, nn.Linear, nn.Softmax, nn.Dropout)
_MODULES = (torch, torch.linalg, nn, nn.functional, nn.init, math, numpy, random, time)
_PLACES = [
    (place, vars(place), tuple(names), tuple(names.values()))
    for place, names in ((place, _genuine(place)) for place in (*_CLASSES, *_MODULES))
]
_BUILTINS = vars(builtins)
# Jupyter gives each cell an input() of its own, and _ is the last value shown.
_GENUINE_BUILTINS = {k: v for k, v in _BUILTINS.items() if k not in ("input", "_")}


_own = []  # the last is what keep_own() found


def keep_own():
    """From now on take_away() gives our own modules what they have now. Returns a function that
    ends this."""
    package = __name__.partition(".")[0]

    def is_ours(name):
        return isinstance(name, str) and name.partition(".")[0] == package

    spaces = [vars(m) for name, m in sys.modules.copy().items() if is_ours(name)]
    things = [x for space in spaces for x in space.values()]
    tables = [x for x in things if type(x) is dict]
    inside = [x for table in tables for x in table.values()]
    objects = [vars(x) for x in inside if is_ours(type(x).__module__) and hasattr(x, "__dict__")]
    classes = {x: vars(x) for x in things if inspect.isclass(x) and is_ours(x.__module__)}
    functions = [*things, *(x for names in classes.values() for x in names.values())]
    functions = {x for x in functions if inspect.isfunction(x) and is_ours(x.__module__)}
    _own.append((
        [(space, space.copy()) for space in spaces],
        [(table, table.copy()) for table in (sys.modules, *tables, *objects)],
        [(cls, names, names.copy()) for cls, names in classes.items()],
        [(f, f.__code__, f.__defaults__) for f in functions],
    ))  # fmt: skip
    return _own.pop


def _give_back(spaces, tables, classes, functions, absent=ABSENT, write=setattr, delete=delattr):
    # A name that is new in a module or a class may hide a builtin, or what is inherited; what is
    # new in a table does no harm, such as a module that was imported.
    for space, before in spaces:
        for name in space.keys() - before.keys():
            del space[name]
        space.update(before)
    for table, before in tables:
        table.update(before)
    for cls, names, before in classes:
        for name in names.keys() - before.keys():
            delete(cls, name)
        for name, value in before.items():
            if names.get(name, absent) is not value:
                write(cls, name, value)
    for f, code, defaults in functions:
        if f.__code__ is not code or f.__defaults__ is not defaults:
            f.__code__, f.__defaults__ = code, defaults


def take_away(own=_own, give_back=_give_back):
    """Put the genuine functions in place. Returns what was there instead, for put()."""
    # Bound as arguments, since the names may be what was replaced.
    for kept in own[-1:]:
        give_back(*kept)
    # By methods alone: what follows needs builtins itself.
    found = _BUILTINS.copy()
    _BUILTINS.update(_GENUINE_BUILTINS)
    replaced = [
        (builtins, name, found.get(name, ABSENT))
        for name, value in _GENUINE_BUILTINS.items()
        if found.get(name, ABSENT) is not value
    ]
    for place, own, names, values in _PLACES:
        if all(map(operator.is_, map(own.get, names, repeat(ABSENT)), values)):
            continue
        for name, value in zip(names, values, strict=True):
            other = own.get(name, ABSENT)
            if other is not value:
                replaced.append((place, name, other))
                _set(place, name, value)
    return replaced


def put(replaced):
    """The student's own in place again."""
    for place, name, value in replaced:
        _set(place, name, value)


# Bound here, since put() goes on while builtins are being replaced.
def _set(place, name, value, absent=ABSENT, write=setattr, delete=delattr):
    if value is absent:
        delete(place, name)
    else:
        write(place, name, value)
