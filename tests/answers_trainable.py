"""Answers to the exercises of lessons 04 and 06, as in answers.py."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

CATALOGUE = {
    "qkv_attention": [
        "no scaling",
        "scaled by the embedding size",
        "divided by d_k, root forgotten",
        "multiplied by sqrt(d_k)",
        "softmax over the wrong axis",
        "softmax over the whole matrix",
        "keys and values swapped",
        "queries and values swapped",
        "roles rotated (k,v,q)",
        "roles rotated (v,q,k)",
        "queries used as keys",
        "weights transposed",
        "softmax twice",
        "scores from the raw inputs",
        "nn.Linear weight copied without .T",
        "normalised q and k",
        "matrices created in another order (k,q,v)",
        "drawn as (d_out,d_in)",
        "nn.Linear instead of Parameter(rand)",
        "bias left on",
        "another seed",
    ],
    "multi_head": [
        "split by view without transpose",
        "merged without transposing back",
        "transpose left out",
        "scaled by sqrt(d_model)",
        "no scaling",
        "scaled by sqrt(h)",
        "softmax over the heads",
        "softmax over the queries",
        "softmax over the batch",
        "no causal mask",
        "out_proj forgotten",
        "heads averaged",
        "heads not split",
        "queries and keys swapped",
        "concatenated along tokens",
        "view after transpose",
        ".T on a batch",
        "batch_first forgotten",
        "bool mask handed to the wrong function",
    ],
}


# --- lesson 04 ---


def loop_scaled(queries, keys):
    result = torch.zeros(len(queries), len(keys))
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            result[i, j] = torch.dot(query, key) / math.sqrt(len(key))
    return result


def loop_scaled_by_len_of_keys(queries, keys):
    return [[sum(q * k) / math.sqrt(len(keys)) for k in keys] for q in queries]


def broadcast_softmax(scores):
    exps = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return exps / exps.sum(dim=-1, keepdim=True)


def math_softmax(scores):
    exps = [math.exp(s) for s in scores]
    return torch.tensor(exps).to(scores.dtype) / sum(exps)


def numpy_softmax(scores):
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True)


def one_word_after_the_other(inputs, W_query, W_key, W_value):
    keys, values = inputs @ W_key, inputs @ W_value
    contexts = []
    for x in inputs:
        query = x @ W_query
        weights = torch.softmax(keys @ query / keys.shape[1] ** 0.5, dim=0)
        context = torch.zeros(values.shape[1])
        for weight, value in zip(weights, values, strict=True):
            context = context + weight * value
        contexts.append(context)
    return torch.stack(contexts)


def with_linear(inputs, *matrices):
    layers = []
    for W in matrices:
        layer = nn.Linear(*W.shape, bias=False, dtype=W.dtype)
        layer.weight.data = W.T
        layers.append(layer)
    queries, keys, values = (layer(inputs) for layer in layers)
    return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values


def with_einsum(inputs, W_query, W_key, W_value):
    queries, keys, values = (
        torch.einsum("nd,dk->nk", inputs, W) for W in (W_query, W_key, W_value)
    )
    scores = torch.einsum("ik,jk->ij", queries, keys) * keys.size(1) ** -0.5
    return torch.einsum("ij,jv->iv", broadcast_softmax(scores), values)


def with_numpy(inputs, *matrices):
    queries, keys, values = (inputs.numpy() @ W.numpy() for W in matrices)
    return numpy_softmax(queries @ keys.T / np.sqrt(keys.shape[1])) @ values


class OfTheBook(nn.Module):
    """Makes its own matrices."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


class OfTheBookLinear(OfTheBook):
    def __init__(self, d_in, d_out, bias=False):
        nn.Module.__init__(self)
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=bias))

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values


def book(module, seed, *sizes, **options):
    """A function that makes the module inside and does not use the matrices it is given."""

    def code(inputs, W_query, W_key, W_value):
        torch.manual_seed(seed)
        return module(*(sizes or W_query.shape), **options)(inputs)

    return code


def keys_first(inputs, W_query, W_key, W_value):
    torch.manual_seed(123)
    W_key = torch.rand(3, 2)
    W_query = torch.rand(3, 2)
    W_value = torch.rand(3, 2)
    return in_three_lines(inputs, W_query, W_key, W_value)


