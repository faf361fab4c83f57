"""Drawings: the marks that Python places, the words about them, and the kind with arcs."""

import numpy as np
import pytest
import torch
from asking import change, state
from matplotlib.colors import to_rgb
from test_view import luminance

from helpers import (
    Arcs,
    Broadcast,
    Cache,
    Groups,
    InputError,
    Prefixes,
    Shadow,
    Strip,
    Tiles,
    Turns,
    View,
    explore,
    heatmap,
    load_journey,
    yours,
)
from helpers.lessons.compose import bar, below, beside, tile, written
from helpers.pictures.sketch import ROLES, Sketch

WORDS = "the man took it".split()
LOOK = torch.tensor([0.1, 0.5, 0.4, 0.0])


def marks_of(view, kind):
    return [mark for part in view.sketch() for mark in part.marks if mark["kind"] == kind]


def test_the_heads_beside_a_drawing_are_plain_tables():
    heads = torch.rand(2, 1, 3)
    view = Arcs(heads[1, 0], list("abc"), heads=heads, head=1)
    assert [type(one) for _, one in view.small()] == [View, View]
    assert (view.small()[0][1].matrix == heads[0].double().numpy()).all()


def test_an_arc_is_as_wide_as_its_weight_and_each_word_has_its_number():
    view = Arcs(LOOK, WORDS, answers={"red": 0.75, "blue": 0.25})
    wide = [mark["width"] for mark in marks_of(view, "curve")]
    assert np.allclose(np.diff(sorted(wide)[1:]), 8 * np.diff([0.1, 0.4, 0.5]), atol=0.11)
    for digits in (1, 2, 3):
        few = Arcs([0.9, 0.04, 0.06, 0.004], WORDS, digits=digits)
        numbers = [float(mark["text"]) for mark in marks_of(few, "text")[1::2]]
        drawn = [mark["width"] > 0 for mark in marks_of(few, "curve")]
        assert drawn == [number > 0 for number in numbers], "an arc for each number but 0"
    texts = [mark["text"] for mark in marks_of(view, "text")]
    assert texts[:8] == ["the", "0.10", "man", "0.50", "took", "0.40", "it", "0.00"]
    assert texts[8:] == ["model says", "red", "0.75", "blue", "0.25"]
    roles = {mark["text"]: mark["role"] for mark in marks_of(view, "text")}
    assert (roles["it"], roles["man"]) == ("query strong under", "key strong")
    assert [mark["at"][2] - mark["at"][0] for mark in marks_of(view, "area")] == [90, 30]


def test_only_arcs_to_words_that_stand_out_are_strong():
    below = np.tri(4) / [[1], [2], [3], [4]]
    for look, man in (LOOK, "key"), ([0.25] * 4, "rest"):
        roles = [arc["role"] for arc in marks_of(Arcs(look, WORDS, below=below), "curve")]
        assert roles == ["rest"] * 4 + [man] * 4 + ["rest"] * 8 + ["key"] * 4


@pytest.mark.parametrize(
    "given, options, sentence",
    [
        (np.eye(4), {}, r"shape \(4, 4\); \(n,\) is expected"),
        ([0.5, 1.5, 0, 0], {}, "weights has a number outside 0 to 1"),
        ([0.5, -0.5, 0, 0], {}, "weights has a number outside 0 to 1"),
        (LOOK, {"query": 4}, "query is 4; an index from 0 to 3"),
        (LOOK, {"keys": 2}, "use query= to choose the word that looks"),
        (LOOK, {"below": np.eye(3)}, r"below has the shape \(3, 3\); \(4, 4\) is expected"),
        (LOOK, {"answers": {"red": 2}}, "shares from 0 to 1"),
        (LOOK, {"answers": ["red"]}, "shares from 0 to 1"),
    ],
)
def test_what_cannot_be_arcs_is_refused_with_what_is_expected(given, options, sentence):
    with pytest.raises(InputError, match=sentence):
        Arcs(given, WORDS, **options)


