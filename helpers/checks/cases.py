"""Probes: arguments on which right and wrong answers differ, so that no wrong one is right by luck.

float32 holds the numbers exactly, so that a sum does not depend on the order of its terms.
"""

from itertools import count
from math import prod

import torch
from torch.nn import functional as F

from .. import attention
from ..attention.data import load_journey
from .exercise import Probe
from .results import Observed
from .program import divided
from .texts import contents


def numbers(name, dtype=torch.float32):
    """Return a tensor from cases.toml, such as numbers("mixed")."""
    return torch.tensor(contents("cases.toml")[name], dtype=dtype)


def mixed():
    return numbers("mixed", torch.float64)


def mixed_table():
    return numbers("mixed_table", torch.float64)


def sentence():
    return load_journey()[1]


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


# --- probes of all sizes: no quantity equals another, or the lesson's ---


def small(*makers):
    """Yield three probes of smaller sizes, for an exercise that gives none of its own."""
    largest = contents("cases.toml")["wide"][0]
    for part in (2, 3, 5):
        sizes = {k: max(1, x // part) if type(x) is int else x for k, x in largest.items()}
        yield _of_sizes(sizes, makers, "some data")


def wide(*makers, **least):
    """Yield probes that are used if all before them are right: many words, some of them equal;
    more words, one of them far longer; and a single word.

    makers: a maker for each argument.  least: the smallest values that these sizes may have.
    """
    for sizes in contents("cases.toml")["wide"]:
        sizes = sizes | {name: max(sizes[name], size) for name, size in least.items()}
        yield _of_sizes(sizes, makers, "other data", if_right=True)


def _of_sizes(sizes, makers, label, if_right=False):
    steps, used = count(3, 2), _Used(sizes)
    made = tuple(x(used, next(steps)) for x in makers)
    sizes = ", ".join(f"{name} = {used[name]}" for name in used.names if name != "far")
    return Probe(f"{label} ({sizes})", made, if_right=if_right)


class _Used(dict):
    """Sizes that remember in names which of them were used."""

    def __init__(self, sizes):
        super().__init__(sizes)
        self.names = {}

    def __getitem__(self, name):
        self.names[name] = True
        return super().__getitem__(name)


def maker(spec):
    """Return a function (sizes, step) that makes an argument. spec: the name of a size, or the name
    of a function below and what it takes, such as "words n d"."""
    kind, *names = spec.split()
    if names:
        return globals()[kind](*names)
    return globals().get(kind) or (lambda sizes, step: sizes[kind])


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
    """Return a function that makes scores as far apart as scores can be."""
    return lambda sizes, step: _drawn(names, sizes, step) * sizes["far"] ** 1.5 * 2


def rows_apart(*names):
    """Return a function (sizes, step): scores that differ little in a row, and much between rows."""

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


def sharp_shares(*names):
    """Return a function like shares(), with weights that differ more."""
    return shares(*names, spread=16)


def places(count, below):
    """Return a function (sizes, step): count whole numbers less than below, in pairs of equals."""
    return lambda sizes, step: torch.arange(sizes[count]) // 2 * step % max(1, sizes[below] - 1)


def each(kind, *names):
    """Return a function (sizes, step) that makes a batch of these, all with different numbers."""
    one = globals()[kind](*names)
    return lambda sizes, step: torch.stack([one(sizes, step + 2 * k) for k in range(sizes["b"])])


# --- lessons 14 and 15 ---


def step():
    """Return the query of *step*, and all keys and values, as the lesson makes them."""
    generator = torch.Generator().manual_seed(19)
    queries, keys, values = (sentence() @ torch.randn(3, 2, generator=generator) for _ in "QKV")
    return queries[-1], keys, values


def far_below():
    """Return arguments whose last block is so far below that exp of the difference overflows."""
    query, keys, values = exact(3, step=7) * 4, exact(11, 3, step=5) * 4, exact(11, 5, step=3) * 4
    keys[8:] -= 1000 * query
    return doubles(query, keys, values)


def growing():
    return doubles(*scoring([-9000.0, -8999.5, 8999.0, 8998.5, 9000.0]))


def doubles(*tensors):
    return [x.double() for x in tensors]


def blocks_of(query, keys, values):
    """Return the maxima (m,), sums (m,) and blends (m, d_v) of blocks of 2, each by itself."""
    scores = attention.scaled_scores(query[None], keys)[0]
    found = []
    for row, rows in zip(scores.split(2), values.split(2), strict=True):
        exps = (row - row.max()).exp()
        found.append((row.max(), exps.sum(), exps @ rows))
    return tuple(map(torch.stack, zip(*found, strict=True)))


def positive(*names):
    """Return a function (sizes, step) that makes numbers above 0."""
    return lambda sizes, step: matrix(*names)(sizes, step) + 3


def own_key(sizes, step):
    """Return the query, made longer, as its own key, so that its score is the largest."""
    return matrix("d_k")(sizes, 3) * sizes["far"] ** 1.5


def with_new(query, keys, values):
    """Return the arguments of next_context, in which the last word is the new one."""
    return query, keys[-1], values[-1], keys[:-1], values[:-1]


TRUTHS = "made of True and False"


def is_of_truths(mask, *sizes):
    return Observed({TRUTHS: torch.as_tensor(mask(*sizes)).dtype == torch.bool})


def long_cache():
    shapes = ((3,), 5), ((3,), 7), ((5,), 3), ((40, 3), 7), ((40, 5), 5)
    return [exact(*shape, step=step, unit=4).double() for shape, step in shapes]
# --- lesson 10 ---


def _normed(factor, shift):
    return lambda x: factor * F.layer_norm(x, x.shape[-1:]) + shift


def _mean_so_far(x):
    """Return causal attention with even weights; its values are the words, rolled by one place."""
    return attention.uniform_causal(x.shape[-2]).to(x) @ x.roll(1, dims=-1) + 0.125


# The parts of a block: they take any width, and no two give the same.
PARTS = {
    "norm_1": _normed(1, 0.25),
    "attention": _mean_so_far,
    "norm_2": _normed(1.5, -0.375),
    "feed_forward": lambda x: (0.75 * x + 0.5).relu() - x.flip(-1) / 4,
}


def part(name):
    """Return a function (sizes, step) that gives this part of a block."""
    return lambda sizes, step: PARTS[name]


def scored_texts(words, v, up=0.0):
    """Return scores (b, n, v) in no order, and the words, (b, n), as a tensor: if rows rise alike,
    all pairings have one mean loss.  up: is added to the scores."""
    draws, words = torch.Generator().manual_seed(1), torch.tensor(words)
    return torch.randint(-16, 17, (*words.shape, v), generator=draws) / 8 + up, words


# --- lesson 11 ---


def weights_at(n, *positions, dtype=torch.float32):
    """Return weights (b, n, n), and these positions of words in the b sentences as tensors, (b,).

    Choose positions that differ between sentences, none of them the last: one more would raise.
    """
    b = len(positions[0])
    weights = torch.rand(b, n, n, generator=torch.Generator().manual_seed(b), dtype=dtype)
    return divided(weights), *map(torch.tensor, positions)


# --- lesson 12 ---

# A word three times; a word right after itself, and word 0; no copies at all; a single word.
TEXTS = [5, 2, 5, 5, 7, 2], [4, 0, 9, 4, 0, 0, 4, 8, 9], [3, 1, 0, 2], [6]
# For code with room for only so many words, some of these are the same word.
FAR_APART = [3, *(3 + room for room in (32, 50, 64, 100, 128, 256, 1000, 1024, 10_000)), 3]


def tokens(count, below):
    """Return a function (sizes, step): like places(), but from -1, and once far apart."""
    return lambda sizes, step: (places(count, below)(sizes, step) - 1) * sizes["far"] ** 5


def texts_with_copies():
    """Return all probes of look_back."""
    return [
        *(Probe(f"the words {words}", (torch.tensor(words),)) for words in TEXTS),
        Probe(f"the words {FAR_APART}", (torch.tensor(FAR_APART),), if_right=True),
        *wide(tokens("n", "d")),
    ]


# --- lesson 13 ---


def half(name):
    return lambda sizes, step: sizes[name] // 2


def two_sentences(n, d, dtype=torch.float32):
    """Return weights (n, n) that sum to 1, none of them 0, and the values (n, d) of two sentences.

    Choose positions before the last word, so that an answer one too far still finds a word.
    """
    weights = exact(n, n, step=7).softmax(-1)
    return [x.to(dtype) for x in (weights, exact(n, d), exact(n, d, step=3, period=11))]
# --- lesson 04 ---


def mixed_attention():
    """Return mixed() words, one of which has scores of exactly 0, and three matrices."""
    inputs = mixed()
    inputs[2] = 0
    sizes = (4, 3, 5), (4, 3, 7), (4, 6, 3)
    return inputs, *(exact(m, n, step=step).double() for m, n, step in sizes)


def strong_attention():
    """Return words whose first two numbers make the scores: after scaling, about 1000, -1000 and
    125. d_k is 16, so that even its fourth root, which some take, is exact; and all matrices are
    16 x 16, so that a .T does not raise."""
    sizes = (4, 5), (16, 3), (16, 7), (16, 5)
    inputs, query, key, value = (exact(n, 16, step=step).double() for n, step in sizes)
    inputs[:, 0] = torch.tensor([1.0, -1.0, 0.125, 1.0])
    inputs[:, 1] = torch.tensor([4000.0, 4001.0, 3999.0, 4002.0])
    for W, row in ((query, 0), (key, 1)):
        W[:2] = 0
        W[:, 0] = 0
        W[row, 0] = 1
    value[1] = 0
    return inputs, query, key, value
