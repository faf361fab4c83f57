"""Use a live view in a page of JupyterLab, and check what it shows.

Its own kernel says what it should show: compute() makes the whole picture anew.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
from lab import in_kernel, scroll_to

IN_LESSONS = "slider", "choice", "checkbox", "table", "amount", "vector", "mark"
# whose size changes: different rows, longer names, or a caption of three lines
RESIZED = "resized", "one query", "two marks", "landing"
LIVE = Path(__file__).with_name("live.js")
# the package reads this file with the encoding of the machine when it is imported
AXE = Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js")

# This runs in the kernel, under names that no lesson has.
IN_KERNEL = """
import json as _json

def _live_views():
    shown = {n: x for n, x in Out.items() if hasattr(x, "compute")}
    return _json.dumps({n: (x.title, x.controls, x.palette[0]) for n, x in shown.items()})

def _live_picture(n, values, cell):
    picture = Out[n].compute(values)
    return _json.dumps([picture, cell and Out[n].explanation(cell)], default=list)
"""


def touch_drag(page, x, y, right=0, down=0):
    touch = page.context.new_cdp_session(page)
    for kind, part in [("Start", 0), ("Move", 0.5), ("Move", 1), ("End", None)]:
        points = [] if part is None else [{"x": x + part * right, "y": y + part * down}]
        touch.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})


def axe_finds_nothing(box, only_colours=False):
    """Assert it of the output that a box belongs to."""
    rules = {"runOnly": ["color-contrast"]} if only_colours else {}
    box.page.add_script_tag(path=AXE)
    found, looked_at = box.evaluate(
        """async (e, rules) => {
            // JupyterLab's body has no height, and axe takes all in it for hidden
            document.body.style.height = '100vh';
            const output = e.closest('.jp-OutputArea');
            let { violations, passes } = await axe.run(output, rules);
            // while the styles of a theme are still loaded, there is no colour to look at
            for (let k = 0; k < 20 && !passes.length && !violations.length; k++) {
                await new Promise((done) => setTimeout(done, 250));
                ({ violations, passes } = await axe.run(output, rules));
            }
            const say = (node) => node.html.slice(0, 150) + node.failureSummary;
            return [violations.map(({ id, nodes }) => [id, nodes.map(say)]), passes.length];
        }""",
        rules,
    )
    assert looked_at and found == [], json.dumps(found, indent=1)


class LiveView:
    """A live view in the page.  number: of its cell.  count: of that cell's execution."""

    def __init__(self, page, number, count, title, controls, extra):
        self.page, self.number, self.count = page, number, count
        self.title, self.controls, self.extra = title, controls, extra
        self.box = page.locator(f'.jp-Cell[data-windowed-list-index="{number}"] .explore')
        self.find = self.box.locator

    def go(self):
        """Bring the whole view into the window: a shift outside it cannot be seen."""
        self.page.mouse.move(0, 0)
        scroll_to(self.page, self.number)
        self.box.evaluate("e => { e.scrollIntoView({ block: 'center' }); return live.frame(); }")

    def ask(self, function):
        """Return what a function of live.js says about this view."""
        return self.page.evaluate(f"live.{function}({self.number})")

    def unmoved(self):
        """Assert that nothing moved since live.watch, unless the picture is made to change size."""
        moved = self.ask("moved")
        assert self.title in RESIZED or moved == [], f"{self.title}: {moved}"

    def right(self, cell=None):
        """Assert that the view comes to show what Python computes for the values of its controls,
        while a cell (panel, row, column) is pointed at; return these values."""
        values = {}
        shown = dict(self.ask("values"))
        for control in self.controls:
            values[control["name"]] = in_full(control, shown.pop(called(control)))
        assert not shown
        said = json.loads(in_kernel(self.page, f"_live_picture({self.count}, {values}, {cell})"))
        right = expected(self.controls, *said, cell)
        wrong = self.page.evaluate("live.until", [self.number, right])
        assert wrong is None, f"{self.title} {values} {cell}: {json.dumps(wrong)} (page, Python)"
        return values

    # --- with the keyboard ---

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def enter(self):
        """Press Tab until the first control has the focus, from where running the cell left it."""
        self.go()
        self.ask("select")
        for _ in range(12):
            self.press("Tab")
            if self.focused("tagName"):
                return
        raise AssertionError(f"Tab does not reach {self.title}")

    def reset(self):
        """Go back to the start, by the button that each view with controls has."""
        if self.controls:
            self.find("fieldset button", has_text="reset").click()
        assert self.right() == {c["name"]: c["value"] for c in self.controls}

    def focused(self, what):
        """Return a property of what has the focus; None if that is outside the view."""
        script = "([number, what]) => live.focused(number)?.[what] ?? null"
        return self.page.evaluate(script, [self.number, what])

    def operate(self, kind):
        """Do all that the thing in focus, of this kind, can do; in a lesson only what depends on
        its numbers, since the extra views have the rest."""
        if kind != "scroll" and (self.extra or kind in IN_LESSONS):
            getattr(self, f"operate_{kind}", self.operate_button)()

    def operate_slider(self):
        low, high, by = map(float, map(self.focused, ("min", "max", "step")))
        for key, end in ("End", high), ("Home", low), ("End", high):
            self.press(key)
            assert abs(float(self.focused("value")) - end) < by, key
            if key == "Home" and self.extra and len(self.controls) < 6:
                self.right()
        self.move("ArrowLeft")
        assert float(self.focused("value")) < high

    def move(self, key):
        """Press a key that moves a control; check that just the numbers it changed are marked."""
        self.right()  # so that no answer is on its way
        before = self.ask("numbers")
        self.press(key)
        self.right()
        now = self.ask("numbers")
        same_size = len(before) == len(now)
        changed = [
            same_size and old != new for (old, _), (new, _) in zip(before, now, strict=False)
        ]
        assert [mark for _, mark in now] == changed or not same_size, self.title

    def operate_choice(self):
        self.press("Home")
        count = self.page.evaluate("document.activeElement.options.length")
        for k in range(count):
            assert self.focused("value") == str(k)
            if k in (0, count - 1):
                self.right()
            self.press("ArrowDown")

    def operate_checkbox(self):
        for _ in range(2):
            before = self.focused("checked")
            self.move("Space")
            assert self.focused("checked") is not before

    def operate_text(self):
        before, keys = self.focused("value"), "abmdd x"
        self.press("End")
        self.page.keyboard.type(keys)
        assert self.focused("value") == before + keys
        self.right()
        self.press(*["Backspace"] * len(keys))
        self.right()

    def operate_button(self):
        word = self.focused("textContent")
        self.press("Enter")
        if word == "play":
            assert self.focused("textContent") == "stop"
            self.press("Enter")
            assert self.focused("textContent") == "play"
        self.right()

    def operate_amount(self):
        """Move an amount up and down, beyond its ends, by steps and by ten of them."""
        ends = [(["ArrowUp"] * 21, 1), (["ArrowDown"] * 21, 0), (["ArrowRight"], 0.05)]
        for keys, value in [*ends, (["PageUp"], 0.55)]:
            self.press(*keys)
            self.right(self.ask("pointed"))
            assert abs(float(self.focused("dataset")["value"]) - value) < 0.006

    def operate_vector(self):
        before = self.focused("dataset")["value"]
        self.press("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown", "ArrowUp")
        self.right(self.ask("pointed"))
        assert self.focused("dataset")["value"] != before

    def operate_mark(self):
        """Move along the words of a drawing and back; choose one if it can be chosen."""
        first = self.focused("ariaLabel")
        self.press("ArrowRight")
        self.press(*["ArrowLeft"] * 2)
        assert self.focused("ariaLabel") == first
        if self.focused("ariaPressed") is not None:
            self.press("Enter")
            self.right(self.ask("pointed"))
            assert self.focused("ariaPressed") == "true"

    def operate_table(self):
        """Move from corner to corner, also against the edges, first to what a mask hides; turn what
        is a switch."""
        k, n, m = self.ask("place")
        right, down, left, up = ([f"Arrow{way}"] * 16 for way in ("Right", "Down", "Left", "Up"))
        for keys, i, j in [(right[:m], 0, m - 1), (down[:n] + left[:m], n - 1, 0), (up[:n], 0, 0)]:
            self.press(*keys)
            self.right((k, i, j))
            for press in ("Enter", "Space") if self.focused("ariaSelected") else ():
                before = self.focused("ariaSelected")
                self.press(press)
                assert self.focused("ariaSelected") != before, "at once"
                self.right((k, i, j))

    def operate_canvas(self):
        k, n, m = self.ask("place")
        self.press("End", "PageDown", "ArrowUp", "ArrowLeft")
        self.right((k, min(10, n - 1) - 1, m - 2))
        self.press("Home", "PageUp", "ArrowDown", "ArrowRight")
        self.right((k, 1, 1))


