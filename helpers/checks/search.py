"""Which two wrong stages together give exactly these numbers? Every pair is tried."""

from dataclasses import dataclass
from itertools import combinations

from .results import call_ours, close

LIMIT = 2  # wrong stages in one answer


@dataclass(frozen=True)
class Move:
    """One way to make a mistake. choice: from stage to variant."""

    mistake: object
    choice: dict


def apart(*choices):
    """Are these choices in different stages, so that all can be made?"""
    return sum(map(len, choices)) == len({stage for choice in choices for stage in choice})


def moves_of(exercise):
    """All moves of an exercise, in the order in which the mistakes are declared."""
    return [
        Move(mistake, choice)
        for mistake in exercise.all_mistakes
        if not (mistake.counterfactual or mistake.detect or mistake.alone)
        for choice in mistake.choices
    ]


class Search:
    """The pairs of moves of an exercise, and what they give on its probes, worked out once.

    args: of the pipeline, for each probe; None where something else is looked at.
    """

    def __init__(self, exercise, probes):
        self.moves, self._pipeline = moves_of(exercise), exercise.pipeline
        self.args = list(map(exercise.formula_args, probes))
        choices = [move.choice for move in self.moves]
        pairs = combinations(range(len(choices)), 2)
        self._pairs = [pair for pair in pairs if apart(*(choices[m] for m in pair))]
        self._known = {}

    def pairs_that_give(self, numbers, k):
        """The pairs of positions of moves that give these numbers on probe k."""
        return [p for p, x in self._on(k).items() if x is not None and close(numbers, x)]

    def pairs_that_raise(self):
        """Those that raise on the last probe, where the fewest raise that do not everywhere."""
        k = max(k for k, args in enumerate(self.args) if args is not None)
        return {pair for pair, x in self._on(k).items() if x is None}

    def _on(self, k):
        if k not in self._known:
            self._known[k] = {pair: self._given(pair, k) for pair in self._pairs}
        return self._known[k]

    def _given(self, pair, k):
        code = self._pipeline.replace(*(self.moves[m].choice for m in pair))
        return call_ours(code, *self.args[k]).value
