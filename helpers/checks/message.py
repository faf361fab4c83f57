"""What a verdict says: what is wrong, why (with the numbers that show it), what to try."""

import textwrap
from dataclasses import dataclass
from itertools import chain

import numpy

from . import slips
from .results import clean, close, factor, same, same_fact
from .slips import Fact
from .texts import text_of

WIDTH = 98
SHOWN = 3  # numbers of each side
TRY = "Try:"
ALIKE = "Your code gives the same numbers as others that were given this name."  # by a teacher


@dataclass(frozen=True)
class Table:
    """caption: what the rows are of; may be empty.  rows: of cells, the first of each names
    its row.  numeric: are the other cells numbers, which stand right in their columns?"""

    caption: str
    rows: tuple[tuple[str, ...], ...]
    numeric: bool = True

    def lines(self):
        """The rows as text, in columns."""
        columns = range(max(map(len, self.rows)))
        widths = [max(len(row[k]) for row in self.rows if k < len(row)) for k in columns]
        put = str.rjust if self.numeric else str.ljust
        for first, *others in self.rows:
            cells = map(put, others, widths[1:])
            yield " ".join([first.ljust(widths[0]), *cells]).rstrip()


@dataclass(frozen=True)
class Message:
    """What a verdict says, in this order, be it as plain text or as HTML; all may be empty.

    head: mark, exercise, what is wrong.  gone: what is no longer wrong.  why: sentences.
    table: the numbers.  advice: what to try.  after: what else there is to say.
    printed: a sentence, then lines that the student's code printed.
    """

    head: str = ""
    gone: str = ""
    why: tuple[str, ...] = ()
    table: Table | None = None
    advice: str = ""
    after: str = ""
    printed: tuple[str, ...] = ()

    def text(self):
        """As plain text, wrapped; what follows a head is indented."""
        indent = "  " if self.head else ""
        lines = _wrap(self.head, "", indent)
        for sentence in (self.gone, *self.why, self.table and self.table.caption):
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


def failure(seen, found, gone=()):
    """The Message for a wrong answer.

    found: the mistakes that are established, in the order in which the computation runs. The
    first is told, the others are counted; if there are none, what can be seen is told.
    gone: names of those that were told before and are established not to be there now.
    """
    exercise, k = seen.exercise, seen.wrong[0]
    if found:
        text = text_of(found[0], exercise.texts or exercise.name)
        what, advice, why = f"{found[0].name}.", text.advice, text.why
        if found[0].is_alike:
            why = f"{why} {ALIKE}".strip()
    else:
        what, advice, why = fact(seen, k)
    partly = f"Right on {seen.probes[0].label}, wrong on {seen.probes[k].label}."
    sentence, table = _evidence(seen, k)
    more = len(found) - 1
    come = "mistake comes" if more == 1 else "mistakes come"
    printed = [line for line in clean(seen.mine[0].outcome.printed).splitlines() if line.strip()]
    title = f"Your {'class' if exercise.is_class else 'function'} printed:"
    return Message(
        f"✘ {exercise.name}: {what}",
        gone=f"Gone: {'; '.join(gone)}." if gone else "",
        why=tuple(filter(None, (k > 0 and not exercise.is_class and partly, why, sentence))),
        table=table,
        advice=advice[:1].upper() + advice[1:],
        after=f"{more} more {come} after it; mend this one first." if more > 0 else "",
        printed=(title, *(shorten(line.strip(), WIDTH - 6) for line in printed[:3]))
        if printed
        else (),
    )


# --- numbers ---


def _evidence(seen, k):
    """(a sentence or "", a Table or None) that show what is wrong on probe k."""
    label, mine, right = seen.probes[k].label, seen.mine[k], seen.right[k]
    if not (seen.repeats or mine.changed or seen.is_first_again(k)):
        label = f"{seen.probes[0].label}, called once more"
        mine, right = seen.again[0], seen.right[0]
    said, numbers = difference(label, mine, right)
    if not mine.changed:
        return said, numbers
    sentence, table = _argument(label, seen.probes[k], mine.changed)
    if same(mine.unchanged, right):
        return sentence, table
    if table is None:
        return sentence, numbers
    # One table is enough: the argument's, because what else is wrong may come from it.
    return said or "What it returned there is wrong too.", table


