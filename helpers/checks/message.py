"""The text of a verdict: what is wrong, why (with the numbers that show it), and what to try."""

import textwrap
from dataclasses import dataclass

import numpy

from .results import clean, close, same, same_fact

WIDTH = 98
SHOWN = 3  # numbers of each side
TRY = "Try:"


@dataclass(frozen=True)
class Table:
    """caption: what the rows show; may be empty.  rows: tuples of cells, of which the first names
    the row.  numeric: are the other cells numbers, to be aligned right?"""

    caption: str
    rows: tuple[tuple[str, ...], ...]
    numeric: bool = True

    def lines(self):
        """Yield the rows as text, in columns."""
        columns = range(max(map(len, self.rows)))
        widths = [max(len(row[k]) for row in self.rows if k < len(row)) for k in columns]
        put = str.rjust if self.numeric else str.ljust
        for first, *others in self.rows:
            cells = map(put, others, widths[1:])
            yield " ".join([first.ljust(widths[0]), *cells]).rstrip()


@dataclass(frozen=True)
class Message:
    """The parts of a verdict, in the order in which they are shown; all may be empty.

    head: mark, exercise, what is wrong.  why: sentences.  table: the numbers.  advice: what to
    try.  after: a closing remark.  printed: a sentence, then lines that the student's code printed.
    """

    head: str = ""
    why: tuple[str, ...] = ()
    table: Table | None = None
    advice: str = ""
    after: str = ""
    printed: tuple[str, ...] = ()

    def text(self):
        """Return the message as plain text, wrapped; what follows a head is indented."""
        indent = "  " if self.head else ""
        lines = _wrap(self.head, "", indent)
        for sentence in (*self.why, self.table and self.table.caption):
            lines += _wrap(sentence, indent)
        for row in self.table.lines() if self.table else ():
            lines += _wrap(row, indent + "  ", indent + "    ")
        for sentence in (self.advice and f"{TRY} {self.advice}", self.after, *self.printed[:1]):
            lines += _wrap(sentence, indent)
        for line in self.printed[1:]:
            lines += _wrap(line, indent + "  ")
        return "\n".join(lines)


def _wrap(text, first, others=None):
    others = first if others is None else others
    return textwrap.wrap(text or "", WIDTH, initial_indent=first, subsequent_indent=others)


def shorten(text, width):
    return text if len(text) <= width else text[: width - 1] + "…"


def failure(submission, fact):
    """Return the Message for a wrong answer. fact: the Fact to state; of several mistakes the first
    is named, the others are counted."""
    exercise, k = submission.exercise, submission.wrong[0]
    partly = ""
    if submission.mine[k].stopped:
        partly = "Right so far." if k > 0 else ""
    elif (
        submission.cases[k].measure is submission.cases[0].measure
        and k > 0
        and not exercise.is_class
    ):
        partly = "Right on the first call; wrong later."
        if submission.repeats or submission.is_first_again(k):
            partly = f"Right on {submission.cases[0].label}; wrong on {submission.cases[k].label}."
    sentence, table = _what_is_wrong(submission, k)
    more = len(fact.names) - 1
    others = "another mistake" if more == 1 else f"{more} more mistakes"
    printed = clean(submission.mine[0].outcome.printed).splitlines()
    printed = [line for line in printed if line.strip()]
    title = f"Your {'class' if exercise.is_class else 'function'} printed:"
    return Message(
        f"✘ {exercise.name}: {fact.what}",
        why=tuple(filter(None, (partly, fact.why, sentence))),
        table=table,
        advice=fact.advice[:1].upper() + fact.advice[1:],
        after=f"There may be {others}; fix this one first." if more > 0 else "",
        printed=(title, *(shorten(line.strip(), WIDTH - 6) for line in printed[:3]))
        if printed
        else (),
    )


# --- numbers ---


def _what_is_wrong(submission, k):
    """Return (a sentence or "", a Table or None) that show what is wrong on case k."""
    label, mine, right = submission.cases[k].label, submission.mine[k], submission.right[k]
    first_is_right = 0 not in submission.wrong
    if first_is_right and not (submission.repeats or mine.changed or submission.is_first_again(k)):
        label = f"a second call with {submission.cases[0].label}"
        mine, right = submission.again[0], submission.right[0]
    said, numbers = difference(label, mine, right, submission.cases[k].split)
    if not mine.changed:
        return said, numbers
    sentence, table = _argument(label, submission, k, mine.changed)
    if same(mine.unchanged, right):
        return sentence, table
    if table is None:
        return sentence, numbers
    # One table is enough: the argument's, because that may have caused what else is wrong.
    return said or "Your result is also wrong.", table


