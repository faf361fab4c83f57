"""What happens to a live picture: run again, cut off, doubled, saved, opened again."""

import re
import subprocess
import sys

import nbformat
import psutil
import pytest
from execute import WIDGET
from lab import in_kernel, open_notebook, run_all, scroll_to, wait_for_kernel, write
from playwright.sync_api import expect

from helpers import View
from helpers.pictures.given import one_word

SETUP = """
import sys, time
sys.path.insert(0, ".")
from helpers import View, explore

def grow(n, word="x", pause=0.0):
    time.sleep(pause)
    return View([[n / 50] * 6 for _ in range(6)], list("abcdef"), caption=f"{n} {word}")
---
"""
GROW = SETUP + "explore(grow, n=(1, 50), word='x')"
SLOWLY = "explore(lambda n, word: grow(n, word, 0.03), n=(1, 50), word='x')"
NOT_LIVE = "this picture is not live"
SESSION = "window.jupyterapp.shell.currentWidget.sessionContext.session"
NOT_A_PICTURE = "model not found|Loading widget|Error displaying|Javascript Error"
EVIL = [
    "<script>window.broken = 1</script>",
    '<img src="x" onerror="window.broken = 1">',
    "&amp; &lt;b&gt; &#60;",
    "\u202eright to left\u202c שלום",
    "zero\u200bwidth\u200d\ufeff",
    "two\nlines",
    "'\"` ${window.broken = 1} {{ }} $x$",
    "long " * 2000,
    "l" + "o" * 10_000 + "ng",
]
ENDS = "([e, text]) => e.textContent.endsWith(text)"
# The tests that leave the kernel as it is share a notebook: a cell for each, from 1 on.
NETWORK, WIDGET_OF_TWO, AGAIN, HOSTILE, TWO_VIEWS = range(1, 6)
SHARED = (
    GROW
    + f"""
---
w = explore(lambda n, word='x': grow(n, word, 0.15), n=(1, 50), word='x')
w
---
w
---
evil = {EVIL!r}

def hostile(**values):
    print(*evil)
    if values["stop"]:
        raise ValueError(" ".join(evil))
    kind = evil[values["number"]]
    same = dict(tokens=evil, axes=(kind[:200], kind[:200]), explain=lambda i, j: kind)
    first, second = View([[0.1] * 9] * 9, caption=kind, **same), View([[0.2] * 9] * 9, **same)
    return {{kind: first, "<b>": second}}

hostile.__name__ = evil[1]
names = {{name: [name, *evil] for name in evil}}
explore(hostile, number=(0, 8), stop=False, **names, **{{"<i>text</i>": evil[1]}})
---
for _ in range(2): display(explore(grow, n=(1, 50), word='x'))
"""
)
# lets a test cut off the network and lose a question; every page runs it first
CONNECTIONS = """
    window.connections = [];
    window.WebSocket = class extends WebSocket {
        constructor(address, ...rest) {
            super(window.offline ? 'ws://127.0.0.1:9' : address, ...rest);
            window.connections.push(this);
        }
        send(data) {
            const isQuestion = new TextDecoder().decode(data).includes('"turn"');
            if (!isQuestion || !window.losing) super.send(data);
            else window.losing = false;
        }
    };
"""


@pytest.fixture
def page(browser):
    """Yield the page; fail if it reported errors during the test."""
    page, _, _, errors = browser
    errors.clear()
    yield page
    # reported by JupyterLab and anywidget for a widget that is closed before it was loaded
    known = "widget model not found|Failed to initialize model"
    assert [text for text in errors if not re.search(known, text)] == []


@pytest.fixture
def shared(page, browser):
    """Return shared(cell): its view in the notebook that several tests share."""
    if "shared.ipynb" not in page.url:
        page.add_init_script(CONNECTIONS)
        opened(page, browser, "shared.ipynb", SHARED, reload=True)
    return lambda cell: scroll_to(page, cell).locator(".explore")


