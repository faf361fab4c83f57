"""Answers to softmax that attack the check. Run as a script, it lets each of them do its worst, in
one process, and prints what became of it and of the checks that follow."""

import builtins
import gc
import inspect
import json
import math
import os
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
import torch.nn.functional as F

from helpers import check, guard


def right(scores):
    return torch.softmax(scores, -1)


def wrong(scores):
    return scores / scores.sum()


def yes(*args, **kwargs):
    return True


def ours():
    """Our own modules that are there, by name."""
    return {name: m for name, m in sys.modules.items() if name.split(".")[0] == "helpers"}


# --- the checker's own modules ---


def replaces_what_compares(scores):
    for module in ours().values():
        for name in vars(module).keys() & {"same", "close", "same_fact", "_same_items"}:
            setattr(module, name, yes)
    return scores


def replaces_every_function(scores):
    for module in ours().values():
        for name, value in list(vars(module).items()):
            if inspect.isfunction(value):
                setattr(module, name, yes)
    return scores


def empties_every_module_and_raises(scores):
    for module in ours().values():
        for name in [name for name in vars(module) if not name.startswith("__")]:
            setattr(module, name, None)
    raise ValueError


def replaces_code(scores):
    ours()["helpers.checks.results"].same.__code__ = (lambda mine, other: True).__code__
    return scores


def replaces_a_method(scores):
    ours()["helpers.checks.evidence"].Evidence.is_right = yes
    ours()["helpers.checks.verdict"].Verdict.__getattribute__ = yes
    return scores


def hides_builtins(scores):
    for module in ours().values():
        module.all = module.any = module.isinstance = yes
    return scores


def replaces_the_right_answer(scores):
    exercises = ours()["helpers.checks.exercises"]
    object.__setattr__(exercises.CHECKED["softmax"], "reference", wrong)
    ours()["helpers.attention"].softmax = wrong
    return wrong(scores)


def replaces_the_exercise(scores):
    ours()["helpers.checks.exercises"].CHECKED["softmax"] = wrong
    return scores


def takes_modules_away(scores):
    for name in [name for name in sys.modules if name.split(".")[0] in ("torch", "math")]:
        del sys.modules[name]
    return scores


def puts_none_for_modules(scores):
    sys.modules.update(torch=None, math=None, numpy=None)
    return scores


# --- Python, and the process ---


def deletes_builtins(scores):
    for name in ("type", "isinstance", "BaseException", "Exception", "str", "__import__"):
        delattr(builtins, name)
    return scores


def stops_the_clock(scores):
    time.time = time.monotonic = time.perf_counter = lambda: 0.0
    return right(scores)


def closes_descriptors(scores):
    os.closerange(0, 3)
    return right(scores)


def changes_hooks(scores):
    sys.excepthook = sys.displayhook = sys.__stdout__ = None
    sys.tracebacklimit = -5
    sys.meta_path.insert(0, None)
    gc.disable()
    torch.autograd.set_detect_anomaly(True)
    return right(scores)


def changes_softmax(scores):
    F.softmax = torch.nn.Softmax.forward = yes
    return right(scores)


def prints_on(scores):
    def talk():
        for _ in range(300):
            print("still here")
            time.sleep(0.001)

    threading.Thread(target=talk, daemon=True).start()
    return right(scores)


# --- what it says of itself ---


class Answer:
    def __call__(self, scores):
        return right(scores)


class SignatureRaises(Answer):
    @property
    def __signature__(self):
        raise RuntimeError


class SignatureEndless(Answer):
    @property
    def __signature__(self):
        while True:
            pass


class WrappedWithoutEnd(Answer):
    @property
    def __wrapped__(self):
        return WrappedWithoutEnd()


class ReturnsItself:
    def __getattr__(self, name):
        return self

    def __call__(self, scores):
        return self


class Exits(Answer):
    def __getattribute__(self, name):
        raise SystemExit


def wrapped_in_a_circle(scores):
    return right(scores)


wrapped_in_a_circle.__wrapped__ = wrapped_in_a_circle


class Nameless(type):
    @property
    def __name__(cls):
        raise SystemExit


def raises_nameless(scores):
    raise Nameless("Error", (Exception,), {})


class NameEndless(type):
    @property
    def __name__(cls):
        while True:
            pass


def raises_name_endless(scores):
    raise NameEndless("Error", (Exception,), {})


# By name: the answer, and whether it is right.
ANSWERS = {
    answer.__name__: (answer, passed)
    for answer, passed in (
        (replaces_what_compares, False),
        (replaces_every_function, False),
        (empties_every_module_and_raises, False),
        (replaces_code, False),
        (replaces_a_method, False),
        (hides_builtins, False),
        (replaces_the_right_answer, False),
        (replaces_the_exercise, False),
        (takes_modules_away, False),
        (puts_none_for_modules, False),
        (deletes_builtins, False),
        (stops_the_clock, True),
        (closes_descriptors, True),
        (changes_hooks, True),
        (changes_softmax, True),
        (prints_on, True),
        (SignatureRaises, True),
        (SignatureEndless, False),
        (WrappedWithoutEnd, True),
        (ReturnsItself, False),
        (Exits, False),
        (wrapped_in_a_circle, True),
        (raises_nameless, False),
        (raises_name_endless, False),
    )
}


def state():
    """What an answer could reach and a later check needs: {where: what is there}."""
    places = {**ours(), "torch": torch, "F": F, "builtins": builtins, "math": math, "time": time}
    classes = [x for m in ours().values() for x in vars(m).values() if inspect.isclass(x)]
    places |= {f"{x.__module__}.{x.__qualname__}": x for x in (torch.nn.Softmax, *classes)}
    found = {(at, name): x for at, place in places.items() for name, x in vars(place).items()}
    found |= {(*at, "code"): x.__code__ for at, x in found.items() if inspect.isfunction(x)}
    exercises = ours()["helpers.checks.exercises"].CHECKED
    found |= dict(exercises) | {"right answer": exercises["softmax"].reference}
    found |= {("sys", name): getattr(sys, name, None) for name in SYS}
    found["switches"] = gc.isenabled(), torch.is_anomaly_enabled(), len(sys.meta_path)
    return found | {("module", name): module for name, module in sys.modules.items()}


SYS = "stdout", "stderr", "stdin", "excepthook", "displayhook", "__stdout__", "tracebacklimit"


def main(names):
    """Prints a line of json for each name: [name, verdicts on the answer, on a right one and on a
    wrong one, what has changed]."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # verdicts are printed elsewhere
    guard.SECONDS = 1
    check("softmax", wrong), check("softmax", right)
    for name in names:
        answer = ANSWERS[name][0]
        before = state()
        verdicts = [check("softmax", answer() if inspect.isclass(answer) else answer).passed]
        verdicts += [check("softmax", right).passed, check("softmax", wrong).passed]
        after = state()
        changed = [str(at) for at, x in before.items() if not _same(x, after.get(at))]
        new = [at for at in after.keys() - before.keys() if at[0] in ours()]
        for number in range(3):
            os.fstat(number)  # it is open
        print(json.dumps([name, verdicts, [*changed, *map(str, new)]]), file=report)


def _same(x, other):
    return x is other or type(x) in (int, float, str, tuple) and x == other


if __name__ == "__main__":
    main(sys.argv[1:] or ANSWERS)
