"""Answers as people write them, from an exercise's text alone: a file EXERCISE.txt for each,
and EXERCISE.more.txt.

A file begins with what a notebook has defined above the exercise. Then the answers follow, each
after a line that judges it:

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

FOLDER = Path(__file__).parent
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


def answers():
    """All of them, in the order of the files."""
    for path in sorted(FOLDER.glob("*.txt")):
        before, *parts = path.read_text(encoding="utf-8").split("\n# == ")
        for part in parts:
            line, code = part.split("\n", 1)
            judged, what = line.split(": ", 1)
            what, _, names = what.partition("; named: ")
            right = {"right": True, "wrong": False, "debatable": None}[judged]
            yield Answer(
                path.name.split(".")[0],
                right,
                what,
                tuple(filter(None, names.split(" or "))),
                before,
                code,
            )
