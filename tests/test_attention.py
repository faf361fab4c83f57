"""The reference in helpers/attention.py: against PyTorch, against loops, on any input."""

import math
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import attention, load_journey
from helpers.guard import InputError

tokens, inputs = load_journey()
draws = torch.Generator().manual_seed(5)
OTHER = torch.rand(5, 4, generator=draws, dtype=torch.float64) * 4 - 2


@pytest.mark.parametrize("x", [inputs, OTHER], ids=["journey", "5x4"])
def test_scores_are_the_dot_products_of_all_pairs(x):
    loop = torch.stack([torch.stack([torch.dot(a, b) for b in x]) for a in x])
    torch.testing.assert_close(attention.all_scores(x), loop)
    for i in range(len(x)):
        torch.testing.assert_close(attention.scores(x, i), loop[i])
        cosine = torch.nn.functional.cosine_similarity(x, x[i], dim=-1)
        torch.testing.assert_close(attention.cosine_scores(x, i), cosine)


@pytest.mark.parametrize("size", [1.0, 1000.0])
@pytest.mark.parametrize("temperature", [0.01, 1.0, 10.0])
def test_softmax_is_that_of_pytorch_for_scores_of_any_size(size, temperature):
    row = torch.tensor([1.0, -1.0, 0.0, 0.5]) * size
    expected = torch.softmax(row / temperature, dim=-1)
    torch.testing.assert_close(attention.softmax(row, temperature), expected)
    matrix = torch.stack([row, -row, row + size])
    torch.testing.assert_close(attention.attention_weights(matrix), torch.softmax(matrix, dim=-1))


@pytest.mark.parametrize("x", [inputs, OTHER], ids=["journey", "5x4"])
def test_context_vectors_are_the_blends_of_the_loop(x):
    for i in range(len(x)):
        weights = torch.softmax(x @ x[i], dim=0)
        loop = sum(w * v for w, v in zip(weights, x, strict=True))
        torch.testing.assert_close(attention.context_vector(x, i), loop)
        torch.testing.assert_close(attention.self_attention(x)[i], loop)
        others = [j for j in range(len(x)) if j != i]
        expected = torch.softmax(x[others] @ x[i], dim=0) @ x[others]
        torch.testing.assert_close(attention.context_of_others(x, i), expected)


def test_no_argument_is_changed_and_the_type_is_kept():
    for dtype in (torch.float32, torch.float64):
        x = inputs.to(dtype)
        before = x.clone()
        for result in (
            attention.scores(x, 1),
            attention.cosine_scores(x, 1),
            attention.attention_weights(x),
            attention.context_vector(x, 1),
            attention.self_attention(x),
            attention.context_of_others(x, 1),
        ):
            assert result.dtype == dtype
        assert torch.equal(x, before)


# Lessons 04 to 06. All sizes differ: 4 sentences of 5 tokens, d_in 7, d_out 6, 3 heads of 2.
BATCH = torch.rand(4, 5, 7, generator=draws) * 4 - 2
CONTEXT, HEADS = 8, 3
SINGLE = {
    "SelfAttention": lambda p, bias: attention.SelfAttention(7, 6),
    "SelfAttentionLinear": lambda p, bias: attention.SelfAttentionLinear(7, 6, bias),
    "CausalAttention": lambda p, bias: attention.CausalAttention(7, 6, CONTEXT, p, bias),
}
MULTI = {
    "Wrapper": lambda p, bias: attention.MultiHeadAttentionWrapper(7, 2, CONTEXT, p, HEADS, bias),
    "MultiHeadAttention": lambda p, bias: attention.MultiHeadAttention(
        7, 6, CONTEXT, p, HEADS, bias
    ),
}
CAUSAL = {name: make for name, make in (SINGLE | MULTI).items() if "Self" not in name}


def create(name, p=0.0, bias=False, seed=123):
    torch.manual_seed(seed)
    return (SINGLE | MULTI)[name](p, bias)


def copy_of(module):
    return pickle.loads(pickle.dumps(module))