def difference(label, mine, right, split=lambda x: {"": x}):
    """Return (a sentence or "", a Table or None) that compare the student's Result with ours.
    split: of numbers, see Case."""
    if mine.outcome.error is not None:
        text = complaint(mine.outcome)
        return f"On {label}: {text}{'' if text.endswith(('.', ')')) else '.'}", None
    if mine.instead:
        return f"On {label}, it returned {mine.instead}.", None
    if mine.observed is not None:
        rows = tuple(_observed(mine.observed, right.observed or {}))
        return "", Table(f"On {label}:", rows, numeric=False) if rows else None
    got, want = mine.numbers, right.numbers
    if got.shape == want.shape:
        wanted = split(want)
        pairs = [(name, x, wanted[name]) for name, x in split(got).items()]
        part, got, want = next((p for p in pairs if not close(*p[1:])), pairs[0])
        label = f"{part} after {label}" if part else label
        at, got, want = _side_by_side(got, want)
        return "", Table(f"On {label}{at}:", (("yours", *got), ("right", *want)))
    if got.dim() == 0:
        return f"On {label}, it returned a single number; the right shape is {_shape(want)}.", None
    of = " of your list" * isinstance(mine.outcome.value, list)
    text = f"On {label}, the shape{of} is {_shape(got)} but should be {_shape(want)}."
    if got.numel() == want.numel() and close(got.flatten(), want.flatten()):
        text += " The numbers themselves are right."
    return text, None


def _observed(mine, right):
    """Yield rows such as ("masks to train:", "yours 1,", "right 0"), of the facts that differ."""
    for name, value in mine.items():
        if name not in right:
            yield f"{name}:", f"yours {_shown(value)}"
        elif not same_fact(value, right[name]):
            should = "should be" if isinstance(value, bool) else "right"
            yield f"{name}:", f"yours {_shown(value)},", f"{should} {_shown(right[name])}"


def _shown(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, ".4g") if isinstance(value, float) else str(value)


def _argument(label, submission, k, changed):
    """Return what became of the first argument changed in place, in the form of difference()."""
    j, after = next(iter(changed.items()))
    before, name = submission.cases[k].args[j], f"`{submission.arguments[j]}`"
    if before.shape != after.shape:
        return f"On {label}, {name} had shape {_shape(before)}, then {_shape(after)}.", None
    at, after, before = _side_by_side(after, before)
    rows = ("before", *before), ("after", *after)
    return "", Table(f"Your change to {name}, on {label}{at}:", rows)


def _side_by_side(got, want):
    """Return a few numbers of each, from the first that can be seen to differ:
    (", from entry [1]", ["0.1000", "0.2000"], ["0.3000", "0.2000"])."""
    for style in (".4f", ".6g", ".9g") if want.is_floating_point() else (".6g", ".9g"):
        mine, right = ([number(x, style) for x in y.flatten().tolist()] for y in (got, want))
        differs = [a != b for a, b in zip(mine, right, strict=True)]
        if any(differs):
            break
    start = differs.index(True) if any(differs) else 0
    row = got.shape[-1] if got.dim() else 1
    shown = slice(start, min(start + SHOWN, start - start % row + row))
    place = [int(index) for index in numpy.unravel_index(start, got.shape)]
    at = f", {'entry' if len(mine[shown]) == 1 else 'from entry'} {place}" if place else ""
    return at, mine[shown], right[shown]


def number(x, style=".4f"):
    """Return x as text in this format, or with an exponent from a million up; never as -0."""
    x = float(x)
    text = format(x, style if abs(x) < 1e6 else ".3e")
    return text.removeprefix("-") if float(text) == 0 else text


def _shape(tensor):
    return str(tuple(tensor.shape))


def complaint(outcome):
    """Return the error as one sentence; if it has many lines, the first and the line of code."""
    first, *rest = clean(outcome.complaint()).splitlines() or [""]
    if rest and " (line " in rest[-1]:
        first += " (line " + rest[-1].rpartition(" (line ")[2]
    return shorten(first, 300)
