"""The live picture without a browser: its controls, its answers, and what it is when still."""

import base64
import functools
import gc
import itertools
import json
import sys
import threading
import time
import weakref
from fractions import Fraction

import numpy as np
import pytest
import torch
from ipywidgets.widgets import widget as registry

from helpers import InputError, View, explore, guard
from helpers.explore import Explore

EMPTY = object()


def show(x=0):
    return [[float(x), 0.0]]


def starting_at(default):
    def f(x=default):
        return [[1.0]]

    return f


def only(control):
    """The control that this abbreviation gives, as the page gets it."""
    (made,) = explore(lambda x: [[1.0]], x=control).controls
    return made


def given(control):
    """The argument that a function gets at the start."""
    seen = []
    explore(lambda x: seen.append(x) or [[1.0]], x=control)
    return seen[0]


def cells(widget):
    return widget.picture["cells"]


def send(widget, content):
    """A message of the page, as ipykernel hands it on."""
    widget._handle_custom_msg(content, [])
    assert_json(widget)


def assert_json(widget):
    for part in (widget.picture, widget.controls, widget.palette, widget.title):
        json.dumps(part, allow_nan=False).encode("utf-8")


@pytest.fixture
def told(monkeypatch):
    """What explore tells the page."""
    sent = []
    monkeypatch.setattr(Explore, "send", lambda self, content, buffers=None: sent.append(content))
    return sent


# --- controls ---


@pytest.mark.parametrize(
    "short, expected",
    [
        ((0, 5), dict(kind="slider", low=0, high=5, by=1, value=2)),
        ((0, 10, 5), dict(kind="slider", low=0, high=10, by=5, value=5)),
        ((0.0, 1.0), dict(kind="slider", low=0.0, high=1.0, by=0.1, value=0.5)),
        ((0.1, 0.7), dict(kind="slider", low=0.1, high=0.7, by=0.1, value=0.3)),
        ((-3, 3, 0.5), dict(kind="slider", low=-3.0, high=3.0, by=0.5, value=0.0)),
        (["a", "b"], dict(kind="choice", labels=["a", "b"], value=0)),
        (("a", "b"), dict(kind="choice", labels=["a", "b"], value=0)),
        ({"one": 1, "two": 2}, dict(kind="choice", labels=["one", "two"], value=0)),
        ([0.1, 1, 10], dict(kind="stops", labels=["0.1", "1", "10"], value=0)),
        ([1, 2], dict(kind="choice", labels=["1", "2"], value=0)),
        ([3, 2, 1], dict(kind="choice", labels=["3", "2", "1"], value=0)),
        ([1, 1, 2], dict(kind="choice", labels=["1", "1", "2"], value=0)),
        ([1, "a", None], dict(kind="choice", labels=["1", "a", "None"], value=0)),
        ("hello", dict(kind="text", value="hello")),
        ("", dict(kind="text", value="")),
        (True, dict(kind="switch", value=True)),
        (False, dict(kind="switch", value=False)),
        (torch.eye(2).bool(), dict(kind="cells", value=[[True, False], [False, True]])),
        (np.array([[True, False]]), dict(kind="cells", value=[[True, False]])),
        ([(True,), [np.bool_(False)]], dict(kind="cells", value=[[True], [False]])),
        ([True, False], dict(kind="choice", labels=["True", "False"], value=0)),
        ({"a": [[True]]}, dict(kind="choice", labels=["a"], value=0)),
        ([[1, 0]], dict(kind="choice", labels=["[1, 0]"], value=0)),
    ],
)
def test_every_abbreviation(short, expected):
    control = only(short)
    assert {k: control[k] for k in expected} == expected
    assert "options" not in control


