"""Record what a live view shows in the states that a reader is likely to choose, so that pages.js
can play it without a kernel.

Record all combinations of the controls' values if they are few; otherwise each control alone, the
others at their start.
"""

import itertools
import math
import random
from contextlib import contextmanager
from decimal import Decimal

import numpy as np
import torch

from ...errors import InputError
from ...pictures.explore import NUMBERS, Explore

MIME = "application/vnd.attention.recording+json"
MOST = 2000  # states with all combinations
PLACES = 1200  # positions of all vectors in a plane together
_still = Explore._repr_mimebundle_  # what a view saves without a recording


class CannotRecord(InputError):
    """Why a view cannot be recorded, and what to do."""


def start(texts):
    """Make every live view shown in this kernel from now on save its recording with its still
    picture.  texts: that each text box can take, as well as the one at its start.
    """

    def with_recording(widget, **kwargs):
        bundle, metadata = _still(widget, **kwargs)
        try:
            recorded = record(widget, texts)
        except InputError as error:
            recorded = {"cannot": str(error)}
        return bundle | {MIME: recorded}, metadata

    Explore._repr_mimebundle_ = with_recording


def record(widget, texts=()):
    """Return what a page needs to show this widget without a kernel, as JSON can hold it.

    full: all recorded values of each control.  alone: whether only one is moved at a time.
    pictures: of all states.  note: a sentence about what is missing.
    The widget and all random generators keep their state.  Raises CannotRecord.
    """
    dice = _dice()
    with restored(widget):
        try:
            return Recorder(widget, texts, dice).record()
        finally:
            _put(dice)


@contextmanager
def restored(widget):
    """Let the widget compute any values inside the with block; restore its state afterwards."""
    held = widget._values, widget._views, widget._panels
    try:
        yield
    finally:
        widget._values, widget._views, widget._panels = held


def _snapshot(widget, values):
    """Return widget.compute(values) with "told" in each panel: how each number is computed.

    Raises InputError if the explanations take too long.
    """
    picture = widget.compute(values)
    panels = picture["panels"]
    outcome = widget.call(lambda: [p | {"told": _told(widget, k, p)} for k, p in enumerate(panels)])
    if outcome.error:
        raise InputError(outcome.complaint())
    return picture | {"panels": outcome.value}


def _told(widget, k, panel):
    places = range(len(panel["cells"]) if panel["explains"] else 0)
    width = len(panel["columns"])
    return [widget.explanation([k, *divmod(place, width)])[1] for place in places]


def in_columns(recording):
    """Return the recording with its pictures packed for pages.js: the forms, the form of each
    picture, and for each place in a form its values, picture after picture. Numbers that change
    little are then neighbours, and a large recording shrinks to a third of its bytes."""
    forms, which, rows = [], [], []
    for picture in recording["pictures"]:
        row = []
        form = _without(picture, row)
        if form not in forms:
            forms.append(form)
            rows.append([])
        which.append(forms.index(form))
        rows[which[-1]].append(row)
    columns = [[*zip(*of_form, strict=True)] for of_form in rows]
    return recording | {"pictures": {"forms": forms, "which": which, "columns": columns}}


def _without(x, row):
    """Return x with 0 instead of its numbers, texts and booleans, which are appended to row."""
    if isinstance(x, dict):
        return {name: _without(part, row) for name, part in x.items()}
    if isinstance(x, (list, tuple)):
        return [_without(part, row) for part in x]
    row.append(x)
    return 0


class Recorder:
    """Records a widget. A state has, for each control, the index of its value in full."""

    def __init__(self, widget, texts, dice):
        self.widget, self.dice, self.title = widget, dice, widget.title
        self.controls = [_on_page(spec, texts, widget) for spec in widget.controls]
        self.full = {spec["name"]: _values(spec) for spec in self.controls}
        self.start = tuple(self.full[spec["name"]].index(spec["value"]) for spec in self.controls)
        self.alone = math.prod(map(len, self.full.values())) > MOST

    def record(self):
        """Return the pictures of all states, and what they need; see record()."""
        states = self.states()
        pictures = [self.picture(state) for state in states]
        first = pictures[states.index(self.start)]
        if first["error"]:
            raise CannotRecord(
                f"{self.title} starts with an error: {first['error']} Give its controls start "
                "values at which it shows a picture."
            )
        return {
            "title": self.title,
            "help": self.widget.help,
            "palette": self.widget.palette,
            "controls": self.controls,
            "full": self.full,
            "alone": self.alone,
            "pictures": pictures,
            "note": self.note(),
        }

    def states(self):
        """Return all recorded states, in the same order as pages.js."""
        places = [range(len(values)) for values in self.full.values()]
        if not self.alone:
            return [*itertools.product(*places)]
        start, every = self.start, enumerate(places)
        moved = ((*start[:k], place, *start[k + 1 :]) for k, some in every for place in some)
        return [*dict.fromkeys(moved)]

    def asked(self, state):
        """Return the values of the widget's controls in a state, by name."""
        asked = {}
        for spec, on_page, k in zip(self.widget.controls, self.controls, state, strict=True):
            # a text box is a choice on the page
            values = on_page["labels"] if spec["kind"] == "text" else self.full[spec["name"]]
            asked[spec["name"]] = values[k]
        return asked

    def picture(self, state):
        """Return what is shown in a state, without panels after an error."""
        asked = self.asked(state)
        _put(self.dice)  # as if each state were the first
        shown = _snapshot(self.widget, asked)
        picture = {key: shown[key] for key in ("error", "printed")}
        if shown["error"]:
            return picture
        for panel in shown["panels"]:
            if not panel["cells"] and "small" not in panel:
                raise CannotRecord(
                    f"{self.title} has a picture with more than {NUMBERS} rows or columns, whose "
                    f"numbers cannot be recorded; show at most {NUMBERS}."
                )
            panel["colours"] = [*panel["colours"]]
        return picture | {
            "caption": shown["caption"],
            "reached": shown["reached"],
            "panels": shown["panels"],
        }

    def note(self):
        """Return a sentence about what the page cannot do; "" if it can do everything."""
        parts = ["you can change one thing at a time"] * self.alone
        for spec in self.widget.controls:
            one = {"cells": "row", "plane": "point", "amounts": "number"}.get(spec["kind"])
            if one and len(spec["value"]) > 1 and not self.alone:
                parts.append(f"you can change one {one} at a time")
            parts += ["points move in steps"] * (one == "point")
        said = "; ".join(dict.fromkeys(parts))
        return f"On this page, {said}. The notebook has no such limits." if said else ""


