"""The live views of three lessons, and a few that no lesson has yet, in JupyterLab."""

import io
import json
from pathlib import Path

import nbformat
import numpy as np
import pytest
from execute import CI, THREE, in_browsers, lessons
from lab import in_kernel, open_notebook, run_all, scroll_to, write
from PIL import Image
from playwright.sync_api import expect
from replay import quick
from views import IN_KERNEL, LIVE, LiveView, axe_finds_nothing, touch_drag

LARGE = "large", "resized", "sixteen", "heads by hand"  # extra views that need not fit a projector
THEMES = "JupyterLab Dark", "JupyterLab Light"
HIGH = 1300
WIDE = 1280

# Cells that together have every kind of control and of picture.
VIEWS = Path(__file__).with_name("extra_views.txt").read_text(encoding="utf-8")

NOTEBOOKS = {"views": ("lab/tree", None)} | {p.stem: ("lab/tree", p) for p in in_browsers()}
# Only these are run: their controls are those of the other lessons, too, whose pictures
# test_pages.py looks at.
RUN = [name for name in NOTEBOOKS if name.startswith(("views", *THREE))]
every_notebook = pytest.mark.parametrize("notebook", RUN, indirect=True)
if CI:
    NOTEBOOKS["views_in_Notebook_7"] = "notebooks", None
everywhere = pytest.mark.parametrize("notebook", RUN + ["views_in_Notebook_7"] * CI, indirect=True)
each_theme = pytest.mark.parametrize("theme", THEMES, indirect=True)
# name: width and height of the window, whether the file browser is open
SIZES = {
    "projector at 150 %": (853, 480, False),
    "file browser": (800, 720, True),
    "200 %": (640, 650, False),  # for the extra views only
}
each_size = pytest.mark.parametrize("size", [*SIZES][:-1], indirect=True)
extra_views = pytest.mark.parametrize("notebook", ["views"], indirect=True)
# For pages, test_pages.py and test_recordings.py do it everywhere, with the same script.
in_ci = pytest.mark.skipif(not CI, reason="CI does it: a minute in JupyterLab")


@pytest.fixture(scope="module")
def notebook(browser, request):
    """Yield (page, the file of the notebook that is open in it), before any cell was run."""
    page, address, folder, errors = browser
    errors.clear()
    app, path = NOTEBOOKS[request.param]
    if path is None:
        path = folder / "notebooks" / f"{request.param}.ipynb"
        # in Notebook 7: one view with vectors, one with tables, and one with a canvas
        write(path, VIEWS if app == "lab/tree" else "---".join(VIEWS.split("---")[:4]))
    else:
        copy = folder / "notebooks" / path.name
        copy.write_text(quick(path.read_text(encoding="utf-8")), encoding="utf-8")
    page.set_viewport_size({"width": WIDE, "height": HIGH})
    open_notebook(page, address, f"notebooks/{path.name}", app=app, reload=False)
    yield page, path
    assert errors == []


@pytest.fixture(scope="module")
def views(notebook):
    """Run all cells of the notebook; return its live views."""
    page, path = notebook
    run_all(page)
    page.add_script_tag(path=LIVE)
    cells = [None, *(number for number, _ in numbered_code(path))]  # their executions count from 1
    found = json.loads(in_kernel(page, "_live_views()", IN_KERNEL))
    page.evaluate("live.useColours", next(colours for _, _, colours in found.values()))
    assert found
    extra = path.stem.startswith("views")
    return [LiveView(page, cells[int(n)], n, *said[:2], extra) for n, said in found.items()]


def numbered_code(path):
    cells = enumerate(nbformat.read(path, as_version=4).cells)
    return [(number, cell) for number, cell in cells if cell.cell_type == "code"]


# --- before a cell runs ---


@pytest.mark.parametrize("notebook", [p.stem for p in in_browsers()], indirect=True)
def test_opening_and_saving_changes_only_what_is_said_of_the_kernel_s_language(notebook, browser):
    """JupyterLab writes the version of Python there, so it marks each notebook as unsaved."""
    page, (_, _, folder, _) = notebook[0], browser
    path = folder / "notebooks" / notebook[1].name
    before = nbformat.read(path, as_version=4)
    context = "jupyterapp.shell.currentWidget.context"
    page.wait_for_function(f"{context}.model.metadata.language_info.version")
    page.evaluate(f"{context}.save()")
    after = nbformat.read(path, as_version=4)
    assert "version" in after.metadata.pop("language_info"), "it was saved"
    del before.metadata["language_info"]
    assert after == before


# --- every view ---


