"""Count what is said of two mistakes in one answer:

    python tests/scripts/pairs.py [--all] [exercise ...]

Pairs are of two kinds: declared mistakes that change different steps of the program, and answers of
tests/written that change different lines of one right answer. Where other mistakes give exactly the
same numbers, and are named, it is none. Prints for each exercise how many are named (one of the two
at least), unnamed, named by a third mistake, and accepted, and each of the last two; with --all
each that is not named. Of each kind it draws MOST pairs, always the same.
"""

import random
import re
import sys
from collections import Counter
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from making import explains, independent, made, student  # noqa: E402
from rates import answers, judged  # noqa: E402

from helpers.checks.exercises import CHECKED  # noqa: E402
from helpers.checks.match import NUMBER  # noqa: E402
from helpers.checks.submission import Submission  # noqa: E402
from helpers.tools.pages.puzzle import Answer  # noqa: E402

MOST = 20
LINES = 4  # of a right answer that a wrong one may change
ALIKE = "repair_context", "repair_weights", "repair_qkv", "repair_causal"
KINDS = "named", "unnamed", "a third", "accepted"


class OfSteps(Answer):
    """An answer made of two ways, its `code`. What it shows is what its two mistakes need."""

    def run(self):
        return student(made(CHECKED[self.exercise], *self.code))

    def contradicts(self, mistake):
        needs = mistake.only_if and mistake.name not in self.names
        return bool(needs) and not re.search(mistake.only_if, "")


def of_steps(exercise):
    """Return an answer for every two mistakes that have ways to change different steps."""
    ways = [(m.name, way) for m in exercise.mistakes for way in m.ways if NUMBER not in str(way)]
    found = {}
    for (one, first), (other, second) in combinations(ways, 2):
        if one != other and (other, one) not in found and independent(first, second):
            found.setdefault((one, other), (first, second))
    return [
        OfSteps(exercise.name, False, " + ".join(names), names, "", code)
        for names, code in found.items()
    ]


def of_lines(exercise):
    """Return an answer for every two written ones that change different lines of a right one."""
    written = list(answers(exercise.name))
    rights, changed, found = [x for x in written if x.right], {}, []
    wrongs = [x for x in written if x.right is False and x.names and " and " not in x.names[0]]
    for wrong in wrongs if rights else ():
        base = min(rights, key=lambda right: _lines(_changes(right, wrong)))
        if _lines(_changes(base, wrong)) <= LINES:
            changed.setdefault(base, []).append((wrong, _changes(base, wrong)))
    for base, wrongs in changed.items():
        for (one, first), (other, second) in combinations(wrongs, 2):
            apart = all(j < k or m < i for i, j, _ in first for k, m, _ in second)
            if apart and not {*one.names} & {*other.names}:
                code = _changed(base, [*first, *second])
                what = f"{one.what} + {other.what}"
                names = one.names + other.names
                found.append(Answer(base.exercise, False, what, names, base.before, code))
    return found


def _changes(base, other):
    """Return [(first line, last line, the lines of the other in their place)]."""
    a, b = (x.code.strip().splitlines() for x in (base, other))
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(i, j, b[k:m]) for tag, i, j, k, m in codes if tag != "equal"]


def _lines(changes):
    return sum(max(j - i, len(new)) for i, j, new in changes)


def _changed(base, changes):
    lines = base.code.strip().splitlines()
    for i, j, new in sorted(changes, reverse=True):
        lines[i:j] = new
    return "\n".join(lines)


def outcome(answer):
    """Return (one of KINDS, or "" if it is no pair; the Verdict)."""
    own = answer.contradicts if isinstance(answer, OfSteps) else Submission.contradicts
    with patch.object(Submission, "contradicts", own):
        verdict, *_ = judged(answer)
    names = verdict.mistakes
    if names and names[0] in answer.names:
        return "named", verdict
    if names and explains(CHECKED[answer.exercise], names, answer.run()):
        return "", verdict
    return "accepted" if verdict.passed else "a third" if names else "unnamed", verdict


def drawn(pairs):
    return random.Random(0).sample(pairs, min(MOST, len(pairs)))


def main(asked):
    torch.set_num_threads(1)
    total = Counter()
    for name, exercise in CHECKED.items():
        if name in ALIKE or {*asked} - {"--all"} and name not in asked:
            continue
        counts = Counter()
        for answer in drawn(of_steps(exercise)) + drawn(of_lines(exercise)):
            try:
                kind, verdict = outcome(answer)
            except SyntaxError:  # lines that do not go together
                continue
            counts[kind] += 1
            if kind in KINDS[2:] or kind == "unnamed" and "--all" in asked:
                print(f"--- {name}, {kind}: {answer.what}", answer.code, verdict.message, sep="\n")
        total += counts
        print(told(name, counts), flush=True)
    print(told("in all", total))


def told(name, counts):
    pairs = sum(counts[kind] for kind in KINDS)
    shares = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)
    return f"{name}: {pairs} pairs: {shares}"


if __name__ == "__main__":
    main(sys.argv[1:])
