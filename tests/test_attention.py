"""Compare every module of helpers/attention with PyTorch's own attention. Its functions that are
exercises are compared with the programs of the checks in test_mistakes.py."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import attention, load_journey
from helpers.errors import InputError

tokens, inputs = load_journey()
draws = torch.Generator().manual_seed(5)
OTHER = torch.rand(5, 4, generator=draws, dtype=torch.float64) * 4 - 2


# Lessons 04 to 08. All sizes differ: 4 sentences of 5 tokens, d_in 7, d_out 6, 3 heads of 2.
BATCH = torch.rand(4, 5, 7, generator=draws) * 4 - 2
CONTEXT, HEADS = 8, 3
ARGUMENTS = {  # of every class, without d_in; p: rate of dropout; bias: of queries ...
    "SelfAttention": lambda p, bias: (6,),
    "SelfAttentionLinear": lambda p, bias: (6, bias),
    "CausalAttention": lambda p, bias: (6, CONTEXT, p, bias),
    "MultiHeadAttentionWrapper": lambda p, bias: (2, CONTEXT, p, HEADS, bias),
    "MultiHeadAttention": lambda p, bias: (6, CONTEXT, p, HEADS, bias),
}
MODULES = list(ARGUMENTS)
CAUSAL = MODULES[2:]


def create(name, p=0.0, bias=False, seed=123, d_in=7):
    torch.manual_seed(seed)
    return getattr(attention, name)(d_in, *ARGUMENTS[name](p, bias))


def weights_of_torch(queries, keys, causal=True):
    """Return PyTorch's own weights: what its attention makes of a 1 for each word.

    queries: (..., n, d_k).  keys: (..., n, d_k)."""
    ones = torch.eye(keys.shape[-2]).expand(*keys.shape[:-1], -1)
    return F.scaled_dot_product_attention(queries, keys, ones, is_causal=causal)


def side_by_side(queries, keys, values, num_heads, p=0.0, causal=True):
    """Return the heads' outputs side by side, (b, n, d_out), like queries, keys and values."""
    queries, keys, values = (
        torch.stack(x.chunk(num_heads, dim=-1), 1) for x in (queries, keys, values)
    )
    heads = F.dropout(weights_of_torch(queries, keys, causal), p) @ values
    return torch.cat(heads.unbind(1), dim=-1)


def textbook(name, x, p, bias):
    """Return the outputs of the textbook's class, from its definition: parameters are created in
    the order query, key, value, out_proj, and only then does dropout draw."""
    torch.manual_seed(123)
    if name == "SelfAttention":
        projected = [[x @ torch.rand(7, 6) for _ in range(3)]]
    elif name == "MultiHeadAttentionWrapper":
        projected = [[nn.Linear(7, 2, bias)(x) for _ in range(3)] for _ in range(HEADS)]
    else:
        projected = [[nn.Linear(7, 6, bias)(x) for _ in range(3)]]
    out = nn.Linear(6, 6) if name == "MultiHeadAttention" else nn.Identity()
    num_heads, causal = HEADS if name == "MultiHeadAttention" else 1, name in CAUSAL
    torch.manual_seed(7)
    p = p if causal else 0.0
    heads = [side_by_side(*three, num_heads, p, causal) for three in projected]
    return out(torch.cat(heads, dim=-1))


@pytest.mark.parametrize("p", [0.0, 0.4])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_outputs_are_those_of_the_textbook_for_the_same_seed(name, bias, p):
    for n, size in ((1, 4), (5, 4000), (CONTEXT, 4)):  # at 4000 one weight is 1, the others 0
        x = (torch.rand(4, n, 7, generator=draws) - 0.5) * size
        expected, module = textbook(name, x, p, bias), create(name, p, bias)
        torch.manual_seed(7)  # the seed of dropout
        torch.testing.assert_close(module(x), expected)


@pytest.mark.parametrize("name", MODULES)
def test_a_single_sentence_will_do(name):
    module = create(name)
    torch.testing.assert_close(module(BATCH[0]), module(BATCH)[0])


