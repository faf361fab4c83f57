"""Find a class's notebooks, the students they belong to, and the lessons they come from."""

import os
import re
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

import yaml

from ...errors import InputError
from ..course import lessons

OTHERS = "files that are not notebooks"
FORMS = (".zip", ".7z", ".rar", ".tar", ".gz", ".html", ".htm", ".pdf", ".py")  # of a notebook


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


# --- files ---


def find(folder):
    """Return what is in a folder: the notebooks and the other forms of a notebook, two lists of
    (student, path) sorted; and what else is there, {what: how many}.

    Hidden files and folders are left out (copies that Jupyter keeps, files that a Mac adds).
    """
    found, others, left_out, submitters = [], [], Counter(), {}

    def unreadable(error):
        left_out[f"folders that cannot be read ({error.strerror})"] += 1

    for place, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = [n for n in folders if n[0] != "." and n not in ("__MACOSX", "__pycache__")]
        files = [n for n in files if n[0] != "."]
        if GRADESCOPE in files:
            submitters |= _submitters(Path(place, GRADESCOPE))
        for path in (Path(place, name) for name in folders + files):
            if path.is_symlink():
                left_out["links, which are not followed"] += 1
            elif path.name not in files:
                continue
            else:
                named = (submitters[x] for x in (path, *path.parents) if x in submitters)
                student = next(named, "") or student_of(path.relative_to(folder))
                if is_notebook(path):
                    found.append((student, path))
                elif path.suffix.lower() in FORMS:
                    others.append((student, path))
                else:
                    left_out[OTHERS] += 1
    order = lambda one: (one[0].casefold(), one)  # noqa: E731
    return sorted(found, key=order), sorted(others, key=order), left_out


def is_notebook(path):
    """Return whether a file is a notebook, by its name or, since browsers and editors change the
    name, by how it begins."""
    if path.suffix.lower() in FORMS:
        return False
    if ".ipynb" in path.name.lower():
        return True
    try:
        if path.suffix.lower() not in (".json", ".txt", "") or not path.is_file():
            return False
        with path.open("rb") as file:
            start = file.read(1000).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError:
        return False
    return start.startswith(b"{") and (b'"cells"' in start or b'"nbformat"' in start)


def missing(others, answers, exercises):
    """Return {student: other forms of a notebook that is missing}.

    others: as from find().  answers: student -> exercise -> anything.  exercises: {lesson: its
    exercises}. A file that is not named after a lesson counts if the student has no answer.
    """
    found = defaultdict(list)
    for student, path in others:
        named = re.search(STEMS, path.name, re.I)
        asked = [own for name, own in exercises.items() if not named or name[:2] == named[0][:2]]
        own = answers.get(student, {})
        if asked and not any(name in own for part in asked for name in part):
            found[student].append(path)
    return found


# --- students ---

