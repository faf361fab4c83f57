"""Read the files of data/, csv with comments. InputError if a file is missing or damaged."""

import csv
from contextlib import contextmanager
from pathlib import Path

import torch

from ..errors import InputError

DATA = Path(__file__).parents[2] / "data"
JOURNEY = DATA / "journey.csv"


def load_journey():
    """Return tokens, inputs: the sentence "Your journey starts with one step", with embeddings.

    tokens: a list of 6 words.  inputs: a new float32 tensor (6, 3).
    Source: Raschka, Build a Large Language Model (From Scratch), section 3.3.1.
    """
    with rows_of(JOURNEY, "6 words with 3 numbers each") as rows:
        rows = list(rows)[1:]
        numbers = [[float(x) for x in row[1:]] for row in rows]
        inputs = torch.tensor(numbers, dtype=torch.float32)
        if inputs.shape != (6, 3):
            raise ValueError(f"shape {tuple(inputs.shape)}")
        if not inputs.isfinite().all():
            raise ValueError("a number is not finite")
    return [row[0] for row in rows], inputs


@contextmanager
def rows_of(file, holds, or_else=""):
    """Read a csv file: with rows_of(FILE, "a kind and a word in each line") as rows.

    rows: an iterator of lists of str; lines that start with # are comments.
    holds: what the file should hold, for the message.  or_else: what else helps, apart from
    restoring the file.
    Raises InputError if the file cannot be read, or if the code inside, which uses the rows,
    raises ValueError or LookupError.
    """
    advice = f"Restore it with: git checkout data/{file.name}{or_else}"
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
        yield csv.reader(line for line in lines if not line.startswith("#"))
        return
    except OSError as error:
        why = f"cannot be read ({type(error).__name__})"
    except (ValueError, LookupError, csv.Error) as error:
        why = f"should hold {holds} ({str(error)[:80]})"
    raise InputError(f"data/{file.name} {why}. {advice}") from None
