"""What the still picture shows, read from its matplotlib artists, and what it refuses."""

import base64
import html
import io
import itertools
import re

import matplotlib
import numpy as np
import pytest
import test_view
import torch
from execute import lessons
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from PIL import Image

from helpers import Arcs, InputError, View, heatmap
from helpers.lessons.lesson_10.log import Log
from helpers.lessons.path import course_path
from helpers.pictures.still import MAX_NUMBERS
from helpers.pictures.view import MAX_TEXT, palette
from helpers.tools.path import LESSONS, WIDE, drawn

pytestmark = pytest.mark.filterwarnings("error")  # a warning would land in the cell's output

ODD_WORDS = {
    "html": ["<script>alert(1)</script>", "&amp;", "</td>"],
    "mathtext": ["$x$", r"$\frac$", "100$"],
    "right to left": ["שלום", "مرحبا", "עולם"],
    "Chinese and emoji": ["注意力", "👩‍🚀", "é"],
    "empty": ["", "", ""],
    "long": ["x" * 100, "注" * 100, "W" * 100],
    "half a pair": ["\ud800", "a", "b"],
    "lines": ["a\nb", "c", "d"],
}

CORE = range(1, 11)  # lessons that show the path


def weights(*shape):
    torch.manual_seed(0)
    return torch.softmax(torch.rand(*shape), -1)


def panels(still):
    """Return the axes that have a matrix, without those of a colour bar."""
    return [axes for axes in still.figure.axes if axes.images]


def numbers(axes):
    """Return {(row, column): text in the cell}."""
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t for t in axes.texts}


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def colours(axes):
    """Return the red of each cell, as rows."""
    return axes.images[0].get_array()[..., 0].tolist()


def red(number, high):
    return int(palette()[0][round(number / high * 254)][1:3], 16)


# --- what it shows ---


def test_row_0_is_on_top_and_the_axes_are_query_and_key():
    (axes,) = panels(heatmap([[0.1, 0.9], [0.3, 0.7]], ["a", "b"]))
    top, bottom = (axes.transData.transform((0, row))[1] for row in (0, 1))
    assert top > bottom
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("Query", "Key")
    assert labels(axes.yaxis) == labels(axes.xaxis) == ["a", "b"]
    assert numbers(axes)[0, 1].get_text() == "0.90"


@pytest.mark.parametrize(
    "shape, readable", [((3, 12), True), ((3, 13), False), ((64, 3), True), ((65, 3), False)]
)
def test_numbers_up_to_12_columns_and_64_rows_then_a_colour_bar(shape, readable):
    assert (MAX_NUMBERS, MAX_TEXT) == (12, 64)
    still = heatmap(weights(*shape))
    assert len(numbers(panels(still)[0])) == readable * shape[0] * shape[1]
    assert len(still.figure.axes) == 2 - readable


@pytest.mark.parametrize("shape", [(1, 1), (512, 12), (3, 512), (5000, 1)])
def test_every_shape_is_a_picture_no_larger_than_a_page(shape):
    still = heatmap(weights(*shape))
    assert still.png().startswith(b"\x89PNG") and max(still.figure.get_size_inches()) < 12


def test_a_sum_is_no_column_more_to_read():
    few = heatmap(weights(12, 12), row_sums=True, column_sums=True)
    many = heatmap(weights(13, 13), row_sums=True, column_sums=True)
    assert len(numbers(panels(few)[0])) == 13 * 13
    assert panels(many)[0].images[0].get_array().shape[:2] == (13, 13)  # no empty column
    assert "sum" in repr(many)


def test_cells_have_their_numbers_and_colours_and_the_rest_its_pattern():
    view = View(
        [[1, 4, 0], [np.nan, 9, 2]], list("ab"), keys=list("xyz"), highlights=[(1, None)],
        shown=[[1, 1, 1], [1, 0, 1]], row_sums=True, digits=1,
        marked={"masked": [[0, 0, 1], [0, 0, 0]], "$dropped": [[0, 0, 1], [0, 0, 1]]},
    )  # fmt: skip
    (axes,) = panels(heatmap(view))
    assert [[numbers(axes)[i, j].get_text() for j in range(4)] for i in range(2)] == view.table()[2]
    assert (labels(axes.yaxis), labels(axes.xaxis)) == view.table()[:2]
    assert colours(axes) == [[red(1, 4), red(4, 4), 255, 255], [255, 255, 255, 255]]
    found = {place for place, text in numbers(axes).items() if text.get_color() == "white"}
    assert found == {(0, 1)}, "the others would not be read"
    place = {
        patch: (round(patch.get_y() + 0.48), round(patch.get_x() + 0.48)) for patch in axes.patches
    }
    assert {place[p] for p in place if not p.fill} == {(1, 0), (1, 1), (1, 2)}
    (legend,) = axes.figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    looks = {p: (p.get_facecolor(), p.get_hatch()) for p in [*place, *legend.get_patches()]}
    kinds = {looks[p]: word for p, word in zip(legend.get_patches(), words, strict=True)}
    shown = {place[p]: kinds.get(looks[p], "none") for p in place if p.fill}
    right = {(0, 2): "masked", (1, 2): "$dropped", (1, 0): "none", (1, 1): "none"}
    assert shown == right, "as on the page: the first word counts"
    names = [*axes.get_xticklabels(), *axes.get_yticklabels(), *legend.get_texts()]
    assert min(name.get_fontsize() * 80 / 72 for name in names) > 12, "pixels, as on the page"


