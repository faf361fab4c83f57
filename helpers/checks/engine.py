"""check(): the student's answer, the right one and every mistake on the same probes.

A mistake is named only when it gives exactly the student's numbers, or when an experiment
shows it; else words.py says what can be seen without knowing the cause.
"""

import time
from dataclasses import dataclass

from .. import guard
from . import words
from .exercises import EXERCISES
from .results import attempt, call_ours, same, was_stopped
from .seen import Seen
from .session import untouched
from .use import is_left_to_do, is_stub, misuse


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
    """Print a verdict on fn, a function or a class, for the exercise called name, and return it.

    fn is called on copies of our own arguments, for guard.SECONDS in all at most, and leaves
    no trace in the session. Raises nothing: bad use is a verdict too.
    """
    wrong_use = misuse(name, fn)
    if wrong_use:
        verdict = _refusal(*wrong_use)
    else:
        try:
            with untouched(fn):
                verdict = _examine(EXERCISES[name], fn)
        except guard.InputError as error:  # data/ is damaged
            verdict = _refusal(f"{name}: it cannot be checked.", str(error))
    print(verdict.message)
    return verdict


def _examine(exercise, fn):
    if is_stub(fn):
        return _not_written(exercise)
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

    seen = Seen(exercise, fn, call)
    for probe in exercise.probes():
        if probe.if_right and seen.wrong:
            break
        result = attempt(fn, probe, call)
        if result.outcome.error is not None and probe.is_double() and not result.stopped:
            # A float32 tensor of the student's own does not multiply with a float64 one.
            # That is style, so the same numbers in float32 decide.
            probe = probe.single()
            result = attempt(fn, probe, call)
        if is_left_to_do(result, fn):
            return _not_written(exercise)
        seen.probes.append(probe)
        seen.right.append(attempt(exercise.right, probe, call_ours))
        seen.mine.append(result)
        if result.stopped:
            break
    if not seen.wrong:
        return Verdict(True, f"✔ {exercise.name}: right.")

    mistake = None
    if not seen.mine[-1].stopped:
        again = tuple(seen.ask(0) for _ in range(2))
        seen.again = () if again[1].stopped else again
        mistake = _match(seen, seen.mine)
        if mistake is None and seen.without_empty:
            mistake = _match(seen, seen.without_empty)  # such as a loop that stops one early
    return Verdict(False, words.failure(seen, mistake), (mistake.name,) if mistake else ())


def _match(seen, mine):
    """The first mistake that is established, or None."""
    # What is wrong first: most forms are another mistake, which shows there at once.
    wrong = seen.wrong
    pairs = [
        (mine[k], seen.probes[k]) for k in sorted(range(len(mine)), key=lambda k: k not in wrong)
    ]
    for mistake in seen.exercise.mistakes:
        if mistake.shows:
            if mistake.shows(seen):
                return mistake
            continue
        for form in mistake.forms():
            if all(same(a, attempt(form, probe, call_ours)) for a, probe in pairs):
                return mistake
    return None


def _not_written(exercise):
    return Verdict(None, f"… {exercise.name}: not written yet.")


def _refusal(what, advice):
    return Verdict(False, words.layout(f"✘ {what}", advice))
