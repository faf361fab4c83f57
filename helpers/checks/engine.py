"""check(): run the student's answer and the right one on the same cases, and judge the answer.

What is said of a wrong answer is chosen in evidence.py."""

import re

from .. import guard
from ..session import untouched
from . import message
from ._misuse import is_left_to_do, is_stub, misuse
from .evidence import evidence
from .exercises import CHECKED
from .results import attempt, same, was_stopped
from .submission import Submission
from .verdict import Verdict, not_written, refusal, remember, right, show


def check(name, fn=None):
    """Show a verdict on fn, a function or a class, for the exercise called name, and return it.

    fn is called on copies of our own arguments, for at most guard.SECONDS in all. Afterwards all
    that the notebook holds, random numbers and settings are as before (see session.py); meanwhile
    torch has its own functions, whatever the notebook replaced. Raises nothing: bad use gets a
    verdict too. guard.call lists what fn could do that a check does not survive or undo. A verdict
    can be forged by anyone who means to.
    """
    verdict = _verdict(name, fn)
    show(name, verdict)
    return verdict


def _verdict(name, fn):
    try:
        with untouched(fn) as call:
            looked = call(misuse, name, fn)  # reading fn's attributes may run student code
            if looked.error:
                return refusal("check: your answer cannot be examined.", looked.complaint())
            if looked.value:
                return refusal(*looked.value)
            verdict = _examine(CHECKED[name], fn, call)
        remember(name, verdict)
        return verdict
    except Exception as error:  # data/ is damaged, or fn is unlike anything we know
        said = guard.Outcome(error=error).complaint()
        return refusal(f"{name}: it cannot be checked.", said)


def _examine(exercise, fn, call_safely):
    """Return the Verdict on an answer that can be called."""
    if is_stub(fn):
        return not_written(exercise.name)
    submission = Submission(exercise, fn, _within(guard.SECONDS, call_safely))
    for case in _cases(exercise):
        if case.if_right and submission.wrong:
            break
        case, result = _tried(case, submission, len(submission.cases))
        if is_left_to_do(result, fn):
            return not_written(exercise.name)
        submission.cases.append(case)
        submission.right.append(submission.ours(case))
        submission.mine.append(result)
        if result.stopped:
            break
    if not submission.wrong:
        submission.look_again()
    return _failed(submission) if submission.wrong else right(exercise.name, _remark(submission))


# They do in one call what the exercises build.
WHOLE = "scaled_dot_product_attention|MultiheadAttention|multi_head_attention_forward"


def _remark(submission):
    """Return a remark on a right answer, such as that another function does the work; or ""."""
    exercise = submission.exercise
    avoid = re.compile("|".join(filter(None, (exercise.name, exercise.avoid, WHOLE))))
    for written, name in submission.works_through():
        if avoid.fullmatch(written) or avoid.fullmatch(name):
            call = re.search(rf"(?<!def )\b((\w+\.)*{written})\(", submission.code)
            written = call[1] if call else written
            return f"But {written} does the work: can you write it without {written}?"
    return exercise.remark(submission)


def _within(seconds, call_safely):
    """Return a call(fn, *args, limit=None) that stops once all calls together have taken this long;
    with a limit, it stops after that and does not count. What happens between the calls is our own
    work: on a busy machine it must not take time from the answer."""
    clock, taken, returned = guard.WAITS * seconds, guard.Outcome(), []

    def call(fn, *args, limit=None):
        left = dict(seconds=limit)
        if limit is None:
            left = dict(seconds=seconds - taken.seconds, clock=clock - taken.clock)
        outcome = call_safely(fn, *args, **left)
        if limit is None:
            taken.seconds += outcome.seconds
            taken.clock += outcome.clock
        if was_stopped(outcome):
            # Name the limit: the seconds that were left differ from run to run.
            text = "all calls together did not end" if returned else "it did not return"
            reached = guard.limit(seconds, clock, taken.clock)
            outcome.error = TimeoutError(f"{text} {reached}")
        returned.append(fn)
        return outcome

    return call


def _cases(exercise):
    """Return the cases. For a function, two more show what it keeps between calls: different
    arguments of the same size, and the first ones again after others."""
    cases = exercise.cases()
    return cases if exercise.is_class else (*cases, cases[0].backwards(), cases[0].again())


def _tried(case, submission, k):
    """Return the case that decides, and the Result of the answer on it. k: its position."""
    # The first case that calls a module is its second: it notes which functions of torch run.
    world = submission.noting if k == int(submission.exercise.is_class) else None
    result = attempt(submission.answer, case, submission.call, world)
    single = case.single()
    if result.outcome.error is not None and single and not result.stopped:
        # A float32 tensor of the student's own does not multiply with a float64 one.
        # That is style, so the same numbers in float32 decide.
        again = attempt(submission.answer, single, submission.call)
        if not same(again, result):
            return single, again
    return case, result


def _failed(submission):
    """Return the Verdict on a wrong answer: its mistakes, or else what can be seen."""
    if not submission.mine[-1].stopped:
        again = tuple(submission.ask(0) for _ in range(2))
        submission.again = () if again[1].stopped else again
    fact = evidence(submission)
    names = tuple(filter(None, fact.names))
    return Verdict(False, message.failure(submission, fact), names, fact.by)
