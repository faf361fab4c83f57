"""All exercises by name: every Exercise that a file of lessons/ defines, in the order of the
lessons. To add one, define it there."""

import importlib
import pkgutil

from . import lessons
from .exercise import Exercise


def _found():
    for module in sorted(module.name for module in pkgutil.iter_modules(lessons.__path__)):
        names = vars(importlib.import_module(f"{lessons.__name__}.{module}")).values()
        yield from (x for x in names if isinstance(x, Exercise))


# With the code to be repaired, which is checked like the exercise of the same answer.
CHECKED = {exercise.name: exercise for exercise in _found()}


def made_wrongly(name, mistake):
    """An answer that makes a mistake, to try out what that does.

    made_wrongly("multi_head", "no scaling") is multi_head without the root.
    name: of the exercise.  mistake: its name, as a verdict tells it.
    Raises KeyError if there is no such exercise, or it does not know the mistake.
    """
    exercise = CHECKED[name]
    known = {one.name: one for one in reversed(exercise.all_mistakes)}
    return next(exercise.answers(known[mistake]))
