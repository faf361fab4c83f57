"""The live picture: the reader's own function, called again whenever a control moves.

The page (explore.js) draws controls and a table. A change of a control travels as one
message {"values", "turn"}; the answer is the synchronised trait `picture`, which every
view of the widget patches into its table. The page has at most one question under way
and keeps only the newest value while it waits, so a drag cannot pile up.
"""

import copy
import inspect
import itertools
import math
import threading
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path

import anywidget
import numpy as np
import torch
import traitlets

from .guard import InputError, call
from .heatmap import View, bare, heatmap, palette

MAX_CELLS = 64  # rows or columns; a larger table cannot be read or patched in time


class Explore(anywidget.AnyWidget):
    """What explore() returns: a widget that shows itself.

    compute(values) gives the picture for given values of the controls, as the page does.
    """

    # the text and not the path: anywidget would watch the files and keep every widget alive
    _esm = Path(__file__).with_name("explore.js").read_text(encoding="utf-8")
    _css = Path(__file__).with_name("explore.css").read_text(encoding="utf-8")
    title = traitlets.Unicode().tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    palette = traitlets.List().tag(sync=True)
    picture = traitlets.Dict().tag(sync=True)

    def __init__(self, fn, controls):
        if not callable(fn):
            raise InputError(
                f"explore needs your function first, as in explore(fn, query=tokens); "
                f"it got {type(fn).__name__}."
            )
        self._fn = fn
        self._controls = [_control(name, short, fn) for name, short in controls.items()]
        cells = [c["name"] for c in self._controls if c["kind"] == "cells"]
        if len(cells) > 1:
            raise InputError(f"{' and '.join(cells)} cannot both be the cells; one matrix can.")
        self._lock = threading.Lock()  # in JupyterLab messages arrive on a thread of their own
        self._view = None
        colours, white_from = palette()
        self._values = {c["name"]: c["value"] for c in self._controls}
        super().__init__(
            title=str(getattr(fn, "__name__", "")).replace("_", " "),
            controls=[{k: v for k, v in c.items() if k != "options"} for c in self._controls],
            palette=[colours, white_from],
            picture=self.compute(self._values),
        )
        # ipykernel 7.4 sends the first message of a page to the shell that opened the comm,
        # the main one, where it waits for a cell that runs; without this to the page's own.
        vars(self.comm).pop("_reply_subshell_id", None)
        self.on_msg(self._answer)

    def compute(self, values):
        """The picture for these values: {control name: value; for a choice its index}.

        Returns a dict that JSON can hold. After an error it is the last good picture with
        "error" set to a sentence; nothing is raised. Values that the controls cannot have
        are such an error, and the controls keep the values they had.
        """
        with self._lock:
            picture = {"error": "", "printed": "", "turn": ""}
            try:
                _fit(values, self._values)
                arguments = {c["name"]: _value(c, values[c["name"]]) for c in self._controls}
            except InputError as error:
                picture["error"] = str(error)
            else:
                self._values = {
                    c["name"]: _sent(c, values[c["name"]], arguments[c["name"]])
                    for c in self._controls
                }
                # reading the result is part of the call: it too may fail or take for ever
                outcome = call(lambda: _view(self._fn(**arguments)))
                picture["printed"] = outcome.printed
                if outcome.error is None:
                    self._view = outcome.value
                else:
                    picture["error"] = outcome.complaint()
            picture["values"] = dict(self._values)
            return picture | (_drawn(self._view) if self._view else {})

    def _answer(self, _, content, buffers):
        # an empty message wants no answer: see hurry() in explore.js
        content = content if isinstance(content, dict) else {}
        if "values" in content:
            picture = self.compute(content["values"])
            self.picture = picture | {"turn": str(content.get("turn", ""))}
        elif "cell" in content:
            with self._lock:
                self.send({"cell": content["cell"], "text": self._explanation(content["cell"])})

    def _explanation(self, cell):
        view = self._view
        if view is None or view.explain is None:
            return ""
        rows, columns = map(range, view.matrix.shape)
        try:
            row, column = cell
            row, column = rows[row], columns[column]
        except (TypeError, ValueError, IndexError):  # the page asked for no cell of this view
            return ""
        outcome = call(lambda: str(view.explain(row, column)))
        return outcome.value if outcome.error is None else outcome.complaint()

    def close(self):
        super().close()
        self.layout.close()  # a widget of its own, which would stay behind

    def __repr__(self):
        """What the page shows, as text: settings, numbers, caption."""
        values, error = self.picture["values"], self.picture["error"]
        settings = ", ".join(f"{c['name']} = {_spoken(c, values)}" for c in self._controls)
        return "\n".join(filter(None, [settings, error, self._view and self._view.text()]))

    def _repr_mimebundle_(self, **kwargs):
        widget, _ = super()._repr_mimebundle_(**kwargs)
        if self._view is None:
            return widget | {"text/plain": repr(self)}, {}
        still, metadata = heatmap(self._view)._repr_mimebundle_()
        # the widget first for those who can run it; where nothing runs, the picture
        return widget | still | {"text/plain": repr(self)}, metadata


