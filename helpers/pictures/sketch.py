"""Build a drawing from marks, for every kind of View except the table.

A mark is a text, a line, a curve or an area, in pixels from the top left; Python decides numbers
and words, so that sketch.js, the still picture and the recording of a page show the same ones.
"""

from math import isfinite

import numpy as np

from ..errors import InputError

# The colour of each role on a light page and on a dark one, at a contrast of 4.5:1 or more.
ROLES = {
    "query": ("#b84300", "#ff9a5a"),
    "key": ("#0b5fae", "#7fbcf2"),
    "value": ("#1a7434", "#6fcf8b"),
    "rest": ("#616161", "#b0b0b0"),
    # to distinguish words, whatever their roles
    "first": ("#7b2d9b", "#d7a0f0"),
    "second": ("#00696f", "#58cfd4"),
    "third": ("#7d5a00", "#e3bd4e"),
}
INK = "#1f1f1f"  # in a still picture; a page uses its own text colour
INCH = 80  # pixels
LETTER, LARGE = 13, 20  # pixels, the size of a text and of a large one
MOST = 2000  # marks in a drawing


class Sketch:
    """Sketch(width, height): an empty drawing of this size, in pixels; x to the right, y down.

    Each method adds a mark; in the next picture of a live view the k-th mark is the same one, which
    keeps the focus, so keep their order.
    role: a name in ROLES or "ink", with " strong" to stand out, " large", " under" (underlined).
    The other arguments, all optional:
        opacity: 0 to 1.
        cell: (row, column) of the matrix: pointing at the mark explains this number.
        sets: (control, k, word): a click chooses this word, the k-th, in a slider or a choice.
        drags: (control, k, right, up, ends): drags the k-th row of a matrix of numbers; right
            and up are the pixels of 1, None if it cannot move that way; ends, if given, are
            the limits of the drawing, [[low, high], [low, high]].
        label: a description for people who cannot see the mark; needed by the three above.
    """

    def __init__(self, width, height):
        self.size = round(width), round(height)
        self.marks = []

    def text(self, x, y, text, role="ink", **more):
        """Add a text with its middle, or the side "left" or "right", at (x, y)."""
        self._add("text", [x, y], role, text=str(text), **more)

    def line(self, points, role="rest", width=2, **more):
        """Add a line through points (n, 2), width pixels wide; one point makes a dot."""
        self._add("line", points, role, width=width, **more)

    def arrow(self, start, tip, role="rest", width=2, **more):
        """Add a line from start to tip with an arrowhead."""
        start, tip = np.array(start, float), np.array(tip, float)
        along = (start - tip) / max(np.linalg.norm(start - tip), 1e-9)
        head = 4 + 2 * width
        left, right = (
            tip + head * (0.87 * along + side * np.array([-along[1], along[0]]))
            for side in (-0.5, 0.5)
        )
        self.line([start, tip, left, tip, right, tip], role, width, **more)

    def curve(self, points, role="rest", width=2, tip=1, **more):
        """Add a cubic Bézier curve, points (4, 2), width pixels wide where it starts and tip times
        as wide where it ends. The mark holds its outline: there and back, points (8, 2)."""
        points = np.array(points, float)
        along = np.diff(points, axis=0)
        along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
        first, middle, last = along[:, ::-1] * [1, -1]
        corners = [(a + b) / (1 + a @ b) for a, b in ((first, middle), (middle, last))]
        shift = np.array([first, *corners, last]) * np.linspace(1, tip, 4)[:, None] * width / 2
        there, back = points + shift, (points - shift)[::-1]
        self._add("curve", np.concatenate([there, back]), role, width=width, **more)

    def area(self, points, role="rest", **more):
        """Add a filled polygon, points (n, 2)."""
        self._add("area", points, role, **more)

    def box(self, x, y, width, height, role="rest", **more):
        """Add a filled rectangle with its top left corner at (x, y)."""
        right, low = x + width, y + height
        self.area([(x, y), (right, y), (right, low), (x, low)], role, **more)

    def frame(self, x, y, width, height, role="rest", thick=2, **more):
        """Add the edge of a rectangle with its top left corner at (x, y)."""
        right, low = x + width, y + height
        self.line([(x, y), (right, y), (right, low), (x, low), (x, y)], role, thick, **more)

    def put(self, part, x=0, y=0):
        """Add the marks of another drawing, its top left corner at (x, y)."""
        for mark in part.marks:
            self._add(points=np.reshape(mark["at"], (-1, 2)) + (x, y), **mark)

    def _add(self, kind, points, role, **more):
        at = np.asarray(points, float).ravel().tolist()
        if not all(map(isfinite, at)):
            raise InputError("a mark is at nan or inf; marks need finite positions.")
        if len(self.marks) == MOST:
            raise InputError(f"the picture has more than {MOST} marks; draw a part of it.")
        more["at"] = [round(z, 1) for z in at]
        self.marks.append({"kind": kind, "role": role, **more})

    def paint(self, axes):
        """Draw the sketch with matplotlib, on axes of its own size."""
        axes.set(xlim=(0, self.size[0]), ylim=(self.size[1], 0))
        axes.axis("off")
        for mark in self.marks:
            _paint(axes, **mark)


def _paint(axes, kind, role, at, opacity=1, width=0, text="", side="middle", **_):
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    name, *how = role.split()
    colour, points, thick = ROLES.get(name, [INK])[0], np.reshape(at, (-1, 2)), width * 72 / INCH
    if kind == "text":
        shown = axes.text(
            *at, text, ha={"middle": "center"}.get(side, side), va="center", alpha=opacity,
            color=colour, fontsize=(LARGE if "large" in how else LETTER) * 72 / INCH,
            fontweight="bold" if "strong" in how else "normal",
            parse_math=False, clip_on=False,
        )  # fmt: skip
        if "under" in how:
            (left, _), (right, _) = axes.transData.inverted().transform(shown.get_window_extent())
            axes.plot([left, right], [at[1] + 9] * 2, color=colour, linewidth=2.5 * 72 / INCH)
    elif kind == "area":
        axes.add_patch(Polygon(points, color=colour, alpha=opacity, linewidth=0))
    elif len(points) == 1:
        axes.plot(*points[0], "o", color=colour, markersize=thick, alpha=opacity, mew=0)
    elif kind == "curve":
        codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
        axes.add_patch(PathPatch(Path(points, codes), color=colour, alpha=opacity, linewidth=0))
    elif width:
        codes = [Path.MOVETO] + [Path.LINETO] * (len(points) - 1)
        axes.add_patch(
            PathPatch(
                Path(points, codes), fill=False, edgecolor=colour, linewidth=thick, alpha=opacity,
                capstyle="round", joinstyle="round",
            )
        )  # fmt: skip


def roles_css(place):
    """Return the colours as CSS variables, --query and so on, for light and dark themes."""
    themes = {place: "light-dark({}, {})"}
    themes[f'body[data-jp-theme-light="true"] {place}'] = "{0}"
    themes[f'body[data-jp-theme-light="false"] {place}'] = "{1}"
    return "".join(
        place + " {" + "".join(f"--{name}: {how.format(*ROLES[name])}; " for name in ROLES) + "}\n"
        for place, how in themes.items()
    )
