"""Promises of the teacher's command: every notebook is run anew and alone, and the table says
what came of it."""

import contextlib
import csv
import html
import io
import json
import multiprocessing.util
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from nbformat import v4, write

from helpers import check
from helpers.checks import texts, verdict
from helpers.checks.exercises import CHECKED
from helpers.checks.verdict import MIME
from helpers.classroom import folder as folders
from helpers.classroom import grade, hand_back, needed, table
from helpers.classroom.__main__ import main
from helpers.classroom.folder import ROOT
from helpers.classroom.run_notebook import Run, Unusable, _read, code_cells, run_all, verdict_in

LESSON = "03_context_vectors"
# In which an endless notebook has started; on a busy machine, in the second.
SECONDS = (10, 60)
# Stands for check(): what a notebook shows, without importing torch.
SHOW = f"""
from IPython.display import display
def show(exercise, passed, *mistakes):
    found = {{"exercise": exercise, "passed": passed, "mistakes": list(mistakes)}}
    display({{{MIME!r}: found}}, raw=True)
"""
# Says through a verdict which processes there are: the notebook's, its copy, a program it started.
PROCESSES = """
import os, subprocess, sys, time
copy = os.fork() if hasattr(os, "fork") else os.getpid()
if not copy:
    time.sleep(600)
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleep, start_new_session=True)
show("self_attention", False, str(os.getpid()), str(copy), str(child.pid))
"""
SPY = """
import os, sys
for name in ("left.txt", "../left.txt"):
    open(name, "w").close()
sys.path.append(os.environ["BESIDE"])
import beside  # Python keeps a compiled copy next to it, unless told not to
proxies = [name for name in os.environ if name.lower().endswith("_proxy")]
raise RuntimeError(f"{proxies}")
"""
# As in a lesson. A folder called helpers lies beside the notebook, too, and above it.
LIKE_A_LESSON = """
import sys
sys.path.insert(0, "..")
from helpers import check
check("softmax", lambda x: x.softmax(-1))
check("scores", lambda inputs, i: inputs @ inputs[i] + 0.3)
"""
FOUND = {"exercise": "context_vector", "passed": True, "mistakes": ["late"], "unnamed": []}
FORGED = v4.new_output("display_data", data={MIME: FOUND})


