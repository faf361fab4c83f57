"""Load a Hugging Face model for the course's pictures, or explain why that fails.

Only the optional notebook "Your own model" uses this, and only the functions here import
transformers: no lesson needs it.
"""

import re
import tomllib
from pathlib import Path

import torch

from ..errors import InputError
from . import intervene
from .inside import GAP, KINDS, NEXT, OwnModel, first_line

INSTALL = ".venv/bin/python -m pip install -r notebooks/your_own_model.txt"
WORDS = "a and brown cat dog examined fox has hat in is it man of on one quick saw she the took was"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TINY = "a tiny model with random parameters"
# Patterns of errors: what is wrong, and what to do.
CAUSES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def load_model(name=None):
    """Return an OwnModel, ready to run.

    name: on the Hugging Face hub, such as "distilgpt2" (downloaded the first time, then kept
        on this computer), or a folder with config.json, weights and tokenizer. None builds a
        tiny decoder with random parameters, always the same ones, without a network.
    Raises InputError, with what is wrong and what to do.
    """
    transformers = _transformers()
    if name is None:
        return OwnModel(TINY, *_tiny(transformers))
    if not isinstance(name, (str, Path)) or not str(name).strip():
        raise InputError(f"the name is {name!r}; a name on the hub, a folder or None is expected.")
    place = str(name).strip()
    folder = Path(place).expanduser()
    if folder.is_dir():
        return OwnModel(folder.resolve().name, *_load(transformers, str(folder), True))
    try:  # an earlier download first: without a network, a question to the hub takes minutes
        loaded = _load(transformers, place, True)
    except InputError:
        loaded = _load(transformers, place, False)
    return OwnModel(place, *loaded)


def _transformers():
    """Return the package, silent except for the progress of a download."""
    try:
        import transformers
    except ImportError:
        raise InputError(
            f"the package transformers is not installed; run {INSTALL} in the course's folder "
            r"(on Windows .venv\Scripts\python for .venv/bin/python), then restart the kernel."
        ) from None
    if not transformers.utils.is_torch_available():
        raise InputError(f"this transformers needs a newer PyTorch; run {INSTALL} again.")
    import huggingface_hub

    intervene.register(transformers)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    huggingface_hub.utils.enable_progress_bars()
    return transformers


def _tiny(transformers):
    """Return (model, tokenizer, asks): three layers of four heads; words and letters as pieces."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    pieces = ["[UNK]", *WORDS.split(), *LETTERS[1:], *(f"##{c}" for c in LETTERS)]
    numbered = {piece: k for k, piece in enumerate(pieces)}
    words = Tokenizer(models.WordPiece(numbered, unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
    # with the usual range, 0.02, attention is nearly even; with 0.2 the weights differ
    config = transformers.GPT2Config(
        vocab_size=len(pieces), n_positions=64, n_embd=32, n_layer=3, n_head=4,
        initializer_range=0.2, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.GPT2LMHeadModel._from_config(config, attn_implementation="eager")
    return model, tokenizer, NEXT


def _load(transformers, place, only_here):
    """Return (model, tokenizer, asks) from a folder or the hub.  only_here: without a download."""
    import huggingface_hub

    how = dict(local_files_only=only_here, trust_remote_code=False)
    try:
        if not only_here:  # one question: each file that is missing takes half a minute
            huggingface_hub.model_info(place, timeout=10)
        config = transformers.AutoConfig.from_pretrained(place, **how)
        if getattr(config, "is_encoder_decoder", False):
            raise InputError(f"it has an encoder and a decoder, which does not work here; {KINDS}.")
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **how)
        if len(tokenizer) < (getattr(config, "vocab_size", None) or 0) / 2:
            raise InputError("its tokenizer is missing; copy its files, such as tokenizer.json.")
        for kind, asks in _heads(transformers, config):
            # last, because they are large; only "eager" keeps the weights of attention
            model, report = kind.from_pretrained(
                place, config=config, attn_implementation="eager", dtype=torch.float32,
                output_loading_info=True, **how,
            )  # fmt: skip
            # missing tensors would be filled with random numbers; a pooler is not used here
            missing = [key for key in report["missing_keys"] if "pooler" not in key]
            if not missing:
                return model, tokenizer, asks
        raise InputError(f"its files lack tensors, such as {min(missing)}; copy all of them again.")
    except Exception as error:
        why = str(error) if isinstance(error, InputError) else _cause(error)
        raise InputError(f"{place} was not loaded: {why}") from None


def _heads(transformers, config):
    """Return the classes to try, each with what it predicts; the last one predicts nothing."""
    both = [(transformers.AutoModelForCausalLM, NEXT), (transformers.AutoModelForMaskedLM, GAP)]
    known = [(kind, asks) for kind, asks in both if type(config) in kind._model_mapping]
    # a model that can be either was saved as one of them
    saved = config.architectures or ()
    named = [one for one in known if one[0]._model_mapping[type(config)].__name__ in saved]
    return [*(named or known[-1:]), (transformers.AutoModel, "")]


def _cause(error):
    """Return what an error of transformers, or its cause, means for the reader."""
    chain = [error]
    while (behind := chain[-1].__cause__ or chain[-1].__context__) and behind not in chain:
        chain.append(behind)
    text = " ".join(f"{[cls.__name__ for cls in type(one).__mro__]} {one}" for one in chain)
    known = (sentence for named, sentence in CAUSES.items() if re.search(rf"\b({named})\b", text))
    return next(known, first_line(error))
