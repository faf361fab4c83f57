"""check(): the student's function, the right answer and every mistake on the same probes.

A mistake is named only when it gives exactly the student's numbers, or when an experiment
shows it; else words.py says what can be seen without knowing the cause.
"""

import difflib
import inspect
import time
from dataclasses import dataclass

import torch
from torch.overrides import TorchFunctionMode

from .. import guard
from . import words
from .exercises import EXERCISES
from .results import Result, attempt, call_ours, close, factor, kind, same, was_stopped
from .session import untouched


@dataclass(frozen=True)
class Verdict:
    """passed: True, False, or None while the exercise is still the stub.
    message: what was printed.  mistakes: names of what was established, may be empty."""

    passed: bool | None
    message: str
    mistakes: tuple[str, ...] = ()

    def __bool__(self):
        return self.passed is True

    def __repr__(self):
        return f"Verdict(passed={self.passed}, mistakes={self.mistakes})"

    def _ipython_display_(self):
        """Nothing: the message is printed already when check() ends a cell."""


def check(name, fn=None):
    """Print a verdict on the function fn for the exercise called name, and return it.

    fn is called on copies of our own arguments, for guard.SECONDS in all at most, and leaves
    no trace in the session. Raises nothing: bad use is a verdict too.
    """
    verdict = _misuse(name, fn)
    if verdict is None:
        try:
            with untouched(fn):
                verdict = _examine(EXERCISES[name], fn)
        except guard.InputError as error:  # data/ is damaged
            verdict = _refusal(f"{name}: it cannot be checked.", str(error))
    print(verdict.message)
    return verdict


@dataclass
class Seen:
    """What is known of an answer. probes, right and mine go together; mine ends early if the
    function was stopped.  again: the first probe once more, and once more.  without_empty:
    like mine, had torch.empty given zeros; only where there were NaN."""

    exercise: object
    probes: list
    right: list
    mine: list
    again: tuple[Result, ...] = ()
    without_empty: list | None = None

    @property
    def wrong(self):
        """Positions of the probes with another outcome than the right one."""
        pairs = enumerate(zip(self.mine, self.right, strict=True))
        return [
            k
            for k, (a, b) in pairs
            if not (same(a, b) or self.probes[k].may_fail and a.zero_by_zero)
        ]

    @property
    def only_first(self):
        """Is the first probe right, and no other one?"""
        return self.wrong == list(range(1, len(self.probes)))

    def overflows_like(self, code):
        """Is the first that is wrong an OverflowError, where code has one too?"""
        k = self.wrong[0]
        both = self.mine[k], attempt(code, self.probes[k], call_ours)
        return all(isinstance(x.outcome.error, OverflowError) for x in both)

    @property
    def repeats(self):
        """Does the second call give what the first one gave?"""
        return all(same(result, self.mine[0]) for result in self.again)

    @property
    def cured_by_zeros(self):
        """Do zeros in place of torch.empty make a wrong result right?"""
        return bool(self.without_empty) and any(
            same(self.without_empty[k], self.right[k]) for k in self.wrong
        )

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


def _examine(exercise, fn):
    if _is_stub(fn):
        return _not_written(exercise)
    seen = Seen(exercise, list(exercise.probes()), [], [])
    limit = guard.SECONDS
    end = time.monotonic() + limit

    def call(fn, *args):
        outcome = guard.call(fn, *args, seconds=max(0.0, end - time.monotonic()))
        if was_stopped(outcome):
            # The seconds that were left differ in every run; the limit does not.
            text = "all calls together did not end" if seen.mine else "it did not return"
            outcome.error = TimeoutError(f"{text} within {limit:g} seconds")
        try:
            str(outcome.error)
        except Exception:
            outcome.error = RuntimeError("an error whose own message raises an error")
        return outcome

    for k, probe in enumerate(seen.probes):
        result = attempt(fn, probe, call)
        if result.outcome.error is not None and probe.is_double() and not result.stopped:
            # A float32 tensor of the student's own does not multiply with a float64 one.
            # That is style, so the same numbers in float32 decide.
            seen.probes[k] = probe = probe.single()
            result = attempt(fn, probe, call)
        if _left_to_do(result, fn):
            return _not_written(exercise)
        seen.mine.append(result)
        seen.right.append(attempt(exercise.right, probe, call_ours))
        if result.stopped:
            break
    if not seen.wrong:
        return Verdict(True, f"✔ {exercise.name}: right.")

    mistake = None
    if not seen.mine[-1].stopped:
        again = tuple(attempt(fn, seen.probes[0], call) for _ in range(2))
        seen.again = () if again[1].stopped else again
        if any(r.numbers is not None and r.numbers.isnan().any() for r in seen.mine):
            zeros = _with_zeros_for_empty(fn)
            seen.without_empty = [attempt(zeros, probe, call) for probe in seen.probes]
        mistake = _match(seen, seen.mine)
        if mistake is None and seen.without_empty:
            mistake = _match(seen, seen.without_empty)  # such as a loop that stops one early
    return Verdict(False, words.failure(seen, mistake), (mistake.name,) if mistake else ())