@everywhere
def test_every_view_is_operated_with_the_keyboard_alone_and_shows_what_python_returns(views):
    said = [view.title for view in views if view.find(".help").text_content()]
    assert len(said) < 2, "help is said once"
    for view in views:
        before = view.enter() or view.page.evaluate("live.notebook()")
        view.ask("watch")
        kinds = []
        while view.focused("tagName") and len(kinds) < 200:
            kinds.append(view.page.evaluate("live.kind()"))
            if kinds[-1] not in ("word", "head", "amount") or kinds.count(kinds[-1]) < 2:
                view.operate(kinds[-1])
            assert view.focused("tagName"), f"{view.title}: {kinds[-1]} lost the focus"
            assert view.page.evaluate("live.notebook()") == before, f"heard a key of {view.title}"
            view.press("Tab")
        view.unmoved()
        view.reset()
        assert view.page.locator(".explore-still:visible").count() == 0, "beside the live one"
        # everything that the mouse can use was reached
        wanted = (
            view.find("input:enabled, select, fieldset button").count()
            + view.find(".panel:not(:has(.sketch))").count()
        )
        uncounted = "word", "head", "scroll", "amount", "vector", "mark"
        assert len([k for k in kinds if k not in uncounted]) == wanted
        assert kinds.count("amount") + kinds.count("vector") == view.find("svg .drags").count()
        assert kinds.count("mark") == view.find(".part:has(g[tabindex]:not(.drags))").count()


@in_ci
@extra_views
def test_every_view_is_operated_with_the_mouse(views):
    for view in views:
        view.go()
        mouse = view.page.mouse
        view.ask("watch")

        def middle(part):
            box = part.bounding_box()
            return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

        for slider in view.find("input[type=range]").all()[:1]:
            box, (_, y) = slider.bounding_box(), middle(slider)
            low, high, now = map(float, slider.evaluate("e => [e.min, e.max, e.value]"))
            start = 8 + (now - low) / (high - low) * (box["width"] - 16)  # the knob is 16 wide
            mouse.move(box["x"] + start, y)
            mouse.down()
            for x, end in [(box["x"], low), (box["x"] + box["width"], high)]:
                mouse.move(x, y, steps=4)
                assert float(slider.input_value()) == end
                view.right()
            mouse.up()
        for word in view.find("th button:enabled").all()[::4]:
            word.click()
            expect(word).to_have_attribute("aria-pressed", "true")
            view.right()
        for k in range(view.find("td[aria-selected]").count()):
            switch = view.find("td[aria-selected]").nth(k)
            before = switch.get_attribute("aria-selected")
            switch.click()
            # at once, also while Python computes
            assert switch.get_attribute("aria-selected") != before
            i, j = switch.evaluate("e => [e.parentNode.rowIndex - 1, e.cellIndex - 1]")
            view.right((0, i, j))
        for drag in (mouse_drag, touch_drag):
            for k in range(min(2, view.find("svg .drags").count())):
                part = view.find("svg .drags").nth(k)
                before = part.get_attribute("data-value")
                drag(view.page, *middle(part), 14 * (k + 1), -30)
                mouse.move(0, 0)
                view.right(view.ask("pointed") if drag is touch_drag else None)
                assert part.get_attribute("data-value") != before, f"{view.title} {drag}"
        for word in view.find("svg .sets").all():
            word.click()
            expect(word).to_have_attribute("aria-pressed", "true")
            mouse.move(0, 0)
            view.right()
        for head in view.find("button.head").all()[::5]:
            head.click()
            expect(head).to_have_attribute("aria-current", "true")
            view.right()
        view.reset()
        view.unmoved()


def mouse_drag(page, x, y, right, down):
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down, steps=4)
    page.mouse.up()


@extra_views
def test_what_is_said_about_a_cell_follows_the_picture_until_the_cell_is_gone(views):
    vectors, resized = (v for v in views if v.title in ("vectors", "resized"))
    vectors.go()
    vectors.find("svg [data-cell='0,1']").last.hover()
    for key in ("Home", "End"):
        vectors.find("input[type=range]").press(key)
        vectors.right((0, 0, 1))
    resized.go()
    resized.find("input[type=range]").press("Home")
    for columns, cell in [("12", (0, 8, 11)), ("4", None)]:
        resized.find("select").select_option(columns)
        if cell:
            resized.right()
            resized.find("td").last.hover()
        resized.right(cell)


def say_an_error(view):
    """Make the one extra view that can show an error show it."""
    view.go()
    if view.title == "side by side":
        view.find("input[type=text]").fill("wrong")
        expect(view.find(".error")).to_contain_text("no such word")


@pytest.fixture
def size(views, request):
    page = views[0].page
    width, height, browser = SIZES[request.param]
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(f"jupyterapp.shell.{'expand' if browser else 'collapse'}Left()")
    yield request.param
    page.evaluate("jupyterapp.shell.collapseLeft()")
    page.set_viewport_size({"width": WIDE, "height": HIGH})


@each_size
@every_notebook
def test_nothing_is_cut_off_or_covered_and_a_projector_shows_it_at_once(views, size):
    for view in views:
        say_an_error(view)
        assert view.ask("spoiled") == [], view.title
        assert view.ask("alike") == [], view.title
        if size == "projector at 150 %" and view.title not in LARGE:
            assert view.ask("unseen") == [], view.title


