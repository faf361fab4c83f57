"""The pages and JupyterLab in Firefox and WebKit, without a network: they show what Chromium shows
in the other tests.

Python computes what a view should show, in this process: compute() makes the whole picture anew.
"""

import json
import re
import shutil
import sys

import nbformat
import pytest
from engines import ENGINES
from execute import CI, lessons
from lab import jupyterlab, open_notebook, run_all
from replay import replay
from test_puzzles import guess_all
from views import LIVE, called, expected, in_full

from conftest import outside
from helpers.tools.pages.record import _values

LESSONS = {path.stem[:2]: path for path in lessons()}
# together they have a query, a step, a temperature, an axis, a switch, and a switch in each cell
ON_PAGES = ["02", "03", "06"]
IN_LAB = "02"
pytestmark = pytest.mark.skipif(not CI, reason="CI does it: two more engines")
RIGHT, ENTER = "\ue014", "\ue007"  # the keys' codes in WebDriver
OURS = re.compile("blob:|anywidget|explore|jupyter-widgets")  # in what JupyterLab reports
# Runs before any script of the page; keeps what a reader would see in the console.
WATCH = """
window.errors = [];
window.addEventListener('error', (e) =>
    errors.push(`${e.message} ${e.filename} ${e.error?.stack ?? e.target.outerHTML}`), true);
window.addEventListener('unhandledrejection', (e) => errors.push(`${e.reason} ${e.reason?.stack}`));
for (const kind of ['error', 'warn']) {
    const say = console[kind];
    console[kind] = (...words) => { errors.push(`${kind} ${words.join(' ')}`); say(...words); };
}
"""
# Operates the page, after live.js. A view is found by its number.
HANDS = """
window.hands = {};
hands.reset = (number) => live.find(number).querySelector('.reset').click();
hands.field = (number, name) => Object.fromEntries(live.fields(live.find(number)))[name];
hands.move = ([number, name, value]) => {
    const input = hands.field(number, name);
    if (!input) live.all(live.find(number), 'td[aria-selected]').forEach((cell, place) => {
        if ((cell.ariaSelected === 'true') !== value.flat()[place]) cell.click();
    });
    else if (input.type === 'checkbox') input.checked !== value && input.click();
    else {
        input.value = value;
        input.dispatchEvent(new Event('input'));
    }
};
hands.take = ([number, name]) => {
    const mark = `.drags[data-control="${name.replaceAll(' ', '_')}"]`;
    (hands.field(number, name) ?? live.find(number).querySelector(mark)).focus();
};
"""


@pytest.fixture(scope="module")
def watched(pages, tmp_path_factory):
    """Return address(number): of a lesson's page that records the errors it reports."""
    copy = tmp_path_factory.mktemp("watched") / "pages"
    shutil.copytree(pages, copy)
    for path in copy.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("<head>", f"<head><script>{WATCH}</script>", 1), "utf-8")
    return lambda number: (copy / f"{LESSONS[number].stem}.html").as_uri()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with jupyterlab(tmp_path_factory.mktemp("lab")) as address:
        yield address


@pytest.fixture(scope="module", params=ENGINES)
def engine(request, tmp_path_factory):
    """Yield a page in this engine."""
    start, is_there = ENGINES[request.param]
    if not is_there():
        reason = f"{request.param} was not found on this machine: see .ci/run"
        if sys.platform == "linux":
            pytest.fail(f"{reason}; CI must run the tests of all engines")
        pytest.skip(reason)
    with start(tmp_path_factory.mktemp(request.param)) as page:
        yield page


