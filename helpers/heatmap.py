"""The still picture: a matrix with its tokens as coloured cells, and as text.

View is what both pictures show, the still one here and the live one in explore.py:
names, numbers as text, and colours are decided in this file only.
"""

import base64
import html
import io
import operator
import unicodedata
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache

import numpy as np
import torch

from .guard import InputError

# ColorBrewer's Blues: lightness falls evenly, so it reads the same in grey, on a weak
# projector and for every kind of colour vision.
STOPS = "f7fbff deebf7 c6dbef 9ecae1 6baed6 4292c6 2171b5 08519c 08306b".split()
NONE, NONE_COLOUR = 255, "#ffffff"  # of NaN and what is not computed yet
MAX_NUMBERS = 12  # with more columns the numbers in the cells cannot be read
MAX_TEXT = 64  # rows or columns of the numbers as text
MAX_SIDE, MAX_AREA = 512, 3400  # of one matrix; of a picture, in square inches: PIL's limit
MAX_LABEL = 24  # a longer name is cut in the picture
MAX_TERMS = 8  # products that an explanation tells
MAX_HEADS = 16  # small heads beside a matrix
MANY = 24  # panels; more are small, without numbers in the cells
MARKED = "#c2410c"  # outlines; 3:1 against white and against a dark page


