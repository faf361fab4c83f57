"""Compose a drawing of rows and columns: written(), tile() and bar() are small drawings, which
beside() and below() put together. What has a place of its own, as a point in a plane, is a mark of
a Sketch.
"""

from ..pictures.sketch import Sketch

LINE = 16  # pixels from a line of text to the next, in a tile
THICK, NEAR = 14, 5  # pixels: a bar's thickness, and from its end to its text


def beside(*parts):
    """Return one drawing of these drawings from left to right, their tops on one line.

    A number among them is so many pixels of room.
    """
    high = max(part.size[1] for part in parts if isinstance(part, Sketch))
    parts = [part if isinstance(part, Sketch) else Sketch(part, high) for part in parts]
    joined, x = Sketch(sum(part.size[0] for part in parts), high), 0
    for part in parts:
        joined.put(part, x, 0)
        x += part.size[0]
    return joined


def below(*parts):
    """Return one drawing of these drawings from top to bottom, their left sides on one line.

    A number among them is so many pixels of room.
    """
    wide = max(part.size[0] for part in parts if isinstance(part, Sketch))
    parts = [part if isinstance(part, Sketch) else Sketch(wide, part) for part in parts]
    joined, y = Sketch(wide, sum(part.size[1] for part in parts)), 0
    for part in parts:
        joined.put(part, 0, y)
        y += part.size[1]
    return joined


def written(text, width, height, role="ink", side="middle", **more):
    """Return a drawing of this size: a text in its middle, or at its side "left" or "right".

    more: what a mark may have, see Sketch.
    """
    drawn = Sketch(width, height)
    x = {"left": 0, "middle": width / 2, "right": width}[side]
    drawn.text(x, height / 2, text, role, side=side, **more)
    return drawn


def tile(text, width, height, role, look="ink", fill=0.2, edge=2, free=1, **more):
    """Return a drawing of this size: a rectangle with an edge around it and a text in its middle.

    text: one, or a list of lines.  role: the colour.  look: the role of the text.  fill: the
    opacity of the rectangle.  edge: pixels; 0 for none.  free: pixels that stay free around it.
    more: what the mark of the text may have, see Sketch.
    """
    drawn, inside = Sketch(width, height), (free, free, width - 2 * free, height - 2 * free)
    drawn.box(*inside, role, opacity=fill)
    drawn.frame(*inside, role, edge)
    lines = text if isinstance(text, (list, tuple)) else [text]
    for k, line in enumerate(lines):
        y = height / 2 + LINE * (k - (len(lines) - 1) / 2)
        drawn.text(width / 2, y, line, look, **more)
    return drawn


def bar(long, width, height, text, role, look="ink", zero=0, opacity=1, **more):
    """Return a drawing of this size: a bar with a text behind its end.

    long: pixels, to the left if it is below 0.  zero: the pixels to the left of its start.
    role, opacity: those of the bar.  look: the role of the text.  more: what its mark may have.
    """
    drawn = Sketch(width, height)
    left, end = zero + min(0, long), zero + max(0, long)
    drawn.box(left, (height - THICK) / 2, max(1, abs(long)), THICK, role, opacity=opacity)
    drawn.text(end + NEAR, height / 2, text, look, side="left", **more)
    return drawn
