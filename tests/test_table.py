"""The table of a class, and the points."""

import csv
import json

from helpers.classroom import table
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
