"""Load what attention costs: published models, recorded times and memory."""

import warnings
from collections import namedtuple

from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..attention.data import DATA, rows_of

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


def matrices(peak):
    """Return the memory of a Peak, counted in matrices of scores, (n, n) for each head."""
    return peak.mib * 2**20 / (peak.heads * peak.n**2 * 4)
