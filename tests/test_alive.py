"""What happens to a live picture: run again, cut off, doubled, lied to, saved, opened again."""

import re
import subprocess
import sys

import nbformat
import psutil
from execute import WIDGET
from lab import open_notebook, run_all, wait_for_kernel, write
from playwright.sync_api import expect

from helpers import View

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
NOT_LIVE = "this picture is not live"
SESSION = "window.jupyterapp.shell.currentWidget.sessionContext.session"
NOT_A_PICTURE = "model not found|Loading widget|Error displaying|Javascript Error"


def opened(browser, name, source):
    """The first view of a new notebook that was run: (page, its locator, the errors)."""
    page, address, folder, errors = browser
    errors.clear()
    write(folder / name, source)
    open_notebook(page, address, name)
    run_all(page)
    view = page.locator(".jp-Notebook .explore").first
    view.locator("td, canvas").first.wait_for()
    return page, view, errors


def run_cell(page, number, times=1):
    page.evaluate(
        """async ([number, times]) => {
            const { shell, commands } = window.jupyterapp;
            for (let k = 0; k < times; k++) {
                shell.currentWidget.content.activeCellIndex = number;
                await commands.execute('notebook:run-cell');
            }
        }""",
        [number, times],
    )


def in_kernel(page, code):
    """What this code prints in the kernel of the notebook."""
    return page.evaluate(
        """async ([code]) => {
            const future = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
                .requestExecute({ code, store_history: false });
            let printed = '';
            future.onIOPub = ({ content }) => { printed += content.text ?? content.evalue ?? ''; };
            await future.done;
            return printed;
        }""",
        [code],
    )


def find_manager(page):
    """Keep the manager of the notebook's widgets as window.manager."""
    page.evaluate(
        """async () => {
            const find = (w) => w._manager ?? [...(w.children?.() ?? [])].map(find).find(Boolean);
            const { widgets } = window.jupyterapp.shell.currentWidget.content;
            window.manager = await widgets.map((c) => find(c.outputArea)).find(Boolean).promise;
        }"""
    )


def press(slider, key):
    slider.focus()
    slider.page.keyboard.press(key)


# --- run again and again ---

COUNTS = """
import gc, threading, comm, psutil
from ipywidgets.widgets.widget import _instances
gc.collect()
print(len(gc.get_objects()), len(_instances), len(comm.get_comm_manager().comms),
      threading.active_count(), psutil.Process().memory_info().rss)
"""


def counts(page):
    """What a notebook holds, in its kernel and in the page, after both collected garbage."""
    names = ["objects", "widgets", "comms", "threads", "bytes"]
    held = dict(zip(names, map(int, in_kernel(page, COUNTS).split()), strict=True))
    tools = page.context.new_cdp_session(page)
    for _ in range(3):
        tools.send("HeapProfiler.collectGarbage")
    # of all fieldsets in memory, also those outside the page, the ones of views
    kind = tools.send("Runtime.evaluate", {"expression": "HTMLFieldSetElement.prototype"})
    objects = tools.send("Runtime.queryObjects", {"prototypeObjectId": kind["result"]["objectId"]})[
        "objects"
    ]
    held["views"] = tools.send(
        "Runtime.callFunctionOn",
        {
            "functionDeclaration":
                "function () { return this.filter((e) => e.closest('.explore')).length; }",
            "objectId": objects["objectId"],
            "returnByValue": True,
        },
    )["result"]["value"]  # fmt: skip
    held["models"] = page.evaluate("window.manager._modelsSync.size")
    counters = tools.send("Memory.getDOMCounters")
    tools.detach()
    return held | {"nodes": counters["nodes"], "listeners": counters["jsEventListeners"]}


