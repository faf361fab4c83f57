"""The still picture: a View, or several, as a matplotlib figure with a text alternative."""

import base64
import html
import io
import warnings
from dataclasses import fields

import numpy as np
import torch

from .guard import InputError
from .view import MAX_SIDE, MAX_TEXT, NONE, View, as_array, as_text, palette, width_of

NONE_COLOUR = "#ffffff"  # of NaN and what is not computed yet
MAX_NUMBERS = 12  # with more columns the numbers in the cells cannot be read
MAX_AREA = 3400  # square inches of a picture: PIL's limit
MAX_LABEL = 24  # a longer name is cut
MANY = 24  # panels; more are small, without numbers in the cells
MARKED = "#c2410c"  # outlines; 3:1 against white and against a dark page


def _label(text):
    """A name as it stands beside the picture: cut if it is long."""
    if width_of(text) <= MAX_LABEL:
        return text
    text = text[: 2 * MAX_LABEL]  # a name may have 10,000 letters
    while width_of(text) >= MAX_LABEL:
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
        max(width_of(_label(n)) for row in tables for table in row for n in table[k])
        for k in (0, 1)
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
        long = turn and (max(map(width_of, labels)) > 7 or not numbers)
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
