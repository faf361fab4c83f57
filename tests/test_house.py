"""The repository stays in order: one list of dependencies, a core that knows no lesson, few lines,
clean code."""

import ast
import re
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from importlib.metadata import metadata, requires
from pathlib import Path

import pytest
import yaml
from constrain import CONSTRAINTS, LISTS, OLDEST, package, pins
from execute import lessons
from lines import MOST, sums
from packaging.requirements import Requirement
from replay import run

from helpers.tools.pages.lesson import write_common

ROOT = Path(__file__).parent.parent
HELPERS = ROOT / "helpers"
REQUIREMENTS = ROOT / "requirements.txt"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = ["README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", "notebooks/README.md"]
PROSE += ["helpers/README.md", "helpers/tools/classroom/README.md"]
SHARED = "guard.py", "session.py", "contents.py", "copies.py", "errors.py"
ROOMS = dict.fromkeys(SHARED, ()) | {  # each with the rooms that it may import from
    "attention": (),
    "pictures": (),
    "checks": ("attention",),  # and the files of a lesson, by its number
    "lessons": ("attention", "pictures", "checks"),
    "your_model.py": ("pictures", "lessons"),
    "tools": ("attention", "pictures", "checks", "lessons"),  # which no lesson imports
}


def test_ci_runs_the_test_command_of_the_readme():
    (command,) = re.findall(r"(?m)^ {4}(python3 .* -m pytest)$", README)
    for name in (".ci/run", ".github/workflows/tests.yml"):
        assert f"{command}\n" in (ROOT / name).read_text(encoding="utf-8")


def test_ci_runs_every_python_that_the_readme_names_and_trusts_no_tag():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").iterdir()]
    used = re.findall(r"uses: (.*)", "\n".join(texts))
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v[\d.]+", use) for use in used), used
    assert all(yaml.safe_load(text)["permissions"] == {"contents": "read"} for text in texts)
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    pythons = tests["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert f"Python {pythons[0]} to {pythons[-1]}," in README and pythons[0] == OLDEST
    assert len(pythons) == int(pythons[-1][2:]) - int(pythons[0][2:]) + 1


def test_every_dependency_is_pinned_exactly_and_there_is_one_list():
    for path in LISTS:
        for pin in pins(ROOT / path):
            assert re.match(r"[a-z-]+==[\d.]+(; .+)?$", pin), pin
    assert f"\n-c {CONSTRAINTS.relative_to(ROOT).as_posix()}\n" in REQUIREMENTS.read_text()
    environment = (ROOT / "environment.yml").read_text()
    assert "- -r requirements.txt" in environment and "==" not in environment


def test_the_constraints_choose_all_that_the_pinned_packages_need():
    """So an installation is the same next year; what is pinned already is not there again."""
    pinned = {package(pin) for path in LISTS for pin in pins(ROOT / path)}
    chosen = {package(pin) for pin in pins(CONSTRAINTS)}
    assert pinned.isdisjoint(chosen) and "://" not in CONSTRAINTS.read_text()
    needed = todo = {package(pin) for pin in pins(REQUIREMENTS)}
    while todo:
        found = [Requirement(text) for each in todo for text in requires(each) or ()]
        found = {package(r.name) for r in found if not r.marker or r.marker.evaluate({"extra": ""})}
        needed, todo = needed | found, found - needed
    assert needed - pinned <= chosen, "run tests/scripts/constrain.py"


def test_a_python_that_is_too_old_is_refused_before_pytorch_is_downloaded():
    first = package(pins(REQUIREMENTS)[0])
    assert metadata(first)["Requires-Python"] == f">={OLDEST}"


def test_in_the_kernel_of_an_older_python_the_helpers_say_what_to_do():
    code = "import sys; sys.version_info, sys.version = (3, 10, 9), '3.10.9 '; import helpers"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "runs Python 3.10.9, and the course needs 3.11" in done.stderr
    assert "Choose the kernel of .venv" in done.stderr


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


def test_imports_between_the_rooms_of_helpers_run_one_way():
    files = [*HELPERS.rglob("*.py")]
    assert {room_of(f) for f in files} - {"__init__.py"} == ROOMS.keys()
    graph = {file: set(imports_of(file)) for file in files}
    # A package lists what its rooms offer: that does not count as an import back.
    graph = {file: {f for f in used if f.name != "__init__.py"} for file, used in graph.items()}
    assert len([*TopologicalSorter(graph).static_order()]) == len(files)  # raises on a circle
    for file, used in graph.items():
        if file != HELPERS / "__init__.py":
            may = {room_of(file), *SHARED, *ROOMS[room_of(file)]}
            assert {room_of(f) for f in used} <= may, file


def test_helpers_know_neither_tests_nor_notebooks():
    files = [*HELPERS.rglob("*.py"), *HELPERS.rglob("*.toml")]
    text = {file: file.read_text(encoding="utf-8") for file in files}
    assert [file for file in files if "tests/" in text[file]] == []
    others = [file for file in files if room_of(file) != "tools"]
    assert [file for file in others if ".ipynb" in text[file]] == []


def test_the_core_names_no_lesson_and_a_lesson_is_a_folder():
    core = [f for f in HELPERS.rglob("*.py") if room_of(f) not in ("lessons", "tools")]
    found = {file: re.findall(r"lesson_\d+", file.read_text(encoding="utf-8")) for file in core}
    assert {file: names for file, names in found.items() if names} == {}
    numbers = {path.name[:2] for path in lessons()}
    folders = {path for path in (HELPERS / "lessons").iterdir() if path.name.startswith("lesson_")}
    assert {path.name.removeprefix("lesson_") for path in folders} == numbers
    assert all((folder / "exercises.toml").exists() for folder in folders)


def test_of_two_drawings_files_of_the_same_name_none_is_taken_by_chance():
    with pytest.raises(ImportError, match="lessons have a file checks.py: rename one."):
        from helpers import Checks  # noqa: F401


def test_the_house_stays_small():
    too_many = [(what, n, MOST[key]) for what, n, key in sums() if n > MOST[key]]
    assert too_many == [], "what can go?"


def test_the_code_is_linted_and_formatted():
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


def follow(recipe, root):
    """Add a recipe's code at the end of the file that is named last before it, if it is not there
    because somebody tries the recipe."""
    before, code = re.search(r"(.*?)```toml\n(.*?)```", recipe, re.S).groups()
    file = root / re.findall(r"`([\w/]+\.toml)`", before)[-1]
    text = file.read_text(encoding="utf-8")
    if code not in text:
        file.write_text(text + code, encoding="utf-8")


def test_a_first_contribution_that_follows_the_recipes_passes(tmp_path):
    for name in ("helpers", "data", "pyproject.toml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    changing = (ROOT / ".github/CONTRIBUTING.md").read_text(encoding="utf-8")
    for title in ("Add a mistake", "Add an exercise"):
        follow(changing.partition(f"\n## {title}\n")[2].partition("\n## ")[0], tmp_path)
    (tmp_path / "contributed.py").write_text(
        "from helpers.checks import check\n"
        "check('scaled_scores', lambda q, k: q @ k.mT / q.shape[-1] ** (1 / 3))\n"
        "check('doubled', lambda x: -2 * x), check('doubled', lambda x: x + x)\n"
        "check('doubled', lambda x: 2 * x[:3])\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "contributed.py"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    told = re.findall("(?m)^[✘✔] (.*)", done.stdout)
    assert told[:3] == ["scaled_scores: cube root.", "doubled: sign flipped.", "doubled: right."]
    assert len(told) == 4 and "right" not in told[3], "what is right for three numbers is wrong"


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