def test_a_cell_run_200_times_leaves_nothing_behind(browser):
    two = "explore(lambda n: View([[n / 50] * 2] * 2, caption=f'{n} x'), n=(1, 50))"
    source = SETUP + two + f"\n---\nfor _ in range(2): display({two})"
    page, view, errors = opened(browser, "again.ipynb", source)
    find_manager(page)
    for number, times in [(1, 180), (2, 30)]:
        run_cell(page, number, 20)
        press(page.locator(".explore input[type=range]").nth(number - 1), "Home")
        page.wait_for_timeout(1500)  # marks of changed numbers, and pauses of JupyterLab
        before = counts(page)
        run_cell(page, number, times)
        page.wait_for_timeout(1500)
        after = counts(page)
        # a widget has a layout; all three views are shown
        for what, most in [("widgets", 6), ("comms", 6), ("models", 6), ("views", 3)]:
            assert before[what] == after[what] == most, (what, before, after)
        assert after["threads"] <= before["threads"] + 2, (before, after)
        assert after["bytes"] < before["bytes"] + 30e6, (before, after)
        # the kernel itself keeps about 80 for each run of a cell
        assert after["objects"] - before["objects"] < 120 * number * times, (before, after)
        # JupyterLab itself keeps 13 nodes and 40 listeners whenever a cell prints its result
        assert after["nodes"] - before["nodes"] < 60 * number * times, (before, after)
        assert after["listeners"] - before["listeners"] < 90 * number * times, (before, after)
        last = page.locator(".explore").nth(number)
        for one in (page.locator(".explore").first, last):
            press(one.locator("input[type=range]"), "End")
            expect(one.locator(".caption")).to_have_text("50 x")
    assert page.locator(".explore").count() == 3
    # what anywidget says of a widget whose cell runs again before the page has loaded it
    assert [text for text in errors if "Failed to initialize model" not in text] == []


# --- a kernel that goes away ---


def drag(page, slider, act):
    """Drag for a second and a half; in the middle something happens."""
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.2, middle)
    page.mouse.down()
    for k in range(60):
        page.mouse.move(box["x"] + box["width"] * (0.2 + 0.6 * (k % 20) / 20), middle)
        page.wait_for_timeout(25)
        if k == 25:
            act()
    page.mouse.up()


def alive(view, when=None):
    """The view answers when a control moves."""
    for key, caption in [("Home", "1 x"), ("End", "50 x")]:
        press(view.locator("input[type=range]"), key)
        expect(view.locator(".caption"), when).to_have_text(caption, timeout=20_000)
    expect(view.locator(".error")).to_have_text("")
    expect(view.locator("input[type=range]")).to_be_enabled()


def test_a_kernel_lost_in_a_drag_is_said_and_the_cell_run_again_is_live(browser):
    source = SETUP + "explore(lambda n, word: grow(n, word, 0.03), n=(1, 50), word='x')"
    page, view, errors = opened(browser, "restart.ipynb", source)
    slider, error = view.locator("input[type=range]"), view.locator(".error")

    def kill():
        psutil.Process(process).kill()

    events = {
        "restarted": lambda: page.evaluate(f"void {SESSION}.kernel.restart()"),
        "shut down": lambda: page.evaluate(f"void {SESSION}.shutdown()"),
        "killed": kill,
    }
    alive(view)
    drag(page, slider, lambda: page.evaluate(f"void {SESSION}.kernel.interrupt()"))
    alive(view)
    for event, act in events.items():
        process = int(in_kernel(page, "import os; print(os.getpid())"))
        drag(page, slider, act)
        # at the latest when an answer is overdue
        expect(error, event).to_contain_text(NOT_LIVE, timeout=25_000)
        if event == "shut down":
            page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.startKernel()")
        else:
            expect(slider, event).to_be_disabled()
        page.wait_for_function(f"{SESSION}?.kernel?.status === 'idle'")
        assert NOT_LIVE in error.text_content(), "a new kernel does not know this view"
        assert view.locator("td").count() == 36, "the last picture stays"
        if event == "killed":
            # JupyterLab 4.6 sends on to a thread of the dead kernel, for widgets of any kind
            open_notebook(page, browser[1], "restart.ipynb")
            run_all(page)
            break
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        expect(error, event).to_have_text("", timeout=60_000)
        alive(view, f"run again after the kernel was {event}")
    alive(view, "run again after the kernel was killed")
    assert errors == []


