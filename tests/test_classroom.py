"""grade runs every notebook anew and alone, whatever the others contain, and reports what came of
it."""

import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from nbformat import v4, write

from helpers.checks.verdict import MIME
from helpers.classroom import folder as folders
from helpers.classroom.__main__ import main
from helpers.classroom.folder import ROOT
from helpers.classroom.read_notebook import Answer, read, strange, verdict_in
from helpers.classroom.run_notebook import run, run_all

LESSON = "03_context_vectors"
# Stands in for check(): shows what a notebook shows, without importing torch.
SHOW = f"""
from IPython.display import display
def show(exercise, passed, *mistakes):
    found = {{"exercise": exercise, "passed": passed, "mistakes": list(mistakes)}}
    display({{{MIME!r}: found}}, raw=True)
"""
# Reports its processes in a verdict: the kernel, its copy, a program that it started.
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
# As in a lesson, but a folder called helpers is next to the notebook, and also above it.
LIKE_A_LESSON = """
import sys
sys.path.insert(0, "..")
from helpers import check
check("softmax", lambda x: x.softmax(-1))
check("scores", lambda inputs, i: inputs @ inputs[i] + 0.3)
"""
FOUND = {"exercise": "context_vector", "passed": True, "mistakes": ["late"]}
FORGED = v4.new_output("display_data", data={MIME: FOUND})


