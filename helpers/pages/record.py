"""Records a live view: what it shows in the states that a reader is likely to ask for, so that
pages.js can play it where no kernel is.

All combinations of the controls' values where they are few. Else all combinations of fewer values
of the sliders, and each control alone in all its values, the others at their start.
"""

import itertools
import math
import random
import re
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import torch

from ..errors import InputError
from ..guard import get_ipython
from ..pictures.explore import NUMBERS, Explore

MIME = "application/vnd.attention.recording+json"
MOST = 2000  # states with all combinations; places of all vectors in a plane
FEW = 5  # values of a slider, of which none is left out
FINE = 1000  # values of a slider that is moved alone
ALL_OF_A_ROW = 8  # switches in a row, of which all combinations are recorded
SECONDS = 60  # that the recording of a view may take
AGAIN = 25  # states that are computed once more
NUMBER = re.compile(r"-?\d+\.\d+")


class CannotRecord(Exception):
    """Why a view cannot be recorded, and what to do."""


def start(texts):
    """From now on every live view that is shown in this kernel leaves its recording beside its
    still picture.

    texts: {source of a cell: texts that its text box can take, beside the one at its start}.
    """

    def recorder(widget):
        source = get_ipython().history_manager.input_hist_raw[-1]  # of the cell that runs
        try:
            return {MIME: record(widget, texts.get(source, ()))}
        except CannotRecord as error:
            return {MIME: {"cannot": str(error)}}

    Explore.recorder = recorder


def record(widget, texts=()):
    """What a page needs to show this widget without a kernel, as JSON can hold it.

    full: all recorded values of each control; together: which of them, by their places in full,
    were recorded in all combinations.  pictures: of all states, first of the combinations, then of
    each control alone as far as it is not among them.
    note: what is missing.  The widget, and what draws random numbers, stay as they were.
    Raises CannotRecord.
    """
    dice = _dice()
    with widget.recording():
        try:
            return Recorder(widget, texts, dice).record()
        finally:
            _put(dice)


