"""Describe a matrix: what the still and the live picture share.

Names, numbers as text, colours and explanations are decided in this file only; still.py and
explore.py draw them.
"""

import operator
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from ..errors import InputError
from .given import as_array, as_text, bare, names, one_word, wide, words

# ColorBrewer's Blues: lightness falls evenly, so it reads the same in grey, on a weak
# projector and for every kind of colour vision.
STOPS = "f7fbff deebf7 c6dbef 9ecae1 6baed6 4292c6 2171b5 08519c 08306b".split()
WHITE_FROM = 183  # for this colour and darker ones text is white: a contrast of at least 4.5:1
NONE = 255  # the index of NaN and of empty cells
MAX_TEXT = 64  # rows or columns of the numbers as text
MAX_SIDE = 512  # rows or columns of a picture
MAX_HEADS = 16  # small heads next to a matrix
MAX_KINDS = 3  # kinds of marked cells


@cache
def palette():
    """Return 255 colours "#rrggbb", light to dark, and the index from which text must be white."""
    stops = np.array([[int(s[i : i + 2], 16) for i in (0, 2, 4)] for s in STOPS])
    at = np.linspace(0, len(stops) - 1, NONE)
    rgb = np.stack([np.interp(at, range(len(stops)), channel) for channel in stops.T], 1).round()
    return ["#{:02x}{:02x}{:02x}".format(*map(int, colour)) for colour in rgb], WHITE_FROM


