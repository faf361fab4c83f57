"""Promises of the teacher's command: every notebook is run anew and alone, and the table says
what came of it."""

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import psutil
import pytest
from nbformat import v4, write

from helpers.checks import __main__ as command
from helpers.checks.__main__ import SIGNS, WIDTH, find, main, report, student_of
from helpers.checks.exercises import CHECKED, EXERCISES
from helpers.checks.run_notebook import ROOT, Run, Unusable, _read, cells_of, run, verdict_in
from helpers.checks.verdict import MIME

LESSON = "03_context_vectors"
# Stands for check(): what a notebook shows, without importing torch.
SHOW = f"""
from IPython.display import display
def show(exercise, passed, *mistakes):
    found = {{"exercise": exercise, "passed": passed, "mistakes": list(mistakes)}}
    display({{{MIME!r}: found}}, raw=True)
"""
# Says through a verdict which processes there are: the kernel, and a program it started.
PROCESSES = """
import os, subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleep, start_new_session=True)
show("self_attention", False, str(os.getpid()), str(os.getppid()), str(child.pid))
"""
SPY = """
import os, sys
for name in ("left.txt", "../left.txt"):
    open(name, "w").close()
sys.path.append(os.environ["BESIDE"])
import beside  # Python keeps a compiled copy next to it, unless told not to
proxies = [name for name in os.environ if name.lower().endswith("_proxy")]
raise RuntimeError(f"{proxies} {os.environ['STAYS']}")
"""
# As in the first cell of a lesson. A folder called helpers lies beside the notebook, and above.
IMPORTS = """
import sys
sys.path.insert(0, "..")
import helpers
raise RuntimeError(helpers.__file__)
"""
CHECK = """
def my_softmax(x):
    ...
helpers.check("all_scores", lambda inputs: inputs @ inputs.T)
helpers.check("softmax", my_softmax)
"""
FORGED = v4.new_output(
    "display_data",
    data={MIME: {"exercise": "context_vector", "passed": True, "mistakes": []}},
)


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
def home(tmp_path_factory):
    """A folder with the class in it, and another one for what is temporary."""
    home = tmp_path_factory.mktemp("home")
    (home / "temporary").mkdir()
    folder = home / "class"
    notebook(
        folder / "anna" / "Jörg's copy" / f"{LESSON}.ipynb",
        SHOW,
        'show("context_vector", False, "old"); show("context_vector", False, "wrong axis")',
        SPY,
        "1 / 0",
        'show("self_attention", True)',
    )
    (folder / "anna" / "beside.py").write_text("")
    notebook(folder / f"bert_{LESSON}.ipynb", SHOW, 'show("context_vector", None)')
    notebook(folder / "Zoë Łuk.ipynb", SHOW, PROCESSES, "os._exit(0)")
    notebook(folder / "forger.ipynb", "1 + 1", outputs=[FORGED])
    (folder / "damaged.ipynb").write_text('{"cells": [')
    return home