def difference(label, mine, right):
    """(a sentence or "", a Table or None): what the student's code gave, beside what is right."""
    if mine.outcome.error is not None:
        text = complaint(mine.outcome)
        return f"On {label}: {text}{'' if text.endswith(('.', ')')) else '.'}", None
    if mine.instead:
        return f"On {label} it returned {mine.instead}.", None
    if mine.observed is not None:
        rows = tuple(_observed(mine.observed, right.observed or {}))
        return "", Table(f"On {label}:", rows, numeric=False) if rows else None
    got, want = mine.numbers, right.numbers
    if got.shape == want.shape:
        at, got, want = _beside(got, want)
        return "", Table(f"On {label}{at}:", (("yours", *got), ("right", *want)))
    if got.dim() == 0:
        return f"On {label} it returned one single number; right is shape {_shape(want)}.", None
    text = f"On {label} the shape is {_shape(got)}; right is {_shape(want)}."
    if got.numel() == want.numel() and close(got.flatten(), want.flatten()):
        text += " The numbers themselves are right."
    return text, None


def _observed(mine, right):
    """Rows such as ("matrices to train:", "yours 0,", "right 3"), of the facts that differ."""
    for name, value in mine.items():
        if name not in right:
            yield f"{name}:", _shown(value)
        elif not same_fact(value, right[name]):
            yield f"{name}:", f"yours {_shown(value)},", f"right {_shown(right[name])}"


def _shown(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, ".4g") if isinstance(value, float) else str(value)


def _argument(label, probe, changed):
    """What became of the first argument that was changed in place: as difference."""
    k, after = next(iter(changed.items()))
    before, your = probe.args[k], f"On {label} your argument"
    if before.shape != after.shape:
        return f"{your} had shape {_shape(before)}, then {_shape(after)}.", None
    at, after, before = _beside(after, before)
    return "", Table(f"{your}{at}:", (("before", *before), ("after", *after)))


def _beside(got, want):
    """(", from entry [1]", ["0.1000", "0.2000"], ["0.1000", "0.3000"]): a few numbers of each,
    from the first that can be seen to differ."""
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
    x = float(x)
    text = format(x, style if abs(x) < 1e6 else ".3e")
    return text.removeprefix("-") if float(text) == 0 else text


def _shape(tensor):
    return str(tuple(tensor.shape))


def complaint(outcome):
    """The error as one sentence; of a long one the first line and the line of code."""
    first, *rest = clean(outcome.complaint()).splitlines() or [""]
    if rest and " (line " in rest[-1]:
        first += " (line " + rest[-1].rpartition(" (line ")[2]
    return shorten(first, 300)


# --- what can be seen without knowing the cause ---


# A place to look, no cause: the probes differ in more than their sizes.
KEPT = "see what is kept from one call to the next, and which names of other cells are used."


def fact(seen, k):
    """The Fact that tells most about probe k, the first that is wrong."""
    looks = _calls, _numbers, _weights, _arguments, _rows
    seen_so = chain.from_iterable(look(seen, k) for look in looks)
    return next(chain(slips.mended(seen), seen_so))


def _calls(seen, k):
    mine, asked = seen.mine[k], f"What is asked for: {seen.exercise.signature}."
    if mine.stopped:
        yield Fact("it takes too long.", "look for a loop that never ends.")
    if seen.overwritten:
        yield Fact("a later call changes what it returned.", "make a new tensor in every call.")
    if seen.is_first_again(k):
        yield Fact("the same arguments give something else after other ones.", KEPT)
    if not seen.repeats:
        yield Fact(
            "a second call with the same arguments gives something else.",
            "start what the function adds to inside the function, and draw nothing at random.",
        )
    if seen.probes[k].if_right and (label := seen.as_before(k)):
        yield Fact("it gives what it gave for other arguments.", KEPT, f"It did so on {label}.")
    error = mine.outcome.error
    if error is not None:
        yield Fact(f"it raised {type(error).__name__}.", slips.after_error(error, seen))
    if mine.instead == "None":
        yield Fact("it returned None: is `return` missing?", "return the result.", asked)
    if mine.instead:
        yield Fact(f"it returned {mine.instead}.", "return numbers only.", asked)
    if mine.observed is not None:
        yield Fact("what it does is not what is asked for.", _to_see(mine.observed))
    if mine.numbers.shape != seen.right[k].numbers.shape:
        advice = slips.fixed(seen) or "print the shape after each step."
        if mine.numbers.dim() == 0:
            advice = "see whether `return` is inside the loop, or everything is summed."
        yield Fact("wrong shape.", advice, asked)


