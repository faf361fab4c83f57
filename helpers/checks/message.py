"""What a verdict says: what is wrong, why (with the numbers that show it), what to try.

facts() is for answers whose cause is not known: what can be seen, and no guess.
"""

import textwrap
from dataclasses import dataclass, replace

from .results import clean, close, factor, same, same_fact
from .texts import text_of

WIDTH = 98
SHOWN = 3  # numbers of each side


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
        for first, *others in self.rows:
            put = str.rjust if self.numeric else str.ljust
            cells = [put(cell, widths[k]) for k, cell in enumerate(others, 1)]
            yield " ".join([first.ljust(widths[0]), *cells]).rstrip()


@dataclass(frozen=True)
class Message:
    """What a verdict says, in the order in which it is said; from it both the plain text and
    the HTML are made. All but head may be empty.

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
        for sentence in (self.gone, *self.why):
            lines += _wrap(sentence, indent)
        if self.table:
            lines += _wrap(self.table.caption, indent)
            for row in self.table.lines():
                lines += _wrap(row, indent + "  ", indent + "    ")
        lines += _wrap(self.advice and f"{TRY} {self.advice}", indent)
        lines += _wrap(self.after, indent)
        for k, line in enumerate(self.printed):
            lines += _wrap(line, indent + "  " if k else indent)
        return "\n".join(lines)


TRY = "Try:"


def _wrap(text, first, others=None):
    others = first if others is None else others
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others)


def shorten(text, width):
    return text if len(text) <= width else text[: width - 1] + "…"


def failure(seen, found, gone=()):
    """The Message for a wrong answer.

    found: the mistakes that are established, in the order in which the computation runs. The
    first is told, the others are counted; if there are none, what can be seen is told.
    gone: names of those that were told before and are established not to be there now.
    """
    k = seen.wrong[0]
    if found:
        what = f"{found[0].name}."
        text = text_of(found[0].name, seen.exercise.texts or seen.exercise.name)
        why, advice = text.why, text.advice
    else:
        what, why, advice = facts(seen, k)
    first, where = seen.probes[0].label, seen.probes[k].label
    partly = k > 0 and not seen.exercise.is_class
    sentence, table = _evidence(seen, k)
    return Message(
        f"✘ {seen.exercise.name}: {what}",
        gone=f"Gone: {'; '.join(gone)}." if gone else "",
        why=_said(partly and f"Right on {first}, wrong on {where}.", why, sentence),
        table=table,
        advice=advice[:1].upper() + advice[1:],
        after=_remaining(len(found) - 1),
        printed=_printed(seen),
    )


def _said(*sentences):
    return tuple(sentence for sentence in sentences if sentence)


def _remaining(count):
    if count < 1:
        return ""
    come = "mistake comes" if count == 1 else "mistakes come"
    return f"{count} more {come} after it; mend this one first."


def _printed(seen):
    lines = [line.strip() for line in clean(seen.mine[0].outcome.printed).splitlines()]
    lines = [shorten(line, WIDTH - 6) for line in lines if line][:3]
    thing = "class" if seen.exercise.is_class else "function"
    return (f"Your {thing} printed:", *lines) if lines else ()


# --- numbers ---


def _evidence(seen, k):
    """(a sentence or "", a Table or None) that show what is wrong on probe k."""
    where, mine, right = seen.probes[k].label, seen.mine[k], seen.right[k]
    if not (seen.repeats or mine.changed):
        return difference(f"{seen.probes[0].label}, called once more", seen.again[0], seen.right[0])
    if not mine.changed:
        return difference(where, mine, right)
    sentence, table = argument(where, seen.probes[k], mine.changed)
    if same(replace(mine, changed={}), right):
        return sentence, table
    said, numbers = difference(where, mine, right)
    if table is None:
        return sentence, numbers
    # One table is enough: the argument's, because what else is wrong may come from it.
    return said or "What it returned there is wrong too.", table


def difference(where, mine, right):
    """(sentence, Table): what the student's code gave there, beside what is right."""
    if mine.outcome.error is not None:
        text = complaint(mine.outcome)
        return f"On {where}: {text}{'' if text.endswith(('.', ')')) else '.'}", None
    if mine.instead:
        return f"On {where} it returned {mine.instead}.", None
    if mine.observed is not None:
        rows = tuple(fact_by_fact(mine.observed, right.observed or {}))
        return "", Table(f"On {where}:", rows, numeric=False) if rows else None
    got, want = mine.numbers, right.numbers
    if got.shape != want.shape:
        if got.dim() == 0:
            return f"On {where} it returned one single number; right is shape {shape(want)}.", None
        text = f"On {where} the shape is {shape(got)}; right is {shape(want)}."
        if got.numel() == want.numel() and close(got.flatten(), want.flatten()):
            text += " The numbers themselves are right."
        return text, None
    at, got, want = side_by_side(got, want)
    return "", Table(f"On {where}{at}:", (("yours", *got), ("right", *want)))


