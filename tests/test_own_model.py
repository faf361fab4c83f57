"""The optional notebook's helper, on tiny models that are built here: no network is needed."""

import copy
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from optional import OPTIONAL, needs_transformers
from replay import code_cells, markdown_cells

from helpers import InputError
from helpers.models import own_model
from helpers.models.inside import GAP, NEXT, OwnModel
from helpers.models.look import Look
from helpers.models.training import Adam
from helpers.models.trial import Claim, trial

ROOT = Path(__file__).parent.parent
TEXT = "the man took the hat"


@pytest.fixture(scope="module")
def tiny():
    if needs_transformers.args[0]:
        pytest.skip(needs_transformers.kwargs["reason"])
    return own_model.load_model()


@pytest.fixture(scope="module")
def saved(tmp_path_factory, tiny):
    """kind -> folder of a tiny model of that kind, saved with the tokenizer of the tiny one."""
    import transformers as hf

    size = dict(vocab_size=len(tiny.tokenizer), hidden_size=16, num_hidden_layers=2)
    attention = dict(num_attention_heads=4, intermediate_size=16)
    gpt = dict(vocab_size=size["vocab_size"], n_embd=40, n_layer=2)
    masked = {"masked": hf.BertConfig(**size, **attention)}
    configs = masked | {
        "encoder": hf.BertConfig(**size, **attention, max_position_embeddings=40),
        "decoder": hf.GPT2Config(**gpt, n_head=20),
        "both": hf.BartConfig(d_model=16, encoder_layers=1, decoder_layers=1),
        "grouped": hf.MistralConfig(
            **size, **attention, num_key_value_heads=2, sliding_window=2, attn_implementation="sdpa"
        ),
        "without attention": hf.MambaConfig(**size, state_size=4),
        "pictures": hf.ViTConfig(hidden_size=16, num_hidden_layers=1, image_size=32),
    }
    place = tmp_path_factory.mktemp("models")

    def save(kind):
        folder = place / kind
        if not folder.exists():
            auto = hf.AutoModelForMaskedLM if kind == "masked" else hf.AutoModel
            auto.from_config(configs[kind]).save_pretrained(folder)
            tokenizer = copy.deepcopy(tiny.tokenizer)
            if kind == "masked":
                tokenizer.add_special_tokens({"mask_token": tokenizer.unk_token})
            tokenizer.save_pretrained(folder)
        return folder

    return save


def direct(folder, **inputs):
    """What transformers itself gives, without our code."""
    import transformers as hf

    model = hf.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        return model(**inputs, output_attentions=True)


