"""Find a class's notebooks, the students they belong to, and the lessons they come from."""

import os
import re
import unicodedata
from functools import cache
from pathlib import Path

from ..checks.exercises import CHECKED, LESSON_OF
from ..errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def clean(text):
    """Return the text on one line, without characters that control a terminal; é is one character,
    even if a file system stores two."""
    text = unicodedata.normalize("NFC", " ".join(str(text).split()))
    return "".join(c if c.isprintable() else "?" for c in text)


@cache
def lessons():
    """Return the notebooks of the course, in order."""
    return sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


@cache
def exercises_by_lesson():
    """Return {name of a lesson: names of its exercises}, both in order."""
    return {
        path.stem: [name for name in CHECKED if path.stem.startswith(LESSON_OF[name])]
        for path in lessons()
    }


def find(folder):
    """Return the notebooks, [(student, path)] sorted; [a sentence for each link, and for each
    folder that cannot be read]; [path of each other file].

    Hidden files and folders are left out (copies that Jupyter keeps, files that a Mac adds).
    """
    notebooks, left_out, others = [], [], []

    def unreadable(error):
        left_out.append(f"{clean(error.filename)} cannot be read: {error.strerror}.")

    for place, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = [n for n in folders if n[0] != "." and n not in ("__MACOSX", "__pycache__")]
        files = [n for n in files if n[0] != "."]
        for path in (Path(place, name) for name in folders + files):
            if path.is_symlink():
                left_out.append(f"{clean(path)} is a link and was not followed.")
            elif path.name not in files:
                continue
            elif path.suffix.lower() == ".ipynb":
                notebooks.append((student_of(path.relative_to(folder)), path))
            else:
                others.append(path)
    notebooks.sort(key=lambda found: (found[0].casefold(), found))
    return notebooks, sorted(left_out), sorted(others)


def student_of(path):
    """Return the student's name.  path: of the notebook, relative to the folder of the class."""
    if len(path.parts) > 1:
        return clean(path.parts[0])
    stems = "|".join(re.escape(lesson.stem) for lesson in lessons())
    # Jupyter names a copy -Copy1, and a browser (1).
    name = re.sub(r"(-Copy\d+| ?\(\d+\))$", "", path.stem)
    return clean(re.sub(f"^({stems})[ _-]+|[ _-]+({stems})$", "", name, flags=re.I))


def refuse_full(folder, expected="an empty folder"):
    """Raise InputError if the folder is not empty, so that nothing is overwritten."""
    try:
        full = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as error:
        raise InputError(f"{clean(folder)} cannot be read: {error.strerror}.") from None
    if full:
        why = f"is not {expected}; nothing is overwritten: choose a different folder."
        raise InputError(f"{clean(folder)} {why}")
