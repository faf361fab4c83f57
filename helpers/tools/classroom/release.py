"""Make the class's copy of the course, with or without what is folded, or a copy for nbgrader."""

import re
import shutil
from copy import deepcopy
from pathlib import Path

import nbformat
from nbformat import v4

from ...errors import InputError
from ...pictures.predict import GUESS, NONE, SAVED
from ..pages.closed import way
from .folder import ROOT, chosen, clean
from .read_notebook import CHECK

FOLD = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>\n*", re.S)
STUB = re.compile(r"^( *)\.\.\.  # your code here$", re.M)
NEEDED = ("requirements.txt", ".github/constraints.txt", "environment.yml", ".gitignore")
NEEDED += (".venv/etc/jupyter/labconfig/default_setting_overrides.json",)  # no news at the start
NOT_FOR_STUDENTS = ("__pycache__", "tools", "README.md")
COPIED = ("helpers", "data")
OPTIONAL = [*(ROOT / "notebooks").glob("your_own_model.*")]
KINDS = ("solutions", "hints", "answers")
# of a cell, as nbgrader requires it
METADATA = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
MARK = ".release"  # the file that marks an earlier release; it holds the README as it was written
README = """\
# Attention, one step at a time

## Start

Open a terminal in this folder. {python}
One command installs everything into `.venv` and opens the first lesson; later, it only opens it.
Once installed, nothing needs a network.

Linux and macOS:

{linux}

Windows (PowerShell):

{windows}

On a server for the class, open the first lesson in the folder `notebooks`.

## Lessons

| lesson | minutes | afterwards you can |
|---|---|---|
{lessons}

## When you are stuck

- **Run the cell again** and read what the check says: one mistake at a time, and what to try.
- **Open what is folded** below the exercise or the question. Folded in this copy: {folded}.
  {left_out}
- **Start afresh**: *Kernel > Restart Kernel and Run All Cells*. It helps when a name holds
  something else by now, or when a picture says that Python doesn't answer. What you wrote stays.
- **Ask**, and say what the check said.

Before you hand a lesson in, run all its cells and save it: what the checks said is saved with it.
"""


def add_options(parser):
    """Add what this command can be given to its parser."""
    parser.add_argument(
        "folder",
        type=Path,
        help="a new or empty folder, or an earlier release to update; other files in it stay, for "
        "instance .git and lessons that are not named now",
    )
    parser.add_argument(
        "--without",
        nargs="+",
        default=(),
        choices=KINDS,
        metavar="WHAT",
        help="leave out solutions, hints or answers (answers to questions and predictions, and the "
        "saved outputs that show them); by default everything stays, folded",
    )
    parser.add_argument(
        "--nbgrader",
        action="store_true",
        help="FOLDER is an nbgrader course: write source/LESSON into it, without solutions "
        "in the text, with one point for each exercise",
    )


def main(options):
    """Return the exit code. Raises InputError if nothing was written."""
    folder, paths = options.folder, chosen(options.lessons)
    without = {*options.without, "solutions"} if options.nbgrader else {*options.without}
    parts = {folder: paths}
    if options.nbgrader:
        parts = {folder / "source" / path.stem: [path] for path in paths}
    for part in parts:
        _refuse(part)
    for part, its in parts.items():
        write_course(part, its, without, options.nbgrader)
    optional = [] if options.lessons or options.nbgrader else OPTIONAL
    for path in optional:
        shutil.copy(path, folder / "notebooks")
    if not options.nbgrader:
        write_readme(folder, without)
    print(f"Lessons in {clean(folder)}: {len(paths)} written. {_left_out(without)}")
    return 0


def _left_out(without):
    """Return a sentence.  without: some of KINDS."""
    return f"Left out: {', '.join(kind for kind in KINDS if kind in without) or 'nothing'}."


def _refuse(folder):
    """Raise InputError unless the folder is new, empty or an earlier release: nothing is
    overwritten."""
    if any(folder.resolve().is_relative_to(ROOT / name) for name in COPIED):
        raise InputError(f"{clean(folder)} is inside a copied folder; choose one elsewhere.")
    is_full = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if is_full and not (folder / MARK).is_file():
        why = "is not an empty folder or an earlier release; nothing is overwritten"
        raise InputError(f"{clean(folder)} {why}: choose a different folder.")