def complaint(call, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def test_the_course_does_without_transformers():
    code = "import sys, helpers, helpers.models.own_model; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_without_transformers_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    text = complaint(own_model.load_model)
    command = ".venv/bin/python -m pip install -r notebooks/your_own_model.txt"
    assert command in text and r".venv\Scripts\python" in text
    assert command in markdown_cells(OPTIONAL)[0].source
    assert "pip install -r requirements.txt -r notebooks/your_own_model.txt" in (
        ROOT / ".ci/run"
    ).read_text(encoding="utf-8")


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


def test_more_than_sixteen_heads_are_turned_over_in_groups(saved):
    model = own_model.load_model(saved("decoder"))
    assert model.heads == list(range(1, 21))
    look = model.look(TEXT)
    view = look.view(layer=2, head=19)
    assert len(view.heads) == 4 and view.head == 2
    torch.testing.assert_close(torch.tensor(view.matrix).float(), look.layers[1][18])
    assert "Layer 2 of 2, head 19 of 20 (beside it heads 17 to 20)" in view.caption
    assert "head 16 of 20 (beside it heads 1 to 16)" in look.view(head=16).caption


def test_every_head_is_found_by_its_layer_and_number(tiny):
    look = tiny.look(TEXT)
    for i, layer in enumerate(look.layers):
        for j, head in enumerate(layer):
            view = look.view(i + 1, j + 1)
            torch.testing.assert_close(torch.tensor(view.matrix).float(), head)
            assert f"Layer {i + 1} of 3, head {j + 1} of 4; 5 pieces. Model: a " in view.caption
            assert (view.head, len(view.heads), view.scale) == (j, 4, (0, 1))
    row, column = 4, int(view.matrix[4].argmax())
    said = view.explain(row, column)
    assert "“hat”" in said and f"“{view.keys[column]}”" in said
    assert said.endswith("the largest of its row")
    assert view.explain(row, int(view.matrix[4].argmin())).endswith("4 in its row are larger")


def test_one_number_per_head_stands_beside_that_of_even_weights(tiny, saved):
    def on_first(weights):
        return weights[:, 0].mean()

    look = tiny.look(TEXT)
    view = look.per_head(on_first)
    expected = [[float(on_first(head)) for head in layer] for layer in look.layers]
    torch.testing.assert_close(torch.tensor(view.matrix), torch.tensor(expected).double())
    assert view.axes == ("Layer", "Head")
    (lit,) = view.highlights
    assert view.matrix[lit] == view.matrix.max()
    assert f"in layer {lit[0] + 1}, head {lit[1] + 1}." in view.caption
    # causal: 1, 1/2, ... 1/5; with a window of two words only the first two see the first
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
    assert "looks most at *hat* in layer 3, head 1: with 0.15" in prose
    for pieces, even in ((9, "0.23"), (20, "0.14"), (40, "0.08")):
        view = tiny.look("hat " * pieces).per_head(lambda weights: weights.diagonal(-1).mean())
        assert f"Even weights would give {even}." in view.caption
    assert "0.23 for 9 pieces, 0.14 for 20, 0.08 for 40" in prose


def test_layers_may_differ_in_their_heads():
    layers = [torch.ones(2, 3, 3) / 3, torch.ones(1, 3, 3) / 3]
    look = Look(layers, list("abc"), "a model")
    assert re.search(r"layer 2 +0.33\n", look.per_head(lambda weights: weights[0, 0]).text())
    assert "head 1 of 1" in look.view(layer=2, head=2).caption


def test_a_text_that_is_too_long_is_cut_and_the_caption_says_so(tiny, saved):
    look = tiny.look("hat " * 100)
    assert len(look.rows) == 64
    said = "Only the first 64 of 100 pieces: the model takes no more."
    assert said in look.view().caption and said in look.per_head(torch.mean).caption
    assert "Only" not in tiny.look("hat " * 64).view().caption
    look = own_model.load_model(saved("grouped")).look("hat " * 600)
    assert len(look.rows) == 512 and "512 of 600 pieces: no more can be drawn" in look.note


def test_a_row_has_the_name_of_its_piece(tiny):
    assert tiny.look("The hats, ö").rows == ["the", "hat", "##s", "[UNK]", "[UNK]"]
    assert all(tiny.look("a\tb\nc").rows)


@pytest.mark.parametrize("text", ["", "  \n", None, 5, "\ud800"])
def test_what_is_no_text_is_said_in_one_sentence(tiny, text):
    assert re.search("no text|words are expected|cannot read", complaint(tiny.look, text))


@pytest.mark.parametrize(
    "kind, said",
    [
        (
            "without attention",
            r"\(MambaForCausalLM\) did not return weights of attention.*choose a dec",
        ),
        ("both", "it has an encoder and a decoder, which are not tried here; choose a decoder"),
        ("pictures", "reads pixel_values, not text"),
    ],
)
def test_a_model_with_nothing_to_show_says_why(saved, kind, said):
    assert re.search(said, complaint(own_model.load_model, saved(kind)))


@pytest.mark.parametrize(
    "files, said",
    [
        ({}, "holds no model.*config.json"),
        ({"config.json": '{"model_type": "never heard of"}'}, "knows no such kind of model"),
        ({"config.json": "{"}, "was not loaded: .*JSON"),
        ({"config.json": '{"auto_map": {"AutoConfig": "a.B"}}'}, "code of its own"),
        ({"config.json": '{"model_type": "bert"}'}, "weights are missing"),
        (
            {"config.json": '{"model_type": "bert", "quantization_config": '
             '{"quant_method": "gptq", "bits": 4}}'},
            "needs another package: run .venv/bin/python -m pip install",
        ),
    ],
)  # fmt: skip
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
    assert "files of the tokenizer" in complaint(own_model.load_model, tmp_path)
    own_model.load_model(saved("encoder")).tokenizer.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    path = tmp_path / "model.safetensors"
    kept = {name: x for name, x in tensors.items() if "pooler" not in name}
    save_file(kept, path, {"format": "pt"})
    assert own_model.load_model(tmp_path).layers == [1, 2], "the pooler is of no use here"
    save_file({n: x for n, x in kept.items() if "query" not in n}, path, {"format": "pt"})
    assert "lack 4 of the model's tensors" in complaint(own_model.load_model, tmp_path)


@pytest.mark.parametrize(
    "name, said",
    [
        ("someone/not-here", "not on this computer yet"),
        ("a/b/c", "no such folder, and a name on the hub looks like"),
        ("", "a name on the hub, a folder or None is expected"),
        (5, "a name on the hub, a folder or None is expected"),
    ],
)
def test_a_name_that_leads_nowhere_says_what_to_do(tiny, name, said):
    assert said in complaint(own_model.load_model, name)


@pytest.mark.parametrize(
    "kind, said",
    [
        ("GatedRepoError", "agreed to its terms: log in"),
        ("RepositoryNotFoundError", "the hub has no such model, or it is private"),
        ("LocalEntryNotFoundError", "the hub cannot be reached"),
    ],
)
def test_what_the_hub_answers_is_told_in_our_words(tiny, monkeypatch, kind, said):
    """As transformers raises it: an OSError because of the hub's own error."""
    import huggingface_hub

    def refuse(*args, **kwargs):
        cls = getattr(huggingface_hub.errors, kind)
        raise OSError("We couldn't connect") from cls.__new__(cls)

    monkeypatch.setattr(huggingface_hub, "model_info", refuse)
    assert said in complaint(own_model.load_model, "someone/secret")


def test_a_model_that_was_downloaded_needs_no_network(tiny, saved, tmp_path, monkeypatch):
    """From the hub's own folder on this computer; nobody is asked."""
    import huggingface_hub

    place = tmp_path / "models--someone--encoder"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("1234")
    shutil.copytree(saved("encoder"), place / "snapshots" / "1234")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub, "model_info", lambda *_, **__: pytest.fail("asked"))
    assert "BertModel" in repr(own_model.load_model("someone/encoder"))


