"""A page that is presented: one idea a screen, answers on demand, nothing lost. The keys are those
that a clicker sends."""

import pytest
from lab import chromium
from playwright.sync_api import expect

from conftest import needed

LAST = 200  # presses, more than any lesson needs


@pytest.fixture(scope="module")
def lesson(tmp_path_factory, pages):
    """Yield (page, address of lesson 2)."""
    with chromium(tmp_path_factory.mktemp("browser"), 1280, 720) as page:
        needed(page)
        yield page, (pages / "02_softmax.html").as_uri()


def open_at(lesson, place=""):
    page, address = lesson
    page.goto("about:blank")  # or the next call would only move within the page
    page.goto(address + place)
    page.locator(".live.plays").last.wait_for(state="attached")
    return page


def number(page):
    return page.locator(".steps [role=status]").inner_text()


def go_on_to(node):
    for _ in range(LAST):
        if node.is_visible():
            return
        node.page.keyboard.press("PageDown")
    pytest.fail("it is in no step")


def shown(page):
    """Return for each block that can be seen its place among all blocks, its cell and its class."""
    return page.evaluate(
        """() => [...document.querySelectorAll("main > section > *")]
            .map((node, k) => [node, k])
            .filter(([node]) => node.checkVisibility({ visibilityProperty: true }))
            .map(([node, k]) => [k, node.parentElement.id, node.className])"""
    )


SMALL = """() => [...document.querySelectorAll("main :not(script, .dense *)")]
    .filter((node) => node.checkVisibility()
        && [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim())
        && parseFloat(getComputedStyle(node).fontSize) * (node.getScreenCTM?.().a ?? 1)
            < (node.closest("pre, code, .explore, .live") ? 18 : 24))
    .map((node) => node.outerHTML)"""
# Returns the pixels above, in and below what a step shows.
ROOM = """() => {
    const nodes = [...document.querySelectorAll("main > section > *")];
    const shown = nodes.filter((x) => x.checkVisibility()).map((x) => x.getBoundingClientRect());
    const top = Math.min(...shown.map((x) => x.top));
    const bottom = Math.max(...shown.map((x) => x.bottom));
    const room = innerHeight - document.querySelector(".steps").offsetHeight;
    return [top, bottom - top, room - bottom];
}"""


def test_every_part_of_the_lesson_is_in_one_step_large_and_in_the_middle_of_a_full_screen(lesson):
    page = open_at(lesson)
    page.keyboard.press("p")
    there, back, rooms = {}, {}, {}  # step: its parts {place: (cell, class)}
    for key, steps in (("PageDown", there), ("PageUp", back)):
        for _ in range(LAST):
            before = number(page), page.evaluate("scrollY"), shown(page)
            parts = {k: (cell, kind) for k, cell, kind in before[-1]}
            steps.setdefault(before[0], {}).update(parts)
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
            assert not page.evaluate(SMALL)
            rooms.setdefault(before[0], page.evaluate(ROOM))
            page.keyboard.press(key)
            if (number(page), page.evaluate("scrollY"), shown(page)) == before:
                break
    assert there == back and [*there] == [*back][::-1]
    assert [*there] == [f"Step {k + 1} of {len(there)}" for k in range(len(there))]
    assert all(abs(above - below) < 24 for above, _, below in rooms.values() if below > 0)
    half = [step for step, (above, high, below) in rooms.items() if high < above + below]
    assert len(half) <= len(rooms) / 10, half
    parts = [part for step in there.values() for part in step.items()]
    of_cells = [
        k for k, (_, kind) in parts if kind in ("source", "printed", "output", "fold answer")
    ]
    assert len(of_cells) == len(set(of_cells)) > 25
    classes = page.eval_on_selector_all(
        "main > section > *", "(all) => all.map((x) => x.className)"
    )
    missing = {kind for k, kind in enumerate(classes) if k not in dict(parts)}
    assert missing == {"fold source"}  # the folded source of the set-up, of views and of pictures
    for step in there.values():  # no code comes without words before it
        assert next(iter(step.values()))[1] == ""


