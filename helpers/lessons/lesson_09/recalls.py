"""What the model that writes keeps in mind: its hits in new stories, also with heads made even."""

import random

import torch

from ...attention import uniform_causal
from ..stories import NUMBER, look
from ..tales import Story, shares_of


def even_heads(*heads):
    """Return a change that makes the weights of these heads even, each a (layer, head) from 0."""

    def change(layer, weights, values):
        weights = weights.clone()
        for head in (head for at, head in heads if at == layer):
            weights[:, head] = uniform_causal(weights.shape[-1])
        return weights, values

    return change


def new_stories(count):
    """Return (count stories that no training draws, their numbers (count, LENGTH))."""
    draws = random.Random("new")
    stories = [Story(draws) for _ in range(count)]
    return stories, torch.tensor([[NUMBER[word] for word in story.words] for story in stories])


@torch.inference_mode()
def recalled(model, change=None, count=100):
    """Return {kind of RECALLS: share of its words that the model finds most likely}.

    count: how many new stories are drawn.  change: as in look().
    """
    stories, words = new_stories(count)
    found = look(model, words, change)[0][:, :-1].argmax(dim=-1) == words[:, 1:]
    return shares_of(found, stories)
