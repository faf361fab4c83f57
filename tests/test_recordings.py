"""The recordings of the pages: what a page shows in a recorded state is what Python computes.

This process runs the cells of each lesson too, without any recording, and asks its live views for
a sample of their states; the page has to show the same.
"""

import contextlib
import itertools
import json
import random
from unittest.mock import patch

import nbformat
import numpy as np
import pytest
import torch
from execute import CI, METADATA, THREE, in_browsers
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import expect
from replay import as_in_a_new_kernel, code_cells, quick, shown_by
from views import LIVE, expected, touch_drag

from helpers import explore
from helpers.tools.pages import __main__ as command
from helpers.tools.pages import lesson as lesson_of
from helpers.tools.pages import record

SMALL = 12  # with up to so many states, all are tried
SAMPLE = 8  # so many of the others, with their corners
ODD_NAME = "99_odd"
ODD = """
import sys
sys.path.insert(0, "..")
import numpy as np
import torch
from helpers import Arcs, Blend, View, explore
---
def hidden(rows=2, step=0, size=0.3, word='</script> "a"', on=False):
    print("rows", rows, "<b>")
    if size > 0.75:
        raise ValueError(f"{size} is too much")
    i, j = np.indices((rows, 3))
    matrix = np.sin(i + j + size) - (j == 1)
    matrix[0] = [-0.0, np.nan, np.inf]
    explain = lambda i, j: f"{size:.2f} of {size:.1f} in {rows}, -0.30"
    show = dict(explain=explain, row_sums=on)
    return View(matrix, keys=list(word)[:3], caption=f"{word} {size} step {step}", **show)

explore(hidden, rows=(1, 4), step=(0, 4), size=(-0.3, 0.9, 0.2), word='</script> "a"', on=False)
---
def small_heads(seen, head=1, dice=0):
    draw = torch.arange(24.0).view(4, 2, 3) / 9
    draw = torch.where(seen, draw + dice, torch.nan)
    return View(draw[head - 1], heads=draw, head=head - 1, marked={"hidden": ~seen})

explore(small_heads, seen=[[True] * 3, [True, False, True]], head=(1, 4), dice=(0, 3))
---
def entries(**values):
    return View([[x for x in values.values() if x != "one"]], [""])

explore(entries, only=["one"], **{f"x{k}": (-1.0, 1.0) for k in range(8)})
---
def plane(points, names=True):
    show = dict(drags={"values": "points"}, window={"values": 2}, caption="a blend")
    return Blend([0.5, 0.5], ["a", "b"] if names else None, values=points, **show)

explore(plane, points=np.array([[0.5, 1.0], [-1.013, 0.0]]), names=True)
---
def story(query=29):
    return Arcs([1 / 30] * 30, [f"word{k}" for k in range(30)], query=query)

explore(story, query=(0, 29))
---
print("she flies the kite in the park. " * 9)
"""


def notebook_of(text, path):
    cells = [new_markdown_cell("# 99. Odd")]
    cells += [new_code_cell(part.strip()) for part in text.split("---")]
    nbformat.write(new_notebook(cells=cells, metadata=METADATA), path)
    return path


def make(folder):
    """Make the pages of the lessons and return their folder; folders next to it have the notebooks
    that they are made of and, in "odd", the page of odd views."""
    notebooks = folder / "helpers" / "notebooks"
    notebooks.mkdir(parents=True)
    for name in ("helpers", "data"):
        (folder / "helpers" / name).symlink_to(lesson_of.HERE.parents[2] / name)
    for path in in_browsers():
        copy = notebooks / path.name
        copy.write_text(quick(path.read_text(encoding="utf-8")), encoding="utf-8")
    paths = sorted(notebooks.glob("*.ipynb"))
    odd = notebook_of(ODD, notebooks / f"{ODD_NAME}.ipynb")
    cells = nbformat.read(odd, as_version=4)
    cells.cells[2].metadata["tags"] = ["record: more", 'record: </script> "a"', 'record: "quoted"']
    nbformat.write(cells, odd)
    assert command.main([str(folder / "odd"), str(odd)]) == 0
    assert command.main([str(folder / "pages"), *map(str, paths)]) == 0
    return folder / "pages"


def recorders(path):
    """Yield a recorder for each live view of a notebook, whose cells run here; record nothing."""
    as_in_a_new_kernel()
    namespace = {"__name__": "__main__"}
    texts = lesson_of.texts_of(nbformat.read(path, as_version=4))
    for cell in code_cells(path):
        value, _ = shown_by(cell.source, namespace)
        if hasattr(value, "compute"):
            yield record.Recorder(value, texts, record._dice())


def sample(recorder):
    """Return some of a recorder's states."""
    states = recorder.states()
    if len(states) <= SMALL:
        return states
    return [states[0], states[-1], recorder.start, *random.Random(1).sample(states, SAMPLE)]


