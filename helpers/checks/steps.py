"""Which steps of a wrong answer are right, so that a student need not look there."""

import sys
from contextlib import contextmanager

import torch

from .code import all_codes
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
