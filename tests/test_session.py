"""Student code cannot break a check: it ends with a verdict in time, and the session is as
before. What a call may do at all is in test_guard.py."""

import builtins
import json
import locale
import math
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path

import hostile
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import attention, check, guard
from helpers.checks import session

np.random  # loaded when it is first used, and no change of ours then  # noqa: B018
ROOT = Path(__file__).parent.parent


def right(scores):
    return torch.softmax(scores, -1)


class Evil(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("evil")


class Endless(type):
    def __getattribute__(cls, name):
        while True:
            pass


class Loops:
    """Whatever is asked of it takes for ever."""

    def endless(self, *args):
        while True:
            pass

    __len__ = __repr__ = __array__ = endless
    __class__ = property(endless)


# --- the session ---

calls = {"names": ["a"], "inner": {"x": 1}}
rows = [[1.0, 2.0], [3.0]]
seen = {1}
memory = torch.arange(6.0)
view = memory[1:3]
square = torch.arange(4.0).reshape(2, 2)
wide = torch.ones(1).expand(10**9)
unread = torch.empty(3, device="meta")
sparse = torch.eye(2).to_sparse()
evil = torch.ones(3).as_subclass(Evil)
layer = nn.Linear(2, 2)
objects = np.array([1.0, np.nan])


class Counter:
    count = 0

    def __init__(self):
        self.list = []


counter = Counter()

PLACES = (torch, torch.Tensor, F, nn, nn.Module, nn.Linear, math, builtins, np, random)


def state():
    """Everything outside of an answer that it could reach."""
    names = {k: repr(globals()[k]) for k in ("calls", "rows", "seen", "view", "square", "objects")}
    return {
        **names,
        "layer": (layer.weight.tolist(), layer.weight.grad, layer.weight.requires_grad),
        "counter": (Counter.count, list(counter.list), vars(Counter).keys()),
        "default": right_with_default.__defaults__[0].copy(),
        "globals": set(globals()),
        "patches": [vars(place).copy() for place in PLACES],
        "numpy": (np.geterr(), np.get_printoptions()),
        "device": torch.get_default_device(),
        "random": (random.getstate(), torch.get_rng_state().tolist()),
        "warnings": list(warnings.filters),
        "os": (
            {**os.environ, "PYTEST_CURRENT_TEST": ""},
            os.getcwd(),
            list(sys.path),
            locale.setlocale(locale.LC_ALL),
        ),
        "sys": (sys.stdout, sys.stderr, sys.getrecursionlimit(), sys.gettrace()),
        "torch": (
            torch.get_num_threads(),
            torch.get_default_dtype(),
            torch.get_float32_matmul_precision(),
            torch._tensor_str.get_printoptions(),
            torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
        ),
        "class": (dict(vars(Rude)), np.random.get_state()[1].tolist(), np.random.get_state()[2:]),
        "ends": (os._exit, os.abort, input, sys.setrecursionlimit),
    }


def wait_for_stopped():
    """Until the threads of answers that were stopped have ended, which takes time on a busy
    machine; what guard keeps while one of them lives is given back by its next call."""
    left = set(guard._buffers)
    for thread in left:
        thread.join(20)
    if left:
        guard.call(int)


@pytest.fixture
def as_before(monkeypatch):
    """The session is the same after the test. What a test of a broken check leaves behind would
    break the tests that follow: it is cleaned up first."""
    monkeypatch.setattr(guard, "SECONDS", 10)  # what another test may have left is not enough
    before = state()
    yield
    wait_for_stopped()
    after = state()
    monkeypatch.undo()
    sys.stdout, sys.stderr = before["sys"][:2]
    for place, names in zip(PLACES, before["patches"], strict=True):
        for name, value in vars(place).copy().items():
            if name not in names:
                delattr(place, name)
            elif value is not names[name]:
                setattr(place, name, names[name])
    differing = [name for name in before if before[name] != after[name]]
    assert differing == []


# --- what it does ---


def raises_endless(scores):
    class Error(Exception):
        def __str__(self):
            while True:
                pass

    raise Error


def raises_unspeakable(scores):
    class Error(Exception):
        def __str__(self):
            raise KeyboardInterrupt

    raise Error


def takes_builtins_away(scores):
    for name in ("print", "len", "range", "isinstance", "max", "getattr", "all", "map", "zip"):
        setattr(builtins, name, None)
    while True:
        pass


def takes_torch_away(scores):
    for name in ("softmax", "equal", "allclose", "isclose", "clone", "detach", "stack"):
        setattr(torch, name, None)
    for name in ("softmax", "equal", "allclose", "double", "clone", "detach", "cpu"):
        setattr(torch.Tensor, name, None)
    torch.Tensor.shape = torch.Tensor.__matmul__ = torch.Tensor.__sub__ = math.exp = None
    return scores + 1


def function(code):
    """A function of its body, or the function that it is already."""
    if callable(code):
        return code
    exec(f"def answer(scores):\n    {code}", namespace := dict(globals()))
    return namespace["answer"]


STOPPED = "within 0.5 seconds"
BROKEN = [
    ("exit()", "SystemExit"),
    ("sys.exit(1)", "SystemExit"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("raise GeneratorExit", "GeneratorExit"),
    ("return answer(scores)", "RecursionError"),
    ("while True: pass", STOPPED),
    ("while True:\n        try: time.sleep(0.001)\n        except: pass", STOPPED),
    ("return input('a number: ')", "instead of input()"),
    ("yield 1.0", "it returned a generator"),
    (lambda scores, T: scores, "your function takes (scores, T)"),
    ("check('softmax', answer)\n    return scores + 'x'", STOPPED),
    (raises_endless, STOPPED),
    (raises_unspeakable, "whose own message"),
    (takes_builtins_away, STOPPED),
    (takes_torch_away, "yours"),
    ("r = scores + 1\n    r.detach = r.double = scores.detach = None\n    return r", "yours"),
    ("result = []\n    result += [result, result]\n    return result", "cannot be read"),
    ("return Endless('X', (), {})()", STOPPED),
    ("return Loops()", STOPPED),
    ("return scores.to('meta')", "cannot be read"),
    ("return torch.nested.nested_tensor([scores, scores[:2]])", "cannot be read"),
    ("return torch.quantize_per_tensor(scores.float(), 0.1, 0, torch.qint8)", "be read"),
    ("return torch.ones(1).expand(10**9)", "a tensor of 1000000000 numbers"),
    ("return np.broadcast_to(np.ones(1), (10**9,))", "an array of 1000000000 numbers"),
    ("return [0.0] * 10**7", "a list of 10000000 numbers"),
    ("return right(scores).to(torch.float8_e4m3fn)", "yours"),
    ("return scores.abs().to(torch.uint16)", "yours"),
]


@pytest.mark.parametrize("code, words", BROKEN)
def test_whatever_it_does_the_check_ends_with_a_verdict(code, words, as_before, monkeypatch):
    if words == STOPPED:
        monkeypatch.setattr(guard, "SECONDS", 0.5)
    verdict = check("softmax", function(code))
    assert (verdict.passed, verdict.mistakes) in ((False, ()), (False, ("not normalised",)))
    assert words in " ".join(verdict.message.split())


def changes_settings(scores):
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.set_default_device("meta")
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("medium")
    torch.manual_seed(3)
    os.environ["NEW"] = "1"
    os.environ.pop("PATH", None)
    os.chdir(os.path.sep)
    sys.path.insert(0, "elsewhere")
    warnings.simplefilter("error")
    np.seterr(all="raise")
    np.set_printoptions(precision=1)
    locale.setlocale(locale.LC_ALL, "C")
    sys.setrecursionlimit(100)
    sys.settrace(lambda *args: None)
    return right(scores.to("cpu"))


def changes_variables(scores):
    global newcomer
    newcomer = calls["names"]
    newcomer.append("b")
    calls.pop("inner", None)
    rows[0][0] = 0.0
    rows.reverse()
    seen.add(2)
    view.add_(1)
    square.t_()
    objects[0] = 5
    layer.weight.data.zero_()
    layer.weight.grad = torch.ones(2, 2)
    layer.weight.requires_grad_(False)
    counter.list.append(1)
    Counter.count += 1
    Counter.newcomer = 1
    return right(scores)


def right_with_default(scores, seen=[]):  # noqa: B006
    seen.append(1)
    return right(scores)


def patches_in_itself(scores):
    def softmax(scores, dim):
        return genuine(scores, dim)

    genuine = torch.softmax
    torch.softmax = torch.Tensor.softmax = F.softmax = softmax
    nn.Linear.forward = math.sqrt = np.sum = builtins.sum = random.random = softmax
    del torch.Tensor.__rsub__
    return torch.softmax(scores, -1)


HARMLESS = [
    changes_settings,
    changes_variables,
    right_with_default,
    patches_in_itself,
    lambda scores: sys.stdout.close() or setattr(sys, "stdout", None) or right(scores),
    lambda scores: [print("x" * 10**6, file=f) for f in (sys.stdout, sys.stderr)] and right(scores),
    lambda scores: [globals().pop(name, None) for name in ("rows", "counter")] and right(scores),
    lambda scores: check("softmax", right) and right(scores),
    lambda scores: right(scores).as_subclass(Evil),
    lambda scores: right(scores).to_sparse(),
    lambda scores: right(scores).requires_grad_(),
]


@pytest.mark.parametrize("code", HARMLESS)
def test_a_right_answer_is_right_and_leaves_nothing_behind(code, as_before, capsys):
    assert check("softmax", code).passed
    assert capsys.readouterr() == ("✔ softmax: right.\n", "")


class Rude(attention.SelfAttention):
    """Changes all that it can reach, and is right."""

    made = []

    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        changes_variables(torch.ones(2))
        Rude.made = [*Rude.made, self]
        Rude.newcomer = 1

    def forward(self, inputs):
        torch.set_printoptions(precision=1, sci_mode=True)
        torch.set_grad_enabled(True)
        torch._C._set_deterministic_algorithms(False, warn_only=False)
        random.random(), np.random.rand()
        return super().forward(inputs)


@pytest.fixture(params=[True, False])
def fill(request, monkeypatch):
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", request.param)


def test_a_class_leaves_nothing_behind(fill, as_before):
    assert check("SelfAttention", Rude).passed


@pytest.fixture
def interrupted(monkeypatch):
    """Stop is pressed when the answer has been called."""
    call = guard.call

    def calls(fn, *args, **kwargs):
        call(fn, *args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(guard, "call", calls)


@pytest.mark.parametrize("name, code", [("softmax", changes_settings), ("SelfAttention", Rude)])
def test_an_interrupt_leaves_nothing_behind(name, code, as_before, interrupted):
    with pytest.raises(KeyboardInterrupt):
        check(name, code)


# --- functions replaced in a cell above ---


@pytest.fixture
def replaced(monkeypatch):
    """torch.softmax and others as a student may have replaced them; torch.softmax is right
    for one row only, and counts."""
    used = torch.zeros(1)

    def softmax(scores, dim=None):
        used.add_(1)
        return scores.exp() / scores.exp().sum()

    monkeypatch.setattr(torch, "softmax", softmax)
    monkeypatch.setattr(torch.Tensor, "softmax", softmax, raising=False)
    monkeypatch.setattr(torch.Tensor, "exp", lambda x: 2**x, raising=False)
    monkeypatch.setattr(torch.Tensor, "sum", lambda x, *args, **kwargs: 7, raising=False)
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda a, b: a)
    monkeypatch.setattr(torch, "allclose", lambda *args, **kwargs: True)
    monkeypatch.setattr(math, "exp", lambda x: 0.0)
    monkeypatch.setattr(builtins, "sum", lambda x: 3)
    return softmax


def by_hand(scores):
    largest = scores.amax(-1, keepdim=True)
    exps = torch.exp(scores - largest)
    return exps / torch.sum(exps, -1, keepdim=True)


def test_the_right_answer_and_the_mistakes_are_computed_with_the_genuine_functions(replaced):
    assert check("softmax", by_hand).passed
    assert check("attention_weights", by_hand).passed
    assert check("softmax", lambda scores: by_hand(by_hand(scores))).mistakes == ("softmax twice",)


def test_the_students_function_is_called_with_the_students_functions(replaced):
    found = {}

    def looks(scores):
        found["now"] = torch.softmax, torch.Tensor.softmax, math.exp(5), sum([1])
        return torch.softmax(scores, 0)

    assert check("softmax", looks).passed is False
    assert found["now"] == (replaced, replaced, 0.0, 3)
    assert torch.softmax is torch.Tensor.softmax is replaced


def test_a_student_s_own_replacement_is_put_back_also_on_an_interrupt(replaced, interrupted):
    with pytest.raises(KeyboardInterrupt):
        check("softmax", by_hand)
    assert torch.softmax is torch.Tensor.softmax is replaced


def test_a_default_device_of_the_students_changes_no_verdict():
    torch.set_default_device("meta")
    try:
        assert check("softmax", by_hand).passed
        assert check("softmax", lambda scores: by_hand(by_hand(scores))).mistakes
    finally:
        torch.set_default_device(None)


def test_a_working_directory_that_is_gone_changes_no_verdict(monkeypatch):
    def gone():
        raise FileNotFoundError

    settings = [(gone, os.chdir) if s == (os.getcwd, os.chdir) else s for s in session.SETTINGS]
    assert settings != list(session.SETTINGS)
    monkeypatch.setattr(session, "SETTINGS", settings)
    assert check("softmax", by_hand).passed


# --- in a process of its own ---


def run(code):
    """What a fresh Python prints."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code], cwd=ROOT, stdout=subprocess.PIPE,
        encoding="utf-8", timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


ENDS = """
import os, sys
from helpers import check

class Nested:
    def __repr__(self):
        return repr(self)

def recurses(scores):
    sys.setrecursionlimit(10**6)
    return repr(Nested())

def answer(scores, end):
    end()

for end in ("os._exit(3)", "os.abort()", "quit()", "recurses(scores)"):
    print(check("softmax", eval(f"lambda scores: {end}")).passed)
print("alive")
"""


def test_what_ends_the_process_ends_the_call_only():
    printed = run(ENDS)
    assert printed.endswith("alive\n")
    assert printed.count("raised SystemExit") == 3 and printed.count("raised RecursionError") == 1
    assert printed.count("False\n") == 4


@pytest.fixture(scope="module")
def attacks():
    """What became of the answers of hostile.py."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", ROOT / "tests" / "hostile.py"],
        capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    return {name: found for name, *found in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", hostile.ANSWERS)
def test_no_attack_on_a_check_outlives_it(name, attacks):
    (itself, right, wrong), changed = attacks[name]
    assert (itself, right, wrong) == (hostile.ANSWERS[name][1], True, False)
    assert changed == []


IMPORTED = """
import sys
import helpers
heavy = {"matplotlib", "PIL", "torch._dynamo", "pandas", "sympy"}
before = heavy & sys.modules.keys()
helpers.check("softmax", lambda scores: scores)
helpers.check("softmax", lambda scores: scores.softmax(-1))
print(before, heavy & sys.modules.keys())
repr(helpers.heatmap([[1]]))
print("matplotlib" in sys.modules)
"""


def test_matplotlib_is_not_imported_before_a_picture_is_drawn():
    assert run(IMPORTED).endswith("set() set()\nTrue\n")
