"""Experiments that a student can repeat: change one thing in the arguments, and see whether the
result follows as it should. They say where to look when no cause is known."""

import time
from dataclasses import replace

import torch

from .results import attempt, close, near

MOST, SECONDS = 6, 0.3  # limits on the rows and columns that are tried, and on the time
VALUES = 2.0, -1.0, 5.0  # what a part is set to; the first one is told
STAYS = "stay the same"
# From what may become of a result to (how it is recognised, what is said of the student's).
LAWS = {
    STAYS: (lambda before, after: close(after, before), "stays the same"),
    "double": (lambda before, after: close(after, 2 * before), "doubles"),
    "be halved": (lambda before, after: close(after, before / 2), "is halved"),
    "be 0": (lambda before, after: not after.any(), "becomes 0"),
}


def one_part(evidence, k):
    """Return advice on probe k: set one row or column of an argument to a number. Some row of the
    result should change with it, and the student's does not, or the other way round; "" if none
    does so with every number that is tried."""
    second_best, end = "", time.monotonic() + SECONDS
    for j, part in _parts(evidence, k):
        if time.monotonic() > end:
            break
        changed = _set(evidence.probes[k].args[j], part)
        pairs = [evidence.results_with(k, j, x) for x in changed.values()]
        if not pairs or not all(map(_fit, pairs)):
            continue
        # It must be so with every number: a student may choose another one.
        mine, right = ([_places(*pair[who], part) for pair in pairs] for who in (0, 1))
        for place in right[0]:
            should = right[0][place]
            if any(
                m[place] == should or r[place] != should for m, r in zip(mine, right, strict=True)
            ):
                continue
            if not _differs(evidence, k, j, part, place, should):
                index = ", ".join(":" if isinstance(i, slice) else str(i) for i in part)
                does = "change, but it does not" if should else f"{STAYS}, but it changes"
                part_of = f"`{evidence.arguments[j]}[{index}]`"
                said = f"set {part_of} to {next(iter(changed)):g}: {place} should {does}."
                # What a row does with its own word tells less than what others do to it.
                if f" {part[-1]} " not in place:
                    return said
                second_best = second_best or said
    return second_best


def _fit(pair):
    """Are there finite results, all of one shape?"""
    results = [x for each in pair or () for x in each]
    return len({x.shape for x in results}) == 1 and all(x.isfinite().all() for x in results)


def _parts(evidence, k):
    """Yield (position of an argument, index of one of its rows or entries), then columns. Of a
    class, only the inputs can be changed."""
    args = evidence.probes[k].args[: 1 if evidence.exercise.is_class else None]
    tensors = [(j, x) for j, x in enumerate(args) if torch.is_tensor(x) and x.dim()]
    # The word that asks may have to be left out, and changing it changes everything.
    is_asking = evidence.exercise.kind in ("scores", "context")
    asks = [x for x in args if is_asking and type(x) is int]
    for j, x in tensors:
        shape = [min(n, MOST) for n in x.shape[: max(1, x.dim() - 1)]]
        rows = ((j, tuple(row)) for row in torch.ones(shape).nonzero().tolist())
        yield from ((j, row) for j, row in rows if row[-1] not in asks)
    for j, x in tensors:
        for c in range(min(x.shape[-1], MOST) if x.dim() > 1 else 0):
            yield j, (*[slice(None)] * (x.dim() - 1), c)


def _set(x, part):
    """Return {number: x with this part set to it}; whole numbers are among those that occur."""
    numbers = VALUES if x.is_floating_point() else x.unique().tolist()[:3]
    changed = {number: x.clone() for number in numbers}
    for number, one in changed.items():
        one[part] = number
    return {number: one for number, one in changed.items() if not close(one, x)}


def _places(before, after, part):
    """Return {name: does it change?} for each row of a result, or each entry; and for each column
    if a column of an argument was changed."""
    changed = ~near(before.double(), after.double())
    if changed.dim() == 0:
        return {"your result": bool(changed)}
    if changed.dim() == 1:
        return {f"entry {i} of your result": x for i, x in enumerate(changed.tolist())}
    found = {}
    for *table, i in torch.ones(changed.shape[:-1]).nonzero().tolist():
        of = f" of table {table}" if table else ""
        found[f"row {i}{of} of your result"] = bool(changed[(*table, i)].any())
    for c in range(changed.shape[-1] if isinstance(part[0], slice) else 0):
        found[f"column {c} of your result"] = bool(changed[..., c].any())
    return found


def _differs(evidence, k, j, part, place, should):
    """Does this place of the result that should stay, or did, follow this part of argument j for
    other numbers? Huge numbers and zeros hide a part's effect on the right result; in the
    student's, it may cancel out."""
    args = evidence.probes[k].args
    other = _mixed if should else lambda x: _small(_mixed(x))
    probe = replace(evidence.probes[k], args=tuple(other(x) if _is_numbers(x) else x for x in args))
    answer = evidence.answer if should else evidence.exercise.reference
    changed = _set(probe.args[j], part).values()
    probes = probe, *(probe.with_argument(j, x) for x in changed)
    before, *after = (attempt(answer, each, evidence.call).numbers for each in probes)
    known = before is not None and all(x is not None and x.shape == before.shape for x in after)
    return not known or any(_places(before, x, part)[place] for x in after)


def _mixed(x):
    return x + x.roll(1, -1) / 2


def _small(x):
    return x / x.abs().max().clamp(min=1)


def _is_numbers(x):
    return torch.is_tensor(x) and x.is_floating_point() and x.numel() > 0


def whole_argument(evidence, k):
    """Return advice on probe k: change all of an argument, such as double it. A simple law says
    what becomes of every right result, and the student's breaks it; "" if it breaks none."""
    found, end = [], time.monotonic() + SECONDS
    for j, x in enumerate(evidence.probes[k].args if not evidence.exercise.is_class else ()):
        for change, value in _changes(x):
            pair = evidence.results_with(k, j, value(x)) if time.monotonic() < end else None
            if not _fit(pair):
                continue
            mine, right = (_law(*each) for each in pair)
            if right == STAYS and torch.is_tensor(x) and near(x.sum(-1), torch.ones(())).all():
                continue  # rows that sum to 1: an answer may rely on that
            if right and mine != right and _always(evidence, j, value, right):
                other = "changes" if right == STAYS else "is not" if "be" in right else "does not"
                does = LAWS[mine][1] if mine else other
                said = f"{change.format(evidence.arguments[j])}: your result should {right}, "
                found.append((not mine, said + f"but it {does}."))
    return min(found, key=lambda each: each[0], default=("",))[-1]


def _changes(x):
    """Yield (what to do with argument x, a function that does it)."""
    is_tensor = torch.is_tensor(x)
    if x.is_floating_point() if is_tensor else type(x) in (int, float):
        yield "double `{}`", lambda x: 2 * x
        if is_tensor:
            yield "add 1 to every number in `{}`", lambda x: x + 1
            yield "set all of `{}` to 0", lambda x: 0 * x


def _law(before, after):
    if not before.is_floating_point():
        before, after = before.double(), after.double()
    return next((name for name, (holds, _) in LAWS.items() if holds(before, after)), "")


def _always(evidence, j, value, law):
    """Does the right answer keep this law on every probe where it gives numbers of one shape?"""
    for probe, right in zip(evidence.probes, evidence.right, strict=True):
        after = evidence.ours(probe.with_argument(j, value(probe.args[j]))).numbers
        if after is not None and right.numbers is not None and after.shape == right.numbers.shape:
            if not LAWS[law][0](right.numbers.double(), after.double()):
                return False
    return True
