"""How a verdict looks, and what is remembered of it while the kernel lives: what was told
before, for the next verdict and for progress()."""

import difflib
import html
from dataclasses import dataclass

from IPython import get_ipython
from IPython.display import display

from .exercises import CHECKED
from .message import TRY, Message, Table, shorten

MIME = "application/vnd.attention.verdict+json"  # for the one who reads a class's notebooks


@dataclass(frozen=True)
class Verdict:
    """passed: True, False, or None while the exercise is still the stub.
    said: what it says.  mistakes: names of what was established, in the order in which the
    computation runs; may be empty."""

    passed: bool | None
    said: Message
    mistakes: tuple[str, ...] = ()

    @property
    def message(self):
        """What was printed."""
        return self.said.text()

    def __bool__(self):
        return self.passed is True

    def __repr__(self):
        return f"Verdict(passed={self.passed}, mistakes={self.mistakes})"

    def _ipython_display_(self):
        """Nothing: the message is shown already when check() ends a cell."""


def right(name):
    return Verdict(True, Message(f"✔ {name}: right."))


def not_written(name):
    return Verdict(None, Message(f"… {name}: not written yet."))


def refusal(what, instead):
    """For bad use. what: what cannot be done.  instead: what can."""
    return Verdict(False, Message(f"✘ {what}", why=(instead,)))


def show(name, verdict):
    """Show the verdict on the exercise called name (which may be anything: see misuse)."""
    name = name if isinstance(name, str) else None
    facts = {"exercise": name, "passed": verdict.passed, "mistakes": list(verdict.mistakes)}
    _show(verdict.said, verdict.passed, {MIME: facts})


def _show(said, passed, more=None):
    if get_ipython() is None:
        print(said.text())
        return
    bundle = {"text/plain": said.text(), "text/html": as_html(said, passed)}
    display({**bundle, **(more or {})}, raw=True)


# --- HTML ---

# The edge only repeats what the mark says. The text has the viewer's own colour, which is
# readable on the viewer's own ground, light or dark; so are all edges (3:1 on both).
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
    """The words of said.text() in HTML. What a student's code printed or raised is text in
    it, never markup. Without styles and attributes it still reads from top to bottom."""
    blocks = [_paragraph(said.head, f"{LINE};font-weight:bold;font-size:1.1em")]
    blocks += [_paragraph(sentence) for sentence in (said.gone, *said.why)]
    blocks += [_table(said.table)] if said.table else []
    if said.advice:
        advice = html.escape(said.advice)
        blocks += [f'<p style="{LINE}"><strong>{TRY}</strong> {advice}</p>']
    blocks += [_paragraph(said.after)]
    if said.printed:
        title, *lines = said.printed
        style = "margin:0 0 4px 1em;white-space:pre-wrap;overflow-wrap:anywhere"
        printed = html.escape("\n".join(lines))
        blocks += [_paragraph(title), f'<pre style="{style}">{printed}</pre>']
    # role="alert", because of all live regions only this one is announced when it comes with
    # its words in it (https://github.com/w3c/aria/issues/1216), as an output does; "status"
    # must be there before. JupyterLab removes the role from what it does not trust, so that
    # somebody else's notebook stays silent when it is opened. The class keeps a printed $ from
    # being typeset.
    style = (
        f"border-left:6px solid {EDGES[passed]};padding:2px 0 1px 12px;margin:4px 0;"
        "max-width:60em;overflow-wrap:anywhere"
    )
    inside = "\n".join(block for block in blocks if block)
    return f'<div role="alert" class="mathjax_ignore" style="{style}">\n{inside}\n</div>'


def _paragraph(text, style=LINE):
    return f'<p style="{style}">{html.escape(text)}</p>' if text else ""


def _table(table):
    align = "right" if table.numeric else "left"
    rows = [
        f'<tr style="background:none"><th scope="row" style="{CELL};text-align:left">'
        + html.escape(first)
        + "</th>"
        + "".join(
            f' <td style="{CELL};text-align:{align}">{html.escape(cell)}</td>' for cell in cells
        )
        + "</tr>"
        for first, *cells in table.rows
    ]
    if table.caption:
        style = f"caption-side:top;text-align:left;padding:0;{WORDS}"
        rows.insert(0, f'<caption style="{style}">{html.escape(table.caption)}</caption>')
    # A caption is as wide as its table: above one or two numbers it would be a column itself.
    digits = f";min-width:min(100%, 26em);{DIGITS}" if table.numeric else ""
    rows = "\n".join(rows)
    return f'<table style="margin:0 0 6px;border:0;font-size:inherit{digits}">\n{rows}\n</table>'


# --- what is remembered ---


@dataclass
class _Memory:
    """Of one exercise: the last verdict, the last names that were told, and those before."""

    verdict: Verdict | None
    last: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


_memories = {}  # by the name that was given to check()


def forget():
    """As in a new kernel."""
    _memories.clear()


def told_before(name, mistakes):
    """The names that were told of this exercise before these.

    The same mistakes again are compared with the same ones before, so that a cell that is
    run again says the same again.
    """
    memory = _memories.get(name, _Memory(None))
    return memory.before if mistakes == memory.last else memory.last


def remember(name, verdict):
    """For told_before() and progress()."""
    memory = _memories.setdefault(name, _Memory(verdict))
    if verdict.mistakes and verdict.mistakes != memory.last:
        memory.before, memory.last = memory.last, verdict.mistakes
    memory.verdict = verdict


def progress(*exercises):
    """Show which of these exercises are solved and which are open, since the kernel started.

    exercises: names as given to check(). Raises nothing: bad use is told in a sentence.
    """
    refused = _misuse(exercises)
    if refused is not None:
        _show(refused.said, refused.passed)
        return
    verdicts = {name: _memories[name].verdict if name in _memories else None for name in exercises}
    solved = sum(map(bool, verdicts.values()))
    table = Table("Your exercises:", tuple(_row(*item) for item in verdicts.items()), numeric=False)
    all_solved = solved == len(verdicts)
    _show(
        Message(table=table, after=f"{solved} of {len(verdicts)} solved."),
        True if all_solved else None,
    )


def _row(name, verdict):
    if verdict is None:
        return f"… {name}", "not checked since the kernel started"
    if verdict.passed is None:
        return f"… {name}", "not written yet"
    if verdict.passed:
        return f"✔ {name}", "right"
    if not verdict.mistakes:
        return f"✘ {name}", "not right yet"
    first, *others = verdict.mistakes  # one at a time, as in the verdict
    return f"✘ {name}", f"{first}, and {len(others)} more" if others else first


def _misuse(exercises):
    """The refusal if these cannot be names of exercises, else None."""
    if not exercises or not all(isinstance(name, str) for name in exercises):
        return refusal(
            "progress: the names of exercises are expected.",
            'Write it like this: progress("scores", "all_scores").',
        )
    unknown = [name for name in exercises if name not in CHECKED]
    if not unknown:
        return None
    near = difflib.get_close_matches(unknown[0], CHECKED, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return refusal(
        f"progress: there is no exercise {shorten(repr(unknown[0]), 40)}.{hint}",
        f"The exercises are {', '.join(CHECKED)}.",
    )
