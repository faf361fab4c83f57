"""For the teacher: which student solved what, and which mistakes were made.

    python -m helpers.checks FOLDER

runs every notebook below FOLDER anew and prints a table for each lesson. Nothing is written
into FOLDER. What a run keeps, and what it does not protect from, is said in run_notebook.py.

A notebook belongs to the student whose name is that of the folder it is in (the first below
FOLDER) or, directly in FOLDER, the name of the file without the name of the lesson. Where a
student has an exercise in several notebooks, the best answer counts.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import textwrap
import unicodedata
from collections import Counter, defaultdict
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase

from .exercises import CHECKED
from .run_notebook import ROOT, run
from .verdict import MIME

SECONDS = 120
WIDTH = 98
LONGEST_NAME = 40
SIGNS = {"right": "✔", "open": "…", "wrong": "✘"}
PLAIN_SIGNS = {"right": "ok", "open": "..", "wrong": "x"}
OTHER = "other exercises"


def main(arguments=None):
    """Print the tables. Returns the exit code: 0, or 2 if something in FOLDER is not to be run."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.checks", description="Students by exercises, with the mistakes."
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
    if notebooks:
        runs = _run_all(folder, notebooks, options.seconds)
        print("\n".join(report(runs, _signs(sys.stdout.encoding))))
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


def _signs(encoding):
    try:
        "".join(SIGNS.values()).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN_SIGNS
    return SIGNS


# --- the notebooks ---


def find(folder):
    """([(student, path)] sorted, [a sentence for each link out of the folder]).

    Hidden files and folders are left out (copies that Jupyter keeps, leftovers of a Mac).
    """
    notebooks, left_out = [], []

    def look(path):
        """Is it inside?"""
        try:
            inside = path.resolve().is_relative_to(folder)
        except (OSError, RuntimeError):  # links in a circle
            inside = False
        if not inside:
            name = clean(path.relative_to(folder))
            left_out.append(f"{name} is a link out of the folder: it was not followed.")
        return inside

    def unreadable(error):
        left_out.append(f"{clean(Path(error.filename).relative_to(folder))} cannot be read.")

    for place, folders, files in os.walk(folder, onerror=unreadable):
        place = Path(place)
        shown = [n for n in folders if not n.startswith(".") and n != "__MACOSX"]
        folders[:] = [n for n in shown if look(place / n)]
        for name in files:
            if name.lower().endswith(".ipynb") and not name.startswith("."):
                path = place / name
                if look(path):
                    notebooks.append((student_of(path.relative_to(folder)), path))
    return sorted(notebooks, key=lambda found: (found[0].casefold(), found)), sorted(left_out)


def student_of(path):
    """The student's name. path: of the notebook, below the folder of the class."""
    if len(path.parts) > 1:
        name = path.parts[0]
    else:
        lessons = "|".join(re.escape(lesson.stem) for lesson in _lessons())
        # Jupyter names a copy -Copy1, and a browser (1).
        name = re.sub(r"(-Copy\d+| ?\(\d+\))$", "", path.stem)
        name = re.sub(f"^({lessons})[ _-]+|[ _-]+({lessons})$", "", name, flags=re.I)
    return clean(name)


def clean(text):
    """On one line, without characters that steer a terminal; é is one character, also where
    a file system makes two of it."""
    text = unicodedata.normalize("NFC", " ".join(str(text).split()))
    return "".join(c if c.isprintable() else "?" for c in text)


def _lessons():
    return sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


def exercises_by_lesson():
    """Name of the lesson -> names of its exercises, both in their order."""
    lessons = {}
    for path in _lessons():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        checked = re.findall(r"\bcheck\(\s*[\"'](\w+)[\"']", code)
        lessons[path.stem] = [name for name in CHECKED if name in checked]
    known = {name for names in lessons.values() for name in names}
    lessons[OTHER] = [name for name in CHECKED if name not in known]
    return lessons


def _run_all(folder, notebooks, seconds):
    """[(student, name of the notebook, Run)]"""
    runs = []
    for number, (student, path) in enumerate(notebooks, start=1):
        name = clean(path.relative_to(folder))
        print(f"{number} of {len(notebooks)}: {name}", file=sys.stderr, flush=True)
        runs.append((student, name, run(path, MIME, seconds)))
    return runs


# --- the tables ---


def report(runs, signs=SIGNS):
    """Lines to print.  runs: [(student, name of the notebook, Run)]."""
    answers = best(runs)
    lines = []
    for lesson, exercises in exercises_by_lesson().items():
        here = {
            student: {name: its[name] for name in exercises if name in its}
            for student, its in answers.items()
        }
        here = {student: its for student, its in here.items() if its}
        if here:
            lines += [lesson, "=" * len(lesson), "", *table(here, exercises, signs), ""]
    return [*lines, *notes(runs)]


