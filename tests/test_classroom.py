"""grade reads what the class saved, whatever it contains, and runs nothing of it."""

import csv
import os
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from nbformat import v4, write

from helpers.checks.exercises import LESSON_OF
from helpers.checks.verdict import MIME
from helpers.tools.classroom import folder as folders
from helpers.tools.classroom.__main__ import main
from helpers.tools.classroom.grade import SAVED
from helpers.tools.classroom.read_notebook import (
    LARGEST,
    OPEN,
    Answer,
    names_of,
    read,
    stubs,
    verdict_in,
)

LESSON = "03_context_vectors"
BOTH = {*names_of("softmax")} & {*names_of("attention_weights")}
OFTEN, RARE = sorted(BOTH)[-2:][::-1]  # not in the order of the alphabet


def said(exercise, passed, *mistakes):
    """Return an output as check() shows it."""
    facts = {"exercise": exercise, "passed": passed, "mistakes": list(mistakes)}
    return v4.new_output("display_data", data={MIME: facts})


def error():
    return v4.new_output("error", ename="SyntaxError", evalue="by the student", traceback=[])


def notebook(path, *cells):
    """Save a notebook.  cells: source, outputs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = [v4.new_code_cell(source, outputs=list(outputs)) for source, *outputs in cells]
    write(v4.new_notebook(cells=made), path)
    return path


def grade(capsys, *arguments):
    """Return the exit code, the lines that the command prints, and {first word: the others}."""
    code = main(["grade", *map(str, arguments)])
    lines = capsys.readouterr().out.splitlines()
    return code, lines, {line.split()[0]: line.split()[1:] for line in lines if line}


@pytest.fixture
def folder(tmp_path):
    """Return a class that handed in lesson 2."""
    folder = tmp_path / "class"
    mine = 'check("softmax", my_softmax)  # mine'
    first = (mine, said("softmax", False, OFTEN, OFTEN, RARE))
    notebook(folder / "anna" / "a.ipynb", first, ("", said("attention_weights", True)))
    notebook(folder / "anna" / "b.ipynb", (mine,), ("", said("attention_weights", False)))
    notebook(folder / "bert_02_softmax.ipynb", (mine, said("softmax", False, OFTEN)))
    notebook(folder / "bert_02_softmax (1).ipynb", ("", said("attention_weights", False, OFTEN)))
    notebook(folder / "clara" / "c.ipynb", (mine,), ("", said("attention_weights", False)))
    notebook(folder / "dora" / "d.ipynb", (mine, error()), ("", said("softmax", None)))
    return folder


def test_the_best_attempt_of_each_student_counts_and_numbers_stand_for_mistakes(folder, capsys):
    code, lines, rows = grade(capsys, folder)
    assert code == 0 and lines[0] == SAVED and lines[2] == "02_softmax"
    first = lines.index("Mistakes, and how many students made them") + 1
    assert lines[first : first + 3] == [
        f"  1 = {OFTEN}: softmax 2, attention_weights 1",
        f"  2 = {RARE}: softmax 1",
        "  ? = wrong, without a name: attention_weights 1",
    ]
    head = next(line for line in lines if line.split()[:1] == ["softmax"])
    at = head.split().index("attention_weights")
    assert rows["anna"][:3] == ["x", "1", "2"] and rows["anna"][2 + at] == "ok"
    assert rows["bert"][:2] == ["x", "1"] and rows["bert"][1 + at : 3 + at] == ["x", "1"]
    assert rows["clara"][:2] == ["not", "run"] and rows["clara"][1 + at : 3 + at] == ["x", "?"]
    assert rows["dora"] == ["error", "-", "-"]
    (anna,) = (line for line in lines if line.startswith("anna "))
    assert head.index("softmax") == anna.index("x")  # the columns stand below each other


def test_nothing_is_run_and_nothing_is_written(folder, tmp_path, capsys):
    spy = f"open({str(tmp_path / 'ran')!r}, 'w')"
    notebook(folder / "emil" / "e.ipynb", (spy, said("softmax", True)))
    before = {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}
    code, _, rows = grade(capsys, folder)
    assert code == 0 and rows["emil"][0] == "ok" and not (tmp_path / "ran").exists()
    assert {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]} == before


def test_what_is_left_out_is_counted_and_what_cannot_be_read_is_named(folder, capsys):
    for copy in ("anna/.ipynb_checkpoints/a", "__MACOSX/anna/a", "anna/._a"):
        notebook(folder / f"{copy}.ipynb", ("", said("softmax", True)))
    (folder / "emil").mkdir()
    (folder / "emil" / "plot.png").write_text("")
    notebook(folder / "emil" / "own.ipynb", ("1 + 1",))
    code, lines, rows = grade(capsys, folder)
    left_out = ["  files that are not notebooks: 1", "  notebooks without an exercise: 1", ""]
    assert code == 0 and lines[lines.index("Left out") + 1 :] == left_out
    assert rows["anna"][0] == "x"  # hidden copies do not count
    (folder / "emil" / "half.ipynb").write_text('{"cells": [')
    code, lines, _ = grade(capsys, folder)
    assert code == 2 and "  emil/half.ipynb: damaged, or not a notebook" in lines


def test_a_notebook_in_another_form_is_read_or_its_student_is_named(folder, capsys):
    handed_in = notebook(folder / "anna" / "a.ipynb", ("", said("softmax", True)))
    names = "fay/2.ipynb.txt gus/2.json hal/2.IPYNB.JSON ida/2.txt jan/2 kim_02_softmax.ipynb (1)"
    for name in names.split(" ", 5):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"\xef\xbb\xbf" + handed_in.read_bytes())
    code, _, rows = grade(capsys, folder, "--lessons", "02")
    assert code == 0
    assert {rows[name][0] for name in ("fay", "gus", "hal", "ida", "jan", "kim")} == {"ok"}
    for name in "lea/lesson.zip mia/02_softmax.HTML nan/02_softmax.py oda_02_softmax.pdf".split():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    # a student who has the notebook, too, and a lesson that was not asked for
    (folder / "anna" / "02_softmax.html").write_text("")
    (folder / "anna" / "plot.py").write_text("")
    (folder / "pia_03_context_vectors.html").write_text("")
    code, lines, _ = grade(capsys, folder, "--lessons", "02")
    at = lines.index("Damaged, or not read")
    assert code == 2 and lines[at + 1 : at + 6] == [
        "  lea: no notebook, but lea/lesson.zip",
        "  mia: no notebook, but mia/02_softmax.HTML",
        "  nan: no notebook, but nan/02_softmax.py",
        "  oda: no notebook, but oda_02_softmax.pdf",
        "",
    ]
    assert main(["watch", str(folder), "--lessons", "02"]) == 0
    shown = capsys.readouterr().out
    assert "  mia: no notebook, but .HTML\n" in shown and "  pia: " not in shown


def test_gradescope_lists_the_names_of_its_submissions(tmp_path, capsys):
    for number in 11, 12, 13:
        path = tmp_path / "assignment_7_export" / f"submission_{number}" / "02_softmax.ipynb"
        notebook(path, ("", said("softmax", number == 11)))
    (tmp_path / "assignment_7_export" / "submission_metadata.yml").write_text(
        "submission_11:\n  :submitters:\n  - :name: Anna Muster\n    :sid: '1'\n"
        '  :score: 3\nsubmission_12:\n  :submitters:\n  - :name: "Zo\\xEB"\n  - :name: Bert\n'
        "  :results:\n    name: of a test\n"
    )
    _, lines, _ = grade(capsys, tmp_path)
    students = [line.split("  ")[0] for line in lines if re.search(r"  (ok|x \?)  ", line)]
    assert students == ["Anna Muster", "submission_13", "Zoë & Bert"]


def test_lessons_can_be_chosen(folder, capsys):
    notebook(folder / "anna" / "next.ipynb", ("", said("context_vector", True)))
    assert LESSON in grade(capsys, folder)[1]
    _, lines, rows = grade(capsys, folder, "--lessons", "03")
    assert LESSON in lines and "02_softmax" not in lines and rows["anna"][0] == "ok"


def test_what_cannot_be_used_is_one_sentence_and_code_2(folder, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "full.csv").write_text("mine")
    for arguments, sentence in (
        ([tmp_path / "absent"], "absent, but folders that cannot be read (No such file or dir"),
        ([tmp_path / "empty"], "There is no notebook (.ipynb) in "),
        ([folder, "--lessons", "1"], "there is no lesson '1'"),
        ([folder, "--out", tmp_path / "full.csv"], "File exists"),
    ):
        assert main(["grade", *map(str, arguments)]) == 2
        err = capsys.readouterr().err
        assert sentence in err and err.count("\n") == 1
    assert (tmp_path / "full.csv").read_text() == "mine"


def test_points_are_one_table_of_what_was_saved_that_excel_reads(tmp_path, capsys):
    folder, points = tmp_path / "class", tmp_path / "points.csv"
    right, wrong = ("", said("softmax", True)), ("", said("attention_weights", False))
    notebook(folder / "=1+1" / "a.ipynb", right, wrong)
    notebook(folder / "Zoë Łukasz.ipynb", right, ("", said("scores", None)))
    notebook(folder / "nothing.ipynb")
    assert main(["grade", str(folder), "--out", str(points)]) == 0
    assert points.read_bytes().startswith(b"\xef\xbb\xbf")  # or names become Latin letters
    has, names = Counter(LESSON_OF.values()), ("01_dot_products", "02_softmax")
    with points.open(encoding="utf-8-sig", newline="") as file:
        assert [*csv.reader(file)] == [
            ["Student", *(f"{name}, saved, of {has[name[:2]]}" for name in names)],
            ["'=1+1", "", "1"],  # every spreadsheet program reads it as text
            ["nothing", "", ""],
            ["Zoë Łukasz", "0", "1"],
        ]


# --- one notebook ---


def test_a_check_without_a_result_is_told_from_one_as_handed_out(tmp_path):
    stub = next(x for x in stubs() if 'check("softmax"' in x)
    for state, source, *outputs in (
        ("..", stub),
        ("..", stub, said("softmax", None)),
        ("not run", f"{stub}\n# mine"),
        ("error", f"{stub}\n# mine", error()),
    ):
        (answer,) = read(notebook(tmp_path / "a.ipynb", (source, *outputs))).answers.values()
        assert answer.state == state
    # code to repair has a verdict when it is handed out; that is not yet an answer
    assert read(folders.lessons()[2]).answers["repair_context"].state == OPEN


def test_only_names_that_the_course_has_are_kept_of_what_is_saved():
    known = names_of("softmax")[0]
    forged = said("softmax", False, "Mr Smith", known, ["x"], "Mr Smith")
    assert verdict_in(forged) == ("softmax", Answer("x", ("?", known)))
    assert verdict_in(said("softmax", True, "Mr Smith")) == ("softmax", Answer("ok"))
    assert verdict_in(said("Mr Smith", True)) is None
    good = said("softmax", True)["data"][MIME]
    assert verdict_in({"data": {MIME: good}})
    for data in (*({MIME: good | {key: 3}} for key in good), {MIME: [good]}, {}, 3):
        assert verdict_in({"data": data}) is None


def test_a_file_that_is_damaged_or_no_notebook_is_said_to_be_one(tmp_path):
    path = tmp_path / "a.ipynb"
    for content in (b"", b"[" * 100_000, b"\xff\xfe\x00", b"[]", b'{"cells": [3]}'):
        path.write_bytes(content)
        assert read(path).failed == "damaged, or not a notebook"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"cells": []}')  # as some editors on Windows do
    assert not read(path).failed
    if hasattr(os, "mkfifo"):  # reading must not wait for a pipe
        os.mkfifo(tmp_path / "b.ipynb")
        assert read(tmp_path / "b.ipynb").failed == "not an ordinary file"


def test_a_huge_notebook_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "a.ipynb"
    with path.open("wb") as file:
        file.truncate(LARGEST * 10**6 + 10**6)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: pytest.fail("it was read"))
    assert read(path).failed == "not read, since it has 21 MB, more than 20"


# --- students ---

FILES = (Path(__file__).with_name("student_files.txt")).read_text(encoding="utf-8")


@pytest.mark.parametrize("line", [x.strip() for x in FILES.splitlines() if x[:1] == " "])
def test_a_student_is_one_student_however_the_work_was_downloaded(line):
    path, student = line.rsplit(" = ", 1)
    assert folders.student_of(Path(path.strip())) == student


def test_a_name_is_shown_as_it_is_written_without_what_would_move_the_cursor():
    path = Path(unicodedata.normalize("NFD", "Jörg\x1b[31m\nb.ipynb"))
    assert folders.student_of(path) == "Jörg?[31m b"


COPIES = """\
anna_{} - Copy.ipynb|anna_{} - Copy (2).ipynb|anna_{} - Kopie.ipynb|anna_{} – Copie.ipynb
anna_{} — копия.ipynb|anna_{} - 副本.ipynb|anna_{} - コピー.ipynb|anna_{} copy.ipynb
anna_{} copy 2.ipynb|anna_{} Kopie 3.ipynb|anna_{}(1).ipynb|anna_{} (1) (1).ipynb
anna_{} (copy).ipynb|anna_{} (another copy).ipynb|anna_{}-Copy1-Copy2.ipynb|anna_{} - COPY.IPYNB
anna_{} (Anna's conflicted copy 2026-10-05).ipynb|anna_{}.sync-conflict-20261005-143211-ABC.ipynb
anna_{}-DESKTOP-AB12.ipynb|anna_{}-LAPTOP-9QK3.ipynb|anna_{}-Annas-MacBook-Pro.ipynb
anna_{}-ANNA-PC.ipynb|{}_anna - Copy.ipynb|{}_anna-DESKTOP-AB12.ipynb|{} anna (3).ipynb
Copy of anna_{}.ipynb|Kopie von {}_anna.ipynb|anna - Copy/{}.ipynb|anna - Kopie (2)/{}.ipynb
anna/{} - Copy.ipynb|anna_{}.ipynb.txt|anna_{}.ipynb (1).txt|anna_{} (1).ipynb.json|anna_{}.html
"""


@pytest.mark.parametrize("name", COPIES.replace("\n", "|").strip("|").split("|"))
def test_a_copy_is_the_same_students(name):
    for student in "anna", "Anna-Lena O'Neil", "王小明", "anna.muster2":
        path = Path(name.replace("anna", student).format(LESSON))
        assert folders.student_of(path) == student
