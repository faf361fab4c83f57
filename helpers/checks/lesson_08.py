"""Lesson 08: what attention costs."""

import torch

from .. import attention
from . import stages
from .declare import Exercise, Mistake, Probe, soft, stable
from .experiments import World
from .lesson_04 import exact, seeded
from .probes import sentence
from .results import attempt, call_ours, same
from .stages import Staged, by, dot, hide, varied, wrong

# --- cache_bytes ---


def _bytes(n, layers, num_kv_heads, head_dim, bytes_per_number, batch):
    """As a tensor of a whole number, so that it is shown as one."""
    sizes = n, layers, num_kv_heads, head_dim, bytes_per_number, batch
    return torch.tensor(attention.cache_bytes(*sizes))


def _models():
    """No two of the sizes have a factor in common, but for the bytes."""
    return [
        Probe("7 words, 3 layers, 5 heads of 11, 4 bytes, batch of 13", (7, 3, 5, 11, 4, 13)),
        Probe("9 words, 5 layers, 1 head of 7, 2 bytes, batch of 1", (9, 5, 1, 7, 2, 1)),
    ]


def _without(name, advice, take_out, **more):
    """A factor is missing. take_out: takes the arguments, returns the factor."""

    def code(*sizes):
        return attention.cache_bytes(*sizes) / take_out(*sizes)

    return Mistake(name, code, advice, **more)


def _times(name, advice, *factors, **more):
    """A factor too many, or one in place of another. factors: like take_out."""

    def code(factor):
        return lambda *sizes: attention.cache_bytes(*sizes) * factor(*sizes)

    first, *others = map(code, factors)
    return Mistake(name, first, advice, also=tuple(others), **more)


IN_UNITS = (1024, 2**20, 2**30, 1e3, 1e6, 1e9)

CACHE = Exercise(
    "cache_bytes",
    "cache_bytes(n, layers, num_kv_heads, head_dim, bytes_per_number, batch) -> int",
    "positions",
    _bytes,
    _models,
    (
        _without(
            "factor 2 forgotten",
            "This is the memory of the keys alone, or of the values. Count keys AND values: 2 *.",
            lambda *sizes: 2,
            source="danielealbano/cachegrand#439 (the keys left out of the size of a cache)",
        ),
        _times(
            "n squared",
            "n * n counts scores, which are not kept. Count a key and a value for each word: n.",
            lambda n, *_: n,
            lambda n, *_: n / 2,
            source="memory of attention is known as n x n, so the cache is taken for that",
        ),
        _without(
            "words forgotten",
            "This is the memory of one word. Multiply by n.",
            lambda n, *_: n,
            source="sizes of caches are often told for one word",
        ),
        _without(
            "layers forgotten",
            "Each layer keeps its own keys and values. Multiply by layers.",
            lambda n, layers, *_: layers,
            source="mudler/vllm.cpp#357 (too small by exactly the number of layers)",
        ),
        _without(
            "heads forgotten",
            "This is the cache of one head. Multiply by num_kv_heads.",
            lambda n, layers, heads, *_: heads,
            source="the heads of a layer share its width, not its cache",
        ),
        _without(
            "head_dim forgotten",
            "A key is a vector, not one number. Multiply by head_dim.",
            lambda n, layers, heads, head_dim, *_: head_dim,
            source="a key counted as one number",
        ),
        _without(
            "numbers instead of bytes",
            "You counted numbers. Multiply by bytes_per_number.",
            lambda n, layers, heads, head_dim, size, batch: size,
            source="LMCache/LMCache#688 (its formula has no bytes)",
        ),
        _without(
            "batch forgotten",
            "This is the cache of one text. Multiply by batch: each text has its own words.",
            lambda *sizes: sizes[-1],
            source="calculators of one text; the server has many at a time",
        ),
        _times(
            "bits instead of bytes",
            "8 bits are one byte, and bytes_per_number counts bytes already. Take the factor 8 "
            "out.",
            lambda *sizes: 8,
            lambda *sizes: 1 / 8,
            source="mit-han-lab/omniserve#39 (bits taken for bytes)",
        ),
        _times(
            "other units than bytes",
            "The number of bytes is asked for, not KiB, MiB or GB. Return it undivided.",
            *(lambda *sizes, unit=unit: 1 / unit for unit in IN_UNITS),
            source="pytorch/torchtitan#94, alvarobartt/hf-mem#33 (units mixed up)",
        ),
        _times(
            "queries kept too",
            "A query is used once, by its own word, and never again. Count keys and values only: "
            "2 *.",
            lambda *sizes: 3 / 2,
            source="jalammar/jalammar.github.io#36 (queries listed among what is kept)",
        ),
        _times(
            "factor 2 taken twice",
            "There is one key and one value for each word. Multiply by 2 once.",
            lambda *sizes: 2,
            source="2 for keys and values, and 2 again for the bytes of float16",
        ),
        _times(
            "heads counted twice",
            "head_dim is the size of ONE head, so one factor num_kv_heads is enough. Multiply by "
            "it once.",
            lambda n, layers, heads, *_: heads,
            source="jranaraki/vllm-fit#2 (heads times the width of all heads)",
        ),
        _times(
            "head_dim divided by the heads",
            "head_dim is the size of one head already. Multiply by it as it is.",
            lambda n, layers, heads, *_: 1 / heads**2,
            source="hidden_size / num_heads is head_dim, so it is divided once more",
        ),
        Mistake(
            "always 4 bytes",
            lambda n, layers, heads, head_dim, size, batch: attention.cache_bytes(
                n, layers, heads, head_dim, 4, batch
            ),
            "Numbers of float16 take 2 bytes. Use bytes_per_number.",
            source="float32 is the type that PyTorch makes, so 4 is written down",
        ),
    ),
    first_is_tensor=False,
)


