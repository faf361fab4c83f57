"""guard calls a reader's function so that it can do no harm, and makes its error one sentence."""

import _thread
import contextlib
import linecache
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from helpers import InputError, View, guard

ROOT = Path(__file__).parent.parent


def forever():
    while True:
        pass


def all_ended(before):
    """Wait for at most 20 seconds; return whether no more threads run than before."""
    end = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    return threading.active_count() <= before


def from_cell(source, name="/tmp/ipykernel_1/2.py"):
    """Return the function f of a source, compiled as IPython compiles a cell."""
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    space = {}
    exec(compile(source, name, "exec"), space)
    return space["f"]


def test_the_value_and_what_was_printed_come_back(capsys):
    outcome = guard.call(lambda a, b: print("hello") or a + b, 2, b=3)
    assert (outcome.value, outcome.error, outcome.printed) == (5, None, "hello\n")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)])
def test_whatever_is_raised_comes_back_as_the_error(error):
    def f():
        raise error

    assert guard.call(f).error is error


def test_exit_as_ipython_defines_it_ends_the_call_only(monkeypatch):
    class Shell:
        asked = 0

        def ask_exit(self):
            self.asked += 1

    shell = Shell()
    monkeypatch.setattr(guard, "get_ipython", lambda: shell)
    for _ in range(2):
        assert isinstance(guard.call(lambda: shell.ask_exit()).error, SystemExit)
    assert shell.asked == 0
    shell.ask_exit()  # in a cell it does end the kernel
    assert shell.asked == 1


def test_a_loop_is_stopped_at_the_time_limit_and_its_printing_kept(monkeypatch):
    before = threading.active_count()
    monkeypatch.setattr(guard, "SECONDS", 0.1)
    outcome = guard.call(lambda: print("start") or forever())
    assert outcome.complaint().startswith("it did not return within")
    assert outcome.printed == "start\n"
    assert all_ended(before)


@pytest.mark.parametrize("caught", [Exception, BaseException])
def test_a_loop_that_catches_exceptions_is_stopped(caught):
    def f():
        while True:
            try:
                time.sleep(0.001)
            except caught:
                pass

    before = threading.active_count()
    guard.call(f, seconds=0.1)
    assert all_ended(before)


def test_interrupting_the_caller_stops_the_function():
    ran = []

    def interrupts():
        ran.append(threading.current_thread())
        _thread.interrupt_main()
        forever()

    stdout, handler = sys.stdout, signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            guard.call(interrupts, seconds=1)
    finally:
        signal.signal(signal.SIGINT, handler)
    ran[0].join(20)
    assert not ran[0].is_alive()
    assert sys.stdout is stdout


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_megabyte_of_printing_is_cut_and_goes_nowhere_else(stream, capsys):
    outcome = guard.call(
        lambda: [print("x" * 1000, file=getattr(sys, stream)) for _ in range(1000)]
    )
    assert 0 < len(outcome.printed) <= guard.KEPT
    print("mine", file=sys.stderr)
    assert capsys.readouterr() == ("", "mine\n")


def test_nobody_is_asked_to_type_by_a_readers_function(monkeypatch):
    asked = []
    monkeypatch.setattr("builtins.input", lambda text="": asked.append(text) or "typed")
    replaced = input

    def asks():
        started.set()
        go.wait(20)
        return input("a number: ")

    started, go = threading.Event(), threading.Event()
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(guard.call(asks)))
    thread.start()
    started.wait(20)
    assert input("in a cell: ") == "typed"  # other threads can still ask
    go.set()
    thread.join()
    assert "input() does not work" in outcomes[0].complaint()
    assert asked == ["in a cell: "]
    assert input is replaced


def test_a_call_inside_of_a_call_is_stopped_with_it():
    before = threading.active_count()
    outcome = guard.call(lambda: guard.call(forever), seconds=0.1)
    assert "did not return within" in outcome.complaint()
    assert all_ended(before)
    assert guard.call(lambda: guard.call(lambda: 1 / 0).complaint()).value[:4] == "Zero"


