"""The reference in helpers/attention.py: against PyTorch, against loops, on any input."""

import pytest
import torch

from helpers import attention, load_journey

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
