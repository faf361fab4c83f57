"""Lessons 13 to 15: the recorded training equals what the code gives, and can be used instead of
it; a student's own code changes the answers of a trained model; lesson 15 takes lesson 14's."""

import contextlib
import io
import re

import pytest
import torch
from learned_figures import LESSON, SECOND
from replay import code_cells, replay, run, solutions

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


OWN = "right 1.00, the other colour 0.00\n"
CHANGED = [  # a student's function, what its cell prints without it, and with it
    (LESSON, "my_exchange", f"green\n{OWN}", "grey\nright 0.00, the other colour 1.00\n"),
    (LESSON, "my_erase", f"green\n{OWN}", "grey\nright 0.06, the other colour 0.61\n"),
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