def truth(recorder, state):
    """Return (values of the controls on the page, picture, {cell: how it came about})."""
    asked, widget = recorder.asked(state), recorder.widget
    widget.compute({control["name"]: control["value"] for control in widget.controls})
    picture = json.loads(json.dumps(widget.compute(asked), default=list))
    values = {name: every[k] for (name, every), k in zip(recorder.full.items(), state, strict=True)}
    # the page shows a choice instead of a text box
    picture["values"] |= {name: x for name, x in values.items() if x != asked[name]}
    why = {}
    for k, panel in enumerate(picture["panels"]):
        n, m = panel["size"] if panel["cells"] and panel["explains"] else (0, 0)
        for cell in itertools.product([k], range(n), range(m)):
            why[cell] = widget.explanation(cell)[1]
    return values, picture, why


def open_page(page, path):
    page.set_viewport_size({"width": 1280, "height": 2000})
    page.goto(path.as_uri())
    page.wait_for_function(
        "() => [...document.querySelectorAll('.live')].every((box) => box.recording)"
    )
    page.add_script_tag(path=LIVE)
    page.add_script_tag(content=SCRIPT)


SCRIPT = """
live.boxes = [...document.querySelectorAll('.live')];
// what a view shows in a state, asked as explore.js asks; and how its cells are explained
live.walk = ([n, changes, figures, cells]) => {
    const box = live.boxes[n], model = box.recording, view = box.querySelector('.explore');
    model.answer({ changes, turn: '' });
    const shown = live.shown(view);
    shown.told = view.querySelector('.instead')?.textContent ?? '';
    const wrong = figures ? live.miscoloured(view, figures) : [];
    const texts = cells.map((cell) => model.explanation(cell).text);
    return [shown, wrong.some(Boolean) ? wrong : null, texts];
};
"""


def test_every_view_shows_in_each_recorded_state_what_python_computes(pages, page):
    made = pages.parent.glob("helpers/notebooks/*.ipynb")
    kinds = *THREE, ODD_NAME[:2]  # with every kind of control
    for path in (path for path in made if path.name[:2] in kinds):
        open_page(page, page_of(pages, path.stem))
        for n, recorder in enumerate(recorders(path)):
            page.evaluate("live.useColours", recorder.widget.palette[0])
            for state in sample(recorder):
                values, picture, why = truth(recorder, state)
                right = expected(recorder.controls, picture, "", None)
                ask = [n, values, right.pop("figures", None), list(why)]
                now, wrong, texts = page.evaluate("live.walk", ask)
                where = f"{path.stem} {recorder.title} {values}"
                assert now["told"] == "", where
                if right["error"]:  # the last picture stays; in a kernel the line is added
                    assert now["error"].startswith(right["error"]), where
                    continue
                assert {key: now[key] for key in right} == right, where
                assert wrong is None, f"{where}: colours {wrong}"
                assert texts == [*why.values()], where
        assert page.locator(".live").count() == n + 1, path.stem


def page_of(folder, name):
    return (folder.with_name("odd") if name == ODD_NAME else folder) / f"{name}.html"


def open_odd(pages, page):
    open_page(page, page_of(pages, ODD_NAME))
    return page.locator(".live").all()


def in_box(box, name):
    return box.get_by_label(name, exact=True)


def shown_in(box):
    caption, told = box.locator(".caption"), box.locator(".instead")
    return caption.text_content(), told.text_content() if told.count() else ""


def test_the_real_controls_go_to_what_is_recorded_and_say_so(pages, page):
    hidden, heads, entries, plane, story = open_odd(pages, page)
    # the page shows an error of the function, and the last picture stays
    size = in_box(hidden, "size")
    size.focus()
    before = hidden.locator("td").all_text_contents()
    page.keyboard.press("End")
    assert "0.9 is too much" in hidden.locator(".error").text_content()
    assert "0.9" not in shown_in(hidden)[0] and size.input_value() == "0.9"
    assert hidden.locator("td").all_text_contents() == before
    hidden.get_by_role("button", name="reset").click()
    assert hidden.locator(".error").text_content() == ""
    # play runs to the end
    hidden.get_by_role("button", name="play").click()
    expect(hidden.locator(".caption")).to_contain_text("step 4")
    # a text box becomes a choice among the texts that were recorded
    in_box(hidden, "word").select_option('"quoted"')
    assert shown_in(hidden)[0].startswith('"quoted"')
    # switches are changed one row at a time
    heads.locator("td").nth(0).click()
    assert shown_in(heads)[1] == ""
    heads.locator("td").nth(4).click()
    assert heads.locator("td[aria-selected=false]").count() == 0
    back = "This combination is not recorded: all but the last change is back at the start."
    assert shown_in(heads)[1] == back
    # controls are changed one at a time where there are too many
    for name in ("x0", "x1"):
        in_box(entries, name).focus()
        page.keyboard.press("End")
    assert [in_box(entries, x).input_value() for x in ("x0", "x1")] == ["0", "1"]
    assert shown_in(entries)[1] == back
    # a point goes to the nearest place on the grid, with keys at least to the next
    point = plane.locator("svg .drags").nth(1)
    point.focus()
    label = point.get_attribute("aria-label")
    page.keyboard.press("ArrowRight")
    assert point.get_attribute("aria-label") != label
    assert shown_in(plane)[1] == ""
    # a point follows a finger, and what is clicked is chosen
    point.scroll_into_view_if_needed()
    before, box = point.get_attribute("data-value"), point.bounding_box()
    touch_drag(page, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 20, -45)
    assert point.get_attribute("data-value") != before
    for chosen, state in (
        (heads.locator("button.head").nth(3), "aria-current"),
        (story.locator("svg .sets").nth(3), "aria-pressed"),
    ):
        chosen.click()
        expect(chosen).to_have_attribute(state, "true")
    # nothing of this disturbed the first view
    assert shown_in(hidden)[0].startswith('"quoted"')


