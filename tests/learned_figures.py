"""The figures of lesson 7 over five seeds, with the lesson's own code.

python tests/learned_figures.py prints a table, a row for each figure and a column for each seed.
python tests/learned_figures.py record writes the training of the lesson into data/training.csv.
"""

import contextlib
import io
import sys
from pathlib import Path

import torch
from execute import NOTEBOOKS
from replay import replay

sys.path.insert(0, str(Path(__file__).parent.parent))
from helpers import training

LESSON = next(NOTEBOOKS.glob("07_*.ipynb"))
SEEDS = range(5)


class Figures:
    """All that the lesson says of one seed: its functions called with another seed."""

    def __init__(self, names, seed):
        self.__dict__.update(names)
        self.seed = seed

    def trained(self, batches, *args, model=None, **kwargs):
        model = model or self.new_model(seed=self.seed)
        with contextlib.redirect_stdout(io.StringIO()):
            self.train(model, batches, *args, **kwargs)
        return model

    def about_pronouns(self):
        test, seed = self.test, self.seed
        before, known = self.new_model(seed=seed), self.batches_of(self.known, seed=seed)
        after = self.trained(known)
        flat = self.trained(self.batches_of(self.known, seed=seed), 300, 0.01, replace=self.even)
        own = after(test.words)[1][0].detach()
        swapped = {0: self.exchange(own, self.last, test.antecedent, test.other)}
        limited = self.trained(self.batches_of(self.allowed, seed=seed, never=self.never_meant))
        asked = self.asked_for
        return {
            "right before": self.right(before, test, test.answer),
            "right after": self.right(after, test, test.answer),
            "weight on the antecedent before": self.looks(before, test, test.antecedent),
            "weight on the antecedent after": self.looks(after, test, test.antecedent),
            "exchanged: the other noun's colour": self.right(
                after, test, test.other_answer, swapped
            ),
            "even weights": self.right(flat, test, test.answer, self.even),
            "the most recent noun": (test.antecedent == 4).float().mean().item(),
            "nouns that were never antecedents": self.right(limited, asked, asked.answer),
        }

    def about_names(self):
        figures = {}
        for name, replace in {"attention": None, "even weights": self.even}.items():
            model = self.new_model(seed=self.seed, answers=len(self.language.words))
            batches = self.batches_of(self.known, seed=self.seed, ask=self.noun)
            self.trained(batches, 300, 0.01, replace=replace, model=model)
            for pairs, s in {"known pairs": self.new, "unseen pairs": self.test}.items():
                share = self.right(model, s, self.noun(s), replace)
                figures[f"naming the noun, {name}, {pairs}"] = share
        return figures

    def about_apart(self):
        model = self.new_model(seed=self.seed, layers=2, length=10)
        self.trained(self.batches_apart(seed=self.seed), 400, 0.01, model=model)
        s = self.test_apart
        return {
            "colours apart, two layers: right": self.right(model, s, s.answer),
            "weight on the antecedent": self.looks(model, s, self.meant, 1),
            "weight on its colour": self.looks(model, s, self.meant - 1, 1),
        }

    def about_wrong(self):
        figures = {}
        for mistake in self.mistakes:
            torch.manual_seed(self.seed)
            model = self.Wrong(self.made_wrongly("multi_head", mistake))
            self.trained(self.batches_of(self.known, seed=self.seed), 150, 0.01, model=model)
            figures[f"mistake: {mistake}"] = self.right(model, self.test, self.test.answer)
        return figures

    def about_copying(self):
        figures = {}
        for count in (1, 2):
            model = self.new_model(
                seed=self.seed, answers=16, vocabulary=16, layers=count, length=16, causal=True
            )
            self.trained(self.batches_of_strings(self.seed), 400, 0.01, model=model)
            share, weight, _ = self.copied(model)
            figures[f"copying, layers: {count}"] = share
        figures["weight on what follows the last copy"] = weight
        for k in (0, 1):
            share = self.copied(model, {k: self.even_past})[0]
            figures[f"copying, layer {k + 1} even"] = share
        return figures

    def about_order(self):
        figures = {}
        for name, kind in self.kinds.items():
            model = self.new_model(seed=self.seed, answers=12, vocabulary=14, **kind)
            self.trained(self.batches_of_duels(self.seed), rate=0.01, model=model)
            guesses = model(self.asked_duels)[0][:, -1].argmax(dim=-1)
            share = (guesses == self.winners[:, -1]).float().mean().item()
            figures[f"who bites whom, {name}"] = share
        return figures

    def about_all(self):
        parts = (
            self.about_pronouns,
            self.about_names,
            self.about_apart,
            self.about_wrong,
            self.about_copying,
            self.about_order,
        )
        return {name: value for part in parts for name, value in part().items()}


def save_training(history):
    """Write a list of Snapshot into data/training.csv, with four decimals."""
    with training.FILE.open("w", encoding="utf-8", newline="\n") as file:
        file.write(
            "# The training of lesson 7, recorded by: python tests/learned_figures.py record\n"
            "# step: steps done.  loss: of the next sentences.  parameter: its name in the model;\n"
            "# a line for each of its rows.  numbers: that row.\n"
            "step,loss,parameter,numbers\n"
        )
        for one in history:
            for name, rows in one.state.items():
                for row in rows.tolist():
                    numbers = ",".join(f"{x:.4f}" for x in row)
                    file.write(f"{one.step},{one.loss:.4f},{name},{numbers}\n")


def print_table(names):
    columns = [Figures(names, seed).about_all() for seed in SEEDS]
    print(f"{'seed':44}" + "".join(f"{seed:7}" for seed in SEEDS))
    for name in columns[0]:
        print(f"{name:44}" + "".join(f"{column[name]:7.3f}" for column in columns))


if __name__ == "__main__":
    names = replay(LESSON)[0]
    if sys.argv[1:] == ["record"]:
        save_training(names["history"])
    else:
        print_table(names)
