"""Draw a query and a key as arrows that are turned by their positions."""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...pictures.given import as_array
from ...pictures.sketch import Sketch
from ...pictures.view import View
from ..compose import below, beside, written

SIDE, GAP = 150, 18  # pixels of a pair's plane, and between two of them
LANE, NAME = 22, 50  # pixels of a lane of positions, and of its name
EDGE = 16  # pixels at both ends of the positions
ROLES = "query", "key"


@dataclass
class Turns(View):
    """Turns(turned, before=vectors, positions=(9, 3), speeds=speeds): two lanes of positions, and
    for each pair of numbers a plane with the query's arrow and the key's, thin before they turn.

    matrix: (2, d), a query and a key after they were turned; d is even. Numbers i and i + d / 2 are
    a pair.  before: (2, d), the same before.  positions: those of query and key, from 0 to
    last.  speeds: (d / 2,), radians by which each pair turns from one position to the next.
    A click on a position sets a control named "query" or "key".
    The other arguments are those of View.  Raises InputError if they do not fit together.
    Attributes: score, the dot product of the turned query and key.
    """

    before: object = None
    positions: tuple = (0, 0)
    speeds: object = None
    last: int = 20
    long, tight = 320, dict(long=222)  # pixels from the first position to the last

    def __post_init__(self):
        turned, before = as_array(self.matrix), as_array(self.before, "before")
        if turned.ndim != 2 or len(turned) != 2 or turned.shape[1] % 2:
            raise InputError(f"turned has the shape {turned.shape}; (2, d), d even, is expected.")
        self.half = turned.shape[1] // 2
        self.speeds = as_array(self.speeds, "speeds")
        shapes = before.shape, self.speeds.shape
        if shapes != (turned.shape, (self.half,)):
            raise InputError(
                f"before and speeds have the shapes {shapes}; {turned.shape} and "
                f"({self.half},) are expected."
            )
        if not all(position in range(self.last + 1) for position in self.positions):
            raise InputError(
                f"positions is {self.positions}; two from 0 to {self.last} are expected."
            )
        self.before, self.score = before, float(turned[0] @ turned[1])
        pairs = zip(ROLES, self.positions, strict=True)
        self.tokens = [f"{role} at {position}" for role, position in pairs]
        self.keys = [f"number {k}" for k in range(2 * self.half)]
        self.axes = "Vector", "Number"
        self.explain = self.explain or self._made
        super().__post_init__()

    def _made(self, i, j):
        """Explain how number j of vector i is computed; "" for numbers of a different function."""
        pair, position = j % self.half, self.positions[i]
        x, y = self.before[i, pair], self.before[i, pair + self.half]
        angle = position * self.speeds[pair]
        right, how = x * np.cos(angle) - y * np.sin(angle), "{0} cos {2} - {1} sin {2}"
        if j >= self.half:
            right, how = x * np.sin(angle) + y * np.cos(angle), "{0} sin {2} + {1} cos {2}"
        if not np.isclose(right, self.matrix[i, j], atol=1e-4):
            return ""
        formula = how.format(*(f"{number:.2f}" for number in (x, y, angle)))
        return f"{formula}, the angle being {position} × {self.speeds[pair]:.2f}"

    def sketch(self):
        """Return the lanes of positions, and a plane for each pair."""
        tens, step = Sketch(self.long + 2 * EDGE, LANE), self.long / self.last
        for position in range(0, self.last + 1, 5 if self.last <= 30 else 10):
            tens.text(EDGE + position * step, LANE / 2, position, "rest")
        lanes = map(self._lane, ROLES, self.positions)
        planes = map(self._plane, range(self.half))
        thin = written("thin arrows: before turning", NAME + tens.size[0], LANE, "rest")
        return [below(*lanes, beside(NAME, tens), thin), *planes]

    def _lane(self, role, at):
        """Return the positions, one of them lit, beside the name of their vector."""
        lane, step = Sketch(self.long + 2 * EDGE, LANE), self.long / self.last
        lane.line([(EDGE, LANE / 2), (EDGE + self.long, LANE / 2)], "rest", 1)
        for k in range(self.last + 1):
            x, more = EDGE + k * step, dict(sets=(role, k, str(k)), label=f"{role} at position {k}")
            lane.box(x - step / 2, 0, step, LANE, role, opacity=0, **more)
            lane.line([(x, LANE / 2)], role if k == at else "rest", 14 if k == at else 3)
        return beside(written(role, NAME, LANE, f"{role} strong", side="right"), lane)

    def _plane(self, pair):
        """Return the arrows of a pair of numbers, above what the pair adds to the score."""
        numbers = [pair, pair + self.half]
        plane, middle = Sketch(SIDE, SIDE), np.array([SIDE / 2, SIDE / 2])
        both = np.concatenate([self.before[:, numbers], self.matrix[:, numbers]])
        unit = (SIDE / 2 - 6) / max(1e-9, np.hypot(*both.T).max())
        plane.line([(0, SIDE / 2), (SIDE, SIDE / 2)], "rest", 1, opacity=0.5)
        plane.line([(SIDE / 2, 0), (SIDE / 2, SIDE)], "rest", 1, opacity=0.5)
        for i, role in enumerate(ROLES):
            for vectors, width, opacity in ((self.before, 1.5, 0.75), (self.matrix, 3.5, 1)):
                tip = middle + unit * vectors[i, numbers] * (1, -1)
                plane.arrow(middle, tip, role, width, opacity=opacity)
        x, y = self.matrix[:, numbers]
        title = written(f"numbers {numbers[0]} and {numbers[1]}", SIDE, LANE, "rest")
        score = written(f"adds {self.number(x @ y)}", SIDE, LANE)
        return beside(below(title, plane, score), GAP)

    def _in_words(self):
        at = " and ".join(self.tokens)
        return f"Arrows turned by their positions: {at}; score {self.number(self.score)}."