@pytest.fixture(scope="module")
def ran(home):
    """What the command printed for that class: run as a teacher does, with a pipe as on
    Windows, and while another notebook does not end."""
    before = everything(home / "class")
    temporary = str(home / "temporary")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TMPDIR", "TEMP", "TMP"):
            patch.setenv(name, temporary)
        patch.setattr("tempfile.tempdir", temporary)
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
        patch.setenv("no_proxy", "localhost")
        patch.setenv("STAYS", "kept")
        patch.setenv("BESIDE", str(home / "class" / "anna"))
        process = subprocess.Popen(
            [sys.executable, "-m", "helpers.checks", str(home / "class")],
            cwd=ROOT,
            env=os.environ | {"PYTHONIOENCODING": "cp1252"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        forever = "import time\nwhile True: time.sleep(0.01)"
        loop = notebook(home / "loop.ipynb", SHOW, PROCESSES + forever)
        endless = run(loop, MIME, seconds=30)
        out, err = process.communicate(timeout=300)
    return {
        "code": process.returncode,
        "out": out.decode("cp1252"),
        "err": err.decode("cp1252"),
        "before": before,
        "after": everything(home / "class"),
        "endless": endless,
    }


def test_the_table_tells_right_wrong_not_written_and_absent(ran):
    assert ran["code"] == 0, ran["err"]
    lines = ran["out"].splitlines()
    rows = {line.split("  ")[0]: line.split()[1:] for line in lines if line}
    letter = next(line[0] for line in lines if line.endswith(" = wrong axis"))
    assert rows["anna"] == ["x", letter, "ok", "-", "-"]
    assert rows["bert"] == ["..", "-", "-", "-"]
    assert "context_vector: wrong axis, 1 of 2" in ran["out"]


def test_the_last_verdict_of_a_notebook_counts(ran):
    assert "wrong axis" in ran["out"] and "old" not in ran["out"]


def test_a_stored_output_is_not_believed(ran):
    assert "forger.ipynb: no check in it gave a verdict" in ran["out"]
    assert not any(line.startswith("forger ") for line in ran["out"].splitlines())


def test_what_cannot_be_run_is_said_with_its_reason(ran):
    assert "damaged.ipynb: damaged: it is not JSON" in ran["out"]
    died = "Luk.ipynb: the kernel died, in cell [3]; what was checked before counts"
    assert died.replace("Luk", "\\u0141uk") in ran["out"]


def test_a_cell_that_raises_is_named_and_does_not_end_the_notebook(ran):
    assert "cell [3] RuntimeError: [] kept (and 1 more)" in ran["out"]


def test_student_code_sees_no_proxy_and_all_other_variables(ran):
    assert "RuntimeError: [] kept" in ran["out"]


def test_our_own_check_is_imported_and_heard_and_not_what_lies_beside(tmp_path):
    path = notebook(tmp_path / "anna" / "a.ipynb", IMPORTS, CHECK)
    for place in (tmp_path, path.parent):
        (place / "helpers").mkdir()
        (place / "helpers" / "__init__.py").write_text("")
    done = run(path, MIME, seconds=120)
    assert done.errors == [(1, f"RuntimeError: {ROOT / 'helpers' / '__init__.py'}")]
    assert done.verdicts == {"all_scores": (True, ()), "softmax": (None, ())}


def test_nothing_is_written_into_the_folder(ran):
    assert ran["before"] == ran["after"]


def test_nothing_is_left_behind(ran, home):
    assert list((home / "temporary").iterdir()) == []


def test_the_time_limit_is_kept_and_what_was_checked_before_counts(ran):
    endless = ran["endless"]
    assert endless.failed == "took longer than 30 seconds, in cell [2]"
    assert list(endless.verdicts) == ["self_attention"]


def test_no_process_is_left(ran):
    passed, pids = ran["endless"].verdicts["self_attention"]
    assert len(pids) == 3 and not any(map(is_running, pids))
    # The kernel that died, whose number the legend tells, and what it had started.
    told = [line.split(" = ")[1] for line in ran["out"].splitlines() if " = " in line]
    pids = [number for number in told if number.isdigit()]
    assert len(pids) == 3 and not any(map(is_running, pids))


def test_progress_goes_to_stderr(ran):
    assert "1 of 5: anna" in ran["err"] and "of 5" not in ran["out"]


# --- without a kernel ---


@pytest.mark.parametrize(
    "path, student",
    [
        (f"anna/{LESSON}.ipynb", "anna"),
        (f"anna/week 3/handed in/{LESSON}.ipynb", "anna"),
        (f"anna_{LESSON}.ipynb", "anna"),
        (f"{LESSON}_anna.ipynb", "anna"),
        (f"{LESSON.upper()} - Anna Lena.ipynb", "Anna Lena"),
        (f"anna_{LESSON} (2).ipynb", "anna"),
        (f"anna_{LESSON}-Copy1.ipynb", "anna"),
        ("anna.ipynb", "anna"),
        (f"{LESSON}.ipynb", LESSON),
        (unicodedata.normalize("NFD", "Jörg.ipynb"), "Jörg"),
        ("a\x1b[31m\nb.ipynb", "a?[31m b"),
    ],
)
def test_the_student_is_known_from_the_path(path, student):
    assert student_of(Path(path)) == student


def test_copies_that_jupyter_and_a_mac_keep_are_left_out(tmp_path):
    kept = notebook(tmp_path / "anna" / "a b.ipynb")
    notebook(tmp_path / "anna" / ".ipynb_checkpoints" / "a-checkpoint.ipynb")
    notebook(tmp_path / "__MACOSX" / "anna" / "a.ipynb")
    notebook(tmp_path / "anna" / "._a.ipynb")
    (tmp_path / "anna" / "notes.txt").write_text("")
    assert find(tmp_path) == ([("anna", kept)], [])


def linked(link, target):
    try:
        link.symlink_to(target, target_is_directory=target.is_dir())
    except OSError:
        pytest.skip("no right to make links")


def test_a_link_out_of_the_folder_is_named_and_not_followed(tmp_path, capsys):
    folder = tmp_path.resolve() / "class"
    inside = notebook(folder / "anna" / "a.ipynb")
    outside = notebook(tmp_path / "elsewhere" / "b.ipynb")
    linked(folder / "bert.ipynb", outside)
    linked(folder / "clara", outside.parent)
    notebooks, links = find(folder)
    assert notebooks == [("anna", inside)]
    out = "is a link out of the folder: it was not followed."
    assert links == [f"bert.ipynb {out}", f"clara {out}"]
    inside.unlink()
    assert main([str(folder)]) == 2
    assert f"bert.ipynb {out}" in capsys.readouterr().err


def test_no_folder_and_no_notebook_are_one_sentence_and_code_2(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for folder, sentence in (
        (tmp_path / "absent", "does not exist."),
        (tmp_path / "empty", "There is no notebook (.ipynb) to run in"),
        (notebook(tmp_path / "a.ipynb"), "is not a folder."),
    ):
        assert main([str(folder)]) == 2
        shown = capsys.readouterr()
        assert sentence in shown.err and shown.err.count("\n") == 1 and not shown.out


def test_a_folder_with_the_temporary_files_in_it_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command.tempfile, "tempdir", str(tmp_path))
    notebook(tmp_path / "a.ipynb")
    assert main([str(tmp_path)]) == 2
    assert "nothing may be written there" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"", "an empty file"),
        (b'{"cells": [', "damaged: it is not JSON"),
        (b"\xff\xfe\x00", "damaged: it is not text in UTF-8"),
        (b"[" * 100_000, "damaged: it is not JSON"),
        (b"[]", "not a notebook"),
        (b'{"a": 1}', "not a notebook"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [3]}', "not a notebook"),
    ],
)
def test_a_file_that_is_no_notebook_is_told_from_a_damaged_one(tmp_path, content, reason):
    path = tmp_path / "a.ipynb"
    path.write_bytes(content)
    with pytest.raises(Unusable, match=reason):
        cells_of(path)