def fact_by_fact(mine, right):
    """Rows such as ("matrices to train:", "yours 0,", "right 3"), of the facts that differ."""
    for name, value in mine.items():
        if name not in right:
            yield f"{name}:", fact(value)
        elif not same_fact(value, right[name]):
            yield f"{name}:", f"yours {fact(value)},", f"right {fact(right[name])}"


def fact(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, ".4g") if isinstance(value, float) else str(value)


def argument(where, probe, changed):
    """(sentence, Table): what became of the first argument that was changed in place."""
    k, after = next(iter(changed.items()))
    before = probe.args[k]
    if before.shape != after.shape:
        return f"On {where} your argument had shape {shape(before)}, then {shape(after)}.", None
    at, after, before = side_by_side(after, before)
    return "", Table(f"On {where} your argument{at}:", (("before", *before), ("after", *after)))


def side_by_side(got, want):
    """(", from entry [1]", ["0.1000", "0.2000"], ["0.1000", "0.3000"]): a few numbers of each,
    from the first that can be seen to differ."""
    styles = (".4f", ".6g", ".9g") if want.is_floating_point() else (".6g", ".9g")
    for style in styles:
        mine = [number(x, style) for x in got.flatten().tolist()]
        right = [number(x, style) for x in want.flatten().tolist()]
        differing = [k for k, (a, b) in enumerate(zip(mine, right, strict=True)) if a != b]
        if differing:
            break
    start = differing[0] if differing else 0
    row = got.shape[-1] if got.dim() else 1
    shown = slice(start, min(start + SHOWN, start - start % row + row))
    place, rest = [], start
    for size in reversed(got.shape):
        place.insert(0, rest % size)
        rest //= size
    at = f", {'entry' if len(mine[shown]) == 1 else 'from entry'} {place}" if place else ""
    return at, mine[shown], right[shown]


def number(x, style=".4f"):
    x = float(x)
    text = format(x, style if abs(x) < 1e6 else ".3e")
    return text.removeprefix("-") if float(text) == 0 else text


def shape(tensor):
    return str(tuple(tensor.shape))


def complaint(outcome):
    """The error as one sentence; of a long one the first line and the line of code."""
    first, *rest = clean(outcome.complaint()).splitlines() or [""]
    if rest and " (line " in rest[-1]:
        first += " (line " + rest[-1].rpartition(" (line ")[2]
    return shorten(first, 300)


# --- what can be seen without knowing the cause ---


