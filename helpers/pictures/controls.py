"""Make the controls of the live picture from the abbreviations that the reader writes.

A control's value is what the page stores: an index for a choice, nested lists for a matrix.
An argument is what the reader's function receives for that value.
"""

import inspect
import itertools
import math
from numbers import Integral, Real

import numpy as np
import torch

from ..errors import InputError, sendable
from .given import as_array, bare, copied, one_word

MAX_SWITCHES = 64  # rows or columns of a matrix of switches; vectors in a plane
LARGEST = 2**53  # up to here a page stores whole numbers exactly
EMPTY = inspect.Parameter.empty


def control(name, short, fn):
    """Return the control for a parameter of fn: control("x", (0, 5), fn) is a Slider.

    short: an abbreviation, see explore().  Raises InputError if it is not one, if fn has no such
    parameter, or if the parameter's default is outside what the control accepts.
    """
    default, short = bare(_default(name, fn)), bare(short)
    array = _array(short, name)
    if isinstance(short, bool):
        made = Switch(name, short)
    elif isinstance(short, str):
        made = Text(name, sendable(short))
    elif array is not None:
        made = Matrix(name, array)
    elif isinstance(short, tuple) and len(short) in (2, 3) and all(map(_is_number, short)):
        made = Slider(name, *(int(x) if isinstance(bare(x), Integral) else float(x) for x in short))
    elif isinstance(short, (list, tuple, dict)) and len(short):
        made = Choice(name, short)
    else:
        raise InputError(
            f"{name}={brief(short)} is not a control; expected (low, high), (low, high, step), "
            "a list of choices, a text, True or False, a matrix of True and False, or an "
            "array of numbers: (n, 2), or (n,) with numbers from 0 to 1."
        )
    if default is not EMPTY:
        made.spec["value"] = made.start_at(default)
    return made


class Control:
    """The base of all controls. spec: what the page needs; spec["value"] is the start.

    Each subclass defines kind, a type or accepts(value), and expected: what it accepts, as text
    that ends with a verb.
    """

    def __init__(self, name, value, **spec):
        self.name = name
        self.spec = {"name": name, "kind": self.kind, "value": value, **spec}

    def plain(self, value, verb="is"):
        """Return the value as JSON can hold it; InputError if the control does not accept it."""
        value = bare(value)
        if not self.accepts(value):
            raise InputError(f"{self.name} {verb} {brief(value)}; {self.expected} expected.")
        return self.own(value)

    def accepts(self, value):
        return isinstance(value, self.type)

    def own(self, value):
        """Return an accepted value as JSON can hold it."""
        return value

    def argument(self, plain):
        """Return what fn receives for a plain value."""
        return plain

    def start_at(self, default):
        """Return the plain value for a parameter's default; raise InputError if it has none."""
        return self.plain(default, "starts at")

    def spoken(self, plain):
        """Return a plain value as text for people."""
        return str(plain)


class Switch(Control):
    """x=True: on or off."""

    kind, expected, type = "switch", "True or False is", bool


class Text(Control):
    """x="some words"."""

    kind, expected, type = "text", "a text is", str

    def own(self, value):
        return sendable(value)


class Slider(Control):
    """x=(0, 5) or x=(0.0, 1.0, 0.05): a number within limits, a whole one if they are."""

    kind = "slider"

    def __init__(self, name, low, high, step=None):
        self.whole = all(isinstance(x, int) for x in (low, high, 1 if step is None else step))
        step = (1 if self.whole else 0.1) if step is None else step
        known = all(abs(x) < LARGEST for x in (low, high, step))
        if not (known and low < high and step > 0):
            raise InputError(
                f"{name}={brief((low, high, step))}: a slider needs (low, high) or "
                "(low, high, step) with low < high and step > 0."
            )
        self.low, self.high = low, high
        self.expected = f"{'a whole number' if self.whole else 'a number'} from {low} to {high} is"
        start = low if name == "step" else low + (high - low) / step // 2 * step
        # 0.3 and not 0.30000000000000004, which the slider would not show
        start = self.own(min(max(low, float(f"{start:.12g}")), high))
        super().__init__(name, start, low=low, high=high, by=step)

    def start_at(self, default):
        start = super().start_at(default)
        steps = (start - self.low) / self.spec["by"]
        if abs(steps - round(steps)) > 1e-6:  # the page could not show it
            raise InputError(
                f"{self.name} starts at {brief(default)}, but its slider moves in steps of "
                f"{self.spec['by']} from {self.low}. Give a (low, high, step) that fits."
            )
        return start

    def accepts(self, value):
        fits = _is_number(value) and self.low <= value <= self.high
        return fits and (not self.whole or value % 1 == 0)

    def own(self, value):
        return int(value) if self.whole else float(value)