@pytest.mark.parametrize(
    "short, value",
    [
        ((0, np.int64(5)), 2),
        ((0, torch.tensor(5)), 2),
        ((np.float32(0), np.float32(1)), 0.5),
        ((torch.tensor(0.0), torch.tensor(1.0)), 0.5),
        ((Fraction(0), Fraction(1)), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        ([np.int64(1), np.int64(2), np.int64(3)], 1),
    ],
)
def test_numbers_of_numpy_and_torch_will_do(short, value):
    assert_json(explore(lambda x: [[1]], x=short))
    assert given(short) == value
    if not isinstance(short, list):
        assert type(given(short)) is type(value)


def test_numbers_of_torch_as_choices_have_plain_names():
    assert only([torch.tensor(1), torch.tensor(2), torch.tensor(3)])["labels"] == ["1", "2", "3"]


def test_a_step_starts_at_its_beginning():
    (control,) = explore(lambda step: [[step]], step=(1, 9)).controls
    assert (control["kind"], control["value"]) == ("step", 1)
    (control,) = explore(lambda step=4: [[step]], step=(1, 9)).controls
    assert (control["kind"], control["value"]) == ("step", 4)


@pytest.mark.parametrize(
    "default, short, value",
    [
        (2, (0, 5), 2),
        (2.0, (0, 5), 2),
        (np.int64(2), (0, 5), 2),
        (torch.tensor(2), (0, 5), 2),
        (0.25, (0.0, 1.0), 0.25),
        ("b", ["a", "b"], 1),
        (int("2000"), {"one": 1000, "two": int("2000")}, 1),
        ("two", {"one": 1, "two": 2}, 1),
        (None, ["a", None], 1),
        (1, [0.1, 1, 10], 1),
        (False, True, False),
        ("b", "a", "b"),
        (torch.tensor([[False, True]]), [[True, True]], [[False, True]]),
        ([[False], [False]], torch.ones(2, 1).bool(), [[False], [False]]),
    ],
)
def test_the_default_of_the_parameter_is_the_start(default, short, value):
    (control,) = explore(starting_at(default), x=short).controls
    assert control["value"] == value
    assert type(control["value"]) is type(value)


@pytest.mark.parametrize(
    "default, short",
    [
        (9, (0, 5)),
        (-1, (0, 5)),
        (2.5, (0, 5)),
        (float("nan"), (0.0, 1.0)),
        (None, (0, 5)),
        (True, (0, 5)),
        ("a", (0, 5)),
        ("c", ["a", "b"]),
        (torch.ones(2), {"a": torch.ones(2), "b": torch.zeros(2)}),
        ("no", True),
        (torch.ones(2), True),
        (5, "text"),
        (True, [[True]]),
        (None, [[True]]),
        ([[1]], [[True]]),
        ([[True, True]], [[True], [True]]),
        (torch.ones(3, 2).bool(), torch.ones(2, 3).bool()),
    ],
)
def test_a_default_that_the_control_cannot_have_is_refused(default, short):
    with pytest.raises(InputError, match="^x starts at "):
        explore(starting_at(default), x=short)


@pytest.mark.parametrize(
    "short",
    [
        (1, 1),
        (5, 1),
        (0, 5, 0),
        (0, 5, -1),
        (0, float("nan")),
        (0, float("inf")),
        (0, 10**400),
        (-1.7e308, 1.7e308),
        (),
        [],
        {},
        None,
        float("nan"),
        5,
        1.5,
        {1, 2},
        range(3),
        np.arange(3),
        torch.rand(100, 100),
        torch.ones(3, dtype=torch.bool),
        torch.ones(2, 2, 2, dtype=torch.bool),
        torch.ones(0, 2, dtype=torch.bool),
        torch.ones(2, 2, dtype=torch.uint8),
        object(),
        EMPTY,
    ],
)
def test_what_is_no_control_is_refused(short):
    with pytest.raises(InputError, match=r"(?s)^x=.*(\(low, high\)|a list of choices)") as caught:
        explore(show, x=short)
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "controls, sentence",
    [
        ({"x": [[True], [True, False]]}, "the rows of x differ in length"),
        ({"x": torch.ones(65, 2).bool()}, "x has 65 x 2 switches; at most 64 x 64 fit"),
        ({"x": [[True]], "y": [[True]]}, "x and y cannot both be the cells"),
    ],
)
def test_a_matrix_of_switches_that_does_not_fit_the_picture_is_refused(controls, sentence):
    with pytest.raises(InputError, match=sentence):
        explore(lambda **values: [[1]], **controls)


@pytest.mark.parametrize("fn", [None, "f", [[1.0]], 5])
def test_what_is_no_function_is_refused(fn):
    with pytest.raises(InputError, match="needs your function first"):
        explore(fn, x=(0, 1))


@pytest.mark.parametrize("fn", [show, lambda: [[1.0]]])
def test_a_control_without_a_parameter_is_refused(fn):
    with pytest.raises(InputError, match="the function has no parameter 'y'"):
        explore(fn, y=(0, 1))


