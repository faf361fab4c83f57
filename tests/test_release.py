"""What a class is handed out works, does not give away what was to be left out, and is graded by
nbgrader itself."""

import csv
import html
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from execute import lessons
from lab import ROOT
from nbformat import v4
from replay import solutions

from helpers import predict
from helpers.tools.classroom.__main__ import main
from helpers.tools.classroom.release import without_folds

LESSON = "03_context_vectors"


def read(path):
    return nbformat.read(path, as_version=4)


def texts(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


def summaries(text):
    return re.findall("<summary>(.*?)</summary>", text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the class's copy of the whole course, without anything that is folded."""
    folder = tmp_path_factory.mktemp("handed_out") / "copy"
    without = ["--without", "solutions", "hints", "answers"]
    assert main(["release", str(folder), *without]) == 0
    return folder


def test_nothing_is_told_that_is_left_out_and_every_question_stays(whole):
    for path in lessons():
        copy, course = read(whole / "notebooks" / path.name), read(path)
        assert copy.metadata == course.metadata
        assert not summaries(texts(copy)) and "</details>" not in texts(copy)
        for cell in copy.cells:  # questions have an output, and nothing else
            assert bool(cell.get("outputs")) == cell.source.startswith("predict(")
        for question in summaries(texts(course)):
            kept = question.endswith("?") and not question.startswith(("Hint", "Solution"))
            assert not kept or question in texts(copy)
        ours = [cell.source for cell in course.cells if cell.cell_type == "code"]
        assert [cell.source for cell in copy.cells if cell.cell_type == "code"] == ours


def test_a_guess_of_the_teacher_is_not_handed_out():
    def notebook():
        data, metadata = question.saved()
        output = v4.new_output("display_data", data, metadata=metadata)
        return v4.new_notebook(cells=[v4.new_code_cell("predict()", outputs=[output], id="1")])

    question = predict("Which?", ["<b>", "c"])
    lesson = notebook()
    question._keep(["<b>"])
    assert notebook() != lesson == without_folds(notebook(), ())


@pytest.mark.parametrize("kind, starts", [("solutions", "Solution"), ("hints", "Hint")])
def test_one_kind_alone_can_be_left_out(tmp_path, kind, starts):
    assert main(["release", str(tmp_path), "--lessons", "01", "02", "--without", kind]) == 0
    for path in lessons()[:2]:
        copy, course = (read(x) for x in (tmp_path / "notebooks" / path.name, path))
        left = [text for text in summaries(texts(course)) if not text.startswith(starts)]
        assert summaries(texts(copy)) == left != summaries(texts(course))
    assert len([*(tmp_path / "notebooks").iterdir()]) == 2


def test_the_copy_works_alone(whole):
    """Its helpers find each other and their data; it lacks what only a teacher needs."""
    assert {path.name for path in whole.iterdir()} >= {"helpers", "data", "requirements.txt"}
    (constraints,) = re.findall(r"(?m)^-c (.*)", (whole / "requirements.txt").read_text())
    assert (whole / constraints).is_file(), "pip would stop"
    assert [*whole.glob(".venv/etc/jupyter/labconfig/*.json")], "a notice would cover a lesson"
    assert not (whole / "helpers" / "tools").exists()
    code = "import sys; sys.path.insert(0, '..')\nfrom helpers import *\nprint(load_journey()[0])\n"
    code += "import helpers; print(helpers.__file__); check('softmax', lambda x: x.softmax(-1))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=whole / "notebooks", capture_output=True, text=True
    )
    assert str(whole) in done.stdout and "softmax: right" in done.stdout, done.stderr


def test_the_copy_says_how_to_start_what_it_has_and_what_it_leaves_out(tmp_path, capsys):
    command = ["release", str(tmp_path), "--without", "answers", "solutions", "--lessons"]
    assert main([*command, "02"]) == 0
    assert capsys.readouterr().out.endswith("1 written. Left out: solutions, answers.\n")
    readme = tmp_path / "README.md"
    text = readme.read_text(encoding="utf-8")
    starts = re.findall(r"(?m)^    (?:python3|py) .* jupyter lab (\S+)$", text)
    assert starts == ["notebooks/02_softmax.ipynb", "notebooks\\02_softmax.ipynb"]
    assert "You need Python 3.11" in text and "pytest" not in text
    assert "in this copy: hints.\n  Left out: solutions, answers." in text
    assert re.findall(r"\]\((.*?)\)", text) == ["notebooks/02_softmax.ipynb"]
    assert main([*command, "03"]) == 0
    assert f"](notebooks/{LESSON}.ipynb)" in readme.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["release", str(tmp_path / "points"), "--nbgrader", "--lessons", "01"]) == 0
    assert capsys.readouterr().out.endswith("1 written. Left out: solutions.\n")
    assert main(["release", str(tmp_path / "whole"), "--lessons", "01"]) == 0
    assert capsys.readouterr().out.endswith("Left out: nothing.\n")


