"""Read what the checks said in a notebook when it was saved. Nothing is run."""

import json
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from ...checks import verdict
from ...checks.exercises import CHECKED, LESSON_OF
from ...pictures import predict
from ..course import CALL, CHECK, defines, handed_out, lessons, listed
from .folder import chosen

LARGEST = 20  # MB: a notebook of the course has less than 1, and a class is read in one go
OPEN, NOT_RUN, ERROR, WRONG, RIGHT = STATES = "..", "not run", "error", "x", "ok"
NAMELESS = "?"


class Answer(NamedTuple):
    """What was saved of a check.

    state: one of STATES, the better the later; OPEN is as handed out.  mistakes: names that the
    course has, and NAMELESS for anything else.  at: its cell's count.
    """

    state: str
    mistakes: tuple = ()
    at: int = 0


@dataclass
class Notebook:
    """The content of a notebook's file.

    answers: exercise -> the best Answer, the last of equal ones, in the order of the cells.
    guesses: question -> what was guessed, a list of texts.
    failed: why it cannot be read, or "".  saved: when, in seconds.
    """

    answers: dict = field(default_factory=dict)
    guesses: dict = field(default_factory=dict)
    failed: str = ""
    saved: float = 0


def read(path):
    """Return the Notebook in a file. Never raises an error."""
    try:
        if not path.is_file():  # reading from a pipe could wait for ever
            return Notebook(failed="not an ordinary file")
        size = path.stat().st_size / 1e6
        if size > LARGEST:
            return Notebook(failed=f"not read, since it has {size:.0f} MB, more than {LARGEST}")
        notebook = Notebook(saved=path.stat().st_mtime)
        cells = [*_code(json.loads(path.read_text(encoding="utf-8-sig"))["cells"])]
        sources = {source for source, _ in cells}
        for source, cell in cells:
            as_handed_out = stubs().get(source, {None}) <= sources
            for exercise, answer in _answers(source, cell, as_handed_out):
                keep_best(notebook.answers, exercise, answer)
            notebook.guesses.update(filter(None, map(guess_in, cell.get("outputs", ()))))
        return notebook
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except Exception:  # a student can save anything
        why = "damaged, or not a notebook"
    return Notebook(failed=why)


def exercises_by_lesson(names=None):
    """Return {name of a lesson: names of its exercises}, both in order.  names: see chosen()."""
    return {
        path.stem: [
            name
            for stub in listed()["notebooks"][path.stem]["stubs"].values()
            for name, _ in CHECK.findall(stub)
            if path.stem.startswith(LESSON_OF[name])
        ]
        for path in chosen(names)
    }


def _code(cells):
    """Yield (source, cell) of the code cells."""
    for cell in cells:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"]), cell


def _answers(source, cell, as_handed_out):
    """Yield (exercise, Answer) for each verdict of a cell, then for each check without one."""
    outputs, at = cell.get("outputs", ()), cell.get("execution_count")
    at = at if isinstance(at, int) else 0
    checked = set()
    for exercise, answer in filter(None, map(verdict_in, outputs)):
        checked.add(exercise)
        if as_handed_out and (answer.state == WRONG or not CHECK.search(source)):
            # code to repair; or the course's own answer
            answer = Answer(OPEN)
        yield exercise, answer._replace(at=at)
    if as_handed_out:
        state = OPEN
    elif any(isinstance(x, dict) and x.get("output_type") == "error" for x in outputs):
        state = ERROR
    else:
        state = NOT_RUN
    for exercise, _ in CHECK.findall(source):
        if exercise in CHECKED and exercise not in checked:
            yield exercise, Answer(state, at=at)


@cache
def stubs():
    """Return {a cell with a check, as it is handed out: all cells of its exercise}. A class to
    repair stands in a cell of its own."""
    return {
        stub: {x for x in own if x is stub or defines(CALL.search(stub)[2]).search(x)}
        for own in (notebook["stubs"].values() for notebook in listed()["notebooks"].values())
        for stub in own
        if CALL.search(stub)
    }


def verdict_in(output):
    """Return (exercise, Answer) of a cell's output, or None. Students can save any output, so no
    word of it is kept that the course does not have."""
    match output:
        case {
            "data": {
                verdict.MIME: {
                    "exercise": str(name),
                    "passed": True | False | None as passed,
                    "mistakes": [*said],
                }
            }
        } if name in CHECKED:
            if passed is not False:
                return name, Answer(RIGHT if passed else OPEN)
            known = names_of(name)
            names = [x if x in known else NAMELESS for x in said] or [NAMELESS]
            return name, Answer(WRONG, tuple(dict.fromkeys(names)))


def guess_in(output):
    """Return (question, guess) of a cell's output, or None. As in verdict_in(), nothing is kept
    that the course does not have: a number is parsed, and a word is left out."""
    known = questions()
    match output:
        case {"metadata": {predict.SAVED: {"question": str(q), "guess": guess}}} if q in known:
            guess = predict.valid(known[q], guess)
            if len(guess) == known[q]["pick"] and known[q]["kind"] != "word":
                return q, guess


@cache
def questions():
    """Return {question: what the course asks}, in order."""
    cells = [cell for path in lessons() for cell in handed_out(path)[0].cells]
    asked = [x.metadata[predict.SAVED] for cell in cells for x in cell.get("outputs", ())]
    return {one["question"]: one for one in asked}


@cache
def names_of(exercise):
    """Return the names of all mistakes that the course has for this exercise."""
    return [mistake.name for mistake in CHECKED[exercise].mistakes]


def keep_best(answers, exercise, answer):
    """Put the answer into the dict unless it has a better one; the last of equal ones counts."""
    rank = STATES.index
    if exercise not in answers or rank(answer.state) >= rank(answers[exercise].state):
        answers[exercise] = answer
