"""Which mistakes are established: those that give exactly what was seen, alone or together, or
that an experiment shows."""

from dataclasses import replace
from itertools import product

from .exercise import IN_PLACE, returned
from .pipeline import Pipeline
from .results import attempt, call_ours, same
from .search import independent


def established(evidence):
    """The mistakes in the order in which the computation runs; () if none is established.

    evidence: the Evidence on a wrong answer.
    """
    found = _alone(evidence)
    if not found and not evidence.probes[evidence.wrong[0]].if_right:
        found = _together(evidence)  # no stage is wrong where all that goes before is right
    # The numbers shown are those of the first wrong probe: what is wrong there is told first.
    return tuple(sorted(found, key=lambda mistake: not _shows(evidence, mistake)))


def _shows(evidence, mistake):
    """Is the first wrong probe wrong with this mistake alone?"""
    k, pipeline = evidence.wrong[0], evidence.exercise.pipeline
    given = [_Case(evidence).given(pipeline.replace(choice), k) for choice in mistake.choices]
    return not given or not all(evidence.is_right(k, result) for result in given)


def is_fixed(evidence, found, name, before):
    """Is it established that the mistake of this name, told before, is not there now?

    found: what is established now.  before: all names that were told before.
    That it is not told is not enough: one mistake can hide another.
    """
    names = {mistake.name for mistake in found}
    if not names:
        return False
    if names == set(before) - {name}:
        return True  # before it was needed for other numbers than these
    same_name = [mistake for mistake in evidence.exercise.all_mistakes if mistake.name == name]
    return bool(same_name) and all(_would_show(evidence, found, mistake) for mistake in same_name)


def _would_show(evidence, found, mistake):
    """Would the numbers be others if this mistake were there besides those that are found?"""
    if not mistake.choices or not all(m.choices for m in found):
        return False
    case = _Case(evidence)
    sets = product(*(m.choices for m in found), mistake.choices)
    return not any(
        case.fits(evidence.exercise.pipeline.replace(*s)) for s in sets if independent(*s)
    )


# --- one mistake ---


def _alone(evidence):
    """A mistake that explains everything; or one that is detected, and what else is wrong."""
    case = _Case(evidence)
    for mistake in evidence.exercise.all_mistakes:
        if evidence.contradicts(mistake):
            continue
        if mistake.detect:
            if mistake.detect(evidence):
                return (mistake, *_beside(evidence, mistake))
        elif mistake.counterfactual:
            if evidence.cured_by(mistake.counterfactual):
                return (mistake,)
        elif case.is_made_by(mistake):
            return (mistake,)
    return ()


def _beside(evidence, mistake):
    """What else is wrong, if what became of the arguments, or a fact about a class, is left
    aside."""
    rest = [k for k, result in enumerate(evidence.mine) if result.observed is None]
    if mistake.name != IN_PLACE and evidence.wrong[0] in rest:
        return ()  # it shows in the numbers themselves
    part = evidence.part(rest)
    results = [result.unchanged for result in part.mine]
    if all(part.is_right(k, result) for k, result in enumerate(results)):
        return ()
    return _Case(part, results).explanation()


# --- several mistakes ---


def _together(evidence):
    """Return the smallest set of mistakes: two wrong stages, or one that an experiment takes away
    and another that is left then."""
    found = _Case(evidence).wrong_stages()
    shown = [
        _in_world(evidence, *pair)
        for pair in _worlds(evidence.exercise)
        if _matters(evidence, pair[0])
    ]
    # An experiment tells apart what numbers do not: it goes first where sizes are the same.
    return min(filter(None, [*shown, found]), key=len, default=())


def _worlds(exercise):
    """Return pairs of a world and the first mistake that does no harm in it."""
    first = {}
    for mistake in exercise.all_mistakes:
        if mistake.counterfactual:
            first.setdefault(mistake.counterfactual, mistake)
    return first.items()