def test_a_sentence_is_not_cut(lesson, pages):
    text = (pages / "02_softmax.html").read_text(encoding="utf-8")
    whole = "</em> sum to 6.5617."
    assert text.count(whole) == 1
    for end, together in ((".", False), (", because", True)):
        body = text.replace(whole, f"</em> sum to {'so ' * 400} much{end}")

        def answer(route, _, body=body):
            route.fulfill(body=body, content_type="text/html")

        lesson[0].route("**/02_softmax.html", answer)
        page = open_at(lesson)
        first, second = page.locator("#l02-04 > p").all()[:2]
        page.keyboard.press("p")
        go_on_to(second)
        assert first.is_visible() == together
        page.unroute("**/02_softmax.html")


def test_an_answer_waits_until_it_is_asked_for(lesson):
    page = open_at(lesson)
    page.keyboard.press("p")
    question, output = page.locator("#l02-06 > p"), page.locator("#l02-07 .printed")
    answer = page.locator("#l02-08 > details")
    go_on_to(question)
    step = number(page)
    expect(page.locator("#l02-07 > .source")).to_be_visible()
    expect(output).to_be_hidden()
    expect(answer).to_be_hidden()
    page.keyboard.press("PageDown")
    assert number(page) == step
    expect(output).to_be_visible()
    expect(answer).not_to_have_attribute("open", "")
    page.keyboard.press("Enter")
    expect(answer).to_have_attribute("open", "")
    page.keyboard.press("PageDown")
    assert number(page) != step
    page.keyboard.press("PageUp")
    expect(answer).not_to_have_attribute("open", "")


def test_a_view_answers_and_arrows_in_it_are_its_own(lesson):
    page = open_at(lesson)
    view, target = page.locator("#l02-27 .explore"), page.locator("#l02-26 > p").last
    view.evaluate("(node) => { window.view = node; }")
    page.keyboard.press("p")
    go_on_to(view)
    for node in (target, view.locator("tbody tr").last):
        expect(node).to_be_in_viewport(ratio=1)
    step, slider = number(page), view.locator("input[type=range]")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    expect(view.locator("output")).to_have_text("0.05")
    expect(view.locator(".caption")).to_contain_text("1.000")
    assert number(page) == step
    page.keyboard.press("PageDown")  # from a clicker, wherever the focus is
    assert number(page) != step
    page.keyboard.press("ArrowLeft")
    assert number(page) == step
    page.keyboard.press("Escape")
    expect(view.locator("output")).to_have_text("0.05")
    assert page.evaluate("window.view.isConnected")
    expect(view).to_be_in_viewport()


def test_it_leaves_where_it_was_and_a_reload_stays(lesson):
    page = open_at(lesson)
    fold = page.locator("#l02-08 > details")
    fold.locator("summary").click()
    page.evaluate("scrollTo(0, 1234)")
    page.keyboard.press("p")
    page.keyboard.press("Escape")
    assert page.evaluate("scrollY") == 1234
    expect(fold).to_have_attribute("open", "")
    button = page.get_by_role("button", name="Present (p)")
    button.focus()
    page.keyboard.press("Enter")
    for _ in range(6):  # a step that is higher than the screen is scrolled first
        if not number(page).startswith("Step 4 of"):
            page.get_by_role("button", name="Next").click()
    assert number(page).startswith("Step 4 of") and page.url.endswith("#present-4")
    page.reload()
    assert number(page).startswith("Step 4 of")
    expect(page.locator("#l02-04 > h2")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("#l02-04 > h2")).to_be_in_viewport()
    expect(page.locator("main > section").last).to_be_visible()
    page.emulate_media(media="print")
    paper = page.locator("main").bounding_box()
    page.evaluate("location.hash = 'present-4'")
    expect(page.locator("html")).to_have_class("presenting")
    assert page.locator("main").bounding_box()["height"] == paper["height"]
    page.emulate_media(media="screen")


def test_what_is_typed_elsewhere_does_nothing(lesson):
    page = open_at(lesson)
    for keys in ("Control+p", "Alt+p", "Meta+p"):
        page.keyboard.press(keys)
    page.evaluate("document.querySelector('main').prepend(document.createElement('input'))")
    page.locator("main > input").press("p")
    assert page.locator(".presenting").count() == 0
    page.locator("main > input").blur()
    page.keyboard.press("p")
    assert number(page).startswith("Step 1 of")
    for keys in ("Control+PageDown", "Meta+ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(keys)
    assert number(page).startswith("Step 1 of")
