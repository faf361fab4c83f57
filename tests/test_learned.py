"""Lessons 11 to 15: every number in a text is that of its cell. Lessons 13 to 15: the recorded
training equals what the code gives, and can be used instead of it; a student's own code changes the
answers of a trained model; lesson 15 takes lesson 14's."""

import contextlib
import io
import re

import nbformat
import pytest
import torch
from execute import NOTEBOOKS
from learned_figures import LESSON, SECOND
from replay import code_cells, committed, replay, run, solutions

from helpers.lessons.lesson_09.marks import train_reader
from helpers.lessons.lesson_13.snapshots import load_training
from helpers.lessons.lesson_15 import small
from helpers.lessons.training import counted

# With this parameter they run with the other tests that replay the lesson, see conftest.py.
of_the_lesson = pytest.mark.parametrize("path", [LESSON], ids=lambda path: path.stem)
TOLERANCE = 0.001  # of every number; four decimals are recorded


@of_the_lesson
def test_the_recorded_training_is_what_the_code_produces(path):
    names = dict(replay(path)[0])
    for cell in code_cells(path):
        if re.search("def train|RECORDED = False", cell.source):  # replay cuts it to one step
            run(cell.source, names)
    trained, recorded = names["history"], load_training()
    assert [one.step for one in trained] == [one.step for one in recorded]
    assert len(trained) == 12
    for mine, theirs in zip(trained, recorded, strict=True):
        assert mine.loss == pytest.approx(theirs.loss, abs=TOLERANCE)
        torch.testing.assert_close(mine.state, theirs.state, atol=TOLERANCE, rtol=0)


@of_the_lesson
def test_a_class_can_load_the_training_in_place_of_training(path):
    (source,) = [c.source for c in code_cells(path) if "RECORDED = False" in c.source]
    names = dict(replay(path)[0])

    def no_training(*args, **kwargs):
        raise AssertionError("it trains")

    names["train"] = no_training
    with pytest.raises(AssertionError):
        run(source, dict(names))
    run(source.replace("RECORDED = False", "RECORDED = True"), names)
    test = names["test"]
    assert names["right"](names["model"], test, test.answer) > 0.99
    assert names["looks"](names["model"], test, test.antecedent) > 0.95
    assert len(names["history"]) == 12


NOTHING = "Your function returns nothing yet.\n"
CHANGED = [  # a student's function, what its cell prints without it, and with it
    (LESSON, "my_exchange", NOTHING, "grey\nright 0.00, the other colour 1.00\n"),
    (LESSON, "my_erase", NOTHING, "grey\nright 0.06, the other colour 0.61\n"),
]


@pytest.mark.parametrize(
    "path, name, without, solved", CHANGED, ids=lambda x: getattr(x, "stem", x)
)
def test_a_students_own_code_changes_what_a_trained_model_answers(path, name, without, solved):
    names = dict(replay(path)[0])
    (cell,) = [
        c.source for c in code_cells(path) if f"{name}(" in c.source and "check(" not in c.source
    ]
    (answer,) = [code for code in solutions(path) if f"def {name}(" in code]
    for code, expected in (("", without), (answer.split("\ncheck(")[0], solved)):
        exec(code, names)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            run(cell, names)
        assert printed.getvalue().endswith(expected)


@pytest.mark.parametrize("path", [SECOND], ids=lambda path: path.stem)
def test_the_models_of_lesson_15_are_those_that_lesson_14_trains(path, monkeypatch):
    """Otherwise what lesson 15 says of them would not be about the pictures of lesson 14."""
    monkeypatch.chdir(path.parent)
    names, wanted = {}, r"^import sys|^class (Attention|Model)|^language|^letters|def (train|at_)"
    for cell in code_cells(path):
        if re.search(wanted, cell.source, re.M):
            run(cell.source, names)
    words, sentence = torch.tensor([2, 0, 1, 5, 4, 3, 2, 0]), names["test_words"][0]
    of_words = dict(answers=8, vocabulary=38, length=10)
    of_letters = dict(answers=16, vocabulary=16, length=16, causal=True)
    for draw, kind, theirs, x in (
        (names["draw_apart"], of_words, small.trained_reader(2, steps=3), sentence),
        (names["draw_strings"], of_letters, small.trained_copier(2, steps=3), words),
    ):
        with contextlib.redirect_stdout(io.StringIO()):
            mine = names["new_model"](2, **kind)
            names["train"](mine, draw, 2, steps=3)
        torch.testing.assert_close(mine(x[None])[0][0], theirs(x))


def test_training_leaves_the_random_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    with torch.inference_mode():  # as in a live view
        small.trained_copier(9, steps=1)
    train_reader(2, seed=1, steps=1)
    assert torch.equal(torch.rand(1), expected)


def test_the_bar_grows_while_it_counts(capsys):
    lengths = []
    for _ in counted(40):
        lengths.append(capsys.readouterr().out.count("■"))
    assert sum(lengths[:21]) == 10 and max(lengths) == 1


