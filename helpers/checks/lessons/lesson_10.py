"""Lesson 10: the block of a model, its loss, and the next word."""

from dataclasses import replace

import torch
from torch.nn import functional as F

from ... import attention
from ..catalogue.losses import ALL, paired, wrong_losses
from ..catalogue.softmax import naive, soft
from ..exercise import Exercise, Probe
from ..modules import CUT_OFF, learning
from ..probes import exact, matrix, places, rows_apart, wide

# --- block ---


def _normed(factor, shift):
    return lambda x: factor * F.layer_norm(x, x.shape[-1:]) + shift


def _mean_so_far(x):
    """Return causal attention with even weights; its values are the words, rolled by one place."""
    return attention.uniform_causal(x.shape[-2]).to(x) @ x.roll(1, dims=-1) + 0.125


# norm_1, attention, norm_2 and feed_forward: they take any width, and no two give the same.
PARTS = (
    _normed(1, 0.25),
    _mean_so_far,
    _normed(1.5, -0.375),
    lambda x: (0.75 * x + 0.5).relu() - x.flip(-1) / 4,
)


def _batches():
    batches = exact(1, 4, 6), exact(2, 5, 3, step=7, unit=4, period=17).double()
    parts = (lambda sizes, step, part=part: part for part in PARTS)
    return [
        Probe("one text of 4 words", (batches[0], *PARTS)),
        Probe("2 texts of 5 words", (batches[1], *PARTS)),
        *wide(matrix("b", "n", "d"), *parts),
    ]


def _halves(*pairs):
    """Return a block for each pair of halves. A half: a function of x, its norm and its part."""

    def code(first, second):
        return lambda x, norm_1, attend, norm_2, feed: second(
            first(x, norm_1, attend), norm_2, feed
        )

    return tuple(code(*pair) for pair in pairs)


def _wrong(half):
    """Return three blocks: with this half twice, or with it as the first or second half."""
    return _halves((half, half), (half, _kept), (_kept, half))


def _kept(x, norm, part):
    return x + part(norm(x))


def _lost(x, norm, part):
    return part(norm(x))


def _normed_after(x, norm, part):
    return norm(x + part(x))


def _of_parts(order):
    """Return the right block with different parts. order: takes the four, returns four."""
    return lambda x, *parts: attention.block(x, *order(*parts))


BLOCK = Exercise(
    "block(x, norm_1, attention, norm_2, feed_forward) -> (b, n, d)",
    "scores",
    attention.block,
    _batches,
    mistakes={
        "nothing added to the words": _halves((_lost, _lost)),
        "words lost at attention": _halves((_lost, _kept)),
        "words lost at the network": _halves((_kept, _lost)),
        "normed words kept": _wrong(lambda x, norm, part: norm(x) + part(norm(x))),
        "norm after adding": _wrong(_normed_after),
        "norm after a part, not before": (
            *_wrong(lambda x, norm, part: x + norm(part(x))),
            _of_parts(
                lambda n1, attend, n2, feed: (n1, lambda x: n2(attend(x)), lambda x: x, feed)
            ),
        ),
        "norm forgotten": _wrong(lambda x, norm, part: x + part(x)),
        "added before the call": _wrong(lambda x, norm, part: part(norm(x) + x)),
        "network sees the block's input": lambda x, norm_1, attend, norm_2, feed: (
            x + attend(norm_1(x)) + feed(norm_2(x))
        ),
        "network added to the block's input": tuple(
            lambda x, norm_1, attend, norm_2, feed, first=first: (
                x + feed(norm_2(first(x, norm_1, attend)))
            )
            for first in (_lost, _kept, _normed_after)
        ),
        "one norm for both parts": (
            _of_parts(lambda norm_1, attend, norm_2, feed: (norm_1, attend, norm_1, feed)),
            _of_parts(lambda norm_1, attend, norm_2, feed: (norm_2, attend, norm_2, feed)),
        ),
        "norms swapped": _of_parts(
            lambda norm_1, attend, norm_2, feed: (norm_2, attend, norm_1, feed)
        ),
        "network before attention": (
            _of_parts(lambda norm_1, attend, norm_2, feed: (norm_2, feed, norm_1, attend)),
            _of_parts(lambda norm_1, attend, norm_2, feed: (norm_1, feed, norm_2, attend)),
        ),
        "network left out": _halves(*((first, lambda x, *_: x) for first in (_kept, _lost))),
        "attention left out": _halves((lambda x, *_: x, _kept)),
    },
)

# --- next_word_loss ---


def _texts():
    """Return probes with scores in no order: if rows rise alike, all pairings have one mean."""

    def probe(label, words, v, up=0.0):
        draws, words = torch.Generator().manual_seed(1), torch.tensor(words)
        scores = torch.randint(-16, 17, (*words.shape, v), generator=draws) / 8 + up
        return Probe(label, (scores, words))

    return [
        probe("2 texts of 4 words (vocabulary of 5)", [[0, 2, 4, 1], [3, 0, 1, 4]], 5),
        probe("3 texts of 3 words (vocabulary of 7)", [[6, 0, 2], [1, 1, 5], [3, 6, 4]], 7),
        probe("2 texts with scores near 1000", [[1, 3, 0, 2], [4, 2, 2, 0]], 5, 1000.0),
        *wide(_of_each(rows_apart("n", "v")), _of_each(places("n", "v")), n=2),
        replace(probe("trainable scores", [[0, 2, 4, 1]], 5), measure=learning, if_right=True),
    ]


