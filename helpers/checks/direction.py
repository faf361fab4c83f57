"""Where to look when no cause is known: how the student's numbers relate to the right ones.

Each Fact of relations() holds on every wrong probe; the numbers in it are those of the first one.
"""

import inspect
import re
from itertools import combinations_with_replacement as combinations
from itertools import product as it_product
from math import prod

import torch

from .message import number
from .results import close
from .texts import Fact


def relations(evidence):
    """Yield the Facts on an answer whose numbers have the right shapes."""
    wrong = [(evidence.mine[k], evidence.right[k], evidence.probes[k]) for k in evidence.wrong]
    if any(a.numbers is None or a.numbers.shape != b.numbers.shape for a, b, _ in wrong):
        return
    cases = [(a.numbers.double(), b.numbers.double(), probe) for a, b, probe in wrong]
    names = list(inspect.signature(evidence.exercise.reference).parameters)
    for look in (_an_argument, _another_order, _products_missing, _always_more, _row_factors):
        yield from look(cases, names, evidence)


def of_shapes(mine, right):
    """Yield the Fact that relates numbers of a wrong shape to the right ones, if one does."""
    mine, right = mine.double(), right.double()
    if mine.dim() == 2 and close(mine.T, right):
        yield Fact("rows and columns are swapped.", "return the transpose of your result.")
    for dim in range(mine.dim()):
        if close(mine.sum(dim), right):
            advice = f"sum what you return over dimension {dim}."
            yield Fact("a sum is missing.", advice)
        for j in range(mine.shape[dim]):
            if close(mine.select(dim, j), right):
                what = f"only one part of it is asked for: index {j} of dimension {dim}."
                yield Fact(what, "which part is asked for? Take it with an index.")
    for dim in range(right.dim()):
        for j in range(right.shape[dim]):
            if right.shape[dim] > 1 and close(mine.squeeze(), right.select(dim, j).squeeze()):
                yield Fact(
                    f"you returned only one part: index {j} of dimension {dim}.",
                    "check whether `return` is inside a loop: where do the other parts go?",
                )


def size_to_look_for(evidence, k):
    """Return advice on an unexplained wrong shape: which size to check, and what it should be."""
    given = [j for j in evidence.wrong if evidence.mine[j].numbers is not None]
    ours = {evidence.right[j].numbers.shape for j in given}
    if len({evidence.mine[j].numbers.shape for j in given}) == 1 < len(ours):
        return "take sizes from the arguments: your result has this shape whatever they are."
    mine, right = evidence.mine[k].numbers.shape, evidence.right[k].numbers.shape
    pairs = [(evidence.mine[j].numbers, evidence.right[j].numbers) for j in given]
    if all(close(x.double().flatten(), y.double().flatten()) for x, y in pairs):
        return "arrange these numbers in the shape that is asked for, with reshape for instance."
    if len(mine) != len(right):
        step = "should add up or pick a part" if len(mine) > len(right) else "loses one"
        asked = f"{len(right)} dimension{'s' * (len(right) != 1)}"
        return (
            f"the answer has {asked}, what you return has {len(mine)}: find the step that {step}."
        )
    dim = next(i for i, (a, b) in enumerate(zip(mine, right, strict=True)) if a != b)
    asked = re.search(r"-> \((.+?),?\)$", evidence.exercise.signature)  # a class says no shape
    size = f"{right[dim]} ({asked[1].split(', ')[dim]})" if asked else right[dim]
    return f"find what sets the size of dimension {dim}. It is {mine[dim]}, but should be {size}."


def _tensors(probe, names):
    """Return the (name, numbers) of each argument that is a floating-point tensor."""
    pairs = zip(names, probe.args, strict=False)
    return [(k, x.double()) for k, x in pairs if torch.is_tensor(x) and x.is_floating_point()]


def _an_argument(cases, names, evidence):
    """Yield a Fact if the result is one of the arguments."""
    for name in names:
        given = [dict(_tensors(probe, names)).get(name) for _, _, probe in cases]
        pairs = zip(cases, given, strict=True)
        if all(x is not None and close(mine, x) for (mine, _, _), x in pairs):
            yield Fact(f"it returned {name} unchanged.", "return what you computed from it.")


def _another_order(cases, names, evidence):
    """Yield a Fact if the numbers are right, but in the wrong places."""
    if cases[0][0].numel() > 2 and all(
        close(mine.flatten().sort().values, right.flatten().sort().values)
        for mine, right, _ in cases
    ):
        yield Fact(
            "the right numbers, but in the wrong places.",
            "look at what changes the order: an index, a transpose, a view or reshape.",
        )