# Numbers in a text that no cell near it shows, by the text's cell: how they are computed.
SHARE = "100 * {0} * 4096 / ({0} * 4096 + {1})"
ERASED = f"re.findall(r'\\d\\.\\d+', {CHANGED[1][3]!r})[{{}}]"  # what its test above compares
STATED = {
    "l13-67": {"20": "n - 1"},
    "l13-69": {"22": "n + 1"},
    "l13-71": {"20": "went_in - n"},
    "l13-73": {"31": "again / 21"},
    "l13-30": {
        "32": "models[2].layers",
        "1024": "models[2].layers * models[2].num_kv_heads",
        "126": "models[4].layers",
        "1008": "models[4].layers * models[4].num_kv_heads",
        "128": "models[4].head_dim",
    },
    "l13-43": {
        "14%": SHARE.format(2, "4 * 4096 + 3 * 11008"),
        "24704": "(4 * 4096 + 3 * 11008) / 2",
        "43%": SHARE.format(6, "3 * 11008"),
        "8320": "(3 * 11008 - 4 * 4096) / 2",
    },
    "l12-01": {"10000000000": "100_000**2"},
    "l12-06": {"32": "4096 / 128"},
    "l12-12": {"256": "4 * 4096**2 * 4 / 2**20"},
    "l12-27": {"0.01": "scores.softmax(0)[0]"},
    "l12-30": {"2048": "max(peak.n for peak in cost.load_peaks())"},
    "l12-45": {"2080": "torch.ones(64, 64).tril().sum()", "4096": "64 * 64"},
    "l10-46": {"0.06": ERASED.format(0), "0.61": ERASED.format(1)},
    "l11-30": {"0.06": "1 / 16"},
    "l11-37": {"2.72": "torch.tensor(1.0).exp()"},
    "l13t-06": {
        "16": "len(LETTERS)",
        "0.9": "0.9 * (min(w[2][7, 2], w[1][7, 6], w[1][2, 1]) > 0.9)",
    },
    "l13t-09": {"0.99": "w[1][7, 6]", "0.02": "w[2][7, 6]"},
    "l15-17": {"64": "len(strings)", "15": "len(LETTERS) - 1"},
}
# What a text assumes, says of a paper, a version, a target or a seed.
GIVEN = "l13-02 40, l13-43 11008, l12-01 100000, l12-02 1000, l12-02 12, l12-25 1.00, l12-30 2.13"
GIVEN += ", l12-45 64, l10-54 12, l11-15 400, l13-39 405, l13-51 405"
# Years, lessons, minutes; what 20 seeds gave is compared by tests/scripts/learned_figures.py.
APART = r"(?i)with (the |twenty copiers, )?seeds 0 to 19.*?learned_figures|\b(19|20)\d\d\b"
APART += r"|lessons? \d+((,| and| to) \d+)*|\d+ minutes|and \d+ for the ex|^# \d+\."
NEAR = 6, 4  # cells before it and after it


def numbers(text):
    """Return the numbers of a text that have two digits or more."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return [found[0] for found in re.finditer(r"(?<![\w.])(\d+\.\d+|\d{2,})(%?)(?!\w)", text)]


def not_shown(path, cells):
    """Return the numbers in a lesson's texts that neither a cell near them nor STATED gives."""
    missing, named = [], {**replay(path)[0], "re": re}
    if "copier" in named and "weights_of" in named:  # lesson 15
        named["w"] = named["weights_of"](named["copier"], named["number"](named["text"]))
    for k, cell in enumerate(cells):
        if cell.cell_type == "code":
            continue
        near = [one for one in cells[max(0, k - NEAR[0]) : k + NEAR[1]] if one.cell_type == "code"]
        shown = set(numbers(" ".join(one.source + committed(one) for one in near)))
        shown |= {x.rstrip("%") for x in shown}
        text = re.sub(r"```.*?```|`(?!tests/)[^`\n]*`", "", cell.source, flags=re.S)
        stated = STATED.get(cell.id, {})
        for number in numbers(re.sub(APART, "", text, flags=re.S | re.M)):
            if number in stated:
                found = float(eval(stated[number], named))
                digits = len(number.rstrip("%").partition(".")[2])
                right = f"{found:.{digits}f}" == number.rstrip("%")
            else:
                share = f"{float(number.rstrip('%')) / 100:g}" if "%" in number else number
                right = bool({number, share} & shown) or f"{cell.id} {number}" in GIVEN.split(", ")
            if not right:
                missing.append((cell.id, number))
    return missing


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("1[1-5]_*.ipynb")), ids=lambda p: p.stem)
def test_each_number_in_a_text_is_that_of_its_cell(path):
    cells = nbformat.read(path, as_version=4).cells
    assert not_shown(path, cells) == []
