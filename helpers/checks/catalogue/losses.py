"""Wrong losses: of wanted weights, and of the next word in one text or many."""

from functools import partial

import torch

from .softmax import divided, naive, soft

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
