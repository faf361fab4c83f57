"""Which mistakes are established: those that give exactly what was seen, alone or together, or
that an experiment shows."""

from dataclasses import replace
from itertools import combinations, product

from .exercise import IN_PLACE, returned
from .pipeline import Pipeline
from .results import attempt, call_ours, same
from .search import apart


def established(seen):
    """The mistakes in the order in which the computation runs; () if none is established.

    seen: the Evidence on a wrong answer.
    """
    found = _alone(seen)
    if found or seen.probes[seen.wrong[0]].if_right:
        return found  # no stage is wrong where all that goes before is right
    return (
        _together(seen)
        or _on_other_probes(seen)
        # Had torch.empty given zeros: such as a loop that stops one early.
        or (_Case(seen, seen.without_empty).explanation() if seen.without_empty else ())
    )


def is_gone(seen, found, name, before):
    """Is it established that the mistake of this name, told before, is not there now?

    found: what is established now.  before: all names that were told before.
    That it is not told is not enough: one mistake can hide another.
    """
    names = {mistake.name for mistake in found}
    if not names:
        return False
    if names == set(before) - {name}:
        return True  # before it was needed for other numbers than these
    same_name = [mistake for mistake in seen.exercise.all_mistakes if mistake.name == name]
    return bool(same_name) and all(_would_show(seen, found, mistake) for mistake in same_name)


def _would_show(seen, found, mistake):
    """Would the numbers be others if this mistake were there besides those that are found?"""
    if not mistake.choices or not all(m.choices for m in found):
        return False
    case = _Case(seen)
    sets = product(*(m.choices for m in found), mistake.choices)
    return not any(case.fits(seen.exercise.pipeline.replace(*s)) for s in sets if apart(*s))


# --- one mistake ---


def _alone(seen):
    """A mistake that explains everything; or one that is detected, and what else is wrong."""
    case = _Case(seen)
    for mistake in seen.exercise.all_mistakes:
        if seen.contradicts(mistake):
            continue
        if mistake.detect:
            if mistake.detect(seen):
                return (mistake, *_beside(seen, mistake))
        elif mistake.counterfactual:
            if seen.cured_by(mistake.counterfactual):
                return (mistake,)
        elif mistake.on in (None, seen.change) and case.is_made_by(mistake):
            return (mistake,)
    return ()


def _beside(seen, mistake):
    """What else is wrong, if what became of the arguments, or a fact about a class, is left
    aside."""
    rest = [k for k, result in enumerate(seen.mine) if result.observed is None]
    if mistake.name != IN_PLACE and seen.wrong[0] in rest:
        return ()  # it shows in the numbers themselves
    part = seen.part(rest)
    results = [result.unchanged for result in part.mine]
    if all(part.is_right(k, result) for k, result in enumerate(results)):
        return ()
    return _Case(part, results).explanation()


# --- several mistakes ---


def _together(seen):
    """The smallest set of mistakes: wrong stages, or those that experiments take away and wrong
    stages that are left then."""
    case = _Case(seen)
    found = case.wrong_stages()
    worlds = list(_first_with(seen.exercise, "counterfactual"))
    telling = [pair for pair in worlds if _matters(seen, pair[0])]
    shown = [_in_worlds(seen, pair) for pair in telling]
    if not (found or any(shown)):
        # What one of them takes away may have hidden the other.
        both = [pairs for pairs in combinations(worlds, 2) if any(x in telling for x in pairs)]
        shown += [_in_worlds(seen, *pairs) for pairs in both]
    # An experiment tells apart what numbers do not: it goes first where sizes are the same.
    return min(filter(None, [*shown, found]), key=len, default=())


def _matters(seen, world):
    """Is anything else in this world, but for what becomes of the arguments?"""
    pairs = ((seen.in_worlds(k, world), seen.mine[k]) for k in seen.wrong_first)
    return not all(same(there.unchanged, here.unchanged) for there, here in pairs)