CONNECTIONS = """
    window.connections = [];
    window.WebSocket = class extends WebSocket {
        constructor(address, ...rest) {
            super(window.offline ? 'ws://127.0.0.1:9' : address, ...rest);
            window.connections.push(this);
        }
    };
"""


def test_a_view_lives_again_when_the_network_is_back(browser):
    old, address, folder, errors = browser
    errors.clear()
    write(folder / "network.ipynb", GROW)
    old.goto("about:blank")  # two pages of one JupyterLab would ask for two workspaces
    page = old.context.new_page()
    page.on("pageerror", lambda e: errors.append(str(e)) if "blob:" in (e.stack or "") else None)
    page.add_init_script(CONNECTIONS)
    open_notebook(page, address, "network.ipynb")
    run_all(page)
    view = page.locator(".explore")
    alive(view)
    connected = f"{SESSION}.kernel.connectionStatus === 'connected'"
    page.evaluate("window.offline = true; window.connections.forEach((c) => c.close())")
    page.wait_for_function(f"!({connected})")
    press(view.locator("input[type=range]"), "Home")
    press(view.locator("input[type=range]"), "ArrowRight")
    page.evaluate("window.offline = false")
    page.wait_for_function(connected)
    alive(view)
    page.close()
    assert errors == []


# --- two views ---

TWO = SETUP + "w = explore(lambda n, word='x': grow(n, word, 0.15), n=(1, 50), word='x')\nw\n---\nw"


def test_two_views_of_a_widget_show_the_same_and_no_answer_moves_a_control_in_a_hand(browser):
    page, one, errors = opened(browser, "two.ipynb", TWO)
    page.evaluate(
        """async () => {
            const { shell, commands } = window.jupyterapp;
            shell.currentWidget.content.activeCellIndex = 1;
            await commands.execute('notebook:create-output-view');
        }"""
    )
    other, linked = (
        page.locator(".jp-Notebook .explore").nth(1),
        page.locator(".jp-LinkedOutputView .explore"),
    )
    views = [one, other, linked]

    def all_show(number, word="x"):
        for view in views:
            expect(view.locator(".caption")).to_have_text(f"{number} {word}")
            expect(view.locator("input[type=range]")).to_have_value(str(number))
            expect(view.locator("input[type=text]")).to_have_value(word)
            expect(view.locator("td").first).to_have_text(f"{number / 50:.2f}")

    all_show(25)
    for view, key, number in [(one, "Home", 1), (other, "End", 50), (linked, "ArrowLeft", 49)]:
        press(view.locator("input[type=range]"), key)
        all_show(number)
    linked.locator("input[type=text]").fill("a<b")
    all_show(49, "a<b")

    # while one is dragged the answers of older values arrive, and those that the other asked for
    slider, seen = one.locator("input[type=range]"), set()
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.1, middle)
    page.mouse.down()
    for k in range(1, 9):
        for part in range(4):  # one value is asked for, the others wait
            page.mouse.move(box["x"] + box["width"] * (0.1 + 0.08 * k + 0.02 * part), middle)
            page.wait_for_timeout(25)
        value = slider.input_value()
        seen.add(value)
        if k == 5:
            linked.locator("input[type=text]").evaluate(
                "e => { e.value = 'y'; e.dispatchEvent(new Event('input')); }"
            )
        for _ in range(6):
            page.wait_for_timeout(40)
            assert slider.input_value() == value
    page.mouse.up()
    assert len(seen) == 8
    all_show(int(value), "y")

    page.evaluate(
        """() => [...window.jupyterapp.shell.widgets('main')]
            .find((w) => w.node.querySelector('.jp-LinkedOutputView')).dispose()"""
    )
    expect(linked).to_have_count(0)
    views.pop()
    press(other.locator("input[type=range]"), "Home")
    all_show(1, "y")
    assert errors == []


