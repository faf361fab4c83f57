"""Make the course's pages: see __init__.py."""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryFile

from jupyter_client.manager import run_kernel

from ...errors import InputError
from .. import course
from .lesson import CannotMake, Lesson, index, write_common


def main(arguments=None):
    """Return 0, or 1 if a lesson cannot be made into a page; then print what to do."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.pages",
        description="Make a folder of static pages from the lessons, with every live view "
        "recorded. Double-click index.html to open it; it needs no server and no network. To "
        "renew only some pages, name their notebooks; the others stay as they are.",
    )
    parser.add_argument("folder", type=Path, help="created if it does not exist")
    parser.add_argument("lessons", nargs="*", type=Path, help="notebooks; by default all lessons")
    options = parser.parse_args(arguments)
    paths = options.lessons or course.lessons()
    try:
        _refuse(options.folder)
        lessons = [Lesson(path) for path in paths]
        # one for all: each takes four seconds to start (nbval runs each lesson in its own)
        with run_kernel(extra_arguments=["--log-level=ERROR"]) as kernel:
            for k, lesson in enumerate(lessons, start=1):
                lesson.run(kernel)
                print(f"{k} of {len(lessons)}: {lesson.title}", flush=True)
                print("".join(f"  {lesson.path.name}: {x}.\n" for x in lesson.done), end="")
        # only now that all have run: until then the existing pages stay as they are
        for lesson in lessons:
            lesson.write(options.folder, *_beside(lesson, paths, options.folder))
        write_common(options.folder)
        if not options.lessons or not (options.folder / "index.html").exists():
            index(options.folder, lessons)
    except (CannotMake, InputError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(lessons)} lessons: open {options.folder / 'index.html'}")
    return 0


def _refuse(folder):
    """Raise InputError unless pages can be written into the folder; create it."""
    expected = "first a folder for the pages is expected, then notebooks, if you name any."
    if folder.suffix == ".ipynb" or folder.is_file():
        raise InputError(f"{folder} is a file: {expected}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder} cannot be written to ({error.strerror}): {expected}") from None


def _beside(lesson, made, folder):
    """Return the lessons before and after one, or None, of those with a page in the folder."""
    paths = sorted(lesson.path.parent.glob("*.ipynb"))
    there = [path for path in paths if path in made or (folder / f"{path.stem}.html").exists()]
    k, around = there.index(lesson.path), [None, *there, None]
    return [path and Lesson(path) for path in (around[k], around[k + 2])]


if __name__ == "__main__":
    sys.exit(main())