def in_three_lines(inputs, W_query, W_key, W_value):
    keys = inputs @ W_key
    scores = inputs @ W_query @ keys.T
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1) @ (inputs @ W_value)


def turned_matrices(inputs, *matrices):
    torch.manual_seed(123)
    return in_three_lines(inputs, *(torch.rand(2, 3).T for _ in range(3)))


seeded = torch.Generator().manual_seed(123)
W_query_above, W_key_above, W_value_above = (torch.rand(3, 2, generator=seeded) for _ in range(3))


def names_of_a_cell_above(inputs, W_query, W_key, W_value):
    return in_three_lines(inputs, W_query_above, W_key_above, W_value_above)


def scaled_dot(inputs, W_query, W_key, W_value, **options):
    return F.scaled_dot_product_attention(
        inputs @ W_query, inputs @ W_key, inputs @ W_value, **options
    )


def parts(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_key, inputs @ W_value


def blended(code):
    """code(queries, keys, values, d_k) as an answer to qkv_attention."""

    def answer(inputs, W_query, W_key, W_value):
        return code(*parts(inputs, W_query, W_key, W_value), W_key.shape[1])

    return answer


# --- lesson 06 ---


def textbook(
    inputs,
    W_query,
    W_key,
    W_value,
    W_out,
    b_out,
    num_heads,
    hide=None,
    temper=None,
    fill=-torch.inf,
):
    """As the book writes it. hide: (n) -> mask.  temper: what the scores are divided by."""
    b, n, _ = inputs.shape
    head_dim = W_query.shape[1] // num_heads
    keys = (inputs @ W_key).view(b, n, num_heads, head_dim).transpose(1, 2)
    queries = (inputs @ W_query).view(b, n, num_heads, head_dim).transpose(1, 2)
    values = (inputs @ W_value).view(b, n, num_heads, head_dim).transpose(1, 2)
    attn_scores = queries @ keys.transpose(2, 3)
    mask = torch.triu(torch.ones(n, n), diagonal=1).bool() if hide is None else hide(n)
    attn_scores.masked_fill_(mask, fill)
    scale = head_dim**0.5 if temper is None else temper(inputs, W_query, num_heads)
    attn_weights = torch.softmax(attn_scores / scale, dim=-1)
    context_vec = (attn_weights @ values).transpose(1, 2)
    return context_vec.contiguous().view(b, n, -1) @ W_out + b_out


def heads_of(inputs, *matrices, num_heads):
    return ((inputs @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in matrices)


def with_sdpa(inputs, W_query, W_key, W_value, W_out, b_out, num_heads, mask=None, **options):
    qkv = heads_of(inputs, W_query, W_key, W_value, num_heads=num_heads)
    if mask is not None:
        options["attn_mask"] = mask(inputs.shape[1])
    contexts = F.scaled_dot_product_attention(*qkv, **options)
    return contexts.transpose(1, 2).flatten(2) @ W_out + b_out


def with_module(
    inputs, W_query, W_key, W_value, W_out, b_out, num_heads, mask=None, batch_first=True
):
    n, d_in = inputs.shape[1:]
    d_out = W_query.shape[1]
    module = nn.MultiheadAttention(
        d_out, num_heads, batch_first=batch_first, kdim=d_in, vdim=d_in, dtype=inputs.dtype
    )
    weights = dict(
        q_proj_weight=torch.eye(d_out),
        k_proj_weight=W_key.T,
        v_proj_weight=W_value.T,
        in_proj_bias=torch.zeros(3 * d_out),
    )
    weights |= {"out_proj.weight": W_out.T, "out_proj.bias": b_out}
    module.load_state_dict(weights)
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1) if mask is None else mask(n)
    return module(inputs @ W_query, inputs, inputs, attn_mask=hidden)[0]


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
    if join:
        return join(heads)
    return torch.cat(heads, dim=-1) @ W_out + b_out


def sentence_by_sentence(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    results = []
    for x in inputs:
        heads = []
        for wq, wk, wv in zip(
            *(W.chunk(num_heads, dim=1) for W in (W_query, W_key, W_value)), strict=True
        ):
            rows = []
            for i in range(len(x)):
                seen = x[: i + 1]
                weights = torch.softmax(seen @ wk @ (x[i] @ wq) / wk.shape[1] ** 0.5, dim=0)
                rows.append(weights @ (seen @ wv))
            heads.append(torch.stack(rows))
        results.append(torch.cat(heads, dim=1) @ W_out + b_out)
    return results


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


def added_mask(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    """The heads are part of the batch: (b * num_heads, n, head_dim)."""
    b, n, _ = inputs.shape
    queries, keys, values = (
        x.flatten(0, 1) for x in heads_of(inputs, W_query, W_key, W_value, num_heads=num_heads)
    )
    mask = torch.full((n, n), -math.inf).triu(1)
    scores = torch.bmm(queries, keys.mT) / math.sqrt(keys.shape[-1]) + mask
    contexts = torch.bmm(broadcast_softmax(scores), values).view(b, num_heads, n, -1)
    return F.linear(contexts.permute(0, 2, 1, 3).reshape(b, n, -1), W_out.T, b_out)


def renormalised(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    queries, keys, values = heads_of(inputs, W_query, W_key, W_value, num_heads=num_heads)
    weights = torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, dim=-1).tril()
    weights = weights / weights.sum(-1, keepdim=True)
    return (weights @ values).transpose(1, 2).flatten(2) @ W_out + b_out


def in_double(*args):
    *tensors, num_heads = args
    return textbook(*(x.double() for x in tensors), num_heads)


def without_transpose(
    inputs, W_query, W_key, W_value, W_out, b_out, num_heads, hide=True, method="masked_fill"
):
    b, n, d_out = *inputs.shape[:2], W_query.shape[1]
    queries, keys, values = (
        (inputs @ W).view(b, n, num_heads, -1) for W in (W_query, W_key, W_value)
    )
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    if hide:
        future = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        scores = getattr(scores, method)(future, float("-inf"))
    return (torch.softmax(scores, dim=-1) @ values).reshape(b, n, d_out) @ W_out + b_out


def weighed(code):
    """code(scores, future) -> weights, in place of softmax and mask."""

    def answer(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
        queries, keys, values = heads_of(inputs, W_query, W_key, W_value, num_heads=num_heads)
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return (code(scores, future) @ values).transpose(1, 2).flatten(2) @ W_out + b_out

    return answer


def merged_by(code):
    """code(contexts, W_out, b_out), in place of merge and out_proj."""

    def answer(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
        queries, keys, values = heads_of(inputs, W_query, W_key, W_value, num_heads=num_heads)
        future = torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool).triu(1)
        scores = (queries @ keys.mT / keys.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
        return code(scores.softmax(-1) @ values, W_out, b_out)

    return answer


def with_keys_T(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    queries, keys, values = heads_of(inputs, W_query, W_key, W_value, num_heads=num_heads)
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    return (scores.softmax(-1) @ values).transpose(1, 2).flatten(2) @ W_out + b_out


def split_and_merged_by_view(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    b, n, _ = inputs.shape
    qkv = ((inputs @ W).view(b, num_heads, n, -1) for W in (W_query, W_key, W_value))
    return F.scaled_dot_product_attention(*qkv, is_causal=True).view(b, n, -1) @ W_out + b_out


def values_in_one_piece(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    queries, keys = heads_of(inputs, W_query, W_key, num_heads=num_heads)
    future = torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool).triu(1)
    scores = (queries @ keys.mT / keys.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
    contexts = scores.softmax(-1) @ (inputs @ W_value)[:, None]
    return contexts.transpose(1, 2).flatten(2) @ W_out + b_out


def full_width_for_each_head(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    heads = [scaled_dot(inputs, W_query, W_key, W_value, is_causal=True) for _ in range(num_heads)]
    return torch.cat(heads, dim=-1) @ W_out + b_out


def keys_kept_together(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    """The heads of the keys are where the words of the queries are."""
    queries, values = heads_of(inputs, W_query, W_value, num_heads=num_heads)
    keys = (inputs @ W_key).unflatten(-1, (num_heads, -1))
    weights = (queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5).softmax(-1)
    return (weights @ values).transpose(1, 2).flatten(2) @ W_out + b_out


def one_head(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    contexts = scaled_dot(inputs, W_query, W_key, W_value, is_causal=True)
    return contexts @ W_out + b_out


def natural(scores, future):
    exps = torch.exp(scores).masked_fill(future, 0)
    return exps / exps.sum(-1, keepdim=True)


def looped_split(x, num_heads):
    b, n, d_out = x.shape
    head_dim = d_out // num_heads
    result = torch.empty(b, num_heads, n, head_dim)
    for k in range(num_heads):
        result[:, k] = x[:, :, k * head_dim : (k + 1) * head_dim]
    return result


def numbers_split(x, num_heads):
    head_dim = x.shape[2] // num_heads
    return [
        [
            [[word[k * head_dim + j] for j in range(head_dim)] for word in s]
            for k in range(num_heads)
        ]
        for s in x.tolist()
    ]


def looped_merge(x):
    result = []
    for sentence in x:
        result.append(torch.cat([head for head in sentence], dim=-1))
    return torch.stack(result)


STYLES = {
    "scaled_scores": [
        loop_scaled,
        lambda q, k: q @ k.T / k.shape[-1] ** 0.5,
        lambda queries, keys: (queries * queries.shape[1] ** -0.5) @ keys.T,
        lambda q, k: torch.einsum("nd,md->nm", q, k) / math.sqrt(k.size(1)),
        lambda q, k: torch.matmul(q, k.t()).div(torch.tensor(k.shape[1]).sqrt()),
        lambda q, k: q.numpy() @ k.numpy().T / np.sqrt(k.shape[1]),
        lambda q, k: [[float(torch.dot(a, b)) / len(b) ** 0.5 for b in k] for a in q],
        lambda q, k: (k.double() @ q.double().T).T / k.shape[-1] ** 0.5,
        lambda q, k: ((q[:, None] * k[None]).sum(-1) / k.shape[-1] ** 0.5).requires_grad_(),
    ],
    "qkv_attention": [
        one_word_after_the_other,
        with_linear,
        with_einsum,
        with_numpy,
        in_three_lines,
        scaled_dot,
        lambda x, *W: scaled_dot(x[None], *W)[0],
        lambda x, *W: with_einsum(x.double(), *(w.double() for w in W)),
        lambda x, *W: one_word_after_the_other(x, *W).tolist(),
        blended(lambda q, k, v, d_k: torch.softmax((q / d_k**0.5) @ k.T, dim=1) @ v),
        blended(lambda q, k, v, d_k: torch.softmax(k @ q.T / math.sqrt(d_k), dim=0).T @ v),
        blended(lambda q, k, v, d_k: broadcast_softmax(q / d_k**0.25 @ (k / d_k**0.25).T) @ v),
        lambda x, W_query, W_key, W_value: (
            torch.softmax(x @ W_query @ W_key.T @ x.T / W_key.shape[1] ** 0.5, -1) @ x @ W_value
        ),
    ],
    "split_heads": [
        looped_split,
        numbers_split,
        lambda x, num_heads: x.view(*x.shape[:2], num_heads, -1).transpose(1, 2),
        lambda x, h: x.unflatten(2, (h, x.shape[2] // h)).permute(0, 2, 1, 3).contiguous(),
        lambda x, h: torch.stack(x.chunk(h, dim=-1), dim=1),
        lambda x, h: torch.stack(x.split(x.shape[-1] // h, dim=2), dim=1).double(),
        lambda x, h: np.stack(np.split(x.numpy(), h, axis=-1), axis=1),
        lambda x, h: torch.einsum("bnhk->bhnk", x.reshape(len(x), x.shape[1], h, -1)),
        lambda x, h: x.mT.reshape(len(x), h, -1, x.shape[1]).mT.requires_grad_(),
    ],
    "merge_heads": [
        looped_merge,
        lambda x: x.transpose(1, 2).contiguous().view(x.shape[0], x.shape[2], -1),
        lambda x: x.permute(0, 2, 1, 3).flatten(2),
        lambda x: torch.cat(list(x.unbind(1)), dim=-1),
        lambda x: torch.cat([x[:, k] for k in range(x.shape[1])], dim=2).double(),
        lambda x: x.numpy().transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1),
        lambda x: torch.einsum("bhnk->bnhk", x).reshape(len(x), x.shape[2], -1).tolist(),
        lambda x: x.mT.flatten(1, 2).mT,
    ],
    "multi_head": [
        textbook,
        head_by_head,
        sentence_by_sentence,
        numpy_heads,
        einsum_heads,
        added_mask,
        renormalised,
        in_double,
        with_module,
        lambda *args: with_sdpa(*args, is_causal=True),
        lambda *args: with_sdpa(*args, mask=lambda n: torch.ones(n, n, dtype=torch.bool).tril()),
        lambda *args: textbook(*args, fill=-1e9),
        lambda *args: textbook(*args, fill=torch.finfo(torch.float32).min),
    ],
}

AS_WRITTEN = [
    ("scaled_scores", loop_scaled_by_len_of_keys, "scaled by the number of keys"),
    ("scaled_scores", lambda q, k: q @ k.T / k.shape[1], "divided by d_k, root forgotten"),
    ("scaled_scores", lambda q, k: q @ k.T / k.shape[-1] ** 1 / 2, "parentheses forgotten"),
    ("scaled_scores", lambda q, k: q @ k.T / (k.shape[-1] ** 1 / 2), "parentheses forgotten"),
    ("scaled_scores", lambda q, k: q @ k.T / k.shape[-1] ** 2, "squared instead of root"),
    ("scaled_scores", lambda q, k: q @ k.T / 2**0.5, "always sqrt(2)"),
    ("scaled_scores", lambda q, k: q @ k.T / 1.4142, "always sqrt(2)"),
    ("scaled_scores", lambda q, k: q @ k.T / k.shape[0] ** 0.5, "scaled by the number of keys"),
    ("scaled_scores", lambda q, k: q @ k / k.shape[1] ** 0.5, "keys not transposed"),
    ("scaled_scores", torch.matmul, "keys not transposed"),
    ("scaled_scores", lambda q, k: q.T @ k, "attention between coordinates"),
    (
        "scaled_scores",
        lambda q, k: F.normalize(q) @ F.normalize(k).T,
        "cosine instead of dot product",
    ),
    (
        "scaled_scores",
        lambda q, k: torch.softmax(q @ k.T / k.shape[1] ** 0.5, -1),
        "softmax already applied",
    ),
    ("qkv_attention", keys_first, "matrices created in another order (k,q,v)"),
    ("qkv_attention", turned_matrices, "drawn as (d_out,d_in)"),
    ("qkv_attention", book(OfTheBook, 123), "matrices it was given not used"),
    ("qkv_attention", book(OfTheBook, 123, 3, 2), "matrices it was given not used"),
    ("qkv_attention", names_of_a_cell_above, "matrices it was given not used"),
    ("qkv_attention", book(OfTheBook, 42, 3, 2), "another seed"),
    ("qkv_attention", book(OfTheBookLinear, 123, 3, 2), "nn.Linear instead of Parameter(rand)"),
    ("qkv_attention", book(OfTheBookLinear, 789, 3, 2), "nn.Linear instead of Parameter(rand)"),
    ("qkv_attention", book(OfTheBookLinear, 123, 3, 2, bias=True), "bias left on"),
    ("qkv_attention", lambda *args: scaled_dot(*args, scale=1.0), "no scaling"),
    ("qkv_attention", lambda *args: scaled_dot(*args, is_causal=True), "causal mask applied"),
    (
        "qkv_attention",
        blended(lambda q, k, v, d: F.scaled_dot_product_attention(q / d**0.5, k, v)),
        "divided by d_k, root forgotten",
    ),
    (
        "qkv_attention",
        blended(lambda q, k, v, d: torch.softmax(q @ k.T / len(q) ** 0.5, -1) @ v),
        "scaled by the number of words",
    ),
    (
        "qkv_attention",
        lambda x, *W: one_word_after_the_other(x, W[0], W[0], W[2]),
        "queries used as keys",
    ),
    (
        "qkv_attention",
        lambda x, *W: one_word_after_the_other(x, W[1], W[0], W[2]),
        "queries and keys swapped",
    ),
    (
        "qkv_attention",
        blended(lambda q, k, v, d: torch.softmax(q @ k.T, -1) / d**0.5 @ v),
        "scaled after softmax",
    ),
    (
        "qkv_attention",
        blended(lambda q, k, v, d: F.softmax(q @ k.T / d**0.5, 0) @ v),
        "softmax over the wrong axis",
    ),
    (
        "qkv_attention",
        blended(lambda q, k, v, d: [math_softmax(row) @ v for row in q @ k.T / d**0.5]),
        "naive exp overflow",
    ),
    (
        "qkv_attention",
        lambda x, *W: x + one_word_after_the_other(x, *W),
        "residual added",
    ),
    (
        "split_heads",
        lambda x, h: x.view(x.shape[0], h, x.shape[1], -1),
        "split by view without transpose",
    ),
    ("split_heads", lambda x, h: x.view(*x.shape[:2], h, -1), "transpose left out"),
    ("split_heads", lambda x, h: torch.stack(x.chunk(h, -1), 2), "transpose left out"),
    ("split_heads", lambda x, h: x.chunk(h, -1), "heads before the batch"),
    ("split_heads", lambda x, h: torch.stack(x.split(h, -1), 1), "num_heads and head_dim mixed up"),
    (
        "split_heads",
        lambda x, h: torch.stack([x[:, :, k::h] for k in range(h)], 1),
        "numbers dealt out in turn",
    ),
    ("split_heads", lambda x, h: x.view(*x.shape[:2], 2, -1).transpose(1, 2), "always 2 heads"),
    (
        "merge_heads",
        lambda x: x.reshape(x.shape[0], x.shape[2], -1),
        "merged without transposing back",
    ),
    (
        "merge_heads",
        lambda x: x.view(x.shape[0], x.shape[2], -1),
        "merged without transposing back",
    ),
    (
        "merge_heads",
        lambda x: x.transpose(1, 2).view(len(x), x.shape[2], -1),
        "view after transpose",
    ),
    ("merge_heads", lambda x: sum(x[:, k] for k in range(x.shape[1])), "heads added"),
    ("merge_heads", lambda x: torch.cat(list(x.unbind(1)), 1), "concatenated along tokens"),
    ("merge_heads", lambda x: torch.cat(list(x.unbind(1))), "concatenated along the batch"),
    (
        "merge_heads",
        lambda x: torch.stack(list(x.unbind(1)), -1).flatten(2),
        "numbers dealt out in turn",
    ),
    ("multi_head", without_transpose, "transpose left out"),
    ("multi_head", lambda *args: without_transpose(*args, hide=False), "transpose left out"),
    (
        "multi_head",
        lambda *args: without_transpose(*args, method="masked_fill_"),
        "transpose left out",
    ),
    ("multi_head", split_and_merged_by_view, "split by view without transpose"),
    ("multi_head", with_keys_T, ".T on a batch"),
    ("multi_head", one_head, "heads not split"),
    ("multi_head", values_in_one_piece, "values not split"),
    ("multi_head", full_width_for_each_head, "every head gets all numbers"),
    ("multi_head", weighed(natural), "naive exp overflow"),
    ("multi_head", with_sdpa, "no causal mask"),
    (
        "multi_head",
        lambda *args: with_sdpa(*args, mask=lambda n: torch.ones(n, n, dtype=torch.bool).triu(1)),
        "bool mask handed to the wrong function",
    ),
    (
        "multi_head",
        lambda *args: with_sdpa(*args, mask=lambda n: torch.ones(n, n).triu(1)),
        "mask of ones added",
    ),
    (
        "multi_head",
        lambda *args: with_module(*args, mask=lambda n: torch.ones(n, n, dtype=torch.bool).tril()),
        "mask upside down",
    ),
    ("multi_head", lambda *args: with_module(*args, batch_first=False), "batch_first forgotten"),
    (
        "multi_head",
        lambda *args: with_module(*args, batch_first=False, mask=lambda n: None),
        "batch_first forgotten",
    ),
    ("multi_head", lambda *args: with_sdpa(*args, is_causal=True, scale=1.0), "no scaling"),
    (
        "multi_head",
        lambda *args: textbook(*args, temper=lambda x, W, h: W.shape[1] ** 0.5),
        "scaled by sqrt(d_model)",
    ),
    (
        "multi_head",
        lambda *args: textbook(*args, temper=lambda x, W, h: h**0.5),
        "scaled by sqrt(h)",
    ),
    (
        "multi_head",
        lambda *args: textbook(*args, hide=lambda n: torch.ones(n, n).triu().bool()),
        "diagonal masked too",
    ),
    (
        "multi_head",
        lambda *args: textbook(*args, hide=lambda n: torch.ones(n, n).tril(-1).bool()),
        "mask upside down, diagonal kept",
    ),
    *(
        ("multi_head", lambda *args, c=c: textbook(*args, fill=c), "a number not low enough")
        for c in (-1, -5, -10, -100, -1000, -1e4, -1e5)
    ),
    ("multi_head", lambda *args: textbook(*args, fill=0.0), "masked with 0"),
    (
        "multi_head",
        weighed(lambda scores, future: scores.masked_fill(future, -1e9).softmax(1)),
        "softmax over the heads",
    ),
    (
        "multi_head",
        weighed(lambda scores, future: F.softmax(scores.masked_fill(future, -torch.inf))),
        "softmax over the heads",
    ),
    (
        "multi_head",
        weighed(
            lambda s, future: F.softmax(s.flatten(0, 1).masked_fill(future, -torch.inf)).view_as(s)
        ),
        "softmax over the batch",
    ),
    (
        "multi_head",
        weighed(lambda scores, future: scores.softmax(-1).masked_fill(future, 0)),
        "mask after softmax",
    ),
    ("multi_head", merged_by(lambda x, W, b: x.mean(1)), "heads averaged"),
    ("multi_head", merged_by(lambda x, W, b: x.mean(1) @ W + b), "heads averaged"),
    ("multi_head", merged_by(lambda x, W, b: F.linear(x.sum(1), W.T, b)), "heads added"),
    ("multi_head", merged_by(lambda x, W, b: x @ W + b), "not merged"),
    (
        "multi_head",
        merged_by(lambda x, W, b: torch.cat(list(x.unbind(1)), 1) @ W + b),
        "concatenated along tokens",
    ),
    ("multi_head", merged_by(lambda x, W, b: x.flatten(1, 2)), "concatenated along tokens"),
    (
        "multi_head",
        merged_by(lambda x, W, b: x.transpose(1, 2).view(len(x), x.shape[2], -1) @ W + b),
        "view after transpose",
    ),
    (
        "multi_head",
        merged_by(lambda x, W, b: F.linear(x.transpose(1, 2).flatten(2), W, b)),
        "W_out transposed",
    ),
    (
        "multi_head",
        lambda *args: head_by_head(*args, join=lambda heads: torch.cat(heads, -1)),
        "out_proj forgotten",
    ),
    (
        "multi_head",
        lambda *args: head_by_head(*args, join=lambda heads: torch.cat(heads, 1)),
        "concatenated along tokens",
    ),
    (
        "multi_head",
        lambda *args: head_by_head(*args, join=sum),
        "heads added",
    ),
    ("multi_head", merged_by(lambda x, W, b: x.amax(1) @ W + b), "largest of the heads"),
    (
        "multi_head",
        weighed(lambda scores, future: plain_weights(scores, future).mean(1, keepdim=True)),
        "weights averaged over the heads",
    ),
    ("qkv_attention", blended(lambda q, k, v, d: k), "not blended"),
    # Two at once.
    (
        "qkv_attention",
        blended(lambda q, k, v, d: torch.softmax(q @ k.T, 0) @ v),
        ("no scaling", "softmax over the wrong axis"),
    ),
    (
        "multi_head",
        lambda *args: with_sdpa(*args, scale=1.0),
        ("no scaling", "no causal mask"),
    ),
]


def right_merge(x):
    return x.transpose(1, 2).flatten(2)


def plain_weights(scores, future):
    return scores.masked_fill(future, -torch.inf).softmax(-1)


def four_mistakes(queries, keys, values, d_k):
    return torch.softmax(-(keys @ queries.T), dim=0) @ values / len(values)


def five_mistakes(queries, keys, values, d_k):
    weights = torch.softmax((keys @ queries.T).tril(), dim=0).softmax(-1)
    return weights.T @ values / len(values)


UNKNOWN = [
    ("scaled_scores", lambda q, k: q @ k.T / k.shape[1] ** 0.5 + 0.01, "numbers are wrong"),
    ("scaled_scores", lambda q, k: 3 * (q @ k.T) / k.shape[1] ** 0.5, "always 3 times"),
    ("scaled_scores", lambda q, k: q @ k.T // k.shape[1] ** 0.5, "numbers are wrong"),
    (
        "scaled_scores",
        lambda q, k: (q @ k.T).relu() / k.shape[1] ** 0.5,
        "Right on queries and keys",
    ),
    ("qkv_attention", lambda *args: 2 * scaled_dot(*args), "always 2 times"),
    ("qkv_attention", lambda *args: scaled_dot(*args) * torch.nan, "12 of 12 numbers are NaN"),
    ("qkv_attention", lambda *args: scaled_dot(*args).T, "wrong shape"),
    ("qkv_attention", lambda x, *W: torch.stack(list(W)) @ x, "RuntimeError"),
    (
        "qkv_attention",
        blended(lambda q, k, v, d: v + F.scaled_dot_product_attention(q, k, v)),
        "numbers are wrong",
    ),
    (
        "qkv_attention",
        blended(lambda q, k, v, d: F.scaled_dot_product_attention(q, k[:-1], v[:-1])),
        "numbers are wrong",
    ),
    ("qkv_attention", blended(four_mistakes), "numbers are wrong"),
    ("qkv_attention", blended(five_mistakes), "numbers are wrong"),
    *(
        ("qkv_attention", blended(code), "numbers are wrong")
        for code in (
            lambda q, k, v, d: torch.softmax((q @ k.T).tanh() / d**0.5, -1) @ v,
            lambda q, k, v, d: torch.softmax(q @ k.T / (d + 1) ** 0.5, -1) @ v,
            lambda q, k, v, d: torch.softmax(q @ k.T / d**0.5, -1).flip(0) @ v,
            lambda q, k, v, d: torch.softmax(q @ k.T / d**0.5, -1) @ (v - v.mean(0)),
            lambda q, k, v, d: torch.softmax(q @ k.T / d**0.5, -1).cumsum(-1) @ v,
            lambda q, k, v, d: torch.softmax(-torch.cdist(q, k), -1) @ v,
        )
    ),
    (
        "qkv_attention",
        blended(lambda q, k, v, d: F.dropout(torch.softmax(q @ k.T / d**0.5, -1), 0.5) @ v),
        "second call",
    ),
    (
        "split_heads",
        lambda x, h: torch.stack(x.chunk(h, -1), 1).flip(1),
        "numbers are wrong",
    ),
    ("split_heads", lambda x, h: torch.stack(x.chunk(h, dim=1), 1), "wrong shape"),
    ("split_heads", lambda x, h: x.view(len(x), h, -1), "wrong shape"),
    ("merge_heads", lambda x: right_merge(x.flip(1)), "numbers are wrong"),
    ("merge_heads", lambda x: x.transpose(1, 2).reshape(len(x), x.shape[2], 4), "RuntimeError"),
    ("merge_heads", lambda x: right_merge(x).flip(1), "numbers are wrong"),
    ("merge_heads", lambda x: right_merge(x)[:1], "wrong shape"),
    ("multi_head", merged_by(lambda x, W, b: right_merge(x.flip(1)) @ W + b), "numbers are wrong"),
    ("multi_head", merged_by(lambda x, W, b: right_merge(x) @ W + 2 * b), "numbers are wrong"),
    ("multi_head", merged_by(lambda x, W, b: (right_merge(x) + b) @ W), "numbers are wrong"),
    (
        "multi_head",
        merged_by(lambda x, W, b: right_merge(x)[:1].expand(len(x), -1, -1) @ W + b),
        "Right on the sentence",
    ),
    (
        "multi_head",
        weighed(lambda scores, future: plain_weights(scores.tanh(), future)),
        "numbers are wrong",
    ),
    (
        "multi_head",
        weighed(lambda s, future: (-s.mT).tril(-1).softmax(1).softmax(-2).mT / 3),
        "the future is visible",
    ),
    (
        "multi_head",
        weighed(lambda scores, future: plain_weights(scores, future).roll(1, dims=1)),
        "numbers are wrong",
    ),
    (
        "multi_head",
        weighed(lambda scores, future: plain_weights(scores, future | future.T.tril(-2))),
        "numbers are wrong",
    ),
    # The errors are those of .T on a batch, and of heads that are not side by side.
    ("multi_head", keys_kept_together, "RuntimeError"),
    ("multi_head", merged_by(lambda x, W, b: x.prod(1) @ W + b), "RuntimeError"),
    ("multi_head", lambda *args: torch.zeros(()), "one single number"),
]
