"""The live picture: the reader's own function, called again whenever a control moves.

The page (explore.js) draws controls, tables and canvases. A change of a control travels as
{"changes": {name: value}, "turn"}; the answer is {"picture"}, all that is shown, and the bytes of
its colours. The page has at most one question under way and keeps only the newest values while it
waits, so a drag cannot pile up. A new page gets the trait `picture`; a still picture is saved.
"""

import html
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import anywidget
import numpy as np
import traitlets
from IPython.display import display

from ..errors import InputError
from ..guard import Worker, call, get_ipython
from .controls import control, sendable
from .sketch import roles_css
from .still import draw
from .view import MAX_SIDE, NONE, palette, side_by_side

NUMBERS = (
    16  # rows or columns of a table with numbers in the cells; more are colours, numbers on focus
)

# Controls that are dragged, and a picture in which they are.
GRIPS = {
    "plane": "Blend(weights, words, values=values, drags={{'values': {0!r}}}, window=...)",
    "amounts": "Arcs(weights, words, drags={0!r})",
}
SCRIPTS = "controls.js", "pixels.js", "table.js", "sketch.js", "explore.js"

STILL = """<div class="explore-still"><style>
.jp-OutputArea-child:has(.explore) + .jp-OutputArea-child:has(.explore-still),
.jp-OutputArea-child:not(:has(.explore)):has(+ .jp-OutputArea-child .explore-still) {{
  display: none; }}
</style><p><em>A saved picture. Run &gt; Run All Cells brings it to life.</em></p>{}</div>"""

HELP = (
    "Point at a number, or go to it with Tab and the arrow keys, to see how it came about. In a "
    "table, a line under a number says that your last move changed it."
)

_shown = {}  # notebook cell: (its execution, its widgets), so that running it again closes them


def _text(name):
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