# The definition, in loops: no mask, no matrix of scores, no built-in attention
def weights_in_a_loop(queries, keys, causal=True):
    """queries, keys: (n, d_k)."""
    weights = torch.zeros(len(queries), len(keys), dtype=keys.dtype)
    for i, query in enumerate(queries):
        seen = i + 1 if causal else len(keys)
        row = torch.stack([query.dot(key) for key in keys[:seen]]) / math.sqrt(len(query))
        weights[i, :seen] = torch.softmax(row, dim=0)
    return weights


def batch_in_a_loop(queries, keys, values, p, causal=True):
    """queries, keys, values: (b, n, d).  Dropout draws for the whole batch at once."""
    pairs = zip(queries, keys, strict=True)
    weights = torch.stack([weights_in_a_loop(q, k, causal) for q, k in pairs])
    return F.dropout(weights, p) @ values


def heads_in_a_loop(queries, keys, values, num_heads, p):
    """queries, keys, values: (b, n, d_out).  Returns the heads side by side, (b, n, d_out)."""
    parts = [x.chunk(num_heads, dim=-1) for x in (queries, keys, values)]
    weights = torch.stack(
        [
            torch.stack([weights_in_a_loop(q[i], k[i]) for q, k in zip(*parts[:2], strict=True)])
            for i in range(len(queries))
        ]
    )
    dropped = F.dropout(weights, p)
    return torch.cat([dropped[:, h] @ parts[2][h] for h in range(num_heads)], dim=-1)


def textbook(name, x, p, bias, seed=123):
    """The outputs of the textbook's class for this seed, from its definition. Parameters are
    created in the order query, key, value, out_proj."""
    torch.manual_seed(seed)
    if name == "SelfAttention":
        queries, keys, values = (x @ torch.rand(7, 6) for _ in range(3))
        return lambda: batch_in_a_loop(queries, keys, values, 0.0, causal=False)
    if name == "Wrapper":
        heads = [[nn.Linear(7, 2, bias)(x) for _ in range(3)] for _ in range(HEADS)]
        return lambda: torch.cat([batch_in_a_loop(*head, p) for head in heads], dim=-1)
    queries, keys, values = (nn.Linear(7, 6, bias)(x) for _ in range(3))
    if name == "MultiHeadAttention":
        out_proj = nn.Linear(6, 6)
        return lambda: out_proj(heads_in_a_loop(queries, keys, values, HEADS, p))
    if name == "SelfAttentionLinear":
        return lambda: batch_in_a_loop(queries, keys, values, 0.0, causal=False)
    return lambda: batch_in_a_loop(queries, keys, values, p)


@pytest.mark.parametrize("p", [0.0, 0.4])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", SINGLE | MULTI)
def test_outputs_are_those_of_the_textbook_for_the_same_seed(name, bias, p):
    expected = textbook(name, BATCH, p, bias)
    torch.manual_seed(7)  # what dropout draws
    expected = expected()
    module = create(name, p, bias)
    torch.manual_seed(7)
    torch.testing.assert_close(module(BATCH), expected)


SENTENCES = torch.stack((inputs, inputs))
SELF_ATTENTION = [  # the textbook prints these for the sentence, and the ones below
    [0.2996, 0.8053],
    [0.3061, 0.8210],
    [0.3058, 0.8203],
    [0.2948, 0.7939],
    [0.2927, 0.7891],
    [0.2990, 0.8040],
]
CAUSAL_ATTENTION = [
    [-0.4519, 0.2216],
    [-0.5874, 0.0058],
    [-0.6300, -0.0632],
    [-0.5675, -0.0843],
    [-0.5526, -0.0981],
    [-0.5299, -0.1081],
]


@pytest.mark.parametrize(
    "seed, make, x, expected",
    [
        (123, lambda: attention.SelfAttention(3, 2), inputs, SELF_ATTENTION),
        (789, lambda: attention.SelfAttentionLinear(3, 2), inputs, [[-0.0739, 0.0713]]),
        (
            123,
            lambda: attention.CausalAttention(3, 2, 6, 0.0),
            SENTENCES,
            [CAUSAL_ATTENTION, CAUSAL_ATTENTION],
        ),
        (
            123,
            lambda: attention.MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2),
            SENTENCES,
            [[[-0.4519, 0.2216, 0.4772, 0.1063]]] * 2,
        ),
        (
            123,
            lambda: attention.MultiHeadAttention(3, 2, 6, 0.0, 2),
            SENTENCES,
            [[[0.3190, 0.4858]]] * 2,
        ),
    ],
    ids=["SelfAttention", "Linear", "Causal", "Wrapper", "MultiHead"],
)
def test_numbers_printed_in_the_textbook_come_out(seed, make, x, expected):
    torch.manual_seed(seed)
    expected = torch.tensor(expected)
    outputs = make()(x)[..., : expected.shape[-2], :]
    torch.testing.assert_close(outputs, expected, rtol=0, atol=6e-5)


