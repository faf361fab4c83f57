"""Every live view of every lesson, and a few that no lesson has yet, in a real browser.

The views are found by replaying the notebook in this process. What they should show comes
from there too: the function is called with the same values, and no patch is involved.
"""

import base64
import importlib.util
import io
import json
import random
from pathlib import Path

import nbformat
import numpy as np
import pytest
from execute import lessons
from lab import open_notebook, run_all, scroll_to, write
from PIL import Image
from replay import replay

from helpers import InputError
from helpers.explore import NUMBERS, Explore, _views
from helpers.view import palette

THEMES = ["JupyterLab Light", "JupyterLab Dark"]
WIDE, ZOOMED = 1280, 640  # at 200 per cent a window of 1280 pixels has room for 640
MOST = 12  # values of a slider that are all tried; of more a spread
# the package reads this file with the encoding of the machine when it is imported
AXE = Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js")

VIEWS = """
import sys
sys.path.insert(0, "..")
import numpy as np
from helpers import View, explore
words = ["Your", "journey", "starts"]
---
def vectors(points, times=1.0, names=True):
    scores = points @ points.T * times
    explain = lambda i, j: f"{times} times what the plane shows for {i} and {j}"
    return View(scores, words if names else None, caption=f"{times} times", explain=explain)

explore(vectors, points=np.array([[0.5, 1.0], [-1.0, 0.25], [1.5, -0.75]]),
        times=(0.5, 2.0, 0.5), names=True)
---
def side_by_side(query="Your", power=2, word="x"):
    if word == "wrong":
        raise ValueError("no such word: " + "long " * 60)
    row = np.arange(3) - words.index(query)
    part = lambda m: View(m, words, explain=lambda i, j: f"{m[i, j]} to see", row_sums=True)
    before = np.stack([row] * 3) * 1.0
    after = part(before ** power)
    after.caption = f"to the power of {power} {word}"
    return {"before": part(before), "after": after}

explore(side_by_side, query=words, power=(1, 4), word="x")
---
def pair(step=1):
    return {"one": [[step, 2], [3, 4]], "more": [[5, 6], [7, -step]]}

explore(pair, step=(0, 5))
---
def large(wave=3, corner=1):
    i, j = np.indices((60, 40))
    explain = lambda i, j: f"sin({i} × {wave} / 9) × cos({j} / 9)"
    waves = np.sin(i * wave / 9) * np.cos(j / 9)
    waves[:corner, :corner] = np.nan
    return View(waves, explain=explain, caption=f"{wave} waves")

explore(large, wave=(0, 8), corner=(1, 30))
---
def resized(rows=17, columns="40"):
    i, j = np.indices((rows, int(columns)))
    return View(np.sin(i / 9) * np.cos(j / 9), caption=f"{rows} rows")

explore(resized, rows=(17, 529, 64), columns=["40", "4", "17", "512", "700"])
---
def sixteen(seed=0):
    return View(np.random.default_rng(seed).normal(size=(16, 16)), highlights=[(seed, None)])

explore(sixteen, seed=(0, 15))
---
def heads_by_hand(seen, head=2, many=12):
    every = np.arange(1.0, 13.0)[:, None, None] / 12 * np.ones((2, 3))
    every[:, :, :2] *= seen.numpy()
    k = min(head, many) - 1
    return View(every[k], heads=every[:many], head=k, column_sums=True,
                shown=[[True, True, True], [True, False, True]])

explore(heads_by_hand, seen=[[True, False]] * 2, head=(1, 12), many=(3, 12))
"""

