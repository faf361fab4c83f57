"""Attention as the lessons build it: one definition each, in the order of the lessons.

n: number of tokens.  d: entries of an embedding.  Every function takes floating-point
tensors, leaves its arguments as they are and returns the same floating-point type.
Source of the formulas: Vaswani et al. 2017, section 3.2, and Raschka, Build a Large
Language Model (From Scratch), section 3.3.
"""

import torch


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
