"""The toml files of this folder, and what is said where no mistake is known."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError

HINT = "open the hint above your code."  # where nothing more is known than the numbers


class Fact(NamedTuple):
    """What is said of a wrong answer.

    what: what is wrong.  advice: what to try.  why: sentences, may be empty.  names: those of the
    established mistakes, of which `what` says the first; "" for one that is not known.  by: the
    witness, see evidence.py.
    """

    what: str
    advice: str
    why: str = ""
    names: tuple[str, ...] = ()
    by: str = ""


@cache
def read_toml(name):
    """Return a toml file, by its path or its name in this folder. Raises InputError."""
    try:
        return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: {error}") from None


def listed(words):
    """Return "a", "a and b" or "a, b and c"."""
    *most, last = [*words] or [""]
    return f"{', '.join(most)} and {last}" if most else last
