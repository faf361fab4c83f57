"""For the teacher: which student solved what, and which mistakes were made.

    python -m helpers.classroom FOLDER

runs every notebook below FOLDER anew and prints a table for each lesson. Nothing is written
into FOLDER. What a run keeps, and what it does not protect from, is said in run_notebook.py.

A notebook belongs to the student whose name is that of the folder it is in (the first below
FOLDER) or, directly in FOLDER, the name of the file without the name of the lesson. Where a
student has an exercise in several notebooks, the best answer counts.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

from ..checks.verdict import MIME
from .run_notebook import run
from .table import clean, lessons, report, signs_for

SECONDS = 120


def main(arguments=None):
    """Print the tables. Returns the exit code: 0, or 2 if something in FOLDER is not to be run."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.classroom", description="Students by exercises, with the mistakes."
    )
    parser.add_argument("folder", type=Path, help="the folder with the notebooks of the class")
    parser.add_argument(
        "--seconds", type=seconds, default=SECONDS, help=f"for each notebook, default {SECONDS}"
    )
    options = parser.parse_args(arguments)
    # A name that the encoding does not know must not end the program.
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        folder = _usable(options.folder)
        notebooks, left_out = find(folder)
        if not notebooks:
            left_out.append(f"There is no notebook (.ipynb) to run in {clean(options.folder)}.")
    except ValueError as error:
        notebooks, left_out = [], [str(error)]
    runs = []
    for number, (student, path) in enumerate(notebooks, start=1):
        name = clean(path.relative_to(folder))
        print(f"{number} of {len(notebooks)}: {name}", file=sys.stderr, flush=True)
        runs.append((student, name, run(path, MIME, options.seconds)))
    if runs:
        print("\n".join(report(runs, signs_for(sys.stdout.encoding))))
    for sentence in left_out:
        print(sentence, file=sys.stderr)
    return 2 if left_out else 0


def seconds(text):
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise ValueError
    return seconds


def _usable(folder):
    """Its path, or ValueError with a sentence."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise ValueError(f"{clean(folder)} {what}.")
    folder = folder.resolve()
    if Path(tempfile.gettempdir()).resolve().is_relative_to(folder):
        raise ValueError(
            f"Temporary files of this computer lie in {clean(folder)}, and nothing may be "
            "written there: name the folder of the class itself."
        )
    return folder


def find(folder):
    """([(student, path)] sorted, [a sentence for each link out of the folder]).

    Hidden files and folders are left out (copies that Jupyter keeps, leftovers of a Mac).
    """
    notebooks, left_out = [], []

    def is_inside(path):
        try:
            if path.resolve().is_relative_to(folder):
                return True
        except (OSError, RuntimeError):  # links in a circle
            pass
        name = clean(path.relative_to(folder))
        left_out.append(f"{name} is a link out of the folder: it was not followed.")

    def unreadable(error):
        left_out.append(f"{clean(Path(error.filename).relative_to(folder))} cannot be read.")

    for place, folders, files in os.walk(folder, onerror=unreadable):
        place = Path(place)
        shown = [n for n in folders if not n.startswith(".") and n != "__MACOSX"]
        folders[:] = [n for n in shown if is_inside(place / n)]
        for name in files:
            path = place / name
            if name.lower().endswith(".ipynb") and name[0] != "." and is_inside(path):
                notebooks.append((student_of(path.relative_to(folder)), path))
    return sorted(notebooks, key=lambda found: (found[0].casefold(), found)), sorted(left_out)


def student_of(path):
    """The student's name. path: of the notebook, below the folder of the class."""
    if len(path.parts) > 1:
        return clean(path.parts[0])
    stems = "|".join(re.escape(lesson.stem) for lesson in lessons())
    # Jupyter names a copy -Copy1, and a browser (1).
    name = re.sub(r"(-Copy\d+| ?\(\d+\))$", "", path.stem)
    return clean(re.sub(f"^({stems})[ _-]+|[ _-]+({stems})$", "", name, flags=re.I))
