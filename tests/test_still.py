"""What the still picture shows, read from its artists, and what it refuses."""

import base64
import html
import itertools
import math
import re

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from helpers import InputError, View, heatmap
from helpers.still import MAX_NUMBERS
from helpers.view import MAX_TEXT, NONE, dot_in_full, palette, softmax_in_full

pytestmark = pytest.mark.filterwarnings("error")  # a warning would land in the cell's output

WORDS = ["Your", "journey", "starts", "with", "one", "step"]
ODD_WORDS = {
    "html": ["<script>alert(1)</script>", "&amp;", "</td>"],
    "mathtext": ["$x$", r"$\frac$", "100$"],
    "quotes": ["'", '"', '" onload="x'],
    "right to left": ["שלום", "مرحبا", "עולם"],
    "Chinese and emoji": ["注意力", "👩‍🚀", "é"],
    "empty": ["", "", ""],
    "duplicates": ["the", "the", "the"],
    "long": ["x" * 100, "注" * 100, "W" * 100],
    "half a pair": ["\ud800", "a", "b"],
}


def weights(*shape):
    torch.manual_seed(0)
    return torch.softmax(torch.rand(*shape), -1)


def panels(still):
    """The axes with a matrix, without that of a colour bar."""
    return [axes for axes in still.figure.axes if axes.images]


def numbers(axes):
    """{(row, column): text in the cell}"""
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t for t in axes.texts}


def shown(still):
    """The texts in the cells of the first panel, as rows."""
    found = numbers(panels(still)[0])
    rows, columns = np.max(list(found), 0) + 1
    return [[found[i, j].get_text() for j in range(columns)] for i in range(rows)]


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def luminance(colour):
    rgb = np.array(to_rgb(colour) if isinstance(colour, str) else colour)
    return np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [
        0.2126,
        0.7152,
        0.0722,
    ]


# --- what it shows ---


def test_row_0_is_on_top_and_the_axes_are_query_and_key():
    (axes,) = panels(heatmap([[0.1, 0.9], [0.3, 0.7]], ["a", "b"]))
    top, bottom = (axes.transData.transform((0, row))[1] for row in (0, 1))
    assert top > bottom
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("Query", "Key")
    assert labels(axes.yaxis) == labels(axes.xaxis) == ["a", "b"]
    assert numbers(axes)[0, 1].get_text() == "0.90"


def test_columns_have_names_of_their_own():
    (axes,) = panels(heatmap(weights(2, 3), ["a", "b"], keys=["x", "y", "z"]))
    assert labels(axes.yaxis) == ["a", "b"]
    assert labels(axes.xaxis) == ["x", "y", "z"]
    (axes,) = panels(heatmap(weights(2, 3), keys=["x", "y", "z"]))
    assert labels(axes.yaxis) == ["0", "1"]


def test_the_names_of_a_vector_name_its_entries():
    (axes,) = panels(heatmap(weights(3), ["a", "b", "c"]))
    assert labels(axes.xaxis) == ["a", "b", "c"]


def test_numbers_up_to_12_columns_then_a_colour_bar():
    few, many = heatmap(weights(3, MAX_NUMBERS)), heatmap(weights(3, MAX_NUMBERS + 1))
    assert len(numbers(panels(few)[0])) == 3 * MAX_NUMBERS
    assert len(few.figure.axes) == 1
    assert not numbers(panels(many)[0])
    assert len(many.figure.axes) == 2


def test_numbers_up_to_64_rows_then_a_picture_of_the_size_of_a_page():
    few, many = heatmap(weights(MAX_TEXT, 3)), heatmap(weights(MAX_TEXT + 1, 3))
    assert len(numbers(panels(few)[0])) == 3 * MAX_TEXT
    assert not numbers(panels(many)[0])
    assert len(many.figure.axes) == 2
    for shape in [(512, 3), (512, 12), (512, 13), (3, 512), (512, 512)]:
        assert max(heatmap(weights(*shape)).figure.get_size_inches()) < 12


