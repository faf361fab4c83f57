"""The optional notebook's helper, tested on tiny models built here, so no network is needed."""
# ruff: noqa: F401, F811 (fixtures are imported)

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from optional import OPTIONAL
from own_models import TEXT, complaint, saved, tiny
from replay import code_cells, markdown_cells

from helpers.attention import look_back
from helpers.models import own_model

ROOT = Path(__file__).parent.parent


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n"


def direct(folder, **inputs):
    """Return what transformers itself gives, without our code."""
    import transformers as hf

    model = hf.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        return model(**inputs, output_attentions=True)


def test_the_course_does_without_transformers():
    code = "import sys, helpers, helpers.models.own_model; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_without_transformers_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    text = complaint(own_model.load_model)
    command = ".venv/bin/python -m pip install -r notebooks/your_own_model.txt"
    assert command in text and r".venv\Scripts\python" in text
    assert command in markdown_cells(OPTIONAL)[1].source


def test_its_package_is_pinned_exactly():
    lines = OPTIONAL.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins and all(re.match(r"transformers==[\d.]+(; .+)?$", pin) for pin in pins)


def test_the_tiny_model_leaves_the_random_numbers_alone(tiny):
    torch.manual_seed(5)
    own_model.load_model()
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(1))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "grouped"])
def test_the_weights_are_those_of_transformers(saved, kind):
    model = own_model.load_model(saved(kind))
    look = model.look(TEXT)
    ids = model.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    expected = direct(saved(kind), input_ids=ids).attentions
    assert look.rows == TEXT.split()
    assert len(look.layers) == len(expected) == len(model.layers)
    for mine, theirs in zip(look.layers, expected, strict=True):
        torch.testing.assert_close(mine, theirs[0])
        assert mine.dtype == torch.float32 and not mine.requires_grad
    assert ("encoder:" in repr(model)) == bool(look.layers[0].triu(1).any()) == (kind == "encoder")


def test_a_head_is_shown_with_up_to_fifteen_beside_it(saved):
    model = own_model.load_model(saved("decoder"))
    assert model.heads == list(range(1, 21))
    look = model.look(TEXT)
    view = look.view(layer=2, head=19)
    assert (view.head, len(view.heads), view.scale) == (2, 4, (0, 1))
    torch.testing.assert_close(torch.tensor(view.matrix).float(), look.layers[1][18])
    which = "Layer 2 of 2, head 19 of 20 (next to it heads 17 to 20); 5 pieces. Model: decoder."
    assert which in view.caption
    column = int(view.matrix[4].argmax())
    said = view.explain(4, column)
    assert f"from “hat” to “{view.keys[column]}”" in said and said.endswith(
        "the largest in this row"
    )
    assert view.explain(4, int(view.matrix[4].argmin())).endswith(
        "4 weights in this row are larger"
    )


def test_one_number_per_head_stands_beside_that_of_even_weights(tiny, saved):
    def on_first(weights):
        return weights[:, 0].mean()

    look = tiny.look(TEXT)
    view = look.per_head(on_first)
    expected = [[float(on_first(head)) for head in layer] for layer in look.layers]
    torch.testing.assert_close(torch.tensor(view.matrix), torch.tensor(expected).double())
    assert view.axes == ["Layer", "Head"]
    (lit,) = view.highlights
    assert view.matrix[lit] == view.matrix.max()
    assert f"in layer {lit[0] + 1}, head {lit[1] + 1}." in view.caption
    # causal: 1, 1/2, ... 1/5; a window of two words lets only the first two see the first
    assert f"Even weights would give {sum(1 / n for n in range(1, 6)) / 5:.2f}." in view.caption
    window = own_model.load_model(saved("grouped")).look(TEXT).per_head(on_first)
    assert f"Even weights would give {(1 + 1 / 2) / 5:.2f}." in window.caption


def test_the_tiny_model_shows_what_the_notebook_says(tiny):
    text = "the man took the hats and examined it"
    assert any(f'TEXT = "{text}"' in cell.source for cell in code_cells(OPTIONAL))
    prose = "\n".join(cell.source for cell in markdown_cells(OPTIONAL))
    look = tiny.look(text)
    assert (look.rows[8], look.rows[4]) == ("it", "hat")
    best = look.per_head(lambda weights: weights[8, 4]).caption
    assert best.startswith("Largest: 0.15 in layer 3, head 1.")
    assert "gives *hat* the most weight in layer 3, head 1: 0.15" in prose
    for pieces, even in ((9, "0.23"), (20, "0.14"), (40, "0.08")):
        view = tiny.look("hat " * pieces).per_head(lambda weights: weights.diagonal(-1).mean())
        assert f"Even weights would give {even}." in view.caption
    assert "0.23 for 9 pieces, 0.14 for 20, 0.08 for 40" in prose
    for words, number, even in (text, "0.77", "0.25"), (f"{text} {text}", "0.13", "0.09"):
        rows = tiny.look(words).rows
        back = look_back(torch.tensor([rows.index(one) for one in rows]))
        at = torch.where(back >= 0)[0]
        pairs = at, back[at]
        view = tiny.look(words).per_head(lambda weights, pairs=pairs: weights[pairs].mean())
        assert f"Largest: {number}" in view.caption and f"give {even}." in view.caption
        assert f"{number}, against {even}" in prose


