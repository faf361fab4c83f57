"""Run JupyterLab in a real browser, for the tests."""

import ast
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import nbformat
from execute import METADATA

ROOT = Path(__file__).parents[2]
SECONDS = 20  # the time a page has to show what is expected: CI can be a busy machine
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


def find_browser(playwright):
    """Return the arguments that launch a Chromium of this machine; None if there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if shutil.which(name):
            return {"executable_path": shutil.which(name)}
    if Path(playwright.chromium.executable_path).exists():
        return {}
    for channel in ("chrome", "msedge"):  # where macOS and Windows keep them
        try:
            playwright.chromium.launch(channel=channel).close()
            return {"channel": channel}
        except Exception:  # playwright says "not found" in many ways
            continue
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def jupyterlab(folder):
    """Run a JupyterLab server on a copy of the course, so that no test changes a lesson.

    Yields its address, without the token; in the end stops the process that it started.
    """
    for name in ("notebooks", "helpers", "data"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb*")
        )
    port = free_port()
    own = {
        f"JUPYTER_{name}_DIR": str(folder / f".{name.lower()}")
        for name in ("CONFIG", "DATA", "RUNTIME")
    }
    # as in a reader's .venv: nothing else turns JupyterLab's notices off here
    own["JUPYTER_CONFIG_PATH"] = str(ROOT / ".venv" / "etc" / "jupyter")
    # where nbgrader is installed, its column on the right makes notebooks narrower
    narrow = folder / ".config" / "labconfig" / "page_config.json"
    narrow.parent.mkdir(parents=True)
    narrow.write_text('{"disabledExtensions": {"@jupyter/nbgrader": true}}')
    said = folder / "server.log"
    with said.open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}",
             "--ServerApp.port_retries=0", "--ip=127.0.0.1", "--IdentityProvider.token=course",
             "--allow-root", "--LabApp.expose_app_in_browser=True",
             "--JupyterNotebookApp.expose_app_in_browser=True"],
            cwd=folder, env={**os.environ, **own}, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        status = f"{address}/api/status?token=course"
        once_it_serves(server, lambda: urllib.request.urlopen(status, timeout=60).read(), said)
        yield address
    finally:
        end(server)


def once_it_serves(process, ask, said):
    """Return ask() as soon as it raises no OSError or ValueError: however long a busy machine takes
    to start the process.  said: the file with what it printed, which is raised if it ends."""
    far_away = time.monotonic() + 600
    while True:
        try:
            return ask()
        except (OSError, ValueError):
            if process.poll() is not None:
                raise RuntimeError(said.read_text(encoding="utf-8", errors="replace")) from None
            if time.monotonic() > far_away:
                raise
        time.sleep(0.1)


def end(process):
    """End a process; kill it if it does not: JupyterLab's sometimes waits for its own thread."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def chromium(folder, width=1280, height=900):
    """Yield a page in a headless browser with its own profile; None if there is no browser."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        found = find_browser(playwright)
        if found is None:
            yield None
            return
        context = playwright.chromium.launch_persistent_context(
            str(folder / ".profile"),
            args=FLAGS,
            ignore_default_args=["--hide-scrollbars"],  # readers see scroll bars
            viewport={"width": width, "height": height},
            **found,
        )
        context.set_default_timeout(60_000)
        yield context.pages[0]
        context.close()


def open_notebook(page, address, name, theme="JupyterLab Light", app="lab/tree", reload=True):
    """Open a notebook with the side bar closed; its cells are not run.

    Without reload, the notebook that is open is closed instead, and its kernel ends.
    """
    if reload or f"{address}/{app}" not in page.url:
        page.goto(f"{address}/{app}/{name}?token=course&reset", wait_until="domcontentloaded")
        page.wait_for_function("window.jupyterapp !== undefined")
    else:
        page.evaluate(
            """async (path) => {
                const { shell, commands } = window.jupyterapp;
                await shell.currentWidget.sessionContext.shutdown();
                shell.currentWidget.dispose();
                await commands.execute('docmanager:open', { path });
            }""",
            name,
        )
    page.evaluate(
        """async (theme) => {
            const app = window.jupyterapp;
            await app.restored;
            await app.commands.execute('apputils:change-theme', { theme });
            app.shell.collapseLeft();
        }""",
        theme,
    )
    wait_for_kernel(page)


def wait_for_kernel(page):
    """Wait until the notebook is open and its kernel idle: requests sent earlier are lost."""
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(
        "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    )


def write(path, source):
    """Write a notebook with a cell for each part of the source, which is split at ---."""
    cells = [nbformat.v4.new_code_cell(part.strip()) for part in source.split("---")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=METADATA), path)


def run_all(page):
    """Run all cells and wait until the kernel has answered them all."""
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        """() => {
            const widget = window.jupyterapp.shell.currentWidget;
            const cells = [...widget.content.model.cells].filter(c => c.type === 'code');
            return cells.every(c => c.executionCount || !c.sharedModel.getSource().trim())
                && widget.sessionContext.session.kernel.status === 'idle';
        }""",
        timeout=120_000,
    )


def scroll_to(page, number):
    """Bring a cell into the window and return it: JupyterLab draws only those near the window."""
    page.evaluate(
        """async (number) => {
            const content = window.jupyterapp.shell.currentWidget.content;
            await content.scrollToItem(number, 'center');
            content.activeCellIndex = number;
        }""",
        number,
    )
    cell = page.locator(f'.jp-Cell[data-windowed-list-index="{number}"]')
    cell.wait_for()
    return cell


def run_by_hand(page, first, last):
    """Run the cells from one to another as a reader does: a click, then Shift + Enter.

    A click gives the notebook the focus, which no opened one is sure to have; and a key pressed
    before the next cell is selected would run the same cell once more."""
    scroll_to(page, first).locator(".jp-InputPrompt").click()
    for number in range(first, last + 1):
        selected = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"
        page.wait_for_function(f"{selected} === {number}")
        page.keyboard.press("Shift+Enter")


def in_kernel(page, expression, code=""):
    """Return the value of an expression in the notebook's kernel, after running some code.

    It is not printed: printed text may arrive when the page no longer listens.
    """
    answer = page.evaluate(
        """async ([code, answer]) => {
            const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
            const ask = { code, store_history: false, user_expressions: { answer } };
            const { content } = await kernel.requestExecute(ask).done;
            return content.user_expressions?.answer?.data?.['text/plain'] ?? content;
        }""",
        [code, expression],
    )
    assert isinstance(answer, str), answer
    return ast.literal_eval(answer)