class Choice(Control):
    """x=["a", "b"]: one of several; three or more rising numbers make a slider with stops."""

    def __init__(self, name, options):
        labels = [one_word(bare(option)) for option in options]
        self.options = list(options.values()) if isinstance(options, dict) else list(options)
        self.expected = f"a number from 0 to {len(labels) - 1}, one of the choices, is"
        numbers = [bare(option) for option in self.options]
        rising = len(numbers) > 2 and all(map(_is_number, numbers))
        rising = rising and all(a < b for a, b in itertools.pairwise(numbers))
        steps = name == "step" and len(labels) > 1
        self.kind = "stops" if rising or steps else "choice"
        super().__init__(name, 0, labels=labels)

    def accepts(self, value):
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and 0 <= value < len(self.options)

    def argument(self, plain):
        return copied(self.options[plain])  # fn may change its argument

    def start_at(self, default):
        labels = self.spec["labels"]
        for k, option in enumerate(self.options):
            if option is default or one_word(default) == labels[k] or repr(default) == repr(option):
                return k
        raise InputError(
            f"{self.name} starts at {brief(default)}, which is not in {brief(labels)}."
        )

    def spoken(self, value):
        return self.spec["labels"][value]


class Matrix(Control):
    """x=mask: cells of the picture as switches; x=points: vectors that can be dragged;
    x=weights: amounts that can be dragged."""

    def __init__(self, name, array):
        self.shape, self.cells = array.shape, array.dtype == bool
        self.kind = "cells" if self.cells else "plane" if array.ndim == 2 else "amounts"
        rows = len(array)
        if max(self.shape) > MAX_SWITCHES:
            raise InputError(f"{name} has the shape {self.shape}; at most {MAX_SWITCHES} fit.")
        self.expected, spec = f"{' x '.join(map(str, self.shape))} of True and False are", {}
        self.low = 0
        if self.kind == "amounts":
            self.limit, spec = 1, {"limit": 1, "low": 0, "by": 0.05}
            self.expected = f"{rows} numbers from 0 to 1 are"
        elif not self.cells:
            # round limits, with room to drag beyond the longest
            limit = self.limit = max(1, math.ceil(1.25 * float(np.abs(array).max())))
            self.low = -limit
            self.expected, spec = (
                f"{rows} x 2 numbers from {-limit} to {limit} are",
                {"limit": limit},
            )
        super().__init__(name, array.tolist(), **spec)

    def accepts(self, value):
        try:
            array = as_array(value)
        except InputError:
            return False
        if array.shape != self.shape:
            return False
        return self.cells == _is_of_switches(value) and bool(
            self.cells or ((self.low <= array) & (array <= self.limit)).all()
        )

    def own(self, value):
        return as_array(value).astype(bool if self.cells else float).tolist()

    def argument(self, plain):
        return torch.tensor(plain, dtype=torch.bool if self.cells else torch.float32)

    def spoken(self, value):
        if self.cells:
            rows, columns = self.shape
            return f"{rows} x {columns} switches, {sum(map(sum, value))} on"
        if self.kind == "amounts":
            return ", ".join(f"{x:.2f}" for x in value)
        return ", ".join(f"({x:.2f}, {y:.2f})" for x, y in value)


def _is_of_switches(x):
    """Return whether x holds only True and False."""
    if isinstance(x, (list, tuple)):
        return all(map(_is_of_switches, x))
    return getattr(x, "dtype", type(x)) in (bool, torch.bool)


def _array(x, name):
    """Return x as an array if it is a matrix of True and False, or numbers (n, 2) or (n,) in a
    numpy array or a tensor (lists of numbers are choices); otherwise None."""
    rows = isinstance(x, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in x)
    if not (rows and _is_of_switches(x) or isinstance(x, (torch.Tensor, np.ndarray))):
        return None
    array = as_array(x, name)
    if array.ndim not in (1, 2) or not array.size:
        return None
    if array.ndim == 1:
        return array if not _is_of_switches(x) and ((0 <= array) & (array <= 1)).all() else None
    if _is_of_switches(x):
        return array.astype(bool)
    return array if array.shape[1] == 2 and (np.abs(array) < LARGEST).all() else None


def _default(name, fn):
    """Return the default of fn's parameter, or EMPTY; InputError if fn has no such parameter."""
    parameters = inspect.signature(fn).parameters
    if name in parameters:
        return parameters[name].default
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return EMPTY
    raise InputError(f"the function has no parameter {name!r}; it has ({', '.join(parameters)}).")


def _is_number(x):
    return isinstance(bare(x), Real) and not isinstance(bare(x), bool)


def brief(x):
    """Return x as one short line, whatever its type."""
    text = " ".join(repr(x).split())
    return text if len(text) <= 60 else text[:59] + "…"
