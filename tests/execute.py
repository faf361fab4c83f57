"""Execute lessons in place, as they are committed: python tests/execute.py [notebook ...]

Every cell runs from top to bottom in a fresh kernel. What would differ from one execution
to the next is left out: times, versions, and the ids of live widgets (whose pictures and
numbers stay, in an output of their own). A second execution therefore leaves no diff.
Answers and code that only loads or draws are collapsed: a reader sees them when they are asked for.
"""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import v4

sys.path.insert(0, str(Path(__file__).parent.parent))
from helpers.pages.closed import closed  # noqa: E402

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def lessons():
    """The notebooks of the course, in their order; without a number, a notebook is optional."""
    return sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))


CI = bool(os.environ.get("CI"))
# Lessons that have every kind of control and of verdict; extra_views.txt has every kind of picture.
THREE = "02", "04", "06"


def in_browsers():
    """The lessons that are tried in browsers: all in CI, elsewhere two, which saves minutes."""
    return [path for path in lessons() if CI or path.name[:2] in THREE[:2]]


def executed(path):
    """The notebook at path, executed anew and clean; the file stays as it is."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    return clean(notebook)


def clean(notebook):
    """Without what a second execution would change; what a lesson needs stays."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = {k: v for k, v in cell.metadata.items() if k in ("tags", "nbgrader")}
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(without_widget, cell.outputs) if output]
    for cell, answers, way in closed(notebook.cells):
        if answers:  # JupyterLab writes the first line of the first output on what is collapsed
            cell.outputs.insert(0, v4.new_output("display_data"))
        hidden = {"outputs_hidden": answers, "source_hidden": bool(way)}
        if hidden := {name: True for name, is_so in hidden.items() if is_so}:
            cell.metadata["jupyter"] = hidden
    return notebook


def without_widget(output):
    """A cell's output without its live widget; None if there was nothing but that."""
    output.get("data", {}).pop(WIDGET, None)
    return output if output.get("data", True) else None


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]) if len(sys.argv) > 1 else lessons():
        nbformat.write(executed(path), path)
        print(f"executed {path.name}")