@cache
def palette():
    """255 colours "#rrggbb", light to dark, and the index from which text must be white
    to keep a contrast of at least 4.5:1."""
    stops = np.array([[int(s[i : i + 2], 16) for i in (0, 2, 4)] for s in STOPS])
    at = np.linspace(0, len(stops) - 1, NONE)
    rgb = np.stack([np.interp(at, range(len(stops)), channel) for channel in stops.T], 1).round()
    linear = np.where(rgb <= 10.31, rgb / 255 / 12.92, ((rgb / 255 + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    white_from = int(np.argmax(1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05))
    return ["#{:02x}{:02x}{:02x}".format(*map(int, colour)) for colour in rgb], white_from


def as_array(values, what="the matrix"):
    """Numbers of any kind (torch, numpy, nested lists) as a float64 array of their own.

    Raises InputError if they are no real numbers or rows differ in length.
    """

    def unpack(values):
        if torch.is_tensor(values):
            values = values.detach().cpu().to_dense()
            if not values.is_complex():  # numpy has no bfloat16
                values = values.to(torch.float64)
            return values.numpy()
        return [unpack(v) for v in values] if isinstance(values, (list, tuple)) else values

    try:
        array = np.asarray(unpack(values))
    except (ValueError, RecursionError):
        raise InputError(f"the rows of {what} differ in length; give each the same.") from None
    except RuntimeError as error:  # nested tensors, and those without numbers (meta)
        raise InputError(f"the numbers of {what} cannot be read: {str(error)[:80]}") from None
    if array.dtype.kind == "c":
        raise InputError(f"{what} holds complex numbers; real numbers are expected.")
    if array.dtype.kind not in "biuf":
        kind = "None" if values is None else f"{type(values).__name__} ({str(values)[:40]!r})"
        raise InputError(
            f"{what} is {kind}; a matrix of numbers is expected: torch, numpy or nested lists."
        )
    return array.astype(np.float64)


def bare(value):
    """A single number of torch or numpy as Python's own; anything else as it is."""
    single = isinstance(value, (torch.Tensor, np.ndarray, np.generic)) and value.ndim == 0
    return value.item() if single else value


def one_line(text):
    """A line break as \\n and so on: real tokens have them, and a table would fall apart."""
    odd = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of pairs, line and paragraph ends
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in odd else c for c in text
    )


def as_text(text):
    """A title or caption as str, which may have line breaks but nothing else that is odd."""
    return "" if text is None else "\n".join(map(one_line, str(text).split("\n")))


def names(given, count, what):
    """Names as a list of str, one for each row or column; numbers from 0 if None is given."""
    if given is None:
        return [str(i) for i in range(count)]
    if isinstance(given, (str, bytes)):
        raise InputError(f"{what} is one text, {given[:40]!r}; a list of {count} is expected.")
    try:
        given = [one_line(str(bare(name))) for name in given]
    except TypeError:
        raise InputError(
            f"{what} is {str(given)[:40]}; a list of {count} words is expected."
        ) from None
    if len(given) != count:
        raise InputError(f"{what} has {len(given)} names; {count} are needed.")
    return given


@dataclass
class View:
    """A matrix and what to say about it.

    matrix: (rows, columns) or (columns,); torch, numpy or lists; NaN and infinities are shown.
    tokens: names of the rows (the queries); also of the columns if there are as many.
    keys: names of the columns, where they differ.
    caption: one or two sentences under the picture.
    highlights: cells (row, column) to outline; None means all: (1, None) is row 1.
    shown: (rows, columns) of bool, False where a cell is not computed yet; None shows all.
    row_sums, column_sums: also show what each row, or column, adds up to.
    scale: (low, high), the values of the lightest and the darkest colour; by default
        (0, 1) if all values lie there, else from the lowest to the highest with 0 included.
    digits: digits after the point, 0 to 6.
    axes: what a row and what a column is.
    explain: explain(row, column) -> str, how the number in this cell came about.
    heads: (heads, rows, columns), up to 16 of them, drawn small and without numbers beside
        the matrix, on its scale, which by default covers them too; shown holds for them too.
    head: which of them, from 0, the matrix is: outlined; None if it is none of them.
    Raises InputError where these do not fit together.
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
    digits: int = 2
    axes: tuple = ("Query", "Key")
    explain: Callable | None = None
    heads: object = None
    head: int | None = None

    def __post_init__(self):
        self.matrix, given = as_array(self.matrix), "keys"
        if self.matrix.ndim == 1:
            self.matrix = self.matrix[None]
            if self.tokens is not None and self.keys is None and len(self.matrix[0]) != 1:
                self.tokens, self.keys, given = [""], self.tokens, "tokens"
        if self.matrix.ndim != 2:
            raise InputError(
                f"one matrix is expected, (rows, columns); the shape is {self.matrix.shape}."
                + " Choose one, for instance weights[0]." * (self.matrix.ndim > 2)
            )
        rows, columns = self.matrix.shape
        if rows == 0 or columns == 0:
            raise InputError(
                f"there is nothing to show: the shape is ({rows}, {columns}), 0 tokens."
            )
        if self.keys is None and rows == columns:
            self.keys = self.tokens
        self.tokens = names(self.tokens, rows, "tokens")
        self.keys = names(self.keys, columns, given)
        self.axes = ("Query", "Key") if self.axes is None else tuple(names(self.axes, 2, "axes"))
        if self.shown is None:
            self.shown = np.ones((rows, columns), bool)
        else:
            self.shown = as_array(self.shown, "shown").astype(bool)
            if self.shown.shape != (rows, columns):
                raise InputError(
                    f"shown has the shape {self.shown.shape}, the matrix ({rows}, {columns})."
                )
        self.highlights = self._cells(() if self.highlights is None else self.highlights)
        self._fit_heads()
        self.scale = self._limits(self.scale)
        digits = self.digits = bare(self.digits)
        if not isinstance(digits, int) or isinstance(digits, bool) or not 0 <= digits <= 6:
            raise InputError(
                f"digits is {str(digits)[:40]!r}; a whole number from 0 to 6 is expected."
            )
        self.caption = as_text(self.caption)
        for name in ("row_sums", "column_sums"):
            if not isinstance(bare(getattr(self, name)), (bool, int)):
                raise InputError(f"{name} is no switch; True or False is expected.")
        if not (self.explain is None or callable(self.explain)):
            raise InputError("explain should be a function: explain(row, column) -> text.")

    def _cells(self, highlights):
        rows, columns = self.matrix.shape
        cells = set()
        try:
            for row, column in highlights:
                cells |= {
                    (range(rows)[i], range(columns)[j])
                    for i in (range(rows) if row is None else [operator.index(row)])
                    for j in (range(columns) if column is None else [operator.index(column)])
                }
        except (TypeError, ValueError, IndexError):
            raise InputError(
                f"highlights is {str(highlights)[:80]}; a list of (row, column) inside "
                f"({rows}, {columns}) is expected, None for a whole row or column."
            ) from None
        return cells

    def _fit_heads(self):
        head = self.head = bare(self.head)
        count = 0
        if self.heads is not None:
            self.heads, shape = as_array(self.heads, "heads"), self.matrix.shape
            if self.heads.shape[1:] != shape or not 1 <= len(self.heads) <= MAX_HEADS:
                raise InputError(
                    f"heads has the shape {self.heads.shape}; (heads, {shape[0]}, {shape[1]}) "
                    f"with 1 to {MAX_HEADS} heads is expected."
                )
            count = len(self.heads)
        whole = isinstance(head, int) and not isinstance(head, bool)
        if head is not None and not (whole and 0 <= head < count):
            raise InputError(
                f"head is {str(head)[:40]}; one of {count} heads, counted from 0, or None "
                "is expected."
            )

    def _limits(self, scale):
        if scale is not None:
            try:
                low, high = map(float, scale)
            except (TypeError, ValueError, OverflowError, RuntimeError):
                low = high = 0.0
            if not (np.isfinite([low, high]).all() and low < high):
                raise InputError(
                    f"scale is {str(scale)[:80]}; two numbers (low, high) are expected, low < high."
                )
            return low, high
        every = self.matrix[None]
        if self.heads is not None:
            every = np.concatenate([every, self.heads])
        finite = every[np.isfinite(every) & self.shown]
        low, high = min(0.0, finite.min(initial=0.0)), max(0.0, finite.max(initial=0.0))
        return (0.0, 1.0) if low == 0 and high <= 1 else (float(low), float(high))

    def number(self, value):
        """A value as it is shown everywhere: fixed digits, no minus before zero; with a
        power of ten if it is too long for a cell, such as a mask of -1e9."""
        if not np.isfinite(value):
            return {np.inf: "inf", -np.inf: "-inf"}.get(value, "nan")
        text = f"{value:.{self.digits}f}"
        if len(text) > 12:
            return f"{value:.{self.digits}e}"
        return text[1:] if text.startswith("-") and not text.strip("-0.") else text

    def table(self):
        """(row names, column names, cells), cells as text, "" where not computed yet;
        sums included."""
        matrix, shown = self.matrix, self.shown
        cells = [
            [self.number(v) if on else "" for v, on in zip(*row, strict=True)]
            for row in zip(matrix, shown, strict=True)
        ]
        rows, columns = list(self.tokens), list(self.keys)
        known = np.where(shown, matrix, 0.0)
        with np.errstate(all="ignore"):  # inf - inf is nan, and shown as that
            across, down, total = known.sum(1), known.sum(0), known.sum()
        if self.row_sums:
            columns.append("sum")
            for row, value in zip(cells, across, strict=True):
                row.append(self.number(value))
        if self.column_sums:
            rows.append("sum")
            cells.append([self.number(v) for v in [*down, *[total] * bool(self.row_sums)]])
        return rows, columns, cells

    def colours(self):
        """(rows, columns) of uint8, indices into palette(); NONE where there is no colour."""
        low, high = self.scale
        unit = max(-low, high)  # with numbers near 1 nothing overflows
        with np.errstate(all="ignore"):
            part = (self.matrix / unit - low / unit) / (high / unit - low / unit)
        none = np.isnan(self.matrix) | ~self.shown
        index = np.clip(np.where(none, 0, part), 0, 1) * (NONE - 1)
        return np.where(none, NONE, index.round()).astype(np.uint8)

    def part(self, most):
        """The first `most` rows and columns, the caption saying so; self if that is all."""
        n, m = self.matrix.shape
        if max(n, m) <= most:
            return self
        rows, columns = min(n, most), min(m, most)
        text = f"Rows 0 to {rows - 1} and columns 0 to {columns - 1} of ({n}, {m})."
        return replace(
            self,
            matrix=self.matrix[:rows, :columns],
            tokens=self.tokens[:rows],
            keys=self.keys[:columns],
            shown=self.shown[:rows, :columns],
            highlights=[(i, j) for i, j in self.highlights if i < rows and j < columns],
            heads=None if self.heads is None else self.heads[:, :rows, :columns],
            caption=f"{text} {self.caption}".strip(),
            # the sum of a part would pass for that of the whole row
            row_sums=self.row_sums and columns == m,
            column_sums=self.column_sums and rows == n,
        )

    def small(self):
        """The heads as (title, View), in order; empty if there are none."""
        alone = dict(caption="", highlights=(), explain=None, heads=None, head=None)
        heads = () if self.heads is None else self.heads
        return [(f"head {k + 1}", replace(self, matrix=m, **alone)) for k, m in enumerate(heads)]

    def text(self):
        """The numbers as a text table, those of the heads too, with the caption below; of a
        large matrix the first 64 rows and columns."""
        if max(self.matrix.shape) > MAX_TEXT:
            return self.part(MAX_TEXT).text()
        rows, columns, cells = self.table()
        lines = [["", *columns], *([name, *row] for name, row in zip(rows, cells, strict=True))]
        widths = [max(_width(line[j]) for line in lines) for j in range(len(lines[0]))]
        out = []
        for line in lines:
            first = line[0] + " " * (widths[0] - _width(line[0]))
            rest = (" " * (w - _width(t)) + t for t, w in zip(line[1:], widths[1:], strict=True))
            out.append("  ".join([first, *rest]).rstrip())
        for title, view in self.small():
            out += [title, view.text()]
        return "\n".join(out + ([self.caption] if self.caption else []))

    def alt(self):
        """One sentence for those who do not see the picture."""
        rows, columns = self.matrix.shape
        sentence = f"{self.axes[0]} by {self.axes[1]}, {rows} by {columns} numbers"
        known = np.where(self.shown & np.isfinite(self.matrix), self.matrix, -np.inf)
        if np.isfinite(known).any():
            i, j = np.unravel_index(known.argmax(), known.shape)
            sentence += (
                f"; the largest is {self.number(known[i, j])}"
                f" in row {self.tokens[i]}, column {self.keys[j]}"
            )
        if self.heads is not None:
            which = "" if self.head is None else f"this is head {self.head + 1} of "
            sentence += f"; {which}{len(self.heads)} heads, shown small beside it"
        return " ".join(f"{sentence}. {self.caption}".split())


def dot_in_full(a, b):
    """A dot product in full, as explain can say it: "0.55 × 0.43 + 0.87 × 0.15".

    a, b: vectors of one length; of long ones the first eight products are told.
    """
    a, b = as_array(a, "a").ravel(), as_array(b, "b").ravel()
    if len(a) != len(b):
        raise InputError(f"vectors of one length are expected, not of {len(a)} and {len(b)}.")
    terms = [f"{x:.2f} × {y:.2f}" for x, y in zip(a, b, strict=True)]
    return " + ".join(terms[:MAX_TERMS] + ["…"] * (len(terms) > MAX_TERMS))


def softmax_in_full(scores, j):
    """How softmax makes weight j of these scores (n,): "exp(0.95 - 1.50) / 4.20".

    As softmax does it, the largest score is taken from all of them first; below the line is
    the sum of all such exponentials.
    """
    scores = as_array(scores, "scores").ravel()
    top = scores.max()
    if top == -np.inf:
        return "0 / 0: there is nothing to see"
    return f"exp({scores[j]:.2f} - {top:.2f}) / {np.exp(scores - top).sum():.2f}"


def _width(text):
    """Columns that a text takes in a fixed-width font."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _label(text):
    """A name as it stands beside the picture: cut if it is long."""
    if _width(text) <= MAX_LABEL:
        return text
    text = text[: 2 * MAX_LABEL]  # a name may have 10,000 letters
    while _width(text) >= MAX_LABEL:
        text = text[:-1]
    return text + "…"


class Still:
    """A matplotlib figure that shows itself as a picture with a text alternative.

    figure: a matplotlib Figure.  alt: a sentence that says what is to be seen.
    text: what stands for it in plain text (compared in the tests); alt by default.
    """

    def __init__(self, figure, alt, text=None):
        self.figure, self.alt, self._text = figure, alt, text or alt

    def __repr__(self):
        return self._text

    def png(self):
        """The picture as bytes, twice as fine as it is shown, for projectors; 128 colours
        keep a notebook with many of them small."""
        from PIL import Image

        buffer, small = io.BytesIO(), io.BytesIO()
        with warnings.catch_warnings():
            # A font without the glyph draws a box, and names too wide for the page are cut
            # off; a warning would land in the cell's output.
            warnings.filterwarnings("ignore", message=".*([Gg]lyph|constrained_layout).*")
            self.figure.savefig(buffer, format="png", dpi=160)
        drawn = Image.open(buffer).convert("RGB")
        drawn.quantize(128, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
        return small.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = base64.b64encode(self.png()).decode()
        width = round(self.figure.get_figwidth() * 80)
        source = f"data:image/png;base64,{data}"
        tag = f'<img alt="{html.escape(self.alt)}" width="{width}" src="{source}">'
        bundle = {"text/plain": repr(self), "text/html": tag, "image/png": data}
        return bundle, {"image/png": {"width": width, "alt": self.alt}}


def heatmap(weights, tokens=None, *, keys=None, title="", **options):
    """Draw weights (or scores, or vectors) as a heatmap: row 0 on top, one fixed colour scale.

    weights: (n, m), (m,), (heads, n, m) or a batch of one (1, heads, n, m); torch, numpy or
        lists; also the `attentions` of a Hugging Face model (a tuple of layers, each
        (1, heads, n, m)) and the weights that nn.MultiheadAttention returns. A dict,
        {title: matrix}, draws its matrices side by side. A View is drawn as it is.
    tokens, keys: names of the rows and of the columns, as for View.
    options: the other fields of View, for instance scale, digits, caption, row_sums.
    Returns a Still; several panels share one colour scale.
    Raises InputError if the shapes or the names do not fit.
    """
    title = as_text(title)
    unknown = set(options) - ({field.name for field in fields(View)} - {"matrix"})
    if unknown:
        raise InputError(
            f"heatmap has no option {min(unknown)!r}; it takes title and those of View."
        )
    options = {"tokens": tokens, "keys": keys, **options}
    if isinstance(weights, View):
        if any(value is not None for value in options.values()):
            raise InputError("a View is drawn as it is; give its options to View(...) instead.")
        return draw([[weights]], [[""]], title)
    layers = [_named(weights)] if isinstance(weights, dict) else _panels(weights)
    views = [[View(m, **options) for m in layer] for layer in layers]
    if options.get("scale") is None and len(layers) * len(layers[0]) > 1:
        low, high = zip(*(view.scale for row in views for view in row), strict=True)
        for view in sum(views, []):
            view.scale = (min(low), max(high))
    many = len(layers) > 1
    heads = len(layers[0]) > 1
    titles = [
        [
            ", ".join([f"Layer {i + 1}"] * many + [f"Head {j + 1}"] * (heads or many))
            for j in range(len(row))
        ]
        for i, row in enumerate(views)
    ]
    if isinstance(weights, dict):
        titles = [list(map(as_text, weights))]
    return draw(views, titles, title)


def _named(matrices):
    """The matrices of a dict {title: matrix}, which must have one shape."""
    arrays = [as_array(matrix, as_text(name)) for name, matrix in matrices.items()]
    if len({array.shape for array in arrays}) != 1:
        shapes = ", ".join(f"{as_text(n)} {a.shape}" for n, a in zip(matrices, arrays, strict=True))
        raise InputError(f"matrices of one shape are expected, side by side; got {shapes or '{}'}.")
    return arrays


def _panels(weights):
    """Whatever heatmap takes, as layers of heads of matrices."""
    if isinstance(weights, (tuple, list)) and len(weights) and torch.is_tensor(weights[0]):
        if weights[0].ndim >= 3:
            layers = [_panels(layer)[0] for layer in weights]
            if len({(len(layer), *layer[0].shape) for layer in layers}) != 1:
                raise InputError(
                    "the layers differ in their shape, (heads, queries, keys); draw one at a time."
                )
            return layers
    array = as_array(weights, "weights")
    while array.ndim > 3 and len(array) == 1:
        array = array[0]
    if array.ndim > 3:
        raise InputError(
            f"weights has the shape {array.shape}: a batch of {len(array)}. Choose one: weights[0]."
        )
    if array.size == 0:
        raise InputError(
            f"there is nothing to show: weights has the shape {array.shape}, 0 tokens."
        )
    return [list(array) if array.ndim == 3 else [array]]


def draw(views, titles, title=""):
    """Views in rows and columns on one figure, as a Still."""
    from matplotlib.figure import Figure  # here, because importing it takes longer than the rest

    count, (rows, columns) = len(views[0]), views[0][0].matrix.shape
    too_many = InputError(
        f"{count * len(views)} x ({rows}, {columns}) numbers are too many for one picture; "
        "draw a part, for instance weights[..., :64, :64]."
    )
    if max(rows, columns) > MAX_SIDE:
        raise too_many
    many = count * len(views) > MANY
    tables = [[_seen(view, many) for view in row] for row in views]
    wide, high = len(tables[0][0][1]), len(tables[0][0][0])
    name, key = (
        max(_width(_label(n)) for row in tables for table in row for n in table[k]) for k in (0, 1)
    )
    numbers = tables[0][0][2] is not None
    size = 0.62 if numbers else 0.62 * MAX_NUMBERS / max(wide, high) * (0.25 if many else 1)
    width, height = wide * size + 0.9 + 0.085 * name, high * size * 0.75 + 1.25
    height += 0.085 * max(0, key - 7)  # such names stand upright
    width = max(3.2, width * count)
    height = height * len(views) + 0.35 * bool(title)
    if width * height > MAX_AREA:
        raise too_many
    flat = list(zip(sum(titles, []), sum(views, []), strict=True))
    figure = place = Figure(layout="constrained")
    if small := views[0][0].small():
        if len(flat) > 1:
            raise InputError("heads are drawn beside one matrix; there are several.")
        across = min(len(small), 4)
        beside = 1.1 * across
        place, side = figure.subfigures(1, 2, width_ratios=(width, beside))
        width, height = width + beside, max(height, 1.2 * -(-len(small) // across))
    figure.set_size_inches(width, height)
    grid = place.subplots(len(views), count, squeeze=False)
    for i, row in enumerate(views):
        for j, view in enumerate(row):
            _draw_panel(grid[i][j], view, tables[i][j], titles[i][j])
    if not numbers:  # the colours need a key
        _draw_scale(place, grid, views[0][0].scale)
    if small:
        _draw_heads(side, small, across, views[0][0].head)
    if title:
        figure.suptitle(title, fontsize=11, parse_math=False)
    text = "\n\n".join(f"{t}\n{v.text()}".strip("\n") for t, v in flat)
    alt = "Heatmap" + (f" {title}" if title else "") + ": " + flat[0][1].alt()
    if len(flat) > 1:
        first, last = flat[0][0], flat[-1][0]
        one = " on one colour scale" * (len({view.scale for _, view in flat}) == 1)
        alt = f"{len(flat)} heatmaps{one}, from {first} to {last}. {alt}"
    return Still(figure, alt, f"{title}\n{text}" if title else text)


def _seen(view, many):
    """The view's table as far as it is drawn: without numbers there is no place for sums."""
    rows, columns = view.matrix.shape
    if many or rows > MAX_TEXT or columns > MAX_NUMBERS:
        return view.tokens, view.keys, None
    return view.table()


def _draw_panel(axes, view, table, title):
    rows, columns, cells = table
    _, white_from = palette()
    # an image of its own colours, so that sums and what is not computed stay uncoloured
    index = np.full((len(rows), len(columns)), NONE)
    index[: view.matrix.shape[0], : view.matrix.shape[1]] = view.colours()
    _draw_colours(axes, index, "auto")
    numbers = cells is not None
    if numbers:
        axes.set_xticks(np.arange(-0.5, len(columns)), minor=True)
        axes.set_yticks(np.arange(-0.5, len(rows)), minor=True)
        axes.grid(which="minor", color="#8c8c8c", linewidth=0.5)
        for i, row in enumerate(cells):
            for j, text in enumerate(row):
                axes.text(
                    j, i, text, ha="center", va="center", fontsize=9 if len(text) < 7 else 7,
                    color="white" if white_from <= index[i, j] < NONE else "black",
                )  # fmt: skip
    for i, j in sorted(view.highlights):
        box = axes.add_patch(_rectangle(i, j))
        box.set_zorder(3)
    for axis, labels, turn in ((axes.xaxis, columns, True), (axes.yaxis, rows, False)):
        every = max(1, -(-len(labels) // 64))
        axis.set_ticks(range(0, len(labels), every))
        long = turn and (max(map(_width, labels)) > 7 or not numbers)
        shown = [_label(label) for label in labels[::every]]
        axis.set_ticklabels(
            shown, fontsize=9 if numbers else 7, rotation=90 * long, parse_math=False
        )
    axes.tick_params(which="both", length=0)
    axes.set_ylabel(view.axes[0], fontsize=9, parse_math=False)
    axes.set_xlabel(view.axes[1], fontsize=9, parse_math=False)
    if title:
        axes.set_title(title, fontsize=10, parse_math=False)


def _draw_colours(axes, index, aspect):
    """Indices into palette(), NONE for no colour."""
    colours = [*palette()[0], NONE_COLOUR]
    rgb = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in colours], np.uint8)
    axes.imshow(rgb[index], aspect=aspect, interpolation="nearest")


def _draw_heads(figure, small, across, head):
    grid = figure.subplots(-(-len(small) // across), across, squeeze=False).flat
    for k, axes in enumerate(grid):
        if k >= len(small):
            axes.remove()
            continue
        title, view = small[k]
        _draw_colours(axes, view.colours(), "equal")
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, fontsize=8, fontweight="bold" if k == head else "normal")
        if k == head:
            for spine in axes.spines.values():
                spine.set(color=MARKED, linewidth=2.5)


def _draw_scale(figure, grid, scale):
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    colours = ScalarMappable(Normalize(*scale), ListedColormap(palette()[0]))
    figure.colorbar(colours, ax=grid, aspect=30, pad=0.01)


def _rectangle(i, j):
    from matplotlib.patches import Rectangle

    return Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, edgecolor=MARKED, linewidth=2)
