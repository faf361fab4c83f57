"""Lesson 15: writing with a cache."""

from dataclasses import replace

import torch

from ... import attention
from ..catalogue.mask import hide
from ..catalogue.scale import SCALE_BESIDE_VALUES, SCORE_OF_KEYS
from ..catalogue.whole import of_one_query
from ..exercise import Exercise, Probe, explained
from ..pipeline import Stage
from ..probes import exact, matrix, scoring, seeded, sentence, wide, words
from ..results import Observed

# --- cache_bytes ---

SIZES = ("n", "layers", "num_kv_heads", "head_dim", "bytes_per_number", "batch")


def _bytes(n, layers, num_kv_heads, head_dim, bytes_per_number, batch):
    """Return the bytes as a tensor of integers, so that they are shown as a whole number."""
    sizes = n, layers, num_kv_heads, head_dim, bytes_per_number, batch
    return torch.tensor(attention.cache_bytes(*sizes))


def _models():
    """Return probes in which no two sizes have a common factor, except bytes_per_number."""
    return [
        Probe("13 texts of 7 words (3 layers, 5 heads of size 11, 4 bytes)", (7, 3, 5, 11, 4, 13)),
        Probe("1 text of 9 words (5 layers, 1 head of size 7, 2 bytes)", (9, 5, 1, 7, 2, 1)),
        *wide(*SIZES, n=200_000),  # more bytes than 32 bits can count
    ]


def times(factor):
    """Return an answer with one factor too many. factor: a number, or the name of a size."""

    def code(*sizes):
        known = dict(zip(SIZES, sizes, strict=True))
        return attention.cache_bytes(*sizes) * known.get(factor, factor)

    return code


def without(size):
    """Return an answer that leaves out this size."""
    return lambda *sizes: attention.cache_bytes(*sizes) / sizes[SIZES.index(size)]


CACHE = Exercise(
    "cache_bytes(n, layers, num_kv_heads, head_dim, bytes_per_number, batch) -> int",
    "positions",
    _bytes,
    _models,
    mistakes={
        "factor of 2 forgotten": times(1 / 2),
        "n squared": times("n"),
        "one layer counted": without("layers"),
        "heads forgotten": without("num_kv_heads"),
        "numbers instead of bytes": without("bytes_per_number"),
        "only one text counted": without("batch"),
        "one half without the batch": lambda *x: attention.cache_bytes(*x) * (1 + 1 / x[-1]) / 2,
        "bits instead of bytes": times(8),
        "units other than bytes": tuple(times(1 / unit) for unit in (1024, 2**20, 2**30, 1e3, 1e6)),
        "queries kept too": explained(
            times(3 / 2),
            why="A query is used once, by its own word, and never again.",
            advice="Count keys and values only: multiply by 2.",
            source="jalammar/jalammar.github.io#36 (queries listed among what is kept)",
        ),
        "heads counted twice": times("num_kv_heads"),
        "always 4 bytes": explained(
            lambda *sizes: times(4)(*sizes) / sizes[-2],
            why="A float16 number takes 2 bytes, not 4.",
            advice="Use bytes_per_number.",
            source="float32 is the type that PyTorch makes, so 4 is written down",
        ),
    },
    first_is_tensor=False,
)


# --- next_context ---


def _new_word():
    """Return query, key and value of the sentence's last word, keys and values of the others."""
    queries, keys, values = (sentence() @ W for W in seeded())
    return queries[-1], keys[-1], values[-1], keys[:-1], values[:-1]


def _wide_values():
    shapes = ((3,), 5), ((3,), 7), ((5,), 3), ((40, 3), 7), ((40, 5), 5)
    return tuple(exact(*shape, step=step, unit=4).double() for shape, step in shapes)


def _then_new(query, keys, values):
    """Return the arguments of next_context, in which the last word is the new one."""
    return query, keys[-1], values[-1], keys[:-1], values[:-1]


def _own_key(sizes, step):
    """Return the query, made longer, as its own key, so that its score is the largest."""
    return matrix("d_k")(sizes, 3) * sizes["far"] ** 1.5


def _caches():
    return [
        Probe('"step" with the 5 words before it', _new_word()),
        Probe("a cache of 40 words (keys of size 3, values of size 5)", _wide_values()),
        Probe(
            "a cache of 3 words with scores near ±1000",
            _then_new(*scoring([1000.0, -1000.0, 998.5, 999.0])),
        ),
        Probe(
            "the first word of a text (empty cache, score -1000)",
            _then_new(*scoring([-1000.0])),
        ),
        *wide(matrix("d_k"), _own_key, matrix("d_v"), words("n", "d_k"), matrix("n", "d_v")),
    ]


def _taking(change=lambda query, keys, values: (query, keys, values)):
    """Return a variant of project. change: takes query, keys, values (new word last), returns 3."""

    def project(state):
        args = state.query, state.key, state.value, state.keys, state.values
        query, key, value, keys, values = args
        return change(query[None], torch.cat([keys, key[None]]), torch.cat([values, value[None]]))

    return project


def _cut(rows, place):
    """Leave out the row at this place, unless the new word is the only one."""
    place %= len(rows)
    return torch.cat([rows[:place], rows[place + 1 :]]) if len(rows) > 1 else rows


def _past_only(query, keys, values):
    if len(keys) > 1:
        return query, keys[:-1], values[:-1]
    # Softmax of nothing is nothing, and a blend of nothing is 0.
    return query, keys, 0 * values


