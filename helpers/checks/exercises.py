"""All exercises by name.

To add a mistake, declare it in the file of its lesson: its name, the code that makes it, a
sentence to the student. Tests hold every mistake to be wrong, and different from every other
one. Where two fit, the first is named.
"""

from dataclasses import replace

import torch

from . import (
    lesson_01,
    lesson_02,
    lesson_03,
    lesson_04,
    lesson_05,
    lesson_06,
    lesson_07,
    lesson_08,
    stages,
)
from .declare import Mistake
from .sources import SOURCES

IN_PLACE = "input changed in place"


def _in_every_exercise(exercise):
    """Mistakes that can be made wherever there is a right answer. They come last."""
    right = exercise.right

    def then(change):
        """The right answer, and what change(answer, first argument) makes of it."""
        if not exercise.is_class:
            return lambda *args: change(right(*args), args[0])

        class Changed(right):
            def forward(self, inputs):
                return change(super().forward(inputs), inputs)

        return Changed

    def rounded(decimals):
        return then(lambda answer, x: answer.round(decimals=decimals))

    def in_place(answer, x):
        answer = answer.clone()
        x.sub_(x.max())
        return answer

    def into_empty(answer, x):
        memory = torch.empty_like(answer)
        memory += answer
        return memory

    # More decimals than these are within the tolerance of results.close. What is drawn cannot
    # be compared number by number; positions have no decimals.
    decimals = {"weights": (2, 3, 4), "random": (), "positions": ()}.get(exercise.kind, (2, 3))
    roundings = tuple(map(rounded, decimals))
    one_query = Mistake(
        "always the query 1",
        lambda inputs, i: right(inputs, 1),
        "You used inputs[1] (journey) as the query for every i. Use inputs[i].",
        source=SOURCES["always the query 1"],
    )
    numbers_rounded = Mistake(
        "numbers rounded",
        roundings[0] if roundings else None,
        stages.ROUNDED.advice,
        also=roundings[1:],
        source="christophM/interpretable-ml-book#234 (exp of exact beside rounded numbers)",
    )
    changed_in_place = Mistake(
        IN_PLACE,
        then(in_place),
        "Writing x[0] = ..., += and names that end in _ change the caller's tensor, and "
        "its views are no copies. Make a new tensor, or start with .clone().",
        shows=lambda seen: any(result.changed for result in seen.mine),
        source="PyTorch documentation, Tensor Views; += and names with _ are in place",
    )
    added_to_empty = Mistake(
        "accumulates into torch.empty",
        then(into_empty),
        "torch.empty is uninitialised memory. Assign with =, or start from torch.zeros.",
        # NaN has many causes; that zeros cure it shows this one.
        shows=lambda seen: seen.cured_by_zeros,
        source="documentation of torch.empty; huggingface/torchMoji#11",
    )
    return (
        *((one_query,) if "(inputs, i)" in exercise.signature and not exercise.staged else ()),
        *((numbers_rounded,) if decimals else ()),
        *((changed_in_place,) if exercise.first_is_tensor else ()),
        # Among whole numbers there is no NaN.
        *((added_to_empty,) if exercise.kind != "positions" else ()),
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
        lesson_04.SCALED,
        lesson_04.QKV,
        lesson_04.SELF_CLASS,
        lesson_05.CAUSAL,
        lesson_05.WINDOW,
        lesson_05.DROPOUT,
        lesson_05.CAUSAL_CLASS,
        lesson_06.SPLITTING,
        lesson_06.MERGING,
        lesson_06.MULTI_HEAD,
        lesson_07.UNIFORM,
        lesson_07.BETWEEN,
        lesson_07.EXCHANGE,
        lesson_07.LOOK_BACK,
        lesson_08.CACHE,
        lesson_08.NEXT,
        lesson_08.BLOCKS,
    )
}

# Broken code in the lessons, to be repaired: checked like the exercise of the same answer, but
# under a name of its own.
REPAIRS = {
    name: EXERCISES[like].called(name)
    for name, like in {
        "repair_weights": "attention_weights",
        "repair_context": "context_vector",
        "repair_qkv": "qkv_attention",
        "repair_causal": "CausalAttention",
        "repair_heads": "multi_head",
    }.items()
}
CHECKED = EXERCISES | REPAIRS


def made_wrongly(name, mistake):
    """An answer to the exercise called name that makes a mistake, to try out what that does.

    mistake: its name, as a verdict tells it. Raises KeyError if the exercise does not know it.
    """
    exercise = CHECKED[name]
    known = {one.name: one for one in reversed(exercise.mistakes)}
    return next(exercise.forms(known[mistake]))
