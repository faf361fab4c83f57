"""Compute the figures of the story model, over five seeds.

python tests/scripts/story_figures.py prints them: first for the kept state, then for each seed of
lesson 10's own training, with the lesson's class and with one that only rounds differently.
python tests/scripts/story_figures.py record trains longer with one seed, and keeps the model in
data/stories.npz.
python tests/scripts/story_figures.py turned does the same for lesson 16: it keeps a model with
turned positions in data/turned.npz, and writes what models of five seeds remember after other
stories into data/turned.csv.
python tests/scripts/story_figures.py parts trains without one of the parts, and keeps what that
model gets right in data/left_out.csv.
"""

import contextlib
import random
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import torch
from replay import code_cells
from torch.nn import functional as F

from helpers.attention import merge_heads, split_heads
from helpers.lessons.lesson_09.recalls import recalled
from helpers.lessons.lesson_10.trials import (
    LEFT_OUT,
    draw_passages,
    five_seeds,
    own_text,
    swapped,
)
from helpers.lessons.lesson_16 import turned
from helpers.lessons.stories import (
    FILE,
    HEADS,
    LAYERS,
    LENGTH,
    WORDS,
    even,
    load_stories,
)
from helpers.lessons.tales import RECALLS, draw_stories, story_loss

SEEDS, KEPT, COUNT = range(5), 2, 300
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSON_6 = NOTEBOOKS / "06_causal_attention.ipynb"
LESSON_10 = NOTEBOOKS / "10_a_block_that_writes.ipynb"


def lesson_10():
    """Return the names that lesson 10's trainings need, made by its own code."""
    names = {}
    for cell in code_cells(LESSON_10):
        if re.search(r"^(predict|explore)\(|= train\(|^log\.", cell.source, re.M):
            continue
        with contextlib.redirect_stdout(None):
            exec(cell.source, names)
        if "def without(" in cell.source:
            return names


def rounds_differently(cls):
    """Return a subclass of lesson 10's class that lets PyTorch's function compute the contexts: the
    same numbers but for their rounding, as a reader's own class gives them."""

    class Fused(cls):
        def forward(self, x):
            layers = self.W_query, self.W_key, self.W_value
            q, k, v = (split_heads(layer(x), self.num_heads) for layer in layers)
            contexts = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out_proj(merge_heads(contexts))

    return Fused


def line(name, shares):
    """Print a name, and shares with two decimals."""
    print(f"  {name:34}", *(f"{share:.2f}" for share in shares))


def print_figures(model):
    """Print everything that is claimed about one trained model."""
    print("  right recalls:", *RECALLS)
    line("trained", recalled(model, None, COUNT).values())
    line("all weights even", recalled(model, even, COUNT).values())
    last = [(LAYERS - 1, head) for head in range(HEADS)]
    line("exchanged in the whole last layer", swapped(model, last, COUNT))


def print_seed(seed, lesson):
    """Train lesson 10's model with one seed, by its own code, and print the figures."""
    start = time.process_time()
    model, log = lesson["train"](
        lesson["new_model"](WORDS, seed), lesson["sixteen_stories"], "today", seed=seed
    )
    print(
        f"seed {seed}, {lesson['Mine'].__name__}: {time.process_time() - start:.0f} s of one core"
    )
    for step, loss, text in log.texts:
        print(f"  after {step} steps, loss {loss:.2f}: {text}")
    print_figures(model)


def record_parts(lesson):
    """Train lesson 10's model without each part that it leaves out, with each seed; keep the shares
    of right words."""
    rows = []
    for part in "nothing", "positions", "heads":
        for seed in SEEDS:
            untrained = lesson["without"](part, seed)
            model, _ = lesson["train"](untrained, lesson["sixteen_stories"], "today", seed=seed)
            shares = recalled(model, None, COUNT).values()
            rows.append([part, str(seed), *(f"{share:.2f}" for share in shares)])
            print(*rows[-1], flush=True)
    head = "# Of models of lesson 10, trained without a part: the share of right words, by kind.\n"
    head += "# Recorded by: python tests/scripts/story_figures.py parts\n"
    lines = [",".join(row) for row in (("part", "seed", *RECALLS), *rows)]
    LEFT_OUT.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def claims_of_parts(figures):
    """Test what lesson 10 says of models that were trained without a part, over five seeds.

    figures: as five_seeds() returns them."""
    of = {
        part: dict(zip(RECALLS, zip(*seeds.values(), strict=True), strict=True))
        for part, seeds in figures.items()
    }
    assert {part: [*seeds] for part, seeds in figures.items()} == {
        part: [*SEEDS] for part in ("nothing", "positions", "heads")
    }
    for part in of:
        assert max(of[part]["where"]) < 0.7, "most miss many places"
        assert min(of[part]["sound"]) == 1
    where = [sum(of[part]["where"]) / len(SEEDS) for part in ("nothing", "positions")]
    assert abs(where[0] - where[1]) < 0.1, "it depends more on the seed than on the positions"
    for kind in "act", "who":
        assert min(of["positions"][kind]) >= 0.99, "positions are not needed"
    assert min(of["heads"]["act"]) == 1, "one head is enough for the act"
    assert sorted(of["heads"]["who"])[1] == 1 > min(of["heads"]["who"]), "one of five misses some"


