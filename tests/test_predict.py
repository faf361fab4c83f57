"""A question before its answer: a guess is entered, saved, found again, and kept apart."""

import importlib.util
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from execute import CI
from lab import open_notebook, run_all, scroll_to, wait_for_kernel, write
from nbval.plugin import IPyNbFile
from playwright.sync_api import expect

from helpers import InputError, predict
from helpers.pictures.predict import SAVED, saved_guess, valid

AXE = Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js")
WORDS = ["journey", "<b>", "with & one"]
# choices, pick, and what is guessed with the mouse, with the keyboard, by touch
KINDS = [
    ([1, -2, 0.5], 1, ["-2"], ["0.5"], ["1"]),
    (float, 1, ["0.5"], ["-2"], ["1000"]),
    (str, 1, ["journey"], ["dd a b"], ["<b>"]),
    (WORDS, 2, ["<b>", "journey"], ["journey", "with & one"], ["with & one", "<b>"]),
]
SOURCE = 'import sys\nsys.path.insert(0, ".")\nfrom helpers import predict\n'
for choices, pick, *_ in KINDS:
    name = choices.__name__ if isinstance(choices, type) else choices
    SOURCE += f"---\npredict('Which of <these> is it?', {name}, pick={pick})\n---\nprint('so')\n"
QUESTIONS = [1, 3, 5, 7]  # the cells; all ask the same, so that only the cell tells them apart


def guess_of(path, cell):
    """Return what is saved in a cell: the guess, and its text and HTML."""
    *_, output = nbformat.read(path, as_version=4).cells[cell].outputs
    return output.metadata[SAVED]["guess"], output.data["text/plain"], output.data["text/html"]


# --- in Jupyter ---


def tap(target):
    """Tap the middle of an element, as a finger does."""
    target.scroll_into_view_if_needed()
    left, top, width, height = target.bounding_box().values()
    tools = target.page.context.new_cdp_session(target.page)
    place = {"x": left + width / 2, "y": top + height / 2}
    tools.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [place]})
    tools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    tools.detach()


def enter(question, how, texts):
    """Enter a guess with the mouse, with the keyboard, or by touch, in place of an earlier one."""
    press = {"mouse": lambda x: x.click(), "keys": lambda x: x.press("Enter"), "touch": tap}[how]
    field, keyboard = question.locator("input"), question.page.keyboard
    if field.count():
        field.focus() if how == "keys" else press(field)
        expect(field).to_be_focused()
        keyboard.press("ControlOrMeta+a")
        keyboard.type(texts[0])
        keyboard.press("Enter") if how == "keys" else press(question.get_by_role("button"))
    else:
        before = question.locator("[aria-pressed=true]").all_text_contents()
        for text in [text for text in texts if text not in before]:
            button = question.get_by_role("button", name=text, exact=True)
            press(button)
            if how == "keys":
                keyboard.type("dda")  # would delete the cell and add one
            expect(button).to_have_attribute("aria-pressed", "true")
    said = f"Your guess: {' and '.join(texts)}"
    expect(question.get_by_role("status")).to_have_text(said)