def explore(fn, /, **controls):
    """See a function of your own live: every change of a control calls fn again.

    fn: called with the values of the controls by name. It returns a matrix, at most
        (64, 64), as torch, numpy or lists; or View(matrix, tokens, caption=..., ...),
        which says more. What it raises or prints is shown, and the last picture stays.
        After 10 seconds it is stopped.
    controls: name = what it can be, as in ipywidgets.interact:
        (low, high) or (low, high, step)   a slider; whole numbers give whole numbers
        a list, or a dict of label: value  a choice; three or more rising numbers become
                                           a slider that stops at these numbers only
        a str                              a text box
        True or False                      a switch
        a matrix of True and False         a switch in each cell of the picture, as many as
                                           the matrix has; fn gets a bool tensor of its own
        The default of the function's parameter is the start, otherwise the middle of a
        slider and the first of a choice. A slider named "step" gets back, play and next.
        A slider or a choice named "head" is also set by the small heads of a View: to the
        option that is called "head 1" and so on, otherwise counting from its first value.
    Returns the widget: put it last in the cell. Its plain text is its numbers.
    Raises InputError if fn cannot be called or a control cannot be understood.
    """
    return Explore(fn, controls)


def _control(name, short, fn):
    """What the page needs to draw one control, from its abbreviation."""
    default = bare(_default(name, fn))
    given, short = default is not inspect.Parameter.empty, bare(short)
    if isinstance(short, (bool, str)):
        kind, sort = ("switch", bool) if isinstance(short, bool) else ("text", str)
        if given and not isinstance(default, sort):
            expected = "True or False" if sort is bool else "a text"
            raise InputError(f"{name} starts at {_brief(default)}; {expected} is expected.")
        return {"name": name, "kind": kind, "value": sort(default if given else short)}
    if switches := _switches(short, name):
        if given and not _fits(start := _switches(default, name), switches):
            raise InputError(
                f"{name} starts at {_brief(default)}; {_size(switches)} of True and False "
                "are expected."
            )
        return {"name": name, "kind": "cells", "value": start if given else switches}
    if isinstance(short, tuple) and len(short) in (2, 3) and all(map(_is_number, short)):
        return _slider(name, [_own(x) for x in short], default, given)
    if isinstance(short, (list, tuple, dict)) and len(short):
        labels = [str(bare(option)) for option in short]
        options = list(short.values()) if isinstance(short, dict) else list(short)
        start = 0
        if given:
            found = [
                k
                for k, option in enumerate(options)
                if option is default or labels[k] == str(default) or _same(option, default)
            ]
            if not found:
                raise InputError(
                    f"{name} starts at {_brief(default)}, which is not in {_brief(labels)}."
                )
            start = found[0]
        numbers = [bare(option) for option in options]
        rising = len(options) > 2 and all(map(_is_number, numbers))
        rising = rising and all(a < b for a, b in itertools.pairwise(numbers))
        kind = "stops" if rising else "choice"
        return {"name": name, "kind": kind, "value": start, "labels": labels, "options": options}
    raise InputError(
        f"{name}={_brief(short)} is no control; expected (low, high), (low, high, step), "
        "a list of choices, a text, True or False, or a matrix of True and False."
    )


def _slider(name, limits, default, given):
    whole = all(isinstance(x, int) for x in limits)
    low, high = limits[:2]
    step = limits[2] if len(limits) == 3 else 1 if whole else 0.1
    # the difference too: it may be too large for a number of the page
    if not (low < high and step > 0 and all(map(_is_finite, (*limits, high - low)))):
        raise InputError(
            f"{name}={_brief(tuple(limits))}: a slider needs (low, high) or (low, high, step) "
            "with low < high and step > 0."
        )
    if not given:
        start = low if name == "step" else low + (high - low) / step // 2 * step
        # 0.3 and not 0.30000000000000004, which the slider never says
        start = min(max(low, float(f"{start:.12g}")), high)
    elif _is_number(default) and low <= default <= high and (not whole or default % 1 == 0):
        start = default
    else:
        kind = "whole numbers" if whole else "numbers"
        raise InputError(
            f"{name} starts at {_brief(default)}; {kind} {low} to {high} are expected."
        )
    start = int(start) if whole else float(start)
    kind = "step" if name == "step" else "slider"
    return {"name": name, "kind": kind, "value": start, "low": low, "high": high, "by": step}


