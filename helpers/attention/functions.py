"""Attention as the lessons build it: one definition each, in the order of the lessons.

n: number of tokens.  d, d_in: entries of an embedding.  b: number of sentences in a batch.
Every function takes floating-point tensors, where it says nothing else, leaves its arguments
as they are and returns the same floating-point type. A module takes inputs (..., n, d_in), and
its outputs are (..., n, d_out), where it says nothing else. What cannot fit, such as a size below
1 or inputs of another width, raises InputError.
Source of the formulas: Vaswani et al. 2017, section 3.2. Source of the classes, their
arguments and the order in which they create their parameters (query, key, value, out_proj):
Raschka, Build a Large Language Model (From Scratch), chapter 3.
"""

import torch

from ..errors import InputError
from .fits import expect_head_dim, expect_rate, expect_sizes


# Lesson 01
def scores(inputs, i):
    """Dot products of every token with token i.

    inputs: (n, d).  i: index of the query, -n to n - 1.
    Returns (n,), any real numbers. Raises IndexError if there is no token i.
    """
    return inputs @ inputs[i]


def all_scores(inputs):
    """Dot products of every token with every token.

    inputs: (n, d).  Returns (n, n): row = query, column = key; symmetric.
    """
    return inputs @ inputs.T


def cosine_scores(inputs, i):
    """Cosine similarity of every token with token i: dot products without the lengths.

    inputs: (n, d), no row all zero.  i: index of the query.
    Returns (n,) in -1 to 1; 1 at i.
    """
    lengths = inputs.norm(dim=-1)
    return inputs @ inputs[i] / (lengths * lengths[i])


# Lesson 02
def softmax(scores, temperature=1.0):
    """Softmax of one row of scores, safe for scores of any size.

    scores: (n,), finite.  temperature: > 0; small is sharp, large is even.
    Returns (n,): weights from 0 to 1 with sum 1.
    """
    return attention_weights(scores / temperature)


def attention_weights(scores):
    """Softmax of a score matrix, row by row, safe for scores of any size.

    scores: (..., n), finite.  Returns (..., n): every row sums to 1.
    The largest score of a row is subtracted first: exp cannot overflow then.
    """
    exps = (scores - scores.max(dim=-1, keepdim=True).values).exp()
    return exps / exps.sum(dim=-1, keepdim=True)


# Lesson 03
def context_vector(inputs, i):
    """Context vector of token i in the simplified version: no weights to train, no scaling.

    inputs: (n, d).  i: index of the query.  Returns (d,), a weighted mean of the rows.
    """
    return softmax(scores(inputs, i)) @ inputs


def self_attention(inputs):
    """All context vectors at once, simplified version.

    inputs: (n, d).  Returns (n, d): row i is the context vector of token i.
    """
    return attention_weights(all_scores(inputs)) @ inputs


def context_of_others(inputs, i):
    """Context vector of token i, blended from all tokens but itself.

    inputs: (n, d) with n >= 2.  i: index of the query.  Returns (d,).
    A score of minus infinity becomes a weight of exactly 0.
    """
    hidden = scores(inputs, i)
    hidden[i] = -torch.inf
    return softmax(hidden) @ inputs


# Lesson 04
def scaled_scores(queries, keys):
    """Dot products of every query with every key, divided by the square root of d_k.

    queries: (..., n, d_k).  keys: (..., m, d_k); d_k is the size of a key.
    Returns (..., n, m): row = query, column = key.
    """
    return queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5


def qkv_attention(inputs, W_query, W_key, W_value):
    """Scaled dot-product attention with projections.

    inputs: (..., n, d_in).  W_query, W_key: (d_in, d_k).  W_value: (d_in, d_out).
    Returns (..., n, d_out): row i is the context vector of token i, a blend of values.
    """
    weights = attention_weights(scaled_scores(inputs @ W_query, inputs @ W_key))
    return weights @ (inputs @ W_value)


# Lesson 05
def attention_loss(weights, wanted):
    """How far weights are from what is wanted: the mean of minus the logarithm of one weight of
    each row.

    weights: (n, m).  wanted: (n,), a column for each row.  Returns a number, 0 if all these
    weights are 1.
    """
    return -weights[torch.arange(len(weights)), wanted].log().mean()


