"""On a page each exercise is a puzzle of three people's answers, each with a different mistake, and
each question takes a guess."""

import html
import re

import pytest
from execute import NOTEBOOKS, lessons
from lab import chromium
from rates import WRITTEN
from test_pages import PHONE

from conftest import needed
from helpers.checks import Verdict
from helpers.checks.exercises import CHECKED, LESSON_OF
from helpers.checks.message import Message
from helpers.tools.pages import puzzle
from helpers.tools.pages.lesson import Lesson, checked_in
from helpers.tools.pages.puzzle import SHOWN, answers, as_puzzle, verdict_on

# Returns what is said of a guess, and whether the output and the text below the question are open.
GUESSED = """(k) => {
    const question = document.querySelectorAll('.predict')[k], { id } = question.closest('section');
    const isOpen = (fold) => document.querySelector(`#${id} ${fold}`).open;
    const said = question.querySelector('.said').textContent;
    return [said, isOpen('+ .code .answer'), isOpen('~ .text details')];
}"""
LINES = 12  # at most, of an answer that is shown
EACH = [pytest.param(name, id=f"{LESSON_OF[name]}-{name}") for name in CHECKED]


@pytest.mark.parametrize("folder", [SHOWN, WRITTEN], ids=["shown", "written"])
def test_every_file_of_answers_has_an_exercise(folder):
    there = {path.name.split(".")[0] for path in folder.iterdir()}
    assert there == CHECKED.keys(), f"EXERCISE.txt in {folder}, as CONTRIBUTING.md says"


def test_an_exercise_is_found_in_every_cell_that_checks_one():
    cells = [cell for path in lessons() for cell in Lesson(path).notebook.cells]
    found = [checked_in(cell) for cell in cells if checked_in(cell)]
    assert sorted(found) == sorted(CHECKED), "each exercise has one cell with check(...)"


def test_the_place_of_the_right_name_says_nothing_and_stays(monkeypatch):
    monkeypatch.setattr(puzzle, "verdict_on", lambda answer: Verdict(False, Message(""), ()))
    places = []
    for name in CHECKED:
        right = [bool(x) for x in re.findall("<li(.*?)>", as_puzzle(name))]
        places.append(right.index(True))
    assert min(map(places.count, range(3))) > len(CHECKED) / 5
    assert as_puzzle("softmax") == as_puzzle("softmax")


@pytest.mark.parametrize("name", EACH)
def test_a_page_has_three_short_answers_and_each_gets_the_name_that_it_says(name):
    shown = [*answers(name)]
    three = len({answer.names for answer in shown}) == len(shown) == 3
    assert three, f"{SHOWN / name}.txt needs three answers, each with another name"
    for answer in shown:
        assert len(answer.code.strip().splitlines()) <= LINES
        verdict = verdict_on(answer)
        assert (verdict.passed, verdict.mistakes) == (answer.right, answer.names)
        assert answer.right is False


def words(markup):
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).split()


def test_an_exercise_is_a_puzzle_of_three_answers_with_what_the_check_says(pages):
    text = (pages / "02_softmax.html").read_text(encoding="utf-8")
    assert 'role="alert"' not in text
    cells = Lesson(NOTEBOOKS / "02_softmax.ipynb").notebook.cells
    checks = [cell for cell in cells if checked_in(cell)]
    assert checks
    for cell in checks:
        section = re.search(f'<section class="code" id="{cell.id}">.*?</section>', text, re.S)[0]
        puzzle = section.split('<div class="puzzle">')[1]
        three = [*answers(checked_in(cell))]
        for part, answer in zip(puzzle.split("Someone wrote:")[1:], three, strict=True):
            code, said = part.split("</pre></div>", 1)
            assert words(code) == answer.code.split()
            said = re.sub("<ul.*?</ul>|<summary>.*?</summary>", "", said, flags=re.S)
            assert words(said) == verdict_on(answer).message.split()
        names = re.findall("<li(.*?)>(.*?)</li>", puzzle)
        assert sorted(name for _, name in names) == sorted(answer.names[0] for answer in three)
        assert [name for right, name in names if right] == [three[0].names[0]]


def guess_all(page, press, enter):
    """Guess at each question of a page with the keyboard; assert that this unfolds its answer."""
    fields = page.evaluate(
        "[...document.querySelectorAll('.predict')].map((one) => !!one.querySelector('input'))"
    )
    assert {*fields} == {True, False}, "buttons and a field"
    for k, is_field in enumerate(fields):
        assert page.evaluate(GUESSED, k) == ["Your guess: none yet", False, False]
        first = f"document.querySelectorAll('.predict')[{k}].querySelector('input, button')"
        text = page.evaluate(f"{first}.focus(), {first}.textContent") or "5"
        if is_field:
            press("5")
            assert page.evaluate(GUESSED, k) == ["Your guess: 5", False, False], "more may come"
        press(enter)
        assert page.evaluate(GUESSED, k) == [f"Your guess: {text}", True, True]


def test_a_guess_unfolds_the_answer_below_it(pages, tmp_path):
    with chromium(tmp_path, *PHONE) as page:
        needed(page)
        page.goto((pages / "02_softmax.html").as_uri())
        guess_all(page, page.keyboard.press, "Enter")
