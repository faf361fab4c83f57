"""The live picture without a browser: what it answers its page, and what it is when still."""

import base64
import functools
import gc
import html
import itertools
import json
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from ipywidgets.widgets import widget as registry

from helpers import InputError, View, explore, guard
from helpers.pictures import still
from helpers.pictures.explore import Explore

MODULE = sys.modules[Explore.__module__]  # helpers.pictures.explore itself is the function
WIDGET = "application/vnd.jupyter.widget-view+json"


def show(x=0):
    return [[float(x), 0.0]]


def as_json(x):
    """x as the page gets it, bytes as a list: fails if it cannot travel."""
    text = json.dumps(x, allow_nan=False, ensure_ascii=False, default=list)
    return json.loads(text.encode("utf-8"))


def state(widget):
    """The picture that a new page gets, which asks for the whole state."""
    return as_json(widget.get_state()["picture"])


def wait_for(condition):
    """For what another thread will do; it fails if that takes five seconds."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """What the widgets tell their pages, as (widget, answer), colours put in."""
    told = []

    def send(widget, content, buffers=()):
        panels = content.get("picture", {}).get("panels", ())
        for panel, colours in zip(panels, buffers, strict=True):
            assert panel["colours"] is None and isinstance(colours, bytes), "nothing travels twice"
            panel["colours"] = colours
        told.append((widget, as_json(content)))

    monkeypatch.setattr(Explore, "send", send)
    return told


def arrive(widget, content):
    """A message of the page, as the kernel hands it on."""
    data = {"method": "custom", "content": content}
    widget.comm.handle_msg({"content": {"data": data}, "buffers": []})


@pytest.fixture
def answer(told):
    """answer(widget, content): what the page gets for a message."""

    def answer(widget, content):
        before = len(told)
        arrive(widget, content)
        wait_for(lambda: len(told) > before)
        return told[-1][1]

    return answer


@pytest.fixture
def change(answer):
    """change(widget, name=value): move controls; returns the picture that the page then shows."""

    def change(widget, **changes):
        picture = answer(widget, {"changes": changes, "turn": "a 1"})["picture"]
        assert picture == state(widget) and picture["turn"] == "a 1"
        return picture

    return change


def cells(picture, panel=0):
    """The texts of a panel's cells, row by row; of a widget those that it shows."""
    picture = state(picture) if isinstance(picture, Explore) else picture
    texts, width = picture["panels"][panel]["cells"], len(picture["panels"][panel]["columns"])
    return [list(texts[k : k + width]) for k in range(0, len(texts), width)]


# --- functions and their arguments ---


@pytest.mark.parametrize("fn", [None, "f", [[1.0]], 5])
def test_what_is_no_function_is_refused(fn):
    with pytest.raises(InputError, match="needs your function first"):
        explore(fn, x=(0, 1))


@pytest.mark.parametrize("short, kind", [([[True]], "cells"), (torch.ones(1, 2), "plane")])
def test_two_matrices_cannot_be_the_same_thing_of_the_picture(short, kind):
    with pytest.raises(InputError, match=f"x and y cannot both be the {kind}"):
        explore(lambda x, y: [[1]], x=short, y=short)


@pytest.mark.parametrize("name", ["fn", "seconds", "self", "control", "a b", "step"])
def test_a_control_may_have_any_name_and_anything_that_can_be_called_will_do(name):
    class Callable:
        def __call__(self, /, **values):
            return [[values[name]]]

    for fn in (Callable(), functools.partial(Callable())):
        assert cells(explore(fn, **{name: (1, 2)})) == [["1.00"]]


def test_every_kind_of_control_gives_its_value(change):
    def f(n, share, word, pick, on, text, seen, spot):
        return View([[n, share, pick, on, len(text), *seen[0], *spot[0]]], caption=word, digits=0)

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
        *((other, "values for ['x', 'y', ") for other in ({"z": 1}, {"": 1}, None, [], "x", 5)),
    ],
)
def test_what_the_controls_cannot_have_keeps_all_values_and_the_picture(changes, said, answer):
    widget = explore(
        lambda x, y, **others: [[y]],
        x=(0, 5), y=(0, 5), word=["a", "b"], on=[[True]], spot=torch.ones(1, 2),
    )  # fmt: skip
    before = state(widget)
    answer(widget, {"changes": changes, "turn": ""})
    error = state(widget)["error"]
    assert error.startswith(said) and repr(widget).splitlines()[1] == error
    assert state(widget) == before | {"error": error}
    if not isinstance(changes, dict) or "y" not in changes:
        assert widget.compute(changes)["error"] == error


