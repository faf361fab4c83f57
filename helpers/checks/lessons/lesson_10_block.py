"""Lesson 10: the block of a model, its loss, and the next word."""

import torch
from torch.nn import functional as F

from ... import attention
from ..catalogue.softmax import naive, soft
from ..exercise import Exercise, Probe, told
from ..probes import exact, matrix, places, rows_apart, wide

# --- block ---


class _Part:
    """A part of a block, a function: x (b, n, d) -> (b, n, d). Each of the four gives its own
    numbers, of any width."""

    def __init__(self, name, result):
        self.name, self.result = name, result

    def __call__(self, x):
        return self.result(x)

    def __repr__(self):
        return self.name


def _normed(factor, shift):
    return lambda x: factor * F.layer_norm(x, x.shape[-1:]) + shift


def _mean_so_far(x):
    """Causal attention with even weights; its values are the words turned by one place."""
    return attention.uniform_causal(x.shape[-2]).to(x) @ x.roll(1, dims=-1) + 0.125


PARTS = (
    _Part("norm_1", _normed(1, 0.25)),
    _Part("attention", _mean_so_far),
    _Part("norm_2", _normed(1.5, -0.375)),
    _Part("feed_forward", lambda x: (0.75 * x + 0.5).relu() - x.flip(-1) / 4),
)


def _batches():
    return [
        Probe("one text of 4 words", (exact(1, 4, 6), *PARTS)),
        Probe("2 texts of 5 words", (exact(2, 5, 3, step=7, unit=4, period=17).double(), *PARTS)),
        *wide(lambda sizes, step: matrix("b", "n", "d")(sizes, step) + step, *map(_always, PARTS)),
    ]


def _always(part):
    return lambda sizes, step: part


def _through(first, second):
    """Both parts one after the other. first: takes x, norm_1, attention; second: takes what that
    returned, norm_2, feed_forward and x."""

    def code(x, norm_1, attend, norm_2, feed):
        return second(first(x, norm_1, attend), norm_2, feed, x)

    return code


def _kept(x, norm, part, *_):
    return x + part(norm(x))


def _lost(x, norm, part, *_):
    return part(norm(x))


def _overwritten(x, norm, part, *_):
    return norm(x) + part(norm(x))


def _after(x, norm, part, *_):
    return norm(x + part(x))


def _inside(x, norm, part, *_):
    return x + norm(part(x))


def _bare(x, norm, part, *_):
    return x + part(x)


def _as_it_is(x, *_):
    return x


