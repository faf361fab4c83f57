"""What attention costs: recorded times and memory, their pictures, and what lesson 12 claims."""

import itertools
import re

import bench_attention
import pytest
import torch
from execute import NOTEBOOKS
from replay import code_cells, committed, replay

from helpers.lessons import cost

LESSON = NOTEBOOKS / "12_cost_of_attention.ipynb"


@pytest.fixture(autouse=True, params=[LESSON], ids=[LESSON.stem])
def own(request):
    """Return the names that the lesson defines. All test ids contain its name, for pytest -k 12."""
    return replay(request.param)[0]


# --- the data ---


def test_the_recorded_memory_bears_out_what_the_lesson_says():
    """The lesson claims: in blocks a small part of a matrix of scores; on the plain path more than
    three matrices, and more than the naive way."""
    peaks = {peak.call: cost.matrices(peak) for peak in cost.load_peaks()}
    assert list(peaks) == list(bench_attention.CALLS)
    assert peaks["4 dims"] < 0.1 and 2 < peaks["naive"] < 2.5
    assert min(peaks["4 dims, dropout"], peaks["2 dims"]) > 3
    assert {peak.n for peak in cost.load_peaks()} == {2048}


# --- the pictures ---


def test_the_pictures_show_the_recorded_numbers_and_their_words_name_none():
    timed = cost.load_times()
    for still, task, units in (
        (cost.draw_times(timed), "attention", ("ms", "mib")),
        (cost.draw_writing(timed), "writing", ("ms",)),
    ):
        assert len(still.alt) > 40 and not re.search(r"\d", repr(still) + still.alt)
        rows = [t for t in timed if t.task == task]
        for plane, unit in zip(still.figure.axes, units, strict=True):
            assert (plane.get_xscale(), plane.get_yscale()) == ("log", "log")
            drawn = [list(zip(*line.get_data(), strict=True)) for line in plane.lines]
            ways = dict.fromkeys(t.way for t in rows)
            assert drawn == [[(t.n, getattr(t, unit)) for t in rows if t.way == w] for w in ways]
            assert len(plane.get_legend().get_texts()) == len(ways) == 2
            assert len({line.get_marker() for line in plane.lines}) == 2
            assert len({line.get_linestyle() for line in plane.lines}) == 2


def test_the_picture_of_memory_shows_a_bar_for_each_call():
    still, peaks = cost.draw_peaks(cost.load_peaks()), cost.load_peaks()
    (plane,) = still.figure.axes
    assert [bar.get_width() for bar in plane.patches] == [cost.matrices(peak) for peak in peaks]
    assert [label.get_text() for label in plane.get_yticklabels()] == list(bench_attention.CALLS)
    assert [peak.call for peak in peaks if cost.matrices(peak) < 1] == ["4 dims"]  # see its text


# --- the lesson ---


def test_the_lesson_prints_the_counts_of_the_course():
    text = " ".join(" ".join(committed(cell) for cell in code_cells(LESSON)).split())
    for n, mib in ((128, 0.25), (512, 4), (1024, 16), (2048, 64), (4096, 256)):
        assert f"{n} words {4 * n * n:,} scores {mib:.2f} MiB" in text
    assert "dropout 0.1 in blocks: False" in text and "[None, None] in blocks: True" in text


def test_the_target_of_the_blocks_is_met_backwards_only(own):
    for step, block in itertools.product(range(2, 7), (1, 2)):
        backwards = own["of_any_size"](step, block, True)
        assert "blocks: × 1.00" in backwards.caption and backwards.reached
        assert not own["of_any_size"](step, block).reached


def test_the_exps_alone_overflow_at_the_last_factor_only_and_the_blocks_hold(own):
    assert [bool(own["overflow"](times).reached) for times in (1, 10, 50, 100)] == [0, 0, 0, 1]
    assert torch.tensor(own["overflow"](50).matrix).isfinite().all()
