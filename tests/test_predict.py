"""A question before its answer: a guess is entered, saved, found again, and kept apart."""

import json
import re
import shutil
from types import SimpleNamespace

import nbformat
import pytest
from execute import CI
from lab import open_notebook, run_all, scroll_to, wait_for_kernel, write
from nbval.plugin import IPyNbFile
from playwright.sync_api import expect
from views import axe_finds_nothing, touch_drag

from helpers import InputError, predict
from helpers.pictures.predict import SAVED, saved_guess, valid

WORDS = ["journey", "<b>", "with & one"]
# choices, pick, and what is guessed with the mouse, with the keyboard, by touch
KINDS = [
    ([1, -2, 0.5], 1, ["-2"], ["0.5"], ["1"]),
    (float, 1, ["0.5"], ["-2"], ["1000"]),
    (str, 1, ["journey"], ["dd a b"], ["<b>"]),
    (WORDS, 2, ["<b>", "journey"], ["journey", "with & one"], ["with & one", "<b>"]),
]
SOURCE = "from helpers import predict\n"
for n, (choices, pick, *_) in enumerate(KINDS):
    name = choices.__name__ if isinstance(choices, type) else choices
    SOURCE += f"---\npredict('Which of <these> is {n}?', {name}, pick={pick})\n---\nprint('so')\n"
QUESTIONS = [1, 3, 5, 7]  # the cells


def tap(target):
    """Tap the middle of an element, as a finger does."""
    target.scroll_into_view_if_needed()
    left, top, width, height = target.bounding_box().values()
    touch_drag(target.page, left + width / 2, top + height / 2)


def enter(question, how, texts):
    """Enter a guess with the mouse, with the keyboard, or by touch, in place of an earlier one."""
    press = {"mouse": lambda x: x.click(), "keys": lambda x: x.press("Enter"), "touch": tap}[how]
    field, keyboard = question.locator("input"), question.page.keyboard
    if field.count():
        field.focus() if how == "keys" else press(field)
        expect(field).to_be_focused()
        keyboard.press("ControlOrMeta+a")
        keyboard.type(texts[0])
    else:
        before = question.locator("[aria-pressed=true]").all_text_contents()
        for text in [text for text in texts if text not in before]:
            button = question.get_by_role("button", name=text, exact=True)
            press(button)
            if how == "keys":
                keyboard.type("dda")  # would delete the cell and add one
            expect(button).to_have_attribute("aria-pressed", "true")
    says(question, " and ".join(texts))


def says(question, guess):
    expect(question.get_by_role("status")).to_have_text(f"Your guess: {guess}")


@pytest.mark.parametrize("app", ["lab/tree", *["notebooks"] * CI])
def test_a_guess_of_each_kind_is_entered_saved_and_found_again(browser, app):
    page, address, folder, errors = browser
    path = folder / f"asked in {app[:3]}.ipynb"
    write(path, SOURCE)
    ids = [cell.id for cell in nbformat.read(path, as_version=4).cells]

    def questions(guesses, closed):
        """Assert what all questions show; return them."""
        found = [scroll_to(page, cell).locator(".predict") for cell in QUESTIONS]
        for question, texts in zip(found, guesses, strict=True):
            more = ". To change this, run the question's cell again." * closed
            says(question, " and ".join(texts) + more)
        return found

    def saved():
        page.keyboard.press("ControlOrMeta+s")
        page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
        cells = nbformat.read(path, as_version=4).cells
        assert [cell.id for cell in cells] == ids, "a key arrived"
        return [cells[k].outputs[-1].metadata[SAVED]["guess"] for k in QUESTIONS]

    def run(cell):
        scroll_to(page, cell)
        page.evaluate("void window.jupyterapp.commands.execute('notebook:run-cell')")

    open_notebook(page, address, path.name, app=app)
    run_all(page)
    found = questions([["none yet"]] * 4, closed=False)  # Run All passes over it
    assert saved() == [[]] * 4
    shutil.copy(path, folder / "before.ipynb")
    # a decimal comma is one, and what is no number is no guess
    for typed, guess in (("0,9", "0.9"), ("1/2", "none yet")):
        found[1].locator("input").fill(typed)
        says(found[1], guess)
    for k, how in enumerate(["mouse", "keys", "touch"], start=2):
        box = found[0].bounding_box()
        for question, kind in zip(found, KINDS, strict=True):
            enter(question, how, kind[k])
        assert saved() == [kind[k] for kind in KINDS]
        assert found[0].bounding_box()["height"] == box["height"], "it jumps"
    for question in found:
        axe_finds_nothing(question)

    # the next cell closes the question, and its own opens it again
    first = page.locator(".predict").first
    # the next key after a click runs that cell, and not the question once more
    first.get_by_role("button", name="-2", exact=True).click()
    page.keyboard.press("Shift+Enter")
    expect(first.get_by_role("button").first).to_be_enabled(enabled=False)
    run(QUESTIONS[0])
    expect(first.get_by_role("button").first).to_be_enabled()
    enter(first, "mouse", ["-2"])
    guesses = [["-2"], *(kind[-1] for kind in KINDS[1:])]
    assert saved() == guesses

    # opened again while its kernel lives: its outputs no longer belong to this page
    open_notebook(page, address, path.name, app=app)
    questions(guesses, closed=True)
    # opened again after the kernel was restarted, and run
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    open_notebook(page, address, path.name, app=app)
    still = scroll_to(page, QUESTIONS[3]).locator(".predict-still")
    expect(still).to_contain_text("is 3?journey | <b> | with & one Your guess: with & one and <b>")
    expect(page.locator(".predict")).to_have_count(0)
    run_all(page)
    questions(guesses, closed=True)
    assert saved() == guesses
    assert [text for text in errors if "widget model not found" not in text] == []
    # a click after a restart, while the question is open
    run(QUESTIONS[0])
    button = first.get_by_role("button", name="1", exact=True)
    expect(button).to_be_enabled()
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    wait_for_kernel(page)
    button.click()
    gone = "No answer from Python: run the cells from the top down to here."
    expect(first.get_by_role("status")).to_have_text(gone)
    errors.remove("Cannot send")  # JupyterLab's own, of this click