def test_only_the_code_of_a_notebook_is_taken(tmp_path):
    path = notebook(tmp_path / "a.ipynb", "1", "2", outputs=[FORGED])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as some editors on Windows do
    assert cells_of(path) == ["1", "2"]


@pytest.mark.parametrize(
    "found",
    [
        None,
        [],
        {"exercise": "softmax"},
        {"exercise": 1, "passed": True, "mistakes": []},
        {"exercise": "softmax", "passed": 1, "mistakes": []},
        {"exercise": "softmax", "passed": "yes", "mistakes": []},
        {"exercise": "softmax", "passed": True, "mistakes": "all"},
        {"exercise": "softmax", "passed": True, "mistakes": [1]},
    ],
)
def test_what_no_check_can_show_is_no_verdict(found):
    assert verdict_in({MIME: found}, MIME) is None
    assert verdict_in({}, MIME) is None


def test_a_log_that_a_student_spoilt_or_deleted_harms_nobody(tmp_path):
    log = tmp_path / "log"
    assert _read(log, "") == Run(failed="its process ended")
    log.write_bytes(b'\xff\n{"verdict": ["x", 3, 5]}\n[]\n{"cell": 2}\n{"error": 1}\n{"verd')
    assert _read(log, "") == Run(failed="its process ended, in cell [2]")


