"""Wrong answers that no mistake explains: which give the same numbers, and a teacher's names."""

import hashlib
import re

from ..errors import InputError
from .exercises import CHECKED
from .texts import contents

PRINT = "[0-9a-f]{8}"


def fingerprint(evidence):
    """Return 8 hex digits, the same for answers that give the same numbers on all probes; "" if no
    numbers are wrong, because equal errors, or equal facts, have many causes."""
    numbers = (evidence.mine[k].numbers for k in evidence.wrong)
    shown = any(x is not None and bool(x.isfinite().any()) for x in numbers)
    if not shown or evidence.mine[-1].stopped or not evidence.repeats:
        return ""
    given = repr([_given(result) for result in evidence.mine])
    return hashlib.sha256(given.encode()).hexdigest()[:8]


def _given(result):
    """Return a Result's data, with one number for all its numbers. If each were rounded, equal
    results would often differ: some number lies where rounding switches."""
    facts = {k: x for k, x in (result.observed or {}).items() if not isinstance(x, float)}
    given = type(result.outcome.error).__name__, result.instead, sorted(result.changed), facts
    if result.numbers is None:
        return given
    # asinh is like a logarithm for both signs: the first digits of each number count.
    x = (result.numbers.double().flatten() * 100).asinh().nan_to_num(1e3, 2e3, -2e3)
    total = float(x @ x.new_tensor(range(len(x))).cos())
    return *given, tuple(result.numbers.shape), round(total * 1000)


def named(evidence):
    """Return, in a tuple, the Mistake that mistakes.toml names for answers that give the same
    numbers; () if it names none."""
    name = names().get(f"{evidence.exercise.name} {fingerprint(evidence)}")
    return (Mistake((), name),) if name else ()


def names():
    """Return all answers in mistakes.toml as {"softmax a1b2c3d4": name}. Raises InputError."""
    found = {}
    for name, entry in contents("mistakes.toml").items():
        if not isinstance(entry, dict):
            raise InputError(f"mistakes.toml: {name} stands above the first name.")
        answers = entry.get("answers", [])
        for answer in answers if isinstance(answers, list) else [answers]:
            exercise, _, alike = str(answer).partition(" ")
            if exercise not in CHECKED or not re.fullmatch(PRINT, alike):
                wanted = "an exercise and 8 digits, as in the table of a class"
                raise InputError(f"mistakes.toml: '{name}' has {answer!r}, which is not {wanted}.")
            text_of(Mistake((), name), exercise)
            found[answer] = name
    return found
