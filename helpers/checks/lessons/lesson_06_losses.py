"""Lesson 06: the loss of word i, which predicts word i + 1."""

from functools import partial

import torch

from ... import attention
from ..catalogue.softmax import divided, naive, soft
from ..exercise import Exercise, Probe
from ..probes import exact, places, rows_apart, wide

# --- wrong losses, of one text or many ---

ALL, BUT_LAST, BUT_FIRST = slice(None), slice(None, -1), slice(1, None)


def paired(row=BUT_LAST, word=BUT_FIRST, then=torch.mean, chances_of=soft, loss=lambda x: -x.log()):
    """Return an answer. row, word: slices of positions to pair.  then: takes the losses (..., n).
    chances_of: takes all scores.  loss: takes the chances of the words."""

    def code(scores, words):
        chances = chances_of(scores)[..., row, :]
        return then(loss(chances.gather(-1, words[..., word, None])[..., 0]))

    return code


def wrong_losses(then):
    """Return the mistakes in what then() makes of the losses."""
    made = partial(paired, then=then)
    return {
        "each word predicts itself": (
            made(ALL, ALL),
            made(BUT_LAST, BUT_LAST),
            made(BUT_FIRST, BUT_FIRST),
        ),
        "each word predicts the one before it": made(BUT_FIRST, BUT_LAST),
        "the last word predicts the first": lambda scores, words: made(ALL, ALL)(
            scores, words.roll(-1, -1)
        ),
        "no logarithm": (made(loss=lambda x: x), made(loss=torch.neg)),
        "no minus sign": made(loss=torch.log),
        "wrong logarithm base": (made(loss=lambda x: -x.log2()), made(loss=lambda x: -x.log10())),
        "scores used as probabilities": tuple(
            made(chances_of=lambda x: x, loss=loss)
            for loss in (lambda x: -x.log(), lambda x: x, torch.neg)
        ),
        "softmax over the wrong axis": (
            made(chances_of=lambda x: soft(x, dim=-2)),
            made(chances_of=lambda x: soft(x, dim=0)),
            made(ALL, chances_of=lambda x: soft(x[..., :-1, :], dim=-2)),
        ),
        "softmax twice": made(chances_of=lambda x: soft(soft(x))),
        "exp overflows": made(chances_of=lambda x: divided(naive(x))),
    }


# --- next_word_losses ---


def _texts():
    near_1000 = exact(4, 5, step=3) + 1000
    return [
        Probe("a text of 6 different words (vocabulary of 6)", (exact(6, 6), torch.arange(6))),
        Probe(
            "a text of 5 words, one of them twice (vocabulary of 9)",
            (exact(5, 9, step=4, unit=4, period=17).double(), torch.tensor([3, 7, 0, 7, 2])),
        ),
        Probe("scores near 1000 (vocabulary of 5)", (near_1000, torch.tensor([2, 0, 3, 1]))),
        *wide(rows_apart("n", "v"), places("n", "v"), n=2),
    ]


LOSSES = Exercise(
    "next_word_losses(scores, words) -> (n - 1,)",
    "scores",
    attention.next_word_losses,
    _texts,
    mistakes={
        **wrong_losses(then=lambda losses: losses),
        "every row with every next word": lambda scores, words: -soft(scores)[:-1, words[1:]].log(),
        "diagonal instead of the words": (
            lambda scores, words: -soft(scores).diagonal(1).log(),
            lambda scores, words: -soft(scores).diagonal(1)[: len(words) - 1].log(),
        ),
        "only words of the text are possible": lambda scores, words: (
            -soft(scores[:-1, words[1:]]).diagonal().log()
        ),
        "one loss for all words": (paired(), paired(then=torch.sum)),
    },
)
