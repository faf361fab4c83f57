"""The live picture without a browser: what it shows for values of its controls."""

import functools
import gc
import itertools
import sys

import numpy as np
import pytest
import torch
from asking import ask, cells, change, state

from helpers import InputError, View, explore, guard
from helpers.pictures.sketch import Sketch


def show(x=0):
    return [[float(x), 0.0]]


# --- functions and their arguments ---


@pytest.mark.parametrize("name", ["fn", "seconds", "self", "control", "a b", "step"])
def test_a_control_may_have_any_name_and_anything_that_can_be_called_will_do(name):
    class Callable:
        def __call__(self, /, **values):
            return [[values[name]]]

    for fn in (Callable(), functools.partial(Callable())):
        assert cells(state(explore(fn, **{name: (1, 2)}))) == [["1.00"]]


class Spotted(View):
    def sketch(self):
        part = Sketch(9, 9)
        part.line([(5, 5)], drags=("spot", 0, 1, 1), label="spot")
        return [part]


def test_every_kind_of_control_gives_its_value():
    def f(n, share, word, pick, on, text, seen, spot):
        row = [n, share, pick, on, len(text), *seen[0], *spot[0]]
        return Spotted([row], caption=word, digits=0)

    widget = explore(
        f, n=(0, 4), share=(0.0, 4.0), word=["a", "b"], pick=[1, 10, 100], on=False, text="",
        seen=[[True, False]], spot=torch.zeros(1, 2),
    )  # fmt: skip
    change(widget, n=4, share=0, word=1, pick=2, on=True, text="<b>")
    change(widget, spot=[[1, 0]])
    picture = change(widget, seen=[[False, True]])  # what is not named stays
    assert cells(picture) == [["4", "0", "100", "1", "3", "0", "1", "1", "0"]]
    assert cells(widget.compute({})) == cells(picture)
    assert picture["caption"] == "b" and picture["values"]["text"] == "<b>"


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"x": 6, "y": 1}, "x is 6; a whole number from 0 to 5 is expected."),
        ({"word": 2, "y": 1}, "word is 2; "),
        ({"on": [[1]], "y": 1}, "on is "),
        ({"spot": [[1, 0, 2]], "y": 1}, "spot is "),
    ],
)
def test_what_the_controls_cannot_have_keeps_all_values_and_the_picture(changes, said):
    widget = explore(
        lambda x, y, **others: [[y]],
        x=(0, 5), y=(0, 5), word=["a", "b"], on=[[True]], spot=torch.ones(1, 2),
    )  # fmt: skip
    before = state(widget)
    ask(widget, {"changes": changes, "turn": "a 1"})
    error = state(widget)["error"]
    assert error.startswith(said) and repr(widget).splitlines()[1] == error
    assert state(widget) == before | {"error": error, "turn": "a 1"}


def test_a_question_that_comes_again_late_changes_nothing():
    widget = explore(show, x=(0, 5))
    for turn, x in ("a 1", 1), ("b 1", 2), ("a 1", 1):
        ask(widget, {"changes": {"x": x}, "turn": turn})
    assert state(widget)["values"] == {"x": 2}


def test_an_argument_changed_in_place_is_as_new_the_next_time():
    def f(x):
        x[0] += 1
        return [x[0]]

    with_history = torch.ones(1, 2) * torch.ones(1, 2, requires_grad=True)
    same = {"a": torch.zeros(1, 2), "b": [np.ones(2)], "c": with_history, "d": [with_history[0]]}
    widget = explore(f, x=same)
    for index, number in [(0, "1.00"), (1, "2.00"), (2, "2.00"), (3, "2.00")] * 2:
        assert cells(widget.compute({"x": index})) == [[number, number]]


# --- what goes wrong ---


def test_a_refused_view_leaves_nothing_that_complains_later(monkeypatch):
    later = []
    monkeypatch.setattr(sys, "unraisablehook", later.append)
    with pytest.raises(InputError):
        explore(lambda x=0: [[x]], x=5.0)
    gc.collect()
    assert later == []


def recurse():
    return recurse()


def forever():
    while True:
        pass


@pytest.mark.parametrize(
    "what, error",
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero (line "),
        (lambda: None, "the function returned None, not a matrix or a View"),
        (lambda: (torch.eye(2), torch.eye(2)), "the function returned 2 things; return one matrix"),
        (lambda: (torch.eye(2), [1]), "returned 2 things; return one matrix, for instance the sec"),
        (lambda: (torch.eye(2)[None],), "Choose a matrix, for instance weights[0]."),
        (lambda: torch.ones(1, 513), "the shape is (1, 513); at most 512 rows and columns fit."),
        (lambda: View([[1, 2]], ["a", "b", "c"]), "tokens has 3 names; 1 are needed. (line "),
        (recurse, "RecursionError"),
        (lambda: View([[1]], digits="two"), "ValueError"),
        (sys.exit, "SystemExit"),
        (forever, "it did not return within 0.2 seconds"),
        (lambda: View([[1]], itertools.count()), "it did not return within 0.2 seconds"),
    ],
    ids=lambda x: None if callable(x) else x[:20],
)
def test_what_goes_wrong_is_said_and_the_last_picture_stays(what, error, monkeypatch):
    widget = explore(lambda x: [[0.25]] if x == 0 else what(), x=[0, 1])
    monkeypatch.setattr(guard, "SECONDS", 0.2)
    picture = change(widget, x=1)
    assert error in picture["error"]
    assert picture["values"] == {"x": 1}
    assert cells(picture) == [["0.25"]]
    monkeypatch.undo()
    assert widget.compute({"x": 0})["error"] == ""