def test_a_sum_is_no_column_more_to_read():
    few = heatmap(weights(12, 12), row_sums=True, column_sums=True)
    many = heatmap(weights(13, 13), row_sums=True, column_sums=True)
    assert len(numbers(panels(few)[0])) == 13 * 13
    assert panels(many)[0].images[0].get_array().shape[:2] == (13, 13)  # no empty column
    assert "sum" in repr(many)


def test_every_number_has_a_contrast_of_at_least_4_5():
    values = np.linspace(0, 1, 768).reshape(64, 12)
    values[0, :2] = np.nan, np.inf
    still = heatmap(values, row_sums=True, highlights=[(1, None)])
    (axes,) = panels(still)
    pixels = axes.images[0].get_array() / 255
    assert len(axes.texts) == 64 * 13
    for (i, j), text in numbers(axes).items():
        one, two = luminance(pixels[i, j]), luminance(text.get_color())
        assert (max(one, two) + 0.05) / (min(one, two) + 0.05) >= 4.5


def test_lightness_falls_also_in_grey():
    colours, _ = palette()
    assert len(colours) == 255
    for lightness in luminance, lambda c: np.dot(to_rgb(c), [0.299, 0.587, 0.114]):
        values = list(map(lightness, colours))
        assert all(a >= b for a, b in itertools.pairwise(values))
        # rounded to whole numbers of red, green and blue, a few pairs of neighbours are the same
        assert all(a > b for a, b in zip(values, values[2:], strict=False))
        assert len(set(values)) >= 248


def test_the_darkest_cell_is_the_largest_number():
    assert View([[0.0, 0.5, 1.0]]).colours().tolist() == [[0, 127, 254]]
    assert View([[-3.0, 0.0, 3.0]]).colours().tolist() == [[0, 127, 254]]
    assert View([[1.0, 2.0]], scale=(1, 1.5)).colours().tolist() == [[0, 254]]
    assert View([[0.5]]).colours().dtype == np.uint8


def test_heads_share_one_scale():
    matrices = np.zeros((3, 2, 2))
    matrices[0], matrices[1], matrices[2] = 1, 4, 2
    still = heatmap(matrices, ["a", "b"])
    axes = panels(still)
    assert [a.get_title() for a in axes] == ["Head 1", "Head 2", "Head 3"]
    assert [a.images[0].get_array()[0, 0, 0] for a in axes] == [red(v, 4) for v in (1, 4, 2)]
    assert "3 heatmaps" in still.alt


def headed(**options):
    """A view of two by three numbers, with three heads of which it is the second."""
    heads = np.arange(18).reshape(3, 2, 3) / 2
    return View(heads[1], ["a", "b"], keys=list("xyz"), heads=heads, **{"head": 1} | options)


def red(number, high):
    return int(palette()[0][round(number / high * 254)][1:3], 16)


def test_the_small_heads_are_drawn_on_the_scale_of_the_large_one():
    for view, high in [(headed(), 8.5), (headed(head=None, scale=(0, 10)), 10)]:
        large, *small = panels(heatmap(view))
        assert [axes.get_title() for axes in small] == ["head 1", "head 2", "head 3"]
        assert numbers(large)[1, 2].get_text() == "5.50"
        for axes, matrix in zip([large, *small], [view.matrix, *view.heads], strict=True):
            drawn = axes.images[0].get_array()[..., 0]
            assert drawn.tolist() == [[red(x, high) for x in row] for row in matrix]
        assert not any(axes.texts for axes in small)


@pytest.mark.parametrize("head", [None, 0, 2, np.int64(2), torch.tensor(1)])
def test_the_large_one_is_outlined_among_the_small(head):
    _, *small = panels(heatmap(headed(head=head)))
    wide = [axes.spines["top"].get_linewidth() > 2 for axes in small]
    assert wide == [k == head for k in range(3)]


def test_the_text_has_the_numbers_of_all_heads_under_their_titles():
    assert headed(caption="Caption.", row_sums=True, digits=1).text() == (
        "     x    y    z   sum\na  3.0  3.5  4.0  10.5\nb  4.5  5.0  5.5  15.0\n"
        "head 1\n     x    y    z  sum\na  0.0  0.5  1.0  1.5\nb  1.5  2.0  2.5  6.0\n"
        "head 2\n     x    y    z   sum\na  3.0  3.5  4.0  10.5\nb  4.5  5.0  5.5  15.0\n"
        "head 3\n     x    y    z   sum\na  6.0  6.5  7.0  19.5\nb  7.5  8.0  8.5  24.0\n"
        "Caption."
    )


