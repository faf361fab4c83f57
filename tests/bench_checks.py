"""How long a verdict takes, and importing helpers: python tests/bench_checks.py

On one core. Every exercise with the right answer, the stub, one way to make every mistake,
the answers of the tests that are wrong for no declared reason, and combinations of two and
three wrong stages. Then
`import torch, helpers` beside `import torch, matplotlib`, each time in a fresh Python.
Ends with code 1 if a promise is broken.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import contextlib
import inspect
import io
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import test_search
import torch
from answers import UNKNOWN

from helpers import check
from helpers.checks.exercises import CHECKED

ROOT = Path(__file__).parent.parent
MIDDLE, WORST = 0.5, 2.0  # the promise: seconds of a verdict, the median and the longest
IMPORT = 1.1  # and importing helpers: so many times what torch and matplotlib take
ROUNDS = 3  # of each verdict; the middle one counts
SETS = 20  # of two, and of three, wrong stages in each exercise
IMPORTS = 15  # fresh interpreters of each kind


def stub(*args): ...


def combinations():
    """Two and three wrong stages at once."""
    for exercise in test_search.OF_THREE:
        for size in (2, 3):
            for mistakes, choices in test_search.random_sets(exercise, size, SETS):
                names = " + ".join(mistake.name for mistake in mistakes)
                yield exercise.name, names, test_search.answer(exercise, choices)


def every_answer():
    """(exercise, what it is, code)."""
    for exercise in CHECKED.values():
        yield exercise.name, "right", exercise.reference
        yield exercise.name, "stub", _stub_of(exercise)
        for mistake in exercise.all_mistakes:
            yield exercise.name, mistake.name, next(exercise.answers(mistake))
    for table in UNKNOWN.values():
        for name, code, fact in table:
            yield name, f"unknown: {fact}", code
    yield from combinations()


def _stub_of(exercise):
    if exercise.is_class:
        return type("Stub", (exercise.reference,), {"forward": lambda self, inputs: ...})
    names = ", ".join(inspect.signature(exercise.reference).parameters)
    return eval(f"lambda {names}: ...")


def seconds(name, code):
    """Of a verdict, the middle one of a few."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            check(name, code)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def verdicts():
    """Prints how long they take. Returns what is broken."""
    rows = sorted((seconds(name, code), name, what) for name, what, code in every_answer())
    times = [row[0] for row in rows]
    middle, high = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"{len(times)} verdicts, ms: median {middle * 1e3:.0f}, 95 % {high * 1e3:.0f}, longest")
    for time_, name, what in rows[:-6:-1]:
        print(f"{time_ * 1e3:>8.0f}  {name}: {what}")
    print("\nby exercise, ms     median  longest")
    for name in CHECKED:
        own = [row[0] * 1e3 for row in rows if row[1] == name]
        print(f"  {name:<18}{statistics.median(own):>6.0f}{max(own):>9.0f}")
    if middle > MIDDLE:
        yield f"A verdict takes {middle:.2f} s in the median; promised: {MIDDLE}."
    if times[-1] > WORST:
        yield f"A verdict takes {times[-1]:.2f} s; promised: {WORST}."


def imports():
    """Prints how long importing takes. Returns what is broken."""
    codes = {name: f"import torch, {name}" for name in ("sys", "matplotlib", "helpers")}
    picture = "from helpers import heatmap; heatmap([[1]]).png()"
    codes["helpers and a picture"] = f"import torch; {picture}"
    times = {name: [] for name in codes}
    for _ in range(IMPORTS):
        for name, code in codes.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
            times[name].append(time.perf_counter() - start)
    middle = {name: statistics.median(values) for name, values in times.items()}
    print("\na fresh Python with torch and ..., ms")
    for name, value in middle.items():
        print(f"  {'nothing' if name == 'sys' else name:<22}{value * 1e3:>6.0f}")
    ratio = middle["helpers"] / middle["matplotlib"]
    print(f"  helpers / matplotlib  {ratio:>6.2f}")
    if ratio > IMPORT:
        yield f"Importing helpers takes {ratio:.2f} times matplotlib; promised: {IMPORT}."


def main():
    torch.set_num_threads(1)
    broken = [*verdicts(), *imports()]
    print("\n" + ("\n".join(broken) or "The promise holds."))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