def test_an_argument_changed_in_place_is_as_new_the_next_time():
    def f(x):
        x += 1
        return [x]

    with_history = torch.ones(2) * torch.ones(2, requires_grad=True)
    widget = explore(f, x={"a": torch.zeros(2), "b": torch.ones(2), "c": with_history})
    for index, number in [(0, "1.00"), (1, "2.00"), (0, "1.00"), (2, "2.00"), (2, "2.00")]:
        assert cells(widget.compute({"x": index})) == [[number, number]]


def test_a_view_that_the_function_keeps_and_changes_leaves_the_last_picture():
    kept = View([[0.25]])

    def f(x):
        kept.matrix[:] = x / 4
        if x == 4:
            raise ValueError
        return kept

    widget = explore(f, x=(0, 4))
    for x in (1, 4):
        assert cells(widget.compute({"x": x})) == [["0.25"]]


# --- what goes wrong ---


def recurse():
    return recurse()


def forever():
    while True:
        pass


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
        (lambda: {}, "the matrix is dict"),
        (lambda: {"a": None, "b": [[1]]}, "the matrix is None; a matrix of numbers"),
        (lambda: View([[1, 2]], ["a", "b", "c"]), "tokens has 3 names; 1 are needed. (line "),
        (recurse, "RecursionError"),
        (sys.exit, "SystemExit"),
        (lambda: next(iter([])), "StopIteration"),
        (Unreadable, "the numbers of the matrix cannot be read: no"),
        (Unprintable, "RuntimeError: no"),
        (forever, "it did not return within 0.2 seconds"),
        (lambda: View([[1]], itertools.count()), "it did not return within 0.2 seconds"),
    ],
    ids=lambda x: None if callable(x) else x[:20],
)
def test_what_goes_wrong_is_said_and_the_last_picture_stays(what, error, change, monkeypatch):
    widget = explore(lambda x: [[0.25]] if x == 0 else what(), x=[0, 1])
    monkeypatch.setattr(guard, "SECONDS", 0.2)
    picture = change(widget, x=1)
    assert error in picture["error"]
    assert picture["values"] == {"x": 1}
    assert cells(picture) == [["0.25"]]
    monkeypatch.undo()
    assert widget.compute({"x": 0})["error"] == ""


def test_an_error_from_the_start_is_shown_without_a_picture(displayed, change):
    widget = explore(lambda x: [[1 / x]], x=(0, 4, 4))
    assert state(widget)["panels"] == []
    assert repr(widget).startswith("x = 0\nZeroDivisionError")
    (live, _), (still, _) = displayed(widget)
    assert set(live) == {WIDGET}
    assert still["text/plain"] == repr(widget)
    assert html.escape(repr(widget)) in still["text/html"], "programs prefer it to the text"
    assert cells(change(widget, x=4)) == cells(change(widget, x=0)) == [["0.25"]]


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


def test_the_heads_are_in_the_picture_on_one_scale(change):
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
    assert repr(widget) == (
        "before\n      0     1\n0  1.00  2.00\n"
        "2\n      0     1   sum\n0  3.00  4.00  7.00\nCaption."
    )
    bundle, metadata = widget._repr_mimebundle_()
    assert bundle["text/plain"] == repr(widget)
    assert metadata["image/png"]["alt"].startswith("2 heatmaps, from before to 2. Heatmap: ")
    widget = explore(lambda: {"alone": [[1.0]]})
    assert repr(widget) == "alone\n      0\n0  1.00"


SIZES = [
    *[((n, m), (n, m)) for n, m in [(16, 16), (1, 16), (17, 1), (64, 64), (512, 512)]],
    *[((513, 513), (512, 512)), ((2000, 30), (512, 30)), ((1, 600), (1, 512))],
]


