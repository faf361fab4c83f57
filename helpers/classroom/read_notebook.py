"""What is in the file of a notebook, read without running anything."""

import json
import re
import stat
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat

from ..checks.verdict import MIME
from .folder import clean, lessons

KEPT = 200  # characters of each text of the student's that are kept
SAID = 5000  # and of a verdict's words
RANK = (None, False, True).index  # which of two verdicts is better
# What no exercise needs, and what changes or forges a verdict may name.
STRANGE = re.compile(
    r"helpers\.(checks|classroom|guard)|from\s+helpers\s+import.*\b(checks|classroom|guard)\b"
    r"|attention\.verdict|\bVerdict\b|\b(def|class|as)\s+check\b|\bcheck\s*=(?!=)"
    r"|__(class|dict|globals|builtins|import|code)__|\bsys\.modules|\bsetattr\b|\bimportlib\b"
    r"|(?<![.\w])(exec|eval)\s*\(|\bgc\b|\bsubprocess\b|\bos\.(_exit|kill|system|remove)"
    r"|\bshutil\b|\bglobals\s*\("
)


class Unusable(Exception):
    """Why a file cannot be run, to follow its name in a list."""


class Answer(NamedTuple):
    """What a check said of an answer: as a Verdict has it, and its words."""

    passed: bool | None
    mistakes: tuple = ()
    unnamed: tuple = ()
    said: str = ""


def code_cells(path):
    """Return of each code cell of a notebook (its source, what its outputs show: a list of dicts
    by MIME type, its execution count, 0 where it has none). Raises Unusable."""
    text = ""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # to read from a pipe is to wait
            raise Unusable("not an ordinary file")
        text = Path(path).read_text(encoding="utf-8-sig")
        notebook = json.loads(text)
        if notebook["nbformat"] < 4:
            notebook = nbformat.reads(text, as_version=4)
        return [_cell(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        why = "damaged: it is not text in UTF-8"
    except (json.JSONDecodeError, RecursionError):
        why = "damaged: it is not JSON" if text.strip() else "an empty file"
    except Unusable:
        raise
    except Exception:
        why = "not a notebook"
    raise Unusable(why)


def _cell(cell):
    shown = (output.get("data") for output in cell.get("outputs", ()) if isinstance(output, dict))
    number = cell.get("execution_count")
    shown = [data for data in shown if isinstance(data, dict)]
    return "".join(cell["source"]), shown, number if isinstance(number, int) else 0


@cache
def given():
    """The sources of the course's own code cells."""
    return {source for lesson in lessons() for source, *_ in code_cells(lesson)}


def verdict_in(data):
    """Return (exercise, Answer) of an output's data, or None: a student can show anything."""
    match data.get(MIME):
        case {"exercise": str(exercise), "passed": True | False | None as passed, **rest}:
            texts = [rest.get("mistakes"), rest.get("unnamed", [])]
            if all(isinstance(x, list) and all(isinstance(s, str) for s in x) for x in texts):
                names, unnamed = (tuple(s[:KEPT] for s in x) for x in texts)
                said = str(data.get("text/plain", ""))[:SAID]
                return exercise[:KEPT], Answer(passed, names, unnamed, said)


def keep_best(answers, exercise, answer):
    """Put the answer into the dict unless a better one is there; of equal ones the last counts."""
    if exercise not in answers or RANK(answer.passed) >= RANK(answers[exercise].passed):
        answers[exercise] = answer


def strange(sources):
    """Return "cell [2]: the line" for the first line of the student's own that names what no
    exercise needs, else ""."""
    for number, source in enumerate(sources, start=1):
        lines = source.splitlines() if source not in given() else ()
        for line in filter(STRANGE.search, lines):
            return f"cell [{number}]: {clean(line)[:KEPT]}"
    return ""