def test_printing_of_several_calls_and_of_others_is_not_mixed(capsys):
    stdout, printed = sys.stdout, {}

    def noisy(name):
        for _ in range(50):
            print(name)
            time.sleep(0.0005)

    def caller(name):
        printed[name] = guard.call(noisy, name).printed

    threads = [threading.Thread(target=caller, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    noisy("main")
    for thread in threads:
        thread.join()
    assert printed == {name: f"{name}\n" * 50 for name in "abcd"}
    assert capsys.readouterr().out == "main\n" * 50
    assert sys.stdout is stdout


def test_what_is_left_behind_keeps_neither_stdout_nor_input(capsys):
    go = threading.Event()

    def f():
        while not go.is_set():
            with contextlib.suppress(BaseException):  # the worst case: it cannot be stopped
                while not go.is_set():
                    with contextlib.suppress(BaseException):
                        while not go.is_set():
                            with contextlib.suppress(BaseException):
                                time.sleep(0.001)

    before, genuine = set(threading.enumerate()), (sys.stdout, sys.stderr, input)
    outcome = guard.call(f, seconds=0.05)
    assert (sys.stdout, sys.stderr, input) == genuine
    (left,) = set(threading.enumerate()) - before
    assert guard.call(print, "next").printed == "next\n"
    go.set()
    left.join()
    assert isinstance(outcome.error, TimeoutError)
    assert capsys.readouterr() == ("", "")


def test_an_import_is_not_stopped_halfway(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text(
        "import sys, time\n"
        "sys.imported.append('begun')\n"
        "for _ in range(50):\n"
        "    time.sleep(0.01)\n"
        "sys.imported.append('ended')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "imported", [], raising=False)

    def f():
        import slow_to_import  # noqa: F401

        forever()

    before = threading.active_count()
    assert "did not return within" in guard.call(f, seconds=0.2).complaint()
    assert sys.imported.count("begun") == sys.imported.count("ended")
    assert all_ended(before)


def test_an_import_that_never_ends_is_stopped(tmp_path, monkeypatch):
    (tmp_path / "never_imported.py").write_text("while True:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(guard, "IMPORTING", 0.1)
    before = threading.active_count()
    guard.call(__import__, "never_imported", seconds=0.1)
    assert all_ended(before)


ENDS = """
import sys
from helpers import guard
for _ in range(3):
    stdout = sys.stdout
    guard.call(print, 1)
    sys.stdout = open(sys.argv[1], "w")
    guard.call(print, 1)
    sys.stdout.close()
    sys.stdout = stdout
"""


def test_a_process_that_made_calls_ends_silently(tmp_path):
    command = [sys.executable, "-c", ENDS, tmp_path / "printed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.parametrize("on", [True, False])
def test_gradients_are_on_or_off_as_for_the_caller(on):
    with torch.set_grad_enabled(on):
        assert guard.call(torch.is_grad_enabled).value is on


class Silent(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "line, start",
    [
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ("return f()", "RecursionError: "),
        ("return torch.nn.functional.softmax(1)", "AttributeError: "),
        ("return statistics.mean([])", "StatisticsError: "),
        ("return View([[1]], [])", "tokens has 0 names"),
        ("raise InputError('Too long.')", "Too long. (line 3"),
        ("raise TimeoutError", "TimeoutError (line 3"),
        ("raise Silent", "RuntimeError: an error whose own message raises an error"),
        ("exit()", "SystemExit (line 3"),
        (f"raise ValueError('x' * 10**6, {'1, ' * 1000})", "ValueError: ('xxx"),
    ],
    ids=lambda x: x[:20],
)
def test_the_complaint_names_the_error_and_the_readers_line(line, start):
    """That is no line of a library, of Python or of helpers; and the complaint is short."""
    f = from_cell(f"import statistics, torch\ndef f():\n    {line}\n")
    f.__globals__.update(View=View, InputError=InputError, Silent=Silent, exit=sys.exit)
    said = guard.call(f).complaint()
    assert said.startswith(start) and said.endswith(f" (line 3: {line[:100]})")
    assert len(said) < guard.KEPT + 200


def test_the_complaint_names_another_function_that_has_the_line():
    outer = "def f(x):\n    return [inner(y) for y in x]\n"
    inner = "def f():\n    def inner(x):\n        return 1 / 0\n    return inner\n"
    f, inner = from_cell(outer, "/tmp/ipykernel_1/3.py"), from_cell(inner)()
    f.__globals__["inner"] = inner
    assert guard.call(f, [1]).complaint().endswith(" (line 3 of inner: return 1 / 0)")
    assert guard.call(inner, 1).complaint().endswith(" (line 3: return 1 / 0)")


def test_the_words_of_an_error_are_made_within_the_time_limit():
    class Endless(Exception):
        def __str__(self):
            forever()

    def f():
        raise Endless

    assert "did not return within" in guard.call(f, seconds=0.1).complaint()


def test_time_in_which_others_had_the_processor_does_not_count(monkeypatch):
    """As on a busy machine, where the clock goes on and the answer does not."""
    monkeypatch.setattr(guard, "WAITS", 1000)
    outcome = guard.call(lambda: time.sleep(1) or 1, seconds=0.5)
    assert outcome.value == 1 and outcome.seconds < 0.5


def test_the_seconds_that_are_said_are_those_that_passed(monkeypatch):
    monkeypatch.setattr(guard, "WAITS", 3)
    waits = guard.call(time.sleep, 5, seconds=0.1)
    assert waits.complaint() == "it did not return within 0.3 seconds and was stopped"
    assert waits.clock > 0.3
    monkeypatch.setattr(guard, "WAITS", 1000)
    computes = guard.call(forever, seconds=0.1)
    assert "within 0.1 seconds of processor time" in computes.complaint()
    assert computes.seconds >= 0.1
