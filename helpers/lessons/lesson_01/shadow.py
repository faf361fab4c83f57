"""Draw the shadow of one word on another: a dot product as a length times a length."""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...pictures.given import as_array, bare, shaped, wide, words
from ...pictures.sketch import Sketch
from ...pictures.view import View
from ..compose import bar, below, beside, written

MAX_WORDS = 8  # bars
WIDE, HIGH = 240, 112  # pixels of the plane, at most
EDGE, ROW, NUMBER = 16, 22, 56  # pixels next to the plane; of a line of text; of a number
GROUND, BELOW = ROW + HIGH, 41  # pixels down to the query's line; and below it
MOST = 12  # letters of a word in the drawing
LEFT, RIGHT = 30, 64  # pixels of the bars on either side of 0
RING = 7  # more pixels between a tip that can be dragged, with a ring, and the words around it
APART = 8  # pixels between a word and its bar


@dataclass
class Shadow(View):
    """Shadow(inputs, tokens, query="journey", key="one"): two words as arrows in the plane that
    they span, and the shadow that the key casts on the query. Next to them is a rectangle, shadow
    times length of the query, whose area is the score. Each word has a bar for its score.

    matrix: the vectors (n, d) of up to 8 words.  tokens: the words.
    query, key: a word or its index, counted from 0; by default the key is the best match.
    scores: (n,), what a function of your own returns; by default the dot products.
    reach: the longest arrow that has room; by default the longest given. Set it if arrows grow:
        the scale stays the same, and a tip cannot be dragged further.
    drags: the name of a control that holds [[along, away]], the tip of the key: its distance along
        the query and its distance from the query. Dragging the tip changes it.
    A click on a word sets a control named "key". The numbers are the scores, (1, n); they have
    explanations and a caption. The other arguments are those of View.
    Attributes: best, the index of the best match; lengths (n,); shadows (n,) on the query; and
    angle, between the key and the query, in degrees.
    Raises InputError if the arguments do not fit together.
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
        self.keys = words(self.tokens, n)
        self.query, self.lengths = self._place("query"), np.linalg.norm(vectors, axis=1)
        if not self.lengths[self.query]:
            raise InputError(f"{self._asks} has the length 0, so no word casts a shadow on it.")
        direction = vectors[self.query] / self.lengths[self.query]
        self.shadows = vectors @ direction
        given = self.shadows * self.lengths[self.query] if self.scores is None else self.scores
        scores = shaped(given, "scores", n)
        self.best = int(np.where(np.isnan(scores), -np.inf, scores).argmax())
        self.key = self.best if self.key is None else self._place("key")
        self.away = np.linalg.norm(vectors[self.key] - self.shadows[self.key] * direction)
        self.angle = float(np.degrees(np.arctan2(self.away, self.shadows[self.key])))
        self.reach = float(bare(self.reach)) or max(self.lengths)
        self.matrix, self.tokens = scores[None], [self.keys[self.query]]
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
        return _short(self.keys[self.query])

    @property
    def _key(self):
        return _short(self.keys[self.key])

    @property
    def _measured(self):
        """Return the length of the key and its angle to the query, as text."""
        return f"length {self.number(self.lengths[self.key])}, {self.angle:.0f}°"

    def _in_full(self, j):
        shadow, length = self.shadows[j], self.lengths[self.query]
        if not np.isclose(shadow * length, self.matrix[0, j], atol=1e-5):
            return ""  # the score of a different function cannot be explained
        factors = f"{self.number(shadow)} × {self.number(length)}"
        asks = f'"{self._asks}"'
        return f"{factors}, its shadow on {asks} times the length of {asks}"

    def _told(self):
        itself = " itself" if self.best == self.query else ""
        return (
            f'"{self._key}": {self._measured} from "{self._asks}". '
            f"Its score is {self.number(self.matrix[0, self.key])}. "
            f'The best match for "{self._asks}" is "{self.keys[self.best]}"{itself}.'
        )

    def sketch(self):
        """Return the plane, the rectangle and the bars."""
        along, long, reach = self.shadows[self.key], self.lengths[self.query], self.reach
        back, high = reach / 2, 0.75 * reach
        # the drawings keep their size, whatever the reader chooses or drags
        tall = max(high, long if self.drags else max(self.lengths))
        unit = min(WIDE / (back + reach), HIGH / tall)
        plane = Sketch(2 * EDGE + (back + reach) * unit, GROUND + BELOW)
        rectangle = Sketch(EDGE + NUMBER + reach * unit, GROUND + BELOW)
        zero = EDGE + back * unit
        # an arrow longer than that shrinks all arrows
        unit /= max(1, along / reach, long / reach, -along / back, self.away / tall)
        ring = RING if self.drags else 0
        self._draw_plane(plane, zero, unit, ring)
        if self.drags:
            tip = zero + along * unit, GROUND - self.away * unit
            unit = round(unit, 3)
            drags = (self.drags, 0, unit, unit, [[-back, reach], [0, high]])
            label = f"tip of {self._key}: {self._measured}"
            plane.line([tip], "key", 13, drags=drags, label=label)
        self._draw_rectangle(rectangle, unit)
        drawn = (below(ring, part, ring) for part in (plane, rectangle))
        return [*drawn, self._bars()]

    def _draw_plane(self, sketch, zero, unit, ring):
        along, long = self.shadows[self.key] * unit, self.lengths[self.query] * unit
        away = self.away * unit
        start, foot, end = (zero, GROUND), (zero + along, GROUND), (zero + long, GROUND)
        tip = (zero + along, GROUND - away)
        sketch.line([(EDGE, GROUND), (sketch.size[0] - EDGE, GROUND)], "rest", 1)
        sketch.line([start, foot], "key", 9, opacity=0.5)
        sketch.line([tip, foot], "rest", 1.5)
        corner = min(8, away / 2, abs(along) / 2)  # of a right angle
        x, y = foot[0] - np.sign(along) * corner, GROUND - corner
        sketch.line([(x, GROUND), (x, y), (foot[0], y)], "rest", 1)
        sketch.arrow(start, end, "query", 3.5)
        sketch.arrow(start, tip, "key")
        _near(sketch, *tip, -15 - ring, f"{self._key}: {self._measured}", "key strong")
        shadow = f"shadow {self.number(self.shadows[self.key])}"
        _near(sketch, zero + along / 2, GROUND, 15 + ring, shadow, "key")
        length = self.number(self.lengths[self.query])
        _near(sketch, *end, 33 + ring, f"{self._asks}: length {length}", "query strong")

    def _draw_rectangle(self, sketch, unit):
        shadow, length = self.shadows[self.key], self.lengths[self.query]
        top, across = GROUND - length * unit, shadow * unit
        # a negative shadow goes to the left of 0
        zero = NUMBER - min(0, across)
        left, role = min(zero, zero + across), "key" if shadow >= 0 else "rest"
        sketch.box(left, top, abs(across), GROUND - top, role, opacity=0.25)
        sketch.line([(zero, GROUND), (zero + across, GROUND)], "key", 9, opacity=0.5)
        sketch.line([(zero, GROUND), (zero, top)], "query", 3.5)
        x, side = (zero - 8, "right") if shadow >= 0 else (zero + 8, "left")
        sketch.text(x, (GROUND + top) / 2, self.number(length), "query", side=side)
        _near(sketch, zero + across / 2, GROUND, 15, self.number(shadow), "key")
        area = f"area = {self.number(shadow * length)}"
        _near(sketch, zero + across / 2, GROUND, 33, area, "ink")

    def _bars(self):
        scores, room = self.matrix[0], 7.5 * max(wide(_short(name)) for name in self.keys) + 4
        finite = scores[np.isfinite(scores)]
        most, least = (max([0, *signed * finite]) for signed in (1, -1))
        unit = min(RIGHT / max(self.reach * self.lengths[self.query], most), LEFT / (least or 1e-9))
        title = written(f'score with "{self._asks}"', LEFT + RIGHT, ROW, "rest")
        rows = (self._bar(j, score, unit, room) for j, score in enumerate(scores))
        drawing = below(beside(room + APART, title), *rows)
        zero = room + APART + LEFT
        drawing.line([(zero, ROW + 2), (zero, ROW * (len(scores) + 1) - 2)], "rest", 1)
        return drawing

    def _bar(self, j, score, unit, room):
        """Return a word's name and the bar of its score.  unit: pixels of a score of 1.  room:
        pixels of a name."""
        name, number = self.keys[j], self.number(score)
        role = "key strong" if j == self.key else "ink"
        if j == self.query:
            role = "query strong"
        sets = dict(sets=("key", j, name), label=name)
        long = unit * score if np.isfinite(score) else 0
        look = dict(opacity=1 if j == self.key else 0.45)
        look["look"] = "ink strong" if j == self.best else "ink"
        cell = dict(cell=(0, j), label=f"{name}: {number}")
        return beside(
            written(_short(name), room, ROW, role, side="right", **sets),
            APART,
            bar(long, LEFT + RIGHT + NUMBER, ROW, number, "key", zero=LEFT, **look, **cell),
        )

    def numbers(self):
        """Return the lines of numbers as text: the scores, and the two arrows."""
        along, length = self.shadows[self.key], self.lengths[self.query]
        shadow, long, score = map(self.number, (along, length, along * length))
        line = f"shadow {shadow} × length of {self._asks} {long} = {score}"
        return [*super().numbers(), f"{self._key} on {self._asks}: {line}"]

    def _in_words(self):
        shadow = self.number(self.shadows[self.key])
        return f'Two arrows: the shadow of "{self._key}" on "{self._asks}" is {shadow} long.'


def _short(word):
    return word if wide(word) <= MOST else word[: MOST - 1] + "…"


def _near(sketch, x, y, below, text, role):
    """Add a text below a point, moved sideways if it would leave the drawing."""
    half = 4 * wide(text)
    sketch.text(min(max(x, half), sketch.size[0] - half), y + below, text, role)