# Interventions: architectures by name, tiny, with random parameters that make answers differ.
WINDOW = dict(num_key_value_heads=2, sliding_window=3)


def architectures(hf):
    size = dict(vocab_size=80, hidden_size=32, num_hidden_layers=2, pad_token_id=0)
    heads = dict(num_attention_heads=4, intermediate_size=32)
    eight = dict(head_dim=8)
    return {
        "gpt2": hf.GPT2Config(vocab_size=80, n_embd=32, n_layer=2, n_head=4),
        "llama": hf.LlamaConfig(**size, **heads, num_key_value_heads=2),
        "mistral": hf.MistralConfig(**size, **heads, **WINDOW),
        "gemma2": hf.Gemma2Config(**size, **heads, **WINDOW, **eight, attn_logit_softcapping=1.0),
        "gpt_neox": hf.GPTNeoXConfig(**size, **heads),
        "bert": hf.BertConfig(**size, **heads),
        "roberta": hf.RobertaConfig(**size, **heads),
        "deberta": hf.DebertaV2Config(**size, **heads, relative_attention=True),
        "granite_swa": hf.GraniteSWAConfig(**size, **heads, **WINDOW),
        "bamba": hf.BambaConfig(
            **size, **heads, num_key_value_heads=2, mamba_n_heads=8, mamba_d_head=8,
            mamba_d_state=4, mamba_n_groups=1, attn_layer_indices=[1],
        ),
        "squeezebert": hf.SqueezeBertConfig(**size, **heads, embedding_size=32),
    }  # fmt: skip