def notebook(path, *cells, outputs=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    made = [v4.new_code_cell(cell, outputs=list(outputs)) for cell in cells]
    write(v4.new_notebook(cells=made), path)
    return path


def everything(folder):
    """Return {path: (bytes, time of change)}, also of folders."""
    return {
        path: (path.read_bytes() if path.is_file() else None, path.stat().st_mtime_ns)
        for path in [folder, *folder.rglob("*")]
    }


def is_running(pid):
    try:
        return psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def grade(*arguments, **environment):
    """Run the command as a teacher does, with a pipe as on Windows; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "helpers.classroom", "grade", *map(str, arguments)],
        cwd=ROOT, capture_output=True, encoding="cp1252", timeout=500,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"} | environment,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if line}
    return SimpleNamespace(out=done.stdout, err=done.stderr, lines=lines, rows=rows)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Return what the command printed for a class. Temporary files are outside the class."""
    home = tmp_path_factory.mktemp("home")
    folder, temporary = home / "class", home / "temporary"
    temporary.mkdir()
    notebook(
        folder / "anna" / "Jörg's copy" / f"{LESSON}.ipynb",
        SHOW,
        'show("context_vector", False, "old"); show("context_vector", False, "wrong axis")',
        SPY,
        "1 / 0",
        'show("self_attention", True); show("self_attention", False, "later")',
    )
    (folder / "anna" / "beside.py").write_text("")
    bert = notebook(folder / f"bert_{LESSON}.ipynb", SHOW, 'show("context_vector", None)')
    bert.write_bytes(b"\xef\xbb\xbf" + bert.read_bytes())  # as some editors on Windows do
    notebook(folder / f"bert_{LESSON} (1).ipynb", SHOW, 'show("context_vector", False)')
    notebook(folder / "clara" / "a.ipynb", LIKE_A_LESSON)
    for place in (folder, folder / "clara"):
        (place / "helpers").mkdir()
        (place / "helpers" / "__init__.py").write_text("")
    notebook(folder / "Zoë Łuk.ipynb", SHOW, PROCESSES, "os._exit(0)")
    notebook(folder / "forger.ipynb", "1 + 1", outputs=[FORGED])
    (folder / "damaged.ipynb").write_text('{"cells": [')
    (folder / "emil.zip").write_text("")
    # copies that Jupyter and a Mac keep
    for copy in ("anna/.ipynb_checkpoints/a-checkpoint", "__MACOSX/anna/a", "anna/._a"):
        notebook(folder / f"{copy}.ipynb", SHOW, 'show("context_vector", True)')
    before = everything(folder)
    settings = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    settings |= {
        "HTTPS_PROXY": "localhost",
        "no_proxy": "localhost",
        "BESIDE": str(folder / "anna"),
    }
    done = grade(folder, PYTHONDONTWRITEBYTECODE="", **settings)
    done.untouched, done.temporary = everything(folder) == before, [*temporary.iterdir()]
    return done


def test_the_table_tells_the_best_attempt_and_of_equal_ones_the_last(ran):
    number = next(line.split()[0] for line in ran.lines if " = wrong axis" in line)
    assert ran.rows["anna"] == ["x", number, "-", "ok", "-"]
    assert ran.rows["bert"] == ["x", "?", "-", "-", "-"]  # in two notebooks
    assert " = old" not in ran.out
    # progress goes to stderr; hidden copies do not count
    assert re.search(r"\d of 6: anna", ran.err) and "of 6" not in ran.out


def test_a_stored_output_is_not_believed(ran):
    assert "forger.ipynb: none of its checks gave a verdict" in ran.out
    assert "forger" not in ran.rows


def test_every_file_that_was_not_run_is_listed(ran):
    assert r"\u0141uk.ipynb: its process ended" in ran.out
    assert "damaged.ipynb: damaged: it is not JSON" in ran.out
    others = ran.lines[ran.lines.index("Files that are not notebooks") + 1 :]
    expected = ["anna: beside.py", "clara/helpers: __init__.py", "emil.zip", "helpers: __init__.py"]
    assert others == [*(f"  {line}" for line in expected), ""]


def test_a_cell_that_raises_is_named_and_sees_no_proxy(ran):
    assert "cell [3] RuntimeError: []\n" in ran.out


def test_our_own_check_is_imported_and_heard_and_not_what_lies_beside(ran):
    assert ran.rows["clara"] == ["ok", "-", "-", "-"]
    alone = r"  scores [0-9a-f]{8}, 1 student: clara: .+"
    assert any(re.fullmatch(alone, line) for line in ran.lines)


def test_nothing_is_written_into_the_folder_and_no_file_and_no_process_is_left(ran):
    assert ran.untouched and ran.temporary == []
    # Processes of the notebook that died, whose numbers the legend shows, and what it had started.
    died = [line.split(" = ")[1].split(":")[0] for line in ran.lines if " = " in line]
    died = [number for number in died if number.isdigit()]
    assert len(died) == 3 and not any(map(is_running, died))


HOSTILE = {
    "deletes": "import shutil; shutil.rmtree({folder!r})",
    "installs": """
import subprocess, sys
pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
for command in (["install", "--dry-run", "--no-index", "pip"], ["uninstall", "--yes", "unwanted"]):
    assert subprocess.run([*pip, *command]).returncode""",
    "kills": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "waits": "import time; time.sleep(600)",
}


def test_the_class_is_graded_whatever_one_submission_does(tmp_path):
    """Its neighbours' files were read before; it can't install anything, and ends only itself."""
    folder = tmp_path / "class"
    right = "show('softmax', True)"
    for name, code in HOSTILE.items():
        notebook(folder / name / "a.ipynb", SHOW, right, code.format(folder=str(folder)))
    notebook(folder / "zoe" / "z.ipynb", SHOW, right)
    done = grade(folder, "--cell-seconds", 10)
    assert not folder.exists()
    assert [done.rows[name][0] for name in (*HOSTILE, "zoe")] == ["ok"] * 5
    assert "installs/a.ipynb" not in done.out[: done.out.index("Check these")]
    assert "waits/a.ipynb: cell [3] took longer than 10 seconds and was interrupted" in done.out
    assert "kills/a.ipynb: its process ended" in done.out


def test_an_endless_cell_is_interrupted_and_an_endless_notebook_ended():
    endless = PROCESSES + "while True:\n    try: time.sleep(9)\n    except BaseException: pass"
    cells = [SHOW, "while True: print('x' * 1000)", 'show("softmax", True)']
    for seconds in (20, 120):  # the second is for a busy machine
        runs = dict(run_all({0: cells, 1: [SHOW, endless]}, seconds, 4))
        if runs[0].verdicts and runs[1].verdicts:
            break
    assert runs[0].errors == [(2, "took longer than 4 seconds and was interrupted")]
    assert runs[0].verdicts == {"softmax": Answer(True, at=3)} and not runs[0].failed
    assert runs[1].failed == f"took longer than {seconds} seconds"
    pids = runs[1].verdicts["self_attention"].mistakes
    assert len(pids) == 3 and not any(map(is_running, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no limit of memory")
def test_a_cell_that_wants_all_memory_gets_an_error():
    cells = [SHOW, "import numpy\nnumpy.ones(2**28)", 'show("softmax", True)']
    done = run(cells, 300, 100, 2**30)
    (cell, error), *_ = done.errors
    assert cell == 2 and "MemoryError" in error and done.verdicts["softmax"].passed


# --- without running a notebook ---

STRANGE = {
    "from helpers import check, guard": True,
    "import sys; sys.modules['helpers']": True,
    "check = print": True,
    "x.__class__ = Verdict": True,
    f"display({{{MIME!r}: 1}})": True,
    "exec('1')": True,
    "model.eval()\nok = check('softmax', my_softmax) == True": False,
    "from helpers import check, explore": False,
    "super().__init__()\nmy_check = 3": False,
}


def test_a_notebook_that_names_what_no_exercise_needs_is_listed():
    assert {source: strange(["1", source])[:10] == "cell [2]: " for source in STRANGE} == STRANGE
    for path in folders.lessons():  # no lesson is listed
        sources = read(path).sources
        assert not strange(sources) and not strange([f"{source}\n" for source in sources])


STUDENTS = {
    f"anna/week 3/handed in/{LESSON}.ipynb": "anna",
    f"anna_{LESSON}.ipynb": "anna",
    f"{LESSON}_anna.ipynb": "anna",
    f"{LESSON.upper()} - Anna Lena.ipynb": "Anna Lena",
    f"anna_{LESSON} (2).ipynb": "anna",
    f"anna_{LESSON}-Copy1.ipynb": "anna",
    f"{LESSON}.ipynb": LESSON,
    unicodedata.normalize("NFD", "Jörg\x1b[31m\nb.ipynb"): "Jörg?[31m b",
}


def test_the_student_is_known_from_the_path():
    assert {path: folders.student_of(Path(path)) for path in STUDENTS} == STUDENTS


def test_a_link_is_named_and_not_followed(tmp_path):
    folder = tmp_path.resolve() / "class"
    inside = notebook(folder / "anna" / "a.ipynb")
    outside = notebook(tmp_path / "elsewhere" / "b.ipynb")
    try:
        (folder / "bert.ipynb").symlink_to(outside)
        (folder / "clara").symlink_to(outside.parent, target_is_directory=True)
    except OSError:
        pytest.skip("no right to make links")
    left_out = [f"{folder / n} is a link and was not followed." for n in ("bert.ipynb", "clara")]
    assert folders.find(folder) == ([("anna", inside)], left_out, [])


def test_a_folder_that_cannot_be_used_is_one_sentence_and_code_2(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    folder = notebook(tmp_path / "class" / "a.ipynb").parent
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    for arguments, sentence in (
        ([tmp_path / "absent"], "absent cannot be read: "),
        ([tmp_path / "empty"], "There is no notebook (.ipynb) to run in"),
        ([notebook(tmp_path / "a.ipynb")], "a.ipynb cannot be read: "),
        ([folder, "--out", folder / ".." / "class" / "back"], "choose a folder outside it"),
        ([folder, "--out", tmp_path / "full"], "nothing is overwritten"),
        ([folder, "--cell-seconds", 0], "1 or more is expected"),
    ):
        assert main(["grade", *map(str, arguments)]) == 2
        shown = capsys.readouterr()
        assert sentence in shown.err and shown.err.count("\n") == 1 and not shown.out.strip()


FILES = {
    b"": "an empty file",
    b"[" * 100_000: "damaged: it is not JSON",
    b"\xff\xfe\x00": "damaged: it is not text in UTF-8",
    b"[]": "not a notebook",
    b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [3]}': "not a notebook",
}


def test_a_file_that_is_no_notebook_is_told_from_a_damaged_one(tmp_path):
    path = tmp_path / "a.ipynb"
    for content, reason in FILES.items():
        path.write_bytes(content)
        assert read(path).failed == reason
    if hasattr(os, "mkfifo"):  # reading must not wait for a pipe
        os.mkfifo(tmp_path / "b.ipynb")
        assert read(tmp_path / "b.ipynb").failed == "not an ordinary file"


def test_what_no_check_can_show_is_no_verdict():
    assert verdict_in({MIME: FOUND}) == ("context_vector", Answer(True, ("late",)))
    for key in FOUND:
        spoilt = FOUND | {key: [1]}
        for data in ({MIME: spoilt}, {MIME: [FOUND]}, {}):
            assert verdict_in(data) is None


def test_code_to_repair_that_is_as_it_was_handed_out_is_not_yet_an_answer():
    lesson = read(folders.lessons()[1])
    assert lesson.verdicts["repair_weights"].passed is None
