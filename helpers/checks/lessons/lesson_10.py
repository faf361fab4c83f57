"""Lesson 10: learned attention."""

import torch
from torch.nn.functional import pad

from ... import attention
from ..catalogue.softmax import divided
from ..counterfactual import FillsInPlace, ZeroTimesInfinityIsZero, plus_is_minus
from ..exercise import Exercise, Probe, cured
from ..probes import without_last

# --- uniform_causal ---


def _looks(n, diagonal=0):
    """(n, n): 1 where a word looks, else 0; up to the main diagonal or another one."""
    return torch.ones(n, n).tril(diagonal)


def _by(count, diagonal=0):
    """Where words look, divided by a count. count: takes the numbers of the rows, (n, 1), and n."""
    return lambda n: _looks(n, diagonal) / count(torch.arange(n)[:, None], n)


def _scores(n, hidden=-torch.inf):
    """Equal scores, with this number for what comes later."""
    return torch.zeros(n, n).masked_fill(_looks(n) == 0, hidden)


def _fill_dropped(n):
    scores = torch.zeros(n, n)
    scores.masked_fill(_looks(n) == 0, -torch.inf)
    return scores.softmax(-1)


UNIFORM = Exercise(
    "uniform_causal",
    "uniform_causal(n) -> (n, n)",
    "weights",
    attention.uniform_causal,
    lambda: [Probe("6 words", (6,)), Probe("9 words", (9,)), Probe("1 word", (1,))],
    first_is_tensor=False,
    mistakes={
        "masked_fill result dropped": cured(FillsInPlace, _fill_dropped),
        "the future not hidden": lambda n: torch.full((n, n), 1 / n),
        "divided by n": _by(lambda i, n: n),
        "not divided": _looks,
        "later words kept": lambda n: (1 / torch.arange(1, n + 1))[:, None].expand(n, n),
        "divided by i": (
            _by(lambda i, n: i),
            lambda n: torch.tensor([1 / i for i in range(n)]),  # it raises at once
            lambda n: (1 / torch.arange(n))[:, None].expand(n, n).tril(),
        ),
        "divided by i + 2": _by(lambda i, n: i + 2),
        "diagonal masked too": (
            lambda n: divided(_looks(n, -1)),
            lambda n: divided(_looks(n, -1)).nan_to_num(0.0),
            _by(lambda i, n: i + 1, diagonal=-1),
        ),
        "one step too generous": (
            lambda n: divided(_looks(n, 1)),
            _by(lambda i, n: i + 1, diagonal=1),
            _by(lambda i, n: i + 2, diagonal=1),
        ),
        "the past hidden instead": (
            lambda n: divided(_looks(n).T),
            lambda n: _looks(n).T / torch.arange(1, n + 1)[:, None],
        ),
        "weights transposed": lambda n: attention.uniform_causal(n).T,
        "keepdim forgotten": lambda n: _looks(n) / _looks(n).sum(-1),
        "columns divided by their sums": lambda n: divided(_looks(n), dim=0),
        "divided by the sum of the whole matrix": lambda n: divided(_looks(n), dim=(0, 1)),
        "masked with 0": (
            lambda n: _looks(n).softmax(-1),
            lambda n: attention.uniform_causal(n).softmax(-1),
        ),
        "mask * -inf added": cured(
            ZeroTimesInfinityIsZero,
            lambda n: (torch.ones(n, n).triu(1) * -torch.inf).softmax(-1),
        ),
        "+inf": cured(plus_is_minus, lambda n: _scores(n, torch.inf).softmax(-1)),
        "still scores": _scores,
        "each word looks at itself only": torch.eye,
        "cut to whole numbers": lambda n: attention.uniform_causal(n).floor(),
        "loop stops one early": without_last(attention.uniform_causal),
    },
)


# --- weight_between and exchange ---

ALL = slice(None)


def _sentences(weights):
    """The numbers of the sentences, (b,)."""
    return torch.arange(len(weights))


def _batch(n, dtype=torch.float32, **positions):
    """A probe of weights (b, n, n), and these positions of words in the b sentences."""
    b = len(next(iter(positions.values())))
    weights = torch.rand(b, n, n, generator=torch.Generator().manual_seed(b), dtype=dtype)
    said = ", ".join(f"{name} {' '.join(map(str, at))}" for name, at in positions.items())
    return Probe(
        f"{b} {'sentence' if b == 1 else 'sentences'} of {n} words ({said})",
        (divided(weights), *map(torch.tensor, positions.values())),
    )


def _read(place, then=lambda found: found):
    """What stands at another place. place: takes the numbers of the sentences, the queries and
    the keys, (b,) each, returns an index.  then: what is made of it."""
    return lambda weights, queries, keys: then(weights[place(_sentences(weights), queries, keys)])


