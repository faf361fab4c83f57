"""On a page each exercise shows what the check says to three answers: people's own, each with
another mistake, and the verdicts are those of the check, word by word."""

import html
import re
from pathlib import Path

import pytest

from helpers.checks import check
from helpers.checks.exercises import CHECKED, LESSON_OF
from helpers.checks.verdict import forget
from helpers.pages.exercises import LINES, WRITTEN, as_fold, three
from helpers.pages.lesson import Lesson, checked_in

LESSONS = sorted((Path(__file__).parent.parent / "notebooks").glob("[0-9]*.ipynb"))
EACH = [pytest.param(name, id=f"{LESSON_OF[name]}-{name}") for name in CHECKED]


def words(markup):
    """As a reader sees them."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).split()


def test_every_file_of_answers_has_an_exercise():
    assert {path.name.split(".")[0] for path in WRITTEN.iterdir()} == CHECKED.keys()


def test_an_exercise_is_found_in_every_cell_that_checks_one():
    cells = [cell for path in LESSONS for cell in Lesson(path).notebook.cells]
    found = [checked_in(cell) for cell in cells if checked_in(cell)]
    assert sorted(found) == sorted(CHECKED)


@pytest.mark.parametrize("name", EACH)
def test_three_answers_get_three_verdicts_as_the_check_gives_them_now(name):
    found = three(name)
    assert len({answer.names for answer in found}) == len(found) == 3
    _, *parts = re.split(r"<h4>Answer \d</h4>", as_fold(name))
    for part, answer in zip(parts, found, strict=True):
        assert answer.right is False
        assert len(answer.code.strip().splitlines()) <= LINES
        forget()
        verdict = check(name, answer.run())
        assert (verdict.passed, verdict.mistakes) == (False, answer.names)
        code, said = part.split("</pre></div>", 1)
        assert words(code) == answer.code.split()
        assert words(said) == verdict.message.split()


def test_the_answers_stand_below_their_check(tmp_path):
    lesson = Lesson(LESSONS[1])
    title, *cells = lesson.notebook.cells
    imports = next(cell for cell in cells if cell.cell_type == "code")
    checks = [cell for cell in cells if checked_in(cell)]
    lesson.notebook.cells = [title, imports, *checks]
    lesson.run()
    lesson.write(tmp_path)
    page = (tmp_path / f"{lesson.name}.html").read_text(encoding="utf-8")
    assert 'role="alert"' not in page
    for cell in checks:
        section = re.search(f'<section class="code" id="{cell.id}">.*?</section>', page, re.S)[0]
        before, fold = section.split('<details class="told">')
        fold, after = fold.split("</details>")
        assert "check(" in " ".join(words(before)) and not words(after)
        assert words(fold) == words(as_fold(checked_in(cell)))