def _match(seen, mine):
    """The first mistake that is established, or None."""
    for mistake in seen.exercise.mistakes:
        if mistake.shows:
            if mistake.shows(seen):
                return mistake
            continue
        for form in mistake.forms():
            pairs = zip(mine, seen.probes, strict=True)
            if all(same(a, attempt(form, probe, call_ours)) for a, probe in pairs):
                return mistake
    return None


def _with_zeros_for_empty(fn):
    """An experiment: what would fn give if torch.empty were torch.zeros?"""

    class Zeros(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if func in (torch.empty, torch.empty_like, torch.Tensor.new_empty):
                result.zero_()
            return result

    def experiment(*args):
        with Zeros():
            return fn(*args)

    return experiment


# --- not written yet ---


def _nothing():
    pass


def _nothing_documented():
    "Nothing."


_EMPTY_CODE = {_nothing.__code__.co_code, _nothing_documented.__code__.co_code}


def _is_stub(fn):
    """Is the body only `...`, `pass` or a docstring?"""
    fn = inspect.unwrap(fn)
    code = getattr(fn, "__code__", None)
    if code is None or code.co_code not in _EMPTY_CODE:
        return False
    return all(const is None or const == fn.__doc__ for const in code.co_consts)


def _left_to_do(result, fn):
    """Did it return the `...` of the stub, or raise NotImplementedError itself? (Some
    operations of torch raise it too: those are errors like others.)"""
    if isinstance(result.outcome.error, NotImplementedError):
        code = getattr(inspect.unwrap(fn), "__code__", None)
        return code is not None and "NotImplementedError" in code.co_names
    return result.outcome.value is ...


def _not_written(exercise):
    return Verdict(None, f"… {exercise.name}: not written yet.")


# --- cannot be used ---


def _refusal(what, advice):
    return Verdict(False, words.layout(f"✘ {what}", advice))


def _misuse(name, fn):
    """A verdict if name or fn cannot be used, else None."""
    if not isinstance(name, str):
        return _refusal(
            "check: the name of the exercise comes first, then your function.",
            'Write it like this: check("softmax", my_softmax).',
        )
    if name not in EXERCISES:
        near = difflib.get_close_matches(name, EXERCISES, n=1, cutoff=0.5)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        return _refusal(
            f"check: there is no exercise {words.shorten(repr(name), 40)}.{hint}",
            f"The exercises are {', '.join(EXERCISES)}.",
        )
    exercise = EXERCISES[name]
    takes_what = exercise.signature.split(" ->")[0].removeprefix(name)
    if not callable(fn) or inspect.isclass(fn):
        what = f"the class {fn.__name__}" if inspect.isclass(fn) else kind(fn)
        return _refusal(
            f"{name}: a function is expected, this is {what}.",
            f"Write def my_{name}{takes_what}: and pass its name, without calling it.",
        )
    try:
        takes = inspect.signature(fn)
    except (TypeError, ValueError):  # some built-in functions do not say
        return None
    wanted = inspect.signature(exercise.right).parameters.values()
    wanted = [p.name for p in wanted if p.default is p.empty]
    try:
        takes.bind(*wanted)
    except TypeError:
        own = getattr(fn, "__name__", "")
        own = own if own.isidentifier() else f"my_{name}"
        return _refusal(
            f"{name}: your function takes ({', '.join(takes.parameters)}).",
            f"It is called with ({', '.join(wanted)}): write def {own}{takes_what}:",
        )
    return None
