"""Run students' notebooks, each in a process of its own, and collect what their checks found.

run_all() keeps: the time limit, whatever a cell does; a limit of memory, on Linux; a working folder
that is deleted afterwards, with all that IPython writes inside; no variable *_proxy; no output that
is stored in a notebook counts; no process stays behind, be it the notebook's or a program that a
cell started.

It does not protect from malice: the student's code runs with the rights of whoever calls this.
It can read and change files by their full path, use the network, show a verdict that no check
gave, and start a program that gives up its parent, its session and its environment, and stays.
"""

import json
import multiprocessing
import os
import stat
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import wait
from pathlib import Path

import psutil

from ..checks.verdict import MIME
from .folder import ROOT, lessons
from .needed import needed

MARK = "ATTENTION_CLASS_RUN"  # the variable that tells what a run has started
PATIENCE = 5  # seconds in which what was ended has to be gone
LEAST = 2**30  # bytes that a notebook may use in any case
KEPT = 200  # characters of each text of the student's that are kept
SAID = 5000  # and of a verdict's words

# On Linux one process imports torch and the course, and each notebook starts as its copy.
_context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
if sys.platform == "linux":
    _context.set_forkserver_preload([__name__, "helpers", "matplotlib.figure"])


@dataclass
class Run:
    """What came of a notebook.

    verdicts: exercise -> (passed, mistakes, unnamed), of the last Verdict on each.
    said: exercise -> its words.
    errors: (number of the cell as in [7], the error) of each cell that raised.
    failed: why it did not run to its end, or "".
    """

    verdicts: dict = field(default_factory=dict)
    said: dict = field(default_factory=dict)
    errors: list = field(default_factory=list)
    failed: str = ""