def _products_missing(cases, names, evidence):
    """Yield a Fact if a count is too large or too small by a product of its arguments."""
    if any(mine.dim() or mine != mine.round() or mine == right for mine, right, _ in cases):
        return
    differs = [int(mine - right) for mine, right, _ in cases]
    given = [dict(zip(names, probe.args, strict=False)) for _, _, probe in cases]
    sizes = [name for name, x in given[0].items() if type(x) is int]
    flags = [name for name, x in given[0].items() if type(x) is bool]
    products = [(k, *pair) for k in (1, 2, 3) for n in (1, 2) for pair in combinations(sizes, n)]
    for product, flag, more in it_product(products, [None, *flags], sizes):
        by = [prod(x.get(k, k) for k in product) + x[more] * x.get(flag, 0) for x in given]
        if [abs(d) for d in differs] == by and len({d > 0 for d in differs}) == 1:
            what = " * ".join(str(k) for k in product if k != 1)
            what += f", plus {more} if {flag} is True" if flag else ""
            found = "large" if differs[0] > 0 else "small"
            advice = f"which part of the count has the size {' * '.join(map(str, product[1:]))}?"
            yield Fact(f"always too {found} by {what}.", advice)
            return


def _always_more(cases, names, evidence):
    """Yield a Fact if every row differs from the right one by the same numbers."""
    differs = [mine - right for mine, right, _ in cases]
    if any(d.numel() < 3 or not d.isfinite().all() or close(d, 0 * d) for d in differs):
        return
    rows = [d.reshape(-1, d.shape[-1]) for d in differs if d.dim() > 1]
    if len(rows) == len(differs) and all(len(d) > 1 and close(d, d[:1] + 0 * d) for d in rows):
        yield Fact(
            "every row is off by the same numbers.",
            "find what you add to every row, or leave out of it: a bias, for instance.",
            f"In each row, the difference begins with {number(rows[0][0, 0])}.",
        )


def _row_factors(cases, names, evidence):
    """Yield Facts if each row is the right one times a factor, which may differ by row."""
    factors = []
    for mine, right, _ in cases:
        if right.dim() < 2 or right.shape[-1] < 2 or not mine.isfinite().all():
            return
        factor = (mine * right).sum(-1, keepdim=True) / (right * right).sum(-1, keepdim=True)
        if not close(mine, factor * right):
            return
        factors.append(factor.flatten())
    row = int((factors[0] - 1).abs().argmax())
    if all((f - f[0]).abs().max() < 1e-4 for f in factors):
        yield Fact(
            "the right numbers, times a factor that depends on the arguments.",
            "which size do you divide or multiply by, and which should it be?",
            f"Here every number is {number(factors[0][row])} times the right one.",
        )
    yield Fact(
        "each row is the right one times its own factor.",
        "check what you divide or multiply each row by.",
        f"Row {row} is {number(factors[0][row])} times the right one.",
    )


def where(evidence, advice):
    """Yield the Fact that tells which rows, columns or texts are right, if some are. Of several
    tables, it is about the first one that is wrong."""
    k, table = evidence.wrong[0], []
    mine, right = evidence.mine[k].numbers.double(), evidence.right[k].numbers.double()
    near = torch.isclose(mine, right, 1e-4, 1e-5, equal_nan=True)
    some_right = near.dim() > 2 and near.flatten(-2).all(-1).any()
    while near.dim() > 2:
        table.append(int(near.flatten(1).all(1).logical_not().nonzero()[0]))
        near = near[table[-1]]
    of = f" of table {table}" if table else ""  # none where there is a single one
    for dim in range(near.dim()):
        rows = near.movedim(dim, 0).reshape(near.shape[dim], -1).all(1)
        if 0 < rows.sum() < len(rows):
            good, bad = rows.nonzero()[:, 0].tolist(), (~rows).nonzero()[:, 0].tolist()
            what = "entry" if near.dim() == 1 else ("row", "column")[dim]
            fact = f"only some numbers are right. The first wrong {what}{of} is {bad[0]}."
            many = "entries" if what == "entry" else f"{what}s"
            why = f"Right {many}: {_listed(good)}. Wrong {many}: {_listed(bad)}."
            by_hand = f"work out {what} {bad[0]}{of} by hand, step by step."
            yield Fact(fact, advice or by_hand, why)
            return
    if some_right:
        by_hand = f"find what is different for table {table}: whose numbers does it use?"
        yield Fact(f"only some numbers are right. The first wrong table is {table}.", by_hand)


def _listed(positions):
    """Return positions as text, such as "0, 1, 5" or "0 to 7"."""
    run = positions == list(range(positions[0], positions[-1] + 1))
    if run and len(positions) > 2:
        return f"{positions[0]} to {positions[-1]}"
    return ", ".join(map(str, positions[:6])) + (", …" if len(positions) > 6 else "")
