"""Which wrong stages together give exactly these numbers? Every set of up to three is tried.

Sets share what they compute, and what has the same shape is computed as one batch, so that
thousands of sets cost a few hundred operations.
"""

from dataclasses import dataclass, field
from itertools import combinations
from types import SimpleNamespace

import numpy
import torch

from .pipeline import take
from .results import rows_close

LIMIT = 3  # wrong stages in one answer
# What no later stage looks at.
DONE_WITH = {
    "scale": ("queries", "keys"),
    "normalise": ("scores", "exp"),
    "blend": ("weights", "values"),
}


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
    """The sets of moves of an exercise on its probes. What they give on a probe is computed once,
    since in every world the same sets are asked for.

    args: of the pipeline, for each probe; None where something else is looked at.
    """

    def __init__(self, exercise, probes):
        self.moves, self._pipeline = moves_of(exercise), exercise.pipeline
        self.args = list(map(exercise.formula_args, probes))
        self._known = {}

    def sets_that_give(self, numbers, k, limit):
        """Sets of at most `limit` moves, in different stages, that give these numbers on probe k:
        tuples of positions in moves in the order of the stages, the smallest first."""
        found = []
        for chosen, results in self._results(k, limit):
            if results.shape[1:] == numbers.shape:
                found += chosen[rows_close(results, numbers).numpy()].tolist()
        return sorted((tuple(m for m in row if m >= 0) for row in found), key=lambda x: (len(x), x))

    def pairs_that_raise(self):
        """The pairs of positions of moves, in different stages, that raise on the last probe,
        where the fewest raise that do not raise everywhere."""
        k = max(k for k, args in enumerate(self.args) if args is not None)
        fine = set()
        for chosen, _ in self._results(k, 2):
            fine |= {frozenset(row) for row in chosen.tolist()}
        return {
            pair
            for pair in combinations(range(len(self.moves)), 2)
            if frozenset(pair) not in fine and apart(*(self.moves[m].choice for m in pair))
        }

    def _results(self, k, limit):
        if (k, limit) not in self._known:
            results = results_of_sets(self._pipeline, self.moves, self.args[k], limit)
            self._known[k, limit] = list(results)
        return self._known[k, limit]


# --- all sets at once ---


@dataclass
class _Batch:
    """Sets whose states have the same shapes. chosen: (k, limit) positions of moves, -1 for
    none.  made: what the stages made, by name, each (k, ...).  fixed: what is the same for all:
    the arguments, exp, d_k."""

    chosen: numpy.ndarray
    made: dict = field(default_factory=dict)
    fixed: dict = field(default_factory=dict)

    def key(self):
        shapes = ((name, x.shape[1:], x.dtype) for name, x in self.made.items())
        return (self.fixed.get("exp"), self.fixed.get("d_k"), *shapes)


def results_of_sets(pipeline, moves, args, limit):
    """Yields pairs: chosen (k, limit), positions of moves, and results (k, ...). Sets of which
    a stage raises are left out."""
    stages = list(pipeline.stages)
    # The stages of each move as bits; one more, of none, for position -1.
    covers = [sum(1 << s for s, stage in enumerate(stages) if stage in m.choice) for m in moves]
    covers = numpy.array([*covers, 0])
    start = vars(pipeline.start(args))
    batches = [_Batch(numpy.full((1, limit), -1), fixed=start)]
    for s, (name, stage) in enumerate(pipeline.stages.items()):
        after = []
        for batch in batches:
            for rows, move, chosen in _branches(batch.chosen, s, covers):
                variant = stage.right if move is None else moves[move].choice[name]
                after += _taken(batch, rows, chosen, name, variant)
        batches = _joined(after)
    for batch in batches:
        yield batch.chosen, _mapped(pipeline.answer, batch.fixed, batch.made)


def _branches(chosen, s, covers):
    """How the sets of a batch go on at stage s: (rows, move or None for the right variant, chosen
    with the move added)."""
    here, earlier = 1 << s, (1 << s) - 1
    moves = numpy.where(covers[chosen] & here, chosen, -1).max(axis=1)
    # Begun at an earlier stage. (numpy.unique would import numpy.ma, in the middle of a check.)
    for move in sorted(set(moves[moves >= 0].tolist())):
        rows = numpy.flatnonzero(moves == move)
        yield rows, move, chosen[rows]
    free = moves == -1
    yield numpy.flatnonzero(free), None, chosen[free]
    count = (chosen >= 0).sum(axis=1)
    free &= count < chosen.shape[1]
    covered = numpy.bitwise_or.reduce(covers[chosen], axis=1)
    for move in numpy.flatnonzero((covers & here != 0) & (covers & earlier == 0)):
        rows = numpy.flatnonzero(free & (covered & covers[move] == 0))
        longer = chosen[rows].copy()
        longer[numpy.arange(len(rows)), count[rows]] = move
        yield rows, move, longer


def _taken(batch, rows, chosen, name, variant):
    """The batch of these rows after a variant of a stage: a list of one, or none if it raises."""
    if not len(rows):
        return []
    made = {name: x[rows] for name, x in batch.made.items()}
    try:
        # exp is a function, whatever came before it.
        new = _mapped(variant, batch.fixed, {} if name == "exp" else made)
    except Exception:  # with these shapes it raises for every set
        return []
    state = SimpleNamespace()
    take(state, name, new)
    fixed = dict(batch.fixed)
    for done in DONE_WITH.get(name, ()):
        made.pop(done, None)
        fixed.pop(done, None)
    for key, x in vars(state).items():
        (made if torch.is_tensor(x) else fixed)[key] = x
    return [_Batch(chosen, made, fixed)]


def _mapped(variant, fixed, made):
    """What a variant makes for every row of made: tensors (k, ...), or something that is the same
    for all of them."""
    names = list(made)

    def of_one(*tensors):
        return variant(SimpleNamespace(**{**fixed, **dict(zip(names, tensors, strict=True))}))

    if not names:
        new = of_one()
        if torch.is_tensor(new):
            return new[None]
        return tuple(x[None] for x in new) if isinstance(new, tuple) else new
    return torch.vmap(of_one)(*made.values())


def _joined(batches):
    groups = {}
    for batch in batches:
        groups.setdefault(batch.key(), []).append(batch)
    return [_join(*group) for group in groups.values()]


def _join(first, *others):
    if not others:
        return first
    batches = (first, *others)
    made = {name: torch.cat([batch.made[name] for batch in batches]) for name in first.made}
    return _Batch(numpy.concatenate([batch.chosen for batch in batches]), made, first.fixed)
