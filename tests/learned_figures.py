"""Run the code of lessons 13 and 14 with five seeds for what they train.

python tests/learned_figures.py prints each line with a figure: its words, and the figures for
each of the seeds.
python tests/learned_figures.py record writes the training of lesson 13 into data/training.csv.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from execute import NOTEBOOKS
from replay import code_cells, replay, shown_by

from helpers.models import training

LESSON, SECOND = (next(NOTEBOOKS.glob(f"{number}_*.ipynb")) for number in (13, 14))
SEEDS = range(5)
# Seeds of models and their batches. The sentences that test a model have their own, and keep them.
TRAINED = re.compile(r"\b(seed=|torch\.manual_seed\()0\b")
FIGURE = r"\d\.\d+"


def lines(path, seed):
    """Return the lines that a lesson prints with this seed, without live views and checks."""
    names, printed = {"__name__": "__main__"}, []
    for cell in code_cells(path):
        text = shown_by(TRAINED.sub(rf"\g<1>{seed}", cell.source), names)[1]
        if not re.search(r"^(explore|check|progress)\(", cell.source, re.M):
            printed += text.splitlines()
    return printed


def print_figures(path):
    print(path.stem)
    for same in zip(*(lines(path, seed) for seed in SEEDS), strict=True):
        if re.search(FIGURE, same[0]):
            figures = [" ".join(re.findall(FIGURE, line)) for line in same]
            print(f"{re.sub(FIGURE, '_', same[0]):60}", *figures, sep="  ")


def save_training(history):
    """Write a list of Snapshot into data/training.csv, with four decimals."""
    with training.FILE.open("w", encoding="utf-8", newline="\n") as file:
        file.write(
            "# The training of lesson 13, recorded by: python tests/learned_figures.py record\n"
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
        save_training(replay(LESSON)[0]["history"])
    else:
        for path in (LESSON, SECOND):
            print_figures(path)
