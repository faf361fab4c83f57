"""Load and draw what attention costs: published models, recorded times and memory."""

import warnings
from collections import namedtuple

from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..attention.data import DATA, rows_of
from ..pictures.still import Still, own_settings

MODELS, TIMES = DATA / "models.csv", DATA / "attention_times.csv"
PEAKS = DATA / "attention_memory.csv"

# Each is one line of a file, which explains its columns.
Model = namedtuple("Model", "model year layers heads num_kv_heads head_dim context source")
Timed = namedtuple("Timed", "task way n ms mib")  # mib: None if it was not measured
Peak = namedtuple("Peak", "call heads n mib")


def load_models():
    """Return the models of data/models.csv, a list of Model."""
    return [Model(name, *map(int, sizes), source) for name, *sizes, source in rows_of(MODELS)]


def load_times():
    """Return the recorded times of data/attention_times.csv, a list of Timed."""
    return [
        Timed(task, way, int(n), float(ms), float(mib) if mib else None)
        for task, way, n, ms, mib in rows_of(TIMES)
    ]


def load_peaks():
    """Return the recorded memory of data/attention_memory.csv, a list of Peak."""
    return [Peak(call, int(heads), int(n), float(mib)) for call, heads, n, mib in rows_of(PEAKS)]


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


LABELS = {"ms": "milliseconds", "mib": "MiB at the peak"}
MARKS = ("o-", "s--")


def draw_times(timed):
    """Draw naive and fused attention against the number of words, both axes logarithmic: time and
    memory.

    timed: a list of Timed.  Returns a Still; its text contains no times.
    """
    alt = (
        "Time and memory of attention as recorded, against the number of words: a line for naive "
        "attention and one for PyTorch's function."
    )
    return _draw([t for t in timed if t.task == "attention"], ["ms", "mib"], "words", alt)


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


@own_settings()
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


@own_settings()
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
        plane.set(xscale="log", yscale="log", xlabel=along, ylabel=LABELS[unit])
        plane.set_xticks(lengths, [f"{n:,}" for n in lengths])
        plane.minorticks_off()
        plane.tick_params(labelsize=11)
        plane.yaxis.set_major_formatter("{x:,g}")
        plane.grid(color="#d0d0d0", linewidth=0.5)
        plane.legend(fontsize=11)
    return Still(figure, alt)
