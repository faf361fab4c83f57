"""Make the class's copy of the course, with or without what is folded, or a copy for nbgrader."""

import re
import shutil
from pathlib import Path

import nbformat
from nbformat import v4

from ...errors import InputError
from ..course import CHECK, ROOT, handed_out, listed, notebooks, write
from .folder import chosen, clean

FOLD = re.compile(
    r"<details>\s*<summary>(.*?)</summary>((?:(?!<details).)*?)</details>\n*", re.S | re.I
)
A_FOLD = "<details><summary>...</summary> ... </details>, none inside another"
STUB = re.compile(r"^( *)\.\.\.  # your code here$", re.M)
NEEDED = ("requirements.txt", ".github/constraints.txt", "environment.yml", ".gitignore")
NEEDED += (".venv/etc/jupyter/labconfig/default_setting_overrides.json",)  # no news at the start
OPTIONAL = "notebooks/your_own_model.txt"  # the package that this notebook may need
COPIED, TOOLS = ("helpers/", "data/"), "helpers/tools/"  # a copy has these, without the tools
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
        help="leave out solutions, hints or answers (to questions and predictions); by default "
        "they stay, folded. Saved outputs and your own code in exercises are always left out",
    )
    parser.add_argument(
        "--nbgrader",
        action="store_true",
        help="FOLDER is an nbgrader course: write source/LESSON into it, without solutions "
        "in the text, with one point for each exercise",
    )


def main(options):
    """Return the exit code. Raises InputError, which names the file, if something was not done."""
    folder, paths = options.folder, chosen(options.lessons)
    without = {*options.without, "solutions"} if options.nbgrader else {*options.without}
    parts = {folder: paths if options.lessons else notebooks()}
    if options.nbgrader:
        parts = {folder / "source" / path.stem: [path] for path in paths}
    for part in parts:
        _refuse(part)
    made, done = {}, []
    for part, its in parts.items():
        for path in its:
            copy, said = handed_out(path)
            copy = without_folds(copy, without, path)
            target = part / path.name if options.nbgrader else part / "notebooks" / path.name
            made[target] = nbformat.writes(with_points(copy) if options.nbgrader else copy)
            done += [f"{path.name}: {clause}." for clause in said]
        names = () if options.nbgrader else NEEDED
        names += () if options.nbgrader or options.lessons else (OPTIONAL,)
        made |= _files(part, names)
    _refuse_links(folder, made)
    for part in parts:
        write(part / MARK, _mark(part))
        for name in COPIED:
            if (part / name).exists():
                shutil.rmtree(part / name)
    for path, content in made.items():
        write(path, content)
    if not options.nbgrader:
        write_readme(folder, without)
    if others := _others():
        done.append(f"Left out, since they are not files of the course: {', '.join(others)}.")
    done.append(f"Lessons in {folder}: {len(paths)} written. {_left_out(without)}")
    print("\n".join(map(clean, done)))
    return 0


def _files(part, names):
    """Return {path in this part of the copy: content} of what the lessons need, and of these."""
    copied = (name for name in listed()["files"] if name.startswith(COPIED))
    copied = (x for x in copied if not x.startswith(TOOLS) and not x.endswith("README.md"))
    names = [*copied, *names]
    return {part / name: (ROOT / name).read_bytes() for name in names if (ROOT / name).exists()}


def _others():
    """Return the names of the files in the copied folders that are not the course's."""
    paths = (path for name in (*COPIED, "notebooks/") for path in (ROOT / name).rglob("*"))
    names = [path.relative_to(ROOT).as_posix() for path in paths if not path.is_dir()]
    names = (name for name in names if "/." not in name and "__pycache__" not in name)
    return sorted({*names} - {*listed()["files"]})


def _left_out(without):
    """Return a sentence.  without: some of KINDS."""
    return f"Left out: {', '.join(kind for kind in KINDS if kind in without) or 'nothing'}."


def _mark(part):
    return (part / MARK).read_bytes() if (part / MARK).is_file() else b""


def _refuse(folder):
    """Raise InputError unless the folder is new, empty or an earlier release: nothing is
    overwritten."""
    if any(folder.resolve().is_relative_to(ROOT / name) for name in COPIED):
        raise InputError(f"{folder} is inside a copied folder; choose one elsewhere.")
    is_full = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if is_full and not (folder / MARK).is_file():
        why = "is not an empty folder or an earlier release; nothing is overwritten"
        raise InputError(f"{folder} {why}: choose a different folder.")


def _refuse_links(folder, paths):
    """Raise InputError if the folder, or anything in it that is written, is a link."""
    above = {folder, folder / MARK, folder / "README.md", *paths}
    above |= {place for path in paths for place in path.parents if place.is_relative_to(folder)}
    for path in sorted(above):
        if path.is_symlink():
            raise InputError(f"{path} is a link, and nothing is written through one; remove it.")


def write_readme(folder, without):
    """Write the copy's README.md, unless the teacher has changed it."""
    readme = folder / "README.md"
    if not readme.exists() or readme.read_bytes() == _mark(folder):
        for path in (readme, folder / MARK):
            write(path, readme_of(folder, without))


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


def without_folds(notebook, without, path):
    """Return the notebook without the folds of these KINDS.  path: its file, for an error.
    Raises InputError if a fold cannot be told apart."""

    def kept(fold):
        summary = fold[1].strip()
        kind = {"solution": "solutions", "hint": "hints"}.get(
            re.match(r"\w*", summary)[0].lower(), KINDS[2]
        )
        if kind not in without:
            return fold[0]
        # The question stays when its answer is removed.
        return f"{summary}\n\n" if kind == "answers" and summary.endswith("?") else ""

    for k, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "markdown":
            if without and len(FOLD.findall(cell.source)) != cell.source.lower().count("<details"):
                raise InputError(f"{path}, cell {k}: a fold is expected as {A_FOLD}.")
            cell.source = FOLD.sub(kept, cell.source).rstrip()
    notebook.cells = [cell for cell in notebook.cells if cell.source]
    return notebook


# --- for nbgrader ---


def with_points(notebook):
    """Return the notebook as nbgrader's source: below each exercise, a locked cell gives a point
    if check() says that the answer is right. nbgrader replaces our stub by its own."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type != "code":
            continue
        cell.outputs = []
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
