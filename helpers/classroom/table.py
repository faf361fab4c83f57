"""The tables of a class: students by exercises, a number for each mistake, the most common one."""

import re
import textwrap
from collections import Counter, defaultdict
from statistics import multimode

from wcwidth import wcswidth

from ..checks.exercises import CHECKED
from ..checks.message import WIDTH
from ..checks.unnamed import PRINT
from .folder import clean, exercises_by_lesson
from .read_notebook import keep_best

LONGEST_NAME = 40
DOUBLED = "One name with several notebooks of a lesson. Several students? Make a folder for each"
UNNAMED = "Wrong answers that nobody has named yet; those that give the same numbers together"
RIGHT, OPEN, WRONG = "ok", "..", "x"  # in every encoding, and as wide in every terminal
LEGEND = (
    f"{RIGHT} right   {OPEN} not written   - not in the notebook   {WRONG} ? wrong, without a name"
)


def report(runs):
    """Return lines to print.  runs: [(student, name of the notebook, Run)]."""
    answers = best(runs)
    lines = []
    for lesson, exercises in exercises_by_lesson().items():
        here = {name: its for name, its in answers.items() if not its.keys().isdisjoint(exercises)}
        if here:
            common = [most_common(name, here) for name in exercises]
            lines += [lesson, "=" * len(lesson), "", *table(here, exercises), ""]
            lines += section("Most common mistake", common)
            lines += section(UNNAMED, nameless(here, exercises))
    return [*lines, *notes(runs)]


def best(runs):
    """student -> exercise -> the best Answer, of all notebooks."""
    answers = defaultdict(dict)
    for student, _, done in runs:
        its = answers[student]
        for exercise, answer in done.verdicts.items():
            keep_best(its, exercise, answer)
    return answers


def table(answers, exercises, places=None):
    """Return lines: students by exercises, and a legend.

    answers: as of best().  places: student -> the exercise where the student is.
    """
    wrong = [its[name] for its in answers.values() for name in exercises if name in its]
    made = Counter(sorted(clean(name) for answer in wrong for name in answer.mistakes))
    numbers = {name: str(k) for k, (name, _) in enumerate(made.most_common(), start=1)}

    def cell(student, exercise):
        here = ">" if places and places[student] == exercise else ""
        answer = answers[student].get(exercise)
        if answer is None:
            return f"{here}-"
        if answer.passed is not False:
            return here + (RIGHT if answer.passed else OPEN)
        names = dict.fromkeys(map(clean, answer.mistakes))
        return " ".join([here + WRONG, *([numbers[name] for name in names] or "?")])

    rows = {student: [cell(student, name) for name in exercises] for student in answers}
    legend = [f"{number} = {name}" for name, number in numbers.items()]
    return [*_grid(rows, exercises), LEGEND, *_wrapped(legend)]


def _grid(rows, exercises):
    """The rows below the names of the exercises, in as many blocks as the width asks for."""
    names = ["", *map(_short, rows)]
    left = max(map(wcswidth, names))
    start = [name + " " * (left - wcswidth(name)) for name in names]
    done, block = [], start
    for column in zip(exercises, *rows.values(), strict=True):
        width = max(map(len, column))
        if block is not start and len(block[0]) + 2 + width > WIDTH:
            done, block = [*done, *block, ""], start
        block = [f"{line}  {cell:{width}}" for line, cell in zip(block, column, strict=True)]
    return [line.rstrip() for line in [*done, *block, ""]]


def _short(name):
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[: half - 2]}..{name[-half:]}"


def most_common(exercise, answers):
    """Return the mistake that most students made in this exercise, as a sentence."""
    here = [its[exercise] for its in answers.values() if exercise in its]
    wrong = [answer.mistakes for answer in here if answer.passed is False]
    named = [clean(name) for names in wrong for name in names]
    if not wrong:
        return f"{exercise}: {'no wrong answer' if here else 'in no notebook'}"
    if not named:
        return f"{exercise}: without a name, {len(wrong)} of {len(here)}"
    top = sorted(multimode(named))
    each = " each" if len(top) > 1 else ""
    return f"{exercise}: {' / '.join(top)}, {named.count(top[0])} of {len(here)}{each}"


def nameless(answers, exercises):
    """Return lines: the wrong answers without a name, those together that give the same numbers,
    or where there are none, are told the same."""
    lines = []
    for exercise in exercises:
        groups = defaultdict(list)
        for student, its in answers.items():
            match its.get(exercise):
                case (False, (), (alike, said), *_):
                    alike = f" {alike}" if re.fullmatch(PRINT, alike) else ""
                    groups[alike, "" if alike else said].append((_short(student), said))
        for (alike, _), members in sorted(groups.items(), key=lambda group: -len(group[1])):
            students, said = zip(*members, strict=True)
            who = f"{len(students)} student{'s' * (len(students) > 1)}: {', '.join(students)}"
            lines.append(f"{exercise}{alike}, {who}: {clean(said[0])}")
    return lines


def notes(runs):
    """Return lines: what could not be run and why, and what else a table cannot show."""
    failed, raised, seen = [], [], defaultdict(list)
    for student, name, done in runs:
        for exercise in done.verdicts.keys() & CHECKED.keys():
            seen[student, exercise].append(name)
        why = clean(done.failed) or "no check in it gave a verdict"
        if done.failed and done.verdicts:
            why += "; what was checked before counts"
        if done.failed or not done.verdicts:
            failed.append(f"{name}: {why}")
        if done.errors:
            cell, error = done.errors[0]
            more = f" (and {len(done.errors) - 1} more)" if len(done.errors) > 1 else ""
            raised.append(f"{name}: cell [{cell}] {clean(error)}{more}")
    doubled = [f"{who}: {', '.join(names)}" for (who, _), names in seen.items() if len(names) > 1]
    return [
        *section(DOUBLED, dict.fromkeys(doubled)),
        *section("Not read, or not run to the end", failed),
        *section("Cells that raised an error (the cells after them were run)", raised),
    ]


def section(heading, entries):
    """Return lines: the heading, the entries below it, and an empty one; none for no entries."""
    return [heading, *_wrapped(entries, "  "), ""] if entries else []


def _wrapped(entries, indent=""):
    """The lines of all entries; what does not fit beside the start of one stands further in."""
    more = indent + "    "
    wrap = textwrap.TextWrapper(WIDTH, indent, more, break_on_hyphens=False).wrap
    return [line for entry in entries for line in wrap(entry)]
