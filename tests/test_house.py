"""Promises of the house: two commands, one list of dependencies, clean code."""

import re
import subprocess
import sys
from pathlib import Path

from execute import lessons

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
