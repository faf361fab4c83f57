"""The live views of three lessons, and a few that no lesson has yet, in JupyterLab."""

import json
from pathlib import Path

import nbformat
import pytest
from execute import CI, in_browsers, lessons
from lab import in_kernel, open_notebook, run_all, run_by_hand, scroll_to, write
from playwright.sync_api import expect
from replay import quick
from views import IN_KERNEL, LIVE, LiveView, axe_finds_nothing

LARGE = "large", "resized", "sixteen", "heads by hand"  # extra views that need not fit a projector
THEMES = "JupyterLab Dark", "JupyterLab Light"
ALIKE = "word", "head", "amount", "slider"  # kinds of which one a view is operated
HIGH = 1300
WIDE = 1280

# Cells that together have every kind of control and of picture.
VIEWS = Path(__file__).with_name("extra_views.txt").read_text(encoding="utf-8")

LESSONS = {path.stem: path for path in in_browsers()}
# Only these are run: with the extra views, their controls are those of the other lessons, too,
# whose pictures test_pages.py looks at.
RUN = ["views", *(name for name in LESSONS if name[:2] in ("02", "06"))]
every_notebook = pytest.mark.parametrize("notebook", RUN, indirect=True)
# name: width and height of the window, whether the file browser is open
SIZES = {
    "projector at 150 %": (853, 480, False),
    "file browser": (800, 720, True),
    "200 %": (640, 650, False),  # for the extra views only
    "phone": (390, 844, False),
}
extra_views = pytest.mark.parametrize("notebook", ["views"], indirect=True)


@pytest.fixture(scope="module")
def notebook(browser, request):
    """Yield (page, the file of the notebook that is open in it), before any cell was run."""
    page, address, folder, errors = browser
    errors.clear()
    path = folder / "notebooks" / f"{request.param}.ipynb"
    if request.param == "views":
        write(path, VIEWS)
    else:
        lesson = LESSONS[request.param].read_text(encoding="utf-8")
        path.write_text(quick(lesson), encoding="utf-8")
    page.set_viewport_size({"width": WIDE, "height": HIGH})
    open_notebook(page, address, f"notebooks/{path.name}", reload=False)
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
    extra = path.stem == "views"
    return [LiveView(page, cells[int(n)], n, *said[:2], extra) for n, said in found.items()]


def numbered_code(path):
    cells = enumerate(nbformat.read(path, as_version=4).cells)
    return [(number, cell) for number, cell in cells if cell.cell_type == "code"]


# --- before a cell runs ---


@pytest.mark.parametrize("notebook", RUN[1:], indirect=True)
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


@every_notebook
def test_every_view_is_operated_with_the_keyboard_alone_and_shows_what_python_returns(views):
    said = [view.title for view in views if view.find(".help").text_content()]
    assert len(said) < 2, "help is said once"
    for view in views:
        before = view.enter() or view.page.evaluate("live.notebook()")
        view.ask("watch")
        kinds = []
        while view.focused("tagName") and len(kinds) < 200:
            kinds.append(view.page.evaluate("live.kind()"))
            if kinds[-1] not in ALIKE or kinds.count(kinds[-1]) == 1:
                view.operate(kinds[-1])
            assert view.focused("tagName"), f"{view.title}: {kinds[-1]} lost the focus"
            assert view.page.evaluate("live.ring()"), f"{view.title}: {kinds[-1]} has no ring"
            assert view.page.evaluate("live.notebook()") == before, f"heard a key of {view.title}"
            view.press("Tab")
        view.unmoved()
        view.reset()
        assert view.page.locator(".explore-still:visible").count() == 0, "beside the live one"
        # everything that the mouse can use was reached
        wanted = (
            view.find("input:enabled, textarea, select, fieldset button").count()
            + view.find(".panel:not(:has(.sketch))").count()
        )
        uncounted = "word", "head", "scroll", "amount", "vector", "mark"
        assert len([k for k in kinds if k not in uncounted]) == wanted
        assert kinds.count("amount") + kinds.count("vector") == view.find("svg .drags").count()
        assert kinds.count("mark") == view.find(".part:has(g[tabindex]:not(.drags))").count()


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
        view.find("textarea").fill("wrong " * 12)  # longer than its field on a phone
        expect(view.find(".error")).to_contain_text("no such word")


@every_notebook
def test_nothing_is_cut_off_or_covered_and_a_projector_shows_it_at_once(views):
    page = views[0].page
    for size, (width, height, files) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(f"jupyterapp.shell.{'expand' if files else 'collapse'}Left()")
        for view in views:
            say_an_error(view)
            if size != "200 %":
                assert view.ask("alike") == [], view.title
            elif not view.extra:
                continue
            assert view.ask("spoiled") == [], (view.title, size)
            if size == "projector at 150 %" and view.title not in LARGE:
                assert view.ask("unseen") == [], view.title
    page.set_viewport_size({"width": WIDE, "height": HIGH})


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
    return request.param


@pytest.mark.skipif(not CI, reason="CI does it: half a minute")
@pytest.mark.parametrize("theme", THEMES, indirect=True)
@extra_views
def test_axe_finds_nothing(views, theme):
    for view in views:
        say_an_error(view)
        axe_finds_nothing(view.box, only_colours="Dark" in theme)  # all else is the same


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
    assert len(closed) > 1
    proposed = "from the top down to here (Shift + Enter)"
    expect(scroll_to(page, picture).locator(".explore-still")).to_contain_text(proposed)
    run_by_hand(page, 0, picture)
    code = scroll_to(page, picture).locator(".jp-InputPlaceholder")
    live = page.locator(f'[data-windowed-list-index="{picture}"] .explore')
    expect(live).to_be_visible(timeout=120_000)  # all cells above run first
    assert page.evaluate(CLOSED, picture) == closed, "no answer below the picture was opened"
    expect(code).to_be_visible()
    live.locator("fieldset").get_by_role("button").first.focus()
    page.keyboard.type("dda")  # would delete a cell and add one
    run_by_hand(page, picture + 1, answer)
    expect(scroll_to(page, answer)).to_contain_text("[0.4576, 0.7070, 0.7154", timeout=120_000)
    expect(code).to_be_visible()
    expect(page.locator(".Toastify__toast")).to_have_count(0)
    model = "window.jupyterapp.shell.currentWidget.content.model"
    now = page.evaluate(f"[...{model}.cells].map((cell) => cell.id)")
    assert now == [cell.id for cell in cells], "a key arrived"