def opened(page, browser, name, source, reload=False):
    """Make a new notebook and run it; return its first view."""
    _, address, folder, _ = browser
    write(folder / name, source)
    open_notebook(page, address, name, reload=reload)
    run_all(page)
    view = page.locator(".jp-Notebook .explore").first
    view.locator("td, canvas").first.wait_for()
    return view


def slider_of(view):
    return view.locator("input[type=range]").first


def caption_of(view):
    return view.locator(".caption")


def alive(view, when=None):
    """Assert that the view answers when a control moves."""
    for key, caption in [("Home", "1 x"), ("End", "50 x")]:
        slider_of(view).press(key)
        expect(caption_of(view), when).to_have_text(caption)
    expect(view.locator(".error")).to_have_text("")
    expect(slider_of(view)).to_be_enabled()


# --- a kernel that is busy, a network that goes away ---


def test_a_view_answers_while_a_cell_runs(page, shared):
    view = shared(NETWORK)
    page.evaluate(f"void {SESSION}.kernel.requestExecute({{ code: 'time.sleep(600)' }})")
    page.wait_for_function(f"{SESSION}.kernel.status === 'busy'")
    alive(view)
    page.evaluate(f"{SESSION}.kernel.interrupt()")
    wait_for_kernel(page)
    alive(view, "after an interrupt")


def test_a_view_lives_again_when_the_network_is_back(page, shared):
    view = shared(NETWORK)
    alive(view)
    connected = f"{SESSION}.kernel.connectionStatus === 'connected'"
    page.evaluate("window.offline = true; window.connections.forEach((c) => c.close())")
    page.wait_for_function(f"!({connected})")
    slider_of(view).press("Home")
    slider_of(view).press("ArrowRight")
    page.evaluate("window.offline = false")
    page.wait_for_function(connected)
    page.evaluate("window.losing = true")  # JupyterLab can lose a message after a reconnection
    alive(view)
    assert page.evaluate("window.losing") is False


def test_two_views_of_a_widget_show_the_same_and_no_answer_moves_a_control_in_a_hand(page, shared):
    views = other, one = shared(AGAIN), shared(WIDGET_OF_TWO)

    def all_show(number, word="x"):
        for view in views:
            expect(caption_of(view)).to_have_text(f"{number} {word}")
            expect(slider_of(view)).to_have_value(str(number))
            expect(view.locator("textarea")).to_have_value(word)
            expect(view.locator("td").first).to_have_text(f"{number / 50:.2f}")

    all_show(25)
    in_kernel(page, "''", "w.comm._reply_subshell_id = 'gone'")  # as after a reconnection
    for view, key, number in [(one, "Home", 1), (other, "End", 50), (one, "ArrowLeft", 49)]:
        slider_of(view).press(key)
        all_show(number)
    other.locator("textarea").fill("a<b")
    all_show(49, "a<b")

    # during a drag, answers for older values arrive, and those that the other view asked for
    slider, seen = slider_of(one), set()
    slider.scroll_into_view_if_needed()
    left, top, width, height = slider.bounding_box().values()
    page.mouse.move(left + width * 0.1, top + height / 2)
    page.mouse.down()
    for k in range(1, 9):
        for part in range(4):  # one value is asked for, the others wait
            page.mouse.move(left + width * (0.1 + 0.08 * k + 0.02 * part), top + height / 2)
            page.wait_for_timeout(25)
        seen.add(value := slider.input_value())
        if k == 5:
            other.locator("textarea").evaluate(
                "e => { e.value = 'y'; e.dispatchEvent(new Event('input')); }"
            )
        for _ in range(6):
            page.wait_for_timeout(40)
            assert slider.input_value() == value
    page.mouse.up()
    assert len(seen) == 8
    all_show(int(value), "y")


