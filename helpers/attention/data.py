"""Read the files of data/: csv, with comments."""

import csv
from pathlib import Path

import torch

DATA = Path(__file__).parents[2] / "data"
JOURNEY = DATA / "journey.csv"


def load_journey():
    """Return tokens, inputs: the sentence "Your journey starts with one step", with embeddings.

    tokens: a list of 6 words.  inputs: a new float32 tensor (6, 3).
    Source: Raschka, Build a Large Language Model (From Scratch), section 3.3.1.
    """
    rows = rows_of(JOURNEY)
    numbers = [[float(x) for x in row[1:]] for row in rows]
    return [row[0] for row in rows], torch.tensor(numbers, dtype=torch.float32)


def rows_of(file):
    """Return the rows of a csv file, lists of str, without comments (#) and the names of columns.

    A file that a Windows editor has saved is read, too.
    """
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    return list(csv.reader(line for line in lines if not line.startswith("#")))[1:]
