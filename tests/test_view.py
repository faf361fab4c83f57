"""What a view says about a matrix, in names, numbers, colours and text; and what it refuses."""

import itertools
import math
import re

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from helpers import Arcs, Blend, InputError, Prefixes, Shadow, Strip, Tiles, View, explore, predict
from helpers.lessons.in_full import dot_in_full, softmax_in_full
from helpers.pictures.view import NONE, palette, side_by_side


def luminance(colour):
    rgb = np.array(to_rgb(colour) if isinstance(colour, str) else colour)
    parts = np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return parts @ [0.2126, 0.7152, 0.0722]


def headed(**options):
    """Return a view of two by three numbers, which are the second of three heads."""
    heads = np.arange(18).reshape(3, 2, 3) / 2
    return View(heads[1], ["a", "b"], keys=list("xyz"), heads=heads, **{"head": 1} | options)


# --- colours ---


def test_lightness_falls_also_in_grey():
    colours, _ = palette()
    assert len(colours) == 255
    for lightness in luminance, lambda c: np.dot(to_rgb(c), [0.299, 0.587, 0.114]):
        values = list(map(lightness, colours))
        assert all(a >= b for a, b in itertools.pairwise(values))
        # neighbours may be the same, since red, green and blue are rounded to whole numbers
        assert all(a > b for a, b in zip(values, values[2:], strict=False))
        assert len(set(values)) >= 248