def _switches(x, name):
    """A matrix of True and False as nested lists of its own; None if x is none."""
    if isinstance(x, (torch.Tensor, np.ndarray)):
        x = x.tolist() if x.dtype in (torch.bool, np.bool_) else None
    if not isinstance(x, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in x):
        return None
    rows = [[bare(on) for on in row] for row in x]
    entries = sum(rows, [])
    if not entries or not all(isinstance(on, bool) for on in entries):
        return None
    if len({len(row) for row in rows}) > 1:
        raise InputError(f"the rows of {name} differ in length; give each the same.")
    if max(len(rows), len(rows[0])) > MAX_CELLS:
        raise InputError(
            f"{name} has {_size(rows)} switches; at most {MAX_CELLS} x {MAX_CELLS} fit."
        )
    return rows


def _size(rows):
    return f"{len(rows)} x {len(rows[0])}"


def _fits(rows, known):
    return rows is not None and _size(rows) == _size(known)


def _default(name, fn):
    """The default of fn's parameter, or Parameter.empty; InputError if there is no parameter."""
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):  # some built-ins have none: the call will tell
        return inspect.Parameter.empty
    if name in parameters:
        return parameters[name].default
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        raise InputError(
            f"the function has no parameter {name!r}; it has ({', '.join(parameters)})."
        )
    return inspect.Parameter.empty


def _is_number(x):
    return isinstance(bare(x), Real) and not isinstance(bare(x), bool)


def _own(x):
    """A number of any library as one that JSON can hold."""
    return int(x) if isinstance(bare(x), Integral) else float(x)


def _is_finite(x):
    try:
        return math.isfinite(x)
    except OverflowError:  # a whole number too large for a float
        return False


def _same(a, b):
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # tensors compare entry by entry, other things as they like
        return False


def _brief(x):
    try:
        text = " ".join(repr(x).split())
    except Exception:  # a whole number of 5,000 digits, for one
        text = f"what Python cannot print ({type(x).__name__})"
    return text if len(text) <= 60 else text[:59] + "…"


def _fit(values, known):
    """Raises InputError unless values has just the names that are known."""
    if not isinstance(values, dict) or set(values) != set(known):
        got = list(values) if isinstance(values, dict) else values
        raise InputError(f"a value for each of {list(known)} is expected, not {_brief(got)}.")


def _value(control, value):
    """The argument for fn; the page is not trusted to stay in range."""
    name, kind, value = control["name"], control["kind"], bare(value)
    if kind == "switch" and isinstance(value, bool) or kind == "text" and isinstance(value, str):
        return value
    if kind == "cells":
        rows = _switches(value, name)
        if _fits(rows, control["value"]):
            return torch.tensor(rows)
        size = _size(control["value"])
        raise InputError(f"{name} is {_brief(value)}; {size} of True and False are expected.")
    if kind in ("choice", "stops") and isinstance(value, int) and not isinstance(value, bool):
        if 0 <= value < len(control["options"]):
            return _copy(control["options"][value])  # fn may change what it is given
        raise InputError(
            f"{name} has {len(control['options'])} choices; number {_brief(value)} is none."
        )
    if kind in ("slider", "step") and _is_number(value):
        low, high, by = control["low"], control["high"], control["by"]
        whole = all(isinstance(x, int) for x in (low, high, by))
        if low <= value <= high and (not whole or value % 1 == 0):
            return int(value) if whole else float(value)
        kind = "a whole number" if whole else "a number"
        raise InputError(f"{name} is {_brief(value)}; {kind} from {low} to {high} is expected.")
    raise InputError(f"{name} is {_brief(value)}, which is no value of this control.")


def _sent(control, value, argument):
    """A value of a control as the page has it."""
    if "labels" in control:
        return bare(value)
    return argument.tolist() if control["kind"] == "cells" else argument


def _copy(option):
    try:
        return copy.deepcopy(option)
    except Exception:  # a computed tensor with its history, a generator and the like
        return option.clone() if torch.is_tensor(option) else option


def _spoken(control, values):
    value = values[control["name"]]
    if control["kind"] == "cells":
        return f"{_size(value)} switches, {sum(map(sum, value))} on"
    return control["labels"][value] if "labels" in control else str(value)


def _view(result):
    if result is None:
        raise InputError("it returned None: is `return` missing?")
    # a View of its own: fn may keep and change the one that it returned
    view = replace(result) if isinstance(result, View) else View(result)
    if max(view.matrix.shape) > MAX_CELLS:
        raise InputError(
            f"the shape is {view.matrix.shape}; at most {MAX_CELLS} by {MAX_CELLS} can be shown. "
            "Return a part of it."
        )
    return view


def _drawn(view):
    """A view as the page gets it: names, texts and colour indices."""
    rows, columns, cells = view.table()
    return {
        "rows": rows,
        "columns": columns,
        "cells": cells,
        "colours": view.colours(),
        "highlights": sorted(view.highlights),
        "scale": [f"{limit:.4g}" for limit in view.scale],
        "axes": list(view.axes),
        "caption": view.caption,
        "explains": view.explain is not None,
        "heads": [[title, head.colours()] for title, head in view.small()],
        "head": view.head,
    }
