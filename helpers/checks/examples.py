"""Arguments and makers for single lessons: see arguments.py."""

import torch
from torch.nn import functional as F

from .. import attention
from .arguments import exact, matrix, mixed, numbers, places, scoring, seeded, sentence, wide
from .exercise import Case
from .program import divided
from .results import NotNumbers, Observed, numbers_of

# --- lesson 04 ---


def mixed_attention():
    """Return mixed() words, one of which has scores of exactly 0, and three matrices."""
    inputs = mixed()
    inputs[2] = 0
    sizes = (4, 3, 5), (4, 3, 7), (4, 6, 3)
    return inputs, *(exact(m, n, step=step).double() for m, n, step in sizes)


def strong_attention():
    """Return words whose first two numbers make the scores: after scaling, about 1000, -1000 and
    125. d_k is 16, so that even its fourth root, which some take, is exact; and all matrices are
    16 x 16, so that a .T does not raise."""
    sizes = (4, 5), (16, 3), (16, 7), (16, 5)
    inputs, query, key, value = (exact(n, 16, step=step).double() for n, step in sizes)
    inputs[:, 0] = torch.tensor([1.0, -1.0, 0.125, 1.0])
    inputs[:, 1] = torch.tensor([4000.0, 4001.0, 3999.0, 4002.0])
    for W, row in ((query, 0), (key, 1)):
        W[:2] = 0
        W[:, 0] = 0
        W[row, 0] = 1
    value[1] = 0
    return inputs, query, key, value


# --- lesson 05 ---


def stepped(code, step, goal, rate, times=1):
    """Return the loss that a training step returns, and all numbers of the model after it.

    code: called with a model, a loss and this rate.  step: decides the numbers of the model, which
    has gradients from before.  goal: the word to look at.  times: how often code is called.
    """
    model, words = attention.SelfAttention(3, 2), sentence()
    matrices = list(model.parameters())  # these are to change, not new ones in their place
    with torch.enable_grad():
        for k, matrix in enumerate(matrices):
            matrix.data.copy_(exact(3, 2, step=step + 2 * k))

        def loss(model, goal=goal):
            wanted = torch.full((len(words),), goal)
            return attention.attention_loss(model.weights(words), wanted)

        loss.__qualname__ = "loss"  # as an error shows it
        loss(model, (goal + 1) % len(words)).backward()
        for _ in range(times):
            value = numbers_of(code(model, loss, rate))
            if value.dim():
                raise NotNumbers(value, f"numbers of shape {tuple(value.shape)}")
    return torch.cat([x.detach().flatten() for x in (value, *matrices)])


def training_steps():
    """Return all cases of one_step."""
    what = "the loss, then W_query, W_key and W_value after a step with rate"
    steps = (5, 4, 0.5), (3, 0, 2.0), (7, 2, 0.125)
    once = [Case(f"{what} {step[-1]:g}", step, measure=stepped) for step in steps]
    return [*once, Case("two steps on one model", (5, 4, 0.5, 2), measure=stepped, if_right=True)]


# --- lesson 06 ---


def sentence_scores():
    """Return the scores of the sentence, (6, 6), with the matrices of seeded()."""
    W_query, W_key, _ = seeded()
    return sentence() @ W_query @ (sentence() @ W_key).T


# --- lesson 07 ---


def padded(n, *left, right=0):
    """Return (b, n) of bool: True for the first words, as many as left says, and for the last."""
    places = torch.arange(n)
    return (places < torch.tensor(left)[:, None]) | (places >= n - right)


def padding(b, n):
    """Return a function (sizes, step): (b, n) of bool, True for padding on the left."""
    return lambda sizes, step: padded(sizes[n], *(k % sizes[n] for k in range(sizes[b])))


# --- lesson 08 ---


def different(*shape):
    """Return different numbers, in sixteenths, so that rounding to 3 decimals changes most."""
    return exact(*shape, step=7, unit=16, period=127)


# --- lesson 09 ---


def without_0(d_out, step):
    """Return (d_out, d_out) different numbers, in sixteenths, so that rounding changes most."""
    return exact(d_out, d_out, step=step, unit=16, period=211) + 7


def heads_of_sentence():
    """Return arguments of repair_heads: the sentence, and random matrices."""
    generator = torch.Generator().manual_seed(123)
    matrices = [torch.rand(3, 4, generator=generator) for _ in range(3)]
    return sentence()[None], *matrices, exact(4, 4), exact(4, step=3), 2


