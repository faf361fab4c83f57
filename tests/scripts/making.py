"""Make answers out of the ways that an exercise declares, and compare them."""

import inspect
from itertools import combinations, product

import torch
from torch import nn

from helpers.checks.match import NUMBER
from helpers.checks.results import attempt, call_ours, same


def student(code):
    """Return code as a function or a class that does not show where it comes from."""
    if inspect.isclass(code):
        return type("Student", (code,), {})
    return lambda *args: code(*args)


def give_the_same(exercise, code, other):
    """Do two codes give the same results on the cases on which a wrong answer is called?"""
    cases = [case for case in exercise.cases() if not case.if_right]
    return all(same(*(attempt(x, p, call_ours) for x in (code, other))) for p in cases)


def independent(one, other):
    """Do two ways change different steps? A whole answer has none that another could change."""
    steps = [way.keys() if isinstance(way, dict) else {"whole"} for way in (one, other)]
    return steps[0].isdisjoint(steps[1])


def explains(exercise, names, code):
    """Can mistakes of these names together give what this code gives?"""
    named = [[w for m in exercise.mistakes if m.name == n for w in m.ways] for n in names]
    return any(
        all(independent(*two) for two in combinations(ways, 2))
        and give_the_same(exercise, made(exercise, *ways), code)
        for ways in product(*named)
    )


def made(exercise, *ways):
    """Return the answer with these ways, dicts of steps, of which one may be a whole answer."""
    whole = next((way for way in ways if not isinstance(way, dict)), exercise.reference)
    ways = [way for way in ways if isinstance(way, dict)]
    if not ways:
        return whole
    # 10 is a typical number where a way takes any
    ways = [{step: line.replace(NUMBER, "10.0") for step, line in way.items()} for way in ways]
    formula = exercise.program.changed(*ways)
    if not exercise.is_class:
        return formula

    class Module(whole):
        def forward(self, inputs):
            layers = [self.W_query, self.W_key, self.W_value]
            layers += [self.out_proj] if hasattr(self, "out_proj") else []
            matrices = [W.weight.T if isinstance(W, nn.Linear) else W for W in layers]
            if len(matrices[0]) != inputs.shape[-1]:
                matrices = [W.T for W in matrices]
            # The program makes its mask on the CPU, which is no part of a mistake in its numbers.
            with torch._C.DisableTorchFunction():
                return formula(inputs, *matrices, *filter(None, [getattr(self, "num_heads", None)]))

    return Module