BETWEEN = Exercise(
    "weight_between",
    "weight_between(weights, queries, keys) -> (b,)",
    "scores",
    attention.weight_between,
    # No word stands at the same position in two sentences, none at the end, where one more raises.
    lambda: [
        _batch(6, queries=[4, 3, 2], keys=[1, 2, 0]),
        _batch(5, torch.float64, queries=[3, 1], keys=[0, 3]),
        _batch(4, queries=[2], keys=[1]),
    ],
    mistakes={
        "query and key exchanged": _read(lambda k, i, j: (k, j, i)),
        "every sentence with every pair": (
            _read(lambda k, i, j: (ALL, i, j)),
            _read(lambda k, i, j: (ALL, i, j), torch.t),
            _read(lambda k, i, j: (ALL, j, i)),
            _read(lambda k, i, j: (ALL, i[:, None], j)),
        ),
        "positions of the first sentence for all": (
            _read(lambda k, i, j: (k, i[0], j[0])),
            _read(lambda k, i, j: (k, i[0], j)),
            _read(lambda k, i, j: (k, i, j[0])),
        ),
        "always the first sentence": _read(lambda k, i, j: (0, i, j)),
        "only the first sentence": (
            _read(lambda k, i, j: (0, i[0], j[0])),
            _read(lambda k, i, j: (k[:1], i[:1], j[:1])),
        ),
        "one number for all sentences": (
            _read(lambda k, i, j: (k, i, j), torch.mean),
            _read(lambda k, i, j: (k, i, j), torch.sum),
        ),
        "the whole row": _read(lambda k, i, j: (k, i)),
        "the whole column": _read(lambda k, i, j: (k, ALL, j)),
        "1-based position": tuple(
            _read(lambda k, i, j, a=a, b=b: (k, i + a, j + b))
            for a, b in ((-1, -1), (1, 1), (0, 1), (1, 0), (0, -1), (-1, 0))
        ),
        "the last word as the query": _read(lambda k, i, j: (k, -1, j)),
        "the largest weight": _read(lambda k, i, j: (k, i), lambda row: row.amax(-1)),
        "a position instead of a weight": _read(lambda k, i, j: (k, i), lambda row: row.argmax(-1)),
        "one word taken twice": (
            _read(lambda k, i, j: (k, i, i)),
            _read(lambda k, i, j: (k, j, j)),
        ),
        "no index for the sentence": (
            _read(lambda k, i, j: (i, j)),
            _read(lambda k, i, j: (j, i)),
        ),
        "softmax twice": lambda weights, *at: attention.weight_between(weights.softmax(-1), *at),
        "loop stops one early": (
            _read(lambda k, i, j: (k[:-1], i[:-1], j[:-1])),
            _read(lambda k, i, j: (k, i, j), lambda right: pad(right[:-1], (0, 1))),
        ),
    },
)


def _write(new):
    """Other numbers at the two places. new: takes the two weights that stand there, returns two."""

    def code(weights, queries, first, second):
        changed, k = weights.clone(), _sentences(weights)
        old = weights[k, queries, first], weights[k, queries, second]
        changed[k, queries, first], changed[k, queries, second] = new(*old)
        return changed

    return code


def _swap(places):
    """What stands at two other places is exchanged. places: takes the numbers of the sentences,
    the queries and the two positions, (b,) each, returns two indices."""

    def code(weights, *positions):
        changed = weights.clone()
        one, other = places(_sentences(weights), *positions)
        changed[one], changed[other] = weights[other], weights[one]
        return changed

    return code


def _swap_at(change):
    """The right exchange at other positions. change: takes the three, returns three."""
    return lambda weights, *positions: attention.exchange(weights, *change(*positions))


EXCHANGE = Exercise(
    "exchange",
    "exchange(weights, queries, first, second) -> (b, n, n)",
    "scores",
    attention.exchange,
    # In the second probe the query gives one of the two weights to itself.
    lambda: [
        _batch(6, queries=[4, 3, 2], first=[1, 4, 0], second=[2, 0, 3]),
        _batch(5, torch.float64, queries=[3, 1], first=[0, 3], second=[2, 1]),
        _batch(4, queries=[2], first=[0], second=[1]),
    ],
    mistakes={
        "both weights are the same now": (
            _write(lambda one, other: (other, other)),
            _write(lambda one, other: (one, one)),
        ),
        "nothing exchanged": _write(lambda one, other: (one, other)),
        "exchanged in every row": _swap(lambda k, i, one, other: ((k, ALL, one), (k, ALL, other))),
        "two rows exchanged": _swap(lambda k, i, one, other: ((k, one), (k, other))),
        "in the column of the query": _swap(lambda k, i, one, other: ((k, one, i), (k, other, i))),
        "weights set to 0": (
            _write(lambda one, other: (0 * one, 0 * other)),
            _write(lambda one, other: (0 * one, other)),
            _write(lambda one, other: (one, 0 * other)),
        ),
        "moved, not exchanged": (
            _write(lambda one, other: (other, 0 * one)),
            _write(lambda one, other: (0 * other, one)),
        ),
        "only the first sentence": lambda weights, *at: torch.cat(
            [attention.exchange(weights, *at)[:1], weights[1:]]
        ),
        "positions of the first sentence for all": (
            _swap_at(lambda i, one, other: (i[0], one[0], other[0])),
            _swap_at(lambda i, one, other: (i[0], one, other)),
            _swap_at(lambda i, one, other: (i, one[0], other)),
            _swap_at(lambda i, one, other: (i, one, other[0])),
            _swap_at(lambda i, one, other: (i, one[0], other[0])),
        ),
        "every sentence with every pair": _swap(
            lambda k, i, one, other: ((ALL, i, one), (ALL, i, other))
        ),
        "always the last row": _swap_at(lambda i, one, other: (-1, one, other)),
        "a key taken for the query": (
            _swap_at(lambda i, one, other: (one, i, other)),
            _swap_at(lambda i, one, other: (other, i, one)),
        ),
        "1-based position": tuple(
            _swap_at(lambda i, one, other, a=a, b=b: (i + a, one + b, other + b))
            for a, b in ((-1, -1), (1, 1), (-1, 0), (1, 0), (0, -1))
        ),
        "no index for the sentence": (
            lambda weights, i, one, other: weights[i, other],
            lambda weights, i, one, other: weights[i, one],
        ),
        "only the row of the query": lambda weights, i, *keys: attention.exchange(
            weights, i, *keys
        )[_sentences(weights), i],
        "batch lost": lambda *args: attention.exchange(*args)[0],
        "loop stops one early": lambda weights, *at: torch.cat(
            [attention.exchange(weights, *at)[:-1], weights[-1:]]
        ),
    },
)


