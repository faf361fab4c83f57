"""Run students' notebooks, each in a kernel of its own, and read what their checks found.

Kept are: a limit of seconds for each cell, after which it is interrupted and the next one is run,
and for the notebook; a limit of memory, on Linux; a working folder that is deleted afterwards, with
all that IPython writes; no variable *_proxy; pip changes nothing; no output that is stored in a
notebook counts; no process stays behind that the notebook has started.

This does not protect from malice: the student's code runs with the rights of whoever calls this.
It can read and change files by their full path, use the network, show a verdict that no check
gave, and start a program without its environment, which stays.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path

import nbformat
import psutil
from nbformat import v4

from ..checks.verdict import MIME
from .folder import ROOT
from .read_notebook import read

OURS = "IPYTHONDIR"  # the variable that tells what a run has started
TRIES = 5  # how often what a run has started is looked for
LEAST = 2**30  # bytes that a notebook may use in any case
KERNEL = Path(__file__).with_name("kernel.py")


def run_all(notebooks, seconds, cell_seconds):
    """Run the notebooks, {key: the sources of its cells}; yield (key, Notebook) as they end."""
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
    """Return the Notebook that a run of these cells makes."""
    with tempfile.TemporaryDirectory(prefix="attention_", ignore_cleanup_errors=True) as name:
        place = Path(name).resolve()
        # Not the folder itself: the first cell of a lesson imports from "..".
        work, path = place / "class" / "student", place / "ran.ipynb"
        work.mkdir(parents=True)
        cells = [v4.new_code_cell(source) for source in sources]
        nbformat.write(v4.new_notebook(cells=cells), path)
        command = [sys.executable, "-P", KERNEL, path, str(cell_seconds), str(memory), MIME]
        null = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        try:
            done = subprocess.run(
                command, cwd=work, env=_environment(place), timeout=seconds, **null
            )
            failed = "its process ended" if done.returncode else ""
        except subprocess.TimeoutExpired:
            failed = f"took longer than {seconds} seconds"
        finally:
            _end(str(place))
        ran = read(path)
        ran.failed = failed or ran.failed
        return ran


def _environment(place):
    """What a notebook finds in os.environ."""
    own = {name: x for name, x in os.environ.items() if not name.lower().endswith("_proxy")}
    own |= dict.fromkeys(("TMPDIR", "TEMP", "TMP", OURS, "JUPYTER_RUNTIME_DIR"), str(place))
    # pip looks for this Python, does not find it, and says its name.
    own |= {"PIP_PYTHON": "nothing is installed while a class is graded"}
    return own | {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def _end(place):
    """End all processes that a run has started, also those whose parent has ended."""
    for _ in range(TRIES):  # one may just have started another
        left = [
            process
            for process in psutil.process_iter(["environ"])
            if (process.info["environ"] or {}).get(OURS) == place  # None of somebody else's
        ]
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=1)
        if not left:
            break