@pytest.mark.parametrize(
    "now, states, alt",
    [
        ([[1, 1, 0], [1, 1, 0], [0] * 3], "new new, new new, new new", "key 2, value 2; kept"),
        ([[0] * 3, [1, 1, 0], [0] * 3], "gone new, kept new, kept new", "kept: query 0, key 1"),
    ],
)
def test_what_is_computed_kept_and_thrown_away_is_told_by_the_scores_of_now(now, states, alt):
    view = Cache([[2, 1, 0], [1, 1, 0], [0, 0, 0]], WORDS[:3], now=now, digits=0, caption="So.")
    texts = [mark["text"] for mark in marks_of(view, "text")]
    columns = [" ".join(texts[k : k + 4]).strip() for k in (3, 7, 11)]  # after the words
    roles = zip(("query", "key", "value"), states.split(", "), strict=True)
    assert columns == [f"{role} {found}" for role, found in roles]
    lines = [mark for mark in marks_of(view, "line") if mark["role"] == "rest"]
    assert [mark["opacity"] > 0 for mark in lines] == np.ravel(now).astype(bool).tolist()
    assert alt in view.alt() and view.alt().endswith(f"{np.sum(now)} scores. So.")
    assert view.text().splitlines()[1].split() == ["the", "2", "1", "0"]


@pytest.mark.parametrize(
    "divisor, given, numbers",
    [
        ([6, 14], "6.00 14.00", ["2.00 / 6.00 = 0.33, 4.00 / 14.00 = 0.29"]),
        ([[6], [14]], "6.00 14.00", ["2.00 / 6.00 = 0.33, 4.00 / 6.00 = 0.67"]),
        ([[1, 2], [3, 4]], "1.00 2.00 3.00 4.00", ["2.00 / 1.00 = 2.00, 4.00 / 2.00 = 2.00"]),
    ],
)
def test_what_is_repeated_is_framed_where_it_was_given_only(divisor, given, numbers):
    table = np.array([[2.0, 4.0], [6.0, 8.0]])
    view = Broadcast(table / np.array(divisor), dividend=table, divisor=divisor)
    assert view.numbers()[:1] == numbers and view.alt().startswith(*numbers)
    framed = [mark["text"] for mark in marks_of(view, "text") if mark["role"].endswith(" strong")]
    assert " ".join(framed) == f"/ {given} ="
    frames = [mark["width"] > 0 for mark in marks_of(view, "line")]
    assert sum(frames) == len(given.split())


def test_a_beginning_without_its_next_word_says_so():
    rows = [[0.5], [0.25], [0.1]]
    shown, none = (Prefixes(rows, WORDS, keys=["chance"], shown=[[k]] * 3) for k in (1, 0))
    assert shown.alt().startswith(
        "Beginnings and next words: the → man, 0.50; the man → took, 0.25"
    )
    assert none.alt() == "Beginnings and next words: none is shown yet."
    words = [(m["text"], m.get("opacity", 1)) for m in marks_of(none, "text") if m["text"]]
    assert ("took", 0) in words and ("took", 1) in words, "it keeps its place among the marks"


def test_what_is_composed_stands_side_by_side_or_one_below_the_other():
    words = [written(text, 40, 20, side="left") for text in "abc"]
    row = beside(words[0], 7, words[1], words[2])
    assert row.size == (127, 20) and [mark["at"] for mark in row.marks] == [
        [0, 10],
        [47, 10],
        [87, 10],
    ]
    column = below(words[0], 7, tile("b", 50, 30, "key", free=3), row)
    assert column.size == (127, 77)
    box, _, text, *_ = column.marks[1:]
    assert box["at"] == [3, 30, 47, 30, 47, 54, 3, 54] and text["at"] == [25, 42]
    left, right = (bar(long, 100, 20, "x", "key", zero=30).marks for long in (-20, 20))
    assert [marks[0]["at"][0] for marks in (left, right)] == [10, 30]
    assert [marks[1]["at"][0] for marks in (left, right)] == [35, 55], "behind the bar or the 0"


def test_what_is_no_division_is_refused():
    with pytest.raises(InputError, match="does not equal dividend / divisor"):
        Broadcast(np.ones((2, 2)), dividend=np.ones((2, 2)), divisor=[[2], [1]])


def test_the_page_is_given_the_marks_and_an_amount_that_is_dragged_comes_back():
    widget = explore(lambda look: Arcs(look, WORDS, drags="look"), look=LOOK.numpy())
    (panel,) = state(widget)["panels"]
    assert panel["alt"].startswith("Arcs over a sentence")
    (part,) = panel["parts"]
    assert [m["drags"][:2] for m in part["marks"] if "drags" in m] == [
        ["look", k] for k in range(4)
    ]
    (panel,) = change(widget, look=[0.0, 0.0, 0.0, 1.0])["panels"]
    assert panel["cells"] == ["0.00", "0.00", "0.00", "1.00"]
    assert "look is" in change(widget, look=[0.0, 0.0, 0.0, 1.5])["error"]