def test_words_of_the_reader_are_text_and_stay_inside_the_page(page, shared):
    view, caption = shared(HOSTILE), caption_of(shared(HOSTILE))
    wider = "e => e.scrollWidth - e.clientWidth"
    for number, kind in enumerate(EVIL):
        slider_of(view).press("ArrowRight" if number else "Home")
        page.wait_for_function(ENDS, arg=[caption.element_handle(), kind])
        assert caption.text_content() == view.locator(".title").first.text_content() == kind
        axis = View([[0.1]], axes=(kind[:200], "")).axes[0]  # on one line
        assert view.locator("th.corner").first.text_content() == f"{axis} ↓\n{axis} →"
        view.locator("td").first.hover()
        said = view.locator(".cell").element_handle()
        page.wait_for_function(ENDS, arg=[said, f" = {kind}"])
        assert view.evaluate(wider) <= 1, f"{kind[:20]} makes the view wider"
    assert view.locator("option").all_text_contents() == [
        *map(one_word, (t for e in EVIL for t in [e, *EVIL]))
    ]
    assert " ".join(EVIL[:3]) in view.locator("pre").text_content()
    view.locator("input[type=checkbox]").check()
    expect(view.locator(".error")).to_contain_text("ValueError: <script>window.broken = 1</script>")
    assert view.locator(".error").evaluate("e => e.offsetHeight") < 100
    assert view.locator("td").count() == 162, "the last good picture stays"
    assert view.locator("script, img, b, i").count() == 0
    assert page.evaluate("window.broken") is None and view.evaluate(wider) <= 1


# --- run again and again ---

RUN_AGAIN = """async ([times, cells]) => {
    const { shell, commands } = window.jupyterapp;
    for (let k = 0; k < times * cells.length; k++) {
        shell.currentWidget.content.activeCellIndex = cells[k % cells.length];
        await commands.execute('notebook:run-cell');
    }
}"""
COUNT = "function () { return this.filter((e) => e.closest('.explore')).length; }"


def views_in_memory(page):
    """Count the views that a page holds, also those that are no longer in sight."""
    tools = page.context.new_cdp_session(page)
    for _ in range(3):
        tools.send("HeapProfiler.collectGarbage")
    # each view has a fieldset
    kind = tools.send("Runtime.evaluate", {"expression": "HTMLFieldSetElement.prototype"})
    kind = {"prototypeObjectId": kind["result"]["objectId"]}
    found = tools.send("Runtime.queryObjects", kind)["objects"]["objectId"]
    ask = {"functionDeclaration": COUNT, "objectId": found, "returnByValue": True}
    views = tools.send("Runtime.callFunctionOn", ask)["result"]["value"]
    tools.detach()  # else the objects found would be kept
    return views


def test_a_page_forgets_the_views_of_a_cell_that_runs_again(page, shared):
    """What its kernel forgets is tested in test_explore_page.py."""
    before = views_in_memory(page)
    page.evaluate(RUN_AGAIN, [4, [NETWORK, TWO_VIEWS]])
    for _ in range(20):  # JupyterLab's own pauses must end first
        page.wait_for_timeout(1000)
        held = views_in_memory(page)
        if held == before:
            break
    assert held == before
    for one in (shared(NETWORK), shared(TWO_VIEWS).last):
        alive(one)


# --- saved, and opened again ---


@pytest.fixture(scope="module")
def saved(browser):
    """Run a notebook, move its slider and save it in JupyterLab; return its path."""
    page, _, folder, _ = browser
    view = opened(page, browser, "saved.ipynb", GROW)
    slider_of(view).press("Home")
    expect(caption_of(view)).to_have_text("1 x")
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    path = folder / "saved.ipynb"
    outputs = nbformat.read(path, as_version=4).cells[1].outputs
    assert [WIDGET in output.data for output in outputs] == [True, False]
    return path


def shows_the_still(page):
    """Assert that the saved picture is visible, and that no words complain of a missing widget."""
    still = page.locator(".explore-still img, img[alt^=Heatmap], .jp-RenderedImage img").first
    expect(still).to_be_visible()
    page.wait_for_timeout(1500)  # "Loading widget" and "model not found" come late
    box, natural = still.bounding_box(), still.evaluate("e => e.naturalWidth / e.naturalHeight")
    assert box["width"] > 300 and abs(box["width"] / box["height"] - natural) < 0.1
    assert page.locator(".explore").count() == 0
    shown = page.locator(".jp-Notebook").inner_text()
    assert not re.search(NOT_A_PICTURE, shown), shown


