"""What can be seen of a wrong answer without knowing the cause: the engine asks for it where no
mistake is established."""

from itertools import chain

from .code import reads
from .hints import after_error, fixed
from .message import number
from .results import factor
from .slips import mended
from .texts import Fact

# A place to look, no cause: the probes differ in more than their sizes.
KEPT = "see what is kept from one call to the next, and which names of other cells are used."


def fact_of(seen):
    """Return the Fact that tells most about the first probe that is wrong."""
    k = seen.wrong[0]
    looks = _calls, _numbers, _weights, _arguments, _rows
    seen_so = chain.from_iterable(look(seen, k) for look in looks)
    return next(chain(mended(seen), seen_so))


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
        yield Fact(f"it raised {type(error).__name__}.", after_error(error, seen))
    if mine.instead == "None":
        yield Fact("it returned None: is `return` missing?", "return the result.", asked)
    if mine.instead:
        yield Fact(f"it returned {mine.instead}.", "return numbers only.", asked)
    if mine.observed is not None:
        yield Fact("what it does is not what is asked for.", _to_see(mine.observed))
    if mine.numbers.shape != seen.right[k].numbers.shape:
        advice = fixed(seen) or "print the shape after each step."
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
        if reads(seen.answer, name):
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
    yield Fact("the numbers are wrong.", kind != "weights" and fixed(seen) or by_hand)
