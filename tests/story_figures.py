"""Compute the figures of the story model, over five seeds.

python tests/story_figures.py prints them: first for the kept state, then for each seed.
python tests/story_figures.py record trains one seed, prints what it writes, and keeps it in
data/stories.npz.
"""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
from replay import code_cells

from helpers.attention import exchange
from helpers.models.stories import (
    HEADS,
    LAYERS,
    NUMBER,
    Storyteller,
    even,
    even_heads,
    load_stories,
    recalled,
    save_stories,
    story_loss,
    train,
)  # fmt: skip
from helpers.models.tales import ACTS, RECALLS, Story

SEEDS, KEPT, COUNT = range(5), 2, 300
LESSON_6 = Path(__file__).parent.parent / "notebooks" / "06_causal_attention.ipynb"
ALL_HEADS = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
OTHER = {"she": "he", "he": "she"}


class Measured:
    """Stories that were drawn for no training, and measures of what a model does with them."""

    def __init__(self):
        draws = random.Random("new")
        self.stories = [Story(draws) for _ in range(COUNT)]
        self.words = torch.tensor([[NUMBER[w] for w in s.words] for s in self.stories])
        # (story, position before the word, kind) of each word that can be known
        self.asked = [
            (b, at - 1, kind)
            for b, story in enumerate(self.stories)
            for at, kind in story.recalls.items()
        ]

    def floor(self):
        """Return the loss of someone who knows the language: only what nobody can know is left."""
        return sum(sum(s.surprise[1:]) for s in self.stories) / self.words[:, 1:].numel()

    def acts(self):
        """Return per act the story, and the places of she or he, own thing, other's: (4, m)."""
        rows = []
        for b, at, kind in self.asked:
            if kind == "act":
                places, who = self.stories[b].at, self.stories[b].words[at]
                rows.append((b, at, places[who], places[OTHER[who]]))
        return torch.tensor(rows).T

    @torch.inference_mode()
    def turned(self, model, heads):
        """Swap what she and he give their own thing and the other's, in these (layer, head).
        Returns the shares of answers that fit their own thing, and that fit the other's."""
        rows, at, own, others = self.acts()

        def change(layer, weights, values):
            weights = weights.clone()
            for head in (head for k, head in heads if k == layer):
                weights[:, head] = exchange(weights[:, head], at, own, others)
            return weights, values

        words, sentences = self.words[rows], torch.arange(len(rows))
        best = model.look(words, change)[0].argmax(dim=-1)[sentences, at]
        acts = {NUMBER[noun]: NUMBER[act] for noun, act in ACTS.items()}
        return [
            sum(acts[noun] == one for noun, one in zip(nouns, best.tolist(), strict=True)) / len(at)
            for nouns in (words[sentences, own].tolist(), words[sentences, others].tolist())
        ]

    @torch.inference_mode()
    def looks(self, model):
        """Return {(layer, head): mean weight of she and he on their own thing, on the other's,
        and of it on the animal}."""
        rows, at, own, others = self.acts()
        its = [(b, at, self.stories[b].at["it"]) for b, at, kind in self.asked if kind == "sound"]
        used = model.look(self.words)[1]
        return {
            (layer, head): [
                used[layer][b, head, query, key].mean().item()
                for b, query, key in ((rows, at, own), (rows, at, others), torch.tensor(its).T)
            ]
            for layer, head in ALL_HEADS
        }


def line(name, shares):
    """Print a name, and shares with two decimals."""
    print(f"  {name:34}", *(f"{share:.2f}" for share in shares))


def print_figures(model, measured):
    """Print everything that is claimed about one trained model."""
    with torch.inference_mode():
        loss = story_loss(model, measured.words).item()
    print(f"  loss {loss:.3f}, floor {measured.floor():.3f}")
    print("  right recalls:", *RECALLS)
    line("trained", recalled(model, None, COUNT).values())
    line("all weights even", recalled(model, even, COUNT).values())
    for layer in range(LAYERS):
        heads = [head for head in ALL_HEADS if head[0] == layer]
        line(f"layer {layer + 1} even", recalled(model, even_heads(*heads), COUNT).values())
    print("  head: she at her thing, the other's, it at the animal | recalls with it alone even",
          "| acts with its two weights exchanged: own, other's")  # fmt: skip
    looks = measured.looks(model)
    for head in ALL_HEADS:
        one = [looks[head], recalled(model, even_heads(head), COUNT).values()]
        one.append(measured.turned(model, [head]))
        shown = " | ".join(" ".join(f"{x:.2f}" for x in part) for part in one)
        print(f"  layer {head[0] + 1} head {head[1] + 1}:  {shown}")
    last = [head for head in ALL_HEADS if head[0] == LAYERS - 1]
    line("exchanged in the whole last layer", measured.turned(model, last))


def print_seed(seed, measured):
    """Train with one seed, and print the figures."""
    torch.manual_seed(seed)
    model = Storyteller()
    print(f"seed {seed}")
    line("before training", recalled(model, None, COUNT).values())
    start = time.process_time()
    train(model, seed)
    print(f"  {time.process_time() - start:.0f} s of one core")
    print_figures(model, measured)


def print_masks():
    """Run the training of lesson 6 with and without a mask, by its own code."""
    names = {}
    for cell in code_cells(LESSON_6):
        if "import sys" in cell.source or "class SeesAll" in cell.source:
            exec(cell.source, names)
    for seed in SEEDS:
        for name in "SeesAll", "MultiHeadAttention":
            print(f"lesson 6, seed {seed}, {name}", end=": ")
            names["trained"](names[name], seed)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:] == ["record"]:
        torch.manual_seed(KEPT)
        save_stories(train(Storyteller(), KEPT))
    else:
        measured = Measured()
        print("the kept state")
        print_figures(load_stories(), measured)
        for seed in SEEDS:
            print_seed(seed, measured)
        print_masks()