@dataclass
class View:
    """View(weights, tokens, caption="Rows sum to 1."): a matrix and how to show it.

    matrix: (rows, columns) or (columns,); torch, numpy or lists; NaN and infinities are shown,
        and what a mask of numpy hides stays empty.
    tokens: names of the rows (the queries), and of the columns if there are equally many.
    keys: names of the columns, if they differ.
    caption: one or two sentences under the picture.
    highlights: cells (row, column) to outline; None means all: (1, None) is row 1.
    shown: (rows, columns) of bool, False where a cell stays empty, for instance because it is
        not computed yet; None shows all.
    row_sums, column_sums: also show the sum of each row, or column.
    marked: {"masked": mask, "dropped": ...}, up to three matrices (rows, columns) of bool:
        cells that stand out, each kind with its own pattern, and with its word instead of an
        explanation.
    scale: (low, high), the values of the lightest and the darkest colour, widened if a
        number is outside, unless clip is set; by default (0, 1) if all values are inside it,
        else from the lowest to the highest with 0 included.
    clip: numbers outside the scale get its first or last colour.
    digits: digits after the point; by default 2, or 4 if the numbers are so small, as in a text
        of 512 words, that most would read 0.00.
    axes: what a row and a column stand for.
    explain: explain(row, column) -> str, how the number in this cell is computed.
    heads: (heads, rows, columns), up to 16 heads, drawn small and without numbers next to
        the matrix, on the same scale, which by default covers them too; shown applies to them.
    head: the index of the head that the matrix is: outlined; None if it is none of them.
    reached: a sentence that explains why the target of the view is reached; "" before that.
    Raises InputError if the arguments do not fit together.
    """

    matrix: object
    tokens: object = None
    keys: object = None
    caption: str = ""
    highlights: object = ()
    shown: object = None
    row_sums: bool = False
    column_sums: bool = False
    scale: tuple | None = None
    digits: int | None = None
    axes: tuple = ("Query", "Key")
    explain: Callable | None = None
    heads: object = None
    head: int | None = None
    marked: object = None
    clip: bool = False
    reached: str = ""

    def __post_init__(self):
        hidden = np.ma.getmask(self.matrix)  # False if it has no mask
        self.matrix = as_array(self.matrix.data if np.any(hidden) else self.matrix)
        if self.matrix.ndim == 1:
            self.matrix = self.matrix[None]
            if self.keys is None and len(self.matrix[0]) != 1:
                self.tokens, self.keys = None if self.tokens is None else [""], self.tokens
        if self.matrix.ndim != 2:
            said = f"one matrix is expected, (rows, columns); the shape is {self.matrix.shape}."
            if self.matrix.ndim > 2:
                said += " Choose a matrix, for instance weights[0]."
            raise InputError(said)
        rows, columns = self.matrix.shape
        if not self.matrix.size:
            raise InputError(f"there is nothing to show: the shape is {rows, columns}, 0 tokens.")
        if self.keys is None and rows == columns:
            self.keys = self.tokens
        self.tokens = words(self.tokens, rows)
        self.keys = words(self.keys, columns, "keys")
        self.axes = names(self.axes, 2, "axes")
        self.shown = ~hidden & self._cells(
            "shown", np.ones_like(self.matrix) if self.shown is None else self.shown
        )
        self.highlights = self._outlined(self.highlights)
        self.marked = {
            one_word(word): self._cells(word, cells) for word, cells in (self.marked or {}).items()
        }
        if len(self.marked) > MAX_KINDS:
            raise InputError(f"marked has {len(self.marked)} kinds; at most {MAX_KINDS} fit.")
        self._fit_heads()
        self.scale = self._ends(self.scale)
        self.caption, self.reached = as_text(self.caption), as_text(self.reached)
        if self.digits is None:
            seen = np.abs(self.matrix[self.shown & np.isfinite(self.matrix)])
            with np.errstate(over="ignore"):
                mean = seen.mean() if seen.size else 0
            # what is smaller still may be an error of rounding
            self.digits = 4 if 0.00005 <= mean < 0.005 else 2
        self.number(0.0)  # if digits cannot be used, fail now and not in the picture

    def _cells(self, what, given):
        """Return the chosen cells as an array of bool."""
        cells, shape = as_array(given, what).astype(bool), self.matrix.shape
        if cells.shape != shape:
            raise InputError(f"{what} has the shape {cells.shape}; the matrix has {shape}.")
        return cells

    def _outlined(self, highlights):
        """Return the highlights as a set of (row, column)."""
        lit = np.zeros(self.matrix.shape, bool)
        for place in highlights:
            lit[tuple(slice(None) if k is None else operator.index(k) for k in place)] = True
        return set(map(tuple, np.argwhere(lit).tolist()))

    def mark(self, row, column):
        """Return the word of a marked cell, "" for any other cell."""
        return next((word for word, cells in self.marked.items() if cells[row, column]), "")

    def _fit_heads(self):
        self.head, count = bare(self.head), 0
        if self.heads is not None:
            self.heads, size = as_array(self.heads, "heads"), self.matrix.shape
            count = len(self.heads)
            if self.heads.shape[1:] != size or count > MAX_HEADS:
                got, most = self.heads.shape, f"up to {MAX_HEADS}"
                raise InputError(f"heads has the shape {got}; {most} heads of {size} are expected.")
        if self.head not in (None, *range(count)):
            known = f"one of {count} heads, counted from 0, or None"
            raise InputError(f"head is {self.head}; {known} is expected.")

    def _ends(self, scale):
        """Return the values of the lightest and the darkest colour."""
        if scale is not None:
            low, high = map(float, scale)
            if not -np.inf < low < high < np.inf:
                raise InputError(f"scale is {low, high}; (low, high) is expected, low < high.")
            seen = [] if self.clip else self._coloured()
            return min([low, *seen]), max([high, *seen])
        seen = [0.0, *self._coloured()]
        low, high = min(seen), max(seen)
        return (0.0, 1.0) if low == 0 and high <= 1 else (low, high)

    def _coloured(self):
        """Return [lowest, highest] of the finite numbers that get a colour; [] for none."""
        every = self.matrix[None] if self.heads is None else np.stack([self.matrix, *self.heads])
        finite = every[np.isfinite(every) & ~self._colourless()]
        return [float(finite.min()), float(finite.max())] if finite.size else []

    def _colourless(self):
        """Return (rows, columns) of bool: cells without a colour, whatever their number."""
        return np.logical_or.reduce([~self.shown, *self.marked.values()])

    def number(self, value):
        """Return a value as text: fixed digits, no minus before zero; with a power of ten
        if it is too long for a cell, such as -1e9 in a mask."""
        text = f"{value:z.{self.digits}f}"
        return text if len(text) <= 12 else f"{value:.{self.digits}e}"

    def table(self):
        """Return (row names, column names, cells), sums included; a cell is text, "" if it
        stays empty."""
        across, down = bool(self.row_sums), bool(self.column_sums)
        shown, known = self.shown, np.where(self.shown, self.matrix, 0.0)
        with np.errstate(all="ignore"):  # inf - inf is nan, and is shown
            if across:
                known = np.column_stack([known, known.sum(1)])
                shown = np.insert(shown, shown.shape[1], True, 1)
            if down:
                known = np.vstack([known, known.sum(0)])
                shown = np.insert(shown, len(shown), True, 0)
        cells = [
            [self.number(x) if on else "" for x, on in zip(*row, strict=True)]
            for row in zip(known.tolist(), shown.tolist(), strict=True)
        ]
        rows, columns = self.tokens, self.keys
        if down:
            rows = [*rows, "sum"]
        if across:
            columns = [*columns, "sum"]
        return rows, columns, cells

    def colours(self):
        """Return (rows, columns) of uint8, indices into palette(); NONE for no colour."""
        low, high = self.scale
        unit = max(-low, high)  # numbers near 1 cannot overflow
        with np.errstate(all="ignore"):
            part = (self.matrix / unit - low / unit) / (high / unit - low / unit)
        none = np.isnan(self.matrix) | self._colourless()
        index = np.clip(np.where(none, 0, part), 0, 1) * (NONE - 1)
        return np.where(none, NONE, index.round()).astype(np.uint8)

    def small(self):
        """Return the heads as (title, View), in order; empty if there are none."""
        plain = {one.name: getattr(self, one.name) for one in fields(View)}  # also of a drawing
        plain |= dict(caption="", reached="", highlights=(), explain=None)
        plain |= dict(heads=None, head=None, marked=None)
        heads = () if self.heads is None else self.heads
        return [(f"head {k + 1}", View(**plain | {"matrix": m})) for k, m in enumerate(heads)]

    def sketch(self):
        """Return the drawings [Sketch, ...] that replace the table; a plain View has none."""
        return []

    # attributes of a drawing, with the values for which a phone has room
    tight = {}

    def narrow(self):
        """Return what a phone shows instead: for each drawing a Sketch or None; [] for none."""
        if not self.tight:
            return []
        same = copy(self)
        vars(same).update(self.tight)
        return same.sketch()

    def text(self):
        """Return a text table of the numbers and of the heads, with the caption below; of a large
        matrix, its shape only."""
        rows, columns = self.matrix.shape
        large = [f"{rows} by {columns} numbers"] if max(rows, columns) > MAX_TEXT else []
        return "\n".join([*(large or self.numbers()), *self.said()])

    def numbers(self):
        """Return the lines of numbers as text."""
        rows, columns, cells = self.table()
        lines = [["", *columns], *([name, *row] for name, row in zip(rows, cells, strict=True))]
        widths = [max(map(wide, column)) for column in zip(*lines, strict=True)]
        out = []
        for line in lines:
            first = line[0] + " " * (widths[0] - wide(line[0]))
            rest = (" " * (w - wide(t)) + t for t, w in zip(line[1:], widths[1:], strict=True))
            out.append("  ".join([first, *rest]).rstrip())
        for title, view in self.small():
            out += [title, view.text()]
        return out

    def said(self):
        """Return the lines below the picture: the caption, and a tick if the target is reached."""
        return [*filter(None, [self.caption]), *(["✔ " + self.reached] if self.reached else [])]

    def alt(self):
        """Describe the picture in words for people who cannot see it."""
        return " ".join(f"{self._in_words()} {self.caption}".split())

    def _in_words(self):
        """Return the same without the caption; each drawing has its own words."""
        rows, columns = self.matrix.shape
        sentence = f"{self.axes[0]} by {self.axes[1]}, {rows} by {columns} numbers"
        known = np.where(self.shown & np.isfinite(self.matrix), self.matrix, -np.inf)
        i, j = np.unravel_index(known.argmax(), known.shape)
        if np.isfinite(known[i, j]):
            row = f"row {self.tokens[i]}, " if self.tokens[i] else ""
            largest = f"{self.number(known[i, j])} in {row}column {self.keys[j]}"
            sentence += f"; the largest is {largest}"
        for word, cells in self.marked.items():
            sentence += f"; {word}: {int(cells.sum())}"
        if self.heads is not None:
            which = "" if self.head is None else f"this is head {self.head + 1} of "
            sentence += f"; {which}{len(self.heads)} heads, shown small next to it"
        return f"{sentence}."


def side_by_side(matrices, **options):
    """Return [(title, View), ...] for matrices of one shape.

    matrices: {title: matrix or View}; a View stays as it is, the others get these options.
    Plain matrices share one scale. Raises InputError if the shapes differ.
    """
    views = [
        (as_text(title), one if isinstance(one, View) else View(one, **options))
        for title, one in matrices.items()
    ]
    if len({view.matrix.shape for _, view in views}) != 1:
        shapes = ", ".join(f"{title} {view.matrix.shape}" for title, view in views) or "{}"
        raise InputError(f"matrices side by side must have one shape; got {shapes}.")
    if not any(isinstance(one, View) for one in matrices.values()):
        low, high = zip(*(view.scale for _, view in views), strict=True)
        for _, view in views:
            view.scale = min(low), max(high)
    return views
