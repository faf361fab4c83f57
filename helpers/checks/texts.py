"""The toml files of this folder, and what is said about a mistake."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError


@dataclass(frozen=True)
class Text:
    """why: sentences, may be empty.  advice: a sentence, what to try.  source: where the mistake
    was seen, or why it is made.  code: a regular expression; if the student's code can be read
    and does not match, the mistake was not made, whatever the numbers are."""

    why: str
    advice: str
    source: str
    code: str = ""


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
    """Return a toml file of this folder, such as contents("probes.toml"). Raises InputError."""
    try:
        return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: {error}") from None


def text_of(mistake, exercise):
    """Return the Text about a Mistake in the exercise of this name: its own, or the one under its
    name in mistakes.toml. Raises InputError if that is missing or incomplete."""
    if mistake.text:
        return mistake.text
    name = mistake.name
    entry = contents("mistakes.toml").get(name, {})
    for key, otherwise in (("try", None), ("why", ""), ("source", "")):
        if not isinstance(entry.get(key, otherwise), str):
            raise InputError(f"mistakes.toml has no {key} in words for '{name}' ({exercise}).")
    instead = (other for other in entry.get("instead", ()) if exercise in other["in"])
    entry = {**entry, **_whole(next(instead, {}))}
    return Text(entry.get("why", ""), entry["try"], entry.get("source", ""), entry.get("code", ""))


def _whole(other):
    """Return the entry, with an empty why if it has a try but no why: the two belong together."""
    return {"why": "", **other} if "try" in other else other