def _matters(evidence, world):
    """Is anything else in this world, but for what becomes of the arguments?"""
    pairs = ((evidence.in_world(k, world), evidence.mine[k]) for k in evidence.wrong_first)
    return not all(same(there.unchanged, here.unchanged) for there, here in pairs)


def _in_world(evidence, world, mistake):
    """Return the mistake of this world, with what is left in it; () if that is not explained."""
    # What changes in place there may be an argument.
    results = [result.unchanged for result in evidence.all_in(world)]
    if all(evidence.is_right(k, result) for k, result in enumerate(results)):
        return (mistake,)
    numbers = [result.numbers for result in results if result.numbers is not None]
    if numbers and not any(x.isfinite().any() for x in numbers):
        return ()  # an experiment that ends in NaN shows nothing
    others = _Case(evidence, results).explanation(pairs=False)
    return _in_order(evidence.exercise, mistake, *others) if others else ()


# --- what gives these results ---


class _Case:
    """Results to be explained: those that were seen, or what they would be in another world."""

    def __init__(self, evidence, results=None):
        self.evidence, self.exercise = evidence, evidence.exercise
        self.results = evidence.mine if results is None else results
        # What is wrong first, because most codes are another mistake, which shows there at once.
        positions = range(len(self.results))
        self.order = sorted(positions, key=lambda k: evidence.is_right(k, self.results[k]))

    def fits(self, code):
        """Does this code, or pipeline, give these results?"""
        return all(same(self.results[k], self.given(code, k)) for k in self.order)

    def given(self, code, k):
        """The Result of our own code on probe k. A class is not built for another formula: what
        else can be seen of it does not depend on that."""
        probe = self.evidence.probes[k]
        if isinstance(code, Pipeline) and self.exercise.is_class:
            args = self.exercise.formula_args(probe)
            if args is None:
                return self.evidence.right[k]
            probe = replace(probe, args=args, measure=returned)
        return attempt(code, probe, call_ours)

    def is_made_by(self, mistake):
        """Does one of the ways to make this mistake fit?"""
        ways, pipeline = mistake.ways, self.exercise.pipeline
        return any(self.fits(pipeline.replace(w) if isinstance(w, dict) else w) for w in ways)

    def explanation(self, pairs=True):
        """Return the declared mistake that gives these results, or two wrong stages that do
        together, if pairs are asked for; () if there are none."""
        for mistake in self.exercise.all_mistakes:
            if self.evidence.contradicts(mistake):
                continue
            found_by_numbers = not (mistake.detect or mistake.counterfactual)
            if found_by_numbers and self.is_made_by(mistake):
                return (mistake,)
        return self.wrong_stages() if pairs else ()

    def wrong_stages(self):
        """The two wrong stages that give these results; () if no two do."""
        if self.exercise.pipeline is None:
            return ()
        called = self.evidence.search.args
        asked = [
            (k, result.numbers)
            for k, result in enumerate(self.results)
            if result.numbers is not None and called[k] is not None
        ]
        # The one that tells most with the least work: all finite, and small.
        asked.sort(key=lambda pair: (not pair[1].isfinite().all(), pair[1].numel()))
        if all(numbers.isnan().all() for _, numbers in asked):
            return ()  # NaN alone tells nothing
        k, numbers = asked[0]
        for pair in self.evidence.search.pairs_that_give(numbers, k):
            moves = [self.evidence.search.moves[m] for m in pair]
            mistakes = [move.mistake for move in moves]
            if any(map(self.evidence.contradicts, mistakes)):
                continue
            if self.fits(self.exercise.pipeline.replace(*(move.choice for move in moves))):
                return _in_order(self.exercise, *mistakes)
        return ()


def _in_order(exercise, *mistakes):
    """In the order of the stages."""
    stages = list(exercise.pipeline.stages) if exercise.pipeline else []

    def place(mistake):
        return min((stages.index(s) for choice in mistake.choices for s in choice), default=-1)

    return tuple(sorted(mistakes, key=place))
