"""An output that is live while Python runs, and the same output saved, for where it does not."""

import html
import sys
from pathlib import Path

import anywidget
from IPython.display import display

from ..guard import get_ipython

STILL = """<div class="{name}-still"><style>
.jp-OutputArea-child:has(.{name}) + .jp-OutputArea-child:has(.{name}-still),
.jp-OutputArea-child:not(:has(.{name})):has(+ .jp-OutputArea-child .{name}-still) {{
  display: none; }}
</style><p><em>{note}, run the cells from the top down to here
(Shift + Enter).</em></p>{still}</div>"""


def page_text(name):
    """Return a file that runs in the browser, or styles what does."""
    return (Path(__file__).parent / "browser" / name).read_text(encoding="utf-8")


class Live(anywidget.AnyWidget):
    """A widget that is saved as text and HTML, too. name: the class of its element in the page.
    note: why a reader would run the cell."""

    _output, _live = None, {}  # what is updated; the live part, if it is in the same output

    def __init__(self, **traits):
        super().__init__(**traits)
        # ipykernel 7.4 sends what a page says to the shell that Python last spoke from: the main
        # one, where it waits for a running cell, or one that is gone after a reconnection.
        self.comm._reply_subshell_for = lambda data, of_the_page: of_the_page

    def close(self):
        super().close()
        self.layout.close()  # a separate widget, which would stay open

    def saved(self):
        """Return what is saved as (data, metadata): its HTML is hidden next to the live view."""
        bundle, metadata = self._repr_mimebundle_()
        if self._live:
            return self._live | bundle, metadata
        still = bundle.get("text/html") or f"<pre>{html.escape(bundle['text/plain'])}</pre>"
        markup = STILL.format(name=self.name, note=self.note, still=still)
        return bundle | {"text/html": markup}, metadata

    def _ipython_display_(self):
        """Display two outputs: the live view, and the still one, hidden while the view is live.

        In one output, JupyterLab shows "model not found" instead of the picture when a
        notebook is opened again. Other programs would show both, so they get one output.
        """
        live, _ = super()._repr_mimebundle_()
        live.pop("text/plain")
        # VS Code defines this name in every kernel that it starts for a notebook, even in a
        # container, where VSCODE_PID is missing
        vs_code = "__vsc_ipynb_file__" in getattr(get_ipython(), "user_ns", {})
        if vs_code or "google.colab" in sys.modules:
            self._live = live
        else:
            display(live, raw=True)  # before the still picture is drawn, which takes longer
        bundle, metadata = self.saved()
        self._output = display(bundle, metadata=metadata, raw=True, display_id=True)


def running_cell():
    """Return (the notebook cell that runs, its execution), each None outside a notebook. Where the
    cell's id is not told, each execution is a cell."""
    kernel = getattr(get_ipython(), "kernel", None)
    parent = kernel.get_parent("shell") if kernel else {}
    run = parent.get("header", {}).get("msg_id")
    return parent.get("metadata", {}).get("cellId") or run, run
