"""A verdict is a function of the answer alone: not of a clock, a load or what came before it."""

import itertools
import random
import subprocess
import sys
from types import SimpleNamespace

import lab
import pytest
from rates import answers, judged

from helpers.checks._code import data_from_above, reads
from helpers.checks.engine import _within
from helpers.guard import Outcome
from helpers.tools.pages.puzzle import Answer

# Some of each kind of verdict: named, repaired, shown by a fact, and many changes tried in vain.
SAMPLE = [a for a in answers() if a.right is False and not a.names][::260][:6]


def texts(some):
    return {answer: judged(answer)[0].message for answer in some}


def test_beside_busy_processes_and_in_another_order_the_words_are_the_same():
    alone = texts(SAMPLE)
    loop = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(loop) for _ in range(2)]
    try:
        assert texts(random.Random(0).sample(SAMPLE, len(SAMPLE))) == alone
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_an_answer_has_ten_seconds_for_all_its_calls_and_what_has_its_own_limit_takes_none():
    given = []

    def one_second(fn, seconds, clock=None):
        given.append((seconds, clock))
        return Outcome(seconds=1, clock=2)

    call = _within(10, one_second)
    for limit in (None, 60, None, None):
        call(len, limit=limit)
    assert given == [(10, 60), (60, None), (9, 58), (8, 56)]


@pytest.mark.parametrize("ended", [None, 1])
def test_a_server_has_minutes_to_start_but_not_once_it_has_ended(ended, monkeypatch, tmp_path):
    clock = itertools.count(step=30)  # no second passes here
    monkeypatch.setattr(lab, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=str))
    tries = iter([OSError("refused"), ValueError("no number yet")] * 4)

    def ask():
        for error in tries:
            raise error
        return "serves"

    (said := tmp_path / "server.log").write_text("the port is taken")
    server = SimpleNamespace(poll=lambda: ended)
    if ended is None:
        assert lab.once_it_serves(server, ask, said) == "serves"
    else:
        with pytest.raises(RuntimeError, match="the port is taken"):
            lab.once_it_serves(server, ask, said)


# --- what a function reads: from its source, since each Python has its own instructions ---

READS = [
    ("def my(x): return x", True),
    ("def my(x):\n    x += 1\n    return 0", True),
    ("def my(x): return [lambda: x for _ in range(2)][0]()", True),
    ("def my(x):\n    def inner():\n        return x\n    return inner()", True),
    ("def my(x): return {a: b for a, b in [(1, 2)] if x}", True),
    ("def my(x): return locals()['x']", True),
    ("def my(**x): return helper(**x)", True),
    ("def my(x): return f'{x}'", True),
    ("def my(*args): return args[0]", True),
    ("class my:\n    def forward(self, x): return self.f(x)", True),
    ("def my(x): return 0", False),
    ("def my(x):\n    x = 1\n    return 2", False),
    ("def my(y): return y.x", True),  # x is no argument here
]


def test_an_argument_that_is_read_is_never_said_to_be_unread():
    for code, expected in READS:
        assert reads(Answer("", None, "", (), "", code).run(), "x") is expected, code
    assert reads(eval("lambda x: 0"), "x")  # its source cannot be read


def test_only_data_of_cells_above_that_the_function_reads_itself_is_told():
    above = "inputs, scores, helper = [1], [2], print"
    for code, names in [
        ("def my(x): return x @ inputs", ["inputs"]),
        ("def my(x): return [inputs for _ in scores]", ["scores", "inputs"]),
        ("def my(inputs): return [inputs for scores in inputs]", []),
        ("def my(x):\n    scores = x.scores\n    return scores", []),
        ("def my(x): return helper(x.inputs)", []),
        ("my = [scores, lambda x: inputs][1]", ["inputs"]),
    ]:
        found = data_from_above(Answer("", None, "", (), above, code).run())
        assert sorted(found) == sorted(names), code