def test_the_alternative_says_how_many_heads_there_are():
    alone = "Query by Key, 2 by 3 numbers; the largest is 5.50 in row b, column z"
    assert headed().alt() == f"{alone}; this is head 2 of 3 heads, shown small beside it."
    assert headed(head=None).alt() == f"{alone}; 3 heads, shown small beside it."


def test_what_is_not_computed_yet_is_not_in_the_heads_either():
    view = headed(shown=[[True] * 3, [False] * 3])
    assert view.scale == (0.0, 7.0)
    for _, head in view.small():
        assert head.colours()[1].tolist() == [NONE] * 3 and NONE not in head.colours()[0]
    assert panels(heatmap(view))[3].images[0].get_array()[1, 2].tolist() == [255, 255, 255]


@pytest.mark.parametrize("many", [1, 2, 5, 16])
@pytest.mark.parametrize("shape", [(1, 12), (12, 1), (6, 6), (64, 64)])
def test_every_number_of_heads_lies_inside_the_picture(many, shape):
    still = heatmap(View(torch.zeros(shape), heads=torch.zeros(many, *shape)), title="T")
    assert len(panels(still)) == many + 1
    still.png()  # lays it out
    boxes = [axes.get_tightbbox() for axes in panels(still)]
    width, height = still.figure.get_size_inches() * still.figure.dpi
    for box in boxes:
        assert box.x0 > -1 and box.y0 > -1 and box.x1 < width + 1 and box.y1 < height + 1
    assert not any(one.overlaps(two) for one, two in itertools.combinations(boxes, 2))


def test_cells_not_computed_yet_are_empty_and_uncounted():
    still = heatmap([[1, 2], [3, 4]], shown=[[True, True], [False, True]], row_sums=True)
    assert shown(still) == [["1.00", "2.00", "3.00"], ["", "4.00", "4.00"]]
    assert panels(still)[0].images[0].get_array()[1, 0].tolist() == [255, 255, 255]
    assert "3.00 " not in repr(still).splitlines()[2]
    assert View([[1.0, 9.0]], shown=[[True, False]]).scale == (0.0, 1.0)
    assert "largest is 1.00" in heatmap([[1, 9]], shown=[[1, 0]]).alt


def test_sums_are_right():
    still = heatmap([[1, 2], [3, 5]], row_sums=True, column_sums=True, digits=0)
    assert shown(still) == [["1", "2", "3"], ["3", "5", "8"], ["4", "7", "11"]]
    assert labels(panels(still)[0].yaxis)[-1] == labels(panels(still)[0].xaxis)[-1] == "sum"


def test_highlights_are_outlined():
    (axes,) = panels(heatmap(weights(3, 3), highlights=[(1, None), (0, -1), (np.int64(2), 0)]))
    at = {(round(p.get_y() + 0.46), round(p.get_x() + 0.46)) for p in axes.patches}
    assert at == {(1, 0), (1, 1), (1, 2), (0, 2), (2, 0)}


@pytest.mark.parametrize("digits", range(7))
def test_minus_zero_is_never_printed(digits):
    values = [[-0.0, -1e-9, -4e-8, 1e-9]]
    assert set(View(values, digits=digits).table()[2][0]) == {f"{0:.{digits}f}"}


@pytest.mark.parametrize(
    "value, text",
    [
        (-1e9, "-1.00e+09"),
        (1e30, "1.00e+30"),
        (1.7e308, "1.70e+308"),
        (2**63 - 1, "9.22e+18"),
        (123456.789, "123456.79"),
        (5e-324, "0.00"),
        (np.inf, "inf"),
        (-np.inf, "-inf"),
        (np.nan, "nan"),
    ],
)
def test_a_number_of_any_size_fits_its_cell(value, text):
    still = heatmap([[value] * 12])
    assert shown(still)[0][0] == text
    still.png()  # lays it out
    renderer = FigureCanvasAgg(still.figure).get_renderer()
    (axes,) = panels(still)
    cell = axes.get_window_extent(renderer).width / 12
    assert axes.texts[0].get_window_extent(renderer).width <= cell


