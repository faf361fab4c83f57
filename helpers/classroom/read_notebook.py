"""Read the file of a notebook, without running anything."""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import nbformat

from ..checks.verdict import MIME
from .folder import clean, lessons

KEPT = 200  # characters kept of each text that a student wrote
CHECK = re.compile(r"""^check\(["'](\w+)["'], *(\w+)\)""", re.M)
RANK = (None, False, True).index  # which of two verdicts is better
# Names that no exercise needs, but that code which changes or forges a verdict may use.
STRANGE = re.compile(
    r"helpers\.(checks|classroom|guard)|from\s+helpers\s+import.*\b(checks|classroom|guard)\b"
    r"|attention\.verdict|\bVerdict\b|\b(def|class|as)\s+check\b|\bcheck\s*=(?!=)"
    r"|__(class|dict|globals|builtins|import|code)__|\bsys\.modules|\bsetattr\b|\bimportlib\b"
    r"|(?<![.\w])(exec|eval)\s*\(|\bgc\b|\bsubprocess\b|\bos\.(_exit|kill|system|remove)"
    r"|\bshutil\b|\bglobals\s*\("
)


class Answer(NamedTuple):
    """The result of a check, as in a Verdict.

    passed: None if the answer is not written, or as it was handed out.  at: its cell's count.
    """

    passed: bool | None
    mistakes: tuple = ()
    at: int = 0


@dataclass
class Notebook:
    """The content of a notebook's file.

    sources: of its code cells.  verdicts: exercise -> the best Answer, the last of equal ones.
    errors: (number of the cell as in [7], the error) of each cell that raised an error.
    failed: why it cannot be read or did not run to its end, or "".  saved: when, in seconds.
    """

    sources: list = field(default_factory=list)
    verdicts: dict = field(default_factory=dict)
    errors: list = field(default_factory=list)
    failed: str = ""
    saved: float = 0


def read(path):
    """Return the Notebook in a file. Never raises an error."""
    text = ""
    try:
        if not path.is_file():  # reading from a pipe could wait for ever
            return Notebook(failed="not an ordinary file")
        text = path.read_text(encoding="utf-8-sig")
        content = json.loads(text)
        if content["nbformat"] < 4:
            content = nbformat.reads(text, as_version=4)
        return _notebook(content["cells"], path.stat().st_mtime)
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        why = "damaged: it is not text in UTF-8"
    except (json.JSONDecodeError, RecursionError):
        why = "damaged: it is not JSON" if text.strip() else "an empty file"
    except Exception:
        why = "not a notebook"
    return Notebook(failed=why)


def _notebook(cells, saved):
    notebook = Notebook(saved=saved)
    for source, cell in _code(cells):
        notebook.sources.append(source)
        count = cell.get("execution_count")
        for output in cell.get("outputs", ()):
            match output:
                case {"output_type": "error", "ename": str(name), "evalue": str(value)}:
                    error = clean(f"{name}: {value}".removesuffix(": "))[:KEPT]
                    notebook.errors.append((len(notebook.sources), error))
                case {"data": {**data}} if found := verdict_in(data):
                    exercise, answer = found
                    if found in given().get(source, ()):  # such as code to repair
                        answer = Answer(None)
                    answer = answer._replace(at=count if isinstance(count, int) else 0)
                    keep_best(notebook.verdicts, exercise, answer)
    return notebook


def _code(cells):
    """Yield (source, cell) of the code cells that are not empty."""
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and source.strip():
            yield source, cell


@cache
def given():
    """Return the sources of the course's own code cells, each with the verdicts it shows."""
    files = [json.loads(lesson.read_text(encoding="utf-8")) for lesson in lessons()]
    return {
        source: [verdict_in(output.get("data", {})) for output in cell["outputs"]]
        for file in files
        for source, cell in _code(file["cells"])
    }


def verdict_in(data):
    """Return (exercise, Answer) of an output's data, or None: students can show any output."""
    match data.get(MIME):
        case {"exercise": str(exercise), "passed": True | False | None as passed, **rest}:
            names = rest.get("mistakes")
            if isinstance(names, list) and all(isinstance(name, str) for name in names):
                names = tuple(clean(name)[:KEPT] for name in names)
                return clean(exercise)[:KEPT], Answer(passed, names)


def keep_best(answers, exercise, answer):
    """Put the answer into the dict unless it has a better one; the last of equal ones counts."""
    if exercise not in answers or RANK(answer.passed) >= RANK(answers[exercise].passed):
        answers[exercise] = answer


def strange(sources):
    """Return "cell [2]: the line" for the student's first line with a name that no exercise needs,
    else ""."""
    for number, source in enumerate(sources, start=1):
        lines = source.splitlines() if source not in given() else ()
        for line in filter(STRANGE.search, lines):
            return f"cell [{number}]: {clean(line)[:KEPT]}"
    return ""
