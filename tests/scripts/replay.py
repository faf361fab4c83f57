"""Run the code of lessons in this process, without a kernel: fast, and its objects are at hand."""

import ast
import builtins
import contextlib
import functools
import html
import inspect
import io
import itertools
import linecache
import queue
import re
import sys
from types import SimpleNamespace
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


def quoted(path):
    """Return the code in a lesson's texts and folds, solutions left out: all blocks, and what has a
    call in a line of text."""
    text = "\n".join(cell.source for cell in markdown_cells(path))
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    lines = re.findall(r"`([^`\n]+)`|<code>(.*?)</code>", text)
    lines = [html.unescape("".join(found)) for found in lines]
    return [x for x in blocks if x not in solutions(path)] + [x for x in lines if "(" in x]


# What a method belongs to where a text names no owner, as in `transpose(1, 2)`.
OWNERS = torch.ones(4, 4, 4), torch.nn.Linear(4, 4)
# that of a module is meant; it needs a class around it; what a function or a method gets
NOT_KNOWN = {"eval", "super", "x", "self"}


def try_quoted(source, namespace, path):
    """Run code that a lesson's text names; raise what it raises.

    What names something that only a function has, such as its argument, cannot run. Then each call
    must be of something that exists and takes such arguments, and the lesson has all names.
    """
    texts = [cell.source.replace(source, "") for cell in markdown_cells(path)]
    others = "\n".join([*texts, *(cell.source for cell in code_cells(path))])
    source = re.sub(r"^[&.]\s*", "", source.strip())  # it goes on from what stands before it
    tree = ast.parse(source + " pass" * source.endswith(":"))
    nodes = [*ast.walk(tree)]
    made = {node.arg for node in nodes if isinstance(node, ast.arg)}
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.alias)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    made |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    known = {**vars(builtins), **namespace}
    inner = {name.id for name in names} - made - (known.keys() - NOT_KNOWN)
    if not inner:
        run(ast.unparse(tree), namespace)
        return
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        if re.match(r"self\.\w+\(", ast.unparse(call)):
            inner.add(ast.unparse(call.func))
        else:
            _try_call(call, {name: known[name] for name in known.keys() - inner - made})
    for name in inner:
        is_method = any(hasattr(owner, name) for owner in OWNERS)
        if not is_method and not re.search(rf"\b{name}\b", others):
            raise NameError(f"{name} is nowhere else in the lesson: {source}")


def _try_call(call, known):
    """Raise AttributeError or TypeError if there is no such function, or with other arguments."""
    name, owners = getattr(call.func, "attr", getattr(call.func, "id", "")), OWNERS
    if isinstance(call.func, ast.Attribute):
        with contextlib.suppress(NameError, RuntimeError):  # of what only a function has
            owners = [eval(ast.unparse(call.func.value), dict(known))]
    elif callable(known.get(name)):
        owners = [SimpleNamespace(**{name: known[name]})]
    elif not any(hasattr(owner, name) for owner in owners):
        return
    owner = next((x for x in owners if hasattr(x, name)), owners[0])
    function, given = getattr(owner, name), {x.arg: x.value for x in call.keywords}
    try:
        inspect.signature(function).bind(*call.args, **given)
    except ValueError:  # PyTorch's own have none; any error but one of their arguments is ours
        with contextlib.suppress(ValueError, RuntimeError, AssertionError):
            values = [ast.literal_eval(x) for x in call.args]
            given = {key: ast.literal_eval(x) for key, x in given.items()}
            if ... not in (*values, *given.values()):
                function(*values, **given)


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


def whole_range(control):
    """Return the values of a live view's control that show all that it can do."""
    if control["kind"] == "switch":
        return [False, True]
    if control["kind"] == "text":
        return [control["value"]]
    if control["kind"] == "cells":  # all off, all on, and each one flipped
        start = torch.tensor(control["value"])
        single = torch.eye(start.numel(), dtype=torch.bool).view(-1, *start.shape)
        return [(start & False).tolist(), (start | True).tolist(), *(start ^ single).tolist()]
    if "labels" in control:
        return range(len(control["labels"]))
    if control["kind"] == "amounts":  # each amount none and full, the others unchanged
        start = control["value"]
        return [[*start[:k], x, *start[k + 1 :]] for k in range(len(start)) for x in (0.0, 1.0)]
    if control["kind"] == "plane":  # each vector to the corners of the plane and to its middle
        start, limit = control["value"], control["limit"]
        places = [[0, 0], *itertools.product([-limit, limit], repeat=2)]
        return [
            [*start[:k], list(place), *start[k + 1 :]]
            for k in range(len(start))
            for place in places
        ]
    low, high, by = control["low"], control["high"], control["by"]
    count = round((high - low) / by)
    at = sorted({0, count, *range(0, count, max(1, count // 40))})
    return [low + k * by if isinstance(by, int) else round(low + k * by, 6) for k in at]


class Spoiling:
    """A right answer that overwrites every tensor that it gets."""

    def __init__(self, name, course):
        self.__name__, self.course = name, course
        self.told = queue.SimpleQueue()  # which a copy of this object, for a picture, shares

    def was_called(self):
        return not self.told.empty()

    def __call__(self, *args):
        result = self.course(*(x.clone() if torch.is_tensor(x) else x for x in args))
        with torch.no_grad():
            for x in args:
                if torch.is_tensor(x):
                    x.copy_(x + 1)
        self.told.put("called")
        return result
