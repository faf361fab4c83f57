"""What watch shows of the saved notebooks, whatever is in the folder; it runs no code and writes
nothing."""

import json
import os
import random
import re
import subprocess
import sys

import pytest
from execute import lessons
from nbformat import from_dict, read, v4, write

from helpers import predict
from helpers.checks.verdict import MIME
from helpers.pictures.predict import SAVED
from helpers.tools.classroom import watching
from helpers.tools.classroom.__main__ import main
from helpers.tools.classroom.read_notebook import names_of, questions
from helpers.tools.classroom.table import width
from helpers.tools.classroom.watching import CLEAR, FORGED, Class
from helpers.tools.course import ROOT

STUDENTS = ("anna", "bert", "clara", "dora", "emil")
COMMON = {*names_of("softmax")} & {*names_of("attention_weights")}
OFTEN, RARE = sorted(COMMON, key=lambda name: (len(name), name))[:2]  # short: a legend has lines


def save(path, lesson=1, seconds=0, **answers):
    """Save a student's copy of a lesson, so many seconds after the others; return its path.

    answers: what the check said of an exercise, in the order in which they were checked: True,
    False or the name of a mistake.
    """
    notebook = read(lessons()[lesson], as_version=4)
    for count, (exercise, said) in enumerate(answers.items(), start=1000):
        cells = [x for x in notebook.cells if x.source.find(f'check("{exercise}"') >= 0]
        cell = next(x for x in cells if x.cell_type == "code")
        names = [said] if isinstance(said, str) else []
        facts = {"exercise": exercise, "passed": said is True, "mistakes": names}
        cell.source += "\n# my own"
        cell.outputs = [from_dict(v4.new_output("display_data", data={MIME: facts}))]
        cell.execution_count = count
    path.parent.mkdir(parents=True, exist_ok=True)
    write(notebook, path)
    os.utime(path, (1e9 + seconds, 1e9 + seconds))
    return path


def rows_of(lines):
    """Return {first word of a line: what is in its cells}."""
    return {line.split()[0]: re.split(r"\s{2,}", line)[1:] for line in lines if line}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "class"
    save(folder / "anna" / "a.ipynb", softmax=OFTEN)
    save(folder / "bert" / "b.ipynb", softmax=True, attention_weights=OFTEN)
    save(folder / "clara" / "c.ipynb", attention_weights=OFTEN, softmax=RARE)
    save(folder / "dora" / "d.ipynb", softmax=True)
    save(folder / "emil" / "e.ipynb")
    return folder


def test_the_lesson_shows_its_mistakes_and_then_who_is_where(folder):
    lines = Class(folder).look()
    assert lines[0] == FORGED and lines[1].endswith("5 students")
    assert lines[3] == "02_softmax   (> is here)"
    assert f"  1 = {OFTEN}: softmax 1, attention_weights 2" in lines
    assert f"  2 = {RARE}: softmax 1" in lines
    rows = rows_of(lines)
    exercises = next(line.split() for line in lines if line.split()[:1] == ["softmax"])
    assert exercises == ["softmax", "attention_weights", "softmax_with_temperature"]
    at = {name: dict(zip(exercises, rows[name], strict=True)) for name in STUDENTS}
    assert at["anna"]["softmax"] == ">x 1"
    assert at["bert"]["attention_weights"] == ">x 1"
    assert at["clara"]["softmax"] == ">x 2"  # checked last, and wrong
    # softmax is right, so she is at the next
    assert at["dora"]["softmax"] == "ok" and at["dora"]["attention_weights"] == ">.."
    assert at["emil"]["softmax"] == ">.." and at["emil"]["attention_weights"] == ".."


def test_a_student_is_in_the_lesson_that_was_saved_last(folder):
    save(folder / "anna" / "next.ipynb", lesson=2, seconds=600)
    save(folder / "bert" / "copied with it.ipynb", lesson=0, seconds=1)
    save(folder / "clara" / "ten.ipynb", lesson=9, seconds=600)  # has a check of lesson 9, too
    text = "\n".join(Class(folder).look())
    assert text.index("10_a_block_that_writes") < text.index("clara ")
    assert text.index("02_softmax") < text.index("bert ") < text.index("03_context_vectors")
    assert text.index("03_context_vectors") < text.index("anna ")


def test_names_are_hidden_wherever_they_stand_and_their_order_too(folder):
    (folder / "anna" / "anna half.ipynb").write_text("{")
    save(folder / "zoe" / "z.ipynb", softmax="Mr anna Smith")  # a forged verdict
    (folder / "anna" / "link").symlink_to(folder / "emil")
    random.seed(1)
    class_ = Class(folder, hide_names=True)
    text = "\n".join(class_.look()[2:])
    assert not re.search("|".join(STUDENTS), text.replace(str(folder), ""))
    assert "links, which are not followed: 1" in text and "damaged, or not a notebook): 1" in text
    assert "? = wrong, without a name: softmax 1" in text and "Smith" not in text
    shown = [class_.hidden[name] for name in STUDENTS]
    assert shown != sorted(shown) and len({*shown}) == 5
    assert "\n".join(class_.look()[2:]) == text  # the numbers are the same at the next look