@pytest.mark.parametrize("name", ["fn", "seconds", "self", "control", "a b", "step"])
def test_a_control_may_have_any_name(name):
    widget = explore(lambda **values: [[values[name]]], **{name: (1, 2)})
    assert widget.picture["error"] == ""
    assert cells(widget) == [["1.00"]]


@pytest.mark.parametrize(
    "fn", [functools.partial(show), type("F", (), {"__call__": lambda self, x: [[x]]})()]
)
def test_anything_that_can_be_called_will_do(fn):
    assert explore(fn, x=(0, 2)).compute({"x": 2})["cells"][0][0] == "2.00"


# --- values ---


def test_every_value_of_every_control():
    def f(n, share, word, pick, on, text):
        return View([[n, share, pick, on, len(text)]], caption=word)

    widget = explore(
        f, n=(0, 4, 2), share=(0.0, 1.0, 0.5), word=["a", "b"], pick=[1, 10, 100], on=False, text=""
    )
    ranges = [(0, 2, 4), (0, 0.5, 1), (0, 1), (0, 1, 2), (False, True), ("", "<b>")]
    names = ["n", "share", "word", "pick", "on", "text"]
    for n, share, word, pick, on, text in itertools.product(*ranges):
        picture = widget.compute(dict(zip(names, (n, share, word, pick, on, text), strict=True)))
        expected = [n, share, (1, 10, 100)[pick], on, len(text)]
        assert picture["error"] == ""
        assert picture["cells"] == [[f"{x:.2f}" for x in expected]]
        assert picture["caption"] == "ab"[word]
        assert picture["values"]["text"] == text


@pytest.mark.parametrize(
    "short, bad",
    [
        *itertools.product(
            [(0, 5)],
            [6, -1, 2.5, None, True, "2", [2], {}, float("nan"), float("inf"), -(10**400)],
        ),
        *itertools.product([(0.0, 5.0)], [5.1, None, False, "2", float("nan"), 10**5000]),
        *itertools.product([["a", "b"], [1, 2, 3]], [3, -1, 0.5, None, True, "a", 10**5000]),
        *itertools.product([True], [1, 0, None, "True"]),
        *itertools.product(["text"], [1, None, True, ["a"]]),
        *itertools.product(
            [torch.ones(2, 1).bool()],
            [True, None, "on", [], [True, True], [[True]], [[True, True]], [[True], [True, True]]],
        ),
        *itertools.product(
            [torch.ones(2, 1).bool()],
            [[[1], [0]], [[None], [True]], {}, torch.ones(2, 1), 10**5000],
        ),
    ],
    ids=lambda x: str(x)[:20] if not isinstance(x, int) or abs(x) < 10**9 else "huge",
)
def test_a_value_that_the_control_cannot_have_keeps_the_last_picture(short, bad):
    widget = explore(lambda x: [[1.0]], x=short)
    before = widget.picture
    send(widget, {"values": {"x": bad}, "turn": "a 1"})
    picture = widget.picture
    assert picture["error"].startswith(("x ", "the rows of x "))
    assert len(picture["error"]) < 150
    assert picture["turn"] == "a 1"
    assert picture | {"error": "", "turn": ""} == before
    assert repr(widget).splitlines()[1] == picture["error"]


@pytest.mark.parametrize("values", [{}, {"x": 1, "y": 2}, {1: 1}, None, [], "x", 5])
def test_values_for_other_controls_keep_the_last_picture(values):
    widget = explore(show, x=(0, 5))
    before = widget.picture
    send(widget, {"values": values, "turn": "a 1"})
    assert "a value for each of ['x'] is expected" in widget.picture["error"]
    assert widget.picture | {"error": "", "turn": ""} == before


@pytest.mark.parametrize("kind", [torch.Tensor.bool, torch.Tensor.numpy, torch.Tensor.tolist])
def test_the_function_gets_the_switches_as_a_tensor_of_its_own(kind):
    start, values = kind(torch.ones(2, 3).tril() == 1), []

    def f(seen):
        values.append(seen.clone())
        seen.fill_(False)  # what fn does to it stays with fn
        return values[-1].float()

    widget = explore(f, seen=start)
    other = kind(torch.zeros(2, 3) == 0)
    for value, count in [(other, 6), (start, 3), (other, 6)]:
        picture = widget.compute({"seen": value})
        assert_json(widget)
        assert picture["values"] == {"seen": torch.as_tensor(value).tolist()}
        assert sum(row.count("1.00") for row in picture["cells"]) == count
    assert values[0].equal(torch.as_tensor(start)) and values[1].equal(torch.as_tensor(other))
    assert all(value.dtype == torch.bool for value in values)
    # the caller's is neither changed nor kept
    assert torch.as_tensor(start).equal(torch.ones(2, 3).tril() == 1)
    assert widget.controls[0]["value"] == torch.as_tensor(start).tolist()
    start[0][0] = False
    assert widget.controls[0]["value"][0][0] is True


