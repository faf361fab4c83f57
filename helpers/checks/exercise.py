"""What an exercise is made of: the right answer, probes, and tables of mistakes.

A table has the name of a mistake on the left and the code that makes it on the right:

    {"sign flipped": lambda inputs, i: -(inputs @ inputs[i])}

The code is called like the exercise; in the table of a stage it takes the state, see
pipeline.py. Several ways to make the same mistake stand in a tuple, and a way that needs several
stages is a dict from stage to variant. What is said about a mistake of one exercise stands beside
its code, explained(...); about one that several offer, under its name in mistakes.toml.
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from ..errors import InputError
from .pipeline import Pipeline
from .texts import Text

# --- probes ---


def returned(code, *args):
    """What the call returns: the usual thing to look at."""
    return code(*args)


def returned_later(code, *args):
    """What it returns after a call with the same tensors and other numbers, and, if it can do
    without them, where no gradients are kept."""
    others = list(map(_another, args))
    if any(one is not other for one, other in zip(args, others, strict=True)):
        with suppress(Exception):  # they may be impossible
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
    """Arguments to call an answer with, such as Probe("6 words", (inputs,)).

    label: what they are, to follow "on" in a sentence.
    may_fail: a right answer may divide 0 by 0 here, so that rows of NaN are no mistake.
    measure: called with the answer (a function, or a class) and the arguments; what it
        returns is compared, numbers or a results.Observed. For what no plain call shows.
    if_right: left out, it and all after it, where a probe before it is wrong.
    """

    label: str
    args: tuple
    may_fail: bool = False
    measure: Callable = returned
    if_right: bool = False

    def fresh(self):
        """The arguments again, so that no call sees what another did to them."""
        return tuple(x.clone() if torch.is_tensor(x) else x for x in self.args)

    def backwards(self):
        """The same tensors, backwards in all their dimensions."""
        args = (x.flip(tuple(range(x.dim()))) if torch.is_tensor(x) else x for x in self.args)
        return replace(self, label=f"{self.label}, backwards", args=tuple(args), if_right=True)

    def again(self):
        later = returned_later if self.measure is returned else self.measure
        label = f"{self.label}, again after other arguments"
        return replace(self, label=label, measure=later, if_right=True)

    def single(self):
        """The same with float32 in place of float64; None where nothing is float64."""
        double = [torch.is_tensor(x) and x.dtype == torch.float64 for x in self.args]
        args = (x.float() if d else x for x, d in zip(self.args, double, strict=True))
        return replace(self, args=tuple(args)) if any(double) else None


# --- mistakes ---


@dataclass(frozen=True)
class Mistake:
    """Ways to make a mistake, and how it is found: by the numbers that they give, where nothing
    else is said. A name may have several of these.

    ways: functions called like the exercise, and choices: dicts from stage to variant.
    name: that of the table where it stands.
    text: what is said about it; None where mistakes.toml says it.
    alone: are they never looked for together with other mistakes?
    detect: takes the evidence.Evidence, returns a bool; for what no single code can say.
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

    @property
    def is_alike(self):
        """Is it a name for answers that give the same numbers, and no more? See unnamed.py."""
        return not (self.ways or self.detect or self.counterfactual)


def explained(*ways, why="", advice="", source=""):
    """Ways of a mistake that carries its own words. why: sentences, may be empty.  advice: a
    sentence, what to try.  source: where it was seen, or why it is made."""
    return Mistake(ways, text=Text(why, advice, source))


def alone(*ways):
    """Ways that are never looked for together with other mistakes."""
    return Mistake(ways, alone=True)


def detected(detect):
    """What is found by detect(evidence)."""
    return Mistake((), detect=detect)


def cured(world, *ways):
    """Ways that do no harm in this world, and are found by that."""
    return Mistake(ways, counterfactual=world)


def mistakes_in(table, stage=None):
    """The Mistakes of a table; of the table of a stage, if one is given."""
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
    pipeline: the right answer in stages, if it has stages; of a class its formula. All wrong
    variants of its stages are mistakes of the exercise.
    variants: more of them, a table for each stage.  mistakes: a table of whole answers.
    without: of the wrong variants of its stages those that are not told here, with the reason.
    names: those that have another name here.
    formula_args: takes a Probe, returns the arguments of the pipeline there, or None where
    something else is looked at.
    first_is_tensor: is the first argument one, so that it can be changed in place?
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
        """The same exercise, with the same texts, under another name."""
        signature = self.signature.replace(self.name, name, 1)
        return replace(self, signature=signature, texts=self.texts or self.name)

    @property
    def name(self):
        return self.signature.partition("(")[0]

    @cached_property
    def all_mistakes(self):
        """Those of its stages, its own ones, and those that can be made everywhere. Where two
        fit, the first is named."""
        own = [m for stage, table in self.variants.items() for m in mistakes_in(table, stage)]
        return (*self._of_stages(), *own, *mistakes_in(self.mistakes), *everywhere(self))

    def _of_stages(self):
        """The wrong variants of the stages, those that other stages of the pipeline allow."""
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
        """Such as: (inputs, i)."""
        return self.signature.split(" ->")[0].removeprefix(self.name)


# --- mistakes that can be made wherever there is a right answer ---

IN_PLACE = "input changed in place"


def everywhere(exercise):
    """The mistakes that every exercise offers. They come last."""
    # More decimals than these are within the tolerance of results.close. What is drawn cannot
    # be compared number by number; positions have no decimals.
    decimals = {"weights": (2, 3, 4), "random": (), "positions": ()}.get(exercise.kind, (2, 3))
    table = {}
    if decimals:
        table["numbers rounded"] = tuple(_rounded(exercise.reference, n) for n in decimals)
    if exercise.first_is_tensor:
        table[IN_PLACE] = detected(lambda evidence: any(r.changed for r in evidence.mine))
    if exercise.kind != "positions":  # among whole numbers there is no NaN
        # NaN has many causes; that zeros cure it shows this one.
        table["added to what torch.empty gives"] = detected(
            lambda evidence: evidence.cured_by_zeros
        )
    return mistakes_in(table)


def _rounded(reference, decimals):
    """The right answer, which rounds what it returns."""
    if not inspect.isclass(reference):
        return lambda *args: reference(*args).round(decimals=decimals)

    class Rounded(reference):
        def forward(self, inputs):
            return super().forward(inputs).round(decimals=decimals)

    return Rounded