def test_what_is_there_is_never_overwritten(tmp_path, capsys):
    (tmp_path / "source" / LESSON).mkdir(parents=True)
    mine = tmp_path / "source" / LESSON / "mine.txt"
    mine.write_text("mine")
    for arguments in ([str(tmp_path)], [str(tmp_path), "--nbgrader"], [str(mine)]):
        assert main(["release", *arguments]) == 2
        assert "not an empty folder or an earlier release; nothing is" in capsys.readouterr().err
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [mine]
    inside = ROOT / "data" / "copy"  # a copy there would be copied into itself, without end
    assert main(["release", str(inside)]) == 2 and not inside.exists()
    assert "is inside a copied folder" in capsys.readouterr().err


def test_a_lesson_is_named_by_two_digits_or_its_whole_name(tmp_path, capsys):
    assert main(["release", str(tmp_path / "new"), "--lessons", "01", "1"]) == 2
    said = "--lessons: there is no lesson '1'; choose from 01 to 16, such as 01 02.\n"
    assert capsys.readouterr().err == said and not (tmp_path / "new").exists()


def test_a_published_copy_is_updated_in_place(tmp_path):
    """What the teacher put there stays, and what the course no longer has goes."""
    command = ["release", str(tmp_path), "--lessons"]
    assert main([*command, "01"]) == 0
    first, second = (tmp_path / "notebooks" / path.name for path in lessons()[:2])
    gone, mine, readme = (tmp_path / x for x in ("helpers/gone.py", "mine.txt", "README.md"))
    for path in (gone, mine, readme):
        path.write_text("of the teacher")
    notebook = read(first)
    notebook.cells[0].source = "as it was a year ago"
    nbformat.write(notebook, first)

    assert main([*command, "02"]) == 0  # lesson 1 stays as it was
    assert "a year ago" in texts(read(first)) and second.exists()
    assert main([*command, "01"]) == 0
    assert texts(read(first)) == texts(read(lessons()[0])) and not gone.exists()
    assert mine.read_text() == readme.read_text() == "of the teacher"


# --- nbgrader ---

needs_nbgrader = pytest.mark.skipif(
    importlib.util.find_spec("nbgrader") is None and not os.environ.get("CI"),
    reason="nbgrader is not installed; optional: helpers/tools/classroom/nbgrader.txt",
)


def nbgrader(course, *arguments):
    """Run nbgrader, with Python's folder on the path, since it starts programs from there."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course, env={**os.environ, "PATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@needs_nbgrader
def test_nbgrader_accepts_the_release_and_gives_a_point_for_each_right_answer(tmp_path):
    """One submission has a right answer, a wrong one, one that is not written, and code to repair
    that was left as it is; its own helpers, which call everything right, do not count."""
    (path,) = (path for path in lessons() if path.stem == LESSON)
    right = {re.search(r'check\("(\w+)"', code)[1]: code for code in solutions(path)}
    assert main(["release", str(tmp_path), "--nbgrader", "--lessons", "03"]) == 0
    nbgrader(tmp_path, "generate_assignment", LESSON, "--create")
    released = tmp_path / "release" / LESSON / f"{LESSON}.ipynb"
    notebook = read(released)
    for cell in notebook.cells:
        match cell.metadata.get("nbgrader", {}):
            case {"grade_id": "context_vector"}:
                cell.source = right["context_vector"]
            case {"grade_id": "self_attention"}:
                cell.source = cell.source.replace("raise NotImplementedError()", "return inputs")
    handed_in = tmp_path / "submitted" / "anna" / LESSON / f"{LESSON}.ipynb"
    handed_in.parent.mkdir(parents=True)
    nbformat.write(notebook, handed_in)
    mine = handed_in.parent / "helpers" / "__init__.py"
    mine.parent.mkdir()
    mine.write_text("from math import *\ncheck = lambda *answer: True\n")
    nbgrader(tmp_path, "autograde", LESSON, "--create")
    nbgrader(tmp_path, "generate_feedback", LESSON)
    nbgrader(tmp_path, "export")

    with (tmp_path / "grades.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["score"]) == 1 and float(row["max_score"]) == len(right) == 4

    page = (tmp_path / "feedback" / "anna" / LESSON / f"{LESSON}.html").read_text("utf-8")
    assert page.count("context_vector: right") == 2  # below the answer, and where it gives a point
    shown, given = (
        re.sub(r"\s", "", text)
        for text in (html.unescape(re.sub("<[^>]*>", "", page)), texts(read(released)))
    )
    lines = {
        name: {x for line in code.splitlines() if (x := re.sub(r"\s", "", line)) not in given}
        for name, code in right.items()
    }
    handed = lines.pop("context_vector")
    assert all(line in shown for line in handed)
    for new in lines.values():
        assert new - handed and not any(line in shown for line in new - handed)
