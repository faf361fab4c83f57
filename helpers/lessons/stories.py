"""Define a small model that writes stories, and the words that it knows; tales.py makes up stories.

Two layers, each of causal attention with four heads and a feed-forward network, learn to predict
the next word.
"""

import re

import numpy as np
import torch
from torch import nn

from ..attention import (
    MultiHeadAttention,
    causal_mask,
    merge_heads,
    next_chances,
    scaled_scores,
    split_heads,
    uniform_causal,
    write_on,
)
from ..attention.data import DATA
from ..errors import InputError

FILE = DATA / "stories.npz"
WIDTH, HEADS, LAYERS = 64, 4, 2
LENGTH = 48  # words; a longer story is cut
NAMES = {"she": ["Anna", "Nora", "Sara"], "he": ["Jack", "Tom", "Ben"]}
OBJECT = {"she": "her", "he": "him"}
ACTS = {
    "apple": "eats", "ball": "throws", "bike": "rides", "book": "reads",
    "drum": "plays", "hat": "wears", "kite": "flies", "letter": "opens",
}  # fmt: skip
SOUNDS = {"bird": "sings", "cat": "purrs", "dog": "barks", "duck": "quacks", "horse": "neighs"}
PLACES = ["barn", "garden", "house", "kitchen", "park", "yard"]
WORDS = [
    *NAMES["she"], *NAMES["he"], *NAMES, *OBJECT.values(), "it", *ACTS, *SOUNDS, *PLACES,
    *ACTS.values(), *SOUNDS.values(), "has", "takes", "is", "goes", "comes", "waits", "finds",
    "follows", "a", "an", "the", "in", "to", "with", "today", "soon", ".",
]  # fmt: skip
NUMBER = {word: k for k, word in enumerate(WORDS)}


class Block(nn.Module):
    """One layer: attention lets each word look at others, then a network works on each word alone.

    attention: a module, (b, n, width) -> (b, n, width).  The output of each of the two parts is
    added to the words.
    """

    def __init__(self, attention, width):
        super().__init__()
        self.norm_1, self.attention = nn.LayerNorm(width), attention
        self.norm_2 = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )

    def forward(self, x, attend=None):
        """Return (b, n, width).  x: (b, n, width).  attend: called instead of the attention."""
        x = x + (attend or self.attention)(self.norm_1(x))
        return x + self.feed_forward(self.norm_2(x))


class Storyteller(nn.Module):
    """model(words) scores every known word as the next one: (b, n) -> (b, n, len(known)).

    attention: a class with the arguments of MultiHeadAttention.  known: the words that the model
    knows, each once.
    """

    def __init__(self, attention=MultiHeadAttention, known=WORDS):
        super().__init__()
        self.known = known
        self.embedding = nn.Embedding(len(known), WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.positions.weight.data = waves()
        self.blocks = nn.Sequential(
            *(Block(attention(WIDTH, WIDTH, LENGTH, 0.0, HEADS), WIDTH) for _ in range(LAYERS))
        )
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(known))

    def forward(self, words):
        x = self.embedding(words) + self.positions.weight[: words.shape[1]]
        return self.out(self.norm(self.blocks(x)))


def look(model, words, change=None):
    """Return (model(words), the weights that were used: a list by layer of (b, heads, n, n)).

    model: a Storyteller, or a model built of the same parts, such as the reader's own of lesson 10.
    Its attention needs W_query, W_key, W_value, out_proj and num_heads.
    change(layer, weights, values): returns what is used instead of the weights and of the
    values (b, heads, n, 16).
    Raises InputError if a part is missing, or if these parts do not give the model's own scores.
    """
    used = []
    try:
        x = model.embedding(words) + model.positions.weight[: words.shape[1]]
        for layer, block in enumerate(model.blocks):
            weights, values = _weights_and_values(block.attention, block.norm_1(x))
            if change:
                weights, values = change(layer, weights, values)
            used.append(weights)
            x = x + block.attention.out_proj(merge_heads(weights @ values))
            x = x + block.feed_forward(block.norm_2(x))
        scores = model.out(model.norm(x))
    except AttributeError as error:
        if not isinstance(error.obj, nn.Module):
            raise
        raise InputError(
            f"{type(error.obj).__name__} has no {error.name}; a picture needs the parts that the "
            "lesson's classes have, under the same names. Rename it in your class, and run again "
            "from there."
        ) from None
    if change is None and not torch.allclose(scores, model(words), atol=1e-3):
        raise InputError(
            "The parts of this model, put together as in the lesson, do not give its scores. So a "
            "picture would show weights that it does not use."
        )
    return scores, used


