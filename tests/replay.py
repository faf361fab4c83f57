"""Run the code of lessons in this process, without a kernel: fast, and its objects are at hand."""

import ast
import contextlib
import functools
import io
import itertools
import linecache
import re
import sys
from unittest.mock import patch

import nbformat
import torch
from execute import NOTEBOOKS

from helpers.checks.verdict import forget

CELLS = itertools.count(1)


def code_cells(path):
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]


def markdown_cells(path):
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown"]


def solutions(path):
    """Return the code of the folded solutions, in order."""
    text = "\n".join(cell.source for cell in markdown_cells(path))
    folded = re.findall(r"<details><summary>Solution</summary>(.*?)</details>", text, re.S)
    return [re.search(r"```python\n(.*?)```", fold, re.S).group(1) for fold in folded]


def run(source, namespace):
    """Run a cell's source; return what a notebook would show for its last line, or None."""
    tree, name = ast.parse(source), f"<cell {next(CELLS)}>"
    # As in a kernel, the checks can read what a student wrote.
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    if last is not None:
        return eval(compile(ast.Expression(last.value), name, "eval"), namespace)


def shown_by(source, namespace):
    """Run a cell's source in the folder where its kernel would start.

    Returns (the value of its last line, all that it shows as text)."""
    printed, path = io.StringIO(), patch.object(sys, "path", list(sys.path))
    with path, contextlib.chdir(NOTEBOOKS), contextlib.redirect_stdout(printed):
        value = run(source, namespace)
    # the check itself has printed its verdict
    if value is not None and not hasattr(value, "passed"):
        printed.write(repr(value))
    return value, printed.getvalue().strip()


def picture_of(value):
    """Return the bytes of a still picture; None for a live view, whose text has all its numbers."""
    return value.png() if hasattr(value, "png") else None


def as_in_a_new_kernel():
    torch.set_printoptions(profile="default")
    forget()  # earlier checks


def quick(source):
    """Cut the training in a cell's source to one step: enough for all but what is learned."""
    source = source.replace("RECORDED = False", "RECORDED = True")
    source = source.replace("range(steps + 1)", "range(1)")
    return source.replace("counted(steps + 1,", "counted(1,")


def replay(path, quickly=True):
    """Run a lesson once.  quickly: with only one step of training, if it trains.

    Returns (its namespace, the values of its cells, the texts they show, their pictures)."""
    sources = [cell.source for cell in code_cells(path)]
    faster = [quick(source) for source in sources]
    return _replay(tuple(faster if quickly else sources))


@functools.cache
def _replay(sources):
    as_in_a_new_kernel()
    namespace, shown = {"__name__": "__main__"}, []
    for source in sources:
        value, text = shown_by(source, namespace)
        shown.append((value, text, picture_of(value)))
    return namespace, *zip(*shown, strict=True)


def committed(cell):
    """Return as text what a cell printed and showed when it was committed."""
    texts = []
    for output in cell.outputs:
        texts.append(output.get("text") or output.data.get("text/plain", ""))
    # printed text ends its own line, a shown value does not
    return "\n".join(text.removesuffix("\n") for text in texts).strip()


def exercises(path):
    """Return (name, code) of each exercise, in order. code: the cell with the check, after the cell
    that defines what it checks, if that is a different one."""
    sources = [cell.source for cell in code_cells(path)]
    found = []
    for source in sources:
        for name, answer in re.findall(r'(?m)^check\("(\w+)", (\w+)\)$', source):
            own = [s for s in sources if re.search(rf"(?m)^(?:def|class) {answer}\b", s)]
            found.append((name, "\n".join(dict.fromkeys([*own, source]))))
    return found


def optional(path):
    """Return the names of the exercises in the part for those who have more time."""
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    _, _, more = text.partition("\n## If you have more time\n")
    shown = re.sub(r"<details>.*?</details>", "", more, flags=re.S)
    return re.findall(r'(?m)^check\("(\w+)"', shown)


class Spoiling:
    """A right answer that overwrites every tensor that it gets.  spoiled: did it get any? None
    before it is called."""

    spoiled = None

    def __init__(self, name, course):
        self.__name__, self.course = name, course

    def __call__(self, *args):
        result = self.course(*(x.clone() if torch.is_tensor(x) else x for x in args))
        tensors = [x for x in args if torch.is_tensor(x)]
        with torch.no_grad():
            for x in tensors:
                x.copy_(x + 1)
        self.spoiled = bool(tensors)
        return result
