"""What can be seen of a wrong answer without knowing the cause: the engine uses it when no
mistake is established."""

import re
from itertools import chain

import torch

from .code import reads
partly_established = lambda e: None
from .direction import (
    another_order,
    of_shapes,
    relations,
    size_to_look_for,
    still_0,
    where,
    wrong_sign,
)
from .experiments import one_part, whole_argument
from .hints import after_error, fixed_sizes, known_advice, only_arguments
from .mending import mended
from .message import number
from .results import close, factor, has_equal_rows, near, same_fact
from .slips import SLIPS
from .steps import first_nan, right_steps
from .texts import Fact, contents

NOT_FINITE = "look for exp of more than 88, log of 0 or less, division by 0, or inf in your code."
# A place to look, no cause: the probes differ in more than their sizes.
KEPT = "look for what is kept from one call to the next, and for names from other cells."


def fact_of(evidence):
    """Return the most telling Fact about the first probe that is wrong."""
    k = evidence.wrong[0]
    looks = _calls, _numbers, _kept, _equal_rows, _weights, _arguments, _blends
    seen_so = chain.from_iterable(look(evidence, k) for look in looks)
    # Two changes may be a detour, so what is known for sure comes before them.
    telling = known_advice(_seen(evidence, k), evidence) or next(relations(evidence), None)
    if found := mended(evidence, SLIPS, pairs=not telling):
        return found[0]
    return next(chain(_partly(evidence), seen_so, _last(evidence, k)))


def _seen(evidence, k):
    """Return the error on probe k, or what is seen of its numbers, as slips.toml puts it."""
    error, numbers = evidence.mine[k].outcome.error, evidence.mine[k].numbers
    if error is not None:
        return f"{type(error).__name__}: {error}"
    return _not_finite(numbers) if numbers is not None else ""


def _last(evidence, k):
    """Yield the Facts for when nothing else is known: where should the student look?"""
    is_one = evidence.mine[k].numbers.dim() == 0
    what = f"the number{' is' if is_one else 's are'} wrong."
    advice = evidence.exercise.kind != "weights" and fixed_sizes(evidence)
    if not advice:
        yield from chain(relations(evidence), another_order(evidence), wrong_sign(evidence))
        known = known_advice(f"{evidence.exercise.name}: {what}", evidence)
        advice = known or _to_look_at(evidence, k)
        yield from where(evidence, advice)
    it = "this number" if is_one else "one of these numbers"
    yield Fact(what, advice or f"work out {it} by hand, and check each step against your code.")


def _to_look_at(evidence, k):
    """Return advice on where the numbers of probe k go wrong; "" if nothing shows it."""
    if advice := only_arguments(evidence.answer):
        return advice
    if advice := still_0(evidence, k) or one_part(evidence, k):
        return advice
    others = [j for j in evidence.wrong[1:3] if evidence.mine[j].numbers is not None]
    # What a class computes may be right only because its matrices were found by their names.
    steps = [{} if evidence.exercise.is_class else right_steps(evidence, j) for j in (k, *others)]
    if names := [name for name, is_right in steps[0].items() if all(s.get(name) for s in steps)]:
        *most, last = (f"`{name}`" for name in names[-3:])
        said = f"{', '.join(most)} and {last} are right" if most else f"{last} is right"
        later = [f"`{name}`" for name in steps[0]][list(steps[0]).index(names[-1]) + 1 :]
        return f"{said}: now check {[*later, 'the next step'][0]}."
    return whole_argument(evidence, k)


def _partly(evidence):
    """Does a mistake give the numbers on some of the wrong probes, and something else the rest?"""
    if found := partly_established(evidence):
        mistake, (other, *_) = found
        text = evidence.exercise.text_of(mistake)
        error = evidence.mine[other].outcome.error
        how = f"raises {type(error).__name__}" if error else "is wrong in another way"
        rest = f"On {evidence.probes[other].label}, your code {how}."
        yield Fact(f"{mistake.name}.", text.advice, f"{text.why} {rest}".strip())


