"""An answer in stages, such as attention: project, score, scale, mask, softmax, blend.

Each stage has one right variant and may have wrong ones. A variant takes the state, which holds
the arguments of the exercise by name and what earlier stages made, and returns what its stage
makes:

    Stage(lambda s: s.scores / s.d_k**0.5, {"no scaling": lambda s: s.scores})
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

# All stages in the order in which they run, and what each one makes.
MAKES = {
    "project": ("queries", "keys", "values"),
    "split": ("queries", "keys", "values"),
    "score": ("scores",),
    "scale": ("scores",),
    "mask": ("scores",),
    "exp": ("exp",),
    "normalise": ("weights",),
    "blend": ("contexts",),
    "merge": ("contexts",),
    "output": ("contexts",),
}


@dataclass(frozen=True)
class Stage:
    """right: the right variant.  wrong: a table of wrong ones, see exercise.py."""

    right: Callable
    wrong: Mapping = field(default_factory=dict)

    def plus(self, more):
        """Return the stage with more wrong variants; a name that it has already is replaced."""
        return replace(self, wrong={**self.wrong, **more})

    def less(self, *names):
        """Return the stage without these wrong variants."""
        return replace(self, wrong={k: way for k, way in self.wrong.items() if k not in names})


class Pipeline:
    """An answer in stages: Pipeline("inputs", "contexts", project=PROJECT, score=SCORE, ...).

    takes: the names of its arguments, in one string.  gives: the name of what is returned, or
    a function that computes it from the state after the last stage.  hidden: a function from the
    state to the mask of what may not be seen; variants call it as state.hidden(state).  stages:
    each a Stage, or just a right variant.
    """

    def __init__(self, takes, gives, hidden=None, **stages):
        self.takes, self.gives, self.hidden = tuple(takes.split()), gives, hidden
        self.stages = {
            name: stages[name] if isinstance(stages[name], Stage) else Stage(stages[name])
            for name in MAKES
            if name in stages
        }

    def __call__(self, *args):
        state = self.start(args)
        for name, stage in self.stages.items():
            take(state, name, stage.right(state))
        return self.answer(state)

    def start(self, args):
        """Return the state before the first stage."""
        return SimpleNamespace(hidden=self.hidden, **dict(zip(self.takes, args, strict=True)))

    def answer(self, state):
        """Return the answer, given the state after the last stage."""
        return self.gives(state) if callable(self.gives) else getattr(state, self.gives)

    def replace(self, *choices, gives=None, hidden=None):
        """Return the pipeline with these changes. choices: dicts from stage to variant or Stage."""
        stages = dict(self.stages)
        for choice in choices:
            for name, other in choice.items():
                known = stages[name]
                stages[name] = other if isinstance(other, Stage) else replace(known, right=other)
        takes = " ".join(self.takes)
        return Pipeline(takes, gives or self.gives, hidden or self.hidden, **stages)

    def has(self, choice):
        """Does the pipeline have all stages of this choice?"""
        return choice.keys() <= self.stages.keys()

    def wrong(self):
        """Return pairs of the name of a stage and its table of wrong variants."""
        return [(name, stage.wrong) for name, stage in self.stages.items()]


def take(state, name, made):
    """Store in the state what this stage made."""
    names = MAKES[name]
    for key, x in zip(names, (made,) if len(names) == 1 else made, strict=True):
        setattr(state, key, x)
    if "keys" in names:
        state.d_k = state.keys.shape[-1]
