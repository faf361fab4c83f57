"""Records a live view: what it shows in the states that a reader is likely to ask for, so that
pages.js can play it where no kernel is.

All combinations of the controls' values where they are few. Else a sample of the values, in all
combinations, and each control alone in all its values, the others at their start.
"""

import itertools
import json
import math

from ..explore import Explore, _changed

MIME = "application/vnd.attention.recording+json"
MOST = 2500  # states with all combinations
FEW = 5  # values of a control, of which none is left out
ALL_OF_A_ROW = 8  # switches in a row, of which all combinations are recorded
GRID = 17  # places of a vector in a plane, in each direction
EXPLAINED = 20_000  # explanations of cells


class CannotRecord(Exception):
    """Why a view cannot be recorded, and what to do."""


def start(texts):
    """From now on every live view that is shown in this kernel leaves its recording beside its
    still picture.

    texts: that a text box can take, beside the one at its start.
    """
    still = Explore._repr_mimebundle_

    def with_recording(self, **kwargs):
        bundle, metadata = still(self, **kwargs)
        try:
            return bundle | {MIME: record(self, texts)}, metadata
        except CannotRecord as error:
            return bundle | {MIME: {"cannot": str(error)}}, metadata

    Explore._repr_mimebundle_ = with_recording


def record(widget, texts=()):
    """What a page needs to show this widget without a kernel, as JSON can hold it.

    full: all recorded values of each control; together: those recorded in all combinations.
    where: for each state, first those of together, then each control alone as far as it is not
    among them, the place of its picture in patches, which say how it differs from start.
    explained: for pictures that have them, how each cell came about.  note: what is missing.
    Raises CannotRecord.
    """
    controls = [control.spec for control in widget._controls.values()]
    at_start = {spec["name"]: spec["value"] for spec in controls}
    full = {spec["name"]: _values(spec, texts) for spec in controls}
    together = _sample(full, at_start)
    first = widget.compute(at_start) | {"turn": "", "count": 0}
    if any(not panel["cells"] and "small" not in panel for panel in first["panels"]):
        raise CannotRecord(
            f"the picture of {widget.title} has more than 16 rows or columns, so that its numbers "
            "are not recorded; show at most 16."
        )
    states = _states(full, together, at_start)
    cells = sum(len(panel["cells"]) for panel in first["panels"] if panel["explains"])
    told = [at_start] if len(states) * cells > EXPLAINED else states if cells else []
    patches, places, where, explained = [], {}, [], {}
    for state in states:
        picture = widget.compute(state)
        clipped = {n: x for n, x in picture["values"].items() if x != state[n]}
        patch = json.dumps(_changed(first, picture) | {"values": clipped})
        if patch not in places:
            places[patch] = len(patches)
            patches.append(json.loads(patch))
            if state in told:
                explained[places[patch]] = _explanations(widget, picture["panels"])
        where.append(places[patch])
    widget.compute(at_start)
    return {
        "title": widget.title,
        "help": widget.help,
        "palette": widget.palette,
        "controls": controls,
        "start": _changed({}, first),
        "full": full,
        "together": together,
        "where": where,
        "patches": patches,
        "explained": explained,
        "note": _note(controls, full, together, bool(cells) and told is not states),
    }


def _explanations(widget, panels):
    """For each panel a text for each of its cells."""
    return [
        [
            widget._explanation([k, place // len(panel["columns"]), place % len(panel["columns"])])[1]
            for place in range(len(panel["cells"]))
        ]
        if panel["explains"]
        else []
        for k, panel in enumerate(panels)
    ]


def _states(full, together, at_start):
    ways = itertools.product(*together.values())
    states = [dict(zip(together, way, strict=True)) for way in ways]
    known = {json.dumps(state) for state in states}
    for name, values in full.items():
        for value in values:
            state = at_start | {name: value}
            if (key := json.dumps(state)) not in known:
                known.add(key)
                states.append(state)
    return states


def _sample(full, at_start):
    """Of each control as many values as all combinations have room for."""
    sample = dict(full)
    while math.prod(map(len, sample.values())) > MOST:
        name = max(sample, key=lambda name: len(sample[name]))
        if len(sample[name]) <= FEW:
            break
        if isinstance(at_start[name], int | float):
            kept = {*sample[name][::2], sample[name][-1], at_start[name]}
            sample[name] = [x for x in sample[name] if x in kept]
        else:  # nothing lies between two matrices or texts
            sample[name] = [at_start[name]]
    return sample


def _values(spec, texts):
    """All values of a control that are recorded, the start among them."""
    kind, start = spec["kind"], spec["value"]
    match kind:
        case "slider":
            low, by = spec["low"], spec["by"]
            values = [low + k * by for k in range(math.floor((spec["high"] - low) / by + 1e-9) + 1)]
            return values if isinstance(by, int) else [float(f"{x:.12g}") for x in values]
        case "stops" | "choice":
            return list(range(len(spec["labels"])))
        case "switch":
            return [start, not start]
        case "text":
            if not texts:
                raise CannotRecord(
                    f"the text box {spec['name']!r} has one text only; give the cell a tag such as "
                    "'record: another text' for each text that its targets name."
                )
            return [start, *texts]
        case "cells":
            return [start, *_rows(start)]
        case "plane":
            return [start, *_moved(start, spec["limit"])]
    raise CannotRecord(f"nobody knows how to record a control of the kind {kind!r}.")


def _rows(start):
    """Switches with another row: all that it can be, or each of its switches alone."""
    for i, row in enumerate(start):
        if len(row) <= ALL_OF_A_ROW:
            others = map(list, itertools.product([True, False], repeat=len(row)))
        else:
            others = ([x ^ (j == k) for k, x in enumerate(row)] for j in range(len(row)))
        yield from ([*start[:i], other, *start[i + 1 :]] for other in others if other != row)


def _moved(start, limit):
    """Vectors, one of them somewhere on a grid."""
    grid = [round(limit * (2 * k / (GRID - 1) - 1), 3) for k in range(GRID)]
    for i, place in itertools.product(range(len(start)), itertools.product(grid, grid)):
        yield [*start[:i], list(place), *start[i + 1 :]]


def _note(controls, full, together, unexplained):
    """What the page says is missing; "" if nothing is."""
    kinds = {spec["name"]: spec["kind"] for spec in controls}
    parts = []
    for name, kind in kinds.items():
        spoken = name.replace("_", " ")
        if kind == "cells":
            parts.append(f"{spoken} of one row at a time")
        elif kind == "plane":
            parts.append(f"one of the {spoken} at a time, in steps of a grid")
        elif kind == "text":
            parts.append(f"{spoken} one of: {', '.join(full[name])}")
    cut = [n for n in full if len(together[n]) < len(full[n]) and kinds[n] in ("slider", "stops")]
    if cut:
        said = " and ".join(name.replace("_", " ") for name in cut)
        parts.append(f"{said} in all values while the others stand at their start, else in some")
    said = f"Recorded on this page: {'; '.join(parts)}." if parts else ""
    if unexplained:
        said += " How a number came about: as at the start only."
    return f"{said} In the notebook everything answers.".strip() if said else ""
