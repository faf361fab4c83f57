"""The repository stays in order: one list of dependencies, six rooms, few lines, clean code."""

import ast
import re
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from replay import run

from helpers.pages.lesson import write_common

ROOT = Path(__file__).parent.parent
HELPERS = ROOT / "helpers"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = ["README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", "notebooks/README.md"]
PROSE += ["helpers/README.md", "helpers/classroom/README.md"]
LINES = {"helpers": 16_291, "helpers/checks": 7_893, "tests": 12_007}  # of Python
SHARED = "guard.py", "session.py", "errors.py"
ROOMS = {  # each with the rooms that it may import from
    "attention": (),
    "pictures": ("attention",),
    "checks": ("attention",),
    "models": ("attention", "pictures"),
    "pages": ("attention", "pictures", "checks", "models"),
    "classroom": ("attention", "pictures", "checks", "models"),
}


def test_ci_runs_the_test_command_of_the_readme():
    (command,) = re.findall(r"(?m)^ {4}(python3 .* -m pytest)$", README)
    for name in (".ci/run", ".github/workflows/tests.yml"):
        assert f"{command}\n" in (ROOT / name).read_text(encoding="utf-8")


def test_every_dependency_is_pinned_exactly_and_there_is_one_list():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.match(r"[a-z-]+==[\d.]+(; .+)?$", pin) for pin in pins), pins
    environment = (ROOT / "environment.yml").read_text()
    assert "- -r requirements.txt" in environment and "==" not in environment


def test_the_readme_is_short_and_starts_with_both_commands():
    before, after = README.split("[Your own model]", 1)
    assert len((before + after.partition("\n")[0]).split()) <= 600
    assert before.index("-m pytest") < before.index("## Lessons")
    assert re.findall(r"!\[.{40,}\]\((.*)\)", before) == [".github/lesson_1.gif"]
    assert (ROOT / ".github/lesson_1.gif").stat().st_size < 500_000


@pytest.mark.parametrize("name", PROSE)
def test_what_a_page_links_to_is_there(name):
    for link in re.findall(r"\]\((?!https:)(.*?)\)", (ROOT / name).read_text(encoding="utf-8")):
        file, _, place = link.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        heads = re.findall(r"(?m)^#+ (.*)", path.read_text(encoding="utf-8", errors="replace"))
        heads = [re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads]
        assert not place or place in heads, link


def imports_of(path):
    """Yield the files of helpers that a file imports, or imports a name from."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            places = [folder, *(folder / alias.name for alias in node.names)]
            files = (
                f for place in places for f in (place.with_suffix(".py"), place / "__init__.py")
            )
            yield from (f for f in files if f.is_file() and f != path)


def room_of(file):
    return file.relative_to(HELPERS).parts[0]


def test_helpers_has_six_rooms_and_imports_between_them_run_one_way():
    files = [*HELPERS.rglob("*.py")]
    assert {room_of(f) for f in files if f.parent != HELPERS} == ROOMS.keys()
    graph = {file: set(imports_of(file)) for file in files}
    # A package lists what its rooms offer: that does not count as an import back.
    graph = {file: {f for f in used if f.name != "__init__.py"} for file, used in graph.items()}
    assert len([*TopologicalSorter(graph).static_order()]) == len(files)  # raises on a circle
    for file, used in graph.items():
        if file.parent != HELPERS:
            may = {room_of(file), *SHARED, *ROOMS[room_of(file)]}
            assert {room_of(f) for f in used} <= may, file
    lessons = HELPERS / "checks" / "lessons"
    assert not [f for f in lessons.glob("*.py") for used in graph[f] if used.parent == lessons]


def test_helpers_know_neither_tests_nor_notebooks():
    files = [*HELPERS.rglob("*.py"), *HELPERS.rglob("*.toml")]
    text = {file: file.read_text(encoding="utf-8") for file in files}
    assert [file for file in files if "tests/" in text[file]] == []
    others = [file for file in files if room_of(file) not in ("classroom", "pages")]
    assert [file for file in others if ".ipynb" in text[file]] == []


@pytest.mark.parametrize("folder", LINES)
def test_the_house_stays_small(folder):
    files = (ROOT / folder).rglob("*.py")
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    total = sum(lines.values())
    assert total <= LINES[folder], f"{folder} has {total} lines of Python: what can go?"
    assert {file.name: n for file, n in lines.items() if n > 400} == {}


def test_the_code_is_linted_and_formatted():
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


def test_the_scripts_are_linted(tmp_path):
    """They are linted as a page gets them: one file, which contains the live view's script."""
    write_common(tmp_path)
    script = tmp_path / "course.js"
    _, *lines, _ = script.read_text(encoding="utf-8").splitlines()  # the function around it
    script.write_text("\n".join(lines), encoding="utf-8")
    oxlint = shutil.which("oxlint", path=Path(sys.executable).parent)
    command = [oxlint, "--deny=correctness", "--deny=suspicious", "--deny-warnings", script.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "on 1 file" in done.stdout


def test_the_example_of_the_pieces_is_a_live_view_of_five_lines():
    pieces = (HELPERS / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(from helpers import .*?)```", pieces, re.S)
    assert len([line for line in code.splitlines() if line]) == 5
    picture = run(code, {}).compute({"T": 0.1})
    assert picture["error"] == "" and len(picture["panels"][0]["cells"]) == 36