def test_the_text_holds_tokens_numbers_and_caption():
    still = heatmap(weights(6, 6), WORDS, title="Weights", caption="Rows sum to 1.")
    lines = repr(still).splitlines()
    assert lines[0] == "Weights"
    assert lines[1].split() == WORDS
    for word, line, row in zip(WORDS, lines[2:8], weights(6, 6), strict=True):
        assert line.split() == [word, *(f"{x:.2f}" for x in row)]
    assert lines[8] == "Rows sum to 1."
    assert len({len(line) for line in lines[1:8]}) == 1


def test_the_alternative_says_what_it_is_and_the_largest_number():
    alt = heatmap([[0.1, 0.2], [0.9, 0.3]], ["a", "b"], title="T", caption="C.").alt
    assert alt == (
        "Heatmap T: Query by Key, 2 by 2 numbers; the largest is 0.90 in row b, column a. C."
    )


def test_the_bundle_holds_text_png_and_html_with_the_alternative():
    still = heatmap(weights(3, 3), ODD_WORDS["html"], title='"<b>"')
    bundle, metadata = still._repr_mimebundle_()
    assert bundle["text/plain"] == repr(still)
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG\r\n\x1a\n")
    assert metadata["image/png"]["alt"] == still.alt
    alt, source = re.fullmatch(
        r'<img alt="([^"<>]*)" width="\d+" src="data:image/png;base64,([^"]*)">',
        bundle["text/html"],
    ).groups()
    assert html.unescape(alt) == still.alt
    assert source == bundle["image/png"]


def test_the_same_input_gives_the_same_bytes():
    one, two = (heatmap(weights(2, 2, 2), title="T") for _ in range(2))
    assert one.png() == two.png() == one.png()
    assert heatmap([[0.1]]).png() != heatmap([[0.2]]).png()


@pytest.mark.parametrize("words", ODD_WORDS.values(), ids=ODD_WORDS)
def test_words_are_shown_as_they_are(words, capsys):
    still = heatmap(weights(3, 3), words, title=words[0], axes=words[:2], caption=words[2])
    assert still.png().startswith(b"\x89PNG")
    assert not any(text.get_parse_math() for text in still.figure.findobj(texts_with_words(words)))
    assert capsys.readouterr() == ("", "")
    if max(map(len, words)) < 25 and words[0] != "\ud800":
        assert labels(panels(still)[0].xaxis) == words
        assert all(word in repr(still) for word in words)


def texts_with_words(words):
    return lambda artist: isinstance(artist, Text) and artist.get_text() in set(words) - {""}


def test_a_line_break_in_a_token_does_not_break_the_table():
    still = heatmap(weights(3, 3), ["\n", "a\tb", "\u2028"])
    assert len(repr(still).splitlines()) == 4
    assert labels(panels(still)[0].xaxis) == ["\\n", "a\\tb", "\\u2028"]


@pytest.mark.parametrize("columns", [1, 5, 13])
def test_long_names_stay_inside_the_picture(columns):
    still = heatmap(weights(1, columns), ["x" * 100], keys=["y" * 100] * columns)
    still.png()  # lays it out
    box = still.figure.get_tightbbox(FigureCanvasAgg(still.figure).get_renderer())
    width, height = still.figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.15  # inches; hinting differs
    assert labels(panels(still)[0].yaxis) == ["x" * 23 + "…"]


def test_names_too_wide_for_the_picture_print_no_warning():
    assert heatmap([[1.0]], ["W" * 100]).png().startswith(b"\x89PNG")


# --- what it takes ---