@pytest.mark.parametrize("app", ["lab/tree", *["notebooks"] * CI])
def test_a_guess_of_each_kind_is_entered_saved_and_found_again(browser, app):
    page, address, folder, errors = browser
    path = folder / f"asked in {app[:3]}.ipynb"
    write(path, SOURCE)
    ids = [cell.id for cell in nbformat.read(path, as_version=4).cells]
    command = "void window.jupyterapp.commands.execute('{}')".format

    def questions(guesses, closed):
        """Assert what all questions show; return them."""
        found = [scroll_to(page, cell).locator(".predict") for cell in QUESTIONS]
        for question, texts in zip(found, guesses, strict=True):
            said = " and ".join(texts) + closed * ". To change this, run the question's cell again."
            expect(question.get_by_role("status")).to_have_text(f"Your guess: {said}")
        return found

    def saved():
        page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        assert [cell.id for cell in nbformat.read(path, as_version=4).cells] == ids, "a key arrived"
        return [guess_of(path, cell)[0] for cell in QUESTIONS]

    open_notebook(page, address, path.name, app=app)
    run_all(page)
    found = questions([["none yet"]] * 4, closed=False)  # Run All passes over it
    assert saved() == [[]] * 4
    shutil.copy(path, folder / "before.ipynb")
    for k, how in enumerate(["mouse", "keys", "touch"], start=2):
        box = found[0].bounding_box()
        for question, kind in zip(found, KINDS, strict=True):
            enter(question, how, kind[k])
        assert saved() == [kind[k] for kind in KINDS]
        assert found[0].bounding_box()["height"] == box["height"], "it jumps"
    # of two, one can be taken back
    (*_, two), last = found, found[3].get_by_role("button", name="<b>", exact=True)
    for said in ("with & one; one more", "with & one and <b>"):
        last.click()
        expect(two.get_by_role("status")).to_have_text(f"Your guess: {said}")
    # a decimal comma is one; what is no number is refused, and nothing is lost
    number = found[1]
    for typed in ("0,9", "1/2", "90%", "abc", "inf", "1,000"):
        number.locator("input").fill(typed)
        number.get_by_role("button").click()
        no = "Write a number such as 0.5 or 1200. " * (typed != "0,9")
        expect(number.get_by_role("status")).to_have_text(f"{no}Your guess: 0.9")
        expect(number.locator("input")).to_have_value(typed if no else "0.9")
    assert saved()[1] == ["0.9"]
    # what is typed and saved at once is a vote
    number.locator("input").fill("1000")
    number.locator("input").press("ControlOrMeta+s")
    expect(number.get_by_role("status")).to_have_text("Your guess: 1000")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    assert guess_of(path, QUESTIONS[1])[0] == ["1000"]
    scroll_to(page, QUESTIONS[0]).click(position={"x": 2, "y": 2})
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        """async () => {
            document.body.style.height = '100vh'; // without a height, axe takes all for hidden
            const { violations, passes } = await axe.run('.jp-OutputArea:has(.predict)');
            return [violations.map(({ id }) => id), passes.length > 5];
        }"""
    )
    assert found == [[], True]

    # the next cell closes the question, and its own opens it again
    guesses = [kind[-1] for kind in KINDS]
    for cell, closed in ((QUESTIONS[0] + 1, True), (QUESTIONS[0], False)):
        scroll_to(page, cell)
        page.evaluate(command("notebook:run-cell"))
        status = page.locator(".predict").first.get_by_role("status")
        expect(status).to_contain_text("question's cell again" if closed else "Your guess: 1")
        expect(page.locator(".predict button").first).to_be_enabled(enabled=not closed)
    enter(page.locator(".predict").first, "mouse", ["-2"])
    guesses[0] = ["-2"]
    assert saved() == guesses

    # opened again while its kernel lives: its outputs no longer belong to this page
    open_notebook(page, address, path.name, app=app)
    questions(guesses, closed=True)
    # opened again after the kernel was restarted, and run
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    open_notebook(page, address, path.name, app=app)
    still = scroll_to(page, QUESTIONS[2]).locator(".predict-still")
    expect(still).to_contain_text("Which of <these> is it?a word Your guess: <b>")
    expect(page.locator(".predict")).to_have_count(0)
    run_all(page)
    questions(guesses, closed=True)
    assert saved() == guesses
    assert [text for text in errors if "widget model not found" not in text] == []
    # a click after a restart, while the question is open
    scroll_to(page, QUESTIONS[0])
    page.evaluate(command("notebook:run-cell"))
    first = page.locator(".predict").first
    expect(first.get_by_role("button", name="1", exact=True)).to_be_enabled()
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    wait_for_kernel(page)
    first.get_by_role("button", name="1", exact=True).click()
    gone = "No answer from Python: run the cells from the top down to here."
    expect(first.get_by_role("status")).to_have_text(gone)
    errors.remove("Cannot send")  # JupyterLab's own, of this click


