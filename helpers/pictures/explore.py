"""Show a live picture: the reader's own function, called again whenever a control moves.

The page (explore.js) draws controls, tables and canvases. It sends a change of a control as
{"changes": {name: value}, "turn"}; the answer is {"picture"}, all that is shown, and the bytes of
its colours. The page has at most one question open and keeps only the newest values while it
waits, so a drag cannot pile up. A new page reads the trait `picture`; a still picture is saved.
"""

import threading

import numpy as np
import traitlets

from ..copies import on_copies
from ..errors import InputError, sendable
from ..guard import Worker, is_inside
from ..session import unchanged_by_a_picture
from .controls import control
from .live import Live, page_text, running_cell
from .sketch import roles_css
from .still import draw
from .view import MAX_SIDE, NONE, palette, side_by_side

NUMBERS = 16  # rows or columns of a table with numbers; a larger one shows colours only

SCRIPTS = "base.js", "controls.js", "pixels.js", "table.js", "sketch.js", "explore.js"

HELP = "To see how a number came about, point at it, tap it, or use Tab and the arrow keys."

_shown = {}  # notebook cell: (its execution, its widgets), so that running it again closes them


class Explore(Live):
    """The widget that explore() returns; a notebook displays it.

    compute(values) returns the picture for given values of the controls, as the page shows it.
    """

    name, note = "explore", "A saved picture. To bring it to life"

    # the text, not the path: with a path, anywidget watches the file and keeps every widget alive
    _esm = "".join(map(page_text, SCRIPTS))
    _css = page_text("explore.css") + roles_css(".explore")
    title = traitlets.Unicode().tag(sync=True)
    help = traitlets.Unicode().tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    palette = traitlets.List().tag(sync=True)
    picture = traitlets.Dict().tag(sync=True, to_json=lambda _, self: self._sent)

    def __init__(self, fn, controls):
        self._fn, self._controls = fn, {c.name: c for c in controls}
        self._lock = threading.RLock()  # questions are answered one at a time
        # The desk answers the page: a slow function must not block the thread that receives the
        # messages of all widgets. The worker calls fn, so that the desk can stop it.
        self._desk, self._worker = Worker(), Worker()
        self._views, self._panels = [], []
        self._random = []  # the state of the random numbers that fn draws
        self._values = {c.name: c.spec["value"] for c in controls}
        self._sent = self.compute({}) | {"turn": ""}
        self._answered = [""]  # the last turns of all views: a question may come twice
        colours, white_from = palette()
        super().__init__(
            title=str(getattr(fn, "__name__", "")).replace("_", " "),
            controls=[c.spec for c in controls],
            palette=[colours, white_from],
            help=HELP if self._is_first_to_explain() else "",
        )
        self.on_msg(lambda _, content, buffers: self._desk.do(lambda: self._answer(content)))
        _close_earlier(self)

    def _is_first_to_explain(self):
        """Return whether its numbers have explanations, and no other cell's view says so."""
        own = running_cell()[0]
        said = (cell for cell, (_, all_of) in _shown.items() if any(one.help for one in all_of))
        return any(panel["explains"] for panel in self._panels) and next(said, own) == own

    def compute(self, values):
        """Return the picture for these values: {control name: value; for a choice its index}.

        Controls that are not named keep their values. Returns a dict: "error", "printed",
        "values" of all controls, "caption", "reached" and "panels", each with "cells" (the numbers
        as text, row by row; none beyond 16 by 16) and "colours" (bytes, indices into palette(); 255
        for none). After an error, including a value that a control does not accept, the panels are
        the last good ones and "error" is a sentence.
        """
        with self._lock:
            error = printed = ""
            try:
                plain = {name: self._controls[name].plain(x) for name, x in values.items()}
                self._values = self._values | plain
                arguments = {n: c.argument(self._values[n]) for n, c in self._controls.items()}
                outcome = self.call(lambda: _drawn(on_copies(self._fn)(**arguments)))
                printed = outcome.printed
                if outcome.error is None:
                    self._views, self._panels = outcome.value
                else:
                    error = outcome.complaint()
            except InputError as refused:
                error = str(refused)
            return {
                "error": sendable(error),
                "printed": sendable(printed),
                "values": dict(self._values),
                "caption": "\n".join(view.caption for _, view in self._views if view.caption),
                "reached": "\n".join(view.reached for _, view in self._views if view.reached),
                "panels": self._panels,
            }

    def call(self, work):
        """Run what calls the reader's functions; return an Outcome. The session is as before when
        this ends; inside such a call, when that one ends."""
        if is_inside():
            return self._worker.call(work)
        with unchanged_by_a_picture(self._random):
            return self._worker.call(work)

    def _answer(self, content):
        with self._lock:
            if "cell" in content:
                number, text = self.explanation(content["cell"])
                self.send({"cell": content["cell"], "number": number, "text": text})
                return
            turn = content.get("turn", self._sent["turn"])  # none: the page missed the picture
            sent = self._sent if turn in self._answered else self.compute(content["changes"])
            self._sent, self._answered = sent | {"turn": turn}, [*self._answered, turn][-9:]
            panels = [panel | {"colours": None} for panel in self._sent["panels"]]
            colours = [panel["colours"] for panel in self._sent["panels"]]  # separately, as bytes
            self.send({"picture": self._sent | {"panels": panels}}, colours)

    def explanation(self, cell):
        """Return (the number as text, how it is computed) for a cell [panel, row, column]."""
        panel, row, column = cell
        try:
            _, view = self._views[panel]
            number = view.number(view.matrix[row, column]) if view.shown[row, column] else ""
        except IndexError:  # a sum, or the picture has become smaller
            return "", ""
        if view.explain is None or not number or view.mark(row, column):
            return number, ""
        outcome = self.call(lambda: str(view.explain(row, column)))
        return number, sendable(outcome.value if outcome.error is None else outcome.complaint())

    def close(self):
        super().close()
        self._worker.end()
        self._desk.end()

    def __repr__(self):
        """Return what the page shows as text: settings, numbers, caption."""
        values, error = self._sent["values"], self._sent["error"]
        settings = (f"{c.name} = {c.spoken(values[c.name])}" for c in self._controls.values())
        views = (f"{title}\n{view.text()}".strip("\n") for title, view in self._views)
        return "\n".join(filter(None, [", ".join(settings), error, *views]))

    def _repr_mimebundle_(self, **kwargs):
        """Return the current picture, for programs that run no code."""
        bundle, metadata = {}, {}
        if self._views:
            bundle, metadata = draw(self._views)._repr_mimebundle_()
        return bundle | {"text/plain": repr(self)}, metadata