def _to_see(facts):
    if "matrices to train" in facts and not any(facts.values()):
        return "write self. before each matrix in __init__, and use the sizes that it is given."
    return "look at the line of your code that decides the first of these facts."


def _numbers(seen, k):
    got = seen.mine[k].numbers
    if bad := int((~got.isfinite()).sum()):
        yield Fact(
            f"{bad} of {got.numel()} numbers are {'NaN' if got.isnan().any() else 'infinite'}.",
            "look for 0 / 0, inf / inf, or numbers never written (NaN); for exp of more than 88, a "
            "division by 0, or an infinity that you wrote yourself (infinite).",
        )
    if times := factor(seen.mine, seen.right):
        yield Fact(
            f"always {times:.4g} times the right answer.",
            "look for a division or a sum that is missing or done once too often.",
        )


def _weights(seen, k):
    if seen.exercise.kind != "weights":
        return
    got, on = seen.mine[k].numbers.double(), f"On {seen.probes[k].label}"
    if (got < -1e-5).any():
        yield Fact(
            "negative weights.",
            "take exp of the scores: it is never negative.",
            f"{on} the smallest weight is {number(got.min())}; a weight is from 0 to 1.",
        )
    sums, is_table = got.sum(-1).flatten(), got.dim() == 2
    row = int((sums - 1).abs().argmax())
    if abs(sums[row] - 1) > 1e-3:
        which = f"row {row} sums" if is_table else "the weights sum"
        columns = is_table and (got.sum(0) - 1).abs().max() < 1e-3
        yield Fact(
            "a row does not sum to 1." if is_table else "they do not sum to 1.",
            "look at the sum you divide by, of each row its own, and at what is done after that."
            if got.reshape(-1, got.shape[-1])[row].any()
            else "see why this row is all 0: never filled, or every exp in it is rounded to 0.",
            f"{on} {which} to {number(sums[row])} instead of 1"
            + (", but every column sums to 1." if columns else "."),
        )
    if is_table and not seen.right[k].numbers.triu(1).any() and got.triu(1).any():
        i, j = got.triu(1).nonzero()[0].tolist()
        yield Fact(
            "the future is visible.",
            "give what comes later a weight of exactly 0.",
            f"{on} row {i} gives the weight {number(got[i, j])} to word {j}, which comes later.",
        )


def _arguments(seen, k):
    if seen.exercise.kind == "values" and seen.mine[k].numbers.dim() > 1 and seen.looks_ahead(k):
        yield Fact(
            "the future is visible.",
            "look where later words come in: the mask, or a view or reshape that mixes words.",
            f"On {seen.probes[k].label}, other numbers in the last word change the rows before it.",
        )
    if not seen.exercise.is_class and (name := seen.ignored()):
        why = f"With other values of {name} it gives the same numbers."
        if slips.reads(seen, name):
            advice = f"print each step for two values of {name}: where are they still different?"
            yield Fact(f"other values of {name} change nothing.", advice)
        yield Fact(f"it ignores {name}.", f"use {name} as each call gives it.", why)


def _rows(seen, k):
    kind, got = seen.exercise.kind, seen.mine[k].numbers.double()
    if got.dim() == 2 and (got - got[0]).abs().max() < 1e-5:
        yield Fact(
            "all rows are equal.", "make each row from its own word, in a tensor of its own."
        )
    if kind == "context":
        inputs = seen.probes[k].args[0].double()
        low, high = inputs.amin(0), inputs.amax(0)
        for *row, j in ((got < low - 1e-4) | (got > high + 1e-4)).nonzero().tolist():
            yield Fact(
                "outside the range of the inputs.",
                "blend all words with weights from 0 to 1 that sum to 1, and do nothing else.",
                f"On {seen.probes[k].label} column {j} of the words lies between {number(low[j])} "
                f"and {number(high[j])}; yours is {number(got[(*row, j)])}.",
            )
    by_hand = "work out one of these numbers by hand, step by step, and compare each step."
    yield Fact("the numbers are wrong.", kind != "weights" and slips.fixed(seen) or by_hand)
