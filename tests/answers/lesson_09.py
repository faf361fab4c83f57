"""Answers to lesson 09: the module of several heads."""

import math
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from helpers import attention

from .parts import numpy_softmax, scaled_dot, stable_by_hand, upper

# --- head_parameters and without_head: right answers, in any style ---


def of_a_real_module(d_in, d_out, num_heads, qkv_bias):
    module = attention.MultiHeadAttention(d_in, d_out, 5, 0.0, num_heads, qkv_bias)
    return sum(p.numel() for p in module.parameters())


def in_a_loop(W_out, head, num_heads):
    head_dim = len(W_out) // num_heads
    off = W_out.clone()
    for i in range(head * head_dim, (head + 1) * head_dim):
        for j in range(off.shape[1]):
            off[i, j] = 0.0
    return off


def by_view(W_out, head, num_heads):
    off = W_out.clone()
    off.view(num_heads, -1, W_out.shape[1])[head] = 0
    return off


def of_zeros(W_out, head, num_heads):
    parts = list(W_out.chunk(num_heads))
    parts[head] = torch.zeros_like(parts[head])
    return torch.cat(parts)


# --- multi_head: right answers, in any style ---


def textbook(inputs, W_query, W_key, W_value, W_out, b_out, num_heads, fill=-torch.inf):
    """As the book writes it."""
    b, n, _ = inputs.shape
    head_dim = W_query.shape[1] // num_heads
    keys = (inputs @ W_key).view(b, n, num_heads, head_dim).transpose(1, 2)
    queries = (inputs @ W_query).view(b, n, num_heads, head_dim).transpose(1, 2)
    values = (inputs @ W_value).view(b, n, num_heads, head_dim).transpose(1, 2)
    attn_scores = queries @ keys.transpose(2, 3)
    mask = torch.triu(torch.ones(n, n), diagonal=1).bool()
    attn_scores.masked_fill_(mask, fill)
    attn_weights = torch.softmax(attn_scores / head_dim**0.5, dim=-1)
    context_vec = (attn_weights @ values).transpose(1, 2)
    return context_vec.contiguous().view(b, n, -1) @ W_out + b_out


def in_double(*args):
    *tensors, num_heads = args
    return textbook(*(x.double() for x in tensors), num_heads)


def with_module(
    inputs, W_query, W_key, W_value, W_out, b_out, num_heads, mask=None, batch_first=True
):
    n, d_out = inputs.shape[1], W_query.shape[1]
    module = nn.MultiheadAttention(d_out, num_heads, batch_first=batch_first, dtype=inputs.dtype)
    weights = {
        "in_proj_weight": torch.eye(d_out).repeat(3, 1),
        "in_proj_bias": torch.zeros(3 * d_out),
        "out_proj.weight": W_out.T,
        "out_proj.bias": b_out,
    }
    module.load_state_dict(weights)
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1) if mask is None else mask(n)
    return module(inputs @ W_query, inputs @ W_key, inputs @ W_value, attn_mask=hidden)[0]


def head_by_head(inputs, W_query, W_key, W_value, W_out, b_out, num_heads, join=None):
    """Lists of heads: each with its own columns of the matrices."""
    head_dim = W_query.shape[1] // num_heads
    heads = []
    for k in range(num_heads):
        columns = slice(k * head_dim, (k + 1) * head_dim)
        queries, keys = inputs @ W_query[:, columns], inputs @ W_key[:, columns]
        scores = queries @ keys.transpose(1, 2) / head_dim**0.5
        future = torch.arange(inputs.shape[1]) > torch.arange(inputs.shape[1])[:, None]
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        heads.append(weights @ (inputs @ W_value[:, columns]))
    return join(heads) if join else torch.cat(heads, dim=-1) @ W_out + b_out


def numpy_heads(*args):
    *arrays, num_heads = args
    inputs, W_query, W_key, W_value, W_out, b_out = (a.numpy() for a in arrays)
    b, n, _ = inputs.shape
    queries, keys, values = (
        (inputs @ W).reshape(b, n, num_heads, -1).transpose(0, 2, 1, 3)
        for W in (W_query, W_key, W_value)
    )
    scores = queries @ keys.swapaxes(-1, -2) / np.sqrt(keys.shape[-1])
    scores = np.where(np.tril(np.ones((n, n))) == 0, -np.inf, scores)
    contexts = numpy_softmax(scores) @ values
    return contexts.transpose(0, 2, 1, 3).reshape(b, n, -1) @ W_out + b_out


