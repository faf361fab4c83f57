"""The live picture without a browser: what it sends its page, what is saved, and what is closed."""

import base64
import gc
import html
import itertools
import json
import queue
import sys
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from asking import arrive, as_json, ask, cells, change, listen, state, wait_for
from ipywidgets.widgets import widget as registry

from helpers import InputError, View, explore
from helpers.pictures import live as module

WIDGET = "application/vnd.jupyter.widget-view+json"


def show(x=0):
    return [[float(x), 0.0]]


# --- messages ---


def test_a_page_that_missed_an_answer_can_ask_for_the_picture_and_nothing_is_computed_twice():
    computed = queue.SimpleQueue()  # which a picture does not copy
    widget = explore(lambda x: computed.put(x) or show(x), x=(0, 5))
    shown = change(widget, x=3)
    for question in [{"whole": 1}, {"changes": {"x": 3}, "turn": shown["turn"]}]:
        assert ask(widget, question)["picture"] == shown
    assert [computed.get(), computed.get()] == [2, 3], "the start, and the change"
    assert computed.empty()
    newer = change(widget, x=4)  # in another view; the first one asks again
    again = ask(widget, {"changes": {"x": 3}, "turn": shown["turn"]})["picture"]
    assert again == newer | {"turn": shown["turn"]}
    assert computed.get() == 4 and computed.empty()


def test_of_the_largest_picture_a_byte_for_each_cell_travels():
    widget = explore(lambda x: np.full((512, 512), x), x=(0, 4))
    answer = ask(widget, {"changes": {"x": 4}, "turn": "a 1"})
    (panel,) = answer["picture"]["panels"]
    assert panel.pop("colours") == [254] * 512 * 512
    assert len(json.dumps(answer)) < 20_000


def test_a_slow_function_does_not_hold_up_the_messages():
    gate, calls = threading.Event(), queue.SimpleQueue()

    def f(x):
        calls.put(x)
        return [[x]] if x == 0 else gate.wait(8) and [[x]]

    slow, other = explore(f, x=[0, 1]), explore(show, x=(0, 5))
    told = listen(slow)
    arrive(slow, {"changes": {"x": 1}, "turn": "slow"})
    wait_for(lambda: calls.qsize() == 2)
    change(other, x=1)
    assert not told, "it computes"
    gate.set()
    wait_for(lambda: told)
    assert cells(told[0]["picture"]) == [["1.00"]]


def test_a_cell_is_explained(capsys):
    def explain(i, j):
        print("printed")
        return 1 / 0 if i == 0 else f"row {i}, column {j}"

    view = View([[1, 2], [3, 4]], explain=explain, shown=[[1, 0], [1, 1]], heads=[np.eye(2)])
    widget = explore(lambda: view)
    for cell, number, text in [
        ([0, 1, 0], "3.00", "row 1, column 0"),
        ([0, 0, 1], "", ""),  # it is empty
        ([1, 1, 0], "", ""),  # in a small head
    ]:
        assert ask(widget, {"cell": cell}) == {"cell": cell, "number": number, "text": text}
    failed = ask(widget, {"cell": [0, 0, 0]})
    assert failed["number"] == "1.00"
    assert failed["text"].startswith("ZeroDivisionError: division by zero (line ")
    assert capsys.readouterr().out == ""
    several = explore(lambda: {"one": [[0]], "two": View([[5]], explain=lambda i, j: "so")})
    assert [panel["explains"] for panel in state(several)["panels"]] == [False, True]
    assert [ask(several, {"cell": [k, 0, 0]})["text"] for k in (0, 1)] == ["", "so"]


def test_half_a_pair_of_surrogates_is_sent_as_text():
    half = "\ud800"  # which no encoding can hold

    def f(x, word):
        print(half)
        if x == 1:
            raise ValueError(half)
        return View([[1]], [half], caption=half, explain=lambda i, j: half)

    widget = explore(f, x={half: 0, "one": 1}, word="")
    assert widget.controls[0]["labels"] == [r"\ud800", "one"]
    assert change(widget, word=half)["values"]["word"] == r"\ud800"
    assert r"\ud800" in change(widget, x=1)["error"]
    picture = change(widget, x=0)
    assert (picture["printed"], picture["caption"]) == ("\\ud800\n", r"\ud800")
    assert ask(widget, {"cell": [0, 0, 0]})["text"] == r"\ud800"
    with pytest.raises(InputError, match=r"the matrix is \\ud800 \(str\)"):
        View(half)


# --- where nothing runs ---


def test_the_text_is_settings_numbers_and_caption_of_now():
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
    """Return displayed(widget): [(bundle, metadata)] of the outputs of a cell that ends in it,
    in Jupyter; not in Colab, even if the tests run there."""
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)

    def displayed(widget):
        outputs = []

        def display(bundle, metadata=None, raw=False, display_id=False):
            assert raw
            outputs.append((bundle, metadata))

        monkeypatch.setattr(module, "display", display)
        widget._ipython_display_()
        as_json(outputs)
        return outputs

    return displayed


def test_an_error_from_the_start_is_shown_without_a_picture(displayed):
    widget = explore(lambda x: [[1 / x]], x=(0, 4, 4))
    assert state(widget)["panels"] == []
    assert repr(widget).startswith("x = 0\nZeroDivisionError")
    (live, _), (still, _) = displayed(widget)
    assert set(live) == {WIDGET}
    assert still["text/plain"] == repr(widget)
    assert html.escape(repr(widget)) in still["text/html"], "programs prefer it to the text"
    assert cells(change(widget, x=4)) == cells(change(widget, x=0)) == [["0.25"]]


@pytest.mark.parametrize("where", ["Jupyter", "VS Code", "Colab"])
def test_the_still_picture_is_an_output_of_its_own_in_jupyter_only(displayed, monkeypatch, where):
    if where == "Colab":
        monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    elif where == "VS Code":
        kernel = SimpleNamespace(user_ns={"__vsc_ipynb_file__": "01.ipynb"})
        monkeypatch.setattr(module, "get_ipython", lambda: kernel)
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


# --- closing ---


@pytest.fixture
def cell(monkeypatch):
    """Return cell(id), which starts a new run of this cell of a notebook; None: it has no id."""
    parent, runs = {}, itertools.count()
    kernel = SimpleNamespace(get_parent=lambda channel: parent if channel == "shell" else {})
    monkeypatch.setattr(module, "get_ipython", lambda: SimpleNamespace(kernel=kernel))

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
    closed = weakref.ref(first.pop())
    del first
    gc.collect()
    assert not closed(), "nobody keeps it"
    assert len(set(registry._instances) - before) == 2 * 3, "and the layout of each"


def test_a_widget_that_is_closed_while_it_computes_answers_nobody_and_breaks_nothing(monkeypatch):
    gate, running, failed = threading.Event(), queue.SimpleQueue(), []
    monkeypatch.setattr(threading, "excepthook", failed.append)

    def f(x):
        running.put(x)
        return [[x]] if x == 0 or gate.wait(8) else None

    widget, before = explore(f, x=[0, 1]), set(threading.enumerate())
    arrive(widget, {"changes": {"x": 1}, "turn": "a 1"})
    wait_for(lambda: running.qsize() == 2)
    widget.close()
    gate.set()
    wait_for(lambda: set(threading.enumerate()) <= before)
    assert not failed
    picture = widget.compute({})
    assert cells(picture) == [["1.00"]] and picture["error"] == ""
