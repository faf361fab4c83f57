"""Draw a plane: a square with ticks, points in it, and names that stay readable."""

import math
from functools import cache

import numpy as np

from ...pictures.given import wide
from ...pictures.sketch import Sketch

SIDE = 180  # pixels of the square
LEFT, TOP, FOOT = 30, 20, 20  # pixels around the square, for ticks and the title
LETTER, HIGH = 7.2, 16  # width of a letter of a name, height of its line, in pixels
FAR = 26  # pixels; a name farther from its point gets a line to it
CLEAR = 1.2  # so does a name that is not so many times nearer to its point than to another
SAME = 8  # pixels; points as close as this cannot be told apart, so either may be the nearer one
POINT, RING = 12, 12  # pixels that no name covers: of a point, and around one that is dragged
MARGIN = 16  # pixels to the right of the square, for half of a ring


class Plane:
    """Plane(points, window, title): shows all points (n, 2), or a given window.

    window: the range that both axes show, (low, high), or r for (-r, r).
    even: whether both axes share one scale even without a window, and include zero.
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
        self.unit = SIDE / (self.high - self.low)  # pixels for a distance of 1
        self.names, self.spots, self.lines = [], [], []
        self.sketch = Sketch(LEFT + SIDE + MARGIN, TOP + SIDE + FOOT)
        self._frame(title, *axes)

    def at(self, points):
        """Return the positions of points (n, 2) in pixels."""
        part = (np.reshape(points, (-1, 2)) - self.low) * self.unit
        return (LEFT, TOP + SIDE) + part * (1, -1)

    def drag(self, control, row):
        """Return a mark's `drags` for this row of a control, limited to what the plane shows."""
        ends = np.column_stack([self.low, self.high]).round(2).tolist()
        return (control, row, *self.unit.round(3).tolist(), ends)

    def dot(self, point, role, size, **more):
        """Add a point that no name should cover."""
        (spot,) = self.at(point)
        self.spots.append((spot, size + RING if "drags" in more else POINT))
        self.sketch.line([spot], role, size, **more)

    def keep_free(self, start, end):
        """Add a line that no name should cross, if there is room elsewhere."""
        start, end = self.at([start, end])
        steps = max(2, int(np.linalg.norm(end - start) / 6))
        self.lines += [*np.linspace(start, end, steps)]

    def name(self, point, text, role, **more):
        """Add a point's name, which place_names() will place."""
        self.names.append((self.at(point)[0], text, role, more))

    def place_names(self):
        """Put each name, in order, where it and its line cover the fewest names and points."""
        # boxes that should not be covered: corner, size and cost; the points come first
        taken = [[*(spot - size / 2), size, size, 2] for spot, size in self.spots]
        taken += [[*(spot - 3), 6, 6, 0.5] for spot in self.lines]
        spots = np.array([spot for spot, *_ in self.names])[:, None]
        for k, (spot, text, role, more) in enumerate(self.names):
            own = np.array([(LETTER + ("strong" in role)) * wide(text), HIGH])
            corners = spot + _beside(*own)
            outside = (corners < (LEFT, TOP)) | (corners + own > (LEFT + SIDE, TOP + SIDE))
            far = np.hypot(*(corners + own / 2 - spot).T)
            # where a line from each point to each place would end; the places that need one
            ends = np.clip(spots, corners + (0, 4), corners + own - (0, 4))
            gaps = np.linalg.norm(ends - spots, axis=2)
            nearer = (gaps < CLEAR * gaps[k]) & (np.linalg.norm(spots - spot, axis=2) > SAME)
            tied = (gaps[k] > FAR) | nearer.any(0)
            cost = np.where(tied, 0.2, 0.02) * far + 1e5 * outside.any(1)
            cost += _covered(corners, own, taken)
            best = cost.argsort()[:9]  # more lines would take too long
            lines = np.linspace(spot, ends[k, best], 9)[1:]
            crossed = _covered(lines.reshape(-1, 2) - 1, (2, 2), taken).reshape(8, -1).sum(0)
            one = (cost[best] + tied[best] * crossed).argmin()
            corner, line, tied = corners[best[one]], lines[:, one], float(tied[best[one]])
            taken += [[*corner, *own, 3], *([*(at - 2), 4, 4, 3] for at in line if tied)]
            # add the line in any case, so that each mark keeps its place in the order
            self.sketch.line([spot, line[-1]], "rest", tied, opacity=0.7)
            self.sketch.text(*(corner + own / 2), text, role, **more)

    def _frame(self, title, across, up):
        right, low = LEFT + SIDE, TOP + SIDE
        self.sketch.frame(LEFT, TOP, SIDE, SIDE, "rest", 1, opacity=0.6)
        self.sketch.text(LEFT, TOP / 2, title or f"{up} ↑", "rest", side="left")
        if across:
            self.sketch.text(right, low + FOOT - 8, f"{across} →", "rest", side="right")
        for k in (0, 1):
            for tick in _ticks(self.low[k], self.high[k]):
                there = SIDE * (tick - self.low[k]) / (self.high[k] - self.low[k])
                if k:
                    self.sketch.text(LEFT - 4, low - there, f"{tick:g}", "rest", side="right")
                elif there < SIDE - 50 or not across:
                    self.sketch.text(LEFT + there, low + FOOT - 8, f"{tick:g}", "rest")
        if (self.low < 0).all() and (self.high > 0).all():
            (left, foot), (right, top) = self.low, self.high
            for ends in [(left, 0), (right, 0)], [(0, foot), (0, top)]:
                self.sketch.line(self.at(ends), "rest", 1, opacity=0.5)
                self.keep_free(*ends)


