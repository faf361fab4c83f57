"""Repeat, with the seeds 0 to 19, what lessons 13 to 15 say about trained models.

python tests/scripts/learned_figures.py prints the figures; it takes a few minutes.
python tests/scripts/learned_figures.py record writes the training of lesson 13 into
data/training.csv.
"""

import contextlib
import io
import os
import re
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from execute import NOTEBOOKS
from replay import code_cells, replay, shown_by

from helpers.lessons.lesson_13.functions import erase
from helpers.lessons.lesson_13.snapshots import FILE
from helpers.lessons.lesson_15 import small

LESSON, SECOND, THIRD = (next(NOTEBOOKS.glob(f"{number}_*.ipynb")) for number in (13, 14, 15))
SEEDS = range(20)
LEARNED = 0.95  # of the answers are right


def names_of(path):
    """Return the names of a lesson's cells that import, define, or draw data, and do not train."""
    names, wanted = {"__name__": "__main__"}, r"^(import|class|def|language|pairs|letters)\b"
    os.chdir(NOTEBOOKS)
    for cell in code_cells(path):
        if re.search(wanted, cell.source, re.M) and not re.search(
            r"^(explore|check|progress)\(", cell.source, re.M
        ):
            shown_by(cell.source, names)
    return names


def quietly(call, *args, **kwargs):
    with contextlib.redirect_stdout(io.StringIO()):  # its bar
        return call(*args, **kwargs)


def spread(what, numbers):
    x = torch.tensor(numbers)
    ends = f"{x.min():.2f} to {x.max():.2f}, mean {x.mean():.2f}, sd {x.std():.2f}"
    print(f"{what}: {ends}; below one half: {int((x < 0.5).sum())} of {len(x)}", flush=True)


def new_nouns():
    """Lesson 13: the answers about nouns that no pronoun referred to in training, and about nouns
    that never occurred there."""
    the = names_of(LESSON)
    trained = {"never referred to": the["never_referred_to"], "never seen": the["never_seen"]}
    found = {how: [] for how in trained}
    for seed in SEEDS:
        for how, train in trained.items():
            model = quietly(train, seed)
            found[how].append(the["right"](model, the["new"], the["new"].answer))
    for how, shares in found.items():
        spread(how, shares)
    pairs = zip(*found.values(), strict=True)
    print("never seen is higher in", sum(seen > referred for referred, seen in pairs), "seeds")


def erased():
    """Lesson 13: the answers without the weight on the right noun."""
    the, found = names_of(LESSON), {"the other colour": [], "the right colour": []}
    test, last = the["test"], torch.full((1000,), 7)
    for seed in SEEDS:
        model = the["new_model"](seed=seed)
        quietly(the["train"], model, the["known"], seed=seed)
        with torch.inference_mode():
            weights = erase(model(test.words)[1], last, test.antecedent)
        for answers, shares in zip((test.other_answer, test.answer), found.values(), strict=True):
            shares.append(the["right"](model, test, answers, weights))
    for what, shares in found.items():
        spread(what, shares)


def needed_rows(the):
    """Lesson 14: which seeds learn, and what is left when rows of layer 1 are even."""
    even, words, answers = torch.full((10, 10), 1 / 10), the["test_words"], the["test_answers"]
    form, rows = dict(answers=8, vocabulary=38, length=10), [[1], [2], [5], [6], [9], [1, 5]]
    for seed in SEEDS:
        model = the["new_model"](seed, **form)
        quietly(the["train"], model, the["draw_apart"], seed)
        if the["right"](model, words, answers) <= LEARNED:
            continue
        changes = [the["with_even"](1, even, one) for one in rows]
        left = [the["right"](model, words, answers, change) for change in changes]
        print(f"seed {seed:2}", *(f"{row} {x:.2f}" for row, x in zip(rows, left, strict=True)))


def one_layer(the):
    """Lesson 14: one layer against the letter just before."""
    before, strings, followers = the["strings"].roll(1, dims=1), the["strings"], the["followers"]
    print(f"the letter just before: {(before == followers)[followers >= 0].float().mean():.2f}")
    for steps in (400, 800):
        shares = []
        for seed in SEEDS:
            model = the["new_model"](
                seed, layers=1, answers=16, vocabulary=16, length=16, causal=True
            )
            quietly(the["train"], model, the["draw_strings"], seed, "", steps)
            shares.append(the["right"](model, strings, followers))
        spread(f"one layer, {steps} steps", shares)


def read_and_needed():
    """Lesson 15: the counts of the four weights of a model that copies."""
    the = replay(THIRD)[0]
    for seed in SEEDS:
        the["copier"] = small.trained_copier(seed)
        runs = (2, the["after"]), (1, [6] * 64), (2, the["after"], the["two_heads"])
        print(f"seed {seed:2} changed, read, needed:", end="")
        for layer, keys, *more in runs:
            four = the["runs"](the["copier"], the["strings"], layer, 7, keys, *more)
            print("", [int((four[2] != four[0]).sum()), *the["counts"](*four).tolist()], end="")
        print(flush=True)


def save_training(history):
    """Write a list of Snapshot into data/training.csv, with four decimals."""
    with FILE.open("w", encoding="utf-8", newline="\n") as file:
        file.write(
            "# The training of lesson 13, recorded by: "
            "python tests/scripts/learned_figures.py record\n"
            "# step: steps done.  loss: of the next sentences.  parameter: its name in the model;\n"
            "# a line for each of its rows.  numbers: that row.\n"
            "step,loss,parameter,numbers\n"
        )
        for one in history:
            for name, rows in one.state.items():
                for row in rows.tolist():
                    numbers = ",".join(f"{x:.4f}" for x in row)
                    file.write(f"{one.step},{one.loss:.4f},{name},{numbers}\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        save_training(replay(LESSON, quickly=False)[0]["history"])
    else:
        new_nouns()
        erased()
        the = names_of(SECOND)
        needed_rows(the)
        one_layer(the)
        read_and_needed()
