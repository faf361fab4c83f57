"""Run students' notebooks, each in its own kernel, and read what their checks found.

Each cell has a time limit, after which it is interrupted and the next cell is run; the notebook has
a time limit, too, and on Linux a memory limit. The working folder is deleted afterwards, with all
that IPython writes. There is no variable *_proxy, pip changes nothing, outputs stored in the
notebook do not count, and the processes that the notebook started are ended.

This does not protect against malice: the student's code runs with the rights of the caller. It can
read and change files by their full path, use the network, show a verdict that no check gave, and
start a program without this environment, which is then not ended.
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

OURS = "IPYTHONDIR"  # the variable that identifies the processes of a run
TRIES = 5  # how often to look for processes of a run
LEAST = 2**30  # bytes that every notebook may use
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
    """Run these cells and return the resulting Notebook."""
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
    """Return the os.environ of a notebook."""
    own = {name: x for name, x in os.environ.items() if not name.lower().endswith("_proxy")}
    own |= dict.fromkeys(("TMPDIR", "TEMP", "TMP", OURS, "JUPYTER_RUNTIME_DIR"), str(place))
    # pip looks for a Python of this name, does not find it, and prints the name.
    own |= {"PIP_PYTHON": "nothing is installed while a class is graded"}
    return own | {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def _end(place):
    """End all processes that a run has started, including those whose parent has ended."""
    for _ in range(TRIES):  # one may have just started another
        left = [
            process
            for process in psutil.process_iter(["environ"])
            if (process.info["environ"] or {}).get(OURS) == place  # None if not ours
        ]
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=1)
        if not left:
            break
