"""Where to look when no cause is known: shapes, order, and which rows are right."""

import re

import torch

from ._code import computed_above, lost_in_a_loop, never_used
from ._hints import only_arguments
from ._texts import HINT, Fact, listed
from .exercise import returned
from .program import put
from .results import close


def one_part_only(submission, k):
    """Return the Fact that the numbers are one part of the right ones, on every wrong case; or
    None."""
    pairs = [(submission.mine[j].numbers, submission.right[j].numbers) for j in submission.wrong]
    pairs = [(mine.double(), right.double()) for mine, right in pairs if mine is not None]
    sizes = submission.right[k].numbers.shape
    for dim, size in enumerate(sizes):
        for j in range(-1 if size > 1 else size, size):  # -1: the last one
            if all(
                j < right.shape[dim] and close(mine.squeeze(), right.select(dim, j).squeeze())
                for mine, right in pairs
            ):
                advice = only_arguments(submission.answer) or "return all the parts, not only this."
                what = f"index {j % size} of dimension {dim}"
                if len(sizes) == 2:
                    what = ("row", "column")[dim]
                    what = f"the last {what}" if j == -1 else f"{what} {j}"
                return Fact(f"you returned only one part ({what}).", advice)
    return None


def size_to_look_for(submission, k):
    """Return advice on an unexplained wrong shape: which size to check, and what it should be."""
    given = [j for j in submission.wrong if submission.mine[j].numbers is not None]
    ours = {submission.right[j].numbers.shape for j in given}
    if len({submission.mine[j].numbers.shape for j in given}) == 1 < len(ours):
        sizes = "take sizes from the arguments: the shape of your result never changes."
        return only_arguments(submission.answer) or sizes
    mine, right = submission.mine[k].numbers.shape, submission.right[k].numbers.shape
    pairs = [(submission.mine[j].numbers, submission.right[j].numbers) for j in given]
    if all(close(x.double().flatten(), y.double().flatten()) for x, y in pairs):
        return "arrange these numbers in the right shape, for instance with reshape."
    if left := [d for d in range(len(mine)) if mine[d] == 1 and mine[:d] + mine[d + 1 :] == right]:
        made = f"a slice, keepdim or reshape? Remove that, or add .squeeze({left[0]})."
        return f"dimension {left[0]}, of size 1, should not be there. Find what makes it: {made}"
    if len(mine) != len(right):
        step = "loses one, or that should make one"
        if len(mine) > len(right):
            is_all = mine.numel() == right.numel()
            step = "should merge two" if is_all else "should sum over a dimension or pick from it"
        asked = "1 dimension" if len(right) == 1 else f"{len(right)} dimensions"
        return (
            f"the answer has {asked}, but your result has {len(mine)}: find the step that {step}."
        )
    dim = next(i for i, (a, b) in enumerate(zip(mine, right, strict=True)) if a != b)
    asked = re.search(r"-> \((.+?),?\)$", submission.exercise.signature)  # a class says no shape
    size = f"{right[dim]} (`{asked[1].split(', ')[dim]}`)" if asked else right[dim]
    is_it = f"dimension {dim} is {mine[dim]}, but should be {size}."
    if mine == right[::-1]:
        return f"look at the order of a product, and for a transpose: {is_it}"
    if asked and all(x.shape[dim] == y.shape[dim] - 1 for x, y in pairs):
        return f"look for a loop or a slice that begins too late or ends too early: {is_it}"
    return f"find what sets the size of dimension {dim}. It is {mine[dim]}, but should be {size}."


def unused_variable(submission, k):
    if submission.tree and (name := never_used(submission.tree)):
        advice = f"find the line that should use `{name}`, or leave out the one that makes it."
        return Fact(f"`{name}` is made, and never used.", advice)
    return None


def another_order(submission, k):
    """Return a Fact if the numbers are right, but in the wrong places; or None."""
    pairs = [(submission.mine[k].numbers, submission.right[k].numbers) for k in submission.wrong]
    if any(mine is None or mine.shape != right.shape for mine, right in pairs):
        return None
    both = [[x.double().flatten().sort().values for x in pair] for pair in pairs]
    if len(both[0][0].unique()) > 2 and all(close(*pair) for pair in both):
        return Fact(
            "the right numbers, but in the wrong places.",
            "look at what changes the order: an index, a transpose, a view, a reshape or cat.",
        )
    return None


def one_factor(submission, k):
    """Return the Fact that all numbers are one multiple of the right ones, on the first wrong case
    and on another; or None."""
    factors = []
    for j in submission.wrong:
        mine, right = submission.mine[j].numbers, submission.right[j].numbers
        if mine is None or mine.shape != right.shape or right.numel() < 2 or not right.any():
            continue
        mine, right = mine.double(), right.double()
        factor = float((mine * right).sum() / (right * right).sum())
        if factor and close(mine, factor * right):
            factors.append((j, factor))
    if len(factors) < 2 or factors[0][0] != k:
        return None
    label, factor = submission.cases[factors[0][0]].label, factors[0][1]
    return Fact(
        "all numbers are wrong by the same factor.",
        "look at what you multiply or divide by: all else may be right.",
        f"On {label}, yours are {factor:.3g} times the right ones.",
    )


