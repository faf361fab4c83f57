"""Show which student solved which exercise, and which mistakes were made, from saved results.

Every notebook below FOLDER is read as it was saved: no code is run, nothing is written into
FOLDER. The student has the name of the folder that the notebook is in (the first below FOLDER) or,
for a notebook directly in FOLDER, the name of the file without the name of the lesson; what a
learning platform adds to a name is left out. If a student tried an exercise more than once, the
best attempt counts.

A saved result can be forged. For points from answers that are run again: release --nbgrader.
"""

import csv
from collections import Counter, defaultdict
from pathlib import Path

from ...errors import InputError
from .folder import OTHERS, clean, find, missing
from .read_notebook import RIGHT, exercises_by_lesson, keep_best, read
from .table import counts, section, short, table

SAVED = "These are results saved in the notebooks. Nothing was run again, and anyone can forge one."


def add_options(parser):
    """Add what this command can be given to its parser."""
    parser.add_argument("folder", type=Path, help="the folder with the notebooks of the class")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="POINTS.csv",
        help="a new file: for each student and lesson, how many saved results are right",
    )


def main(options):
    """Print the tables. Return the exit code: 0, or 2 if something in FOLDER was not read."""
    lessons = exercises_by_lesson(options.lessons)
    notebooks, others, left_out = find(options.folder)
    if not notebooks and not others:
        more = "".join(f", but {what}: {n}" for what, n in left_out.items())
        raise InputError(f"There is no notebook (.ipynb) in {clean(options.folder)}{more}.")
    answers, failed, empty = defaultdict(dict), [], 0
    for student, path in notebooks:
        notebook = read(path)
        own = answers[student]  # an empty dict for a student without answers
        for exercise, answer in notebook.answers.items():
            keep_best(own, exercise, answer)
        if notebook.failed:
            failed.append(f"{clean(path.relative_to(options.folder))}: {notebook.failed}")
        empty += not notebook.failed and not notebook.answers
    for student, paths in missing(others, answers, lessons).items():
        names = [clean(path.relative_to(options.folder)) for path in paths]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        failed.append(f"{short(student)}: no notebook, but {', '.join(names[:3])}{more}")
    unread = [*failed, *(left_out.keys() - {OTHERS})]
    lines = [SAVED, "", *report(answers, lessons), *section("Damaged, or not read", failed)]
    lines += counts("Left out", left_out + Counter({"notebooks without an exercise": empty}))
    print("\n".join(lines))
    if options.out:
        write_points(answers, lessons, options.out)
    return 2 if unread else 0


def report(answers, lessons):
    """Return the lines of the tables.  answers: student -> exercise -> Answer.  lessons: as from
    exercises_by_lesson()."""
    lines = []
    for lesson, exercises in lessons.items():
        here = {name: own for name, own in answers.items() if not own.keys().isdisjoint(exercises)}
        if here:
            lines += [lesson, "=" * len(lesson), "", *table(here, exercises)]
    return lines


def write_points(answers, lessons, path):
    """Write for each student and lesson how many saved results are right; nothing for a lesson
    that was not handed in. Raises OSError if the file exists."""
    asked = {exercise for own in answers.values() for exercise in own}
    lessons = {lesson: names for lesson, names in lessons.items() if asked & {*names}}
    rows = [["Student", *(f"{x}, saved, of {len(names)}" for x, names in lessons.items())]]
    for student, own in answers.items():
        row = ["'" + student if student[0] in "=+@-" else student]  # no formula for a spreadsheet
        for names in lessons.values():
            tried = [own[name].state for name in names if name in own]
            row.append(tried.count(RIGHT) if tried else "")
        rows.append(row)
    # With a byte order mark, for Excel. A name may contain half of a surrogate pair.
    with path.open("x", encoding="utf-8-sig", errors="replace", newline="") as file:
        csv.writer(file).writerows(rows)
