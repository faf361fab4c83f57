"""Attention as modules, as lessons 5, 7 and 9 build it: one definition each.

Unless stated otherwise, a module takes inputs (..., n, d_in) and returns outputs (..., n, d_out).
Sizes as in functions.py; arguments that cannot fit raise InputError. Source of the classes, their
arguments and the order in which they create their parameters (query, key, value, out_proj):
Raschka, Build a Large Language Model (From Scratch), chapter 3.
"""

import torch
from torch import nn

from ..errors import InputError
from .fits import expect_head_dim, expect_rate, expect_width
from .functions import attention_weights, causal_mask, merge_heads, scaled_scores, split_heads


# Lesson 05
class SelfAttention(nn.Module):
    """qkv_attention with trainable matrices, drawn from 0 to 1 by torch.rand.

    d_in, d_out: widths of the inputs and of the outputs, at least 1.
    """

    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def weights(self, inputs):
        """inputs: (..., n, d_in).  Returns the attention weights (..., n, n)."""
        expect_width(inputs, self.W_query.shape[0])
        return attention_weights(scaled_scores(inputs @ self.W_query, inputs @ self.W_key))

    def forward(self, inputs):
        return self.weights(inputs) @ (inputs @ self.W_value)


class SelfAttentionLinear(nn.Module):
    """SelfAttention with nn.Linear, which draws smaller numbers around 0 and keeps each
    matrix transposed, as (d_out, d_in).

    d_in, d_out: as for SelfAttention.  qkv_bias: whether a trained vector is added to each query,
    key and value.
    """

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def weights(self, inputs):
        """inputs: (..., n, d_in).  Returns the attention weights (..., n, n)."""
        expect_width(inputs, self.W_query.in_features)
        return self._weights_of(self.W_query(inputs), self.W_key(inputs))

    def _weights_of(self, queries, keys):
        return attention_weights(scaled_scores(queries, keys))

    def forward(self, inputs):
        return self.weights(inputs) @ self.W_value(inputs)


# Lesson 07
class CausalAttention(SelfAttentionLinear):
    """One head of causal attention, with dropout on its weights.

    context_length: the largest number of tokens an input may have.  dropout: 0 <= dropout < 1.
    The other arguments are those of SelfAttentionLinear.
    """

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        expect_rate(dropout)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length))

    def _weights_of(self, queries, keys):
        n, most = keys.shape[-2], len(self.mask)
        if n > most:
            raise InputError(
                f"the inputs have {n} tokens, but the module was created with context_length = "
                f"{most}. Shorten the inputs, or create it with context_length = {n}."
            )
        scores = scaled_scores(queries, keys)
        return attention_weights(scores.masked_fill(self.mask[:n, :n], -torch.inf))

    def forward(self, inputs):
        return self.dropout(self.weights(inputs)) @ self.W_value(inputs)


# Lesson 09
class MultiHeadAttentionWrapper(nn.Module):
    """Several heads of CausalAttention side by side.

    d_out: width of ONE head; the outputs are num_heads * d_out wide.  The other arguments are those
    of CausalAttention.
    """

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, inputs):
        return torch.cat([head(inputs) for head in self.heads], dim=-1)


class MultiHeadAttention(CausalAttention):
    """Causal multi-head attention in one module: one projection for all heads, then split.

    d_out: width of all heads together, divisible by num_heads; a head is
    head_dim = d_out / num_heads wide.  The other arguments are those of CausalAttention.
    weights(inputs): (..., num_heads, n, n).
    """

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.head_dim = expect_head_dim(d_out, num_heads)
        self.num_heads = num_heads
        self.out_proj = nn.Linear(d_out, d_out)

    def _weights_of(self, queries, keys):
        return super()._weights_of(*(split_heads(x, self.num_heads) for x in (queries, keys)))

    def forward(self, inputs):
        weights = self.dropout(self.weights(inputs))
        values = split_heads(self.W_value(inputs), self.num_heads)
        return self.out_proj(merge_heads(weights @ values))
