"""Your own model: the story model without a name, and tiny models of transformers built here."""
# ruff: noqa: F401, F811 (fixtures are imported)

import itertools
import shutil
import sys

import pytest
import torch
from optional import OPTIONAL
from own_models import (
    TEXT,
    TURNED,
    built,
    complaint,
    differences,
    hf,
    of_kind,
    saved,
    tiny,
    tokenizer,
)
from replay import code_cells, markdown_cells, replay, run

from helpers import your_model as own_model

SHE = "Tom has a book. Anna has a kite. she"
IT = "a cat comes. Anna has a kite in the park. Tom takes a book to the barn. it"


@pytest.fixture(scope="module")
def story():
    return own_model.load_model()


def test_without_a_name_it_needs_neither_transformers_nor_a_network(monkeypatch):
    for package in ("transformers", "huggingface_hub"):
        monkeypatch.setitem(sys.modules, package, None)  # to import it would be an error
    model = own_model.load_model()
    assert model.likeliest(model.answers("today"))


def test_without_transformers_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    text = complaint(own_model.load_model, "distilgpt2")
    command = ".venv/bin/python -m pip install -r notebooks/your_own_model.txt"
    assert command in text and r".venv\Scripts\python" in text
    assert any(command in cell.source for cell in markdown_cells(OPTIONAL))


def test_only_two_weights_move_the_answer_alone_as_the_notebook_says(story):
    look, found = story.look(SHE), {}
    for layer, head, i in itertools.product(range(2), range(4), range(11)):
        for j in range(i + 1):
            left = look.weights[layer][head].clone()
            left[i, j] = 0
            after = story.answers(SHE, own_model._put(layer, head, left))
            if (moves := float((after - look.answers).abs().sum() / 2)) > 0.005:
                weight = float(look.weights[layer][head, i, j])
                found[layer + 1, head + 1, i, j] = round(weight, 2), round(moves, 1)
    assert found == {(1, 3, 3, 0): (0.97, 0.6), (2, 3, 10, 8): (1, 1)}


def test_the_heads_that_the_notebook_names_have_these_weights_and_effects(story):
    largest = story.per_head(IT, lambda weights: weights[-1].max())
    assert largest.matrix[1].round(2).tolist() == [0.95, 0.17, 0.99, 0.99]
    assert story.look(IT).pieces[1] == "cat"
    assert all(story.look(IT).weights[1][head, -1].argmax() == 1 for head in (0, 2, 3))
    both = replay(OPTIONAL)[0]["without_both"]
    for animal in "cat dog bird duck horse".split():
        after = story.answers(IT.replace("cat", animal), both)
        assert story.likeliest(after).startswith(("neighs 1.00", "neighs 0.99"))
    effects = story.effects(SHE)
    assert effects.matrix.round(2).tolist() == [[0, 0, 0.99, 0], [0, 0, 1, 0]]


def test_each_target_of_the_notebook_is_met_by_its_answer_and_not_before():
    heads, cells, per_head = [v for v in replay(OPTIONAL)[1] if hasattr(v, "compute")]
    keep = torch.ones(11, 11, dtype=torch.bool)
    keep[3, 0] = False
    kept = {"layer": 0, "head": 2, "keep": keep.tolist()}
    for view, near, answer in (
        (heads, {"layer": 0, "head": 1}, {"layer": 1, "head": 2}),
        (cells, {"layer": 1}, kept),
        (per_head, {"text": IT.replace(" it", " he")}, {"text": IT}),
    ):
        start = {control["name"]: control["value"] for control in view.controls}
        assert not view.compute({})["reached"] and not view.compute(near)["reached"]
        assert view.compute(answer)["reached"]
        view.compute(start)


# --- models of transformers ---


def direct(hf, folder, **inputs):
    """Return what transformers itself gives, without our code."""
    model = hf.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        return model(**inputs, output_attentions=True)


