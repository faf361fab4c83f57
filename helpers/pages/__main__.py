"""Make the course's pages: see __init__.py."""

import argparse
import sys
import tempfile
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
        options.folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(2) as pool:  # of kernels: each is a process
            list(pool.map(Lesson.run, lessons))
        # first beside the pages that are there: an interrupted run leaves those as they were
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=options.folder) as name:
            unfinished = Path(name)
            befores, afters = [None, *lessons[:-1]], [*lessons[1:], None]
            for lesson, before, after in zip(lessons, befores, afters, strict=True):
                lesson.write(unfinished, before, after)
            write_common(unfinished)
            index(unfinished, lessons)
            _move(unfinished, options.folder)
    except CannotMake as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(lessons)} lessons: open {options.folder / 'index.html'}")
    return 0


def _move(source, target):
    """All files into another folder of the same disk, in place of those that have their names."""
    for path in filter(Path.is_file, source.rglob("*")):
        place = target / path.relative_to(source)
        place.parent.mkdir(exist_ok=True)
        path.replace(place)


if __name__ == "__main__":
    sys.exit(main())