def best(runs):
    """student -> exercise -> (passed, mistakes): right before wrong before not written."""
    answers = defaultdict(dict)
    rank = (None, False, True).index
    for student, _, done in runs:
        its = answers[student]
        for name, verdict in done.verdicts.items():
            if name not in its or rank(verdict[0]) >= rank(its[name][0]):
                its[name] = verdict
    return answers


def table(answers, exercises, signs):
    """Lines: students by exercises, a legend, and the most common mistake of each exercise."""
    made = Counter(
        clean(name) for its in answers.values() for _, names in its.values() for name in set(names)
    )
    common_first = sorted(made, key=lambda name: (-made[name], name))
    letters = dict(zip(common_first, _letters(), strict=False))

    def cell(its, exercise):
        if exercise not in its:
            return "-"
        passed, names = its[exercise]
        if passed is not False:
            return signs["right" if passed else "open"]
        return " ".join([signs["wrong"], *([letters[clean(name)] for name in names] or "?")])

    rows = {student: [cell(its, name) for name in exercises] for student, its in answers.items()}
    return [
        *_grid(rows, exercises),
        *_legend(letters, signs),
        "Most common mistake",
        *(
            f"  {line}"
            for name in exercises
            for line in _wrap(most_common(name, answers), WIDTH - 2)
        ),
    ]


def _letters():
    """a, b, ... z, aa, ab, ..."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _grid(rows, exercises):
    """The rows below the names of the exercises, in as many blocks as the width asks for."""
    left = max(len(_short(student)) for student in rows)
    widths = [
        max(len(name), *(len(cells[k]) for cells in rows.values()))
        for k, name in enumerate(exercises)
    ]
    lines, start = [], 0
    while start < len(exercises):
        end, used = start + 1, left + 2 + widths[start]
        while end < len(exercises) and used + 2 + widths[end] <= WIDTH:
            used += 2 + widths[end]
            end += 1
        for name, cells in {"": exercises, **rows}.items():
            columns = [f"{cells[k]:{widths[k]}}" for k in range(start, end)]
            lines.append("  ".join([f"{_short(name):{left}}", *columns]).rstrip())
        lines.append("")
        start = end
    return lines


def _short(name):
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[: half - 2]}..{name[-half:]}"


def _legend(letters, signs):
    parts = [
        f"{signs['right']} right",
        f"{signs['open']} not written",
        "- not in the notebook",
        f"{signs['wrong']} ? wrong, no cause established",
    ]
    return [
        "   ".join(parts),
        *(line for name, letter in letters.items() for line in _wrap(f"{letter} = {name}", WIDTH)),
        "",
    ]


def most_common(exercise, answers):
    """The mistake that most students made in this exercise, as a sentence."""
    verdicts = [its[exercise] for its in answers.values() if exercise in its]
    wrong = [names for passed, names in verdicts if passed is False]
    counts = Counter(clean(name) for names in wrong for name in set(names))
    if not wrong:
        return f"{exercise}: {'no wrong answer' if verdicts else 'in no notebook'}"
    if not counts:
        return f"{exercise}: no cause established, {len(wrong)} of {len(verdicts)}"
    most = max(counts.values())
    top = sorted(name for name, times in counts.items() if times == most)
    what = " / ".join(top) if len(top) <= 2 else f"{len(top)} different ones"
    each = " each" if len(top) > 1 else ""
    return f"{exercise}: {what}, {most} of {len(verdicts)}{each}"


def notes(runs):
    """Lines: what could not be run and why, and what else a table cannot show."""
    failed, raised, unknown = [], [], []
    for _, name, done in runs:
        why = clean(done.failed)
        if why and done.verdicts:
            why += "; what was checked before counts"
        if why or not done.verdicts:
            failed.append(f"{name}: {why or 'no check in it gave a verdict'}")
        if done.errors:
            cell, error = done.errors[0]
            more = f" (and {len(done.errors) - 1} more)" if len(done.errors) > 1 else ""
            raised.append(f"{name}: cell [{cell}] {clean(error)}{more}")
        strange = sorted(clean(exercise) for exercise in done.verdicts.keys() - CHECKED.keys())
        if strange:
            unknown.append(f"{name}: {', '.join(strange)}")
    return [
        *_note("Not run, or not to the end", failed),
        *_note("Cells that raised an error (the cells after them were run)", raised),
        *_note("Verdicts on exercises that the course does not have", unknown),
    ]


def _note(heading, entries):
    if not entries:
        return []
    return [heading, *(f"  {line}" for entry in entries for line in _wrap(entry, WIDTH - 2)), ""]


def _wrap(text, width):
    return textwrap.wrap(text, width, subsequent_indent="    ", break_on_hyphens=False)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Stopped.")
