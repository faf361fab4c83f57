"""Make the tables of a class: its mistakes, the most common first, and students by exercises."""

from collections import Counter, defaultdict

from .folder import exercises_by_lesson
from .read_notebook import keep_best

NOTES = "Not read, not run to the end, or with errors (only the first is shown; what ran counts)"
RIGHT, OPEN, WRONG, NAMELESS = "ok", "..", "x", "?"
LEGEND = f"{RIGHT} right   {OPEN} as handed out   - not in the notebook   {WRONG} wrong"


def report(runs):
    """Return the lines of the report.  runs: [(student, name of the file, Notebook)]."""
    answers = best(runs)
    lines = []
    for lesson, exercises in exercises_by_lesson().items():
        here = {name: own for name, own in answers.items() if not own.keys().isdisjoint(exercises)}
        if here:
            lines += [lesson, "=" * len(lesson), "", *table(here, exercises)]
    return [*lines, *notes(runs)]


def best(runs):
    """Return student -> exercise -> the best Answer in all notebooks."""
    answers = defaultdict(dict)
    for student, _, notebook in runs:
        own = answers[student]  # an empty dict for a notebook without answers
        for exercise, answer in notebook.verdicts.items():
            keep_best(own, exercise, answer)
    return answers


def table(answers, exercises, places=None):
    """Return lines: the mistakes with their numbers, and students by exercises.

    answers: as from best().  places: student -> the exercise that the student is working on.
    """
    made = defaultdict(Counter)  # mistake -> how many made it, in each exercise
    for own in answers.values():
        for exercise in exercises:
            for name in _mistakes(own.get(exercise)):
                made[name][exercise] += 1
    order = sorted(made, key=lambda name: (name == NAMELESS, -made[name].total(), name))
    numbers = {name: str(k) for k, name in enumerate(order, start=1)} | {NAMELESS: NAMELESS}

    def cell(student, exercise):
        here = ">" if places and places[student] == exercise else ""
        answer = answers[student].get(exercise)
        if answer is None:
            return f"{here}-"
        if answer.passed is not False:
            return here + (RIGHT if answer.passed else OPEN)
        return " ".join([here + WRONG, *(numbers[name] for name in _mistakes(answer))])

    rows = [["", *exercises]]
    rows += [[student, *(cell(student, name) for name in exercises)] for student in answers]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    legend = []
    for name in order:
        count = ", ".join(f"{exercise} {n}" for exercise, n in made[name].items())
        words = "wrong, without a name" if name == NAMELESS else name
        legend.append(f"{numbers[name]} = {words}: {count}")
    aligned = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return [*section("Mistakes, and how many students made them", legend), *aligned, LEGEND, ""]


def _mistakes(answer):
    """Return the names of the mistakes in an answer, each once."""
    wrong = answer is not None and answer.passed is False
    return [*dict.fromkeys(answer.mistakes)] or [NAMELESS] if wrong else []


def notes(runs):
    """Return lines: the notebooks that did not run to the end or raised an error."""
    entries = []
    for _, name, notebook in runs:
        said = [notebook.failed] if notebook.failed else []
        said += [f"cell [{cell}] {error}" for cell, error in notebook.errors[:1]]
        if not notebook.verdicts:
            said.append("none of its checks gave a verdict")
        if said:
            entries.append(f"{name}: {'; '.join(said)}")
    return section(NOTES, entries)


def section(heading, entries):
    """Return lines: a heading, its entries and an empty line; nothing without entries."""
    return [heading, *(f"  {entry}" for entry in entries), ""] if entries else []
