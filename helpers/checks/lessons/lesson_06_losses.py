"""Lesson 06: the loss of word i, which predicts word i + 1."""

import torch

from ... import attention
from ..catalogue.losses import paired, wrong_losses
from ..catalogue.softmax import soft
from ..exercise import Exercise, Probe
from ..probes import exact, places, rows_apart, wide


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
