"""Reads the files of data/: csv with comments, and one sentence where a file is damaged."""

import csv
from contextlib import contextmanager

from .guard import InputError


@contextmanager
def rows_of(file, holds, or_else=""):
    """The rows of a file of data/, each a list of str; lines that start with # are comments.

    holds: what should be there, to follow "should hold".  or_else: what helps besides
    restoring the file.
    Raises InputError if the file cannot be read; also if the code inside, which makes something
    of the rows, raises ValueError or LookupError.
    """
    advice = f"Restore it with: git checkout data/{file.name}{or_else}"
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"data/{file.name} cannot be read ({type(error).__name__}). {advice}"
        ) from None
    try:
        yield csv.reader(line for line in lines if not line.startswith("#"))
    except (ValueError, LookupError, csv.Error) as error:
        raise InputError(
            f"data/{file.name} should hold {holds} ({str(error)[:80]}). {advice}"
        ) from None
