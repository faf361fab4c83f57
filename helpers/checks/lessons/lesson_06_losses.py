"""Lesson 06: the loss of word i, which predicts word i + 1."""

import torch

from ... import attention
from ..catalogue.softmax import naive, soft
from ..exercise import Exercise, Probe
from ..probes import exact, places, rows_apart, wide

# --- parts of wrong answers ---


def _losses(chances):
    return -chances.log()


def _told(what, chances_of=soft):
    """Return an answer: what() of the chances of the words that come next."""

    def code(scores, words):
        chances = chances_of(scores)[:-1]
        return what(chances[range(len(chances)), words[1:]])

    return code


def _at(rows, words_of, what=_losses):
    """Return an answer for different rows (a slice), each with the word that words_of picks."""

    def code(scores, words):
        chances, chosen = soft(scores)[rows], words_of(words)
        return what(chances[range(len(chosen)), chosen])

    return code


ALL, BUT_LAST, BUT_FIRST = slice(None), slice(None, -1), slice(1, None)


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
        "each word predicts itself": (
            _at(BUT_LAST, lambda words: words[:-1]),
            _at(BUT_FIRST, lambda words: words[1:]),
        ),
        "each word predicts the one before it": _at(BUT_FIRST, lambda words: words[:-1]),
        "the last word predicts the first": _at(ALL, lambda words: words.roll(-1)),
        "every row with every next word": lambda scores, words: _losses(
            soft(scores)[:-1, words[1:]]
        ),
        "diagonal instead of the words": (
            lambda scores, words: _losses(soft(scores).diagonal(1)),
            lambda scores, words: _losses(soft(scores).diagonal(1)[: len(words) - 1]),
        ),
        "only words of the text are possible": lambda scores, words: _losses(
            soft(scores[:-1, words[1:]]).diagonal()
        ),
        "no logarithm": (_told(lambda chances: chances), _told(lambda chances: -chances)),
        "no minus sign": _told(torch.log),
        "wrong logarithm base": (
            _told(lambda chances: -chances.log2()),
            _told(lambda chances: -chances.log10()),
        ),
        "one loss for all words": (
            _told(lambda chances: _losses(chances).mean()),
            _told(lambda chances: _losses(chances).sum()),
        ),
        "scores used as probabilities": (
            _told(_losses, lambda scores: scores),
            _told(lambda scores: scores, lambda scores: scores),
            _told(lambda scores: -scores, lambda scores: scores),
        ),
        "softmax over the wrong axis": _told(_losses, lambda scores: soft(scores, dim=0)),
        "softmax twice": _told(_losses, lambda scores: soft(soft(scores))),
        "exp overflows": _told(
            _losses, lambda scores: naive(scores) / naive(scores).sum(-1, keepdim=True)
        ),
    },
)
