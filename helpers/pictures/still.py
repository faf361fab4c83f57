"""Draw the still picture: one or several Views as a matplotlib figure with a text alternative."""

import base64
import html
import io
import threading
import warnings
from contextlib import contextmanager

import numpy as np

from ..errors import InputError
from .given import as_array, as_text, wide
from .sketch import INCH
from .view import MAX_TEXT, NONE, View, palette, side_by_side

NONE_COLOUR = "#ffffff"  # of NaN and of empty cells, under their stripes
# (colour, hatch, hatch colour) of such cells, and of each kind of marked cells, as on the page
STRIPES = ("#ffffff", "///", "#d8d8d8")
MARKS = (("#d0d0d0", None, None), ("#ffffff", "xx", "#b0b0b0"), ("#ffffff", "..", "#a0a0a0"))
LETTERS = 11  # points: about as large as on the page
MAX_NUMBERS = 12  # with more columns the numbers in the cells cannot be read
MAX_LABEL = 24  # letters; a longer name is cut
# inches: the width of a cell and of a letter; around the table, next to it and below it
CELL, LETTER, BESIDE, AROUND = 0.62, 0.1, 0.9, 1.25
LOW = 0.75  # the height of a cell, as a part of its width
LEAST = 3.2  # inches: the width of a picture, so that its axes and title have room
TITLE, LEGEND = 0.35, 0.3  # inches: the height of a line of text
HEAD, HEAD_HIGH = 1.1, 1.2  # inches: a small head with its name
MARKED = "#c2410c"  # outlines; 3:1 against white and against a dark page
# The frame that a live picture has. Written into the element: a notebook that is only opened, or
# was sent by somebody else, has no other style.
CARD = (
    "box-sizing: border-box; max-width: 900px; margin: 4px 0; padding: 8px 14px; border: 1px solid "
    "#d5d8dd; border-radius: 10px; background: #fff; color: #1f1f1f; text-align: center"
)

_alone = threading.RLock()  # two threads would each restore what the other had set


@contextmanager
def own_settings():
    """Draw with the settings of matplotlib itself: those of the reader, who keeps them, may ask for
    LaTeX, for a font that is not there, or for white text."""
    from matplotlib import style

    with _alone, style.context("default"):
        yield


def _label(text):
    """Return a name as the picture shows it: cut if it is long."""
    room = MAX_LABEL * len(text) // max(1, wide(text))
    return text if len(text) <= room else text[: room - 1] + "…"