def _on_page(spec, texts, widget):
    """Return a control as the page shows it: it can only offer texts that were recorded."""
    if spec["kind"] == "text":
        if not texts:
            raise CannotRecord(
                f"the text box {spec['name']!r} has only one text; give its cell a tag such as "
                "'record: another text' for each text that its targets name."
            )
        labels = [*dict.fromkeys([spec["value"], *texts])]
        return {"name": spec["name"], "kind": "choice", "value": 0, "labels": labels}
    if spec["kind"] == "plane":
        spec = spec | {"ends": _ends(spec, widget)}
        return spec | {"by": _grid(spec, PLACES // _ways(spec, widget.controls))}  # for the keys
    return spec


def _values(spec):
    """Return all recorded values of a control, including its start."""
    start = spec["value"]
    match spec["kind"]:
        case "slider":
            return _of_slider(spec)
        case "stops" | "choice":
            return list(range(len(spec["labels"])))
        case "switch":
            return [False, True]
        case "cells":
            return _unique([start, *_rows(start)])
        case "plane":
            return _unique([start, *_moved(spec)])
        case "amounts":
            steps = _steps(spec["by"], spec["low"], spec["limit"])
            return _unique(
                [start, *(_put_in(start, i, x) for i in range(len(start)) for x in steps)]
            )


def _of_slider(spec):
    low, high, by, start = (spec[x] for x in ("low", "high", "by", "value"))
    digits = max(len(f"{Decimal(repr(x)):f}".partition(".")[2]) for x in (low, high, by))
    every = (low + k * by for k in range(math.floor((high - low) / by + 1e-9) + 1))
    # rounded as in explore.js, and without -0.0
    values = [x if isinstance(x, int) else round(x, digits) + 0.0 for x in every]
    values[round((start - low) / by)] = start
    return values


def _put_in(rows, i, row):
    return [*rows[:i], row, *rows[i + 1 :]]


def _rows(start):
    """Yield the switches with one row replaced, for every possible row."""
    for i, row in enumerate(start):
        for other in itertools.product([True, False], repeat=len(row)):
            yield _put_in(start, i, list(other))


def _moved(spec):
    """Yield the vectors with one of them on a grid, or in line with its start."""
    start, grid = spec["value"], [_steps(spec["by"], *ends) for ends in spec["ends"]]
    for i, (x, y) in enumerate(start):
        for place in itertools.product([x, *grid[0]], [y, *grid[1]]):
            yield _put_in(start, i, list(place))


def _steps(by, low, high):
    """Return numbers on a grid, rounded as JSON stores them."""
    first, last = math.ceil(low / by - 1e-9), math.floor(high / by + 1e-9)
    return [round(k * by, 3) + 0.0 for k in range(first, last + 1)]


def _ends(spec, widget):
    """Return the limits of the drawing for vectors, across and up: [[low, high], [low, high]]."""
    panels = widget.compute({})["panels"]
    marks = (mark for panel in panels for part in panel.get("parts", ()) for mark in part["marks"])
    drags = (mark["drags"] for mark in marks if len(mark.get("drags", ())) == 5)
    whole = [[-spec["limit"], spec["limit"]]] * 2
    return next((ends for name, *_, ends in drags if name == spec["name"]), whole)


def _ways(spec, controls):
    """Return how many settings of the other controls go with each position; 1 if too many."""
    others = (one for one in controls if one["name"] != spec["name"])
    ways = (2 if x["kind"] == "switch" else len(x.get("labels", [])) or MOST for x in others)
    planes = sum(x["kind"] == "plane" for x in controls)  # share the places among them
    return ways if (ways := math.prod(ways)) <= 6 else planes


def _grid(spec, most):
    """Return the distance between a vector's positions, a round number."""
    for by in (x * 10**power for power in range(-2, 20) for x in (1, 2, 2.5, 5)):
        across, up = (len(_steps(by, *ends)) + 1 for ends in spec["ends"])
        if len(spec["value"]) * across * up <= most:
            return round(by, 3)


def _unique(matrices):
    return [*{str(matrix): matrix for matrix in matrices}.values()]


def _dice():
    """Return the current state of the random generators."""
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def _put(dice):
    random.setstate(dice[0])
    np.random.set_state(dice[1])
    torch.set_rng_state(dice[2])
