"""Every answer of tests/written gets the verdict that it should. It is judged among objects with
the names that its lesson and a beginner give; nothing of them changes, neither by the check nor by
a picture that calls the answer."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from execute import CI
from rates import answers, fault, followed
from torch import nn

from helpers import check, explore
from helpers.checks.exercises import CHECKED, LESSON_OF

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
AT_ONCE = 60  # answers of one test
BEGINNERS = """scores weights out output result results total context contexts row rows values keys
queries journey_scores journey_weights attn mask masked temp exps sums x y i j n d k q v loss
heads parts merged words W b s w p""".split()


def objects():
    """Yield the objects that names get in turn; most are tensors, as in a lesson."""
    while True:
        yield from (torch.rand(6, 6), torch.rand(6, 6), torch.rand(6), torch.rand(6, 6))
        yield nn.Parameter(torch.rand(6, 6))
        yield from (torch.tensor(0.0), [torch.rand(6)] * 2, [0.0] * 6, np.zeros((6, 6)), {})
        yield nn.Linear(6, 6)


@cache
def world(exercise):
    """Return the variables of a notebook in which a reader comes to this exercise."""
    (path,) = NOTEBOOKS.glob(f"{LESSON_OF[exercise]}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    names = re.findall(r"(?m)^([a-z]\w*) = ", code)
    torch.manual_seed(0)
    return dict(zip(sorted({*names, *BEGINNERS}), objects(), strict=False))


def content(x, seen=()):
    """Return what an object holds, as plain values and the identities of objects."""
    if id(x) in seen or isinstance(x, (str, int, float, type(None))):
        return id(x), x if isinstance(x, (str, int, float)) else None
    seen = (*seen, id(x))
    if torch.is_tensor(x):
        inside = x.tolist() if x.device.type != "meta" else None, x.shape, x.requires_grad
        inside += (content(x.grad, seen) if x.is_leaf else None,)
    elif isinstance(x, np.ndarray):
        inside = x.tolist()
    elif isinstance(x, dict):
        inside = [(content(k, seen), content(v, seen)) for k, v in x.items()]
    elif isinstance(x, (list, tuple)):
        inside = [content(part, seen) for part in x]
    elif isinstance(x, nn.Module):
        inside = [(name, content(p, seen)) for name, p in x.named_parameters()], x.training
    else:
        inside = None
    return id(x), str(inside)


def held(space):
    return {name: content(x) for name, x in space.items() if name != "__builtins__"}


PICTURE = """
def _picture(repeat=1):
    _case.measure(_mine, *_case.fresh())
    return [[1]]
"""


def show(mine, case, space):
    """Show a picture that calls an answer on a case."""
    exec(PICTURE, space)
    space |= {"_mine": mine, "_case": case}
    explore(space["_picture"], repeat=(1, 2)).close()


def parts():
    """Yield some answers of an exercise: in CI all, elsewhere each eighth."""
    asked = {}
    for k, answer in enumerate(answers()):
        if CI or k % 8 == 0:
            asked.setdefault(answer.exercise, []).append(answer)
    for exercise, found in asked.items():
        for start in range(0, len(found), AT_ONCE):
            name = f"{LESSON_OF[exercise]}-{exercise}-{start}"
            yield pytest.param(found[start : start + AT_ONCE], id=name)


@pytest.mark.parametrize("some", parts())
def test_what_people_wrote_gets_the_verdict_that_it_should_and_changes_nothing(some):
    wrong = []
    for k, answer in enumerate(some):
        # what must be said of a name is said where the notebook does not have it
        said = re.findall(r"\w+", answer.what.partition("; said: ")[2])
        space = {name: x for name, x in world(answer.exercise).items() if name not in said}
        mine = answer.run(space)
        before = held(space)
        verdict = check(answer.exercise, mine)
        if said := fault(answer, verdict):
            wrong.append((said, answer.what, verdict.message))
        if (now := held(space)) != before:
            wrong.append(("changed by the check", answer.what, differing(before, now)))
        if not verdict and followed(answer, verdict) is False:
            wrong.append(("its advice leads nowhere", answer.what, verdict.message))
        if k % 4 == 0 and "within" not in verdict.message:  # it never ends
            show(mine, CHECKED[answer.exercise].cases()[0], space)
            if differs := differing(before, held(space)):
                wrong.append(("changed by a picture", answer.what, differs))
    assert wrong == []


def differing(before, now):
    """Return the names that hold something else now."""
    return [name for name in before if now.get(name) != before[name]]