@pytest.mark.parametrize(
    "kind",
    [
        torch.Tensor.half,
        torch.Tensor.bfloat16,
        torch.Tensor.double,
        torch.Tensor.numpy,
        torch.Tensor.tolist,
        torch.Tensor.requires_grad_,
        torch.nn.Parameter,
        torch.Tensor.to_sparse,
        list,
        lambda t: [[x for x in row] for row in t.requires_grad_()],
        lambda t: t.numpy().astype(np.float16),
        lambda t: t[None],
        lambda t: t[None, None],
    ],
)
def test_numbers_of_any_kind(kind):
    expected = [["0.25", "0.75"], ["0.50", "1.00"]]
    assert shown(heatmap(kind(torch.tensor([[0.25, 0.75], [0.5, 1.0]])))) == expected


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.int64, torch.float8_e4m3fn])
def test_whole_numbers_and_truth(kind):
    assert shown(heatmap(torch.eye(2).to(kind))) == [["1.00", "0.00"], ["0.00", "1.00"]]


def test_nan_and_infinities_are_shown():
    still = heatmap([[np.nan, np.inf], [-np.inf, 0.5]], row_sums=True, column_sums=True)
    assert shown(still)[:2] == [["nan", "inf", "nan"], ["-inf", "0.50", "-inf"]]
    assert View([[np.nan, np.inf, -np.inf, 0]]).colours().tolist() == [[NONE, 254, 0, 0]]
    (axes, *_) = panels(heatmap([[np.nan, 1.0]]))
    assert axes.images[0].get_array()[0, 0].tolist() == [255, 255, 255]
    assert [text.get_color() for text in axes.texts] == ["black", "white"]


@pytest.mark.parametrize("high", [1.7e308, 1e-300, 5e-324])
def test_colours_of_numbers_at_the_ends_of_float(high):
    assert View([[high, -high, 0]]).colours().tolist() == [[254, 0, 127]]


def test_the_attentions_of_a_hugging_face_model():
    attentions = tuple(weights(1, 2, 3, 3).requires_grad_() for _ in range(4))
    titles = [axes.get_title() for axes in panels(heatmap(attentions, ["a", "b", "c"]))]
    assert titles == [f"Layer {i}, Head {j}" for i in (1, 2, 3, 4) for j in (1, 2)]


def test_the_weights_of_multihead_attention():
    attention, x = torch.nn.MultiheadAttention(4, 2, batch_first=True), torch.rand(1, 3, 4)
    _, averaged = attention(x, x, x)
    _, per_head = attention(x, x, x, average_attn_weights=False)
    assert len(panels(heatmap(averaged))) == 1
    assert len(panels(heatmap(per_head))) == 2


@pytest.mark.parametrize("shape", [(1, 1), (1, 20), (20, 1), (64, 64), (1, 1, 1, 1)])
def test_shapes_at_the_edge(shape):
    assert heatmap(torch.rand(shape)).png().startswith(b"\x89PNG")


@pytest.mark.parametrize("convert", [torch.Tensor, np.array, list])
def test_the_callers_data_is_neither_changed_nor_kept(convert):
    data, names = convert([[0.1, 0.9], [0.2, 0.8]]), ["a", "b"]
    mask, lit = np.ones((2, 2), bool), [[0, 0]]
    view = View(data, names, shown=mask, highlights=lit, row_sums=True)
    before = view.text()
    heatmap(data, names, shown=mask, highlights=lit, row_sums=True).png()
    assert np.array_equal(data, convert([[0.1, 0.9], [0.2, 0.8]]))
    assert (names, mask.all(), lit) == (["a", "b"], True, [[0, 0]])
    data[0][0], names[0], mask[0], lit[0][0] = 5, "changed", False, 1
    assert view.text() == before
    assert view.highlights == {(0, 0)}


def test_a_dict_names_its_matrices():
    still = heatmap({"before": [[0.5]], "after": [[3.0]]}, ["a"])
    assert repr(still).split() == "before a a 0.50 after a a 3.00".split()
    assert still.alt.startswith("2 heatmaps on one colour scale, from before to after. ")
    assert [axes.get_title() for axes in still.figure.axes] == ["before", "after"]
    half, full = (axes.images[0].get_array()[0, 0].tolist() for axes in still.figure.axes)
    assert half != full  # one scale for both


