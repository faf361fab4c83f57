"""Attention as the lessons build it: one definition each, in the order of the lessons.

n: number of tokens.  d, d_in: entries of an embedding.  b: number of sentences in a batch.
Unless stated otherwise, every function takes floating-point tensors, leaves its arguments
unchanged and returns the same floating-point type. Widths and rates that do not fit raise
InputError. Source of the formulas: Vaswani et al. 2017, section 3.2.
"""

import torch

from .fits import expect_head_dim, expect_rate


# Lesson 01
def scores(inputs, i):
    """Return the dot products of every token with token i.

    inputs: (n, d).  i: index of the query, -n to n - 1.
    Returns (n,), any real numbers. Raises IndexError if there is no token i.
    """
    return inputs @ inputs[i]


def all_scores(inputs):
    """Return the dot products of every token with every token.

    inputs: (n, d).  Returns (n, n): row = query, column = key; symmetric.
    """
    return inputs @ inputs.T


def cosine_scores(inputs, i):
    """Return the cosine similarity of every token with token i: dot products without the lengths.

    inputs: (n, d), no row all zero.  i: index of the query.
    Returns (n,) in -1 to 1; 1 at i.
    """
    lengths = inputs.norm(dim=-1)
    return inputs @ inputs[i] / (lengths * lengths[i])


# Lesson 02
def softmax(scores, temperature=1.0):
    """Return the softmax of one row of scores; scores may be of any size.

    scores: (n,), finite.  temperature: > 0; small is sharp, large is even.
    Returns (n,): weights from 0 to 1 with sum 1.
    """
    return attention_weights(scores / temperature)


def attention_weights(scores):
    """Return the softmax of a matrix of scores, row by row; scores may be of any size.

    scores: (..., n), finite.  Returns (..., n): every row sums to 1.
    The largest score of a row is subtracted first: exp cannot overflow then.
    """
    exps = (scores - scores.max(dim=-1, keepdim=True).values).exp()
    return exps / exps.sum(dim=-1, keepdim=True)


# Lesson 03
def context_vector(inputs, i):
    """Return the context vector of token i in simplified self-attention: nothing to train, no
    scaling.

    inputs: (n, d).  i: index of the query.  Returns (d,), a weighted mean of the rows.
    """
    return softmax(scores(inputs, i)) @ inputs


def self_attention(inputs):
    """Return all context vectors at once, in simplified self-attention.

    inputs: (n, d).  Returns (n, d): row i is the context vector of token i.
    """
    return attention_weights(all_scores(inputs)) @ inputs


def context_of_others(inputs, i):
    """Return the context vector of token i, blended from all tokens except itself.

    inputs: (n, d) with n >= 2.  i: index of the query.  Returns (d,).
    A score of minus infinity becomes a weight of exactly 0.
    """
    hidden = scores(inputs, i)
    hidden[i] = -torch.inf
    return softmax(hidden) @ inputs


# Lesson 04
def scaled_scores(queries, keys):
    """Return the dot products of queries and keys, divided by the square root of d_k.

    queries: (..., n, d_k).  keys: (..., m, d_k); d_k is the size of a key.
    Returns (..., n, m): row = query, column = key.
    """
    return queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5


def qkv_attention(inputs, W_query, W_key, W_value):
    """Return the contexts of scaled dot-product attention with projections.

    inputs: (..., n, d_in).  W_query, W_key: (d_in, d_k).  W_value: (d_in, d_out).
    Returns (..., n, d_out): row i is the context vector of token i, a blend of values.
    """
    weights = attention_weights(scaled_scores(inputs @ W_query, inputs @ W_key))
    return weights @ (inputs @ W_value)


# Lesson 05
def attention_loss(weights, wanted):
    """Return the loss of weights: minus the logarithm of the wanted weight of each row, averaged.

    weights: (n, m).  wanted: (n,), the column of the wanted weight in each row.  Returns a number,
    0 if all wanted weights are 1.
    """
    return -weights[torch.arange(len(weights)), wanted].log().mean()


def one_step(model, loss, rate):
    """Take one step of gradient descent; return the loss before it.

    model: a module; those of its parameters that have a gradient change in place.  loss: a
    function that takes the model and returns a number.  rate: the learning rate, 0 or more.
    """
    model.zero_grad()
    value = loss(model)
    value.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= rate * parameter.grad
    return value.detach()


# Lesson 06
def next_word_losses(scores, words):
    """Return the loss of each word except the last: word i predicts word i + 1.

    scores: (n, v); row i scores each of v known words as the one after word i.  words: (n,),
    whole numbers from 0 to v - 1, n >= 1.
    Returns (n - 1,): -log of the probability, softmax over row i, of word i + 1.
    """
    return -scores[:-1].log_softmax(-1)[range(len(words) - 1), words[1:]]


def causal_mask(n):
    """Return the mask of the future: (n, n) of bool, True above the diagonal (key after query)."""
    return torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)


def uniform_causal(n):
    """Return weights that are even over all allowed tokens: lesson 14 builds this baseline.

    n: number of tokens, at least 1.
    Returns (n, n), float32: row i has 1 / (i + 1) for the keys 0 to i and 0 after them.
    """
    allowed = torch.ones(n, n).tril()
    return allowed / allowed.sum(dim=-1, keepdim=True)


