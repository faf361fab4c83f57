"""A small change to the student's own code that makes everything right: an experiment, like those
of counterfactual.py. It is found by trying the changes in slips.py."""

import ast
import heapq
import time
from itertools import chain, combinations, islice

from .code import changed, nodes
from .slips import grown, instead
from .texts import Fact

MOST, PAIRS, SECONDS = 600, 300, 1.0  # limits on the changes tried, and on their processor time


def mended(evidence, slips, pairs=False):
    """Return [Fact] on a small change, from one of these slips, that makes all right; or [].

    pairs: may it take two changes? Then the first is told: one that alone brings the numbers
    nearer to the right ones.
    """
    tree = None if evidence.mine[-1].stopped else evidence.tree
    if tree is None or _may_never_end(tree):
        return []
    found = []

    def look():
        end = time.thread_time() + SECONDS
        changes = islice(chain.from_iterable(slip(tree, evidence) for slip in slips), MOST)
        tried = []
        for change in changes:
            near = evidence.nearness(changed(tree, change[2]))
            if near == 1:
                found.append(_told(change, tree, evidence, "One small change fixes your code."))
            if near == 1 or time.thread_time() > end:
                return
            tried.append((near, change))
        best = [change for _, change in sorted(tried, key=lambda pair: -pair[0])] if pairs else ()
        for first, second in _by_rank(best, PAIRS):
            every = _inside(first[2], second[2]) + _inside(second[2], first[2])
            if evidence.nearness(changed(tree, every)) == 1:
                two = "Two small changes fix your code; this is the first."
                found.append(_told(first, tree, evidence, two))
            if found or time.thread_time() > end:
                return

    evidence.call(look)  # as one call: a thread for each would take longer than the tries
    # If the unchanged code is right here, the cause is what earlier cells left behind.
    return [] if found and evidence.nearness(tree) == 1 else found


def _may_never_end(tree):
    """Can a small change make this code endless: is there a `while`, or a loop over a list that it
    makes longer?"""
    over = {ast.unparse(loop.iter) for loop in nodes(tree, ast.For)}
    return bool(nodes(tree, ast.While) or over & grown(tree))


def _told(change, tree, evidence, why):
    """Return the Fact that tells a change: the whole line, if the part occurs elsewhere, too."""
    what, advice, pairs = change
    old = pairs[0][0]
    single = len(pairs) == 1 and advice.startswith("write `")
    if single and evidence.code.count(ast.unparse(old)) > 1:
        line = [x for x in nodes(tree, ast.stmt) if old in ast.walk(x)][-1]
        what, advice, _ = instead(what, line, changed(line, pairs))
    if advice.startswith("leave out") and evidence.code.count(line := advice.split("`")[1]) > 1:
        advice = f"leave out one of the lines `{line}`."
    return Fact(what, advice, why)


def _by_rank(best, most):
    """Return at most this many pairs of these, those nearest the start first."""
    places = combinations(range(len(best)), 2)
    return [(best[i], best[j]) for i, j in heapq.nsmallest(most, places, key=sum)]


def _inside(pairs, more):
    """Return these pairs, with the other changes made in their new parts, too."""
    return [(old, changed(new, more)) for old, new in pairs]
