"""What a class is handed out works, does not give away what was to be left out, and is graded by
nbgrader itself."""

import csv
import errno
import html
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from execute import lessons
from lab import ROOT
from listed import TODO, text
from nbformat import v4
from optional import OPTIONAL
from replay import solutions

from helpers.pictures.predict import NONE, SAVED
from helpers.tools import course
from helpers.tools.classroom import release
from helpers.tools.classroom.__main__ import main
from helpers.tools.pages import lesson

LESSON = "03_context_vectors"


def read(path):
    return nbformat.read(path, as_version=4)


def texts(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


def summaries(text):
    return re.findall("<summary>(.*?)</summary>", text)


TEACHER = "written by the teacher"  # stands in all that may not be handed out
WITHOUT = ("--without", "solutions", "hints", "answers")


def folds(notebook):
    """Return what is folded in a notebook, without its summaries."""
    return re.findall(r"</summary>\s*(.*?)\s*</details>", texts(notebook), re.S)


def use(path):
    """Use a notebook as a teacher does: solve it, guess, write notes, save with outputs."""
    notebook = read(path)
    printed = v4.new_output("stream", text=TEACHER)
    stubs = course.listed()["notebooks"][path.stem]["stubs"]
    right = {course.CALL.search(code)[1]: code for code in solutions(path)}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        if cell.id in stubs or TODO in cell.source:
            exercise = course.CALL.search(cell.source)
            cell.source = right.get(exercise and exercise[1], cell.source) + f"\n# {TEACHER}"
        for output in cell.outputs:
            if asked := output.get("metadata", {}).get(SAVED):
                asked["guess"] = [TEACHER]
                for kind, text in output.data.items():
                    output.data[kind] = text.replace(NONE, TEACHER)
        cell.outputs.append(printed)
        cell.metadata["note"] = TEACHER
    answer = f"# {TEACHER}\ndef my_softmax(scores):\n    return scores.softmax(-1)"
    notebook.cells[3:3] = [v4.new_code_cell(answer), v4.new_markdown_cell(TEACHER)]
    notebook.cells.append(v4.new_raw_cell(TEACHER))
    notebook.metadata["widgets"] = {"state": TEACHER}
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """Return a course's folder that a teacher has used, in which other files lie about; the
    commands run there."""
    folder = tmp_path_factory.mktemp("used") / "course"
    for name in course.listed()["files"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for path in (folder / "notebooks").glob("*.ipynb"):
        use(path)
    strays = "grades.csv notes.txt notes.md notebooks/grades.csv notebooks/anna_02_softmax.ipynb"
    strays += " notebooks/99_mine.ipynb notebooks/.ipynb_checkpoints/02_softmax.ipynb .env"
    strays += " helpers/notes.py helpers/checks/.hidden data/grades.csv data/anna/02_softmax.ipynb"
    strays += (
        " .github/grades.csv .venv/etc/jupyter/labconfig/mine.json helpers/tools/pages/anna.txt"
    )
    for name in strays.split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(TEACHER)
    with pytest.MonkeyPatch.context() as patch:
        for module in (course, release, lesson):
            patch.setattr(module, "ROOT", folder)
        course.notebooks.cache_clear()
        yield folder
    course.notebooks.cache_clear()


@pytest.fixture(scope="module")
def whole(used, tmp_path_factory):
    """Return the class's copy of the whole course, without anything that is folded."""
    folder = tmp_path_factory.mktemp("handed_out") / "copy"
    assert main(["release", str(folder), *WITHOUT]) == 0
    return folder


def test_nothing_is_told_that_is_left_out_and_every_question_stays(whole):
    for path in lessons():
        copy, ours = read(whole / "notebooks" / path.name), read(path)
        assert copy.metadata == ours.metadata
        assert not summaries(texts(copy)) and "</details>" not in texts(copy)
        for cell in copy.cells:  # questions have an output, and nothing else
            assert bool(cell.get("outputs")) == cell.source.startswith("predict(")
        for question in summaries(texts(ours)):
            kept = question.endswith("?") and not question.startswith(("Hint", "Solution"))
            assert not kept or question in texts(copy)


def test_a_page_is_made_of_the_lesson_as_it_is_handed_out(used):
    for path in (used / "notebooks").glob("[01y]*.ipynb"):
        page = lesson.Lesson(path)
        assert TEACHER not in nbformat.writes(page.notebook) and page.done, path


@pytest.mark.parametrize("way", ["whole", "folded", "nbgrader", "course.zip"])
def test_what_a_teacher_keeps_in_the_folder_is_in_no_file_that_is_handed_out(
    used, whole, tmp_path, way
):
    """The exercises were solved, the questions guessed, and other files lie about."""
    copy = whole if way == "whole" else tmp_path / "copy"
    if way == "folded":
        assert main(["release", str(copy)]) == 0
    elif way == "nbgrader":
        assert main(["release", str(copy), "--nbgrader", *WITHOUT]) == 0
    elif way == "course.zip":
        zipfile.ZipFile(io.BytesIO(lesson.course_zip())).extractall(copy)
    files = [path for path in copy.rglob("*") if path.is_file()]
    assert [path for path in files if TEACHER.encode() in path.read_bytes()] == []
    tops = {"nbgrader": [*copy.glob("source/*")], "course.zip": [copy / "attention"]}
    for top in tops.get(way, [copy]):
        names = {x.relative_to(top).as_posix() for x in files if x.is_relative_to(top)}
        own = {release.MARK, "README.md", *(x for x in names if x.endswith(".ipynb"))}
        assert names - own <= {*course.listed()["files"]}
    made = {path.name: read(path) for path in files if path.suffix == ".ipynb"}
    assert made.keys() == {
        x.name for x in course.notebooks() if way != "nbgrader" or x in course.lessons()
    }
    everything = "\n".join(
        texts(read(x)) if x.suffix == ".ipynb" else x.read_text("utf-8", "replace") for x in files
    )
    for path in [*lessons(), OPTIONAL]:
        if path.name not in made:
            continue
        ours, stubs = read(path), course.listed()["notebooks"][path.stem]["stubs"]
        if way != "nbgrader":
            code = [cell.source for cell in ours.cells if cell.cell_type == "code"]
            assert [x.source for x in made[path.name].cells if x.cell_type == "code"] == code
            assert {*stubs.values()} <= {*code}
        told = folds(ours)
        assert len(told) > 3
        left = [fold for fold in told if fold in everything]
        assert left == (told if way in ("folded", "course.zip") else []), path.name


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
    inside = course.ROOT / "data" / "copy"  # a copy there would be copied into itself, without end
    assert main(["release", str(inside)]) == 2 and not inside.exists()
    assert "is inside a copied folder" in capsys.readouterr().err


@pytest.mark.skipif(not (course.ROOT / ".git").exists(), reason="only git knows the course's files")
def test_the_list_of_the_course_is_up_to_date():
    assert course.LIST.read_text(encoding="utf-8") == text(), "run tests/scripts/listed.py"


@pytest.mark.parametrize(
    "name",
    ["", "notebooks", "helpers", "helpers/checks", "data/journey.csv", "README.md", ".release"],
)
def test_nothing_is_written_through_a_link(tmp_path, capsys, name):
    mine, copy = tmp_path / "mine", tmp_path / "copy"
    command = ["release", str(copy), "--lessons", "01"]
    assert not name or main(command) == 0
    if (copy / name).is_dir():
        shutil.move(copy / name, mine)
    else:
        mine.mkdir() if not name else shutil.move(copy / name, mine)
    before = {path: path.stat().st_mtime_ns for path in [mine, *mine.rglob("*")]}
    (copy / name).symlink_to(mine)
    capsys.readouterr()
    assert main(command) == 2
    said = capsys.readouterr().err
    assert f"{copy / name} is a link, and nothing is written through one" in said
    assert {path: path.stat().st_mtime_ns for path in [mine, *mine.rglob("*")]} == before


def test_what_cannot_be_done_is_one_sentence_that_names_the_file(
    used, tmp_path, capsys, monkeypatch
):
    def write(path, content):
        if path.name.startswith("journey.csv"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(path, content)

    def refused(*arguments):
        assert main(["release", *map(str, arguments)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    written = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", write)
    for options in ["--lessons", "01"], ["--lessons", "01", "--nbgrader"]:
        said = refused(tmp_path / "full", *options)
        assert "journey.csv cannot be written: No space left on device" in said
        assert not [*tmp_path.rglob("*.part")]
    path = used / "notebooks" / "02_softmax.ipynb"
    whole = read(path)
    (tmp_path / "file").write_text("")
    command = tmp_path / "new", "--lessons", "02", "--without", "hints"
    assert "file/copy" in refused(tmp_path / "file" / "copy")
    try:
        for change, said in (
            (lambda: path.write_text("{"), "is damaged, or not a notebook"),
            (lambda: path.unlink(), "cannot be read: No such file"),
            (lambda: nbformat.write(renamed(whole), path), "has other ids for its cells"),
            (lambda: nbformat.write(open_fold(whole), path), "cell 1: a fold is expected as"),
        ):
            change()
            assert f"{path}" in (sentence := refused(*command)) and said in sentence
    finally:
        nbformat.write(whole, path)
    assert not (tmp_path / "new").exists()


def renamed(notebook):
    """Return the notebook with new ids for its cells, as some programs write them."""
    cells = [cell | {"id": f"new-{k}"} for k, cell in enumerate(notebook.cells)]
    return nbformat.from_dict(notebook | {"cells": cells})


def open_fold(notebook):
    first = notebook.cells[0] | {"source": "<details><summary>Hint</summary>no end"}
    return nbformat.from_dict(notebook | {"cells": [first, *notebook.cells[1:]]})


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
