"""Run students' notebooks, each in a kernel of its own, and collect what their checks found.

Kept are: a limit of seconds for each cell, after which it is interrupted and the next one is run,
and for the notebook; a limit of memory, on Linux; a working folder that is deleted afterwards, with
all that IPython writes; no variable *_proxy; pip changes nothing; no output that is stored in a
notebook counts; no process stays behind that the notebook has started.

This does not protect from malice: the student's code runs with the rights of whoever calls this.
It can read and change files by their full path, use the network, show a verdict that no check
gave, and start a program without its environment, which stays.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ..checks.verdict import MIME
from .folder import ROOT
from .read_notebook import keep_best, verdict_in

MARK = "ATTENTION_CLASS_RUN"  # the variable that tells what a run has started
TRIES = 5  # how often what a run has started is looked for
LEAST = 2**30  # bytes that a notebook may use in any case
KERNEL = Path(__file__).with_name("kernel.py")


@dataclass
class Run:
    """What came of a notebook.

    verdicts: exercise -> the best Answer.
    errors: (number of the cell as in [7], the error) of each cell that raised.
    failed: why it did not run to its end, or "".
    """

    verdicts: dict = field(default_factory=dict)
    errors: list = field(default_factory=list)
    failed: str = ""


def run_all(notebooks, seconds, cell_seconds):
    """Run the notebooks, {key: the sources of its cells}; yield (key, Run) as they end."""
    free = psutil.virtual_memory().available
    at_once = max(1, min(os.cpu_count() or 1, free // LEAST))
    limits = seconds, cell_seconds, max(free // at_once, LEAST)
    with ThreadPoolExecutor(at_once) as pool:
        running = {pool.submit(run, sources, *limits): k for k, sources in notebooks.items()}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def run(sources, seconds, cell_seconds, memory):
    """Return the Run of a notebook."""
    with tempfile.TemporaryDirectory(prefix="attention_", ignore_cleanup_errors=True) as name:
        place = Path(name).resolve()
        # Not the folder itself: the first cell of a lesson imports from "..".
        work = place / "class" / "student"
        work.mkdir(parents=True)
        asked = {"sources": sources, "seconds": cell_seconds, "memory": memory, "mime": MIME}
        process = subprocess.Popen(
            [sys.executable, "-P", KERNEL], cwd=work, env=_environment(place), encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        failed = "its process ended"
        try:
            told, _ = process.communicate(json.dumps(asked), timeout=seconds)
        except subprocess.TimeoutExpired:
            failed = f"took longer than {seconds} seconds"
            process.kill()
            told, _ = process.communicate()
        finally:
            _end(str(place))
        return _read(told, failed)


def _environment(place):
    """What a notebook finds in os.environ."""
    own = {name: x for name, x in os.environ.items() if not name.lower().endswith("_proxy")}
    own |= dict.fromkeys(("TMPDIR", "TEMP", "TMP", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"), str(place))
    # pip looks for this Python, does not find it, and says its name.
    own |= {"PIP_PYTHON": "nothing is installed while a class is graded"}
    own |= {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return own | {MARK: str(place)}


def _end(mark):
    """End all processes in whose environment MARK is this, also those whose parent has ended."""
    for _ in range(TRIES):  # one may just have started another
        left = [
            process
            for process in psutil.process_iter(["environ"])
            if (process.info["environ"] or {}).get(MARK) == mark  # None of somebody else's
        ]
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        if not left:
            break
        psutil.wait_procs(left, timeout=1)


def _read(told, failed):
    """Return the Run that the lines of kernel.py tell of.  failed: why there may be no end."""
    done, cell = Run(), 0
    for line in told.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:  # half a line: its process was ended
            continue
        match entry:
            case {"cell": cell}:
                pass
            case {"shown": data}:
                if found := verdict_in(data):
                    keep_best(done.verdicts, *found)
            case {"error": text}:
                done.errors.append((cell, text))
            case {"failed": text}:
                failed = text
            case {"at_end": True}:
                return done
    done.failed = f"{failed}, in cell [{cell}]" if cell else failed
    return done
