"""A small change to the student's own code that makes everything right. It is found by trying the
changes in _repairs.py."""

import ast
import sys
from itertools import chain, islice

from ._code import blocks, changed, nodes, own_functions, written
from ._repairs import quoted
from ._texts import Fact

# Limits that do not depend on a clock, or the same answer would get different words on a busy
# machine: the changes tried, and the lines that changed code runs, in one try and in all.
MOST, LINES, ALL_LINES = 110, 50_000, 150_000
HANGS = 60  # seconds: only a try that hangs in C, where no line is counted, takes so long
CHANGED = "<changed>"  # the file that changed code pretends to be from


class _Enough(BaseException):
    """Ends a try that runs too many lines."""


def repaired(submission, repairs):
    """Return the Fact on a small change, from one of these repairs, that makes all right; or
    None."""
    tree = None if submission.mine[-1].stopped else submission.tree
    if tree is None:
        return None
    found = []
    file = own_functions(submission.answer)[0].__code__.co_filename
    elsewhere = [x for x in tree.body if getattr(x, "file", file) != file]
    left_alone = {id(x) for node in nodes(tree, ast.Assert, ast.Raise) for x in ast.walk(node)}
    for function in elsewhere:
        left_alone |= {*map(id, ast.walk(function)), *map(id, blocks(function))}

    def is_sensible(change):
        """Would a person change that? Not what a student tests, nor a function of another cell."""
        return left_alone.isdisjoint(id(old) for old, _ in change[2])

    idle = _idle(tree)

    def look():
        left = ALL_LINES
        changes = chain.from_iterable(repair(tree, submission) for repair in repairs)
        for change in islice(filter(is_sensible, changes), MOST):
            new = changed(tree, change[2])
            if _idle(new) - idle:
                continue  # a loop that always does the same is no repair
            is_right, lines = _tried(new, submission, min(left, LINES))
            left -= lines
            if is_right and ".T.T" not in (fact := _told(change, tree)).advice:
                found.append(fact)
            if found or left <= 0:
                return

    # as one call: a thread for each would take longer than the tries
    submission.call(look, limit=HANGS)
    # If the unchanged code is right here, the cause is what earlier cells left behind.
    return None if not found or _tried(tree, submission, LINES)[0] else found[0]


def _idle(tree):
    """Return the names that loops set and never read."""
    for_loops = nodes(tree, ast.For)
    set_here = {n.id for loop in for_loops for n in nodes(loop.target, ast.Name)}
    read = (n.id for loop in for_loops for x in loop.body for n in nodes(x, ast.Name))
    return set_here - set(read)


def _tried(tree, submission, most):
    """Return (is this code right?, how many of its lines were run); it is wrong if they are more
    than most, as in a loop that a change made endless."""
    lines = 0

    def count(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != CHANGED:
            return None
        lines += event == "line"
        if lines > most:
            raise _Enough
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        return submission.is_right_with(tree, CHANGED), lines
    except _Enough:
        return False, lines
    finally:
        sys.settrace(before)


def _which(line, tree):
    """Return "the first " or the like for a statement that stands more than once; else ""."""
    same = [x for x in nodes(tree, ast.stmt) if written(x) == written(line)]
    if not isinstance(line, ast.stmt) or len(same) < 2:
        return ""
    place = sorted(same, key=lambda x: x.lineno).index(line)
    return f"the {('first', 'second', 'third')[place]} " if place < 3 else "one of the lines "


def _told(change, tree):
    """Return the Fact that tells a change: the whole line, if the part occurs elsewhere, too."""
    what, advice, pairs = change
    sources = {id(x.lines): x.lines for x in nodes(tree, ast.stmt) if hasattr(x, "lines")}
    code = "\n".join(chain.from_iterable(sources.values()))
    if not advice:
        old, new = pairs[0]
        if code.count(written(old)) > 1:
            old = [x for x in nodes(tree, ast.stmt) if old in ast.walk(x)][-1]
            new = changed(old, pairs)
        advice = f"write {quoted(new)} instead of {_which(old, tree)}{quoted(old)}."
    if advice.startswith("leave out ") and isinstance(pairs[0][0], list):
        (old,) = (x for x in pairs[0][0] if not any(x is y for y in pairs[0][1]))
        advice = f"leave out {_which(old, tree)}{quoted(old)}."
    return Fact(what, advice, "One small change fixes your code.")