class Explore(anywidget.AnyWidget):
    """What explore() returns: a widget that shows itself.

    compute(values) gives the picture for given values of the controls, as the page does.
    """

    recorder = None  # recorder(widget): {mime type: data} to be saved beside the still picture

    # the text and not the path: anywidget would watch the files and keep every widget alive
    _esm = "".join(map(_text, SCRIPTS))
    _css = _text("explore.css") + roles_css(".explore")
    title = traitlets.Unicode().tag(sync=True)
    help = traitlets.Unicode().tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    palette = traitlets.List().tag(sync=True)
    picture = traitlets.Dict().tag(sync=True, to_json=lambda _, self: self._sent)

    def __init__(self, fn, controls):
        self._fn = fn
        self._controls = {name: control(name, short, fn) for name, short in controls.items()}
        several = [c.name for c in self._controls.values() if c.kind == "cells"]
        if len(several) > 1:
            raise InputError(f"{' and '.join(several)} cannot both be the cells; one matrix can.")
        self._dragged = [c for c in self._controls.values() if c.kind in GRIPS]
        self._lock = threading.RLock()  # questions are answered one at a time
        # The desk answers the page: a slow function must not stop the thread that brings the
        # messages, which all widgets share. The worker calls fn, so that the desk can stop it.
        self._desk, self._worker = Worker(), Worker()
        self._views, self._panels, self._most = [], [], {}
        self._values = {name: c.spec["value"] for name, c in self._controls.items()}
        self._sent = self.compute({}) | {"turn": ""}
        colours, white_from = palette()
        super().__init__(
            title=str(getattr(fn, "__name__", "")).replace("_", " "),
            controls=[c.spec for c in self._controls.values()],
            palette=[colours, white_from],
            help=HELP if _is_first() else "",
        )
        # ipykernel 7.4 sends the first message of a page to the shell that opened the comm,
        # the main one, where it waits for a cell that runs; without this to the page's own.
        vars(self.comm).pop("_reply_subshell_id", None)
        self.on_msg(lambda _, content, buffers: self._desk.do(lambda: self._answer(content)))
        _close_earlier(self)

    def compute(self, values):
        """The picture for these values: {control name: value; for a choice its index}.

        Controls that are not named keep their values. Returns a dict: "error", "printed",
        "values" of all controls, "most" (to which a slider is limited now), "caption", "reached"
        and "panels", each with "cells" (the numbers as texts, row by row; none beyond 16 by 16) and
        "colours" (bytes, indices into palette(); 255 for none). After an error, also of a value
        that a control cannot have, the panels are the last good ones and "error" is a sentence.
        """
        with self._lock:
            error = printed = ""
            try:
                plain = {name: self._controls[name].plain(x) for name, x in values.items()}
                self._values = self._values | plain
                arguments = {n: c.argument(self._values[n]) for n, c in self._controls.items()}
                outcome = self._worker.call(lambda: _drawn(self._fn(**arguments), self._dragged))
                printed = outcome.printed
                if outcome.error is None:
                    self._views, self._panels = outcome.value
                    self._limit()
                else:
                    error = outcome.complaint()
            except InputError as refused:
                error = str(refused)
            return {
                "error": sendable(error),
                "printed": sendable(printed),
                "values": dict(self._values),
                "most": dict(self._most),
                "caption": "\n".join(view.caption for _, view in self._views if view.caption),
                "reached": "\n".join(view.reached for _, view in self._views if view.reached),
                "panels": self._panels,
            }

    @contextmanager
    def recording(self):
        """Meanwhile the widget can be asked for any values; afterwards it is as it was."""
        held = self._values, self._views, self._panels, self._most
        try:
            yield
        finally:
            self._values, self._views, self._panels, self._most = held

    def snapshot(self, values):
        """compute(values), whose panels also have "told", how each number came about.

        Raises InputError if that takes too long.
        """
        picture = self.compute(values)
        outcome = call(lambda: [p | {"told": self._told(k, p)} for k, p in enumerate(self._panels)])
        if outcome.error:
            raise InputError(outcome.complaint())
        return picture | {"panels": outcome.value}

    def _told(self, k, panel):
        places = range(len(panel["cells"]) if panel["explains"] else 0)
        width = len(panel["columns"])
        return [self.explanation([k, *divmod(place, width)])[1] for place in places]

    def _limit(self):
        """Sliders go no higher than what was returned has a meaning for."""
        sliders = {n: c for n, c in self._controls.items() if c.kind in ("slider", "stops")}
        most = {}
        for _, view in self._views:
            if view.heads is not None and hasattr(sliders.get("head"), "low"):
                most["head"] = sliders["head"].low + len(view.heads) - 1
            most |= view.limits
        self._most = {n: sliders[n].at_most(x) for n, x in most.items() if n in sliders}
        for name, high in self._most.items():
            self._values[name] = min(self._values[name], high)

    def _answer(self, content):
        with self._lock:
            if "cell" in content:
                number, text = self.explanation(content["cell"])
                self.send({"cell": content["cell"], "number": number, "text": text})
                return
            if "changes" in content:  # otherwise the page asks for what it missed
                self._sent = self.compute(content["changes"]) | {"turn": content["turn"]}
            panels = [panel | {"colours": None} for panel in self._sent["panels"]]
            colours = [panel["colours"] for panel in self._sent["panels"]]  # beside it, as bytes
            self.send({"picture": self._sent | {"panels": panels}}, colours)

    def explanation(self, cell):
        """(the number as text, how it came about) of a cell [panel, row, column]."""
        panel, row, column = cell
        try:
            _, view = self._views[panel]
            number = view.number(view.matrix[row, column]) if view.shown[row, column] else ""
        except IndexError:  # a sum, or the picture has become smaller
            return "", ""
        if view.explain is None or not number or view.mark(row, column):
            return number, ""
        outcome = self._worker.call(lambda: str(view.explain(row, column)))
        return number, sendable(outcome.value if outcome.error is None else outcome.complaint())

    def close(self):
        super().close()
        self.layout.close()  # a widget of its own, which would stay behind
        self._worker.end()
        self._desk.end()

    def __repr__(self):
        """What the page shows, as text: settings, numbers, caption."""
        values, error = self._sent["values"], self._sent["error"]
        settings = (f"{c.name} = {c.spoken(values[c.name])}" for c in self._controls.values())
        views = (f"{title}\n{view.text()}".strip("\n") for title, view in self._views)
        return "\n".join(filter(None, [", ".join(settings), error, *views]))

    def _repr_mimebundle_(self, **kwargs):
        """The picture as it is now, for programs that run nothing."""
        bundle, metadata = {}, {}
        if self._views:
            with suppress(InputError):  # too many for one picture: the numbers stay
                bundle, metadata = draw(self._views)._repr_mimebundle_()
        recorded = self.recorder() if self.recorder else {}
        return bundle | {"text/plain": repr(self)} | recorded, metadata

    def _ipython_display_(self):
        """Two outputs: the live view, and the still one, which is hidden while the other lives.

        In one output, JupyterLab shows "model not found" in place of the picture when a
        notebook is opened again. Other programs would show both: they get one.
        """
        live, _ = super()._repr_mimebundle_()
        # VS Code puts this name into every kernel that it starts for a notebook, also in a
        # container, where its VSCODE_PID is missing
        vs_code = "__vsc_ipynb_file__" in getattr(get_ipython(), "user_ns", {})
        one_output = vs_code or "google.colab" in sys.modules
        if not one_output:
            live.pop("text/plain")
            display(live, raw=True)  # before the still picture is drawn, which takes longer
        bundle, metadata = self._repr_mimebundle_()
        if one_output:
            bundle = live | bundle
        else:
            still = bundle.get("text/html") or f"<pre>{html.escape(bundle['text/plain'])}</pre>"
            bundle["text/html"] = STILL.format(still)
        display(bundle, metadata=metadata, raw=True)


