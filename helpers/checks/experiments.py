"""Experiments that a student can repeat: change one thing in the arguments, and see whether the
result follows as it should. They say where to look when no cause is known."""

import torch

from .results import close

STAYS = "stay the same"
# From what may become of a result to (how it is recognised, what is said of the student's).
LAWS = {
    STAYS: (lambda before, after: close(after, before), "stays the same"),
    "double": (lambda before, after: close(after, 2 * before), "doubles"),
    "be halved": (lambda before, after: close(after, before / 2), "is halved"),
    "be 0": (lambda before, after: not after.any(), "becomes 0"),
}


def one_part(evidence, k):
    """Return advice on probe k: change one row or column of an argument. Some row of the result
    should change with it, and the student's does not, or the other way round; "" if none does."""
    found = []
    for j, x in _tensors(evidence, k):
        for part in _parts(x):
            values = _others(x, part)
            pairs = [evidence.results_with(k, j, value) for value in values]
            if not pairs or not all(map(_fit, pairs)):
                continue
            name = f"`{evidence.arguments[j]}[{', '.join(map(_index, part))}]`"
            name += "" if x.is_floating_point() or x.dim() > 1 else f" to {values[0][part]}"
            # Did it change with any of the values? A single one may be too small to show.
            mine, right = (
                torch.stack([_differs(*pair[who]) for pair in pairs]).any(0) for who in (0, 1)
            )
            for place, i, mine_does, right_does in _places(mine, right, part):
                if mine_does != right_does:
                    does = f"{STAYS}, but yours changes"
                    if right_does:
                        does = "change too, but yours does not"
                    said = f"change only {name}: {place} of the result should {does}."
                    # What a row does with its own word tells less than what others do to it.
                    found.append((i == part[-1], right_does, said))
    return min(found, key=lambda each: each[:2], default=("",))[-1]


def _fit(pair):
    """Are there results, all of one shape?"""
    return bool(pair) and len({x.shape for each in pair for x in each}) == 1


def _tensors(evidence, k):
    """Return (position, tensor) of the arguments to change: of a class, only the inputs."""
    args = evidence.probes[k].args[: 1 if evidence.exercise.is_class else None]
    return [(j, x) for j, x in enumerate(args) if torch.is_tensor(x) and x.dim()]


def _parts(x):
    """Return the indices of the rows of x, or its entries, then of its columns."""
    rows = torch.ones(x.shape[: max(1, x.dim() - 1)]).nonzero().tolist()
    columns = [(*[slice(None)] * (x.dim() - 1), c) for c in range(x.shape[-1])]
    return [*map(tuple, rows), *(columns if x.dim() > 1 else [])]


def _index(i):
    return ":" if isinstance(i, slice) else str(i)


def _others(x, part):
    """Return x with other numbers in this part, several times; whole numbers become one that
    occurs next to them, if that is different."""
    numbers = [1.25 * x + 0.5, -3 * x - 2, 0 * x]
    if not x.is_floating_point():
        numbers = [x.flatten().roll(1).view_as(x)]
    changed = [torch.where(_mask(x, part), other, x) for other in numbers]
    return [one for one in changed if not close(one, x)]


def _mask(x, part):
    mask = torch.zeros_like(x, dtype=torch.bool)
    mask[part] = True
    return mask


def _differs(before, after):
    return ~torch.isclose(before.double(), after.double(), 1e-4, 1e-5, equal_nan=True)


def _places(mine, right, part):
    """Yield (name, position, is it True in mine?, in right?) for each row, and each column if a
    column was changed."""
    if right.dim() < 2:
        for i in range(right.numel()):
            name = f"entry {i}" if right.dim() else "the whole"
            yield name, i, bool(mine.reshape(-1)[i]), bool(right.reshape(-1)[i])
        return
    for *table, i in torch.ones(right.shape[:-1]).nonzero().tolist():
        of = f" of table {table}" if table else ""
        yield f"row {i}{of}", i, *(bool(x[(*table, i)].any()) for x in (mine, right))
    if isinstance(part[0], slice):
        for c in range(right.shape[-1]):
            yield f"column {c}", c, *(bool(x[..., c].any()) for x in (mine, right))


def whole_argument(evidence, k):
    """Return advice on probe k: change all of an argument, such as double it. A simple law says
    what becomes of the right result, and the student's breaks it; "" if it breaks none."""
    found = []
    for j, x in enumerate(evidence.probes[k].args if not evidence.exercise.is_class else ()):
        for change, value in _changes(x):
            pair = evidence.results_with(k, j, value)
            if not _fit(pair):
                continue
            mine, right = (_law(before.double(), after.double()) for before, after in pair)
            if right and mine != right:
                other = "changes" if right == STAYS else "is not" if "be" in right else "does not"
                does = LAWS[mine][1] if mine else other
                said = f"{change.format(evidence.arguments[j])}: the result should {right}, "
                found.append((not mine, said + f"but yours {does}."))
    return min(found, key=lambda each: each[0], default=("",))[-1]


def _changes(x):
    """Yield (what to do with argument x, its new value)."""
    if (
        torch.is_tensor(x)
        and not x.is_floating_point()
        or not torch.is_tensor(x)
        and type(x) not in (int, float)
    ):
        return
    yield "double `{}`", 2 * x
    if torch.is_tensor(x):
        yield "add 1 to every number of `{}`", x + 1
        yield "set all of `{}` to 0", 0 * x


def _law(before, after):
    return next((name for name, (holds, _) in LAWS.items() if holds(before, after)), "")
