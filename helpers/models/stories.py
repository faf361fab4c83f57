"""A small model that writes stories, and the language of its stories.

Two layers, each of causal attention with four heads and a feed-forward network, learn to predict
the next word.
"""

import difflib
import random
import re

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ..attention import MultiHeadAttention, merge_heads, split_heads, uniform_causal
from ..attention.data import DATA
from ..attention.fits import expect_sizes
from ..errors import InputError
from .tales import LENGTH, WORDS, Story
from .training import Adam, counted

FILE = DATA / "stories.npz"
WIDTH, HEADS, LAYERS = 64, 4, 2
STEPS, RATE, BATCH = 2400, 0.005, 32
SAMPLES = 0, 50, 200, 700  # steps after which the training shows what the model writes
NUMBER = {word: k for k, word in enumerate(WORDS)}


class Block(nn.Module):
    """One layer: attention lets each word look at others, then a network works on each word alone.

    attention: a module, (b, n, width) -> (b, n, width).  What each of the two finds is added to
    the words.
    """

    def __init__(self, attention, width):
        super().__init__()
        self.norm_1, self.attention = nn.LayerNorm(width), attention
        self.norm_2 = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )

    def forward(self, x, attend=None):
        """x: (b, n, width).  attend: called in place of the attention."""
        x = x + (attend or self.attention)(self.norm_1(x))
        return x + self.feed_forward(self.norm_2(x))


class Storyteller(nn.Module):
    """model(words) scores every known word as the next one: (b, n) -> (b, n, len(WORDS)).

    attention: a class with the arguments of MultiHeadAttention; look() needs its weights, W_value,
    num_heads and out_proj.
    """

    def __init__(self, attention=MultiHeadAttention):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.positions.weight.data = waves()
        self.blocks = nn.ModuleList(
            Block(attention(WIDTH, WIDTH, LENGTH, 0.0, HEADS), WIDTH) for _ in range(LAYERS)
        )
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(WORDS))

    def forward(self, words):
        return self._scores(words, lambda layer, attention: None)

    def look(self, words, change=None):
        """Returns (model(words), the weights that were used: a list by layer of (b, heads, n, n)).

        change(layer, weights, values): what is used in place of weights and of values,
        (b, heads, n, 16).
        """
        used = []

        def changed(layer, attention):
            def attend(x):
                weights = attention.weights(x)
                values = split_heads(attention.W_value(x), attention.num_heads)
                if change:
                    weights, values = change(layer, weights, values)
                used.append(weights)
                return attention.out_proj(merge_heads(weights @ values))

            return attend

        return self._scores(words, changed), used

    def _scores(self, words, instead):
        x = self.embedding(words) + self.positions.weight[: words.shape[1]]
        for layer, block in enumerate(self.blocks):
            x = block(x, instead(layer, block.attention))
        return self.out(self.norm(x))