# Lesson 06
def next_word_losses(scores, words):
    """The loss of each word but the last: word i predicts word i + 1.

    scores: (n, v), row i scores each of v known words as the one after word i.  words: (n,),
    whole numbers from 0 to v - 1, n >= 1.
    Returns (n - 1,): -log of the chance, softmax over row i, of word i + 1.
    """
    return -scores[:-1].log_softmax(-1)[range(len(words) - 1), words[1:]]


def causal_mask(n):
    """What a token must not see: (n, n) of bool, True above the diagonal (key after query)."""
    return torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)


def causal_weights(scores, d_k):
    """Attention weights that cannot see the future.

    scores: (..., n, n), not scaled, finite.  d_k: size of a key, > 0.
    Returns (..., n, n): rows sum to 1, entries above the diagonal are exactly 0.
    """
    if scores.dim() < 2 or scores.shape[-1] != scores.shape[-2]:
        raise InputError(
            f"scores has the shape {tuple(scores.shape)}; as many keys as queries are expected, "
            "(..., n, n)."
        )
    mask = causal_mask(scores.shape[-1]).to(scores.device)
    return attention_weights((scores / d_k**0.5).masked_fill(mask, -torch.inf))


def window_weights(scores, d_k, window):
    """Causal attention weights that see the last few tokens only.

    scores: (n, n), not scaled, finite.  d_k: size of a key, > 0.  window: how many tokens a
    token sees, itself among them; at least 1.
    Returns (n, n): rows sum to 1; entries above the diagonal, and `window` or more columns
    to the left of it, are exactly 0.
    Source: sliding-window attention, Child et al. 2019 and Beltagy et al. 2020.
    """
    expect_sizes(window=window)
    too_old = torch.ones_like(scores, dtype=torch.bool).tril(diagonal=-window)
    return causal_weights(scores.masked_fill(too_old, -torch.inf), d_k)


# Lesson 07
def dropout(weights, p, training):
    """Inverted dropout: each weight becomes 0 with probability p, the others grow.

    weights: any shape.  p: 0 <= p < 1.  training: False returns the weights as they are.
    Returns the same shape; survivors are multiplied by 1 / (1 - p), so the mean stays.
    Source: Srivastava et al. 2014.
    """
    expect_rate(p)
    if not training:
        return weights
    survives = torch.rand(weights.shape, device=weights.device) >= p
    return weights * survives / (1 - p)


# Lesson 08
def split_heads(x, num_heads):
    """Give each head its own part of every token's numbers.

    x: (..., n, d_out), d_out divisible by num_heads.
    Returns (..., num_heads, n, head_dim) with head_dim = d_out / num_heads; head 0 gets the
    first head_dim numbers of each token.
    """
    head_dim = expect_head_dim(x.shape[-1], num_heads)
    return x.unflatten(-1, (num_heads, head_dim)).transpose(-3, -2)


def merge_heads(x):
    """Put the parts of the heads side by side again: the inverse of split_heads.

    x: (..., num_heads, n, head_dim).  Returns (..., n, num_heads * head_dim).
    """
    return x.transpose(-3, -2).flatten(-2)


