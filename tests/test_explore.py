"""The live picture without a browser: its controls, its answers, and what it is when still."""

import base64
import copy
import functools
import gc
import html
import itertools
import json
import random
import re
import sys
import threading
import time
import weakref
from fractions import Fraction
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import torch
from ipywidgets.widgets import widget as registry

from helpers import InputError, View, explore, guard
from helpers.explore import Explore

MODULE = sys.modules[Explore.__module__]  # helpers.explore itself is the function
WIDGET = "application/vnd.jupyter.widget-view+json"


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


def as_json(x):
    """x as the page gets it: fails if it cannot travel."""
    text = json.dumps(x, allow_nan=False, ensure_ascii=False)
    return json.loads(text.encode("utf-8"))


def merged(picture, patch):
    """What the page makes of a patch; written anew, as merge() in explore.js must do it."""
    fresh = patch["fresh"]
    new = {k: x for k, x in patch.items() if k not in ("fresh", "values", "panels")}
    new = copy.deepcopy(picture) | new
    for name, value in patch["values"].items():
        known = new.setdefault("values", {}).get(name)
        if isinstance(known, list) and not fresh:
            for i, j, entry in value:
                known[i][j] = entry
        else:
            new["values"][name] = value
    if fresh:
        new["panels"] = [{} for _ in patch["panels"]]
    for panel, change in zip(new["panels"], patch["panels"], strict=True):
        panel |= {k: x for k, x in change.items() if k != "cells"}
        if "cells" in change:
            at, texts = change["cells"]["at"], change["cells"]["cells"]
            colours = list(base64.b64decode(change["cells"]["colours"]))
            if at is None:
                panel |= {"cells": texts, "colours": colours}
            for n, place in enumerate(at or []):
                panel["colours"][place] = colours[n]
                if texts:
                    panel["cells"][place] = texts[n]
    return new


def state(widget):
    """The picture that a new page gets, which asks for the whole state."""
    return merged({"values": {}}, as_json(widget.get_state()["picture"]))


def plainly(picture):
    """A picture as compute() gives it, in lists."""
    panels = [panel | {"colours": panel["colours"].tolist()} for panel in picture["panels"]]
    return picture | {"panels": panels}


def answers(widget, content):
    """What the page gets for a message, which its thread would answer.

    The page that puts it into what it had shows what a new page shows: the picture of now.
    """
    sent, page = [], state(widget)
    with mock.patch.object(
        Explore, "send", lambda self, content, buffers=None: sent.append(content)
    ):
        widget._answer(content)
    for answer in as_json(sent):
        if "patch" in answer:
            page = merged(page, answer["patch"])
    assert page == state(widget) == as_json(plainly(widget._sent))
    return as_json(sent)


def send(widget, content):
    """Let the page send a message; return the picture that it then shows."""
    answers(widget, content)
    return state(widget)


def change(widget, **changes):
    return send(widget, {"changes": changes, "turn": "a 1"})


def rows_of(panel):
    """The texts of a panel's cells, row by row."""
    width = len(panel["columns"])
    return [list(panel["cells"][k : k + width]) for k in range(0, len(panel["cells"]), width)]


def cells(picture):
    """The texts of the cells of the first panel; of a widget those that it shows."""
    picture = state(picture) if isinstance(picture, Explore) else picture
    return rows_of(picture["panels"][0])


def same_but(picture, before, *keys):
    """Whether a picture is as before but for these keys, and for its turn and count."""
    keys = {*keys, "turn", "count"}
    return {k for k in picture if picture[k] != before[k]} <= keys


