"""Arguments on which right and wrong answers differ, so that no wrong one is right by luck.

float32 holds the numbers exactly, so that a sum does not depend on the order of its terms.
"""

from itertools import count
from math import prod

import torch

from .. import attention
from ..attention.data import load_journey
from .exercise import Probe
from .texts import contents


def numbers(name, dtype=torch.float32):
    """Return a tensor from probes.toml, such as numbers("mixed")."""
    return torch.tensor(contents("probes.toml")[name], dtype=dtype)


def mixed():
    return numbers("mixed", torch.float64)


def mixed_table():
    return numbers("mixed_table", torch.float64)


def sentence():
    return load_journey()[1]


def of_inputs(*last):
    """Return probes for a function of inputs."""
    return [
        Probe("the sentence", (sentence(),)),
        Probe("a sentence with negative numbers (n = 5)", (mixed(),)),
        *last,
        *wide(words("n", "d")),
    ]


def of_query(*last, large="large", least=1):
    """Return probes for a function of inputs and i: a word in the middle, the first, the last."""
    return [
        Probe("the sentence (i = 1)", (sentence(), 1)),
        Probe("a sentence with negative numbers (n = 5, i = 0)", (mixed(), 0)),
        Probe("a sentence with scores near ±1000 (n = 4, i = 3)", (numbers(large), 3)),
        *last,
        *wide(words("n", "d"), "i", n=least),
    ]


def rows():
    return [
        Probe('the scores of "journey"', (attention.scores(sentence(), 1),)),
        Probe("scores with a 0 and negative numbers", (mixed_table()[0],)),
        Probe("scores near 1000", (numbers("far_rows")[1],)),
        Probe("scores from -9000 to -1000", (numbers("low"),)),
        *wide(any_size("n")),
    ]


def tables():
    return [
        Probe("the scores of the sentence", (attention.all_scores(sentence()),)),
        Probe("5 x 5 scores with a 0 and negative numbers", (mixed_table(),)),
        Probe("4 rows of scores (from -9000 to 1001)", (numbers("far_rows"),)),
        *wide(any_size("n", "n")),
    ]


def rows_with_temperature():
    of_words, some, large, low, *_ = (probe.args[0] for probe in rows())
    return [
        Probe('the scores of "journey" (temperature 2)', (of_words, 2.0)),
        Probe("scores with a 0 and negative numbers (temperature 1)", (some, 1.0)),
        Probe("scores near 50 (temperature 0.05)", (large / 20, 0.05)),
        # A temperature so near 1 that the maximum of the undivided scores works here too.
        Probe("scores from -9600 to -1000 (temperature 1.0625)", (1.0625 * low, 1.0625)),
        *wide(any_size("n"), "temperature"),
    ]


# --- numbers for the later lessons ---


def exact(*shape, step=5, unit=8, period=13):
    """Return numbers around 0 which float32 holds exactly, and which repeat after a period.

    step: decides their order.  unit: the numbers are multiples of 1 / unit."""
    numbers = (torch.arange(prod(shape)) * step + 3) % period - period // 2
    return numbers.reshape(shape) / unit


def seeded(d_in=3, d_out=2):
    """Return W_query, W_key and W_value, each (d_in, d_out), as the lessons draw them."""
    generator = torch.Generator().manual_seed(123)
    return [torch.rand(d_in, d_out, generator=generator) for _ in range(3)]


def scoring(scores):
    """Return a query, keys and values with these scores once scaled: sqrt(d_k) is 2."""
    query = torch.tensor([2.0, 0.0, 0.0, 0.0])
    keys = exact(len(scores), 4, step=3)
    keys[:, 0] = torch.tensor(scores)
    return query, keys, exact(len(scores), 3, step=7)


# --- wide probes: no quantity equals another, or the lesson's ---


def wide(*args, **least):
    """Yield probes that are used if all before them are right: many words, some of them equal;
    more words, one of them far longer; and a single word.

    args: names of numbers in [wide] of probes.toml, or what one of the functions below returns.
    least: the smallest values that these sizes may have.
    """
    for sizes in contents("probes.toml")["wide"]:
        sizes = sizes | {name: max(size, sizes[name]) for name, size in least.items()}
        steps, used = count(3, 2), _Used(sizes)
        made = tuple(x(used, next(steps)) if callable(x) else used[x] for x in args)
        sizes = ", ".join(f"{name} = {used[name]}" for name in used.names if name != "far")
        yield Probe(f"other data ({sizes})", made, if_right=True)


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
    numbers = exact(*shape[:-2], *shape[:-3:-1], step=step, unit=4)
    numbers[..., -3:] = numbers[..., :3].clone()
    if len(shape) > 1:
        numbers[..., -3:, :] = numbers[..., :3, :].clone()
        numbers = numbers.mT
    return numbers if sizes["far"] > 1 else numbers.double()


def matrix(*names):
    """Return a function for wide() that makes numbers around 0."""
    return lambda sizes, step: _drawn(names, sizes, step)


def words(*names):
    """Return a function for wide() that makes rows of numbers, one of them far longer."""

    def make(sizes, step):
        rows = _drawn(names, sizes, step)
        rows[..., min(1, rows.shape[-2] - 1), :] *= sizes["far"]
        return rows

    return make


def any_size(*names):
    """Return a function for wide() that makes scores as far apart as scores can be."""
    return lambda sizes, step: _drawn(names, sizes, step) * sizes["far"] ** 1.5 * 2


def rows_apart(*names):
    """Return a function for wide(): scores that differ little in a row, and much between rows."""

    def make(sizes, step):
        rows = 4 * _drawn(names, sizes, step)
        return rows + (sizes["far"] - 1) / 4 * torch.arange(len(rows))[:, None]

    return make


def shares(*names, spread=2):
    """Return a function for wide(): weights, exactly 0 in the last column unless it is alone."""

    def make(sizes, step):
        scores = spread * _drawn(names, sizes, step)
        scores[..., 1:][..., -1:] = -torch.inf
        return scores.softmax(-1)

    return make


def places(count, below):
    """Return a function for wide(): count whole numbers less than below, in pairs of equals."""
    return lambda sizes, step: torch.arange(sizes[count]) // 2 * step % max(1, sizes[below] - 1)
