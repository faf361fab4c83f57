"""Cases and stubs agree: shapes are read from the docstrings of the stubs in the lessons, and every
case has them."""

import ast
import builtins
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

from helpers.checks import exercises
from helpers.checks.exercise import returned
from helpers.checks.exercises import ANYWHERE, CHECKED
from helpers.checks.results import numbers_of

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
STUB = re.compile(r'def \w+\(([^)]*)\):\n    """(.*?)"""\n.*\ncheck\("(\w+)"', re.S)
SHAPE = re.compile(r"\(((?:[\w ]+,)+[\w ]*)\)")


@cache
def stubs():
    """Return {exercise: (parameters, the shapes of those that have one, the shape returned or
    None)}; shapes are tuples of names."""
    found = {}
    for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and (stub := STUB.search(cell.source)):
                takes, text, exercise = stub.groups()
                found[exercise] = _shapes(re.findall(r"\w+", takes), text)
    return found


def _shapes(parameters, text):
    before, after = text.split("->")
    shapes, *parts = {}, *SHAPE.split(before)
    for words, shape in zip(parts[::2], parts[1::2], strict=False):
        # "positions (b,)" is the shape of all parameters that are not named
        named = [p for p in parameters if re.search(rf"\b{p}\b", words)]
        rest = [p for p in parameters if not re.search(rf"\b{p}\b", before)]
        shapes |= {p: _names(shape) for p in named or rest}
    returned = SHAPE.search(after)
    return parameters, shapes, _names(returned[1]) if returned else None


def _names(shape):
    return tuple(name.strip() for name in shape.split(",") if name.strip())


def each():
    names = [name for name, (_, shapes, _) in stubs().items() if shapes]
    # block takes functions for its parts, padding_mask True and False
    others = "repair_heads", "block", "padding_mask"
    return [name for name in names if name not in others]


def test_the_stubs_are_read():
    """All of them, and a shape wherever the arguments have sizes."""
    assert stubs().keys() == {name for name, exercise in CHECKED.items() if not exercise.is_class}
    for name, (_, shapes, _) in stubs().items():
        entry = CHECKED._entries[name]
        makers = CHECKED._entries[entry.get("same_as", name)]["args"]
        has_sizes = any(" " in maker.partition(" = ")[2] for maker in makers)
        assert shapes or not has_sizes, f"{name}: its stub names no shape, such as (n,)"
    assert stubs()["exchange"][1]["second"] == ("b",)
    assert stubs()["qkv_attention"][1]["W_key"] == ("d_in", "d_k")


@pytest.mark.parametrize("name", each())
def test_every_case_has_the_shapes_that_the_stub_promises(name):
    parameters, shapes, gives = stubs()[name]
    for case in CHECKED[name].cases():
        sizes = dict(zip(parameters, case.args, strict=True))
        for parameter, shape in shapes.items():
            for size, letter in zip(sizes[parameter].shape, shape, strict=True):
                assert sizes.setdefault(letter, size) == size, (name, case.label, letter)
        if gives and case.measure is returned:
            result = numbers_of(CHECKED[name].reference(*case.fresh()))
            assert len(result.shape) == len(gives)
            for size, letter in zip(result.shape, gives, strict=True):
                assert letter.isdigit() or sizes.setdefault(letter, size) == size, (name, letter)


@pytest.mark.parametrize("name", CHECKED)
def test_what_only_right_answers_are_asked_comes_last(name):
    last = [case.if_right for case in CHECKED[name].cases()]
    assert last == sorted(last)


def python_of(name):
    """Yield all Python that the text files have for an exercise."""
    entry = CHECKED._entries[name]
    entry = {**CHECKED._entries.get(entry.get("same_as"), {}), **entry}
    used = re.findall(r"(?m)^use (\w+)$", entry["code"])
    shared = [exercises._group(CHECKED._shared, group)[1] for group in [*used, ANYWHERE]]
    for mistakes in [entry.get("mistakes", {}), *shared]:
        for key, mistake in mistakes.items():
            if key not in entry.get("without", ()):
                answers = mistake.get("answer", [])
                yield mistake.get("detect", "")
                yield from answers if isinstance(answers, list) else [answers]
    remarks = entry.get("remark", [])
    yield from (one["when"] for one in ([remarks] if isinstance(remarks, dict) else remarks))
    yield entry.get("reference", "")
    cases = entry.get("cases", {})
    for case in [cases] if isinstance(cases, str) else cases.values():
        yield from (case.values() if isinstance(case, dict) else [case])


@pytest.mark.parametrize("name", CHECKED)
def test_every_name_of_python_in_the_text_files_is_there(name):
    """Most of it runs only for an answer that nobody has written yet."""
    source = CHECKED._entries[name].get("same_as", name)
    known = {"submission", *dir(builtins)}
    known |= exercises._names(CHECKED.lesson_of[name]).keys()
    known |= exercises._names(CHECKED.lesson_of[source]).keys()
    for text in python_of(name):
        tree = ast.parse(f"({text},)") if isinstance(text, str) and text else ast.Module([], [])
        names = [x for x in ast.walk(tree) if isinstance(x, ast.Name)]
        made = {x.id for x in names if isinstance(x.ctx, ast.Store)}
        made |= {x.arg for x in ast.walk(tree) if isinstance(x, ast.arg)}
        assert {x.id for x in names} - made <= known, text
