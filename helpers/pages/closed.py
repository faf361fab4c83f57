"""Decide what a lesson keeps closed: answers to predictions, and code that only loads or draws.

The same rule applies to notebooks, whose cells are collapsed when they are executed, and to pages.
"""

import ast
import re

from ..checks.verdict import MIME as VERDICT

ASIDE = "aside"  # a tag: code that a reader can skip, if no rule recognises it
DRAWS = ("explore", "Still")
FOLD = re.compile(r"<details>.*?</details>", re.S)


def closed(cells):
    """Yield (cell, answers, way) for each cell: whether its outputs are an answer, and why its
    code is closed, one of DRAWS, "loads", ASIDE or ""."""
    asked = False
    for cell in cells:
        if cell.cell_type == "code":
            answers = bool(cell.outputs) and (asked or names_mistakes(cell))
            yield cell, answers, way(cell)
        else:
            # an answer continues while the text below it is entirely folded
            asked = asks(cell.source) or asked and not FOLD.sub("", cell.source).strip()
            yield cell, False, ""


def asks(text):
    """Return whether a text asks for a prediction that the cells below answer, and no fold does."""
    _, question, after = text.rpartition("**Predict")
    return bool(question) and "<details>" not in after


def names_mistakes(cell):
    """Return whether a cell shows a verdict on given code, for readers to repair."""
    verdicts = (output.get("data", {}).get(VERDICT, {}) for output in cell.outputs)
    return any(verdict.get("passed") is False for verdict in verdicts)


def way(cell):
    """Return why the code of a cell is closed: it only loads, or its last statement is a picture,
    live or still. So an idea needs a separate cell."""
    if ASIDE in cell.metadata.get("tags", ()):
        return ASIDE
    try:
        statements = ast.parse(cell.source).body
    except SyntaxError:  # such as %pip, which only IPython knows
        return ""
    if statements and all(map(_loads, statements)):
        return "loads"
    called = _called(statements[-1]) if statements else ""
    return called if called in DRAWS else ""


def _loads(statement):
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return True
    called = _called(statement)
    return called in ("insert", "set_printoptions") or called.startswith("load_")


def _called(statement):
    """Return the last part of the name that a statement calls, or "" if it calls nothing."""
    value = getattr(statement, "value", None)
    return ast.unparse(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
