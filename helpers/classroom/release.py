"""Make the class's copy of the course, with or without what is folded, or a copy for nbgrader."""

import re
import shutil
from copy import deepcopy
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import nbformat
from nbformat import v4

from ..errors import InputError
from .folder import ROOT, clean, lessons, refuse_full
from .read_notebook import CHECK

FOLD = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>\n*", re.S)
STUB = re.compile(r"^( *)\.\.\.  # your code here$", re.M)
NEEDED = ("requirements.txt", ".github/constraints.txt", "environment.yml", ".gitignore")
NEEDED += (".venv/etc/jupyter/labconfig/default_setting_overrides.json",)  # no news at the start
NOT_FOR_STUDENTS = ("__pycache__", "classroom", "pages")
COPIED = ("helpers", "data")
OPTIONAL = [*(ROOT / "notebooks").glob("your_own_model.*")]
KINDS = ("solutions", "hints", "answers")
# of a cell, as nbgrader requires it
METADATA = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
MARK = ".release"  # the file that marks an earlier release


def arguments(parser):
    parser.add_argument(
        "folder",
        type=Path,
        help="a new or empty folder, or an earlier release to update; other files in it stay, for "
        "instance .git and lessons that are not named now",
    )
    parser.add_argument(
        "--lessons", nargs="+", metavar="LESSON", help="for instance 01 02; by default all"
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
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--open",
        action="store_true",
        help="make a copy for yourself with everything unfolded: outputs that answer a "
        "prediction, code that only loads or draws, answers, hints and solutions",
    )
    kind.add_argument(
        "--nbgrader",
        action="store_true",
        help="FOLDER is an nbgrader course: write source/LESSON into it, without solutions "
        "in the text, with one point for each exercise",
    )
    parser.add_argument(
        "--repository", help="the address where you will publish the copy: prints links to it"
    )


def main(options):
    """Return the exit code. Raises InputError if nothing was written."""
    folder, chosen = options.folder, _chosen(options.lessons)
    parts = {folder: chosen}
    if options.nbgrader:
        parts = {folder / "source" / path.stem: [path] for path in chosen}
    for part in parts:
        _refuse(part)
    for part, paths in parts.items():
        write_course(part, paths, options.without, options.nbgrader)
    optional = [] if options.lessons or options.nbgrader else OPTIONAL
    for path in optional:
        shutil.copy(path, folder / "notebooks")
    for path in (*chosen, *optional) if options.open else ():
        if path.suffix == ".ipynb":
            open_all(folder / "notebooks" / path.name)
    left_out = ", ".join(options.without) or "nothing left out"
    print(f"Lessons in {clean(folder)}: {len(chosen)} written (--without: {left_out}).")
    if options.repository:
        print("\n".join(links(options.repository, chosen[0].name)))
    return 0


def _chosen(names):
    """Return the lessons' files.  names: such as "03" or the whole name, or None for all."""
    for name in names or ():
        if not any(name in (path.stem, path.stem[:2]) for path in lessons()):
            expected = f"{lessons()[0].stem[:2]} to {lessons()[-1].stem[:2]}, such as 01 02"
            raise InputError(f"--lessons: there is no lesson {name!r}; choose from {expected}.")
    return [p for p in lessons() if not names or {p.stem, p.stem[:2]}.intersection(names)]


def _refuse(folder):
    """Raise InputError unless the folder is new, empty or an earlier release."""
    if any(folder.resolve().is_relative_to(ROOT / name) for name in COPIED):
        raise InputError(f"{clean(folder)} is inside a copied folder; choose one elsewhere.")
    if not (folder / MARK).is_file():
        refuse_full(folder, "an empty folder or an earlier release")


def write_course(folder, paths, without, for_nbgrader):
    """Write the lessons and what they need into the folder; replace its helpers and data."""
    without = {*without, "solutions"} if for_nbgrader else without
    notebooks = folder if for_nbgrader else folder / "notebooks"
    notebooks.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text("made by python -m helpers.classroom release, which can update it\n")
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


def links(repository, first):
    """Return two lines: links to the copy for nbgitpuller and on Binder."""
    address = urlsplit(repository.removesuffix("/").removesuffix(".git"))
    path = f"lab/tree/notebooks/{first}"
    pulled = path.replace("tree", f"tree/{address.path.rpartition('/')[2]}")
    pull = urlencode({"repo": repository, "branch": "main", "urlpath": pulled})
    at = f"gh{address.path}" if address.netloc == "github.com" else f"git/{quote(repository, '')}"
    return [
        f"nbgitpuller: https://HUB/hub/user-redirect/git-pull?{pull}",
        f"Binder: https://mybinder.org/v2/{at}/main?{urlencode({'urlpath': path})}",
    ]


# --- what is folded ---


def without_folds(lesson, without):
    """Return a copy of the notebook without the folds of these KINDS."""

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
        elif "answers" in without:
            cell.outputs, cell.execution_count = [], None
    copy.cells = [cell for cell in copy.cells if cell.source]
    return copy


def open_all(path):
    """Unfold everything in the notebook at path."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata.pop("jupyter", None)
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace("<details>", "<details open>")
    nbformat.write(notebook, path)


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
