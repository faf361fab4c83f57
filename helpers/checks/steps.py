"""Which steps of a wrong answer are right, so that a student need not look there."""

import os
import re
import sys
from contextlib import contextmanager
from itertools import islice

import torch

from .code import all_codes, part_at
from .counterfactual import World
from .message import shorten
from .results import attempt, call_ours, close


class _Results(World):
    """Keeps what each operation gives."""

    def __init__(self):
        super().__init__()
        self.found = []

    def call(self, func, name, args, kwargs):
        result = func(*args, **kwargs)
        made = args[0] if name == "__setitem__" else result
        if torch.is_tensor(made):
            self.found.append(made.detach().clone())
        return result


# What makes NaN of other numbers, by a part of the operation's name: the first that fits.
CAUSES = {
    "empty": "memory that is never written to",
    "softmax": "all its scores are minus infinity, or one is plus infinity",
    "ma?t?mul|mm|mv|dot|einsum|linear": "0 * inf, or inf - inf",
    "mul": "0 * inf",
    "sub|add|sum": "inf - inf",
    "log": "the logarithm of a negative number",
    "pow|sqrt": "a root of a negative number",
}


class _NaN(World):
    """Finds where the student's code makes NaN of other numbers. At the place `cured`, the NaN
    becomes 1. causes: from a place to (its code, what makes the NaN; "" if unknown)."""

    def __init__(self, cured=()):
        super().__init__()
        self.cured, self.causes = cured, {}

    def call(self, func, name, args, kwargs):
        given = [x for y in (*args, *kwargs.values()) for x in (y if type(y) is list else [y])]
        had_nan = any(map(_has_nan, given))
        before = [x.detach().clone() if torch.is_tensor(x) else x for x in given[:2]]
        result = func(*args, **kwargs)
        if not had_nan and "tensor" not in name and _has_nan(result):
            place, part = _place()
            self.causes.setdefault(place, (part, _cause(name, before, result.isnan())))
            if place == self.cured:
                with torch.no_grad():
                    result.masked_fill_(result.isnan(), 1)
        return result


def _has_nan(x):
    return x != x if isinstance(x, float) else torch.is_tensor(x) and bool(x.isnan().any())


def _place():
    """Return the instruction of the student's code that is running, and its source."""
    frame = sys._getframe()
    while frame:
        place = frame.f_code, frame.f_lasti
        if not os.path.exists(frame.f_code.co_filename) and (part := part_at(*place)):
            return place, part
        frame = frame.f_back
    return None, ""


def _cause(name, given, at):
    """Return what makes NaN at these places (bool) when this operation is given these values."""
    if "div" in name:
        dividend = torch.as_tensor(given[0]).expand(at.shape)[at]
        return "inf / inf" if dividend[0].isinf() else "0 / 0"
    return next((CAUSES[part] for part in CAUSES if re.search(part, name)), "")


def first_nan(evidence, k):
    """Return advice on the operation of the student's code that makes the NaN of probe k: there
    are fewer if it gives 1 instead. "" if there is none."""
    first = _NaN()
    evidence.ask(k, lambda: first)
    many = evidence.mine[k].numbers.isnan().sum()
    for place, (part, cause) in islice(first.causes.items(), 5):
        cured = evidence.ask(k, lambda place=place: _NaN(place)).numbers
        if part and cured is not None and cured.isnan().sum() < many:
            return f"look at `{shorten(part, 70)}`: it gives the first NaN{cause and ', '}{cause}."
    return ""


@contextmanager
def _variables(codes, found):
    """Keep in found the tensors among the local variables of these codes when they return."""

    def look(frame, event, _):
        if event == "return" and frame.f_code in codes:
            here = frame.f_locals.items()
            found.update({k: x.detach().clone() for k, x in here if torch.is_tensor(x)})

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


def right_steps(evidence, k):
    """Return {local variable: does a right answer compute its numbers, too, on probe k?}, in the
    order of the code; {} if it computes them in another order, as when queries and keys are
    swapped. Numbers that are only taken from an argument tell nothing."""
    ours, mine, probe = _Results(), {}, evidence.probes[k]
    attempt(evidence.exercise.reference, probe, call_ours, lambda: ours)
    codes = {code for code in all_codes(evidence.answer) if code.co_name != "__init__"}
    evidence.ask(k, lambda: _variables(codes, mine))
    given = [x.double().contiguous() for x in probe.args if torch.is_tensor(x)]
    right = [x.double().squeeze() for x in ours.found]

    def tells(x):
        return len(x.unique()) > 2 and not any(torch.isin(x.contiguous(), y).all() for y in given)

    shown = [(k, x.double().squeeze()) for k, x in mine.items() if x.is_floating_point()]
    # Numbers that two variables hold are hardly right for both.
    twice = {a for a, x in shown for b, y in shown if a != b and close(x, y)}
    known = [(name, x) for name, x in shown if name not in twice and tells(x)]
    places = {n: next((j for j, y in enumerate(right) if close(x, y)), None) for n, x in known}
    found = [j for j in places.values() if j is not None]
    return {n: j is not None for n, j in places.items()} if found == sorted(found) else {}
