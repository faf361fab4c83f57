"""Build tiny models of transformers, without a network, for tests of a reader's own model."""

import copy

import pytest
import torch
from optional import needs_transformers

from helpers import InputError
from helpers import your_model as own_model

TEXT = "the man took the hat"
WORDS = "a and brown cat dog examined fox has hat in is it man of on one quick saw she the took was"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def complaint(call, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.fixture(scope="module")
def hf():
    if needs_transformers.args[0]:
        pytest.skip(needs_transformers.kwargs["reason"])
    return own_model._packages()[0]


@pytest.fixture(scope="module")
def tokenizer(hf):
    """Return a tokenizer with words and letters as pieces."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    pieces = ["[UNK]", *WORDS.split(), *LETTERS[1:], *(f"##{c}" for c in LETTERS)]
    numbered = {piece: k for k, piece in enumerate(pieces)}
    words = Tokenizer(models.WordPiece(numbered, unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return hf.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")


@pytest.fixture(scope="module")
def tiny(hf, tokenizer):
    """Return a decoder with random parameters: three layers of four heads."""
    # with the usual range, 0.02, attention is nearly even; with 0.2 the weights differ
    config = hf.GPT2Config(
        vocab_size=len(tokenizer), n_positions=64, n_embd=32, n_layer=3, n_head=4,
        initializer_range=0.2, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    model = hf.GPT2LMHeadModel._from_config(config, attn_implementation="eager")
    return own_model.HuggingFaceModel("tiny", model, tokenizer)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, hf, tokenizer):
    """Return save(kind), the folder of a tiny saved model of that kind, with its tokenizer."""
    size = dict(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2)
    attention = dict(num_attention_heads=4, intermediate_size=16)
    gpt = hf.GPT2Config(vocab_size=len(tokenizer), n_embd=40, n_layer=2, n_head=20)
    masked = hf.BertConfig(**size, **attention, max_position_embeddings=40)
    window = dict(num_key_value_heads=2, sliding_window=2, attn_implementation="sdpa")
    models = {
        "masked": lambda: hf.BertForMaskedLM(masked),
        "decoder": lambda: hf.GPT2LMHeadModel(gpt),
        "grouped": lambda: hf.MistralForCausalLM(hf.MistralConfig(**size, **attention, **window)),
        "without attention": lambda: hf.MambaForCausalLM(hf.MambaConfig(**size, state_size=4)),
    }
    place = tmp_path_factory.mktemp("models")

    def save(kind):
        folder = place / kind
        if not folder.exists():
            models[kind]().save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        return folder

    return save


# For interventions: tiny architectures by name, with random parameters that make answers differ.
WINDOW = dict(num_key_value_heads=2, sliding_window=3)


def architectures(hf):
    size = dict(vocab_size=80, hidden_size=32, num_hidden_layers=2, pad_token_id=0)
    heads = dict(num_attention_heads=4, intermediate_size=32)
    capped = dict(head_dim=8, attn_logit_softcapping=1.0)
    return {
        "gpt2": hf.GPT2Config(vocab_size=80, n_embd=32, n_layer=2, n_head=4),
        "llama": hf.LlamaConfig(**size, **heads, num_key_value_heads=2),
        "gemma2": hf.Gemma2Config(**size, **heads, **WINDOW, **capped),
        "granite_swa": hf.GraniteSWAConfig(**size, **heads, **WINDOW),
    }


@pytest.fixture(scope="module")
def built(hf, tokenizer):
    """Return build(name), which gives a tiny HuggingFaceModel of that architecture, built here."""
    models = {}

    def build(name):
        if name not in models:
            torch.manual_seed(0)
            config = architectures(hf)[name]
            model = hf.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
            for p in model.parameters():  # with the usual range no change would matter
                p.data.mul_(4 if p.ndim > 1 else 1)
            models[name] = own_model.HuggingFaceModel(name, model, copy.deepcopy(tokenizer))
        return models[name]

    return build
