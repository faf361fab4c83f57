"""Show which student solved which exercise, and which mistakes were made.

Every notebook below FOLDER is read and then run again; nothing is written into FOLDER. The student
has the name of the folder that the notebook is in (the first below FOLDER) or, for a notebook
directly in FOLDER, the name of the file without the name of the lesson. If a student tried an
exercise more than once, in one notebook or in several, the best attempt counts.

A grade can be forged: the students' code runs with your rights, in the same kernel as the checks.
Run only code that you would also open and run yourself.
"""

import sys
from collections import defaultdict
from pathlib import Path

from ..errors import InputError
from .folder import clean, find, refuse_full
from .points import write_points
from .read_notebook import read, strange
from .run_notebook import run_all
from .table import best, report, section

LOOK = "Check these: they use names that no exercise needs (a forged verdict may leave no trace)"


def arguments(parser):
    parser.add_argument("folder", type=Path, help="the folder with the notebooks of the class")
    parser.add_argument(
        "--seconds", type=int, default=300, help="limit for each notebook, default %(default)s"
    )
    parser.add_argument(
        "--cell-seconds", type=int, default=60, help="limit for each cell, default %(default)s"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="a new or empty folder outside FOLDER, for the points: moodle.csv and canvas.csv; "
        "points.json has everything in the table",
    )


def main(options):
    """Print the tables. Return the exit code: 0, or 2 if something in FOLDER cannot be read."""
    folder, out = options.folder, options.out
    _refuse(options)
    notebooks, left_out, others = find(folder)
    if not (notebooks or left_out):
        left_out.append(f"There is no notebook (.ipynb) to run in {clean(folder)}.")
    shown = [clean(path.relative_to(folder)) for _, path in notebooks]
    # All are read before any is run: running one may change the files of the others.
    runs = [read(path) for _, path in notebooks]
    sources = {k: notebook.sources for k, notebook in enumerate(runs) if not notebook.failed}
    ended = run_all(sources, options.seconds, options.cell_seconds)
    for count, (k, ran) in enumerate(ended, start=1):
        runs[k] = ran
        print(f"{count} of {len(sources)}: {shown[k]}", file=sys.stderr, flush=True)
    runs = [(student, *run) for (student, _), *run in zip(notebooks, shown, runs, strict=True)]
    lines = report(runs)
    lines += section(LOOK, [f"{shown[k]}: {x}" for k in sources if (x := strange(sources[k]))])
    lines += section("Files that are not notebooks", by_folder(others, folder))
    print("\n".join(lines))
    if runs and out:
        write_points(best(runs), out)
    for sentence in left_out:
        print(sentence, file=sys.stderr)
    return 2 if left_out else 0


def by_folder(paths, folder):
    """Return a line for each folder with the names of its files."""
    found = defaultdict(list)
    for path in paths:
        found[clean(path.parent.relative_to(folder))].append(clean(path.name))
    return [f"{place}: {', '.join(names)}".removeprefix(".: ") for place, names in found.items()]


def _refuse(options):
    """Raise InputError for impossible options, before anything is run."""
    out = options.out
    if min(options.seconds, options.cell_seconds) < 1:
        raise InputError("--seconds and --cell-seconds: 1 or more is expected.")
    if out and out.resolve().is_relative_to(options.folder.resolve()):
        raise InputError("--out is in the class's folder; choose a folder outside it.")
    if out:
        refuse_full(out)
        out.mkdir(parents=True, exist_ok=True)  # before the class is run, which takes long
