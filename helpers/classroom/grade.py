"""Which student solved what, and which mistakes were made.

Every notebook below FOLDER is run anew; nothing is written into FOLDER. What a run keeps, and what
it does not protect from, is said in run_notebook.py.

A notebook belongs to the student whose name is that of the folder it is in (the first below
FOLDER) or, directly in FOLDER, the name of the file without the name of the lesson. Where a
student has an exercise in several notebooks, the best answer counts.
"""

import sys
import tempfile
from pathlib import Path

from ..checks.unnamed import names
from ..errors import InputError
from .folder import clean, find, refuse_full
from .hand_back import hand_back
from .run_notebook import run_all
from .table import report


def arguments(parser):
    parser.add_argument("folder", type=Path, help="the folder with the notebooks of the class")
    parser.add_argument(
        "--seconds", type=int, default=120, help="for each notebook, default %(default)s"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="a new or empty folder elsewhere: points (moodle.csv, canvas.csv; points.json has all "
        "that the table says) and a page for each student (feedback)",
    )


def main(options):
    """Print the tables. Returns the exit code: 0, or 2 if something in FOLDER is not to be run."""
    folder, out = options.folder, options.out
    # A name that the encoding does not know must not end the program.
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        names()  # else every student is told what the teacher has written wrong
        _refuse(options)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    notebooks, left_out = find(folder)
    if not (notebooks or left_out):
        left_out.append(f"There is no notebook (.ipynb) to run in {clean(folder)}.")
    runs = [None] * len(notebooks)
    for number, (k, done) in enumerate(
        run_all([path for _, path in notebooks], options.seconds), start=1
    ):
        student, path = notebooks[k]
        runs[k] = student, clean(path.relative_to(folder)), done
        print(f"{number} of {len(notebooks)}: {runs[k][1]}", file=sys.stderr, flush=True)
    if runs:
        print("\n".join(report(runs)))
    if runs and out:
        hand_back(runs, out)
    for sentence in left_out:
        print(sentence, file=sys.stderr)
    return 2 if left_out else 0


def _refuse(options):
    """Raises InputError with a sentence, before anything was run."""
    folder, out, shown = options.folder.resolve(), options.out, clean(options.folder)
    if options.seconds < 1:
        raise InputError(f"--seconds is 1 or more, not {options.seconds}.")
    if Path(tempfile.gettempdir()).resolve().is_relative_to(folder):
        why = "and nothing may be written there: name the folder of the class itself."
        raise InputError(f"Temporary files of this computer lie in {shown}, {why}")
    if out and out.resolve().is_relative_to(folder):
        raise InputError(f"Nothing is written into {shown}: name a folder elsewhere after --out.")
    refuse_full(out)
    try:
        if out:
            out.mkdir(parents=True, exist_ok=True)  # now, not when the class has been run
    except OSError as error:
        raise InputError(f"{clean(out)} cannot be made: {error.strerror}.") from None