def test_the_seconds_are_a_positive_number(capsys):
    for text in ("0", "-1", "inf", "nan", "ten"):
        with pytest.raises(SystemExit) as stopped:
            main(["folder", "--seconds", text])
        assert stopped.value.code == 2 and "invalid seconds value" in capsys.readouterr().err


def shown(verdicts, **more):
    return [(student, f"{student}.ipynb", Run(its, **more)) for student, its in verdicts.items()]


def test_letters_stand_for_the_mistakes_the_most_common_first():
    lines = report(
        shown(
            {
                "anna": {"scores": (False, ("a rare one", "often")), "all_scores": (True, ())},
                "bert": {"scores": (False, ("often",)), "all_scores": (False, ())},
                "clara": {"scores": (None, ()), "all_scores": (False, ())},
                "dora": {"all_scores": (True, ())},
            }
        )
    )
    assert lines[0] == "01_dot_products"
    rows = {line.split()[0]: line.split()[1:] for line in lines if line}
    assert rows["anna"] == ["✘", "b", "a", "✔", "-"]
    assert rows["bert"] == ["✘", "a", "✘", "?", "-"]
    assert rows["clara"] == ["…", "✘", "?", "-"]
    assert rows["dora"] == ["-", "✔", "-"]
    assert "a = often" in lines and "b = a rare one" in lines
    assert "  scores: often, 2 of 3" in lines
    assert "  all_scores: no cause established, 2 of 4" in lines


def test_exercises_that_do_not_fit_beside_each_other_go_below():
    names = [f"exercise_number_{k}" for k in range(12)]
    lines = command.table({"anna": {name: (True, ()) for name in names}}, names, SIGNS)
    heads = [line.split() for line in lines if line.startswith("      exercise")]
    assert len(heads) > 1 and sum(heads, []) == names
    assert max(map(len, lines)) <= WIDTH


def test_mistakes_that_are_equally_common_are_told_as_such():
    wrong = {name: {"softmax": (False, (name,))} for name in "AB"}
    assert "  softmax: A / B, 1 of 2 each" in report(shown(wrong))
    wrong["C"] = {"softmax": (False, ("C",))}
    assert "  softmax: 3 different ones, 1 of 3 each" in report(shown(wrong))


def test_one_row_for_a_student_with_several_notebooks_and_the_best_answer():
    done = [
        ("anna", "1.ipynb", Run({"softmax": (True, ()), "scores": (None, ())})),
        ("anna", "2.ipynb", Run({"softmax": (False, ("late",)), "scores": (False, ("loop",))})),
    ]
    lines = report(done)
    rows = [line.split()[1:] for line in lines if line.startswith("anna ")]
    assert rows == [["✘", "a", "-", "-"], ["✔", "-", "-", "-"]]
    assert "late" not in "\n".join(lines)


def test_every_exercise_belongs_to_a_lesson_in_its_order():
    lessons = command.exercises_by_lesson()
    assert lessons.pop(command.OTHER) == []
    names = [name for names in lessons.values() for name in names]
    assert [name for name in names if name in EXERCISES] == list(EXERCISES)
    assert sorted(names) == sorted(CHECKED)


def test_every_line_fits_and_no_text_of_a_student_steers_the_terminal():
    name = "A name that is longer than any column should be_1234567_assignsubmission_file"
    wrong = {e: (False, (f"\x1b[2J{e} " + "long " * 40,)) for e in EXERCISES}
    wrong |= {f"\x1b[1m exercise {k}": (True, ()) for k in range(30)}
    error = [(1, "ValueError: " + "\x1b[2J\n" * 60)]
    lines = report(shown({name: wrong}, errors=error, failed="took longer"))
    assert max(map(len, lines)) <= WIDTH
    assert all(line.isprintable() for line in lines)
    assert sum(line.startswith("A name that is lon..") for line in lines) >= 6


def test_signs_are_replaced_where_the_encoding_lacks_them():
    assert command._signs("utf-8") == SIGNS
    for encoding in ("cp1252", "ascii", None):
        "".join(command._signs(encoding).values()).encode("ascii")