# --- words that are not words ---

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
HOSTILE = (
    SETUP
    + f"""
evil = {EVIL!r}
raising = False

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
"""
)


def test_words_of_the_reader_are_text_and_stay_inside_the_page(browser):
    page, view, errors = opened(browser, "hostile.ipynb", HOSTILE)
    slider = view.locator("input[type=range]").first
    for number, kind in enumerate(EVIL):
        press(slider, "ArrowRight" if number else "Home")
        caption = view.locator(".caption")
        page.wait_for_function(
            "([e, text]) => e.textContent === text", arg=[caption.element_handle(), kind]
        )
        assert view.locator(".title").first.text_content() == kind
        axis = View([[0.1]], axes=(kind[:200], "")).axes[0]  # on one line
        assert view.locator("th.corner").first.text_content() == f"{axis} ↓  {axis} →"
        view.locator("td").first.hover()
        page.wait_for_function(
            "([e, text]) => e.textContent.endsWith(text)",
            arg=[view.locator(".cell").element_handle(), f" = {kind}"],
        )
        wider = view.evaluate("e => e.scrollWidth - e.clientWidth")
        assert wider <= 1, f"{kind[:20]} makes the view wider"
    assert view.locator("tbody").first.locator("th").all_text_contents()[: len(EVIL)] == list(
        View([[0.1] * 9] * 9, EVIL).tokens
    )
    assert view.locator("option").all_text_contents() == [t for e in EVIL for t in [e, *EVIL]]
    labels = view.locator(".control > :first-child").all_text_contents()
    assert labels == ["number", "stop", *(e.replace("_", " ") for e in EVIL), "<i>text</i>"]
    assert " ".join(EVIL[:3]) in view.locator("pre").text_content()
    view.locator("input[type=checkbox]").check()
    error = view.locator(".error")
    expect(error).to_contain_text("ValueError: <script>window.broken = 1</script>")
    assert error.evaluate("e => e.offsetHeight") < 100
    assert view.locator("script, img, b, i").count() == 0
    assert page.evaluate("window.broken") is None
    wide = "e => e.scrollWidth - e.clientWidth"
    assert page.locator(".jp-OutputArea-output").first.evaluate(wide) <= 1
    assert errors == []


# --- messages that no page of ours sends ---

LIES = [
    {"changes": {"n": 51}},
    {"changes": {"n": "many"}},
    {"changes": {"n": None}},
    {"changes": {"n": 2.5}},
    {"changes": {"n": [1]}},
    {"changes": {"n": {"a": 1}}},
    {"changes": {"word": 3}},
    {"changes": {"nothing": 1}},
    {"changes": {"seen": [[9, 9, True]]}},
    {"changes": {"seen": [[0, 0, 7]]}},
    {"changes": {"seen": "all"}},
    {"changes": {"seen": [[-1, 0, True], 3]}},
    {"changes": 5},
    {"changes": None},
    {"changes": ["n"]},
    {"changes": {"n": "9" * 100_000}},
]
SILENT = [
    {"cell": [9, 9, 9]},
    {"cell": "here"},
    {"cell": None},
    {"cell": [0, -1, 0]},
    {"cell": [0, 0.5, 0]},
    {"unknown": 1},
    {},
    [],
    None,
    "text",
    7,
]


