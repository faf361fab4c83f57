"""What came of a call, as something that can be compared."""

import re
from dataclasses import dataclass, field

import numpy
import torch

from .. import guard


@dataclass(frozen=True)
class Result:
    """numbers: what was returned, as a tensor; None if it was not numbers, then instead
    says what it was.  changed: tensors among the arguments that are not as they were, as
    they are after the call, by position."""

    outcome: guard.Outcome
    numbers: torch.Tensor | None = None
    instead: str = ""
    changed: dict = field(default_factory=dict)

    @property
    def stopped(self):
        return was_stopped(self.outcome)

    @property
    def zero_by_zero(self):
        if self.numbers is None:
            return isinstance(self.outcome.error, ZeroDivisionError)
        return bool(self.numbers.isnan().all())


def was_stopped(outcome):
    # guard's own TimeoutError was never raised, so it has no traceback.
    return isinstance(outcome.error, TimeoutError) and outcome.error.__traceback__ is None


def attempt(fn, probe, call):
    """The Result of calling fn on a copy of the probe's arguments. call: guard.call, or
    call_ours for code that cannot do harm."""
    args = probe.fresh()
    outcome = call(fn, *args)
    numbers, instead = (None, "") if outcome.error is not None else read(outcome.value)
    changed = {
        k: after.detach().clone()
        for k, (before, after) in enumerate(zip(probe.args, args, strict=True))
        if torch.is_tensor(before) and not close(after, before)
    }
    return Result(outcome, numbers, instead, changed)


def call_ours(fn, *args):
    """guard.call without a thread, so that hundreds of forms take milliseconds."""
    try:
        return guard.Outcome(value=fn(*args))
    except Exception as error:
        return guard.Outcome(error=error)


def read(value):
    """(numbers, "") or (None, what it is instead). Takes tensors, arrays, numbers and
    lists of these: the style of an answer is the student's affair."""
    try:
        if isinstance(value, numpy.ndarray | numpy.generic):
            half = value.dtype == numpy.float16
            value = torch.tensor(value.tolist(), dtype=torch.float16) if half else value.tolist()
        if torch.is_tensor(value):
            if value.is_complex():
                return None, "a tensor of complex numbers"
            return value.detach().cpu().clone(), ""
        if isinstance(value, bool | int | float):
            return torch.tensor(value, dtype=torch.float64), ""
        if isinstance(value, list | tuple):
            parts = [read(part) for part in value]
            for _, instead in parts:
                if instead:
                    return None, f"{kind(value)} with {instead} inside"
            if len({numbers.shape for numbers, _ in parts}) > 1:
                return None, f"{kind(value)} with parts of different shapes inside"
            return torch.stack([numbers for numbers, _ in parts]) if parts else torch.zeros(0), ""
    except Exception as error:
        return None, f"something that cannot be read as numbers ({type(error).__name__})"
    return None, kind(value)


def kind(value):
    """Such as: a str, an int, None."""
    name = type(value).__name__
    if value is None:
        return "None"
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def close(mine, right):
    """Same shape and same numbers, as far as float32 can tell; NaN equals NaN.

    Wide enough for sums in any order, narrow enough to see weights that were rounded to 2
    decimals. Half precision has 3 digits at best: whoever returns it means it.
    """
    if mine.shape != right.shape:
        return False
    rtol, atol = 1e-4, 1e-5
    if mine.dtype in (torch.float16, torch.bfloat16):
        rtol = atol = 8 * torch.finfo(mine.dtype).eps
    return torch.allclose(mine.double(), right.double(), rtol, atol, equal_nan=True)


def same(mine, other):
    """Is one Result like another: the numbers or the error, and what became of the arguments?"""
    if mine.changed.keys() != other.changed.keys():
        return False
    if not all(close(mine.changed[k], other.changed[k]) for k in mine.changed):
        return False
    if mine.outcome.error is not None or other.outcome.error is not None:
        a, b = mine.outcome.error, other.outcome.error
        return type(a) is type(b) and clean(str(a)) == clean(str(b))
    if mine.numbers is None or other.numbers is None:
        return mine.instead == other.instead != ""
    return close(mine.numbers, other.numbers)


def factor(mine, right):
    """c if every Result has c times the right numbers and c is not 0 or 1, else None."""
    pairs = list(zip(mine, right, strict=True))
    for a, b in pairs:
        if a.numbers is None or a.changed or a.numbers.shape != b.numbers.shape:
            return None
    a, b = mine[0].numbers.double(), right[0].numbers.double()
    c = float((a * b).sum() / (b * b).sum())
    if c == 0 or abs(c - 1) < 1e-3:
        return None
    return c if all(close(a.numbers, c * b.numbers) for a, b in pairs) else None


def clean(text):
    """Without addresses: they differ in every run, and outputs are compared."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)
