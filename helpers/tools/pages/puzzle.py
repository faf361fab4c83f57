"""Read answers as people write them, and make the puzzles of a page from them.

A folder of answers, such as puzzles/, has a file EXERCISE.txt for each exercise. A file begins with
what a notebook defines above the exercise. The answers follow, each after a line that judges it:

    # == right: with einsum
    # == wrong: divides by the largest, not by the sum; named: divided by the largest exp
    # == wrong: adds an epsilon to the sum

A wrong answer may have names, separated by " or ", and a verdict may give any of them; for an
answer without names, a verdict that names a cause is wrong. Answers that people judge differently
are "debatable": they only need a verdict, whatever it says.
"""

import ast
import html
import itertools
import linecache
import random
from dataclasses import dataclass
from pathlib import Path

from IPython.utils.capture import capture_output
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from ...checks import check
from ...checks.verdict import as_html

SHOWN = Path(__file__).with_name("puzzles")
_cells = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    """One answer.  right: None if it is debatable.  names: those a verdict may give; several
    mistakes at once are joined by " and ".  before: code that runs above it."""

    exercise: str
    right: bool | None
    what: str
    names: tuple[str, ...]
    before: str
    code: str

    def run(self, namespace=None):
        """Return the function or class that is handed in; Python finds its source as usual.

        namespace: the variables of the notebook, a dict that gets those of the code.
        """
        namespace = {} if namespace is None else namespace
        namespace["__name__"] = "__main__"
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


def verdict_on(answer):
    """Return the Verdict that check() gives on an answer now."""
    with capture_output():
        return check(answer.exercise, answer.run())


def as_puzzle(exercise):
    """Return the HTML of an exercise's puzzle: its first answer, the names of all its answers in
    random order, and the folded verdicts. reading.js lets readers choose."""
    first, *others = answers(exercise)
    shuffled = random.Random(exercise).sample([first, *others], k=1 + len(others))
    names = "".join(
        f"<li{' data-right' * (answer is first)}>{html.escape(' or '.join(answer.names))}</li>"
        for answer in shuffled
    )
    compare = "".join(map(_with_verdict, others))
    return (
        '<div class="puzzle"><h4>Which mistake is it?</h4><p>Someone wrote:</p>'
        f'{_code(first)}<ul aria-label="Which mistake is it?">{names}</ul>'
        f'<details class="told"><summary>What the check says</summary>{_verdict(first)}</details>'
        '<details class="told"><summary>Two more answers, with the other two mistakes</summary>'
        f"{compare}</details></div>"
    )


def _with_verdict(answer):
    return f"<p>Someone wrote:</p>{_code(answer)}{_verdict(answer)}"


def _code(answer):
    code = highlight(answer.code.strip(), PythonLexer(), HtmlFormatter())
    return f'<div class="source" data-box="An answer to {answer.exercise}">{code}</div>'


def _verdict(answer):
    verdict = verdict_on(answer)
    # screen readers read it when it is unfolded, and do not announce it with the page
    return as_html(verdict.said, verdict.passed).replace(' role="alert"', "")
