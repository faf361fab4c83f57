"""Which steps of a wrong answer are right, so that a student need not look there."""

import sys
from contextlib import contextmanager

import torch

from .code import all_codes, part_at
from .counterfactual import World
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


# What makes NaN, by a part of the operation's name.
CAUSES = {
    "empty": "memory that is never written to",
    "div": "0 / 0",
    "softmax": "a row of minus infinity, or plus infinity",
    "sub": "inf - inf",
    "mul": "0 * inf",
    "log": "the logarithm of a negative number",
    "pow": "a root of a negative number",
    "sqrt": "a root of a negative number",
}


class _FirstNaN(World):
    """Finds the first operation that makes NaN of other numbers."""

    def __init__(self, codes):
        super().__init__()
        self.codes, self.found = codes, {}

    def call(self, func, name, args, kwargs):
        result = func(*args, **kwargs)
        cause = next((CAUSES[part] for part in CAUSES if part in name), "")
        if "div" in name and torch.as_tensor(args[1]).isinf().any():
            cause = "inf / inf"
        if cause not in self.found and _has_nan(result) and not any(map(_has_nan, args)):
            frame = sys._getframe()
            while frame and frame.f_code not in self.codes:
                frame = frame.f_back
            if part := frame and part_at(frame.f_code, frame.f_lasti):
                self.found[cause] = " ".join(part.split())
        return result


def _has_nan(x):
    return torch.is_tensor(x) and x.is_floating_point() and bool(x.isnan().any())


def first_nan(evidence, k):
    """Return advice on the operation of the student's code that first gives NaN on probe k; ""
    if it is unknown."""
    world = _FirstNaN({code for code in all_codes(evidence.answer) if code.co_name != "__init__"})
    evidence.ask(k, lambda: world)
    # What fills a new tensor later is no cause, so torch.empty counts only if nothing else does.
    found = sorted(world.found.items(), key=lambda pair: pair[0] == CAUSES["empty"])
    return next((f"`{part}` gives the first NaN: {cause}." for cause, part in found if cause), "")


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
    """Return the names of local variables that hold numbers which a right answer computes, too,
    on probe k. Numbers that are only taken from an argument tell nothing."""
    ours, mine, probe = _Results(), {}, evidence.probes[k]
    attempt(evidence.exercise.reference, probe, call_ours, lambda: ours)
    codes = {code for code in all_codes(evidence.answer) if code.co_name != "__init__"}
    evidence.ask(k, lambda: _variables(codes, mine))
    given = [x.double() for x in probe.args if torch.is_tensor(x)]
    right = [x.double().squeeze() for x in ours.found]

    def tells(x):
        return len(x.unique()) > 2 and not any(torch.isin(x, y).all() for y in given)

    shown = [(k, x.double().squeeze()) for k, x in mine.items() if x.is_floating_point()]
    # Numbers that two variables hold are hardly right for both.
    twice = {a for a, x in shown for b, y in shown if a != b and close(x, y)}
    known = [(name, x) for name, x in shown if name not in twice and tells(x)]
    return [name for name, x in known if any(close(x, y) for y in right)]