def test_a_table_and_a_drawing_do_not_share_a_picture():
    with pytest.raises(InputError, match="a table and a drawing"):
        heatmap({"one": Arcs(LOOK, WORDS), "two": View([[1, 2, 3, 4]])})


def test_a_mark_lies_at_finite_numbers():
    with pytest.raises(InputError, match="nan or inf"):
        Sketch(10, 10).line([(0, np.nan), (1, 1)])


@pytest.mark.parametrize("role", ROLES)
def test_a_role_can_be_read_on_light_and_on_dark(role):
    on_light, on_dark = map(luminance, ROLES[role])
    assert 1.05 / (on_light + 0.05) >= 4.5
    assert (on_dark + 0.05) / (luminance("#111111") + 0.05) >= 4.5


def test_yours_answers_as_soon_as_it_is_written_and_says_where_it_is_wrong():
    def half(x):
        return x / 2

    def my_half(x):
        return next(answers)

    run, x, accepted = yours(my_half, half), torch.tensor([2.0, 4]), torch.tensor([1.0, 2])
    # a check also accepts a list and other precisions; the picture needs what the course returns
    answers = iter([None, accepted, list(accepted), accepted.double(), *[accepted] * 3])
    for whose in ["the course's half (until you write my_half)", *["your my_half"] * 3]:
        assert torch.equal(run(x), accepted) and run.whose == whose
    run(x + 1)
    assert run.whose == "your my_half, whose numbers are wrong here: see its check"
    run = yours(my_half, torch.rand_like)
    assert torch.equal(run(x), accepted) and run.whose == "your my_half", "it is drawn at random"
    drawn = []
    run = yours(torch.rand_like, lambda x: drawn.append(torch.rand_like(x)) or drawn[-1])
    assert torch.equal(run(x), drawn[0]), "both draw the same"
    with pytest.raises(InputError, match=r"my_half returned shape \(2,\), not \(1,\): see"):
        yours(my_half, lambda x: torch.zeros(1))(8)


@pytest.mark.parametrize(
    "x, wrong",
    [(torch.tensor([1.0, torch.nan]), False), (np.ones(2), False), (torch.ones(2), True)],
)
def test_what_yours_hands_out_is_a_copy_and_wrong_numbers_are_told(x, wrong):
    def my_half(x, others, by):
        half = x / float(by["by"]) + wrong
        x += 1
        by["by"] += 1
        others[0][0] = 5 if isinstance(others, list) else others[0][0]
        return half

    def half(x, others, by):
        return x / float(by["by"])

    run, by, before = yours(my_half, half), {"by": torch.tensor(2.0)}, x + 0
    for others in ([x], (x, "a")):
        run(x, others, by=by)
        assert np.array_equal(x, before, equal_nan=True) and by == {"by": 2}
        assert run.whose.endswith("see its check" if wrong else "your my_half")


@pytest.mark.parametrize("k", [0, 17])
def test_a_loop_at_the_first_or_last_word_has_one_width_and_is_not_cut_off(k):
    weights = [float(j == k) for j in range(18)]  # so many that they stand close together
    view = Arcs(weights, ["a"] * 18, query=k, digits=1)
    for drawing in view.sketch() + view.narrow():
        (arc,) = (m for m in drawing.marks if m["kind"] == "curve" and m["width"] > 1)
        there, back = np.reshape(arc["at"], (2, 4, 2))
        t = np.linspace(0, 1, 50)[:, None]
        cubic = np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
        points = np.concatenate([cubic @ there, cubic @ back])
        assert (points >= 0).all() and (points <= drawing.size).all()
        begins, ends = (np.linalg.norm(there[n] - back[3 - n]) for n in (0, 3))
        assert begins == pytest.approx(ends, abs=0.2)
    assert drawing.size[0] < 350, "a phone has room for it"


def test_jupyterlab_on_a_phone_has_room_for_every_drawing():
    words, eye, numbers = load_journey()[0], np.eye(6), np.arange(12).reshape(3, 4)
    answers = {f"answer{k}": 0.1 for k in range(8)}
    for view in (
        Arcs(eye[0], words, answers=answers, below=eye, result="It goes on: she throws the ball."),
        Broadcast(eye[:2, :2], dividend=eye[:2, :2], divisor=[1, 1]),
        Cache(np.tri(6), words, now=np.tri(6) > 0),
        Groups(eye),
        Prefixes(eye[:5, :2], words, keys=["chance", "loss"]),
        Strip(eye[0], words),
        Tiles(numbers, words[:3], heads=numbers.reshape(3, 2, 2).swapaxes(0, 1)),
        Turns(eye[:2, :4], before=eye[:2, :4], speeds=[1, 0.1]),
    ):
        # a card of 259 pixels, and the smallest scale of a drawing
        assert max(part.size[0] for part in view.narrow()) * 0.85 <= 259, type(view)


