"""Find the mistakes that are established: those that, alone or two together, give exactly the
student's numbers, and those that are detected."""

from dataclasses import replace
from itertools import combinations, islice

import torch

from .exercise import another, returned
from .results import attempt, call_ours, numbers_of, rows_close, same

IN_PLACE = "input changed in place"
NUMBER = "NUMBER"
MOST, MOST_NUMBERS = 3000, 8  # pairs, and numbers of the student's code, that are tried


def established(submission):
    """Return the established mistakes of a wrong answer; () if there are none. Those that on their
    own make the first wrong case wrong come first, else in the order of the steps."""
    if submission.mine[-1].stopped:
        return ()
    found = _alone(submission)
    if not found and not submission.cases[submission.wrong[0]].if_right:
        found = _Match(submission).pair()  # two wrong steps would show on an earlier case
    # A verdict shows the numbers of the first wrong case, so it first names what is wrong there.
    return tuple(sorted(found, key=lambda mistake: not _shows(submission, mistake)))


def _shows(submission, mistake):
    """Does this mistake alone make the first wrong case wrong, and of the shape that it has, as far
    as we can compute it?"""
    k, match = submission.wrong[0], _Match(submission)
    ways = [way for way in match.ways(mistake) if isinstance(way, dict)]
    given = [match.given(way, k=k) for way in ways]
    shape, *shapes = (getattr(x.numbers, "shape", None) for x in (submission.mine[k], *given))
    pairs = zip(given, shapes, strict=True)
    return not given or any(not submission.is_right(k, x) and s == shape for x, s in pairs)


def _alone(submission):
    """Return a mistake that explains everything, or one detected with what else is wrong; or ()."""
    match = _Match(submission)
    for mistake in submission.exercise.mistakes:
        if submission.contradicts(mistake):
            continue
        if mistake.detect and mistake.detect(submission):
            return (mistake, *_others(submission, mistake))
        if match.is_made_by(mistake):
            return (mistake,)
    return ()


def _others(submission, mistake):
    """Return the mistakes besides the detected one: those that explain the numbers, leaving aside
    what became of the arguments and facts about a class; or ()."""
    rest = [k for k, result in enumerate(submission.mine) if result.observed is None]
    if mistake.name != IN_PLACE and submission.wrong[0] in rest:
        return ()  # the numbers themselves show this mistake
    part = submission.part(rest)
    results = [result.unchanged for result in part.mine]
    if all(part.is_right(k, result) for k, result in enumerate(results)):
        return ()
    return _Match(part, results).explanation()


def partly(submission):
    """Return a mistake that gives the student's numbers on the first wrong case and on one of
    another size, though not on all; or None. A single case agrees by chance in one of three."""
    match, wrong = _Match(submission), submission.wrong
    right = [k for k in range(len(submission.mine)) if k not in wrong]
    others = [k for k in wrong if _differs_in_size(submission, wrong[0], k)]

    def explains(way):
        """What is right refutes a mistake that shows there."""
        return (
            match.agrees(way, k=wrong[0])
            and any(match.agrees(way, k=k) for k in others)
            and all(submission.is_right(k, match.given(way, k=k)) for k in right)
            and not match.needs_unread(way)
        )

    for mistake in submission.exercise.mistakes if others else ():
        if not submission.contradicts(mistake) and any(map(explains, match.ways(mistake))):
            return mistake
    return None


def _differs_in_size(submission, k, other):
    """Are two cases of different sizes, and the numbers on both of which a cause can be known?"""
    sizes = [
        [x.shape if torch.is_tensor(x) else x for x in submission.cases[j].args] for j in (k, other)
    ]
    return sizes[0] != sizes[1] and all(_tells(submission.mine[j].numbers) for j in (k, other))


def _tells(numbers):
    """Are these numbers of which a cause can be known? NaN or 0 alone tells nothing."""
    return numbers is not None and bool(numbers.nan_to_num(0).any())