@pytest.fixture(scope="module")
def built(tiny):
    """name -> OwnModel of that architecture, of tiny size, built here."""
    import transformers as hf

    configs, models = architectures(hf), {}

    def build(name):
        if name not in models:
            (kind, asks), *_ = own_model._heads(hf, configs[name])
            torch.manual_seed(0)
            model = kind.from_config(configs[name], attn_implementation="eager")
            for p in model.parameters():  # with the usual range nothing that is changed matters
                p.data.mul_(4 if p.ndim > 1 else 1)
            tokenizer = copy.deepcopy(tiny.tokenizer)
            tokenizer.add_special_tokens({"mask_token": "[MASK]"})
            models[name] = OwnModel(name, model, tokenizer, asks)
        return models[name]

    return build


ASKED = "the man took the hat and ___ it on a fox"
# Its attention, its output matrix, and the values of head 3 from what its attention is given:
CHANGED = {
    # the values of GPT-2 are the last third of one matrix
    "gpt2": ("transformer.h.1.attn", "c_proj", lambda a, x: a.c_attn(x)[..., 64 + 16 : 64 + 24]),
    # of grouped ones heads 3 and 4 share the second key and value
    "llama": ("model.layers.1.self_attn", "o_proj", lambda a, x: a.v_proj(x)[..., 8:16]),
    "mistral": ("model.layers.1.self_attn", "o_proj", lambda a, x: a.v_proj(x)[..., 8:16]),
    "gemma2": ("model.layers.1.self_attn", "o_proj", lambda a, x: a.v_proj(x)[..., 8:16]),
    # GPT-NeoX has query, key and value of each head side by side
    "gpt_neox": ("gpt_neox.layers.1.attention", "dense",
                 lambda a, x: a.query_key_value(x)[..., 2 * 24 + 16 : 2 * 24 + 24]),
    "bert": ("bert.encoder.layer.1.attention", "output.dense",
             lambda a, x: a.self.value(x)[..., 16:24]),
    "roberta": ("roberta.encoder.layer.1.attention", "output.dense",
                lambda a, x: a.self.value(x)[..., 16:24]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_weights_that_are_replaced_by_themselves_change_nothing(built, name):
    import transformers as hf

    model, calls = built(name), []
    assert model.silent == ""

    def itself(layer, weights, values):
        calls.append(layer)
        return weights, values

    plain = direct_answers(hf, model)
    torch.testing.assert_close(model.answers(ASKED), plain, rtol=0, atol=1e-6)
    torch.testing.assert_close(model.answers(ASKED, itself), plain, rtol=0, atol=1e-6)
    assert calls == [0, 1]


def direct_answers(hf, model):
    """The same parameters in a model of transformers that knows nothing of our function."""
    inner = model.model
    own = type(inner)._from_config(copy.deepcopy(inner.config), attn_implementation="eager").eval()
    own.load_state_dict(inner.state_dict())
    inputs, *_ = model._inputs(ASKED)
    with torch.no_grad():
        logits = own(**inputs).logits[0]
    ids = inputs["input_ids"][0].tolist()
    gap = model.tokenizer.mask_token_id
    return logits[ids.index(gap) if model.asks == GAP else -1].log_softmax(-1)


def test_each_number_of_the_map_is_that_of_one_intervention(built, capsys):
    model = built("gemma2")  # every other layer of it has a window
    view, before = model.effects(ASKED), model.answers(ASKED)
    for at, head in [(k, h) for k in range(2) for h in range(4)]:

        def made_even(layer, weights, values, at=at, head=head):
            if layer == at:
                seen = (weights > 0).any(0).float()
                weights[head] = seen / seen.sum(-1, keepdim=True)
            return weights, values

        after = model.answers(ASKED, made_even)
        moved = (after.exp() - before.exp()).abs().sum() / 2
        assert abs(view.matrix[at, head] - moved) < 2e-5
    assert view.matrix.max() > 1e-4, "nothing moved: the test would see nothing"
    assert "■" * 20 in capsys.readouterr().out


def by_hand(name, model, weights, times):
    """The answers when the output of head 3 is put in by hand, at the input of the output matrix:
    weights (n, n) times its values, which are computed here, times a number."""
    place, out, values = CHANGED[name]
    attention, found = model.model.get_submodule(place), {}

    def keep(_, args, kwargs):
        found.update(x=(args or tuple(kwargs.values()))[0])

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
        return model._said(model._forward(inputs := model._inputs(ASKED)[0]), inputs)
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize("name", CHANGED)
def test_an_intervention_equals_hooks_written_by_hand(built, name):
    """The weights of head 3 of the last layer turned round, and its values three times as large."""
    model = built(name)
    weights = model.weights(ASKED)[1][2]

    def turn(layer, weights, values):
        if layer == 1:
            weights[2], values[2] = weights[2].flip(0), 3 * values[2]
        return weights, values

    mine, before = model.answers(ASKED, turn), model.answers(ASKED)
    theirs = by_hand(name, model, weights.flip(0), 3)
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-5)
    assert (mine - before).abs().max() > 1e-3
    same = by_hand(name, model, weights, 1)
    torch.testing.assert_close(same, before, rtol=0, atol=1e-5)


def test_a_value_from_another_text_is_one_more_key(built):
    """As a trial changes it; of grouped heads, only the one that is asked."""
    model, found = built("llama"), []
    other = ASKED.replace("man", "cat")
    model.answers(other, lambda k, w, v: (w, found.append(v) or v))
    theirs = found[1][:, 1:2]

    def one_more(layer, weights, values):
        if layer != 1:
            return weights, values
        moved = torch.zeros_like(weights[..., :1])
        moved[2, -1, 0], weights[2, -1, 1] = weights[2, -1, 1].clone(), 0
        return torch.cat([weights, moved], -1), torch.cat([values, theirs], -2)

    def by_value(layer, weights, values):
        contexts = weights @ values
        if layer == 1:
            contexts[2, -1] += weights[2, -1, 1] * (theirs - values[:, 1:2])[2, 0]
        return torch.eye(len(contexts[0])).expand(4, -1, -1), contexts

    mine, expected = model.answers(ASKED, one_more), model.answers(ASKED, by_value)
    torch.testing.assert_close(mine, expected, rtol=0, atol=1e-5)
    assert (mine - model.answers(ASKED)).abs().max() > 1e-5


@pytest.mark.parametrize(
    "name, said",
    [
        ("deberta", "cannot be changed: it does not compute attention once in each layer"),
        ("granite_swa", "cannot be changed: its attention gives more than its weights times"),
    ],
)
def test_a_model_whose_weights_cannot_be_changed_is_shown_and_says_why(built, name, said):
    model = built(name)
    assert len(model.look(ASKED).layers[0]) == 4 and "cannot be changed" in repr(model)
    for attempt in (model.answers, lambda *a: model.effects(a[0])):
        assert re.search(said, complaint(attempt, ASKED, lambda layer, *both: both))


@pytest.mark.parametrize("name", ["squeezebert", "bamba"])
def test_what_is_no_weight_for_each_pair_in_each_layer_is_refused(built, name):
    """It returns scores, or weights of some layers."""
    assert "did not return weights of attention in each of its layers" in complaint(built, name)


def test_a_model_of_texts_and_pictures_needs_both(tiny):
    import transformers as hf

    of_text = dict(vocab_size=80, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    of_pictures = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=32)
    config = hf.CLIPConfig(text_config=of_text, vision_config=of_pictures)
    text = complaint(OwnModel, "clip", hf.CLIPModel(config), tiny.tokenizer, "")
    assert "clip could not be run on a text of 26 pieces" in text and "choose a decoder" in text


def test_a_model_with_damaged_weights_does_not_answer(tiny):
    model = copy.deepcopy(tiny.model)
    model.transformer.h[1].mlp.c_fc.weight.data[0] = float("nan")
    text = complaint(OwnModel, "damaged", model, tiny.tokenizer, NEXT)
    assert "no number (nan): its weights may be damaged" in text


def test_a_gap_that_cannot_be_is_told(built, tiny):
    """The tokenizer has no piece for it, or the text is cut before it."""
    bert = built("bert")
    model = OwnModel("bert", bert.model, tiny.tokenizer, GAP)
    assert len(model.look(ASKED).layers) == 2
    assert "its tokenizer has no piece for a gap" in complaint(model.answers, ASKED)
    text = complaint(bert.answers, "hat " * 600 + "___")
    assert text.endswith(
        "piece that is missing. Only the first 512 of 601 pieces: no more can be drawn."
    )


def test_a_weight_that_is_taken_out_is_divided_among_the_rest(tiny):
    look, keep = tiny.look(TEXT), torch.ones(5, 5, dtype=torch.bool)
    keep[4, 1] = keep[4, 2] = keep[0, 0] = keep[0, 4] = False
    view = tiny.without(TEXT, 3, 2, keep)
    before = look.layers[2][1]
    expected = before.clone()
    expected[4, 1] = expected[4, 2] = expected[0, 0] = 0
    expected[4] /= expected[4].sum()
    torch.testing.assert_close(torch.tensor(view.matrix).float(), expected)
    assert view.mark(4, 1) == view.mark(0, 0) == "out" and view.mark(0, 4) == view.mark(4, 0) == ""

    def change(layer, weights, values):
        if layer == 2:
            weights[1] = expected
        return weights, values

    old, new = tiny.answers(TEXT), tiny.answers(TEXT, change)
    first, second, third, _ = view.caption.split("\n", 3) + [""]
    assert first == f"Before: {tiny.likeliest(old)}." and second == f"After: {tiny.likeliest(new)}."
    best = new.argmax().item()
    assert (
        f"After: {tiny._names([best])[0]} {new[best].exp():.2f}, " in second
        and second.count(",") == 4
    )
    assert third.startswith(f"{(new.exp() - old.exp()).abs().sum() / 2:.2f} of the probability")
    assert view.explain(4, 3).endswith(f"in the model itself it is {before[4, 3]:.2f}")
    assert "keep has the shape (2, 2); (5, 5) is expected" in complaint(
        tiny.without, TEXT, 1, 1, keep[:2, :2]
    )


def test_a_gap_is_needed_where_a_model_fills_gaps(built):
    bert = built("bert")
    assert bert.look(TEXT).rows == TEXT.split(), "a text without a gap can be looked at"
    for text in (TEXT, "the ___ took the ___"):
        assert "type ___ once" in complaint(bert.answers, text)
    assert torch.equal(bert.answers("the ___ took it"), bert.answers("the [MASK] took it"))
    assert bert.look("the _____ took it").rows[1] == "[MASK]"


def test_a_change_that_returns_something_else_is_told(tiny):
    wide = torch.ones(4, 5, 6)
    for wrong in (None, torch.ones(5, 5), (torch.ones(5, 5), wide), (wide, wide)):
        assert "change returned" in complaint(tiny.answers, TEXT, lambda *_, wrong=wrong: wrong)
    assert "not finite" in complaint(tiny.answers, TEXT, lambda layer, w, v: (w / 0, v))
    with pytest.raises(ZeroDivisionError):
        tiny.answers(TEXT, lambda *_: 1 // 0)
    before = tiny.answers(TEXT)
    assert torch.isfinite(before).all(), "and it goes on"
    tiny.answers(TEXT).zero_()
    tiny.answers(TEXT, lambda layer, w, v: (w.zero_(), v.zero_()))
    tiny.weights(TEXT)[0].zero_()
    assert torch.equal(tiny.answers(TEXT), before) and tiny.weights(TEXT)[0].sum() > 0


def test_one_piece_has_no_piece_before_it(tiny):
    look = tiny.look("hat")
    assert look.per_head(lambda weights: weights[0, 0]).matrix.min() == 1
    said = complaint(look.per_head, lambda weights: weights.diagonal(-1).mean())
    assert "1 pieces has no such number; type a longer one" in said


FORM = "the man took the {dog cat fox hat one brown quick saw} it"


def test_a_claim_is_tried_on_the_sentences_that_it_names(tiny):
    claim = Claim("tiny", 3, "it", "{}", head=1, answer="likeliest", sentence=FORM)
    cases = list(tiny.cases(claim))
    assert [case.words.split()[4] for case in cases] == FORM[18:-4].split()
    for case in cases:
        assert (case.query, case.key) == (5, 4)
        assert case.answer == tiny.answers(case.words).argmax() != case.turns
        assert case.turns == tiny.answers(case.other).argmax()
    assert "8 of 8" in str(trial(claim, tiny))
    cat = list(tiny.cases(replace(claim, looks="the", at="the", answer="{}")))[1]
    assert (cat.query, cat.key) == (3, 0), "the last that looks, the first that is looked at"
    assert (tiny._names([cat.answer])[0], tiny._names([cat.turns])[0]) == ("cat", "fox")
    on_it = list(tiny.cases(replace(claim, answer="{}", instead="on")))[1]
    assert (on_it.other.split()[4], tiny._names([on_it.turns])[0], on_it.content) == (
        "on",
        "on",
        "on",
    )
    for wrong, said in (
        (dict(sentence="the cat took it"), "needs words to choose from"),
        (dict(sentence=None), "needs words to choose from"),
        (dict(answer="hat"), "the answer is '{}', that word, or 'likeliest'"),
        (dict(sentence=FORM.replace("cat", "dogs")), "'dogs' is no piece of this text"),
        (dict(answer="{}", instead="dogs"), "'dogs' is not one piece"),
        (dict(layer=4), "there is no layer 4 with attention; it has: 1, 2, 3"),
    ):
        assert said in complaint(trial, replace(claim, **wrong), tiny)


NOUNS = "hat man cat dog fox one brown quick she saw was is in on of has and"


def test_what_a_model_learned_to_read_is_read_and_needed(tiny):
    """A GPT-2 of one layer learns to name the first noun of two."""
    import transformers as hf

    config = copy.deepcopy(tiny.model.config)
    config.update(dict(n_layer=1, n_head=1, initializer_range=0.2))
    numbers = torch.tensor(tiny.tokenizer(NOUNS)["input_ids"])
    frame = torch.tensor(tiny.tokenizer("the cat took the hat and took it")["input_ids"])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = hf.GPT2LMHeadModel._from_config(config, attn_implementation="eager").eval()
        adam = Adam(model)
        for _ in range(200):
            words = frame.repeat(64, 1)
            words[:, [1, 4]] = numbers[torch.randint(len(numbers), (64, 2))]
            said = model(words, use_cache=False).logits[:, -1]
            adam.step(torch.nn.functional.cross_entropy(said, words[:, 1]), 0.01)
    learned = OwnModel("learned", model, tiny.tokenizer, NEXT)
    sentence = f"the {{{NOUNS.removeprefix('hat ')}}} took the hat and took it"
    claim = Claim("learned", 1, "it", "{}", answer="{}", sentence=sentence)
    assert trial(claim, learned).outcome == "read and needed"
    assert trial(replace(claim, at="hat"), learned).outcome == "not read"


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n"


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("config.json", POINTER, "git lfs pull"),
        ("config.json", '"intermediate_size":', "other sizes than its config.json says"),
        ("tokenizer.json", '"z":', "the model knows 74: it belongs to another model"),
    ],
)
def test_files_that_do_not_belong_together_are_told(saved, tmp_path, name, text, said):
    folder = shutil.copytree(saved("encoder"), tmp_path / "copy")
    new = text
    if text != POINTER:  # one number is made larger
        old = (folder / name).read_text(encoding="utf-8")
        new = re.sub(rf"({text} *)\d+", r"\g<1>90", old)
        assert new != old
    (folder / name).write_text(new, encoding="utf-8")
    assert said in complaint(own_model.load_model, folder)


@pytest.mark.parametrize("kind", ["masked", "decoder"])
def test_the_notebook_runs_with_another_model(saved, kind, monkeypatch):
    """Every cell, as for a student who wrote a folder in place of None."""
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
