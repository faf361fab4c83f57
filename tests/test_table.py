"""Promises of the table of a class, of names that a teacher gives, and of what is given back."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from wcwidth import wcswidth

from helpers import check
from helpers.checks import texts
from helpers.checks.exercises import CHECKED
from helpers.classroom import hand_back, table
from helpers.classroom.__main__ import main
from helpers.classroom.folder import lessons
from helpers.classroom.read_notebook import Answer
from helpers.classroom.run_notebook import Run


def report(*runs, **more):
    """Lines for the runs, each (student, {exercise: Answer})."""
    return table.report([(name, f"{name}.ipynb", Run(its, **more)) for name, its in runs])


def wrong(*mistakes):
    return Answer(False, mistakes)


def rows_of(lines):
    """First word of a line -> the words after it."""
    return {line.split()[0]: line.split()[1:] for line in lines if line}


RIGHT, OPEN = Answer(True), Answer(None)


def test_numbers_stand_for_the_mistakes_the_most_common_first():
    lines = report(
        ("anna", {"scores": wrong("a rare one", "often"), "all_scores": RIGHT}),
        ("bert", {"scores": wrong("often"), "all_scores": wrong()}),
        ("clara", {"scores": OPEN, "all_scores": wrong()}),
        ("dora", {"all_scores": RIGHT}),
    )
    assert lines[0] == "01_dot_products"
    rows = rows_of(lines)
    assert rows["anna"] == ["x", "2", "1", "ok", "-"]
    assert rows["bert"] == ["x", "1", "x", "?", "-"]
    assert rows["clara"] == ["..", "x", "?", "-"]
    assert rows["dora"] == ["-", "ok", "-"]
    assert "1 = often" in lines and "2 = a rare one" in lines
    assert "  scores: often, 2 of 3" in lines
    assert "  all_scores: without a name, 2 of 4" in lines


def test_mistakes_that_are_equally_common_are_told_as_such():
    assert "  softmax: A / B, 1 of 2 each" in report(*((x, {"softmax": wrong(x)}) for x in "AB"))


def test_one_row_for_a_student_with_several_notebooks_and_the_best_answer():
    lines = report(
        ("anna", {"softmax": RIGHT, "scores": OPEN}),
        ("anna", {"softmax": wrong("late"), "scores": wrong("loop")}),
    )
    rows = [line.split()[1:] for line in lines if line.startswith("anna ")]
    assert rows == [["x", "1", "-", "-"], ["ok", "-", "-", "-"]]
    assert "late" not in "\n".join(lines)
    assert lines[lines.index(table.DOUBLED) + 1] == "  anna: anna.ipynb, anna.ipynb"


def test_every_exercise_is_shown_every_line_fits_and_no_student_steers_the_terminal():
    student = "A name that is longer than any column should be_1234567_assignsubmission_file"
    verdicts = {name: wrong(f"\x1b[2J{name} " + "long " * 40) for name in CHECKED}
    error = [(1, "ValueError: " + "\x1b[2J\n" * 60)]
    lines = report((student, verdicts), ("明美", verdicts), errors=error, failed="took longer")
    assert max(map(len, lines)) <= table.WIDTH
    assert all(line.isprintable() for line in lines)
    # exercises that do not fit beside each other go below
    heads = [line.split() for line in lines if line.startswith(" " * table.LONGEST_NAME)]
    rows = [line for line in lines if line.startswith("A name that is lon..")]
    assert sum(heads, []) == [*CHECKED] and len(heads) == len(rows) > len(lessons())
    # under each other also where a letter is two columns wide
    wide = [line[: line.index("x ")] for line in lines if line.startswith("明美 ")]
    assert {*map(wcswidth, wide)} == {rows[0].index("x ")}


@pytest.mark.parametrize(
    "unnamed", [[], ["a"], ["0123abcd", "\x1b[2J\nx"], ["x" * 8, ""], ["a"] * 3]
)
def test_what_a_student_shows_as_unnamed_harms_nobody(unnamed):
    lines = report(("anna", {"softmax": Answer(False, (), tuple(unnamed))}))
    assert all(line.isprintable() for line in lines)
    shown = [line for line in lines if re.match(r"  softmax.*, 1 student: ", line)]
    assert len(shown) == (len(unnamed) == 2) and not any("xxx" in line for line in shown)


# --- what nobody has named yet ---


def by_size(scores):
    return scores.abs() / scores.abs().sum()


def by_size_too(scores):
    total = sum(abs(float(s)) for s in scores)
    return [abs(float(s)) / total for s in scores]


def by_half(scores):
    return scores.softmax(0) / 2 + 0.125


def raises(scores):
    return scores[99]


def raises_too(scores):
    raise IndexError("another one")


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


def test_answers_without_a_name_stand_together_until_a_teacher_names_them(told):
    """Then the next student is told."""
    answers = {}
    for answer in (by_size, by_size_too, by_half, raises, raises_too):
        found = check("softmax", answer)
        answers[answer.__name__] = {"softmax": Answer(found.passed, found.mistakes, found.unnamed)}
    lines = report(*answers.items())
    first = lines.index(table.UNNAMED) + 1
    # Equal errors have many causes, so they have nothing that could be named.
    assert lines[first + 1] == "  softmax, 2 students: raises, raises_too: it raised IndexError."
    assert re.fullmatch(r"  softmax [0-9a-f]{8}, 1 student: by_half: .*", lines[first + 2])
    print_of = r"  (softmax [0-9a-f]{8}), 2 students: by_size, by_size_too: the numbers are wrong\."
    name = re.fullmatch(print_of, lines[first])[1]
    text = '["sizes"]\nwhy = "You took the sizes."\ntry = "Take exp."\n'
    told(f'{text}answers = ["{name}"]\n')
    after = check("softmax", by_size)
    assert (after.passed, after.mistakes) == (False, ("sizes",))
    assert after.message.startswith(
        "✘ softmax: sizes.\n  You took the sizes. "
        "Your code gives the same numbers as others that were given this name.\n"
    )
    assert "  Try: Take exp." in after.message
    # not what raises, is right, or gives other numbers
    for other in (raises, by_half, lambda scores: scores.softmax(0)):
        assert check("softmax", other).mistakes == ()


HEAD = '["of a teacher"]\n'
TEXT = f'{HEAD}try = "Take exp."\n'
NO_NAMES = {
    f'{TEXT}answers = ["softmax 12"]': "'softmax 12', which is not an exercise and 8 digits",
    f'{TEXT}answers = "softmax"': "'softmax', which is not an exercise and 8 digits",
    f'{TEXT}answers = ["soft 0123abcd"]': "'soft 0123abcd', which is not an exercise and",
    f'{HEAD}answers = ["softmax 0123abcd"]': "has no try in words for 'of a teacher'",
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


# --- what is given back ---

SAID = Answer(False, ("late",), (), "✘ softmax: late.\n  Try: \ud83d")  # half a pair of code units
CLASS_BACK = (
    ("=1+1", {"softmax": SAID, "repair_weights": RIGHT}),
    ("＝wide", {"softmax": RIGHT}),
    ("Zoë Łukasz", {"softmax": RIGHT, "scores": OPEN}),
    ("annamuster_LATE_4711_815", {"scores": RIGHT}),
    ("a/b", {}),
    ("A:B", {}),
)


@pytest.fixture
def back(tmp_path):
    """The folder with what CLASS_BACK gets."""
    runs = [(name, f"{name}.ipynb", Run(its)) for name, its in CLASS_BACK]
    runs += [("A:B", "half.ipynb", Run(failed="an empty file"))]
    hand_back.hand_back(runs, tmp_path)
    return tmp_path


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
        ["a/b", "-", "-"],
        ["A:B", "-", "-"],
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
    assert last["student"] == "A:B" and last["points"]["01_dot_products"] is None


def test_each_student_gets_a_page_also_those_whose_names_a_disk_takes_for_one(back):
    pages = sorted((back / "feedback").iterdir())
    assert len({path.name.casefold() for path in pages}) == len(CLASS_BACK)
    assert all(re.match(r"\d+_[^<>:/]*\.txt$", path.name) for path in pages)
    first, *_, last = (path.read_text(encoding="utf-8") for path in pages)
    assert "02_softmax: 1 of 4 right" in first and "✘ softmax: late.\n  Try: ?" in first
    assert "not run to its end: an empty file" in last
