"""Functions of torch and Python that a student has replaced, as in torch.softmax = my_softmax.

Our own code needs the genuine ones, as they were when helpers was imported; the student's code
gets the student's. Other threads, such as a live view's, see the genuine ones meanwhile.
"""

import builtins
import inspect
import math
import operator
import random
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


_CLASSES = (torch.Tensor, nn.Module, nn.Linear)
_MODULES = (torch, torch.linalg, nn, nn.functional, nn.init, math, numpy, random)
_PLACES = [
    (place, vars(place), tuple(names), tuple(names.values()))
    for place, names in ((place, _genuine(place)) for place in (*_CLASSES, *_MODULES))
]
_BUILTINS = vars(builtins)
# Jupyter gives each cell an input() of its own, and _ is the last value shown.
_GENUINE_BUILTINS = {k: v for k, v in _BUILTINS.items() if k not in ("input", "_")}


def take_away():
    """Put the genuine functions in place. Returns what was there instead, for put()."""
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