# What the tests do and see in the page. A view is found by the number of its cell.
PAGE = r"""
window.live = {};
live.find = (number) =>
    document.querySelector(`.jp-Cell[data-windowed-list-index="${number}"] .explore`);
live.frame = () => new Promise((done) => requestAnimationFrame(done));
const texts = (box, which) => [...box.querySelectorAll(which)].map((e) => e.textContent);
const all = (box, which) => [...box.querySelectorAll(which)];

// the values of the controls, as Python keeps them
live.values = (view) => all(view, '.control').map((row) => {
    const input = row.querySelector('input, select');
    if (row.classList.contains('cells')) return all(view, 'tbody tr')
        .map((tr) => all(tr, 'td[aria-selected]').map((e) => e.ariaSelected === 'true'))
        .filter((switches) => switches.length);
    if (row.classList.contains('plane')) return all(view, '.vectors button')
        .map((e) => e.ariaLabel.split(': ').at(-1).split(', ').map(Number));
    return { text: input.value, checkbox: input.checked }[input.type] ?? Number(input.value);
});
live.picture = (view) => ({
    values: live.values(view),
    outputs: texts(view, 'output').map(Number),
    error: view.querySelector('.error').textContent,
    printed: view.querySelector('pre').textContent,
    caption: view.querySelector('.caption').textContent,
    status: view.querySelector('.cell').textContent,
    panels: all(view, '.panel').map((panel) => ({
        title: panel.querySelector('.title').textContent,
        axes: texts(panel, '.corner').join(),
        columns: texts(panel, 'thead th:not(.corner)'),
        rows: texts(panel, 'tbody th'),
        cells: texts(panel, 'td'),
        scale: texts(panel, '.key span:not(.bar)'),
    })),
    heads: texts(view, '.head'),
    large: all(view, '.head').findIndex((e) => e.ariaCurrent === 'true'),
});
// how many cells have another colour than they should
live.miscoloured = (view, figures, palette) => all(view, '.panel, .head').map((box, k) => {
    const { size: [n, m], colours } = figures[k];
    const right = Uint8Array.from(atob(colours), (c) => c.charCodeAt(0));
    const canvas = box.querySelector('canvas'), rows = all(box, 'tbody tr');
    if (canvas && (canvas.width !== m || canvas.height !== n)) return `${canvas.width} wide`;
    const data = canvas && canvas.getContext('2d').getImageData(0, 0, m, n).data;
    const rgb = (place) => canvas ? [...data.slice(4 * place, 4 * place + 3)] : getComputedStyle(
        rows[Math.floor(place / m)].children[1 + place % m]).backgroundColor.match(/\d+/g);
    return right.reduce((wrong, colour, place) =>
        wrong + (String(rgb(place)) !== String(palette[colour] ?? [255, 255, 255])), 0);
});
// move the k-th control to a value, as a hand would
live.put = (view, k, value, old) => {
    const row = all(view, '.control')[k], input = row.querySelector('input, select');
    if (row.classList.contains('cells')) value.forEach((line, i) => line.forEach((on, j) => {
        if (on !== old[i][j]) all(view, 'tbody tr')[i].children[1 + j].click();
    }));
    else if (row.classList.contains('plane')) value.forEach(([x, y], i) => {
        if (String([x, y]) === String(old[i])) return;
        const head = all(view, '.vectors button')[i];
        const limit = Number(view.querySelector('.limit').textContent);
        const { left, top, width } = view.querySelector('.vectors').getBoundingClientRect();
        head.hasPointerCapture = () => true;
        head.dispatchEvent(new PointerEvent('pointermove', {
            clientX: left + (1 + x / limit) * width / 2, clientY: top + (1 - y / limit) * width / 2,
        }));
        delete head.hasPointerCapture;
    });
    else {
        input[input.type === 'checkbox' ? 'checked' : 'value'] = value;
        input.dispatchEvent(new Event('input'));
    }
};
// wait until the view shows a picture; what it shows instead after twenty seconds
live.until = async (view, right, figures, palette) => {
    const end = performance.now() + 20000;
    for (;;) {
        const now = live.picture(view);
        const same = JSON.stringify(now) === JSON.stringify(right);
        const wrong = same ? live.miscoloured(view, figures, palette) : null;
        if (same && wrong.every((count) => count === 0)) return null;
        if (performance.now() > end) return same ? { miscoloured: wrong } : now;
        await live.frame();
    }
};
live.drive = async ([number, steps, palette, watched]) => {
    const view = live.find(number), failures = [];
    let before = steps[0].values;
    if (view.querySelector('td')) all(all(view, '.panel')[watched[0]], 'tbody tr')[watched[1]]
        .children[1 + watched[2]].dispatchEvent(new MouseEvent('mouseenter'));
    for (const { values, right, figures } of [...steps, steps.at(-1)]) {
        values.forEach((value, k) => {
            if (String(value) !== String(before[k])) live.put(view, k, value, before[k]);
        });
        const seen = await live.until(view, right, figures, palette);
        if (seen) failures.push({ values, seen, right });
        if (failures.length > 2) break;
        before = values;
    }
    view.querySelector('.views').dispatchEvent(new MouseEvent('mouseleave'));
    return failures;
};
live.kind = (e = document.activeElement) => {
    if (e.matches('.vectors button')) return 'point';
    if (e.matches('th button')) return 'name';
    if (e.matches('.head')) return 'head';
    if (e.matches('td')) return 'table';
    if (e.matches('.held')) return 'canvas';
    if (e.matches('select')) return 'choice';
    if (e.matches('input')) return { range: 'slider' }[e.type] ?? e.type;
    return e.matches('button') ? 'button' : 'scroll';
};
// what sticks out of the output or of its own box, and what covers something else
live.spoiled = (view) => {
    const wrong = [], name = (e) => `${e.tagName} ${e.className} ${e.textContent.slice(0, 20)}`;
    const output = view.closest('.jp-OutputArea-output').getBoundingClientRect();
    const parts = 'label, input, select, output, button, .control span, .error, .title, .scroll,'
        + ' .pixels, .vectors, .key, .bar, .head, .cell, .caption, pre';
    const boxes = all(view, parts).filter((e) => !e.closest('.scroll > *, .vectors > *'))
        .map((e) => [e, e.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
    for (const [e, box] of boxes) {
        const free = e.matches('.scroll') || !e.clientWidth;
        if (box.left < output.left - 1 || box.right > output.right + 1)
            wrong.push(`${name(e)} sticks out`);
        if (!free && e.scrollWidth > e.clientWidth + 1) wrong.push(`${name(e)} is cut off`);
        for (const [other, there] of boxes) {
            if (e === other || e.contains(other) || other.contains(e)) continue;
            const wide = Math.min(box.right, there.right) - Math.max(box.left, there.left);
            const high = Math.min(box.bottom, there.bottom) - Math.max(box.top, there.top);
            if (wide > 1 && high > 1) wrong.push(`${name(e)} over ${name(other)}`);
        }
    }
    return wrong;
};
// look at every frame: where everything is, for each shape of the picture, and how high all is
live.watch = (number) => {
    const view = live.find(number), seen = { shift: 0, heights: [], places: {}, jumps: [] };
    const observer = new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
        note(entry); // also soon after an input
    }));
    function note({ value, sources }) {
        // the status bar of JupyterLab has shifts of its own
        const ours = ({ node }) => !node || view.closest('.jp-Notebook').contains(node);
        if (!sources.some(ours)) return;
        seen.shift += value;
        for (const { node, previousRect: a, currentRect: b } of sources) seen.jumps.push(
            `${node?.outerHTML?.slice(0, 60) ?? node?.data}: ${a.x},${a.y} -> ${b.x},${b.y}`);
    }
    const output = view.closest('.jp-OutputArea');
    let on = true;
    function look() {
        if (!on) return;
        const { left, top } = view.getBoundingClientRect();
        const height = output.offsetHeight;
        if (!seen.heights.includes(height)) seen.heights.push(height);
        const sizes = all(view, 'table').map((e) => [e.rows.length, e.rows[0].cells.length]);
        const parts = 'fieldset *, .error, .views, .title, .vectors, td, .cell, .caption';
        const now = {};
        all(view, parts).forEach((e, k) => {
            if (!e.checkVisibility()) return;
            const box = e.getBoundingClientRect();
            now[`${k} ${e.tagName}`] = [box.left - left, box.top - top].map(Math.round);
        });
        const before = seen.places[sizes] ??= now;
        for (const [name, place] of Object.entries(now)) {
            if (seen.jumps.length < 5 && before[name] && String(before[name]) !== String(place))
                seen.jumps.push(`${name}: ${before[name]} -> ${place}`);
        }
        requestAnimationFrame(look);
    }
    observer.observe({ type: 'layout-shift' });
    look();
    live.seen = async () => {
        await live.frame();
        await live.frame();
        observer.takeRecords().forEach(note);
        observer.disconnect();
        on = false;
        const { shift, heights, jumps } = seen;
        return { shift, jumps: jumps.slice(0, 5), heights: heights.length > 1 ? heights : [] };
    };
};
"""
STILL = {"shift": 0, "jumps": [], "heights": []}