# The parts
@pytest.mark.parametrize("p", [0.1, 0.5, 0.75])
def test_dropout_keeps_the_mean_and_tosses_a_coin_for_each_weight(p):
    torch.manual_seed(1)
    weights = torch.rand(300, 400, generator=draws, dtype=torch.float64) + 0.5
    dropped = attention.dropout(weights, p, training=True)
    survives = dropped != 0
    torch.testing.assert_close(dropped[survives], weights[survives] / (1 - p))
    assert abs(survives.double().mean() - (1 - p)) < 0.01
    for dim in (0, 1):  # and not one coin for whole rows or columns
        assert (survives.double().mean(dim) - (1 - p)).abs().max() < 0.15
    assert not torch.equal(attention.dropout(weights, p, training=True), dropped)


def test_dropout_does_nothing_at_0_and_in_evaluation():
    weights = torch.softmax(OTHER, dim=-1)
    for p, training in ((0.0, True), (0, True), (0.9, False)):
        assert torch.equal(attention.dropout(weights, p, training), weights)


# What else a module must do


@pytest.mark.parametrize("size", [1.0, 1000.0])
@pytest.mark.parametrize("name", MODULES)
def test_gradients_reach_every_parameter_and_stay_finite(name, size):
    module = create(name, bias=True)
    x = (BATCH * size).requires_grad_()
    outputs = module(x)
    outputs.pow(2).sum().backward()
    assert outputs.isfinite().all() and x.grad.isfinite().all() and x.grad.any()
    for key, parameter in module.named_parameters():
        assert parameter.grad.isfinite().all(), key
        # a number added to all scores of a row changes no weight; at size 1000 one weight is 1
        # and the others 0, so queries and keys learn nothing
        learns = "W_key.bias" not in key and (size == 1.0 or "W_value" in key)
        assert not learns or parameter.grad.any(), key


# What is refused, and with which sentence
def refused(sentence, make, *args, **kwargs):
    with pytest.raises(InputError) as error:
        make(*args, **kwargs)
    assert str(error.value) == sentence


@pytest.mark.parametrize("rate", [1.0, 1, -0.1, math.nan, math.inf, "0.1", None, True])
def test_a_rate_outside_0_to_1_is_refused(rate):
    sentence = f"dropout is {rate!r}; a number from 0 to below 1 is expected."
    for name in CAUSAL:
        refused(sentence, create, name, rate)
    for training in (True, False):
        refused(sentence, attention.dropout, inputs, rate, training)


@pytest.mark.parametrize("d_out, num_heads", [(7, 3), (2, 3)])
def test_a_width_that_cannot_be_shared_is_refused(d_out, num_heads):
    sentence = (
        f"d_out = {d_out} is not divisible by num_heads = {num_heads}, but every head needs "
        "d_out / num_heads numbers. Choose a different one of the two."
    )
    refused(sentence, attention.MultiHeadAttention, 4, d_out, 8, 0.0, num_heads)
    refused(sentence, attention.split_heads, torch.rand(5, d_out), num_heads)


@pytest.mark.parametrize("name", MODULES)
def test_inputs_that_do_not_fit_are_refused(name):
    module = create(name)
    sentences = {
        shape: f"the inputs have the shape {shape}; (n, 7) or (b, n, 7) is expected, because the "
        "module was created with d_in = 7. Change one of the two."
        for shape in [(4, 5, 6), (4, 7, 5), (7,), (), (5, 8)]
    }
    if name in CAUSAL:
        sentences[4, CONTEXT + 1, 7] = (
            "the inputs have 9 tokens, but the module was created with context_length = 8. "
            "Shorten the inputs, or create it with context_length = 9."
        )
    for shape, sentence in sentences.items():
        refused(sentence, module, torch.zeros(shape))
        refused(sentence, getattr(module, "weights", module), torch.zeros(shape))
