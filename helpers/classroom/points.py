"""Write points that Moodle and Canvas import: for each lesson, the number of right answers."""

import csv
import json
import re

from .folder import exercises_by_lesson


def write_points(answers, out):
    """Write moodle.csv, canvas.csv and points.json into the folder out.

    answers: student -> exercise -> Answer.
    """
    asked = {exercise for own in answers.values() for exercise in own}
    lessons = {name: x for name, x in exercises_by_lesson().items() if asked & {*x}}
    table = {student: points(own, lessons) for student, own in answers.items()}
    # In Moodle the teacher chooses what names a student: user name, e-mail address or number.
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
                for name, answer in own.items()
            },
        }
        for student, own in answers.items()
    ]
    text = json.dumps(full, indent=1)  # in ASCII: a name may contain a lone surrogate
    (out / "points.json").write_text(text, encoding="utf-8")


def points(own, lessons):
    """Return for each lesson how many of a student's answers are right; None for a lesson that was
    not handed in."""
    return [
        sum(name in own and own[name].passed is True for name in names)
        if not own.keys().isdisjoint(names)
        else None
        for names in lessons.values()
    ]


def _canvas_keys(student):
    """Return the keys by which Canvas finds a student: the ID that it writes into file names, or
    the login."""
    found = re.fullmatch(r".+?(?:_LATE)?_(\d+)_\d+", student, re.I)
    return [found[1], "", "", ""] if found else ["", "", student, ""]


def _write_csv(path, rows):
    """Write rows in UTF-8 with a byte order mark, for Excel, which must read formulas as text."""
    rows = [[f"'{x}" if re.match("[=+@]|-.", str(x)) else x for x in row] for row in rows]
    with path.open("w", encoding="utf-8-sig", errors="replace", newline="") as file:
        csv.writer(file).writerows(rows)