# --- what Python says ---


def number(text):
    """Return a slider's output as a number, or as the text that names a step."""
    try:
        return float(text)
    except ValueError:
        return text


def two_digits(numbers):
    return np.round(numbers, 2).tolist()


def called(control):
    """Return the name of a control in live.values."""
    return "cells" if control["kind"] == "cells" else control["name"].replace("_", " ")


def in_full(control, value):
    """Return a control's value on the page as Python has it: the start of a vector has more digits
    than the two shown."""
    if control["kind"] != "plane":
        return value
    starts = zip(value, control["value"], strict=True)
    return [start if shown == two_digits(start) else shown for shown, start in starts]


def expected(controls, picture, why, cell):
    """Return what the page should show of a picture while a cell (panel, row, column) is pointed
    at; after an error, whatever it showed before.  why: the explanation of that cell."""
    as_shown, outputs = {}, []
    for control, value in zip(controls, picture["values"].values(), strict=True):
        as_shown[called(control)] = two_digits(value) if control["kind"] == "plane" else value
        if control["kind"] in ("slider", "stops"):
            outputs.append(number(control["labels"][value]) if "labels" in control else value)
    in_order = [list(pair) for pair in sorted(as_shown.items())]
    shown = {"values": in_order, "outputs": outputs, "error": picture["error"]}
    if picture["error"]:
        return shown
    small = [panel for panel in picture["panels"] if "small" in panel]
    large = [panel for panel in picture["panels"] if "small" not in panel]
    return shown | {
        "printed": f"printed: {picture['printed']}" if picture["printed"] else "",
        "caption": picture["caption"] + f"✔ {picture['reached']}" * bool(picture["reached"]),
        "status": "" if cell is None else status(controls, picture, why, cell),
        "panels": [texts(panel) for panel in large],
        "heads": [[panel["title"], panel["large"]] for panel in small],
        "figures": [
            [len(panel["columns"]), [] if "parts" in panel else panel["colours"]]
            for panel in large + small
        ],
    }


