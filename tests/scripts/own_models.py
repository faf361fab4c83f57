"""Build tiny models of transformers, without a network, for tests of a reader's own model.

python tests/scripts/own_models.py tries every kind: shown as transformers does, or refused.
"""

import copy
import sys
from pathlib import Path

import pytest
import torch
from optional import needs_transformers

sys.path.insert(0, str(Path(__file__).parents[2]))

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
    return pieces_of_words()


def pieces_of_words():
    """Return a tokenizer with words and letters as pieces."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = ["[UNK]", *WORDS.split(), *LETTERS[1:], *(f"##{c}" for c in LETTERS)]
    numbered = {piece: k for k, piece in enumerate(pieces)}
    words = Tokenizer(models.WordPiece(numbered, unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")


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
    small = dict(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2)
    text = SHARED | dict(head_dim=8, vocab_size=len(tokenizer), sliding_window=3)
    picture = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, patch_size=4)
    picture |= dict(num_attention_heads=2, image_size=16)
    gemma = hf.Gemma3Config(text_config=text, vision_config=picture, mm_tokens_per_image=4)
    both = dict(vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1)
    models = {
        "with pictures": lambda: hf.Gemma3ForConditionalGeneration(gemma),
        "two heads": lambda: hf.GPT2LMHeadModel(hf.GPT2Config(**small)),
        "sorts texts": lambda: hf.GPT2ForSequenceClassification(hf.GPT2Config(**small)),
        "encoder and decoder": lambda: hf.BartForConditionalGeneration(hf.BartConfig(**both)),
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


# Tiny kinds of model, by transformers' names.
SIZE = dict(vocab_size=80, hidden_size=32, num_hidden_layers=2, pad_token_id=0, bos_token_id=1)
HEADS = SIZE | dict(eos_token_id=2, num_attention_heads=4, intermediate_size=32)
SHARED = HEADS | dict(num_key_value_heads=2)
WIDE = SHARED | dict(head_dim=8, sliding_window=3)
GPT = dict(vocab_size=80, n_embd=32, n_layer=2, n_head=4)
EXPERTS = dict(num_experts_per_tok=1, num_local_experts=2)
MANY = dict(num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16)
ONE = dict(no_rope_layers=[1, 0])  # turns in one of its two layers
BOTH = dict(layer_types=["sliding_attention", "full_attention"])
SHOWN = {
    "biogpt": HEADS, "gpt2": GPT, "gpt_bigcode": GPT, "gpt_neox": HEADS,
    "opt": SIZE | dict(word_embed_proj_dim=32, num_attention_heads=4, ffn_dim=32),
    **dict.fromkeys("cohere granite llama olmo2 phi phi3 qwen2 starcoder2".split(), SHARED),
    **dict.fromkeys("gemma gemma3_text ministral3 mistral qwen3".split(), WIDE),
    "gemma2": WIDE | dict(attn_logit_softcapping=1.0),
    "gpt_oss": WIDE | EXPERTS, "mixtral": SHARED | EXPERTS, "qwen3_moe": WIDE | MANY,
    "llama4_text": WIDE | EXPERTS | ONE | dict(intermediate_size_mlp=32),
    "smollm3": SHARED | ONE, "cohere2": WIDE | BOTH, "exaone4": WIDE | BOTH,
    "gemma4_text": WIDE | BOTH | dict(
        num_global_key_value_heads=1, attention_k_eq_v=True, global_head_dim=8,
        hidden_size_per_layer_input=8, vocab_size_per_layer_input=80,
    ),
    "granitemoehybrid": SHARED | EXPERTS | dict(
        layer_types=["full_attention"] * 2, shared_intermediate_size=16, mamba_n_heads=4
    ),
    "deepseek_v3": HEADS | MANY | dict(
        num_key_value_heads=4, n_routed_experts=4, n_group=1, topk_group=1, n_shared_experts=1,
        first_k_dense_replace=1, kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8,
        qk_nope_head_dim=8, v_head_dim=8,
    ),
}  # fmt: skip
# how many of its layers turn queries and keys
TURNED = dict.fromkeys(SHOWN, 2) | dict.fromkeys("llama4_text smollm3 cohere2 exaone4".split(), 1)
TURNED |= dict.fromkeys("biogpt gpt2 gpt_bigcode opt granitemoehybrid".split(), 0)
MIXED = dict(layer_types=["linear_attention", "full_attention"], linear_num_value_heads=4)
MIXED |= dict(linear_num_key_heads=2, linear_key_head_dim=8, linear_value_head_dim=8)
CODE = GPT | dict(rotary_dim=4)
REFUSED = {
    "bloom": dict(vocab_size=80, hidden_size=32, n_layer=2, n_head=4),
    "falcon": dict(vocab_size=80, hidden_size=32, num_hidden_layers=2, num_attention_heads=4),
    "codegen": CODE, "gptj": CODE, "openai-gpt": GPT,
    "mpt": dict(vocab_size=80, d_model=32, n_layers=2, n_heads=4),
    "gpt_neo": dict(
        vocab_size=80, hidden_size=32, num_layers=2, num_heads=4,
        attention_types=[[["global", "local"], 1]],
    ),
    "xglm": dict(vocab_size=80, d_model=32, num_layers=2, attention_heads=4, ffn_dim=32),
    "mamba": dict(vocab_size=80, hidden_size=32, num_hidden_layers=2, state_size=4),
    "jamba": SHARED | MANY | dict(
        attn_layer_period=2, attn_layer_offset=1, use_mamba_kernels=False, mamba_d_state=4
    ),
    "lfm2": SHARED | dict(layer_types=["conv", "full_attention"]),
    "qwen3_5_text": WIDE | MIXED,
    "qwen3_next": WIDE | MANY | MIXED | dict(shared_expert_intermediate_size=16),
    "granite_swa": WIDE,
    "bert": HEADS,
}  # fmt: skip


def of_kind(hf, kind):
    """Return a tiny model of transformers, with random parameters that make answers differ."""
    torch.manual_seed(0)
    config = hf.AutoConfig.for_model(kind, **(SHOWN | REFUSED)[kind])
    model = hf.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    for p in model.parameters():  # with the usual range no change would matter
        p.data.mul_(4 if p.ndim > 1 else 1)
    return model


def differences(model, ids):
    """Return how far a model's weights, and its logits without head 3 of the last layer, are from
    those of transformers, and from those with a hook that empties this head; and how far the
    logits move.  model: a HuggingFaceModel.
    """
    theirs = model.model

    def without_head(layer, weights, values):
        if layer == 1:
            weights = weights.clone()
            weights[2] = 0
        return weights, values

    output, weights, _ = model._run(ids)
    mine = model._run(ids, without_head)[0].logits
    *_, attention = (m for m in theirs.modules() if type(m).__name__.endswith("Attention"))
    names = "o_proj", "c_proj", "dense", "out_proj"
    (last,) = (m for name, m in attention.named_children() if name in names)

    def empty(_, args):
        heads = args[0].clone().unflatten(-1, (4, -1))
        heads[..., 2, :] = 0
        return (heads.flatten(-2),)

    theirs.set_attn_implementation("eager")
    hook = last.register_forward_pre_hook(empty)
    with torch.no_grad():
        hooked = theirs(input_ids=ids).logits
        hook.remove()
        shown = theirs(input_ids=ids, output_attentions=True).attentions
    theirs.set_attn_implementation(own_model.NAME)
    apart = max(float((a - b[0]).abs().max()) for a, b in zip(weights, shown, strict=True))
    return apart, float((mine - hooked).abs().max()), float((mine - output.logits).abs().max())


@pytest.fixture(scope="module")
def built(hf, tokenizer):
    """Return build(name), which gives a tiny HuggingFaceModel of that architecture, built here."""
    models = {}

    def build(name):
        if name not in models:
            words = copy.deepcopy(tokenizer)
            models[name] = own_model.HuggingFaceModel(name, of_kind(hf, name), words)
        return models[name]

    return build


def main():
    """Print, for each kind, the differences or the sentence that refuses it."""
    transformers, words = own_model._packages()[0], pieces_of_words()
    for kind in (*SHOWN, *REFUSED):
        try:
            model = own_model.HuggingFaceModel(kind, of_kind(transformers, kind), words)
        except InputError as error:
            print(f"{kind}: refused, {error}")
            assert kind in REFUSED
            continue
        weights, logits, moved = differences(model, model._ids(own_model.LONGER))
        print(f"{model} Weights {weights:.0e}, logits {logits:.0e} of {moved:.0e}.", flush=True)
        assert kind in SHOWN and max(weights, logits) < 1e-5 and moved > 1e-3
        assert sum(model.turned) == TURNED[kind]


if __name__ == "__main__":
    main()
