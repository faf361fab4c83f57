"""check(): the student's answer and the right one, on the same probes.

diagnose.py names a mistake only when it gives exactly the student's numbers, or when a
counterfactual shows it; else facts.py says what can be seen without knowing the cause.
"""

import time

from .. import guard
from . import message
from .diagnose import established, is_gone
from .evidence import Evidence
from .exercises import CHECKED
from .facts import fact_of
from .misuse import is_left_to_do, is_stub, misuse
from .results import attempt, call_ours, same, was_stopped
from .session import untouched
from .unnamed import fingerprint, named
from .verdict import Verdict, not_written, refusal, remember, right, show, told_before


def check(name, fn=None):
    """Show a verdict on fn, a function or a class, for the exercise called name, and return it.

    fn is called on copies of our own arguments, for guard.SECONDS in all at most, and leaves
    no trace in the session. Raises nothing: bad use is a verdict too. guard.call says what
    fn could do that a check does not survive. Who searches the memory for our own numbers, and
    writes over them, can deceive this check, but no later one.
    """
    looked = guard.call(misuse, name, fn)  # its attributes are code of the student's, too
    if looked.error:
        verdict = refusal("check: your answer cannot be looked at.", looked.complaint())
    elif looked.value:
        verdict = refusal(*looked.value)
    else:
        try:
            with untouched(fn) as call:
                verdict = _examine(CHECKED[name], fn, call)
            remember(name, verdict)
        except Exception as error:  # data/ is damaged, or fn is like nothing that we know
            said = guard.Outcome(error=error).complaint()
            verdict = refusal(f"{name}: it cannot be checked.", said)
    show(name, verdict)
    return verdict


def _examine(exercise, fn, call_safely):
    if is_stub(fn):
        return not_written(exercise.name)
    limit = guard.SECONDS
    end = time.monotonic() + limit

    def call(fn, *args):
        outcome = call_safely(fn, *args, seconds=max(0.0, end - time.monotonic()))
        if was_stopped(outcome):
            # The seconds that were left differ in every run; the limit does not.
            text = "all calls together did not end" if seen.mine else "it did not return"
            outcome.error = TimeoutError(f"{text} within {limit:g} seconds")
        return outcome

    seen = Evidence(exercise, fn, call)
    probes = exercise.probes()
    # What is kept from one call to the next shows on other arguments of the same size, and on the
    # same ones after others.
    after = () if exercise.is_class else (probes[0].backwards(), probes[0].again())
    for probe in (*probes, *after):
        if probe.if_right and seen.wrong:
            break
        result = attempt(fn, probe, call)
        single = probe.single()
        if result.outcome.error is not None and single and not result.stopped:
            # A float32 tensor of the student's own does not multiply with a float64 one.
            # That is style, so the same numbers in float32 decide.
            again = attempt(fn, single, call)
            if not same(again, result):
                probe, result = single, again
        if is_left_to_do(result, fn):
            return not_written(exercise.name)
        seen.probes.append(probe)
        seen.right.append(attempt(exercise.reference, probe, call_ours))
        seen.mine.append(result)
        if result.stopped:
            break
    if not seen.wrong:
        seen.look_again()
    if not seen.wrong:
        return right(exercise.name)

    found = ()
    if not seen.mine[-1].stopped:
        again = tuple(seen.ask(0) for _ in range(2))
        seen.again = () if again[1].stopped else again
        found = established(seen) or named(seen)
    names = tuple(mistake.name for mistake in found)
    before = told_before(exercise.name, names)
    gone = [n for n in before if n not in names and is_gone(seen, found, n, before)]
    said = message.failure(seen, found, None if found else fact_of(seen), gone)
    unnamed = () if names else (fingerprint(seen), said.head.partition(": ")[2])
    return Verdict(False, said, names, unnamed)