def test_strict_comparison_passes_a_notebook_with_guesses(browser, request):
    """It is nbval's own, of what was saved before and after all questions were answered."""
    _, _, folder, _ = browser
    paths = folder / "before.ipynb", folder / "asked in lab.ipynb"
    files = [IPyNbFile.from_parent(request.session, path=path) for path in paths]
    files[0].setup_sanitize_files()
    before, after = ([*file.collect()] for file in files)
    assert "Your guess: <b>" in str([cell.cell.outputs for cell in after])
    for cell, guessed in zip(before, after, strict=True):
        assert cell.compare_outputs(guessed.cell.outputs, cell.cell.outputs), cell.cell.source


def test_what_cannot_be_asked_is_refused_in_one_sentence():
    for arguments, sentence in (
        (("", [1, 2]), "question is ''; a sentence is expected."),
        (("Which?", [1]), "choices is [1]; a list of at least two different choices, float or"),
        (("Which?", ["a", "a"]), "choices is ['a', 'a']; a list"),
        (("Which?", "ab"), "choices is 'ab'; a list"),
        (("Which?", int), "choices is <class 'int'>; a list"),
        (("Which?", [1, 2], 2), "pick is 2; at least 1 and fewer than the choices is expected."),
        (("Which?", float, 2), "pick is 2; at least 1"),
    ):
        with pytest.raises(InputError, match=re.escape(sentence)):
            predict(*arguments)


def test_a_kernel_looks_for_a_guess_in_its_own_file_only(tmp_path, monkeypatch):
    asked = [{"question": q, "guess": [x]} for q, x in (("Q?", "a"), ("R?", "b"), ("R?", "c"))]
    cells = [{}, *({"outputs": [{}, {"metadata": {SAVED: one}}]} for one in asked)]
    (tmp_path / "one").write_text(json.dumps({"cells": cells}))
    (tmp_path / "two").write_text('{"cells": [{"outputs": [{"metadata": 3}]}]}')
    for name, found in (("one", ["a"]), ("two", []), ("gone", [])):
        monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / name))
        assert saved_guess("Q?") == found
    vs_code = SimpleNamespace(user_ns={"__vsc_ipynb_file__": str(tmp_path / "one")})
    monkeypatch.setattr("helpers.pictures.predict.get_ipython", lambda: vs_code)
    assert [saved_guess(q) for q in ("Q?", "R?")] == [["a"], []], "which of two?"


def test_half_a_pair_of_surrogates_is_kept_as_text():
    word = predict("Which \ud83d?", str)
    word._keep(["\ud83d"])
    assert repr(word).encode() == b"Which \\ud83d?\na word\nYour guess: \\ud83d"


def test_a_number_is_kept_in_one_form():
    number = predict("How much?", float).asked
    kept = {"0.50": ["0.5"], "-0": ["0"], "1e9": ["1e+09"], "nan": [], "1/2": []}
    assert {text: valid(number, [text]) for text in kept} == kept