def test_whole_sliders_give_whole_numbers():
    seen = []
    widget = explore(lambda x: seen.append(x) or [[1]], x=(0, 5))
    for value in (3, 3.0, np.int64(3), torch.tensor(3)):
        assert str(widget.compute({"x": value})["values"]) == "{'x': 3}"
    assert [type(x) for x in seen] == [int] * 5


# --- what the function does ---


def turns_bad(what):
    """A widget whose function is good at x = 0 and then does something else."""

    def f(x):
        return [[0.25]] if x == 0 else what()

    return explore(f, x=[0, 1])


def recurse():
    return recurse()


def forever():
    while True:
        pass


def raise_an_input_error():
    return View([[1, 2]], ["a", "b", "c"])


class Unreadable:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("no")


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "what, error",
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero (line "),
        (lambda: None, "it returned None: is `return` missing?"),
        (lambda: "text", "the matrix is str ('text'); a matrix of numbers is expected"),
        (lambda: {}, "the matrix is dict"),
        (lambda: [[1], [1, 2]], "the rows of the matrix differ in length"),
        (lambda: torch.zeros(2, 3, 3), "the shape is (2, 3, 3). Choose one"),
        (lambda: torch.zeros(65, 65), "the shape is (65, 65); at most 64 by 64"),
        (lambda: torch.zeros(1, 65), "at most 64 by 64"),
        (lambda: torch.zeros(0, 3), "nothing to show"),
        (raise_an_input_error, "tokens has 3 names; 1 are needed. (line "),
        (recurse, "RecursionError"),
        (sys.exit, "SystemExit"),
        (exit, "SystemExit"),
        (lambda: next(iter([])), "StopIteration"),
        (Unreadable, "the numbers of the matrix cannot be read: no"),
        (Unprintable, "RuntimeError: no"),
    ],
    ids=lambda x: None if callable(x) else x[:20],
)
def test_what_goes_wrong_is_said_and_the_last_picture_stays(what, error):
    widget = turns_bad(what)
    send(widget, {"values": {"x": 1}, "turn": "a 1"})
    assert error in widget.picture["error"]
    assert widget.picture["values"] == {"x": 1}
    assert cells(widget) == [["0.25"]]
    send(widget, {"values": {"x": 0}, "turn": "a 2"})
    assert widget.picture["error"] == ""


def test_what_loops_for_ever_is_stopped(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 0.1)
    widget = turns_bad(forever)
    send(widget, {"values": {"x": 1}, "turn": "a 1"})
    assert "it did not return within 0.1 seconds" in widget.picture["error"]
    assert cells(widget) == [["0.25"]]


def test_a_result_that_cannot_be_read_in_time_is_stopped(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 0.1)
    widget = turns_bad(lambda: View([[1]], itertools.count()))
    send(widget, {"values": {"x": 1}, "turn": "a 1"})
    assert "it did not return within 0.1 seconds" in widget.picture["error"]


def test_an_error_from_the_start_is_shown_without_a_table():
    widget = explore(lambda x: 1 / 0, x=(0, 4))
    assert "cells" not in widget.picture
    assert repr(widget).startswith("x = 2\nZeroDivisionError")
    bundle, _ = widget._repr_mimebundle_()
    assert bundle["text/plain"] == repr(widget)
    assert "application/vnd.jupyter.widget-view+json" in bundle


@pytest.mark.parametrize(
    "result",
    [[1, 2], [[1, 2]], np.array([[1, 2]]), torch.tensor([[1, 2]]).bfloat16(), View([[1, 2]])],
)
def test_a_matrix_of_any_kind_is_shown(result):
    assert cells(explore(lambda: result)) == [["1.00", "2.00"]]