IN_CACHE = Stage(
    _taking(),
    {
        "new word not added": _taking(_past_only),
        "only the new word": _taking(lambda q, k, v: (q, k[-1:], v[-1:])),
        "last word of the cache replaced": _taking(lambda q, k, v: (q, _cut(k, -2), _cut(v, -2))),
        "oldest word dropped": _taking(lambda q, k, v: (q, _cut(k, 0), _cut(v, 0))),
        "new word added twice": _taking(
            lambda q, k, v: (q, torch.cat([k, k[-1:]]), torch.cat([v, v[-1:]]))
        ),
        "keys and values in different orders": (
            _taking(lambda q, k, v: (q, k, v.roll(1, 0))),
            _taking(lambda q, k, v: (q, k.roll(1, 0), v)),
        ),
        "query added as key": _taking(lambda q, k, v: (q, torch.cat([k[:-1], q]), v)),
        "key used as query": _taking(lambda q, k, v: (k[-1:], k, v)),
        "keys blended": _taking(lambda q, k, v: (q, k, k)),
        "keys and values swapped": _taking(lambda q, k, v: (q, v, k)),
    },
)

NEXT = Exercise(
    "next_context(query, key, value, keys, values) -> (d_v,)",
    "values",
    attention.next_context,
    _caches,
    of_one_query("query key value keys values", IN_CACHE, SCORE_OF_KEYS, SCALE_BESIDE_VALUES),
    variants={
        "mask": {"is_causal with one query": hide(lambda s: torch.arange(s.scores.shape[-1]) > 0)},
        "scale": {},
    },
    mistakes={
        "new value added with weight 1": lambda q, k, v, K, V: (
            attention.attend_in_blocks(q, K, V, 1) + v if len(K) else v
        ),
        "own score not scaled": lambda q, k, *v: attention.next_context(q, k * len(k) ** 0.5, *v),
        "joined along the wrong dimension": lambda q, k, v, K, V: torch.cat([K, k[None]], dim=-1),
        "key not turned into a row": (
            lambda q, k, v, K, V: torch.cat([K, k]),
            lambda q, k, v, K, V: torch.cat([K, k], dim=-1),
        ),
    },
)

# --- cache_mask ---


def _sees(cached, new, diagonal=0):
    """Return (new, cached + new) of bool: True for the cache, and for the new words up to their
    main diagonal, or a different one."""
    return torch.ones(new, cached + new, dtype=torch.bool).tril(cached + diagonal)


def _blocks(cache, among_new):
    """Return a mask of two parts, side by side. cache, among_new: take sizes, make the columns."""
    return lambda cached, new: torch.cat([cache(new, cached), among_new(new, new)], dim=1).bool()


TRUTHS = "made of True and False"


def _is_of_truths(mask, *sizes):
    return Observed({TRUTHS: torch.as_tensor(mask(*sizes)).dtype == torch.bool})


def _past(rows, columns):
    return torch.ones(rows, columns).tril()


MASK = Exercise(
    "cache_mask(cached, new) -> (new, cached + new)",
    "positions",
    attention.cache_mask,
    lambda: [
        Probe("4 cached and 3 new words", (4, 3)),
        Probe("2 cached and 5 new words", (2, 5)),
        Probe("an empty cache and 4 new words", (0, 4)),
        Probe("6 cached words and 1 new one", (6, 1)),
        *wide("cached", "new"),
        Probe("6 cached and 2 new words", (6, 2), measure=_is_of_truths, if_right=True),
    ],
    first_is_tensor=False,
    mistakes={
        "numbers instead of True and False": replace(
            explained(
                why="scaled_dot_product_attention ADDS a mask of numbers to the scores.",
                advice="Return True and False: what does .bool() do?",
                source="torch.ones(...).tril(...) is a mask of floats",
            ),
            detect=lambda evidence: evidence.fact(TRUTHS) is False,
        ),
        "aligned to the upper left": lambda cached, new: _past(new, cached + new),
        "True and False swapped": lambda cached, new: ~_sees(cached, new),
        "future not hidden": lambda cached, new: torch.ones(new, cached + new),
        "diagonal masked too": lambda cached, new: _sees(cached, new, -1),
        "next word not hidden": lambda cached, new: _sees(cached, new, 1),
        "diagonal moved by the wrong amount": lambda cached, new: _sees(cached, new, new - cached),
        "the past hidden instead": (
            _blocks(torch.ones, lambda *sizes: torch.ones(*sizes).triu()),
            lambda cached, new: torch.ones(new, cached + new).triu(cached),
        ),
        "the cache hidden": _blocks(torch.zeros, _past),
        "cache left out": lambda cached, new: _past(new, new),
        "the new words left out": _blocks(torch.ones, torch.zeros),
        "earlier new words hidden": _blocks(torch.ones, torch.eye),
        "the cache after the new words": lambda cached, new: torch.cat(
            [_past(new, new), torch.ones(new, cached)], dim=1
        ),
        "rows for the cache too": lambda cached, new: _past(cached + new, cached + new),
        "rows and columns swapped": lambda cached, new: _sees(cached, new).T,
        "numbers to add instead of a mask": lambda cached, new: torch.zeros(
            new, cached + new
        ).masked_fill(~_sees(cached, new), -torch.inf),
    },
)
