"""What a verdict says: what is wrong, why (with numbers), what to try.

facts() is for answers whose cause is not known: what can be seen, and no guess.
"""

import textwrap
from dataclasses import replace

from .results import clean, close, factor, same, same_fact

WIDTH = 98
SHOWN = 3  # numbers of each side


def layout(head, *parts):
    """The parts below each other, wrapped, all but the first indented."""
    lines = textwrap.wrap(head, WIDTH, subsequent_indent="  ")
    for line in "\n".join(parts).splitlines():
        indent = "  " + line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line.lstrip(), WIDTH, initial_indent=indent, subsequent_indent=indent
        )
    return "\n".join(lines)


def shorten(text, width):
    return text if len(text) <= width else text[: width - 1] + "…"


def failure(seen, mistake):
    """The message for a wrong answer. mistake: what was established, or None."""
    k = seen.wrong[0]
    if mistake:
        what, why, advice = f"{mistake.name}.", None, mistake.advice
    else:
        what, why, advice = facts(seen, k)
    first, where = seen.probes[0].where, seen.probes[k].where
    if k > 0 and not seen.exercise.is_class:
        what += f" Right on {first}, wrong on {where}."
    mine, right = seen.mine[k], seen.right[k]
    thing = "class" if seen.exercise.is_class else "function"
    if not (seen.repeats or mine.changed):
        evidence = [difference(f"{first}, called once more", seen.again[0], seen.right[0])]
    else:
        evidence = [argument(where, seen.probes[k], mine.changed)] if mine.changed else []
        if not same(replace(mine, changed={}), right):
            evidence.append(difference(where, mine, right))
    printed = [line for line in clean(seen.mine[0].outcome.printed).splitlines() if line.strip()]
    if printed:
        printed = [shorten(line.strip(), WIDTH - 6) for line in printed[:3]]
        printed = ["\n  ".join([f"Your {thing} printed:", *printed])]
    return layout(
        f"✘ {seen.exercise.name}: {what}", *([why] if why else []), *evidence, advice, *printed
    )


# --- numbers ---


def difference(where, mine, right):
    """What the student's function gave there, beside what is right."""
    if mine.outcome.error is not None:
        text = complaint(mine.outcome)
        return f"On {where}: {text}{'' if text.endswith(('.', ')')) else '.'}"
    if mine.instead:
        return f"On {where} it returned {mine.instead}."
    if mine.observed is not None:
        return "\n  ".join([f"On {where}:", *fact_by_fact(mine.observed, right.observed or {})])
    got, want = mine.numbers, right.numbers
    if got.shape != want.shape:
        if got.dim() == 0:
            return f"On {where} it returned one single number; right is shape {shape(want)}."
        text = f"On {where} the shape is {shape(got)}; right is {shape(want)}."
        if got.numel() == want.numel() and close(got.flatten(), want.flatten()):
            text += " The numbers themselves are right."
        return text
    at, got, want = side_by_side(got, want)
    return f"On {where}{at}:\n  yours {got}\n  right {want}"


def fact_by_fact(mine, right):
    """Lines such as "matrices to train: yours 0, right 3", of the facts that differ."""
    for name, value in mine.items():
        if name not in right:
            yield f"{name}: {fact(value)}"
        elif not same_fact(value, right[name]):
            yield f"{name}: yours {fact(value)}, right {fact(right[name])}"


def fact(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, ".4g") if isinstance(value, float) else str(value)


def argument(where, probe, changed):
    """What became of the first argument that was changed in place."""
    k, after = next(iter(changed.items()))
    before = probe.args[k]
    if before.shape != after.shape:
        return f"On {where} your argument had shape {shape(before)}, then {shape(after)}."
    at, after, before = side_by_side(after, before)
    return f"On {where} your argument{at}:\n  before {before}\n  after  {after}"


