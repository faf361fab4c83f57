"""What attention costs: recorded times and memory, their pictures, and what lesson 12 claims."""

import re

import bench_attention
import pytest
import torch
from execute import NOTEBOOKS
from replay import code_cells, committed, replay

from helpers.models import cost
from helpers.pictures.view import softmax_in_full

LESSON = NOTEBOOKS / "12_cost_of_attention.ipynb"


@pytest.fixture(autouse=True, params=[LESSON], ids=[LESSON.stem])
def own(request):
    """Return the names that the lesson defines. All test ids contain its name, for pytest -k 12."""
    return replay(request.param)[0]


# --- the data ---


def by(timed, unit="ms"):
    return {(t.way, t.n): getattr(t, unit) for t in timed}


def test_the_recorded_times_bear_out_what_the_lesson_says():
    """The lessons claim: faster at every length, and the gap grows; memory grows with n, or with n
    squared."""
    timed = cost.load_times()
    for task, slow, fast in (
        ("attention", "naive", "fused"),
        ("writing", "everything again", "with a cache"),
    ):
        ms = by([t for t in timed if t.task == task])
        lengths = sorted({n for _, n in ms})
        gaps = [ms[slow, n] - ms[fast, n] for n in lengths]
        assert gaps[0] > 0 and gaps == sorted(gaps)
        if task == "writing":  # far less than 342 times, which the counts of scores suggest
            assert ms[slow, 512] < 342 / 5 * ms[fast, 512]
    mib = by([t for t in timed if t.task == "attention"], "mib")
    assert 12 < mib["naive", 4096] / mib["naive", 1024] < 20  # 4 squared
    assert mib["fused", 4096] / mib["fused", 1024] < 6
    assert 512 < mib["naive", 4096] < 640  # two matrices of scores, and the mask
    assert mib["fused", 4096] < 10


def test_the_recorded_memory_bears_out_what_the_lesson_says():
    """The lesson claims: in blocks a small part of a matrix of scores; on the plain path more than
    three matrices, and more than the naive way."""
    peaks = {peak.call: cost.matrices(peak) for peak in cost.load_peaks()}
    assert list(peaks) == list(bench_attention.CALLS)
    assert peaks["4 dims"] < 0.1 and 2 < peaks["naive"] < 2.5
    assert min(peaks["4 dims, dropout"], peaks["2 dims"]) > 3
    assert {peak.n for peak in cost.load_peaks()} == {2048}


@torch.no_grad()
def test_every_call_whose_memory_is_measured_takes_the_path_that_it_is_named_for():
    queries, keys, values = qkv = cost.heads_of(20)
    assert cost.stays_fused(*qkv, is_causal=True)
    assert cost.stays_fused(queries[..., :1, :], keys, values)
    assert not cost.stays_fused(*qkv, is_causal=True, dropout_p=0.1)
    assert not cost.stays_fused(*(x[0, 0] for x in qkv), is_causal=True)
    expected = cost.naive(*qkv)
    for call, (heads, attend) in bench_attention.CALLS.items():
        assert heads == attend(*qkv).shape[:-2].numel()
        if "dropout" not in call:
            torch.testing.assert_close(attend(*qkv).view(heads, 20, -1), expected[0, :heads])
    with pytest.raises(RuntimeError):  # what does not fit is an error, not a fallback
        cost.stays_fused(queries, keys[..., :3], values)


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


def test_own_times_are_drawn_for_the_lengths_asked_for():
    still = cost.own_times((8, 16, 32))
    assert "on this computer" in still.alt and not re.search(r"\d", still.alt)
    for line in still.figure.axes[0].lines:
        assert line.get_xdata().tolist() == [8, 16, 32]
        assert (line.get_ydata() > 0).all()


# --- the lesson ---


def test_the_lessons_own_functions_give_what_those_of_helpers_give(own):
    qkv = cost.heads_of(20)
    torch.testing.assert_close(own["naive"](*qkv), cost.naive(*qkv))
    for size in (1.0, 1000.0):
        scores = torch.randn(9) * size
        for block_size in (1, 2, 4, 9, 20):
            maximum, total = own["running"](scores, block_size)
            assert maximum == scores.max()
            torch.testing.assert_close(total, (scores - scores.max()).exp().sum())


def printed():
    return " ".join(" ".join(committed(cell) for cell in code_cells(LESSON)).split())


def test_the_lesson_prints_the_counts_of_the_course():
    text = printed()
    for n, mib in ((128, 0.25), (512, 4), (1024, 16), (2048, 64), (4096, 256)):
        assert f"{n} words {4 * n * n:,} scores {mib:.2f} MiB" in text
    assert "dropout 0.1 in blocks: False" in text and "[None, None] in blocks: True" in text


def test_in_blocks_the_last_row_is_softmax_for_every_size_and_backwards_no_factor_is_below_one(own):
    in_blocks, scores = own["in_blocks"], own["scores"]
    for block in range(1, 7):
        last = torch.tensor(in_blocks(6, block).matrix[-(-6 // block) - 1])
        torch.testing.assert_close(last.float(), torch.softmax(scores, dim=0))
        backwards = in_blocks(6, block, True)
        torch.testing.assert_close(torch.tensor(backwards.matrix[-(-6 // block) - 1]), last)
        assert backwards.explain(0, 5) == softmax_in_full(scores.flip(0)[:block], 0)
        maximum, total = own["running"](scores, block)
        caption = in_blocks(6, block).caption
        assert f"Largest score {maximum:.2f}, sum of the exps {total:.2f}." in caption
    for step in range(2, 7):
        for block in (1, 2):
            backwards = in_blocks(step, block, True)
            assert "blocks: × 1.00" in backwards.caption and backwards.reached
            assert not in_blocks(step, block).reached
    assert "blocks: × 1.00" not in in_blocks(2, 2).caption


def test_the_exps_alone_overflow_at_the_last_factor_only_and_the_blocks_hold(own):
    assert [bool(own["overflow"](times).reached) for times in (1, 10, 50, 100)] == [0, 0, 0, 1]
    assert torch.tensor(own["overflow"](50).matrix).isfinite().all()
