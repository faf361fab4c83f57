"""Which two wrong stages together give exactly these numbers? Every pair is tried."""

from dataclasses import dataclass
from types import SimpleNamespace

import torch

from .pipeline import take
from .results import call_ours, rows_close


@dataclass(frozen=True)
class Move:
    """One way to make a mistake. choice: a dict from stage to variant."""

    mistake: object
    choice: dict


def independent(*choices):
    """Do these choices change different stages, so that all can be made together?"""
    return sum(map(len, choices)) == len({stage for choice in choices for stage in choice})


def moves_of(exercise):
    """Return all moves of an exercise, in the order in which the mistakes are declared."""
    return [
        Move(mistake, choice)
        for mistake in exercise.all_mistakes
        if not (mistake.counterfactual or mistake.detect or mistake.alone)
        for choice in mistake.choices
    ]


class Search:
    """The pairs of moves of an exercise, and what they give on its probes, computed only once.

    A pair is a tuple of two positions in moves, the smaller first.
    args: the pipeline's arguments for each probe; None if the probe measures something else.
    """

    def __init__(self, exercise, probes):
        self.moves, self._pipeline = moves_of(exercise), exercise.pipeline
        self.args = list(map(exercise.formula_args, probes))
        self._stages = list(self._pipeline.stages.items()) if self._pipeline else []
        self._known = {}

    def pairs_that_give(self, numbers, k):
        """Return the pairs that give these numbers on probe k."""
        given = {pair: x for pair, x in self._on(k).items() if x.shape == numbers.shape}
        if not given:
            return []
        near = rows_close(torch.stack(list(given.values())), numbers).tolist()
        return sorted(pair for pair, is_near in zip(given, near, strict=True) if is_near)

    def _on(self, k):
        if k not in self._known:
            start = self._pipeline.start(self.args[k])
            self._known[k] = call_ours(lambda: dict(self._results(start, 0, ()))).value
        return self._known[k]

    def _results(self, state, stage, chosen):
        """Yield each pair that begins with these moves and does not raise, with what it gives.
        What pairs have in common is computed once.

        stage: the number of the next one.  state: before it.  chosen: the moves so far, 0 to 2.
        """
        if stage == len(self._stages):
            if len(chosen) == 2:
                yield tuple(sorted(chosen)), self._pipeline.answer(state)
            return
        for moves, variant in self._variants(stage, chosen):
            after = SimpleNamespace(**vars(state))
            try:
                take(after, self._stages[stage][0], variant(after))
            except Exception:  # so does every pair that begins like this
                continue
            yield from self._results(after, stage + 1, moves)

    def _variants(self, stage, chosen):
        """Yield the chosen moves, also with one added that starts here, and their variant here."""
        name, known = self._stages[stage]
        choices = [self.moves[m].choice for m in chosen]
        begun = [choice[name] for choice in choices if name in choice]
        yield chosen, begun[0] if begun else known.right
        if begun or len(chosen) == 2:
            return
        before = {earlier for earlier, _ in self._stages[:stage]}
        for m, move in enumerate(self.moves):
            begins = name in move.choice and not before & move.choice.keys()
            if begins and independent(*choices, move.choice):
                yield (*chosen, m), move.choice[name]
