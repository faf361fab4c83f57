"""Lessons in JupyterLab in a real browser, as a student opens them."""

import re

import pytest
from execute import lessons
from lab import open_notebook, run_all, write
from playwright.sync_api import expect


# test_notebooks.py holds every picture of every lesson to be there; here some are looked at
@pytest.mark.parametrize("path", lessons()[::3], ids=lambda path: path.stem)
def test_a_lesson_opened_and_not_run_shows_its_pictures(browser, path):
    page, address, _, errors = browser
    errors.clear()
    open_notebook(page, address, f"notebooks/{path.name}")
    page.wait_for_selector(".jp-Notebook img[alt]")
    assert page.get_by_text("model not found").count() == 0
    assert errors == []


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
time.sleep(60)
"""


def test_a_live_view_survives_what_happens_to_it(browser):
    page, address, folder, errors = browser
    errors.clear()
    write(folder / "hostile.ipynb", HOSTILE)
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
    expect(caption).to_have_text("<i>5</i> x")

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


DIRECT = """
import sys, torch
sys.path.insert(0, ".")
from helpers import View, explore

heads = torch.arange(1.0, 13.0)[:, None, None].expand(12, 2, 3) / 12

def direct(seen, head="head 6", many=12):
    matrix, k = heads.clone(), int(head.split()[1]) - 1
    matrix[:, :, :2] *= seen
    caption = f"{seen.sum()} on of head {k + 1}"
    explain = lambda i, j: f"because {i} {j}"
    return View(matrix[k], caption=caption, explain=explain, heads=matrix[:many], head=k)

explore(direct, seen=[[True, False]] * 2, head=["head 3", "head 6", "head 1"], many=(3, 12))
"""


def test_cells_and_small_heads_are_switched_by_hand(browser):
    page, address, folder, errors = browser
    errors.clear()
    write(folder / "direct.ipynb", DIRECT)
    open_notebook(page, address, "direct.ipynb")
    run_all(page)
    view, cell = page.locator(".explore"), page.locator(".explore td")
    caption, status = view.locator(".caption"), view.locator(".cell")
    expect(caption).to_have_text("2 on of head 6")
    page.evaluate(
        """() => {
            window.shift = 0;  // all shifts, also soon after an input
            new PerformanceObserver(
                (list) => list.getEntries().forEach((entry) => { window.shift += entry.value; })
            ).observe({ type: 'layout-shift' });
        }"""
    )

    # a click asks Python with this one switch changed; a cell outside the switches asks nothing
    states = [cell.nth(k).get_attribute("aria-selected") for k in range(6)]
    assert states == ["true", "false", None] * 2
    expect(cell.nth(1)).to_have_text("0.00")
    cell.nth(2).click()
    cell.nth(1).click()
    expect(cell.nth(1)).to_have_text("0.50")
    expect(cell.nth(1)).to_have_attribute("aria-selected", "true")
    expect(caption).to_have_text("3 on of head 6")
    expect(cell.nth(4)).to_have_text("0.00")

    # the same with the keyboard: the focus stays, the explanation comes, the notebook hears nothing
    page.keyboard.press("ArrowDown")
    for key, number, state in [("Enter", "0.50", "on"), ("Space", "0.00", "off")]:
        page.keyboard.press(key)
        expect(cell.nth(4)).to_have_text(number)
        expect(status).to_have_text(f"1 · 1, seen {state}: {number} = because 1 1")
        expect(cell.nth(4)).to_be_focused()
    expect(caption).to_have_text("3 on of head 6")
    # the mark is there at once, also while Python computes
    click = "e => { e.click(); return e.getAttribute('aria-selected'); }"
    assert cell.first.evaluate(click) == "false"
    expect(caption).to_have_text("2 on of head 6")
    view.get_by_role("button", name="reset").click()
    expect(cell.first).to_have_attribute("aria-selected", "true")
    expect(caption).to_have_text("2 on of head 6")
    expect(cell.nth(1)).to_have_attribute("aria-selected", "false")

    # a small head sets the control, and has the colours of the large one that it becomes
    head = view.get_by_role("button", name="head")
    for k, act in [(0, head.nth(0).click), (2, lambda: page.keyboard.press("Enter"))]:
        if k == 2:
            head.nth(2).focus()
        act()
        expect(caption).to_have_text(f"2 on of head {k + 1}")
        expect(head.nth(k)).to_be_focused()
        assert view.locator("select").evaluate("e => e.selectedOptions[0].text") == f"head {k + 1}"
        expect(cell.first).to_have_text(f"{(k + 1) / 12:.2f}")
        assert [h.get_attribute("aria-current") == "true" for h in head.all()] == [
            n == k for n in range(12)
        ]
        small = (
            head.nth(k)
            .locator("canvas")
            .evaluate("e => [...e.getContext('2d').getImageData(0, 0, 3, 2).data].join(' ')")
        )
        large = [cell.nth(n).evaluate("e => getComputedStyle(e).backgroundColor") for n in range(6)]
        assert small == " ".join(" ".join(re.findall(r"\d+", rgb)) + " 255" for rgb in large)

    # fewer heads, and more again: nothing below them moves
    view.locator("input[type=range]").focus()
    for key, count in [("Home", 3), ("End", 12)]:
        page.keyboard.press(key)
        expect(head).to_have_count(count)
    assert page.evaluate("window.shift") == 0
    assert page.locator(".jp-Notebook .jp-Cell").count() == 1
    assert errors == []


MANY = """
import sys
sys.path.insert(0, ".")
from helpers import explore