def test_strict_comparison_passes_a_notebook_with_guesses(browser, request):
    """It is nbval's own, of what was saved before and after all questions were answered."""
    _, _, folder, _ = browser
    names = ("before.ipynb", "asked in lab.ipynb")
    files = [IPyNbFile.from_parent(request.session, path=folder / name) for name in names]
    files[0].setup_sanitize_files()
    before, after = ([*file.collect()] for file in files)
    assert "Your guess: <b>" in str([cell.cell.outputs for cell in after])
    for cell, guessed in zip(before, after, strict=True):
        assert cell.compare_outputs(guessed.cell.outputs, cell.cell.outputs), cell.cell.source


# --- in Python ---


def test_what_cannot_be_asked_is_refused_in_one_sentence():
    for arguments, sentence in (
        (("", [1, 2]), "question is ''; a sentence is expected."),
        ((3, [1, 2]), "question is 3; a sentence"),
        (("Which?", [1]), "choices has '1'; a list of at least two different choices, float or"),
        (("Which?", ["a", "a"]), "choices has 'a', 'a'; a list"),
        (("Which?", "ab"), "choices has 'ab'; a list"),
        (("Which?", int), "choices has \"<class 'int'>\"; a list"),
        (("Which?", [1, 2], 2), "pick is 2; a whole number from 1 to 1 is expected."),
        (("Which?", float, 2), "pick is 2; 1, for a field, is expected."),
    ):
        with pytest.raises(InputError, match=re.escape(sentence)):
            predict(*arguments)


def test_a_kernel_looks_for_a_guess_in_its_own_file_and_cell_only(tmp_path, monkeypatch):
    def notebook(name, *cells):
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / name)

    def cell(question, guess, id):
        saved = {SAVED: {"question": question, "guess": guess}}
        outputs = [nbformat.v4.new_output("display_data", metadata=saved)]
        return nbformat.v4.new_code_cell(outputs=outputs, id=id)

    notebook("one", cell("Q?", ["a"], "1"), cell("Q?", ["b"], "2"), cell("R?", ["c"], "3"))
    notebook("two", cell("Q?", ["d"], "1"))
    (tmp_path / "three").write_text('{"cells": [{"id": "1", "outputs": [{"metadata": 3}]}]}')
    for name, found in (("one", ["a"]), ("two", ["d"]), ("three", []), ("gone", [])):
        monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / name))
        assert saved_guess("1", "Q?") == found
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "one"))
    assert [saved_guess(id, "Q?") for id in ("2", "3", None)] == [["b"], [], []]
    vs_code = SimpleNamespace(user_ns={"__vsc_ipynb_file__": str(tmp_path / "one")})
    monkeypatch.setattr("helpers.pictures.predict.get_ipython", lambda: vs_code)
    assert [saved_guess("vscode:1", q) for q in ("R?", "Q?")] == [["c"], []]  # which of two?
    monkeypatch.undo()
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert saved_guess("1", "Q?") == []


def test_only_a_guess_that_can_be_made_is_kept():
    two = predict("Which two?", WORDS, pick=2)
    for guess in (["journey", "with & one"], ["Mr Smith", "<b>"], ["<b>"] * 2, WORDS, "<b>", [[]]):
        two._keep(guess)
        assert two.shown["guess"] == ["journey", "with & one"], guess
    assert repr(two).endswith("journey | <b> | with & one\nYour guess: journey and with & one")
    assert "&lt;b&gt; | with &amp; one<br>" in two._repr_mimebundle_()[0]["text/html"]
    two._keep(["with & one", "journey"])
    assert two.shown["guess"] == ["with & one", "journey"], "the oldest click first"
    number, word = predict("How much?", float).asked, predict("Which?", str).asked
    kept = {"0.50": ["0.5"], "-0": ["0"], "1e9": ["1e+09"], "nan": None, "1/2": None}
    assert {text: valid(number, [text]) for text in kept} == kept
    assert valid(word, ["a\n" * 40]) == [("a\\n" * 40)[:40]] and valid(word, [3]) is None
