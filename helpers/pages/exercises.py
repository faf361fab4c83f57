"""Answers as people write them, and what the check says to three of them.

tests/written has answers that were written from an exercise's text alone: a file EXERCISE.txt
for each, and EXERCISE.more.txt. A file begins with what a notebook has defined above the
exercise. Then the answers follow, each after a line that judges it:

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
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from IPython.utils.capture import capture_output
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from ..checks import check
from ..checks.exercise import everywhere
from ..checks.exercises import CHECKED
from ..checks.texts import contents
from ..checks.verdict import as_html, forget

WRITTEN = Path(__file__).parents[2] / "tests" / "written"
LINES = 12  # of an answer that is shown
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


def answers(exercise="*"):
    """To one exercise or all, in the order of the files."""
    for path in sorted(WRITTEN.glob(f"{exercise}.*")):
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


def three(exercise):
    """Three short answers, each with another mistake. First come mistakes that public threads and
    texts were seen to make, then what was written most often, and last what can be wrong anywhere;
    of one mistake the shortest answer."""
    anywhere = {mistake.name for mistake in everywhere(CHECKED[exercise])}
    written = defaultdict(list)
    for answer in answers(exercise):
        if len(answer.names) == 1 and answer.names[0] in contents("mistakes.toml"):
            written[answer.names[0]].append(answer)

    def rank(name):
        seen = contents("mistakes.toml")[name].get("seen", "")
        in_public = re.search(r"#\d|walk-through|lecture", seen)
        return name in anywhere, not in_public, -len(written[name]), _length(shortest[name]), name

    shortest = {name: min(of, key=_length) for name, of in written.items()}
    short = [name for name, x in shortest.items() if len(x.code.strip().splitlines()) <= LINES]
    return [shortest[name] for name in sorted(short, key=rank)[:3]]


def _length(answer):
    return len(answer.code)


def told(exercise):
    """Pairs of an answer of three(exercise) and the Verdict that check() returns on it now."""
    for answer in three(exercise):
        forget()  # or a verdict says which mistakes of the one before are gone
        with capture_output():
            verdict = check(exercise, answer.run())
        yield answer, verdict


def as_fold(exercise):
    """The HTML of what the check says to three answers, folded."""
    parts = ["<summary>What the check says to three answers</summary>"]
    for k, (answer, verdict) in enumerate(told(exercise), 1):
        code = highlight(answer.code.strip(), PythonLexer(), HtmlFormatter())
        parts += [
            f"<h4>Answer {k}</h4>",
            f'<div class="source" data-box="Answer {k} to {exercise}">{code}</div>',
            as_html(verdict.said, verdict.passed),
        ]
    return f'<details class="told">{"".join(parts)}</details>'