def heads_of_two():
    """Return arguments of repair_heads: two sentences, with scores of exactly 0."""
    inputs = exact(2, 5, 7, step=3, unit=4).double()
    inputs[1, 2] = 0
    matrices = (exact(7, 12, step=step).double() for step in (5, 7, 3))
    return inputs, *matrices, exact(12, 12).double(), exact(12, step=3).double(), 3


def far_heads():
    """Return arguments of repair_heads: large scores, in 4 heads of 4 numbers, so that the roots of
    head_dim and d_out are exact."""
    query, key, value = (exact(3, 16, step=step).double() for step in (5, 3, 7))
    for W, row in ((query, 0), (key, 1)):
        W[:, ::4] = 0
        W[:2] = 0
        W[row, ::4] = 1
    value[:2] = 0
    W_out, b_out = exact(16, 16, step=5).double(), exact(16, step=3).double()
    return numbers("strong_heads", torch.float64), query, key, value, W_out, b_out, 4


def heads_of_size_2():
    """Return arguments of repair_heads: most sizes are 2, so that answers that raise elsewhere give
    numbers here."""
    matrices = (exact(4, 4, step=step) for step in (7, 5, 3, 9))
    return exact(2, 2, 4, step=3, unit=4), *matrices, exact(4, step=5), 2


# --- lesson 10 ---


def _normed(factor, shift):
    return lambda x: factor * F.layer_norm(x, x.shape[-1:]) + shift


def _mean_so_far(x):
    """Return causal attention with even weights; its values are the words, rolled by one place."""
    return attention.uniform_causal(x.shape[-2]).to(x) @ x.roll(1, dims=-1) + 0.125


# The parts of a block: they take any width, and no two give the same.
PARTS = {
    "norm_1": _normed(1, 0.25),
    "attention": _mean_so_far,
    "norm_2": _normed(1.5, -0.375),
    "feed_forward": lambda x: (0.75 * x + 0.5).relu() - x.flip(-1) / 4,
}


def part(name):
    """Return a function (sizes, step) that gives this part of a block."""
    return lambda sizes, step: PARTS[name]


def scored_texts(words, v, up=0.0):
    """Return scores (b, n, v) in no order, and the words, (b, n), as a tensor: if rows rise alike,
    all pairings have one mean loss.  up: is added to the scores."""
    draws, words = torch.Generator().manual_seed(1), torch.tensor(words)
    return torch.randint(-16, 17, (*words.shape, v), generator=draws) / 8 + up, words


def _small_model(v):
    """Return a model, (1, n) -> scores (1, n, v), of which row i depends on all words up to i.

    It seeds torch, so that all who draw with torch.multinomial after a call draw the same words."""
    known = exact(v, v, step=7, unit=4, period=29)

    def model(words):
        torch.manual_seed(int(words.sum()) + words.shape[-1])
        return known[words].cumsum(1).sin() * 2 + known[words] / 4

    return model


def to_write_on():
    """Return the cases of write_on: texts to continue, with words that no other way draws."""
    for n, count, v, temperature, if_right in (
        (3, 12, 7, 2.0, False),
        (5, 9, 11, 0.5, False),
        (1, 30, 13, 1.5, True),
        (2, 0, 5, 1.0, True),
    ):
        label = f"{n} words and {count} more (vocabulary of {v}, temperature {temperature:g})"
        words = places("n", "v")(dict(n=n, v=v), 3)[None]
        yield Case(label, (_small_model(v), words, count, temperature), if_right=if_right)


# --- lessons 11 and 12 ---


def step():
    """Return the query of *step*, and all keys and values, as the lesson makes them."""
    generator = torch.Generator().manual_seed(19)
    queries, keys, values = (sentence() @ torch.randn(3, 2, generator=generator) for _ in "QKV")
    return queries[-1], keys, values


def far_below():
    """Return arguments whose last block is so far below that exp of the difference overflows."""
    query, keys, values = exact(3, step=7) * 4, exact(11, 3, step=5) * 4, exact(11, 5, step=3) * 4
    keys[8:] -= 1000 * query
    return doubles(query, keys, values)


def growing():
    """Return a query (4,), keys (5, 4) and values (5, 3) with scores from -9000 to 9000."""
    return doubles(*scoring([-9000.0, -8999.5, 8999.0, 8998.5, 9000.0]))


