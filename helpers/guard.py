"""Call a reader's function safely: in a separate thread, for a limited time, with what it prints
captured. The live views and the checks use this."""

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
KEPT = 2000  # characters of its printed output, or of its error, that are kept
DEPTH = 200  # innermost calls that are searched for the reader's line
STOPS = 20  # attempts to stop a function
# code that the reader did not write
OTHERS = (str(Path(__file__).parent) + os.sep, sysconfig.get_paths()["stdlib"] + os.sep)


@dataclass
class Outcome:
    """The result of a call: its value or error (an exception; TimeoutError if it was stopped), and
    its printed output."""

    value: object = None
    error: BaseException | None = None
    printed: str = ""

    def complaint(self):
        """Return the error as a sentence, with the line of the reader's code that raised it."""
        try:
            text = str(self.error)[:KEPT].strip()
        except Exception:  # an exception class that the reader wrote may fail even here
            text = ""
        if isinstance(self.error, TimeoutError) and self.error.__traceback__ is None:
            return text  # made by this file: it was never raised
        if not isinstance(self.error, InputError):
            text = f"{type(self.error).__name__}: {text}".removesuffix(": ")
        for frame in reversed(traceback.extract_tb(self.error.__traceback__, limit=-DEPTH)):
            others = frame.filename.startswith(OTHERS) or "site-packages" in frame.filename
            if frame.line and not others:
                return f"{text} (line {frame.lineno}: {frame.line[:100]})"
        return text


_buffers = {}  # thread -> what the reader's function prints in it
_routers = deque(maxlen=1000)  # kept for a while: print() crashes if its stdout is freed
_lock = threading.Lock()


class _Router(io.TextIOBase):
    """A stand-in for stdout or stderr while readers' functions run. What such a function prints
    goes to its own buffer; what a cell prints meanwhile goes to the usual stream."""

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
    raise RuntimeError("input() does not work here: take the value as an argument instead")


# What readers' functions call instead of these. The originals would end the process (IPython's
# exit() does so through ask_exit), wait for someone who sees no prompt, or remove the limit that
# stops a recursion before the memory of the stack is used up.
INSTEAD = {
    (os, "_exit"): _end,
    (os, "abort"): _end,
    (builtins, "input"): _no_input,
    (sys, "setrecursionlimit"): lambda: None,
}
_genuine = {}  # the functions that are replaced while readers' functions run


def _for_others(instead, genuine):
    """Return a function that runs instead() for readers' functions, genuine() for all others."""
    process = os.getpid()

    def function(*args, **kwargs):
        # a forked child is not the kernel, and has to end
        mine = threading.current_thread() in _buffers and os.getpid() == process
        return instead() if mine else genuine(*args, **kwargs)

    return function


def get_ipython():
    """Return the shell, or None. Where there is a shell, IPython has been imported already."""
    ipython = sys.modules.get("IPython")
    return ipython and ipython.get_ipython()


def _listen(thread, buffer):
    """Collect what this thread prints in the buffer, and keep it from ending the process."""
    shell = get_ipython()
    asked = {(shell, "ask_exit"): _end} if hasattr(shell, "ask_exit") else {}
    with _lock:
        _buffers[thread] = buffer
        # A new router each time: code that captures output meanwhile (as %%capture does)
        # may restore this one later, and then it still needs its stream.
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
    """Undo _listen(), as far as no other call needs it.  late: the function may still run."""
    with _lock:
        if not (late and thread.is_alive()):
            _buffers.pop(thread, None)
        # a thread that was left behind keeps its buffer until it ends, or it would print elsewhere
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
    """Call a reader's function, call(fn, 2, b=3), and return an Outcome whatever it does.

    seconds: the time limit, after which it is stopped with a TimeoutError; SECONDS by default.
    after: called as soon as the function has ended or the time is over.
    The function runs in a separate thread, because a live view computes outside the main thread,
    where signals do not arrive. What ends the process (exit(), os._exit, os.abort) ends only the
    call. What it prints, errors too, is in Outcome.printed; input() raises.

    Some code cannot be stopped and is left behind: a call into C that waits, such as time.sleep, a
    function that catches every exception again and again, and threads that it started. One long
    step of the interpreter blocks the kernel until it ends, beyond the time limit: 7 ** (7 ** 9), a
    regular expression that tries everything, or a sum over itertools.count(). Only a restart ends
    it earlier. A signal (os.kill), a crash in C and using up the memory still end the kernel.
    """
    return _call(lambda: fn(*args, **kwargs), seconds, after)


class Worker:
    """A thread reused for many calls, because starting one can take 4 ms on a busy machine."""

    def __init__(self):
        self._renew()

    def _renew(self):
        self._next = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, args=[self._next], daemon=True)

    def call(self, fn):
        """Call fn in this thread, and return an Outcome."""
        return _call(fn, worker=self)

    def do(self, work):
        self._next.put(work)
        if not self.thread.ident:
            self.thread.start()

    def end(self):
        """End the thread after its current call; the next call gets a new one."""
        self._next.put(None)
        self._renew()

    @staticmethod
    def _work(jobs):
        while (work := jobs.get()) is not None:
            work()
            work = None  # otherwise its objects would be kept until the next call


def _call(fn, seconds=None, after=None, worker=None):
    """Call fn in the worker's thread, or in a new one without a worker; return an Outcome."""
    after = after or (lambda: None)
    if threading.current_thread() in _buffers:  # an outer call captures and stops it
        try:
            return Outcome(value=fn())
        except Exception as error:
            return Outcome(error=error)
        finally:
            after()
    outcome, printed = Outcome(), io.StringIO()
    seconds = SECONDS if seconds is None else seconds
    with_grad = torch.is_grad_enabled()  # set for each thread: the new one needs it too

    def work():
        try:
            with torch.set_grad_enabled(with_grad):
                outcome.value = fn()
        except BaseException as error:  # also SystemExit, which exit() raises
            outcome.error = error
            with suppress(BaseException):  # its message may be computed by the reader's code too
                str(error), type(error).__name__
        finally:
            running.release()

    # A lock, and not join(): fn may break what join() needs.
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
    """End a thread by raising _Stop in it, STOPS times at most."""
    for _ in range(STOPS):  # a loop may catch it: try again for a while
        if not thread.is_alive():
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(_Stop)
        )
        thread.join(0.02)


class _Stop(SystemExit):
    """Stops a reader's code. A SystemExit ends a thread without a message, and is not caught by an
    `except Exception` in a loop. Code that catches it (`except:`) gets another on its next line."""

    def __init__(self):
        frame = sys._getframe(1)
        while frame:
            frame.f_trace = _end
            frame = frame.f_back
        sys.settrace(_end)
