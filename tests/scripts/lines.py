"""Count the lines of the house, each sum beside its bound: python tests/scripts/lines.py

What a lesson loads is counted as Python loads it: its cells' imports of helpers, what these import,
and the files of the exercises that it checks. Blank lines, comments and docstrings count.
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
CORE = "__init__.py", "errors.py", "guard.py", "session.py", "attention", "pictures", "checks"
# About 100 lines above what was measured, so that a small change fits, but for the last two. The
# aims are 7,000 for a lesson, 7,400 for a large one, 6,300 for the core, 9,500 for all, 8,000 for
# the tests.
MOST = {"a lesson": 8_700, "a large lesson": 9_700, "core": 7_200, "all lessons": 12_420}
MOST |= {"tests": 9_100, "scripts of the tests": 2_700, "JavaScript and CSS": 1_500, "a file": 400}
LARGE = "09", "10"  # lessons about classes and trained models


def lines(*files):
    """Return how many lines these files have together."""
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def sums():
    """Return [(what, its lines, the key of its bound in MOST)]."""
    helpers, tests = ROOT / "helpers", ROOT / "tests"
    loads = {name: [ROOT / file for file in files] for name, files in loaded().items()}
    found = [
        (name, lines(*files), "a large lesson" if name[:2] in LARGE else "a lesson")
        for name, files in loads.items()
    ]
    lessons = {file for name, files in loads.items() if name[:2].isdigit() for file in files}
    core = [helpers / name for name in CORE]
    core = {file for place in core for file in ([place] if place.is_file() else of(place, "py"))}
    found.append(("core, which every lesson may use", lines(*core), "core"))
    found.append(("what all lessons load together", lines(*lessons), "all lessons"))
    found.append(("tests", lines(*tests.glob("*.py")), "tests"))
    found.append(("their scripts", lines(*of(tests / "scripts", "py")), "scripts of the tests"))
    shown = [*of(helpers, "js"), *of(helpers, "css")]
    found.append(("JavaScript and CSS", lines(*shown), "JavaScript and CSS"))
    longest = max((*of(helpers, "py"), *of(tests, "py")), key=lines)
    name = longest.relative_to(ROOT).as_posix()
    return [*found, (f"the longest file, {name}", lines(longest), "a file")]


def of(folder, kind):
    """Return the files of a kind in a folder and its folders."""
    return sorted(folder.rglob(f"*.{kind}"))


def loaded():
    """Return {name of a notebook: the files of helpers that it loads}, found in a new process."""
    command = [sys.executable, __file__, "loaded"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def loaded_by(notebook):
    """Load the helpers of a notebook anew, and return their files. For a process of its own: what
    has been imported before is forgotten."""
    for name in [name for name in sys.modules if name.split(".")[0] == "helpers"]:
        del sys.modules[name]
    exercises = set()
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "helpers":
                    exec(ast.unparse(node), {})
            exercises |= {*re.findall(r'check\("(\w+)"', cell.source)}
    from helpers.checks.exercises import CHECKED

    for name in exercises:
        CHECKED[name]  # reads the files of its lesson
    modules = (x for name, x in sys.modules.items() if name.split(".")[0] == "helpers")
    files = (Path(x.__file__) for x in modules if x.__file__)
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


if __name__ == "__main__":
    if sys.argv[1:2] == ["loaded"]:
        sys.path.insert(0, str(ROOT))
        notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
        print(json.dumps({path.stem: loaded_by(path) for path in notebooks}))
    else:
        for what, count, key in sums():
            print(f"{count:7,} of {MOST[key]:6,}  {what}")