def doubles(*tensors):
    return [x.double() for x in tensors]


def blocks_of(query, keys, values):
    """Return the maxima (m,), sums (m,) and blends (m, d_v) of blocks of 2, each by itself."""
    scores = attention.scaled_scores(query[None], keys)[0]
    found = []
    for row, rows in zip(scores.split(2), values.split(2), strict=True):
        exps = (row - row.max()).exp()
        found.append((row.max(), exps.sum(), exps @ rows))
    return tuple(map(torch.stack, zip(*found, strict=True)))


def positive(*names):
    """Return a function (sizes, step) that makes numbers above 0."""
    return lambda sizes, step: matrix(*names)(sizes, step) + 3


def own_key(sizes, step):
    """Return the query, made longer, as its own key, so that its score is the largest."""
    return matrix("d_k")(sizes, 3) * sizes["far"] ** 1.5


def with_new(query, keys, values):
    """Return the arguments of next_context, in which the last word is the new one."""
    return query, keys[-1], values[-1], keys[:-1], values[:-1]


TRUTHS = "made of True and False"


def is_of_truths(mask, *sizes):
    """Observe whether mask(*sizes) is made of True and False. Raises NotNumbers."""
    made = mask(*sizes)
    if isinstance(made, list) and torch.is_tensor(made[0]):
        raise NotNumbers(made, "a list of tensors")
    return Observed({TRUTHS: torch.as_tensor(made).dtype == torch.bool})


def long_cache():
    """Return the arguments of next_context for a cache of 40 words: d_k = 3, d_v = 5."""
    shapes = ((3,), 5), ((3,), 7), ((5,), 3), ((40, 3), 7), ((40, 5), 5)
    return [exact(*shape, step=step, unit=4).double() for shape, step in shapes]


# --- lesson 13 ---


def weights_at(n, *positions, dtype=torch.float32):
    """Return weights (b, n, n), and these positions of words in the b sentences as tensors, (b,).

    Choose positions that differ between sentences, none of them the last: one more would raise.
    """
    b = len(positions[0])
    weights = torch.rand(b, n, n, generator=torch.Generator().manual_seed(b), dtype=dtype)
    return divided(weights), *map(torch.tensor, positions)


# --- lesson 14 ---


# A word three times; a word right after itself, and word 0; no copies at all; a single word.
TEXTS = [5, 2, 5, 5, 7, 2], [4, 0, 9, 4, 0, 0, 4, 8, 9], [3, 1, 0, 2], [6]
# For code with room for only so many words, some of these are the same word.
FAR_APART = [3, *(3 + room for room in (32, 50, 64, 100, 128, 256, 1000, 1024, 10_000)), 3]


def tokens(count, below):
    """Return a function (sizes, step): like places(), but from -1, and once far apart."""
    return lambda sizes, step: (places(count, below)(sizes, step) - 1) * sizes["far"] ** 5


def texts_with_copies():
    """Return all cases of look_back."""
    return [
        *(Case(f"the words {words}", (torch.tensor(words),)) for words in TEXTS),
        Case(f"the words {FAR_APART}", (torch.tensor(FAR_APART),), if_right=True),
        *wide(tokens("n", "d")),
    ]


# --- lesson 15 ---


def half(name):
    """Return a function (sizes, step) that gives half of the size of this name, rounded down."""
    return lambda sizes, step: sizes[name] // 2


def two_sentences(n, d, dtype=torch.float32):
    """Return weights (n, n) that sum to 1, none of them 0, and the values (n, d) of two sentences.

    Choose positions before the last word, so that an answer one too far still finds a word.
    """
    weights = exact(n, n, step=7).softmax(-1)
    return [x.to(dtype) for x in (weights, exact(n, d), exact(n, d, step=3, period=11))]


def answers_in_four_runs():
    """Return all cases of read_and_needed: own and partner's answers differ, as in the lesson."""
    cases = []
    for n, many in ((6, 3), (64, 16), (9, 4), (1, 3)):
        draws = torch.Generator().manual_seed(n)
        own, swapped, without = torch.randint(many, (3, n), generator=draws)
        other = (own + torch.randint(1, many, (n,), generator=draws)) % many
        first = (swapped == other).nonzero()[:1]
        without[first] = own[first]  # read, and not needed
        cases.append(Case(f"{n} strings", (own, other, swapped, without), if_right=n == 1))
    return cases