def test_a_message_that_makes_no_sense_is_answered_by_a_sentence_and_the_next_one_works(browser):
    source = SETUP + (
        "explore(lambda n, word, seen: grow(n, word), n=(1, 50), word='x', seen=[[True] * 6] * 6)"
    )
    page, view, errors = opened(browser, "lies.ipynb", source)
    find_manager(page)
    send = """async (messages) => {
        for (const id of window.manager._modelsSync.keys()) {
            const model = await window.manager.get_model(id);
            if (model.name === 'AnyModel') for (const message of messages) model.send(message);
        }
    }"""
    error, slider = view.locator(".error"), view.locator("input[type=range]")
    keys = ["Home", "End"]
    for k, lie in enumerate(LIES):
        page.evaluate(send, [lie])
        expect(error, str(lie)[:60]).to_contain_text("expected")
        assert len(error.text_content()) < 300
        assert view.locator("td").count() == 36
        expect(slider).to_be_enabled()
        press(slider, keys[k % 2])
        expect(error, str(lie)[:60]).to_have_text("")
        expect(view.locator(".caption")).to_have_text(f"{[1, 50][k % 2]} x")
    before = view.inner_text()
    page.evaluate(send, SILENT)
    page.evaluate(send, [{"changes": {}, "turn": 7}, {"whole": 1}])
    page.wait_for_timeout(500)
    assert view.inner_text() == before
    # a hundred at once: nothing hangs, the last one counts
    many = [{"changes": {"n": 1 + k % 50}, "turn": f"other {k}"} for k in range(100)]
    page.evaluate(send, [*LIES, *many])
    expect(view.locator(".caption")).to_have_text("50 x")
    alive(view)
    assert errors == []


# --- saved, and opened again ---


def saved(browser, name):
    """A notebook that was run, whose slider was moved, and which was saved by JupyterLab."""
    page, view, errors = opened(browser, name, GROW)
    press(view.locator("input[type=range]"), "Home")
    expect(view.locator(".caption")).to_have_text("1 x")
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    path = browser[2] / name
    for _ in range(100):
        if WIDGET in path.read_text(encoding="utf-8"):
            break
        page.wait_for_timeout(100)
    outputs = nbformat.read(path, as_version=4).cells[1].outputs
    assert [WIDGET in output.data for output in outputs] == [True, False]
    return page, view, errors


def shows_the_still(page):
    """The saved picture can be seen, and no word about a widget that is missing."""
    still = page.locator(".explore-still img, img[alt^=Heatmap], .jp-RenderedImage img").first
    expect(still).to_be_visible()
    page.wait_for_timeout(1500)  # "Loading widget" and "model not found" come late
    box = still.bounding_box()
    natural = still.evaluate("e => [e.naturalWidth, e.naturalHeight]")
    assert natural[0] > 300 and natural[1] > 150
    assert box["width"] > 300 and abs(box["width"] / box["height"] - natural[0] / natural[1]) < 0.1
    assert page.locator(".explore").count() == 0
    shown = page.locator(".jp-Notebook").inner_text()
    assert not re.search(NOT_A_PICTURE, shown), shown


def close_notebook(page):
    """Save it and close it; its kernel goes on."""
    page.evaluate("window.jupyterapp.shell.currentWidget.dispose()")
    expect(page.locator(".jp-Notebook")).to_have_count(0)


def test_a_notebook_opened_again_is_live_with_its_values_while_its_kernel_is(browser):
    page, view, errors = saved(browser, "reload.ipynb")
    open_notebook(page, browser[1], "reload.ipynb")
    expect(view.locator(".caption")).to_have_text("1 x")
    expect(view.locator("input[type=range]")).to_have_value("1")
    expect(page.locator(".explore-still img")).to_be_hidden()
    alive(view)
    close_notebook(page)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:open', {path: 'reload.ipynb'})")
    expect(view.locator(".caption")).to_have_text("50 x")
    expect(page.locator(".explore-still img")).to_be_hidden()
    alive(view)
    assert errors == []


def test_a_notebook_opened_again_without_its_kernel_shows_the_saved_picture(browser):
    page, view, errors = saved(browser, "saved.ipynb")
    address, folder = browser[1:3]
    page.evaluate(f"{SESSION}.shutdown()")
    # as it comes by mail: nobody here ran it, so it is not trusted
    foreign = nbformat.read(folder / "saved.ipynb", as_version=4)
    foreign.cells.append(nbformat.v4.new_markdown_cell("from somebody else"))
    nbformat.write(foreign, folder / "foreign.ipynb")
    for name, theme in [("saved", "JupyterLab Light"), ("foreign", "JupyterLab Dark")]:
        open_notebook(page, address, f"{name}.ipynb", theme)
        shows_the_still(page)
    page.goto(f"{address}/notebooks/saved.ipynb?token=course")
    shows_the_still(page)
    # JupyterLab says this on the console only
    assert [error for error in errors if "widget model not found" not in error] == []