def einsum_heads(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    queries, keys, values = (
        torch.einsum("bnd,dhk->bhnk", inputs, W.reshape(len(W), num_heads, -1))
        for W in (W_query, W_key, W_value)
    )
    scores = torch.einsum("bhik,bhjk->bhij", queries * keys.shape[-1] ** -0.5, keys)
    n = inputs.shape[1]
    scores = torch.where(torch.ones(n, n).tril() == 1, scores, torch.finfo(scores.dtype).min)
    contexts = torch.einsum("bhij,bhjk->bihk", scores.softmax(-1), values)
    return torch.einsum("bihk,hko->bio", contexts, W_out.reshape(num_heads, -1, len(W_out))) + b_out


causal = partial(F.scaled_dot_product_attention, is_causal=True)


def of_heads(blend=causal, output=lambda x, W_out, b_out: merged(x) @ W_out + b_out):
    """blend: takes queries, keys and values (b, num_heads, n, head_dim), returns contexts.
    output: takes these, W_out and b_out."""

    def answer(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
        queries, keys, values = (
            (inputs @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2)
            for W in (W_query, W_key, W_value)
        )
        return output(blend(queries, keys, values), W_out, b_out)

    return answer


def weighed(code):
    """code(scores, future) -> weights, in place of softmax and mask."""

    def blend(queries, keys, values):
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        return code(scores, upper(scores)) @ values

    return of_heads(blend)


def masked_with(mask):
    """mask: takes n, returns what is handed to PyTorch's own function as attn_mask."""
    return of_heads(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask(q.shape[-2]))
    )


def added_mask(queries, keys, values):
    """The heads are part of the batch: (b * num_heads, n, head_dim)."""
    q, k, v = (x.flatten(0, 1) for x in (queries, keys, values))
    mask = torch.full((q.shape[1], q.shape[1]), -math.inf).triu(1)
    weights = stable_by_hand(torch.bmm(q, k.mT) / math.sqrt(k.shape[-1]) + mask)
    return torch.bmm(weights, v).view_as(values)


def renormalised(scores, future):
    weights = torch.softmax(scores, dim=-1).tril()
    return weights / weights.sum(-1, keepdim=True)


def merged(x):
    return x.transpose(1, 2).flatten(2)


STYLES = {
    "head_parameters": [
        of_a_real_module,
        lambda d, out, h, bias: 3 * d * out + out * out + out + (3 * out if bias else 0),
        lambda d, out, h, bias: float((3 * d + out) * out + out * (1 + 3 * bias)),
        lambda d, out, h, bias: sum(out * (n + b) for n, b in [(d, bias)] * 3 + [(out, 1)]),
    ],
    "without_head": [
        in_a_loop,
        by_view,
        of_zeros,
        lambda W, k, h: W * (torch.arange(len(W)) // (len(W) // h) != k)[:, None],
        lambda W, k, h: np.where(np.arange(len(W))[:, None] * h // len(W) == k, 0, W.numpy()),
    ],
    "multi_head": [
        textbook,
        in_double,
        with_module,
        head_by_head,
        numpy_heads,
        einsum_heads,
        of_heads(),
        of_heads(added_mask),
        masked_with(lambda n: torch.ones(n, n, dtype=torch.bool).tril()),
        partial(textbook, fill=-1e9),
        partial(textbook, fill=torch.finfo(torch.float32).min),
    ],
}

# --- mistakes as they are written ---


def full_width_for_each_head(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    heads = [scaled_dot(inputs, W_query, W_key, W_value, is_causal=True) for _ in range(num_heads)]
    return torch.cat(heads, dim=-1) @ W_out + b_out


def rows_of(W_out, head, num_heads):
    head_dim = len(W_out) // num_heads
    return slice(head * head_dim, (head + 1) * head_dim)


def zeroed(W_out, place):
    W_out[place] = 0
    return W_out


def by_hand_without_keepdim(scores):
    exps = (scores - scores.amax(-1, keepdim=True)).exp()
    return exps / exps.sum(-1)


AS_WRITTEN = {
    "head_parameters": [
        (lambda d, out, h, bias: 4 * d * out + out + 3 * out * bias, "out_proj taken from d_in"),
        (
            lambda d, out, h, bias: 4 * out * out + out + 3 * out * bias,
            "d_in and d_out taken for equal",
        ),
        (lambda d, out, h, bias: 4 * d * d + d + 3 * d * bias, "d_in and d_out taken for equal"),
        (
            lambda d, out, h, bias: h * (3 * d * out + 3 * out * bias + out * out + out),
            "counted for each head",
        ),
    ],
    "without_head": [
        (
            lambda W, k, h: zeroed(W.clone(), (slice(None), rows_of(W, k, h))),
            "columns in place of rows",
        ),
        (lambda W, k, h: zeroed(W.clone(), k), "one row only"),
        (lambda W, k, h: zeroed(W, rows_of(W, k, h)), "input changed in place"),
        (lambda W, k, h: W, "nothing switched off"),
        (
            lambda W, k, h: torch.cat([W[: k * len(W) // h], W[(k + 1) * len(W) // h :]]),
            "rows cut out",
        ),
    ],
    "multi_head": [
        (full_width_for_each_head, "every head gets all numbers"),
        (of_heads(lambda q, k, v: (q @ k.T / k.shape[-1] ** 0.5).softmax(-1) @ v), ".T on a batch"),
        (of_heads(F.scaled_dot_product_attention), "no causal mask"),
        (of_heads(partial(causal, scale=1.0)), "no scaling"),
        (
            weighed(lambda s, future: by_hand_without_keepdim(s.masked_fill(future, -torch.inf))),
            "keepdim forgotten",
        ),
        (
            of_heads(partial(F.scaled_dot_product_attention, scale=1.0)),
            ("no scaling", "no causal mask"),
        ),
        (
            masked_with(lambda n: torch.ones(n, n, dtype=torch.bool).triu(1)),
            "bool mask handed to the wrong function",
        ),
        (masked_with(lambda n: torch.ones(n, n).triu(1)), "mask of ones added"),
        (
            partial(with_module, mask=lambda n: torch.ones(n, n, dtype=torch.bool).tril()),
            "mask upside down",
        ),
        (partial(with_module, batch_first=False), "batch_first forgotten"),
        (partial(with_module, batch_first=False, mask=lambda n: None), "batch_first forgotten"),
        (partial(textbook, fill=-333.0), "a number not low enough"),
        (
            weighed(lambda scores, future: F.softmax(scores.masked_fill(future, -torch.inf))),
            "softmax over the heads",
        ),
        (
            weighed(
                lambda scores, future: F.softmax(
                    scores.flatten(0, 1).masked_fill(future, -torch.inf)
                ).view_as(scores)
            ),
            "softmax over the batch",
        ),
        (partial(head_by_head, join=partial(torch.cat, dim=-1)), "out_proj forgotten"),
        (partial(head_by_head, join=partial(torch.cat, dim=1)), "concatenated along tokens"),
        (partial(head_by_head, join=sum), "heads added"),
    ],
}


# --- wrong, and nobody knows why ---


def plain_weights(scores, future):
    return scores.masked_fill(future, -torch.inf).softmax(-1)


UNKNOWN = {
    "head_parameters": [
        (lambda d, out, h, bias: d * out, "numbers are wrong"),
    ],
    "without_head": [
        (lambda W, k, h: zeroed(W.clone(), rows_of(W, k, h)) + 1, "numbers are wrong"),
        (lambda W, k, h: W[:, 0], "wrong shape"),
    ],
    "multi_head": [
        (weighed(renormalised), "numbers are NaN"),
        (of_heads(output=lambda x, W, b: merged(x.flip(1)) @ W + b), "numbers are wrong"),
        (of_heads(output=lambda x, W, b: merged(x) @ W + 2 * b), "numbers are wrong"),
        (of_heads(output=lambda x, W, b: (merged(x) + b) @ W), "numbers are wrong"),
        (
            of_heads(output=lambda x, W, b: merged(x)[:1].expand(len(x), -1, -1) @ W + b),
            "Right on the sentence",
        ),
        (
            weighed(lambda scores, future: plain_weights(scores.tanh(), future)),
            "numbers are wrong",
        ),
        (
            weighed(lambda s, future: (-s.mT).tril(-1).softmax(1).softmax(-2).mT / 3),
            "the future is visible. On the sentence, 2 heads, other numbers in the last word",
        ),
        (
            weighed(lambda scores, future: plain_weights(scores, future).roll(1, dims=1)),
            "numbers are wrong",
        ),
        (
            weighed(lambda scores, future: plain_weights(scores, future | future.T.tril(-2))),
            "numbers are wrong",
        ),
        # The errors are those of .T on a batch, and of heads that are not side by side.
        (
            of_heads(lambda q, k, v: (q @ k.transpose(1, 2).mT).softmax(-1) @ v),
            "RuntimeError",
        ),
        (of_heads(output=lambda x, W, b: x.prod(1) @ W + b), "RuntimeError"),
        (lambda *args: torch.zeros(()), "one single number"),
    ],
}
