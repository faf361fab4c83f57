"""Run one student's notebook in a process of its own, and collect what its checks found.

run() starts this file again as a script, which runs the cells in a kernel. It keeps:
the time limit, whatever a cell does; a working folder that is deleted afterwards, with the
kernel's own files in it; no variable *_proxy; no output that is stored in the notebook counts;
no process stays behind, be it the kernel or a program that a cell started.

It does not protect from malice: the student's code runs with the rights of whoever calls this.
It can read and change files by their full path, use the network, show a verdict that no check
gave, and start a program that gives up its parent and its environment, and stays.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
MARK = "ATTENTION_CLASS_RUN"  # the variable that tells what a run has started
PATIENCE = 5  # seconds in which what was ended has to be gone
KEPT = 200  # characters of each text of the student's that are kept


@dataclass
class Run:
    """What came of a notebook.

    verdicts: exercise -> (passed, mistakes, unnamed), of the last Verdict on each.
    errors: (number of the cell as in [7], the error) of each cell that raised.
    failed: why it did not run to its end, or "".
    """

    verdicts: dict = field(default_factory=dict)
    errors: list = field(default_factory=list)
    failed: str = ""


def run(path, mime, seconds):
    """Execute the notebook at path, for so many seconds at most in all; return a Run.

    mime: the key under which a check shows its verdict.
    """
    with tempfile.TemporaryDirectory(prefix="attention_", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        # Not the folder itself: the first cell of a lesson imports from "..".
        work, log = folder / "class" / "student", folder / "log.jsonl"
        work.mkdir(parents=True)
        log.touch()
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(Path(path).resolve()), str(log), mime],
            cwd=work,
            env=_environment(folder) | {MARK: name},
            # No pipes: a program that is left behind would keep them open.
            **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL),
        )
        in_time = _end_within(process, name, seconds)
        return _read(log, f"took longer than {seconds} seconds" if not in_time else "")


def _environment(folder):
    """Without proxies, with our helpers, and with all that a kernel writes inside the folder."""
    jupyter = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    return {
        **{k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")},
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder)),
        **dict.fromkeys(jupyter, str(folder / "jupyter")),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _end_within(process, mark, seconds):
    """Wait for it, then end it and all that it started; return whether it ended by itself.

    mark: what the variable MARK is in its environment, and in that of what it started.
    """
    tree = []
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        with suppress(psutil.Error):
            if process.poll() is None:  # else its number may be somebody else's by now
                tree = psutil.Process(process.pid).children(recursive=True)
        process.kill()  # first: it can start nothing more
        process.wait()
        end = time.monotonic() + PATIENCE
        # Again, until all are gone: one may just have started another.
        while (left := [*filter(_is_alive, tree), *_marked(mark)]) and time.monotonic() < end:
            for member in left:
                with suppress(psutil.Error):
                    member.kill()
            time.sleep(0.05)


def _marked(mark):
    """The processes that carry the mark: also those whose parent has ended."""
    processes = psutil.process_iter(["environ"])  # None of somebody else's
    return [p for p in processes if (p.info["environ"] or {}).get(MARK) == mark and _is_alive(p)]


def _is_alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _read(log, failed):
    """The Run that the log tells of.  failed: what is known already, or "".

    A student's code may have deleted the log, or spoilt it.
    """
    done, cell, at_end, lines = Run(), 0, False, []
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
            case {"error": str(text)}:
                done.errors.append((cell, text))
            case {"failed": str(text)}:
                failed = failed or text
            case {"at_end": True}:
                at_end = True
    if not at_end:
        failed = failed or "its process ended"
        done.failed = f"{failed}, in cell [{cell}]" if cell else failed
    return done


# --- from here on: in the process of its own ---


class Unusable(Exception):
    """Why a file cannot be run, to follow its name in a list."""


def cells_of(path):
    """The source of each code cell: nothing else of the file is used. Raises Unusable."""
    import nbformat

    text = ""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        cells = nbformat.reads(text, as_version=4).cells
        return [str(cell.source) for cell in cells if cell.cell_type == "code"]
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        why = "damaged: it is not text in UTF-8"
    except (nbformat.reader.NotJSONError, RecursionError):
        why = "damaged: it is not JSON" if text.strip() else "an empty file"
    except Exception:
        why = "not a notebook"
    raise Unusable(why)


def verdict_in(data, mime):
    """[exercise, passed, mistakes, unnamed] or None: a student can show anything."""
    match data.get(mime):
        case {"exercise": str(exercise), "passed": True | False | None as passed, **rest}:
            texts = [rest.get("mistakes"), rest.get("unnamed", [])]
            if all(isinstance(x, list) and all(isinstance(s, str) for s in x) for x in texts):
                return [exercise[:KEPT], passed, *([s[:KEPT] for s in x] for x in texts)]


def execute(path, tell, mime):
    """Run all cells, also after one that raised, and tell what happens as it happens."""
    from nbclient import NotebookClient
    from nbclient.exceptions import DeadKernelError
    from nbformat import v4

    class Listener(NotebookClient):
        """Outputs are looked at and not kept: an endless loop that prints needs no memory."""

        def process_message(self, msg, cell, cell_index):
            content = msg["content"]
            match msg["msg_type"]:
                case "status":
                    super().process_message(msg, cell, cell_index)
                case "error":
                    text = f"{content['ename']}: {content['evalue'][:KEPT]}"
                    tell(error=text.removesuffix(": "))
                case "display_data":
                    verdict = verdict_in(content["data"], mime)
                    if verdict:
                        tell(verdict=verdict)

    numbers = count(1)
    try:
        notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells_of(path)])
        Listener(
            notebook,
            timeout=None,
            kernel_name="python3",
            allow_errors=True,
            store_widget_state=False,
            # Not by the kernel's own message: a kernel that dies at once sends none.
            on_cell_execute=lambda **_: tell(cell=next(numbers)),
        ).execute()
        tell(at_end=True)
    except Unusable as error:
        tell(failed=str(error))
    except DeadKernelError:
        tell(failed="the kernel died")
    except Exception as error:
        tell(failed=f"cannot be run: {type(error).__name__}: {str(error)[:KEPT]}")


if __name__ == "__main__":
    path, log, mime = sys.argv[1:]
    with open(log, "a", encoding="utf-8") as file:

        def tell(**entry):
            print(json.dumps(entry), file=file, flush=True)

        execute(path, tell, mime)