@pytest.mark.parametrize("head, scale", [(1, None), (None, (0, 10)), (np.int64(2), None)])
def test_the_small_heads_are_drawn_on_the_scale_of_the_large_one_which_is_outlined(head, scale):
    view = test_view.headed(head=head, scale=scale)
    large, *small = panels(heatmap(view))
    assert [axes.get_title() for axes in small] == ["head 1", "head 2", "head 3"]
    for axes, matrix in zip([large, *small], [view.matrix, *view.heads], strict=True):
        assert colours(axes) == [[red(x, view.scale[1]) for x in row] for row in matrix]
    assert not any(axes.texts for axes in small)
    wide = [axes.spines["top"].get_linewidth() > 2 for axes in small]
    assert wide == [k == head for k in range(3)]


@pytest.mark.parametrize("shape, many", [((1, 12), 5), ((6, 6), 16)])
def test_every_number_of_heads_lies_inside_the_picture(many, shape):
    still = heatmap(View(torch.zeros(shape), heads=torch.zeros(many, *shape)), title="T")
    assert len(panels(still)) == many + 1
    still.png()  # so that it is laid out
    boxes = [axes.get_tightbbox() for axes in panels(still)]
    width, height = still.figure.get_size_inches() * still.figure.dpi
    for box in boxes:
        assert box.x0 > -1 and box.y0 > -1 and box.x1 < width + 1 and box.y1 < height + 1
    assert not any(one.overlaps(two) for one, two in itertools.combinations(boxes, 2))


def test_the_bundle_holds_text_png_and_html_with_the_alternative():
    still = heatmap(weights(3, 3), ODD_WORDS["html"], title='"<b>"', caption="a < b")
    bundle, metadata = still._repr_mimebundle_()
    assert bundle["text/plain"] == repr(still)
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG\r\n\x1a\n")
    assert metadata["image/png"]["alt"] == still.alt
    alt, source, caption = re.fullmatch(
        r'<div style="[^"<>]*">'
        r'<img alt="([^"<>]*)" width="\d+" src="data:image/png;base64,([^"]*)">'
        r'<p style="margin: 0">([^<>]*)</p></div>',
        bundle["text/html"],
    ).groups()
    assert html.unescape(alt) == still.alt
    assert html.unescape(caption) == still.caption == metadata["image/png"]["caption"] == "a < b"
    assert source == bundle["image/png"]


@pytest.mark.parametrize("words", ODD_WORDS.values(), ids=ODD_WORDS)
def test_words_are_shown_as_they_are(words, capsys):
    both = {words[0]: weights(3, 3), "after": weights(3, 3)}
    still = heatmap(both, words, title=words[0], axes=words[:2], caption=words[2])
    assert still.png().startswith(b"\x89PNG")
    assert panels(still)[0].get_title() == words[0].replace("\ud800", r"\ud800")
    assert not any(text.get_parse_math() for text in still.figure.findobj(texts_with_words(words)))
    assert capsys.readouterr() == ("", "")
    if max(map(len, words)) < 25 and words[0] not in ("\ud800", "a\nb"):
        assert labels(panels(still)[0].xaxis) == [word or "''" for word in words]
        assert all(word in repr(still) for word in words)


READERS = {  # settings that spoil a picture of ours, or draw it differently
    "text.usetex": True,  # without LaTeX
    "font.family": "no such font",
    "font.size": 30,
    "figure.autolayout": True,
    "figure.dpi": 300,
    "image.origin": "lower",
    "savefig.bbox": "tight",
    "savefig.transparent": True,
    "axes.grid": True,
    "axes.facecolor": "black",
    "axes.formatter.limits": (0, 0),
    "path.sketch": (1, 100, 2),  # as plt.xkcd() sets it
}


@pytest.mark.parametrize("make", [
    lambda: heatmap(weights(3, 3), ["a", "b", "c"], title="three"),
    lambda: heatmap(weights(13, 13)),
    lambda: heatmap(View(weights(3, 3), heads=weights(4, 3, 3), marked={"no": np.eye(3)})),
    lambda: heatmap(Arcs(weights(3), ["a", "b", "c"]), title="arcs"),
    lambda: course_path("scores"),
    lambda: Log(1).still(),
])  # fmt: skip
def test_a_picture_is_drawn_with_the_settings_of_matplotlib_and_the_reader_keeps_theirs(make):
    plain = make().png()
    with matplotlib.rc_context(READERS):
        theirs = dict(matplotlib.rcParams)
        assert make().png() == plain
        with pytest.raises(InputError):
            heatmap([])
        assert dict(matplotlib.rcParams) == theirs