def explore(fn, /, **controls):
    """See a function of your own live: every change of a control calls fn again.

    fn: called with the values of the controls by name. It returns a matrix, (rows, columns)
        as torch, numpy or lists; or View(matrix, tokens, caption=..., ...), which says more;
        or several of them side by side, {title: matrix or View}. Up to 16 rows and columns
        have their numbers in the cells; up to 512 are colours, with the number of the cell
        that is pointed at; of more, a window is shown. What fn raises or prints is shown,
        and the last picture stays. After 10 seconds it is stopped.
    controls: name = what it can be, as in ipywidgets.interact:
        (low, high) or (low, high, step)   a slider; whole numbers give whole numbers
        a list, or a dict of label: value  a choice; three or more rising numbers become
                                           a slider that stops at these numbers only
        a str                              a text box
        True or False                      a switch
        a matrix of True and False         a switch in each cell of the picture, as many as
                                           the matrix has; fn gets a bool tensor of its own
        an array of numbers (n,), 0 to 1   amounts, to be dragged in a drawing such as Arcs,
                                           whose drags= names the control
        an array of numbers (n, 2)         vectors, to be dragged in a drawing such as Blend;
                                           fn gets a float tensor of its own
        The default of the function's parameter is the start, otherwise the middle of a
        slider and the first of a choice. A control named "step" is a slider with back, play
        and next; of a list or dict it shows the names beside it. A choice or slider named
        "query" is also set by a click on the name of a row or column, one named "head" by the
        small heads of a View: to the option of that name, otherwise counting from its first
        value.
    Returns the widget: put it last in the cell. Its plain text is its numbers.
    Raises InputError if fn cannot be called or a control cannot be understood.
    """
    return Explore(fn, controls)


def _cell():
    """(the cell of the notebook, its execution) that runs; None where there is none."""
    kernel = getattr(get_ipython(), "kernel", None)
    parent = kernel.get_parent("shell") if kernel else {}
    return parent.get("metadata", {}).get("cellId"), parent.get("header", {}).get("msg_id")


def _is_first():
    """Whether this is the first cell of the notebook that shows something live."""
    return next(iter(_shown), _cell()[0]) == _cell()[0]


def _close_earlier(widget):
    """Close what the same cell of the notebook made when it ran before: nobody sees it."""
    cell, run = _cell()
    if cell is None:
        return
    known, widgets = _shown.get(cell, (run, []))
    if known != run:
        while widgets:
            widgets.pop().close()
    _shown[cell] = run, [*widgets, widget]


def _drawn(result, dragged):
    """([(title, View)], panels) of what the function returned; dragged: controls that only a
    drawing can move.

    A part of its call: reading this may fail or take for ever, too.
    """
    if result is None:
        raise InputError("it returned None: is `return` missing?")
    several = side_by_side(result if isinstance(result, dict) and result else {"": result})
    views = [(title, view.part(MAX_SIDE)) for title, view in several]
    panels = _panels(views)
    marks = [mark for panel in panels for part in panel.get("parts", ()) for mark in part["marks"]]
    for one in dragged:
        if not any(mark.get("drags", [None])[0] == one.name for mark in marks):
            raise InputError(
                f"{one.name} is dragged in a drawing, and nothing that was returned has a mark "
                f"for it; return {GRIPS[one.kind].format(one.name)}."
            )
    return views, panels


def _panels(views):
    """What the page draws: the views, and the small heads beside the only one."""
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
