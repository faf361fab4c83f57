"""The toml files of this folder, and what is said where no mistake is known."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError

HINT = "open the hint above your code."  # where nothing more is known than the numbers


class Fact(NamedTuple):
    """What can be seen of a wrong answer without knowing the cause.

    what: what is wrong.  advice: what to try.  why: a sentence, may be empty.
    """

    what: str
    advice: str
    why: str = ""


@cache
def contents(name):
    """Return a toml file, by its path or its name in this folder. Raises InputError."""
    try:
        return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: {error}") from None
