"""Ask the reader for a guess before the cell that answers.

The page (predict.js) sends {"guess": [texts]}; what it then shows is the trait `shown`, so it shows
only what Python has kept. The guess is saved with the output: as text, and in its metadata, which
strict comparison of outputs leaves out.
"""

import html
import json
import math
import os
from pathlib import Path

import anywidget
import numpy as np
import traitlets
from IPython.display import display

from ..errors import InputError
from ..guard import get_ipython
from .explore import as_still, in_one_output, page_text, running_cell
from .given import bare, one_line

GUESS = "Your guess: "  # the rest of its line is the reader's: strict comparison leaves it out
NONE = "none yet"
SAVED = "prediction"  # in an output's metadata: the question, what can be chosen, the guess
LONGEST = 40  # letters of a word
FIELDS = {float: "number", str: "word"}

_asked = {}  # (cell, question): its Prediction, so that a cell that is run again knows the guess


class Prediction(anywidget.AnyWidget):
    """The widget that predict() returns; a notebook displays it."""

    _esm = "".join(map(page_text, ("base.js", "predict.js")))
    _esm += "\nexport default { render: renderQuestion };"
    _css = page_text("predict.css")
    asked = traitlets.Dict().tag(sync=True)
    shown = traitlets.Dict().tag(sync=True)
    page = traitlets.Unicode().tag(sync=True)  # the first that showed the question

    def __init__(self, asked, guess, run):
        self._output, self._live, self.run = None, {}, run
        super().__init__(asked=asked, shown={"guess": guess, "closed": False, "turn": 0})
        self.comm._reply_subshell_for = lambda data, of_the_page: of_the_page  # as in explore.py
        self.on_msg(lambda _, content, buffers: self._keep(content.get("guess")))

    def _keep(self, guess):
        """Keep a guess unless it is too late for it, and let the page show what is kept."""
        guess = None if self.shown["closed"] else valid(self.asked, guess)
        kept = {} if guess is None else {"guess": guess}
        self.shown = self.shown | kept | {"turn": self.shown["turn"] + 1}
        if self._output and kept:
            bundle, metadata = self._saved()
            self._output.update(bundle, metadata=metadata, raw=True)

    def close_after(self, run):
        """Close the question, if a guess is given and a different cell has run."""
        if run != self.run and len(self.shown["guess"]) == self.asked["pick"]:
            self.shown = self.shown | {"closed": True}

    def close(self):
        super().close()
        self.layout.close()  # a separate widget, which would stay open

    def _lines(self):
        choices = " | ".join(self.asked["choices"]) or f"a {self.asked['kind']}"
        return self.asked["question"], choices, GUESS + (" and ".join(self.shown["guess"]) or NONE)

    def __repr__(self):
        return "\n".join(self._lines())

    def _repr_mimebundle_(self, **kwargs):
        """Return the question and the guess, for programs that run no code."""
        question, choices, said = map(html.escape, self._lines())
        markup = (
            f'<p><strong>{question}</strong><br>{choices}<br><span class="guess">{said}</span></p>'
        )
        metadata = {SAVED: self.asked | {"guess": self.shown["guess"]}}
        return {"text/plain": repr(self), "text/html": f"<p>{markup}</p>"}, metadata

    def _saved(self):
        bundle, metadata = self._repr_mimebundle_()
        if self._live:
            return self._live | bundle, metadata
        return as_still(bundle, "predict", "To guess"), metadata

    def _ipython_display_(self):
        """Display two outputs, as a live picture does: see explore.py."""
        live, _ = super()._repr_mimebundle_()
        if in_one_output():
            self._live = live
        else:
            live.pop("text/plain")
            display(live, raw=True)
        bundle, metadata = self._saved()
        self._output = display(bundle, metadata=metadata, raw=True, display_id=True)