@pytest.mark.parametrize("title", ["$x$", r"$\frac$", "<b>", "\ud800", "a\nb"])
def test_the_titles_of_a_dict_are_shown_as_they_are(title):
    still = heatmap({title: [[0.5]], "after": [[3.0]]}, title=title)
    assert still.png().startswith(b"\x89PNG")
    drawn = still.figure.axes[0].title
    assert drawn.get_text() == title.replace("\ud800", r"\ud800") and not drawn.get_parse_math()


# --- a part ---


def test_a_part_is_the_first_rows_and_columns_and_says_so():
    heads = torch.arange(2 * 5 * 4).view(2, 5, 4)
    view = View(
        heads[1], list("abcde"), keys=list("wxyz"), caption="Caption.", heads=heads, head=1,
        highlights=[(1, None), (4, 0), (0, 3)], shown=torch.ones(5, 4).tril(), digits=1,
        axes=("Row", "Column"), explain=lambda i, j: f"{i} {j}",
    )  # fmt: skip
    part = view.part(3)
    assert part.matrix.tolist() == heads[1, :3, :3].tolist()
    assert part.heads.tolist() == heads[:, :3, :3].tolist()
    assert part.shown.tolist() == (torch.ones(3, 3).tril() == 1).tolist()
    assert (part.tokens, part.keys) == (list("abc"), list("wxy"))
    assert part.highlights == {(1, 0), (1, 1), (1, 2)}
    assert part.caption == "Rows 0 to 2 and columns 0 to 2 of (5, 4). Caption."
    same = ["head", "digits", "axes", "explain", "scale"]
    assert [getattr(part, name) for name in same] == [getattr(view, name) for name in same]
    assert view.part(4).matrix.shape == (4, 4)
    assert view.part(5) is view and view.part(512) is view


def test_a_part_of_a_row_has_no_sum():
    for most, rows, columns in [(4, True, True), (3, True, False), (2, False, False)]:
        part = View(torch.ones(4, 3), row_sums=True, column_sums=True).part(most)
        assert (part.row_sums, part.column_sums) == (rows, columns)


@pytest.mark.parametrize("shape", [(64, 64), (65, 3), (3, 65), (512, 512), (1, 600)])
def test_the_text_has_64_rows_and_columns_at_most_and_says_so(shape):
    rows, columns = (min(n, 64) for n in shape)
    matrix = torch.rand(shape)
    lines = View(matrix, caption="Caption.").text().splitlines()
    names, *table = (line.split() for line in lines[: rows + 1])
    assert names == [str(j) for j in range(columns)]
    assert table == [
        [str(i), *(f"{x:.2f}" for x in row[:columns])] for i, row in enumerate(matrix[:rows])
    ]
    part = f"Rows 0 to {rows - 1} and columns 0 to {columns - 1} of {shape}. "
    assert lines[rows + 1 :] == [part * (max(shape) > 64) + "Caption."]


def test_a_views_matrix_is_its_own():
    array = np.ones((2, 2))
    assert not np.shares_memory(View(array).matrix, array)
    tensor = torch.ones(2, 2, dtype=torch.float64)
    assert not np.shares_memory(View(tensor).matrix, tensor.numpy())


def test_a_view_is_drawn_as_it_is():
    assert "0.250" in repr(heatmap(View([[0.25]], digits=3), title="T"))


# --- what it refuses ---