class Still:
    """Still(figure, "Two curves that cross."): a picture with a text alternative.

    figure: a matplotlib Figure.  alt: a sentence that describes it.
    text: the picture as plain text (compared in the tests); alt by default.
    caption: lines below the picture.
    """

    def __init__(self, figure, alt, text=None, caption=""):
        self.figure, self.alt, self._text, self.caption = figure, alt, text or alt, caption

    def __repr__(self):
        return self._text

    @own_settings()
    def png(self):
        """Return the picture as bytes, at twice the resolution shown, for projectors; 128
        colours keep a notebook with many pictures small."""
        from PIL import Image

        buffer, small = io.BytesIO(), io.BytesIO()
        with warnings.catch_warnings():
            # A warning would appear in the cell's output. Names too wide for the page are cut off;
            # a character that the font lacks is drawn as a box.
            warnings.filterwarnings("ignore", message=".*constrained_layout|Glyph")
            self.figure.savefig(buffer, format="png", dpi=160)
        drawn = Image.open(buffer).convert("RGB")
        drawn.quantize(128, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
        return small.getvalue()

    @property
    def width(self):
        """Pixels: half of those that png() has."""
        return round(self.figure.get_figwidth() * 80)

    def _repr_mimebundle_(self, include=None, exclude=None):
        data, width = base64.b64encode(self.png()).decode(), self.width
        source = f"data:image/png;base64,{data}"
        tag = f'<img alt="{html.escape(self.alt)}" width="{width}" src="{source}">'
        said = html.escape(self.caption).replace("\n", "<br>")
        caption = f'<p style="margin: 0">{said}</p>' if said else ""
        card = f'<div style="{CARD}">{tag}{caption}</div>'
        bundle = {"text/plain": repr(self), "text/html": card, "image/png": data}
        about = {"width": width, "alt": self.alt, "caption": self.caption}
        return bundle, {"image/png": about}


def pictured(sketch, alt):
    """Return a drawing as a Still.  sketch: a Sketch.  alt: a sentence that describes it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=[pixels / INCH for pixels in sketch.size])
    sketch.paint(figure.add_axes((0, 0, 1, 1)))
    return Still(figure, alt)


def heatmap(weights, tokens=None, *, title="", **options):
    """Draw weights as a picture, row 0 on top, on one fixed colour scale.

    weights: (n, m), (m,) or (heads, n, m); torch, numpy or lists. A dict, {title: matrix}, draws
        its matrices side by side. A View is drawn as it is.
    tokens: names of the rows, and of the columns if there are equally many.
    options: the other fields of View, for instance keys, scale, digits, caption, row_sums.
    Returns a Still; several panels share one colour scale.
    Raises InputError if the shapes or the names do not fit.
    """
    title = as_text(title)
    options |= {"tokens": tokens}
    if isinstance(weights, View):
        if options != {"tokens": None}:
            raise InputError("a View is drawn as it is; pass the options to View(...) instead.")
        return draw([("", weights)], title)
    if not isinstance(weights, dict):
        array = weights if np.ma.is_masked(weights) else as_array(weights, "weights")
        heads = array if array.ndim > 2 else [array]
        weights = {f"Head {k}": head for k, head in enumerate(heads, start=1)}
        if len(heads) == 1:
            weights = {"": heads[0]}
    return draw(side_by_side(weights, **options), title)


@own_settings()
def draw(views, title=""):
    """Draw views of one shape side by side: draw([("before", view), ("after", view)]) is a Still.

    Raises InputError if only some of them are drawings.
    """
    if any(view.sketch() for _, view in views):
        return _draw_sketches(views, title)
    # imported here, because that takes longer than the rest
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.figure import Figure

    first = views[0][1]
    tables = [_seen(view) for _, view in views]
    rows, columns, numbers = tables[0]
    name, key = (max(wide(_label(n)) for table in tables for n in table[k]) for k in (0, 1))
    size = CELL
    if not numbers:
        size *= MAX_NUMBERS / max(len(rows), len(columns))
    width = max(LEAST, len(views) * (len(columns) * size + BESIDE + LETTER * name))
    height = len(rows) * size * LOW + AROUND + LETTER * max(0, key - 7)  # long names are vertical
    words = list(dict.fromkeys(word for _, view in views for word in view.marked))
    height += (TITLE if title else 0) + (LEGEND if words else 0)
    figure = place = Figure(layout="constrained")
    if small := first.small():
        in_a_row = min(len(small), 4)
        beside = HEAD * in_a_row
        place, side = figure.subfigures(1, 2, width_ratios=(width, beside))
        width, height = width + beside, max(height, HEAD_HIGH * -(-len(small) // in_a_row))
    figure.set_size_inches(width, height)
    grid = place.subplots(1, len(views), squeeze=False)
    for axes, (heading, view), table in zip(grid.flat, views, tables, strict=True):
        _draw_panel(axes, view, table, heading, words)
    if words:
        samples = [_filled((0, 0), MARKS[k]) for k in range(len(words))]
        legend = place.legend(samples, words, loc="outside lower center", ncols=len(words))
        for text in legend.get_texts():
            text.set(fontsize=LETTERS, parse_math=False)
    if small:
        _draw_heads(side, small, in_a_row, first.head)
    if not numbers:  # the colours need a key
        key = ScalarMappable(Normalize(*first.scale), ListedColormap(palette()[0]))
        place.colorbar(key, ax=grid, aspect=30, pad=0.01)
    if title:
        figure.suptitle(title, fontsize=LETTERS + 1, parse_math=False)
    text = _text(views, title)
    alt = "Heatmap" + (f" {title}" if title else "") + ": " + first.alt()
    if len(views) > 1:
        one = len({view.scale for _, view in views}) == 1
        scale = " on one colour scale" if one else ""
        alt = f"{len(views)} heatmaps{scale}, from {views[0][0]} to {views[-1][0]}. {alt}"
    return Still(figure, alt, text, _said(views))


def _said(views):
    return "\n".join(line for _, view in views for line in view.said())


def _text(views, title):
    texts = [f"{heading}\n{view.text()}".strip("\n") for heading, view in views]
    return "\n\n".join(texts) if not title else "\n".join([title, "\n\n".join(texts)])


def _draw_sketches(views, title):
    """Draw views made of drawings, one view below the other, each view's drawings side by side."""
    from matplotlib.figure import Figure

    rows = [(heading, view.sketch()) for heading, view in views]
    if not all(parts for _, parts in rows):
        raise InputError("a table and a drawing do not fit in one picture; return one of them.")
    gap, line = 16, 24
    wide = max(sum(part.size[0] + gap for part in parts) for _, parts in rows) + gap
    high = gap + sum(max(p.size[1] for p in parts) + gap for _, parts in rows)
    high += line * len([text for text in (title, *dict(rows)) if text])
    figure = Figure(figsize=(wide / INCH, high / INCH))
    top = gap / 2
    letters = dict(ha="left", va="top", fontsize=LETTERS, parse_math=False)
    if title:
        figure.text(gap / wide, 1 - top / high, title, **letters)
        top += line
    for heading, parts in rows:
        if heading:
            figure.text(gap / wide, 1 - top / high, heading, **letters)
            top += line
        left, tall = gap, max(part.size[1] for part in parts)
        for part in parts:
            w, h = part.size
            low = top + (tall + h) / 2
            axes = figure.add_axes((left / wide, 1 - low / high, w / wide, h / high))
            part.paint(axes)
            left += w + gap
        top += tall + gap
    alt = " ".join(f"{heading}: {view.alt()}".removeprefix(": ") for heading, view in views)
    alt = f"{title}. {alt}" if title else alt
    return Still(figure, alt, _text(views, title), _said(views))


def _seen(view):
    """Return the part of the view's table that is drawn: without numbers there are no sums."""
    rows, columns = view.matrix.shape
    if rows > MAX_TEXT or columns > MAX_NUMBERS:
        return view.tokens, view.keys, None
    return view.table()


def _draw_panel(axes, view, table, title, words):
    from matplotlib.patches import Rectangle

    rows, columns, cells = table
    _, white_from = palette()
    # an image of indices, so that sums and empty cells stay uncoloured
    index, (n, m) = np.full((len(rows), len(columns)), NONE), view.matrix.shape
    index[:n, :m] = view.colours()
    _draw_colours(axes, index, "auto")
    if cells:
        for i, j in np.argwhere(index[:n, :m] == NONE):
            word = view.mark(i, j)
            axes.add_patch(_filled((j, i), MARKS[words.index(word)] if word else STRIPES))
        axes.set_xticks(np.arange(-0.5, len(columns)), minor=True)
        axes.set_yticks(np.arange(-0.5, len(rows)), minor=True)
        axes.grid(which="minor", color="#8c8c8c", linewidth=0.5)
        for (i, j), colour in np.ndenumerate(index):
            axes.text(
                j, i, cells[i][j], ha="center", va="center",
                fontsize=LETTERS - 1 if len(cells[i][j]) < 7 else 7,
                color="white" if white_from <= colour < NONE else "black",
            )  # fmt: skip
    outline = dict(fill=False, edgecolor=MARKED, linewidth=2, zorder=3)
    for i, j in sorted(view.highlights):
        axes.add_patch(Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, **outline))
    upright = not cells or max(map(wide, columns)) > 7
    for axis, labels, turn in ((axes.xaxis, columns, 90 * upright), (axes.yaxis, rows, 0)):
        every = -(-len(labels) // 64)
        names, size = [_label(label) for label in labels[::every]], LETTERS if cells else 7
        axis.set_ticks(range(0, len(labels), every))
        axis.set_ticklabels(names, fontsize=size, rotation=turn, parse_math=False)
    axes.tick_params(which="both", length=0)
    axes.set_ylabel(view.axes[0], fontsize=LETTERS, parse_math=False)
    axes.set_xlabel(view.axes[1], fontsize=LETTERS, parse_math=False)
    if title:
        axes.set_title(title, fontsize=LETTERS, parse_math=False)


def _filled(cell, kind):
    """Return the rectangle of a cell (column, row) that has no colour of the scale."""
    from matplotlib.patches import Rectangle

    colour, hatch, of_hatch = kind
    corner = [x - 0.5 for x in cell]
    return Rectangle(corner, 1, 1, facecolor=colour, hatch=hatch, edgecolor=of_hatch, linewidth=0)


def _draw_colours(axes, index, aspect):
    """Draw cells from indices into palette(), NONE for no colour."""
    colours = [*palette()[0], NONE_COLOUR]
    rgb = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in colours], np.uint8)
    axes.imshow(rgb[index], aspect=aspect, interpolation="nearest")


def _draw_heads(figure, small, in_a_row, head):
    grid = figure.subplots(-(-len(small) // in_a_row), in_a_row, squeeze=False).flat
    for axes in grid[len(small) :]:
        axes.remove()
    for k, (axes, (title, view)) in enumerate(zip(grid, small, strict=False)):
        _draw_colours(axes, view.colours(), "equal")
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, fontsize=8, fontweight="bold" if k == head else "normal")
        if k == head:
            axes.spines[:].set(color=MARKED, linewidth=2.5)
