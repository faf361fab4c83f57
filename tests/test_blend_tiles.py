"""Two kinds of drawing: a blend of values in a plane, and tiles that go to their heads."""

import numpy as np
import pytest
import torch
from asking import change, state

from helpers import Blend, InputError, Tiles, explore, heatmap
from helpers.lessons.lesson_03.plane import LEFT, SIDE, TOP, Plane, hull, is_inside

WORDS = "the man took it".split()
LOOK = torch.tensor([0.1, 0.5, 0.4, 0.0])
VALUES = torch.tensor([[0, 0], [1, 0], [0, 1], [0.2, 0.2]])
NUMBERED = torch.arange(12).view(1, 3, 4)
GOOD, ALONE = NUMBERED.view(1, 3, 2, 2).transpose(1, 2), NUMBERED.view(1, 2, 3, 2)


def marks(view, kind):
    return [mark for part in view.sketch() for mark in part.marks if mark["kind"] == kind]


def test_a_tie_is_as_wide_as_its_weight_and_leads_from_the_blend_to_its_value():
    view = Blend(LOOK, WORDS, values=VALUES, query=1, caption="Why.")
    ties = marks(view, "curve")
    assert np.allclose([tie["width"] for tie in ties], 14 * LOOK.numpy(), atol=0.06)
    (dot,) = Plane([*VALUES, (0.5, 0.4)]).at((0.5, 0.4))
    starts = [np.add(tie["at"][:2], tie["at"][-2:]) / 2 for tie in ties]  # between both sides
    assert all(np.allclose(start, dot, atol=0.06) for start in starts)
    texts = [mark["text"] for mark in marks(view, "text")]
    assert all(number in texts for number in ("0.10", "0.50", "0.40", "0.00"))
    assert view.text().endswith("man  0.10  0.50  0.40  0.00       0.50       0.40\nWhy.")
    said = "inside the space between them is the context of man, tied mostly to man (0.50) and took"
    assert said in heatmap(view).alt
    assert view.explain(0, 4) == "0.10 × 0.00 + 0.50 × 1.00 + 0.40 × 0.00 + 0.00 × 0.20"


def test_a_context_that_is_no_blend_is_seen_outside():
    view = Blend(LOOK, WORDS, values=VALUES, context=[2.0, 1.0])
    assert not view.inside and "left the space" in view.caption and "; outside" in view.alt()
    assert view.explain(0, 4).startswith("not 0.10")


def test_who_pulls_outside_is_told_why_the_dot_stays():
    near, far = (Blend(LOOK, WORDS, values=VALUES, pull=(x, x)) for x in (0, -1))
    assert not near.reached and "no weight is below 0" in far.reached
    assert Blend([1], ["a"], values=[[2, 2]], pull=(0, 0)).sketch(), "one point alone"


def test_a_key_that_is_dragged_changes_the_ties_and_a_value_does_not():
    def moved(key, value):
        keys, query = torch.cat([VALUES[:3], key]), torch.ones(2)
        weights = torch.softmax(keys @ query / 2**0.5, dim=-1)
        show = dict(moved=3, drags={"keys": "key", "values": "value"}, beside=(query, keys))
        show["window"] = {"keys": 2, "values": (0, 2)}
        return Blend(weights, WORDS, values=torch.cat([VALUES[:3], value]), **show)

    widget = explore(moved, key=torch.ones(1, 2), value=torch.ones(1, 2))
    (first,) = state(widget)["panels"]
    dragged = [m["drags"] for part in first["parts"] for m in part["marks"] if "drags" in m]
    ends = {name: ends for name, *_, ends in dragged}
    assert ends == {"key": [[-2, 2], [-2, 2]], "value": [[0, 2], [0, 2]]}
    assert widget.explanation([0, 0, 3])[1] == "softmax of (1.00 × 1.00 + 1.00 × 1.00) / √2"
    (after,) = change(widget, value=[[2.0, 0.0]])["panels"]
    assert after["cells"][:4] == first["cells"][:4] and after["cells"][4:] != first["cells"][4:]
    (after,) = change(widget, key=[[2.0, 2.0]])["panels"]
    assert after["cells"][:4] != first["cells"][:4]


@pytest.mark.parametrize("near, count", [(0.3, 8), (0, 3), (1, 3)])  # the last two are corners
def test_names_cover_no_other_name_and_stay_inside(near, count):
    close = near + 0.02 * np.arange(2 * count).reshape(count, 2) % 0.17
    plane = Plane([(0, 0), (1, 1)])
    for k, point in enumerate(close):
        plane.name(point, f"word {k}", "key")
    plane.place_names()
    at = np.array([mark["at"] for mark in plane.sketch.marks if mark.get("text", "")[:4] == "word"])
    for k, one in enumerate(at):
        assert all(abs(one - other)[0] > 42 or abs(one - other)[1] > 13 for other in at[:k])
    inside = np.array((LEFT, TOP)), np.array((LEFT + SIDE, TOP + SIDE))
    assert (at > inside[0] + (20, 6)).all() and (at < inside[1] - (20, 6)).all(), "in the frame"