BLOCK = Exercise(
    "block(x, norm_1, attention, norm_2, feed_forward) -> (b, n, d)",
    "scores",
    attention.block,
    _batches,
    mistakes={
        "nothing added to the words": told(
            _through(_lost, _lost),
            why="What attention and the network find REPLACES the words.",
            advice="Add twice: x + attention(...), then x + feed_forward(...).",
            source="the drawing of a block read as a chain, without the lines around the parts",
        ),
        "words lost at attention": told(
            _through(_lost, _kept),
            why="After attention only the blends are left, not the words themselves.",
            advice="Write x = x + attention(norm_1(x)).",
            source="the first of the two residual connections forgotten",
        ),
        "words lost at the network": told(
            _through(_kept, _lost),
            why="The network's result replaces what was there.",
            advice="Add it to x: x + feed_forward(norm_2(x)).",
            source="feed_forward returned without the x that it is added to",
        ),
        "normed words kept": told(
            _through(_overwritten, _overwritten),
            _through(_overwritten, _kept),
            _through(_kept, _overwritten),
            why="You wrote the normed words over x, and then added to THEM.",
            advice="Norm only what goes into a part: x + attention(norm_1(x)).",
            source="x = norm(x), then x = x + attention(x)",
        ),
        "norm after adding": told(
            _through(_after, _after),
            _through(_after, _kept),
            _through(_kept, _after),
            why="You normed the sum. (The first blocks, in 2017, did; ours norms before.)",
            advice="Norm what goes INTO each part, and leave the sum as it is.",
            source="Vaswani et al. 2017: LayerNorm(x + Sublayer(x))",
        ),
        "norm of what a part returns": told(
            _through(_inside, _inside),
            _through(_inside, _kept),
            _through(_kept, _inside),
            why="You normed what comes out of a part, not what goes in.",
            advice="Write attention(norm_1(x)), not norm_1(attention(x)).",
            source="two calls in the other order",
        ),
        "norm forgotten": told(
            _through(_bare, _bare),
            _through(_bare, _kept),
            _through(_kept, _bare),
            why="A part gets the words as they are.",
            advice="Give attention norm_1(x), and the network norm_2(x).",
            source="norms look as if they changed nothing",
        ),
        "network sees the block's input": told(
            lambda x, norm_1, attend, norm_2, feed: x + attend(norm_1(x)) + feed(norm_2(x)),
            why="The network gets the words from before attention.",
            advice="Put the first sum into x, and give THAT to norm_2.",
            source="both parts in one line; some models do so on purpose (GPT-J)",
        ),
        "network without what it is added to": told(
            _through(_lost, lambda found, norm, feed, x: x + feed(norm(found))),
            _through(_kept, lambda found, norm, feed, x: x + feed(norm(found))),
            why="The last sum takes the words from before attention.",
            advice="Add feed_forward(...) to the sum that attention made.",
            source="the first sum kept under another name, and x added again",
        ),
        "one norm for both parts": told(
            lambda x, norm_1, attend, norm_2, feed: attention.block(
                x, norm_1, attend, norm_1, feed
            ),
            lambda x, norm_1, attend, norm_2, feed: attention.block(
                x, norm_2, attend, norm_2, feed
            ),
            why="Each norm has learned its own numbers.",
            advice="Use norm_1 before attention, and norm_2 before the network.",
            source="line copied, one of its two names changed",
        ),
        "norms the other way round": told(
            lambda x, norm_1, attend, norm_2, feed: attention.block(
                x, norm_2, attend, norm_1, feed
            ),
            advice="Use norm_1 before attention, and norm_2 before the network.",
            source="both have the same shape, so nothing complains",
        ),
        "network before attention": told(
            lambda x, norm_1, attend, norm_2, feed: attention.block(
                x, norm_2, feed, norm_1, attend
            ),
            lambda x, norm_1, attend, norm_2, feed: attention.block(
                x, norm_1, feed, norm_2, attend
            ),
            why="Attention comes first, so that the network can work on what it found.",
            advice="Attention first, then feed_forward.",
            source="the order of the two parts",
        ),
        "network left out": told(
            _through(_kept, _as_it_is),
            _through(_lost, _as_it_is),
            advice="A second sum is missing: x + feed_forward(norm_2(x)).",
            source="returned after the first half",
        ),
        "attention left out": told(
            _through(_as_it_is, _kept),
            advice="A first sum is missing: x + attention(norm_1(x)).",
            source="the first sum was computed, and not kept",
        ),
    },
)

# --- next_word_loss ---


def _texts():
    """Scores in no order: of rows that rise alike, all ways to pair words have the same mean."""

    def drawn(*shape):
        return torch.randint(-16, 17, shape, generator=torch.Generator().manual_seed(1)) / 8

    return [
        Probe(
            "2 texts of 4 words out of 5",
            (drawn(2, 4, 5), torch.tensor([[0, 2, 4, 1], [3, 0, 1, 4]])),
        ),
        Probe(
            "3 texts of 3 words out of 7",
            (drawn(3, 3, 7).double(), torch.tensor([[6, 0, 2], [1, 1, 5], [3, 6, 4]])),
        ),
        Probe(
            "2 texts, scores near 1000",
            (drawn(2, 4, 5) + 1000, torch.tensor([[1, 3, 0, 2], [4, 2, 2, 0]])),
        ),
        *wide(_scored, _said, n=2),
    ]


def _scored(sizes, step):
    return torch.stack([rows_apart("n", "v")(sizes, step + 2 * k) for k in range(sizes["b"])])


def _said(sizes, step):
    return torch.stack([places("n", "v")(sizes, step + 2 * k) for k in range(sizes["b"])])


def _losses(scores, words, chances_of=soft):
    """scores (b, n, v) of the words (b, n), after any shift -> (b, n)."""
    return -chances_of(scores).gather(-1, words[..., None])[..., 0].log()


def _mean_of(what=_losses, rows=slice(None, -1), shifted=lambda words: words[:, 1:]):
    return lambda scores, words: what(scores[:, rows], shifted(words)).mean()


def _unshaped(scores, words):
    """The words stand in the place of the rows: reshaped, where they should be transposed."""
    b, n, v = scores.shape
    return F.cross_entropy(scores[:, :-1].reshape(b, v, n - 1), words[:, 1:])