def test_every_colour_leaves_a_contrast_of_at_least_4_5_for_its_number():
    colours, white_from = palette()
    for k, colour in enumerate(colours):
        light, dark = sorted([luminance(colour), float(k >= white_from)], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize(
    "matrix, scale, colours",
    [
        ([0.0, 0.5, 1.0], None, [0, 127, 254]),
        ([-3.0, 0.0, 3.0], None, [0, 127, 254]),
        ([0.0, 1.0, 2.0], (0, 1), [0, 127, 254]),  # 2 is darker than 1
        ([np.nan, np.inf, -np.inf, 0], None, [NONE, 254, 0, 0]),
        ([1.7e308, -1.7e308, 0], None, [254, 0, 127]),
    ],
)
def test_the_darkest_cell_is_the_largest_number(matrix, scale, colours):
    found = View([matrix], scale=scale).colours()
    assert (found.tolist(), found.dtype) == ([colours], np.uint8)


def test_a_scale_may_be_too_narrow_on_purpose():
    view = View([[-1.0, 0.0, 1.0, 9.0]], scale=(0, 1), clip=True)
    assert view.scale == (0, 1) and view.colours().tolist() == [[0, 0, 254, 254]]
    assert View([[0.5]], heads=[[[0.5]], [[4.0]]], scale=(0, 1)).scale == (0, 4)


def test_marked_cells_have_their_word_no_colour_and_no_part_in_the_scale():
    hidden, gone = np.triu(np.ones((2, 2)), 1), np.array([[0, 0], [1, 0]])
    view = View([[1, 9], [3, 2]], marked={"masked": hidden, "dropped": gone}, row_sums=True)
    assert view.scale == (0, 2)
    assert view.colours().tolist() == [[127, NONE], [NONE, 254]]
    assert [view.mark(*at) for at in np.ndindex(2, 2)] == ["", "masked", "dropped", ""]
    assert view.text() == View([[1, 9], [3, 2]], row_sums=True).text()
    assert view.alt().endswith("; masked: 1; dropped: 1.")
    hidden[0, 1] = 0
    assert view.mark(0, 1) == "masked", "its own"


def test_what_is_not_computed_yet_has_no_colour_no_number_and_does_not_count():
    view = headed(shown=[[True] * 3, [False] * 3], row_sums=True, column_sums=True)
    assert view.scale == (0.0, 7.0)
    for _, one in [("", view), *view.small()]:
        assert one.colours()[1].tolist() == [NONE] * 3 and NONE not in one.colours()[0]
    assert view.table()[2][1:] == [["", "", "", "0.00"], ["3.00", "3.50", "4.00", "10.50"]]
    assert "the largest is 4.00 in row a" in view.alt()


def test_numpys_masked_cells_stay_empty():
    hidden = np.ma.masked_where(np.triu(np.ones((2, 2)), 1) > 0, [[1.0, 9.0], [3.0, 2.0]])
    view = View(hidden, list("ab"), row_sums=True)
    assert view.table()[2] == [["1.00", "", "1.00"], ["3.00", "2.00", "5.00"]]
    assert "9.00" not in view.text() and "the largest is 3.00 in row b" in view.alt()
    assert view.colours()[0, 1] == NONE and view.scale == (0, 3)
    assert View(hidden, shown=[[1, 1], [0, 1]]).shown.tolist() == [[True, False], [False, True]]
    assert View(hidden[0]).shown.tolist() == [[True, False]]
    assert View(np.ma.array([1, 2])).shown.all()
    assert hidden.mask.tolist() == [[False, True], [False, False]]


# --- numbers and words ---


def test_minus_zero_is_never_printed():
    assert View([[-0.0, -1e-9, -0.04]], digits=1).table()[2] == [["0.0"] * 3]


@pytest.mark.parametrize(
    "value, text",
    [
        (-1e9, "-1.00e+09"),
        (123456.789, "123456.79"),
        (5e-324, "0.00"),
        (np.inf, "inf"),
        (-np.inf, "-inf"),
        (np.nan, "nan"),
    ],
)
def test_a_number_of_any_size_is_short(value, text):
    assert View([[value]]).table()[2] == [[text]]


@pytest.mark.parametrize(
    "matrix, largest, small",
    [
        (np.full((512, 512), 1 / 512), "0.0020", "0.0012"),
        ([[-0.003, 0.004, np.nan, np.inf]], "0.0040", "0.0012"),
        ([[0.99, 0.001], [0.0, 1e-4]], "0.99", "0.00"),
        (np.zeros((2, 2)), "0.00", "0.00"),
        ([[1e-8, 2e-8]], "0.00", "0.00"),  # an error of rounding
        ([[np.nan]], "nan", "0.00"),
    ],
)
def test_where_all_numbers_are_small_they_are_not_all_read_as_0(matrix, largest, small):
    view = View(matrix)
    known = view.matrix[np.isfinite(view.matrix)]
    assert view.number(known.max() if known.size else np.nan) == largest
    assert view.number(0.0012) == small
    assert not known.size or f"the largest is {largest} in" in view.alt()
    assert View(matrix, digits=1).number(0.0012) == "0.0", "as it is told"


def test_sums_are_right():
    view = View([[1, 2], [3, 5]], row_sums=True, column_sums=True, digits=0)
    names = ["0", "1", "sum"]
    assert view.table() == (names, names, [["1", "2", "3"], ["3", "5", "8"], ["4", "7", "11"]])
    view = View([[np.inf, -np.inf], [1, 2]], row_sums=True, column_sums=True)
    assert view.table()[2][0][2] == view.table()[2][2][2] == "nan"


def test_rows_and_columns_have_names():
    for view, names in [
        (View(torch.eye(2), ["a", "b"]), (["a", "b"], ["a", "b"])),
        (View(torch.ones(2, 3), ["a", "b"], ["x", "y", "z"]), (["a", "b"], ["x", "y", "z"])),
        (View(torch.ones(2, 3), keys=["x", "y", "z"]), (["0", "1"], ["x", "y", "z"])),
        (View([1, 2, 3], ["a", "b", "c"]), ([""], ["a", "b", "c"])),
        (View(torch.eye(3), ["\n", "a\tb", "\u2028"]), ([r"\n", r"a\tb", r"\u2028"],) * 2),
        (View([[1]], [torch.tensor(5)]), (["5"], ["5"])),
    ]:
        assert view.table()[:2] == names


SEEN = {  # what is written for a word
    "": "''",
    " ": "' '",
    "\xa0": r"'\xa0'",
    "\u3000": r"'\u3000'",
    "\u200b": r"'\u200b'",
    "\u2800": r"'\u2800'",
    "\t": r"\t",
    "a\u200bb": "a\u200bb",
    "👩\u200d🚀": "👩\u200d🚀",
}


@pytest.mark.parametrize("word", SEEN)
def test_a_word_that_nobody_would_see_is_written_as_python_writes_it(word):
    words, numbers, seen = ["b", word], torch.tensor([[0.2, 0.3], [0.1, 0.9]]), SEEN[word]
    for view in (
        View(numbers, words),
        View(numbers[1], words),
        View(numbers, [3, 4], words, marked={word: numbers < 0.2}),
    ):
        assert seen in view.keys and f"column {seen}" in view.alt() and seen in view.text()
    assert view.mark(1, 0) == seen
    for view in (
        Arcs(numbers[1], words, answers={word: 1}),
        Blend(numbers, words, values=numbers, coordinates=words),
        Prefixes(numbers[:1], words),
        Shadow(numbers, words),
        Strip(numbers[1], words),
    ):
        drawn = [mark.get("text", "") for part in view.sketch() for mark in part.marks]
        assert seen in view.text() and any(seen in text for text in drawn)
    tiles = Tiles([[0, 1], [2, 3]], words, heads=[[[0, 1], [2, 3]]])
    assert tiles._places == Tiles.places(1, words, 2)
    assert tiles._places[-1] == f"head 0, {seen}, number 1"
    live = explore(lambda query: View(numbers, words), query=words)
    assert live.compute({})["panels"][0]["rows"] == ["b", seen]
    assert live.controls[0]["labels"] == ["b", seen], "as the row, whose name is clicked"
    assert predict("Which?", words).asked["choices"] == ["b", seen]


def test_the_only_row_may_have_no_name():
    assert View([1, 2], ["a", "b"]).alt().endswith("the largest is 2.00 in column b.")


@pytest.mark.parametrize("shape", [(64, 64), (65, 3), (1, 600)])
def test_the_text_has_the_numbers_of_at_most_64_rows_and_columns(shape):
    matrix = torch.rand(shape)
    names, *table = (line.split() for line in View(matrix, caption="Caption.").text().splitlines())
    if max(shape) > 64:
        assert [names, *table] == [f"{shape[0]} by {shape[1]} numbers".split(), ["Caption."]]
    else:
        assert names == [str(j) for j in range(shape[1])]
        right = [[str(i), *(f"{x:.2f}" for x in row)] for i, row in enumerate(matrix)]
        assert table == [*right, ["Caption."]]


# --- side by side ---


def test_matrices_side_by_side_have_one_scale_and_views_their_own():
    low, high = [[-2, 0]], [[0, 6]]
    for both, scales in [
        ({"a": low, "b": high}, [(-2, 6), (-2, 6)]),
        ({"a": View(low), "b": high}, [(-2, 0), (0, 6)]),
        ({"a": [[0.5]], "b": [[1]]}, [(0, 1), (0, 1)]),
    ]:
        assert [view.scale for _, view in side_by_side(both)] == scales
    for clip, scale in [(True, (0, 3)), (False, (-2, 6))]:
        views = side_by_side({1: low, 2: high}, scale=(0, 3), clip=clip)
        assert [view.scale for _, view in views] == [scale] * 2
    view = View(low)
    assert side_by_side({5: view}) == [("5", view)]


@pytest.mark.parametrize(
    "matrices, sentence",
    [
        ({"a": [[1]], 2: [[1, 2]]}, "must have one shape; got a (1, 1), 2 (1, 2)"),
        ({}, "must have one shape; got {}"),
    ],
)
def test_what_cannot_stand_side_by_side_is_refused(matrices, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        side_by_side(matrices)


# --- explanations ---


def test_a_dot_product_in_full_has_all_its_numbers():
    a, b = torch.tensor([0.55, 0.87, 0.66]), [0.43, 0.15, 0.89]
    text = dot_in_full(a, b)
    assert text == "0.55 × 0.43 + 0.87 × 0.15 + 0.66 × 0.89"
    terms = [part.split(" × ") for part in text.split(" + ")]
    assert sum(float(x) * float(y) for x, y in terms) == pytest.approx(float(a @ torch.tensor(b)))
    assert dot_in_full(range(8), range(8)).count("×") == 8
    assert dot_in_full(range(9), range(9)).endswith("7.00 × 7.00 + …")


def test_softmax_in_full_gives_the_weight():
    scores = torch.tensor([0.95, 1.50, -torch.inf, 2.75])
    for j, weight in enumerate(torch.softmax(scores, dim=-1).tolist()):
        score, top, total = re.fullmatch(
            r"exp\((\S+) - (\S+)\) / (\S+), where .*", softmax_in_full(scores, j)
        ).groups()
        assert math.exp(float(score) - float(top)) / float(total) == pytest.approx(weight, abs=2e-3)
    assert softmax_in_full([-np.inf, -np.inf], 0) == "0 / 0: there is nothing to see"


def test_softmax_in_full_says_what_its_numbers_are():
    end = "/ 1.43, where 70.70 is the score 0.707 divided by the temperature 0.01"
    assert softmax_in_full([0.707, 0.7154], 0, temperature=0.01) == (
        f"exp(70.70 - 71.54) {end} and 71.54 the largest in its row"
    )
    largest = "where 1.50 is the score, the largest in its row"
    assert softmax_in_full([0.95, 1.5], 1).endswith(largest)


# --- what it takes ---


@pytest.mark.parametrize(
    "kind", [torch.Tensor.bfloat16, torch.Tensor.bool, torch.Tensor.numpy, torch.nn.Parameter, list]
)
def test_numbers_of_any_kind(kind):
    view = View(kind(torch.tensor([[0.0, 1.0], [1.0, 1.0]])))
    assert view.table()[2] == [["0.00", "1.00"], ["1.00", "1.00"]]


@pytest.mark.parametrize("convert", [lambda x: torch.tensor(x).double(), np.array, list])
def test_the_callers_data_is_neither_changed_nor_kept(convert):
    data, names = convert([[0.1, 0.9], [0.2, 0.8]]), ["a", "b"]
    mask, lit = np.ones((2, 2), bool), [[0, 0]]
    view = View(data, names, shown=mask, highlights=lit, row_sums=True)
    before = view.text()
    assert np.array_equal(data, convert([[0.1, 0.9], [0.2, 0.8]]))
    assert (names, mask.all(), lit) == (["a", "b"], True, [[0, 0]])
    data[0][0], names[0], mask[0], lit[0][0] = 5, "changed", False, 1
    assert view.text() == before
    assert view.highlights == {(0, 0)}


def test_highlights_are_cells_rows_and_columns():
    view = View(torch.eye(3), highlights=[(1, None), (0, -1), (np.int64(2), 0)])
    assert view.highlights == {(1, 0), (1, 1), (1, 2), (0, 2), (2, 0)}
    assert View(torch.eye(2), highlights=[(None, 1)]).highlights == {(0, 1), (1, 1)}


# --- what it refuses ---

NO_MATRIX = "real numbers are expected, as a tensor, a numpy array or nested lists."
REFUSED = [
    *((dict(matrix=x), NO_MATRIX) for x in (None, "abc", [[1, None]], [[10**30]], [[1j]])),
    (dict(marked={"a": np.ma.masked_all((3, 3))}), "a has numbers that its mask hides; "),
    (dict(matrix=[np.ma.masked_all(3)] * 3), "the matrix has numbers that its mask hides; "),
    (dict(matrix=5), "one matrix is expected, (rows, columns); the shape is ()."),
    (dict(matrix=torch.zeros(2, 3, 3)), "the shape is (2, 3, 3). Choose a matrix"),
    (dict(matrix=[[1, 2], [3]]), "the rows of the matrix differ in length"),
    (dict(matrix=torch.zeros(0, 3)), "there is nothing to show: the shape is (0, 3), 0 tokens."),
    (dict(tokens=["a"]), "tokens has 1 names; 3 are needed"),
    *((dict(tokens=x), f"tokens is '{x}'; a list of 3 words") for x in ("abc", 5)),
    (dict(keys=["a"]), "keys has 1 names; 3 are needed"),
    *((dict(scale=x), "(low, high) is expected") for x in ((1, 0), (0, np.inf), (0, np.nan))),
    (dict(shown=torch.ones(2, 2)), "shown has the shape (2, 2); the matrix has (3, 3)"),
    (dict(heads=torch.zeros(2, 2, 3)), "heads has the shape (2, 2, 3); up to 16"),
    (dict(heads=torch.zeros(17, 3, 3)), "up to 16 heads of (3, 3)"),
    *((dict(heads=torch.zeros(2, 3, 3), head=k), f"head is {k}; one of 2") for k in (-1, 2)),
    (dict(marked={"a": torch.zeros(2, 3)}), "a has the shape (2, 3); the matrix has (3, 3)"),
    (dict(marked={k: torch.zeros(3, 3) for k in "abcd"}), "marked has 4 kinds; at most 3 fit"),
]


@pytest.mark.parametrize("given, sentence", REFUSED, ids=lambda x: str(x)[:40])
def test_what_does_not_fit_is_said_in_one_sentence(given, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)) as caught:
        View(**{"matrix": torch.zeros(3, 3)} | given)
    assert len(str(caught.value)) < 250
    assert caught.value._render_traceback_() == [f"InputError: {caught.value}"]
