"""Answers as people write them, and what the check says to those that a page shows.

answers/ has a file EXERCISE.txt for each exercise. A file begins with what a notebook has defined
above the exercise. Then the answers follow, each after a line that judges it:

    # == right: with einsum
    # == wrong: divides by the largest, not by the sum; named: divided by the largest exp
    # == wrong: adds an epsilon to the sum

A wrong answer may have names, any of which may be told, separated by " or "; without any, a
verdict that names a cause is wrong about it. Answers that people judge differently are
"debatable": nothing is asked of their verdict but that there is one.
"""

import ast
import itertools
import linecache
from dataclasses import dataclass
from pathlib import Path

from IPython.utils.capture import capture_output
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from ..checks import check
from ..checks.verdict import as_html, forget

SHOWN = Path(__file__).with_name("answers")
_cells = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    """right: None where it is debatable.  names: those of which each may be told; several
    mistakes at once are joined by " and ".  before: code that runs above it."""

    exercise: str
    right: bool | None
    what: str
    names: tuple[str, ...]
    before: str
    code: str

    def run(self):
        """The function or class that is handed in, with its source known as in a notebook."""
        namespace = {"__name__": "__main__"}
        for source in (self.before, self.code):
            name = f"<ipython-input-{next(_cells)}>"
            linecache.cache[name] = len(source), None, source.splitlines(True), name
            exec(compile(source, name, "exec"), namespace)
        defined = (ast.FunctionDef, ast.ClassDef, ast.Assign)
        last = [node for node in ast.parse(self.code).body if isinstance(node, defined)][-1]
        return namespace[getattr(last, "name", None) or last.targets[0].id]


def answers(exercise="*", folder=SHOWN):
    """Read the answers to one exercise or all, in the order of the files."""
    for path in sorted(folder.glob(f"{exercise}.*")):
        before, *parts = path.read_text(encoding="utf-8").split("\n# == ")
        for part in parts:
            line, code = part.split("\n", 1)
            judged, what = line.split(": ", 1)
            what, _, names = what.partition("; named: ")
            right = {"right": True, "wrong": False, "debatable": None}[judged]
            names = tuple(filter(None, names.split(" or ")))
            yield Answer(path.name.split(".")[0], right, what, names, before, code)


def told(answer):
    """Return the Verdict that check() gives on an answer now."""
    forget()  # or it says which mistakes of the answer before are gone
    with capture_output():
        return check(answer.exercise, answer.run())


def as_fold(exercise):
    """Return the HTML of what the check says to the answers of an exercise, folded."""
    parts = ["<summary>What the check says to three answers</summary>"]
    for k, answer in enumerate(answers(exercise), 1):
        verdict = told(answer)
        code = highlight(answer.code.strip(), PythonLexer(), HtmlFormatter())
        parts += [
            f"<h4>Answer {k}</h4>",
            f'<div class="source" data-box="Answer {k} to {exercise}">{code}</div>',
            as_html(verdict.said, verdict.passed),
        ]
    return f'<details class="told">{"".join(parts)}</details>'