@pytest.mark.parametrize("size", ["200 %"], indirect=True)
@extra_views
def test_nothing_is_cut_off_or_covered_at_200_per_cent(views, size):
    for view in views:
        say_an_error(view)
        assert view.ask("spoiled") == [], view.title


@pytest.fixture
def theme(views, request):
    page = views[0].page
    page.evaluate(
        "theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", request.param
    )
    page.wait_for_function(  # its style sheet arrives later than its name
        """(theme) => {
            const ink = getComputedStyle(document.body).getPropertyValue('--jp-ui-font-color1');
            return document.body.dataset.jpThemeName === theme
                && ink.includes('255') === theme.endsWith('Dark');
        }""",
        arg=request.param,
    )


@in_ci
@each_theme
@extra_views
def test_axe_finds_nothing(views, theme):
    for view in views:
        say_an_error(view)
        axe_finds_nothing(view.box)


@in_ci
@each_theme
@extra_views
def test_the_focus_can_be_seen(views, theme):
    """The focus changes pixels by a contrast of 3:1 or more: at least as many as a line around
    the thing would have that is a pixel and a half wide."""
    page, known = views[0].page, set()
    for view in views:
        view.enter()  # with the keyboard, whose users the ring is for
        elements = view.find("input, select, button:enabled, td, .held, svg g[tabindex]")
        kinds = elements.evaluate_all(
            """(all) => all.map((e) => [e.tagName, live.kind(e), e.ariaSelected, e.dataset.kind,
                e.closest('table')?.className, e.closest('.head')?.ariaCurrent].join(' '))"""
        )
        for kind, element in zip(kinds, elements.all(), strict=True):
            if kind in known:
                continue
            known.add(kind)
            element.focus()
            box = element.bounding_box()
            around = {"x": box["x"] - 7, "y": box["y"] - 7}
            around |= {"width": box["width"] + 14, "height": box["height"] + 14}
            with_ring = luminance(page.screenshot(clip=around))
            element.evaluate("e => e.blur()")
            without = luminance(page.screenshot(clip=around))
            element.focus()
            high, low = np.maximum(with_ring, without), np.minimum(with_ring, without)
            ring = ((high + 0.05) / (low + 0.05) >= 3).sum()
            assert ring >= 1.5 * 2 * (box["width"] + box["height"]), f"{view.title}: {kind}"


def luminance(png):
    rgb = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")) / 255
    linear = np.where(rgb <= 0.04, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@extra_views
def test_a_verdict_is_announced_with_its_numbers_in_a_table(views):
    output = scroll_to(views[0].page, views[-1].number + 1).locator(".jp-OutputArea-output")
    verdict = output.locator("[role=alert]")
    expect(verdict).to_have_count(1)
    expect(verdict).to_contain_text("✘ softmax: softmax twice.")
    expect(verdict).to_contain_text("Your function printed:")
    expect(verdict).to_contain_text("<b>seen</b> long")
    expect(verdict.locator("table caption")).to_contain_text('On the scores of "journey"')
    assert verdict.locator("tr > th[scope=row]").all_text_contents() == ["yours", "right"]
    expect(verdict.locator("td")).to_have_count(6)
    assert not output.first.evaluate("e => e.scrollWidth > e.clientWidth + 1")


# --- what a reader should predict ---

# the numbers of the cells below a cell whose outputs are hidden
CLOSED = """(picture) => [...window.jupyterapp.shell.currentWidget.content.widgets.entries()]
    .filter(([number, cell]) => number > picture && cell.outputHidden).map(([number]) => number)"""


@pytest.mark.parametrize("app", ["lab/tree", *["notebooks"] * CI])
def test_a_cell_that_runs_opens_its_answer_and_no_notice_covers_it(browser, app):
    page, address, *_ = browser
    open_notebook(page, address, "notebooks/01_dot_products.ipynb", app=app)
    cells = nbformat.read(lessons()[0], as_version=4).cells
    answer, picture = map([cell.id for cell in cells].index, ("l01-26", "l01-20"))
    scroll_to(page, answer)
    expect(page.get_by_text("[0.4576, 0.7070, 0.7154")).to_have_count(0)
    closed = page.evaluate(CLOSED, picture)
    assert len(closed) > 2
    proposed = "from the top down to here (Shift + Enter)"
    expect(scroll_to(page, picture).locator(".explore-still")).to_contain_text(proposed)
    scroll_to(page, 0)
    for _ in range(picture + 1):
        page.keyboard.press("Shift+Enter")
    code = scroll_to(page, picture).locator(".jp-InputPlaceholder")
    expect(page.locator(f'[data-windowed-list-index="{picture}"] .explore')).to_be_visible()
    assert page.evaluate(CLOSED, picture) == closed, "no answer below the picture was opened"
    expect(code).to_be_visible()
    run_all(page)
    expect(code).to_be_visible()
    expect(scroll_to(page, answer)).to_contain_text("[0.4576, 0.7070, 0.7154")
    expect(page.locator(".Toastify__toast")).to_have_count(0)