class Notebook:
    """A notebook in the browser, all cells run, and its live views."""

    def __init__(self, page, address, path):
        self.page = page
        page.set_viewport_size({"width": WIDE, "height": 1300})
        open_notebook(page, address, f"notebooks/{path.name}")
        run_all(page)
        page.evaluate(PAGE + "null")  # a function would be called
        code = [
            number
            for number, cell in enumerate(nbformat.read(path, as_version=4).cells)
            if cell.cell_type == "code"
        ]
        shown = zip(code, replay(path)[1], strict=True)
        self.views = {number: widget for number, widget in shown if isinstance(widget, Explore)}
        assert len(self.views) >= 2

    def go(self, number):
        """Bring a view into the window, wholly: what is outside cannot be seen to shift."""
        scroll_to(self.page, number)
        self.page.wait_for_function("number => live.find(number)", arg=number)
        self.page.evaluate(
            """async (number) => {
                live.find(number).scrollIntoView({ block: 'center' });
                for (let k = 0; k < 3; k++) await live.frame();
            }""",
            number,
        )
        return self.page.locator(f'.jp-Cell[data-windowed-list-index="{number}"] .explore')

    def wait_for(self, number, right, figures):
        """What a view shows if it does not come to show the picture `right`, or None."""
        script = """([number, right, figures, palette]) =>
            live.until(live.find(number), right, figures, palette)"""
        return self.page.evaluate(script, [number, right, figures, colours()])

    def command_mode(self, number):
        """As after the cell was run: the next Tab goes to what can be focused in it."""
        self.page.evaluate(
            """async (number) => {
                const { content } = window.jupyterapp.shell.currentWidget;
                content.activeCellIndex = number;
                content.mode = 'command';
                content.activate();
                await live.frame();
                content.activeCell.node.focus();
            }""",
            number,
        )

    def state(self):
        """What a key would change that the notebook heard."""
        return self.page.evaluate(
            """() => {
                const content = window.jupyterapp.shell.currentWidget.content;
                const sources = [...content.model.cells].map((c) => c.sharedModel.getSource());
                return [content.mode, content.activeCellIndex, sources];
            }"""
        )