def texts(panel):
    """Return the texts of a panel: a table has its names in its header, a canvas in the title."""
    drawn, (down, across) = "parts" in panel, panel["axes"]
    table = bool(panel["cells"]) and not drawn
    axes, corner = f"{down} ↓  {across} →", [f"{down} ↓" * bool(down), f"{across} →" * bool(across)]
    return {
        "title": ": ".join(filter(None, [panel["title"], axes * (not table and not drawn)])),
        "corner": "\n".join(filter(None, corner)) if table else "",
        "columns": panel["columns"] if table else [],
        "rows": panel["rows"] if table else [],
        "cells": panel["cells"] if table else [],
        "scale": panel["scale"],
        "legend": [word for word, _ in panel["marked"]],
        "marks": [marked(mark) for part in panel.get("parts", ()) for mark in part["marks"]],
    }


def marked(mark):
    """Return a mark of a drawing, as live.js reads it."""
    at = [int(x) if x == int(x) else x for x in mark["at"]]
    return [f"{mark['kind']} {mark['role']}", mark.get("text", ""), at]


def status(controls, picture, why, cell):
    """Return what is said about a cell (panel, row, column), "" if there is none."""
    k, i, j = cell
    panel, state = picture["panels"][k], ""
    rows, columns = panel["rows"], panel["columns"]
    if i >= len(rows) or j >= len(columns):
        return ""
    for control in controls:
        on = picture["values"][control["name"]]
        if control["kind"] == "cells" and i < len(on) and j < len(on[0]):
            state = f", {control['name'].replace('_', ' ')} {'on' if on[i][j] else 'off'}"
    shown = panel["cells"][i * len(columns) + j] if panel["cells"] else why[0]
    for word, places in panel["marked"]:
        state += f": {word}" if i * len(columns) + j in places else ""
    names = [f"row {rows[i]}" * bool(rows[i]), f"column {columns[j]}" * bool(columns[j])]
    if "parts" in panel:
        names = rows[i], columns[j]
    place = (" → " if "parts" in panel else ", ").join(filter(None, names)) + state
    text = f"{place}{',' if ': ' in state else ':'} {shown or 'empty'}"
    return " = ".join(filter(None, [text, why[1]]))
