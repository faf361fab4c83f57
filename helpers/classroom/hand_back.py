"""What a class gets back: points that Moodle and Canvas import, and a page for each student."""

import csv
import html
import json
import re
import unicodedata

import nbformat
from nbconvert.filters import markdown2html

from ..checks.exercises import CHECKED
from .folder import exercises_by_lesson, lessons
from .release import CHECK, without_folds
from .table import best

STYLE = """
body { font: 1.05rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto }
section { border-left: 6px solid #808080; padding-left: 1rem; margin: 2rem 0 }
section.right { border-color: #388e3c } section.wrong { border-color: #d32f2f }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
"""
WORDS = {True: "right", False: "not right yet", None: "not written yet"}


def hand_back(runs, out):
    """Write moodle.csv, canvas.csv, points.json and feedback/*.html into the folder out.

    runs: [(student, name of the notebook, Run)].
    """
    answers = best(runs)
    out.mkdir(parents=True, exist_ok=True)
    _write_csv(out / "moodle.csv", moodle(answers))
    _write_csv(out / "canvas.csv", canvas(answers))
    text = json.dumps(as_json(answers), ensure_ascii=False, indent=1)
    (out / "points.json").write_text(text, encoding="utf-8", errors="replace")
    (out / "feedback").mkdir()
    said, asked = _said(runs, answers), asked_in_lessons()
    failed = {student: done.failed for student, _, done in runs if done.failed}
    for number, (student, its) in enumerate(answers.items(), start=1):
        # A number, since names that differ may be one name to a disk.
        name = re.sub(r'[\s/\\:*?"<>|.]+', "_", student)[:60]
        page = feedback(student, its, said[student], asked, failed.get(student))
        path = out / "feedback" / f"{number:03d}_{name}.html"
        path.write_text(page, encoding="utf-8", errors="replace")  # half a pair may stand in it


# --- points ---


def points(answers):
    """student -> lesson -> (points, most points), of the lessons that somebody handed in; None of
    one that this student did not. A right answer is a point."""
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
            else (sum(its.get(name, [None])[0] is True for name in names), len(names))
            for lesson, names in asked.items()
        }
        for student, its in answers.items()
    }


def moodle(answers):
    """Rows for Moodle's import of grades, where the teacher says what names a student: the user
    name, the e-mail address or the number; "-" is no grade."""
    table = points(answers)
    names = [*next(iter(table.values()), {})]
    yield ["Student", *names]
    for student, its in table.items():
        yield [student, *("-" if its[name] is None else its[name][0] for name in names)]


def canvas(answers):
    """Rows as Canvas exports and imports a gradebook: it finds a student by ID, else by login, else
    by name. The number in the name of a file that Canvas made for download is the ID."""
    table = points(answers)
    names = [*next(iter(table.values()), {})]
    lengths = {name: len(exercises_by_lesson()[name]) for name in names}
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *names]
    yield ["    Points Possible", "", "", "", "", *lengths.values()]
    for student, its in table.items():
        found = re.fullmatch(r".+?(?:_LATE)?_(\d+)_\d+", student, re.I)
        number, login = (found[1], "") if found else ("", student)
        scores = ["" if its[name] is None else its[name][0] for name in names]
        yield [student, number, "", login, "", *scores]


def _write_csv(path, rows):
    """In UTF-8 with a mark, from which Excel knows it."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([_guarded(cell) for cell in row] for row in rows)


def _guarded(cell):
    """What a program for tables would take for a formula is a text to it, also in wide letters."""
    first = unicodedata.normalize("NFKC", str(cell)[:1])
    return f"'{cell}" if first and first in "=+-@" and cell != "-" else cell


def as_json(answers):
    """All that the table says, and the points."""
    table = points(answers)
    return [
        {
            "student": student,
            "points": {name: its and {"points": its[0], "of": its[1]} for name, its in of.items()},
            "exercises": {
                name: {"passed": passed, "mistakes": [*names]}
                for name, (passed, names, _) in answers[student].items()
                if name in CHECKED
            },
        }
        for student, of in table.items()
    ]


# --- feedback ---


def asked_in_lessons():
    """exercise -> the text that asks for it, in Markdown, without what is folded."""
    asked, text = {}, ""
    for path in lessons():
        for cell in without_folds(
            nbformat.read(path, as_version=4), ("solutions", "hints", "answers")
        ).cells:
            if cell.cell_type == "markdown":
                text = cell.source
            elif found := CHECK.search(cell.source):
                asked[found[1]] = text.rpartition("### ")[2].partition("\n")[2]
    return asked


def _said(runs, answers):
    """student -> exercise -> what the check said to the answer that counts."""
    said = {student: {} for student in answers}
    for student, _, done in runs:
        for exercise, (passed, *_) in done.verdicts.items():
            if passed is answers[student][exercise][0]:
                said[student][exercise] = done.said.get(exercise, "")
    return said


def own(said):
    """What a check said, without the numbers that only it knows: what is right on its arguments,
    and the arguments."""
    said = re.sub(r"\n    (right|before) .*", "", said)
    said = re.sub(r"(\n    .*?),? +right .*", r"\1", said)
    return re.sub(r"On [^:;]*? lies\s+between [^;]*;\s+(yours\s+is)", r"On that, \1", said)


def feedback(student, its, said, asked, failed):
    """The page for a student, as HTML: what was asked, what the numbers show, what to try."""
    title = f"Feedback for {student}"
    parts = [f"<p>A notebook was not run to its end: {html.escape(failed)}.</p>"] if failed else []
    for lesson, names in exercises_by_lesson().items():
        here = [name for name in names if name in its]
        right = sum(its[name][0] is True for name in here)
        if here:
            parts.append(f"<h2>{lesson}: {right} of {len(names)}</h2>")
        for name in here:
            passed = its[name][0]
            kind = {True: "right", False: "wrong"}.get(passed, "open")
            parts += [
                f'<section class="{kind}"><h3>{name}: {WORDS[passed]}</h3>',
                markdown2html(asked.get(name, "")),
                f"<p><code>{html.escape(CHECKED[name].signature)}</code></p>",
                "" if passed is not False else f"<pre>{html.escape(own(said.get(name, '')))}</pre>",
                "</section>",
            ]
    body = "\n".join(filter(None, parts))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>\n<body>"
        f"<h1>Feedback for <bdi>{html.escape(student)}</bdi></h1>\n{body}\n</body></html>\n"
    )