# The same thing in other words
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", SINGLE)
def test_one_head_is_the_attention_of_pytorch(name, bias):
    module = create(name, bias=bias)
    project = [module.W_query, module.W_key, module.W_value]
    if name == "SelfAttention":
        queries, keys, values = (BATCH @ W for W in project)
        own = attention.qkv_attention(BATCH, *project)
        torch.testing.assert_close(own, F.scaled_dot_product_attention(queries, keys, values))
    queries, keys, values = (BATCH @ W if name == "SelfAttention" else W(BATCH) for W in project)
    causal = name == "CausalAttention"
    expected = F.scaled_dot_product_attention(queries, keys, values, is_causal=causal)
    torch.testing.assert_close(module(BATCH), expected)
    may_be_seen = ~attention.causal_mask(5) if causal else None
    expected = F.scaled_dot_product_attention(queries, keys, values, attn_mask=may_be_seen)
    torch.testing.assert_close(module(BATCH), expected)
    torch.testing.assert_close(module.weights(BATCH) @ values, expected)


def test_values_may_be_of_another_size_than_keys():
    W_query, W_key = (torch.rand(7, 3, generator=draws) for _ in range(2))
    W_value = torch.rand(7, 4, generator=draws)
    for x in (BATCH, BATCH[0]):
        expected = F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value)
        own = attention.qkv_attention(x, W_query, W_key, W_value)
        torch.testing.assert_close(own, expected)
    queries, keys = BATCH[0] @ W_query, BATCH[1, :4] @ W_key  # 5 queries, 4 keys
    loop = torch.stack([torch.stack([q.dot(k) for k in keys]) for q in queries]) / math.sqrt(3)
    torch.testing.assert_close(attention.scaled_scores(queries, keys), loop)


def test_linear_with_transposed_copies_is_the_version_with_parameters():
    plain, linear = create("SelfAttention"), create("SelfAttentionLinear")
    assert not torch.allclose(plain(BATCH), linear(BATCH), atol=0.1)
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            getattr(linear, name).weight.copy_(getattr(plain, name).T)
    torch.testing.assert_close(linear(BATCH), plain(BATCH))


@pytest.mark.parametrize("bias", [False, True])
def test_several_heads_are_the_attention_of_pytorch(bias):
    own = attention.MultiHeadAttention(6, 6, CONTEXT, 0.0, HEADS, bias)
    other = nn.MultiheadAttention(6, HEADS, batch_first=True)
    project = [own.W_query, own.W_key, own.W_value]
    with torch.no_grad():
        other.in_proj_weight.copy_(torch.cat([layer.weight for layer in project]))
        if bias:
            other.in_proj_bias.copy_(torch.cat([layer.bias for layer in project]))
        other.out_proj.load_state_dict(own.out_proj.state_dict())
    x = BATCH[..., :6]
    may_not_be_seen = attention.causal_mask(5)
    expected, weights = other(x, x, x, attn_mask=may_not_be_seen, average_attn_weights=False)
    torch.testing.assert_close(own(x), expected)
    torch.testing.assert_close(own.weights(x), weights)
    queries, keys, values = (attention.split_heads(layer(x), HEADS) for layer in project)
    for how in ({"is_causal": True}, {"attn_mask": ~may_not_be_seen}):
        heads = F.scaled_dot_product_attention(queries, keys, values, **how)
        expected = own.out_proj(heads.transpose(1, 2).flatten(2))
        torch.testing.assert_close(own(x), expected)


