"""All exercises by name.

To add a mistake, declare it in the file of its lesson: its name, the code that makes it, a
sentence to the student. Tests hold every mistake to be wrong, and different from every other
one. Where two fit, the first is named.
"""

from dataclasses import replace

import torch

from . import lesson_01, lesson_02, lesson_03
from .declare import Mistake


def _in_every_exercise(exercise):
    """Mistakes that can be made wherever there is a right answer. They come last."""
    right = exercise.right

    def rounded(decimals):
        return lambda *args: right(*args).round(decimals=decimals)

    def in_place(*args):
        answer = right(*args)
        args[0].sub_(args[0].max())
        return answer

    def into_empty(*args):
        answer = right(*args)
        memory = torch.empty_like(answer)
        memory += answer
        return memory

    # More decimals than these are within the tolerance of results.close.
    decimals = (2, 3, 4) if exercise.kind == "weights" else (2, 3)
    one_query = Mistake(
        "always the query 1",
        lambda inputs, i: right(inputs, 1),
        "You used inputs[1] (journey) as the query for every i: use inputs[i].",
    )
    return (
        *((one_query,) if "(inputs, i)" in exercise.signature else ()),
        Mistake(
            "numbers rounded",
            rounded(decimals[0]),
            lesson_03.ROUNDED,
            also=tuple(map(rounded, decimals[1:])),
        ),
        Mistake(
            "input changed in place",
            in_place,
            "Writing x[0] = ..., += and names that end in _ change the caller's tensor, and "
            "its views are no copies. Make a new tensor, or start with .clone().",
            shows=lambda seen: any(result.changed for result in seen.mine),
        ),
        Mistake(
            "accumulates into torch.empty",
            into_empty,
            "torch.empty is uninitialised memory; assign with = or start from torch.zeros.",
            # NaN has many causes; that zeros cure it shows this one.
            shows=lambda seen: seen.cured_by_zeros,
        ),
    )


EXERCISES = {
    exercise.name: replace(exercise, mistakes=exercise.mistakes + _in_every_exercise(exercise))
    for exercise in (
        lesson_01.SCORES,
        lesson_01.ALL_SCORES,
        lesson_01.COSINE,
        lesson_02.SOFTMAX,
        lesson_02.TEMPERATURE,
        lesson_02.WEIGHTS,
        lesson_03.CONTEXT,
        lesson_03.SELF,
        lesson_03.OTHERS,
    )
}
