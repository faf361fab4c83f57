"""What stands between the reader's code and ours: bad input becomes one sentence,
and a function that the reader wrote is called so that it can do no harm."""

import ctypes
import io
import os
import sys
import sysconfig
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path

import torch
from IPython import get_ipython

SECONDS = 10  # how long a reader's function may take before it is stopped
KEPT = 2000  # characters of its printing, or of its error, that are kept
# code that is not the reader's own
OTHERS = (str(Path(__file__).parent) + os.sep, sysconfig.get_paths()["stdlib"] + os.sep)


class InputError(ValueError):
    """What was wrong and what is expected, in one sentence.

    In a notebook it shows as that sentence alone: a traceback through the
    helpers would only hide it.
    """

    def _render_traceback_(self):
        return [f"InputError: {self}"]


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
        frames = [
            frame
            for frame in traceback.extract_tb(self.error.__traceback__)
            if frame.line
            and not frame.filename.startswith(OTHERS)
            and "site-packages" not in frame.filename
        ]
        if frames:
            text += f" (line {frames[-1].lineno}: {frames[-1].line[:100]})"
        return text


_buffers = {}  # thread: what the reader's function prints in it
_lock = threading.Lock()


class _Router(io.TextIOBase):
    """stdout while readers' functions run: each one's printing goes to its own
    buffer, everybody else's goes where it always went. (redirect_stdout would
    also catch what a cell prints while a live view computes.)"""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        buffer = _buffers.get(threading.current_thread())
        if buffer is None:
            return self.stream.write(text)
        buffer.write(text[: max(0, KEPT - buffer.tell())])
        return len(text)

    def flush(self):
        self.stream.flush()


def _keep_kernel():
    """exit() asks IPython to end the kernel; from a reader's function it only ends the call."""
    shell = get_ipython()
    ask = getattr(shell, "ask_exit", None)
    if ask is None or ask.__name__ == "ask_exit_unless_called":
        return

    def ask_exit_unless_called():
        if threading.current_thread() in _buffers:
            raise SystemExit
        ask()

    shell.ask_exit = ask_exit_unless_called


def _listen(thread, buffer):
    """Take what this thread will print into the buffer."""
    with _lock:
        _buffers[thread] = buffer
        # A new router each time: whoever captures output meanwhile (as %%capture does)
        # may put this one back later, and it must still know its own stream then.
        if not isinstance(sys.stdout, _Router):
            sys.stdout = _Router(sys.stdout)


def _forget(thread):
    """Give stdout back, unless others need it."""
    with _lock:
        # one that was left behind keeps its buffer until it ends, or it would print elsewhere
        for ended in [t for t in _buffers if not t.is_alive() and (t.ident or t is thread)]:
            del _buffers[ended]
        if not _buffers and isinstance(sys.stdout, _Router):
            sys.stdout = sys.stdout.stream


def call(fn, /, *args, seconds=None, **kwargs):
    """Call a reader's function; whatever it does, return an Outcome.

    seconds: after so long it is stopped and the error is a TimeoutError; SECONDS by default.
    It runs in a thread of its own, because a live view computes outside the
    main thread, where signals do not reach. A loop of Python is stopped; one
    long call into C (such as time.sleep) is left behind and ends by itself.
    """
    outcome, printed = Outcome(), io.StringIO()
    seconds = SECONDS if seconds is None else seconds
    with_grad = torch.is_grad_enabled()  # a setting of the thread: hand it on

    def work():
        try:
            with torch.set_grad_enabled(with_grad):
                outcome.value = fn(*args, **kwargs)
        except BaseException as error:  # also SystemExit: exit() must not end the class
            outcome.error = error

    _keep_kernel()
    thread = threading.Thread(target=work, daemon=True)
    _listen(thread, printed)
    try:
        thread.start()
        thread.join(seconds)
    finally:  # also when the reader pressed "interrupt"
        late = thread.is_alive()
        _stop(thread)
        _forget(thread)
    if late:
        late = TimeoutError(f"it did not return within {seconds:g} seconds and was stopped")
        return Outcome(error=late, printed=printed.getvalue())
    outcome.printed = printed.getvalue()
    return outcome


def _stop(thread):
    """End it by an exception thrown into it: SystemExit, which an `except Exception` in a
    loop does not swallow, and which ends a thread without a word."""
    for _ in range(20):  # a loop may catch it: insist for a while
        if not thread.is_alive():
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
        )
        thread.join(0.02)
