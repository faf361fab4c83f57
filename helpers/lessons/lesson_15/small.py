"""Define the two trained models of lesson 14 for lesson 15, which changes what their weights bring.

They are lesson 14's own, but take one sentence or many, and `change` returns contexts: so a change
can concern what one word gets from one other.
"""

import torch
from torch import nn
from torch.nn import functional as F

from ...attention import causal_mask, scaled_scores
from ..language import load_language
from ..lesson_14.functions import look_back
from ..training import Adam

WIDTH, STEPS, RATE = 24, 400, 0.01
LETTERS = list("abcdefghijklmnop")


class Small(nn.Module):
    """Two layers of attention that add their contexts to the words.

    answers, vocabulary: their numbers.  length: the longest sentence.  causal: is the future
    hidden?
    """

    def __init__(self, answers, vocabulary, length, causal=False):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(length, WIDTH)
        self.layers = nn.ModuleList(_Layer() for _ in range(2))
        self.out = nn.Linear(WIDTH, answers, bias=False)
        self.causal = causal

    def forward(self, words, change=None):
        """Return the scores (..., n, answers) of words (..., n).

        change(layer, weights, values), if given, returns the contexts (..., n, d) of each layer,
        counted from 1, from its weights (..., n, n) and values (..., n, d); without it they are
        weights @ values.
        """
        n = words.shape[-1]
        x = self.embedding(words) + self.positions.weight[:n]
        for number, layer in enumerate(self.layers, start=1):
            scores = scaled_scores(layer.W_query(x), layer.W_key(x))
            if self.causal:
                scores = scores.masked_fill(causal_mask(n), -torch.inf)
            weights, values = torch.softmax(scores, dim=-1), layer.W_value(x)
            x = x + (change(number, weights, values) if change else weights @ values)
        return self.out(x)


class _Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3)
        )


def apart(words):
    """Return sentences (..., 8, 2) of the small language as (..., 10): each colour is a word."""
    word, colour = words[..., 0], words[..., 1]
    parts = word[..., :1], colour[..., 1:2], word[..., 1:4], colour[..., 4:5], word[..., 4:]
    return torch.cat(parts, dim=-1)


def trained_copier(seed=0, steps=STEPS):
    """Return a model that continues patterns of the 16 LETTERS, trained as in lesson 14."""

    def draw(draws):
        words = torch.randint(16, (64, 16), generator=draws)
        at = torch.stack([look_back(one) for one in words])
        return words, words.gather(1, at.clamp(min=0)).masked_fill(at < 0, -1)

    return _trained(lambda: Small(16, 16, 16, causal=True), draw, seed, steps)


def trained_reader(seed, steps=STEPS):
    """Return a model that names the colour of a pronoun's noun, trained as in lesson 14."""
    language = load_language()
    pairs = language.pairs()
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))
    known = [pairs[k] for k in order[16:]]

    def draw(draws):
        s = language.sentences(known, 128, draws)
        # the last word asks the question; -1 means that the other words ask none
        return apart(s.words), F.pad(s.answer[:, None], (9, 0), value=-1)

    return _trained(lambda: Small(8, len(language.words), 10), draw, seed, steps)


def _trained(build, draw, seed, steps):
    """Train with Adam, at a rate that falls to 0. The global random state is kept."""
    with torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
        torch.manual_seed(seed)
        model, draws = build(), torch.Generator().manual_seed(seed)
        adam = Adam(model)
        for step in range(steps + 1):
            words, answers = draw(draws)
            loss = F.cross_entropy(model(words).mT, answers, ignore_index=-1)
            adam.step(loss, RATE * (1 - step / steps))
    return model
