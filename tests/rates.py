"""How often a verdict is right, over all answers of tests/written: python tests/rates.py [exercise ...]

Right answers that are accepted, wrong ones that are rejected, and of these those that are told a
cause, and a wrong one. Ends with code 1 if any verdict is not what it should be, and prints it.
With --all, every verdict is printed, for whoever judges them.
"""

import contextlib
import io
import sys
import time
from collections import Counter
from statistics import median

import torch
from written import answers

from helpers.checks import check
from helpers.checks.verdict import forget


def judged(answer):
    """(verdict, seconds, what is wrong with the verdict or "")."""
    forget()
    handed_in = answer.run()
    start = time.thread_time() if False else time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        verdict = check(answer.exercise, handed_in)
    seconds = time.perf_counter() - start
    told = " and ".join(verdict.mistakes)
    wrong = ""
    if answer.right is not None and verdict.passed is not answer.right:
        wrong = "right, and rejected" if answer.right else "wrong, and accepted"
    elif told and told not in answer.names and answer.right is not None:
        wrong = "named wrongly"
    elif answer.names and not told:
        wrong = "not named"
    return verdict, seconds, wrong


def main(exercises):
    torch.set_num_threads(1)
    every = "--all" in exercises
    exercises = [name for name in exercises if name != "--all"]
    count, times = Counter(), []
    for answer in answers():
        if exercises and answer.exercise not in exercises:
            continue
        verdict, seconds, wrong = judged(answer)
        times.append(seconds)
        kind = {True: "right", False: "wrong", None: "debatable"}[answer.right]
        count[kind] += 1
        count[wrong] += bool(wrong)
        if answer.right is False and not wrong and verdict.mistakes:
            count["named"] += 1
        if wrong or every:
            print(
                f"--- {answer.exercise} | {kind}: {answer.what} | expected: {answer.names} | {wrong.upper() or 'fine'} | {seconds:.2f} s"
            )
            if every or verdict.mistakes:
                print(answer.code.strip())
            print(verdict.message)
    print(
        f"{count['right'] - count['right, and rejected']} of {count['right']} right answers accepted"
    )
    print(
        f"{count['wrong'] - count['wrong, and accepted']} of {count['wrong']} wrong answers rejected"
    )
    print(
        f"{count['named']} of them named, {count['named wrongly']} wrongly, {count['not named']} without the name that they should have"
    )
    if times:
        print(f"a verdict: median {median(times):.3f} s, worst {max(times):.2f} s")
    return any(
        count[k]
        for k in ("right, and rejected", "wrong, and accepted", "named wrongly", "not named")
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
