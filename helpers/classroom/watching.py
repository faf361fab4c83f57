"""Show who is at which exercise, and the verdicts of the checks, while the class works.

The notebooks below FOLDER are read as they are saved: no code is run, nothing is written. A saved
verdict can be forged, so this is not a grade. A student appears in the lesson saved last.
"""

import html
import random
import shutil
import sys
import threading
import time
from operator import itemgetter
from pathlib import Path

from IPython.display import display

from .folder import clean, exercises_by_lesson, find
from .read_notebook import CHECK, Answer, read
from .table import section, table

FORGED = "This is not a grade: it shows saved verdicts, and anyone can forge one."
EVERY = 5  # seconds between two looks
AT_ONCE = 60  # seconds: the files of one copy of the course have about the same age


def arguments(parser):
    parser.add_argument("folder", type=Path, help="the folder with the notebooks of the class")
    parser.add_argument("--hide-names", action="store_true", help="show numbers, for a projector")


def main(options):
    """Show the class until stopped, or once if the output is not a terminal. Return 0."""
    class_ = Class(options.folder, options.hide_names)
    while sys.stdout.isatty():
        most = shutil.get_terminal_size().lines - 1
        lines = class_.look()
        if len(lines) > most:
            lines[most - 1 :] = ["... and more lines: enlarge the window to see them."]
        print("\x1b[2J\x1b[H" + "\n".join(lines), flush=True)  # clears the window
        time.sleep(EVERY)
    print("\n".join(class_.look()))
    return 0


_stop = threading.Event()


def watch(folder, hide_names=False):
    """Show the class in a notebook, and update the table every five seconds.

    This ends with the kernel, or when watch() is called again.
    """
    global _stop
    _stop.set()
    _stop = stop = threading.Event()
    class_ = Class(folder, hide_names)
    shown = display(_bundle(class_), raw=True, display_id=True)

    def refresh():
        while not stop.wait(EVERY):
            shown.update(_bundle(class_), raw=True)

    if shown:  # None if nothing can be displayed
        threading.Thread(target=refresh, daemon=True).start()


def _bundle(class_):
    text = "\n".join(class_.look())
    return {"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>"}


class Class:
    """The notebooks of a class. All are read at each look: 300 lessons take 0.2 s."""

    def __init__(self, folder, hide_names=False):
        self.folder, self.hide_names = Path(folder), hide_names
        self.hidden = {}

    def look(self):
        """Return lines to show. Never raises an error: a file that cannot be read is a line."""
        notebooks, left_out, _ = find(self.folder)
        self._hide({student for student, _ in notebooks})
        now, failed = {}, []
        for student, path in notebooks:
            name = self.hidden[student] if self.hide_names else student
            notebook = read(path)
            lesson, answers = _answers(notebook)
            if lesson:
                seen = notebook.saved // AT_ONCE, lesson, answers
                now[name] = max(now.get(name, seen), seen, key=itemgetter(0))
            else:
                file = name if self.hide_names else clean(path.relative_to(self.folder))
                failed.append(f"{file}: {notebook.failed or 'it has no exercise of the course'}")
        lines = [FORGED, f"{time.strftime('%H:%M:%S')}  {len(now)} students", ""]
        for lesson, exercises in exercises_by_lesson().items():
            answers = {name: now[name][2] for name in sorted(now) if now[name][1] == lesson}
            if answers:
                places = {name: _place(own) for name, own in answers.items()}
                lines += [f"{lesson}   (> is here)", *table(answers, exercises, places)]
        if self.hide_names:
            left_out = [f"{len(left_out)} links or folders were not read."] if left_out else []
        return [*lines, *section("Not shown", sorted(failed)), *left_out]

    def _hide(self, students):
        """Give each student a number that does not follow the order of the alphabet."""
        new = sorted(students - self.hidden.keys())
        for student in random.sample(new, len(new)):
            self.hidden[student] = f"student {len(self.hidden) + 1:02d}"


def _answers(notebook):
    """Return the lesson, or "", and exercise -> Answer for the exercises in the notebook."""
    asked = [match[1] for source in notebook.sources for match in CHECK.finditer(source)]
    for lesson, exercises in exercises_by_lesson().items():
        if not {*asked}.isdisjoint(exercises):
            here = [name for name in asked if name in exercises]  # in the notebook's order
            return lesson, {name: notebook.verdicts.get(name, Answer(None)) for name in here}
    return "", {}


def _place(own):
    """Return the exercise that was checked last or, if it is right, the first that is not."""
    left = [name for name, answer in own.items() if not answer.passed]
    tried = [name for name, answer in own.items() if answer.passed is not None]
    last = max(tried, key=lambda name: own[name].at, default="")
    return last if last in left else next(iter(left), "")