@pytest.mark.parametrize("shape, seen", SIZES)
def test_numbers_up_to_16_then_colours_and_beyond_512_a_part(shape, seen, answer):
    (n, m), numbers = seen, max(shape) <= 16
    matrix = torch.arange(shape[0] * shape[1]).view(shape).double()
    rows, columns = (
        [f"{a}{k}" for k in range(count)] for a, count in zip("rc", shape, strict=True)
    )
    view = View(matrix, rows, columns, caption="Caption.", highlights=[(0, 0), (n - 1, m - 1)])
    widget = explore(lambda: view)
    picture = state(widget)
    (panel,) = picture["panels"]
    assert (panel["size"], panel["rows"], panel["columns"]) == ([n, m], rows[:n], columns[:m])
    assert cells(picture) == ([[f"{x:.2f}" for x in row] for row in matrix] if numbers else [])
    expected = (matrix[:n, :m] / matrix.max() * 254).round().flatten().tolist()
    assert panel["colours"] == expected, "on the scale of the whole"
    assert panel["lit"] == sorted({0, n * m - 1})
    part = f"Rows 0 to {n - 1} and columns 0 to {m - 1} of {shape}. "
    assert picture["caption"] == part * (shape != seen) + "Caption."
    assert repr(widget).endswith(picture["caption"])
    for i, j in {(0, 0), (n - 1, 0), (n - 1, m - 1)}:
        found = answer(widget, {"cell": [0, i, j]})
        assert found == {"cell": [0, i, j], "number": f"{matrix[i, j]:.2f}", "text": ""}


def test_the_sums_count_when_there_are_numbers_only():
    for n, sums in [(16, 1), (17, 0)]:
        widget = explore(lambda n: View(torch.ones(n, n), row_sums=True, column_sums=True), n=[n])
        (panel,) = state(widget)["panels"]
        assert len(panel["rows"]) == len(panel["columns"]) == n + sums
        assert len(panel["colours"]) == (n + sums) ** 2
        assert len(panel["cells"]) == (n + sums) ** 2 * sums


# --- printing ---


def test_what_the_function_prints_is_in_the_picture_only(capsys, change):
    widget = explore(lambda x: print("x is", x) or [[x]], x=(0, 4))
    assert state(widget)["printed"] == "x is 2\n"
    assert change(widget, x=3)["printed"] == "x is 3\n"
    assert change(widget, x=9)["printed"] == ""
    assert len(state(explore(lambda: print("x" * 10**6) or [[1]]))["printed"]) < 10_000
    assert capsys.readouterr().out == ""


# --- what a control may do ---


def test_no_slider_goes_beyond_what_has_a_meaning(change):
    def heads(many, head, step):
        limits = {"step": 2 * many, "of nothing": 5}
        return View([[head]], heads=[[[0.0]]] * many, head=min(head, many) - 1, limits=limits)

    widget = explore(heads, many=[1, 2, 4], head=(1, 12), step=(0, 9))
    assert state(widget)["most"] == {"head": 1, "step": 2}
    assert state(widget)["values"] == {"many": 0, "head": 1, "step": 0}
    assert change(widget, many=2)["most"] == {"head": 4, "step": 8}
    assert change(widget, head=4, step=7)["values"] == {"many": 2, "head": 4, "step": 7}
    assert change(widget, many=1)["values"] == {"many": 1, "head": 2, "step": 4}
    several = explore(lambda x: {"a": View([[1]], limits={"x": 3}), "b": View([[1]])}, x=(0, 9))
    assert state(several)["most"] == {"x": 3}
    assert state(explore(show, x=(0, 9)))["most"] == {}


def test_marked_cells_and_fixed_points_travel(answer):
    view = View(
        np.eye(2), row_sums=True, marked={"masked": [[0, 0], [1, 0]], "dropped": [[0, 1], [0, 0]]},
        points={"q": (1, 0.5)}, explain=lambda i, j: "so",
    )  # fmt: skip
    widget = explore(lambda: view)
    (panel,) = state(widget)["panels"]
    assert panel["marked"] == [["masked", [3]], ["dropped", [1]]]
    assert panel["points"] == [["q", 1, 0.5]]
    assert [answer(widget, {"cell": [0, 1, j]})["text"] for j in (0, 1)] == ["", "so"]


# --- messages ---


def test_a_page_that_missed_an_answer_can_ask_for_the_picture(answer, change):
    widget = explore(show, x=(0, 5))
    shown = change(widget, x=3)
    assert answer(widget, {"whole": 1})["picture"] == shown


def test_of_the_largest_picture_a_byte_for_each_cell_travels(told):
    widget = explore(lambda x: np.full((512, 512), x), x=(0, 4))
    arrive(widget, {"changes": {"x": 4}, "turn": ""})
    wait_for(lambda: told)
    (panel,) = told[0][1]["picture"]["panels"]
    assert panel.pop("colours") == [254] * 512 * 512
    assert len(json.dumps(told[0][1])) < 20_000


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
    assert [widget for widget, _ in told] == [other]
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
    assert [answer["picture"]["turn"] for _, answer in told] == ["a 1", "b 1"]


