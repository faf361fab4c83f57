"""What is known of an answer, and what else can be asked of it."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from .declare import returned
from .experiments import EmptyIsZero
from .results import Result, attempt, call_ours, close, divides_zero_by_zero, factor, same


@dataclass
class Seen:
    """What is known of an answer. probes, right and mine go together, as far as it was called.
    call: how the answer is called.  again: the first probe once more,
    and once more; empty if it was stopped."""

    exercise: object
    answer: Callable
    call: Callable
    probes: list = field(default_factory=list)
    right: list = field(default_factory=list)
    mine: list = field(default_factory=list)
    again: tuple[Result, ...] = ()
    _worlds: dict = field(default_factory=dict)

    def is_right(self, k, result):
        if self.right[k].outcome.error is not None:
            return False  # ours failed: nothing to compare with
        if same(result, self.right[k]):
            return True
        return self.probes[k].may_fail and divides_zero_by_zero(result, self.right[k])

    @property
    def wrong(self):
        """Positions of the probes with another outcome than the right one."""
        return [k for k, result in enumerate(self.mine) if not self.is_right(k, result)]

    @property
    def only_first(self):
        """Is the first probe right, and no other one? Only of plain calls: what is measured
        differs in more than its arguments."""
        plain = self.probes[0].measure is returned
        return plain and self.wrong == list(range(1, len(self.probes)))

    @property
    def repeats(self):
        """Does the second call give what the first one gave?"""
        return all(same(result, self.mine[0]) for result in self.again)

    # --- experiments ---

    def ask(self, k, world=nullcontext, **changes):
        """The Result of the answer on probe k with these changes, in this world."""
        return attempt(self.answer, replace(self.probes[k], **changes), self.call, world)

    def all_in(self, world):
        """The Results of all probes in this world."""
        if world not in self._worlds:
            self._worlds[world] = [self.ask(k, world) for k in range(len(self.mine))]
        return self._worlds[world]

    def cured_by(self, world):
        """Is everything right in this world that is not right in ours, whatever becomes of the
        arguments?"""

        def right(results):
            return all(self.is_right(k, replace(r, changed={})) for k, r in enumerate(results))

        return right(self.all_in(world)) and not right(self.mine)

    @property
    def without_empty(self):
        """Like mine, had torch.empty given zeros; only where there are NaN."""
        return self.all_in(EmptyIsZero) if any(r.has_nan for r in self.mine) else []

    @property
    def cured_by_zeros(self):
        """Do zeros in place of torch.empty make a wrong result right?"""
        results = self.without_empty
        return bool(results) and any(same(results[k], self.right[k]) for k in self.wrong)

    # --- relations ---

    def fact(self, name):
        """The first thing measured under this name, or None."""
        facts = (result.observed for result in self.mine if result.observed is not None)
        return next((fact[name] for fact in facts if name in fact), None)

    def measured(self, measure, name, k=0):
        """What this measure of probe k finds under this name, or None."""
        return (self.ask(k, measure=measure).observed or {}).get(name)

    def raises(self, error, words):
        """Is the first that is wrong this error, with these words in its message?"""
        found = self.mine[self.wrong[0]].outcome.error
        return isinstance(found, error) and words in str(found)

    def overflows_like(self, code):
        """Is the first that is wrong an OverflowError, where code has one too?"""
        k = self.wrong[0]
        both = self.mine[k], attempt(code, self.probes[k], call_ours)
        return all(isinstance(x.outcome.error, OverflowError) for x in both)

    @property
    def adds_up(self):
        """Is it always k times the right answer, k > 1 and whole, or does each call add the
        right answer to what was there?"""
        times = factor(self.mine, self.right)
        if times is not None:
            return times > 1.5 and abs(times - round(times)) < 1e-3
        if self.repeats or any(result.numbers is None for result in self.again):
            return False
        first, second = (result.numbers for result in self.again)
        return first.shape == second.shape and close(second - first, self.right[0].numbers)

    def always(self, relation):
        """Does relation(the student's numbers, the right numbers) hold on every probe?"""
        return all(
            a.numbers is not None
            and not a.changed
            and relation(a.numbers.double(), b.numbers.double())
            for a, b in zip(self.mine, self.right, strict=True)
        )