def notebook(path, *cells, outputs=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    made = [v4.new_code_cell(cell, outputs=list(outputs)) for cell in cells]
    write(v4.new_notebook(cells=made), path)
    return path


def everything(folder):
    """path -> (bytes, time of change), also of folders."""
    return {
        path: (path.read_bytes() if path.is_file() else None, path.stat().st_mtime_ns)
        for path in [folder, *folder.rglob("*")]
    }


def is_running(pid):
    try:
        return psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of the class. What is temporary lies beside it."""
    folder = tmp_path_factory.mktemp("home") / "class"
    notebook(
        folder / "anna" / "Jörg's copy" / f"{LESSON}.ipynb",
        SHOW,
        'show("context_vector", False, "old"); show("context_vector", False, "wrong axis")',
        SPY,
        "1 / 0",
        'show("self_attention", True)',
    )
    (folder / "anna" / "beside.py").write_text("")
    bert = notebook(folder / f"bert_{LESSON}.ipynb", SHOW, 'show("context_vector", None)')
    bert.write_bytes(b"\xef\xbb\xbf" + bert.read_bytes())  # as some editors on Windows do
    notebook(folder / "clara" / "a.ipynb", LIKE_A_LESSON)
    for place in (folder, folder / "clara"):
        (place / "helpers").mkdir()
        (place / "helpers" / "__init__.py").write_text("")
    notebook(folder / "Zoë Łuk.ipynb", SHOW, PROCESSES, "os._exit(0)")
    notebook(folder / "forger.ipynb", "1 + 1", outputs=[FORGED])
    (folder / "damaged.ipynb").write_text('{"cells": [')
    # what Jupyter and a Mac keep
    for copy in ("anna/.ipynb_checkpoints/a-checkpoint", "__MACOSX/anna/a", "anna/._a"):
        notebook(folder / f"{copy}.ipynb", SHOW, 'show("context_vector", True)')
    (folder.parent / "temporary").mkdir()
    return folder


@pytest.fixture(scope="module")
def ran(folder):
    """What the command printed for that class: run as a teacher does, with a pipe as on
    Windows, and while another notebook does not end."""
    before = everything(folder)
    temporary = str(folder.parent / "temporary")
    multiprocessing.util.get_temp_dir()  # of this process, which lives on: elsewhere
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", temporary)
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        for name in ("TMPDIR", "TEMP", "TMP"):
            patch.setenv(name, temporary)
        for name in ("HTTPS_PROXY", "no_proxy"):
            patch.setenv(name, "localhost")
        patch.setenv("BESIDE", str(folder / "anna"))
        patch.setenv("PYTHONIOENCODING", "cp1252")
        process = subprocess.Popen(
            [sys.executable, "-m", "helpers.classroom", "grade", str(folder), "--seconds=120"],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="cp1252",
        )  # fmt: skip
        forever = "import time\nwhile True: time.sleep(0.01)"
        loop = notebook(folder.parent / "loop.ipynb", SHOW, PROCESSES + forever)
        for seconds in SECONDS:
            ((_, endless),) = run_all([loop], seconds)
            if endless.verdicts:
                break
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return SimpleNamespace(
        out=out, err=err, lines=out.splitlines(), endless=endless, seconds=seconds,
        untouched=everything(folder) == before, temporary=list(Path(temporary).iterdir()),
    )  # fmt: skip


def rows_of(lines):
    """First word of a line -> the words after it."""
    return {line.split()[0]: line.split()[1:] for line in lines if line}


def test_the_table_tells_right_wrong_not_written_and_absent_by_the_last_verdict(ran):
    letter = next(line[0] for line in ran.lines if line.endswith(" = wrong axis"))
    rows = rows_of(ran.lines)
    assert rows["anna"] == ["x", letter, "-", "ok", "-"]
    assert rows["bert"] == ["..", "-", "-", "-"]
    assert "context_vector: wrong axis, 1 of 2" in ran.out and "old" not in ran.out
    # progress, elsewhere; hidden copies do not count
    assert re.search(r"\d of 6: anna", ran.err) and "of 6" not in ran.out


def test_a_stored_output_is_not_believed(ran):
    assert "forger.ipynb: no check in it gave a verdict" in ran.out
    assert "forger" not in rows_of(ran.lines)


def test_what_did_not_run_is_said_with_its_reason(ran):
    died = "uk.ipynb: its process ended, in cell [3]; what was checked before counts"
    assert rf"\u0141{died}" in ran.out
    assert "damaged.ipynb: damaged: it is not JSON" in ran.out


def test_a_cell_that_raises_is_named_and_sees_no_proxy(ran):
    assert "cell [3] RuntimeError: [] (and 1 more)" in ran.out


def test_our_own_check_is_imported_and_heard_and_not_what_lies_beside(ran):
    assert rows_of(ran.lines)["clara"] == ["ok", "-", "-", "-"]
    alone = r"  scores [0-9a-f]{8}, 1 student: clara: the numbers are wrong\."
    assert any(re.fullmatch(alone, line) for line in ran.lines)


def test_the_time_limit_is_kept_and_what_was_checked_before_counts(ran):
    assert ran.endless.failed == f"took longer than {ran.seconds} seconds, in cell [2]"
    assert list(ran.endless.verdicts) == ["self_attention"]


def test_nothing_is_written_into_the_folder_and_no_file_and_no_process_is_left(ran):
    assert ran.untouched and ran.temporary == []
    _, endless, _ = ran.endless.verdicts["self_attention"]
    # Those of the one that died, whose number the legend tells, and what it had started.
    died = [line.split(" = ")[1] for line in ran.lines if " = " in line]
    died = [number for number in died if number.isdigit()]
    assert len(endless) == len(died) == 3 and not any(map(is_running, [*endless, *died]))


# --- without running a notebook ---


STUDENTS = {
    f"anna/week 3/handed in/{LESSON}.ipynb": "anna",
    f"anna_{LESSON}.ipynb": "anna",
    f"{LESSON}_anna.ipynb": "anna",
    f"{LESSON.upper()} - Anna Lena.ipynb": "Anna Lena",
    f"anna_{LESSON} (2).ipynb": "anna",
    f"anna_{LESSON}-Copy1.ipynb": "anna",
    "anna.ipynb": "anna",
    f"{LESSON}.ipynb": LESSON,
    unicodedata.normalize("NFD", "Jörg\x1b[31m\nb.ipynb"): "Jörg?[31m b",
}


@pytest.mark.parametrize("path, student", STUDENTS.items(), ids=range(len(STUDENTS)))
def test_the_student_is_known_from_the_path(path, student):
    assert folders.student_of(Path(path)) == student


def test_a_link_is_named_and_not_followed(tmp_path):
    folder = tmp_path.resolve() / "class"
    inside = notebook(folder / "anna" / "a.ipynb")
    outside = notebook(tmp_path / "elsewhere" / "b.ipynb")
    try:
        (folder / "bert.ipynb").symlink_to(outside)
        (folder / "clara").symlink_to(outside.parent, target_is_directory=True)
    except OSError:
        pytest.skip("no right to make links")
    left_out = [f"{folder / n} is a link: it was not followed." for n in ("bert.ipynb", "clara")]
    assert folders.find(folder) == ([("anna", inside)], left_out)


def test_a_folder_that_cannot_be_used_is_one_sentence_and_code_2(tmp_path, capsys, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "class" / "temporary"))
    for folder, sentence in (
        (tmp_path / "absent", "absent cannot be read: "),
        (tmp_path / "empty", "There is no notebook (.ipynb) to run in"),
        (notebook(tmp_path / "a.ipynb"), "a.ipynb cannot be read: "),
        (notebook(tmp_path / "class" / "a.ipynb").parent, "nothing may be written there"),
    ):
        assert main(["grade", str(folder)]) == 2
        shown = capsys.readouterr()
        assert sentence in shown.err and shown.err.count("\n") == 1 and not shown.out


FILES = {
    b"": "an empty file",
    b"[" * 100_000: "damaged: it is not JSON",
    b"\xff\xfe\x00": "damaged: it is not text in UTF-8",
    b"[]": "not a notebook",
    b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [3]}': "not a notebook",
}


@pytest.mark.parametrize("content, reason", FILES.items(), ids=range(len(FILES)))
def test_a_file_that_is_no_notebook_is_told_from_a_damaged_one(tmp_path, content, reason):
    path = tmp_path / "a.ipynb"
    path.write_bytes(content)
    with pytest.raises(Unusable, match=reason):
        code_cells(path)


@pytest.mark.parametrize("key", FOUND)
@pytest.mark.parametrize("value", [1, "yes", [1]])
def test_what_no_check_can_show_is_no_verdict(key, value):
    without = {name: x for name, x in FOUND.items() if name != "unnamed"}
    for found in (FOUND, without):
        assert verdict_in({MIME: found}) == [*FOUND.values()]
    spoilt = FOUND | {key: [value] if key == "exercise" else value}
    for data in ({MIME: spoilt}, {MIME: [FOUND]}, {}):
        assert verdict_in(data) is None


def test_a_log_that_a_student_spoilt_or_deleted_harms_nobody(tmp_path):
    log = tmp_path / "log"
    assert _read(log, "") == (Run(failed="its process ended"), False)
    log.write_bytes(b'\xff\n{"verdict": ["x", 3, 5]}\n[]\n{"cell": 2}\n{"error": 1}\n{"verd')
    assert _read(log, "") == (Run(failed="its process ended, in cell [2]"), False)


def report(*runs, **more):
    """Lines for the runs, each (student, {exercise: (passed, mistakes, unnamed)})."""
    return table.report([(name, f"{name}.ipynb", Run(its, **more)) for name, its in runs])


def wrong(*mistakes):
    return False, mistakes, ()


RIGHT, OPEN = (True, (), ()), (None, (), ())


def test_letters_stand_for_the_mistakes_the_most_common_first():
    lines = report(
        ("anna", {"scores": wrong("a rare one", "often"), "all_scores": RIGHT}),
        ("bert", {"scores": wrong("often"), "all_scores": wrong()}),
        ("clara", {"scores": OPEN, "all_scores": wrong()}),
        ("dora", {"all_scores": RIGHT}),
    )
    assert lines[0] == "01_dot_products"
    rows = rows_of(lines)
    assert rows["anna"] == ["x", "b", "a", "ok", "-"]
    assert rows["bert"] == ["x", "a", "x", "?", "-"]
    assert rows["clara"] == ["..", "x", "?", "-"]
    assert rows["dora"] == ["-", "ok", "-"]
    assert "a = often" in lines and "b = a rare one" in lines
    assert "  scores: often, 2 of 3" in lines
    assert "  all_scores: no cause established, 2 of 4" in lines


def test_mistakes_that_are_equally_common_are_told_as_such():
    runs = [(name, {"softmax": wrong(name)}) for name in "ABC"]
    assert "  softmax: A / B, 1 of 2 each" in report(*runs[:2])
    assert "  softmax: 3 different ones, 1 of 3 each" in report(*runs)


def test_one_row_for_a_student_with_several_notebooks_and_the_best_answer():
    lines = report(
        ("anna", {"softmax": RIGHT, "scores": OPEN}),
        ("anna", {"softmax": wrong("late"), "scores": wrong("loop")}),
    )
    rows = [line.split()[1:] for line in lines if line.startswith("anna ")]
    assert rows == [["x", "a", "-", "-"], ["ok", "-", "-", "-"]]
    assert "late" not in "\n".join(lines)


def test_every_exercise_is_shown_every_line_fits_and_no_student_steers_the_terminal():
    student = "A name that is longer than any column should be_1234567_assignsubmission_file"
    verdicts = {name: wrong(f"\x1b[2J{name} " + "long " * 40) for name in CHECKED}
    verdicts |= {f"\x1b[1m exercise {k}": RIGHT for k in range(30)}
    error = [(1, "ValueError: " + "\x1b[2J\n" * 60)]
    lines = report((student, verdicts), errors=error, failed="took longer")
    assert max(map(len, lines)) <= table.WIDTH
    assert all(line.isprintable() for line in lines)
    # exercises that do not fit beside each other go below
    heads = [line.split() for line in lines if line.startswith(" " * table.LONGEST_NAME)]
    assert len(heads) == sum(line.startswith("A name that is lon..") for line in lines)
    assert sum(heads, []) == [*CHECKED] and len(heads) > len(folders.lessons())


# --- what nobody has named yet ---

# Each answer with those who wrote it, in their own way; most of them have a name, or are right.
BY_SIZE = """
    e = scores.abs()
    return e / e.sum()
---
    total = sum(abs(float(s)) for s in scores)
    return [abs(float(s)) / total for s in scores]
---
    e = (scores.numpy() ** 2) ** 0.5
    return e * (1 / e.sum())
---
    e = torch.maximum(scores, -scores).double()
    return (e / 7) @ torch.eye(len(e)).double() / (e / 7).sum()
"""
BY_HALF = """
    return torch.softmax(scores, 0) / 2 + 0.125
---
    e = torch.exp(scores - scores.max())
    return 0.125 + e / (2 * e.sum())
"""
RAISES = """
    return scores[99]
---
    raise IndexError("another one")
"""
RIGHT_CODE = "\n    return torch.softmax(scores, 0)\n"
TWICE = "\n    return torch.softmax(torch.softmax(scores, 0), 0)\n"
CLASS = {"abs": BY_SIZE, "half": BY_HALF, "raises": RAISES, "stub": "\n    ...\n"}
CLASS |= {f"right{k}": RIGHT_CODE for k in range(9)} | {f"twice{k}": TWICE for k in range(6)}


def fill(folder):
    """A notebook for each answer of CLASS, that of abs0 first; the number of notebooks."""
    notebooks = [
        notebook(
            folder / f"{name}{k if '---' in codes else ''}_02_softmax.ipynb",
            "import torch\nfrom helpers import check",
            f"def my_softmax(scores):{code}",
            'check("softmax", my_softmax)',
        )
        for name, codes in CLASS.items()
        for k, code in enumerate(codes.split("---"))
    ]
    return len(notebooks)


@pytest.fixture
def shown(monkeypatch):
    """What checks show, as in a notebook."""
    data = []
    monkeypatch.setattr(verdict, "get_ipython", lambda: True)
    monkeypatch.setattr(verdict, "display", lambda bundle, raw: data.append(bundle))
    verdict.forget()
    yield data
    verdict.forget()


@pytest.fixture
def told(tmp_path, monkeypatch):
    """told(text): mistakes.toml begins with this."""
    for path in Path(texts.__file__).parent.glob("*.toml"):
        shutil.copy(path, tmp_path)
    ours = (tmp_path / "mistakes.toml").read_text(encoding="utf-8")
    monkeypatch.setattr(texts, "__file__", str(tmp_path / "texts.py"))

    def told(text):
        (tmp_path / "mistakes.toml").write_text(f"{text}\n{ours}", encoding="utf-8")
        texts.contents.cache_clear()

    yield told
    texts.contents.cache_clear()


def table_of_class(folder, shown, monkeypatch, capsys):
    """What the command prints; the cells are run here, since a process for each takes long."""

    def here(paths, seconds):
        for k, path in enumerate(paths):
            shown.clear()
            space = {}
            for source, *_ in code_cells(path):
                exec(source, space)
            found = map(verdict_in, shown)
            yield k, Run({exercise: tuple(map(_tuple, rest)) for exercise, *rest in found})

    monkeypatch.setattr(grade, "run_all", here)
    with contextlib.redirect_stderr(io.StringIO()):
        assert main(["grade", str(folder)]) == 0
    return capsys.readouterr().out.splitlines()


def _tuple(x):
    return tuple(x) if isinstance(x, list) else x


def unnamed_in(lines):
    return [line for line in lines if re.match(r"  softmax.*, \d+ students?: ", line)]


def by_size(scores):
    return scores.abs() / scores.abs().sum()


def test_answers_without_a_name_stand_together_by_their_numbers_until_a_teacher_names_them(
    tmp_path, shown, told, monkeypatch, capsys
):
    """In a class of more than 20; then the next student is told."""
    assert fill(tmp_path / "class") >= 20
    lines = table_of_class(tmp_path / "class", shown, monkeypatch, capsys)
    size, half, raises = unnamed_in(lines)
    assert size.endswith(", 4 students: abs0, abs1, abs2, abs3: the numbers are wrong.")
    assert half.endswith(", 2 students: half0, half1: they do not sum to 1.")
    # Equal errors have many causes, so they have nothing that could be named.
    assert raises == "  softmax, 2 students: raises0, raises1: it raised IndexError."
    before = check("softmax", by_size)
    assert before.mistakes == ()
    answer = re.match(r"  (softmax [0-9a-f]{8}), ", size)[1]
    told(f"""
["sizes in place of exps"]
why = "You took the sizes."
try = "Take exp."
answers = ["{answer}"]
""")
    after = check("softmax", by_size)
    assert (after.passed, after.mistakes) == (False, ("sizes in place of exps",))
    assert after.message.startswith(
        "✘ softmax: sizes in place of exps.\n  You took the sizes. "
        "Your code gives the same numbers as others that were given this name.\n"
    )
    assert "  Try: Take exp." in after.message
    # not what raises, is right, or gives other numbers
    for other in (
        lambda scores: scores[99],
        lambda scores: by_size(scores) + 1e-3,
        lambda scores: scores.softmax(0),
    ):
        assert check("softmax", other).mistakes == ()
    assert "Gone" not in check("softmax", lambda s: s.softmax(0).softmax(0)).message
    lines = table_of_class(tmp_path / "class", shown, monkeypatch, capsys)
    assert unnamed_in(lines) == [half, raises]
    assert any(line.endswith(" = sizes in place of exps") for line in lines)


HEAD = '["of a teacher"]\n'
TEXT = f'{HEAD}try = "Take exp."\n'
NO_NAMES = {
    f'{TEXT}answers = ["softmax 12"]': "'softmax 12', which is not an exercise and 8 digits",
    f'{TEXT}answers = "softmax"': "'softmax', which is not an exercise and 8 digits",
    f"{TEXT}answers = [3]": "has 3, which is not an exercise and 8 digits",
    f'{TEXT}answers = ["soft 0123abcd"]': "'soft 0123abcd', which is not an exercise and",
    f'{HEAD}answers = ["softmax 0123abcd"]': "has no try in words for 'of a teacher'",
    f'{HEAD}answers = ["softmax 0123abcd"]\ntry = 3': "has no try in words for 'of a teacher'",
    f'{TEXT}answers = ["softmax 0123abcd"': "mistakes.toml: ",
    'answers = ["softmax 0123abcd"]': "mistakes.toml: answers stands above the first name.",
}


@pytest.mark.parametrize("entry, sentence", NO_NAMES.items(), ids=range(len(NO_NAMES)))
def test_a_name_that_cannot_be_used_is_one_sentence_for_the_teacher_and_the_student(
    tmp_path, told, capsys, entry, sentence
):
    told(entry)
    assert main(["grade", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("mistakes.toml") and sentence in err and err.count("\n") == 1
    refused = " ".join(check("softmax", by_size).message.split())
    assert refused == f"✘ softmax: it cannot be checked. {err.strip()}"


@pytest.mark.parametrize(
    "unnamed", [[], ["a"], ["0123abcd", "\x1b[2J\nx"], ["x" * 8, ""], ["a"] * 3]
)
def test_what_a_student_shows_as_unnamed_harms_nobody(unnamed):
    lines = report(("anna", {"softmax": (False, (), tuple(unnamed))}))
    assert all(line.isprintable() for line in lines)
    shown = unnamed_in(lines)
    assert len(shown) == (len(unnamed) == 2) and not any("xxx" in line for line in shown)


# --- what is given back ---


CLASS_BACK = (
    ("=1+1", {"softmax": wrong("late"), "repair_weights": RIGHT}),
    ("＝wide", {"softmax": RIGHT}),
    ("Zoë Łukasz", {"softmax": RIGHT, "scores": OPEN}),
    ("annamuster_LATE_4711_815", {"scores": RIGHT}),
    ("明美", {}),
)


@pytest.fixture
def back(tmp_path):
    """The folder with what CLASS_BACK gets."""
    runs = [(name, f"{name}.ipynb", Run(its)) for name, its in CLASS_BACK]
    runs += [("明美", "half.ipynb", Run(failed="an empty file"))]
    hand_back.hand_back(runs, tmp_path / "back")
    return tmp_path / "back"


def csv_of(path):
    text = path.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")  # or Excel takes names for Latin letters
    return list(csv.reader(io.StringIO(text.decode("utf-8-sig"), newline="")))


def test_moodle_gets_a_row_for_each_student_with_the_points_of_each_lesson(back):
    assert csv_of(back / "moodle.csv") == [
        ["Student", "01_dot_products", "02_softmax"],
        ["'=1+1", "-", "1"],  # a text in every program for tables
        ["'＝wide", "-", "1"],
        ["Zoë Łukasz", "0", "1"],
        ["annamuster_LATE_4711_815", "1", "-"],
        ["明美", "-", "-"],
    ]


def test_canvas_gets_its_own_columns_and_the_most_points(back):
    head, most, *rows = csv_of(back / "canvas.csv")
    assert head[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert "Points Possible" in most[0] and most[5:] == ["3", "4"]
    assert ["Zoë Łukasz", "", "", "Zoë Łukasz", "", "0", "1"] in rows
    # the number that Canvas writes into the names of files
    assert ["annamuster_LATE_4711_815", "4711", "", "", "", "1", ""] in rows


def test_json_has_what_the_table_says(back):
    first, *_, last = json.loads((back / "points.json").read_text(encoding="utf-8"))
    assert first["student"] == "=1+1" and first["points"]["02_softmax"] == {"points": 1, "of": 4}
    assert first["exercises"]["softmax"] == {"passed": False, "mistakes": ["late"]}
    assert last["student"] == "明美" and last["points"]["01_dot_products"] is None


def test_each_student_gets_a_page_also_those_whose_names_a_disk_takes_for_one(tmp_path, back):
    pages = sorted((back / "feedback").iterdir())
    assert len(pages) == len(CLASS_BACK)
    assert "not run to its end: an empty file" in pages[-1].read_text(encoding="utf-8")
    twins = [(name, "a.ipynb", Run({"softmax": RIGHT})) for name in ("a/b", "a:b", "A:B", "con")]
    half = Run({"softmax": (False, (), ())}, {"softmax": "\ud83d"})  # of a pair of code units
    hand_back.hand_back([*twins, ("<b>&", "a.ipynb", half)], tmp_path / "twins")
    pages = sorted((tmp_path / "twins" / "feedback").iterdir())
    assert len({path.name.casefold() for path in pages}) == 5
    assert all(re.match(r"\d+_[^<>:/]*\.html$", path.name) for path in pages)
    assert "<b>&<" not in pages[-1].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["scores", "context_vector", "linear", "SelfAttention"])
def test_feedback_shows_the_students_numbers_and_no_right_one(name, shown):
    """Of the mistakes that the exercise knows; and what is asked, without what is folded."""
    asked = hand_back.asked_in_lessons()
    tables = 0
    for mistake in CHECKED[name].all_mistakes[:9]:
        shown.clear()
        found = check(name, next(CHECKED[name].answers(mistake)))
        said = {name: shown[0]["text/plain"]}
        page = html.unescape(hand_back.feedback("anna", {name: (False, ())}, said, asked, ""))
        assert found.said.advice[:20] in " ".join(page.split())
        assert not re.search("<details>|Solution|Hint|lies between", page)
        for first, *cells in found.said.table.rows if found.said.table else ():
            told = re.search(rf"{re.escape(first)} +{re.escape(cells[0].removesuffix(','))}", page)
            assert bool(told) == (first not in ("right", "before")), page
            assert not any(cell.startswith("right") and cell in page for cell in cells)
            tables += 1
    assert tables


def test_nothing_is_written_where_it_may_overwrite_or_into_the_class(tmp_path, capsys):
    folder = notebook(tmp_path / "class" / "a.ipynb").parent
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    for out, sentence in (
        (folder / "back", "Nothing is written into"),
        (tmp_path / "full", "nothing is overwritten"),
        (folder / ".." / "class" / "back", "Nothing is written into"),
    ):
        assert main(["grade", str(folder), "--out", str(out)]) == 2
        shown = capsys.readouterr()
        assert sentence in shown.err and not shown.out


# --- the cells that a check needs ---

CELLS = {
    "import torch; from helpers import check\nx = 1": True,
    "print(torch.rand(3), x)": False,
    "def half(a): return a / TWO": True,
    "TWO = 2": True,
    "model = train(x)": False,
    "def own(a): return half(a)": True,
    "TWOS = [TWO]\nTWOS.append(3)": True,  # it mentions what the answer uses: it may change it
    "torch.set_default_dtype(torch.float64)": True,
    "torch.relu = None": True,
    "def sets():\n    global TWO\n    TWO = 3": True,
    "sets()": True,
    "broken(": True,
    'check("softmax", own)': True,
    "after = TWO": False,
}


def test_what_a_student_wrote_is_always_run(tmp_path):
    """What it does to others its names do not tell: here an optimiser changes a number."""
    first = "import torch\nfrom helpers import check\nscale = torch.ones(1, requires_grad=True)"
    step = "opt = torch.optim.SGD([scale], lr=1.0)\nloss = scale.sum() / 2"
    answer = 'check("softmax", lambda s: s.softmax(0) * scale.item())'
    path = notebook(tmp_path / "a.ipynb", first, step, "loss.backward()", "opt.step()", answer)
    ((_, done),) = run_all([path], 120)
    assert done.verdicts["softmax"][0] is False


def test_only_the_cells_are_run_on_which_a_check_depends():
    cells = [*CELLS]
    assert needed.needed(cells) == {k for k, cell in enumerate(cells) if CELLS[cell]}


@pytest.mark.parametrize(
    "doubt",
    [
        "from helpers import *",
        "from helpers import check as c",
        "judge = check",
        "def test(f): check('softmax', f)",
        "import helpers; helpers.check('softmax', own)",
        "exec('TWO = 3')",
        "globals()['TWO'] = 3",
        "%run other.py",
        "setattr(torch, 'relu', None)",
        "import sys; sys.modules['__main__'].TWO = 3",
    ],
)
def test_in_doubt_every_cell_is_run(doubt):
    cells = [*CELLS, doubt]
    assert needed.needed(cells) == set(range(len(cells)))
    assert needed.needed(["print(1)"]) == {0}  # there is no check at all


def test_a_notebook_is_run_whole_where_a_cell_that_was_left_out_may_be_missing(tmp_path):
    """Here a name is made in a way that the text does not show; and memory ends."""
    hidden = "import sys\ngetattr(sys, 'modul' + 'es')['__main__'].TWO = 2"
    first = "from helpers import check"
    answers = 'def own(s): return s.softmax(0) * TWO / TWO\ncheck("softmax", own)'
    eats = "import numpy\nrows = []\nwhile True:\n    rows.append(numpy.empty(2**23))"
    paths = [
        notebook(tmp_path / "a.ipynb", first, hidden, answers),
        notebook(tmp_path / "b.ipynb", first, eats, 'check("softmax", lambda s: rows)'),
    ]
    runs = dict(run_all(paths, 120))
    assert runs[0].verdicts["softmax"][0] is True
    if sys.platform == "linux":
        (cell, error), *_ = runs[1].errors
        assert cell == 2 and "MemoryError" in error


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.ipynb")
    with pytest.raises(Unusable, match="not an ordinary file"):
        code_cells(tmp_path / "a.ipynb")
