"""Make the course's pages: see __init__.py."""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .lesson import CannotMake, Lesson, index, write_common

NOTEBOOKS = Path(__file__).parent.parent.parent / "notebooks"


def main(arguments=None):
    """Returns 0, or 1 where a lesson cannot be made into a page, and says what to do."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.pages",
        description="Make a folder of static pages from the lessons, with every live view "
        "recorded. It opens by a double click on index.html, without a server or a network.",
    )
    parser.add_argument("folder", type=Path, help="made if it is not there")
    parser.add_argument(
        "lessons", nargs="*", type=Path, help="notebooks; all lessons if none is named"
    )
    options = parser.parse_args(arguments)
    paths = options.lessons or sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
    try:
        lessons = [Lesson(path) for path in paths]
        with ThreadPoolExecutor(2) as pool:  # of kernels: each is a process
            list(pool.map(Lesson.run, lessons))
        # not before all have run: until then the pages that are there stay as they are
        options.folder.mkdir(parents=True, exist_ok=True)
        befores, afters = [None, *lessons[:-1]], [*lessons[1:], None]
        for lesson, before, after in zip(lessons, befores, afters, strict=True):
            lesson.write(options.folder, before, after)
        write_common(options.folder)
        index(options.folder, lessons)
    except CannotMake as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(lessons)} lessons: open {options.folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
