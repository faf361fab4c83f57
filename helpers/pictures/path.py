"""Draw the path of the course, from words to a model that writes, with one part of it lit."""

import numpy as np

from .sketch import INCH, Sketch
from .still import Still

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
    ("causal module", ("that module for batches, with dropout",), 7, 1, 5),
)
LESSONS = {part: lesson for part, _, lesson, *_ in BOXES + SPANS if lesson}
WIDE, HIGH, GAP, TOP, LINE = 96, 42, 14, 26, 17  # pixels
ROW = 6  # boxes in the first row; in one row of all, the letters would be too small to read


def course_path(lit):
    """Return the path of the core as a Still: lit is filled, what comes later is pale.

    lit: the part that a lesson adds, one of LESSONS: "scores", "weights", "contexts", ...
    """
    from matplotlib.figure import Figure

    second = TOP + HIGH + 22 * len(SPANS) + TOP + 22  # the top of the second row
    sketch = Sketch(ROW * (WIDE + GAP) + 4, second + HIGH + 2)
    left = [2 + k * (WIDE + GAP) for k in range(ROW)]
    places = [(x, TOP) for x in left] + [(x, second) for x in left[1:]]
    for (x, y), (part, lines, lesson) in zip(places, BOXES, strict=False):
        role, line, text = _look(part, lesson, lit)
        middle = y + HIGH / 2
        if part == lit:
            sketch.box(x, y, WIDE, HIGH, role, opacity=0.18)
        corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]) * (WIDE, HIGH)
        sketch.line(corners + (x, y), role, line)
        start = middle - LINE * (len(lines) - 1) / 2
        for k, words in enumerate(lines):
            sketch.text(x + WIDE / 2, start + k * LINE, words, text)
        if lesson:
            sketch.text(x + WIDE / 2, y - 13, lesson, text)
        if x > 2:
            sketch.arrow((x - GAP + 1, middle), (x - 2, middle), "rest", 1)
    # from the end of the first row to the start of the second
    right, turn, down = left[-1] + WIDE, second - TOP - 4, left[0] + WIDE / 2
    corners = [(right + 1, TOP + HIGH / 2), (right + 8, TOP + HIGH / 2), (right + 8, turn)]
    corners += [(down, turn), (down, second + HIGH / 2), (left[1] - GAP + 1, second + HIGH / 2)]
    sketch.line(corners, "rest", 1)
    for k, (part, (line_of_text,), lesson, first, last) in enumerate(SPANS):
        words = f"{lesson}: {line_of_text}"
        role, line, text = _look(part, lesson, lit)
        y, ends = TOP + HIGH + 18 + 22 * k, (left[first], left[last] + WIDE)
        room = 4 * len(words) + 6
        for x, end in (ends[0], sum(ends) / 2 - room), (ends[1], sum(ends) / 2 + room):
            sketch.line([(x, y - 6), (x, y), (end, y)], role, line)
        sketch.text(sum(ends) / 2, y, words, text)
    figure = Figure(figsize=[pixels / INCH for pixels in sketch.size])
    sketch.paint(figure.add_axes((0, 0, 1, 1)))
    return Still(figure, _alt(lit))


def _look(part, lesson, lit):
    """Return (the role of the outline, its width, the role of the text)."""
    if part == lit:
        return "query", 3, "query strong"
    return ("ink", 1.5, "ink") if lesson < LESSONS[lit] else ("rest", 0.7, "rest")


def _alt(lit):
    """Describe the path in words, in the order of the lessons."""
    order = sorted(BOXES + SPANS, key=lambda each: each[2])
    texts = [f"{' '.join(lines)} ({lesson})" for _, lines, lesson, *_ in order if lesson]
    k = [part for part, _, lesson, *_ in order if lesson].index(lit)
    built, later = ", ".join(["words", *texts[:k]]), ", ".join(texts[k + 1 :])
    text = f"The path of the course, with the number of each lesson. Built: {built}. "
    text += f"This lesson adds {texts[k]}."
    return text + (f" Still to come: {later}." if later else "")