# --- next_context ---


def _new_word():
    """query, key and value of the last word of the sentence, keys and values of the others."""
    queries, keys, values = (sentence() @ W for W in seeded())
    return queries[-1], keys[-1], values[-1], keys[:-1], values[:-1]


def _cached(n, d_k, d_v, unit=4):
    numbers = ((d_k, 5), (d_k, 7), (d_v, 3), ((n, d_k), 7), ((n, d_v), 5))
    return tuple(
        exact(*(size if isinstance(size, tuple) else (size,)), step=step, unit=unit)
        for size, step in numbers
    )


def _scoring(scores, step=3):
    """A query, and keys and values that give it these scores; d_k is 4, so its root is 2."""
    query = torch.tensor([2.0, 0.0, 0.0, 0.0])
    keys = exact(len(scores), 4, step=step)
    keys[:, 0] = torch.tensor(scores)
    return query, keys, exact(len(scores), 3, step=7)


def _then_new(query, keys, values):
    """The last of the words is the new one."""
    return query, keys[-1], values[-1], keys[:-1], values[:-1]


def _caches():
    return [
        Probe("step, with the 5 words before it", _new_word()),
        Probe(
            "a cache of 7 words, keys of 3 numbers, values of 5",
            tuple(x.double() for x in _cached(7, 3, 5)),
        ),
        Probe(
            "a cache of 3 words with scores near 1000 and -1000",
            _then_new(*_scoring([1000.0, -1000.0, 998.5, 999.0])),
        ),
        Probe(
            "the first word of a text: an empty cache, a score of -1000",
            _then_new(*_scoring([-1000.0])),
        ),
    ]


def _with_new(at):
    return (
        at.query[None],
        torch.cat([at.keys, at.key[None]]),
        torch.cat([at.values, at.value[None]]),
    )


def _of_one_query(names, project):
    """The stages of a single context vector. project: gives the query as a batch of one."""
    return Staged(
        names,
        (
            ("project", project),
            ("score", dot),
            ("scale", stages.by_root),
            ("mask", stages.nothing_hidden),
            ("exp", lambda at: stable),
            ("normalise", stages.weigh),
            ("blend", stages.blend),
        ),
        lambda at: at.contexts[0],
    )


