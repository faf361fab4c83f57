"""Records a live view: what it shows in the states that a reader is likely to ask for, so that
pages.js can play it where no kernel is.

All combinations of the controls' values where they are few. Else all combinations of fewer,
round values of the sliders, and each control alone in all its values, the others at their start.
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

from ..guard import call, get_ipython
from ..pictures.explore import NUMBERS, Explore

MIME = "application/vnd.attention.recording+json"
MOST = 3000  # states with all combinations; places of all vectors in a plane
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
    still = Explore._repr_mimebundle_

    def with_recording(self, **kwargs):
        bundle, metadata = still(self, **kwargs)
        source = get_ipython().history_manager.input_hist_raw[-1]  # of the cell that runs
        try:
            recorded = record(self, texts.get(source, ()))
        except CannotRecord as error:
            recorded = {"cannot": str(error)}
        return bundle | {MIME: recorded}, metadata

    Explore._repr_mimebundle_ = with_recording


def record(widget, texts=()):
    """What a page needs to show this widget without a kernel, as JSON can hold it.

    full: all recorded values of each control; together: which of them, by their places in full,
    were recorded in all combinations.  pictures: of all states, as shared() has them: first of
    the combinations, then of each control alone as far as it is not among them.
    note: what is missing.  The widget, and what draws random numbers, stay as they were.
    Raises CannotRecord.
    """
    held, dice = (widget._values, widget._views, widget._most), _dice()
    try:
        return Recorder(widget, texts, dice).record()
    finally:
        widget._values, widget._views, widget._most = held
        _put(dice)


class Recorder:
    def __init__(self, widget, texts, dice):
        self.widget, self.dice = widget, dice
        self.controls = [_on_page(control.spec, texts) for control in widget._controls.values()]
        self.full = {spec["name"]: _values(spec) for spec in self.controls}
        self.start = tuple(self.full[spec["name"]].index(spec["value"]) for spec in self.controls)
        self.together = self.all_combinations()

    def record(self):
        title, first = self.widget.title, self.picture(self.start)
        if first["error"]:
            raise CannotRecord(
                f"{title} starts with an error: {first['error']} Let its controls start where it "
                "shows a picture."
            )
        end, states, pictures = time.monotonic() + SECONDS, self.states(), []
        for state in states:
            if time.monotonic() > end:
                raise CannotRecord(
                    f"{title} takes more than {SECONDS} seconds for its {len(states)} states; make "
                    "its function faster, or give its controls fewer values."
                )
            pictures.append(self.picture(state))
        for k in random.Random(0).sample(range(len(states)), min(AGAIN, len(states))):
            if self.picture(states[k]) != pictures[k]:
                raise CannotRecord(
                    f"what {title} shows depends on earlier calls; let it depend on its controls "
                    "only."
                )
        for k, picture in enumerate(pictures):
            if picture["error"]:  # the reader's last picture stays; any other compresses well
                pictures[k] = (pictures[k - 1] if k else first) | picture
        return {
            "title": title,
            "help": self.widget.help,
            "palette": self.widget.palette,
            "controls": self.controls,
            "full": self.full,
            "together": self.together,
            "pictures": shared(pictures),
            "note": self.note(),
        }

    def states(self):
        """Of each control the place of its value in full; pages.js goes through the same."""
        every = [range(len(values)) for values in self.full.values()]
        alone = (
            (*self.start[:k], place, *self.start[k + 1 :])
            for k, places in enumerate(every)
            for place in places
        )
        return [*dict.fromkeys([*itertools.product(*self.together.values()), *alone])]

    def picture(self, state):
        """What is shown in a state, after an error without panels."""
        values = [self.full[spec["name"]][k] for spec, k in zip(self.controls, state, strict=True)]
        asked = dict(zip(self.full, values, strict=True))
        for spec in self.controls:
            if self.widget._controls[spec["name"]].kind == "text":
                asked[spec["name"]] = spec["labels"][asked[spec["name"]]]
        _put(self.dice)  # each state as if it were the first
        shown = self.widget.compute(asked)
        picture = {key: shown[key] for key in ("error", "printed")}
        if shown["error"]:
            return picture
        limited = {name: x for name, x in shown["values"].items() if x != asked[name]}
        names = _names(values)
        panels = [self.panel(k, one, names) for k, one in enumerate(shown["panels"])]
        return picture | {
            "most": shown["most"],
            "caption": shown["caption"],
            "limited": limited,
            "panels": panels,
        }

    def panel(self, k, panel, names):
        """With all its explanations."""
        places = range(len(panel["cells"]))
        if not places and "small" not in panel:
            raise CannotRecord(
                f"{self.widget.title} has a picture with more than {NUMBERS} rows or columns, of "
                f"which no numbers are recorded; show at most {NUMBERS}."
            )
        cells = [(k, *divmod(place, len(panel["columns"]))) for place in places]
        told = call(lambda: [self.widget._explanation(cell)[1] for cell in cells])
        if told.error:
            raise CannotRecord(f"{self.widget.title} cannot explain its cells: {told.complaint()}")
        texts = [NUMBER.sub(lambda x: names.get(x[0], x[0]), text) for text in told.value]
        return panel | {"colours": panel["colours"].tolist(), "told": texts * panel["explains"]}

    def all_combinations(self):
        """Of each control the places of those values that all combinations have room for."""
        together = {name: list(range(len(values))) for name, values in self.full.items()}
        specs = {spec["name"]: spec for spec in self.controls}
        steps = dict.fromkeys(specs, 1)

        def too_many():
            return math.prod(map(len, together.values())) > MOST

        def only_at_start(names):
            together.update({n: [k] for n, k in zip(specs, self.start, strict=True) if n in names})

        if too_many():  # nothing lies between two matrices
            only_at_start([n for n in specs if specs[n]["kind"] in ("cells", "plane")])
        while too_many():
            long = {n: len(x) for n, x in together.items() if len(x) > FEW and _is_fine(specs[n])}
            if not long:
                only_at_start(specs)
                break
            for name in [n for n in long if long[n] == max(long.values())]:
                steps[name] = _coarser(steps[name])
                values, spec = self.full[name], specs[name]
                kept = {*_on_steps(values, spec.get("by", 1), steps[name]), spec["value"]}
                together[name] = [k for k, x in enumerate(values) if x in kept]
        return together

    def note(self):
        """What the page says is missing; "" if nothing is."""
        kinds = {spec["name"]: spec["kind"] for spec in self.controls}
        by = {spec["name"]: spec.get("by") for spec in self.controls}
        spoken = {name: name.replace("_", " ") for name in kinds}
        parts, every = [], {name: len(values) for name, values in self.full.items()}
        cut = {n for n in kinds if 1 < len(self.together[n]) < every[n]}
        only = [n for n in kinds if len(self.together[n]) == 1 < every[n]]
        if len(only) > 1:
            parts.append("one control can be moved at a time")
        elif only and len(kinds) > 1:
            parts.append(f"{spoken[only[0]]} can be moved while the others are at their start")
        if cut:
            said = " and ".join(", ".join(spoken[n] for n in kinds if n in cut).rsplit(", ", 1))
            parts.append(
                f"{said} {'take' if len(cut) > 1 else 'takes'} every value while the others are "
                "at their start, and round values otherwise"
            )
        for name, control in self.widget._controls.items():
            if control.kind == "cells":
                parts.append("one row of cells can be switched at a time")
            elif control.kind == "plane":
                parts.append(
                    f"one of the {spoken[name]} can be moved at a time, in steps of {by[name]:g}"
                )
            elif control.kind == "text":
                parts.append(f"{spoken[name]} is chosen from {every[name]}, not typed")
        return f"On this page {'; '.join(parts)}. The notebook has no such limits." if parts else ""


def shared(things):
    """A list of things that are alike: what they all have once, and lists of what differs.

    {"all": x}: each is x.  {"of": {key: ...}}: dicts.  {"items": [...], "long": ...}: lists, the
    shorter ones filled up with None; "long" is how long they are.  {"each": [...]}: one by one,
    with "of_few" their places there.
    """
    first = things[0]
    if all(thing == first for thing in things):
        return {"all": first}
    if all(isinstance(thing, dict) and [*thing] == [*first] for thing in things):
        return {"of": {key: shared([thing[key] for thing in things]) for key in first}}
    if all(isinstance(thing, list) for thing in things):
        items = [shared(list(column)) for column in itertools.zip_longest(*things)]
        return {"items": items, "long": shared([len(thing) for thing in things])}
    few = [*dict.fromkeys(things)] if all(isinstance(thing, str) for thing in things) else things
    if len(few) * 4 > len(things):
        return {"each": things}
    places = {thing: k for k, thing in enumerate(few)}
    return {"each": [places[thing] for thing in things], "of_few": few}


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
    kind, start = spec["kind"], spec["value"]
    match kind:
        case "slider":
            low, by = spec["low"], spec["by"]
            digits = max(_digits(spec[x]) for x in ("low", "high", "by"))
            count, step = math.floor((spec["high"] - low) / by + 1e-9) + 1, 1
            while count / step > FINE:
                step = _coarser(step)
            every = (low + k * by for k in range(count))
            # as explore.js rounds them; and there is no -0.0
            values = [x if isinstance(x, int) else round(x, digits) + 0.0 for x in every]
            values = [x for x in values if abs(x - start) > by / 1000]
            return sorted([*_on_steps(values, by, step), start])
        case "stops" | "choice":
            return list(range(len(spec["labels"])))
        case "switch":
            return [False, True]
        case "cells":
            return _unique([start, *_rows(start)])
        case "plane":
            return _unique([start, *_moved(spec)])
    raise CannotRecord(f"nobody knows how to record a control of the kind {kind!r}.")


def _digits(x):
    """Digits after the point."""
    return len(f"{Decimal(repr(x)):f}".partition(".")[2])


def _on_steps(values, by, step):
    """Of values that are `by` apart those on steps that are so many times as wide, and the ends."""
    origin = 0 if values[0] <= 0 <= values[-1] else values[0]
    on = [round((x - origin) / by) % step == 0 for x in values]
    on[0] = on[-1] = True
    return list(itertools.compress(values, on))


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