class LiveView:
    """A live view in the page, and the widget in this process that must show the same."""

    def __init__(self, page, number, widget):
        self.page, self.number, self.widget = page, number, widget
        self.controls = widget.controls
        self.start = {control["name"]: control["value"] for control in self.controls}

    def ask(self, function, *more):
        return self.page.evaluate(f"hands.{function}", [self.number, *more])

    def shows(self, state):
        """Assert that the view comes to show what Python computes in this state; return panels."""
        picture = json.loads(json.dumps(self.widget.compute(state), default=list))
        right = expected(self.controls, picture, None, None)
        del right["status"]  # depends on the cell under the mouse, wherever that is
        wrong = self.page.evaluate("live.until", [self.number, right])
        assert wrong is None, f"{self.widget.title} {state}: {wrong} (page, Python)"
        return picture["panels"]

    def walk(self):
        """Move each control alone, from its start to its ends and two values between; return how
        often numbers changed."""
        self.page.evaluate("live.useColours", self.widget.palette[0])
        moved = 0
        for control in self.controls:
            if control["kind"] in ("plane", "amounts"):
                moved += self.drag(control)
                continue
            values = _values(control)
            for value in (*values[:2], values[-1], values[len(values) // 2]):
                self.page.evaluate("hands.reset", self.number)
                before = self.shows(self.start)
                self.ask("move", called(control), value)
                now = self.shows(self.start | {control["name"]: value})
                moved += numbers(before) != numbers(now)
            if control["kind"] == "slider":
                self.ask("take", called(control))
                self.page.press(RIGHT)
                self.shows(self.start | {control["name"]: value + control["by"]})
        return moved

    def drag(self, control):
        """Move the first mark of a drawing with the keys; return whether numbers changed."""
        self.ask("reset")
        before = self.shows(self.start)
        self.ask("take", called(control))
        self.page.press(RIGHT)
        self.page.press(RIGHT)
        shown = dict(self.page.evaluate("live.values", self.number))
        value = in_full(control, shown[called(control)])
        assert value != control["value"]
        return numbers(self.shows(self.start | {control["name"]: value})) != numbers(before)


def numbers(panels):
    return [text for panel in panels for text in panel["cells"]]


def views(page, number):
    """Return the live views of a lesson, each with the number of its cell."""
    _, shown, *_ = replay(LESSONS[number])
    cells = enumerate(nbformat.read(LESSONS[number], as_version=4).cells)
    numbers = [k for k, cell in cells if cell.cell_type == "code"]
    found = [
        (k, widget) for k, widget in zip(numbers, shown, strict=True) if hasattr(widget, "compute")
    ]
    page.add_script(LIVE)
    page.evaluate(f"() => {{ {HANDS} }}")
    return [LiveView(page, k, widget) for k, widget in found]


def open_page(page, address):
    page.goto(address)
    page.wait_for_function("document.querySelectorAll('.live:not(.plays)').length === 0")


def on_page(page, number):
    """Return the views of a lesson's page, each with its place there."""
    found = views(page, number)
    page.evaluate("() => { live.find = (k) => document.querySelectorAll('.explore')[k]; }")
    assert page.evaluate("document.querySelectorAll('.explore').length") == len(found)
    for k, view in enumerate(found):
        view.number = k
    return found


def nothing_is_wrong(page, ours=re.compile("")):
    errors, fetched = page.evaluate(
        "[errors, performance.getEntriesByType('resource').map(({ name }) => name)]"
    )
    assert [text for text in errors if ours.search(text)] == []
    assert [url for url in fetched if outside(url) and not url.startswith("file:")] == []


@pytest.mark.parametrize("number", ON_PAGES)
def test_every_view_of_a_page_shows_what_python_computes(engine, watched, number):
    open_page(engine, watched(number))
    assert sum(view.walk() for view in on_page(engine, number)) > 2
    nothing_is_wrong(engine)


def test_a_guess_unfolds_the_answer_on_a_page(engine, watched):
    open_page(engine, watched("02"))
    guess_all(engine, engine.press, ENTER)
    nothing_is_wrong(engine)


def test_every_view_in_jupyterlab_shows_what_python_computes(engine, lab):
    open_notebook(engine, lab, f"notebooks/{LESSONS[IN_LAB].name}")
    engine.evaluate(f"() => {{ {WATCH} }}")
    run_all(engine)
    moved = 0
    for view in views(engine, IN_LAB):
        engine.evaluate(
            """async (number) => {
                const { content } = window.jupyterapp.shell.currentWidget;
                await content.scrollToItem(number, 'center');
                content.activeCellIndex = number;
            }""",
            view.number,
        )
        engine.wait_for_function(f"!!live.find({view.number})")
        moved += view.walk()
    assert moved > 2
    nothing_is_wrong(engine, OURS)
    # or the next engine would wait for this kernel, which still waits for this engine
    engine.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