@pytest.mark.parametrize("kind", ["decoder", "grouped"])
def test_the_weights_are_those_of_transformers(hf, saved, kind):
    model = own_model.load_model(saved(kind))
    look = model.look(TEXT)
    ids = model.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    expected = direct(hf, saved(kind), input_ids=ids).attentions
    assert look.pieces == TEXT.split()
    assert len(look.weights) == len(expected) == len(model.layers)
    for mine, theirs in zip(look.weights, expected, strict=True):
        torch.testing.assert_close(mine, theirs[0])
        assert mine.dtype == torch.float32 and not mine.requires_grad


def test_a_head_is_shown_with_those_of_its_layer_beside_it_if_they_are_few(saved):
    model = own_model.load_model(saved("decoder"))
    view = model.view(TEXT, layer=2, head=19)
    assert (view.head, view.heads, view.scale) == (None, None, (0, 1))
    torch.testing.assert_close(torch.tensor(view.matrix).float(), model.look(TEXT).weights[1][18])
    assert view.caption == "Layer 2 of 2, head 19 of 20. Model: decoder."
    assert "from “hat” to “man”" in view.explain(4, 1)
    few = own_model.load_model(saved("grouped")).view(TEXT, layer=1, head=3)
    assert (few.head, len(few.heads)) == (2, 4)


def test_one_number_per_head_stands_beside_that_of_even_weights(story, saved):
    def on_first(weights):
        return weights[:, 0].mean()

    text = "Anna has a kite ."
    view = story.per_head(text, on_first)
    expected = [[float(on_first(head)) for head in layer] for layer in story.look(text).weights]
    torch.testing.assert_close(torch.tensor(view.matrix), torch.tensor(expected).double())
    (lit,) = view.highlights
    assert view.matrix[lit] == view.matrix.max()
    assert f"in layer {lit[0] + 1}, head {lit[1] + 1}." in view.caption
    # causal: 1, 1/2, ... 1/5; a window of two words lets only the first two see the first
    assert f"Even weights would give {sum(1 / n for n in range(1, 6)) / 5:.2f}." in view.caption
    window = own_model.load_model(saved("grouped")).per_head(TEXT, on_first)
    assert f"Even weights would give {(1 + 1 / 2) / 5:.2f}." in window.caption
    short = complaint(story.per_head, "today", lambda weights: weights.diagonal(-1).mean())
    assert "too short" in short


def test_a_text_that_is_too_long_or_empty_is_refused(tiny, saved):
    assert len(tiny.look("hat " * 64).pieces) == 64
    assert "has 65 pieces; 1 to 64 are" in complaint(tiny.look, "hat " * 65)
    assert "0 pieces" in complaint(tiny.look, "  \n")
    assert "1 to 512 are" in complaint(own_model.load_model(saved("grouped")).look, "hat " * 600)


def test_a_row_has_the_name_of_its_piece(tiny):
    assert tiny.look("The hats, ö").pieces == ["the", "hat", "##s", "[UNK]", "[UNK]"]
    assert all(tiny.look("a\tb\nc").pieces)


@pytest.mark.parametrize(
    "kind, said",
    [
        ("masked", "it is no decoder, which predicts what comes next from what"),
        ("encoder and decoder", "it is no decoder"),
        ("sorts texts", "it is no decoder"),
        ("without attention", "the attention of mamba, if it has any, where weights"),
    ],
)
def test_a_model_with_nothing_to_show_is_refused(saved, kind, said):
    text = complaint(own_model.load_model, saved(kind))
    assert f"{saved(kind)} cannot be shown: " in text and said in text
    assert text.endswith(own_model.WORK)


@pytest.mark.parametrize(
    "kind, said",
    [
        ("bloom", "transformers computes the attention of bloom, if it has any, where"),
        ("qwen3_next", "only 1 of its 2 layers can be read: in qwen3_next, the others"),
        ("granite_swa", "its answers change when its own weights are put back"),
        ("bert", "it is no decoder"),
    ],
)
def test_a_kind_that_cannot_be_shown_says_why_and_names_two_that_can(built, kind, said):
    text = complaint(built, kind)
    assert said in text and "distilgpt2 and HuggingFaceTB/SmolLM2-135M" in text