CYCLE = []
CYCLE.append(CYCLE)
REFUSED = {
    "None": (dict(weights=None), "weights is None; a matrix of numbers is expected"),
    "a text": (dict(weights="abc"), "a matrix of numbers is expected"),
    "a number": (dict(weights=5), "one matrix is expected, (rows, columns); the shape is ()."),
    "a set": (dict(weights={1}), "a matrix of numbers is expected"),
    "words": (dict(weights=[["a", "b"]]), "a matrix of numbers is expected"),
    "a hole": (dict(weights=[[1, None]]), "a matrix of numbers is expected"),
    "10**30 as int": (dict(weights=[[10**30]]), "a matrix of numbers is expected"),
    "ragged": (dict(weights=[[1, 2], [3]]), "the rows of weights differ in length"),
    "ragged tensors": (
        dict(weights=[torch.ones(2), torch.ones(3)]),
        "the rows of weights differ in length",
    ),
    "a cycle": (dict(weights=CYCLE), "the rows of weights differ in length"),
    "complex": (dict(weights=torch.zeros(2, 2, dtype=torch.cfloat)), "complex numbers"),
    "complex numpy": (dict(weights=np.zeros((2, 2), complex)), "complex numbers"),
    "meta": (dict(weights=torch.zeros(2, 2, device="meta")), "cannot be read"),
    "nothing": (dict(weights=[]), "nothing to show"),
    "0 tokens": (dict(weights=torch.zeros(2, 0, 0)), "0 tokens"),
    "0 heads": (dict(weights=torch.zeros(0, 2, 2)), "nothing to show"),
    "a batch": (dict(weights=torch.zeros(2, 3, 4, 4)), "a batch of 2"),
    "layers that differ": (
        dict(weights=(torch.zeros(1, 2, 3, 3), torch.zeros(1, 3, 3, 3))),
        "the layers differ",
    ),
    "output and weights": (
        dict(weights=(torch.zeros(1, 3, 8), torch.zeros(1, 3, 3))),
        "the layers differ",
    ),
    "5000 rows": (dict(weights=torch.zeros(5000, 1)), "too many for one picture"),
    "500 heads": (dict(weights=torch.zeros(500, 12, 12)), "too many for one picture"),
    "few tokens": (dict(tokens=["a"]), "tokens has 1 names; 3 are needed"),
    "many tokens": (dict(tokens=list("abcd")), "tokens has 4 names; 3 are needed"),
    "tokens as one text": (dict(tokens="abc"), "tokens is one text, 'abc'"),
    "tokens as bytes": (dict(tokens=b"abc"), "tokens is one text"),
    "tokens as number": (dict(tokens=5), "tokens is 5; a list of 3 words is expected"),
    "few keys": (dict(keys=["a"]), "keys has 1 names; 3 are needed"),
    "names of a vector": (
        dict(weights=[1, 2, 3], tokens=["a", "b"]),
        "tokens has 2 names; 3 are needed",
    ),
    "one axis": (dict(axes=("a",)), "axes has 1 names; 2 are needed"),
    "axes as text": (dict(axes="ab"), "axes is one text"),
    "digits": (dict(digits=7), "digits is '7'; a whole number from 0 to 6"),
    "digits as bool": (dict(digits=True), "digits is 'True'"),
    "digits as text": (dict(digits="2"), "digits is '2'"),
    "scale reversed": (dict(scale=(1, 0)), "two numbers (low, high)"),
    "scale huge": (dict(scale=(0, 10**400)), "two numbers (low, high)"),
    "scale nan": (dict(scale=(0, np.nan)), "two numbers (low, high)"),
    "scale one": (dict(scale=5), "two numbers (low, high)"),
    "scale text": (dict(scale="ab"), "two numbers (low, high)"),
    "highlight outside": (dict(highlights=[(3, 0)]), "a list of (row, column)"),
    "highlight pair": (dict(highlights=(1, 2)), "a list of (row, column)"),
    "highlight half": (dict(highlights=[(1.7, 0)]), "a list of (row, column)"),
    "highlight inf": (dict(highlights=[(np.inf, 0)]), "a list of (row, column)"),
    "shown": (dict(shown=torch.ones(2, 2)), "shown has the shape (2, 2), the matrix (3, 3)"),
    "shown words": (dict(shown="yes"), "shown is str"),
    "a sum of what": (dict(row_sums=torch.ones(3)), "True or False is expected"),
    "explain": (dict(explain="because"), "explain should be a function"),
    "heads of other rows": (dict(heads=torch.zeros(2, 2, 3)), "heads has the shape (2, 2, 3);"),
    "one head": (dict(heads=torch.zeros(3, 3)), "(heads, 3, 3) with 1 to 16 heads is expected"),
    "no heads": (dict(heads=torch.zeros(0, 3, 3)), "heads has the shape (0, 3, 3)"),
    "17 heads": (dict(heads=torch.zeros(17, 3, 3)), "with 1 to 16 heads is expected"),
    "heads as a number": (dict(heads=5), "heads has the shape ()"),
    "heads as words": (dict(heads="ab"), "heads is str ('ab'); a matrix of numbers is expected"),
    "head outside": (
        dict(heads=torch.zeros(2, 3, 3), head=2),
        "head is 2; one of 2 heads, counted from 0, or None is expected",
    ),
    "head negative": (dict(heads=torch.zeros(2, 3, 3), head=-1), "head is -1; one of 2 heads"),
    "head as bool": (dict(heads=torch.zeros(2, 3, 3), head=True), "head is True; one of 2"),
    "head as text": (dict(heads=torch.zeros(2, 3, 3), head="1"), "head is 1; one of 2 heads"),
    "head without heads": (dict(head=0), "head is 0; one of 0 heads"),
    "heads beside several": (
        dict(weights=torch.zeros(2, 3, 3), heads=torch.zeros(2, 3, 3)),
        "heads are drawn beside one matrix; there are several",
    ),
    "a dict of two shapes": (
        dict(weights={"before": torch.zeros(2, 2), "after": torch.zeros(3, 3)}),
        "one shape are expected, side by side; got before (2, 2), after (3, 3)",
    ),
    "an empty dict": (dict(weights={}), "one shape are expected, side by side; got {}"),
    "unknown option": (dict(colour="red"), "heatmap has no option 'colour'"),
    "matrix": (dict(matrix=[[1]]), "heatmap has no option 'matrix'"),
    "view with options": (dict(weights=View([[1]]), digits=3), "give its options to View"),
    "view with tokens": (dict(weights=View([[1]]), tokens=["a"]), "give its options to View"),
}


