"""What an exercise is made of: the right answer, cases, and the mistakes that have names.

exercises.toml in each lesson's folder declares them, see exercises.py.
"""

import inspect
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import torch

from .program import Program

# --- cases ---


def returned(code, *args):
    """Return what the call returns: the usual measure of a Case."""
    return code(*args)


def returned_later(code, *args):
    """Return what the call returns after one with the same tensors and different numbers; without
    gradients if that works."""
    others = list(map(another, args))
    if any(one is not other for one, other in zip(args, others, strict=True)):
        with suppress(Exception):  # these numbers may be impossible
            code(*others)
    try:
        with torch.no_grad():
            return code(*args)
    except RuntimeError:
        return code(*args)


def another(x):
    """Return an argument with other numbers, where that is easy."""
    if torch.is_tensor(x) or isinstance(x, bool) or callable(x):
        return x
    return x / 2 if isinstance(x, float) else abs(x - 1)


@dataclass(frozen=True)
class Case:
    """Arguments to call an answer with, such as Case("a sentence of 6 words", (inputs,)).

    label: what they are, to follow "on" in a sentence.
    may_fail: a right answer may divide 0 by 0 here, so that rows of NaN are no mistake.
    measure: called with the answer (a function or a class) and the arguments; what it returns,
        numbers or an Observed, is compared. For what no plain call shows.
    if_right: this case and all after it are left out if one before it is wrong.
    parts: what measure joins, {name: shape}, so that a verdict says which part is wrong.
    """

    label: str
    args: tuple
    may_fail: bool = False
    measure: Callable = returned
    if_right: bool = False
    parts: dict = field(default_factory=dict)

    def split(self, numbers):
        """Return {name: numbers} of the parts; the whole, without a name, if there are none."""
        if not self.parts or numbers.numel() != sum(map(math.prod, self.parts.values())):
            return {"": numbers}
        flat = numbers.flatten().split([*map(math.prod, self.parts.values())])
        named = zip(self.parts.items(), flat, strict=True)
        return {name: x.reshape(shape) for (name, shape), x in named}

    def fresh(self):
        """Return a copy of the arguments, so that no call sees what another did to them."""
        return tuple(x.clone() if torch.is_tensor(x) else x for x in self.args)

    def with_argument(self, j, value):
        """Return the case with this value of argument j."""
        return replace(self, args=(*self.args[:j], value, *self.args[j + 1 :]))

    def backwards(self):
        """Return the case with its tensors reversed in all dimensions."""
        args = (x.flip(tuple(range(x.dim()))) if torch.is_tensor(x) else x for x in self.args)
        label = f"{self.label} in reverse order"
        return replace(self, label=label, args=tuple(args), if_right=True)

    def again(self):
        """Return the case called once more, after calls with other numbers."""
        later = returned_later if self.measure is returned else self.measure
        label = f"{self.label} after other calls"
        return replace(self, label=label, measure=later, if_right=True)

    def single(self):
        """Return the case with float32 instead of float64; None if nothing is float64."""
        double = [torch.is_tensor(x) and x.dtype == torch.float64 for x in self.args]
        args = (x.float() if d else x for x, d in zip(self.args, double, strict=True))
        return replace(self, args=tuple(args)) if any(double) else None


# --- mistakes ---


@dataclass(frozen=True)
class Mistake:
    """A mistake with a name, found by the numbers that it gives, or by detect.

    ways: ways to make it. A dict like Program.steps holds the steps that it changes, where NUMBER
    is any number of the student's code; a function or a class is a whole answer.
    why: sentences, may be empty.  advice: a sentence, what to try.
    only_if: a regular expression; where the student's code, "" if it cannot be read, does not match
    it, the mistake was not made, whatever the numbers are.
    detect: takes the Submission, returns a bool; for what no single code can show.
    """

    name: str
    ways: tuple = ()
    why: str = ""
    advice: str = ""
    only_if: str = ""
    detect: Callable | None = None


# --- exercises ---


@dataclass(frozen=True)
class Exercise:
    """An exercise, as check() knows it.

    signature: as the notebook shows it, with its name and the shape returned.  kind: "scores",
    "weights", "context" (a blend of the inputs), "values" (a blend of values) or "positions" (whole
    numbers), for facts that hold of every right answer of that kind.
    program: the right answer; for a class, its formula.  reference: the right answer, the program
    or a class.  cases: a function, so that data/ is read when it is needed and not at import.
    mistakes: if two fit, the first is named.  formula_args: takes a Case, returns the arguments of
    the program, or None if the case measures something else.
    avoid: a regular expression for names of functions and classes that would do the work, besides
    its own name: of torch, of the course, and of cells of the lesson.
    remark: takes the Submission of a right answer, returns a sentence or "".
    """

    signature: str
    kind: str
    program: Program
    reference: Callable
    cases: Callable
    mistakes: tuple
    formula_args: Callable = lambda case: case.args
    avoid: str = ""
    remark: Callable = lambda submission: ""

    @property
    def name(self):
        return self.signature.partition("(")[0]

    @property
    def is_class(self):
        return inspect.isclass(self.reference)

    @property
    def takes(self):
        """The arguments as text, such as "(inputs, i)"."""
        return self.signature.split(" ->")[0].removeprefix(self.name)
