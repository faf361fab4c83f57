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
import time
import traceback
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from .errors import InputError

SECONDS = 10  # of processor time that a reader's function may take before it is stopped
WAITS = 6  # times as long by the clock, which goes on while others have the processor
KEPT = 2000  # characters of its printed output, or of its error, that are kept
DEPTH = 200  # innermost calls that are searched for the reader's line
STOPS = 20  # attempts to stop a function
IMPORTING = 60  # seconds that a function may go on importing after its limit
# code that the reader did not write
OTHERS = (str(Path(__file__).parent) + os.sep, sysconfig.get_paths()["stdlib"] + os.sep)


@dataclass
class Outcome:
    """The result of a call: its value or error (an exception; TimeoutError if it was stopped), and
    its printed output. It took this many seconds of the processor, and by the clock."""

    value: object = None
    error: BaseException | None = None
    printed: str = ""
    seconds: float = 0.0
    clock: float = 0.0

    def complaint(self):
        """Return the error as a sentence, with the line of the reader's code that raised it, and
        the name of the function that has this line if it is not the one that was called."""
        text = str(self.error)[:KEPT].strip()
        if isinstance(self.error, TimeoutError) and self.error.__traceback__ is None:
            return text  # made by this file: it was never raised
        if not isinstance(self.error, InputError):
            text = f"{type(self.error).__name__}: {text}".removesuffix(": ")
        frames = [
            frame
            for frame in traceback.extract_tb(self.error.__traceback__, limit=-DEPTH)
            if frame.line and not frame.filename.startswith(OTHERS)
            if "site-packages" not in frame.filename
        ]
        if not frames:
            return text
        first, last = frames[0], frames[-1]
        of = "" if last.name == first.name or last.name[0] == "<" else f" of {last.name}"
        return f"{text} (line {last.lineno}{of}: {last.line[:100]})"


_buffers = {}  # thread -> what the reader's function prints in it
_routers = deque(maxlen=100)  # kept for a while: print() crashes if its stdout is freed
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

    def close(self):
        """Do nothing: Python closes it at its end, when nothing is left that could be flushed."""


def _end(*_):
    raise SystemExit


def _no_input():
    raise RuntimeError("input() does not work here: take the value as an argument instead")


_genuine = {}  # the functions that are replaced while readers' functions run


def _for_others(instead, genuine):
    """Return a function that runs instead() for readers' functions, genuine() for all others."""

    def function(*args, **kwargs):
        return instead() if is_inside() else genuine(*args, **kwargs)

    return function


def get_ipython():
    """Return the shell, or None. Where there is a shell, IPython has been imported already."""
    ipython = sys.modules.get("IPython")
    return ipython and ipython.get_ipython()


def _router(stream):
    """Return the router of a stream. It keeps that stream: code that captures output meanwhile (as
    %%capture does) may find a router in sys.stdout, and put it back after all calls have ended."""
    if isinstance(stream, _Router):
        return stream
    known = [router for router in _routers if router.stream is stream]
    if not known:
        known = [_Router(stream)]
        _routers.extend(known)
    return known[0]


def _listen(thread, buffer):
    """Collect what this thread prints in the buffer, and keep it from ending the process (IPython's
    exit() does so through ask_exit) and from waiting for someone who sees no prompt."""
    shell = get_ipython()
    instead = {(builtins, "input"): _no_input}
    if hasattr(shell, "ask_exit"):
        instead[shell, "ask_exit"] = _end
    with _lock:
        _buffers[thread] = buffer
        sys.stdout, sys.stderr = _router(sys.stdout), _router(sys.stderr)
        for (place, name), function in instead.items():
            known = _genuine.get((place, name))
            genuine = getattr(place, name)
            if known is None or genuine is not known[1]:
                _genuine[place, name] = genuine, _for_others(function, genuine)
                setattr(place, name, _genuine[place, name][1])