names = "q11 q12 k11 k12 q21 q22 k21 k22 q31 q32 k31 k32".split()
explore(lambda **values: [list(values.values())], **{name: (-2.0, 2.0) for name in names})
"""


def test_many_sliders_stand_in_columns_of_which_none_is_cut_off(browser):
    page, address, folder, errors = browser
    errors.clear()
    write(folder / "many.ipynb", MANY)
    usual = page.viewport_size
    for width, columns in [(1280, 4), (800, 2)]:
        page.set_viewport_size({"width": width, "height": 900})
        open_notebook(page, address, "many.ipynb")
        run_all(page)
        view = page.locator(".explore")
        view.locator("td").first.wait_for()
        boxes = [part.bounding_box() for part in view.locator(".control").all()]
        assert view.locator(".many").evaluate("e => e.scrollWidth <= e.clientWidth")
        across = [box["x"] for box in boxes[:columns]]
        assert across == sorted(set(across))
        for k, box in enumerate(boxes):  # row by row
            assert box["x"] == across[k % columns]
            assert box["y"] == boxes[0]["y"] + k // columns * (boxes[columns]["y"] - boxes[0]["y"])
            parts = [
                part.bounding_box()
                for part in view.locator(".control").nth(k).locator("label, input, output").all()
            ]
            ends = [part["x"] + part["width"] for part in parts]
            assert max(ends) <= box["x"] + box["width"] + 0.5
            assert all(0 <= b["x"] - end < 16 for end, b in zip(ends, parts[1:], strict=False))
            assert len({part["y"] + part["height"] / 2 for part in parts}) == 1, "on one line"
            assert parts[1]["width"] > 100
    page.set_viewport_size(usual)
    assert errors == []


VERDICT = """
import sys, torch
sys.path.insert(0, ".")
from helpers import check

def twice(scores):
    print("<b>seen</b>", "long " * 100)
    return torch.softmax(torch.softmax(scores, 0), 0)

check("softmax", twice)
"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_a_verdict_is_announced_with_its_numbers_in_a_table(browser, theme):
    page, address, folder, errors = browser
    errors.clear()
    write(folder / "verdict.ipynb", VERDICT)
    open_notebook(page, address, "verdict.ipynb", theme)
    run_all(page)
    verdict = page.locator(".jp-RenderedHTML [role=alert]")
    expect(verdict).to_have_count(1)
    expect(verdict).to_contain_text("✘ softmax: softmax twice.")
    expect(verdict).to_contain_text("Your function printed:")
    expect(verdict).to_contain_text("<b>seen</b> long")
    expect(verdict.locator("table caption")).to_contain_text("On the scores of journey")
    assert verdict.locator("tr > th[scope=row]").all_text_contents() == ["yours", "right"]
    expect(verdict.locator("td")).to_have_count(6)
    page.set_viewport_size({"width": 800, "height": 900})
    try:
        wider = "e => e.scrollWidth > e.clientWidth + 1"
        assert not page.locator(".jp-OutputArea-output").first.evaluate(wider)
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})
    assert errors == []
