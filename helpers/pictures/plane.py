"""A plane in a drawing: a square with ticks, points that stand in it, and names that are read."""

import math
from functools import cache

import numpy as np

from .given import wide
from .sketch import Sketch

SIDE = 180  # pixels of the square
LEFT, TOP, FOOT = 30, 20, 20  # pixels beside it, for the ticks and what the plane shows
LETTER, HIGH = 7.2, 16  # pixels of a letter of a name, and of its line
FAR = 26  # pixels; a name that stands farther from its point is tied to it


class Plane:
    """Plane(points, window, title): shows all points (n, 2), or what a window says.

    window: the numbers that both axes show, (low, high), or r for (-r, r).
    even: whether both axes have one scale, without a window too, and zero is shown.
    axes: their names, across and up.  sketch: the drawing, to which marks can be added.
    """

    def __init__(self, points, window=None, even=False, title="", axes=("", "")):
        points = np.reshape(points, (-1, 2))
        low, high = points.min(0), points.max(0)
        if even:
            low, high = min(0, low.min()), max(0, high.max())
        room = 0.14 * np.maximum(high - low, 1e-3)
        if window is None:
            low, high = low - room, high + room
        else:
            low, high = window if np.iterable(window) else (-window, window)
        self.low, self.high = (np.broadcast_to(np.array(end, float), 2) for end in (low, high))
        self.unit = SIDE / (self.high - self.low)  # pixels of 1
        self.names, self.spots = [], []
        self.sketch = Sketch(LEFT + SIDE + 8, TOP + SIDE + FOOT)
        self._frame(title, *axes)

    def at(self, points):
        """Where points (n, 2) stand, in pixels."""
        part = (np.reshape(points, (-1, 2)) - self.low) * self.unit
        return (LEFT, TOP + SIDE) + part * (1, -1)

    def drag(self, control, row):
        """For a mark: drags this row of a control, no farther than the plane shows."""
        ends = np.column_stack([self.low, self.high]).round(2).tolist()
        return (control, row, *self.unit.round(3).tolist(), ends)

    def dot(self, point, role, size, **more):
        """A point that no name should cover."""
        (spot,) = self.at(point)
        self.spots.append(spot)
        self.sketch.line([spot], role, size, **more)

    def name(self, point, text, role, **more):
        """A point's name, which is placed with all others."""
        self.names.append((self.at(point)[0], text, role, more))

    def place_names(self):
        """Each name to where it covers the fewest names and points; the first ones choose first."""
        # what should not be covered: corners, sizes, and how much it costs; first the points
        taken = [[*(spot - 6), 12, 12, 2] for spot in self.spots]
        low, high = np.array([LEFT, TOP]), np.array([LEFT + SIDE + 8, TOP + SIDE])
        for spot, text, role, more in self.names:
            own = np.array([(LETTER + ("strong" in role)) * wide(text), HIGH])
            corners = spot + _beside(*own)
            outside = ((corners < low) | (corners + own > high)).any(1)
            far = np.hypot(*(corners + own / 2 - spot).T)
            cost = 1e5 * outside + 0.02 * far + _covered(corners, own, taken)
            corner = corners[cost.argmin()]
            taken.append([*corner, *own, 3])
            near = np.clip(spot, corner, corner + own)
            # always, so that each mark keeps its place in the order
            tied = float(np.linalg.norm(near - spot) > FAR)
            self.sketch.line([spot, near], "rest", tied, opacity=0.7)
            self.sketch.text(*(corner + own / 2), text, role, **more)

    def _frame(self, title, across, up):
        right, low = LEFT + SIDE, TOP + SIDE
        box = [(LEFT, TOP), (LEFT, low), (right, low), (right, TOP), (LEFT, TOP)]
        self.sketch.line(box, "rest", 1, opacity=0.6)
        self.sketch.text(LEFT, TOP / 2, title or f"{up} ↑", "rest", side="left")
        if across:
            self.sketch.text(right, low + FOOT / 2, f"{across} →", "rest", side="right")
        for k in (0, 1):
            for tick in _ticks(self.low[k], self.high[k]):
                there = SIDE * (tick - self.low[k]) / (self.high[k] - self.low[k])
                if k:
                    self.sketch.text(LEFT - 4, low - there, f"{tick:g}", "rest", side="right")
                elif there < SIDE - 50 or not across:
                    self.sketch.text(LEFT + there, low + FOOT / 2, f"{tick:g}", "rest")
        if (self.low < 0).all() and (self.high > 0).all():
            ((x, y),) = self.at((0, 0))
            self.sketch.line([(LEFT, y), (right, y)], "rest", 1, opacity=0.5)
            self.sketch.line([(x, TOP), (x, low)], "rest", 1, opacity=0.5)


@cache
def _beside(width, height):
    """Where a name may stand beside its point, the best places first: its corners, from there."""
    places = []
    for far in (9, 13, 30, 46):
        for up in (-8, -16, 0, -22, 6) if far < 20 else (-8, -24, 8, -40, 24):
            places += [(far, up), (-far - width, up)]
        for part in (0.5, 0.25, 0.75):
            places += [(-width * part, -height - far), (-width * part, far)]
    return np.array(places)


def _covered(corners, size, taken):
    """What boxes of a size at these corners (n, 2) cover, as it costs: (n,)."""
    x, y, width, height, cost = np.reshape(taken, (-1, 5)).T
    across = np.minimum(corners[:, :1] + size[0], x + width) - np.maximum(corners[:, :1], x)
    down = np.minimum(corners[:, 1:] + size[1], y + height) - np.maximum(corners[:, 1:], y)
    return np.maximum(0, across) * np.maximum(0, down) @ cost


def _ticks(low, high):
    """Two to four round numbers from low to high."""
    step = 10 ** np.floor(np.log10((high - low) / 2))
    step *= next(k for k in (5, 2, 1) if (high - low) / (step * k) >= 2)
    first = int(np.ceil(low / step - 1e-9))
    return [round(k * step, 12) for k in range(first, int(np.floor(high / step + 1e-9)) + 1)]


def hull(points):
    """The corners of the convex hull of points (n, 2), in order; of points on one line its ends."""
    points = sorted(set(map(tuple, np.reshape(points, (-1, 2)).tolist())))
    halves = []
    for way in (points, points[::-1]):
        half = []
        for point in way:
            while len(half) > 1 and _turn(half[-2], half[-1], point) <= 1e-12:
                half.pop()
            half.append(point)
        halves += half[:-1]
    return np.array(halves or [points[0]])


def is_inside(point, corners):
    """Whether a point lies in a convex hull, or on its edge."""
    if len(corners) == 1:
        return bool(np.allclose(point, corners[0]))
    corners, point = np.reshape(corners, (-1, 2)).tolist(), np.reshape(point, 2).tolist()
    pairs = zip(corners, corners[1:] + corners[:1], strict=True)
    return all(_turn(a, b, point) >= -1e-6 * (1 + math.dist(a, b)) for a, b in pairs)


def _turn(a, b, c):
    """More than 0 if c lies to the left of the way from a to b."""
    (ax, ay), (bx, by), (cx, cy) = a, b, c
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