def test_a_text_that_is_too_long_is_cut_and_the_caption_says_so(tiny, saved):
    look = tiny.look("hat " * 100)
    assert len(look.rows) == 64
    said = "Only the first 64 of 100 pieces are used: the model reads no more."
    assert said in look.view().caption and said in look.per_head(torch.mean).caption
    assert "Only" not in tiny.look("hat " * 64).view().caption
    look = own_model.load_model(saved("grouped")).look("hat " * 600)
    assert len(look.rows) == 512 and "512 of 600 pieces" in look.note


def test_a_row_has_the_name_of_its_piece(tiny):
    assert tiny.look("The hats, ö").rows == ["the", "hat", "##s", "[UNK]", "[UNK]"]
    assert all(tiny.look("a\tb\nc").rows)


def test_what_is_no_text_is_said_in_one_sentence(tiny):
    for text in ("  \n", None):
        assert "type at least one word" in complaint(tiny.look, text)


@pytest.mark.parametrize(
    "kind, said",
    [
        ("without attention", "cannot be shown: its attention weights cannot be read"),
        ("both", "it has an encoder and a decoder, which does not work here; choose a decoder"),
    ],
)
def test_a_model_with_nothing_to_show_says_why(saved, kind, said):
    assert said in complaint(own_model.load_model, saved(kind))


@pytest.mark.parametrize(
    "files, said",
    [
        ({}, "Should have a `model_type` key in its config.json"),
        ({"config.json": '{"model_type": "never heard of"}'}, "not recognize this architecture"),
        ({"config.json": POINTER}, "one of its files is damaged.*git lfs pull"),
        ({"config.json": '{"auto_map": {"AutoConfig": "a.B"}}'}, "contains custom code"),
        ({"config.json": '{"model_type": "bert"}'}, "tokenizer.json"),
    ],
)
def test_a_folder_that_cannot_be_loaded_says_what_is_wrong(tiny, tmp_path, files, said):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    text = complaint(own_model.load_model, tmp_path)
    assert re.search(said, text) and "\n" not in text and len(text) < 500


def test_a_folder_without_tokenizer_or_with_half_of_the_weights_is_refused(saved, tmp_path):
    import transformers as hf
    from safetensors.torch import load_file, save_file

    model = hf.AutoModel.from_pretrained(saved("encoder"))
    model.save_pretrained(tmp_path)
    assert "tokenizer.json" in complaint(own_model.load_model, tmp_path)
    own_model.load_model(saved("encoder")).tokenizer.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    path = tmp_path / "model.safetensors"
    kept = {name: x for name, x in tensors.items() if "pooler" not in name}
    save_file(kept, path, {"format": "pt"})
    assert own_model.load_model(tmp_path).layers == [1, 2], "the pooler is of no use here"
    save_file({n: x for n, x in kept.items() if "query" not in n}, path, {"format": "pt"})
    assert "its files lack tensors, such as" in complaint(own_model.load_model, tmp_path)
    path.unlink()
    assert "config.json and the weights" in complaint(own_model.load_model, tmp_path)


@pytest.mark.parametrize(
    "name, said",
    [
        ("someone/not-here", "not on this computer"),
        ("a/b/c", "there is no such folder, and the hub has no such model"),
        (5, "a name on the hub, a folder or None is expected"),
    ],
)
def test_a_name_that_leads_nowhere_says_what_to_do(tiny, name, said):
    assert said in complaint(own_model.load_model, name)


@pytest.mark.parametrize(
    "error, said",
    [
        ("GatedRepoError", "agreed to its terms: log in"),
        ("RepositoryNotFoundError", "the hub has no such model, or it is private"),
        ("LocalEntryNotFoundError", "the hub cannot be reached"),
        (RuntimeError("you tried to allocate memory: 9 GB"), "there is not enough memory for it"),
    ],
)
def test_what_went_wrong_is_told_in_our_words(tiny, monkeypatch, error, said):
    """transformers raises it so: an OSError because of a different error."""
    import huggingface_hub

    if isinstance(error, str):
        cls = getattr(huggingface_hub.errors, error)
        error = cls.__new__(cls)

    def refuse(*args, **kwargs):
        raise OSError("We couldn't connect") from error

    monkeypatch.setattr(huggingface_hub, "model_info", refuse)
    assert said in complaint(own_model.load_model, "someone/secret")


def test_a_model_that_was_downloaded_needs_no_network(tiny, saved, tmp_path, monkeypatch):
    """It is read from the hub's own folder on this computer; nothing is requested."""
    import huggingface_hub

    place = tmp_path / "models--someone--encoder"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("1234")
    shutil.copytree(saved("encoder"), place / "snapshots" / "1234")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub, "model_info", lambda *_, **__: pytest.fail("asked"))
    assert "BertModel" in repr(own_model.load_model("someone/encoder"))


@pytest.mark.parametrize("kind", ["masked", "decoder"])
def test_the_notebook_runs_with_another_model(saved, kind, monkeypatch):
    """Run every cell, as for a student who replaced None by a folder."""
    from replay import run

    monkeypatch.chdir(OPTIONAL.parent)
    monkeypatch.setattr(sys, "path", list(sys.path))
    namespace = {}
    views = []
    for cell in code_cells(OPTIONAL):
        source = cell.source.replace("NAME = None", f"NAME = {str(saved(kind))!r}")
        views.append(run(source, namespace))
    live = [view for view in views if hasattr(view, "compute")]
    assert len(live) == 3
    for view in live:
        for control in view.controls:
            last = len(control["labels"]) - 1 if "labels" in control else "a hat"
            if control["kind"] == "cells":
                last = [[False] * len(row) for row in control["value"]]
            picture = view.compute({control["name"]: last})
            assert picture["error"] == "" and kind in picture["caption"]
