"""What lesson 10 tries with a model that writes: swap two weights, or train it on another text."""

import textwrap
from collections import Counter
from pathlib import Path

import torch

from ...attention.data import DATA, rows_of
from ...errors import InputError
from ..lesson_09.recalls import new_stories
from ..lesson_13.functions import exchange
from ..stories import ACTS, LENGTH, NUMBER, WORDS, look, split
from ..tales import BATCH

LINE = 72  # characters of a printed line: a projector shows no more
RARE = "…"  # in a text of your own: any word too rare to be learned
LEFT_OUT = DATA / "left_out.csv"


def luck(count=300):
    """Return the mean loss, on new stories, of a reader who knows the language, a float: what is
    left is luck, and on average no model can beat it."""
    stories, words = new_stories(count)
    return sum(sum(story.surprise[1:]) for story in stories) / words[:, 1:].numel()


def five_seeds():
    """Return what models learned that were trained without a part: {part that is missing:
    {seed: shares of right words, in the order of RECALLS}}."""
    found = {}
    for part, seed, *shares in rows_of(LEFT_OUT):
        found.setdefault(part, {})[int(seed)] = [float(share) for share in shares]
    return found


def acts(stories):
    """Return, for each act: its story, and the positions of she or he, of the own thing, and of
    the other's thing, (4, m)."""
    rows = []
    for number, story in enumerate(stories):
        for at in (at - 1 for at, kind in story.recalls.items() if kind == "act"):
            who = story.words[at]
            rows.append((number, at, story.at[who], story.at["he" if who == "she" else "she"]))
    return torch.tensor(rows).T


@torch.inference_mode()
def swapped(model, heads, count=300):
    """Swap the weights that she and he give their own thing and the other's, in new stories.

    heads: where, each a (layer, head) from 0.
    Returns the shares of acts that then fit their own thing, and that fit the other's.
    """
    stories, words = new_stories(count)
    rows, at, own, others = acts(stories)
    words = words[rows]

    def change(layer, weights, values):
        weights = weights.clone()
        for head in (head for k, head in heads if k == layer):
            weights[:, head] = exchange(weights[:, head], at, own, others)
        return weights, values

    sentences = torch.arange(len(words))
    best = look(model, words, change)[0][sentences, at].argmax(dim=-1)
    act = torch.tensor([NUMBER.get(ACTS.get(word), -1) for word in WORDS])
    return [(act[words[sentences, thing]] == best).float().mean().item() for thing in (own, others)]


def own_text(path, most=300):
    """Read a text file and return (the known words, the text as their numbers (n,)).

    most: how many different words are kept, the most frequent ones; RARE replaces the others.
    Raises InputError if the text is shorter than four stories.
    """
    said = split(Path(path).read_text(encoding="utf-8", errors="replace").lower())
    if len(said) < 4 * LENGTH:
        raise InputError(f"the text has {len(said)} words; at least {4 * LENGTH} are expected.")
    known = [RARE, *(word for word, _ in Counter(said).most_common(most))]
    number = {word: k for k, word in enumerate(known)}
    return known, torch.tensor([number.get(word, 0) for word in said])


def draw_passages(text, draws, count=BATCH):
    """Return count passages of LENGTH words from anywhere in a text (n,): (count, LENGTH)."""
    starts = (draws.randrange(len(text) - LENGTH + 1) for _ in range(count))
    return torch.stack([text[start : start + LENGTH] for start in starts])


def tell(*parts):
    """Print texts one after another, in lines that break between words."""
    print(textwrap.fill(" ".join(map(str, parts)), LINE, subsequent_indent="    "))
