"""A reader's own model, ready for a trial: about thirty lines of ordinary PyTorch.

It answers which of ten numbers is second in a sentence of five. Its one layer is what anyone would
write; only the lines with `change` are there for the trial.
"""

import torch
from torch import nn

from helpers.models.subject import Case


class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 16)
        self.positions = nn.Parameter(torch.randn(5, 16))
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 10)

    def forward(self, words, change=None):
        x = self.embedding(words) + self.positions
        queries, keys, values = self.qkv(x).chunk(3, dim=-1)
        weights = torch.softmax(queries @ keys.mT / 4, dim=-1)
        used = weights
        if change:  # a layer with one head
            weights, values = (x[0] for x in change(0, weights[None], values[None]))
        return self.out((weights @ values)[..., -1, :]), used

    def weights(self, words):
        return [self(words)[1][None]]

    def answers(self, words, change=None):
        return self(words, change)[0]

    def cases(self, claim):
        """Yield sentences, each with a copy that has a different second number."""
        places = {"last": 4, "second": 1, "third": 2}
        while True:
            words = torch.randint(10, (5,))
            other = words.clone()
            other[1] = (words[1] + torch.randint(1, 10, ())) % 10
            looks, at = places[claim.looks], places[claim.at]
            yield Case(words, looks, at, int(words[1]), other, int(other[1]), "other number")


def trained(steps=300):
    model = Mine()
    adam = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(steps):
        words = torch.randint(10, (64, 5))
        loss = nn.functional.cross_entropy(model(words)[0], words[:, 1])
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model