def test_the_largest_matrix_is_shown_with_sums():
    widget = explore(lambda: View(torch.ones(64, 64), row_sums=True, column_sums=True))
    assert widget.picture["error"] == ""
    assert np.shape(cells(widget)) == (65, 65)


def test_nan_infinities_and_numpy_integers_are_json():
    view = View(
        [[np.nan, np.inf, -np.inf, 1e30]],
        highlights=[(np.int64(0), np.int64(1)), torch.tensor([0, 2])],
        row_sums=np.bool_(True),
        digits=np.int64(1),
        axes=np.array(["Row", "Column"]),
        caption=5,
    )
    widget = explore(lambda: view)
    assert_json(widget)
    assert cells(widget) == [["nan", "inf", "-inf", "1.0e+30", "nan"]]
    assert widget.picture["colours"] == [[-1, 255, 0, 255]]
    assert list(map(list, widget.picture["highlights"])) == [[0, 1], [0, 2]]


def test_an_argument_changed_in_place_is_as_new_the_next_time():
    def f(x):
        x += 1
        return [x]

    widget = explore(f, x={"a": torch.zeros(2), "b": torch.ones(2), "c": torch.ones(2) * GRAD})
    for index, number in [(0, "1.00"), (1, "2.00"), (0, "1.00"), (2, "2.00"), (2, "2.00")]:
        assert widget.compute({"x": index})["cells"] == [[number, number]]


GRAD = torch.ones(2, requires_grad=True)


def test_a_view_that_the_function_keeps_and_changes_leaves_the_last_picture():
    kept = View([[0.25]])

    def f(x):
        kept.matrix[:] = x / 4
        if x == 4:
            raise ValueError
        return kept

    widget = explore(f, x=(0, 4))
    assert widget.compute({"x": 1})["cells"] == [["0.25"]]
    assert widget.compute({"x": 4})["cells"] == [["0.25"]]


# --- heads ---


def test_the_heads_are_in_the_picture_on_one_scale():
    def f(head, many):
        heads = torch.arange(1.0, many + 1)[:, None, None].expand(many, 2, 3)
        return View(heads[head - 1], heads=heads, head=head - 1)

    widget = explore(f, head=(1, 4), many=(1, 4))
    for head, many in [(1, 1), (2, 4), (4, 4), (1, 3)]:
        send(widget, {"values": {"head": head, "many": many}, "turn": "a 1"})
        picture = widget.picture
        assert (picture["error"], picture["head"]) == ("", head - 1)
        assert [title for title, _ in picture["heads"]] == [f"head {k + 1}" for k in range(many)]
        high = max(many, 1)
        for k, (_, colours) in enumerate(picture["heads"]):
            assert colours == [[round((k + 1) / high * 255)] * 3] * 2
        assert picture["colours"] == picture["heads"][head - 1][1]


def test_without_heads_there_are_none():
    picture = explore(show, x=(0, 5)).picture
    assert (picture["heads"], picture["head"]) == ([], None)


def test_the_most_heads_of_the_largest_matrix_are_shown():
    widget = explore(lambda: View(torch.ones(64, 64), heads=torch.ones(16, 64, 64)))
    assert widget.picture["error"] == ""
    assert "image/png" in widget._repr_mimebundle_()[0]


# --- printing ---


def test_what_the_function_prints_is_in_the_picture_only(capsys):
    widget = explore(lambda x: print("x is", x) or [[x]], x=(0, 4))
    assert widget.picture["printed"] == "x is 2\n"
    assert widget.compute({"x": 3})["printed"] == "x is 3\n"
    assert widget.compute({"x": 9})["printed"] == ""
    assert capsys.readouterr().out == ""


def test_a_megabyte_of_printing_is_cut(capsys):
    widget = explore(lambda: print("x" * 10**6) or [[1]])
    assert 1000 < len(widget.picture["printed"]) < 10_000
    assert capsys.readouterr().out == ""


def test_printing_of_the_function_and_of_a_cell_is_not_mixed(capsys):
    def f(x):
        for _ in range(50):
            print("live")
            time.sleep(0.0005)
        return [[x]]

    widget = explore(f, x=(0, 4))
    page = threading.Thread(target=send, args=(widget, {"values": {"x": 1}, "turn": "a 1"}))
    page.start()
    for _ in range(50):
        print("cell")
        time.sleep(0.0005)
    page.join()
    assert widget.picture["printed"] == "live\n" * 50
    assert capsys.readouterr().out == "cell\n" * 50


