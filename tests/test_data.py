"""The files of data/ are read, and a damaged one is named in one sentence."""

import csv

import pytest
import torch

from helpers import InputError, load_journey
from helpers.attention import data
from helpers.models import cost, language, training

WORDS = ["Your", "journey", "starts", "with", "one", "step"]
READERS = {  # file: (the room that reads it, its name for the file, reader, a number in the file)
    "journey.csv": (data, "JOURNEY", load_journey, b"0.87"),
    "models.csv": (cost, "MODELS", cost.load_models, b"128,"),
    "attention_times.csv": (cost, "TIMES", cost.load_times, b"128,"),
    "attention_memory.csv": (cost, "PEAKS", cost.load_peaks, b"2048,"),
    "language.csv": (language, "FILE", language.load_language, None),
    "training.csv": (training, "FILE", training.load_training, None),
}
NUMBERS = {"a word": b"seven,", "too large": b"1e999,"}


def damaged(file):
    """Return the ways in which a file may be damaged: {what: its bytes}."""
    good = (data.DATA / file).read_bytes()
    lines, number = good.splitlines(), READERS[file][3]
    wrong = {
        "empty": b"",
        "one field without end": b"a,b\n" + b"x" * (csv.field_size_limit() + 1),
        "binary": bytes(range(256)) * 4,
        "a column less": b"\n".join(line.rpartition(b",")[0] for line in lines),
    }
    if number:
        wrong |= {what: good.replace(number, x) for what, x in NUMBERS.items()}
    if file == "journey.csv":
        wrong |= {"five rows": b"\n".join(lines[:-1]), "seven rows": good + b"more,0.1,0.2,0.3\n"}
    if READERS[file][0] is cost:
        at = next(k for k, line in enumerate(lines) if not line.startswith(b"#"))
        wrong |= {"no rows": b"\n".join(lines[: at + 1]), "zero": good.replace(number, b"0,")}
    return wrong


@pytest.fixture
def copy(request, tmp_path, monkeypatch):
    """Return copy(file): the path of a different file that is read instead."""

    def place(file):
        room, name, *_ = READERS[file]
        monkeypatch.setattr(room, name, tmp_path / file)
        return tmp_path / file

    return place


@pytest.mark.parametrize("file", READERS)
def test_a_damaged_file_is_named_in_one_sentence(file, copy):
    load, advice = READERS[file][2], rf".*git checkout data/{file}(, or train instead\.)?$"
    path = copy(file)
    with pytest.raises(
        InputError, match=f"^data/{file} cannot be read .FileNotFoundError.{advice}"
    ):
        load()
    for what, content in damaged(file).items():
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"^data/{file} {advice}") as caught:
            pytest.fail(f"{what}: {load()}")
        assert len(str(caught.value)) < 250, what


@pytest.mark.parametrize("file", READERS)
def test_a_file_saved_by_a_windows_editor_is_read(file, copy):
    load, good = READERS[file][2], (data.DATA / file).read_bytes()
    expected = plain(load())
    copy(file).write_bytes(b"\xef\xbb\xbf" + good.replace(b"\n", b"\r\n"))
    assert plain(load()) == expected


def plain(loaded):
    """Return what was loaded in a form that can be compared."""
    return repr(vars(loaded) if isinstance(loaded, language.Language) else loaded)


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
