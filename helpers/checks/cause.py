"""Which mistakes are established: those that give exactly what was seen, alone or together, or
that an experiment shows."""

from dataclasses import replace
from itertools import combinations, product

from .declare import global_max, naive, returned
from .exercises import IN_PLACE
from .experiments import Both
from .results import attempt, call_ours, same
from .search import LIMIT, apart, moves_of, pairs_that_raise, sets_that_give
from .stages import Staged

# Mistakes in exp alone, where an exercise has no stages.
EXP_ALONE = {"naive exp overflow": naive, "subtracted the global max": global_max}
MANY = 1000  # sets that agree on one probe: so many are tried one by one on the others


def established(seen):
    """The mistakes in the order in which the computation runs; () if none is established."""
    return (
        _alone(seen)
        or _together(seen)
        or _in_variants(seen)
        # Had torch.empty given zeros: such as a loop that stops one early.
        or (_explained(seen, seen.without_empty) if seen.without_empty else ())
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
    same_name = [mistake for mistake in seen.exercise.mistakes if mistake.name == name]
    return all(_would_show(seen, found, mistake) for mistake in same_name)


def _would_show(seen, found, mistake):
    """Would the numbers be others if this mistake were there besides those that are found?"""
    exercise, fits = seen.exercise, _fitting(seen, seen.mine)
    if mistake.choices and all(m.choices for m in found):
        sets = product(*(m.choices for m in found), mistake.choices)
        return not any(fits(exercise.staged.with_(*some)) for some in sets if apart(*some))
    exp = EXP_ALONE.get(found[0].name) if len(found) == 1 else None
    codes = list(mistake.codes((exp,))) if exp else []
    return bool(codes) and not any(map(fits, codes))


def _alone(seen, variant=None):
    """A mistake that explains everything; or one that shows, and what else is wrong."""
    exercise = seen.exercise
    fits = _fitting(seen, seen.mine)
    for mistake in exercise.mistakes:
        if mistake.shows:
            if mistake.shows(seen):
                return (mistake, *_beside(seen, mistake))
        elif mistake.world:
            if seen.cured_by(mistake.world):
                return (mistake,)
        elif found := _made_by(fits, exercise, mistake, variant):
            return found
    return ()


def _together(seen):
    """The smallest set of mistakes: wrong stages, or those that experiments take away and wrong
    stages that are left then."""
    found = _sets(seen, seen.mine, 2)
    worlds = list(_first_with(seen.exercise, "world"))
    telling = [pair for pair in worlds if _matters(seen, pair[0])]
    shown = [_in_worlds(seen, pair) for pair in telling]
    if not found and min(map(len, filter(None, shown)), default=LIMIT) > 2:
        # What one of them takes away may have hidden the other.
        both = [pairs for pairs in combinations(worlds, 2) if any(x in telling for x in pairs)]
        shown += [_in_worlds(seen, *pairs) for pairs in both]
    # An experiment tells apart what numbers do not: it goes first where sizes are the same.
    found = min(filter(None, [*shown, found]), key=len, default=())
    return found or _sets(seen, seen.mine, LIMIT)


def _matters(seen, world):
    """Is anything else in this world, but for what becomes of the arguments?"""
    first = sorted(range(len(seen.mine)), key=lambda k: k not in seen.wrong)
    return not all(same(*_unchanged([seen.in_world(world, k), seen.mine[k]])) for k in first)


def _in_worlds(seen, *pairs):
    """The mistakes of these worlds, with what is left in them; () if that is not explained.

    pairs: of a world and its mistake.
    """
    worlds, mistakes = zip(*pairs, strict=True)
    # What changes in place there may be an argument.
    results = _unchanged(seen.all_in(worlds[0] if len(worlds) == 1 else Both(worlds)))
    if all(seen.is_right(k, result) for k, result in enumerate(results)):
        return _in_order(seen.exercise, *mistakes)
    numbers = [result.numbers for result in results if result.numbers is not None]
    if numbers and not any(x.isfinite().any() for x in numbers):
        return ()  # an experiment that ends in NaN shows nothing
    others = _explained(seen, results, LIMIT - len(worlds))
    return _in_order(seen.exercise, *mistakes, *others) if others else ()


def _in_variants(seen):
    """Where all probes raise, others may show numbers."""
    if any(result.numbers is not None or result.stopped for result in seen.mine):
        return ()
    seen_there = [
        (variant, seen.also_on(map(variant, seen.probes)))
        for variant, _ in _first_with(seen.exercise, "variant")
    ]
    for variant, other in seen_there:
        if found := _alone(other, variant) or _together(other):
            return found
    return _raising(*(other for _, other in seen_there)) if seen_there else _raising(seen)


def _beside(seen, mistake):
    """What else is wrong, if what became of the arguments, or a fact about a class, is left
    aside."""
    rest = [k for k, result in enumerate(seen.mine) if result.observed is None]
    if mistake.name != IN_PLACE and seen.wrong[0] in rest:
        return ()  # it shows in the numbers themselves
    part = seen.part(rest)
    results = _unchanged(part.mine)
    if all(part.is_right(k, result) for k, result in enumerate(results)):
        return ()
    return _explained(part, results)


def _explained(seen, results, limit=LIMIT):
    """The declared mistake, or the smallest set, that gives these results; () if none does."""
    fits = _fitting(seen, results)
    for mistake in seen.exercise.mistakes:
        if not (mistake.shows or mistake.world):
            if found := _made_by(fits, seen.exercise, mistake):
                return found
    sizes = range(2, limit + 1)
    return next(filter(None, (_sets(seen, results, size) for size in sizes)), ())


def _unchanged(results):
    return [replace(result, changed={}) for result in results]


def _fitting(seen, results):
    """A function: does this code, or formula in stages, give these results? What is wrong is
    asked first, because most codes are another mistake, which shows there at once."""
    order = sorted(range(len(results)), key=lambda k: seen.is_right(k, results[k]))

    def fits(code):
        return all(same(results[k], _given(seen, code, k)) for k in order)

    return fits


def _given(seen, code, k):
    """The Result of our own code on probe k. A class is not built for another formula: what
    else can be seen of it does not depend on that."""
    probe = seen.probes[k]
    if isinstance(code, Staged) and seen.exercise.is_class:
        args = seen.exercise.formula_args(probe)
        if args is None:
            return seen.right[k]
        probe = replace(probe, args=args, measure=returned)
    return attempt(code, probe, call_ours)


def _made_by(fits, exercise, mistake, variant=None):
    """(mistake,) if one of its codes fits; with the exp that overflows if that is in it too."""
    if mistake.variant not in (None, variant):
        return ()
    if any(fits(exercise.staged.with_(choice)) for choice in mistake.choices):
        return (mistake,)
    for code in mistake.codes():
        if fits(code):
            name = "naive exp overflow"
            if mistake.name == name or getattr(code, "keywords", {}).get("exp") is not naive:
                return (mistake,)
            return (mistake, *[m for m in exercise.mistakes if m.name == name][:1])
    return ()


# --- several stages ---


def _sets(seen, results, limit):
    """The smallest set of at most so many wrong stages that gives these results; () if none
    does."""
    exercise = seen.exercise
    if exercise.staged is None:
        return ()
    asked = [
        (result.numbers, args)
        for result, probe in zip(results, seen.probes, strict=True)
        if result.numbers is not None and (args := exercise.formula_args(probe)) is not None
    ]
    # Those that tell most with the least work: all finite, and small.
    asked.sort(key=lambda pair: (not pair[0].isfinite().all(), pair[0].numel()))
    if all(numbers.isnan().all() for numbers, _ in asked):
        return ()  # NaN alone tells nothing
    moves = moves_of(exercise)
    sets = _that_agree(asked, exercise.staged, moves, limit)
    return _first_that_fits(exercise, moves, sets, _fitting(seen, results))


def _raising(*seen):
    """Two wrong stages that raise the same errors: sizes that do not fit. No third one matters
    then, because nothing is computed any more.

    seen: on the probes, and on others.
    """
    exercise = seen[0].exercise
    if exercise.staged is None or not any(
        isinstance(result.outcome.error, RuntimeError) for result in seen[0].mine
    ):
        return ()
    moves = moves_of(exercise)
    args = next(filter(None, map(exercise.formula_args, seen[0].probes)))
    pairs = pairs_that_raise(exercise.staged, moves, args)
    tests = [_fitting(each, each.mine) for each in seen]
    return _first_that_fits(exercise, moves, pairs, lambda code: all(fits(code) for fits in tests))


def _first_that_fits(exercise, moves, sets, fits):
    """The mistakes of the first of these sets of positions in moves that fits."""
    for chosen in sets:
        choices = (moves[m].choice for m in chosen)
        if fits(exercise.staged.with_(*choices)):
            return _in_order(exercise, *(moves[m].mistake for m in chosen))
    return ()


def _that_agree(asked, staged, moves, limit):
    """Sets that give the numbers of the first probe; of the others too while they are many."""
    found = None
    for numbers, args in asked:
        sets = sets_that_give(numbers, staged, moves, args, limit)
        also = set(sets)
        found = sets if found is None else [chosen for chosen in found if chosen in also]
        if len(found) <= MANY:
            break
    return found


def _first_with(exercise, attribute):
    """Each world or variant of the mistakes with the first mistake that has it."""
    first = {}
    for mistake in exercise.mistakes:
        value = getattr(mistake, attribute)
        if value is not None:
            first.setdefault(value, mistake)
    return first.items()


def _in_order(exercise, *mistakes):
    """In the order of the stages."""
    stages = [stage for stage, _ in exercise.staged.forms]

    def place(mistake):
        return min((stages.index(s) for choice in mistake.choices for s in choice), default=-1)

    return tuple(sorted(mistakes, key=place))
