"""The shadow of one word on another, and the strip that softmax cuts: marks, words and errors."""

import numpy as np
import pytest
import torch

from helpers import InputError, Shadow, Strip, attention, heatmap, load_journey

TOKENS, INPUTS = load_journey()
SCORES = INPUTS @ INPUTS[1]


def marks_of(part, kind):
    return [mark for mark in part.marks if mark["kind"] == kind]


def texts_of(part):
    return [mark["text"] for mark in marks_of(part, "text")]


def size_of(mark):
    """Return the width and height of a mark."""
    return np.ptp(np.reshape(mark["at"], (-1, 2)), axis=0)


@pytest.mark.parametrize("times", [1, 2, -1])
def test_the_rectangle_is_the_score_and_the_shadow_lies_below_the_tip(times):
    vectors = INPUTS.clone()
    vectors[4] *= times
    view = Shadow(vectors, TOKENS, query="journey", key="one", reach=3)
    score = float(vectors[4] @ vectors[1])
    plane, rectangle, bars = view.sketch()
    unit = size_of(marks_of(plane, "line")[4])[0] / 1.2227  # the arrow of the query
    assert np.isclose(
        size_of(marks_of(rectangle, "area")[0]).prod() / unit**2, abs(score), rtol=0.03
    )
    shadow, down = marks_of(plane, "line")[1:3]
    assert np.isclose(size_of(shadow)[0] / unit, abs(score) / 1.2227, rtol=0.03)
    assert shadow["at"][2:] == down["at"][2:] and down["at"][0] == down["at"][2]
    assert np.sign(shadow["at"][2] - shadow["at"][0]) == np.sign(times)
    # a score below 0 is to the left of the 0, in both pictures
    zero, row = marks_of(bars, "line")[-1]["at"][0], marks_of(bars, "area")[4]["at"]
    assert (np.mean(row[::2]) > zero) == (times > 0)
    length, side = 0.8157 * abs(times), 45 if times > 0 else 135
    assert f"one: length {length:.2f}, {side}°" in texts_of(plane)
    assert f"{score:.2f}" in texts_of(bars)
    assert view.explain(0, 4).startswith(f'{score / 1.2227:.2f} × 1.22, its shadow on "journey"')


def test_a_tip_is_dragged_as_far_as_the_plane_shows_and_the_scale_stays():
    drags = set()
    for tip in ([0.6, 0.8], [2, 1.5], [-1, 0], [0, 0]):
        view = Shadow([[1, 0], tip], ["a", "b"], key="b", reach=2, drags="tip")
        (mark,) = [mark for mark in view.sketch()[0].marks if "drags" in mark]
        drags.add(str(mark["drags"]))
    assert drags == {"('tip', 0, 74.667, 74.667, [[-1.0, 2.0], [0, 1.5]])"}


def test_it_takes_scores_of_your_own():
    view = Shadow(INPUTS, TOKENS, query=1, key=4, scores=attention.cosine_scores(INPUTS, 1))
    best = 'The best match for "journey" is "journey" itself.'
    assert view.caption.endswith(f"Its score is 0.71. {best}")
    assert view.explain(0, 0) == "", "what a function of one's own does is not known"
    broken = Shadow(INPUTS, TOKENS, scores=[np.nan, 1, -np.inf, 0, 0, 0])
    assert broken.best == 1 and {"nan", "-inf"} <= set(texts_of(broken.sketch()[2]))


def test_the_strip_is_cut_by_the_weights_and_stands_still_when_all_scores_are_shifted():
    (first,), (second,) = (Strip(SCORES + x, TOKENS).sketch() for x in (0, 2))
    weights = torch.softmax(SCORES, dim=0)
    areas = [marks_of(part, "area") for part in (first, second)]
    assert [mark["at"] for mark in areas[0][-6:]] == [mark["at"] for mark in areas[1][-6:]]
    assert np.allclose(
        [size_of(mark)[0] / Strip.long for mark in areas[0][-6:]], weights, atol=0.001
    )
    longer = [size_of(b)[1] - size_of(a)[1] for a, b in zip(*areas, strict=True)][2:8]
    assert np.allclose(longer, 2 * 16, atol=0.11), "the bars of the scores move"
    (down,) = Strip([1, -2, 0.5], list("abc")).sketch()
    zero, end = marks_of(down, "area")[3]["at"][1], marks_of(down, "area")[3]["at"][5]
    assert end - zero == 32 and "-2.00" in texts_of(down)


@pytest.mark.parametrize(
    "shift, said, cell",
    [
        (88, "∞ / ∞ = nan: no part has a length", "inf"),
        (86, "every weight is 0: no part has a length", "1e38"),
        (-120, "0 / 0 = nan: no part has a length", "0.00"),
    ],
)
def test_what_cannot_be_cut_is_drawn_and_said(shift, said, cell):
    exps = torch.exp(SCORES + shift)
    view = Strip(SCORES + shift, TOKENS, exps=exps, weights=exps / exps.sum())
    texts = texts_of(view.sketch()[0])
    assert said in texts and cell in texts and said in view.text() and said in heatmap(view).alt
    assert not any(size_of(mark)[0] for mark in marks_of(view.sketch()[0], "area")[-6:])
    how = {"inf": "more than the largest", "1e38": "exp(", "0.00": "rounded to 0"}[cell]
    assert how in view.explain(1, 1)


def test_a_strip_that_is_not_cut_yet_keeps_its_weights_to_itself():
    whole, cut = (Strip([2, 1, 0], cut=x, markers=[0.5], drags="m") for x in (False, True))
    assert "0.67" not in whole.text() + heatmap(whole).alt + str(whole.sketch()[0].marks)
    assert whole.caption == "The whole strip is 1. It is not cut yet."
    assert cut.caption.endswith("The cut nearest to the marker at 0.50 is at 0.67.")
    assert np.allclose(cut.cuts, [0.665, 0.910], atol=0.001)
    assert [m["drags"] for m in cut.sketch()[0].marks if "drags" in m] == [
        ("m", 0, Strip.long, None)
    ]


@pytest.mark.parametrize(
    "kind, given, options, sentence",
    [
        (Shadow, SCORES, {}, r"shape \(6,\); \(n, d\) is expected"),
        (Shadow, INPUTS, {"query": "you"}, "query is 'you'; one of Your, journey"),
        (Shadow, INPUTS, {"scores": [1, 2]}, r"scores has the shape \(2,\); \(6,\)"),
        (Shadow, INPUTS * 0, {}, "Your has the length 0"),
        (Strip, INPUTS, {}, r"shape \(6, 3\); \(n,\) is expected"),
        (Strip, SCORES, {"weights": [1]}, r"weights has the shape \(1,\); \(6,\)"),
        (Strip, SCORES, {"markers": [2]}, "numbers from 0 to 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_what_is_expected(kind, given, options, sentence):
    with pytest.raises(InputError, match=sentence):
        kind(given, TOKENS, **options)
