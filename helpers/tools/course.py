"""The course as it is handed out, whatever people keep in its folder or write in its notebooks.

course.toml has the list of its files and, for each notebook, its cells and the stubs of its
exercises. The script listed.py writes it, and a test compares it with the course.
"""

import re
import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path

import nbformat
from nbformat import v4

from ..errors import InputError
from ..pictures.predict import GUESS, NONE, SAVED

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("course.toml")
CALL = re.compile(r"""\bcheck\(["'](\w+)["'], *(\w+)\)""")
CHECK = re.compile(f"^{CALL.pattern}", re.M)  # of an exercise, on a line of its own
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    # The ending is that of a lesson saved as a script.
    "language_info": {"name": "python", "file_extension": ".py"},
}
KEPT = ("collapsed", "jupyter", "tags")  # of a cell's metadata


@cache
def listed():
    """Return the list: {"files": their names, "notebooks": {name: {"cells", "stubs"}}}."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


@cache
def notebooks():
    """Return the paths of the course's notebooks, in order."""
    return [ROOT / "notebooks" / f"{name}.ipynb" for name in listed()["notebooks"]]


def lessons():
    """Return the paths of the lessons, in order: the other notebooks have no number."""
    return [path for path in notebooks() if path.name[0].isdigit()]


def defines(name):
    """Return a pattern that finds where a cell gives this name a value."""
    return re.compile(rf"^(?:def|class) +(?:{name})\b|^(?:{name}) *=", re.M)


@cache
def answers():
    """Return a pattern that finds an answer to any exercise of the course."""
    stubs = (stub for one in listed()["notebooks"].values() for stub in one["stubs"].values())
    return defines("|".join({found[2] for stub in stubs for found in CALL.finditer(stub)}))


def handed_out(path):
    """Return (the notebook as it is handed out, what was done, a list of clauses).

    It has no output but its questions, without a guess. The exercises are back to their stubs, and
    cells that the course does not have are left out. A notebook that is not of the course keeps its
    code. Raises InputError if it cannot be read, or an exercise cannot be found.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except Exception:  # a damaged file raises many kinds
        raise InputError(f"{path} is damaged, or not a notebook.") from None
    done = []
    if path.parent.resolve() / path.name in notebooks():  # also if it is a link
        notebook.cells, done = _as_listed(notebook.cells, path)
    notebook.metadata = nbformat.from_dict(METADATA)  # no saved state of widgets, with its guesses
    for cell in notebook.cells:
        cell.metadata = {name: x for name, x in cell.metadata.items() if name in KEPT}
        if cell.cell_type == "code":
            cell.outputs = [_unguessed(x) for x in cell.outputs if SAVED in x.get("metadata", {})]
            cell.execution_count = None
    return notebook, done


def _unguessed(output):
    """Return a question's output as it is before anyone has guessed."""
    asked = output.metadata[SAVED] | {"guess": []}
    texts = {kind: output.data.get(kind, "") for kind in ("text/plain", "text/html")}
    texts = {kind: re.sub(f"{GUESS}.*", GUESS + NONE, text) for kind, text in texts.items()}
    return v4.new_output("display_data", texts, metadata={SAVED: asked})


def _as_listed(cells, path):
    """Return (the course's own cells, their exercises as stubs; what was done)."""
    known, stubs = (listed()["notebooks"][path.stem][x] for x in ("cells", "stubs"))
    there = {cell.id for cell in cells}
    if there.isdisjoint(known):
        why = "has other ids for its cells than the course, so no exercise in it can be taken back"
        raise InputError(f"{path} {why}; put the course's own file there.")
    checks = {name: found[1] for name, stub in stubs.items() if (found := CALL.search(stub))}
    kept, back, left_out = [], [], []
    for k, cell in enumerate(cells, start=1):
        source = cell.source if cell.cell_type == "code" else ""
        found = CALL.search(source)
        said = f'cell {k} ("{cell.source.strip().partition(chr(10))[0][:40]}")'
        name = cell.id
        if found and name not in stubs:  # a cell that was cut and pasted has a new id
            name = next((x for x in checks if checks[x] == found[1] and x not in there), name)
        if name in stubs:
            there.add(name)
            kept.append(v4.new_code_cell(stubs[name], id=name, metadata=cell.metadata))
            if source != stubs[name]:
                back.append(said)
        elif name not in known or found or answers().search(source):
            left_out.append(said)
        else:
            kept.append(cell)
    done = {"back to the stub": back, "left out, since the course has no such cell": left_out}
    return kept, [f"{what}: {', '.join(cells)}" for what, cells in done.items() if cells]


def write(path, content):
    """Write a file, text or bytes; what is there before is replaced only by the whole content.
    Raises InputError, which names the file."""
    data = content.encode() if isinstance(content, str) else content
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # it could be a link
        part.write_bytes(data)
        part.replace(path)  # a link to a file is replaced, and what it leads to stays
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
