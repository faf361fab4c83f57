"""Calls a function that the reader wrote so that it can do no harm: in a thread of its own, for a
limited time, with what it prints kept apart. The live views and the checks call it like this."""

import builtins
import ctypes
import io
import os
import queue
import sys
import sysconfig
import threading
import traceback
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from .errors import InputError

SECONDS = 10  # how long a reader's function may take before it is stopped
KEPT = 2000  # characters of its printing, or of its error, that are kept
DEPTH = 200  # of the innermost calls, where the reader's line is looked for
STOPS = 20  # how often it is asked to end
# code that is not the reader's own
OTHERS = (str(Path(__file__).parent) + os.sep, sysconfig.get_paths()["stdlib"] + os.sep)


@dataclass
class Outcome:
    """What came of a call: value, or error (an exception; TimeoutError if it was
    stopped), and what it printed."""

    value: object = None
    error: BaseException | None = None
    printed: str = ""

    def complaint(self):
        """The error as a sentence, with the line of the reader's own code."""
        try:
            text = str(self.error)[:KEPT].strip()
        except Exception:  # an exception of the reader's own may fail even at this
            text = ""
        if isinstance(self.error, TimeoutError) and self.error.__traceback__ is None:
            return text  # our own: it was never raised
        if not isinstance(self.error, InputError):
            text = f"{type(self.error).__name__}: {text}".removesuffix(": ")
        for frame in reversed(traceback.extract_tb(self.error.__traceback__, limit=-DEPTH)):
            others = frame.filename.startswith(OTHERS) or "site-packages" in frame.filename
            if frame.line and not others:
                return f"{text} (line {frame.lineno}: {frame.line[:100]})"
        return text


_buffers = {}  # thread: what the reader's function prints in it
_routers = deque(maxlen=1000)  # kept a while: print() crashes if its stdout is freed meanwhile
_lock = threading.Lock()


class _Router(io.TextIOBase):
    """stdout or stderr while readers' functions run: what each prints goes to its own buffer,
    and what a cell prints meanwhile where it always went."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        buffer = _buffers.get(threading.current_thread())
        if buffer is None:
            return self.stream.write(text)
        buffer.write(text[: max(0, KEPT - buffer.tell())])
        return len(text)

    def flush(self):
        if self.stream and threading.current_thread() not in _buffers:
            self.stream.flush()


def _end(*_):
    raise SystemExit


def _no_input():
    raise RuntimeError("nobody can type here: take the value as an argument instead of input()")


# What a reader's function gets in place of these: they end the process (as exit() of IPython
# does by ask_exit), wait for somebody who is not asked, or take away what stops a recursion
# before the memory of the stack is used up.
INSTEAD = {
    (os, "_exit"): _end,
    (os, "abort"): _end,
    (builtins, "input"): _no_input,
    (sys, "setrecursionlimit"): lambda: None,
}
_genuine = {}  # what is replaced while readers' functions run


def _for_others(instead, genuine):
    """instead for readers' functions, genuine for everybody else."""
    process = os.getpid()

    def function(*args, **kwargs):
        # a child made by fork is nobody's kernel, and has to end
        mine = threading.current_thread() in _buffers and os.getpid() == process
        return instead() if mine else genuine(*args, **kwargs)

    return function


def get_ipython():
    """The shell, or None. Not imported for this: where there is a shell, it is there already."""
    ipython = sys.modules.get("IPython")
    return ipython and ipython.get_ipython()


def _listen(thread, buffer):
    """Take what this thread will print into the buffer, and keep it from ending the process."""
    shell = get_ipython()
    asked = {(shell, "ask_exit"): _end} if hasattr(shell, "ask_exit") else {}
    with _lock:
        _buffers[thread] = buffer
        # A new router each time: whoever captures output meanwhile (as %%capture does)
        # may put this one back later, and it must still know its own stream then.
        for name in ("stdout", "stderr"):
            if not isinstance(getattr(sys, name), _Router):
                _routers.append(_Router(getattr(sys, name)))
                setattr(sys, name, _routers[-1])
        for (place, name), instead in (INSTEAD | asked).items():
            known = _genuine.get((place, name))
            genuine = getattr(place, name)
            if known is None or genuine is not known[1]:
                _genuine[place, name] = genuine, _for_others(instead, genuine)
                setattr(place, name, _genuine[place, name][1])