def _calls(evidence, k):
    mine, asked = evidence.mine[k], f"The exercise asks for {evidence.exercise.signature}."
    if mine.stopped:
        yield Fact("it takes too long.", "look for a loop that never ends.")
    if evidence.overwritten:
        yield Fact("a later call changes an earlier result.", "make a new tensor in every call.")
    if evidence.is_first_again(k):
        yield Fact("the same arguments give a different result after other calls.", KEPT)
    if not evidence.repeats and evidence.exercise.kind != "random":
        yield Fact(
            "a second call with the same arguments gives a different result.",
            "use the matrices you are given: a layer that you create draws random ones."
            if re.search(r"(nn\.Linear|Attention)\(", evidence.code)
            else "look for anything random, or anything kept from an earlier call.",
        )
    error = mine.outcome.error
    if error is not None:
        yield Fact(f"it raised {type(error).__name__}.", after_error(error, evidence))
    if mine.instead == "None":
        yield Fact("it returned None (is `return` missing?).", "always return the result.", asked)
    if mine.instead:
        yield Fact(f"it returned {mine.instead}.", "return the result and nothing else.", asked)
    if mine.observed is not None:
        advice = _to_see(mine.observed, evidence.right[k].observed or {})
        yield Fact("not what the exercise asks for.", advice)
    if mine.numbers.shape != evidence.right[k].numbers.shape:
        yield from of_shapes(evidence, k)
        if mine.numbers.dim() == 0:
            advice = "check for a `return` inside a loop, or an unwanted sum or mean."
        else:
            advice = fixed_sizes(evidence) or size_to_look_for(evidence, k)
        yield Fact("wrong shape.", advice, asked)


def _to_see(facts, right):
    """Return advice on the first fact that differs from the right one."""
    differs = (k for k in facts if k in right and not same_fact(facts[k], right[k]))
    advice, name = contents("slips.toml")["facts"], next(differs, "")
    otherwise = "find the line of your code that causes the first of these differences."
    return advice.get(f"{name}: {facts.get(name)}") or advice.get(name, otherwise)


def _numbers(evidence, k):
    if what := _not_finite(evidence.mine[k].numbers):
        yield Fact(what, known_advice(what, evidence) or first_nan(evidence, k) or NOT_FINITE)
    if times := factor(evidence.mine, evidence.right):
        yield Fact(
            f"your answer is always {times:.4g} times the right one.",
            "look for a division or a sum that is missing, or that you did once too often.",
        )


def _not_finite(got):
    """Return text such as "2 of 9 numbers are NaN."; "" if all are finite."""
    bad = int((~got.isfinite()).sum())
    if not bad:
        return ""
    verb = "is" if bad == 1 else "are"
    share = f"all {bad}" if 1 < bad == got.numel() else f"{bad} of {got.numel()}"
    many = f"{share} numbers" if got.dim() else "the result"
    return f"{many} {verb} {'NaN' if got.isnan().any() else 'infinite'}."


def _kept(evidence, k):
    """Yield a Fact if a row differs from the argument, where the right one does not."""
    right, got, given = evidence.right[k].numbers, evidence.mine[k].numbers, evidence.probes[k].args
    if right.dim() > 1 and torch.is_tensor(given[0]) and given[0].shape == right.shape:
        pairs = ((evidence.mine[j].numbers, evidence.probes[j].args[0]) for j in evidence.wrong)
        if all(x is not None and close(x, y) for x, y in pairs):
            copy = ": x[i, j] with index tensors gives you only a copy of x"
            advice = f"change what you return{copy * ('] = ' in evidence.code)}."
            yield Fact(f"you return `{evidence.arguments[0]}` unchanged.", advice)
        stays, changed = (near(x, given[0]).all(-1) for x in (right, got))
        if len(rows := (stays & ~changed).nonzero()):
            row, name = f"row {_place(rows[0])}", evidence.arguments[0]
            yield Fact(
                f"{row} should be the same as in `{name}`.",
                f"find where your code changes {row} or drops it.",
                f"On {evidence.probes[k].label}, your {row} differs from {row} of `{name}`.",
            )


def _place(index):
    """Return an index such as 2 or [0, 2] as text."""
    return str(index.tolist() if len(index) > 1 else int(index))


