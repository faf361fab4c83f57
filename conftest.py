"""Set up what every test needs: one thread for small tensors, an nbval that waits, a browser.

It stands above tests and notebooks, so that one notebook alone is tested in the same way.
"""

import atexit
import os
import platform
import re
import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

# Before torch is imported, here and in every kernel: with two threads on a busy machine
# small tensors become twenty times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The kernel chooses its own; an inherited one would change what a figure prints.
os.environ.pop("MPLBACKEND", None)
# Nor may the settings of whoever runs the tests: every kernel finds an empty folder.
os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix="ipython-")
os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is imported: no test needs a network
# What a lesson prints must not depend on the processor: this process computes as most students'
# computers do, and in CI nbval's kernels as an old one would (see OLD), which takes twice as long.
if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx2")

import pytest
from execute import CI
from filelock import FileLock
from lab import chromium, jupyterlab
from nbval.plugin import IPyNbCell, IPyNbFile
from xdist.scheduler import LoadScopeScheduling

atexit.register(shutil.rmtree, os.environ["IPYTHONDIR"], ignore_errors=True)
OLD = {"PYTHONHASHSEED": "7"}  # nor may it depend on the order of a set
if CI:
    OLD |= {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "DNNL_MAX_CPU_ISA": "SSE41"}
start = IPyNbFile.setup  # starts the file's kernel


@patch.dict(os.environ, OLD)
def start_again(self):
    """Start a second kernel if the first dies: two that start together may choose the same port."""
    try:
        start(self)
    except RuntimeError:
        start(self)


IPyNbFile.setup = start_again

# The file that makes the pages goes first. While it does, the other workers have files that need
# none; those that need them follow, and at the end come those that are split into small parts.
LONG = ("test_pages.py", "test_live.py", "test_alive.py", "notebooks/10", "notebooks/06")
LONG += ("notebooks/14", "test_recordings.py", "test_engines.py", "test_release.py")
LONG += ("test_predict.py", "test_classroom.py", "test_notebooks.py", ".ipynb", "test_written.py")
LONG += ("test_match.py", "test_mistakes.py")
# Files whose tests share only what has the same parameter, such as a lesson.
BY_PARAMETER = ("test_notebooks.py", "test_match.py", "test_mistakes.py", "test_learned.py")
BY_PARAMETER += ("test_cost.py", "test_cache.py", "test_written.py")


class Scheduling(LoadScopeScheduling):
    """Do as --dist=loadscope, but split a long file that shares no browser among workers."""

    def _split_scope(self, nodeid):
        test, _, parameters = nodeid.partition("[")
        if parameters and test.split("::")[0].endswith(BY_PARAMETER):
            # one worker gets all tests of a lesson or an exercise, since it remembers what it ran
            words = parameters.rstrip("]").split("-")
            return "-".join(words[:1] if "_" in words[0] else words[:2])
        return super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config, log):
    return Scheduling(config, log)


def pytest_collection_modifyitems(items):
    # The longest files go first, or at the end one worker waits for another.
    items.sort(
        key=lambda item: next((k for k, f in enumerate(LONG) if f in item.nodeid), len(LONG))
    )
    for item in items:
        if isinstance(item, IPyNbCell):
            item.output_timeout = 60  # seconds of silence; five are too few on a busy machine


def needed(page):
    """Skip a test that needs a page if there is no browser (None); in CI fail instead."""
    if page is None:
        reason = "no Chromium, Chrome or Edge was found on this machine"
        if CI:
            pytest.fail(f"{reason}: CI must run the browser tests")
        pytest.skip(reason)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Yield (page, address of JupyterLab, its folder, errors that the page reported).

    There is one per file: while it lives, Playwright's event loop runs, and no other loop may.
    """
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        needed(page)
        errors = []

        def report(text, where):
            # JupyterLab has its own errors, most of them while it opens a notebook; our code is a
            # module without an address (blob:), or it is named in the message
            if re.search("blob:|anywidget|explore|jupyter-widgets", text + where):
                errors.append(text)

        page.on("pageerror", lambda e: report(str(e), e.stack or ""))
        page.on(
            "console", lambda m: report(m.text, m.location["url"]) if m.type == "error" else None
        )
        page.on("request", lambda r: errors.append(f"fetched {r.url}") if outside(r.url) else None)
        folder = tmp_path_factory.mktemp("lab")
        with jupyterlab(folder) as address:
            yield page, address, folder, errors


@pytest.fixture(scope="session")
def pages(tmp_path_factory, worker_id):
    """Return a folder with the pages, see test_recordings.py. The first worker that needs them
    makes them for all; the others wait."""
    from test_recordings import make

    ours = tmp_path_factory.getbasetemp()
    where = (ours if worker_id == "master" else ours.parent) / "pages.txt"
    with FileLock(where.with_suffix(".lock")):
        if not where.exists():
            where.write_text(str(make(tmp_path_factory.mktemp("pages"))), encoding="utf-8")
    return Path(where.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page(tmp_path_factory, pages):
    """Yield a page of a browser, for the course's pages. It may fetch only their files, and no
    script may fail."""
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        needed(page)
        page.errors = []
        inside = (pages.parent.as_uri() + "/", "data:", "blob:")
        page.on("request", lambda r: r.url.startswith(inside) or page.errors.append(r.url))
        page.on("requestfailed", lambda r: page.errors.append(f"not there: {r.url}"))
        page.on("pageerror", lambda e: page.errors.append(str(e)))
        page.on("console", lambda m: m.type == "error" and page.errors.append(m.text))
        yield page
        assert page.errors == []


def outside(url):
    """Is this URL anywhere but on JupyterLab's own server, the only one that it may ask?"""
    return not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))