@pytest.mark.parametrize("bias", [False, True])
def test_heads_side_by_side_are_one_split_module(bias):
    wrapper, split = create("Wrapper", bias=bias), create("MultiHeadAttention", bias=bias)
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            layers = [getattr(head, name) for head in wrapper.heads]
            getattr(split, name).weight.copy_(torch.cat([layer.weight for layer in layers]))
            if bias:
                getattr(split, name).bias.copy_(torch.cat([layer.bias for layer in layers]))
        split.out_proj.weight.copy_(torch.eye(6))
        split.out_proj.bias.zero_()
    torch.testing.assert_close(split(BATCH), wrapper(BATCH))
    for h, head in enumerate(wrapper.heads):
        torch.testing.assert_close(split.weights(BATCH)[:, h], head.weights(BATCH))


def test_multi_head_is_the_module_with_its_matrices():
    module = create("MultiHeadAttention")
    matrices = [W.weight.T for W in (module.W_query, module.W_key, module.W_value)]
    out = (module.out_proj.weight.T, module.out_proj.bias)
    torch.testing.assert_close(attention.multi_head(BATCH, *matrices, *out, 3), module(BATCH))
    queries, keys, values = (BATCH @ W for W in matrices)
    for num_heads in (1, 2, 6):
        expected = heads_in_a_loop(queries, keys, values, num_heads, 0.0) @ out[0] + out[1]
        own = attention.multi_head(BATCH, *matrices, *out, num_heads)
        torch.testing.assert_close(own, expected)


# The parts
def test_the_mask_is_true_for_what_comes_later():
    for n in (1, 5):
        mask = attention.causal_mask(n)
        assert mask.dtype == torch.bool
        assert mask.tolist() == [[key > query for key in range(n)] for query in range(n)]


@pytest.mark.parametrize("size", [1.0, 1000.0])
@pytest.mark.parametrize("shape", [(5, 5), (4, 5, 5), (4, 3, 5, 5)])
def test_hiding_before_softmax_is_zeroing_after_it_and_renormalising(shape, size):
    scores = (torch.rand(shape, generator=draws, dtype=torch.float64) - 0.5) * size
    scores[..., 2, 1] = 0.0  # a score of 0 is a score like any other
    own = attention.causal_weights(scores, 3)
    zeroed = torch.softmax(scores / math.sqrt(3), dim=-1).tril()
    if size == 1.0:  # for larger ones the sum of what is left may be 0
        torch.testing.assert_close(own, zeroed / zeroed.sum(-1, keepdim=True))
    for query in range(5):
        row = scores[..., query, : query + 1] / math.sqrt(3)
        torch.testing.assert_close(own[..., query, : query + 1], torch.softmax(row, dim=-1))
        assert not own[..., query, query + 1 :].any()


@pytest.mark.parametrize("size", [1.0, 10000.0])
@pytest.mark.parametrize("window", [1, 2, 4, 5, 9])
def test_a_window_shows_the_last_few_tokens(window, size):
    scores = (torch.rand(5, 5, generator=draws) * 4 - 2) * size
    own = attention.window_weights(scores, 3, window)
    for query in range(5):
        first = max(0, query + 1 - window)
        expected = torch.zeros(5)
        row = scores[query, first : query + 1] / math.sqrt(3)
        expected[first : query + 1] = torch.softmax(row, dim=0)
        torch.testing.assert_close(own[query], expected)
        assert not own[query, :first].any() and not own[query, query + 1 :].any()
    if window >= 5:
        assert torch.equal(own, attention.causal_weights(scores, 3))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.75])
def test_dropout_keeps_the_mean_and_tosses_a_coin_for_each_weight(p):
    torch.manual_seed(1)
    weights = torch.rand(300, 400, generator=draws, dtype=torch.float64) + 0.5
    dropped = attention.dropout(weights, p, training=True)
    survives = dropped != 0
    torch.testing.assert_close(dropped[survives], weights[survives] / (1 - p))
    assert abs(survives.double().mean() - (1 - p)) < 0.01
    assert abs(dropped.mean() - weights.mean()) < 0.02
    for dim in (0, 1):  # and not for whole rows or columns
        assert (survives.double().mean(dim) - (1 - p)).abs().max() < 0.15
    assert not torch.equal(attention.dropout(weights, p, training=True), dropped)


