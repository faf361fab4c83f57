"""Points that Moodle and Canvas import: for each lesson, how many answers are right."""

import csv
import json
import re

from .folder import exercises_by_lesson


def write_points(answers, out):
    """Write moodle.csv, canvas.csv and points.json into the folder out.

    answers: student -> exercise -> Answer.
    """
    asked = {exercise for its in answers.values() for exercise in its}
    lessons = {name: x for name, x in exercises_by_lesson().items() if asked & {*x}}
    table = {student: points(its, lessons) for student, its in answers.items()}
    # Moodle's teacher says what names a student: the user name, the e-mail address, the number.
    moodle = [[name, *("-" if x is None else x for x in row)] for name, row in table.items()]
    _write_csv(out / "moodle.csv", [["Student", *lessons], *moodle])
    canvas = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *lessons]]
    canvas.append(["    Points Possible", "", "", "", "", *map(len, lessons.values())])
    canvas += [[name, *_canvas_keys(name), *row] for name, row in table.items()]
    _write_csv(out / "canvas.csv", canvas)
    full = [
        {
            "student": student,
            "points": dict(zip(lessons, table[student], strict=True)),
            "exercises": {
                name: {"passed": answer.passed, "mistakes": answer.mistakes}
                for name, answer in its.items()
            },
        }
        for student, its in answers.items()
    ]
    text = json.dumps(full, indent=1)  # in ASCII: half a pair of code units may stand in it
    (out / "points.json").write_text(text, encoding="utf-8")


def points(its, lessons):
    """Return for each lesson how many of a student's answers are right; None of one that was not
    handed in."""
    return [
        sum(name in its and its[name].passed is True for name in names)
        if not its.keys().isdisjoint(names)
        else None
        for names in lessons.values()
    ]


def _canvas_keys(student):
    """By which Canvas finds a student: the ID that it writes into names of files, or the login."""
    found = re.fullmatch(r".+?(?:_LATE)?_(\d+)_\d+", student, re.I)
    return [found[1], "", "", ""] if found else ["", "", student, ""]


def _write_csv(path, rows):
    """In UTF-8 with a mark, from which Excel knows it; a formula is a text to it."""
    rows = [[f"'{x}" if re.match("[=+@]|-.", str(x)) else x for x in row] for row in rows]
    with path.open("w", encoding="utf-8-sig", errors="replace", newline="") as file:
        csv.writer(file).writerows(rows)
