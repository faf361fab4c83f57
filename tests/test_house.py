"""Promises of the house: two commands, one list of dependencies, clean code."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from execute import lessons
from replay import run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_ci_runs_the_test_command_of_the_readme():
    install = "python3 -m venv .venv && .venv/bin/python -m pip install -r requirements.txt"
    for text in (
        README,
        (ROOT / ".ci/run").read_text(),
        (ROOT / ".github/workflows/tests.yml").read_text(),
    ):
        assert f"{install} && .venv/bin/python -m pytest\n" in text
    first = lessons()[0].name
    assert f"{install} && .venv/bin/python -m jupyter lab notebooks/{first}\n" in README


def test_every_dependency_is_pinned_exactly_and_there_is_one_list():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.match(r"[a-z-]+==[\d.]+(; .+)?$", pin) for pin in pins), pins
    environment = (ROOT / "environment.yml").read_text()
    assert "- -r requirements.txt" in environment and "==" not in environment


def test_the_readme_lists_every_lesson_and_its_picture_has_words():
    for path in lessons():
        assert f"notebooks/{path.name}" in README
    for alt, target in re.findall(r"!\[(.*?)\]\((.*?)\)", README):
        assert len(alt) > 40 and (ROOT / target).is_file()


def test_the_code_is_linted_and_formatted():
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


def test_the_script_of_the_page_is_linted():
    oxlint = shutil.which("oxlint", path=Path(sys.executable).parent)
    command = [oxlint, "--deny=correctness", "--deny=suspicious", "--deny-warnings", "helpers"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "on 1 file" in done.stdout


def test_the_example_of_the_readme_is_a_live_view_of_five_lines():
    (code,) = re.findall(r"```python\n(from helpers import .*?)```", README, re.S)
    assert len([line for line in code.splitlines() if line]) == 5
    view = run(code, {})
    assert view.compute({"T": 0.1})["error"] == ""
    assert len(view.compute({"T": 0.1})["panels"][0]["cells"]) == 36