def test_dropout_does_nothing_at_0_and_in_evaluation():
    weights = torch.softmax(OTHER, dim=-1)
    assert torch.equal(attention.dropout(weights, 0.0, training=True), weights)
    assert torch.equal(attention.dropout(weights, 0, training=True), weights)
    assert torch.equal(attention.dropout(weights, 0.9, training=False), weights)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
def test_a_head_gets_its_own_part_of_every_token(num_heads):
    x = torch.arange(4 * 5 * 6.0).view(4, 5, 6)
    heads = attention.split_heads(x, num_heads)
    assert heads.shape == (4, num_heads, 5, 6 // num_heads)
    for h, part in enumerate(x.chunk(num_heads, dim=-1)):
        assert torch.equal(heads[:, h], part)
    assert torch.equal(attention.merge_heads(heads), x)
    fresh = torch.arange(4 * 5 * 6.0).view(4, num_heads, 5, -1)  # of another memory order
    merged = attention.merge_heads(fresh)
    assert torch.equal(merged, torch.cat(list(fresh.unbind(1)), dim=-1))
    assert torch.equal(attention.split_heads(merged, num_heads), fresh)


# What a module must do besides
@pytest.mark.parametrize("name", SINGLE | MULTI)
def test_sentences_of_a_batch_do_not_mix(name):
    module = create(name)
    outputs = module(BATCH)
    assert outputs.shape == (4, 5, 6)
    for sentence, expected in zip(BATCH, outputs, strict=True):
        torch.testing.assert_close(module(sentence[None])[0], expected)
        if name != "MultiHeadAttention":  # the only one that takes nothing but batches
            torch.testing.assert_close(module(sentence), expected)


@pytest.mark.parametrize("n", [1, 3, CONTEXT])
@pytest.mark.parametrize("name", CAUSAL)
def test_inputs_may_be_shorter_than_the_context(name, n):
    module = create(name)
    x = torch.rand(2, CONTEXT, 7, generator=draws)
    torch.testing.assert_close(module(x[:, :n]), module(x)[:, :n])


@pytest.mark.parametrize("size", [1.0, 1000.0])
@pytest.mark.parametrize("name", CAUSAL)
def test_the_future_does_not_matter(name, size):
    module = create(name)
    x = BATCH * size
    changed = x.clone()
    changed[:, -1] = 100.0 * size
    before, after = module(x), module(changed)
    assert torch.equal(after[:, :-1], before[:, :-1])
    assert not torch.allclose(after[:, -1], before[:, -1], atol=0.1)
    weights = [module.weights(x)] if hasattr(module, "weights") else []
    for w in weights + [head.weights(x) for head in getattr(module, "heads", [])]:
        assert not w.triu(diagonal=1).any()
        torch.testing.assert_close(w.sum(-1), torch.ones(w.shape[:-1]))


@pytest.mark.parametrize("name", CAUSAL)
def test_evaluation_switches_dropout_off(name):
    module = create(name, p=0.5)
    assert not torch.equal(module(BATCH), module(BATCH))
    torch.testing.assert_close(module.eval()(BATCH), create(name)(BATCH), rtol=0, atol=0)


@pytest.mark.parametrize("name", SINGLE | MULTI)
def test_to_reaches_every_tensor(name):
    module = create(name, bias=True)
    double = copy_of(module).to(torch.float64)
    assert {p.dtype for p in double.parameters()} == {torch.float64}
    outputs = double(BATCH.double())
    assert outputs.dtype == torch.float64
    torch.testing.assert_close(outputs.float(), module(BATCH))
    meta = copy_of(module).to("meta")
    assert all(x.is_meta for x in meta.state_dict().values())
    assert meta(BATCH.to("meta")).shape == (4, 5, 6)
    assert any("mask" in key for key in meta.state_dict()) == (name in CAUSAL)


@pytest.mark.parametrize("name", SINGLE | MULTI)
def test_a_module_can_be_saved_and_loaded(name):
    module, other = create(name, bias=True), create(name, bias=True, seed=5)
    assert not torch.equal(other(BATCH), module(BATCH))
    other.load_state_dict(copy_of(module.state_dict()))
    assert torch.equal(other(BATCH), module(BATCH))
    assert torch.equal(copy_of(module)(BATCH), module(BATCH))


@pytest.mark.parametrize("size", [1.0, 1000.0])
@pytest.mark.parametrize("name", SINGLE | MULTI)
def test_gradients_reach_every_parameter_and_stay_finite(name, size):
    module = create(name, bias=True)
    x = (BATCH * size).requires_grad_()
    outputs = module(x)
    outputs.pow(2).sum().backward()
    assert outputs.isfinite().all() and x.grad.isfinite().all() and x.grad.any()
    for key, parameter in module.named_parameters():
        assert parameter.grad.isfinite().all(), key
        # the same number added to all scores of a row changes no weight; at size 1000 one
        # weight is 1 and the others 0, so that queries and keys learn nothing
        learns = "W_key.bias" not in key and (size == 1.0 or "W_value" in key)
        assert not learns or parameter.grad.any(), key


def test_trained_functions_change_no_argument_and_keep_the_type():
    for dtype in (torch.float32, torch.float64):
        x, mats = BATCH.to(dtype), [torch.rand(7, 6, dtype=dtype) for _ in range(3)]
        square, out = torch.rand(5, 5, dtype=dtype), torch.rand(6, 6, dtype=dtype)
        arguments = [x, *mats, square, out]
        before = [a.clone() for a in arguments]
        for result in (
            attention.scaled_scores(x, x),
            attention.qkv_attention(x, *mats),
            attention.causal_weights(square, 3),
            attention.window_weights(square, 3, 2),
            attention.dropout(square, 0.5, training=True),
            attention.dropout(square, 0.5, training=False),
            attention.merge_heads(attention.split_heads(x[..., :6], 3)),
            attention.multi_head(x, *mats, out, out[0], 3),
            create("MultiHeadAttention").to(dtype)(x),
            create("Wrapper").to(dtype)(x),
            create("SelfAttention").to(dtype)(x),
            create("SelfAttentionLinear").to(dtype)(x),
        ):
            assert result.dtype == dtype
        assert all(torch.equal(a, b) for a, b in zip(arguments, before, strict=True))


def test_functions_work_on_the_device_of_their_arguments():
    scores, x = torch.rand(5, 5, device="meta"), torch.rand(4, 5, 6, device="meta")
    for result in (
        attention.causal_weights(scores, 3),
        attention.window_weights(scores, 3, 2),
        attention.dropout(scores, 0.5, training=True),
        attention.multi_head(x, *[x[0, 0].expand(6, 6)] * 4, x[0, 0], 3),
    ):
        assert result.is_meta


# What is refused, and with which sentence
WHOLE = "{} is {!r}; a whole number of at least 1 is expected."
RATE = "dropout is {!r}; a number from 0 to below 1 is expected: 0.1 drops a tenth."
SIZES = {
    attention.SelfAttention: {"d_in": 7, "d_out": 6},
    attention.SelfAttentionLinear: {"d_in": 7, "d_out": 6},
    attention.CausalAttention: {"d_in": 7, "d_out": 6, "context_length": 8},
    attention.MultiHeadAttentionWrapper: {
        "d_in": 7,
        "d_out": 2,
        "context_length": 8,
        "num_heads": 3,
    },
    attention.MultiHeadAttention: {"d_in": 7, "d_out": 6, "context_length": 8, "num_heads": 3},
}


def refused(sentence, make, *args, **kwargs):
    with pytest.raises(InputError) as error:
        make(*args, **kwargs)
    assert str(error.value) == sentence


@pytest.mark.parametrize("size", [0, -6, 6.0, True, "6", None])
@pytest.mark.parametrize("make", SIZES, ids=lambda make: make.__name__)
def test_a_size_that_is_none_is_refused(make, size):
    rate = {"dropout": 0.0} if "context_length" in SIZES[make] else {}
    make(**SIZES[make], **rate)
    for name in SIZES[make]:
        refused(WHOLE.format(name, size), make, **(SIZES[make] | {name: size} | rate))


@pytest.mark.parametrize("rate", [1.0, 1, -0.1, math.nan, math.inf, "0.1", None, True])
def test_a_rate_outside_0_to_1_is_refused(rate):
    for make in SIZES:
        if "context_length" in SIZES[make]:
            refused(RATE.format(rate), make, **SIZES[make], dropout=rate)
    for training in (True, False):
        refused(RATE.format(rate), attention.dropout, inputs, rate, training)


@pytest.mark.parametrize(
    "d_out, num_heads, choices", [(7, 3, "6 or 9"), (2, 3, "3"), (768, 10, "760 or 770")]
)
def test_a_width_that_cannot_be_shared_is_refused(d_out, num_heads, choices):
    sentence = (
        f"d_out = {d_out} is not divisible by num_heads = {num_heads}, and every head gets "
        f"d_out / num_heads numbers. Choose d_out = {choices}, or another num_heads."
    )
    refused(sentence, attention.MultiHeadAttention, 4, d_out, 8, 0.0, num_heads)
    refused(sentence, attention.split_heads, torch.rand(4, 5, d_out), num_heads)
    mats = [torch.rand(7, d_out)] * 3
    out = (torch.rand(d_out, d_out), torch.rand(d_out))
    refused(sentence, attention.multi_head, BATCH, *mats, *out, num_heads)


@pytest.mark.parametrize("num_heads", [0, -3, 3.0, True])
def test_a_number_of_heads_that_is_none_is_refused(num_heads):
    sentence = WHOLE.format("num_heads", num_heads)
    refused(sentence, attention.split_heads, torch.rand(4, 5, 6), num_heads)


@pytest.mark.parametrize("name", SINGLE | MULTI)
def test_inputs_of_another_shape_are_refused(name):
    module = create(name)
    batches_only = name == "MultiHeadAttention"
    ends = "(b, n, 7)" if batches_only else "(n, 7) or (b, n, 7)"
    shapes = [(4, 5, 6), (4, 7, 5), (7,), (), (5, 8)]
    for shape in shapes + batches_only * [(5, 7), (2, 4, 5, 7)]:
        sentence = (
            f"the inputs have the shape {shape}; {ends} is expected, because the module was "
            "created with d_in = 7."
        )
        if batches_only and len(shape) == 2:
            sentence += " For a single sentence: inputs[None]."
        refused(sentence, module, torch.zeros(shape))
        if name != "Wrapper":
            refused(sentence, module.weights, torch.zeros(shape))


@pytest.mark.parametrize("name", CAUSAL)
def test_inputs_longer_than_the_context_are_refused(name):
    sentence = (
        "the inputs have 9 tokens, and the module was created with context_length = 8. "
        "Shorten the inputs, or create it with context_length = 9."
    )
    refused(sentence, create(name), torch.zeros(4, 9, 7))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_even_weights_of_the_past_are_those_of_equal_scores(n):
    even = attention.uniform_causal(n)
    torch.testing.assert_close(even, attention.causal_weights(torch.zeros(n, n), 4))


def test_exchanging_twice_gives_the_weights_back_and_the_first_time_only_two_change():
    weights = torch.rand(3, 5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    before = weights.clone()
    queries, first, second = (torch.tensor(x) for x in ([4, 3, 2], [0, 1, 2], [3, 2, 0]))
    once = attention.exchange(weights, queries, first, second)
    assert (once != weights).sum() == 6
    assert torch.equal(
        attention.weight_between(once, queries, first),
        attention.weight_between(weights, queries, second),
    )
    assert torch.equal(attention.exchange(once, queries, second, first), weights)
    assert torch.equal(weights, before) and once.dtype == torch.float64


def test_the_last_copy_is_looked_at_and_what_is_new_has_none():
    words = torch.tensor([3, 1, 3, 3, 2, 1])
    assert attention.look_back(words).tolist() == [-1, -1, 1, 3, -1, 2]
    assert attention.look_back(torch.tensor([1, 1])).tolist() == [-1, 1]


@pytest.mark.parametrize("shape", [(5,), (5, 4), (4, 5, 6)])
def test_scores_that_are_not_square_are_refused(shape):
    sentence = f"scores has the shape {shape}; as many keys as queries are expected, (..., n, n)."
    refused(sentence, attention.causal_weights, torch.zeros(shape), 3)
    if len(shape) == 2:
        refused(sentence, attention.window_weights, torch.zeros(shape), 3, 2)


def test_a_window_that_shows_nothing_is_refused():
    for window in (0, -1, 2.0, True):
        sentence = WHOLE.format("window", window)
        refused(sentence, attention.window_weights, torch.zeros(5, 5), 3, window)