def test_html_and_print_made_of_a_saved_notebook_show_the_picture_without_a_network(browser):
    page, _, errors = saved(browser, "static.ipynb")
    notebook = browser[2] / "static.ipynb"
    command = [sys.executable, "-m", "nbconvert", "--to", "html", str(notebook)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    page, asked, said = page.context.new_page(), [], []

    def local_only(route):
        if route.request.url.startswith(("file:", "data:", "blob:")):
            return route.continue_()
        asked.append(route.request.url)
        route.abort()

    page.route("**/*", local_only)
    page.on("pageerror", lambda e: said.append(str(e)))
    page.goto(notebook.with_suffix(".html").as_uri())
    picture = page.get_by_role("img", name=re.compile("^Heatmap: Query by Key, 6 by 6"))
    expect(picture).to_have_count(1)
    expect(picture).to_be_visible()
    assert picture.evaluate("e => e.naturalWidth") > 300
    page.wait_for_timeout(1000)
    assert not re.search(NOT_A_PICTURE, page.locator("body").inner_text())
    assert not [url for url in asked if "anywidget" in url or "explore" in url]
    assert not [text for text in said if "explore" in text]
    pixels = picture.evaluate("e => e.naturalWidth")
    assert f"/Width {pixels}".encode() in page.pdf()
    page.close()
    assert errors == []


# --- Notebook 7 ---

NOTEBOOK = (
    SETUP
    + """
import torch
explore(grow, n=(1, 50), word="x")
---
explore(lambda seen: View(1.0 * seen, caption=str(seen.sum().item())),
        seen=[[True] * 6] * 6)
---
explore(lambda v: View(v @ v.T, list("abc"), caption=str(v[0].tolist())), v=torch.ones(3, 2))
---
explore(lambda n: View([[n / 50] * 40] * 40, caption=str(n)), n=(1, 50))
"""
)


def test_notebook_7_shows_live_views_that_keep_their_keys(browser):
    page, address, folder, errors = browser
    errors.clear()
    write(folder / "seven.ipynb", NOTEBOOK)
    page.goto(f"{address}/notebooks/seven.ipynb?token=course")
    wait_for_kernel(page)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    views = page.locator(".explore")
    expect(views).to_have_count(4, timeout=60_000)
    expect(page.locator(".explore-still img")).to_have_count(4)
    alive(views.first)
    text = views.first.locator("input[type=text]")
    press(text, "End")
    page.keyboard.type("abmdd", delay=20)
    expect(views.first.locator(".caption")).to_have_text("50 xabmdd")

    expect(views.nth(1).locator(".caption")).to_have_text("36")
    views.nth(1).locator("td").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(views.nth(1).locator(".caption")).to_have_text("35")
    expect(views.nth(1).locator("td").nth(1)).to_be_focused()

    head = views.nth(2).locator(".vectors button").first
    head.focus()
    page.keyboard.press("ArrowRight")
    expect(views.nth(2).locator(".caption")).not_to_have_text("[1.0, 1.0]")
    expect(head).to_be_focused()

    views.nth(3).locator(".held").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.type("ddb")
    expect(views.nth(3).locator(".cell")).to_contain_text("1 · 0: 0.5")
    press(views.nth(3).locator("input"), "End")
    expect(views.nth(3).locator(".caption")).to_have_text("50")
    assert page.locator(".jp-Notebook .jp-Cell").count() == 5, "no key was a command"
    assert not any(still.is_visible() for still in page.locator(".explore-still img").all())
    assert errors == []