def explore(fn, /, **controls):
    """Show your own function live: every change of a control calls fn again.

    fn: called with the values of the controls by name. It returns a matrix, (rows, columns),
        as torch, numpy or lists; or View(matrix, tokens, caption=..., ...), with names and
        texts; or several of them side by side, {title: matrix or View}. With up to 16 rows
        and columns the cells show numbers; up to 512 they show colours, and the number of
        the cell you point at. What fn raises or prints is shown, and the last picture stays.
        A call is stopped after 10 seconds. It works on copies of what the notebook holds:
        nothing that fn changes outside itself stays changed (see copies.on_copies).
    controls: name = its possible values, as in ipywidgets.interact:
        (low, high) or (low, high, step)   a slider; whole numbers give whole numbers
        a list, or a dict of label: value  a choice; three or more rising numbers become
                                           a slider that stops at these numbers only
        a str                              a text box
        True or False                      a switch
        a matrix of True and False         a switch in each cell of the picture that the
                                           matrix covers; fn gets a copy, a bool tensor
        an array of numbers (n,), 0 to 1   amounts, dragged in a drawing such as Arcs,
                                           whose drags= names the control
        an array of numbers (n, 2)         vectors, dragged in a drawing such as Blend;
                                           fn gets a copy, a float tensor
        The start is the default of the function's parameter, otherwise the middle of a
        slider or the first choice. A control named "step" is a slider with back, play and
        next; for a list or dict it shows the name of each step. A click on the name of a row
        or column also sets a choice or slider named "query", and a click on a small head of
        a View one named "head": to the option of that name, otherwise counting from the
        control's first value.
    Returns the widget: put it last in the cell. Its plain text is its numbers.
    Raises InputError if fn cannot be called or if a control cannot be made.
    """
    # before the widget is made: half a widget would complain when Python deletes it
    made = [control(name, short, fn) for name, short in controls.items()]
    return Explore(fn, made)


def _close_earlier(widget):
    """Close the widgets that the same cell made when it ran before: they are no longer shown."""
    cell, run = running_cell()
    if cell is None:
        return
    known, widgets = _shown.get(cell, (run, []))
    if known != run:
        while widgets:
            widgets.pop().close()
    _shown[cell] = run, [*widgets, widget]


def _drawn(result):
    """Return ([(title, View)], panels) for a result.

    Runs inside the guarded call, because reading the result may fail or never end, too.
    """
    if result is None:
        raise InputError("the function returned None, not a matrix or a View: is `return` missing?")
    if isinstance(result, tuple) and len(result) > 1 and getattr(result[0], "ndim", 0) > 1:
        things = f"the function returned {len(result)} things"
        raise InputError(f"{things}; return one matrix, for instance the second.")
    views = side_by_side(result if isinstance(result, dict) and result else {"": result})
    shape = views[0][1].matrix.shape
    if max(shape) > MAX_SIDE:
        raise InputError(f"the shape is {shape}; at most {MAX_SIDE} rows and columns fit.")
    return views, _panels(views)


def _panels(views):
    """Return what the page draws: the views, and the small heads next to a single view."""
    panels = [_panel(title, view) for title, view in views]
    for _, view in views:
        for k, (title, head) in enumerate(view.small()):
            panels.append(_panel(title, head, small=True, large=k == view.head))
    return panels


def _panel(title, view, **small):
    n, m = view.matrix.shape
    rows, columns, cells = view.tokens, view.keys, []
    parts = [] if small else view.sketch()
    if parts or not small and max(n, m) <= NUMBERS:
        rows, columns, table = view.table()
        cells = sum(table, [])
    colours = np.full((len(rows), len(columns)), NONE, np.uint8)  # sums have none
    colours[:n, :m] = view.colours()
    if parts:
        small = {"parts": [vars(part) for part in parts], "alt": view.alt()}
        small["narrow"] = [part and vars(part) for part in view.narrow()]
    return {
        "title": title,
        "rows": rows,
        "columns": columns,
        "size": [n, m],
        "axes": list(view.axes),
        "scale": [f"{limit:.4g}" for limit in view.scale],
        "marked": [
            [word, [i * len(columns) + j for i, j in np.argwhere(cells).tolist()]]
            for word, cells in view.marked.items()
        ],
        "lit": [i * len(columns) + j for i, j in sorted(view.highlights)],
        "explains": view.explain is not None,
        "cells": cells,
        "colours": colours.tobytes(),
        **small,
    }