NEXT_STAGES = _of_one_query(("query", "key", "value", "keys", "values"), _with_new)


def _seen(change):
    """Other queries, keys and values than the right ones. change: takes these three, and at."""
    return lambda at: change(*_with_new(at), at)


def _cut(rows, place):
    """Without the row at this place; the new word stays where it is alone."""
    place %= len(rows)
    return torch.cat([rows[:place], rows[place + 1 :]]) if len(rows) > 1 else rows


def _again(rows):
    return torch.cat([rows, rows[-1:]])


def _past_only(at):
    if len(at.keys):
        return at.query[None], at.keys, at.values
    # Softmax of nothing is nothing, and a blend of nothing is 0.
    return at.query[None], at.key[None], 0 * at.value[None]


def _in_one_row(keys, values):
    """The formula as it is often written, without a batch of one query.

    keys, values: take the arguments of the exercise."""

    def code(*args):
        query, seen = args[0], keys(*args)
        return torch.softmax(seen @ query / seen.shape[-1] ** 0.5, dim=0) @ values(*args)

    return code


def _two_rows(keys, values, query):
    """The same with a batch of one query: another error where sizes do not fit."""
    return torch.softmax(query[None] @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values


def _own_keys(query, key, value, keys, values):
    return torch.cat([keys, key[None]])


def _own_values(query, key, value, keys, values):
    return torch.cat([values, value[None]])


BOTH = "The new word has a key AND a value. Add one row to the keys and one to the values."
COUNTED = "A count of words is not d_k, with or without a root. Use d_k, the size of a key."
OF_A_VALUE = wrong(
    "scale",
    "scaled by the size of a value",
    "A value may be wider than a key. Use d_k, the size of a key.",
    by(lambda at: at.values.shape[-1] ** 0.5),
    source="openai/gpt-2#49 (the size of a value, which is the same there)",
)
# A row of weights, whatever is blended.
IN_ROW = (
    stages.AFTER_SOFTMAX,
    stages.TWICE,
    stages.ONLY_EXPS,
    stages.BY_SUM,
    stages.SIGMOID,
    stages.SIGMOID_DIVIDED,
    stages.LOGARITHM,
    stages.NO_EXP_BELOW,
    stages.LESS_ABOVE_ONLY,
    stages.ONE_ADDED,
    stages.OVER_ONE_NUMBER,
    stages.NO_SOFTMAX,
    stages.ROUNDED,
    stages.NEVER_BELOW_0,
    stages.SIGN_FLIPPED,
    stages.AVERAGED,
    stages.NORMALISED_Q_AND_K,
    stages.MEAN,
    stages.ALL_EQUAL,
    stages.WINNER,
    stages.RETURNED,
    stages.OVERFLOW,
)
IN_SCALE = tuple(m for m in stages.IN_SCALE if m.name != "scaled by the number of words")


def _by_count(name, *counts, **more):
    """counts: take at, return a number of words; used with a root and without."""
    roots = (by(lambda at, count=count: count(at) ** 0.5) for count in counts)
    return wrong("scale", name, COUNTED, *map(by, counts), *roots, **more)


NEXT = Exercise(
    "next_context",
    "next_context(query, key, value, keys, values) -> (d_v,)",
    "values",
    attention.next_context,
    _caches,
    (
        wrong(
            "project",
            "own key and value not added",
            "The new word does not see itself. Add its key to the keys and its value to the values "
            "first.",
            _past_only,
            source="harvard-edge/cs249r_book#1953 (the new word left out of its own step)",
        ),
        wrong(
            "mask",
            "is_causal with one query",
            "is_causal=True counts from the FIRST key: one query sees the first word only. Use no "
            "mask, since all in the cache came before.",
            hide(lambda at: torch.arange(at.scores.shape[-1]) > 0),
            source="pytorch/pytorch#144858, #103082 and #108108",
        ),
        wrong(
            "project",
            "only the new word",
            "You got the value of the new word itself: the cache was not used. Add its key and "
            "value to the cache, and look at all of it.",
            _seen(lambda q, k, v, at: (q, k[-1:], v[-1:])),
            source="deepspeedai/DeepSpeed#7428 (the cache that was passed in is ignored)",
        ),
        wrong(
            "project",
            "last word of the cache replaced",
            "The new word took the place of the last one. Keep all rows of the cache, and add one.",
            _seen(lambda q, k, v, at: (q, _cut(k, -2), _cut(v, -2))),
            source="keys[-1] = key writes over a word, it adds none",
        ),
        wrong(
            "project",
            "oldest word dropped",
            "The first word of the text is gone. Keep all rows of the cache, and add one.",
            _seen(lambda q, k, v, at: (q, _cut(k, 0), _cut(v, 0))),
            source="a rolling cache, as with a window: awni/voxmlx#3",
        ),
        wrong(
            "project",
            "own key and value added twice",
            "The new word is in the cache twice, and so is its weight. Add its key and value once.",
            _seen(lambda q, k, v, at: (q, _again(k), _again(v))),
            source="ggml-org/llama.cpp#7859 (each word in the cache two times)",
        ),
        wrong(
            "project",
            "keys and values in another order",
            "The key was added at one end and the value at the other, so weights meet values of "
            "other words. Add both at the same end.",
            _seen(lambda q, k, v, at: (q, k, v.roll(1, 0))),
            _seen(lambda q, k, v, at: (q, k.roll(1, 0), v)),
            source="cat((keys, key)) beside cat((value, values))",
        ),
        wrong(
            "project",
            "query added as key",
            "You added the query of the new word to the keys. Add its key.",
            _seen(lambda q, k, v, at: (q, torch.cat([at.keys, q]), v)),
            source="line copied, one of its two names changed",
        ),
        wrong(
            "project",
            "key used as query",
            "You asked with the key of the new word. Use its query to ask.",
            _seen(lambda q, k, v, at: (k[-1:], k, v)),
            source="594422814/TransformerTrack#33 (key and query share one matrix)",
        ),
        Mistake(
            "keys blended",
            _in_one_row(_own_keys, _own_keys),
            "You blended the keys. Blend the VALUES.",
            stages=({"project": _seen(lambda q, k, v, at: (q, k, k))},),
            source="fchollet/deep-learning-with-python-notebooks#261, ruvnet/agentic-flow#191",
        ),
        Mistake(
            "keys and values swapped",
            _in_one_row(_own_values, _own_keys),
            "You matched against the VALUES and blended the KEYS. Exchange the two.",
            stages=({"project": _seen(lambda q, k, v, at: (q, v, k))},),
            source="jsbaan/transformer-from-scratch#1 (q, v, k taken for q, k, v)",
        ),
        Mistake(
            "own value not added",
            _in_one_row(_own_keys, lambda *args: args[-1]),
            BOTH,
            also=(lambda *args: _two_rows(_own_keys(*args), args[-1], args[0]),),
            source="one line for the keys, and the second one forgotten",
        ),
        Mistake(
            "own key not added",
            _in_one_row(lambda *args: args[-2], _own_values),
            BOTH,
            also=(lambda *args: _two_rows(args[-2], _own_values(*args), args[0]),),
            source="one line for the values, and the first one forgotten",
        ),
        Mistake(
            "concatenated along the numbers",
            lambda q, k, v, K, V: torch.cat([K, k[None]], dim=-1),
            "dim=-1 would make the keys wider. Add a row: torch.cat([keys, key[None]]), dim=0.",
            source="deepspeedai/Megatron-DeepSpeed#112 (cat along the wrong dim)",
        ),
        Mistake(
            "key not made a row",
            lambda q, k, v, K, V: torch.cat([K, k]),
            "keys is (n, d_k) and key is (d_k,): torch joins only what has as many dims. Write "
            "key[None], which is (1, d_k).",
            also=(
                lambda q, k, v, K, V: torch.stack([K, k]),
                lambda q, k, v, K, V: torch.cat([K, k], dim=-1),
            ),
            source="the two shapes look as if they fit",
        ),
        *IN_SCALE,
        OF_A_VALUE,
        _by_count(
            "scaled by the number of words",
            lambda at: at.scores.shape[-1],
            lambda at: at.scores.shape[-1] - 1,
            source="len(keys), or shape[0], taken for the size of a key",
        ),
        *IN_ROW,
        stages.overflow_of_python(NEXT_STAGES),
    ),
    staged=NEXT_STAGES,
)


# --- attend_in_blocks ---


def of_step():
    """The query of step, and all keys and values, as the lesson makes them."""
    generator = torch.Generator().manual_seed(19)
    queries, keys, values = (sentence() @ torch.randn(3, 2, generator=generator) for _ in "QKV")
    return queries[-1], keys, values


def _far_below():
    """The last block is so far below that exp of the difference overflows."""
    query, keys, values = exact(3, step=7) * 4, exact(11, 3, step=5) * 4, exact(11, 5, step=3) * 4
    keys[8:] -= 1000 * query
    return query.double(), keys.double(), values.double()


def _rows():
    return [
        Probe("the query of step, blocks of 4 words", (*of_step(), 4)),
        Probe("11 words, blocks of 4", (*_far_below(), 4)),
        Probe(
            "5 words, scores growing from -1000 to 1000, blocks of 2",
            (*_scoring([-1000.0, -999.5, 999.0, 998.5, 1000.0]), 2),
        ),
        Probe(
            "4 words, scores near -1000, one block",
            (*_scoring([-1000.0, -998.5, -1001.0, -999.0]), 9),
        ),
    ]


BLOCK_STAGES = _of_one_query(
    ("query", "keys", "values", "block_size"),
    lambda at: (at.query[None], at.keys, at.values),
)


def _shrink(old, new):
    return (old - new).exp()


def _grow(old, new):
    return (new - old).exp()


def _keep(old, new):
    return 1.0


def _divide(total):
    return total


def in_blocks(of_sum=_shrink, of_blend=_shrink, of_new=_keep, top=torch.maximum, each=None):
    """Weights by blocks, as a form of normalise.

    of_sum, of_blend: what the old sum, and the old blend, are multiplied by when the maximum
    changes from old to new.  of_new: the same for what comes from the new block.  top: the
    running maximum, of the old one and that of the block.  each: what the blend is divided by
    after every block, of the sum so far; None divides it once, at the end.
    """

    def normalise(at):
        maximum = total = shares = None
        for block in at.scores.split(at.block_size, dim=-1):
            larger = block.amax(-1, keepdim=True)
            if maximum is None:
                exps = (block - larger).exp()
                total, shares = exps.sum(-1, keepdim=True), exps
            else:
                larger = top(maximum, larger)
                exps = (block - larger).exp() * of_new(maximum, larger)
                total = total * of_sum(maximum, larger) + exps.sum(-1, keepdim=True)
                shares = torch.cat([shares * of_blend(maximum, larger), exps], dim=-1)
            shares = shares / each(total) if each else shares
            maximum = larger
        return shares if each else shares / total

    return normalise


def _of_the_block(old, new):
    return new


def _of_the_first(old, new):
    return old


def _each_alone(part):
    """Softmax of each block by itself. part: takes a block and all scores, returns what its
    weights are multiplied by."""

    def normalise(at):
        blocks = at.scores.split(at.block_size, dim=-1)
        return torch.cat([soft(b, at.exp) * part(b, at) for b in blocks], dim=-1)

    return normalise


def _only(first, last):
    """Softmax of some words, nothing for the others. first, last: take the count and the size of
    a block, return places."""

    def mask(at):
        n, places = at.scores.shape[-1], torch.arange(at.scores.shape[-1])
        outside = (places < first(n, at.block_size)) | (places >= last(n, at.block_size))
        return at.scores.masked_fill(outside, -torch.inf)

    return mask


def _overlapping(at):
    """Blocks that start at every word: each word as often as it is in one."""
    places = torch.arange(at.scores.shape[-1])
    return soft(at.scores + places.clamp(max=at.block_size - 1).add(1).log())


class ExpOfInfinityIsZero(World):
    def call(self, func, name, args, kwargs):
        result = func(*args, **kwargs)
        return torch.where(result == torch.inf, 0.0, result) if name == "exp" else result


GROWN = (
    {"normalise": in_blocks(_grow, _grow)},
    {"normalise": in_blocks(_grow, _shrink)},
    {"normalise": in_blocks(_shrink, _grow)},
)


def _grown_from_infinity(query, keys, values, block_size):
    maximum, total, blend = torch.tensor(-torch.inf), 0.0, 0.0
    for start in range(0, len(keys), block_size):
        block = slice(start, start + block_size)
        scores = keys[block] @ query / len(query) ** 0.5
        larger = torch.maximum(maximum, scores.max())
        exps, factor = (scores - larger).exp(), (larger - maximum).exp()
        total = total * factor + exps.sum()
        blend = blend * factor + exps @ values[block]
        maximum = larger
    return blend / total


def _grows(seen):
    """From minus infinity, the first factor is infinite, and infinity times 0 is NaN. Without
    that, are the numbers those of the wrong direction?"""
    if not all(result.has_nan for result in seen.mine):
        return False
    world = ExpOfInfinityIsZero

    def fits(form):
        code = BLOCK_STAGES.with_(form)
        pairs = zip(seen.all_in(world), seen.probes, strict=True)
        return all(same(mine, attempt(code, probe, call_ours, world)) for mine, probe in pairs)

    return any(map(fits, GROWN))


WRONG_WAY = dict(
    name="rescaled the wrong way round",
    advice="A larger maximum makes what is old SMALLER. Multiply it by exp(old maximum - new "
    "maximum).",
    source="deepseek-ai/FlashMLA#177 (exp(m_new - m_old) in its formulas)",
)
NOT_SHRUNK = (
    "What was collected from earlier blocks is for a smaller maximum. Multiply it by "
    "exp(old maximum - new maximum) first."
)

BLOCKS = Exercise(
    "attend_in_blocks",
    "attend_in_blocks(query, keys, values, block_size) -> (d_v,)",
    "values",
    attention.attend_in_blocks,
    _rows,
    (
        wrong(
            "normalise",
            "old blocks not rescaled",
            NOT_SHRUNK,
            in_blocks(_keep, _keep),
            source="asked in Dao-AILab/flash-attention#411 (a rescaling that seems to be missing)",
        ),
        wrong(
            "normalise",
            "only the sum rescaled",
            "You made the old sum smaller, but not the old blend. Multiply BOTH by exp(old maximum "
            "- new maximum).",
            in_blocks(_shrink, _keep),
            source="two lines to change, one of them changed",
        ),
        wrong(
            "normalise",
            "only the blend rescaled",
            "You made the old blend smaller, but not the old sum. Multiply BOTH by exp(old maximum "
            "- new maximum).",
            in_blocks(_keep, _shrink),
            source="two lines to change, one of them changed",
        ),
        Mistake(code=None, stages=GROWN, **WRONG_WAY),
        Mistake(code=_grown_from_infinity, shows=_grows, **WRONG_WAY),
        wrong(
            "normalise",
            "the new block rescaled",
            "The new block has the new maximum already. Multiply the OLD sum and blend by exp(old "
            "maximum - new maximum).",
            in_blocks(_keep, _keep, _shrink),
            in_blocks(of_new=_shrink),
            source="Dao-AILab/flash-attention, algorithm 1: it has factors for both",
        ),
        wrong(
            "normalise",
            "maximum of the block only",
            "The maximum of this block may be smaller than an earlier one. Take the larger of the "
            "two.",
            in_blocks(top=_of_the_block),
            in_blocks(_keep, _keep, top=_of_the_block),
            source="tile-ai/tilelang#1148 (the maximum of the earlier blocks was not kept)",
        ),
        wrong(
            "normalise",
            "maximum of the first block only",
            "A later block may have a larger score, and its exp overflows. Let the maximum grow: "
            "take the larger of the old one and that of the block.",
            in_blocks(_keep, _keep, top=_of_the_first),
            source="tile-ai/tilelang#2360 (a running maximum that is not updated)",
        ),
        wrong(
            "normalise",
            "each block normalised by itself",
            "You divided in each block by its own sum, so that all blocks count alike. Divide "
            "once, at the end, by the sum of ALL.",
            _each_alone(lambda block, at: 1 / len(at.scores.split(at.block_size, dim=-1))),
            _each_alone(lambda block, at: 1.0),
            _each_alone(lambda block, at: block.shape[-1] / at.scores.shape[-1]),
            source="asked in zhuzilin/ring-flash-attention#31 (maximum and sum of each block)",
        ),
        wrong(
            "normalise",
            "divided after every block",
            "Dividing by the sum so far, block after block, divides the old blend several times. "
            "Divide once, after the loop.",
            in_blocks(each=_divide),
            source="Dao-AILab/flash-attention, algorithm 1 divides, and multiplies back first",
        ),
        wrong(
            "mask",
            "incomplete last block dropped",
            "The last words are missing: the last block may be smaller. Run the loop over "
            "range(0, len(keys), block_size).",
            _only(lambda n, size: 0, lambda n, size: n - n % size if n >= size else n),
            source="pytorch/pytorch#159247 (length not a multiple of the block)",
        ),
        wrong(
            "mask",
            "only the last block",
            "This is the softmax of the last block alone. Add each block to what was collected "
            "before.",
            _only(lambda n, size: (n - 1) // size * size, lambda n, size: n),
            source="= inside the loop in place of +=",
        ),
        wrong(
            "mask",
            "only the first block",
            "This is the softmax of the first block alone. Move `return` out of the loop.",
            _only(lambda n, size: 0, lambda n, size: size),
            source="return inside the loop",
        ),
        wrong(
            "normalise",
            "blocks overlap",
            "Your blocks start at every word, so most words are counted several times. Count on "
            "by block_size: range(0, len(keys), block_size).",
            _overlapping,
            source="range without its third number",
        ),
        wrong(
            "project",
            "keys blended",
            "You blended the keys. Blend the VALUES.",
            lambda at: (at.query[None], at.keys, at.keys),
            source="fchollet/deep-learning-with-python-notebooks#261, ruvnet/agentic-flow#191",
        ),
        *IN_SCALE,
        OF_A_VALUE,
        _by_count(
            "scaled by the number of words",
            lambda at: at.scores.shape[-1],
            source="len(keys), or shape[0], taken for the size of a key",
        ),
        _by_count(
            "scaled by the size of a block",
            lambda at: at.block_size,
            source="len(block), or shape[0], taken for the size of a key",
        ),
        *varied(
            IN_ROW,
            {
                stages.NEVER_BELOW_0.name: (
                    "running maximum starts at 0",
                    "If all scores are far below 0, exp is 0 for all of them, and 0 / 0 is NaN. "
                    "Start with minus infinity.",
                ),
                stages.ONLY_EXPS.name: (
                    "blend not divided by the sum",
                    "The shares of the words do not sum to 1. Divide the blend by the sum, once, "
                    "after the loop.",
                ),
            },
        ),
        stages.overflow_of_python(BLOCK_STAGES),
    ),
    staged=BLOCK_STAGES,
)
