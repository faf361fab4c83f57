"""Ask the reader for a guess before the cell that answers.

The page (predict.js) sends {"guess": [texts]}, and shows only what Python has kept. The guess is
saved with the output: as text, and in its metadata, which strict comparison leaves out.
"""

import html
import json
import math
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import traitlets

from ..errors import InputError
from ..guard import get_ipython
from .given import bare, one_line, one_word
from .live import Live, page_text, running_cell

GUESS, NONE = "Your guess: ", "none yet"  # on a line of its own, which sanitize.cfg leaves out
SAVED = "prediction"  # in an output's metadata: what is asked, and the guess
FIELDS = {float: "number", str: "word"}

_asked = {}  # (cell, question): its Prediction, so that a cell that is run again knows the guess


class Prediction(Live):
    """The widget that predict() returns; a notebook displays it."""

    name, note = "predict", "To guess"
    _esm = page_text("base.js") + page_text("predict.js")
    _esm += "export default { render: renderQuestion };"
    _css = page_text("predict.css")
    asked = traitlets.Dict().tag(sync=True)  # question, choices, kind of choice, how many to pick
    shown = traitlets.Dict().tag(sync=True)
    page = traitlets.Unicode().tag(sync=True)  # the first that showed the question

    def __init__(self, asked, guess):
        super().__init__(asked=asked, shown={"guess": guess, "closed": False, "turn": 0})
        self.on_msg(lambda _, content, buffers: self._keep(content.get("guess")))

    def _keep(self, guess):
        """Keep a guess, unless it comes too late, and tell the page what is kept."""
        guess = self.shown["guess"] if self.shown["closed"] else valid(self.asked, guess)
        with self.hold_sync():  # what the page shows is already in the notebook
            self.shown = self.shown | {"guess": guess, "turn": self.shown["turn"] + 1}
            if self._output:
                bundle, metadata = self.saved()
                self._output.update(bundle, metadata=metadata, raw=True)

    def __repr__(self):
        choices = " | ".join(self.asked["choices"]) or f"a {self.asked['kind']}"
        guess = " and ".join(self.shown["guess"]) or NONE
        return f"{self.asked['question']}\n{choices}\n{GUESS}{guess}"

    def _repr_mimebundle_(self, **kwargs):
        """Return the question and the guess, for programs that run no code."""
        lines = map(html.escape, repr(self).split("\n"))
        markup = '<strong>{}</strong><br>{}<br><span class="guess">\n{}\n</span>'.format(*lines)
        metadata = {SAVED: self.asked | {"guess": self.shown["guess"]}}
        return {"text/plain": repr(self), "text/html": f"<p>{markup}</p>"}, metadata


def predict(question, choices, pick=1):
    """Ask for a guess, to be made before the next cell is run. It knows no answer.

    question: one sentence.
    choices: a list of at least two different numbers or words, which become buttons; or float for a
        field for a number, str for a field for a word.
    pick: how many of the list the question asks for.

    The guess is saved with the notebook. It can be changed until another cell has run, and again
    when this cell is run again. In JupyterLab, Notebook and VS Code, a new kernel finds it as last
    saved, unless the notebook was renamed, or asks the same in two cells.
    Returns the widget: put it last in the cell.
    Raises InputError if the arguments don't fit together.
    """
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"question is {question!r}; a sentence is expected.")
    kind = next((kind for field, kind in FIELDS.items() if choices is field), "choice")
    several = [choices] if isinstance(choices, str) or not np.iterable(choices) else choices
    texts = [one_word(bare(choice)) for choice in several] if kind == "choice" else []
    if kind == "choice" and len({*texts}) < max(2, len(texts)):
        expected = "a list of at least two different choices, float or str is expected."
        raise InputError(f"choices is {choices!r}; {expected}")
    if pick not in range(1, max(2, len(texts))):
        raise InputError(f"pick is {pick!r}; at least 1 and fewer than the choices is expected.")
    asked = {"question": one_line(question), "choices": texts, "kind": kind, "pick": pick}
    cell, _ = running_cell()
    if before := _asked.get((cell, question)):
        before.close()  # it is no longer shown
    guess = before.shown["guess"] if before else saved_guess(asked["question"])
    if shell := get_ipython():
        shell.events.register("post_run_cell", _cell_has_run)  # once, however often it is called
    _asked[cell, question] = Prediction(asked, valid(asked, guess))
    return _asked[cell, question]


def valid(asked, guess):
    """Return a guess as a list of texts, the oldest click first; [] if it is not one.

    asked: as a Prediction has it.  guess: anything, as it comes from a page or a file.
    """
    texts = [one_line(str(x)) for x in guess] if isinstance(guess, list) else []
    found = [x for x in dict.fromkeys(texts) if x in asked["choices"] or asked["kind"] == "word"]
    if asked["kind"] == "number":
        with suppress(ValueError):
            found = [f"{float(x):z.6g}" for x in texts if math.isfinite(float(x))]
    return found


def saved_guess(question):
    """Return the guess that the notebook's file has for this question; [] for none."""
    file = getattr(get_ipython(), "user_ns", {}).get("__vsc_ipynb_file__")
    try:
        path = Path(file or os.environ["JPY_SESSION_NAME"])
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        saved = [o.get("metadata", {}).get(SAVED) for x in cells for o in x.get("outputs", ())]
        (guess,) = (x["guess"] for x in saved if x and x["question"] == question)
        return guess
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def _cell_has_run(result):
    """Close the questions of other cells that have a guess."""
    if not getattr(result.info, "store_history", False):
        return  # an extension asked the kernel, not the reader
    now, _ = running_cell()
    for (cell, _), one in _asked.items():
        if cell != now and len(one.shown["guess"]) == one.asked["pick"]:
            one.shown = one.shown | {"closed": True}
