"""The sentence of the lessons is read as it is, whoever saved its file."""

import pytest
import torch

from helpers import load_journey
from helpers.attention import data

WORDS = ["Your", "journey", "starts", "with", "one", "step"]


def test_a_file_saved_by_a_windows_editor_is_read(tmp_path):
    good, copy = data.JOURNEY.read_bytes(), tmp_path / "copy.csv"
    copy.write_bytes(b"\xef\xbb\xbf" + good.replace(b"\n", b"\r\n"))
    assert data.rows_of(copy) == data.rows_of(data.JOURNEY)


def test_six_words_and_their_numbers_anew_in_every_call():
    for _ in range(2):
        tokens, inputs = load_journey()
        assert tokens == WORDS
        assert (inputs.shape, inputs.requires_grad) == ((6, 3), False)
        assert inputs[1].tolist() == pytest.approx([0.55, 0.87, 0.66])
        assert inputs[5].tolist() == pytest.approx([0.05, 0.80, 0.55])
        tokens.clear()
        inputs.zero_()


def test_float32_whatever_the_default_is():
    torch.set_default_dtype(torch.float64)
    try:
        assert load_journey()[1].dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
