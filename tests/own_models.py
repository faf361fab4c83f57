"""Build tiny models of transformers, without a network, for tests of a reader's own model."""

import copy

import pytest
import torch
from optional import needs_transformers

from helpers import InputError
from helpers.models import own_model
from helpers.models.inside import OwnModel

TEXT = "the man took the hat"


def complaint(call, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.fixture(scope="module")
def tiny():
    if needs_transformers.args[0]:
        pytest.skip(needs_transformers.kwargs["reason"])
    return own_model.load_model()


@pytest.fixture(scope="module")
def saved(tmp_path_factory, tiny):
    """Return save(kind), the folder of a tiny saved model of that kind, with tiny's tokenizer."""
    import transformers as hf

    size = dict(vocab_size=len(tiny.tokenizer), hidden_size=16, num_hidden_layers=2)
    attention = dict(num_attention_heads=4, intermediate_size=16)
    gpt = dict(vocab_size=size["vocab_size"], n_embd=40, n_layer=2)
    configs = {
        "masked": hf.BertConfig(**size, **attention),
        "encoder": hf.BertConfig(**size, **attention, max_position_embeddings=40),
        "decoder": hf.GPT2Config(**gpt, n_head=20),
        "both": hf.BartConfig(d_model=16, encoder_layers=1, decoder_layers=1),
        "grouped": hf.MistralConfig(
            **size, **attention, num_key_value_heads=2, sliding_window=2, attn_implementation="sdpa"
        ),
        "without attention": hf.MambaConfig(**size, state_size=4),
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


# For interventions: tiny architectures by name, with random parameters that make answers differ.
WINDOW = dict(num_key_value_heads=2, sliding_window=3)


def architectures(hf):
    size = dict(vocab_size=80, hidden_size=32, num_hidden_layers=2, pad_token_id=0)
    heads = dict(num_attention_heads=4, intermediate_size=32)
    return {
        "gpt2": hf.GPT2Config(vocab_size=80, n_embd=32, n_layer=2, n_head=4),
        "llama": hf.LlamaConfig(**size, **heads, num_key_value_heads=2),
        "gemma2": hf.Gemma2Config(
            **size, **heads, **WINDOW, head_dim=8, attn_logit_softcapping=1.0
        ),
        "gpt_neox": hf.GPTNeoXConfig(**size, **heads),
        "bert": hf.BertConfig(**size, **heads),
        "roberta": hf.RobertaConfig(**size, **heads),
        "deberta": hf.DebertaV2Config(**size, **heads, relative_attention=True),
        "granite_swa": hf.GraniteSWAConfig(**size, **heads, **WINDOW),
    }


@pytest.fixture(scope="module")
def built(tiny):
    """Return build(name), which gives a tiny OwnModel of that architecture, built here."""
    import transformers as hf

    configs, models = architectures(hf), {}

    def build(name):
        if name not in models:
            (kind, asks), *_ = own_model._heads(hf, configs[name])
            torch.manual_seed(0)
            model = kind.from_config(configs[name], attn_implementation="eager")
            for p in model.parameters():  # with the usual range no change would matter
                p.data.mul_(4 if p.ndim > 1 else 1)
            tokenizer = copy.deepcopy(tiny.tokenizer)
            tokenizer.add_special_tokens({"mask_token": "[MASK]"})
            models[name] = OwnModel(name, model, tokenizer, asks)
        return models[name]

    return build