def _forget(thread, late):
    """Give everything back, unless others need it. late: its function may still run."""
    with _lock:
        if not (late and thread.is_alive()):
            _buffers.pop(thread, None)
        # one that was left behind keeps its buffer until it ends, or it would print elsewhere
        for ended in [t for t in _buffers if t.ident and not t.is_alive()]:
            del _buffers[ended]
        if _buffers:
            return
        for name in ("stdout", "stderr"):
            if isinstance(getattr(sys, name), _Router):
                setattr(sys, name, getattr(sys, name).stream)
        for (place, name), (genuine, ours) in _genuine.items():
            if getattr(place, name) is ours:
                setattr(place, name, genuine)
        _genuine.clear()


def call(fn, /, *args, seconds=None, after=None, **kwargs):
    """call(fn, 2, b=3) calls a reader's function; whatever that does, it returns an Outcome.

    seconds: after so long it is stopped and the error is a TimeoutError; SECONDS by default.
    after: called as soon as it has ended or the time is over.
    It runs in a thread of its own, because a live view computes outside the main thread, where
    signals do not reach. What ends the process (exit(), os._exit, os.abort) ends the call only.
    What it prints, errors too, is in Outcome.printed; input() raises.

    What cannot be stopped is left behind: a call into C that waits, such as time.sleep, a function
    that catches every exception again and again, and threads that it started. What holds the
    kernel until it ends, time limit and all: one long step of the interpreter, such as
    7 ** (7 ** 9), a regular expression that tries everything, or a sum over itertools.count();
    only a restart ends it earlier. What ends the kernel all the same: a signal (os.kill), a crash
    in C, and using up the memory.
    """
    return _call(lambda: fn(*args, **kwargs), seconds, after)


class Worker:
    """A thread for one call after another: to start one can take 4 ms on a busy machine."""

    def __init__(self):
        self._renew()

    def _renew(self):
        self._next = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, args=[self._next], daemon=True)

    def call(self, fn):
        """call(fn) in this thread."""
        return _call(fn, worker=self)

    def do(self, work):
        self._next.put(work)
        if not self.thread.ident:
            self.thread.start()

    def end(self):
        """The thread ends after what it does now; what comes next has another one."""
        self._next.put(None)
        self._renew()

    @staticmethod
    def _work(jobs):
        while (work := jobs.get()) is not None:
            work()
            work = None  # what it holds is not kept until the next one comes


def _call(fn, seconds=None, after=None, worker=None):
    """call(fn), in the thread of a worker; by default in one for this call alone."""
    after = after or (lambda: None)
    if threading.current_thread() in _buffers:  # inside of a call, which listens, and stops it
        try:
            return Outcome(value=fn())
        except Exception as error:
            return Outcome(error=error)
        finally:
            after()
    outcome, printed = Outcome(), io.StringIO()
    seconds = SECONDS if seconds is None else seconds
    with_grad = torch.is_grad_enabled()  # a setting of the thread: hand it on

    def work():
        try:
            with torch.set_grad_enabled(with_grad):
                outcome.value = fn()
        except BaseException as error:  # also SystemExit: exit() must not end the class
            outcome.error = error
            with suppress(BaseException):  # its words are the reader's code too
                str(error), type(error).__name__
        finally:
            running.release()

    # A lock, and not join(): fn may take away what that needs.
    running = threading.Lock()
    running.acquire()
    used = worker or Worker()
    thread = used.thread
    _listen(thread, printed)
    late = True
    try:
        used.do(work)
        late = not running.acquire(timeout=max(0, seconds))
    finally:  # also when the reader pressed "interrupt"
        after()
        if late or not worker:
            used.end()
        if late:
            _stop(thread)
        _forget(thread, late)
    if late:
        late = TimeoutError(f"it did not return within {seconds:g} seconds and was stopped")
        return Outcome(error=late, printed=printed.getvalue())
    outcome.printed = printed.getvalue()
    return outcome


def _stop(thread):
    """End it by an exception thrown into it."""
    for _ in range(STOPS):  # a loop may catch it: insist for a while
        if not thread.is_alive():
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(_Stop)
        )
        thread.join(0.02)


class _Stop(SystemExit):
    """SystemExit, which an `except Exception` in a loop does not swallow, and which ends a
    thread without a word. Whoever swallows it (`except:`) meets another one in his next line."""

    def __init__(self):
        frame = sys._getframe(1)
        while frame:
            frame.f_trace = _end
            frame = frame.f_back
        sys.settrace(_end)
