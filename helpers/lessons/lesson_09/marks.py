"""Define lesson 09's task, which needs two looks, and a small model that learns it.

Each sentence has six words, numbers from 0 to 31. One word has mark 1, a different word mark 2;
the answers are the word at mark 1 and the word at mark 2.
"""

import torch
from torch import nn
from torch.nn import functional as F

from ...attention import merge_heads, scaled_scores, split_heads

LENGTH, VOCABULARY = 6, 32


def marked_sentences(b, generator):
    """Return b sentences: words (b, 6), marks (b, 6), a 1, a 2 and zeros, and answers (b, 2)."""
    words = torch.randint(VOCABULARY, (b, LENGTH), generator=generator)
    at = torch.rand(b, LENGTH, generator=generator).argsort(dim=-1)[:, :2]
    marks = torch.zeros_like(words).scatter(1, at, torch.tensor([[1, 2]]).expand(b, 2))
    return words, marks, words.gather(1, at)


class MarkReader(nn.Module):
    """Attention with one learned query, without a mask: keys are made from the marks only, values
    from the words only, and one matrix reads both answers from the merged heads.

    num_heads: divides 54, the width.  torch.randn draws the parameters.
    """

    def __init__(self, num_heads, width=54):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key_of_mark, self.value_of_word, self.W_read = (
            nn.Parameter(0.5 * torch.randn(shape))
            for shape in ((1, 1, width), (3, width), (VOCABULARY, width), (width, 2 * VOCABULARY))
        )

    def weights(self, marks):
        """Return the weights (b, num_heads, n).  marks: (b, n) of 0, 1 and 2."""
        queries = split_heads(self.query.expand(len(marks), 1, -1), self.num_heads)
        keys = split_heads(self.key_of_mark[marks], self.num_heads)
        return torch.softmax(scaled_scores(queries, keys), dim=-1)[:, :, 0]

    def forward(self, words, marks, W_read=None):
        """Return a score for each word of the vocabulary, for the first and the second answer,
        (b, 2, 32).  words, marks: (b, n).  W_read: used instead of the model's own."""
        values = split_heads(self.value_of_word[words], self.num_heads)
        merged = merge_heads(self.weights(marks)[:, :, None] @ values)
        read = merged @ (self.W_read if W_read is None else W_read)
        return read.view(len(words), 2, VOCABULARY)


def train_reader(num_heads, seed, steps=200):
    """Return a MarkReader trained on 64 new sentences in each step. The global seed is kept."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        reader = MarkReader(num_heads)
    draw = torch.Generator().manual_seed(seed)
    learned = list(reader.parameters())
    for _ in range(steps):
        words, marks, answers = marked_sentences(64, draw)
        scores = reader(words, marks)
        loss = F.cross_entropy(scores.flatten(0, 1), answers.flatten())
        # not torch.optim.SGD: importing it takes over a second in each kernel
        for p, gradient in zip(learned, torch.autograd.grad(loss, learned), strict=True):
            p.data -= gradient
    return reader.requires_grad_(False)
