"""What can be seen of a wrong answer without knowing the cause: the engine uses it when no
mistake is established."""

import re
from itertools import chain

from ._code import reads
from ._direction import another_order, of_shapes, size_to_look_for, where
from ._hints import after_error, fixed_sizes, only_arguments, python_says, seen_advice
from ._repairs import REPAIRS
from ._results import close, has_equal_rows, same_fact
from ._search import repaired
from ._texts import HINT, Fact, contents
from .message import number

NOT_FINITE = {
    "infinite": "look for exp of more than 88, log of 0, division by 0, and places never filled.",
    "NaN": "look for 0 / 0 and inf / inf (exp of a large number is inf, of one far below 0 it is \
0), for 0 * inf, inf - inf, and places never filled.",
}
# A place to look, no cause: the cases differ in more than their sizes.
KEPT = "look for what is kept from one call to the next, and for names from other cells."
SLOW = """\
let torch work on whole tensors: loops over single numbers, loops that never end and much printing \
take too long."""
# Code that divides by a sum, or by a name that is one.
DIVIDES = r"\bsoftmax\(|/=? [^\n]*\bsum\(|\b(\w+) (\+= |= [^\n]*\bsum\()(?s:.*)/=? \1\b"
INSTEAD = {
    "a coroutine": "write def instead of async def.",
    "a builtin_function_or_method": "write () after the method's name: it is not called.",
    "a generator": "collect the parts in a list, and return it after the loop: yield returns none.",
}


def fact_of(submission):
    """Return the most telling Fact about the first case that is wrong. What Python itself says
    comes first: a name that is not defined is no reason to change anything else."""
    k = submission.wrong[0]
    error = submission.mine[k].outcome.error
    if error is not None and (said := python_says(error, submission)):
        return said
    if found := repaired(submission, REPAIRS):
        return found[0]
    looks = _calls, _numbers, _equal_rows, _weights, _arguments, _last
    return next(chain.from_iterable(look(submission, k) for look in looks))


def _calls(submission, k):
    mine, asked = submission.mine[k], f"The exercise asks for {submission.exercise.signature}."
    if mine.stopped:
        yield Fact("it takes too long.", SLOW)
    if submission.overwritten:
        yield Fact("a later call changes an earlier result.", "make a new tensor in every call.")
    if submission.is_first_again(k):
        yield Fact("the same arguments give a different result after other calls.", KEPT)
    if not submission.repeats:
        yield Fact(
            "a second call with the same arguments gives a different result.",
            "use the arguments only: a layer that you create draws random numbers of its own."
            if re.search(r"(nn\.Linear|Attention)\(", submission.body)
            else "look for anything random, or anything kept from an earlier call.",
        )
    error = mine.outcome.error
    if error is not None:
        yield Fact(f"it raised {type(error).__name__}.", after_error(error, submission))
    if mine.instead == "None":
        yield Fact("it returned None (is `return` missing?).", "always return the result.", asked)
    if mine.instead:
        advice = INSTEAD.get(mine.instead, "return the result and nothing else.")
        yield Fact(f"it returned {mine.instead}.", advice, asked)
    if mine.observed is not None:
        advice = _to_see(mine.observed, submission.right[k].observed or {})
        yield Fact("not what the exercise asks for.", advice)
    if mine.numbers.shape != submission.right[k].numbers.shape:
        yield from of_shapes(submission, k)
        if mine.numbers.dim() == 0:
            advice = "check for a `return` inside a loop, or an unwanted sum or mean."
        else:
            joined = seen_advice("shape", submission)
            advice = joined or fixed_sizes(submission) or size_to_look_for(submission, k)
        yield Fact("wrong shape.", advice, asked)


def _to_see(facts, right):
    """Return advice on the first fact that differs from the right one."""
    differs = (k for k in facts if k in right and not same_fact(facts[k], right[k]))
    advice, name = contents("repairs.toml")["facts"], next(differs, "")
    return advice.get(f"{name}: {facts.get(name)}") or advice.get(name, HINT)


def _numbers(submission, k):
    got = submission.mine[k].numbers
    bad = int((~got.isfinite()).sum())
    if bad:
        verb = "is" if bad == 1 else "are"
        share = f"all {bad}" if 1 < bad == got.numel() else f"{bad} of {got.numel()}"
        many, what = f"{share} numbers" if got.dim() else "the result", "infinite"
        if got.isnan().any():
            what = "NaN"
        advice = seen_advice(what, submission) or NOT_FINITE[what]
        yield Fact(f"{many} {verb} {what}.", advice)


def _weights(submission, k):
    if submission.exercise.kind != "weights":
        return
    got, on = submission.mine[k].numbers.double(), f"On {submission.cases[k].label},"
    sums, is_table = got.sum(-1), got.dim() == 2
    off = (sums - 1).abs()
    if off.max() > 1e-3:
        row = (off == off.max()).nonzero()[0]
        place = str(row.tolist() if len(row) > 1 else int(row)) if len(row) else ""
        which = f"row {place} sums" if place else "the weights sum"
        columns = is_table and (got.sum(0) - 1).abs().max() < 1e-3
        advice = "as the last step, divide all numbers of a row by their sum."
        helps = close(got / sums[..., None], submission.right[k].numbers)
        if re.search(DIVIDES + "|/" * (not helps), submission.body):
            advice = "look where your code divides (softmax does, too): is each row divided "
            advice += "by its OWN sum, once that is complete, and what happens to it afterwards?"
        if not got[tuple(row)].any():
            advice = "find out why these are all 0: not filled, or is a word hidden from itself?"
        yield Fact(
            "a row does not sum to 1." if is_table else "the weights do not sum to 1.",
            advice,
            f"{on} {which} to {number(sums[tuple(row)])}, not 1"
            + (", but every column sums to 1." if columns else "."),
        )
    if is_table and not submission.right[k].numbers.triu(1).any() and got.triu(1).any():
        i, j = got.triu(1).nonzero()[0].tolist()
        yield Fact(
            "the future is visible.",
            seen_advice("future", submission)
            or "give later words a weight of 0: with softmax, set their scores to -inf first.",
            f"{on} row {i} gives the later word {j} a weight of {number(got[i, j])}.",
        )


def _arguments(submission, k):
    if not submission.exercise.is_class and (name := submission.ignored()):
        why = f"The result is the same whatever `{name}` is."
        if reads(submission.answer, name):
            advice = f"print each step for two values of `{name}`: which steps do not change?"
            yield Fact(f"changing `{name}` has no effect.", advice)
        advice = only_arguments(submission.answer) or f"use `{name}`: the result must depend on it."
        yield Fact(f"it ignores `{name}`.", advice, why)


def _equal_rows(submission, k):
    got, right = submission.mine[k].numbers.double(), submission.right[k].numbers
    equal = [x.dim() == 2 and has_equal_rows(x) for x in (got, right)]
    if equal == [True, False] and got.any():
        new = "compute each row from its own word, in a new tensor."
        yield Fact("all rows are equal.", seen_advice("equal rows", submission) or new)


def _last(submission, k):
    """Yield the Facts for when nothing else is known."""
    is_one = submission.mine[k].numbers.dim() == 0
    what = f"the number{' is' if is_one else 's are'} wrong."
    if submission.exercise.kind != "weights" and (advice := fixed_sizes(submission)):
        yield Fact(what, advice)
    yield from another_order(submission)
    advice = seen_advice("wrong", submission) or only_arguments(submission.answer) or HINT
    yield from (fact._replace(advice=advice) for fact in where(submission))
    yield Fact(what, advice)