class Recorder:
    def __init__(self, widget, texts, dice):
        self.widget, self.dice, self.title = widget, dice, widget.title
        self.controls = [_on_page(spec, texts) for spec in widget.controls]
        self.full = {spec["name"]: _values(spec) for spec in self.controls}
        self.start = tuple(self.full[spec["name"]].index(spec["value"]) for spec in self.controls)
        self.together = self.all_combinations()

    def record(self):
        first, states = self.picture(self.start), self.states()
        if first["error"]:
            raise CannotRecord(
                f"{self.title} starts with an error: {first['error']} Let its controls start where "
                "it shows a picture."
            )
        pictures = self.pictures(states)
        for k in random.Random(0).sample(range(len(states)), min(AGAIN, len(states))):
            if self.picture(states[k]) != pictures[k]:
                raise CannotRecord(
                    f"what {self.title} shows depends on earlier calls; let it depend on its "
                    "controls only."
                )
        for k, picture in enumerate(pictures):
            if picture["error"]:  # the reader's last picture stays; any other compresses well
                pictures[k] = (pictures[k - 1] if k else first) | picture
        return {
            "title": self.title,
            "help": self.widget.help,
            "palette": self.widget.palette,
            "controls": self.controls,
            "full": self.full,
            "together": self.together,
            "pictures": pictures,
            "note": self.note(),
        }

    def states(self):
        """Of each control the place of its value in full; pages.js goes through the same."""
        alone = (
            (*self.start[:k], place, *self.start[k + 1 :])
            for k, values in enumerate(self.full.values())
            for place in range(len(values))
        )
        return [*dict.fromkeys([*itertools.product(*self.together.values()), *alone])]

    def pictures(self, states):
        end, pictures = time.monotonic() + SECONDS, []
        for state in states:
            if time.monotonic() > end:
                raise CannotRecord(
                    f"{self.title} takes more than {SECONDS} seconds for its {len(states)} states; "
                    "make its function faster, or give its controls fewer values."
                )
            pictures.append(self.picture(state))
        return pictures

    def asked(self, state):
        """The values of the widget's controls in a state, by name."""
        every = zip(self.full.items(), state, strict=True)
        asked = {name: values[k] for (name, values), k in every}
        for spec, on_page in zip(self.widget.controls, self.controls, strict=True):
            if _is_text(spec):
                asked[spec["name"]] = on_page["labels"][asked[spec["name"]]]
        return asked

    def picture(self, state):
        """What is shown in a state, after an error without panels."""
        asked = self.asked(state)
        _put(self.dice)  # each state as if it were the first
        try:
            shown = self.widget.snapshot(asked)
        except InputError as error:
            raise CannotRecord(f"{self.title} cannot explain its cells: {error}") from None
        picture = {key: shown[key] for key in ("error", "printed")}
        if shown["error"]:
            return picture
        names = _names(every[k] for k, every in zip(state, self.full.values(), strict=True))
        for panel in shown["panels"]:
            if not panel["cells"] and "small" not in panel:
                raise CannotRecord(
                    f"{self.title} has a picture with more than {NUMBERS} rows or columns, of "
                    f"which no numbers are recorded; show at most {NUMBERS}."
                )
            panel["colours"] = [*panel["colours"]]
            panel["told"] = [
                NUMBER.sub(lambda x: names.get(x[0], x[0]), text) for text in panel["told"]
            ]
        return picture | {
            "most": shown["most"],
            "caption": shown["caption"],
            "limited": {name: x for name, x in shown["values"].items() if x != asked[name]},
            "panels": shown["panels"],
        }

    def all_combinations(self):
        """Of each control the places of those values that all combinations have room for."""
        together = {name: list(range(len(values))) for name, values in self.full.items()}
        start, steps = dict(zip(self.full, self.start, strict=True)), dict.fromkeys(self.full, 1)

        def too_many():
            return math.prod(map(len, together.values())) > MOST

        if too_many():  # nothing lies between two matrices
            matrices = [x["name"] for x in self.controls if x["kind"] in ("cells", "plane")]
            together |= {name: [start[name]] for name in matrices}
        fine = [spec["name"] for spec in self.controls if _is_fine(spec)]
        while too_many():
            name = max(fine, key=lambda name: len(together[name]), default=None)
            if name is None or len(together[name]) <= FEW:
                return {name: [k] for name, k in start.items()}
            steps[name] = _coarser(steps[name])
            together[name] = sorted({*_on_steps(self.full[name], steps[name]), start[name]})
        return together

    def note(self):
        """What the page says is missing; "" if nothing is."""
        left_out = [name for name in self.full if len(self.together[name]) < len(self.full[name])]
        only = [name for name in left_out if len(self.together[name]) == 1]
        parts = []
        if len(only) > 1:
            parts.append("one control can be moved at a time")
        elif only and len(self.full) > 1:
            parts.append(f"{_spoken(only)} can be moved while the others are at their start")
        if cut := [name for name in left_out if name not in only]:
            parts.append(
                f"{_spoken(cut)} {'take' if len(cut) > 1 else 'takes'} every value while the "
                "others are at their start, and some values otherwise"
            )
        for spec, on_page in zip(self.widget.controls, self.controls, strict=True):
            name = _spoken([spec["name"]])
            if spec["kind"] == "cells":
                parts.append("one row of cells can be switched at a time")
            elif spec["kind"] == "plane":
                by = on_page["by"]
                parts.append(f"one of the {name} can be moved at a time, in steps of {by:g}")
            elif _is_text(spec):
                parts.append(f"{name} is chosen from {len(on_page['labels'])}, not typed")
        return f"On this page {'; '.join(parts)}. The notebook has no such limits." if parts else ""


def _spoken(names):
    """Names of controls, as the page says them: "one, two and three"."""
    return " and ".join(", ".join(names).replace("_", " ").rsplit(", ", 1))


def _is_text(spec):
    return spec["kind"] == "text"