class _Match:
    """Results to explain: those that were seen, or what they are without a detected mistake."""

    def __init__(self, submission, results=None):
        self.submission, self.exercise = submission, submission.exercise
        self.results = submission.mine if results is None else results
        # Wrong results first: most ways make a different mistake, which shows there at once.
        positions = range(len(self.results))
        self.order = sorted(positions, key=lambda k: submission.is_right(k, self.results[k]))

    def explanation(self):
        """Return the mistake that gives these results, or the two that do together; or ()."""
        for mistake in self.exercise.mistakes:
            if not self.submission.contradicts(mistake) and self.is_made_by(mistake):
                return (mistake,)
        return self.pair()

    def is_made_by(self, mistake):
        """Does one of the ways to make this mistake give these results?"""
        return any(map(self.fits, self.ways(mistake)))

    def ways(self, mistake):
        """Yield the ways to make a mistake; NUMBER is each number in the student's code."""
        for way in mistake.ways:
            if isinstance(way, dict) and NUMBER in " ".join(way.values()):
                for x in self.submission.numbers_written[:MOST_NUMBERS]:
                    yield {step: line.replace(NUMBER, repr(x)) for step, line in way.items()}
            else:
                yield way

    def needs_unread(self, *ways):
        """Does what these ways give depend on an argument that the student's code never reads? Then
        it agrees by chance."""
        if not self.submission.unread or not isinstance(ways[0], dict):
            return False
        program, case = self.exercise.program.changed(*ways), self.submission.cases[0]
        before = attempt(program, case, call_ours)
        for j in self.submission.unread:
            after = attempt(program, case.with_argument(j, another(case.args[j])), call_ours)
            if not same(before, after):
                return True
        return False

    def fits(self, *ways):
        return all(self.agrees(*ways, k=k) for k in self.order) and not self.needs_unread(*ways)

    def agrees(self, *ways, k):
        return same(self.results[k], self.given(*ways, k=k))

    def given(self, *ways, k):
        """Return what these ways give on case k. The program is only the formula of a class: what
        else is measured does not depend on that, and is taken to be right."""
        case = self.submission.cases[k]
        if not isinstance(ways[0], dict):
            return attempt(ways[0], case, call_ours)
        if self.exercise.is_class:
            args = self.exercise.formula_args(case)
            if args is None:
                return self.submission.right[k]
            case = replace(case, args=args, measure=returned)
        return attempt(self.exercise.program.changed(*ways), case, call_ours)

    def pair(self):
        """Return two mistakes that together give these results; () if no two do."""
        moves = [
            (mistake, way)
            for mistake in self.exercise.mistakes
            if not self.submission.contradicts(mistake)
            for way in self.ways(mistake)
            if isinstance(way, dict)
        ]
        for pair in self._likely([way for _, way in moves]):
            (first, one), (second, other) = (moves[m] for m in pair)
            if first.name != second.name and self.fits(one, other):
                order = list(self.exercise.program.steps)
                pair = replace(first, ways=(one,)), replace(second, ways=(other,))
                return tuple(sorted(pair, key=lambda each: min(map(order.index, each.ways[0]))))
        return ()

    def _likely(self, ways):
        """Return the pairs of positions of ways that may give these results: those that give the
        numbers of one case; where the program is only measured, as in one_step, all."""
        called = [self.exercise.formula_args(case) for case in self.submission.cases]
        has_no_formula = called[0] is None and not self.exercise.is_class
        asked = [
            (k, result.numbers)
            for k, result in enumerate(self.results)
            if result.numbers is not None and (has_no_formula or called[k] is not None)
        ]
        if not any(_tells(numbers) for _, numbers in asked):
            return []
        if has_no_formula:
            two = combinations(range(len(ways)), 2)
            return [(m, n) for m, n in two if ways[m].keys().isdisjoint(ways[n])]
        # Search on the case that tells most for the least work: all numbers finite, and few.
        asked.sort(key=lambda pair: (not pair[1].isfinite().all(), pair[1].numel()))
        k, numbers = asked[0]
        pairs = islice(_together(self.exercise.program, ways, called[k]), MOST)
        given = [(pair, x) for pair, x in pairs if x.shape == numbers.shape]
        if not given:
            return []
        near = rows_close(torch.stack([x.double() for _, x in given]), numbers).tolist()
        return sorted(pair for (pair, _), is_near in zip(given, near, strict=True) if is_near)


def _together(program, ways, args):
    """Yield (positions of two ways that change different steps, the numbers that they give
    together). Programs that begin alike share a branch, which is computed once."""
    names = list(program.steps)

    def leaves(state, k, chosen):
        """state: what is known after k steps, with the ways at these positions, at most two."""
        if k == len(names):
            if len(chosen) == 2:
                yield tuple(sorted(chosen)), numbers_of(state[names[-1]])
            return
        name, taken = names[k], {*names[:k], *(step for m in chosen for step in ways[m])}
        branches = [chosen]
        if len(chosen) < 2:
            begins = (m for m, way in enumerate(ways) if name in way and taken.isdisjoint(way))
            branches += ((*chosen, m) for m in begins)
        for branch in branches:
            lines = (ways[m].get(name) for m in branch)
            state_after = dict(state)
            try:
                program.take(state_after, name, next(filter(None, lines), None))
                yield from leaves(state_after, k + 1, branch)
            except Exception:  # so does every pair that begins like this
                continue

    return leaves(program.start(args), 0, ())