def test_a_cell_is_explained(answer, capsys):
    def explain(i, j):
        print("printed")
        return 1 / 0 if i == 0 else f"row {i}, column {j}"

    view = View([[1, 2], [3, 4]], explain=explain, shown=[[1, 0], [1, 1]], heads=[np.eye(2)])
    widget = explore(lambda: view)
    for cell, number, text in [
        ([0, 1, 0], "3.00", "row 1, column 0"),
        ([0, 0, 1], "", ""),  # not computed yet
        ([1, 1, 0], "", ""),  # of a small head
    ]:
        assert answer(widget, {"cell": cell}) == {"cell": cell, "number": number, "text": text}
    failed = answer(widget, {"cell": [0, 0, 0]})
    assert failed["number"] == "1.00"
    assert failed["text"].startswith("ZeroDivisionError: division by zero (line ")
    assert capsys.readouterr().out == ""
    several = explore(lambda: {"one": [[0]], "two": View([[5]], explain=lambda i, j: "so")})
    assert [panel["explains"] for panel in state(several)["panels"]] == [False, True]
    assert [answer(several, {"cell": [k, 0, 0]})["text"] for k in (0, 1)] == ["", "so"]


@pytest.mark.parametrize(
    "cell",
    [
        *([0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0.5, 0], [0.0, 0, 0], [0, "a", 0], [0, None, 0]),
        *([0, 0], [0, 0, 0, 0], [], None, 5, "abc", {"a": 1}, [0, 10**30, 0], [[0], 0, 0]),
    ],
)
def test_a_malformed_cell_has_no_texts(cell, answer):
    widget = explore(lambda: View([[1]], explain=lambda i, j: "here", row_sums=True))
    assert answer(widget, {"cell": cell}) == {"cell": cell, "number": "", "text": ""}


@pytest.mark.parametrize("content", [None, [], "values", 5, {}, {"other": 1}])
def test_a_message_that_is_none_of_ours_changes_nothing(content, told, caplog):
    widget = explore(show, x=(0, 5))
    old = state(widget)
    arrive(widget, content)
    arrive(widget, {"whole": 1})
    wait_for(lambda: told)
    assert [told[0][1]["picture"]] == [old] and len(told) == 1
    assert not caplog.records


def test_half_a_pair_of_surrogates_is_sent_as_text(change, answer):
    half = "\ud800"  # which no encoding can hold

    def f(x, text=""):
        print(half)
        if x == 1:
            raise ValueError(half)
        return View([[1]], [half], caption=half + text, explain=lambda i, j: half)

    widget = explore(f, x=[0, 1], text="")
    assert r"\ud800" in change(widget, x=1)["error"]
    picture = change(widget, x=0, text=half)
    assert (picture["printed"], picture["caption"]) == ("\\ud800\n", r"\ud800\ud800")
    assert answer(widget, {"cell": [0, 0, 0]})["text"] == r"\ud800"


# --- where nothing runs ---


def test_the_text_is_settings_numbers_and_caption_of_now(change):
    def f(word, temperature, on, seen):
        return View([[0.25, 0.5 + on / 4]], ["row"], ["a", "b"], "Caption.")

    widget = explore(f, word=["one", "two"], temperature=[0.1, 1, 10], on=True, seen=[[True] * 3])
    before = widget._repr_mimebundle_()[0]
    change(widget, word=1, temperature=2, on=False, seen=[[True, False, True]])
    assert repr(widget) == (
        "word = two, temperature = 10, on = False, seen = 1 x 3 switches, 2 on\n"
        "        a     b\nrow  0.25  0.50\nCaption."
    )
    after = widget._repr_mimebundle_()[0]
    assert after["text/plain"] == repr(widget) and after["image/png"] != before["image/png"]


@pytest.fixture
def displayed(monkeypatch):
    """displayed(widget): [(bundle, metadata)] of the outputs of a cell that ends in it, in
    Jupyter: not in Colab, wherever the tests run."""
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)

    def displayed(widget):
        outputs = []

        def display(bundle, metadata=None, raw=False):
            assert raw
            outputs.append((bundle, metadata))

        monkeypatch.setattr(MODULE, "display", display)
        widget._ipython_display_()
        as_json(outputs)
        return outputs

    return displayed


