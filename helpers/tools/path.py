"""Draw the path of the course, from words to a model that writes, with one part of it lit. The
lessons show the files that `python -m helpers.tools.path` writes, see lessons/path.py."""

import csv

import numpy as np

from ..lessons.path import FOLDER, TEXTS
from ..pictures.sketch import Sketch
from ..pictures.still import own_settings, pictured

# The boxes from left to right: the part, its lines of text, the lesson that adds it (0: given).
BOXES = (
    ("words", ("words",), 0),
    ("queries", ("queries,", "keys, values"), 4),
    ("scores", ("scores",), 1),
    ("mask", ("no later", "words"), 6),
    ("weights", ("weights",), 2),
    ("contexts", ("contexts",), 3),
    ("heads", ("several", "heads"), 8),
    ("heads module", ("a module", "of heads"), 9),
    ("block", ("a model", "that writes"), 10),
)
# The same for what spans several boxes, with the first of them and the last.
SPANS = (
    ("module", ("a module that learns",), 5, 1, 5),
    ("causal module", ("the same for batches, with dropout",), 7, 1, 5),
)
LESSONS = {part: lesson for part, _, lesson, *_ in BOXES + SPANS if lesson}
WIDE, HIGH, GAP, TOP, LINE = 96, 42, 14, 26, 17  # pixels
ROW = 3  # boxes in a row, so that a phone has room for them


@own_settings()
def drawn(lit):
    """Return the path of the core as a Still: lit is filled, what comes later is pale.

    lit: the part that a lesson adds, one of LESSONS: "scores", "weights", "contexts", ...
    """
    apart = HIGH + 22 * len(SPANS) + TOP + 14  # from the top of a row to the top of the next
    sketch = Sketch(ROW * (WIDE + GAP), TOP + 2 * apart + HIGH + 2)
    left, right = [2 + k * (WIDE + GAP) for k in range(ROW)], ROW * (WIDE + GAP) - GAP + 2
    places = [(left[k % ROW], TOP + k // ROW * apart) for k in range(len(BOXES))]
    for (x, y), (part, lines, lesson) in zip(places, BOXES, strict=True):
        role, line, text = _look(part, lesson, lit)
        middle = y + HIGH / 2
        if part == lit:
            sketch.box(x, y, WIDE, HIGH, role, opacity=0.18)
        sketch.frame(x, y, WIDE, HIGH, role, line)
        start = middle - LINE * (len(lines) - 1) / 2
        for k, words in enumerate(lines):
            sketch.text(x + WIDE / 2, start + k * LINE, words, text)
        if lesson:
            sketch.text(x + WIDE / 2, y - 13, lesson, text)
        if x > 2:
            sketch.arrow((x - GAP + 1, middle), (x - 2, middle), "rest", 1)
        elif y > TOP:  # from the end of the row above
            turn, up = y - TOP + 4, middle - apart
            corners = [(right + 1, up), (right + 8, up), (right + 8, turn), (x + 14, turn)]
            sketch.line(corners, "rest", 1)
            sketch.arrow(corners[-1], (x + 14, y - 2), "rest", 1)
    # what spans several boxes goes on in the next row
    for k, (part, (line_of_text,), lesson, first, last) in enumerate(SPANS):
        words = f"{lesson}: {line_of_text}"
        role, line, text = _look(part, lesson, lit)
        (start, y), (_, low) = (np.add(places[j], (0, HIGH + 14 + 22 * k)) for j in (first, last))
        sketch.line([(start, y - 6), (start, y), (right, y)], role, line)
        room, middle = 4 * len(words) + 6, (left[0] + right) / 2
        sketch.line([(left[0], low), (middle - room, low)], role, line)
        sketch.line([(middle + room, low), (right, low), (right, low - 6)], role, line)
        sketch.text(middle, low, words, text)
    return pictured(sketch, _alt(lit))


def _look(part, lesson, lit):
    """Return (the role of the outline, its width, the role of the text)."""
    if part == lit:
        return "query", 3, "query strong"
    return ("ink", 1.5, "ink") if lesson < LESSONS[lit] else ("rest", 0.7, "rest")


def steps():
    """Return [(lesson, what it adds)], in the order of the lessons."""
    order = sorted(BOXES + SPANS, key=lambda each: each[2])
    return [(lesson, " ".join(lines)) for _, lines, lesson, *_ in order if lesson]


def _alt(lit):
    """Describe the path in words, in the order of the lessons."""
    texts = [f"{added} ({lesson})" for lesson, added in steps()]
    k = LESSONS[lit] - 1
    built, later = ", ".join(["words", *texts[:k]]), ", ".join(texts[k + 1 :])
    text = f"The path of the course, with the number of each lesson. Built: {built}. "
    text += f"This lesson adds {texts[k]}."
    return text + (f" Still to come: {later}." if later else "")


def write():
    """Write the picture of each part, and the texts that describe them."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / TEXTS).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["part", "text"])
        for part in LESSONS:
            still = drawn(part)
            (FOLDER / f"{part}.png").write_bytes(still.png())
            table.writerow([part, still.alt])


if __name__ == "__main__":
    write()
