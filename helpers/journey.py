"""The sentence of the course."""

import csv
from pathlib import Path

import torch

from .guard import InputError

FILE = Path(__file__).parent.parent / "data" / "journey.csv"


def load_journey():
    """The six words of "Your journey starts with one step" and their embeddings.

    Returns (tokens, inputs): a list of 6 words and a new float32 tensor (6, 3).
    Raises InputError if data/journey.csv is missing or damaged.
    Source: Raschka, Build a Large Language Model (From Scratch), section 3.3.1.
    """
    advice = "Restore it with: git checkout data/journey.csv"
    try:
        lines = FILE.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"data/journey.csv cannot be read ({type(error).__name__}). {advice}"
        ) from None
    try:
        rows = list(csv.reader(line for line in lines if not line.startswith("#")))[1:]
        numbers = [[float(x) for x in row[1:]] for row in rows]
        inputs = torch.tensor(numbers, dtype=torch.float32)
        if inputs.shape != (6, 3):
            raise ValueError(f"shape {tuple(inputs.shape)}")
        if not inputs.isfinite().all():
            raise ValueError("a number is not finite")
    except (ValueError, csv.Error) as error:
        raise InputError(
            "data/journey.csv should hold 6 words with 3 numbers each "
            f"({str(error)[:80]}). {advice}"
        ) from None
    return [row[0] for row in rows], inputs
