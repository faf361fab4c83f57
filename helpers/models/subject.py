"""Define what a trial needs from a model: its weights, and its answers while they are changed.

A subject is any model with

weights(words)               a list by layer of (heads, n, n), after softmax
answers(words, change=None)  scores or log-probabilities (answers,)

In every layer with attention, counted from 0, change(layer, weights, values) gets (heads, n, n) and
(heads, n, d) and returns two tensors: the model uses their product instead of weights @ values.
There may be more keys than words: (heads, n, m) and (heads, m, d). own_subject.py, with the tests,
is an example of about thirty lines.
"""

from dataclasses import dataclass

import torch


@dataclass
class Case:
    """One sentence of a claim, and the same sentence with different content.

    words, other: as the subject takes them, of the same length.  query, key: positions of the word
    that looks and of the word it looks at.  answer, turns: the indices of the right answers for
    words and for other.  content: how other differs, in words.
    """

    words: object
    query: int
    key: int
    answer: int
    other: object
    turns: int
    content: str = "other content"


class Subject:
    """A model of the lessons: model(words, change) -> (scores (1, n, answers), weights used).

    The answer is read at the last word.
    """

    def __init__(self, model):
        self.model = model

    @torch.inference_mode()
    def weights(self, words):
        return [w.reshape(-1, *w.shape[-2:]) for w in self.model(words[None])[1]]

    @torch.inference_mode()
    def answers(self, words, change=None):
        def by_heads(layer, *tensors):
            changed = change(layer, *(x.reshape(-1, *x.shape[-2:]) for x in tensors))
            return [x.view(*tensors[0].shape[:-2], *x.shape[-2:]) for x in changed]

        return self.model(words[None], by_heads if change else None)[0][0, -1]