@pytest.fixture(scope="module", params=[*lessons(), None], ids=lambda p: p.stem if p else "views")
def notebook(browser, request):
    page, address, folder, errors = browser
    errors.clear()
    path = request.param
    if path is None:
        path = folder / "notebooks" / "views.ipynb"
        write(path, VIEWS)
    yield Notebook(page, address, path)
    assert errors == []


# --- what Python says ---


def colours():
    return [[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in palette()[0]]


def outcome(widget, values, watched=None):
    """What the page should show for values {name: value} while a cell (panel, row, column)
    is pointed at: (the picture, {"size", "colours"} of each figure)."""
    controls = list(widget._controls.values())
    views = _views(widget._fn(**{c.name: c.argument(values[c.name]) for c in controls}))
    small = [head for _, view in views for _, head in view.small()]
    sliders = [c for c in controls if c.kind in ("slider", "stops")]
    picture = {
        "values": [as_shown(values[c.name], c) for c in controls],
        "outputs": [c.argument(values[c.name]) for c in sliders],
        "error": "",
        "printed": "",
        "caption": "\n".join(view.caption for _, view in views if view.caption),
        "status": status(widget, values, views, watched),
        "panels": [panel(title, view) for title, view in views],
        "heads": [f"head {k + 1}" for k in range(len(small))],
        "large": -1 if views[0][1].head is None else views[0][1].head,
    }
    figures = [
        {
            "size": list(view.matrix.shape),
            "colours": base64.b64encode(view.colours().tobytes()).decode(),
        }
        for view in [view for _, view in views] + small
    ]
    return picture, figures


def as_shown(value, control):
    """Points in a plane are read to two digits."""
    return np.round(value, 2).tolist() if control.kind == "plane" else value


def panel(title, view):
    table = max(view.matrix.shape) <= NUMBERS
    rows, columns, cells = view.table() if table else ([], [], [])
    axes = f"{view.axes[0]} ↓  {view.axes[1]} →"
    return {
        "title": title if table else ": ".join(filter(None, [title, axes])),
        "axes": axes if table else "",
        "columns": columns,
        "rows": rows,
        "cells": sum(cells, []),
        "scale": [f"{limit:.4g}" for limit in view.scale],
    }


def status(widget, values, views, cell):
    """What is said about a cell (panel, row, column), "" if that is None or gone."""
    if cell is None:
        return ""
    k, i, j = cell
    view = views[k][1]
    rows, columns, cells = view.table()
    if i >= len(rows) or j >= len(columns):
        return ""
    n, m = view.matrix.shape
    state = ""
    for control in widget._controls.values():
        if control.kind == "cells" and i < control.shape[0] and j < control.shape[1]:
            state = f", {control.name} {'on' if values[control.name][i][j] else 'off'}"
    number = cells[i][j]
    text = f"{rows[i]} · {columns[j]}{state}: {number or 'not computed yet'}"
    known = view.explain is not None and number and i < n and j < m
    return " = ".join(filter(None, [text, known and view.explain(i, j)]))


def start_of(widget):
    return {c.name: c.spec["value"] for c in widget._controls.values()}


def range_of(control, most):
    """The values of a control: all, or of a slider a spread of half of most with both ends."""
    spec, start = control.spec, as_shown(control.spec["value"], control)
    if control.kind == "slider":
        count = int((spec["high"] - spec["low"]) / spec["by"] + 1e-6) + 1
        picked = range(count) if count <= most else np.linspace(0, count - 1, most // 2).astype(int)
        return [control.given(round(spec["low"] + int(k) * spec["by"], 10)) for k in picked]
    if control.kind == "cells":
        places = np.ndindex(control.shape)
        return [control.edited(start, [[i, j, not start[i][j]]]) for i, j in places]
    if control.kind == "plane":
        limit = control.limit
        places = [(x * limit, y * limit) for x, y in [(-1, 1), (-0.25, -1), (0.5, 0.75), (1, 0)]]
        points = range(len(start))
        return [control.edited(start, [[k, 0, x], [k, 1, y]]) for k in points for x, y in places]
    if control.kind == "text":
        less = start.partition(" ")[2] or start[1:]
        return ["", "two  words", "<b>x</b> & שלום", start[::-1], less]
    return [True, False] if control.kind == "switch" else list(range(len(spec["labels"])))


def drives(widget):
    """Values for all controls, one after another: each alone over its range, some at random."""
    first, chance = start_of(widget), random.Random(0)
    start = {name: as_shown(value, widget._controls[name]) for name, value in first.items()}
    most = max(8, MOST // len(start))
    ranges = {name: range_of(c, most) for name, c in widget._controls.items()}
    alone = [start | {name: value} for name, values in ranges.items() for value in values]
    mixed = [{name: chance.choice(v) for name, v in ranges.items()} for _ in range(6)]
    return [first, *(values for values in [*alone, *mixed] if takes(widget, values)), start]


def takes(widget, values):
    """Does its function return something for these values of the page?"""
    try:
        outcome(widget, values)
    except InputError:  # what it refuses it says in one sentence
        return False
    return True


def steps_of(widget, watched):
    """What live.drive does and should see. A cell of the first table is pointed at; a click
    on another is that one from then on."""
    steps, before, table = [], start_of(widget), True
    for values in drives(widget):
        for name, control in widget._controls.items():
            if control.kind == "cells":
                for place in np.argwhere(np.not_equal(before[name], values[name])).tolist():
                    watched = [0, *place]
        right, figures = outcome(widget, values, watched)
        table = table and bool(right["panels"][0]["cells"])
        watched = watched if right["status"] else None  # the cell is gone
        if not table:
            right["status"] = ""
        steps.append({"values": list(values.values()), "right": right, "figures": figures})
        before = values
    return steps


@pytest.fixture(scope="module")
def driven(notebook):
    """Of each view what went wrong while its controls went over their ranges: (numbers and
    names that are not those of Python, what moved)."""
    found = {}
    for number, widget in notebook.views.items():
        notebook.go(number)
        n, m = widget._views[0][1].matrix.shape
        watched = [0, min(1, n - 1), min(1, m - 1)]
        notebook.page.evaluate("number => live.watch(number)", number)
        failures = notebook.page.evaluate(
            "live.drive", [number, steps_of(widget, watched), colours(), watched]
        )
        found[widget.title] = failures, notebook.page.evaluate("live.seen()")
    return found


def test_the_page_shows_what_python_returns_for_every_value(driven):
    for title, (failures, _) in driven.items():
        for failure in failures:
            seen, right = failure["seen"], failure["right"]
            wrong = {
                key: (seen[key], right.get(key)) for key in seen if seen[key] != right.get(key)
            }
            pytest.fail(f"{title} at {failure['values']}: (page, Python) {json.dumps(wrong)}")


def test_nothing_moves_while_the_controls_go_over_their_ranges(driven):
    moved = {title: moved for title, (_, moved) in driven.items() if title != "resized"}
    assert moved == dict.fromkeys(moved, STILL)


def test_nothing_moves_while_a_slider_is_dragged(notebook):
    page = notebook.page
    for number in notebook.views:
        view = notebook.go(number)
        page.evaluate("number => live.watch(number)", number)
        for slider in view.locator("input[type=range]").all():
            box, start = slider.bounding_box(), slider.input_value()
            middle = box["y"] + box["height"] / 2
            low, high = map(float, slider.evaluate("e => [e.min, e.max]"))
            part = (float(start) - low) / (high - low)
            page.mouse.move(
                box["x"] + 8 + part * (box["width"] - 16), middle
            )  # the knob is 16 wide
            page.mouse.down()
            seen = []
            for x in (box["x"], box["x"] + box["width"]):
                page.mouse.move(x, middle, steps=6)
                seen.append(float(slider.input_value()))
            page.mouse.up()
            assert (seen[0], seen[1]) == (low, high), "the whole range"
            slider.evaluate(
                "(e, value) => { e.value = value; e.dispatchEvent(new Event('input')); }", start
            )
        for point in view.locator(".vectors button").all():
            box, plane = point.bounding_box(), view.locator(".vectors").bounding_box()
            page.mouse.move(box["x"] + 12, box["y"] + 12)
            page.mouse.down()
            for x, y in [(0, 0), (1, 1), (0.3, 0.6)]:
                page.mouse.move(
                    plane["x"] + x * plane["width"], plane["y"] + y * plane["height"], steps=4
                )
            page.mouse.up()
        page.mouse.move(0, 0)
        moved = page.evaluate("live.seen()")
        if notebook.views[number].title != "resized":
            assert moved == STILL, notebook.views[number].title


class Keys:
    """A view operated with the keyboard; after every act it must show what Python returns."""

    def __init__(self, notebook, number):
        self.page, self.number = notebook.page, number
        self.notebook, self.widget = notebook, notebook.views[number]

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def enter(self):
        """Tab to the first control."""
        for _ in range(12):
            self.press("Tab")
            if self.focused("tagName"):
                return
        raise AssertionError(f"Tab does not reach {self.widget.title}")

    def focused(self, what):
        """A property of what has the focus, None if that is outside the view."""
        script = """([number, what]) => {
            const e = document.activeElement;
            return live.find(number).contains(e) ? e[what] : null;
        }"""
        return self.page.evaluate(script, [self.number, what])

    def values(self):
        return self.page.evaluate("number => live.values(live.find(number))", self.number)

    def right(self, cell=None):
        values = dict(zip(self.widget._controls, self.values(), strict=True))
        for name, control in self.widget._controls.items():
            if control.kind == "plane":  # the page says two digits; where it starts it has all
                starts = zip(values[name], control.spec["value"], strict=True)
                values[name] = [s if v == np.round(s, 2).tolist() else v for v, s in starts]
        seen = self.notebook.wait_for(self.number, *outcome(self.widget, values, cell))
        assert seen is None, (self.widget.title, values, cell, seen)

    def slider(self):
        low, high = self.focused("min"), self.focused("max")
        step = float(self.focused("step"))
        count = round((float(high) - float(low)) / step)
        self.press("Home")
        assert self.focused("value") == low
        self.right()
        if count <= 24:
            self.press(*["ArrowRight"] * count)
        else:
            self.press("ArrowRight", "ArrowUp", *["PageUp"] * 11)
        assert float(self.focused("value")) > float(high) - step
        self.right()
        self.press("Home", "End", "ArrowLeft", "ArrowDown")
        self.right()

    def choice(self):
        count = self.page.evaluate("document.activeElement.options.length")
        self.press("Home")
        for k in range(count):
            assert self.focused("value") == str(k)
            self.right()
            self.press("ArrowDown")

    def checkbox(self):
        for _ in range(2):
            before = self.focused("checked")
            self.press("Space")
            assert self.focused("checked") is not before
            self.right()

    def text(self):
        before, keys = self.focused("value"), "abmdd x"
        self.press("End")
        self.page.keyboard.type(keys)
        assert self.focused("value") == before + keys
        if takes(self.widget, dict(zip(self.widget._controls, self.values(), strict=True))):
            self.right()
        self.press(*["Backspace"] * len(keys))
        self.right()

    def button(self, kind):
        word = self.focused("textContent")
        if word == "play":
            self.press("Enter")
            assert self.focused("textContent") == "stop"
            self.press("Enter")
            assert self.focused("textContent") == "play"
        elif kind == "point":
            before = self.focused("ariaLabel")
            self.press("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown", "ArrowLeft")
            self.press(*["ArrowUp"] * 3)
            assert self.focused("ariaLabel") != before
        else:
            self.press("Space" if kind == "head" else "Enter")
            self.page.wait_for_timeout(50)
            if kind == "name":
                self.page.wait_for_function("document.activeElement.ariaPressed === 'true'")
            if kind == "head":
                self.page.wait_for_function("document.activeElement.ariaCurrent === 'true'")
        self.right()

    def table(self):
        """From the first cell along the first row, down the last column, and back."""
        k, n, m = self.page.evaluate(
            """(number) => {
                const cell = document.activeElement, panels = live.find(number);
                return [
                    [...panels.querySelectorAll('.panel')].indexOf(cell.closest('.panel')),
                    cell.closest('tbody').rows.length,
                    cell.parentNode.cells.length - 1,
                ];
            }""",
            self.number,
        )
        self.right((k, 0, 0))
        for j in range(1, m):
            self.press("ArrowRight")
            self.cell(k, 0, j)
        for i in range(1, n):
            self.press("ArrowDown")
            self.cell(k, i, m - 1)
        self.press(*["ArrowLeft"] * m, *["ArrowUp"] * n)
        self.right((k, 0, 0))

    def cell(self, *cell):
        self.right(cell)
        if self.focused("ariaSelected"):
            for key in ("Enter", "Space"):
                before = self.focused("ariaSelected")
                self.press(key)
                assert self.focused("ariaSelected") != before
                self.right(cell)

    def canvas(self):
        n, m = self.page.evaluate(
            """() => {
                const grid = document.activeElement.closest('[role=grid]');
                return [Number(grid.ariaRowCount), Number(grid.ariaColCount)];
            }"""
        )
        i = j = 0
        moves = [
            ("ArrowRight", 0, 1),
            ("ArrowDown", 1, 0),
            ("End", 0, m),
            ("PageDown", 10, 0),
            ("ArrowLeft", 0, -1),
            ("ArrowUp", -1, 0),
            ("Home", 0, -m),
            ("PageUp", -10, 0),
        ]
        self.right((0, 0, 0))
        for key, down, right in moves:
            self.press(key)
            i, j = min(max(i + down, 0), n - 1), min(max(j + right, 0), m - 1)
            self.right((0, i, j))

    def act(self):
        """Do all that what has the focus can do; its kind."""
        kind = self.page.evaluate("live.kind()")
        if kind in ("point", "name", "head", "button"):
            self.button(kind)
        elif kind != "scroll":
            getattr(self, kind)()
        return kind


def test_every_view_is_operated_with_the_keyboard_alone(notebook):
    page = notebook.page
    for number, widget in notebook.views.items():
        view, keys = notebook.go(number), Keys(notebook, number)
        for reset in view.get_by_role("button", name="reset").all():
            reset.click()
        notebook.command_mode(number)
        before = notebook.state()
        keys.enter()
        page.evaluate("number => live.watch(number)", number)
        kinds = []
        while keys.focused("tagName") and len(kinds) < 200:
            kinds.append(keys.act())
            assert keys.focused("tagName"), f"{widget.title}: {kinds[-1]} lost the focus"
            assert notebook.state() == before, f"the notebook heard a key of {widget.title}"
            keys.press("Tab")
        moved = page.evaluate("live.seen()")
        if widget.title != "resized":
            assert moved == STILL, widget.title
        # all that the mouse can use was reached
        wanted = (
            view.locator("input, select, .control button").count() + view.locator(".panel").count()
        )
        assert len([k for k in kinds if k not in ("name", "head", "point", "scroll")]) == wanted


def with_error(notebook, number):
    """Bring a view that has an error to say it: only the extra ones do."""
    view = notebook.go(number)
    if notebook.views[number].title == "side by side":
        view.locator("input[type=text]").fill("wrong")
        notebook.page.wait_for_function(
            "n => live.find(n).querySelector('.error').textContent", arg=number
        )


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing(notebook, theme):
    page = notebook.page
    use_theme(page, theme)
    only = [] if theme == THEMES[0] else ["color-contrast"]  # what a theme can change
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8") + "; null")
    for number, widget in notebook.views.items():
        with_error(notebook, number)
        found, looked_at = page.evaluate(
            """async ([number, only]) => {
                // JupyterLab's body has no height, and axe takes all in it for hidden
                document.body.style.height = '100vh';
                const output = live.find(number).closest('.jp-OutputArea');
                const options = only.length ? { runOnly: only } : {};
                const { violations, passes } = await axe.run(output, options);
                const say = (node) => node.html.slice(0, 150) + node.failureSummary;
                const found = violations.map(({ id, nodes }) => [id, nodes.map(say)]);
                return [found, passes.map(({ id }) => id)];
            }""",
            [number, only],
        )
        assert "color-contrast" in looked_at
        assert found == [], f"{widget.title}: {json.dumps(found, indent=1)}"


def use_theme(page, theme):
    page.evaluate(
        """async (theme) => {
            await window.jupyterapp.commands.execute('apputils:change-theme', { theme });
            await new Promise((done) => setTimeout(done, 300));
        }""",
        theme,
    )
    page.wait_for_function("t => document.body.dataset.jpThemeName === t", arg=theme)


FOCUSABLE = "input, select, button:enabled, td, .held"


@pytest.fixture(scope="module")
def seen_focused():
    """For each theme the kinds of things whose focus was looked at: in one notebook is enough."""
    return {theme: set() for theme in THEMES}


@pytest.mark.parametrize("theme", THEMES)
def test_the_focus_can_be_seen(notebook, theme, seen_focused):
    """What differs between focused and not by a contrast of 3:1 is as long as a line around
    the thing, a pixel and a half wide."""
    page = notebook.page
    use_theme(page, theme)
    known = seen_focused[theme]
    for number, widget in notebook.views.items():
        view, keys = notebook.go(number), Keys(notebook, number)
        notebook.command_mode(number)
        keys.enter()  # with the keyboard: a ring is for those who use it
        kinds = view.locator(FOCUSABLE).evaluate_all(
            """(all) => all.map((e) => [
                e.tagName, e.type, live.kind(e), e.ariaSelected, e.dataset.kind,
                e.closest('table')?.className, e.closest('.head')?.ariaCurrent].join(' '))"""
        )
        for k, kind in enumerate(kinds):
            if kind in known:
                continue
            known.add(kind)
            element = view.locator(FOCUSABLE).nth(k)
            element.focus()
            page.wait_for_timeout(30)
            box = element.bounding_box()
            clip = {
                "x": box["x"] - 7,
                "y": box["y"] - 7,
                "width": box["width"] + 14,
                "height": box["height"] + 14,
            }
            with_ring = luminance(page.screenshot(clip=clip))
            element.evaluate("e => e.blur()")
            without = luminance(page.screenshot(clip=clip))
            element.focus()
            high, low = np.maximum(with_ring, without), np.minimum(with_ring, without)
            ring = ((high + 0.05) / (low + 0.05) >= 3).sum()
            assert ring >= 1.5 * 2 * (box["width"] + box["height"]), f"{widget.title}: {kind}"


def luminance(png):
    rgb = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")) / 255
    return np.where(rgb <= 0.04, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [
        0.2126,
        0.7152,
        0.0722,
    ]


@pytest.mark.parametrize("width", [WIDE, ZOOMED])
def test_nothing_is_cut_off_or_covered(notebook, width):
    page = notebook.page
    page.set_viewport_size({"width": width, "height": 1300})
    try:
        found = {}
        for number, widget in notebook.views.items():
            with_error(notebook, number)
            found[widget.title] = page.evaluate("number => live.spoiled(live.find(number))", number)
    finally:
        page.set_viewport_size({"width": WIDE, "height": 1300})
    assert found == dict.fromkeys(found, [])
