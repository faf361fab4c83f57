"""The sentence is read from its file, and a damaged file is named in one sentence."""

import csv

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from helpers import InputError, data, load_journey

WORDS = ["Your", "journey", "starts", "with", "one", "step"]
GOOD = data.JOURNEY.read_bytes()
DAMAGED = {
    "empty": b"",
    "five rows": GOOD[: GOOD.rindex(b"step")],
    "seven rows": GOOD + b"more,0.1,0.2,0.3\n",
    "a column less": b"\n".join(line.rpartition(b",")[0] for line in GOOD.splitlines()),
    "a word for a number": GOOD.replace(b"0.87", b"seven"),
    "no number": GOOD.replace(b"0.87", b""),
    "nan": GOOD.replace(b"0.87", b"nan"),
    "too large": GOOD.replace(b"0.87", b"1e99"),
    "long": GOOD.replace(b"0.87", b"x" * 10**5),
    "one field without end": b"a,b\n" + b"x" * (csv.field_size_limit() + 1),
    "binary": bytes(range(256)) * 4,
    "zeros": bytes(1000),
    "wide characters": GOOD.decode().encode("utf-16"),
}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "JOURNEY", tmp_path / "journey.csv")
    return tmp_path / "journey.csv"


def test_six_words_and_their_numbers():
    tokens, inputs = load_journey()
    assert tokens == WORDS
    assert inputs.shape == (6, 3)
    assert inputs.dtype == torch.float32
    assert not inputs.requires_grad
    assert inputs[1].tolist() == pytest.approx([0.55, 0.87, 0.66])
    assert inputs[5].tolist() == pytest.approx([0.05, 0.80, 0.55])


def test_every_call_gives_new_objects():
    tokens, inputs = load_journey()
    tokens.clear()
    inputs.zero_()
    tokens, inputs = load_journey()
    assert tokens == WORDS
    assert inputs.all()


def test_float32_whatever_the_default_is():
    torch.set_default_dtype(torch.float64)
    try:
        assert load_journey()[1].dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_file_saved_by_a_windows_editor_is_read(file):
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n"))
    assert load_journey()[0] == WORDS


def test_a_missing_file_is_named(file):
    with pytest.raises(InputError, match=r"^data/journey.csv cannot be read.*git checkout"):
        load_journey()


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_named_in_one_sentence(file, content):
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"^data/journey.csv .*git checkout") as caught:
        load_journey()
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)


def test_a_notebook_shows_the_sentence_without_a_traceback(file, capsys):
    shell = InteractiveShell()
    result = shell.run_cell("from helpers import load_journey\nload_journey()")
    assert isinstance(result.error_in_exec, InputError)
    shown = capsys.readouterr()
    assert (shown.out + shown.err).strip() == f"InputError: {result.error_in_exec}"
