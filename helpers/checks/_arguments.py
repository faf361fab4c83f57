"""Make arguments on which right and wrong answers differ, so that no wrong one is right by luck.

A maker is a function (sizes, step) that makes one argument. The checks.py of a lesson has more.
float32 holds the numbers exactly, so that a sum does not depend on the order of its terms.
"""

from itertools import count
from math import prod

import torch

from ..attention.data import load_journey
from ._texts import read_toml
from .exercise import Case


def numbers(name, dtype=torch.float32):
    """Return a tensor from arguments.toml, such as numbers("mixed")."""
    return torch.tensor(read_toml("arguments.toml")[name], dtype=dtype)


def mixed():
    """Return 5 words with negative scores, (5, 4), in float64."""
    return numbers("mixed", torch.float64)


def sentence():
    """Return the vectors of the sentence, (6, 3)."""
    return load_journey()[1]


def exact(*shape, step=5, unit=8, period=13):
    """Return numbers around 0 which float32 holds exactly, and which repeat after a period.

    step: decides their order.  unit: the numbers are multiples of 1 / unit."""
    numbers = (torch.arange(prod(shape)) * step + 3) % period - period // 2
    return numbers.reshape(shape) / unit


def crowd():
    """Return 64 scores, of which one is 4 and the rest are 0. It weighs about as much as all others
    together, so that powers of 2.718 instead of e make a difference that float32 can tell."""
    return 4.0 * (torch.arange(64) == 0)


def seeded(d_in=3, d_out=2):
    """Return W_query, W_key and W_value, each (d_in, d_out), as the lessons draw them."""
    generator = torch.Generator().manual_seed(123)
    return [torch.rand(d_in, d_out, generator=generator) for _ in range(3)]


# --- cases of all sizes: no quantity equals another, or the lesson's ---


def small(*makers):
    """Yield three cases of smaller sizes, for an exercise that gives none of its own."""
    largest, *_ = _wide_sizes()
    for part in (2, 3, 5):
        sizes = {k: max(1, x // part) if type(x) is int else x for k, x in largest.items()}
        # with quarters only, a rounded result would be right
        yield _of_sizes(sizes | {"unit": 4.1}, makers, "some data")


def wide(*makers, **least):
    """Yield cases that are used if all before them are right: many words, some of them equal;
    more words, one of them far longer; and a single word.

    makers: a maker for each argument.  least: the smallest values that these sizes may have.
    """
    for sizes in _wide_sizes():
        sizes = sizes | {name: max(sizes[name], size) for name, size in least.items()}
        yield _of_sizes(sizes, makers, "other data", if_right=True)


def _wide_sizes():
    """Return the sizes of the wide cases, each as {name: size}."""
    table = read_toml("arguments.toml")["wide"]
    return [dict(zip(table, sizes, strict=True)) for sizes in zip(*table.values(), strict=True)]


def _of_sizes(sizes, makers, label, if_right=False):
    steps, used = count(3, 2), _Used(sizes)
    made = tuple(x(used, next(steps)) for x in makers)
    sizes = ", ".join(f"{name} = {used[name]}" for name in used.names if name != "far")
    return Case(f"{label} ({sizes})", made, if_right=if_right)


class _Used(dict):
    """Sizes that remember in names which of them were used."""

    def __init__(self, sizes):
        super().__init__(sizes)
        self.names = {}

    def __getitem__(self, name):
        self.names[name] = True
        return super().__getitem__(name)


def _drawn(names, sizes, step):
    """Return exact() numbers of these sizes, in which the last three rows and columns repeat the
    first three. With rows it is not contiguous; unless a word is far longer, it is float64."""
    shape = [sizes[name] for name in names]
    numbers = exact(*shape[:-2], *shape[:-3:-1], step=step, unit=sizes.get("unit", 4))
    numbers[..., -3:] = numbers[..., :3].clone()
    if len(shape) > 1:
        numbers[..., -3:, :] = numbers[..., :3, :].clone()
        numbers = numbers.mT
    return numbers if sizes["far"] > 1 else numbers.double()


def matrix(*names):
    """Return a function that makes numbers around 0."""
    return lambda sizes, step: _drawn(names, sizes, step)


def words(*names):
    """Return a function that makes rows of numbers, one of them far longer."""

    def make(sizes, step):
        rows = _drawn(names, sizes, step)
        rows[..., min(1, rows.shape[-2] - 1), :] *= sizes["far"]
        return rows

    return make


def any_size(*names):
    """Return a function that makes numbers of any magnitude, such as scores, as far apart as scores
    can be."""
    return lambda sizes, step: _drawn(names, sizes, step) * sizes["far"] ** 1.5 * 2


def rows_apart(*names):
    """Return a maker of scores that differ little in a row, and much between rows."""

    def make(sizes, step):
        rows = 4 * _drawn(names, sizes, step)
        return rows + (sizes["far"] - 1) / 4 * torch.arange(len(rows))[:, None]

    return make


def shares(*names, spread=2):
    """Return a function (sizes, step): weights, exactly 0 in the last column unless it is alone."""

    def make(sizes, step):
        scores = spread * _drawn(names, sizes, step)
        scores[..., 1:][..., -1:] = -torch.inf
        return scores.softmax(-1)

    return make


def places(count, below):
    """Return a function (sizes, step): count whole numbers less than below, in pairs of equals."""
    return lambda sizes, step: torch.arange(sizes[count]) // 2 * step % max(1, sizes[below] - 1)


def each(kind, *names):
    """Return a function (sizes, step) that makes a batch of these, all with different numbers."""
    one = globals()[kind](*names)
    return lambda sizes, step: torch.stack([one(sizes, step + 2 * k) for k in range(sizes["b"])])