@pytest.mark.parametrize("given, sentence", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_said_in_one_sentence(given, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)) as caught:
        heatmap(**({"weights": torch.zeros(3, 3)} | given))
    assert len(str(caught.value)) < 250
    assert caught.value._render_traceback_() == [f"InputError: {caught.value}"]


def test_none_means_the_default():
    options = dict(title=None, caption=None, highlights=None, axes=None, scale=None, shown=None)
    assert repr(heatmap([[1.0]], **options)) == repr(heatmap([[1.0]]))


def test_a_view_needs_one_matrix():
    with pytest.raises(InputError, match=r"the shape is \(2, 3, 3\). Choose one"):
        View(torch.zeros(2, 3, 3))


def test_a_dot_product_in_full_has_all_its_numbers():
    a, b = torch.tensor([0.55, 0.87, 0.66]), [0.43, 0.15, 0.89]
    text = dot_in_full(a, b)
    assert text == "0.55 × 0.43 + 0.87 × 0.15 + 0.66 × 0.89"
    terms = [part.split(" × ") for part in text.split(" + ")]
    assert sum(float(x) * float(y) for x, y in terms) == pytest.approx(float(a @ torch.tensor(b)))
    assert dot_in_full(range(8), range(8)).count("×") == 8
    assert dot_in_full(range(9), range(9)).endswith("7.00 × 7.00 + …")
    with pytest.raises(InputError, match="of one length are expected, not of 2 and 3"):
        dot_in_full([1, 2], [1, 2, 3])


def test_softmax_in_full_gives_the_weight():
    scores = torch.tensor([0.95, 1.50, -torch.inf, 2.75])
    for j, weight in enumerate(torch.softmax(scores, dim=-1).tolist()):
        score, top, total = re.fullmatch(
            r"exp\((\S+) - (\S+)\) / (\S+)", softmax_in_full(scores, j)
        ).groups()
        assert math.exp(float(score) - float(top)) / float(total) == pytest.approx(weight, abs=2e-3)
    assert softmax_in_full([-np.inf, -np.inf], 0) == "0 / 0: there is nothing to see"


def test_many_panels_fit_one_picture_without_numbers():
    still = heatmap(tuple(torch.full((1, 12, 12, 12), 0.5) for _ in range(12)))
    assert len(still.figure.axes) == 144 + 1
    assert not any(axes.texts for axes in still.figure.axes)
    assert max(still.figure.get_size_inches()) < 40
    assert "Layer 12, Head 12" in repr(still)
