"""Decide what a lesson keeps closed: answers to predictions, and code that only loads or draws.

The same rule applies to notebooks, whose cells are collapsed when they are executed, and to pages.
"""

import re

from ...checks.verdict import MIME as VERDICT

ASIDE = "aside"  # a tag: code that a reader can skip, if no rule recognises it
LOADS = re.compile(r"(import|from) |\S.*\b(insert|set_printoptions|load_\w+)\(")
LIVE = re.compile(r"^(explore|predict)\(", re.M)
FOLD = re.compile(r"<details>.*?</details>", re.S)


def closed(cells):
    """Yield (cell, answers, way) for each cell: whether its outputs are an answer, and why its
    code is closed, "predict", "explore", "loads", ASIDE or ""."""
    asked = False
    for cell in cells:
        if cell.cell_type == "code":
            is_question = way(cell) == "predict"
            answers = bool(cell.outputs) and (asked or names_mistakes(cell)) and not is_question
            asked = asked or is_question
            yield cell, answers, way(cell)
        else:
            # an answer continues while the text below it is entirely folded
            asked = asked and not FOLD.sub("", cell.source).strip()
            yield cell, False, ""


def names_mistakes(cell):
    """Return whether a cell shows a verdict on given code, for readers to repair."""
    verdicts = (output.get("data", {}).get(VERDICT, {}) for output in cell.outputs)
    return any(verdict.get("passed") is False for verdict in verdicts)


def way(cell):
    """Return why the code of a cell is closed: it shows a live picture or a question, or each of
    its lines only loads. So an idea needs a separate cell."""
    if ASIDE in cell.metadata.get("tags", ()):
        return ASIDE
    if found := LIVE.search(cell.source):
        return found[1]
    lines = [line for line in cell.source.split("\n") if line and not line.startswith("#")]
    return "loads" if lines and all(map(LOADS.match, lines)) else ""
