"""Call an answer on a case, and compare the results."""

import math
import re
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy
import torch

from .. import guard
from ..contents import plain

MOST = 10**6  # numbers that are read of a result
# The dtypes that can be compared; others are read as float64.
NAMES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
DTYPES = [getattr(torch, name) for name in NAMES]


class Observed(dict):
    """What was measured instead of returned numbers: from the name of a fact to its value, which
    is a bool, a number or text."""


class NotNumbers(Exception):
    """Ends a call: the answer returned value, which is not numbers but, in words, `instead`."""

    def __init__(self, value, instead):
        super().__init__()
        self.value, self.instead = value, instead


@dataclass(frozen=True)
class Result:
    """numbers: what was returned, as a tensor; None if that was not numbers: then `instead` says
    what it was, or `observed` holds what was measured.  changed: from the position of a tensor
    argument that the call changed to the tensor after the call."""

    outcome: guard.Outcome
    numbers: torch.Tensor | None = None
    instead: str = ""
    changed: dict = field(default_factory=dict)
    observed: Observed | None = None

    @property
    def stopped(self):
        return was_stopped(self.outcome)

    @property
    def unchanged(self):
        """The Result without what became of the arguments."""
        return replace(self, changed={})


def was_stopped(outcome):
    """Was a call, of this guard.Outcome, ended by its time limit?"""
    # guard's own TimeoutError was never raised, so it has no traceback.
    return isinstance(outcome.error, TimeoutError) and outcome.error.__traceback__ is None


def attempt(answer, case, call, world=None):
    """Return the Result of calling an answer on a copy of the case's arguments.

    call: guard.call, or call_ours for code that cannot do harm.  world: what is different during
    the call, see _counterfactual.py.
    """
    args, read = case.fresh(), {}

    def measured(*args):
        with world() if world else nullcontext():
            value = case.measure(answer, *args)
        if type(value) is Observed:
            read["observed"] = value
        else:
            # Inside the guarded call, because reading the value may fail, or take for ever.
            read["numbers"] = numbers_of(value)
        return value

    outcome = call(measured, *args)
    # A call that failed may still be running, and write into `read`.
    found = read if outcome.error is None else {}
    if isinstance(outcome.error, NotNumbers):
        found = {"instead": outcome.error.instead}
        outcome = guard.Outcome(value=outcome.error.value, printed=outcome.printed)
    changed = {
        k: plain(after).clone()
        for k, (before, after) in enumerate(zip(case.args, args, strict=True))
        if torch.is_tensor(before) and not close(plain(after), before)
    }
    return Result(outcome, changed=changed, **found)


def call_ours(fn, *args):
    """Return the Outcome, as guard.call does, but without a thread: hundreds take milliseconds."""
    torch.set_default_dtype(torch.float32)  # the student's code may have set another one
    try:
        return guard.Outcome(value=fn(*args))
    except Exception as error:
        return guard.Outcome(error=error)


def numbers_of(value):
    """Return the numbers of an answer as a tensor. value: a tensor, an array, a number or a list of
    these, since style is the student's choice. Raises NotNumbers for anything else."""
    try:
        return _numbers(value)
    except NotNumbers:
        raise
    except Exception as error:
        instead = f"something that cannot be read as numbers ({type(error).__name__})"
        raise NotNumbers(value, instead) from None


def _numbers(value):
    if isinstance(value, numpy.ndarray | numpy.generic):
        _count(value.size, "an array")
        half = value.dtype == numpy.float16
        value = torch.tensor(value.tolist(), dtype=torch.float16) if half else value.tolist()
    if torch.is_tensor(value):
        value = plain(value)
        if value.is_complex():
            raise NotNumbers(value, "a tensor of complex numbers")
        _count(value.numel(), "a tensor")
        value = value.cpu().to_dense().clone()
        len(value.shape)  # a nested tensor has none
        return value if value.dtype in DTYPES else value.double()
    if isinstance(value, bool | int | float):
        return torch.tensor(value, dtype=torch.float64)
    if not isinstance(value, list | tuple):
        raise NotNumbers(value, kind(value))
    _count(len(value), kind(value))
    try:
        parts = [_numbers(part) for part in value]
    except NotNumbers as part:
        raise NotNumbers(value, f"{kind(value)} with {part.instead} inside") from None
    if len({part.shape for part in parts}) > 1:
        raise NotNumbers(value, f"{kind(value)} whose parts differ in shape")
    return torch.stack(parts) if parts else torch.zeros(0)