def causal_weights(scores, d_k):
    """Return attention weights that hide the future.

    scores: (..., n, n), not scaled, finite.  d_k: size of a key, > 0.
    Returns (..., n, n): rows sum to 1, entries above the diagonal are exactly 0.
    """
    mask = causal_mask(scores.shape[-1]).to(scores.device)
    return attention_weights((scores / d_k**0.5).masked_fill(mask, -torch.inf))


def window_weights(scores, d_k, window):
    """Return causal attention weights over the last few tokens only.

    scores: (n, n), not scaled, finite.  d_k: size of a key, > 0.  window: how many tokens a
    token sees, including itself; at least 1.
    Returns (n, n): rows sum to 1; entries above the diagonal, and `window` or more columns
    to the left of it, are exactly 0.
    Source: sliding-window attention, Child et al. 2019 and Beltagy et al. 2020.
    """
    too_old = torch.ones_like(scores, dtype=torch.bool).tril(diagonal=-window)
    return causal_weights(scores.masked_fill(too_old, -torch.inf), d_k)


# Lesson 07
def dropout(weights, p, training):
    """Apply inverted dropout: each weight becomes 0 with probability p, and the rest grow.

    weights: any shape.  p: 0 <= p < 1.  training: False returns the weights unchanged.
    Returns the same shape; survivors are multiplied by 1 / (1 - p), so the mean stays.
    Source: Srivastava et al. 2014.
    """
    expect_rate(p)
    if not training:
        return weights
    survives = torch.rand(weights.shape, device=weights.device) >= p
    return weights * survives / (1 - p)


def padding_mask(is_padding):
    """Return what is hidden from each token: later ones, and padding, but never the token itself.

    is_padding: (b, n) of bool.  Returns (b, n, n) of bool, True where a key is hidden. Every row
    has a key left, so that no weight is NaN.
    """
    n = is_padding.shape[-1]
    own = torch.eye(n, dtype=torch.bool, device=is_padding.device)
    return (causal_mask(n).to(is_padding.device) | is_padding[:, None, :]) & ~own


# Lesson 08
def split_heads(x, num_heads):
    """Split every token's numbers among the heads.

    x: (..., n, d_out), d_out divisible by num_heads.
    Returns (..., num_heads, n, head_dim) with head_dim = d_out / num_heads; head 0 gets the
    first head_dim numbers of each token.
    """
    head_dim = expect_head_dim(x.shape[-1], num_heads)
    return x.unflatten(-1, (num_heads, head_dim)).transpose(-3, -2)


def merge_heads(x):
    """Put the numbers of the heads side by side again: the inverse of split_heads.

    x: (..., num_heads, n, head_dim).  Returns (..., n, num_heads * head_dim).
    """
    return x.transpose(-3, -2).flatten(-2)


# Lesson 09
def head_parameters(d_in, d_out, num_heads, qkv_bias):
    """Return how many parameters a MultiHeadAttention has.

    d_in, d_out: its widths, d_out divisible by num_heads, which does not change the result.
    qkv_bias: whether its three projections have a bias.  Returns an int.
    """
    expect_head_dim(d_out, num_heads)
    return 3 * (d_in * d_out + d_out * bool(qkv_bias)) + d_out * d_out + d_out


def without_head(W_out, head, num_heads):
    """Return an output projection that ignores one head.

    W_out: (d_out, ...), d_out divisible by num_heads.  head: its number, 0 to num_heads - 1.
    Returns a copy with zeros in the rows of that head. Source: Michel, Levy and Neubig 2019.
    """
    head_dim = expect_head_dim(len(W_out), num_heads)
    rows = torch.arange(len(W_out), device=W_out.device) // head_dim
    return W_out.masked_fill((rows == head)[:, None], 0.0)


# Lesson 10
def block(x, norm_1, attention, norm_2, feed_forward):
    """Return the output of a layer, which adds the outputs of its two parts to the tokens.

    x: (..., n, d).  The other arguments: functions that return the shape they get.
    Returns (..., n, d).
    Source: Vaswani et al. 2017, section 3.1, with the norms placed as in Xiong et al. 2020.
    """
    x = x + attention(norm_1(x))
    return x + feed_forward(norm_2(x))


def next_word_loss(scores, words):
    """Return the mean of next_word_losses over all texts of a batch.

    scores: (b, n, v).  words: (b, n), whole numbers from 0 to v - 1, n >= 2.  Returns a number.
    """
    return torch.stack(list(map(next_word_losses, scores, words))).mean()


def next_chances(scores, temperature):
    """Return the probability of each of v known words to come next.

    scores: (n, v); row i scores the words after token i.  temperature: as in softmax.
    Returns (v,), with sum 1.
    """
    return softmax(scores[-1], temperature)


def write_on(model, words, count, temperature, draws=None):
    """Return a text and `count` more words, each drawn by its probability after all before it.

    model: a function, (1, n) -> scores (1, n, v).  words: (1, n), whole numbers from 0 to v - 1.
    temperature: as in softmax.  draws: a torch.Generator; torch's own random numbers if None.
    Returns (1, n + count).
    """
    for _ in range(count):
        chances = next_chances(model(words)[0], temperature)
        word = chances.multinomial(1, generator=draws)
        words = torch.cat([words, word[None]], dim=1)
    return words