def _weights_and_values(attention, x):
    queries, keys, values = (
        split_heads(part(x), attention.num_heads)
        for part in (attention.W_query, attention.W_key, attention.W_value)
    )
    scores = scaled_scores(queries, keys).masked_fill(causal_mask(x.shape[1]), -torch.inf)
    return torch.softmax(scores, dim=-1), values


def waves():
    """Return the initial position vectors, (LENGTH, WIDTH): sines and cosines, so that one matrix
    moves them all by a word, and a head soon learns to look two words back.
    Source: Vaswani et al. 2017, section 3.5."""
    speeds = 1.5 * 0.5 ** (torch.arange(WIDTH // 2) / WIDTH * 12)
    angles = torch.arange(LENGTH)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def even(layer, weights, values):
    """Return even weights, as a change: every word looks equally at itself and all words before."""
    return uniform_causal(weights.shape[-1]).expand_as(weights), values


def load_stories():
    """Return the trained Storyteller of data/stories.npz."""
    return kept(Storyteller(), FILE)


def kept(model, file):
    """Return the model with the numbers that a file keeps for it."""
    with np.load(file, allow_pickle=False) as arrays:
        state = {name: torch.from_numpy(arrays[name]).float() for name in arrays.files}
    model.load_state_dict(state, strict=False)  # the file has no masks
    return model.requires_grad_(False)


def split(text):
    """Return the words and the punctuation marks of a text, a list of str."""
    return re.findall(r"\w+(?:['’]\w+)*|[^\w\s]", text)


def read(text, known=WORDS):
    """Return the words of a typed start of a story: read("Anna has a kite.") is 5 str.

    Raises InputError if a word is not known, or if there are no words, or more than LENGTH.
    """
    small, typed = {word.lower(): word for word in known}, split(str(text))
    for word in typed:
        if word.lower() not in small:
            some = " ".join(known[:60])
            raise InputError(f"{word[:30]!r} is not a known word. Known words: {some}")
    if not 1 <= len(typed) <= LENGTH:
        raise InputError(
            f"the start has {len(typed)} words; 1 to {LENGTH} are expected, as in: Anna has a kite."
        )
    return [small[word.lower()] for word in typed]


def numbered(text, known=WORDS):
    """Return the numbers of the words of a text, (1, n)."""
    number = {word: k for k, word in enumerate(known)}
    return torch.tensor([[number[word] for word in read(text, known)]])


@torch.inference_mode()
def next_words(model, text, change=None, temperature=1.0):
    """Return {word: share}: the model's probability of each next word, the most likely first."""
    scores = _scoring(model, change)(numbered(text, model.known))[0]
    shares = next_chances(scores, temperature)
    order = shares.argsort(descending=True).tolist()
    return {model.known[k]: shares[k].item() for k in order}


@torch.inference_mode()
def weights_of(model, text, change=None):
    """Return the weights in every layer and head, (layers, heads, n, n).  change: as in look()."""
    return torch.cat(look(model, numbered(text, model.known), change)[1])


@torch.inference_mode()
def write(model, start, words=20, temperature=1.0, seed=0, change=None):
    """Return start and so many more words, each drawn by its share; at most LENGTH words in all.

    temperature: above 0; a small one picks the most likely words, a large one almost any.
    change: as in look().
    """
    if not temperature > 0:
        raise InputError(f"temperature is {temperature!r}; a number above 0 is expected.")
    numbers = numbered(start, model.known)
    draws = torch.Generator().manual_seed(seed)
    count = min(words, LENGTH - numbers.shape[1])
    numbers = write_on(_scoring(model, change), numbers, count, temperature, draws)
    return spelled(numbers, model.known)


def spelled(numbers, known=WORDS):
    """Return the text of word numbers (1, n)."""
    return re.sub(r" ([.,;:!?])", r"\1", " ".join(known[k] for k in numbers[0].tolist()))


def _scoring(model, change):
    """Return the model, or what scores words as it does with this change."""
    return model if change is None else lambda words: look(model, words, change)[0]
