"""Measure what attention costs: python tests/scripts/bench_attention.py [memory]

Writes and prints data/attention_times.csv, which lessons 11 and 12 draw, and
data/attention_memory.csv, which lesson 12 draws; with the word memory only the second, in a few
seconds. One thread, 4 heads of 32 numbers, causal, forward. Each time is the shortest of ten calls.
Memory is how far one call raises the peak of its process, measured in a new process each time (not
on Windows, which does not report it). Then come the times to write words one by one with one
module, recomputing everything or with a cache, the shortest of three. Run it when nothing else
runs; no test looks at the times.
"""

import csv
import platform
import sys
import timeit
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch
from torch.nn import functional as F

from helpers import attention
from helpers.lessons import cost

LENGTHS = (128, 512, 1024, 2048, 4096)
LONG = 2048  # words in the comparison of memory
WRITTEN = (32, 64, 128, 256, 512)
HEADS, HEAD_DIM = 4, 32
WIDTH = HEADS * HEAD_DIM


def naive(queries, keys, values):
    """Attend as in lesson 12, with a whole matrix of scores for each head."""
    future = attention.causal_mask(queries.shape[-2])
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    scores = scores.masked_fill(future, -torch.inf)  # the old scores are freed
    return torch.softmax(scores, dim=-1) @ values


def fused(queries, keys, values):
    """Attend with PyTorch's function. With 4 dimensions it holds only blocks of the scores."""
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)


def heads_of(n):
    """Return random queries, keys and values of n words, each (1, HEADS, n, HEAD_DIM)."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(1, HEADS, n, HEAD_DIM, generator=generator) for _ in "QKV"]


def shortest(call, *args, repetitions):
    """Return the time of the shortest of several calls, in ms, after one that does not count."""
    call(*args)
    return 1000 * min(timeit.repeat(lambda: call(*args), number=1, repeat=repetitions))


def one_head(queries, keys, values):
    """Attend with the first head alone, with 2 dimensions, as the lessons write it."""
    return fused(*(x[0, 0] for x in (queries, keys, values)))


def dropping(queries, keys, values):
    """Attend as fused does, with dropout on the weights."""
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True, dropout_p=0.1)


# Calls whose memory is measured: (heads, function).
CALLS = {
    "naive": (HEADS, naive),
    "4 dims": (HEADS, fused),
    "4 dims, dropout": (HEADS, dropping),
    "2 dims": (1, one_head),
}


def peak_mib(attend, n):
    """Return the memory that one call takes at its peak, as text in MiB, 0.1 for less; or None
    where the system does not report it. The process must have done nothing else before."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # Windows
        return None

    def peak():
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return getrusage(RUSAGE_SELF).ru_maxrss / unit

    qkv, small = heads_of(n), heads_of(16)
    attend(*small)  # so that what the first call loads does not count
    # Memory taken earlier and given back would hide what the call takes: fill it first.
    highest, filled = peak(), []
    while peak() <= highest:
        filled.append(torch.ones(2**16))
    before = peak()
    attend(*qkv)
    return f"{max(peak() - before, 0.1):.1f}"


def heads(module, words):
    layers = module.W_query, module.W_key, module.W_value
    return [attention.split_heads(layer(words), module.num_heads) for layer in layers]


def recompute(module, words):
    """Return the contexts of the words, each recomputed from all words so far."""
    contexts = []
    for t in range(1, words.shape[1] + 1):
        merged = attention.merge_heads(fused(*heads(module, words[:, :t])))
        contexts.append(module.out_proj(merged)[:, -1:])
    return torch.cat(contexts, dim=1)


def with_cache(module, words):
    """Return the same contexts, keeping the keys and values of earlier words."""
    keys = values = torch.zeros(1, module.num_heads, 0, module.head_dim)
    contexts = []
    for word in words.split(1, dim=1):
        query, key, value = heads(module, word)
        keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
        merged = attention.merge_heads(F.scaled_dot_product_attention(query, keys, values))
        contexts.append(module.out_proj(merged))
    return torch.cat(contexts, dim=1)


@torch.no_grad()
def measure():
    for n in LENGTHS:
        qkv = heads_of(n)
        torch.testing.assert_close(naive(*qkv), fused(*qkv), atol=1e-5, rtol=1e-4)
        for way, attend in (("naive", naive), ("fused", fused)):
            ms = shortest(attend, *qkv, repetitions=10)
            with get_context("spawn").Pool(1) as alone:
                mib = alone.apply(peak_mib, (attend, n))
            yield "attention", way, n, f"{ms:.3g}", mib
    for n in WRITTEN:
        torch.manual_seed(0)
        module = attention.MultiHeadAttention(WIDTH, WIDTH, n, 0.0, HEADS).eval()
        words = torch.randn(1, n, WIDTH)
        for write_all in (recompute, with_cache):
            torch.testing.assert_close(write_all(module, words), module(words))
        for way, attend in (("everything again", recompute), ("with a cache", with_cache)):
            ms = shortest(attend, module, words, repetitions=3)
            yield "writing", way, n, f"{ms:.3g}", None


def measure_peaks():
    for call, (heads, attend) in CALLS.items():
        with get_context("spawn").Pool(1) as alone:
            yield call, heads, LONG, alone.apply(peak_mib, (attend, LONG))


def write(path, about, rows):
    known = dict(version=torch.__version__.partition("+")[0], machine=platform.machine())
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(about.format(**known, heads=HEADS, dim=HEAD_DIM))
        csv.writer(file, lineterminator="\n").writerows(rows)
    print(path.read_text(encoding="utf-8"))


TIMES = """\
# Time and memory of attention, measured by python tests/scripts/bench_attention.py on one
# thread of a processor of the kind {machine}, with PyTorch {version}: {heads} heads of
# {dim} numbers, causal, forward. On another computer the times differ.
# task: attention of n words at once, or writing n words one by one.  way: how.
# n: words.  ms: the shortest of several times, in milliseconds.  mib: memory taken
# at the peak, in MiB, where measured; 0.1 stands for less, too.
"""
PEAKS = """\
# Memory of attention, measured by python tests/scripts/bench_attention.py memory, with
# PyTorch {version} on a processor of the kind {machine}: heads of {dim} numbers,
# causal, forward. On another computer it may differ.
# call: naive attention, or how PyTorch's function was called.  heads: how many.
# n: words.  mib: memory taken at the peak, in MiB; 0.1 stands for less, too.
"""

if __name__ == "__main__":
    if sys.argv[1:] != ["memory"]:
        write(cost.TIMES, TIMES, [cost.Timed._fields, *measure()])
    write(cost.PEAKS, PEAKS, [cost.Peak._fields, *measure_peaks()])