def lost_results(submission, k):
    """Return the Fact that a loop makes in each pass what none keeps, or none uses; or None."""
    is_plain = submission.tree and submission.cases[0].measure is returned
    name, line = computed_above(submission.tree) if is_plain else ("", "")
    if name:
        advice = f"move `{line}` into the loop, too: it is computed once, from the first `{name}`."
        return Fact(f"nothing uses the new `{name}` of each pass.", advice)
    name, of_loop = lost_in_a_loop(submission.tree) if is_plain else ("", False)
    if of_loop:
        advice = f"store each new `{name}`: `{name} = …` only gives that name a new value."
        return Fact("a result is not kept.", advice)
    advice = f"add each new `{name}` to a total with +=, or to a list with append."
    return Fact(f"only the last `{name}` is left after the loop.", advice) if name else None


def some_rows_right(submission):
    """Return the Fact that tells which rows, columns or texts are right, if some are; or None. Of
    several tables, it is about the first one that is wrong."""
    k, table = submission.wrong[0], []
    wanted = submission.cases[k].split(submission.right[k].numbers)
    if len(wanted) > 1:
        return _some_parts_right(submission.cases[k].split(submission.mine[k].numbers), wanted)
    mine, right = submission.mine[k].numbers.double(), submission.right[k].numbers.double()
    alike = torch.isclose(mine, right, 1e-5, 1e-6)  # close() would count what is close by chance
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
            return Fact(fact, HINT, f"In table {table}, {said}" if table else said.capitalize())
    if some_right:
        return Fact(f"only some numbers are right; the first error is in table {table}.", HINT)
    return _some_entries_right(alike, right, of, table)


def _some_entries_right(alike, right, of, table):
    """Return the Fact that tells which entries are wrong, if at least half of a matrix is right,
    and not its zeros alone; or None."""
    wrong = (~alike).nonzero()
    if alike.dim() != 2 or 2 * len(wrong) > alike.numel():
        return None
    if not (alike & (right[tuple(table)] != 0)).any():
        return None
    said = f"{len(wrong)} of {alike.numel()} numbers{of} are wrong"
    if (wrong[:, 0] == wrong[:, 1]).all():
        said += ", all of them on the diagonal"
    at = [*table, *wrong[0].tolist()]
    fact = f"only some numbers are right; the first error is in entry {at}."
    return Fact(fact, HINT, f"{said}.")


def rows_without_effect(submission, k):
    """Return the Fact that rows or columns of an argument change nothing, although they must; or
    None."""
    args = () if submission.exercise.is_class else submission.cases[k].args
    for j, x in enumerate(args):
        if not (torch.is_tensor(x) and x.is_floating_point() and x.dim()):
            continue
        names = {1: ["entry"], 2: ["row", "column"]}.get(x.dim(), ["row"])
        for dim, name in enumerate(names):
            if not 1 < x.shape[dim] < 13:
                continue
            at = [(slice(None),) * dim + (r,) for r in range(x.shape[dim])]
            pairs = ((put(x, r, x[r] / 2 + 0.375), put(x, r, 1 - 2 * x[r])) for r in at)
            without = [r for r, two in enumerate(pairs) if submission.is_without_effect(k, j, two)]
            if not without:
                continue
            part = _named(name, without).rpartition(" ")[0]
            have = "has" if len(without) == 1 else "have"
            what = f"{part} of `{submission.arguments[j]}` {have} no effect."
            why = f"On {submission.cases[k].label}, your result stays the same when we change that."
            return Fact(what, "find the step that should use all of it.", why)
    return None


def _some_parts_right(mine, wanted):
    good = [name for name in wanted if close(mine[name], wanted[name])]
    bad = [name for name in wanted if name not in good]
    if not good:
        return None
    are = ["is" if len(names) == 1 else "are" for names in (good, bad)]
    said = f"{listed(good)} {are[0]} right; {listed(bad)} {are[1]} wrong."
    return Fact(f"{listed(bad)} {are[1]} wrong.", HINT, said[0].upper() + said[1:])


def _named(what, positions):
    """Return positions and a verb, such as "row 3 is", "rows 0, 1, 5 are" or "rows 0 to 7 are"."""
    if len(positions) == 1:
        return f"{what} {positions[0]} is"
    many = "entries" if what == "entry" else f"{what}s"
    if len(positions) > 2 and positions == list(range(positions[0], positions[-1] + 1)):
        return f"{many} {positions[0]} to {positions[-1]} are"
    more = " and more" if len(positions) > 6 else ""
    return f"{many} {', '.join(map(str, positions[:6]))}{more} are"
