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

from . import snapshot

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


_own = []  # functions that give our own modules what they had


def keep_own():
    """From now on take_away() gives our own modules what they have now. Returns a function that
    ends this. What is new in a table, such as a module that was imported, stays."""
    package = __name__.partition(".")[0]
    loaded = sys.modules.copy().items()
    spaces = {name: vars(m) for name, m in loaded if name.partition(".")[0] == package}
    things = [x for s in spaces.values() for name, x in s.items() if not name.startswith("__")]
    tables = [x for x in things if type(x) is dict]
    inside = [vars(x) for t in tables for x in t.values() if type(x).__module__ in spaces]
    classes = {x for x in things if inspect.isclass(x) and x.__module__ in spaces}
    every = [*things, *(x for cls in classes for x in vars(cls).values())]
    codes = [(x, x.__code__) for x in every if inspect.isfunction(x) and x.__module__ in spaces]
    copies = [(table.update, table.copy()) for table in (sys.modules, *tables, *inside)]
    known = {id(space): space for space in spaces.values()}
    names = [snapshot.look(x, known, spaces)[0] for x in (*known.values(), *classes)]

    def give_back():
        for put_back in names:
            put_back()
        for update, copy in copies:
            update(copy)
        for function, code in codes:
            if function.__code__ is not code:
                function.__code__ = code

    _own.append(give_back)
    return _own.pop


def take_away(own=_own):
    """Put the genuine functions in place. Returns what was there instead, for put()."""
    for give_back in own[-1:]:  # bound as an argument: the name may be replaced itself
        give_back()
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
