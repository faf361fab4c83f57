"""Student code cannot break a check: it ends with a verdict in time, and leaves the session as it
was before; so does a picture. What a call may do at all is tested in test_guard.py."""

import builtins
import os
import random
import subprocess
import sys
import time
import warnings
from collections import namedtuple
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from asking import change
from matplotlib import pyplot
from torch import nn

from helpers import attention, check, explore, guard, yours

ROOT = Path(__file__).parent.parent


def right(scores):
    exps = (scores - scores.max(-1, keepdim=True).values).exp()
    return exps / exps.sum(-1, keepdim=True)


# --- whatever it does, there is a verdict ---


def function(code):
    """Return the function with this body; code that is a function already stays as it is."""
    if callable(code):
        return code
    exec(f"def answer(scores):\n    {code}", namespace := dict(globals()))
    return namespace["answer"]


STOPPED = "it did not return within"
BROKEN = [
    ("sys.exit(1)", "SystemExit"),
    ("quit()", "SystemExit"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("return answer(scores)", "RecursionError"),
    ("while True: pass", STOPPED),
    ("return input('a number: ')", "input() does not work"),
    ("yield 1.0", "it returned a generator"),
    (lambda scores, T: scores, "your function takes (scores, T)"),
    ("result = []\n    result += [result, result]\n    return result", "cannot be read"),
    ("return scores.to('meta')", "cannot be read"),
    ("return torch.nested.nested_tensor([scores, scores[:2]])", "cannot be read"),
    ("return torch.ones(1).expand(10**9)", "a tensor of 1000000000 numbers"),
    ("return np.broadcast_to(np.ones(1), (10**9,))", "an array of 1000000000 numbers"),
    ("return [0.0] * 10**7", "a list of 10000000 numbers"),
    ("return right(scores).to(torch.float8_e4m3fn)", "yours"),
    ("return scores.abs().to(torch.uint16)", "yours"),
]


@pytest.mark.parametrize("code, words", BROKEN)
def test_whatever_it_does_the_check_ends_with_a_verdict(code, words, monkeypatch):
    if words == STOPPED:
        monkeypatch.setattr(guard, "SECONDS", 0.5)
    verdict = check("softmax", function(code))
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert words in " ".join(verdict.message.split())
    monkeypatch.setattr(guard, "SECONDS", 10)  # on a busy machine half a second may be too short
    assert check("softmax", right).passed


def test_all_calls_together_have_one_limit(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 0.6)
    monkeypatch.setattr(guard, "WAITS", 1)  # to sleep is to work
    verdict = check("softmax", lambda scores: time.sleep(0.25) or right(scores))
    said = " ".join(verdict.message.split())
    assert "all calls together did not end within 0.6 seconds" in said


IMPORTED = """
import sys
import helpers
from helpers.lessons.lesson_09.marks import train_reader
heavy = {"matplotlib", "PIL", "torch._dynamo", "pandas", "sympy"}
before = heavy & sys.modules.keys()
helpers.check("softmax", lambda scores: scores)
helpers.check("softmax", lambda scores: scores.softmax(-1))
train_reader(2, 1, steps=1)  # an optimizer of torch would take a second to import
print(before, heavy & sys.modules.keys())
repr(helpers.heatmap([[1]]))
print("matplotlib" in sys.modules)
"""


def test_what_takes_long_to_import_is_imported_only_when_it_is_needed():
    command = [sys.executable, "-X", "utf8", "-c", IMPORTED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.stdout.endswith("set() set()\nTrue\n"), done.stderr


# --- the session ---

names, numbers, known = ["a"], {"x": 1}, {1}
row = [1.0, 2.0]
nested = [row, [3.0]]
memory = torch.arange(6.0)
view = memory[1:3]
array = np.array([1.0, np.nan])
layer = nn.Linear(2, 2)
generator = torch.Generator().manual_seed(1)


class Counter:
    __slots__ = ("count",)
    made = []

    def __init__(self):
        self.count = 0


class Counters(Counter):
    __slots__ = ("rows",)


class Single:
    one = None

    def __new__(cls, rows):
        cls.one = cls.one or super().__new__(cls)
        cls.one.rows = rows
        return cls.one


class Silent:
    def __getattribute__(self, name):
        raise RuntimeError(name)


class Kept:
    total = 0

    def __init__(self):
        self.rows, self.layer = [], nn.Linear(2, 2)


counter, kept = Counters(), Kept()
counter.rows = []
single = Single([])
point = namedtuple("Point", "place")(torch.zeros(2))
odd = Silent(), nn.LazyLinear(1), torch.nested.nested_tensor([view, memory])


def enclosing():
    hidden, times = [1], 0

    def inner(more=1, kept=[]):  # noqa: B006
        nonlocal times
        times += more
        hidden.append(times), kept.append(times)
        inner.calls = times
        return hidden, kept

    return inner


inner = enclosing()
partly = partial(inner, 2)


def state():
    """Return what an answer could reach, and what neither a check nor a picture may change."""
    cells = {cell.cell_contents for cell in inner.__closure__ if type(cell.cell_contents) is int}
    return {
        "globals": set(globals()),
        "containers": (repr((names, numbers, known, nested)), nested[0] is row),
        "tensors": (memory.tolist(), view.tolist(), memory.requires_grad, repr(array)),
        "layer": (layer.weight.tolist(), layer.weight.requires_grad, layer.training),
        "gradient": (layer.weight.grad, layer.bias.grad),
        "generator": generator.get_state().tolist(),
        "slots": (counter.count, counter.rows[:], Counter.made[:], hasattr(Counter, "other")),
        "object": (Kept.total, kept.rows[:], kept.layer.weight.tolist(), vars(kept).keys() - {0}),
        "single": (Single.one is single, vars(single).copy(), repr(point)),
        "function": (inner.__defaults__[1][:], vars(inner).copy(), cells),
        "process": (os.getcwd(), {**os.environ, "PYTEST_CURRENT_TEST": ""}, list(sys.path)),
        "python": (builtins.oct, builtins.hex),
        "plots": (matplotlib.get_backend(), pyplot.get_fignums(), pyplot.rcParams["font.size"]),
        "hooks": list(nn.modules.module._global_forward_hooks.values()),
        "random": (random.getstate(), torch.get_rng_state().tolist()),
        "numpy": np.random.get_state()[1].tolist(),
        "warnings": list(warnings.filters),
        "torch": (
            torch.get_num_threads(),
            torch.get_default_dtype(),
            torch._tensor_str.get_printoptions(),
            torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
            torch.is_anomaly_enabled(),
            torch.get_float32_matmul_precision(),
        ),
        "recursion": sys.getrecursionlimit(),
    }


def changes_settings(scores):
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.set_default_dtype(torch.float64)
    torch.set_printoptions(precision=1)
    torch.manual_seed(3), random.seed(3), np.random.seed(3)
    warnings.simplefilter("error")
    torch.autograd.set_detect_anomaly(True)
    torch.set_float32_matmul_precision("medium")
    nn.modules.module.register_module_forward_hook(lambda *_: None)
    os.chdir(os.path.dirname(os.getcwd()))
    os.environ["NEWCOMER"] = "1"
    os.environ.pop("PATH", None)
    sys.path.insert(0, "newcomer")
    builtins.oct = builtins.hex = None
    return right(scores)


def changes_plots(scores):
    pyplot.switch_backend("svg")
    pyplot.close("all")
    pyplot.figure(7), pyplot.figure(8)
    matplotlib.rcParams["font.size"] = 30
    return right(scores)


def changes_variables(scores):
    global newcomer
    newcomer = names
    newcomer.append("b")
    numbers.clear()
    known.add(2)
    nested[0][0] = 0.0
    nested[0] = [5.0]
    view.add_(1)
    array[0] = 5
    array.shape = 2, 1
    layer.weight.data.zero_()
    layer.weight.requires_grad_(False)
    layer.eval()
    layer.bias.sum().backward()
    torch.rand(1, generator=generator)
    return right(scores)


def changes_objects(scores):
    counter.count += 1
    Counter.made.append(counter)
    Counter.other = Kept.total = 5
    kept.rows.append(1)
    kept.layer.weight.data.fill_(1)
    kept.newcomer = 1
    counter.rows.append(odd)
    single.__dict__ = {}
    Single([1])
    point.place.add_(1)
    partly(), inner(kept=[1])
    return right(scores)


def binds_variables_anew(scores):
    global names, memory
    names, memory = [], torch.ones(2)
    return right(scores)


class Rude(attention.SelfAttention):
    """A right answer that changes what it can reach."""

    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        torch.set_printoptions(precision=1)
        torch._C._set_deterministic_algorithms(False, warn_only=False)
        names.append("b")

    def forward(self, inputs):
        torch.set_grad_enabled(True)
        random.random(), np.random.rand()
        memory.zero_()
        return super().forward(inputs)


RUDE = [
    ("softmax", changes_settings),
    ("softmax", changes_plots),
    ("softmax", changes_variables),
    ("softmax", changes_objects),
    ("softmax", binds_variables_anew),
    ("SelfAttention", Rude),
]


@pytest.fixture(params=[True, False])
def as_before(request, monkeypatch):
    """Assert that the session is the same after the test."""
    fill = "fill_uninitialized_memory"
    monkeypatch.setattr(torch.utils.deterministic, fill, request.param)
    pyplot.figure(3)
    before = state()
    yield
    after = state()
    assert [(x, after[name]) for name, x in before.items() if x != after[name]] == []


@pytest.mark.parametrize("name, code", RUDE)
def test_a_right_answer_is_right_and_leaves_nothing_behind(name, code, as_before, capsys):
    assert check(name, code).passed
    printed, errors = capsys.readouterr()
    assert printed.startswith(f"✔ {name}: right.\n") and errors == ""


@pytest.mark.parametrize("name, code", RUDE)
def test_a_picture_leaves_nothing_behind(name, code, as_before, capsys):
    def once(again=1):
        if name == "softmax":
            return code(torch.rand(2, 2)), mine(torch.ones(2))
        return code(3, 2)(torch.rand(6, 3)) * again

    mine = yours(code, right)
    widget = explore(lambda again=1: once(again)[0], again=(1, 2))
    assert change(widget, again=2)["error"] == "", capsys.readouterr()
    if name == "softmax":
        mine(torch.ones(2))


@pytest.mark.parametrize("block", [torch.autocast("cpu", torch.bfloat16), torch.inference_mode()])
def test_a_block_around_a_check_changes_no_verdict(block):
    with block:
        assert check("SelfAttention", type("Mine", (attention.SelfAttention,), {})).passed


@pytest.mark.parametrize("name, code", RUDE)
def test_an_interrupt_leaves_nothing_behind(name, code, as_before, monkeypatch):
    call = guard.call

    def stop_is_pressed(fn, *args, **kwargs):
        call(fn, *args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(guard, "call", stop_is_pressed)
    with pytest.raises(KeyboardInterrupt):
        check(name, code)


@pytest.mark.parametrize(
    "code",
    [
        lambda scores: check("softmax", right) and right(scores),
        lambda scores: right(scores).to_sparse(),
        lambda scores: right(scores).requires_grad_(),
    ],
)
def test_a_right_answer_in_an_odd_form_is_right(code, as_before, capsys):
    assert check("softmax", code).passed
    assert capsys.readouterr() == ("✔ softmax: right.\n", "")


def places():
    return [(torch, "softmax"), (torch, "allclose"), (nn.functional, "softmax"), (np, "exp")]


def replaces_functions(scores):
    for place, name in places():
        setattr(place, name, lambda *args, **kwargs: True)
    torch.Tensor.softmax = torch.Tensor.__repr__ = lambda *args: "replaced"
    del torch.matmul
    torch.newcomer = "imported when first used"
    return scores


def test_what_an_answer_replaced_in_torch_is_put_back(monkeypatch):
    monkeypatch.setattr(torch, "tanh", mine := lambda x: x)  # replaced in a cell: the student's own
    monkeypatch.setattr(torch, "newcomer", None, raising=False)
    monkeypatch.delattr(torch, "newcomer")
    before = [getattr(place, name) for place, name in places()]
    matmul, shown = torch.matmul, repr(memory)
    assert not check("softmax", replaces_functions).passed
    assert [getattr(place, name) for place, name in places()] == before
    assert (torch.matmul, torch.tanh, repr(memory)) == (matmul, mine, shown)
    assert "softmax" not in vars(torch.Tensor)
    assert torch.newcomer == "imported when first used"


def test_memory_that_nobody_wrote_is_nan_and_never_right_by_chance():
    verdict = check("softmax", lambda scores: torch.empty_like(scores))
    assert "NaN" in verdict.message


def test_a_default_device_of_the_students_changes_no_verdict():
    torch.set_default_device("meta")
    try:
        assert check("softmax", right).passed
        assert check("softmax", lambda scores: right(right(scores))).mistakes == ("softmax twice",)
    finally:
        torch.set_default_device(None)