def wait_for(condition):
    """For what another thread will do; it fails if that takes five seconds."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


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
        ([[1, 0], [2]], dict(kind="choice", labels=["[1, 0]", "[2]"], value=0)),
        (np.array([[1, 0], [0.5, 2]]), dict(kind="plane", value=[[1, 0], [0.5, 2]], limit=3)),
        (np.array([[3, -4]]), dict(kind="plane", value=[[3.0, -4.0]], limit=5)),
        (torch.zeros(3, 2), dict(kind="plane", value=[[0.0, 0.0]] * 3, limit=1)),
        (torch.ones(1, 2).bfloat16(), dict(kind="plane", value=[[1.0, 1.0]], limit=2)),
        (torch.ones(1, 2).to_sparse(), dict(kind="plane", value=[[1.0, 1.0]], limit=2)),
        (torch.nn.Parameter(torch.ones(1, 2)), dict(kind="plane", value=[[1.0, 1.0]], limit=2)),
    ],
)
def test_every_abbreviation(short, expected):
    control = only(short)
    assert {k: control[k] for k in expected} == expected
    assert set(control) == {"name", *expected}, "nothing else travels"


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
    as_json(only(short))
    assert given(short) == value
    if not isinstance(short, list):
        assert type(given(short)) is type(value)


def test_numbers_of_torch_as_choices_have_plain_names():
    assert only([torch.tensor(1), torch.tensor(2), torch.tensor(3)])["labels"] == ["1", "2", "3"]


def test_a_step_starts_at_its_beginning():
    (control,) = explore(lambda step: [[step]], step=(1, 9)).controls
    assert (control["kind"], control["value"]) == ("slider", 1)
    (control,) = explore(lambda step=4: [[step]], step=(1, 9)).controls
    assert (control["kind"], control["value"]) == ("slider", 4)


@pytest.mark.parametrize(
    "default, short, value",
    [
        (2, (0, 5), 2),
        (2.0, (0, 5), 2),
        (np.int64(2), (0, 5), 2),
        (torch.tensor(2), (0, 5), 2),
        (0.3, (0.0, 1.0), 0.3),
        (0.77, (-3.0, 3.0, 0.01), 0.77),
        ("b", ["a", "b"], 1),
        (int("2000"), {"one": 1000, "two": int("2000")}, 1),
        ("two", {"one": 1, "two": 2}, 1),
        (None, ["a", None], 1),
        (1, [0.1, 1, 10], 1),
        (False, True, False),
        ("b", "a", "b"),
        (torch.tensor([[False, True]]), [[True, True]], [[False, True]]),
        ([[False], [False]], torch.ones(2, 1).bool(), [[False], [False]]),
        (torch.tensor([[0.5, -1]]), np.ones((1, 2)), [[0.5, -1.0]]),
        ([[0, 1]], np.ones((1, 2)), [[0.0, 1.0]]),
        (torch.nn.Parameter(torch.zeros(1, 2)), np.ones((1, 2)), [[0.0, 0.0]]),
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
        (0.25, (0.0, 1.0)),
        (17, (1, 527, 44)),
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
        (torch.ones(1, 2), torch.ones(2, 2)),
        (torch.ones(2, 2) * 3, torch.ones(2, 2)),
        (torch.ones(2, 2).bool(), torch.ones(2, 2)),
        ([[1, 1]], torch.ones(1, 2).bool()),
        ([[1], [2]], torch.ones(2, 2)),
        (None, torch.ones(2, 2)),
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
        torch.rand(2, 3),
        torch.rand(0, 2),
        torch.tensor([[1.0, np.nan]]),
        torch.tensor([[1.0, np.inf]]),
        np.array([[1e300, 1]]),
        np.array([["a", "b"]]),
        torch.ones(2, 2, dtype=torch.cfloat),
        torch.ones(2, 2, device="meta"),
        torch.ones(3, dtype=torch.bool),
        torch.ones(2, 2, 2, dtype=torch.bool),
        torch.ones(0, 2, dtype=torch.bool),
        torch.ones(2, 2, dtype=torch.uint8),
        object(),
    ],
)
def test_what_is_no_control_is_refused(short):
    with pytest.raises(InputError, match=r"(?s)^x=.*(\(low, high\)|a list of choices)") as caught:
        explore(show, x=short)
    assert len(str(caught.value)) < 260
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "controls, sentence",
    [
        ({"x": [[True], [True, False]]}, "the rows of x differ in length"),
        ({"x": torch.ones(65, 2).bool()}, "x has 65 x 2 switches; at most 64 x 64 fit"),
        ({"x": [[True]], "y": [[True]]}, "x and y cannot both be the cells"),
        ({"x": torch.ones(65, 2)}, "x has 65 x 2 numbers; at most 64 x 2 fit"),
        ({"x": torch.ones(1, 2), "y": torch.ones(1, 2)}, "x and y cannot both be the plane"),
    ],
)
def test_a_matrix_that_does_not_fit_the_picture_is_refused(controls, sentence):
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
    assert state(widget)["error"] == ""
    assert cells(widget) == [["1.00"]]


@pytest.mark.parametrize(
    "fn", [functools.partial(show), type("F", (), {"__call__": lambda self, x: [[x]]})()]
)
def test_anything_that_can_be_called_will_do(fn):
    assert explore(fn, x=(0, 2)).compute({"x": 2})["panels"][0]["cells"][0] == "2.00"


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
        assert cells(picture) == [[f"{x:.2f}" for x in expected]]
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
        *itertools.product(
            [torch.ones(2, 2)],
            [True, None, "on", [], [1, 1], [[1, 1]], [[1, 1], [1]], [[1, 1], [1, 1, 1]], {}],
        ),
        *itertools.product(
            [torch.ones(2, 2)],
            [[[1, x], [1, 1]] for x in (3, -2.1, float("nan"), None, "1", True, [1], 10**400)],
        ),
    ],
    ids=lambda x: str(x)[:20] if not isinstance(x, int) or abs(x) < 10**9 else "huge",
)
def test_a_value_that_the_control_cannot_have_keeps_all_values_and_the_picture(short, bad):
    widget = explore(lambda x, y: [[y]], x=short, y=(0, 5))
    before = widget.compute({"y": 4})
    picture = widget.compute({"x": bad, "y": 1})
    assert picture["error"].startswith(("x ", "the rows of x "))
    assert len(picture["error"]) < 150
    assert plainly(picture) | {"error": ""} == plainly(before)
    if isinstance(widget.controls[0]["value"], list) and bad in ([], {}):
        return  # of a matrix changes travel, and these are none
    picture = change(widget, x=bad, y=1)
    assert picture["error"].startswith(("x ", "the rows of x "))
    assert (picture["turn"], picture["count"]) == ("a 1", 1)
    assert picture["values"]["y"] == 4 and cells(picture) == [["4.00"]]
    assert repr(widget).splitlines()[1] == picture["error"]


def test_values_that_are_not_named_stay():
    widget = explore(lambda x, y: [[x, y]], x=(0, 5), y=(0, 5))
    assert cells(change(widget, x=4)) == [["4.00", "2.00"]]
    assert cells(change(widget, y=1)) == [["4.00", "1.00"]]
    assert cells(widget.compute({})) == [["4.00", "1.00"]]
    assert cells(change(widget)) == [["4.00", "1.00"]]


@pytest.mark.parametrize("values", [{"x": 1, "y": 2}, {"": 1}, None, [], "x", 5])
def test_values_for_other_controls_keep_the_last_picture(values):
    widget = explore(show, x=(0, 5))
    before = state(widget)
    picture = send(widget, {"changes": values, "turn": "a 1"})
    assert "values for ['x'] are expected, not " in picture["error"]
    assert same_but(picture, before, "error")
    assert "values for ['x'] are expected" in widget.compute(values)["error"]


@pytest.mark.parametrize("kind", [torch.Tensor.numpy, torch.Tensor.clone, torch.Tensor.tolist])
@pytest.mark.parametrize("short", [torch.ones(3, 2).tril() == 1, torch.ones(3, 2).tril()])
def test_the_function_gets_a_matrix_as_a_tensor_of_its_own(kind, short):
    start, values = short.clone().numpy(), []

    def f(x):
        values.append(x.clone())
        x.fill_(0)  # what fn does to it stays with fn
        return values[-1].float()

    widget = explore(f, x=start)
    other = torch.zeros_like(short)
    for value, count in [(other, 0), (short, 5), (other, 0)]:
        picture = widget.compute({"x": kind(value)})
        assert (picture["error"], picture["values"]) == ("", {"x": value.tolist()})
        as_json(picture["values"])
        assert sum(cells(picture), []).count("1.00") == count
    assert values[0].equal(short) and values[1].equal(other)
    assert all(value.dtype == short.dtype for value in values)
    # the caller's is neither changed nor kept
    assert start.tolist() == widget.controls[0]["value"] == short.tolist()
    start[0] = 0
    assert widget.controls[0]["value"] == short.tolist()


@pytest.mark.parametrize(
    "short, changes, expected",
    [
        ([[True, False]], [[0, 1, True]], [[True, True]]),
        ([[True, False]], [[0, 1, True], [0, 0, False]], [[False, True]]),
        ([[True, False]], [], [[True, False]]),
        (torch.zeros(2, 2), [[1, 0, 0.25]], [[0.0, 0.0], [0.25, 0.0]]),
        (torch.zeros(2, 2), [[1, 0, 1], [0, 1, -1]], [[0.0, -1.0], [1.0, 0.0]]),
    ],
)
def test_of_a_matrix_the_page_sends_what_changed(short, changes, expected):
    seen = []
    widget = explore(lambda x: seen.append(x.tolist()) or x.float(), x=short)
    picture = change(widget, x=changes)
    assert (picture["error"], picture["values"]) == ("", {"x": expected})
    assert seen[-1] == expected
    assert cells(picture) == [[f"{float(x):.2f}" for x in row] for row in expected]


WRONG_EDITS = [[0], [[0, 0]], [[0, 0, 1, 1]], [["a", 0, 1]], [[0, None, 1]], [[0.0, 0, 1]]]
WRONG_EDITS += [[[10**30, 0, 1]], None, "edit", 5, {"0": 1}, True]


@pytest.mark.parametrize(
    "short, edits",
    [
        *itertools.product([torch.ones(3, 2), torch.ones(3, 2).bool()], WRONG_EDITS),
        *itertools.product(
            [torch.ones(3, 2).bool()],
            [[[0, 0, x]] for x in (1, None, "on", [True], {}, 10**5000)]
            + [[[1, 1, False], [3, 0, True]], [[0, 2, True]]],
        ),
        *itertools.product(
            [torch.ones(3, 2)],
            [[[0, 0, x]] for x in (2.01, -3, None, "1", True, [1], {}, float("nan"), 10**5000)]
            + [[[1, 1, 0.5], [3, 0, 1.0]], [[0, 2, 1.0]]],
        ),
    ],
    ids=lambda x: str(type(x)) if torch.is_tensor(x) else None,
)
def test_what_does_not_fit_a_matrix_is_said_and_nothing_is_lost(short, edits):
    widget = explore(lambda x, y: x * y, x=short, y=(0, 5))
    before = state(widget)
    picture = change(widget, x=edits, y=3)
    kind = "True and False" if short.dtype == torch.bool else "2 numbers from -2 to 2"
    assert re.match("x is .*; 3 x (2 of )?", picture["error"]) and kind in picture["error"]
    assert len(picture["error"]) < 150
    assert same_but(picture, before, "error")
    good = change(widget, x=[[2, 1, short[0, 0].item()]], y=3)
    assert good["error"] == "" and good["values"] == {"x": short.tolist(), "y": 3}


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
        (lambda: {"a": None, "b": [[1]]}, "the matrix is None; a matrix of numbers"),
        (
            lambda: {"a": [[1]], "b": [[1, 2]]},
            "matrices of one shape are expected, side by side; got a (1, 1), b (1, 2).",
        ),
        (
            lambda: {"a": [[1]], "b": View([[1]], heads=[[[1]]])},
            "heads are drawn beside one matrix; there are several.",
        ),
        (lambda: [[1], [1, 2]], "the rows of the matrix differ in length"),
        (lambda: torch.zeros(2, 3, 3), "the shape is (2, 3, 3). Choose one"),
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
    picture = change(widget, x=1)
    assert error in picture["error"]
    assert picture["values"] == {"x": 1}
    assert cells(picture) == [["0.25"]]
    assert change(widget, x=0)["error"] == ""


def test_what_loops_for_ever_is_stopped(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 0.1)
    picture = change(turns_bad(forever), x=1)
    assert "it did not return within 0.1 seconds" in picture["error"]
    assert cells(picture) == [["0.25"]]


def test_a_result_that_cannot_be_read_in_time_is_stopped(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 0.1)
    picture = change(turns_bad(lambda: View([[1]], itertools.count())), x=1)
    assert "it did not return within 0.1 seconds" in picture["error"]


def test_an_error_from_the_start_is_shown_without_a_picture():
    widget = explore(lambda x: [[1 / x]], x=(0, 4, 4))
    assert state(widget)["panels"] == []
    assert repr(widget).startswith("x = 0\nZeroDivisionError")
    (live, _), (still, _) = displayed(widget)
    assert set(live) == {WIDGET}
    assert still["text/plain"] == repr(widget)
    assert html.escape(repr(widget)) in still["text/html"], "programs prefer it to the text"
    assert cells(change(widget, x=4)) == [["0.25"]]
    assert cells(change(widget, x=0)) == [["0.25"]]


@pytest.mark.parametrize(
    "result",
    [[1, 2], [[1, 2]], np.array([[1, 2]]), torch.tensor([[1, 2]]).bfloat16(), View([[1, 2]])],
)
def test_a_matrix_of_any_kind_is_shown(result):
    assert cells(explore(lambda: result)) == [["1.00", "2.00"]]


def test_nan_infinities_and_numpy_integers_are_json():
    view = View(
        [[np.nan, np.inf, -np.inf, 1e30]],
        highlights=[(np.int64(0), np.int64(1)), torch.tensor([0, 2])],
        row_sums=np.bool_(True),
        digits=np.int64(1),
        axes=np.array(["Row", "Column"]),
        caption=5,
    )
    (panel,) = state(explore(lambda: view))["panels"]
    assert rows_of(panel) == [["nan", "inf", "-inf", "1.0e+30", "nan"]]
    assert panel["colours"] == [255, 254, 0, 254, 255]
    assert (panel["lit"], panel["axes"]) == ([1, 2], ["Row", "Column"])


def test_what_is_outlined_stays_in_its_row_beside_the_sums():
    view = View(torch.eye(2), highlights=[(1, 0)], row_sums=True, column_sums=True)
    (panel,) = state(explore(lambda: view))["panels"]
    (place,) = panel["lit"]
    assert (place // len(panel["columns"]), place % len(panel["columns"])) == (1, 0)


def test_an_argument_changed_in_place_is_as_new_the_next_time():
    def f(x):
        x += 1
        return [x]

    widget = explore(f, x={"a": torch.zeros(2), "b": torch.ones(2), "c": torch.ones(2) * GRAD})
    for index, number in [(0, "1.00"), (1, "2.00"), (0, "1.00"), (2, "2.00"), (2, "2.00")]:
        assert cells(widget.compute({"x": index})) == [[number, number]]


GRAD = torch.ones(2, requires_grad=True)


def test_a_view_that_the_function_keeps_and_changes_leaves_the_last_picture():
    kept = View([[0.25]])

    def f(x):
        kept.matrix[:] = x / 4
        if x == 4:
            raise ValueError
        return kept

    widget = explore(f, x=(0, 4))
    assert cells(widget.compute({"x": 1})) == [["0.25"]]
    assert cells(widget.compute({"x": 4})) == [["0.25"]]


# --- heads ---


def test_the_heads_are_in_the_picture_on_one_scale():
    def f(head, many):
        heads = torch.arange(1.0, many + 1)[:, None, None].expand(many, 2, 3)
        return View(heads[head - 1], heads=heads, head=head - 1)

    widget = explore(f, head=(1, 4), many=(1, 4))
    for head, many in [(1, 1), (2, 4), (4, 4), (1, 3)]:
        picture = change(widget, head=head, many=many)
        large, *small = picture["panels"]
        assert picture["error"] == ""
        assert [panel["title"] for panel in small] == [f"head {k + 1}" for k in range(many)]
        assert [panel["large"] for panel in small] == [k + 1 == head for k in range(many)]
        for k, panel in enumerate(small):
            assert panel["colours"] == [round((k + 1) / many * 254)] * 6
            assert panel["small"] and panel["cells"] == []
        assert large["colours"] == small[head - 1]["colours"]


def test_without_heads_there_are_none():
    (panel,) = state(explore(show, x=(0, 5)))["panels"]
    assert "small" not in panel


def test_no_head_is_the_large_one_if_the_matrix_is_none_of_them():
    _, *small = state(explore(lambda: View([[1]], heads=[[[1]], [[2]]])))["panels"]
    assert [panel["large"] for panel in small] == [False, False]


def test_the_small_heads_have_no_place_for_sums():
    heads = torch.ones(2, 3, 3)
    view = View(heads[0], heads=heads, head=0, row_sums=True, column_sums=True)
    large, *small = state(explore(lambda: view))["panels"]
    assert len(large["colours"]) == 16
    assert [len(panel["colours"]) for panel in small] == [9, 9]


def test_the_most_heads_of_the_largest_matrix_are_shown():
    widget = explore(lambda: View(torch.ones(512, 512), heads=torch.ones(16, 512, 512)))
    picture = state(widget)
    assert picture["error"] == ""
    assert len(picture["panels"]) == 17
    assert "image/png" in widget._repr_mimebundle_()[0]


# --- side by side ---


def test_several_matrices_stand_side_by_side():
    both = {"before": [[1, 2]], 2: View([[3, 4]], caption="Caption.", row_sums=True)}
    widget = explore(lambda: both)
    picture = state(widget)
    assert [panel["title"] for panel in picture["panels"]] == ["before", "2"]
    assert [rows_of(panel) for panel in picture["panels"]] == [
        [["1.00", "2.00"]],
        [["3.00", "4.00", "7.00"]],
    ]
    assert picture["caption"] == "Caption."
    assert repr(widget) == (
        "before\n      0     1\n0  1.00  2.00\n"
        "2\n      0     1   sum\n0  3.00  4.00  7.00\nCaption."
    )
    bundle, metadata = widget._repr_mimebundle_()
    assert bundle["text/plain"] == repr(widget)
    assert metadata["image/png"]["alt"].startswith("2 heatmaps, from before to 2. Heatmap: ")


def test_a_single_matrix_may_have_a_title():
    widget = explore(lambda: {"weights": [[1.0]]})
    assert [panel["title"] for panel in state(widget)["panels"]] == ["weights"]
    assert repr(widget) == "weights\n      0\n0  1.00"


def test_plain_matrices_side_by_side_have_one_scale_and_views_their_own():
    low, high = [[-2, 0]], [[0, 6]]
    for both, scales in [
        ({"a": low, "b": high}, [["-2", "6"], ["-2", "6"]]),
        ({"a": View(low), "b": high}, [["-2", "0"], ["0", "6"]]),
        ({"a": [[0.5]], "b": [[1]]}, [["0", "1"], ["0", "1"]]),
    ]:
        widget = explore(lambda both: both, both=[both])
        panels = state(widget)["panels"]
        assert [panel["scale"] for panel in panels] == scales
        one = scales[0] == scales[1]
        assert ("on one colour scale" in widget._repr_mimebundle_()[1]["image/png"]["alt"]) == one
    panels = state(explore(lambda: {"a": low, "b": high}))["panels"]
    assert [panel["colours"] for panel in panels] == [[0, 64], [64, 254]]


@pytest.mark.parametrize("number", [2, 70])
def test_many_side_by_side_are_shown_as_text_at_least(number, monkeypatch):
    monkeypatch.setattr(sys.modules["helpers.still"], "MAX_AREA", 300)
    widget = explore(lambda: {k: torch.full((400, 400), k) for k in range(number)})
    assert len(state(widget)["panels"]) == number
    bundle = widget._repr_mimebundle_()[0]
    assert bundle["text/plain"].count("Rows 0 to 63 and columns 0 to 63 of (400, 400).") == number
    assert ("image/png" in bundle) == (number == 2)


# --- sizes ---


@pytest.mark.parametrize(
    "shape, seen",
    [
        ((16, 16), (16, 16)),
        ((1, 16), (1, 16)),
        ((17, 1), (17, 1)),
        ((64, 64), (64, 64)),
        ((512, 512), (512, 512)),
        ((513, 513), (512, 512)),
        ((2000, 30), (512, 30)),
        ((1, 600), (1, 512)),
    ],
)
def test_numbers_up_to_16_then_colours_and_beyond_512_a_part(shape, seen):
    (n, m), numbers = seen, max(shape) <= 16
    matrix = torch.arange(shape[0] * shape[1]).view(shape).double()
    rows, columns = (
        [f"{a}{k}" for k in range(count)] for a, count in zip("rc", shape, strict=True)
    )
    view = View(matrix, rows, columns, caption="Caption.", highlights=[(0, 0), (n - 1, m - 1)])
    widget = explore(lambda: view)
    picture = state(widget)
    (panel,) = picture["panels"]
    assert picture["error"] == ""
    assert (panel["size"], panel["rows"], panel["columns"]) == ([n, m], rows[:n], columns[:m])
    assert rows_of(panel) == ([[f"{x:.2f}" for x in row] for row in matrix] if numbers else [])
    expected = (matrix[:n, :m] / matrix.max() * 254).round().flatten().tolist()
    assert panel["colours"] == expected, "on the scale of the whole"
    assert panel["lit"] == sorted({0, n * m - 1})
    part = f"Rows 0 to {n - 1} and columns 0 to {m - 1} of {shape}. "
    assert picture["caption"] == part * (shape != seen) + "Caption."
    assert repr(widget).endswith(picture["caption"])
    for i, j in {(0, 0), (n - 1, 0), (n - 1, m - 1)}:
        (answer,) = answers(widget, {"cell": [0, i, j]})
        assert answer == {"cell": [0, i, j], "number": f"{matrix[i, j]:.2f}", "text": ""}


def test_the_sums_count_when_there_are_numbers_only():
    for n, sums in [(16, 1), (17, 0), (512, 0)]:
        widget = explore(lambda n: View(torch.ones(n, n), row_sums=True, column_sums=True), n=[n])
        (panel,) = state(widget)["panels"]
        assert len(panel["rows"]) == len(panel["columns"]) == n + sums
        assert len(panel["colours"]) == (n + sums) ** 2
        assert len(panel["cells"]) == (n + sums) ** 2 * sums


@pytest.mark.parametrize("shape", [(512, 512), (512, 12), (12, 512), (2000, 2000)])
def test_the_still_picture_of_a_large_matrix_fits_a_page(shape):
    bundle, metadata = explore(lambda: torch.rand(shape))._repr_mimebundle_()
    png = base64.b64decode(bundle["image/png"])
    width, height = (int.from_bytes(png[k : k + 4], "big") / 2 for k in (16, 20))
    assert max(width, height) < 1000 and len(png) < 2_000_000
    assert f"{min(shape[0], 512)} by {min(shape[1], 512)} numbers" in metadata["image/png"]["alt"]
    assert len(bundle["text/plain"].splitlines()) <= 66


# --- printing ---


def test_what_the_function_prints_is_in_the_picture_only(capsys):
    widget = explore(lambda x: print("x is", x) or [[x]], x=(0, 4))
    assert state(widget)["printed"] == "x is 2\n"
    assert change(widget, x=3)["printed"] == "x is 3\n"
    assert change(widget, x=9)["printed"] == ""
    assert capsys.readouterr().out == ""


def test_a_megabyte_of_printing_is_cut(capsys):
    widget = explore(lambda: print("x" * 10**6) or [[1]])
    assert 1000 < len(state(widget)["printed"]) < 10_000
    assert capsys.readouterr().out == ""


def test_printing_of_the_function_and_of_a_cell_is_not_mixed(capsys):
    def f(x):
        for _ in range(50):
            print("live")
            time.sleep(0.0005)
        return [[x]]

    widget = explore(f, x=(0, 4))
    arrive(widget, {"changes": {"x": 1}, "turn": "a 1"})
    for _ in range(50):
        print("cell")
        time.sleep(0.0005)
    wait_for(lambda: state(widget)["turn"] == "a 1")
    assert state(widget)["printed"] == "live\n" * 50
    assert capsys.readouterr().out == "cell\n" * 50


# --- patches ---


def test_an_answer_carries_its_turn_its_count_and_its_values():
    widget = explore(show, x=(0, 5))
    for count, (turn, x) in enumerate([("a 1", 1), ("b 1", 4), ("a 2", 4), ("a 3", 9)], 1):
        (answer,) = answers(widget, {"changes": {"x": x}, "turn": turn})
        assert (answer["patch"]["turn"], answer["patch"]["count"]) == (turn, count)
        x = min(x, 4)
        picture = state(widget)
        assert (picture["turn"], picture["values"]) == (turn, {"x": x})
        assert cells(picture)[0][0] == f"{x}.00"


def test_of_an_unchanged_picture_only_turn_and_count_travel():
    for n in (2, 200):
        widget = explore(lambda x, n: torch.eye(n), x=(0, 5), n=[n])
        (answer,) = answers(widget, {"changes": {"x": 5}, "turn": "a 1"})
        assert answer == {
            "patch": {
                "turn": "a 1", "count": 1, "fresh": False, "values": {"x": 5}, "panels": [{}]
            }
        }  # fmt: skip
        (answer,) = answers(widget, {"changes": {"x": 5}, "turn": "a 2"})
        assert answer["patch"]["values"] == {}


@pytest.mark.parametrize("n", [6, 256])
def test_one_changed_cell_travels_alone(n):
    def f(x, seen):
        matrix = torch.zeros(n, n)
        matrix[3, 4] = x / 4
        return View(matrix, row_sums=False)

    widget = explore(f, x=(0, 4), seen=torch.ones(6, 6).bool())
    (answer,) = answers(widget, {"changes": {"x": 4, "seen": [[5, 1, False]]}, "turn": "a 1"})
    (panel,) = answer["patch"]["panels"]
    assert panel == {
        "cells": {
            "at": [3 * n + 4],
            "cells": ["1.00"] * (n == 6),
            "colours": base64.b64encode(b"\xfe").decode(),
        }
    }
    assert answer["patch"]["values"] == {"x": 4, "seen": [[5, 1, False]]}
    assert len(json.dumps(answer)) < 250


def test_where_most_changes_all_cells_travel_a_byte_each():
    widget = explore(lambda x: torch.full((256, 256), x / 4), x=(0, 4))
    (answer,) = answers(widget, {"changes": {"x": 4}, "turn": "a 1"})
    assert answer["patch"]["panels"][0]["cells"]["at"] is None
    assert len(json.dumps(answer)) < 1.4 * 256 * 256


def test_the_whole_is_what_a_page_shows_that_missed_something():
    widget = explore(
        lambda x, seen, spot: View(torch.eye(3) * x, list("abc"), caption=f"x is {x}"),
        x=(0, 5), seen=torch.ones(2, 2).bool(), spot=torch.zeros(1, 2),
    )  # fmt: skip
    old = state(widget)
    change(widget, x=1, seen=[[0, 0, False]], spot=[[0, 1, 0.5]])
    (answer,) = answers(widget, {"whole": 1})
    assert answer["patch"]["fresh"]
    for page in (old, merged(old, answer["patch"]), {"values": {}}):
        assert merged(page, answer["patch"]) == state(widget)
    assert state(widget)["values"] == {
        "x": 1, "seen": [[False, True], [True, True]], "spot": [[0.0, 0.5]]
    }  # fmt: skip


def test_a_patch_of_another_layout_is_the_whole_so_that_nothing_missed_is_missing():
    def f(n, word):
        if word == "fail":
            raise ValueError
        return View(torch.eye(n), caption=word)

    widget = explore(f, n=(1, 20), word="old")
    old = state(widget)
    change(widget, word="new")  # lost on its way
    (answer,) = answers(widget, {"changes": {"n": 3}, "turn": "a 2"})
    assert answer["patch"]["fresh"]
    assert merged(old, answer["patch"]) == state(widget)


def a_view(rng, sizes):
    """Some picture: a matrix, several or heads, with all that a View can say."""
    n, m = rng.choice(sizes)
    draws = np.random.default_rng(rng.randrange(10**6))

    def matrix():
        values = draws.integers(-1, 4, (n, m)) / 2
        values[draws.random((n, m)) < 0.02] = rng.choice([np.nan, np.inf, -np.inf, 9.0])
        return values

    def view(**more):
        return View(
            matrix(),
            [f"{rng.choice('abc')}{i}" for i in range(n)],
            [f"{rng.choice('xyz')}{j}" for j in range(m)],
            caption=rng.choice(["", "one", "two"]),
            highlights=[(rng.randrange(n), rng.randrange(m)) for _ in range(rng.randrange(3))],
            shown=None if rng.random() < 0.5 else draws.random((n, m)) < 0.9,
            row_sums=rng.random() < 0.5,
            column_sums=rng.random() < 0.5,
            digits=rng.choice([0, 2]),
            axes=rng.choice([("Query", "Key"), ("Row", "Column")]),
            explain=rng.choice([None, lambda i, j: "so"]),
            **more,
        )

    kind = rng.choice(["plain", "view", "heads", "several", "error"])
    if kind == "error":
        return None
    if kind == "plain":
        return matrix()
    if kind == "heads":
        heads = np.stack([matrix() for _ in range(rng.randrange(1, 4))])
        return view(heads=heads, head=rng.choice([None, 0, len(heads) - 1]))
    if kind == "several":
        return {f"{rng.choice('st')}{k}": rng.choice([matrix, view])() for k in range(2)}
    return view()


def a_little_other(rng, old):
    """The same picture with some cells or words changed."""
    if old is None:
        return None
    if isinstance(old, dict):
        return {title: a_little_other(rng, one) for title, one in old.items()}
    new = copy.copy(old)
    matrix = np.array(old.matrix if isinstance(old, View) else old)
    for _ in range(rng.choice([0, 1, 5, 100])):
        matrix[rng.randrange(len(matrix)), rng.randrange(len(matrix[0]))] = rng.random()
    if not isinstance(old, View):
        return matrix
    new.matrix, new.caption = matrix, rng.choice([old.caption, "other"])
    new.row_sums, new.highlights = (
        rng.choice([old.row_sums, True]),
        rng.choice([old.highlights, ()]),
    )
    if rng.random() < 0.3:
        new.shown = ~old.shown
    return new


@pytest.mark.parametrize(
    "sizes",
    [
        [(3, 3), (3, 4), (4, 3), (1, 1), (16, 2)],
        [(16, 16), (17, 17), (64, 9)],
        [(200, 200), (17, 64)],
    ],
    ids=["tables", "both", "canvases"],
)
def test_the_picture_and_a_patch_are_the_new_picture(sizes):
    rng, script = random.Random(5), []
    for _ in range(120):
        other = rng.random() < 0.4 or not script
        script.append(a_view(rng, sizes) if other else a_little_other(rng, script[-1]))
    widget = explore(
        lambda k, seen, spot: script[k],
        k=(0, len(script) - 1), seen=torch.ones(4, 5).bool(), spot=torch.zeros(3, 2),
    )  # fmt: skip
    page, partial, whole = state(widget), 0, 0
    for k, result in enumerate(script):
        changes = {"k": k}
        if rng.random() < 0.5:
            changes["seen"] = [[rng.randrange(4), rng.randrange(5), rng.random() < 0.5]]
            changes["spot"] = [[rng.randrange(3), 1, rng.randrange(-100, 101) / 100]]
        (answer,) = answers(widget, {"changes": changes, "turn": f"a {k}"})
        page = merged(page, answer["patch"])
        assert page == as_json(plainly(widget._sent))
        assert bool(page["error"]) == (result is None)
        for panel in answer["patch"]["panels"]:
            partial += bool("cells" in panel and panel["cells"]["at"])
            whole += "cells" in panel and panel["cells"]["at"] is None
    assert min(partial, whole) > 10


# --- messages ---


def arrive(widget, content):
    """A message of the page, as ipykernel hands it on."""
    widget._handle_custom_msg(content, [])


@pytest.fixture
def told(monkeypatch):
    """What the widgets tell their pages."""
    sent = []
    monkeypatch.setattr(Explore, "send", lambda self, content, buffers=None: sent.append(content))
    return sent


def test_a_slow_function_does_not_hold_up_the_messages(told):
    gate, threads = threading.Event(), []

    def f(x):
        threads.append(threading.current_thread())
        return [[x]] if x == 0 else gate.wait(8) and [[x]]

    slow, other = explore(f, x=[0, 1]), explore(show, x=(0, 5))
    arrive(slow, {"changes": {"x": 1}, "turn": "slow"})
    wait_for(lambda: len(threads) == 2)
    assert not told, "it computes"
    arrive(other, {"changes": {"x": 1}, "turn": "other"})
    wait_for(lambda: told)
    assert [answer["patch"]["turn"] for answer in told] == ["other"]
    gate.set()
    wait_for(lambda: len(told) == 2)
    assert cells(slow) == [["1.00"]]


def test_two_questions_at_once_are_answered_one_after_the_other(told):
    gate, running = threading.Event(), []

    def f(x):
        if x:
            running.append(x)
            gate.wait(8)
        return [[x]]

    widget = explore(f, x=(0, 2, 2))
    assert running == []
    for turn, x in [("a 1", 2), ("b 1", 2)]:
        arrive(widget, {"changes": {"x": x}, "turn": turn})
    wait_for(lambda: running)
    time.sleep(0.1)  # for the second to start, if it could
    assert running == [2]
    gate.set()
    wait_for(lambda: len(told) == 2)
    assert running == [2, 2]
    assert [answer["patch"]["count"] for answer in told] == [1, 2]


def test_a_cell_is_explained():
    view = View([[1, 2], [3, 4]], explain=lambda i, j: f"row {i}, column {j}")
    widget = explore(lambda: {"one": [[0, 0], [5, 0]], "two": view})
    assert [panel["explains"] for panel in state(widget)["panels"]] == [False, True]
    for cell, number, text in [([1, 1, 0], "3.00", "row 1, column 0"), ([0, 1, 0], "5.00", "")]:
        assert answers(widget, {"cell": cell}) == [{"cell": cell, "number": number, "text": text}]


@pytest.mark.parametrize(
    "cell",
    [
        *([0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0.5, 0], [0.0, 0, 0], [0, "a", 0], [0, None, 0]),
        *([0, 0], [0, 0, 0, 0], [], None, 5, "abc", {"a": 1}, [0, 10**30, 0], [[0], 0, 0]),
    ],
)
def test_a_malformed_cell_has_no_texts(cell):
    widget = explore(lambda: View([[1]], explain=lambda i, j: "here", row_sums=True))
    assert answers(widget, {"cell": cell}) == [{"cell": cell, "number": "", "text": ""}]


def test_a_small_head_has_no_texts():
    widget = explore(lambda: View([[1]], heads=[[[1]]], explain=lambda i, j: "here"))
    assert answers(widget, {"cell": [1, 0, 0]}) == [{"cell": [1, 0, 0], "number": "", "text": ""}]


def test_a_cell_that_is_not_computed_yet_has_no_texts():
    view = View([[1, 2]], shown=[[True, False]], explain=lambda i, j: "here")
    (answer,) = answers(explore(lambda: view), {"cell": [0, 0, 1]})
    assert (answer["number"], answer["text"]) == ("", "")


def test_an_explanation_that_fails_says_so():
    widget = explore(lambda: View([[1]], explain=lambda i, j: 1 / 0))
    (answer,) = answers(widget, {"cell": [0, 0, 0]})
    assert answer["text"].startswith("ZeroDivisionError: division by zero (line ")
    assert answer["number"] == "1.00"


def test_what_an_explanation_prints_stays_out_of_the_cell(capsys):
    widget = explore(lambda: View([[1]], explain=lambda i, j: print("printed") or "so"))
    assert answers(widget, {"cell": [0, 0, 0]})[0]["text"] == "so"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [None, [], "values", 5, {}, {"other": 1}])
def test_a_message_that_is_none_of_ours_changes_nothing(content, told, caplog):
    widget, before = explore(show, x=(0, 5)), set(threading.enumerate())
    old = state(widget)
    arrive(widget, content)
    wait_for(lambda: set(threading.enumerate()) <= before)
    assert state(widget) == old
    assert not told
    assert not caplog.records


# --- where nothing runs ---


def test_the_text_is_settings_numbers_and_caption():
    def f(word, temperature, on):
        return View([[0.25, 0.75]], ["row"], ["a", "b"], "Caption.")

    widget = explore(f, word=["one", "two"], temperature=[0.1, 1, 10], on=True)
    change(widget, word=1, temperature=2, on=False)
    assert repr(widget) == (
        "word = two, temperature = 10, on = False\n        a     b\nrow  0.25  0.75\nCaption."
    )


def test_the_text_says_how_many_switches_are_on():
    def f(seen, on):
        return seen.float()

    widget = explore(f, seen=torch.ones(6, 6).tril().bool(), on=True)
    assert repr(widget).splitlines()[0] == "seen = 6 x 6 switches, 21 on, on = True"
    change(widget, seen=[[0, 1, True], [2, 3, True], [2, 4, True]])
    assert repr(widget).splitlines()[0] == "seen = 6 x 6 switches, 24 on, on = True"


def test_the_text_says_where_the_vectors_are():
    widget = explore(lambda keys: keys, keys=np.array([[1, 0.5], [-0.25, 0]]))
    assert repr(widget).splitlines()[0] == "keys = (1.00, 0.50), (-0.25, 0.00)"
    change(widget, keys=[[1, 1, 0.75]])
    assert repr(widget).splitlines()[0] == "keys = (1.00, 0.50), (-0.25, 0.75)"


def displayed(widget):
    """[(bundle, metadata)] of the outputs of a cell that ends in this widget."""
    outputs = []

    def display(bundle, metadata=None, raw=False):
        assert raw
        outputs.append((bundle, metadata))

    with mock.patch.object(MODULE, "display", display):
        widget._ipython_display_()
    as_json(outputs)
    return outputs


@pytest.fixture
def jupyter(monkeypatch):
    """Neither VS Code nor Colab, wherever the tests run."""
    monkeypatch.delenv("VSCODE_PID", raising=False)
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)


def the_still(widget, bundle, metadata):
    """That this bundle shows the picture where nothing runs."""
    assert bundle["text/plain"] == repr(widget)
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG\r\n\x1a\n")
    assert '<img alt="Heatmap: Query by Key' in bundle["text/html"]
    assert bundle["image/png"] in bundle["text/html"]
    assert "<b>" not in bundle["text/html"]
    assert metadata["image/png"]["alt"].startswith("Heatmap: Query by Key")


def test_in_jupyter_the_live_view_and_the_still_picture_are_two_outputs(jupyter):
    widget = explore(lambda x: View([[0.25]], ['<b>"']), x=(0, 4))
    (live, _), (still, metadata) = displayed(widget)
    assert set(live) == {WIDGET} and live[WIDGET]["model_id"] == widget.model_id
    assert WIDGET not in still
    the_still(widget, still, metadata)
    assert still["text/html"].startswith('<div class="explore-still"><style>\n')


@pytest.mark.parametrize("where", ["VS Code", "Colab"])
def test_elsewhere_they_are_one(jupyter, monkeypatch, where):
    if where == "Colab":
        monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    else:
        monkeypatch.setenv("VSCODE_PID", "1")
    widget = explore(lambda x: View([[0.25]], ['<b>"']), x=(0, 4))
    ((bundle, metadata),) = displayed(widget)
    assert bundle[WIDGET]["model_id"] == widget.model_id
    the_still(widget, bundle, metadata)
    assert "explore-still" not in bundle["text/html"]


def test_the_bundle_shows_the_values_of_now():
    widget = explore(show, x=(0, 4))
    first = widget._repr_mimebundle_()[0]
    change(widget, x=1)
    second = widget._repr_mimebundle_()[0]
    assert second["text/plain"].startswith("x = 1\n")
    assert first["image/png"] != second["image/png"]


@pytest.mark.parametrize("word", ["\ud800", "$x$", r"$\frac$", "<b>&amp;", "a\nb\x1b[31m", ""])
def test_words_of_any_kind_are_shown_as_they_are(word):
    def f(text):
        view = View([[1]], [word], caption=word, axes=(word, word))
        return {word: view, "other": view}

    widget = explore(f, text="")
    assert state(widget)["error"] == ""
    bundle, _ = widget._repr_mimebundle_()
    as_json(bundle)
    assert "image/png" in bundle


# --- closing ---


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


@pytest.fixture
def cell(monkeypatch):
    """cell(id): what follows is a new run of this cell of a notebook; None if it has no id."""
    parent, runs = {}, itertools.count()
    kernel = SimpleNamespace(get_parent=lambda channel: parent if channel == "shell" else {})
    monkeypatch.setattr(MODULE, "get_ipython", lambda: SimpleNamespace(kernel=kernel))
    monkeypatch.setattr(MODULE, "_shown", {})

    def run(name):
        metadata = {} if name is None else {"cellId": name}
        parent.update(header={"msg_id": f"run {next(runs)}"}, metadata=metadata)

    return run


def is_open(widget):
    return widget.comm is not None


def test_a_cell_that_runs_again_closes_what_it_made_before(cell):
    before = set(registry._instances)
    cell("one")
    first = [explore(show, x=(0, 5)) for _ in range(2)]
    cell("two")
    other = explore(show, x=(0, 5))
    assert all(map(is_open, [*first, other])), "several of one run stay"
    cell("one")
    again = [explore(show, x=(0, 5)) for _ in range(2)]
    assert not any(map(is_open, first))
    assert all(map(is_open, [*again, other]))
    made = [weakref.ref(widget) for widget in first]
    for _ in range(20):
        cell("two")
        other = explore(show, x=(0, 5))
    del first
    gc.collect()
    assert not any(one() for one in made)
    assert len(set(registry._instances) - before) == 2 * 3, "and the layout of each"


def test_without_a_notebook_nothing_is_closed(cell, monkeypatch):
    cell(None)
    first = explore(show, x=(0, 5))
    cell(None)
    second = explore(show, x=(0, 5))
    for shell in (None, SimpleNamespace(), SimpleNamespace(kernel=None)):
        monkeypatch.setattr(MODULE, "get_ipython", lambda shell=shell: shell)
        third = explore(show, x=(0, 5))
    assert all(map(is_open, [first, second, third]))


def test_a_closed_widget_answers_nobody_and_breaks_nothing():
    widget = explore(show, x=(0, 5))
    widget.close()
    widget._answer({"changes": {"x": 1}, "turn": "a 1"})
    assert cells(widget.compute({"x": 4}))[0][0] == "4.00"


HALF = "\ud800"  # half of a pair of surrogates, which no encoding can hold


def test_half_a_pair_of_surrogates_is_sent_as_text():
    def f(x, text=""):
        print(HALF)
        if x == 1:
            raise ValueError(HALF)
        return View([[1]], [HALF], caption=HALF + text, explain=lambda i, j: HALF)

    widget = explore(f, x=[0, 1], text="")
    for changes in ({"x": 1}, {"x": 0, "text": HALF}):
        send(widget, {"changes": changes, "turn": "a 1"})
        assert "\\ud800" in widget._sent["printed"] + widget._sent["error"]
    assert widget._sent["caption"] == "\\ud800\\ud800"
    assert widget._explanation([0, 0, 0]) == ("1.00", "\\ud800")