def facts(seen, k):
    """(what is wrong, why or "", what to try) for probe k, the first that is wrong."""
    exercise, probe, mine = seen.exercise, seen.probes[k], seen.mine[k]
    right = seen.right[k].numbers
    if mine.stopped:
        return "it takes too long.", "", "look for a loop that never ends."
    if not seen.repeats:
        return (
            "a second call with the same arguments gives something else.",
            "",
            "start what the function adds to inside the function, and draw nothing at random.",
        )
    if mine.outcome.error is not None:
        return (
            f"it raised {type(mine.outcome.error).__name__}.",
            "",
            after_error(seen, mine.outcome.error),
        )
    if mine.instead == "None":
        return "it returned None: is `return` missing?", returns(exercise), "return the result."
    if mine.instead:
        return f"it returned {mine.instead}.", returns(exercise), "return numbers only."
    if mine.observed is not None:
        return (
            "what it does is not what is asked for.",
            "",
            "look at the line of your code that decides the first of these facts.",
        )
    got = mine.numbers.double()
    if got.shape != right.shape:
        if got.dim() == 0:
            advice = "see whether `return` is inside the loop, or everything is summed."
        elif seen.only_first:
            advice = FIXED_SIZES
        else:
            advice = "print the shape after each step."
        return "wrong shape.", returns(exercise), advice
    bad = int((~got.isfinite()).sum())
    if bad:
        kind = "NaN" if got.isnan().any() else "infinite"
        return (
            f"{bad} of {got.numel()} numbers are {kind}.",
            "",
            "look for 0 / 0, inf / inf, or numbers never written (NaN); for exp of more than 88, a "
            "division by 0, or an infinity that you wrote yourself (infinite).",
        )
    times = factor(seen.mine, seen.right)
    if times is not None:
        return (
            f"always {times:.4g} times the right answer.",
            "",
            "look for a division or a sum that is missing or done once too often.",
        )
    if exercise.kind == "weights":
        if (got < -1e-5).any():
            return (
                "negative weights.",
                f"On {probe.label} the smallest weight is {number(got.min())}; "
                "a weight is from 0 to 1.",
                "take exp of the scores: it is never negative.",
            )
        rows, columns = got.sum(-1).flatten(), got.sum(0).flatten()
        if (rows - 1).abs().max() > 1e-3:
            row = int((rows - 1).abs().argmax())
            which = f"row {row} sums" if got.dim() == 2 else "the weights sum"
            text = f"On {probe.label} {which} to {number(rows[row])} instead of 1."
            if got.dim() == 2 and (columns - 1).abs().max() < 1e-3:
                text = text.removesuffix(".") + ", but every column sums to 1."
            thing = "a row does not sum to 1." if got.dim() == 2 else "they do not sum to 1."
            return thing, text, "divide by the sum of what you divide, of each row its own."
        if got.dim() == 2 and not right.triu(1).any() and got.triu(1).any():
            i, j = got.triu(1).nonzero()[0].tolist()
            return (
                "the future is visible.",
                f"On {probe.label} row {i} gives the weight {number(got[i, j])} to word {j}, "
                "which comes later.",
                "give what comes later a weight of exactly 0.",
            )
    if exercise.kind == "values" and got.dim() > 1 and seen.looks_ahead(k):
        return (
            "the future is visible.",
            f"On {probe.label}, other numbers in the last word change the rows before it.",
            "look where later words come in: the mask, or a view or reshape that mixes words.",
        )
    if not exercise.is_class and (name := seen.ignored()):
        return (
            f"it ignores {name}.",
            f"With other values of {name} it gives the same numbers.",
            f"use {name}, which the function is given.",
        )
    if got.dim() == 2 and (got - got[0]).abs().max() < 1e-5:
        return "all rows are equal.", "", "let each word be a query of its own: one row for each."
    if exercise.kind == "context":
        inputs = probe.args[0].double()
        low, high = inputs.amin(0), inputs.amax(0)
        outside = ((got < low - 1e-4) | (got > high + 1e-4)).nonzero()
        if len(outside):
            j = int(outside[0][-1])
            return (
                "outside the range of the inputs.",
                f"On {probe.label} column {j} of the words lies between {number(low[j])} and "
                f"{number(high[j])}; yours is {number(got[tuple(outside[0])])}.",
                "blend with weights from 0 to 1 that sum to 1.",
            )
    return (
        "the numbers are wrong.",
        "",
        FIXED_SIZES
        if seen.only_first and exercise.kind != "weights"
        else "work out one of these numbers by hand, step by step, and compare each step.",
    )


def after_error(seen, error):
    if "torch.return_types.max" in str(error):
        return "add .values (or use amax): max(dim=...) returns values and places."
    if isinstance(error, OverflowError) and seen.exercise.kind != "scores":
        return "subtract the LARGEST score first: Python's exp overflows above 709."
    if "masked_fill" in str(error) and "bool" in str(error):
        return "add .bool() to the mask: masked_fill needs True and False."
    if seen.only_first:
        return FIXED_SIZES
    return "run that line by itself and print what goes into it, the shapes first."


# A place to look, no cause: the probes differ in more than their sizes.
FIXED_SIZES = "look for a 3 or a 6, or a name from a cell above, inside your function."


def returns(exercise):
    return f"What is asked for: {exercise.signature}."
