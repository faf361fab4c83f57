"""How long watch and grade take for a class: python tests/bench_classroom.py

Watch: 30 students with 10 lessons each, as is read every five seconds. Grade: the copies
that 30 students have of one lesson, all cells, side by side.
Ends with code 1 if the promise is broken.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from execute import lessons

from helpers.classroom.read_notebook import read
from helpers.classroom.run_notebook import run_all
from helpers.classroom.watching import Class

STUDENTS, LESSONS = 30, 10
WATCH = 1.0  # the promise: seconds


def class_in(folder, paths):
    for number in range(STUDENTS):
        student = folder / f"student {number:02d}"
        student.mkdir(parents=True)
        for path in paths:
            shutil.copy(path, student)


def main():
    folder = Path(tempfile.mkdtemp())
    paths = lessons()[:LESSONS]
    try:
        class_in(folder / "watched", paths)
        class_in(folder / "graded", paths[2:3])
        start = time.perf_counter()
        lines = Class(folder / "watched").look()
        look = time.perf_counter() - start
        copies = sorted((folder / "graded").rglob("*.ipynb"))
        sources = {path: read(path).sources for path in copies}
        start = time.perf_counter()
        runs = dict(run_all(sources, 300, 60))
        took = time.perf_counter() - start
    finally:
        shutil.rmtree(folder)
    print(f"watch: {STUDENTS} students, {LESSONS} lessons")
    print(f"  a look {look:.2f} s")
    print(f"grade: {STUDENTS} copies of {paths[2].stem} in {took:.0f} s")
    broken = look > WATCH or f"{STUDENTS} students" not in lines[1]
    broken |= any(done.failed or not done.verdicts for done in runs.values())
    print("\nThe promise is broken." if broken else "\nThe promise holds.")
    return broken


if __name__ == "__main__":
    sys.exit(main())