# What a platform names a file or a folder. The student is what stands in brackets: a number that
# belongs to one submission is left out. Paths are matched with / between their parts.
STEMS = f"(?:{'|'.join(x.stem.replace('_', '[ _+-]') for x in lessons())})"
ANONYMOUS = (  # Moodle's word for a student without a name
    "participant|participante|teilnehmer(?:/?in)?|partecipante|deelnemer|deltagare|deltager|"
    "deltaker|osallistuja|uczestnik|účastník|участник|katılımcı|résztvevő|peserta|参加者|参与者|참가자"
)
NAME = "[^/_]*[^/_0-9][^/_]*"  # without _, and not a number
DOWNLOADED = [
    # Moodle: Anna Muster_815_assignsubmission_file. Without names, the number is all there is.
    rf"(?:.*/)?((?:{ANONYMOUS})_\d+)_assignsubmission_.+",
    r"(?:.*/)?([^/]+)_\d+_assignsubmission_.+",
    # Blackboard: Lesson 2_mustera_attempt_2026-10-05-14-32-11_02_softmax.ipynb
    rf"(?:.*/)?(?:[^/]*_\d+|[^/]*{STEMS}|[^/_]*)_([^/]+?)_[^\W\d_]+_\d{{4}}(?:-\d\d){{5}}(?:[_./].*)?",
    # Brightspace: 4711-99001 - Anna Muster - Oct 5, 2026 232 PM - 02_softmax.ipynb
    r"(?:.*/)?\d{3,}-\d{3,} - ([^/]+?) - [^/]*\d{4}.+",
    # nbgrader's exchange: anna+02_softmax+2026-10-05 08:00:00 UTC+Zk3
    r"(?:.*/)?([^/+]+)\+[^/]+\+\d{4}-\d\d-\d\d .+",
    # Gradescope, without its list of names
    r"(?:.*/)?(submission_\d+)[/.].+",
    # Sakai: Muster, Anna(mustera)/Submission attachment(s)/02_softmax.ipynb
    r"(?:.*/)?([^/,]+, [^/,()]+\([^/()\s]+\))[/_].+",
    # ILIAS: Lesson 2/Abgaben/Muster_Anna_mustera_4711/02_softmax.ipynb
    r"(?:.*/)?(?:Abgaben|Submissions|multi_feedback_[^/]+)/(?:Team[ _]\d+/)?"
    rf"({NAME}_{NAME}_[^/]+_\d+)/.+",
    # Teams: Student Work/Submitted files/Anna Muster/Lesson 2/Version 1/02_softmax.ipynb
    r"(?:.*/)?(?:Submitted|Working) files/([^/]+)/.+",
    # Google Classroom, in Drive: Classroom/Course/Lesson 2/Anna Muster - 02_softmax.ipynb
    rf"(?:.*/)?Classroom/(?:.+/)?([^/]+) - {STEMS}[^/]*",
    # Canvas: mustera_LATE_4711_99003_02_softmax-1.ipynb, or without names
    r"(?:.*/)?(?:LATE_)?(anon_[^/_]+)_\d+_[^/]+",
    rf"(?:.*/)?({NAME})(?:_LATE)?(_\d+)_\d+_{STEMS}[^/]*",
    rf"(?:.*/)?({NAME})(?:_LATE)?(_\d\d+)_\d{{5,}}_[^/]+",
]
GRADESCOPE = "submission_metadata.yml"
GATHERED = rf"{STEMS}|submissions?|submitted|abgaben"  # a folder that is not a student's
COPY = (  # of Windows, macOS, Linux and clouds, in their languages
    "copy|kopie|copie|copia|cópia|kopia|kopi|kopio|kopya|kópia|copii|másolat|copi|duplikat|"
    "копия|копія|αντίγραφο|コピー|のコピー|副本|拷贝|拷貝|복사본|사본|salinan|bản sao|نسخة|עותק"
)
COPIED = rf" ?\(\d+\)| ?\([^()]*\b(?:{COPY})\b[^()]*\)|(?: [-–—] |[-_ ])(?:{COPY}) ?\d*"
MACHINE = "DESKTOP|LAPTOP|NOTEBOOK|PC|WIN|MACBOOK|IMAC|MAC|MBP|MBA|THINKPAD|SURFACE"
SYNCED = rf"-(?:{MACHINE})\d*(?:-\w+)*|\.sync-conflict-[\w-]+"  # what else a cloud adds


def student_of(path):
    """Return the student's name: of a download, what the platform wrote; else the first folder's;
    of a file without a folder, what its name adds to the lesson's.

    path: of the notebook, relative to the folder of the class.
    """
    whole = unicodedata.normalize("NFC", path.as_posix())
    for pattern in DOWNLOADED:
        if found := re.fullmatch(pattern, whole, re.I | re.S):
            return clean("".join(found.groups()))
    *folders, name = whole.split("/")
    while folders and re.fullmatch(GATHERED, folders[0], re.I):
        del folders[0]
    if folders:  # (1) may tell two students from each other
        return clean(re.sub(rf"(?! ?\(\d+\)$)(?:{COPIED})+$", "", folders[0], flags=re.I))
    name = re.sub(r"\.ipynb.*$|\.\w{1,9}$", "", name, flags=re.I | re.S)
    name = re.sub(rf"^(?:{COPY}) (?:of|von|van|de|di|av|af) ", "", name, flags=re.I)
    before, stem, after = re.fullmatch(rf"(?:(.*?)[ _-]*({STEMS}))?(.*)", name, re.I | re.S).groups(
        default=""
    )
    if before and re.fullmatch(rf"-(?:\d+|(?:.*-)?(?:{MACHINE})\b.*)", after, re.I):
        after = ""  # -1 is Canvas'
    after = re.sub(rf"(?:{SYNCED})?(?:{COPIED})*$", "", after, flags=re.I).lstrip(" _-")
    return clean(f"{before} {after}") or stem


def _submitters(path):
    """Return {folder of a submission: its student's name}, as Gradescope lists them."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    parts = re.findall(r"(?ms)^(\S+):\n +:submitters:\n(.*?)(?=^ {1,3}:|^\S|\Z)", text)
    names = {name: re.findall(r"(?m)^ *(?:- )?:name: *(.+)", own) for name, own in parts}
    return {
        path.parent / name: clean(" & ".join(str(yaml.safe_load(x)) for x in own))
        for name, own in names.items()
        if own
    }