@pytest.mark.parametrize("kind", ["opt", "gpt_oss", "deepseek_v3", "smollm3", "granitemoehybrid"])
def test_each_kind_gives_what_transformers_gives(built, kind):
    """tests/scripts/own_models.py tries all kinds."""
    model = built(kind)
    weights, logits, moved = differences(model, model._ids(ASKED))
    assert max(weights, logits) < 1e-5 and moved > 1e-2
    said = {0: "", 1: " Queries and keys are turned by their positions in 1 of 2 layers."}
    said[2] = said[1].replace(" in 1 of 2 layers", "")
    assert sum(model.turned) == TURNED[kind]
    assert f"{said[TURNED[kind]]} It predicts" in repr(model)
    assert ("turned" in repr(model)) == bool(TURNED[kind])


def test_shared_keys_are_said_where_a_model_has_them(built):
    shared, one, own = (built(kind) for kind in ("gpt_oss", "gpt_bigcode", "gpt2"))
    assert "of 4 heads, which share 2 heads of keys and values." in repr(shared)
    assert "of 4 heads, which share 1 head of keys and values." in repr(one)
    assert "share" not in repr(own)
    for head, read in (1, 1), (2, 1), (3, 2), (4, 2):
        assert f"(it reads key head {read} of 2)" in shared.view(ASKED, head=head).caption
    assert "key head" not in own.view(ASKED).caption
    gemma = built("gemma4_text")
    assert "which share 1 to 2 heads of keys and values." in repr(gemma)
    for layer, read in (1, "2 of 2"), (2, "1 of 1"):
        assert f"(it reads key head {read})" in gemma.view(ASKED, layer, head=4).caption


def test_a_model_for_pictures_too_is_asked_for_its_text_part(hf, saved):
    model = own_model.load_model(saved("with pictures"))
    assert "2 layers of 4 heads, which share 2" in repr(model) and all(model.turned)
    assert len(model.look(TEXT).weights) == 2
    config = saved("with pictures") / "config.json"
    text = config.read_text(encoding="utf-8").replace("architectures", "unknown")
    config.write_text(text, encoding="utf-8")
    assert repr(own_model.load_model(saved("with pictures"))) == repr(model)


@pytest.mark.parametrize("kind", ["decoder", "grouped", "with pictures"])
def test_a_folder_without_a_tokenizer_is_told_so(saved, tmp_path, kind):
    for file in saved(kind).iterdir():
        if "token" not in file.name:
            shutil.copy(file, tmp_path)
    text = complaint(own_model.load_model, tmp_path)
    assert "no tokenizer that can be read" in text and "tokenizer.json and" in text


def test_what_cannot_be_loaded_is_said_in_one_line(hf, saved, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "never heard of"}')
    for name in (tmp_path, "someone/not-here", "a/b/c"):
        text = complaint(own_model.load_model, name)
        assert text.startswith(f"{name} cannot be shown: ") and "\n" not in text
        assert len(text) < 400


def test_a_folder_with_half_of_the_weights_is_refused(saved, tmp_path):
    from safetensors.torch import load_file, save_file

    shutil.copytree(saved("decoder"), tmp_path, dirs_exist_ok=True)
    path = tmp_path / "model.safetensors"
    half = {name: x for name, x in load_file(path).items() if "c_attn" not in name}
    save_file(half, path, {"format": "pt"})
    assert "its files lack tensors, such as" in complaint(own_model.load_model, tmp_path)


def test_a_model_that_was_downloaded_needs_no_network(hf, saved, tmp_path, monkeypatch):
    """It is read from the hub's own folder on this computer; nothing is requested."""
    import huggingface_hub

    place = tmp_path / "models--someone--decoder"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("1234")
    shutil.copytree(saved("decoder"), place / "snapshots" / "1234")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub, "model_info", lambda *_, **__: pytest.fail("asked"))
    assert "someone/decoder: 2 layers" in repr(own_model.load_model("someone/decoder"))