# --- panels ---


def test_nan_infinities_and_numpy_integers_are_json():
    view = View(
        [[np.nan, np.inf, -np.inf, 1e30], [0] * 4],
        highlights=[(np.int64(0), np.int64(1)), torch.tensor([1, 2])],
        row_sums=np.bool_(True),
        digits=np.int64(1),
        axes=np.array(["Row", "Column"]),
        caption=5,
    )
    (panel,) = state(explore(lambda: view))["panels"]
    assert panel["cells"][:5] == ["nan", "inf", "-inf", "1.0e+30", "nan"]
    assert panel["colours"][:5] == [255, 254, 0, 254, 255]
    assert panel["lit"] == [1, 5 + 2], "in its row, also beside a sum"
    assert panel["axes"] == ["Row", "Column"]


def test_the_heads_are_in_the_picture_on_one_scale():
    def f(head, many):
        heads = torch.arange(1.0, many + 1)[:, None, None].expand(many, 2, 3)
        return View(heads[head], heads=heads, head=head or None, row_sums=True)

    widget = explore(f, head=(0, 4), many=(1, 5))
    for head, many in [(0, 1), (1, 4), (4, 5), (1, 3)]:
        picture = change(widget, head=head, many=many)
        large, *small = picture["panels"]
        assert picture["error"] == "" and "small" not in large
        assert [panel["title"] for panel in small] == [f"head {k + 1}" for k in range(many)]
        assert [panel["large"] for panel in small] == [0 < k == head for k in range(many)]
        for k, panel in enumerate(small):
            assert panel["colours"] == [round((k + 1) / many * 254)] * 6, "no place for a sum"
            assert panel["small"] and panel["cells"] == []
        assert large["colours"][:3] == small[head]["colours"][:3]


def test_several_matrices_stand_side_by_side():
    both = {"before": [[1, 2]], 2: View([[3, 4]], caption="Caption.", row_sums=True)}
    widget = explore(lambda: both)
    picture = state(widget)
    assert [panel["title"] for panel in picture["panels"]] == ["before", "2"]
    assert cells(picture, 0) == [["1.00", "2.00"]]
    assert cells(picture, 1) == [["3.00", "4.00", "7.00"]]
    assert picture["caption"] == "Caption."


@pytest.mark.parametrize("n, m", [(16, 16), (17, 1), (512, 512)])
def test_numbers_up_to_16_then_colours(n, m):
    matrix = torch.arange(n * m).view(n, m).double()
    rows, columns = ([f"{a}{k}" for k in range(count)] for a, count in (("r", n), ("c", m)))
    view = View(matrix, rows, columns, caption="Caption.", highlights=[(0, 0), (n - 1, m - 1)])
    widget = explore(lambda: view)
    picture = state(widget)
    (panel,) = picture["panels"]
    assert (panel["size"], panel["rows"], panel["columns"]) == ([n, m], rows, columns)
    numbers = [[f"{x:.2f}" for x in row] for row in matrix]
    assert cells(picture) == (numbers if max(n, m) <= 16 else [])
    assert panel["colours"] == (matrix / matrix.max() * 254).round().flatten().tolist()
    assert panel["lit"] == sorted({0, n * m - 1})
    assert picture["caption"] == "Caption." and repr(widget).endswith("Caption.")
    for i, j in {(0, 0), (n - 1, 0), (n - 1, m - 1)}:
        found = ask(widget, {"cell": [0, i, j]})
        assert found == {"cell": [0, i, j], "number": f"{matrix[i, j]:.2f}", "text": ""}


def test_a_tuple_of_rows_is_one_matrix():
    widget = explore(lambda: (torch.ones(2), np.zeros(2)))
    assert cells(state(widget)) == [["1.00"] * 2, ["0.00"] * 2]


def test_what_numpys_mask_hides_is_empty_on_the_page():
    hidden = np.ma.masked_where([[0, 1], [0, 0]], [[3.0, 9.0], [1.0, 2.0]])
    (panel,) = state(explore(lambda: hidden))["panels"]
    assert panel["cells"] == ["3.00", "", "1.00", "2.00"]
    assert panel["colours"] == [254, 255, 85, 169]


# --- printing ---


def test_what_the_function_prints_is_in_the_picture_only(capsys):
    widget = explore(lambda x: print("x is", x) or [[x]], x=(0, 4))
    assert state(widget)["printed"] == "x is 2\n"
    assert change(widget, x=3)["printed"] == "x is 3\n"
    assert change(widget, x=9)["printed"] == ""
    assert len(state(explore(lambda: print("x" * 10**6) or [[1]]))["printed"]) < 10_000
    assert capsys.readouterr().out == ""


# --- what a control may do ---


def test_marked_cells_travel():
    view = View(
        np.eye(2), row_sums=True, marked={"masked": [[0, 0], [1, 0]], "dropped": [[0, 1], [0, 0]]},
        explain=lambda i, j: "so",
    )  # fmt: skip
    widget = explore(lambda: view)
    (panel,) = state(widget)["panels"]
    assert panel["marked"] == [["masked", [3]], ["dropped", [1]]]
    assert [ask(widget, {"cell": [0, 1, j]})["text"] for j in (0, 1)] == ["", "so"]
