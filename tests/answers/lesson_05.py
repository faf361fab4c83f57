"""Answers to lesson 05: the self-attention module."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .parts import Parameters, changed, one_word_after_the_other, scaled_dot

# --- linear and attention_loss: right answers, in any style ---


def linear_by_loops(inputs, weight, bias):
    result = torch.zeros(len(inputs), len(weight), dtype=inputs.dtype)
    for i, x in enumerate(inputs):
        for j, row in enumerate(weight):
            result[i, j] = torch.dot(x, row) + bias[j]
    return result


def layer_with(inputs, weight, bias):
    layer = nn.Linear(*weight.shape[::-1], dtype=weight.dtype)
    layer.load_state_dict({"weight": weight, "bias": bias})
    return layer(inputs)


def loss_by_loop(weights, wanted):
    total = 0.0
    for row, column in zip(weights, wanted, strict=True):
        total -= torch.log(row[column])
    return total / len(weights)


# --- SelfAttention: right classes, in any style ---


class OtherNames(Parameters):
    names = "a", "b", "c"

    def forward(self, inputs):
        scores = torch.einsum("id,jd->ij", inputs @ self.a, inputs @ self.b)
        return scores.div(self.a.shape[1] ** 0.5).softmax(-1).matmul(inputs @ self.c)


class Letters(Parameters):
    names = "wq", "wk", "wv"

    def forward(self, x):
        return scaled_dot(x, self.wq, self.wk, self.wv)


class Stacked(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W = nn.Parameter(torch.rand(3, d_in, d_out))
        self.scale = torch.tensor(d_out).sqrt()

    def forward(self, x):
        q, k, v = x @ self.W
        return torch.softmax((q / self.scale) @ k.mT, -1) @ v


class Filled(nn.Module):
    def __init__(self, d_in, d_out, device=None):
        super().__init__()
        for name in ("query", "key", "value"):
            self.register_parameter(name, nn.Parameter(torch.empty(d_in, d_out).uniform_()))

    def forward(self, x):
        return one_word_after_the_other(x, self.query, self.key, self.value)


class InADict(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W = nn.ParameterDict({k: torch.rand(d_in, d_out) for k in ("q", "k", "v")})

    def forward(self, x, scale=True):
        q, k, v = x @ self.W["q"], x @ self.W["k"], x @ self.W["v"]
        self.weights = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1)
        return self.weights @ v


STYLES = {
    "linear": [
        linear_by_loops,
        layer_with,
        F.linear,
        lambda x, w, b: (w @ x.T).T + b,
        lambda x, w, b: x.numpy() @ w.numpy().T + b.numpy(),
        lambda x, w, b: torch.einsum("ni,oi->no", x, w).add(b),
        lambda x, w, b: torch.addmm(b, x, w.t()).tolist(),
        lambda x, w, b: torch.stack([w @ one + b for one in x]),
    ],
    "attention_loss": [
        loss_by_loop,
        lambda w, wanted: -w.gather(1, wanted[:, None]).log().mean(),
        lambda w, wanted: F.nll_loss(w.log(), wanted),
        lambda w, wanted: F.cross_entropy(w.log(), wanted),
        lambda w, wanted: -np.log(w.numpy()[np.arange(len(w)), wanted.numpy()]).mean(),
        lambda w, wanted: -torch.log(w[:, wanted].diagonal()).sum().item() / len(w),
        lambda w, wanted: (1 / w[range(len(w)), wanted]).log().mean(),
    ],
    "SelfAttention": [
        Parameters,
        OtherNames,
        Letters,
        Stacked,
        Filled,
        InADict,
        changed(Parameters),
    ],
}

# --- mistakes as they are written ---


def plain_matrix(self, d_in, d_out):
    return torch.rand(d_in, d_out).requires_grad_()


def after(change):
    """A right class, and what change(contexts) makes of what it returns."""
    return changed(Parameters, forward=lambda self, x: change(Parameters.forward(self, x)))


class ListOfParameters(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W = [nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3)]

    def forward(self, x):
        return scaled_dot(x, *self.W)


class LinearInForward(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_in, self.d_out = d_in, d_out

    def forward(self, x):
        q, k, v = (nn.Linear(self.d_in, self.d_out)(x) for _ in range(3))
        return torch.softmax(q @ k.T / self.d_out**0.5, -1) @ v


class RedrawnParameters(Parameters):
    def forward(self, x):
        self.W_key = nn.Parameter(torch.randn(self.W_key.shape))
        return super().forward(x)


class Counting(Parameters):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) * self.calls


class Centred(Parameters):
    def forward(self, x):
        x -= x.mean(dim=-1, keepdim=True)
        return super().forward(x)


class KeyFirstWithoutNames(OtherNames):
    def forward(self, inputs):
        scores = (inputs @ self.b) @ (inputs @ self.a).T
        return torch.softmax(scores / self.a.shape[1] ** 0.5, -1) @ (inputs @ self.c)


AS_WRITTEN = {
    "linear": [
        (lambda x, w, b: x.matmul(w) + b, "weight not transposed"),
        (lambda x, w, b: torch.einsum("ni,oi->no", x, w), "bias not added"),
        (lambda x, w, b: w @ x.T + b[:, None], "a row for each output"),
    ],
    "attention_loss": [
        (lambda w, wanted: F.nll_loss(w, wanted), "logarithm forgotten"),
        (
            lambda w, wanted: -sum(w[i, k].log() for i, k in enumerate(wanted)),
            "added up, not averaged",
        ),
        (
            lambda w, wanted: torch.stack([-w[:, k].log().mean() for k in wanted]).mean(),
            "every row with every wanted column",
        ),
        (
            lambda w, wanted: F.nll_loss(w.log_softmax(-1), wanted),
            "softmax of weights",
        ),
    ],
    "SelfAttention": [
        (changed(Parameters, matrix=plain_matrix), "plain tensors as weights"),
        (ListOfParameters, "Python list of layers"),
        (LinearInForward, ("new random weights in forward", "bias left on")),
        (RedrawnParameters, "new random weights in forward"),
        (after(lambda contexts: torch.tensor(contexts.tolist())), "gradient cut"),
        (changed(Parameters, forward=torch.no_grad()(Parameters.forward)), "gradient cut"),
        (Counting, "changed by the calls before"),
        (Centred, "input changed in place"),
        (KeyFirstWithoutNames, "matrices created in another order (k,q,v)"),
    ],
}


# --- wrong, and nobody knows why ---


class TwoMatrices(Parameters):
    names = "W_query", "W_value"

    def forward(self, x):
        return scaled_dot(x, self.W_query, self.W_query, self.W_value)


class ZeroMatrices(Parameters):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        with torch.no_grad():
            self.W_key.zero_()


class Doubles(Parameters):
    def __init__(self, d_in, d_out):
        torch.set_default_dtype(torch.float64)
        super().__init__(d_in, d_out)


class WithoutSelf(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        W_query, W_key, W_value = (nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3))


FROM_A_CELL_ABOVE = torch.rand(3, 2)


class MatrixOfACellAbove(Parameters):
    def forward(self, x):
        return x @ FROM_A_CELL_ABOVE


class SizeOfInit(Parameters):
    def forward(self, x):
        return super().forward(x) / d_out  # noqa: F821


UNKNOWN = {
    "linear": [
        (lambda x, w, b: 2 * (x @ w.T + b), "always 2 times"),
        (lambda x, w, b: x @ w.T + b.mean(), "numbers are wrong"),
        (lambda x, w, b: (x @ w.T + b).relu(), "numbers are wrong"),
        (lambda x, w, b: x @ w.T + b.flip(0), "numbers are wrong"),
    ],
    "attention_loss": [
        (
            lambda w, wanted: -(F.one_hot(wanted, w.shape[1]) * w.log()).sum(1).mean(),
            "1 of 1 numbers are NaN",
        ),
        (lambda w, wanted: loss_by_loop(w, wanted) / 2, "always 0.5 times"),
        (lambda w, wanted: -w.diagonal(1).log().mean(), "it ignores wanted"),
        (lambda w, wanted: loss_by_loop(w, wanted) ** 2, "numbers are wrong"),
    ],
    "SelfAttention": [
        (WithoutSelf, "Try: Write self. before each matrix in __init__"),
        (MatrixOfACellAbove, "Try: Is self. missing"),
        (SizeOfInit, "Try: Is it known in __init__ only?"),
        (TwoMatrices, "matrices to train: yours 2, right 3"),
        (after(lambda contexts: contexts / 2), "numbers are wrong"),
        (after(lambda contexts: contexts + torch.randn(len(contexts), 1)), "numbers are wrong"),
        (Doubles, "expected m1 and m2 to have the same dtype"),
        (ZeroMatrices, "On the sentence, after torch.manual_seed(123)"),
        (
            after(lambda contexts: (contexts, contexts[0])),
            "a tuple with parts of different shapes inside",
        ),
    ],
}
