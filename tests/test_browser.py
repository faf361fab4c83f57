"""Every lesson in JupyterLab in a real browser, as a student opens it."""

import os
import re

import nbformat
import pytest
from execute import METADATA, lessons
from lab import chromium, jupyterlab, open_notebook, run_all
from playwright.sync_api import expect

each_lesson = pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """(page, address of JupyterLab, its folder, errors that the page reported)."""
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        if page is None:
            reason = "no Chromium, Chrome or Edge was found on this machine"
            if os.environ.get("CI"):
                pytest.fail(f"{reason}: CI must run the browser tests")
            pytest.skip(reason)
        errors = []

        def report(text, where):
            # JupyterLab has errors of its own, most of them while it opens a notebook; our
            # code is a module without an address (blob:), or named in the message
            if re.search("blob:|anywidget|explore|jupyter-widgets", text + where):
                errors.append(text)

        page.on("pageerror", lambda e: report(str(e), e.stack or ""))
        page.on(
            "console",
            lambda m: report(m.text, m.location["url"]) if m.type == "error" else None,
        )
        page.on("request", lambda r: errors.append(f"fetched {r.url}") if outside(r.url) else None)
        folder = tmp_path_factory.mktemp("lab")
        with jupyterlab(folder) as address:
            yield page, address, folder, errors


def outside(url):
    """JupyterLab may ask anything of its own server, and nobody else."""
    return not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))


@each_lesson
def test_a_lesson_opened_and_not_run_shows_its_pictures(browser, path):
    page, address, _, errors = browser
    errors.clear()
    open_notebook(page, address, f"notebooks/{path.name}")
    page.wait_for_selector(".jp-Notebook img[alt]")
    assert page.get_by_text("model not found").count() == 0
    assert errors == []


@each_lesson
def test_a_key_press_on_a_control_changes_the_picture(browser, path):
    page, address, _, errors = browser
    errors.clear()
    open_notebook(page, address, f"notebooks/{path.name}")
    run_all(page)
    cells = page.evaluate("window.jupyterapp.shell.currentWidget.content.model.cells.length")
    expected = page.evaluate(
        """() => [...window.jupyterapp.shell.currentWidget.content.model.cells]
            .filter(c => c.type === 'code' && c.sharedModel.getSource().includes('explore(')
                    && !c.sharedModel.getSource().includes('import')).length"""
    )
    # JupyterLab draws only the cells near the window: visit them all
    seen = 0
    for number in range(cells):
        scroll_to(page, number)
        view = page.locator(f'.jp-Cell[data-windowed-list-index="{number}"] .explore')
        if view.count() == 0:
            continue
        seen += 1
        view.locator("td").first.wait_for()
        before = picture_of(view)
        control = view.locator("input, select").first
        control.focus()
        is_slider = control.evaluate("e => e.type") == "range"
        page.keyboard.press("ArrowRight" if is_slider else "ArrowDown")
        page.wait_for_function(
            """([number, before]) => {
                const view = document.querySelector(
                    `.jp-Cell[data-windowed-list-index="${number}"] .explore`);
                return [...view.querySelectorAll('th, td, .caption')]
                    .map(e => e.textContent).join('|') !== before;
            }""",
            arg=[number, before],
        )
        assert control.evaluate("e => e === document.activeElement"), "the focus was lost"
        assert view.locator(".error").text_content() == ""
    assert seen == expected >= 2
    # arrows and letters typed at a control are not commands of the notebook
    assert cells == page.evaluate(
        "window.jupyterapp.shell.currentWidget.content.model.cells.length"
    )
    assert errors == []


def scroll_to(page, number):
    page.evaluate(
        """async (number) => {
            const content = window.jupyterapp.shell.currentWidget.content;
            await content.scrollToItem(number, 'center');
            content.activeCellIndex = number;
        }""",
        number,
    )
    page.wait_for_selector(f'.jp-Cell[data-windowed-list-index="{number}"]')


def picture_of(view):
    return view.evaluate(
        "e => [...e.querySelectorAll('th, td, .caption')].map(e => e.textContent).join('|')"
    )


HOSTILE = """
import sys, time
sys.path.insert(0, ".")
from helpers import View, explore

def hostile(n=6, word="x"):
    if n == 4:
        raise ValueError("<b>four</b>")
    time.sleep(0.05)
    names = ["<script>document.title='broken'</script>", "&amp;", "שלום", "中文", '"', "$x$"]
    return View([[k / n] * n for k in range(n)], names[:n], caption=f"<i>{n}</i> {word}")

explore(hostile, n=(2, 6), word="x")
---
time.sleep(5)
"""


def test_a_live_view_survives_what_happens_to_it(browser):
    page, address, folder, errors = browser
    errors.clear()
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in HOSTILE.split("---")]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)
    nbformat.write(notebook, folder / "hostile.ipynb")
    open_notebook(page, address, "hostile.ipynb")
    page.evaluate(
        """async () => {
            const app = window.jupyterapp;
            app.shell.currentWidget.content.activeCellIndex = 0;
            await app.commands.execute('notebook:run-cell');
        }"""
    )
    view = page.locator(".explore")
    slider, text = view.locator("input").nth(0), view.locator("input").nth(1)
    caption, error = view.locator(".caption"), view.locator(".error")
    expect(view.locator("tbody th").first).to_have_text("<script>document.title='broken'</script>")
    expect(caption).to_have_text("<i>6</i> x")

    # the first move while a cell runs: the answer is there before the cell ends
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1")
    page.evaluate("void window.jupyterapp.commands.execute('notebook:run-cell')")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(caption).to_have_text("<i>5</i> x", timeout=4000)

    # letters are text, not commands of the notebook, and the cursor stays
    text.focus()
    page.keyboard.press("End")
    page.keyboard.type("abmdd", delay=20)
    expect(caption).to_have_text("<i>5</i> xabmdd")
    assert text.evaluate("e => e === document.activeElement")
    assert page.locator(".jp-Notebook .jp-Cell").count() == 2

    # an error is said beside the controls, as text, and the last good picture stays
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(error).to_contain_text("ValueError: <b>four</b>")
    expect(caption).to_have_text("<i>5</i> xabmdd")
    assert view.locator("td").count() == 25

    # the picture shrinks under the mouse, with another value waiting
    view.locator("td").last.hover()
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(caption).to_have_text("<i>2</i> xabmdd")
    expect(error).to_have_text("")

    # after a restart the page says so instead of looking alive
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.wait_for_function(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
    )
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(error).to_contain_text("If the kernel was restarted", timeout=20_000)
    assert page.title() != "broken"
    assert errors == []
