"""The task of two marks: one word at each mark, and a reader that is trained the same each time."""

import torch

from helpers.models.marks import MarkReader, marked_sentences, train_reader


def test_the_answers_are_the_words_at_the_marks():
    words, marks, answers = marked_sentences(500, torch.Generator().manual_seed(0))
    assert words.shape == marks.shape == (500, 6) and 0 <= words.min() <= words.max() <= 31
    assert torch.equal(marks.sort(dim=-1).values, torch.tensor([[0, 0, 0, 0, 1, 2]] * 500))
    for k in (0, 1):
        assert torch.equal(words[marks == k + 1], answers[:, k])


def test_a_reader_blends_with_weights_that_know_only_the_marks():
    words, marks, _ = marked_sentences(5, torch.Generator().manual_seed(0))
    for num_heads in (1, 2):
        reader = MarkReader(num_heads)
        weights = reader.weights(marks)
        assert weights.shape == (5, num_heads, 6)
        torch.testing.assert_close(weights.sum(-1), torch.ones(5, num_heads))
        parts = reader.value_of_word[words].chunk(num_heads, dim=-1)
        blends = [(weights[:, k, :, None] * part).sum(1) for k, part in enumerate(parts)]
        expected = (torch.cat(blends, dim=-1) @ reader.W_read).view(5, 2, 32)
        torch.testing.assert_close(reader(words, marks), expected)
        assert not reader(words, marks, torch.zeros(54, 64)).any()


def test_training_leaves_the_seed_of_the_lesson_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, second = (train_reader(2, seed=1, steps=2) for _ in range(2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first.W_read, second.W_read) and not first.W_read.requires_grad