LOSS = Exercise(
    "next_word_loss(scores, words) -> a number",
    "scores",
    attention.next_word_loss,
    _texts,
    mistakes={
        "each word predicts itself": (
            _mean_of(rows=slice(None), shifted=lambda words: words),
            _mean_of(shifted=lambda words: words[:, :-1]),
            _mean_of(rows=slice(1, None)),
        ),
        "each word predicts the one before it": _mean_of(
            rows=slice(1, None), shifted=lambda words: words[:, :-1]
        ),
        "the last word predicts the first": _mean_of(
            rows=slice(None), shifted=lambda words: words.roll(-1, dims=1)
        ),
        "shifted from text to text": told(
            lambda scores, words: _losses(scores[:-1], words[1:]).mean(),
            why="The first dimension counts the texts; you shifted along it.",
            advice="Shift along the words: scores[:, :-1] and words[:, 1:].",
            source="scores[:-1] of lesson 6, where there was no batch",
        ),
        "one loss for each word": told(
            lambda scores, words: _losses(scores[:, :-1], words[:, 1:]),
            lambda scores, words: _losses(scores[:, :-1], words[:, 1:]).flatten(),
            why="Training needs ONE number.",
            advice="Take the mean of all losses.",
            source='reduction="none" of lesson 6',
        ),
        "one loss for each text": told(
            lambda scores, words: _losses(scores[:, :-1], words[:, 1:]).mean(dim=1),
            lambda scores, words: _losses(scores[:, :-1], words[:, 1:]).mean(dim=0),
            why="Training needs ONE number.",
            advice="Take the mean over all texts, too.",
            source="mean with a dim",
        ),
        "losses added up": told(
            lambda scores, words: _losses(scores[:, :-1], words[:, 1:]).sum(),
            lambda scores, words: _losses(scores[:, :-1], words[:, 1:]).sum(dim=1).mean(),
            lambda scores, words: _losses(scores[:, :-1], words[:, 1:]).sum(dim=0).mean(),
            why="A longer text, or a larger batch, has a larger sum.",
            advice="Take the mean over all predictions.",
            source="sum in place of mean",
        ),
        "divided by all words": told(
            lambda scores, words: _losses(scores[:, :-1], words[:, 1:]).sum() / words.numel(),
            why="The last word of a text predicts nothing, so it does not count.",
            advice="Divide by b * (n - 1), or take the mean.",
            source="number of words and number of predictions mixed up",
        ),
        "only the last prediction": told(
            lambda scores, words: _losses(scores[:, -2:-1], words[:, -1:]).mean(),
            why="Every word but the last has a next word to predict.",
            advice="Use all positions: scores[:, :-1] and words[:, 1:].",
            source="writing needs the last position only; training uses all",
        ),
        "only the first text": told(
            lambda scores, words: _losses(scores[:1, :-1], words[:1, 1:]).mean(),
            why="The other texts of the batch do not count.",
            advice="Take the mean over all of them.",
            source="scores[0], written for one text",
        ),
        "reshaped in place of transposed": told(
            _unshaped,
            why="reshape deals the scores of one word out to other words.",
            advice="Use transpose(1, 2) or .mT, or flatten texts and words.",
            source="F.cross_entropy wants (b, v, n), and view gives that shape, too",
        ),
        "minus forgotten": lambda scores, words: -attention.next_word_loss(scores, words),
        "no logarithm": (
            _mean_of(lambda scores, words: (-_losses(scores, words)).exp()),
            _mean_of(lambda scores, words: -(-_losses(scores, words)).exp()),
        ),
        "averaged before the logarithm": lambda scores, words: (
            -(-_losses(scores[:, :-1], words[:, 1:])).exp().mean().log()
        ),
        "scores taken for chances": (
            _mean_of(lambda scores, words: _losses(scores, words, lambda s: s)),
            _mean_of(lambda scores, words: -scores.gather(-1, words[..., None])),
        ),
        "softmax over the wrong axis": (
            lambda scores, words: _losses(
                scores[:, :-1], words[:, 1:], lambda s: soft(s, dim=1)
            ).mean(),
            lambda scores, words: _losses(
                scores[:, :-1], words[:, 1:], lambda s: soft(s, dim=0)
            ).mean(),
            lambda scores, words: (
                -soft(scores, dim=1)[:, :-1].gather(-1, words[:, 1:, None]).log().mean()
            ),
        ),
        "softmax twice": _mean_of(
            lambda scores, words: _losses(scores, words, lambda s: soft(soft(s)))
        ),
        "naive exp overflow": _mean_of(
            lambda scores, words: _losses(
                scores, words, lambda s: naive(s) / naive(s).sum(-1, keepdim=True)
            )
        ),
    },
)