def test_a_notebook_opened_again_is_live_with_its_values_while_its_kernel_is(page, browser, saved):
    address, view = browser[1], page.locator(".explore")
    open_notebook(page, address, saved.name)
    expect(slider_of(view)).to_have_value("1")
    expect(caption_of(view)).to_have_text("1 x")
    expect(page.locator(".explore-still img")).to_be_hidden()
    alive(view)
    # closed, while its kernel keeps running
    page.evaluate("window.jupyterapp.shell.currentWidget.dispose()")
    expect(page.locator(".jp-Notebook")).to_have_count(0)
    page.evaluate("void jupyterapp.commands.execute('docmanager:open', {path: 'saved.ipynb'})")
    expect(caption_of(view)).to_have_text("50 x")
    expect(page.locator(".explore-still img")).to_be_hidden()
    alive(view)

    # without its kernel it shows the saved picture, also if it was mailed to us: then it was not
    # run here, so it is not trusted
    page.evaluate(f"{SESSION}.shutdown()")
    foreign = nbformat.read(saved, as_version=4)
    foreign.cells.append(nbformat.v4.new_markdown_cell("from somebody else"))
    nbformat.write(foreign, saved.with_name("foreign.ipynb"))
    open_notebook(page, address, "foreign.ipynb", "JupyterLab Dark", reload=False)
    shows_the_still(page)


def test_html_made_of_a_saved_notebook_shows_the_picture_without_a_network(browser, saved):
    command = [sys.executable, "-m", "nbconvert", "--to", "html", str(saved)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    page = browser[0].context.new_page()
    page.route(re.compile("^https?:"), lambda request: request.abort())
    page.goto(saved.with_suffix(".html").as_uri())
    picture = page.get_by_role("img", name=re.compile("^Heatmap: Query by Key, 6 by 6"))
    expect(picture).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert not re.search(NOT_A_PICTURE, page.locator("body").inner_text())
    pixels = picture.evaluate("e => e.naturalWidth")
    assert pixels > 300 and f"/Width {pixels}".encode() in page.pdf(), "and when it is printed"
    page.close()


# --- a kernel that goes away (last, for the page goes on sending to it) ---


def test_a_kernel_lost_in_a_drag_is_said_and_the_cell_run_again_is_live(page, browser):
    view = opened(page, browser, "restart.ipynb", SETUP + SLOWLY)
    slider, error = slider_of(view), view.locator(".error")
    alive(view)
    left, top, width, height = slider.bounding_box().values()
    for event, script in {
        "restarted": f"void (window.done = {SESSION}.kernel.restart())",
        "killed": None,
    }.items():
        process = psutil.Process(in_kernel(page, "__import__('os').getpid()"))
        page.mouse.move(left + width * 0.2, top + height / 2)
        page.mouse.down()
        for k in range(16):
            page.mouse.move(left + width * (0.2 + 0.04 * k), top + height / 2)
            page.wait_for_timeout(25)  # as slowly as a hand
            if k == 8:
                page.evaluate(script) if script else process.kill()
        page.mouse.up()
        expect(error, event).to_contain_text(NOT_LIVE)  # at the latest when an answer is overdue
        page.evaluate("window.done")  # after a restart JupyterLab connects once more
        expect(slider, event).to_be_disabled()
        page.wait_for_function(f"{SESSION}?.kernel?.status === 'idle'")
        assert NOT_LIVE in error.text_content(), "a new kernel does not know this view"
        assert view.locator("td").count() == 36, "the last picture stays"
        if event != "killed":  # JupyterLab 4.6 goes on sending to a thread of the dead kernel
            page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
            expect(error, event).to_have_text("", timeout=60_000)
            alive(view, f"run again after the kernel was {event}")