def cores():
    """How many processors this process may use."""
    with suppress(AttributeError):  # elsewhere than on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(paths, seconds, at_once=None, whole=False):
    """Execute the notebooks, each for so many seconds at most; yield (its number, its Run) as they
    end.

    at_once: how many run side by side, by default as many as there are cores.  whole: run all
    cells, not only those that a check needs (see needed.py).
    """
    waiting = deque((k, path, whole) for k, path in enumerate(paths))
    running = {}
    at_once = at_once or cores()
    memory = max(psutil.virtual_memory().available // at_once, LEAST)
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                k, *job = waiting.popleft()
                running[k] = _Process(*job, seconds, memory)
            left = min(process.end for process in running.values()) - time.monotonic()
            wait([process.sentinel for process in running.values()], max(0, left))
            for k in [k for k, process in running.items() if process.is_over()]:
                process = running.pop(k)
                done, partly = process.close()
                if partly and _may_be_ours(done):
                    waiting.appendleft((k, process.path, True))
                else:
                    yield k, done
    finally:
        for process in running.values():
            process.close()


def _may_be_ours(done):
    """Could what went wrong come from a cell that was left out?"""
    raised = any(not error.startswith("SyntaxError") for _, error in done.errors)
    return raised or any("NameError" in said for said in done.said.values())


class _Process:
    """A notebook that runs."""

    def __init__(self, path, whole, seconds, memory):
        self.path, self.seconds = Path(path).resolve(), seconds
        self.temporary = tempfile.TemporaryDirectory(
            prefix="attention_", ignore_cleanup_errors=True
        )
        self.folder = Path(self.temporary.name).resolve()
        self.log = self.folder / "log.jsonl"
        self.log.touch()
        # Not the folder itself: the first cell of a lesson imports from "..".
        (self.folder / "class" / "student").mkdir(parents=True)
        self.process = _context.Process(target=_alone, args=(self.path, self.folder, whole, memory))
        self.process.start()
        self.sentinel = self.process.sentinel
        self.end = time.monotonic() + seconds

    def is_over(self):
        return not self.process.is_alive() or time.monotonic() >= self.end

    def close(self):
        """End it and all that it started; return its Run, and whether cells were left out."""
        in_time = not self.process.is_alive()
        _end(self.process, self.temporary.name)
        done, partly = _read(
            self.log, "" if in_time else f"took longer than {self.seconds} seconds"
        )
        self.temporary.cleanup()
        return done, partly


def _end(process, mark):
    """mark: what the variable MARK is in the environment of what it started."""
    tree = []
    with suppress(psutil.Error):
        if process.is_alive():  # else its number may be somebody else's by now
            tree = psutil.Process(process.pid).children(recursive=True)
    process.kill()  # first: it can start nothing more
    process.join()
    end = time.monotonic() + PATIENCE
    # Again, until all are gone: one may just have started another.
    while (left := [*filter(_is_alive, tree), *_left(mark, process.pid)]) and (
        time.monotonic() < end
    ):
        for member in left:
            with suppress(psutil.Error):
                member.kill()
        time.sleep(0.05)
    process.close()


def _left(mark, session):
    """The processes that carry the mark, or belong to the session: also those whose parent has
    ended."""

    def belongs(process):
        if (process.info["environ"] or {}).get(MARK) == mark:  # None of somebody else's
            return True
        with suppress(OSError, AttributeError):  # there are no sessions on Windows
            return os.getsid(process.pid) == session

    return [p for p in psutil.process_iter(["environ"]) if belongs(p) and _is_alive(p)]


def _is_alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _read(log, failed):
    """(the Run that the log tells of, were cells left out?).  failed: what is known already, or "".

    A student's code may have deleted the log, or spoilt it.
    """
    done, cell, at_end, partly, lines = Run(), 0, False, False, []
    with suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:  # half a line: its process was ended
            continue
        match entry:
            case {"cell": int(cell)}:
                pass
            case {"verdict": [str(exercise), True | False | None as passed, [*names], [*unnamed]]}:
                done.verdicts[exercise] = passed, *(tuple(map(str, x)) for x in (names, unnamed))
                done.said[exercise] = str(entry.get("said", ""))
            case {"error": str(text)}:
                done.errors.append((cell, text))
            case {"failed": str(text)}:
                failed = failed or text
            case {"at_end": True}:
                at_end = True
            case {"partly": bool(partly)}:
                pass
    if not at_end:
        failed = failed or "its process ended"
        done.failed = f"{failed}, in cell [{cell}]" if cell else failed
    return done, partly


class Unusable(Exception):
    """Why a file cannot be run, to follow its name in a list."""


def code_cells(path):
    """Of each code cell of a notebook (its source, what its outputs show: a list of dicts by MIME
    type, its execution count, 0 where it has none). Raises Unusable."""
    text = ""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # to read from a pipe is to wait
            raise Unusable("not an ordinary file")
        text = Path(path).read_text(encoding="utf-8-sig")
        notebook = json.loads(text)
        if notebook["nbformat"] < 4:
            import nbformat

            notebook = nbformat.reads(text, as_version=4)
        return [_cell(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        why = "damaged: it is not text in UTF-8"
    except (json.JSONDecodeError, RecursionError):
        why = "damaged: it is not JSON" if text.strip() else "an empty file"
    except Unusable:
        raise
    except Exception:
        why = "not a notebook"
    raise Unusable(why)


@cache
def given():
    """The sources of the course's own code cells."""
    return {source for lesson in lessons() for source, _, _ in code_cells(lesson)}


def _cell(cell):
    shown = (output.get("data") for output in cell.get("outputs", ()) if isinstance(output, dict))
    number = cell.get("execution_count")
    shown = [data for data in shown if isinstance(data, dict)]
    return "".join(cell["source"]), shown, number if isinstance(number, int) else 0


def verdict_in(data):
    """[exercise, passed, mistakes, unnamed] or None: a student can show anything."""
    match data.get(MIME):
        case {"exercise": str(exercise), "passed": True | False | None as passed, **rest}:
            texts = [rest.get("mistakes"), rest.get("unnamed", [])]
            if all(isinstance(x, list) and all(isinstance(s, str) for s in x) for x in texts):
                return [exercise[:KEPT], passed, *([s[:KEPT] for s in x] for x in texts)]


# --- from here on: in the process of its own ---


def _alone(path, folder, whole, memory):
    """What the process does; it tells in the log what happens, as it happens."""
    log = open(folder / "log.jsonl", "a", encoding="utf-8")

    def tell(**entry):
        print(json.dumps(entry), file=log, flush=True)

    with suppress(AttributeError):  # on Windows
        os.setsid()
    for descriptor in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    os.environ.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder)))
    os.environ.update({"IPYTHONDIR": str(folder / "ipython"), "MPLBACKEND": "agg"})
    os.environ.update({MARK: str(folder), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"})
    tempfile.tempdir, sys.dont_write_bytecode = str(folder), True
    os.chdir(folder / "class" / "student")
    sys.path[:] = ["", str(ROOT), *(place for place in sys.path if place not in ("", str(ROOT)))]
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        execute(path, whole, tell)
        tell(at_end=True)
    except Unusable as error:
        tell(failed=str(error))
    except BaseException as error:
        tell(failed=f"cannot be run: {type(error).__name__}: {str(error)[:KEPT]}")
    os._exit(0)  # whatever threads the student's code has left


def execute(path, whole, tell):
    """Run the cells, also after one that raised. Raises Unusable."""
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Listener(DisplayPublisher):
        """Outputs are looked at and not kept: an endless loop that prints needs no memory."""

        def publish(self, data, *args, **more):
            verdict = verdict_in(data)
            if verdict:
                tell(verdict=verdict, said=str(data.get("text/plain"))[:SAID])

    sources = [source for source, _, _ in code_cells(path) if source.strip()]
    own = [k for k, source in enumerate(sources) if source not in given()]
    wanted = range(len(sources)) if whole else needed(sources, own)
    tell(partly=len(wanted) < len(sources))
    config = Config(HistoryManager={"enabled": False}, InteractiveShell={"xmode": "Minimal"})
    shell = InteractiveShell.instance(config=config, display_pub_class=Listener)
    for k in sorted(wanted):
        tell(cell=k + 1)
        result = shell.run_cell(sources[k])
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            tell(error=f"{type(error).__name__}: {str(error)[:KEPT]}".removesuffix(": "))
