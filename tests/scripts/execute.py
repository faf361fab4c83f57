"""Execute lessons in place, as they are committed: python tests/scripts/execute.py [notebook ...]

Every cell runs from top to bottom in a fresh kernel. What would differ from one execution
to the next is left out: times, versions, and the ids of live widgets (whose pictures and
numbers stay, in their own output). A second execution therefore leaves no diff.
Answers, and code that only loads or draws, are collapsed until a reader opens them.
"""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import v4

sys.path.insert(0, str(Path(__file__).parents[2]))
from helpers.tools.course import METADATA  # noqa: E402
from helpers.tools.pages.closed import closed  # noqa: E402

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"


def lessons():
    """Return the paths of the lessons, in order; optional notebooks have no number."""
    return sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))


CI = bool(os.environ.get("CI"))
# With extra_views.txt, these have every kind of control, of verdict, and of picture but one: the
# cache of lesson 11.
THREE = "02", "04", "06"


def in_browsers():
    """Return the lessons tried in browsers: all in CI, elsewhere one, which saves minutes."""
    return [path for path in lessons() if CI or path.name[:2] == THREE[0]]


def executed(path):
    """Execute the notebook at path anew; return it clean, and leave the file as it is."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    return clean(notebook)


def clean(notebook):
    """Drop what a second execution would change; collapse answers and what only loads or draws."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = {k: v for k, v in cell.metadata.items() if k in ("tags", "nbgrader")}
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(without_widget, cell.outputs) if output]
    for cell, answers, way in closed(notebook.cells):
        if answers:  # a collapsed output shows the first line of the first one: make that empty
            cell.outputs.insert(0, v4.new_output("display_data"))
            cell.metadata["collapsed"] = True  # JupyterLab writes both, and else marks it unsaved
        hidden = {"outputs_hidden": answers, "source_hidden": bool(way)}
        if hidden := {name: True for name, is_so in hidden.items() if is_so}:
            cell.metadata["jupyter"] = hidden
    return notebook


def without_widget(output):
    """Return a cell's output without its live widget; None if there was nothing else."""
    output.get("data", {}).pop(WIDGET, None)
    return output if output.get("data", True) else None


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]) if len(sys.argv) > 1 else lessons():
        nbformat.write(executed(path), path)
        print(f"executed {path.name}")