@pytest.mark.skipif(not CI, reason="CI does it: the pages of three more lessons")
def test_the_targets_of_views_that_are_sampled_can_be_reached(pages, page):
    open_page(page, pages / "04_queries_keys_values.html")
    box = page.locator(".live").nth(1)
    key, plane = box.locator("svg .drags"), box.locator("svg").first
    key.scroll_into_view_if_needed()
    for (x, y), wins in [((0, 1.6), "6 of 6"), ((-0.6, -0.6), ""), ((-0.6, 1.6), "5 of 6")]:
        at, head = plane.bounding_box(), key.bounding_box()
        page.mouse.move(head["x"] + head["width"] / 2, head["y"] + head["height"] / 2)
        page.mouse.down()
        pixel = at["width"] / 218
        to = [30 + (x + 0.7) / 2.3 * 180, 200 - (y + 0.7) / 2.3 * 180]
        page.mouse.move(at["x"] + to[0] * pixel, at["y"] + to[1] * pixel, steps=5)
        page.mouse.up()
        assert key.get_attribute("data-value") == f"{x:g},{y:g}"
        assert wins in box.locator(".caption").text_content()
        # with a different query, the key stays where it is
        in_box(box, "query").select_option("step")
        in_box(box, "query").select_option("one")
        assert key.get_attribute("data-value") == f"{x:g},{y:g}"
    # if only one of two controls can be moved at a time, the page says so
    first = page.locator(".live").first
    assert first.get_by_text("you can change one thing at a time").count() == 1


@pytest.fixture(scope="module")
def kernel():
    with command.run_kernel() as one:
        with patch.object(command, "run_kernel", lambda **_: contextlib.nullcontext(one)):
            yield


CANNOT = {
    "explore(lambda text='a': [[len(text)]], text='a')": "'record: another text'",
    "explore(lambda n: np.eye(n), n=(10, 20))": "show at most 16",
    "explore(lambda n=1: 1 / (n - 1), n=(1, 3))": "starts with an error: ZeroDivisionError",
    "1 / 0": "does not run to its end",
}


@pytest.mark.parametrize("code", CANNOT)
def test_what_cannot_be_recorded_ends_the_command_and_is_said(code, kernel, tmp_path, capsys):
    """The pages that exist stay as they are."""
    path = notebook_of(
        f"import numpy as np\nfrom helpers import explore\n---\n{code}", tmp_path / "1.ipynb"
    )
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "index.html").write_text("as it was")
    assert command.main([str(pages), str(path)]) == 1
    said = capsys.readouterr().err
    assert CANNOT[code] in said and "\x1b" not in said
    assert [(one.name, one.read_text()) for one in pages.iterdir()] == [("index.html", "as it was")]


def test_a_page_made_alone_leaves_the_others_and_links_to_them(tmp_path, kernel, capsys):
    paths = [notebook_of("import math", tmp_path / f"{k}.ipynb") for k in range(1, 4)]
    pages = tmp_path / "pages"
    assert command.main([str(pages), *map(str, paths)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [f"{k} of 3: 99. Odd" for k in range(1, 4)]
    before = {path.name: path.read_bytes() for path in pages.iterdir() if path.is_file()}
    notebook_of("import cmath", paths[1])
    assert command.main([str(pages), str(paths[1])]) == 0
    now = {path.name: path.read_bytes() for path in pages.iterdir() if path.is_file()}
    assert [name for name in now if now[name] != before[name]] == ["2.html"]
    text = now["2.html"].decode()
    assert text.count('rel="prev" href="1.html"') == text.count('rel="next" href="3.html"') == 2


def test_a_recorded_widget_and_what_draws_numbers_are_as_they_were():
    def dice():
        return torch.rand(1).item(), random.random(), np.random.rand()

    widget = explore(lambda n=2: [[n, *dice()]], n=(1, 9))
    before, held = repr(widget), record._dice()
    assert len(record.record(widget)["pictures"]) == 9
    drawn = dice()
    record._put(held)
    assert dice() == drawn and repr(widget) == before
    assert widget.compute({})["values"] == {"n": 2}
