"""Where to look when no cause is known: how the student's numbers relate to the right ones.

Each Fact of relations() holds on every wrong probe; the numbers in it are those of the first one.
"""

import re

import torch

from .message import number
from .results import close, has_equal_rows, near
from .texts import Fact

DIAGONAL = "find what happens only on the diagonal: is it counted twice, or left out?"


def relations(evidence):
    """Yield the Facts on the numbers as a whole, if their shapes are right."""
    if cases := _cases(evidence):
        for look in (_diagonal, _always_more, _as_many_as):
            yield from look(cases, evidence)


def _cases(evidence):
    """Return (the student's numbers, the right ones, probe) for all wrong probes; [] if a shape is
    wrong."""
    wrong = [(evidence.mine[k], evidence.right[k], evidence.probes[k]) for k in evidence.wrong]
    if any(a.numbers is None or a.numbers.shape != b.numbers.shape for a, b, _ in wrong):
        return []
    return [(a.numbers.double(), b.numbers.double(), probe) for a, b, probe in wrong]


def of_shapes(evidence, k):
    """Yield the Fact that relates numbers of a wrong shape to the right ones, if one does so on
    every wrong probe."""
    pairs = [(evidence.mine[j].numbers, evidence.right[j].numbers) for j in evidence.wrong]
    pairs = [(mine.double(), right.double()) for mine, right in pairs if mine is not None]
    sizes = evidence.right[k].numbers.shape
    for dim, size in enumerate(sizes):
        for j in range(-1 if size > 1 else size, size):  # -1: the last one
            if all(
                j < right.shape[dim] and close(mine.squeeze(), right.select(dim, j).squeeze())
                for mine, right in pairs
            ):
                yield Fact(
                    f"you returned only one part (index {j % size} of dimension {dim}).",
                    "return all the parts, not only this one. Is `return` inside a loop?",
                )


def size_to_look_for(evidence, k):
    """Return advice on an unexplained wrong shape: which size to check, and what it should be."""
    given = [j for j in evidence.wrong if evidence.mine[j].numbers is not None]
    ours = {evidence.right[j].numbers.shape for j in given}
    if len({evidence.mine[j].numbers.shape for j in given}) == 1 < len(ours):
        return "take sizes from the arguments: the shape of your result never changes."
    mine, right = evidence.mine[k].numbers.shape, evidence.right[k].numbers.shape
    pairs = [(evidence.mine[j].numbers, evidence.right[j].numbers) for j in given]
    if all(close(x.double().flatten(), y.double().flatten()) for x, y in pairs):
        return "arrange these numbers in the right shape, for instance with reshape."
    if left := [d for d in range(len(mine)) if mine[d] == 1 and mine[:d] + mine[d + 1 :] == right]:
        made = f"a slice, keepdim or reshape? Remove that, or add .squeeze({left[0]})."
        return f"dimension {left[0]}, of size 1, should not be there. Find what makes it: {made}"
    if len(mine) != len(right):
        step = "loses one, or where one is missing from the start"
        if len(mine) > len(right):
            is_all = mine.numel() == right.numel()
            step = "should merge two" if is_all else "should sum over a dimension or pick from it"
        asked = f"{len(right)} dimension{'s' * (len(right) != 1)}"
        return (
            f"the answer has {asked}, but your result has {len(mine)}: find the step that {step}."
        )
    dim = next(i for i, (a, b) in enumerate(zip(mine, right, strict=True)) if a != b)
    asked = re.search(r"-> \((.+?),?\)$", evidence.exercise.signature)  # a class says no shape
    size = f"{right[dim]} (`{asked[1].split(', ')[dim]}`)" if asked else right[dim]
    like = " or ".join(list(_sizes_like(evidence, given, dim))[:3])
    is_now = f"{mine[dim]}{like and ', '}{like}"
    return f"find what sets the size of dimension {dim}. It is {is_now}, but should be {size}."


def _sizes_like(evidence, given, dim):
    """Yield text such as "like inputs.shape[1]" for each size of an argument that dimension dim of
    the result equals on all probes at these positions."""
    columns = zip(*(evidence.probes[k].args for k in given), strict=True)
    for name, args in zip(evidence.arguments, columns, strict=False):
        if not torch.is_tensor(args[0]):
            continue
        sizes = [evidence.mine[k].numbers.shape[dim] for k in given]
        for d in range(args[0].dim()):
            if sizes == [x.shape[d] for x in args]:
                yield f"like {name}.shape[{d}]"
        if args[0].dim() > 1 and sizes == [x.numel() for x in args]:
            yield f"the count of all numbers in {name} (+ and += join lists)"


def another_order(evidence):
    """Yield a Fact if the numbers are right, but in the wrong places."""
    cases = _cases(evidence)
    both = [[x.flatten().sort().values for x in case[:2]] for case in cases]
    if cases and len(both[0][0].unique()) > 2 and all(close(*pair) for pair in both):
        yield Fact(
            "the right numbers, but in the wrong places.",
            "look at what changes the order: an index, a transpose, a view or reshape.",
        )


def wrong_sign(evidence):
    """Yield a Fact if all logarithms are negative, and all right numbers positive."""
    cases = re.search("log|entropy", evidence.code) and _cases(evidence)
    if cases and all((a < 0).all() and (b > 0).all() for a, b, _ in cases):
        yield Fact("the sign is wrong.", "find a minus that is missing, or one too many.")


