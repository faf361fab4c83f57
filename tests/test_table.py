"""The table of a class, the names that a teacher gives to answers, and the points."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from helpers import check
from helpers.checks import texts
from helpers.classroom import table
from helpers.classroom.__main__ import main
from helpers.classroom.points import write_points
from helpers.classroom.read_notebook import Answer, Notebook

RIGHT, OPEN = Answer(True), Answer(None)


def runs_of(*answers):
    """Return runs of the table, one for each (student, {exercise: Answer})."""
    return [(name, f"{name}.ipynb", Notebook(verdicts=its)) for name, its in answers]


def report(*answers):
    return table.report(runs_of(*answers))


def wrong(*mistakes):
    return Answer(False, mistakes)


def rows_of(lines):
    """Return {first word of a line: the words after it}."""
    return {line.split()[0]: line.split()[1:] for line in lines if line}


def test_numbers_stand_for_the_mistakes_the_most_common_first():
    lines = report(
        ("anna", {"scores": wrong("a rare one", "often"), "all_scores": RIGHT}),
        ("bert", {"scores": wrong("often", "often"), "all_scores": wrong()}),
        ("clara", {"scores": OPEN, "all_scores": wrong("often")}),
        ("anna", {"all_scores": wrong("late"), "scores": OPEN}),  # the best attempt counts
    )
    assert lines[0] == "01_dot_products"
    rows = rows_of(lines)
    assert rows["anna"] == ["x", "2", "1", "ok", "-"]
    assert rows["bert"] == ["x", "1", "x", "?", "-"]
    assert rows["clara"] == ["..", "x", "1", "-"]
    first = lines.index("Mistakes, and how many students made them") + 1
    assert lines[first : first + 3] == [
        "  1 = often: scores 2, all_scores 1",
        "  2 = a rare one: scores 1",
        "  ? = wrong, without a name: all_scores 1",
    ]
    (head,) = (line for line in lines if line.split()[:1] == ["scores"])
    anna, bert = (line for line in lines if line.startswith(("anna ", "bert ")))
    assert head.index("scores") == anna.index("x") == bert.index("x")


def test_what_a_student_shows_as_unnamed_harms_nobody():
    for unnamed in ((), ("a",), ("x" * 8, ""), ("a",) * 3):
        lines = report(("anna", {"softmax": Answer(False, (), unnamed)}))
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
    """Yield told(text), which puts this text at the beginning of mistakes.toml."""
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
    """Once they are named, the next student is told."""
    answers = {}
    for answer in (by_size, by_size_too, by_half, raises, raises_too):
        found = check("softmax", answer)
        answers[answer.__name__] = {"softmax": Answer(found.passed, found.mistakes, found.unnamed)}
    lines = report(*answers.items())
    first = lines.index(table.UNNAMED) + 1
    assert re.fullmatch(r"  softmax [0-9a-f]{8}, 1 student: by_half: .*", lines[first + 1])
    # Equal errors have many causes, so they get nothing that a teacher could name.
    assert lines[first + 2] == "  softmax, 2 students: raises, raises_too: it raised IndexError."
    print_of = r"  (softmax [0-9a-f]{8}), 2 students: by_size, by_size_too: divided by the sum\."
    name = re.fullmatch(print_of, lines[first])[1]
    text = '["sizes"]\nwhy = "You took the sizes."\ntry = "Take exp."\n'
    told(f'{text}answers = ["{name}"]\n')
    after = check("softmax", by_size)
    assert (after.passed, after.mistakes) == (False, ("sizes",))
    assert "same numbers as other answers that were given this name" in after.message
    # the name is for no answer that raises, is right, or gives other numbers
    for other in (raises, by_half, lambda scores: scores.softmax(0)):
        assert check("softmax", other).mistakes == ()


HEAD = '["of a teacher"]\n'
TEXT = f'{HEAD}try = "Take exp."\n'
NO_NAMES = {
    f'{TEXT}answers = ["softmax 12"]': "'softmax 12', which is not an exercise and 8 digits",
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


# --- points ---


def csv_of(path):
    """Read the rows of a CSV file, which needs its BOM, or Excel reads names as Latin letters."""
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_points_are_what_moodle_and_canvas_import(tmp_path):
    late = wrong("late \ud83d")  # half of a surrogate pair
    runs = runs_of(
        ("=1+1", {"softmax": late, "repair_weights": RIGHT}),
        ("Zoë Łukasz", {"softmax": RIGHT, "scores": OPEN}),
        ("annamuster_LATE_4711_815", {"scores": RIGHT}),
        ("nothing", {}),
    )
    write_points(table.best(runs), tmp_path)
    assert csv_of(tmp_path / "moodle.csv") == [
        ["Student", "01_dot_products", "02_softmax"],
        ["'=1+1", "-", "1"],  # every spreadsheet program reads it as text
        ["Zoë Łukasz", "0", "1"],
        ["annamuster_LATE_4711_815", "1", "-"],
        ["nothing", "-", "-"],
    ]
    head, most, *rows = csv_of(tmp_path / "canvas.csv")
    assert head[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert "Points Possible" in most[0] and most[5:] == ["3", "4"]
    assert ["Zoë Łukasz", "", "", "Zoë Łukasz", "", "0", "1"] in rows
    # the number is the one that Canvas writes into the names of files
    assert ["annamuster_LATE_4711_815", "4711", "", "", "", "1", ""] in rows
    first, *_, last = json.loads((tmp_path / "points.json").read_text(encoding="utf-8"))
    assert first["student"] == "=1+1" and first["points"]["02_softmax"] == 1
    assert first["exercises"]["softmax"] == {"passed": False, "mistakes": [*late.mistakes]}
    assert last["student"] == "nothing" and last["points"]["01_dot_products"] is None