@pytest.mark.parametrize("word", ["she", "it", "flies"])
def test_the_underline_of_the_word_that_looks_is_as_long_as_the_word(word):
    (axes,) = heatmap(Arcs([0.5, 0.5], [word, "a"], query=0)).figure.axes
    (text,) = (text for text in axes.texts if text.get_text() == word)
    (line,) = axes.lines
    left, right = axes.transData.transform(line.get_xydata())[:, 0]
    shown = text.get_window_extent()
    assert (left, right) == pytest.approx((shown.x0, shown.x1), abs=0.1)


def seen(mark):
    """Return the contrast of a mark with a light page and with JupyterLab's dark one."""
    for page, colour in zip((1.0, 0x21 / 255), ROLES[mark["role"].split()[0]], strict=True):
        opacity, own = mark.get("opacity", 1), np.array(to_rgb(colour))
        shown = luminance(own * opacity + page * (1 - opacity)), luminance([page] * 3)
        yield (max(shown) + 0.05) / (min(shown) + 0.05)


def test_a_thin_arc_is_seen_and_so_are_the_layer_below_and_an_arrow_before_it_turns():
    arcs = Arcs([0.01, 0.3, 0.69], list("abc"), below=np.full((3, 3), 0.02))
    curves = marks_of(arcs, "curve")
    assert len(curves) == 12 and min(mark["width"] for mark in curves) >= 2
    turns = Turns(np.eye(2), before=-np.eye(2), positions=(9, 3), speeds=[1.0])
    arrows = [mark for mark in marks_of(turns, "line") if mark["role"] in ("query", "key")]
    assert len(arrows) == 6, "two in the lanes"
    assert min(contrast for mark in curves + arrows for contrast in seen(mark)) >= 3
    assert "thin arrows: before turning" in [mark["text"] for mark in marks_of(turns, "text")]


def test_the_ring_of_what_is_dragged_touches_no_letters():
    view = Arcs(LOOK, WORDS, query=2, drags="look")  # the longest word
    for k, (drawing,) in enumerate((view.sketch(), view.narrow())):
        (word,) = (m["at"] for m in drawing.marks if m["role"] == "query strong under")
        number = [m["at"] for m in drawing.marks if "drags" in m][2]
        # an underline ends 10 pixels below the middle of its word; a ring begins 12 pixels above
        # the middle of its number, and 5 to the left of it
        assert (number[0] - 5 - word[0] - 8 * 4 if k else number[1] - 12 - word[1] - 10) >= 3
    plane, *_ = Shadow([[1, 0], [0.8, 0.1]], ["a", "b"], key="b", drags="tip").sketch()
    (tip,) = (m["at"] for m in plane.marks if "drags" in m)
    assert all(abs(m["at"][1] - tip[1]) >= 12 + 8 for m in plane.marks if m["kind"] == "text")


def test_on_a_phone_a_framed_word_has_room_below_the_underline_above_it():
    words = ["word"] * 18
    (drawing,) = Arcs([1 / 18] * 18, words, query=3, highlights=[(0, 4)], digits=1).narrow()
    (above,) = (m["at"][1] for m in drawing.marks if m["role"] == "query strong under")
    (frame,) = (m["at"][1::2] for m in drawing.marks if m["kind"] == "line")
    assert min(frame) - above >= 14, "the underline ends 10 pixels below the middle of its word"


def test_an_arc_tapers_and_the_result_stands_large_below_the_word_that_looks():
    view = Arcs([1, 0, 0], ["kite", "has", "she"], result="she flies")
    (sentence,) = view.sketch()
    outline = np.reshape(marks_of(view, "curve")[0]["at"], (-1, 2))
    begins, ends = (np.linalg.norm(outline[k] - outline[-k - 1]) for k in (0, 3))
    assert np.allclose((begins, ends), (10, 10 * 0.5), atol=0.11)
    (large,) = (mark for mark in marks_of(view, "text") if "large" in mark["role"])
    assert large["text"] == "she flies" and large["at"][1] < sentence.size[1]
    assert large["at"][0] > sentence.size[0] / 2, "she is at the right"
    assert view.numbers()[-1] == "she flies" and view.alt().endswith("she flies")