def _diagonal(cases, evidence):
    """Yield a Fact if the numbers on the diagonal are wrong, and no others."""
    wrong = [~near(mine, right) for mine, right, _ in cases]
    tables = all(x.dim() == 2 and torch.equal(x, torch.eye(*x.shape).bool()) for x in wrong)
    if tables and any(len(x) > 1 for x in wrong):
        yield Fact("only the diagonal is wrong.", still_0(evidence, evidence.wrong[0]) or DIAGONAL)


def _always_more(cases, evidence):
    """Yield a Fact if every row differs from the right one by the same numbers."""
    differs = [mine - right for mine, right, _ in cases]
    if any(d.numel() < 3 or not d.isfinite().all() or close(d, 0 * d) for d in differs):
        return
    rows = [d.reshape(-1, d.shape[-1]) for d in differs if d.dim() > 1]
    if len(rows) == len(differs) and all(len(d) > 1 and has_equal_rows(d) for d in rows):
        yield Fact(
            "every row is off by the same amounts.",
            "find what you add to every row, or leave out of it: a bias, for instance.",
            f"In each row, the first number is off by {number(rows[0][0, 0])}.",
        )


def _as_many_as(cases, evidence):
    """Yield a Fact if, in the first wrong case, a count is off by the value of an argument."""
    (mine, right, probe), *_ = cases
    off = int(mine - right) if right.dim() == 0 and evidence.exercise.kind == "positions" else 0
    named = zip(evidence.arguments, probe.args, strict=False)
    for name in [name for name, x in named if off and type(x) is int and x == abs(off)]:
        yield Fact(
            f"the number is too {'low' if off < 0 else 'high'}.",
            f"did you {'leave out' if off < 0 else 'add'} something that comes to `{name}`?",
            f"On {probe.label}, it is off by {abs(off)}, which is `{name}` there.",
        )


def still_0(evidence, k):
    """Return advice on a number that is wrongly 0, if only some are; or ""."""
    mine, right = evidence.mine[k].numbers, evidence.right[k].numbers
    bad, rows = (mine == 0) & (right != 0), mine == 0
    if mine.dim() == 2 and not mine.diagonal().any():
        bad &= torch.eye(*mine.shape).bool()
    elif mine.dim() > 1:  # in a table, one number may be 0 by chance
        bad &= rows.all(-1, True) | rows.flatten(0, -2).all(0)
    places, is_mask = bad.nonzero(), len(right.unique()) < 3
    if is_mask or not 0 < len(places) < int((right != 0).sum()):
        return ""
    return f"find out why entry {places[0].tolist()} is 0: is it never filled, or set to 0?"


def where(evidence, advice):
    """Yield the Fact that tells which rows, columns or texts are right, if some are. Of several
    tables, it is about the first one that is wrong."""
    k, table = evidence.wrong[0], []
    mine, right = evidence.mine[k].numbers.double(), evidence.right[k].numbers.double()
    alike = torch.isclose(mine, right, 1e-5, 1e-6)  # near() would count what is close by chance
    some_right = alike.dim() > 2 and alike.flatten(-2).all(-1).any()
    while alike.dim() > 2:
        table.append(int(alike.flatten(1).all(1).logical_not().nonzero()[0]))
        alike = alike[table[-1]]
    of = f" of table {table}" if table else ""  # none where there is a single one
    for dim in range(alike.dim()):
        rows = alike.movedim(dim, 0).reshape(alike.shape[dim], -1).all(1)
        if 0 < rows.sum() < len(rows):
            good, bad = rows.nonzero()[:, 0].tolist(), (~rows).nonzero()[:, 0].tolist()
            what = "entry" if alike.dim() == 1 else ("row", "column")[dim]
            fact = f"only some numbers are right; the first error is in {what} {bad[0]}{of}."
            said = f"{_named(what, good)} right; {_named(what, bad)} wrong."
            why = f"In table {table}, {said}" if table else said[0].upper() + said[1:]
            by_hand = f"work out {what} {bad[0]}{of} by hand, step by step."
            if len(right.unique()) < 3 and right.dim() == 2:  # a mask
                r = int((~alike).any(1).nonzero()[0])
                both = (" ".join(f"{x:g}" for x in y[r].tolist()[:12]) for y in (mine, right))
                by_hand = "compare row {}: yours is {}, the right one is {}.".format(r, *both)
            yield Fact(fact, advice or by_hand, why)
            return
    if some_right:
        by_hand = f"find what differs in table {table}: which numbers does it use?"
        yield Fact(f"only some numbers are right; the first error is in table {table}.", by_hand)


def _named(what, positions):
    """Return positions and a verb, such as "row 3 is", "rows 0, 1, 5 are" or "rows 0 to 7 are"."""
    if len(positions) == 1:
        return f"{what} {positions[0]} is"
    many = "entries" if what == "entry" else f"{what}s"
    if len(positions) > 2 and positions == list(range(positions[0], positions[-1] + 1)):
        return f"{many} {positions[0]} to {positions[-1]} are"
    more = " and more" if len(positions) > 6 else ""
    return f"{many} {', '.join(map(str, positions[:6]))}{more} are"
