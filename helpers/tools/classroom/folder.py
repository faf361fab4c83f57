"""Find a class's notebooks, the students they belong to, and the lessons they come from."""

import os
import re
import unicodedata
from collections import Counter
from itertools import product
from pathlib import Path

from ...errors import InputError
from ..course import lessons

OTHERS = "files that are not notebooks"


def clean(text):
    """Return the text on one line, without characters that control a terminal; é is one character,
    even if a file system stores two."""
    text = unicodedata.normalize("NFC", " ".join(str(text).split()))
    return "".join(c if c.isprintable() else "?" for c in text)


# --- lessons ---


def chosen(names=None):
    """Return the lessons' files.  names: such as "03" or the whole name, or None for all. Raises
    InputError."""
    for name in names or ():
        if not any(name in (path.stem, path.stem[:2]) for path in lessons()):
            expected = f"{lessons()[0].stem[:2]} to {lessons()[-1].stem[:2]}, such as 01 02"
            raise InputError(f"--lessons: there is no lesson {name!r}; choose from {expected}.")
    return [p for p in lessons() if not names or {p.stem, p.stem[:2]}.intersection(names)]


# --- notebooks ---


def find(folder):
    """Return the notebooks, [(student, path)] sorted, and what else is there: {what: how many}.

    Hidden files and folders are left out (copies that Jupyter keeps, files that a Mac adds).
    """
    notebooks, left_out = [], Counter()

    def unreadable(error):
        left_out[f"folders that cannot be read ({error.strerror})"] += 1

    for place, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = [n for n in folders if n[0] != "." and n not in ("__MACOSX", "__pycache__")]
        files = [n for n in files if n[0] != "."]
        for path in (Path(place, name) for name in folders + files):
            if path.is_symlink():
                left_out["links, which are not followed"] += 1
            elif path.name not in files:
                continue
            elif path.suffix.lower() == ".ipynb":
                notebooks.append((student_of(path.relative_to(folder)), path))
            else:
                left_out[OTHERS] += 1
    return sorted(notebooks, key=lambda found: (found[0].casefold(), found)), left_out


# --- students ---

# What a download names a folder or a file. The student is what stands in brackets: a number that
# belongs to one submission is left out.
DOWNLOADED = [
    # Canvas: mustera_LATE_4711_99003_02_softmax-1.ipynb, or without names
    r"(?:LATE_)?(anon_[^_]+)_\d+_.+",
    r"(.+?)(?:_LATE)?(_\d+)_\d+_.+",
    # Moodle: Anna Muster_815_assignsubmission_file. Without names all have the same single word.
    r"(.+ .+?)_\d+_assignsubmission_.+",
    r"(\S+_\d+)_assignsubmission_.+",
    # nbgrader's exchange: anna+02_softmax+2026-10-05 08:00:00 UTC+Zk3
    r"([^+]+)\+.+\+\d{4}-\d\d-\d\d .+",
]


def student_of(path):
    """Return the student's name.  path: of the notebook, relative to the folder of the class."""
    for part, pattern in product(path.parts, DOWNLOADED):
        if found := re.fullmatch(pattern, part, re.I):
            return clean("".join(found.groups()))
    if len(path.parts) > 1:
        return clean(path.parts[0])
    stems = "|".join(re.escape(lesson.stem) for lesson in lessons())
    # Jupyter names a copy -Copy1, a browser (1), and Canvas -1.
    name = re.sub(r"(-Copy\d+| ?\(\d+\))$", "", path.stem)
    return clean(re.sub(f"^({stems})[ _-]+|[ _-]+({stems})(-\\d+)?$", "", name, flags=re.I))