def print_later_words():
    """Train lesson 6's model that sees later words, by the lesson's own code."""
    names = {}
    for cell in code_cells(LESSON_6):
        if "import sys" in cell.source or "class SeesAll" in cell.source:
            exec(cell.source, names)
    for seed in SEEDS:
        loss = story_loss(names["train_to_see_all"](seed), draw_stories(random.Random(0), 100))
        print(f"lesson 6, later words visible, seed {seed}: loss {loss:.3f}")
        assert loss < 0.1


def print_own_texts(lesson):
    """Print after how many steps the loss on the unseen quarter of two texts is lowest."""
    for path, start, steps in (("data/house.txt", "this is the", 200), ("README.md", "the", 400)):
        known, words = own_text(NOTEBOOKS.parent / path, most=300)
        cut = len(words) * 3 // 4
        unseen = draw_passages(words[cut:], random.Random(1), 16)
        _, log = lesson["train"](
            lesson["new_model"](known),
            lambda dice, words=words[:cut]: draw_passages(words, dice, 16),
            start, steps, unseen,
        )  # fmt: skip
        print(f"{path}, {len(words)} words: (step, loss on unseen text)", log.unseen[::2])
        print(f"  loss at the end {log.losses[-1]:.2f}")


def keep(model, file):
    """Write the trained numbers of a model, in half precision."""
    numbers = {name: p.detach().half().numpy() for name, p in model.named_parameters()}
    np.savez_compressed(file, **numbers)


def no_positions():
    """Return lesson 10's model without positions, which reads on after 48 words."""
    model = turned.LastPositionAgain()
    model.positions.weight.requires_grad_(False).zero_()
    return model


TURNED = {
    "table": turned.LastPositionAgain,
    "no positions": no_positions,
    "turned": turned.TurnedStoryteller,
    "turned, shared": lambda: turned.TurnedStoryteller(2),
}


def seeded(make, seed):
    torch.manual_seed(seed)
    return make()


def turned_rows(lesson):
    """Train the models of lesson 16 as lesson 10 does, and yield the lines of data/turned.csv."""
    for seed in SEEDS:
        for name, make in TURNED.items():
            model = seeded(make, seed)
            lesson["train"](model, lesson["sixteen_stories"], "today", seed=seed)
            tried = [(0, 0, {}), (1, 0, {})]
            if name == "turned, shared":  # the kind of the kept model
                tried.append((0, LENGTH, dict(positions=turned.moved(LENGTH))))
            for others, gap, how in tried:
                shares = turned.recalls_after(model, others, COUNT, **how).values()
                yield ",".join([f'"{name}",{seed},{others},{gap}', *(f"{x:.3f}" for x in shares)])


if __name__ == "__main__":
    torch.set_num_threads(1)
    own = lesson_10()
    if sys.argv[1:] == ["record"]:
        untrained = own["new_model"](WORDS, KEPT)
        keep(own["train"](untrained, draw_stories, "today", 2400, seed=KEPT)[0], FILE)
    elif sys.argv[1:] == ["turned"]:
        untrained = seeded(TURNED["turned, shared"], KEPT)
        keep(own["train"](untrained, draw_stories, "today", 2400, seed=KEPT)[0], turned.FILE)
        head = turned.FIGURES.read_text(encoding="utf-8").split("\nmodel,")[0]
        rows = [head, ",".join(["model", "seed", "others", "gap", *RECALLS]), *turned_rows(own)]
        turned.FIGURES.write_text("\n".join(rows) + "\n", encoding="utf-8")
    elif sys.argv[1:] == ["parts"]:
        record_parts(own)
        claims_of_parts(five_seeds())
    else:
        print("the kept state")
        print_figures(load_stories())
        for cls in own["Mine"], rounds_differently(own["Mine"]):
            own["Mine"] = cls
            for seed in SEEDS:
                print_seed(seed, own)
        print_own_texts(own)
        print_later_words()