def waves():
    """Where the position vectors start before they learn, (LENGTH, WIDTH): sines and cosines, so
    that one matrix moves them all by a word, and a head soon learns to look two words back.
    Source: Vaswani et al. 2017, section 3.5."""
    speeds = 1.5 * 0.5 ** (torch.arange(WIDTH // 2) / WIDTH * 12)
    angles = torch.arange(LENGTH)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def even(layer, weights, values):
    """A change: every word looks at itself and at all words before it alike."""
    return uniform_causal(weights.shape[-1]).expand_as(weights), values


def draw_stories(draws, count=BATCH):
    """count stories, (count, LENGTH) of word numbers.  draws: random.Random."""
    return torch.tensor([[NUMBER[word] for word in Story(draws).words] for _ in range(count)])


def story_loss(model, stories):
    """The mean loss of predicting each next word of stories (b, n)."""
    return F.cross_entropy(model(stories[:, :-1]).mT, stories[:, 1:])


def train(model, seed=0, steps=STEPS, start="today"):
    """Trains a Storyteller, for about a minute, and prints what it writes on the way."""
    adam, draws, ends = Adam(model), random.Random(seed), [*SAMPLES, steps]
    for begin, end in zip(ends, [*ends[1:], None], strict=True):
        if begin > steps:
            continue
        with torch.inference_mode():
            loss = story_loss(model, draw_stories(random.Random(-1), 64)).item()
        print(f"after {begin} steps, loss {loss:.2f}: {write(model, start, words=36)}")
        for step in counted(min(end or 0, steps) - begin) if begin < steps else ():
            step += begin
            rate = RATE * min(1, (step + 1) / 50) * (1 - step / steps)
            adam.step(story_loss(model, draw_stories(draws)), rate)
    return model


def save_stories(model):
    """Keeps the numbers of a trained Storyteller in data/stories.npz, 16 bits each."""
    numbers = {name: p.detach().numpy().astype(np.float16) for name, p in model.named_parameters()}
    np.savez_compressed(FILE, **numbers)


def load_stories():
    """The Storyteller of data/stories.npz, trained."""
    model = Storyteller()
    try:
        with np.load(FILE, allow_pickle=False) as kept:
            state = {name: torch.from_numpy(kept[name]).float() for name in kept.files}
        missing, _ = model.load_state_dict(state, strict=False)
        if {*missing} - {name for name, _ in model.named_buffers()}:
            raise ValueError(f"there is no {missing[0]}")
    except Exception as error:  # a damaged file raises whatever its reader meets first
        raise InputError(
            f"data/stories.npz does not hold a trained model ({str(error)[:80]}). "
            "Restore it with: git checkout data/stories.npz"
        ) from None
    return model.requires_grad_(False)


def read(text):
    """The words of a typed start of a story: read("Anna has a kite.") is 5 str.

    Raises InputError where a word is unknown, or there is none, or more than LENGTH.
    """
    known = {word.lower(): word for word in WORDS}
    typed = re.findall(r"\w+|[^\w\s]", str(text))
    for word in typed:
        if word.lower() not in known:
            near = difflib.get_close_matches(word.lower(), known, n=1)
            closest = f" Did you mean {known[near[0]]!r}?" if near else ""
            raise InputError(
                f"{word[:30]!r} is no word of the stories.{closest} They have: {' '.join(WORDS)}"
            )
    if not 1 <= len(typed) <= LENGTH:
        raise InputError(
            f"the start has {len(typed)} words; 1 to {LENGTH} are expected, as in: Anna has a kite."
        )
    return [known[word.lower()] for word in typed]


def numbered(text):
    """The numbers of the words of a text, (1, n)."""
    return torch.tensor([[NUMBER[word] for word in read(text)]])


@torch.inference_mode()
def next_words(model, text, change=None, temperature=1.0):
    """{word: share}: how likely the model finds each word after a text, the likeliest first."""
    shares = _shares(model, numbered(text), change, temperature)
    order = shares.argsort(descending=True).tolist()
    return {WORDS[k]: shares[k].item() for k in order}


@torch.inference_mode()
def weights_of(model, text, change=None):
    """The weights in every layer and head, (layers, heads, n, n).  change: as in look()."""
    return torch.cat(model.look(numbered(text), change)[1])


@torch.inference_mode()
def write(model, start, words=20, temperature=1.0, seed=0, change=None):
    """start, and as many words more, each drawn by its share; at most LENGTH words in all.

    temperature: above 0; a small one takes the likeliest words, a large one nearly any.
    change: as in look().
    """
    expect_sizes(words=words)
    if not temperature > 0:
        raise InputError(f"temperature is {temperature!r}; a number above 0 is expected.")
    numbers, draws = numbered(start), torch.Generator().manual_seed(seed)
    for _ in range(min(words, LENGTH - numbers.shape[1])):
        shares = _shares(model, numbers, change, temperature)
        numbers = torch.cat([numbers, shares.multinomial(1, generator=draws)[None]], dim=1)
    return " ".join(WORDS[k] for k in numbers[0].tolist()).replace(" .", ".")


def _shares(model, numbers, change, temperature):
    scores = model.look(numbers, change)[0] if change else model(numbers)
    return torch.softmax(scores[0, -1] / temperature, dim=-1)
