"""On a page each exercise is a puzzle of three people's answers, each with a different mistake.
That the page has them, with what the check says, is tested in test_pages.py."""

import re

import pytest
from execute import lessons
from rates import WRITTEN

from helpers.checks.exercises import CHECKED, LESSON_OF
from helpers.tools.pages.exercises import SHOWN, answers, as_puzzle, verdict_on
from helpers.tools.pages.lesson import Lesson, checked_in

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


def test_the_place_of_the_right_name_says_nothing_and_stays():
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