def _weights(evidence, k):
    if evidence.exercise.kind != "weights":
        return
    got, on = evidence.mine[k].numbers.double(), f"On {evidence.probes[k].label},"
    sums, is_table = got.sum(-1), got.dim() == 2
    off = (sums - 1).abs()
    if off.max() > 1e-3:
        row = (off == off.max()).nonzero()[0]
        which = f"row {_place(row)} sums" if len(row) else "the weights sum"
        columns = is_table and (got.sum(0) - 1).abs().max() < 1e-3
        advice = "as the last step, divide all numbers of a row by their sum."
        helps = close(got / sums[..., None], evidence.right[k].numbers)
        if re.search(r"\bsoftmax\(|/ *\w+\.sum\(" + "|/" * (not helps), evidence.code):
            advice = "look where your code divides (softmax does, too): is each row divided "
            advice += "by its OWN sum, once that is complete, and what happens to it afterwards?"
        if not got[tuple(row)].any():
            advice = "find out why these are all 0: not filled, all exp 0, or divided by infinity?"
            if is_table and evidence.right[k].numbers[0].count_nonzero() == 1 and not got[0].any():
                advice = "find out why row 0 is all 0: word 0 must see itself."
        yield Fact(
            "a row does not sum to 1." if is_table else "the weights do not sum to 1.",
            advice,
            f"{on} {which} to {number(sums[tuple(row)])}, not 1"
            + (", but every column sums to 1." if columns else "."),
        )
    if is_table and not evidence.right[k].numbers.triu(1).any() and got.triu(1).any():
        i, j = got.triu(1).nonzero()[0].tolist()
        yield Fact(
            what := "the future is visible.",
            known_advice(what, evidence)
            or "give later words a weight of 0: with softmax, set their scores to -inf first.",
            f"{on} row {i} gives the later word {j} a weight of {number(got[i, j])}.",
        )


def _arguments(evidence, k):
    if (
        evidence.exercise.kind == "values"
        and evidence.mine[k].numbers.dim() > 1
        and not evidence.exercise.takes.startswith("(weights")
        and evidence.looks_ahead(k)
    ):
        yield Fact(
            what := "the future is visible.",
            known_advice(what, evidence)
            or "find where later words get in: check the mask, and any view or reshape.",
            f"On {evidence.probes[k].label}: changing the last word changes the rows before it.",
        )
    if not evidence.exercise.is_class and (name := evidence.ignored()):
        why = f"The result is the same whatever `{name}` is."
        if reads(evidence.answer, name):
            advice = f"print each step for two values of `{name}`: which steps do not change?"
            if re.search(rf"\bfor [^:]*\b{name}\b[^:]* in ", evidence.code):
                advice = f"the loop overwrites `{name}`: use another name there."
            yield Fact(f"changing `{name}` has no effect.", advice)
        yield Fact(f"it ignores `{name}`.", f"use `{name}`: the result must depend on it.", why)


def _equal_rows(evidence, k):
    got, right = evidence.mine[k].numbers.double(), evidence.right[k].numbers
    equal = [x.dim() == 2 and has_equal_rows(x) for x in (got, right)]
    if equal == [True, False] and got.any():
        what, new = "all rows are equal.", "compute each row from its own word, in a new tensor."
        yield Fact(what, known_advice(what, evidence) or new)


def _blends(evidence, k):
    got = evidence.mine[k].numbers.double()
    if evidence.exercise.kind == "context":
        inputs = evidence.probes[k].args[0].double()
        low, high = inputs.amin(0), inputs.amax(0)
        for *row, j in ((got < low - 1e-4) | (got > high + 1e-4)).nonzero().tolist():
            yield Fact(
                "some numbers are outside the range of the inputs.",
                "start at 0 before the loop, add each word times its weight, and return after it."
                if "for " in evidence.code
                else "check that each number is a blend, with weights from 0 to 1 that sum to 1.",
                f"On {evidence.probes[k].label}, column {j} of the words runs from "
                f"{number(low[j])} to {number(high[j])}, but you have {number(got[(*row, j)])}.",
            )