def _of_each(one):
    """Return a function for wide() that makes a batch of these, with different numbers in each."""
    return lambda sizes, step: torch.stack([one(sizes, step + 2 * k) for k in range(sizes["b"])])


def _unshaped(scores, words):
    b, n, v = scores.shape
    return F.cross_entropy(scores[:, :-1].reshape(b, v, n - 1), words[:, 1:])


LOSS = Exercise(
    "next_word_loss(scores, words) -> a number",
    "scores",
    attention.next_word_loss,
    _texts,
    mistakes={
        **CUT_OFF,
        **wrong_losses(then=torch.mean),
        "shifted into the next text": lambda scores, words: F.cross_entropy(
            scores.flatten(0, 1)[:-1], words.flatten()[1:]
        ),
        "shifted from text to text": lambda scores, words: paired(ALL, ALL)(scores[:-1], words[1:]),
        "every pair in every text": lambda scores, words: (
            -scores[:, :-1].log_softmax(-1)[:, :, words[:, 1:]].mean()
        ),
        "one loss for each word": (paired(then=lambda x: x), paired(then=torch.flatten)),
        "one loss for each text": paired(then=lambda x: x.mean(dim=1)),
        "losses added up": (
            paired(then=torch.sum),
            paired(then=lambda x: x.sum(dim=1).mean()),
            paired(then=lambda x: x.sum(dim=0).mean()),
        ),
        "divided by the number of words": paired(
            then=lambda x: x.sum() / len(x) / (x.shape[1] + 1)
        ),
        "only the last prediction": paired(then=lambda x: x[:, -1].mean()),
        "only the first text": paired(then=lambda x: x[0].mean()),
        "reshaped instead of transposed": _unshaped,
        "averaged before the logarithm": paired(loss=lambda x: -x.mean().log()),
    },
)

# --- next_chances ---


def _after_texts():
    return [
        Probe("a vocabulary of 5 (temperature 2)", (exact(4, 5, unit=4, period=23), 2.0)),
        Probe(
            "a vocabulary of 6 (temperature 0.25)", (exact(3, 6, step=7, period=19).double(), 0.25)
        ),
        Probe("scores near 500 (temperature 0.5)", (exact(3, 5, step=3, period=17) + 500, 0.5)),
        *wide(rows_apart("n", "v"), "temperature"),
    ]


def _of(rows):
    """Return an answer with the chances of different rows. rows: takes all scores."""
    return lambda scores, temperature: soft(rows(scores) / temperature)


def _last(what):
    """Return an answer. what: takes the last row (v,) and the temperature."""
    return lambda scores, temperature: what(scores[-1], temperature)


CHANCES = Exercise(
    "next_chances(scores, temperature) -> (v,)",
    "weights",
    attention.next_chances,
    _after_texts,
    mistakes={
        "all positions instead of the last": _of(lambda scores: scores),
        "first position instead of last": _of(lambda scores: scores[0]),
        "next-to-last position": _of(lambda scores: scores[:-1][-1]),
        "mean of all positions": (
            lambda scores, temperature: soft(scores / temperature).mean(dim=0),
            _of(lambda scores: scores.mean(dim=0)),
        ),
        "last column instead of last row": (
            _of(lambda scores: scores[:, -1]),
            lambda scores, temperature: soft(scores / temperature)[:, -1],
        ),
        "one word instead of probabilities": (
            _last(lambda row, temperature: row.argmax()),
            _last(lambda row, temperature: (row == row.max()).to(row.dtype)),
        ),
        "temperature the wrong way round": _last(lambda row, temperature: soft(row * temperature)),
        "temperature ignored": _last(lambda row, temperature: soft(row)),
        "divided after softmax": _last(lambda row, temperature: soft(row) / temperature),
        "divided by the square root of the temperature": _last(
            lambda row, temperature: soft(row / temperature**0.5)
        ),
        "softmax over the wrong axis": lambda scores, temperature: soft(
            scores / temperature, dim=0
        )[-1],
        "softmax twice": (
            _last(lambda row, temperature: soft(soft(row / temperature))),
            _last(lambda row, temperature: soft(soft(row) / temperature)),
        ),
        "scores used as probabilities": (
            _last(lambda row, temperature: row / temperature),
            _last(lambda row, temperature: row),
        ),
        "logarithms of the weights": _last(
            lambda row, temperature: (row / temperature).log_softmax(-1)
        ),
        "not divided by the sum": _last(
            lambda row, temperature: ((row - row.max()) / temperature).exp()
        ),
        "exp overflows": _last(
            lambda row, temperature: naive(row / temperature) / naive(row / temperature).sum()
        ),
    },
)