def test_whatever_lies_there_is_counted_and_ends_nothing(folder):
    """What else can be wrong with a file is tested in test_classroom.py."""
    class_ = Class(folder)
    before = class_.look()
    path = folder / "anna" / "a.ipynb"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])  # while it is being saved
    odd = {"outputs": [3, None, {"data": 3}, {"data": {MIME: 3}}], "execution_count": "x"}
    odd |= {"cell_type": "code", "source": "1"}
    (folder / "odd.ipynb").write_text(json.dumps({"nbformat": 4, "cells": [odd]}))
    (folder / "other.txt").write_text("")
    lines = class_.look()
    assert lines[lines.index("Not shown") + 1 :] == [
        "  notebooks (damaged, or not a notebook): 1",
        "  notebooks without an exercise of these lessons: 1",
        "",
    ]
    path.write_bytes(whole)
    assert rows_of(class_.look())["anna"] == rows_of(before)["anna"]
    os.rename(folder, folder.parent / "gone")
    assert "folders that cannot be read" in class_.look()[-2]


def test_a_class_of_thirty_sees_how_it_voted_and_no_text_of_its_own(tmp_path, monkeypatch):
    lesson = read(lessons()[1], as_version=4)
    lesson.cells.append(v4.new_code_cell("predict(...)"))
    asked = [predict("Which one?", ["a", "b", "c"]), predict("Which two?", ["x", "y", "z"], 2)]
    asked += [predict("How much?", float), predict("Which word?", str)]
    asked = [one.asked for one in asked]
    for one in asked:
        monkeypatch.setitem(questions(), one["question"], one)  # as a lesson's

    def vote(name, *guesses):
        saved = [{SAVED: x | {"guess": guess}} for x, guess in zip(asked, guesses, strict=False)]
        lesson.cells[-1].outputs = [v4.new_output("display_data", metadata=x) for x in saved]
        (tmp_path / name).mkdir()
        write(lesson, tmp_path / name / "2.ipynb")

    for k in range(12):
        vote(f"first {k}", ["b"], ["x", "z"], ["0.50"], ["Smith"])
    for k in range(7):
        vote(f"second {k}", ["a"], ["y", "z"], ["-2"])
    for k in range(4):
        vote(f"none {k}", [], ["x"], [])  # one of two is not yet a guess
    for k, odd in enumerate((3, [["b"]], ["a", "b"], {"b": 1}, None, ["Mr Smith"])):
        vote(f"odd {k}", odd, odd, odd, odd)
    (tmp_path / "odd 0" / "2.ipynb").write_text("{")
    asked.append(asked[0] | {"question": "Is it Mr Smith?", "choices": ["Mr Smith"]})
    vote("asked", ["c"], ["x", "y"], ["nan"], ["Smith"], ["Mr Smith"])
    lines = Class(tmp_path, hide_names=True).look()
    assert lines[1].endswith("29 students") and "Smith" not in "\n".join(lines)
    assert lines[lines.index("Guesses") :][:8] == [
        "Guesses",
        "  Which one? (20 of 29)",
        "    a: 7 | b: 12 | c: 1",
        "  Which two? (20 of 29)",
        "    x: 13 | y: 8 | z: 19",
        "  How much? (19 of 29)",
        "    -2: 7 | 0.5: 12",
        "",
    ]


def test_lessons_can_be_chosen(folder):
    save(folder / "anna" / "next.ipynb", lesson=2, seconds=600)
    lines = Class(folder, lessons=["02"]).look()
    assert rows_of(lines)["anna"] and not any("03_context_vectors" in line for line in lines)


def test_a_long_name_and_east_asian_letters_leave_the_table_readable(folder, monkeypatch):
    names = "x" * 190, "王小明" * 20, "王小明", "한글", "e\u0301mile", "x" * 185 + "other"
    for name in names:
        save(folder / name / "1.ipynb", softmax=True)
    lines = Class(folder).look()
    head = next(line for line in lines if line.split()[:1] == ["softmax"])
    rows = [line for line in lines if re.search(r"  (>?ok|>?x 1|>?\.\.)  ", line)]
    assert len(rows) == 5 + len(names) and len({*rows}) == len(rows)
    for row in rows:
        cell = re.search(r"(?<=  )(>?ok|>?x|>?\.\.)", row)
        assert width(row[: cell.start()]) == head.index("softmax"), row
        assert width(row) <= 100
    monkeypatch.setattr(
        watching.shutil, "get_terminal_size", lambda *_, **__: os.terminal_size((40, 19))
    )
    assert max(map(width, watching._wrapped(lines))) <= 40


def test_the_last_look_is_kept_when_the_command_is_interrupted(folder, capsys, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(watching.time, "sleep", interrupted)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    small = os.terminal_size((40, 19))
    monkeypatch.setattr(watching.shutil, "get_terminal_size", lambda *_, **fallback: small)
    assert main(["watch", str(folder)]) == 0
    first, last = capsys.readouterr().out.removeprefix(CLEAR).split(CLEAR)
    assert "dora" in first and "emil" not in first and "enlarge the window" in first
    assert len(first.splitlines()) == 18 and max(map(len, first.splitlines()[:-1])) <= 40
    assert all(name in last for name in STUDENTS)


def test_the_command_looks_once_where_there_is_no_terminal_and_writes_nothing(folder):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    command = [sys.executable, "-m", "helpers.tools.classroom", "watch", folder, "--hide-names"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0 and "5 students" in done.stdout, done.stderr
    assert "\x1b" not in done.stdout and "anna" not in done.stdout
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