@pytest.mark.parametrize("seed", range(8))
def test_a_name_nearer_to_another_point_has_a_line_and_lines_cross_no_name(seed):
    points = np.random.default_rng(seed).uniform(0.2, 0.7, (6, 2))
    plane = Plane(points, (0, 1))
    for k, point in enumerate(points):
        plane.dot(point, "key", 10)
        plane.name(point, f"word {k}", "key")
    plane.place_names()
    names = plane.sketch.marks[-2 * len(points) :]
    lines, at = names[::2], np.array([mark["at"] for mark in names[1::2]])
    low, high = at - (20, 4), at + (20, 4)
    spots = plane.at(points)
    for k, (line, spot) in enumerate(zip(lines, spots, strict=True)):
        gaps = np.linalg.norm(np.clip(spots, low[k], high[k]) - spots, axis=1)
        others = np.linalg.norm(spots - spot, axis=1) > 8
        assert line["width"] or (gaps[others] >= gaps[k]).all()
        along = np.linspace(line["at"][:2], line["at"][2:], 50)[:, None] * line["width"]
        crossed = ((along > low) & (along < high)).all(2).any(0)
        assert not np.delete(crossed, k).any()


def test_the_hull_holds_all_points_and_has_none_to_spare():
    points = np.random.default_rng(0).normal(size=(40, 2))
    corners = hull(points)
    assert all(is_inside(point, corners) for point in points)
    assert not any(is_inside(c, np.delete(corners, k, 0)) for k, c in enumerate(corners))
    assert len(hull([[0, 0], [1, 1], [2, 2]])) == 2 and len(hull([[1, 1]] * 3)) == 1


@pytest.mark.parametrize("heads, merged", [(GOOD, NUMBERED), (ALONE, ALONE.transpose(1, 2))])
def test_a_tile_lies_where_the_function_put_its_number(heads, merged):
    merged, places = merged.reshape(1, 3, 4), Tiles.places(2, WORDS[:3], 2)
    for guess, (h, i, k) in zip(places[1:], np.ndindex(2, 3, 2), strict=True):
        number = int(heads[0, h, i, k])
        view = Tiles(NUMBERED, WORDS[:3], heads=heads, step="heads", guess={number: guess})
        assert f"Tile {number} went to {guess}, as you guessed" in view.reached
        tile = next(mark for mark in marks(view, "text") if mark["text"] == str(number))
        slot = next(mark for mark in marks(view, "area") if mark.get("label") == guess)
        assert tile["at"] == np.reshape(slot["at"], (4, 2)).mean(0).tolist()
    view = Tiles(NUMBERED, WORDS[:3], heads=heads, merged=merged, step="merged")
    assert np.array_equal(view.matrix, merged[0])
    assert ("8 of 12 tiles" in view.caption) == (heads is ALONE)
    wrong = Tiles(NUMBERED, WORDS[:3], heads=heads, step="heads", guess={0: places[9]})
    assert not wrong.reached
    assert f"your guess was {places[9]}. It is number 0 of {WORDS[0]}, and " in wrong.caption


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: Blend(np.eye(3)[:2], WORDS, values=VALUES), r"\(n,\) or \(n, n\) is expected"),
        (lambda: Blend(LOOK, WORDS), "Blend needs values="),
        (lambda: Blend(LOOK, WORDS, values=VALUES[:3]), r"values has the shape \(3, 2\); \(4, 2\)"),
        (lambda: Blend(LOOK, WORDS, values=VALUES, context=LOOK), r"\(4,\); \(2,\) is expected"),
        (
            lambda: Tiles(NUMBERED, heads=0 * GOOD),
            "heads: each number of the words is expected once",
        ),
        (lambda: Tiles(NUMBERED, heads=GOOD, step="merged"), "and merged= for the last"),
        (lambda: Tiles(NUMBERED, heads=GOOD, guess={6: "there"}), "guess is 'there'"),
        (lambda: Blend(LOOK, WORDS, values=VALUES, context=[np.nan, 0]), "the context has a nan"),
        (lambda: Blend(LOOK, WORDS, values=VALUES, beside=(LOOK, LOOK)), r"\(1, 2\) is expected"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_what_is_expected(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
