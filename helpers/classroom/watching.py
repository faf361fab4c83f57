"""Who is at which exercise, and what the checks said, while the class works.

Read from the notebooks below FOLDER as they are saved: no code is run, nothing is written. A saved
verdict can be forged: this is no grade. A student is shown in the lesson that was saved last.
"""

import html
import random
import re
import shutil
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from IPython.display import display

from ..errors import InputError
from .folder import clean, exercises_by_lesson, find
from .read_notebook import Answer, Unusable, code_cells, given, verdict_in
from .release import CHECK
from .run_notebook import Run
from .table import best, notes, section, table

FORGED = "This is no grade: verdicts are as saved, and anybody can forge one."
AT_ONCE = 60  # seconds: files of one copy of the course are as old as each other
MOST = 5  # mistakes told


def arguments(parser):
    parser.add_argument("folder", type=Path, help="the folder with the notebooks of the class")
    parser.add_argument("--hide-names", action="store_true", help="for the projector")
    parser.add_argument(
        "--every", type=float, default=5, help="seconds until it looks again, default %(default)s"
    )


def main(options):
    """Show the class until it is stopped; once, where the output is no terminal. Returns 0."""
    if not options.every > 0:
        print(f"--every is more than 0, not {options.every:g}.", file=sys.stderr)
        return 2
    sys.stdout.reconfigure(errors="backslashreplace")
    class_ = Class(options.folder, options.hide_names)
    while sys.stdout.isatty():
        width, height = shutil.get_terminal_size()
        lines = class_.look()
        if len(lines) >= height:
            more = f"... {len(lines) - height + 2} more lines: make the window higher."
            lines = [*lines[: height - 2], more]
        # back to the first line, and clear what is left of each and below: nothing flickers
        text = "".join(f"{line[:width]}\x1b[K\n" for line in lines)
        print(f"\x1b[H{text}\x1b[J", end="", flush=True)
        time.sleep(options.every)
    print("\n".join(class_.look()))
    return 0


_stop = threading.Event()


def watch(folder, hide_names=False, every=5):
    """Show the class in a notebook, and look again by itself, every so many seconds.

    It ends with the kernel, or when watch() is called again. Raises InputError.
    """
    global _stop
    if not isinstance(every, int | float) or not every > 0:
        raise InputError(f"every: seconds, more than 0, not {every!r}.")
    _stop.set()
    _stop = stop = threading.Event()
    class_ = Class(folder, hide_names)
    shown = display(_bundle(class_.look()), raw=True, display_id=True)

    def refresh():
        while not stop.wait(every):
            shown.update(_bundle(class_.look()), raw=True)

    if shown:  # None where nothing can be shown
        threading.Thread(target=refresh, daemon=True).start()


def _bundle(lines):
    text = "\n".join(lines)
    return {"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>"}


def most(saved):
    """Return lines: the mistakes that most students have now, each with its exercise."""
    made = Counter(
        (exercise, clean(name))
        for its in saved
        for exercise, answer in its.done.verdicts.items()
        if answer.passed is False
        for name in answer.mistakes or ["without a name"]
    )
    return [
        f"{count} student{'s' * (count > 1)}: {name} ({exercise})"
        for (exercise, name), count in made.most_common(MOST)
    ]


@dataclass
class Saved:
    """A notebook as it was read. lesson: its name, or "".  place: the exercise where the student
    is, or "".  tried: was any answered?  stamp: of the file."""

    done: Run
    lesson: str = ""
    place: str = ""
    tried: bool = False
    stamp: tuple = (0,)


class Class:
    """What is known of the class; files that have not changed are not read again."""

    def __init__(self, folder, hide_names=False):
        self.folder, self.hide_names = Path(folder), hide_names
        self.known, self.hidden = {}, {}

    def look(self):
        """Return lines to show. Raises nothing: what cannot be read is a line."""
        notebooks, left_out, _ = find(self.folder)
        self.known = {path: self._read(path) for _, path in notebooks}
        now, runs = {}, []
        for student, path in notebooks:
            saved, name = self.known[path], self._name(student)
            if saved.lesson:
                now[name] = max(saved, now.get(name, saved), key=_last)
            file = name if self.hide_names else clean(path.relative_to(self.folder))
            runs.append((name, file, saved.done))
        lines = [FORGED, f"{time.strftime('%H:%M:%S')}  {len(now)} students", ""]
        lines += section("Most common mistakes now", most(now.values()) or ["none"])
        for lesson, exercises in exercises_by_lesson().items():
            here = {name: now[name] for name in sorted(now) if now[name].lesson == lesson}
            if here:
                rows = best([(name, "", saved.done) for name, saved in here.items()])
                places = {name: saved.place for name, saved in here.items()}
                lines += [f"{lesson}   (> is here)", *table(rows, exercises, places), ""]
        if self.hide_names:
            left_out = [f"{len(left_out)} links or folders were not read."] if left_out else []
        return [*lines, *notes(runs), *left_out]

    def _name(self, student):
        """As it is shown: hidden, a number that does not tell where it stands in the alphabet."""
        if not self.hide_names:
            return student
        if student not in self.hidden:
            free = {*range(1, len(self.hidden) + 51)} - {*self.hidden.values()}
            self.hidden[student] = random.choice(sorted(free))
        return f"student {self.hidden[student]:02d}"

    def _read(self, path):
        before = self.known.get(path)
        try:
            status = path.stat()
            stamp = status.st_mtime, status.st_size
            if before and before.stamp == stamp:
                return before
            return _saved(code_cells(path), stamp)
        except (OSError, Unusable) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            if not (before and before.lesson):
                return Saved(Run(failed=why))
            # While it is being saved, it is half there.
            done = replace(before.done, failed=f"{why}; shown as it was saved before")
            return replace(before, done=done, stamp=(before.stamp[0],))


def _last(saved):
    """Which of a student's notebooks is worked in? The one saved last, and of copies that were
    made together one in which something was answered, or the first lesson."""
    minute = saved.stamp[0] // AT_ONCE
    return minute, saved.tried, [-ord(letter) for letter in saved.lesson]


def _saved(cells, stamp):
    """What the cells of a notebook tell, as code_cells() gives them."""
    asked = [found[1] for source, *_ in cells if (found := CHECK.search(source))]
    lesson = next((x for x, names in exercises_by_lesson().items() if {*asked} & {*names}), "")
    said, order = dict.fromkeys(asked, Answer(None)), {}
    for number, (_, shown, count) in enumerate(cells):
        for exercise, answer in filter(None, map(verdict_in, shown)):
            if exercise in said and (count, number) >= order.get(exercise, (0, 0)):
                order[exercise] = count, number
                said[exercise] = answer
    for exercise in asked:
        if _untouched(exercise, cells):  # such as code to repair, as the course hands it out
            said[exercise] = Answer(None)
    tried = [name for name in said if said[name].passed is not None]
    last = max(tried, key=order.get, default="")
    left = [name for name in said if not said[name].passed]
    place = last if last in left else next(iter(left), "")
    return Saved(Run(said), lesson, place, bool(tried), stamp)


def _untouched(exercise, cells):
    """Is the cell of its check, and the one that defines what is checked, as it was given?"""
    sources = [source for source, *_ in cells]
    calls = (found for source in sources for found in CHECK.finditer(source))
    names = "|".join({found[2] for found in calls if found[1] == exercise})
    written = re.compile(rf"^(?:def|class) (?:{names})\b|^check\([\"']{exercise}[\"']", re.M)
    return all(source in given() for source in sources if written.search(source))
