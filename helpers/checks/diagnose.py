"""Find the mistakes that are established: alone or together they give exactly what was seen, or
an experiment shows them."""

from dataclasses import replace

from .exercise import IN_PLACE, returned
from .pipeline import Pipeline
from .results import attempt, call_ours, same


def established(evidence):
    """Return the established mistakes of a wrong answer; () if there are none. Those that on their
    own make the first wrong probe wrong come first, else in the order of the computation."""
    found = _alone(evidence)
    if not found and not evidence.probes[evidence.wrong[0]].if_right:
        found = _Case(evidence).wrong_stages()  # one would show on an earlier probe
    # A verdict shows the numbers of the first wrong probe, so it first names what is wrong there.
    return tuple(sorted(found, key=lambda mistake: not _shows(evidence, mistake)))


def _shows(evidence, mistake):
    """Does this mistake alone make the first wrong probe wrong, as far as we can compute it?"""
    k, pipeline = evidence.wrong[0], evidence.exercise.pipeline
    given = [_Case(evidence).given(pipeline.replace(choice), k) for choice in mistake.choices]
    return not given or not all(evidence.is_right(k, result) for result in given)


# --- one mistake ---


def _alone(evidence):
    """Return a mistake that explains everything, or one detected with what else is wrong; or ()."""
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
    """Return the mistakes besides the detected one: those that explain the numbers, leaving aside
    what became of the arguments and facts about a class; or ()."""
    rest = [k for k, result in enumerate(evidence.mine) if result.observed is None]
    if mistake.name != IN_PLACE and evidence.wrong[0] in rest:
        return ()  # the numbers themselves show this mistake
    part = evidence.part(rest)
    results = [result.unchanged for result in part.mine]
    if all(part.is_right(k, result) for k, result in enumerate(results)):
        return ()
    return _Case(part, results).explanation()


# --- what gives these results ---


class _Case:
    """Results to explain: those that were seen, or what they are in a different world."""

    def __init__(self, evidence, results=None):
        self.evidence, self.exercise = evidence, evidence.exercise
        self.results = evidence.mine if results is None else results
        # Wrong results first: most codes make a different mistake, which shows there at once.
        positions = range(len(self.results))
        self.order = sorted(positions, key=lambda k: evidence.is_right(k, self.results[k]))

    def fits(self, code):
        """Does this code, or pipeline, give these results?"""
        return all(same(self.results[k], self.given(code, k)) for k in self.order)

    def given(self, code, k):
        """Return the Result of our own code on probe k. A pipeline is only the formula of a class:
        what else is measured does not depend on that, and is taken to be right."""
        probe = self.evidence.probes[k]
        if isinstance(code, Pipeline) and self.exercise.is_class:
            args = self.exercise.formula_args(probe)
            if args is None:
                return self.evidence.right[k]
            probe = replace(probe, args=args, measure=returned)
        return attempt(code, probe, call_ours)

    def is_made_by(self, mistake):
        """Does one of the ways to make this mistake give these results?"""
        return any(map(self.fits, self.codes(mistake)))

    def codes(self, mistake):
        """Yield our own code, or pipeline, for each way to make this mistake."""
        for way in mistake.ways:
            yield self.exercise.pipeline.replace(way) if isinstance(way, dict) else way

    def explanation(self):
        """Return the declared mistake that gives these results, or two wrong stages that do
        together; () if there are none."""
        for mistake in self.exercise.all_mistakes:
            if self.evidence.contradicts(mistake):
                continue
            found_by_numbers = not (mistake.detect or mistake.counterfactual)
            if found_by_numbers and self.is_made_by(mistake):
                return (mistake,)
        return self.wrong_stages()

    def wrong_stages(self):
        """Return the two wrong stages that together give these results; () if no two do."""
        if self.exercise.pipeline is None:
            return ()
        called = self.evidence.search.args
        asked = [
            (k, result.numbers)
            for k, result in enumerate(self.results)
            if result.numbers is not None and called[k] is not None
        ]
        # Search on the probe that tells most for the least work: all numbers finite, and few.
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
    """Return the mistakes in the order of their stages."""
    stages = list(exercise.pipeline.stages) if exercise.pipeline else []

    def place(mistake):
        return min((stages.index(s) for choice in mistake.choices for s in choice), default=-1)

    return tuple(sorted(mistakes, key=place))