# --- next_chances ---


def _after_texts():
    """The row of the last word is the largest nowhere, and that of no other word."""
    return [
        Probe("4 words out of 5, temperature 2", (exact(4, 5, unit=4, period=23), 2.0)),
        Probe(
            "3 words out of 6, temperature 0.25",
            (exact(3, 6, step=7, unit=8, period=19).double(), 0.25),
        ),
        Probe(
            "3 words out of 5, scores near 500, temperature 0.5",
            (exact(3, 5, step=3, period=17) + 500, 0.5),
        ),
        *wide(rows_apart("n", "v"), "temperature"),
    ]


def _of_last(what):
    """what: takes the last row of scores (v,) and the temperature."""
    return lambda scores, temperature: what(scores[-1], temperature)


CHANCES = Exercise(
    "next_chances(scores, temperature) -> (v,)",
    "weights",
    attention.next_chances,
    _after_texts,
    mistakes={
        "all positions in place of the last": told(
            lambda scores, temperature: soft(scores / temperature),
            why="Every row predicts the word after ITS word; new is only what follows the last.",
            advice="Take the last row: scores[-1].",
            source="the whole matrix of the model handed on",
        ),
        "first position in place of the last": told(
            lambda scores, temperature: soft(scores[0] / temperature),
            why="Row 0 predicts word 1, which is written already.",
            advice="Take the last row: scores[-1].",
            source="index 0, as for the only text of a batch",
        ),
        "last but one position": told(
            lambda scores, temperature: soft(scores[:-1][-1] / temperature),
            why="This row predicts the last word, which is written already.",
            advice="Take the last row: the shift is for training only.",
            source="scores[:-1], from the loss",
        ),
        "mean of all positions": told(
            lambda scores, temperature: soft(scores / temperature).mean(dim=0),
            lambda scores, temperature: soft(scores.mean(dim=0) / temperature),
            why="The other rows predict words that are written already.",
            advice="Take the last row: scores[-1].",
            source="mean over the words, as for a label of a whole text",
        ),
        "last word of the vocabulary": told(
            lambda scores, temperature: soft(scores[:, -1] / temperature),
            lambda scores, temperature: soft(scores / temperature)[:, -1],
            why="A column is one known word, a row is one position.",
            advice="Take the last ROW: scores[-1].",
            source="scores[:, -1], written for a batch (b, n, v)",
        ),
        "argmax in place of chances": told(
            _of_last(lambda row, temperature: row.argmax()),
            _of_last(lambda row, temperature: (row == row.max()).to(row.dtype)),
            why="You gave everything to the likeliest word, so nothing is left to draw.",
            advice="Return softmax of the last row, divided by the temperature.",
            source="greedy writing; then temperature changes nothing",
        ),
        "multiplied by the temperature": _of_last(lambda row, temperature: soft(row * temperature)),
        "temperature ignored": _of_last(lambda row, temperature: soft(row)),
        "divided after softmax": _of_last(lambda row, temperature: soft(row) / temperature),
        "temperature as a power of the weights": _of_last(
            lambda row, temperature: soft(row) ** (1 / temperature)
        ),
        "divided by the root of the temperature": _of_last(
            lambda row, temperature: soft(row / temperature**0.5)
        ),
        "softmax over the wrong axis": lambda scores, temperature: soft(
            scores / temperature, dim=0
        )[-1],
        "softmax over the whole matrix": lambda scores, temperature: soft(
            scores.flatten() / temperature
        ).view(scores.shape)[-1],
        "softmax twice": (
            _of_last(lambda row, temperature: soft(soft(row / temperature))),
            _of_last(lambda row, temperature: soft(soft(row) / temperature)),
        ),
        "scores taken for chances": (
            _of_last(lambda row, temperature: row / temperature),
            _of_last(lambda row, temperature: row),
        ),
        "log_softmax": _of_last(lambda row, temperature: (row / temperature).log_softmax(-1)),
        "not divided by the sum": _of_last(
            lambda row, temperature: (row / temperature - (row / temperature).max()).exp()
        ),
        "naive exp overflow": _of_last(
            lambda row, temperature: naive(row / temperature) / naive(row / temperature).sum()
        ),
    },
)
