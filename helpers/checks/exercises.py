"""All exercises by name: every Exercise that a file of lessons/ defines, in the order of the
lessons. To add one, define it there."""

import importlib
import pkgutil

from . import lessons
from .exercise import Exercise


def _found():
    """Yield the number of the lesson, the name of the exercise, and the Exercise."""
    for module in sorted(module.name for module in pkgutil.iter_modules(lessons.__path__)):
        for x in vars(importlib.import_module(f"{lessons.__name__}.{module}")).values():
            if isinstance(x, Exercise):
                yield module.split("_")[1], x.name, x


_FOUND = tuple(_found())
# Includes exercises with code to repair, checked like the one with the same right answer.
CHECKED = {name: exercise for _, name, exercise in _FOUND}
LESSON_OF = {name: lesson for lesson, name, _ in _FOUND}