def _forget(thread):
    """Undo _listen(), as far as no other call needs it."""
    with _lock:
        _buffers.pop(thread, None)
        if _buffers:
            return
        for name in ("stdout", "stderr"):
            if isinstance(getattr(sys, name), _Router):
                setattr(sys, name, getattr(sys, name).stream)
        for (place, name), (genuine, ours) in _genuine.items():
            if getattr(place, name) is ours:
                setattr(place, name, genuine)
        _genuine.clear()


def call(fn, /, *args, seconds=None, clock=None, after=None, worker=None, **kwargs):
    """Call a reader's function, call(fn, 2, b=3), and return an Outcome whatever it does.

    seconds: the time limit, SECONDS by default, after which it is stopped with a TimeoutError. It
    counts the processor's time, so that a busy machine stops nothing that is fast elsewhere.
    clock: the limit by the clock, WAITS times as long by default. The error names the limit that
    was reached.
    after: called as soon as the function has ended or the time is over.
    worker: the Worker whose thread is used.
    The function runs in a separate thread, because a live view computes outside the main thread,
    where signals do not arrive. exit() ends only the call. What it prints, errors too, is in
    Outcome.printed; input() raises. A function that is importing is stopped when the import has
    ended, because a module that is imported by half would break the kernel.

    Some code cannot be stopped and is left behind; what it prints later appears in the notebook: a
    call into C that waits, such as time.sleep, ends when C returns; a function that catches every
    exception, and those in its handlers too, and threads that it started do not end. One long step
    of the interpreter blocks the kernel until it ends, beyond the time limit: 7 ** (7 ** 9), a
    regular expression that tries everything, or a sum over itertools.count(). Only a restart ends
    it earlier. What ends the process still ends the kernel: os._exit, os.abort, a signal (os.kill),
    a crash in C, an endless recursion after sys.setrecursionlimit, and using up the memory.

    After a check or a picture all is as before (see session.py, contents.py and copies.py), except:
    files, and modules that were imported; what is left of an iterator or a generator; objects of
    libraries other than torch and numpy, such as a DataFrame; sparse and nested tensors; what takes
    more memory than contents.LARGEST; signals, threads and other parts of the process. A check also
    undoes what other threads do to the notebook's objects meanwhile. A picture, too, changes what
    it reaches without its name, as by globals() or a weak reference, and what copies.on_copies
    shares; if a cell runs meanwhile, it restores no setting.
    """
    seconds = SECONDS if seconds is None else seconds
    clock = WAITS * seconds if clock is None else clock
    return _call(lambda: fn(*args, **kwargs), seconds, clock, after, worker)


class Worker:
    """A thread reused for many calls, because starting one can take 4 ms on a busy machine.
    Its limit is one by the clock: whoever waits for a live view sees no processor."""

    def __init__(self):
        self._renew()

    def _renew(self):
        self._next = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, args=[self._next], daemon=True)

    def call(self, fn):
        """Call fn in this thread, and return an Outcome."""
        return _call(fn, SECONDS, SECONDS, worker=self)

    def do(self, work):
        """Have the thread run work() after what it has to do, and return at once."""
        self._next.put(work)
        if not self.thread.ident:
            self.thread.start()

    def end(self):
        """End the thread after its current call; the next call gets a new one."""
        self._next.put(None)
        self._renew()

    @staticmethod
    def _work(jobs):
        with suppress(SystemExit):  # raised by _stop()
            while (work := jobs.get()) is not None:
                work()
                work = None  # otherwise its objects would be kept until the next call


