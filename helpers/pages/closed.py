"""What a lesson keeps closed: answers until they are asked for, code that only loads or draws.

One rule for notebooks, whose cells are collapsed when they are executed, and for pages.
"""

import ast
import re

from ..checks.verdict import MIME as VERDICT

ASIDE = "aside"  # a tag: code that a reader may pass over, where no rule can know it
DRAWS = ("explore", "Still")
FOLD = re.compile(r"<details>.*?</details>", re.S)


def closed(cells):
    """For each cell (cell, answers, way): answers is whether its outputs are an answer; way says
    what takes its code out of the way, one of DRAWS, "loads", ASIDE or ""."""
    asked = False
    for cell in cells:
        if cell.cell_type == "code":
            answers = bool(cell.outputs) and (asked or names_mistakes(cell))
            yield cell, answers, way(cell)
        else:
            # an answer goes on while the text says nothing in the open
            asked = asks(cell.source) or asked and not FOLD.sub("", cell.source).strip()
            yield cell, False, ""


def asks(text):
    """Does it ask for a prediction that the cells below it answer, and no fold in it?"""
    _, question, after = text.rpartition("**Predict")
    return bool(question) and "<details>" not in after


def names_mistakes(cell):
    """Is there a verdict on code that somebody else wrote, for readers to repair?"""
    verdicts = (output.get("data", {}).get(VERDICT, {}) for output in cell.outputs)
    return any(verdict.get("passed") is False for verdict in verdicts)


def way(cell):
    """What takes the code of a cell out of the way: it loads and does nothing else, or what it
    ends with is a picture, live or still. So an idea needs a cell of its own."""
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
    """The last part of the name that a statement calls, or "" if it calls nothing."""
    value = getattr(statement, "value", None)
    return ast.unparse(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
