"""Show who is at which exercise, the guesses and the verdicts, while the class works.

The notebooks below FOLDER are read as they are saved: no code is run, nothing is written. A saved
verdict can be forged, so this is not a grade. A student appears in the lesson saved last.
"""

import random
import shutil
import sys
import textwrap
import time
from collections import defaultdict
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

from .folder import OTHERS, chosen, find, missing
from .read_notebook import OPEN, RIGHT, exercises_by_lesson, read
from .table import counts, section, short, table, tally, width

FORGED = "This is not a grade: it shows saved verdicts, and anyone can forge one."
EVERY = 5  # seconds between two looks
CLEAR = "\x1b[2J\x1b[H"  # clears the window
AT_ONCE = 60  # seconds: the files of one copy of the course have about the same age


def add_options(parser):
    """Add what this command can be given to its parser."""
    parser.add_argument("folder", type=Path, help="the folder with the notebooks of the class")
    parser.add_argument("--hide-names", action="store_true", help="show numbers, for a projector")


def main(options):
    """Show the class until stopped, or once if the output is not a terminal. Return 0."""
    class_ = Class(options.folder, options.hide_names, options.lessons)
    lines = class_.look()
    if sys.stdout.isatty():
        with suppress(KeyboardInterrupt):
            while True:
                lines = _wrapped(lines)
                most = shutil.get_terminal_size().lines - 2
                more = ["... and more lines: enlarge the window, or stop to see them (Ctrl+C)."]
                print(CLEAR + "\n".join(lines[:most] + more * (len(lines) > most)), flush=True)
                time.sleep(EVERY)
                lines = class_.look()
        print(CLEAR, end="")
    print("\n".join(lines))
    return 0


def _wrapped(lines):
    """Return the lines, none wider than the window."""
    columns = shutil.get_terminal_size().columns
    parts = []
    for line in lines:
        most = columns - (width(line) - len(line))
        parts += textwrap.wrap(line, max(most, 10), subsequent_indent="    ") or [""]
    return parts


class Class:
    """The notebooks of a class. All are read at each look: 300 lessons take 0.2 s."""

    def __init__(self, folder, hide_names=False, lessons=None):
        self.folder, self.hide_names = Path(folder), hide_names
        self.exercises = exercises_by_lesson()
        self.lessons = {path.stem: self.exercises[path.stem] for path in chosen(lessons)}
        self.hidden = {}

    def look(self):
        """Return lines to show, with no word of a student's but the name. Never raises an error."""
        notebooks, others, left_out = find(self.folder)
        del left_out[OTHERS]
        self._hide({student for student, _ in notebooks + others})
        now, everything = {}, defaultdict(dict)
        for student, path in notebooks:
            name = self._shown(student)
            notebook = read(path)
            everything[student] |= notebook.answers
            lesson, answers = self._lesson(notebook.answers)
            if lesson:
                seen = notebook.saved // AT_ONCE, lesson, answers, notebook.guesses
                now[name] = max(now.get(name, seen), seen, key=itemgetter(0))
            elif notebook.failed:
                left_out[f"notebooks ({notebook.failed})"] += 1
            else:
                left_out["notebooks without an exercise of these lessons"] += 1
        lines = [FORGED, f"{time.strftime('%H:%M:%S')}  {len(now)} students", ""]
        for lesson, exercises in self.lessons.items():
            answers = {name: now[name][2] for name in sorted(now) if now[name][1] == lesson}
            if answers:
                places = {name: _place(own) for name, own in answers.items()}
                lines += [f"{lesson}   (> is here)", *tally([now[name][3] for name in answers])]
                lines += table(answers, exercises, places)
        forms = {
            short(self._shown(student)): ", ".join(sorted({path.suffix for path in paths}))
            for student, paths in missing(others, everything, self.lessons).items()
        }
        named = [f"{name}: no notebook, but {suffixes}" for name, suffixes in forms.items()]
        return lines + section("Not read", named) + counts("Not shown", left_out)

    def _shown(self, student):
        return self.hidden[student] if self.hide_names else student

    def _lesson(self, answers):
        """Return the lesson of a notebook with these answers, or "", and those of its exercises.
        Lesson 10 also checks an exercise of lesson 9, so most of them decide."""
        own = {
            lesson: {name: answers[name] for name in exercises if name in answers}
            for lesson, exercises in self.exercises.items()
        }
        lesson = max(own, key=lambda name: len(own[name]))
        return (lesson, own[lesson]) if own[lesson] and lesson in self.lessons else ("", {})

    def _hide(self, students):
        """Give each student a number that does not follow the order of the alphabet."""
        new = sorted(students - self.hidden.keys())
        for student in random.sample(new, len(new)):
            self.hidden[student] = f"student {len(self.hidden) + 1:02d}"


def _place(own):
    """Return the exercise that was checked last or, if it is right, the first that is not."""
    left = [name for name, answer in own.items() if answer.state != RIGHT]
    tried = [name for name, answer in own.items() if answer.state != OPEN]
    last = max(tried, key=lambda name: own[name].at, default="")
    return last if last in left else next(iter(left), "")