@pytest.mark.parametrize("masked", [np.ma.masked_all((3, 2, 2)), np.ma.masked_all((2, 2))])
def test_what_numpys_mask_hides_is_not_drawn(masked):
    masked[..., 0] = 0.77
    still = heatmap(masked, list("ab"))
    for axes in panels(still):
        texts = [[numbers(axes)[i, j].get_text() for j in range(2)] for i in range(2)]
        assert texts == [["0.77", ""]] * 2
        assert [row[1] for row in colours(axes)] == [255, 255]
    assert repr(still).count("0.77") == 2 * len(panels(still)) and "masked" not in repr(still)


def texts_with_words(words):
    return lambda artist: isinstance(artist, Text) and artist.get_text() in set(words) - {""}


def test_a_number_of_any_size_fits_its_cell():
    still = heatmap([[-1e9, 123456.789] * 6])
    still.png()  # so that it is laid out
    renderer = FigureCanvasAgg(still.figure).get_renderer()
    (axes,) = panels(still)
    cell = axes.get_window_extent(renderer).width / 12
    assert all(text.get_window_extent(renderer).width <= cell for text in axes.texts)


@pytest.mark.parametrize("columns", [1, 13])
def test_long_names_stay_inside_the_picture(columns):
    still = heatmap(weights(1, columns), ["x" * 100], keys=["y" * 100] * columns)
    still.png()  # so that it is laid out
    box = still.figure.get_tightbbox(FigureCanvasAgg(still.figure).get_renderer())
    width, height = still.figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.15  # inches; hinting differs
    assert labels(panels(still)[0].yaxis) == ["x" * 23 + "…"]


# --- what it takes ---


def test_a_dict_names_its_matrices():
    still = heatmap({"before": [[0.5]], "after": [[3.0]]}, ["a"])
    assert repr(still).split() == "before a a 0.50 after a a 3.00".split()
    assert still.alt.startswith("2 heatmaps on one colour scale, from before to after. ")
    assert [axes.get_title() for axes in still.figure.axes] == ["before", "after"]
    half, full = (axes.images[0].get_array()[0, 0].tolist() for axes in still.figure.axes)
    assert half != full  # so they share one scale


# --- what it refuses ---

REFUSED = [
    (dict(weights=None), "real numbers are expected"),
    (dict(weights=torch.zeros(2, 0, 0)), "there is nothing to show"),
    (dict(weights=torch.zeros(2, 3, 4, 4)), "the shape is (3, 4, 4)"),
    (dict(weights=View([[1]]), digits=3), "pass the options to View"),
]


@pytest.mark.parametrize("given, sentence", REFUSED, ids=lambda x: str(x)[:40])
def test_what_cannot_be_drawn_is_said_in_one_sentence(given, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)) as caught:
        heatmap(**{"weights": torch.zeros(3, 3)} | given)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("part", LESSONS)
def test_the_path_lights_one_part_and_its_words_fit_their_box(part):
    still = drawn(part)
    canvas, texts = FigureCanvasAgg(still.figure), still.figure.axes[0].texts
    lit = [text.get_text() for text in texts if text.get_weight() == "bold"]
    added = " ".join(sorted(lit, key=str.isdigit)).removeprefix(f"{LESSONS[part]}: ")
    added = added.removesuffix(f" {LESSONS[part]}")
    assert f" This lesson adds {added} ({LESSONS[part]})." in still.alt
    assert all(still.alt.count(f"({lesson})") == 1 for lesson in range(1, 11))
    assert still.figure.get_figwidth() * 80 <= 350, "a phone has room for it"
    canvas.draw()
    box = WIDE * still.figure.get_dpi() / 80
    widths = {t.get_text(): t.get_window_extent().width for t in texts}
    assert all(wide < box for text, wide in widths.items() if ":" not in text), widths


@pytest.mark.parametrize("part", LESSONS)
def test_the_path_that_lessons_show_is_the_one_that_is_drawn(part):
    kept, still = course_path(part), drawn(part)
    assert (repr(kept), kept.alt, kept.width) == (repr(still), still.alt, still.width)
    pixels, drawn_now = (
        np.asarray(Image.open(io.BytesIO(one.png())).convert("RGB"), dtype=float)
        for one in (kept, still)
    )
    assert pixels.shape == drawn_now.shape, "run: python -m helpers.tools.path"
    assert abs(pixels - drawn_now).mean() < 1, "run: python -m helpers.tools.path"


def test_each_lesson_lights_its_part_of_the_path():
    lit = {}
    for path in lessons():
        parts = re.findall(r"course_path\(\W+([a-z ]+)\W+\)", path.read_text(encoding="utf-8"))
        lit[int(path.name[:2])] = [LESSONS[part] for part in parts]
    assert [lit[lesson] for lesson in CORE] == [[lesson] for lesson in CORE]
