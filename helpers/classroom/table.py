"""The tables of a class: students by exercises, a letter for each mistake, the most common one."""

import re
import textwrap
import unicodedata
from collections import Counter, defaultdict
from itertools import chain, count, product
from statistics import multimode
from string import ascii_lowercase

from ..checks.exercises import CHECKED
from ..checks.message import WIDTH
from ..checks.unnamed import PRINT
from .folder import clean, exercises_by_lesson

LONGEST_NAME = 40
DOUBLED = "One name with several notebooks of a lesson. Several students? Make a folder for each"
RIGHT, OPEN, WRONG = "ok", "..", "x"  # in every encoding, and as wide in every terminal


def report(runs):
    """Lines to print.  runs: [(student, name of the notebook, Run)]."""
    answers = best(runs)
    lines = []
    for lesson, exercises in exercises_by_lesson().items():
        here = {name: its for name, its in answers.items() if not its.keys().isdisjoint(exercises)}
        if here:
            common = _wrapped((most_common(name, here) for name in exercises), indent="  ")
            lines += [lesson, "=" * len(lesson), "", *table(here, exercises)]
            lines += ["", "Most common mistake", *common, *nameless(here, exercises), ""]
    return [*lines, *notes(runs)]


def best(runs):
    """student -> exercise -> (passed, mistakes, unnamed): right before wrong before not written."""
    answers = defaultdict(dict)
    rank = (None, False, True).index
    for student, _, done in runs:
        its = answers[student]
        for exercise, (passed, names, unnamed) in done.verdicts.items():
            if exercise not in its or rank(passed) >= rank(its[exercise][0]):
                its[exercise] = passed, tuple(dict.fromkeys(map(clean, names))), unnamed
    return answers


def table(answers, exercises, places=None):
    """Lines: students by exercises, and a legend.

    answers: as of best(), of which each student has one at least.  places: student -> the
    exercise where the student is.
    """
    cells = [its[name] for its in answers.values() for name in exercises if name in its]
    made = Counter(name for _, names, _ in cells for name in names)
    common_first = sorted(made, key=lambda name: (-made[name], name))
    # a, b, ... z, aa, ab, ...
    words = (map("".join, product(ascii_lowercase, repeat=length)) for length in count(1))
    letters = dict(zip(common_first, chain.from_iterable(words), strict=False))

    def cell(its, exercise):
        if exercise not in its:
            return "-"
        passed, names, _ = its[exercise]
        if passed is not False:
            return RIGHT if passed else OPEN
        return " ".join([WRONG, *([letters[name] for name in names] or "?")])

    def marked(student, exercise):
        here = places and places[student] == exercise
        return f"{'>' * bool(here)}{cell(answers[student], exercise)}"

    rows = {student: [marked(student, name) for name in exercises] for student in answers}
    return [
        *_grid(rows, exercises),
        f"{RIGHT} right   {OPEN} not written   - not in the notebook   "
        f"{WRONG} ? wrong, no cause established",
        *_wrapped(f"{letter} = {name}" for name, letter in letters.items()),
    ]


def _grid(rows, exercises):
    """The rows below the names of the exercises, in as many blocks as the width asks for."""
    left = max(_columns(_short(student)) for student in rows)
    widths = [max(map(len, column)) for column in zip(exercises, *rows.values(), strict=True)]
    lines, start = [], 0
    while start < len(exercises):
        end, used = start + 1, left + 2 + widths[start]
        while end < len(exercises) and used + 2 + widths[end] <= WIDTH:
            used += 2 + widths[end]
            end += 1
        for name, cells in {"": exercises, **rows}.items():
            columns = [f"{cells[k]:{widths[k]}}" for k in range(start, end)]
            space = " " * (left - _columns(_short(name)))
            lines.append("  ".join([f"{_short(name)}{space}", *columns]).rstrip())
        lines.append("")
        start = end
    return lines


def _columns(text):
    """That it takes in a terminal: two for each letter of some scripts, none for a mark on one."""
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me")
        else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _short(name):
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[: half - 2]}..{name[-half:]}"


def most_common(exercise, answers):
    """The mistake that most students made in this exercise, as a sentence."""
    verdicts = [its[exercise] for its in answers.values() if exercise in its]
    wrong = [names for passed, names, _ in verdicts if passed is False]
    named = [name for names in wrong for name in names]
    if not wrong:
        return f"{exercise}: {'no wrong answer' if verdicts else 'in no notebook'}"
    if not named:
        return f"{exercise}: no cause established, {len(wrong)} of {len(verdicts)}"
    top = sorted(multimode(named))
    what = " / ".join(top) if len(top) <= 2 else f"{len(top)} different ones"
    each = " each" if len(top) > 1 else ""
    return f"{exercise}: {what}, {named.count(top[0])} of {len(verdicts)}{each}"


def nameless(answers, exercises):
    """Lines: the wrong answers without a name, those together that give the same numbers, or
    where there are none, are told the same."""
    lines = []
    for exercise in exercises:
        groups = defaultdict(list)
        for student, its in answers.items():
            match its.get(exercise):
                case False, (), (alike, said):
                    alike = f" {alike}" if re.fullmatch(PRINT, alike) else ""
                    groups[alike or said].append((_short(student), alike, clean(said)))
        for members in sorted(groups.values(), key=len, reverse=True):
            students, (alike, *_), (said, *_) = zip(*members, strict=True)
            who = f"{len(students)} student{'s' * (len(students) > 1)}: {', '.join(students)}"
            lines.append(f"{exercise}{alike}, {who}: {said}")
    heading = "Wrong answers that nobody has named yet; those that give the same numbers together"
    return ["", heading, *_wrapped(lines, indent="  ")] if lines else []


def notes(runs):
    """Lines: what could not be run and why, and what else a table cannot show."""
    failed, raised, unknown, doubled, seen = [], [], [], [], {}
    for student, name, done in runs:
        for exercise in done.verdicts:
            seen.setdefault((student, exercise), []).append(name)
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
    for (student, _), names in seen.items():
        if len(names) > 1:
            doubled.append(f"{student}: {', '.join(names)}")
    lines = []
    for heading, entries in (
        (DOUBLED, [*dict.fromkeys(doubled)]),
        ("Not read, or not run to the end", failed),
        ("Cells that raised an error (the cells after them were run)", raised),
        ("Verdicts on exercises that the course does not have", unknown),
    ):
        if entries:
            lines += [heading, *_wrapped(entries, indent="  "), ""]
    return lines


def _wrapped(entries, indent=""):
    """The lines of all entries; what does not fit beside the start of one stands further in."""
    more = indent + "    "
    wrap = textwrap.TextWrapper(WIDTH, indent, more, break_on_hyphens=False).wrap
    return [line for entry in entries for line in wrap(entry)]
