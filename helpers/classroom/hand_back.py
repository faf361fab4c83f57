"""What a class gets back: points that Moodle and Canvas import, and a page for each student."""

import csv
import json
import re
import unicodedata

from ..checks.exercises import CHECKED
from .folder import exercises_by_lesson
from .table import best


def hand_back(runs, out):
    """Write moodle.csv, canvas.csv, points.json and feedback/*.txt into the folder out.

    runs: [(student, name of the notebook, Run)].
    """
    answers = best(runs)
    _write_csv(out / "moodle.csv", moodle(answers))
    _write_csv(out / "canvas.csv", canvas(answers))
    _write(out / "points.json", json.dumps(as_json(answers), ensure_ascii=False, indent=1))
    (out / "feedback").mkdir()
    failed = {student: done.failed for student, _, done in runs if done.failed}
    for number, (student, its) in enumerate(answers.items(), start=1):
        # A number, since names that differ may be one name to a disk.
        name = re.sub(r'[\s/\\:*?"<>|.]+', "_", student)[:60]
        page = feedback(student, its, failed.get(student))
        _write(out / "feedback" / f"{number:03d}_{name}.txt", page)


def _write(path, text):
    path.write_text(text, encoding="utf-8", errors="replace")  # half a pair may stand in it


def points(answers):
    """student -> lesson -> how many answers are right, of the lessons that somebody handed in;
    None of one that this student did not."""
    handed_in = {name for its in answers.values() for name in its}
    asked = {
        lesson: names
        for lesson, names in exercises_by_lesson().items()
        if not handed_in.isdisjoint(names)
    }
    return {
        student: {
            lesson: None
            if its.keys().isdisjoint(names)
            else sum(name in its and its[name].passed is True for name in names)
            for lesson, names in asked.items()
        }
        for student, its in answers.items()
    }


def moodle(answers):
    """Yield rows for Moodle's import of grades, where the teacher says what names a student: the
    user name, the e-mail address or the number; "-" is no grade."""
    table = points(answers)
    yield ["Student", *next(iter(table.values()), {})]
    for student, its in table.items():
        yield [student, *("-" if x is None else x for x in its.values())]


def canvas(answers):
    """Yield rows as Canvas exports and imports a gradebook: it finds a student by ID, else by
    login, else by name. The number in a file's name that Canvas made for download is the ID."""
    table = points(answers)
    names = [*next(iter(table.values()), {})]
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *names]
    most = [len(exercises_by_lesson()[name]) for name in names]
    yield ["    Points Possible", "", "", "", "", *most]
    for student, its in table.items():
        found = re.fullmatch(r".+?(?:_LATE)?_(\d+)_\d+", student, re.I)
        number, login = (found[1], "") if found else ("", student)
        yield [student, number, "", login, "", *("" if x is None else x for x in its.values())]


def _write_csv(path, rows):
    """In UTF-8 with a mark, from which Excel knows it."""
    with path.open("w", encoding="utf-8-sig", errors="replace", newline="") as file:
        csv.writer(file).writerows([_guarded(cell) for cell in row] for row in rows)


def _guarded(cell):
    """What a program for tables would take for a formula is a text to it, also in wide letters."""
    first = unicodedata.normalize("NFKC", str(cell)[:1])
    return f"'{cell}" if first and first in "=+-@" and cell != "-" else cell


def as_json(answers):
    """Return all that the table says, and the points."""

    def points_of(lesson, count):
        most = len(exercises_by_lesson()[lesson])
        return None if count is None else {"points": count, "of": most}

    return [
        {
            "student": student,
            "points": {name: points_of(name, count) for name, count in of.items()},
            "exercises": {
                name: {"passed": answer.passed, "mistakes": [*answer.mistakes]}
                for name, answer in answers[student].items()
                if name in CHECKED
            },
        }
        for student, of in points(answers).items()
    ]


def feedback(student, its, failed):
    """Return the page for a student: what the checks said."""
    lines = [f"Feedback for {student}"]
    lines += [f"A notebook was not run to its end: {failed}."] if failed else []
    for lesson, names in exercises_by_lesson().items():
        here = [its[name] for name in names if name in its]
        if here:
            right = sum(answer.passed is True for answer in here)
            lines += [f"{lesson}: {right} of {len(names)} right", *(answer.said for answer in here)]
    return "\n\n".join(lines) + "\n"