def write_course(folder, paths, without, for_nbgrader):
    """Write the lessons and what they need into the folder; replace its helpers and data."""
    notebooks = folder if for_nbgrader else folder / "notebooks"
    notebooks.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()
    ignore = shutil.ignore_patterns(*NOT_FOR_STUDENTS)
    for name in COPIED:
        if (folder / name).exists():
            shutil.rmtree(folder / name)
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    for name in () if for_nbgrader else NEEDED:
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for path in paths:
        copy = without_folds(nbformat.read(path, as_version=4), without)
        nbformat.write(with_points(copy) if for_nbgrader else copy, notebooks / path.name)


def write_readme(folder, without):
    """Write the copy's README.md, unless the teacher has changed it."""
    readme, mark = folder / "README.md", folder / MARK
    if not readme.exists() or readme.read_bytes() == mark.read_bytes():
        text = readme_of(folder, without)
        for path in (readme, mark):
            path.write_text(text, encoding="utf-8", newline="\n")


def readme_of(folder, without):
    """Return the text: how to start, the lessons in this copy, and what to do when stuck. What the
    course's own README also says is taken from it."""
    course = (ROOT / "README.md").read_text(encoding="utf-8")
    files = sorted(path.name for path in (folder / "notebooks").glob("*.ipynb"))
    commands = re.findall(r"(?m)^ {4}.* jupyter lab .*$", course)
    linux, windows = (x.replace("01_dot_products.ipynb", files[0]) for x in commands)
    rows = re.findall(r"(?m)^(\|.*\]\(notebooks/(.*?)\).*)$", course)
    return README.format(
        python=re.search(r"You need Python .*?\)\.", course)[0],
        linux=linux,
        windows=windows,
        lessons="\n".join(row for row, name in rows if name in files),
        folded=", ".join(kind for kind in KINDS if kind not in without) or "nothing",
        left_out=_left_out(without),
    )


# --- what is folded ---


def without_folds(lesson, without):
    """Return a copy of the notebook without the folds of these KINDS, and without guesses."""

    def kept(fold):
        summary = fold[1].strip()
        kind = {"Solution": "solutions", "Hint": "hints"}.get(
            re.match(r"\w*", summary)[0], KINDS[2]
        )
        if kind not in without:
            return fold[0]
        # The question stays when its answer is removed.
        return f"{summary}\n\n" if kind == "answers" and summary.endswith("?") else ""

    copy = deepcopy(lesson)
    for cell in copy.cells:
        if cell.cell_type == "markdown":
            cell.source = FOLD.sub(kept, cell.source).rstrip()
        elif "answers" in without and way(cell) != "predict":
            cell.outputs, cell.execution_count = [], None
    copy.cells = [cell for cell in copy.cells if cell.source]
    for output in (output for cell in copy.cells for output in cell.get("outputs", ())):
        if asked := output.get("metadata", {}).get(SAVED):  # with what the teacher guessed
            asked["guess"] = []
            for kind in ("text/plain", "text/html"):
                output.data[kind] = re.sub(f"{GUESS}.*", GUESS + NONE, output.data[kind])
    return copy


# --- for nbgrader ---


def with_points(notebook):
    """Return the notebook as nbgrader's source: below each exercise, a locked cell gives a point
    if check() says that the answer is right. nbgrader replaces our stub by its own."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = [], None
        if found := CHECK.search(cell.source):
            marked = STUB.sub(r"\1### BEGIN SOLUTION\n\1...\n\1### END SOLUTION", cell.source)
            if marked != cell.source:  # code to repair stays: it is not a stub
                cell.source = marked
                cell.metadata["nbgrader"] = METADATA | {"grade_id": found[1], "solution": True}
            own = {"grade_id": f"{found[1]}_points", "grade": True, "locked": True, "points": 1}
            test = v4.new_code_cell(f"assert {found[0]}", id=f"points-{found[1]}")
            test.metadata["nbgrader"] = METADATA | own
            cells.append(test)
    notebook.cells = cells
    return notebook
