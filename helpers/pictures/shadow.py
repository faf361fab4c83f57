"""The shadow of one word on another: a dot product as a length times a length."""

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .given import as_array, bare, names, wide
from .sketch import Sketch
from .view import View

MAX_WORDS = 8  # bars
WIDE, HIGH = 250, 140  # pixels of the plane, at most
EDGE, ROW = 16, 22  # pixels beside the plane; of a line of text
LEFT, RIGHT = 40, 76  # pixels of the bars on both sides of 0


@dataclass
class Shadow(View):
    """Shadow(inputs, tokens, query="journey", key="one"): two words as arrows in the plane that
    they span, and the shadow that the key casts on the query. Beside them a rectangle, shadow
    times length of the query: its area is the score. A bar for the score of each word.

    matrix: the vectors (n, d) of up to 8 words.  tokens: the words.
    query, key: a word or its place, counted from 0; by default the key is the best match.
    scores: (n,) that a function of your own gives; by default the dot products.
    reach: an arrow of this length has room; by default the longest. Give it where arrows grow:
        the scale stays, and a tip is dragged no further.
    drags: the name of a control that holds [[along, away]], the tip of the key: how far along the
        query it lies and how far away from it. Dragging the tip changes it.
    A click on a word sets a control named "key". The numbers are the scores, (1, n), which it
    explains itself, and it has a caption. The other arguments are those of View.
    It then knows best, the place of the best match; and lengths (n,), shadows (n,) on the query,
    and angle, that of the key to the query in degrees.
    Raises InputError where these do not fit together.
    """

    query: object = 0
    key: object = None
    scores: object = None
    reach: float = 0
    drags: str = ""

    def __post_init__(self):
        vectors = as_array(self.matrix, "the vectors")
        n = len(vectors) if vectors.ndim == 2 else 0
        if not vectors.size or not 0 < n <= MAX_WORDS or not np.isfinite(vectors).all():
            raise InputError(
                f"the vectors have the shape {vectors.shape}; (n, d) is expected, one row of "
                f"finite numbers for each of up to {MAX_WORDS} words."
            )
        self.keys = names(self.tokens, n, "tokens")
        self.query, self.lengths = self._place("query"), np.linalg.norm(vectors, axis=1)
        if not self.lengths[self.query]:
            raise InputError(f"{self._asks} has the length 0, on which nothing casts a shadow.")
        direction = vectors[self.query] / self.lengths[self.query]
        self.shadows = vectors @ direction
        given = self.shadows * self.lengths[self.query] if self.scores is None else self.scores
        scores = as_array(given, "scores")
        if scores.shape != (n,):
            raise InputError(f"scores has the shape {scores.shape}; ({n},) is expected.")
        self.best = int(np.where(np.isnan(scores), -np.inf, scores).argmax())
        self.key = self.best if self.key is None else self._place("key")
        self.away = np.linalg.norm(vectors[self.key] - self.shadows[self.key] * direction)
        self.angle = float(np.degrees(np.arctan2(self.away, self.shadows[self.key])))
        self.reach = float(bare(self.reach)) or max(self.lengths)
        self.matrix, self.tokens = scores[None], [self._asks]
        super().__post_init__()
        self.explain = self.explain or (lambda _, j: self._in_full(j))
        self.caption = self.caption or self._told()

    def _place(self, what):
        given = bare(getattr(self, what))
        if given in self.keys:
            return self.keys.index(given)
        if given in range(len(self.keys)):
            return int(given)
        raise InputError(f"{what} is {given!r}; one of {', '.join(self.keys)} is expected.")

    @property
    def _asks(self):
        return self.keys[self.query]

    @property
    def _measured(self):
        """Length of the key, and its angle to the query."""
        return f"length {self.number(self.lengths[self.key])}, {self.angle:.0f}°"

    def _in_full(self, j):
        shadow, length = self.shadows[j], self.lengths[self.query]
        if not np.isclose(shadow * length, self.matrix[0, j], atol=1e-5):
            return ""  # a function of your own has reasons of its own
        factors = f"{self.number(shadow)} × {self.number(length)}"
        return f"{factors}, its shadow on {self._asks} times the length of {self._asks}"

    def _told(self):
        return (
            f"{self.keys[self.key]}: {self._measured} from {self._asks}. "
            f"Its score is {self.number(self.matrix[0, self.key])}. "
            f"The best match for {self._asks} is {self.keys[self.best]}."
        )

    def sketch(self):
        """The plane, the rectangle and the bars."""
        along, reach = self.shadows[self.key], self.reach
        back, high = (0.5 if self.drags else 0.2) * reach, 0.75 * reach
        left, right = max(back, -along), max(reach, along, self.lengths[self.query])
        unit = min(WIDE / (left + right), HIGH / max(high, self.away, self.lengths[self.query]))
        wide, zero, ground = 2 * EDGE + (left + right) * unit, EDGE + left * unit, ROW + HIGH
        plane, rectangle = Sketch(wide, ground + 2 * ROW), Sketch(wide, ground + 2 * ROW)
        self._draw_plane(plane, zero, ground, unit)
        if self.drags:
            tip = zero + along * unit, ground - self.away * unit
            drags = (self.drags, 0, unit, unit, [[-back, reach], [0, high]])
            label = f"tip of {self.keys[self.key]}: {self._measured}"
            plane.line([tip], "key", 13, drags=drags, label=label)
        self._draw_rectangle(rectangle, zero, ground, unit)
        return [plane, rectangle, self._bars()]

    def _draw_plane(self, sketch, zero, ground, unit):
        along, long = self.shadows[self.key] * unit, self.lengths[self.query] * unit
        away = self.away * unit
        start, foot, end = (zero, ground), (zero + along, ground), (zero + long, ground)
        tip = (zero + along, ground - away)
        sketch.line([(EDGE, ground), (sketch.size[0] - EDGE, ground)], "rest", 1)
        sketch.line([start, foot], "key", 9, opacity=0.5)
        sketch.line([tip, foot], "rest", 1.5)
        corner = min(8, away / 2, abs(along) / 2)  # of a right angle
        x, y = foot[0] - np.sign(along) * corner, ground - corner
        sketch.line([(x, ground), (x, y), (foot[0], y)], "rest", 1)
        sketch.arrow(start, end, "query", 3.5)
        sketch.arrow(start, tip, "key")
        _beside(sketch, *tip, -18, f"{self.keys[self.key]}: {self._measured}", "key strong")
        shadow = f"shadow {self.number(self.shadows[self.key])}"
        _beside(sketch, zero + along / 2, ground, 15, shadow, "key")
        length = self.number(self.lengths[self.query])
        _beside(sketch, *end, 34, f"{self._asks}: length {length}", "query strong")

    def _draw_rectangle(self, sketch, zero, ground, unit):
        shadow, length = self.shadows[self.key], self.lengths[self.query]
        along, top = shadow * unit, ground - length * unit
        sketch.box(min(zero, zero + along), top, abs(along), ground - top, "key", opacity=0.25)
        sketch.line([(zero, ground), (zero + along, ground)], "key", 9, opacity=0.5)
        sketch.line([(zero, ground), (zero, top)], "query", 3.5)
        x, side = (zero - 8, "right") if shadow >= 0 else (zero + 8, "left")
        sketch.text(x, (ground + top) / 2, self.number(length), "query", side=side)
        _beside(sketch, zero + along / 2, ground, 15, self.number(shadow), "key")
        area = (
            f"area {self.number(shadow)} × {self.number(length)} = {self.number(shadow * length)}"
        )
        _beside(sketch, zero + along / 2, ground, 34, area, "ink")

    def _bars(self):
        scores, beside = self.matrix[0], 8 * max(map(wide, self.keys)) + 14
        finite = scores[np.isfinite(scores)]
        most, least = (max([0, *signed * finite]) for signed in (1, -1))
        unit = min(RIGHT / max(self.reach * self.lengths[self.query], most), LEFT / (least or 1e-9))
        zero = beside + LEFT
        sketch = Sketch(zero + RIGHT + 44, ROW * (len(scores) + 1))
        sketch.text(zero + (RIGHT - LEFT) / 2, ROW / 2, f"score with {self._asks}", "rest")
        for j, (word, score) in enumerate(zip(self.keys, scores, strict=True)):
            y, number = ROW * (j + 1.5), self.number(score)
            role = "query strong" if j == self.query else "key strong" if j == self.key else "ink"
            sketch.text(beside - 8, y, word, role, side="right", sets=("key", j, word), label=word)
            long = unit * score if np.isfinite(score) else 0
            faint = 1 if j == self.key else 0.45
            sketch.box(min(zero, zero + long), y - 7, max(1, abs(long)), 14, "key", opacity=faint)
            role = "ink strong" if j == self.best else "ink"
            more = dict(side="left", cell=(0, j), label=f"{word}: {number}")
            sketch.text(zero + max(0, long) + 5, y, number, role, **more)
        sketch.line([(zero, ROW + 2), (zero, ROW * (len(scores) + 1) - 2)], "rest", 1)
        return sketch

    def numbers(self):
        """The lines of the numbers as text: the scores, and the two arrows."""
        along, length = self.shadows[self.key], self.lengths[self.query]
        numbers = " × ".join(map(self.number, (along, length)))
        line = (
            f"{self.keys[self.key]} on {self._asks}: shadow {numbers}, the length of {self._asks}"
        )
        return [*super().numbers(), f"{line}, is {self.number(along * length)}"]

    def alt(self):
        """One sentence for those who do not see the picture."""
        shadow = self.number(self.shadows[self.key])
        said = f"Two arrows: the shadow of {self.keys[self.key]} on {self._asks} is {shadow} long."
        return " ".join(f"{said} {self.caption}".split())


def _beside(sketch, x, y, below, text, role):
    """A text so far below a point, moved aside as far as it would leave the drawing."""
    half = 4 * wide(text)
    sketch.text(min(max(x, half), sketch.size[0] - half), y + below, text, role)
