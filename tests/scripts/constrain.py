"""Choose a version for every package that the course's packages need:

    python tests/scripts/constrain.py

Writes .github/constraints.txt, one file for all Pythons and systems of the course. Needs uv
(python -m pip install uv). Versions stay as they are where they still fit; with --upgrade, each
becomes the newest that fits.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / ".github" / "constraints.txt"
# They are installed together on a server, and in CI.
LISTS = "requirements.txt", "notebooks/your_own_model.txt", "helpers/tools/classroom/jupyterhub.txt"
LISTS += ("helpers/tools/classroom/nbgrader.txt",)
OLDEST = "3.11"


def pins(path):
    """Return the lines of a list that name a package."""
    return re.findall(r"(?m)^\w.*", path.read_text(encoding="utf-8"))


def package(pin):
    """Return the package's name as an index writes it."""
    return re.sub("[-_.]+", "-", re.split("[=; ]", pin)[0]).lower()


if __name__ == "__main__":
    lines = [pin for path in LISTS for pin in pins(ROOT / path)]
    # One version for all Pythons, where there is one. What the lists pin is left out: pip would
    # tell a reader whose Python is too old of a conflict between the two, and not of Python.
    options = ["--universal", f"--python-version={OLDEST}", "--fork-strategy=fewest"]
    options += ["--no-annotate", "--custom-compile-command=python tests/scripts/constrain.py"]
    options += [f"--no-emit-package={package(pin)}" for pin in lines] + ["--quiet", *sys.argv[1:]]
    subprocess.run(
        [sys.executable, "-m", "uv", "pip", "compile", "-", f"--output-file={CONSTRAINTS}"]
        + options,
        input="\n".join(lines),
        text=True,
        stdout=subprocess.DEVNULL,
        check=True,
    )