def predict(question, choices, pick=1):
    """Ask for a guess, to be made before the next cell is run. It knows no answer.

    question: one sentence.
    choices: a list of at least two, different numbers or words, which become buttons; or float for
        a field for a number, or str for a field for a word of up to 40 letters.
    pick: how many of the list the question asks for.

    The guess is saved with the notebook. It can be changed until another cell has run, and after
    that when this cell is run again. It is found again in the kernel's memory or, in a new kernel,
    in the notebook's file as it was last saved; not where the kernel is not told the file (other
    programs than JupyterLab, Notebook and VS Code), or a different name.
    Returns the widget: put it last in the cell.
    Raises InputError if the arguments don't fit together, or if the cell asks a question twice.
    """
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"question is {question!r}; a sentence is expected.")
    kind = FIELDS.get(choices, "choice") if isinstance(choices, type) else "choice"
    several = [] if kind != "choice" else _choices(choices)
    if isinstance(pick, bool) or not isinstance(pick, int) or not 0 < pick < max(2, len(several)):
        most = f"a whole number from 1 to {len(several) - 1}" if several else "1, for a field,"
        raise InputError(f"pick is {pick!r}; {most} is expected.")
    question = one_line(" ".join(question.split()))
    asked = {"question": question, "choices": several, "kind": kind, "pick": pick}
    cell, run = running_cell()
    before = _asked.get((cell, question))
    if before and run and before.run == run:
        raise InputError(f"this cell asks {question!r} twice; ask it once.")
    guess = before.shown["guess"] if before else saved_guess(cell, question)
    if before:
        before.close()  # it is no longer shown
    shell = get_ipython()
    if shell and _cell_has_run not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("post_run_cell", _cell_has_run)
    _asked[cell, question] = Prediction(asked, valid(asked, guess) or [], run)
    return _asked[cell, question]


def _choices(choices):
    """Return the texts of a list of choices."""
    expected = "a list of at least two different choices, float or str is expected."
    if isinstance(choices, str) or not np.iterable(choices):
        raise InputError(f"choices is {str(choices)[:40]!r}; {expected}")
    texts = [one_line(str(bare(choice)).strip()) for choice in choices]
    if len(texts) < 2 or len({*texts}) < len(texts) or "" in texts:
        raise InputError(f"choices has {', '.join(map(repr, texts)) or 'nothing'}; {expected}")
    return texts


def valid(asked, guess):
    """Return a guess as a list of texts, in the order of the choices; None if it is not one.

    asked: what is saved of a question.  guess: anything, as it comes from a page or from a file.
    """
    if not isinstance(guess, list) or not all(isinstance(text, str) for text in guess):
        return None
    if len(guess) > asked["pick"] or len({*guess}) < len(guess):
        return None
    if asked["kind"] == "choice":
        known = [choice for choice in asked["choices"] if choice in guess]
        return known if len(known) == len(guess) else None
    if asked["kind"] == "word":
        return [one_line(text)[:LONGEST] for text in guess]
    try:
        numbers = [float(text) for text in guess]
    except ValueError:
        return None
    return [f"{x:z.6g}" for x in numbers] if all(map(math.isfinite, numbers)) else None


def saved_guess(cell, question):
    """Return the guess that the notebook's file has for this question; [] if none is found.

    cell: the cell's id. VS Code has ids of its own: there, only a question asked once is found.
    """
    file = getattr(get_ipython(), "user_ns", {}).get("__vsc_ipynb_file__")
    try:
        cells = json.loads(
            Path(file or os.environ["JPY_SESSION_NAME"]).read_text(encoding="utf-8")
        )["cells"]
        cells = [x for x in cells if x.get("id") == cell] if not file else cells
        saved = [o.get("metadata", {}).get(SAVED) for x in cells for o in x.get("outputs", ())]
        (guess,) = (x["guess"] for x in saved if x and x["question"] == question)
        return guess
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _cell_has_run(result):
    if getattr(result.info, "store_history", False):  # not what an extension asks the kernel
        run = running_cell()[1]
        for prediction in _asked.values():
            prediction.close_after(run)
