"""What an exercise is made of: the right answer, probes, and tables of mistakes.

A table has the name of a mistake on the left and the code that makes it on the right:

    {"sign flipped": lambda inputs, i: -(inputs @ inputs[i])}

The code takes the arguments of the exercise; in the table of a stage it takes the state, see
pipeline.py. Several ways to make the same mistake form a tuple, and a way that changes several
stages is a dict from stage to variant. The text about a mistake of one exercise is given with its
code, explained(...); about a mistake of several exercises, under its name in mistakes.toml.
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from ..errors import InputError
from .pipeline import Pipeline
from .texts import Text, text_of

# --- probes ---


def returned(code, *args):
    """Return what the call returns: the usual measure of a Probe."""
    return code(*args)


def returned_later(code, *args):
    """Return what the call returns after one with the same tensors and different numbers; without
    gradients if that works."""
    others = list(map(_another, args))
    if any(one is not other for one, other in zip(args, others, strict=True)):
        with suppress(Exception):  # these numbers may be impossible
            code(*others)
    try:
        with torch.no_grad():
            return code(*args)
    except RuntimeError:
        return code(*args)


def _another(x):
    if torch.is_tensor(x) or isinstance(x, bool) or callable(x):
        return x
    return x / 2 if isinstance(x, float) else abs(x - 1)


@dataclass(frozen=True)
class Probe:
    """Arguments to call an answer with, such as Probe("a sentence of 6 words", (inputs,)).

    label: what they are, to follow "on" in a sentence.
    may_fail: a right answer may divide 0 by 0 here, so that rows of NaN are no mistake.
    measure: called with the answer (a function or a class) and the arguments; what it returns,
        numbers or a results.Observed, is compared. For what no plain call shows.
    if_right: this probe and all after it are left out if one before it is wrong.
    """

    label: str
    args: tuple
    may_fail: bool = False
    measure: Callable = returned
    if_right: bool = False

    def fresh(self):
        """Return a copy of the arguments, so that no call sees what another did to them."""
        return tuple(x.clone() if torch.is_tensor(x) else x for x in self.args)

    def with_argument(self, j, value):
        """Return the probe with this value of argument j."""
        return replace(self, args=(*self.args[:j], value, *self.args[j + 1 :]))

    def backwards(self):
        """Return the probe with its tensors reversed in all dimensions."""
        args = (x.flip(tuple(range(x.dim()))) if torch.is_tensor(x) else x for x in self.args)
        label = f"{self.label} in reverse order"
        return replace(self, label=label, args=tuple(args), if_right=True)

    def again(self):
        later = returned_later if self.measure is returned else self.measure
        label = f"{self.label} after other calls"
        return replace(self, label=label, measure=later, if_right=True)

    def single(self):
        """Return the probe with float32 instead of float64; None if nothing is float64."""
        double = [torch.is_tensor(x) and x.dtype == torch.float64 for x in self.args]
        args = (x.float() if d else x for x, d in zip(self.args, double, strict=True))
        return replace(self, args=tuple(args)) if any(double) else None


# --- mistakes ---


@dataclass(frozen=True)
class Mistake:
    """Ways to make a mistake, and how it is found: by the numbers they give, unless detect or
    counterfactual is given. Several Mistakes may have the same name.

    ways: functions called like the exercise, and choices, which are dicts from stage to variant.
    name: its key in the table.
    text: what is said about it; None if mistakes.toml has the text.
    alone: is it never looked for together with other mistakes?
    detect: takes the evidence.Evidence, returns a bool; for what no single code can show.
    counterfactual: a world (see counterfactual.py) in which this mistake does no harm.
    """

    ways: tuple
    name: str = ""
    text: Text | None = None
    alone: bool = False
    detect: Callable | None = None
    counterfactual: Callable | None = None

    @property
    def choices(self):
        return tuple(way for way in self.ways if isinstance(way, dict))


def explained(*ways, why="", advice="", source=""):
    """Return a Mistake with its own text. why: sentences, may be empty.  advice: a sentence, what
    to try.  source: where it was seen, or why it is made."""
    return Mistake(ways, text=Text(why, advice, source))


def alone(*ways):
    """Return a Mistake that is never looked for together with others."""
    return Mistake(ways, alone=True)


def detected(detect):
    """Return a Mistake that is found by detect(evidence)."""
    return Mistake((), detect=detect)


def cured(world, *ways):
    """Return a Mistake that is found because it does no harm in this world."""
    return Mistake(ways, counterfactual=world)


def mistakes_in(table, stage=None):
    """Yield the Mistakes of a table; of the table of a stage, if one is given."""
    for name, ways in table.items():
        ways = ways if isinstance(ways, tuple) else (ways,)
        found = [way for way in ways if isinstance(way, Mistake)]
        plain = tuple(way for way in ways if not isinstance(way, Mistake))
        for one in (Mistake(plain), *found) if plain else found:
            given = [{stage: w} if stage and not isinstance(w, dict) else w for w in one.ways]
            yield replace(one, name=name, ways=tuple(given))


# --- exercises ---

KINDS = ("scores", "weights", "context", "values", "positions", "random")


@dataclass(frozen=True)
class Exercise:
    """An exercise, as check() knows it.

    signature: as the notebook shows it, with its name and the shape returned.  kind: "scores",
    "weights", "context" (a blend of the inputs), "values" (a blend of values), "positions" (whole
    numbers) or "random", for facts that hold of every right answer of that kind.
    reference: the right answer, a function, or a class for an exercise about a class.
    probes: a function, so that data/ is read when it is needed and not at import.
    pipeline: the right answer in stages, if it has stages; for a class, its formula. All wrong
    variants of its stages are mistakes of the exercise.
    variants: more wrong variants, a table for each stage.  mistakes: a table of whole answers.
    without: names of wrong variants of its stages that this exercise leaves out, with the reason.
    names: from the name of a mistake to the name it has here.  texts: exercise with its texts.
    formula_args: takes a Probe, returns the arguments of the pipeline, or None if the probe
    measures something else.
    first_is_tensor: is the first argument a tensor, so that it can be changed in place?
    avoid: names of functions that the text asks to do without, as a regular expression.
    """

    signature: str
    kind: str
    reference: Callable
    probes: Callable
    pipeline: Pipeline | None = None
    variants: Mapping = field(default_factory=dict)
    mistakes: Mapping = field(default_factory=dict)
    without: Mapping = field(default_factory=dict)
    names: Mapping = field(default_factory=dict)
    formula_args: Callable = lambda probe: probe.args
    first_is_tensor: bool = True
    texts: str = ""
    avoid: str = ""

    def __post_init__(self):
        if self.kind not in KINDS:
            raise InputError(f"{self.name}: the kind is one of {KINDS}, not {self.kind!r}.")

    def called(self, name):
        """Return the same exercise, with the same texts, under a different name."""
        signature = self.signature.replace(self.name, name, 1)
        return replace(self, signature=signature, texts=self.texts or self.name)

    def text_of(self, mistake):
        """Return the Text on a Mistake in this exercise."""
        return text_of(mistake, self.texts or self.name)

    @property
    def name(self):
        return self.signature.partition("(")[0]

    @cached_property
    def all_mistakes(self):
        """The mistakes of its stages, its own, and those of every exercise. If two fit, the first
        is named."""
        own = [m for stage, table in self.variants.items() for m in mistakes_in(table, stage)]
        return (*self._of_stages(), *own, *mistakes_in(self.mistakes), *everywhere(self))

    def _of_stages(self):
        """Yield the wrong variants of the stages, if the pipeline has all stages they change."""
        for stage, wrong in self.pipeline.wrong() if self.pipeline else ():
            for mistake in mistakes_in(wrong, stage):
                ways = tuple(choice for choice in mistake.ways if self.pipeline.has(choice))
                if mistake.name in self.without or (mistake.ways and not ways):
                    continue
                name = self.names.get(mistake.name, mistake.name)
                yield replace(mistake, name=name, ways=ways)

    @property
    def is_class(self):
        return inspect.isclass(self.reference)

    @property
    def takes(self):
        """The arguments as text, such as "(inputs, i)"."""
        return self.signature.split(" ->")[0].removeprefix(self.name)


# --- mistakes that can be made wherever there is a right answer ---

IN_PLACE = "input changed in place"


def everywhere(exercise):
    """Return the mistakes that can be made in every exercise of this kind. They come last."""
    # More decimals than these are within the tolerance of results.close. Random numbers cannot
    # be compared one by one; positions have no decimals.
    decimals = {"weights": (2, 3, 4), "random": (), "positions": ()}.get(exercise.kind, (2, 3))
    table = {}
    if decimals:
        table["numbers rounded"] = tuple(_rounded(exercise.reference, n) for n in decimals)
    if exercise.first_is_tensor:
        table[IN_PLACE] = detected(lambda evidence: any(r.changed for r in evidence.mine))
    if exercise.kind != "positions":  # among whole numbers there is no NaN
        # NaN has many causes; if zeros cure it, this is the one.
        table["added to uninitialised memory"] = detected(lambda evidence: evidence.cured_by_zeros)
    return mistakes_in(table)


def _rounded(reference, decimals):
    """Return the reference, changed to round what it returns."""
    if not inspect.isclass(reference):
        return lambda *args: reference(*args).round(decimals=decimals)

    class Rounded(reference):
        def forward(self, inputs):
            return super().forward(inputs).round(decimals=decimals)

    return Rounded
