"""The sentence of the course."""

from pathlib import Path

import torch

from .data import rows_of

FILE = Path(__file__).parent.parent / "data" / "journey.csv"


def load_journey():
    """The six words of "Your journey starts with one step" and their embeddings.

    Returns (tokens, inputs): a list of 6 words and a new float32 tensor (6, 3).
    Raises InputError if data/journey.csv is missing or damaged.
    Source: Raschka, Build a Large Language Model (From Scratch), section 3.3.1.
    """
    with rows_of(FILE, "6 words with 3 numbers each") as rows:
        rows = list(rows)[1:]
        numbers = [[float(x) for x in row[1:]] for row in rows]
        inputs = torch.tensor(numbers, dtype=torch.float32)
        if inputs.shape != (6, 3):
            raise ValueError(f"shape {tuple(inputs.shape)}")
        if not inputs.isfinite().all():
            raise ValueError("a number is not finite")
    return [row[0] for row in rows], inputs
