"""Write the list of what is the course's: python tests/scripts/listed.py

Run it when a file, a cell or the stub of an exercise has been added, changed or removed. The files
are those that git has; the cells and stubs are read from the notebooks.
"""

import json
import subprocess
import sys
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parents[2]))
from helpers.tools.course import CALL, CHECK, LIST, ROOT, defines  # noqa: E402

PATTERNS = "*.md requirements.txt environment.yml .gitignore .venv .github notebooks helpers data"
HEAD = "# What the course consists of; the script listed.py writes this file.\n"
TODO = "# your code here"


def text():
    """Return the list as it should be. Raises ValueError for an exercise that is solved."""
    command = ["git", "ls-files", "-z", "--", *PATTERNS.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    files = sorted(name for name in done.stdout.decode().split("\0") if name)
    files = [name for name in files if not name.startswith(".github/workflows")]
    lines = [HEAD, "files = [", *(f"    {json.dumps(name)}," for name in files), "]"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if f"notebooks/{path.name}" in files:
            lines += _notebook(path)
    return "\n".join(lines) + "\n"


def _notebook(path):
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    lines, row = [f"\n[notebooks.{path.stem}]", "cells = ["], "   "
    for cell in cells:
        if len(row) + len(cell.id) > 94:
            lines, row = [*lines, row], "   "
        row += f' "{cell.id}",'
    lines += [row, "]", f"\n[notebooks.{path.stem}.stubs]"]
    checks = [found for cell in code if (found := CALL.search(cell.source))]
    for cell in code:
        found = CALL.search(cell.source)
        defined = any(defines(check[2]).search(cell.source) for check in checks)
        if found or defined or TODO in cell.source:  # a reader may also write what no check sees
            is_own = CHECK.search(cell.source)
            if is_own and TODO not in cell.source and not found[1].startswith("repair_"):
                raise ValueError(f"{path.name}, {found[1]}: this is an answer, not a stub")
            lines.append(f"{cell.id} = '''\n{cell.source}'''")
    return lines


if __name__ == "__main__":
    LIST.write_text(text(), encoding="utf-8", newline="\n")
