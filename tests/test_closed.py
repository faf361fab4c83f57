"""No answer that a reader should predict is in sight before its cell has run, and code that only
loads or draws is folded away. What pages fold is in test_pages.py, what JupyterLab
does in test_live.py."""

import re

import nbformat
import pytest
from execute import clean, lessons
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from replay import code_cells, committed
from test_notebooks import each_notebook

from helpers.checks.verdict import MIME
from helpers.pictures.predict import SAVED
from helpers.tools.classroom.read_notebook import questions
from helpers.tools.pages.__main__ import main
from helpers.tools.pages.closed import FOLD, closed, way
from helpers.tools.pages.lesson import Lesson

NUMBER = re.compile(r"\d+\.\d+|\d{3,}")


def answered(path):
    """Yield (the cells that answer, the text below them) for each question or code to repair."""
    found, text = [], ""
    for cell, answers, why in closed(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "markdown" or why == "predict":
            text += cell.source + "\n\n"
        if not found or FOLD.sub("", text).strip():  # without text in between, the answer goes on
            if found:
                yield found, text
            found, text = [], ""
        found += [cell] * answers


@each_notebook
def test_nothing_answers_a_prediction_before_its_cell_has_run(path):
    cells = nbformat.read(path, as_version=4).cells
    asked = sum(x.cell_type == "code" and way(x) == "predict" for x in cells)
    found = list(answered(path))
    assert len(found) >= asked > 0
    for answers, text in found:
        for cell in answers:
            assert cell.metadata["jupyter"]["outputs_hidden"]
            assert cell.outputs[0].get("data") == {}, "its first line would stand there"
        assert re.match(r"<details>|#|predict\(|\*\*Live", text), f"in the open: {text}"
        said, mark, _ = re.split(r"(?m)(^#|^predict\(|\*\*Live|\Z)", FOLD.sub("", text), maxsplit=1)
        assert mark != "#" or not said.strip(), f"in the open: {said}"
        told = NUMBER.findall("\n".join(map(committed, answers)))
        code = "\n".join(cell.source for cell in answers)
        assert not set(told) & set(NUMBER.findall(said)) - set(NUMBER.findall(code)), said


def test_no_question_is_asked_twice_in_the_course():
    """A guess is found and counted by its question. JupyterLab shows closed code's first line."""
    cells = [cell for path in lessons() for cell in code_cells(path)]
    short = [cell.source.startswith("predict(\n") for cell in cells if way(cell) == "predict"]
    assert all(short), "the question stands on a line of its own, see lesson 2"
    outputs = [x for cell in cells for x in cell.outputs]
    asked = [x.metadata[SAVED]["question"] for x in outputs if SAVED in x.get("metadata", {})]
    assert len(asked) == len({*asked}) > 1 and asked == [*questions()]


def test_pages_are_refused_before_a_lesson_runs(tmp_path, capsys, monkeypatch):
    """A folder that is a file, that was forgotten, or that cannot be made."""
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(Lesson, "run", lambda *_: pytest.fail("it was run"))
    lesson = str(lessons()[1])
    for arguments in (
        [tmp_path / "file"],
        [tmp_path / "file" / "pages"],
        [lesson],
        [lesson, lesson],
        ["02_softmax.ipynb"],
        [tmp_path / "new", tmp_path / "absent.ipynb"],
    ):
        assert main([*map(str, arguments)]) == 1
        said = capsys.readouterr().err
        assert str(arguments[-1]) in said and said.count("\n") == 1, said
    assert (tmp_path / "file").read_text() == "mine"


ANSWER = new_output("stream", text="0.5")
WRONG, STUB = (new_output("display_data", {MIME: {"passed": x}}) for x in (False, None))
GUESS = new_output("stream", text="none yet")


@pytest.mark.parametrize(
    "texts, answers",
    [
        ((GUESS, ANSWER, ANSWER), [0, 1, 1]),
        ((GUESS, "Now run it.", ANSWER), [0, 0, 0]),
        ((GUESS, ANSWER, "<details>Half.</details>", ANSWER, "So:", ANSWER), [0, 1, 0, 1, 0, 0]),
        (("Repair this:", WRONG), [0, 1]),
        ((GUESS, ANSWER, "<details>Half.</details>", GUESS, "Now:", ANSWER), [0, 1, 0, 0, 0, 0]),
        (("Write this:", STUB), [0, 0]),
    ],
)
def test_an_answer_is_known_by_the_question_above_it(texts, answers):
    cells = [
        new_markdown_cell(text)
        if isinstance(text, str)
        else new_code_cell("predict(q, str)" if text is GUESS else "run()", outputs=[text])
        for text in texts
    ]
    assert [found for _, found, _ in closed(cells)] == answers
    cleaned = clean(new_notebook(cells=cells)).cells
    assert ["outputs_hidden" in cell.metadata.get("jupyter", ()) for cell in cleaned] == answers


@pytest.mark.parametrize(
    "source, expected",
    [
        ("import torch\nsys.path.insert(0, '..')\ntokens, inputs = load_journey()", "loads"),
        ("# not found?\nfrom helpers import View", "loads"),
        ("tokens, inputs = load_journey()\nprint(tokens)", ""),
        ("def view(T):\n    return View(idea(T))\n\nexplore(view, T=(0.1, 5))", "explore"),
        ("from helpers import predict\npredict('How much?', float)", "predict"),
        ("def idea(T):\n    return scores / T", ""),
        ("from math import exp\ndef load():\n    return exp(1)", ""),
        ("weights = softmax(scores)\nheatmap(weights)", ""),
        ("%pip list", ""),
        ("", ""),
    ],
)
def test_code_is_out_of_the_way_if_it_only_loads_or_explores(source, expected):
    assert way(new_code_cell(source)) == expected
    assert way(new_code_cell(source, metadata={"tags": ["aside"]})) == "aside"
