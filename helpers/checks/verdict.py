"""How a verdict looks, and progress(), which shows the last verdict on each exercise."""

import html
from dataclasses import dataclass, field

from IPython import get_ipython
from IPython.display import display

from ..errors import sendable
from ._misuse import no_exercise
from .exercises import CHECKED
from .message import TRY, Message, Table

MIME = "application/vnd.attention.verdict+json"  # for programs that read verdicts


@dataclass(frozen=True)
class Verdict:
    """passed: True, False, or None while the exercise is still the stub.
    said: the Message.  mistakes: names of those established, in the order in which
    match.established() returns them; may be empty.  by: which witness of evidence.py spoke."""

    passed: bool | None
    said: Message = field(repr=False)
    mistakes: tuple[str, ...] = ()
    by: str = field(default="", repr=False)

    @property
    def message(self):
        """The verdict as plain text."""
        return sendable(self.said.text())

    def __bool__(self):
        return self.passed is True

    def _ipython_display_(self):
        """Show nothing: when check() ends a cell, the message has been shown already."""


def right(name, beside=""):
    """Return the Verdict on a right answer. beside: a remark on how it works; may be empty."""
    return Verdict(True, Message(f"✔ {name}: right.", after=beside))


def not_written(name):
    return Verdict(None, Message(f"… {name}: not written yet."))


def refusal(what, instead):
    """Return the Verdict on bad use. what: what cannot be done.  instead: what can."""
    return Verdict(False, Message(f"✘ {what}", why=(instead,)))


def show(name, verdict):
    """Show the verdict on the exercise called name (which may be anything: see misuse)."""
    name = sendable(name) if isinstance(name, str) else None
    facts = {"exercise": name, "passed": verdict.passed, "mistakes": list(verdict.mistakes)}
    _show(verdict, {MIME: facts})


def _show(verdict, more=None):
    if get_ipython() is None:
        print(verdict.message)
        return
    markup = as_html(verdict.said, verdict.passed)
    display({"text/plain": verdict.message, "text/html": markup, **(more or {})}, raw=True)


# --- HTML ---

# The edge only repeats what the mark says. The text keeps the viewer's own colour, which is
# readable on the viewer's own background, light or dark; so are all edges (3:1 on both).
EDGES = {
    True: "var(--jp-success-color1, #388e3c)",
    False: "var(--jp-error-color1, #d32f2f)",
    None: "var(--jp-ui-font-color2, #808080)",
}
LINE = "margin:0 0 4px"
CELL = "padding:1px 0.6em 1px 0;border:0;background:none;vertical-align:top;white-space:pre-wrap"
WORDS = "font-family:var(--jp-content-font-family, system-ui, sans-serif)"
DIGITS = "font-family:var(--jp-code-font-family, monospace);font-variant-numeric:tabular-nums"


def as_html(said, passed):
    """Return the words of said.text() as HTML. What a student's code printed or raised is text in
    it, never markup. Without styles and attributes it still reads from top to bottom."""
    blocks = [_element("p", said.head, f"{LINE};font-weight:bold;font-size:1.1em")]
    blocks += [_element("p", sentence) for sentence in said.why]
    blocks += [_table(said.table)] if said.table else []
    if said.advice:
        advice = html.escape(said.advice)
        blocks += [f'<p style="{LINE}"><strong>{TRY}</strong> {advice}</p>']
    blocks += [_element("p", sentence) for sentence in (said.after, *said.printed[:1])]
    style = "margin:0 0 4px 1em;white-space:pre-wrap;overflow-wrap:anywhere"
    blocks += [_element("pre", "\n".join(said.printed[1:]), style)]
    # Of all live regions only an alert is announced when it comes with its words in it
    # (https://github.com/w3c/aria/issues/1216), as an output does. JupyterLab removes the role from
    # what it does not trust, so that someone else's notebook opens in silence. The class
    # mathjax_ignore keeps a printed $ from being typeset.
    style = (
        f"border-left:6px solid {EDGES[passed]};padding:2px 0 1px 12px;margin:4px 0;"
        "max-width:60em;overflow-wrap:anywhere"
    )
    inside = "\n".join(filter(None, blocks))
    return f'<div role="alert" class="mathjax_ignore" style="{style}">\n{sendable(inside)}\n</div>'


def _element(tag, text, style=LINE, more=""):
    return f'<{tag}{more} style="{style}">{html.escape(text)}</{tag}>' if text else ""


def _table(table):
    align = "right" if table.numeric else "left"
    # A caption is as wide as its table: above one or two numbers it would be a narrow column.
    digits = f";min-width:min(100%, 26em);{DIGITS}" if table.numeric else ""
    style = f"caption-side:top;text-align:left;padding:0;{WORDS}"
    lines = [_element("caption", table.caption, style)]
    for first, *others in table.rows:
        cells = [_element("th", first, f"{CELL};text-align:left", ' scope="row"')]
        cells += [_element("td", cell, f"{CELL};text-align:{align}") for cell in others]
        lines.append(f'<tr style="background:none">{" ".join(cells)}</tr>')
    rows = "\n".join(filter(None, lines))
    return f'<table style="margin:0 0 6px;border:0;font-size:inherit{digits}">\n{rows}\n</table>'


# --- progress ---


_verdicts = {}  # the last one, by the name given to check()


def forget():
    """Forget all verdicts, as if the kernel were new."""
    _verdicts.clear()


def remember(name, verdict):
    """Keep a verdict for progress()."""
    _verdicts[name] = verdict


def progress(*exercises, optional=()):
    """Show which of these exercises are solved and which are open, since the kernel started.

    exercises: names as given to check().
    optional: the same, of those that a reader may leave out; they are counted apart.
    Raises nothing: bad use is answered in a sentence.
    """
    refused = _misuse(exercises, optional)
    if refused:
        _show(refusal(*refused))
        return
    rows = [_row(name, _verdicts.get(name)) for name in exercises]
    rows += [_row(f"{name} (optional)", _verdicts.get(name)) for name in optional]
    done, extra = (sum(bool(_verdicts.get(name)) for name in x) for x in (exercises, optional))
    after = f"{done} of {len(exercises)} solved"
    after += f", and {extra} of {len(optional)} optional." if optional else "."
    table = Table("Your exercises:", tuple(rows), numeric=False)
    _show(Verdict(True if done == len(exercises) else None, Message(table=table, after=after)))


def _row(name, verdict):
    if verdict is None:
        return f"… {name}", "not checked since the kernel started"
    if verdict.passed is None:
        return f"… {name}", "not written yet"
    if verdict.passed:
        return f"✔ {name}", "right"
    first, *others = verdict.mistakes or ("not right yet",)  # name one, as the verdict does
    return f"✘ {name}", f"{first}, and {len(others)} more" if others else first


def _misuse(exercises, optional):
    """Return, as _misuse.misuse() does, what is wrong with these names of exercises; or None."""
    named = isinstance(optional, (tuple, list)) and all(
        isinstance(name, str) for name in (*exercises, *optional)
    )
    if not exercises or not named:
        return (
            "progress: it expects the names of exercises, and those that are optional as a list.",
            'Write it like this: progress("scores", "all_scores", optional=["cosine_scores"]).',
        )
    unknown = [name for name in (*exercises, *optional) if name not in CHECKED]
    return no_exercise("progress", unknown[0]) if unknown else None
