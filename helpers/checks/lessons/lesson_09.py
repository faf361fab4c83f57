"""Lesson 09: the module with several heads."""

import torch

from ... import attention
from ..catalogue import multi_head
from ..exercise import Exercise, Probe
from ..probes import exact, matrix, wide

# --- head_parameters ---


def _parameters(d_in, d_out, num_heads, qkv_bias):
    """Return the count as a tensor of integers, so that it is shown as a whole number."""
    return torch.tensor(attention.head_parameters(d_in, d_out, num_heads, qkv_bias))


def _sizes():
    """Return probes in which no product of some sizes equals a product of others."""
    return [
        Probe("sizes d_in = 5, d_out = 12, 3 heads, no qkv_bias", (5, 12, 3, False)),
        Probe("sizes d_in = 7, d_out = 44, 4 heads, with qkv_bias", (7, 44, 4, True)),
        Probe("sizes d_in = 7, d_out = 44, 4 heads, no qkv_bias", (7, 44, 4, False), if_right=True),
        *wide("d_in", "d_out", "num_heads", "qkv_bias"),
    ]


def _counted(count):
    """Return an answer. count: takes d_in, d_out, num_heads and the length of a qkv bias, or 0."""

    def code(d_in, d_out, num_heads, qkv_bias):
        return torch.tensor(count(d_in, d_out, num_heads, d_out if qkv_bias else 0))

    return code


COUNTING = Exercise(
    "head_parameters(d_in, d_out, num_heads, qkv_bias) -> int",
    "positions",
    _parameters,
    _sizes,
    mistakes={
        "counted for each head": (
            _counted(lambda d, out, h, bias: h * (3 * (d * out + bias) + out * out + out)),
            _counted(lambda d, out, h, bias: h * 3 * (d * out + bias) + out * out + out),
        ),
        "one head counted": _counted(
            lambda d, out, h, bias: 3 * (d * out + bias) // h + out * out + out
        ),
        "out_proj not counted": _counted(lambda d, out, h, bias: 3 * (d * out + bias)),
        "bias of out_proj not counted": _counted(
            lambda d, out, h, bias: 3 * (d * out + bias) + out * out
        ),
        "qkv_bias used for out_proj": _counted(
            lambda d, out, h, bias: 3 * (d * out + bias) + out * out + bias
        ),
        "d_in used for out_proj": (
            _counted(lambda d, out, h, bias: 3 * (d * out + bias) + d * out + out),
            _counted(lambda d, out, h, bias: 4 * (d * out + bias)),
            _counted(lambda d, out, h, bias: 4 * d * out + d + d * 3 * bool(bias)),
        ),
        "qkv_bias ignored": (
            _counted(lambda d, out, h, bias: 3 * d * out + out * out + out),
            _counted(lambda d, out, h, bias: 3 * (d * out + out) + out * out + out),
        ),
        "one bias for three layers": _counted(
            lambda d, out, h, bias: 3 * d * out + bias + out * out + out
        ),
        "one number for each bias": _counted(
            lambda d, out, h, bias: 3 * (d * out + bool(bias)) + out * out + 1
        ),
        "biases sized like the inputs": _counted(
            lambda d, out, h, bias: 3 * (d * out + d * bool(bias)) + out * out + out
        ),
    },
    first_is_tensor=False,
)

# --- without_head ---


def _outputs():
    """Return probes without 0 or equal numbers; all are sixteenths, so that rounding shows."""

    def full(d_out, step):
        return exact(d_out, d_out, step=step, unit=16, period=211) + 7

    return [
        Probe("a 4 x 4 matrix (head 1 of 2)", (full(4, 5), 1, 2)),
        Probe("a 12 x 12 matrix (head 2 of 4)", (full(12, 7).double(), 2, 4)),
        Probe("a 6 x 6 matrix (head 0 of 3)", (full(6, 3), 0, 3)),
        Probe("a 6 x 6 matrix (head 1 of 2)", (full(6, 5), 1, 2)),
        *wide(matrix("d_out", "d_out"), "head", "num_heads"),
    ]


def _off(rows):
    """Return an answer that sets rows to 0. rows: from head, num_heads, head_dim to a slice."""

    def code(W_out, head, num_heads):
        off = W_out.clone()
        off[rows(head, num_heads, len(W_out) // num_heads)] = 0
        return off

    return code


_its_rows = _off(lambda k, h, d: slice(k * d, k * d + d))

SWITCHING = Exercise(
    "without_head(W_out, head, num_heads) -> (d_out, d_out)",
    "scores",
    attention.without_head,
    _outputs,
    mistakes={
        "columns instead of rows": lambda W, head, num_heads: _its_rows(W.T, head, num_heads).T,
        "other heads switched off": lambda W, head, num_heads: W - _its_rows(W, head, num_heads),
        "heads counted from 1": _off(lambda k, h, d: slice(max(0, k * d - d), k * d)),
        "slice starts at head": _off(lambda k, h, d: slice(k, k + d)),
        "only a square block": _off(lambda k, h, d: (slice(k * d, k * d + d),) * 2),
        "one row only": _off(lambda k, h, d: slice(k, k + 1)),
        "rows interleaved": _off(lambda k, h, d: slice(k, None, h)),
        "later heads switched off too": _off(lambda k, h, d: slice(k * d, None)),
        "num_heads rows instead of head_dim": _off(lambda k, h, d: slice(k * h, k * h + h)),
        "rows cut out": lambda W, head, num_heads: torch.stack(
            [row for i, row in enumerate(W) if i // (len(W) // num_heads) != head]
        ),
    },
)

# --- multi_head ---

MULTI_HEAD = multi_head.MULTI_HEAD