@pytest.mark.parametrize("kind", ["decoder", "two heads"])
def test_the_notebook_runs_with_another_model(saved, monkeypatch, kind):
    """Run every cell, as for a student who replaced None by a folder."""
    monkeypatch.chdir(OPTIONAL.parent)
    monkeypatch.setattr(sys, "path", list(sys.path))
    namespace, views = {}, []
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


# --- weights that are changed ---

# The attention, its output matrix, and the values of head 3 computed from the attention's input:
CHANGED = {
    # in GPT-2 the values are the last third of one matrix
    "gpt2": ("transformer.h.1.attn", "c_proj", lambda a, x: a.c_attn(x)[..., 64 + 16 : 64 + 24]),
    # with grouped heads, heads 3 and 4 share the second key and value
    "llama": ("model.layers.1.self_attn", "o_proj", lambda a, x: a.v_proj(x)[..., 8:16]),
    "gemma2": ("model.layers.1.self_attn", "o_proj", lambda a, x: a.v_proj(x)[..., 8:16]),
}
ASKED = "the man took the hat and has it on a fox"


def by_hand(name, model, weights, times):
    """Put the output of head 3 in by hand, at the input of the output matrix: weights (n, n) times
    its values, times a number. Return the answers."""
    place, out, values = CHANGED[name]
    attention, found = model.model.get_submodule(place), {}

    def keep(_, args, kwargs):
        found["x"] = (args or tuple(kwargs.values()))[0]

    def put(_, args):
        (x,) = args
        x = x.clone()
        x[0, :, 16:24] = times * weights @ values(attention, found["x"])[0]
        return (x,)

    hooks = [
        attention.register_forward_pre_hook(keep, with_kwargs=True),
        attention.get_submodule(out).register_forward_pre_hook(put),
    ]
    try:
        return model.answers(ASKED)
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize("name", CHANGED)
def test_an_intervention_equals_hooks_written_by_hand(built, name):
    """The weights of head 3 of the last layer are turned round, its values are tripled."""
    model = built(name)
    weights = model.look(ASKED).weights[1][2]

    def turn(layer, weights, values):
        if layer == 1:
            weights, values = weights.clone(), values.clone()
            weights[2], values[2] = weights[2].flip(0), 3 * values[2]
        return weights, values

    mine, before = model.answers(ASKED, turn), model.answers(ASKED)
    torch.testing.assert_close(mine, by_hand(name, model, weights.flip(0), 3), rtol=0, atol=1e-5)
    assert (mine - before).abs().max() > 1e-3
    torch.testing.assert_close(by_hand(name, model, weights, 1), before, rtol=0, atol=1e-5)


def test_a_weight_that_is_taken_out_leaves_the_others_as_they_are(story):
    text, keep = "Anna has a kite .", torch.ones(5, 5, dtype=torch.bool)
    keep[4, 1] = keep[4, 2] = keep[0, 0] = keep[0, 4] = False
    view = story.without(text, 2, 3, keep)
    expected = story.look(text).weights[1][2].clone()
    expected[4, 1] = expected[4, 2] = expected[0, 0] = 0
    torch.testing.assert_close(torch.tensor(view.matrix).float(), expected)
    assert view.mark(4, 1) == view.mark(0, 0) == "out" and view.mark(0, 4) == view.mark(4, 0) == ""

    def change(layer, weights, values):
        if layer == 1:
            weights[2] = expected
        return weights, values

    old, new = story.answers(text), story.answers(text, change)
    first, second, _ = view.caption.split("\n")
    assert first == f"Before: {story.likeliest(old)}."
    assert second == f"After: {story.likeliest(new)}."
    assert f"{story.known([new.argmax()])[0]} {new.max():.2f}, " in second
