"""Which operation of the student's code gives the first NaN."""

import os
import re
import sys
from itertools import islice

import torch

from .code import part_at
from .counterfactual import World
from .message import shorten

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


def first_nan(submission, k):
    """Return advice on the operation of the student's code that makes the NaN of case k: there
    are fewer if it gives 1 instead. "" if there is none."""
    first = _NaN()
    submission.ask(k, lambda: first)
    many = submission.mine[k].numbers.isnan().sum()
    for place, (part, cause) in islice(first.causes.items(), 5):
        cured = submission.ask(k, lambda place=place: _NaN(place)).numbers
        if part and cured is not None and cured.isnan().sum() < many:
            return f"look at `{shorten(part, 70)}`: it gives the first NaN{cause and ', '}{cause}."
    return ""