def _count(count, what):
    if count > MOST:
        raise NotNumbers(None, f"{what} of {count} numbers")


def kind(value):
    """Return the type in words, such as "a str", "an int" or "None"."""
    name = type(value).__name__
    if value is None:
        return "None"
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def close(mine, right):
    """Do two tensors have the same shape and numbers, as far as float32 can tell? NaN equals NaN.

    The tolerance allows sums in any order, but not weights that were rounded to 2 decimals. For
    half precision, with 3 digits at best, it is wider: a student who returns that means it.
    """
    if mine.shape != right.shape:
        return False
    if mine.dtype == right.dtype and torch.equal(mine, right):
        return True  # most arguments are as they were: this is the fast way to see it
    rtol, atol = _tolerances(mine)
    return torch.allclose(mine.double(), right.double(), rtol, atol, equal_nan=True)


def rows_close(many, one):
    """Return (k,) of bool: is each part of many, (k, ...), close() to one, (...)?"""
    near = torch.isclose(many.double(), one.double(), *_tolerances(one), equal_nan=True)
    return near.reshape(len(many), -1).all(1)


def _tolerances(mine):
    if mine.dtype in (torch.float16, torch.bfloat16):
        return (8 * torch.finfo(mine.dtype).eps,) * 2
    return 1e-4, 1e-5


def same(mine, other):
    """Do two Results agree: in numbers or error, and in what became of the arguments?"""
    a, b = mine.outcome.error, other.outcome.error
    if type(a) is not type(b) or not _same_items(mine.changed, other.changed, close):
        return False
    if a is not None:
        return clean(str(a)) == clean(str(b))
    if mine.observed is not None and other.observed is not None:
        return _same_items(mine.observed, other.observed, same_fact)
    if mine.numbers is not None and other.numbers is not None:
        return close(mine.numbers, other.numbers)
    return mine.instead == other.instead != ""


def _same_items(mine, other, alike):
    return mine.keys() == other.keys() and all(alike(mine[k], other[k]) for k in mine)


def same_fact(a, b):
    """Are two values of an Observed equal, decimals as far as float32 can tell?"""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5) or (a != a and b != b)
    return a == b


def divides_zero_by_zero(mine, right):
    """Is it the right Result except for rows that are all NaN?"""
    if mine.numbers is None or mine.numbers.shape != right.numbers.shape:
        return False
    rows = mine.numbers.isnan().all(-1, keepdim=True)
    filled = torch.where(rows, right.numbers.to(mine.numbers.dtype), mine.numbers)
    return bool(rows.any()) and close(filled, right.numbers)


def factor(mine, right):
    """Return c if every Result has c times the right numbers and c is not 0 or 1, else None."""
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
    """Return the text without addresses: they differ in every run, and outputs are compared."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


# --- relations of the student's numbers to the right ones ---


def is_prefix(mine, right):
    """Are these numbers, (m,), the first m of the right ones, (n,)?"""
    return mine.dim() == 1 and 0 < len(mine) <= len(right) and close(mine, right[: len(mine)])


def has_equal_rows(x):
    return close(x, x[:1].expand_as(x))


def is_one_row(mine, right):
    """Is each row of mine, (n, d), the same one of the right rows, (n, d)?"""
    return (
        mine.shape == right.shape
        and has_equal_rows(mine)
        and any(close(mine[0], row) for row in right)
    )
