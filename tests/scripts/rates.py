"""Count how often a verdict is right, over the answers of tests/written:

    python tests/scripts/rates.py [--all] [exercise ...]

Prints each verdict that is not what it should be (--all: every one), and how many right answers
are accepted, and how many wrong ones are rejected, named and named wrongly. Ends with code 1 if a
verdict is not what it should be.
"""

import ast
import contextlib
import io
import re
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from helpers.checks import check  # noqa: E402
from helpers.tools.pages import puzzle  # noqa: E402

WRITTEN = Path(__file__).parents[1] / "written"
KINDS = {True: "right", False: "wrong", None: "debatable"}
ONLY_NUMBERS = "(only numbers)"  # behind what is wrong with an answer of which no more is known


def answers(exercise="*"):
    """Read the answers of tests/written to one exercise or all."""
    return puzzle.answers(exercise, WRITTEN)


def judged(answer):
    """Check an answer; return (verdict, seconds, what is wrong with the verdict or "")."""
    handed_in = answer.run()
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        verdict = check(answer.exercise, handed_in)
    return verdict, time.process_time() - start, fault(answer, verdict)


def fault(answer, verdict):
    """Return what is wrong with the verdict; "" if nothing is. What it must say, word for word, may
    stand in the file of the answer: "# == wrong: what; said: words". A word beside a tick must.
    A wrong answer of which only the numbers are told is listed: "# == wrong: what (only numbers)".
    """
    told = " and ".join(verdict.mistakes)
    must = answer.what.partition("; said: ")[2]
    if must not in " ".join(verdict.message.split()):
        return "not said"
    if answer.right and verdict.said.after and not must:
        return "said beside the tick"
    if answer.right is None:
        return ""
    if verdict.passed is not answer.right:
        return "right, and rejected" if answer.right else "wrong, and accepted"
    if told and told not in answer.names:
        return "named wrongly"
    is_lost = "it cannot be checked" in verdict.message
    if is_lost or answer.names and not told:
        return "not named"
    if answer.right or says_only_the_numbers(verdict) is (ONLY_NUMBERS in answer.what):
        return ""
    return "listed, and more is told" if ONLY_NUMBERS in answer.what else "only numbers, not listed"


def says_only_the_numbers(verdict):
    return verdict.by == "only_the_numbers"


def followed(answer, verdict):
    """Does advice that is code, followed to the letter until it ends, lead on with each step: to ✔,
    or to fewer or different mistakes, and never back? Return None where the advice is in words."""
    tries, been = obeyed(answer, verdict), set()
    if tries is None:
        return None
    while tries is not None:
        been.add(ast.unparse(ast.parse(answer.code)))
        better = next(filter(None, (_judged_better(each, verdict) for each in tries)), None)
        if better is None:
            return False
        answer, verdict = better
        if verdict or ast.unparse(ast.parse(answer.code)) in been:
            return bool(verdict)
        tries = obeyed(answer, verdict)
    return True


def obeyed(answer, verdict):
    """Return the answers that obey the verdict's advice; None if that is in words."""
    found = re.fullmatch(
        r"Write `([^`]+)` instead of `([^`]+)`\.|Leave out `([^`]+)`\.", verdict.said.advice
    )
    if not found or "…" in found[0]:
        return None
    new, old, line = found.groups()
    # Advice is in the student's own words, but for what goes over several lines.
    code = answer.code if (old or line) in answer.code else ast.unparse(ast.parse(answer.code))
    lines = code.splitlines()
    if line:
        tries = [[x for x in lines if x.strip() != line]]
        lines[:] = [x if x.strip() != line else re.match(" *", x)[0] + "pass" for x in lines]
        tries.append(lines)
    else:
        tries = [
            [*lines[:k], x[: m.start()] + new + x[m.end() :], *lines[k + 1 :]]
            for k, x in enumerate(lines)
            for m in re.finditer(re.escape(old), x)
        ] + [code.replace(old, new).splitlines()]
    return [replace(answer, code="\n".join(each)) for each in tries]


def _judged_better(answer, before):
    """Return (answer, verdict) if it is better than the verdict before, else None."""
    try:
        verdict, *_ = judged(answer)
    except SyntaxError:
        return None
    other = verdict.mistakes and verdict.mistakes != before.mistakes
    fewer = bool(other) and len(verdict.mistakes) <= max(1, len(before.mistakes))
    return (answer, verdict) if verdict or fewer else None


def main(asked):
    torch.set_num_threads(1)
    count, times = Counter(), []
    for answer in answers():
        if set(asked) - {"--all"} and answer.exercise not in asked:
            continue
        verdict, seconds, wrong = judged(answer)
        times.append(seconds)
        if not verdict and (led := followed(answer, verdict)) is not None:
            count.update(["advice", "advice that leads nowhere"][: 2 - led])
            wrong = wrong or "" if led else "advice that leads nowhere"
        count.update([KINDS[answer.right], wrong, "named"][: 3 if verdict.mistakes else 2])
        count["only numbers"] += answer.right is False and says_only_the_numbers(verdict)
        if wrong or "--all" in asked:
            print(f"--- {answer.exercise}, {KINDS[answer.right]}: {answer.what}")
            print(f"{wrong.upper() or 'fine'}, {seconds:.2f} s, names: {answer.names}")
            print(answer.code.strip(), verdict.message, sep="\n\n", end="\n\n")
    print(f"{count['right']} right answers, {count['right, and rejected']} rejected")
    print(f"{count['wrong']} wrong answers, {count['wrong, and accepted']} accepted")
    print(f"{count['named']} named, {count['named wrongly']} of them wrongly;", end=" ")
    print(f"{count['not named']} more should have a name")
    print(f"{count['only numbers']} of the wrong ones get only their numbers")
    print(f"{count['advice']} times advice is code, which was followed to the letter;", end=" ")
    print(f"{count['advice that leads nowhere']} times it led nowhere")
    print(
        f"{count['debatable']} debatable; a verdict takes {median(times):.3f} s in the median",
        end="",
    )
    print(f" and {max(times):.2f} s at most")
    return count.keys() & {
        "right, and rejected",
        "wrong, and accepted",
        "not said",
        "said beside the tick",
        "named wrongly",
        "not named",
        "advice that leads nowhere",
    }


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
