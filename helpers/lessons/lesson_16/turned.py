"""Define the story model of lesson 16: turned queries and keys instead of learned positions, and
fewer heads of keys and values; and measure what it keeps in mind after other stories."""

import random

import torch
from torch import nn
from torch.nn import functional as F

from ...attention import causal_mask, merge_heads, split_heads
from ...attention.data import DATA, rows_of
from ..lesson_09.recalls import new_stories
from ..stories import HEADS, LAYERS, LENGTH, NUMBER, WIDTH, WORDS, Block, Storyteller, kept
from ..tales import RECALLS, Story, shares_of
from .functions import rotate

FILE, FIGURES = DATA / "turned.npz", DATA / "turned.csv"
BASE = 100
SIZE = WIDTH // HEADS  # of a head
ASKED = "act", "sound", "who"  # of RECALLS, what all kinds of models learn within one story


class TurnedAttention(nn.Module):
    """Causal attention whose queries and keys are turned by their positions.

    module(x, positions, turn): x (b, n, WIDTH), positions (n,), or None for 0, 1, ...
    turn: a function such as rotate.  Returns (b, n, WIDTH).
    """

    def __init__(self, num_kv_heads):
        super().__init__()
        self.num_kv_heads = num_kv_heads
        self.W_query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.W_key = nn.Linear(WIDTH, num_kv_heads * SIZE, bias=False)
        self.W_value = nn.Linear(WIDTH, num_kv_heads * SIZE, bias=False)
        self.out_proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, positions=None, turn=rotate):
        if positions is None:
            positions = torch.arange(x.shape[1])
        queries = turn(split_heads(self.W_query(x), HEADS), positions, BASE)
        keys = turn(split_heads(self.W_key(x), self.num_kv_heads), positions, BASE)
        values = split_heads(self.W_value(x), self.num_kv_heads)
        heads = F.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, enable_gqa=True
        )
        return self.out_proj(merge_heads(heads))


class TurnedStoryteller(nn.Module):
    """The model of lesson 10 without its table of positions: model(words) scores every known word
    as the next one, (b, n) -> (b, n, len(WORDS)), for any n.

    num_kv_heads: heads of keys and values for the 4 heads of queries.  how: as TurnedAttention.
    """

    def __init__(self, num_kv_heads=HEADS):
        super().__init__()
        self.known = WORDS
        self.embedding = nn.Embedding(len(WORDS), WIDTH)
        attentions = [TurnedAttention(num_kv_heads) for _ in range(LAYERS)]
        self.blocks = nn.Sequential(*(Block(one, WIDTH) for one in attentions))
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(WORDS))

    def forward(self, words, **how):
        x = self.embedding(words)
        for block in self.blocks:
            x = block(x, lambda x, one=block.attention: one(x, **how))
        return self.out(self.norm(x))


class LastPositionAgain(Storyteller):
    """The model of lesson 10, which can read on after its 48 positions: all later words get the
    last of them."""

    def forward(self, words):
        n = words.shape[1]
        for block in self.blocks:
            block.attention.mask = causal_mask(n)
        x = self.embedding(words) + self.positions.weight[torch.arange(n).clamp(max=LENGTH - 1)]
        return self.out(self.norm(self.blocks(x)))


def after_others(others, count=300):
    """Return (stories, words (count, 48 * (others + 1))): new stories, each after other ones."""
    stories, words = new_stories(count)
    draws = random.Random("others")
    before = [[NUMBER[x] for _ in range(others) for x in Story(draws).words] for _ in stories]
    return stories, torch.cat([torch.tensor(before).long().reshape(count, -1), words], dim=1)


@torch.inference_mode()
def recalls_after(model, others, count=300, **how):
    """Return {kind of RECALLS: share of right words} in stories that come after other ones.

    how: as in the model's forward."""
    stories, words = after_others(others, count)
    start = LENGTH * others
    best = model(words, **how)[:, start:-1].argmax(dim=-1)
    return shares_of(best == words[:, start + 1 :], stories)


def five_seeds(model, others, gap=0):
    """Return {kind of ASKED: its share for each seed of data/turned.csv}.

    model: its name there.  others: how many stories come before.  gap: by how many positions the
    later words of a story are moved."""
    asked = [model, str(others), str(gap)]
    rows = [row for row in rows_of(FIGURES) if [row[0], *row[2:4]] == asked]
    shares = zip(RECALLS, zip(*(map(float, row[4:]) for row in rows), strict=True), strict=True)
    return {kind: list(each) for kind, each in shares if kind in ASKED}


def moved(gap, first=20, n=LENGTH):
    """Return the positions of n words (n,), of which those from number first on are moved."""
    positions = torch.arange(n)
    return positions + gap * (positions >= first)


def load_turned():
    """Return the kept model of data/turned.npz, with 2 heads of keys and values."""
    return kept(TurnedStoryteller(2), FILE)
