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

from ..checks.unnamed import names
from ..checks.verdict import MIME
from ..guard import InputError
from .run_notebook import run
from .table import clean, lessons, report


def main(arguments=None):
    """Print the tables. Returns the exit code: 0, or 2 if something in FOLDER is not to be run."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.classroom", description="Students by exercises, with the mistakes."
    )
    parser.add_argument("folder", type=Path, help="the folder with the notebooks of the class")
    parser.add_argument(
        "--seconds", type=int, default=120, help="for each notebook, default %(default)s"
    )
    options = parser.parse_args(arguments)
    if options.seconds < 1:
        parser.error(f"--seconds is 1 or more, not {options.seconds}")
    try:
        names()  # else every student is told what the teacher has written wrong
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    folder, shown = options.folder, clean(options.folder)
    # A name that the encoding does not know must not end the program.
    sys.stdout.reconfigure(errors="backslashreplace")
    if Path(tempfile.gettempdir()).resolve().is_relative_to(folder.resolve()):
        why = "and nothing may be written there: name the folder of the class itself."
        print(f"Temporary files of this computer lie in {shown}, {why}", file=sys.stderr)
        return 2
    notebooks, left_out = find(folder)
    if not (notebooks or left_out):
        left_out.append(f"There is no notebook (.ipynb) to run in {shown}.")
    runs = []
    for number, (student, path) in enumerate(notebooks, start=1):
        name = clean(path.relative_to(folder))
        print(f"{number} of {len(notebooks)}: {name}", file=sys.stderr, flush=True)
        runs.append((student, name, run(path, MIME, options.seconds)))
    if runs:
        print("\n".join(report(runs)))
    for sentence in left_out:
        print(sentence, file=sys.stderr)
    return 2 if left_out else 0


def find(folder):
    """([(student, path)] sorted, [a sentence for each link, and folder that cannot be read]).

    Hidden files and folders are left out (copies that Jupyter keeps, leftovers of a Mac).
    """
    notebooks, left_out = [], []

    def unreadable(error):
        left_out.append(f"{clean(error.filename)} cannot be read: {error.strerror}.")

    for place, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = [n for n in folders if not n.startswith(".") and n != "__MACOSX"]
        found = [n for n in files if n.lower().endswith(".ipynb") and n[0] != "."]
        for path in (Path(place, name) for name in folders + found):
            if path.is_symlink():
                left_out.append(f"{clean(path)} is a link: it was not followed.")
            elif path.name in found:
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