def multi_head(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    """Causal multi-head attention.

    inputs: (..., n, d_in).  W_query, W_key, W_value: (d_in, d_out), d_out divisible by
    num_heads.  W_out: (d_out, d_out).  b_out: (d_out,).  Returns (..., n, d_out).
    """
    queries, keys, values = (split_heads(inputs @ W, num_heads) for W in (W_query, W_key, W_value))
    weights = causal_weights(queries @ keys.transpose(-2, -1), keys.shape[-1])
    return merge_heads(weights @ values) @ W_out + b_out


# Lesson 09
def head_parameters(d_in, d_out, num_heads, qkv_bias):
    """Numbers that are trained in a MultiHeadAttention.

    d_in, d_out: its widths, d_out divisible by num_heads, which changes nothing.  qkv_bias: have
    its three projections a bias too?  Returns an int.
    """
    expect_sizes(d_in=d_in, d_out=d_out)
    expect_head_dim(d_out, num_heads)
    return 3 * (d_in * d_out + d_out * bool(qkv_bias)) + d_out * d_out + d_out


def without_head(W_out, head, num_heads):
    """An output projection that does not read one of the heads.

    W_out: (d_out, ...), d_out divisible by num_heads.  head: which one, 0 to num_heads - 1.
    Returns a copy with zeros in its rows. Source: Michel, Levy and Neubig 2019.
    """
    head_dim = expect_head_dim(len(W_out), num_heads)
    rows = torch.arange(len(W_out), device=W_out.device) // head_dim
    return W_out.masked_fill((rows == head)[:, None], 0.0)


# Lesson 10
def block(x, norm_1, attention, norm_2, feed_forward):
    """A layer of a model: what each of its two parts finds is added to the tokens.

    x: (..., n, d).  The others: functions that return the shape they get.  Returns (..., n, d).
    Source: Vaswani et al. 2017, section 3.1, with the norms placed as in Xiong et al. 2020.
    """
    x = x + attention(norm_1(x))
    return x + feed_forward(norm_2(x))


def next_word_loss(scores, words):
    """The mean of next_word_losses over all texts of a batch.

    scores: (b, n, v).  words: (b, n), whole numbers from 0 to v - 1, n >= 2.  Returns a number.
    """
    return torch.stack(list(map(next_word_losses, scores, words))).mean()


def next_chances(scores, temperature):
    """The chance of each of v known words to come next.

    scores: (n, v), row i after token i.  temperature: as in softmax.  Returns (v,), with sum 1.
    """
    return softmax(scores[-1], temperature)


# Lesson 14
def merge_blocks(maxima, sums, blends):
    """Context vector of one query, from what was collected of each block of keys by itself.

    maxima: (m,), the largest score of each of m blocks, m >= 1.  sums: (m,), of the exps of its
    scores minus that maximum.  blends: (m, d_v), the same exps @ values.  Returns (d_v,).
    Source: Milakov and Gimelshein 2018, section 3.1.
    """
    factors = (maxima - maxima.max()).exp()
    return factors @ blends / (factors @ sums)


def attend_in_blocks(query, keys, values, block_size):
    """Context vector of one query, from blocks of keys, without a whole row of scores.

    query: (d_k,).  keys: (n, d_k), n >= 1.  values: (n, d_v).  block_size: keys at a time, at
    least 1.  Returns (d_v,).
    Source: Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1.
    """
    expect_sizes(block_size=block_size)
    maximum, total, blend = -torch.inf, 0.0, 0.0
    for start in range(0, len(keys), block_size):
        block = slice(start, start + block_size)
        scores = scaled_scores(query[None], keys[block])[0]
        larger = scores.max().clamp(min=maximum)
        exps, shrink = (scores - larger).exp(), (maximum - larger).exp()
        total = total * shrink + exps.sum()
        blend = blend * shrink + exps @ values[block]
        maximum = larger
    return blend / total


# Lesson 15
def cache_bytes(n, layers, num_kv_heads, head_dim, bytes_per_number, batch):
    """Bytes of the keys and values that a model keeps of the tokens it has seen.

    n: tokens of a text.  num_kv_heads: heads of keys and values in each layer; with grouped
    queries fewer than there are heads.  bytes_per_number: 4 for float32, 2 for float16 and
    bfloat16.  batch: texts at a time.
    Returns an int.
    Source: Pope et al. 2022, section 3.3; grouped queries: Ainslie et al. 2023.
    """
    expect_sizes(
        n=n, layers=layers, num_kv_heads=num_kv_heads, head_dim=head_dim,
        bytes_per_number=bytes_per_number, batch=batch,
    )  # fmt: skip
    return 2 * n * layers * num_kv_heads * head_dim * bytes_per_number * batch


def next_context(query, key, value, keys, values):
    """Context vector of one new token, which sees all that came before it, and itself.

    query, key: (d_k,) and value: (d_v,), of the new token.  keys: (n, d_k) and values:
    (n, d_v), of those before it; n may be 0.  Returns (d_v,): the last row of causal attention.
    """
    keys, values = torch.cat([keys, key[None]]), torch.cat([values, value[None]])
    return attention_weights(scaled_scores(query[None], keys))[0] @ values


def cache_mask(cached, new):
    """What new tokens see of those before them, which are in a cache, and of each other.

    cached: tokens in the cache, at least 0.  new: at least 1.
    Returns (new, cached + new) of bool, True where a token may attend.
    """
    expect_sizes(new=new)
    return torch.ones(new, cached + new, dtype=torch.bool).tril(diagonal=cached)