def _on_page(spec, texts):
    """A control as the page has it: of texts it can offer only those that were recorded."""
    if spec["kind"] == "text":
        if not texts:
            raise CannotRecord(
                f"the text box {spec['name']!r} has one text only; give its cell a tag such as "
                "'record: another text' for each text that its targets name."
            )
        labels = [*dict.fromkeys([spec["value"], *texts])]
        return {"name": spec["name"], "kind": "choice", "value": 0, "labels": labels}
    if spec["kind"] == "plane":
        return spec | {"by": _grid(spec)}  # for the arrow keys
    return spec


def _values(spec):
    """All values of a control that are recorded, the start among them."""
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
    raise CannotRecord(f"nobody knows how to record a control of the kind {spec['kind']!r}.")


def _of_slider(spec):
    low, high, by, start = (spec[x] for x in ("low", "high", "by", "value"))
    digits = max(len(f"{Decimal(repr(x)):f}".partition(".")[2]) for x in (low, high, by))
    every = (low + k * by for k in range(math.floor((high - low) / by + 1e-9) + 1))
    # as explore.js rounds them; and there is no -0.0
    values = [x if isinstance(x, int) else round(x, digits) + 0.0 for x in every]
    place, step = round((start - low) / by), 1
    values[place] = start
    while len(values) / step > FINE:
        step = _coarser(step)
    return [values[k] for k in sorted({*_on_steps(values, step), place})]


def _on_steps(values, step):
    """The places that are so many steps apart, and both ends; 0 is among them, if it is a value."""
    origin = min(range(len(values)), key=lambda k: abs(values[k]))
    return [0, *range(origin % step, len(values), step), len(values) - 1]


def _coarser(step):
    """1, 2, 5, 10, 20, 50, ..."""
    return step * 5 // 2 if str(step)[0] == "2" else step * 2


def _rows(start):
    """Switches with another row: all that it can be, or each of its switches alone."""
    for i, row in enumerate(start):
        if len(row) <= ALL_OF_A_ROW:
            others = map(list, itertools.product([True, False], repeat=len(row)))
        else:
            others = ([x ^ (j == k) for k, x in enumerate(row)] for j in range(len(row)))
        yield from ([*start[:i], other, *start[i + 1 :]] for other in others)


def _moved(spec):
    """Vectors, one of them somewhere on a grid, or straight above, below or beside its start."""
    start, limit, by = spec["value"], spec["limit"], spec["by"]
    steps = range(-int(limit / by), int(limit / by) + 1)
    grid = [round(k * by, 3) + 0.0 for k in steps]
    for i, (x, y) in enumerate(start):
        for place in itertools.product([x, *grid], [y, *grid]):
            yield [*start[:i], list(place), *start[i + 1 :]]


def _grid(spec):
    """How far apart the places of a vector are, a round number."""
    for by in (x * 10**power for power in range(-2, 20) for x in (1, 2, 2.5, 5)):
        if len(spec["value"]) * (2 * int(spec["limit"] / by) + 2) ** 2 <= MOST:
            return round(by, 3)


def _unique(matrices):
    return [*{str(matrix): matrix for matrix in matrices}.values()]


def _is_fine(spec):
    """Whether something lies between two values of a control."""
    return spec["kind"] in ("slider", "stops") and spec["name"] != "step"


def _names(values):
    """{number as text: what stands for it in an explanation}, of all numbers among the values.

    So the explanations of most states are the same. pages.js puts in the number with these digits;
    what it would round in another way stays as it is.
    """
    found = {}
    for k, x in enumerate(x for value in values for x in np.ravel(value).tolist()):
        for digits in range(1, 7) if not isinstance(x, bool) else ():
            if Fraction(x) * 10**digits % 1 != Fraction(1, 2):
                found.setdefault(f"{x:.{digits}f}", f"\0{k} {digits}\0")
    return found


def _dice():
    """What draws random numbers, as it is now."""
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def _put(dice):
    random.setstate(dice[0])
    np.random.set_state(dice[1])
    torch.set_rng_state(dice[2])