@cache
def _beside(width, height):
    """Return the possible corners of a name, relative to its point, the best places first."""
    places = []
    for far in (9, 13, 18, 30, 46):
        for up in (-8, -16, 0, -22, 6) if far < 20 else (-8, -24, 8, -40, 24):
            places += [(far, up), (-far - width, up)]
        for part in (0.5, 0.25, 0.75):
            places += [(-width * part, -height - far), (-width * part, far)]
    return np.array(places)


def _covered(corners, size, taken):
    """Return the cost (n,) of what boxes of a size at these corners (n, 2) cover."""
    x, y, width, height, cost = np.reshape(taken, (-1, 5)).T
    across = np.minimum(corners[:, :1] + size[0], x + width) - np.maximum(corners[:, :1], x)
    down = np.minimum(corners[:, 1:] + size[1], y + height) - np.maximum(corners[:, 1:], y)
    return np.maximum(0, across) * np.maximum(0, down) @ cost


def _ticks(low, high):
    """Return two to four round numbers from low to high."""
    step = 10 ** np.floor(np.log10((high - low) / 2))
    step *= next(k for k in (5, 2, 1) if (high - low) / (step * k) >= 2)
    first = int(np.ceil(low / step - 1e-9))
    return [round(k * step, 12) for k in range(first, int(np.floor(high / step + 1e-9)) + 1)]


def hull(points):
    """Return the corners of the convex hull of points (n, 2), in order; the ends of a line."""
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
    """Return whether a point is inside a convex hull or on its edge."""
    if len(corners) == 1:
        return bool(np.allclose(point, corners[0]))
    corners, point = np.reshape(corners, (-1, 2)).tolist(), np.reshape(point, 2).tolist()
    pairs = zip(corners, corners[1:] + corners[:1], strict=True)
    return all(_turn(a, b, point) >= -1e-6 * (1 + math.dist(a, b)) for a, b in pairs)


def _turn(a, b, c):
    """Return a number above 0 if c is to the left of the line from a to b."""
    (ax, ay), (bx, by), (cx, cy) = a, b, c
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
