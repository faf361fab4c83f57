"""Answers of students, which check() is tested on: one file for each lesson.

    STYLES["02"]["softmax"]    right answers, in many styles
    AS_WRITTEN["02"]           (exercise, code, name): mistakes, with one name or a tuple of them
    UNKNOWN["02"]              (exercise, code, fact): wrong answers that nobody declared, and
                               what the verdict says of them, as it names no cause

The mistakes are those that students write otherwise than helpers/checks declares them: in loops,
with numpy, in place. In a lesson's file they stand by exercise.
"""

import importlib
import pkgutil


def _rows(table):
    return [(exercise, *row) for exercise, rows in table.items() for row in rows]


_NAMES = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("lesson_"))
_LESSONS = {
    name.removeprefix("lesson_"): importlib.import_module(f"{__name__}.{name}") for name in _NAMES
}

STYLES = {number: lesson.STYLES for number, lesson in _LESSONS.items()}
AS_WRITTEN = {number: _rows(lesson.AS_WRITTEN) for number, lesson in _LESSONS.items()}
UNKNOWN = {number: _rows(lesson.UNKNOWN) for number, lesson in _LESSONS.items()}