def side_by_side(got, want):
    """(", from entry [1]", "0.1000 0.2000", "0.1000 0.3000"): a few numbers of each, from
    the first that can be seen to differ."""
    for style in (".4f", ".6g", ".9g"):
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
    width = max(map(len, mine[shown] + right[shown]))
    at = f", {'entry' if len(mine[shown]) == 1 else 'from entry'} {place}" if place else ""
    mine, right = (" ".join(x.rjust(width) for x in side[shown]) for side in (mine, right))
    return at, mine, right


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
    """(what is wrong, why or None, what to try) for probe k, the first that is wrong."""
    exercise, probe, mine = seen.exercise, seen.probes[k], seen.mine[k]
    right = seen.right[k].numbers
    if mine.stopped:
        return "it takes too long.", None, "Look for a loop that never ends."
    if not seen.repeats:
        return (
            "a second call with the same arguments gives something else.",
            None,
            "Everything that the function adds to must start inside it; nothing random either.",
        )
    if mine.outcome.error is not None:
        return (
            f"it raised {type(mine.outcome.error).__name__}.",
            None,
            after_error(seen, mine.outcome.error),
        )
    if mine.instead == "None":
        return "it returned None: is `return` missing?", None, returns(exercise)
    if mine.instead:
        return f"it returned {mine.instead}.", None, returns(exercise)
    if mine.observed is not None:
        return (
            "what it does is not what is asked for.",
            None,
            "Look at the line of your code that decides the first of these facts.",
        )
    got = mine.numbers.double()
    if got.shape != right.shape:
        if got.dim() == 0:
            advice = "Is `return` inside the loop, or is everything summed?"
        elif seen.only_first:
            advice = first_only(seen)
        else:
            advice = "Print the shape after each step."
        return "wrong shape.", None, f"{advice} {returns(exercise)}"
    bad = int((~got.isfinite()).sum())
    if bad:
        kind = "NaN" if got.isnan().any() else "infinite"
        return (
            f"{bad} of {got.numel()} numbers are {kind}.",
            None,
            "NaN comes from 0 / 0, inf / inf, or numbers never written; infinity from exp of "
            "more than 88 or a division by 0, or an infinity that you wrote yourself.",
        )
    times = factor(seen.mine, seen.right)
    if times is not None:
        return (
            f"always {times:.4g} times the right answer.",
            None,
            "Look for a division or a sum that is missing or done once too often.",
        )
    if exercise.kind == "weights":
        if (got < -1e-5).any():
            return (
                "negative weights.",
                f"On {probe.where} the smallest weight is {number(got.min())}; "
                "a weight is from 0 to 1.",
                "exp makes every score positive.",
            )
        rows, columns = got.sum(-1).flatten(), got.sum(0).flatten()
        if (rows - 1).abs().max() > 1e-3:
            row = int((rows - 1).abs().argmax())
            which = f"row {row} sums" if got.dim() == 2 else "the weights sum"
            text = f"On {probe.where} {which} to {number(rows[row])} instead of 1."
            if got.dim() == 2 and (columns - 1).abs().max() < 1e-3:
                text = text.removesuffix(".") + ", but every column sums to 1."
            thing = "a row does not sum to 1." if got.dim() == 2 else "they do not sum to 1."
            return thing, text, "Divide by the sum of what you divide, of each row its own."
        if got.dim() == 2 and not right.triu(1).any() and got.triu(1).any():
            i, j = got.triu(1).nonzero()[0].tolist()
            return (
                "the future is visible.",
                f"On {probe.where} row {i} gives the weight {number(got[i, j])} to word {j}, "
                "which comes later.",
                "What comes later must have a weight of exactly 0.",
            )
    if got.dim() == 2 and (got - got[0]).abs().max() < 1e-5:
        return "all rows are equal.", None, "Each word is a query of its own: one row for each."
    if exercise.kind == "context":
        inputs = probe.args[0].double()
        low, high = inputs.amin(0), inputs.amax(0)
        outside = ((got < low - 1e-4) | (got > high + 1e-4)).nonzero()
        if len(outside):
            j = int(outside[0][-1])
            return (
                "outside the range of the inputs.",
                f"On {probe.where} column {j} of the words lies between {number(low[j])} and "
                f"{number(high[j])}; yours is {number(got[tuple(outside[0])])}.",
                "A context vector is a blend: weights from 0 to 1 that sum to 1.",
            )
    return (
        "the numbers are wrong.",
        None,
        first_only(seen)
        if seen.only_first and exercise.kind != "weights"
        else "Work out one of these numbers by hand, step by step, and compare each step.",
    )


def after_error(seen, error):
    if "torch.return_types.max" in str(error):
        return "max(dim=...) returns values and places: add .values (or use amax)."
    if isinstance(error, OverflowError) and seen.exercise.kind != "scores":
        return "Python's exp overflows above 709: subtract the LARGEST score first."
    if "masked_fill" in str(error) and "bool" in str(error):
        return "masked_fill needs a mask of True and False: add .bool() to it."
    if seen.only_first:
        return first_only(seen)
    return "Run that line by itself and print what goes into it, the shapes first."


def first_only(seen):
    """A question, no cause: the probes differ in more than their sizes."""
    return (
        f"Right on {seen.probes[0].where} only: is there a 3 or a 6, or a name from a cell above, "
        "inside your function?"
    )


def returns(exercise):
    return f"What is asked for: {exercise.signature}."