@pytest.mark.parametrize("where", ["Jupyter", "VS Code", "Colab"])
def test_the_still_picture_is_an_output_of_its_own_in_jupyter_only(displayed, monkeypatch, where):
    if where == "Colab":
        monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    elif where == "VS Code":
        kernel = SimpleNamespace(user_ns={"__vsc_ipynb_file__": "01.ipynb"})
        monkeypatch.setattr(MODULE, "get_ipython", lambda: kernel)
    widget = explore(lambda x: View([[0.25]], ['<b>"']), x=(0, 4))
    (live, _), *more, (bundle, metadata) = [*displayed(widget)] * (2 - (where == "Jupyter"))
    assert not more and live[WIDGET]["model_id"] == widget.model_id
    if where == "Jupyter":
        assert set(live) == {WIDGET} and WIDGET not in bundle
        assert bundle["text/html"].startswith('<div class="explore-still"><style>\n')
    else:
        assert "explore-still" not in bundle["text/html"]
    assert bundle["text/plain"] == repr(widget)
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG\r\n\x1a\n")
    assert '<img alt="Heatmap: Query by Key' in bundle["text/html"]
    assert bundle["image/png"] in bundle["text/html"] and "<b>" not in bundle["text/html"]
    assert metadata["image/png"]["alt"].startswith("Heatmap: Query by Key")


@pytest.mark.parametrize("number", [2, 70])
def test_many_side_by_side_are_shown_as_text_at_least(number, monkeypatch):
    monkeypatch.setattr(still, "MAX_AREA", 300)
    widget = explore(lambda: {k: torch.full((400, 400), k) for k in range(number)})
    assert len(state(widget)["panels"]) == number
    bundle = widget._repr_mimebundle_()[0]
    assert bundle["text/plain"].count("Rows 0 to 63 and columns 0 to 63 of (400, 400).") == number
    assert ("image/png" in bundle) == (number == 2)


# --- closing ---


@pytest.fixture
def cell(monkeypatch):
    """cell(id): what follows is a new run of this cell of a notebook; None if it has no id."""
    parent, runs = {}, itertools.count()
    kernel = SimpleNamespace(get_parent=lambda channel: parent if channel == "shell" else {})
    monkeypatch.setattr(MODULE, "get_ipython", lambda: SimpleNamespace(kernel=kernel))

    def run(name):
        metadata = {} if name is None else {"cellId": name}
        parent.update(header={"msg_id": f"run {next(runs)}"}, metadata=metadata)

    return run


def is_open(widget):
    return widget.comm is not None


def test_a_cell_that_runs_again_closes_what_it_made_before(cell, told):
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
    assert not any(one() for one in made), "nobody keeps what is closed"
    assert len(set(registry._instances) - before) == 2 * 3, "and the layout of each"


def test_the_first_cell_that_shows_something_says_how_to_read_it(cell):
    cell("one")
    first, also = explore(show, x=(0, 5)), explore(show, x=(0, 5))
    cell("two")
    second = explore(show, x=(0, 5))
    cell("one")
    again = explore(show, x=(0, 5))
    for words in ("your last move changed", "Tab", "reset"):
        assert all(words in widget.help for widget in (first, also, again))
    assert second.help == ""


def test_without_a_notebook_nothing_is_closed(cell, monkeypatch):
    cell(None)
    first = explore(show, x=(0, 5))
    cell(None)
    second = explore(show, x=(0, 5))
    for shell in (None, SimpleNamespace(), SimpleNamespace(kernel=None)):
        monkeypatch.setattr(MODULE, "get_ipython", lambda shell=shell: shell)
        third = explore(show, x=(0, 5))
    assert all(map(is_open, [first, second, third]))


def test_a_widget_that_is_closed_while_it_computes_answers_nobody_and_breaks_nothing(monkeypatch):
    gate, running, failed = threading.Event(), [], []
    monkeypatch.undo()  # it really sends
    monkeypatch.setattr(threading, "excepthook", failed.append)

    def f(x):
        running.append(x)
        return [[x]] if x == 0 or gate.wait(8) else None

    widget, before = explore(f, x=[0, 1]), set(threading.enumerate())
    arrive(widget, {"changes": {"x": 1}, "turn": "a 1"})
    wait_for(lambda: running[1:])
    widget.close()
    gate.set()
    wait_for(lambda: set(threading.enumerate()) <= before)
    assert not failed
    assert cells(widget.compute({})) == [["1.00"]]