# --- look_back ---


# One word three times; a word right after itself, and the number 0; no copies at all.
TEXTS = [5, 2, 5, 5, 7, 2], [4, 0, 9, 4, 0, 0, 4, 8, 9], [3, 1, 0, 2], [6]


def _looking(
    where=lambda j, i: j < i, chosen=-1, found=lambda j, i, words: j + 1, new=lambda i, n: -1
):
    """look_back with something else, for word i of n. where: may position j have a copy?
    chosen: which of the copies.  found: takes its position, i and all words.  new: what is
    returned without a copy."""

    def code(words):
        words, positions = words.tolist(), []
        for i, word in enumerate(words):
            copies = [j for j, other in enumerate(words) if other == word and where(j, i)]
            some = found(copies[chosen], i, words) if copies else new(i, len(words))
            positions.append(some)
        return torch.tensor(positions)

    return code


LOOK_BACK = Exercise(
    "look_back",
    "look_back(words) -> (n,)",
    "positions",
    attention.look_back,
    lambda: [Probe(f"the words {words}", (torch.tensor(words),)) for words in TEXTS],
    mistakes={
        "the copy itself": (
            _looking(found=lambda j, i, words: j),
            # With another mistake, which is told when this one is mended.
            _looking(found=lambda j, i, words: j, new=lambda i, n: 0),
            _looking(found=lambda j, i, words: j, chosen=0),
            _looking(found=lambda j, i, words: j, chosen=0, where=lambda j, i: True),  # list.index
        ),
        "the first copy instead of the last": (
            _looking(chosen=0),
            # argmax of a row without a copy is 0, and one more is 1.
            _looking(chosen=0, new=lambda i, n: 1),
            _looking(chosen=0, new=lambda i, n: 0),
        ),
        "counts itself as a copy": (
            _looking(where=lambda j, i: j <= i),
            _looking(where=lambda j, i: j <= i, chosen=0),
        ),
        "looks at later copies too": (
            _looking(where=lambda j, i: j != i),
            _looking(where=lambda j, i: j != i, chosen=0),
            _looking(where=lambda j, i: j != i, new=lambda i, n: 0),
            _looking(where=lambda j, i: True),
        ),
        "looks at later copies only": (
            _looking(where=lambda j, i: j > i),
            _looking(where=lambda j, i: j > i, chosen=0),
        ),
        "not -1 where a word is new": (
            _looking(new=lambda i, n: 0),
            _looking(new=lambda i, n: i),
            _looking(new=lambda i, n: i + 1),
            _looking(new=lambda i, n: n),
            _looking(new=lambda i, n: 1),
        ),
        "the word before the copy": _looking(found=lambda j, i, words: j - 1),
        "two words after the copy": _looking(found=lambda j, i, words: j + 2),
        "the word instead of its position": _looking(found=lambda j, i, words: words[j + 1]),
        "a distance instead of a position": (
            _looking(found=lambda j, i, words: i - j - 1),
            _looking(found=lambda j, i, words: i - j),
        ),
        "copies counted": lambda words: (words[:, None] == words).tril(-1).sum(-1),
        "only the word right before is compared": _looking(where=lambda j, i: j == i - 1),
        "the copy at position 0 is missed": _looking(where=lambda j, i: 0 < j < i),
        "no copy is ever found": _looking(where=lambda j, i: False),
        "a copy of the word before": lambda words: pad(
            attention.look_back(words)[:-1], (1, 0), value=-1
        ),
        "maximum over the wrong axis": _looking(
            where=lambda j, i: j > i, found=lambda j, i, words: i + 1
        ),
        "loop stops one early": (
            lambda words: attention.look_back(words)[:-1],
            lambda words: pad(attention.look_back(words)[:-1], (0, 1), value=-1),
            _looking(where=lambda j, i: j < i - 1),
        ),
    },
)