def _in_worlds(seen, *pairs):
    """The mistakes of these worlds, with what is left in them; () if that is not explained.

    pairs: of a world and its mistake.
    """
    worlds, mistakes = zip(*pairs, strict=True)
    # What changes in place there may be an argument.
    results = [result.unchanged for result in seen.all_in(*worlds)]
    if all(seen.is_right(k, result) for k, result in enumerate(results)):
        return _in_order(seen.exercise, *mistakes)
    numbers = [result.numbers for result in results if result.numbers is not None]
    if numbers and not any(x.isfinite().any() for x in numbers):
        return ()  # an experiment that ends in NaN shows nothing
    others = _Case(seen, results).explanation(pairs=False)
    return _in_order(seen.exercise, *mistakes, *others) if others else ()


def _on_other_probes(seen):
    """Where all probes raise, others may show numbers."""
    if any(result.numbers is not None or result.stopped for result in seen.mine):
        return ()
    changes = [change for change, _ in _first_with(seen.exercise, "on")]
    there = [seen.also_on(change) for change in changes]
    for other in there:
        if found := _alone(other) or _together(other):
            return found
    return _raising([seen, *there])


def _raising(everywhere):
    """Return two wrong stages that raise the same errors: sizes that do not fit.

    everywhere: the Evidence, on one kind of probes or on several.
    """
    first, exercise = everywhere[0], everywhere[0].exercise
    errors = (result.outcome.error for result in first.mine)
    if exercise.pipeline is None or not any(isinstance(error, RuntimeError) for error in errors):
        return ()
    pairs = set.intersection(*(seen.search.pairs_that_raise() for seen in everywhere))
    cases = [_Case(seen) for seen in everywhere]
    return _first_that_fits(first, sorted(pairs), lambda c: all(case.fits(c) for case in cases))


# --- what gives these results ---


class _Case:
    """Results to be explained: those that were seen, or what they would be in another world."""

    def __init__(self, seen, results=None):
        self.seen, self.exercise = seen, seen.exercise
        self.results = seen.mine if results is None else results
        # What is wrong first, because most codes are another mistake, which shows there at once.
        positions = range(len(self.results))
        self.order = sorted(positions, key=lambda k: seen.is_right(k, self.results[k]))

    def fits(self, code):
        """Does this code, or pipeline, give these results?"""
        return all(same(self.results[k], self._given(code, k)) for k in self.order)

    def _given(self, code, k):
        """The Result of our own code on probe k. A class is not built for another formula: what
        else can be seen of it does not depend on that."""
        probe = self.seen.probes[k]
        if isinstance(code, Pipeline) and self.exercise.is_class:
            args = self.exercise.formula_args(probe)
            if args is None:
                return self.seen.right[k]
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
            if self.seen.contradicts(mistake):
                continue
            found_by_numbers = not (mistake.detect or mistake.counterfactual or mistake.on)
            if found_by_numbers and self.is_made_by(mistake):
                return (mistake,)
        return self.wrong_stages() if pairs else ()

    def wrong_stages(self):
        """The two wrong stages that give these results; () if no two do."""
        if self.exercise.pipeline is None:
            return ()
        called = self.seen.search.args
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
        return _first_that_fits(self.seen, self.seen.search.pairs_that_give(numbers, k), self.fits)


def _first_that_fits(seen, sets, fits):
    """The mistakes of the first of these sets of positions of moves that fits."""
    for chosen in sets:
        moves = [seen.search.moves[m] for m in chosen]
        if any(seen.contradicts(move.mistake) for move in moves):
            continue
        if fits(seen.exercise.pipeline.replace(*(move.choice for move in moves))):
            return _in_order(seen.exercise, *(move.mistake for move in moves))
    return ()


def _first_with(exercise, attribute):
    """Each value of this attribute among the mistakes with the first mistake that has it."""
    first = {}
    for mistake in exercise.all_mistakes:
        value = getattr(mistake, attribute)
        if value is not None:
            first.setdefault(value, mistake)
    return first.items()


def _in_order(exercise, *mistakes):
    """In the order of the stages."""
    stages = list(exercise.pipeline.stages) if exercise.pipeline else []

    def place(mistake):
        return min((stages.index(s) for choice in mistake.choices for s in choice), default=-1)

    return tuple(sorted(mistakes, key=place))
