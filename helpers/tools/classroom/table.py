"""Make the tables of a class: mistakes and guesses, the most common first; who is where."""

import unicodedata
from collections import Counter, defaultdict

from .read_notebook import ERROR, NAMELESS, NOT_RUN, OPEN, RIGHT, WRONG, questions

WIDEST = 30  # columns for a name
LEGEND = (
    f"{RIGHT} right   {WRONG} wrong   {ERROR} its cell ended in an error   "
    f"{NOT_RUN} no result is saved   {OPEN} as handed out   - not in the notebook"
)


def table(answers, exercises, places=None):
    """Return lines: the mistakes with their numbers, and students by exercises.

    answers: student -> exercise -> Answer.  places: student -> the exercise that the student is
    working on.
    """
    made = defaultdict(Counter)  # mistake -> how many made it, in each exercise
    for own in answers.values():
        for exercise in exercises:
            for name in own[exercise].mistakes if exercise in own else ():
                made[name][exercise] += 1
    order = sorted(made, key=lambda name: (name == NAMELESS, -made[name].total(), name))
    numbers = {name: str(k) for k, name in enumerate(order, start=1)} | {NAMELESS: NAMELESS}

    def cell(student, exercise):
        here = ">" if places and places[student] == exercise else ""
        answer = answers[student].get(exercise)
        if answer is None:
            return f"{here}-"
        return " ".join([here + answer.state, *(numbers[name] for name in answer.mistakes)])

    rows = [["", *exercises]]
    rows += [[short(student), *(cell(student, name) for name in exercises)] for student in answers]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    legend = []
    for name in order:
        count = ", ".join(f"{exercise} {n}" for exercise, n in made[name].items())
        words = "wrong, without a name" if name == NAMELESS else name
        legend.append(f"{numbers[name]} = {words}: {count}")
    aligned = ("  ".join(map(_padded, row, widths)).rstrip() for row in rows)
    return [*section("Mistakes, and how many students made them", legend), *aligned, LEGEND, ""]


def width(text):
    """Return how many columns of a terminal a text takes: an East Asian letter has two."""
    marks = sum(map(bool, map(unicodedata.combining, text)))
    return len(text) - marks + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def short(text):
    """Return a name that leaves room for a table; both its ends are kept."""
    if width(text) <= WIDEST:
        return text
    first, last = text, ""
    while width(first) > WIDEST // 2:
        first = first[:-1]
    while width(text[-len(last) - 1 :]) < WIDEST // 2:
        last = text[-len(last) - 1 :]
    return f"{first}…{last}"


def _padded(text, columns):
    return text + " " * (columns - width(text))


def tally(guesses):
    """Return lines: how many guessed what.  guesses: of each student, question -> texts."""
    lines = []
    for question, asked in questions().items():
        given = [own[question] for own in guesses if question in own]
        counted = Counter(text for guess in given for text in guess)
        order = asked["choices"] or sorted(counted, key=float)
        row = " | ".join(f"{text}: {counted[text]}" for text in order)
        lines += [f"{question} ({len(given)} of {len(guesses)})", f"  {row}"] * bool(given)
    return section("Guesses", lines)


def section(heading, entries):
    """Return lines: a heading, its entries and an empty line; nothing without entries."""
    return [heading, *(f"  {entry}" for entry in entries), ""] if entries else []


def counts(heading, left_out):
    """Return the lines of a section.  left_out: {what: how many}."""
    return section(heading, [f"{what}: {n}" for what, n in sorted(left_out.items())])
