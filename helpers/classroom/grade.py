"""Which student solved what, and which mistakes were made.

Every notebook below FOLDER is read, and then run anew; nothing is written into FOLDER. A notebook
belongs to the student whose name is that of the folder it is in (the first below FOLDER) or,
directly in FOLDER, the name of the file without the name of the lesson. Where a student tried an
exercise more than once, in one notebook or in several, the best attempt counts.

A grade can be forged: the students' code runs with your rights, in the same kernel as the checks.
Run only what you would also open and run yourself.
"""

import sys
from collections import defaultdict
from pathlib import Path

from ..checks.unnamed import names
from ..errors import InputError
from .folder import clean, find, refuse_full
from .points import write_points
from .read_notebook import read, strange
from .run_notebook import run_all
from .table import best, report, section

LOOK = "Look into these: they name what no exercise needs (a forged verdict may show nowhere)"


def arguments(parser):
    parser.add_argument("folder", type=Path, help="the folder with the notebooks of the class")
    parser.add_argument(
        "--seconds", type=int, default=300, help="for each notebook, default %(default)s"
    )
    parser.add_argument(
        "--cell-seconds", type=int, default=60, help="for each cell, default %(default)s"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="a new or empty folder elsewhere: points in moodle.csv and canvas.csv; points.json "
        "has all that the table says",
    )


def main(options):
    """Print the tables. Returns the exit code: 0, or 2 if something in FOLDER cannot be read."""
    folder, out = options.folder, options.out
    names()  # else every student is told what the teacher has written wrong
    _refuse(options)
    notebooks, left_out, others = find(folder)
    if not (notebooks or left_out):
        left_out.append(f"There is no notebook (.ipynb) to run in {clean(folder)}.")
    shown = [clean(path.relative_to(folder)) for _, path in notebooks]
    # All are read before one is run: what is run may change the files of the others.
    runs = [read(path) for _, path in notebooks]
    sources = {k: notebook.sources for k, notebook in enumerate(runs) if not notebook.failed}
    ended = run_all(sources, options.seconds, options.cell_seconds)
    for count, (k, ran) in enumerate(ended, start=1):
        runs[k] = ran
        print(f"{count} of {len(sources)}: {shown[k]}", file=sys.stderr, flush=True)
    runs = [(student, *run) for (student, _), *run in zip(notebooks, shown, runs, strict=True)]
    lines = report(runs)
    lines += section(LOOK, [f"{shown[k]}: {x}" for k in sources if (x := strange(sources[k]))])
    lines += section("Files that are no notebooks", by_folder(others, folder))
    print("\n".join(lines))
    if runs and out:
        write_points(best(runs), out)
    for sentence in left_out:
        print(sentence, file=sys.stderr)
    return 2 if left_out else 0


def by_folder(paths, folder):
    """Return an entry for each folder with the names of its files."""
    found = defaultdict(list)
    for path in paths:
        found[clean(path.parent.relative_to(folder))].append(clean(path.name))
    return [f"{place}: {', '.join(names)}".removeprefix(".: ") for place, names in found.items()]


def _refuse(options):
    """Raise InputError, before anything was run."""
    out = options.out
    if min(options.seconds, options.cell_seconds) < 1:
        raise InputError("--seconds and --cell-seconds: 1 or more is expected.")
    if out and out.resolve().is_relative_to(options.folder.resolve()):
        raise InputError("--out: nothing is written into the class's folder; name one elsewhere.")
    if out:
        refuse_full(out)
        out.mkdir(parents=True, exist_ok=True)  # now, not when the class has been run
