"""Answers to lesson 08: split and merge."""

import numpy as np
import torch

# --- split_heads and merge_heads: right answers, in any style ---


def looped_split(x, num_heads):
    b, n, d_out = x.shape
    head_dim = d_out // num_heads
    result = torch.empty(b, num_heads, n, head_dim)
    for k in range(num_heads):
        result[:, k] = x[:, :, k * head_dim : (k + 1) * head_dim]
    return result


def looped_merge(x):
    result = []
    for sentence in x:
        result.append(torch.cat([head for head in sentence], dim=-1))
    return torch.stack(result)


def merged(x):
    return x.transpose(1, 2).flatten(2)


STYLES = {
    "split_heads": [
        looped_split,
        lambda x, num_heads: x.view(*x.shape[:2], num_heads, -1).transpose(1, 2),
        lambda x, h: x.unflatten(2, (h, x.shape[2] // h)).permute(0, 2, 1, 3).contiguous(),
        lambda x, h: torch.stack(x.chunk(h, dim=-1), dim=1).tolist(),
        lambda x, h: torch.stack(x.split(x.shape[-1] // h, dim=2), dim=1).double(),
        lambda x, h: np.stack(np.split(x.numpy(), h, axis=-1), axis=1),
        lambda x, h: torch.einsum("bnhk->bhnk", x.reshape(len(x), x.shape[1], h, -1)),
        lambda x, h: x.mT.reshape(len(x), h, -1, x.shape[1]).mT.requires_grad_(),
    ],
    "merge_heads": [
        looped_merge,
        lambda x: x.transpose(1, 2).contiguous().view(x.shape[0], x.shape[2], -1),
        lambda x: x.permute(0, 2, 1, 3).flatten(2),
        lambda x: torch.cat([x[:, k] for k in range(x.shape[1])], dim=2).double(),
        lambda x: x.numpy().transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1),
        lambda x: torch.einsum("bhnk->bnhk", x).reshape(len(x), x.shape[2], -1).tolist(),
        lambda x: x.mT.flatten(1, 2).mT,
    ],
}

# --- mistakes as they are written ---

AS_WRITTEN = {
    "split_heads": [
        (lambda x, h: torch.stack(x.chunk(h, -1), 2), "transpose left out"),
        (lambda x, h: x.chunk(h, -1), "heads before the batch"),
        (lambda x, h: torch.stack(x.split(h, -1), 1), "num_heads and head_dim mixed up"),
        (
            lambda x, h: torch.stack([x[:, :, k::h] for k in range(h)], 1),
            "numbers dealt out in turn",
        ),
    ],
    "merge_heads": [
        (lambda x: sum(x[:, k] for k in range(x.shape[1])), "heads added"),
        (lambda x: torch.cat(list(x.unbind(1)), 1), "concatenated along tokens"),
        (lambda x: torch.cat(list(x.unbind(1))), "concatenated along the batch"),
        (lambda x: torch.stack(list(x.unbind(1)), -1).flatten(2), "numbers dealt out in turn"),
    ],
}

# --- wrong, and nobody knows why ---

UNKNOWN = {
    "split_heads": [
        (lambda x, h: torch.stack(x.chunk(h, -1), 1).flip(1), "numbers are wrong"),
        (lambda x, h: torch.stack(x.chunk(h, dim=1), 1), "wrong shape"),
        (lambda x, h: x.view(len(x), h, -1), "wrong shape"),
        (
            lambda x, h: x.view(*x.shape[:2], h, x.shape[2] / h).transpose(1, 2),
            "Try: Write // for /",
        ),
    ],
    "merge_heads": [
        (lambda x: merged(x.flip(1)), "numbers are wrong"),
        (lambda x: x.transpose(1, 2).reshape(len(x), x.shape[2], 4), "RuntimeError"),
        (lambda x: merged(x).flip(1), "numbers are wrong"),
        (lambda x: merged(x)[:1], "wrong shape"),
    ],
}