# --- messages ---


def test_an_answer_carries_its_turn_and_its_values():
    widget = explore(show, x=(0, 5))
    for turn, x in [("a 1", 1), ("b 1", 4)]:
        send(widget, {"values": {"x": x}, "turn": turn})
        assert (widget.picture["turn"], widget.picture["values"]) == (turn, {"x": x})
        assert cells(widget)[0][0] == f"{x}.00"


def test_a_cell_is_explained(told):
    view = View([[1, 2], [3, 4]], explain=lambda i, j: f"row {i}, column {j}")
    widget = explore(lambda: view)
    assert widget.picture["explains"]
    send(widget, {"cell": [1, 0]})
    assert told == [{"cell": [1, 0], "text": "row 1, column 0"}]


@pytest.mark.parametrize("cell", [[0, 1], [1, 0], [0.5, 0], ["a", 0], [0], None, 5, [10**30, 0]])
def test_an_explanation_of_no_cell_is_empty(told, cell):
    send(explore(lambda: View([[1]], explain=lambda i, j: "here")), {"cell": cell})
    assert told == [{"cell": cell, "text": ""}]


def test_an_explanation_that_fails_says_so(told):
    send(explore(lambda: View([[1]], explain=lambda i, j: 1 / 0)), {"cell": [0, 0]})
    assert told[0]["text"].startswith("ZeroDivisionError: division by zero (line ")


def test_without_explain_there_is_no_explanation(told):
    widget = explore(lambda: [[1]])
    assert not widget.picture["explains"]
    send(widget, {"cell": [0, 0]})
    assert told == [{"cell": [0, 0], "text": ""}]


@pytest.mark.parametrize("content", [None, [], "values", 5, {}, {"other": 1}])
def test_a_message_that_is_none_of_ours_changes_nothing(content, told, caplog):
    widget = explore(show, x=(0, 5))
    before = widget.picture
    send(widget, content)
    assert widget.picture == before
    assert not told
    assert not caplog.records


# --- where nothing runs ---


def test_the_text_is_settings_numbers_and_caption():
    def f(word, temperature, on):
        return View([[0.25, 0.75]], ["row"], ["a", "b"], "Caption.")

    widget = explore(f, word=["one", "two"], temperature=[0.1, 1, 10], on=True)
    widget.compute({"word": 1, "temperature": 2, "on": False})
    send(widget, {"values": {"word": 1, "temperature": 2, "on": False}, "turn": ""})
    assert repr(widget) == (
        "word = two, temperature = 10, on = False\n        a     b\nrow  0.25  0.75\nCaption."
    )


def test_the_text_says_how_many_switches_are_on():
    def f(seen, on):
        return seen.float()

    widget = explore(f, seen=torch.ones(6, 6).tril().bool(), on=True)
    assert repr(widget).splitlines()[0] == "seen = 6 x 6 switches, 21 on, on = True"
    send(widget, {"values": {"seen": [[True] * 5 + [False]] * 6, "on": True}, "turn": ""})
    assert repr(widget).splitlines()[0] == "seen = 6 x 6 switches, 30 on, on = True"


def test_the_bundle_shows_itself_everywhere():
    widget = explore(lambda x: View([[0.25]], ['<b>"']), x=(0, 4))
    bundle, metadata = widget._repr_mimebundle_()
    view = bundle["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] == widget.model_id
    assert bundle["text/plain"] == repr(widget)
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG\r\n\x1a\n")
    assert 'alt="Heatmap: Query by Key' in bundle["text/html"]
    assert "<b>" not in bundle["text/html"]
    assert metadata["image/png"]["alt"].startswith("Heatmap: Query by Key")


def test_the_bundle_shows_the_values_of_now():
    widget = explore(show, x=(0, 4))
    first = widget._repr_mimebundle_()[0]
    send(widget, {"values": {"x": 1}, "turn": ""})
    second = widget._repr_mimebundle_()[0]
    assert second["text/plain"].startswith("x = 1\n")
    assert first["image/png"] != second["image/png"]


def test_closed_widgets_are_not_kept():
    explore(show, x=(0, 5)).close()
    before, made = set(registry._instances), []
    for _ in range(10):
        widget = explore(show, x=(0, 5))
        made.append(weakref.ref(widget))
        widget.close()
    del widget
    gc.collect()
    assert set(registry._instances) <= before
    assert not any(one() for one in made)
