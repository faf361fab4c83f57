"""Load and draw what attention costs: published models, recorded times, and your own times."""

import math
import timeit
import warnings
from collections import namedtuple

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..attention import causal_mask
from ..attention.data import DATA, rows_of
from ..pictures.still import Still

MODELS, TIMES = DATA / "models.csv", DATA / "attention_times.csv"
PEAKS = DATA / "attention_memory.csv"
HEADS, HEAD_DIM = 4, 32  # of the timed calls

# Each is one line of a file, which explains its columns.
Model = namedtuple("Model", "model year layers heads num_kv_heads head_dim context source")
Timed = namedtuple("Timed", "task way n ms mib")  # mib: None if it was not measured
Peak = namedtuple("Peak", "call heads n mib")
WORDS = {"model", "source", "task", "way", "call"}  # columns; the others hold numbers above 0


def load_models():
    """Return the models of data/models.csv, a list of Model."""
    return _read(MODELS, Model)


def load_times():
    """Return the recorded times of data/attention_times.csv, a list of Timed."""
    return _read(TIMES, Timed)


def load_peaks():
    """Return the recorded memory of data/attention_memory.csv, a list of Peak."""
    return _read(PEAKS, Peak)


def _read(file, kind):
    with rows_of(file, f"the columns {', '.join(kind._fields)}") as rows:
        head, *rows = rows
        if head != list(kind._fields) or not rows:
            raise ValueError("columns or rows are missing")
        return [
            kind(*(_value(column, text) for column, text in zip(head, row, strict=True)))
            for row in rows
        ]


def _value(column, text):
    if column in WORDS and text:
        return text
    if column == "mib" and not text:
        return None
    number = int(text) if text.isdigit() else float(text)
    if not 0 < number < math.inf:
        raise ValueError(f"{text} is not a size above 0")
    return number


def naive(queries, keys, values):
    """Compute causal attention as in lesson 12, with a whole matrix of scores for each head.

    queries, keys: (..., n, d_k).  values: (..., n, d_v).  Returns (..., n, d_v).
    """
    future = causal_mask(queries.shape[-2])
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    scores = scores.masked_fill(future, -torch.inf)  # the old scores are freed
    return torch.softmax(scores, dim=-1) @ values


def fused(queries, keys, values):
    """Compute the same with PyTorch's function. With 4 dimensions it holds only blocks of the
    scores; otherwise it may hold all of them, see stays_fused."""
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)


WAYS = {"naive": naive, "fused": fused}


def stays_fused(queries, keys, values, **options):
    """Return whether F.scaled_dot_product_attention works in blocks for these arguments.

    If not, it falls back to the plain path, with the same numbers and the whole matrix of scores.
    options: its other arguments, such as is_causal or dropout_p.
    """
    F.scaled_dot_product_attention(queries, keys, values, **options)  # raises if they do not fit
    with warnings.catch_warnings(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        warnings.simplefilter("ignore")  # they give the reasons
        try:
            F.scaled_dot_product_attention(queries, keys, values, **options)
        except RuntimeError:
            return False
    return True


def heads_of(n):
    """Return random queries, keys and values of n words, each (1, HEADS, n, HEAD_DIM)."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(1, HEADS, n, HEAD_DIM, generator=generator) for _ in "QKV"]


def shortest(call, *args, repetitions=5):
    """Return the time of the shortest of several calls, in ms, after one that does not count."""
    call(*args)
    return 1000 * min(timeit.repeat(lambda: call(*args), number=1, repeat=repetitions))


def own_times(lengths=(128, 256, 512, 1024)):
    """Draw the times of naive and fused attention on this computer, like the recorded times.

    lengths: numbers of words; 2048 takes 0.3 GB. Returns a Still.
    """
    timed = []
    for n in lengths:
        qkv = heads_of(n)
        for way, attend in WAYS.items():
            timed.append(Timed("attention", way, n, shortest(attend, *qkv), None))
    return draw_times(timed, ("ms",), "on this computer")


LABELS = {"ms": ("time", "milliseconds"), "mib": ("memory", "MiB at the peak")}
MARKS = ("o-", "s--")


def draw_times(timed, units=("ms", "mib"), where="as recorded"):
    """Draw naive and fused attention against the number of words, both axes logarithmic.

    timed: a list of Timed.  units: "ms", "mib", one panel each.  Returns a Still; its text
    contains no times.
    """
    what = " and ".join(LABELS[unit][0] for unit in units).capitalize()
    alt = (
        f"{what} of attention {where}, against the number of words: a line for naive attention "
        "and one for PyTorch's function."
    )
    return _draw([t for t in timed if t.task == "attention"], units, "words", alt)


def draw_writing(timed):
    """Draw the time to write n words one by one, with a cache and without. Returns a Still."""
    alt = (
        "Recorded time to write words one by one, against the number of words: a line for "
        "recomputing everything and one for a key-value cache."
    )
    return _draw([t for t in timed if t.task == "writing"], ["ms"], "words written", alt)


def matrices(peak):
    """Return the memory of a Peak, counted in matrices of scores, (n, n) for each head."""
    return peak.mib * 2**20 / (peak.heads * peak.n**2 * 4)


def draw_peaks(peaks):
    """Draw the memory of calls, counted in matrices of scores: a bar for each. Returns a Still."""
    from matplotlib.figure import Figure  # here, because importing it takes long

    figure = Figure(figsize=(7, 2.6), layout="constrained")
    plane, names = figure.subplots(), [peak.call for peak in peaks]
    hatches = ["//" if peak.call == "naive" else "" for peak in peaks]
    options = dict(color="#9ecae1", edgecolor="black", hatch=hatches)
    sizes = [matrices(peak) for peak in peaks]
    bars = plane.barh(names, sizes, **options)
    plane.bar_label(bars, [f"{size:.2f}" for size in sizes], padding=4, fontsize=11)
    plane.set(xlabel="memory at the peak, in matrices of scores", xlim=(0, 4))
    plane.invert_yaxis()
    plane.tick_params(labelsize=11)
    alt = (
        "Recorded memory, a bar for each call: naive attention, and PyTorch's function with four "
        "dimensions, with dropout, and with two dimensions. Only the bar for four dimensions "
        "without dropout is shorter than one matrix of scores."
    )
    return Still(figure, alt)


def _draw(timed, units, along, alt):
    from matplotlib.figure import Figure  # here, because importing it takes long

    figure = Figure(figsize=(4.5 * len(units), 3.2), layout="constrained")
    ways = list(dict.fromkeys(t.way for t in timed))
    planes = figure.subplots(1, len(units), squeeze=False)[0]
    for plane, unit in zip(planes, units, strict=True):
        for way, mark in zip(ways, MARKS, strict=False):
            points = [(t.n, getattr(t, unit)) for t in timed if t.way == way]
            plane.plot(*zip(*points, strict=True), mark, label=way)
        lengths = sorted({t.n for t in timed})
        plane.set(xscale="log", yscale="log", xlabel=along, ylabel=LABELS[unit][1])
        plane.set_xticks(lengths, [f"{n:,}" for n in lengths])
        plane.minorticks_off()
        plane.tick_params(labelsize=11)
        plane.yaxis.set_major_formatter("{x:,g}")
        plane.grid(color="#d0d0d0", linewidth=0.5)
        plane.legend(fontsize=11)
    return Still(figure, alt)
