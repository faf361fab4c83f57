"""What an exercise is declared with: probes, mistakes, exercises. And the ways to write exp,
because a mistake is the same mistake whichever of them it is made with."""

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch

from .results import close


def returned(code, *args):
    """What the call returns: the usual thing to look at."""
    return code(*args)


@dataclass(frozen=True)
class Probe:
    """Arguments to call a function with.

    where: what they are, to follow "on" in a sentence.
    may_fail: a right answer may divide 0 by 0 here, so that rows of NaN are no mistake.
    measure: called with the answer (a function, or a class) and the arguments; what it
        returns is compared, numbers or a results.Observed. For what no plain call shows.
    if_right: left out, it and all after it, where a probe before it is wrong.
    """

    where: str
    args: tuple
    may_fail: bool = False
    measure: Callable = returned
    if_right: bool = False

    def fresh(self):
        """The arguments again, so that no call sees what another did to them."""
        return tuple(x.clone() if torch.is_tensor(x) else x for x in self.args)

    def is_double(self):
        return any(map(_is_double, self.args))

    def single(self):
        """The same numbers in float32."""
        singles = (x.float() if _is_double(x) else x for x in self.args)
        return replace(self, args=tuple(singles))


def _is_double(x):
    return torch.is_tensor(x) and x.dtype == torch.float64


@dataclass(frozen=True)
class Mistake:
    """The code that makes a mistake, and a sentence to the student.

    advice: why it is wrong, in one sentence or none; then, as its last sentence, what to try.
    code: called like the exercise. Where it has a parameter `exp`, it is tried with every
        way of writing exp below. None if the mistake is one of stages.
    also: other code for the same mistake.
    shows: finds the mistake by something that no single code can say; used in place of code.
        It gets what engine.Seen holds and returns a bool.
    stages: wrong forms, each a dict from stage to form, see stages.py: in place of code.
    world: an experiment (see experiments.py) in which this mistake does no harm. It is found
        by that, alone or together with mistakes in stages; used in place of the numbers.
    variant: takes a Probe, returns another one; this mistake is found there only, because
        on the probes themselves it raises what others raise too.
    alone: like stages, but these forms are never looked for together with other mistakes.
    source: where it was seen, or why it is made.
    """

    name: str
    code: Callable | None
    advice: str
    also: tuple[Callable, ...] = ()
    shows: Callable | None = None
    stages: tuple[dict, ...] = ()
    world: Callable | None = None
    variant: Callable | None = None
    alone: tuple[dict, ...] = ()
    source: str = ""

    @property
    def choices(self):
        """All its wrong forms in stages."""
        return (*self.stages, *self.alone)

    def why_and_try(self):
        *why, advice = re.split(r"(?<=[.?!]) (?=[A-Z])", self.advice)
        return " ".join(why), advice

    def codes(self, exps=None):
        """Every function of code and also, with each of these ways of writing exp."""
        for code in (self.code, *self.also) if self.code else ():
            if "exp" in inspect.signature(code).parameters:
                yield from (partial(code, exp=exp) for exp in exps or EXPS)
            else:
                yield code


@dataclass(frozen=True)
class Exercise:
    """signature: as the notebook shows it, with the shape returned.  kind: "scores",
    "weights", "context" (a blend of the inputs), "values" (a blend of values), "positions" (whole
    numbers) or "random", for facts that hold of every right answer of that kind.
    right: a function, or a class for an exercise about a class.
    probes: a function, so that data/ is read when it is needed and not at import.
    staged: the right answer in stages, if it has stages; of a class its formula.  made: makes
    of a formula in stages what is checked.  formula_args: takes a Probe, returns the arguments
    of the formula there, or None where something else is looked at.
    first_is_tensor: is the first argument one, so that it can be changed in place?
    """

    name: str
    signature: str
    kind: str
    right: Callable
    probes: Callable
    mistakes: tuple[Mistake, ...]
    staged: Callable | None = None
    made: Callable = lambda formula: formula
    formula_args: Callable = lambda probe: probe.args
    first_is_tensor: bool = True

    def called(self, name):
        """The same exercise under another name."""
        return replace(self, name=name, signature=self.signature.replace(self.name, name, 1))

    def forms(self, mistake):
        """Every code that makes this mistake here."""
        yield from mistake.codes()
        for choice in mistake.choices:
            yield self.made(self.staged.with_(choice))

    @property
    def is_class(self):
        return inspect.isclass(self.right)

    @property
    def takes(self):
        """Such as: (inputs, i)."""
        return self.signature.split(" ->")[0].removeprefix(self.name)


def stable(scores, dim=-1):
    return (scores - scores.amax(dim, keepdim=True)).exp()


def naive(scores, dim=-1):
    return scores.exp()


def global_max(scores, dim=-1):
    return (scores - scores.max()).exp()


EXPS = (stable, naive, global_max)


def of_python(scores, dim=-1):
    """math.exp of each score: it raises OverflowError where torch gives infinity."""
    return scores.clone().apply_(math.exp)


def less_column_max(scores, dim=-1):
    """A maximum of each row, taken from the columns: keepdim=True is missing."""
    return (scores - scores.amax(-1)).exp()


def soft(scores, exp=stable, dim=-1):
    """Softmax with this exp."""
    exps = exp(scores, dim)
    return exps / exps.sum(dim, keepdim=True)


# --- what a mistake can show: relations of the student's numbers to the right ones ---


def is_prefix(mine, right):
    return mine.dim() == 1 and 0 < len(mine) <= len(right) and close(mine, right[: len(mine)])


def is_one_row(mine, right):
    return (
        mine.shape == right.shape
        and close(mine, mine[:1].expand_as(mine))
        and any(close(mine[0], row) for row in right)
    )
