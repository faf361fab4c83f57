"""Lesson 12: what weights explain."""

import torch

from ... import attention
from ..catalogue.softmax import divided
from ..counterfactual import FillsInPlace, ZeroTimesInfinityIsZero, low_is_lowest
from ..exercise import Exercise, Probe, cured
from ..probes import places, wide

# --- uniform_causal ---


def _looks(n, diagonal=0):
    """Return (n, n): 1 where a word looks, else 0; by default up to the main diagonal."""
    return torch.ones(n, n).tril(diagonal)


def _by(count, diagonal=0):
    """Return an answer: _looks() divided by a count. count: takes the row indices (n, 1), and n."""
    return lambda n: _looks(n, diagonal) / count(torch.arange(n)[:, None], n)


def _scores(n, hidden, diagonal=0):
    """Return equal scores, (n, n), with this number above the diagonal."""
    return torch.zeros(n, n).masked_fill(_looks(n, diagonal) == 0, hidden)


def _fill_dropped(n):
    scores = torch.zeros(n, n)
    scores.masked_fill(_looks(n) == 0, -torch.inf)
    return scores.softmax(-1)


UNIFORM = Exercise(
    "uniform_causal(n) -> (n, n)",
    "weights",
    attention.uniform_causal,
    lambda: [*(Probe(f"a table with n = {n}", (n,)) for n in (6, 9, 1)), *wide("n")],
    first_is_tensor=False,
    mistakes={
        "result of masked_fill not used": cured(FillsInPlace, _fill_dropped),
        "future not hidden": lambda n: torch.full((n, n), 1 / n),
        "divided by n": _by(lambda i, n: n),
        "not divided": _looks,
        "diagonal masked too": (
            lambda n: divided(_looks(n, -1)),
            lambda n: torch.cat([_looks(n)[:1], divided(_looks(n, -1))[1:]]),
            lambda n: _scores(n, -1e9, -1).softmax(-1),
            _by(lambda i, n: i + 1, diagonal=-1),
        ),
        "next word not hidden": lambda n: divided(_looks(n, 1)),
        "the past hidden instead": lambda n: divided(_looks(n).T),
        "weights transposed": lambda n: attention.uniform_causal(n).T,
        "columns divided instead of rows": lambda n: _looks(n) / torch.arange(1, n + 1),
        "columns divided by their sums": lambda n: divided(_looks(n), dim=0),
        "divided by the sum of the whole matrix": lambda n: divided(_looks(n), dim=(0, 1)),
        "masked with 0": lambda n: _looks(n).softmax(-1),
        "mask * -inf added": cured(
            ZeroTimesInfinityIsZero,
            lambda n: (torch.ones(n, n).triu(1) * -torch.inf).softmax(-1),
        ),
        "the fill value is too high": cured(low_is_lowest, lambda n: _scores(n, -5).softmax(-1)),
        "fractions cut off": lambda n: attention.uniform_causal(n).floor(),
    },
)


# --- look_back ---


# A word three times; a word right after itself, and word 0; no copies at all; a single word.
TEXTS = [5, 2, 5, 5, 7, 2], [4, 0, 9, 4, 0, 0, 4, 8, 9], [3, 1, 0, 2], [6]
# For code with room for only so many words, some of these are the same word.
FAR_APART = [3, *(3 + room for room in (32, 50, 64, 100, 128, 256, 1000, 1024, 10_000)), 3]


def _looking(
    where=lambda j, i: j < i,
    chosen=-1,
    found=lambda j, i, words: j + 1,
    new=lambda i, n: -1,
):
    """Return a look_back with these parts, for word i of n. where: may position j be a copy?
    chosen: the index of the copy to use.  found: takes its position, i and all words, returns
    the result.  new: takes i and n, returns the result without a copy."""

    def code(words):
        words, positions = words.tolist(), []
        for i, word in enumerate(words):
            copies = [j for j, other in enumerate(words) if other == word and where(j, i)]
            some = found(copies[chosen], i, words) if copies else new(i, len(words))
            positions.append(some)
        return torch.tensor(positions)

    return code


LOOK_BACK = Exercise(
    "look_back(words) -> (n,)",
    "positions",
    attention.look_back,
    lambda: [
        *(Probe(f"the words {words}", (torch.tensor(words),)) for words in TEXTS),
        Probe(f"the words {FAR_APART}", (torch.tensor(FAR_APART),), if_right=True),
        *wide(lambda sizes, step: (places("n", "d")(sizes, step) - 1) * sizes["far"] ** 5),
    ],
    mistakes={
        "the copy's own position": (
            _looking(found=lambda j, i, words: j),
            _looking(found=lambda j, i, words: j, new=lambda i, n: 0),
            _looking(found=lambda j, i, words: j, chosen=0),
        ),
        "the first copy instead of the last": (
            _looking(chosen=0),
            _looking(chosen=0, new=lambda i, n: 1),
        ),
        "each word counts as its own copy": _looking(where=lambda j, i: j <= i),
        "looks at later copies too": (
            _looking(where=lambda j, i: j != i),
            _looking(where=lambda j, i: True),
        ),
        "no -1 for a new word": (
            _looking(new=lambda i, n: 0),
            _looking(new=lambda i, n: i),
            _looking(new=lambda i, n: i + 1),
        ),
        "the word instead of its position": _looking(found=lambda j, i, words: words[j + 1]),
        "a distance instead of a position": (
            _looking(found=lambda j, i, words: i - j - 1),
            _looking(found=lambda j, i, words: i - j),
        ),
        "only a copy just before counts": _looking(where=lambda j, i: j == i - 1),
        "the word just before is left out": _looking(where=lambda j, i: j < i - 1),
        "the copy at position 0 is missed": _looking(where=lambda j, i: 0 < j < i),
        "no copy is ever found": _looking(where=lambda j, i: False),
    },
)