def _call(fn, seconds, clock, after=None, worker=None):
    """Call fn in the worker's thread, or in a new one without a worker; return an Outcome."""
    after = after or (lambda: None)
    if is_inside():  # the outer call captures and stops it
        try:
            return Outcome(value=fn())
        except Exception as error:
            return Outcome(error=error)
        finally:
            after()
    outcome, printed = Outcome(), io.StringIO()
    with_grad = torch.is_grad_enabled()  # set for each thread: the new one needs it too

    def work():
        try:
            with torch.set_grad_enabled(with_grad):
                outcome.value = fn()
        except BaseException as error:  # also SystemExit, which exit() raises
            outcome.error = _with_words(error)
        finally:
            running.release()

    # A lock, and not join(): fn may break what join() needs.
    running = threading.Lock()
    running.acquire()
    used = worker or Worker()
    thread = used.thread
    _listen(thread, printed)
    late, computed, begun = True, time.process_time(), time.monotonic()
    try:
        used.do(work)
        left = max(0, min(seconds, clock))
        while late and left >= 0:
            late = not running.acquire(timeout=left)
            outcome.clock = time.monotonic() - begun
            # torch on several threads takes more processor than the clock shows
            outcome.seconds = min(time.process_time() - computed, outcome.clock)
            left = min(seconds - outcome.seconds, clock - outcome.clock)
    finally:  # also when the reader pressed "interrupt"
        try:
            after()
            if late or not worker:
                used.end()
            if late:
                _stop(thread, running)
        finally:  # also when "interrupt" is pressed again
            _forget(thread)
    outcome.printed = printed.getvalue()
    if late:  # what it may still return is not used
        reached = limit(seconds, clock, outcome.clock)
        late = TimeoutError(f"it did not return {reached} and was stopped")
        return replace(outcome, value=None, error=late)
    return outcome


def is_inside():
    """Return whether a call of this file runs in this thread."""
    return threading.current_thread() in _buffers


def limit(seconds, clock, passed):
    """Return which limit was reached, as text.  passed: the seconds by the clock."""
    if passed >= clock:
        return f"within {clock:g} seconds"
    return f"within {seconds:g} seconds of processor time"


def _with_words(error):
    """Return the error; or a different one if its message, which the reader's code may compute,
    raises an error."""
    try:
        str(error)
        return error
    except BaseException:
        words = "an error whose own message raises an error"
        return RuntimeError(words).with_traceback(error.__traceback__)


def _stop(thread, running):
    """End the call in a thread by raising _Stop in it, STOPS times at most.

    running: a lock that the call holds. While the thread is importing, at most IMPORTING seconds,
    nothing is raised: modules that are imported by half would stay in the process.
    """
    stops, patient_until = STOPS, time.monotonic() + IMPORTING
    while stops and thread.is_alive():
        if not _is_importing(thread) or time.monotonic() > patient_until:
            stops -= 1  # a loop may catch it: try again for a while
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(_Stop)
            )
        if running.acquire(timeout=0.02):
            return


def cell_elsewhere():
    """Return "runs" while a cell runs in another thread, "waits" if it waits for a call of this
    file, else ""."""
    main = threading.main_thread()
    if threading.current_thread() is main:
        return ""
    frame, state = sys._current_frames().get(main.ident), "runs"
    while frame and frame.f_code.co_name != "run_code":  # of IPython
        state = "waits" if frame.f_code is _call.__code__ else state
        frame = frame.f_back
    return state if frame else ""


def _is_importing(thread):
    """Return whether one of the thread's calls is an import that has not ended."""
    frame = sys._current_frames().get(thread.ident)
    while frame and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


class _Stop(SystemExit):
    """Stops a reader's code. A SystemExit ends a thread without a message, and is not caught by an
    `except Exception` in a loop. Code that catches it (`except:`) gets another on its next line."""

    def __init__(self):
        frame = sys._getframe(1)
        while frame:
            frame.f_trace = _stop_again
            frame = frame.f_back
        sys.settrace(_stop_again)


def _stop_again(frame, event, _):
    """Raise another stop on the line where the first was caught: raised earlier, at the event of
    the exception itself, it would only take the place of the first."""
    if event == "line":
        raise SystemExit
    return _stop_again
