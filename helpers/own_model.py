"""Real attention: a model of Hugging Face, the pieces of a text, and its weights as Views.

Only the optional notebook "Your own model" uses this, and only the functions here import
transformers: the course does without it.
"""

import inspect
import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from .guard import InputError
from .view import MAX_HEADS, MAX_SIDE, View

PIP = ".venv/bin/python -m pip install"  # as the README says it, for Linux and macOS
INSTALL = f"{PIP} -r notebooks/your_own_model.txt"
WORDS = "a and brown cat dog examined fox has hat in is it man of on one quick saw she the took was"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TINY = "a tiny model with random parameters"
SHORT = "a b c"  # what a model is tried with as soon as it is loaded
# What went wrong, and what to do.
CAUSES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def load_model(name=None):
    """A model to look at, ready to run.

    name: on the Hugging Face hub, such as "distilgpt2" (downloaded the first time, then kept
        on this computer), or a folder with config.json, weights and tokenizer. None builds a
        tiny decoder with random parameters, always the same: no network is needed.
    Returns an OwnModel. Raises InputError, which says what is wrong and what to do.
    """
    transformers = _transformers()
    if name is None:
        return OwnModel(TINY, *_tiny(transformers))
    if not isinstance(name, (str, Path)) or not str(name).strip():
        raise InputError(f"the name is {name!r}; a name on the hub, a folder or None is expected.")
    name = str(name).strip()
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise InputError(
                f"the folder {name} holds no model: a model that was saved has a config.json there."
            )
        return OwnModel(folder.resolve().name, *_load(transformers, name, str(folder), True))
    try:  # from an earlier download: without a network, asking for it takes minutes
        loaded = _load(transformers, name, name, True)
    except InputError:
        loaded = _load(transformers, name, name, False)
    return OwnModel(name, *loaded)


def _transformers():
    """The package, quiet but for the progress of a download."""
    try:
        import transformers
    except ImportError:
        raise InputError(
            f"the package transformers is not installed: run {INSTALL} in the course's folder "
            r"(on Windows .venv\Scripts\python for .venv/bin/python), then restart the kernel."
        ) from None
    if not transformers.utils.is_torch_available():
        raise InputError("this transformers needs a newer PyTorch; there is none for Intel Macs.")
    import huggingface_hub

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    huggingface_hub.utils.enable_progress_bars()
    return transformers


def _tiny(transformers):
    """(model, tokenizer): three layers of four heads, with words and letters as pieces."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    pieces = ["[UNK]", *WORDS.split(), *LETTERS[1:], *(f"##{c}" for c in LETTERS)]
    numbered = {piece: k for k, piece in enumerate(pieces)}
    words = Tokenizer(models.WordPiece(numbered, unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
    # with the usual range, 0.02, attention is even; with 0.2 there is something to see
    config = transformers.GPT2Config(
        vocab_size=len(pieces), n_positions=64, n_embd=32, n_layer=3, n_head=4,
        initializer_range=0.2, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.AutoModel.from_config(config, attn_implementation="eager")
    return model, tokenizer


def _load(transformers, name, place, only_here):
    """(model, tokenizer) from a folder or the hub. only_here: nothing is downloaded."""
    import huggingface_hub

    how = dict(local_files_only=only_here, trust_remote_code=False)
    try:
        if not only_here:  # one question: each file that is asked for in vain takes half a minute
            huggingface_hub.model_info(name, timeout=10)
        config = transformers.AutoConfig.from_pretrained(place, **how)
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **how)
        # last, because they are large; only "eager" keeps the weights of attention
        model, report = transformers.AutoModel.from_pretrained(
            place, config=config, attn_implementation="eager", dtype=torch.float32,
            output_loading_info=True, **how,
        )  # fmt: skip
    except Exception as error:
        raise InputError(f"{name} was not loaded: {_cause(error)}") from None
    if model.main_input_name != "input_ids":
        raise InputError(f"{name} reads {model.main_input_name}, not text; choose a model of text.")
    missing = [key for key in report["missing_keys"] if "pooler" not in key]  # of no use here
    if missing:
        raise InputError(
            f"{name} was not loaded: its files lack {len(missing)} of the model's tensors, such "
            f"as {min(missing)}, and random numbers would stand there; choose another one."
        )
    known, needed = len(tokenizer), getattr(config, "vocab_size", None) or 0
    if known < needed / 2:
        raise InputError(
            f"{name} was not loaded: its tokenizer knows {known} pieces, the model {needed}; the "
            "files of the tokenizer (tokenizer.json or its like) are missing."
        )
    return model, tokenizer


def _cause(error):
    chain = [error]
    while (behind := chain[-1].__cause__ or chain[-1].__context__) and behind not in chain:
        chain.append(behind)
    kinds = " ".join(cls.__name__ for one in chain for cls in type(one).__mro__)
    text = " ".join(map(str, chain))
    for known, sentence in CAUSES.items():
        if re.search(rf"\b({known})\b", kinds) or re.search(known, text):
            return sentence
    named = re.search(r"pip install (?:-U )?([\w-]+)|requires the (\w+) library", text)
    if named and "ImportError" in kinds:
        package = (named[1] or named[2]).lower()
        return f"it needs another package: run {PIP} {package}, then restart the kernel."
    return _first_line(error)


def _first_line(error):
    first, *_ = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {first.strip()}"[:200]


@dataclass
class Look:
    """What a model did with a text, in one of its parts.

    layers: a list of tensors (heads, rows, columns), one for each layer; rows sum to 1.
    rows, columns: the pieces of the text that look, and those that are looked at.
    about: the model and the part.  note: what was cut off; often empty.
    """

    layers: list
    rows: list
    columns: list
    about: str
    note: str = ""

    def view(self, layer=1, head=1, group=1):
        """A View of one head, with the others of its layer beside it.

        layer, head: counted from 1; where there are fewer, the last one.
        group: which sixteen heads of the layer, for models that have more.
        """
        layer = min(max(layer, 1), len(self.layers))
        heads = self.layers[layer - 1]
        groups = heads.split(MAX_HEADS)
        group = min(max(group, 1), len(groups)) - 1
        small, first = groups[group], group * MAX_HEADS
        head = min(max(head, 1), len(small))
        which = f"Layer {layer} of {len(self.layers)}, head {first + head} of {len(heads)}"
        if len(heads) > MAX_HEADS:
            which += f" (beside it heads {first + 1} to {first + len(small)})"
        weights, size = small[head - 1], f"{len(self.rows)} pieces"
        if self.rows is not self.columns:
            size = f"{size} look at {len(self.columns)}"

        def explain(i, j):
            larger = int((weights[i] > weights[i, j]).sum())
            rank = f"{larger} in its row are larger" if larger else "the largest of its row"
            return f"the weight from “{self.rows[i]}” to “{self.columns[j]}”, {rank}"

        return View(
            weights, self.rows, keys=self.columns, heads=small, head=head - 1,
            caption=f"{which}; {size}. Model: {self.about}. {self.note}".strip(), explain=explain,
        )  # fmt: skip

    def even(self):
        """(rows, columns): weights that look alike at everything that any head looks at."""
        seen = torch.stack([(layer > 0).any(0) for layer in self.layers]).any(0).double()
        return seen / seen.sum(-1, keepdim=True)

    def per_head(self, number):
        """A View of layers by heads: number(weights) of each, weights (rows, columns).

        The largest is outlined; the caption says what even weights would give. Where a
        layer has fewer heads than others, nothing is shown.
        """
        table = np.full((len(self.layers), max(map(len, self.layers))), np.nan)
        for row, layer in zip(table, self.layers, strict=True):
            row[: len(layer)] = [float(number(head)) for head in layer]
        caption, lit = f"Even weights would give {float(number(self.even())):.2f}.", []
        if not np.isnan(table).all():
            i, j = np.unravel_index(np.nanargmax(table), table.shape)
            caption = f"Largest: {table[i, j]:.2f} in layer {i + 1}, head {j + 1}. {caption}"
            lit = [(i, j)]
        return View(
            table, [f"layer {i + 1}" for i in range(len(table))],
            keys=[f"head {j + 1}" for j in range(len(table[0]))], axes=("Layer", "Head"),
            highlights=lit, caption=f"{caption} Model: {self.about}. {self.note}".strip(),
        )  # fmt: skip


class OwnModel:
    """A model and its tokenizer; look(text) gives its attention.

    layers, heads: what can be chosen, from 1; of more than 16 heads those of one group.
    groups: {"group": [1, 2, ...]} for models with more than 16 heads, otherwise {}.
    parts: {"part": [...], "answer": text} for models with encoder and decoder, otherwise {}.
    """

    def __init__(self, name, model, tokenizer):
        self.name, self.tokenizer, self.model = name, tokenizer, model.eval()
        self.two_sided = bool(getattr(model.config, "is_encoder_decoder", False))
        self._run = lru_cache(2)(self._run)  # moving a slider asks for the same text again
        every = self._run(SHORT, SHORT)
        layers = [layer for look in every.values() for layer in look.layers]
        self.layers = list(range(1, max(len(look.layers) for look in every.values()) + 1))
        self.heads = list(range(1, min(MAX_HEADS, max(map(len, layers))) + 1))
        groups = max(len(layer.split(MAX_HEADS)) for layer in layers)
        self.groups = {"group": list(range(1, groups + 1))} if groups > 1 else {}
        self.parts = {"part": list(every), "answer": "it"} if self.two_sided else {}

    def __repr__(self):
        lines = [f"{self.name}: {type(self.model).__name__}, texts of up to {self.limit()} pieces"]
        for part, look in self._run(SHORT, SHORT).items():
            counts = sorted({len(layer) for layer in look.layers})
            heads = " to ".join(map(str, {counts[0]: 0, counts[-1]: 0}))
            lines.append(f"{part}: {len(look.layers)} layers of {heads} heads")
        return "\n".join(lines)

    def limit(self):
        """Pieces that are looked at: what the model takes, at most 512."""
        positions = getattr(self.model.config, "max_position_embeddings", None) or 0
        most = [x for x in (positions, self.tokenizer.model_max_length) if x > 0]  # -1 is "any"
        return int(min([*most, MAX_SIDE]))

    def look(self, text, part=None, answer=""):
        """What the model does with this text: a Look.

        part: of a model with encoder and decoder "encoder", "decoder" or "cross" (rows of the
            decoder look at columns of the encoder); by default the first.
        answer: what its decoder has written so far.
        Raises InputError if there is no text or the model shows no attention.
        """
        for what, given in (("the text", text), ("the answer", answer)):
            if not isinstance(given, str):
                raise InputError(f"{what} is {str(given)[:40]!r}; words are expected.")
        if not text.strip():
            raise InputError("there is no text: type at least one word.")
        looks = self._run(text, answer)
        part = next(iter(looks)) if part is None else part
        if part not in looks:
            raise InputError(f"part is {str(part)[:40]!r}; this model has {', '.join(looks)}.")
        return looks[part]

    def _run(self, text, answer):
        """{part: Look} of all parts of the model."""
        ids, note = self._pieces(text)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if self.two_sided:
            inputs["decoder_input_ids"], more = self._answer(answer)
            note = f"{note} {more}".strip()
        output = self._forward(inputs)
        rows = self._names(ids)
        if not self.two_sided:
            layers = self._layers(output, "attentions", rows, rows)
            part = "encoder" if any(layer.triu(1).any() for layer in layers) else "decoder"
            return {part: Look(layers, rows, rows, self.name, note)}
        written = self._names(inputs["decoder_input_ids"])
        sides = {"encoder": (rows, rows), "decoder": (written, written), "cross": (written, rows)}
        looks = {}
        for part, pieces in sides.items():
            layers = self._layers(output, f"{part}_attentions", *pieces)
            looks[part] = Look(layers, *pieces, f"{self.name}, {part}", note)
        return looks

    def _forward(self, inputs):
        parameters = inspect.signature(self.model.forward).parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        inputs = {**inputs, "output_attentions": True}
        if not takes_all:
            inputs = {name: x for name, x in inputs.items() if name in parameters}
        try:
            with torch.no_grad():
                return self.model(**inputs)
        except Exception as error:
            raise InputError(
                f"{self.name} could not be run on this text: {_first_line(error)} Try a shorter "
                "text; a model that needs more than a text (pictures, sound) cannot be shown here."
            ) from None

    def _pieces(self, text):
        """(ids (1, n), a note about what was cut off)"""
        limit = self.limit()
        try:
            ids = self.tokenizer(text, verbose=False)["input_ids"]
            total = len(ids)
            if total > limit:
                ids = self.tokenizer(text, truncation=True, max_length=limit)["input_ids"]
        except Exception as error:
            raise InputError(f"the tokenizer cannot read this text: {_first_line(error)}") from None
        if total == 0:
            raise InputError("the tokenizer finds nothing in this text: type at least one word.")
        why = "no more can be drawn" if limit == MAX_SIDE else "the model takes no more"
        note = f"Only the first {limit} of {total} pieces: {why}." * (total > limit)
        return torch.tensor([ids]), note

    def _answer(self, text):
        """The same for what the decoder has written: behind the piece that starts it."""
        config = self.model.config
        starts = ("decoder_start_token_id", "bos_token_id", "pad_token_id")
        known = (getattr(config, name, None) for name in starts)
        start = torch.tensor([[next((k for k in known if k is not None), 0)]])
        if not text.strip():
            return start, ""
        limit = self.limit()
        ids = self.tokenizer(text_target=text, add_special_tokens=False, verbose=False)["input_ids"]
        note = f"Only the first {limit - 1} of {len(ids)} pieces of the answer."
        return torch.cat([start, torch.tensor([ids])], 1)[:, :limit], note * (len(ids) >= limit)

    def _names(self, ids):
        """The pieces as they are read: without the marks of a space, but never empty."""
        names = []
        for number in ids[0].tolist():
            text = self.tokenizer.decode([number]).strip()
            if not text or "\ufffd" in text:  # a space, or a part of a letter
                text = str(self.tokenizer.convert_ids_to_tokens(number))
            names.append(text)
        return names

    def _layers(self, output, name, rows, columns):
        """The attentions of this name, of a batch of one: a list of (heads, rows, columns)."""
        layers = [x for x in getattr(output, name, None) or () if torch.is_tensor(x)]
        kind = f"{self.name} ({type(self.model).__name__})"
        if not layers:
            raise InputError(
                f"{kind} returned no attention weights, although it was asked for them: it "
                "computes without attention, or keeps the weights to itself; choose another "
                "model, such as distilgpt2."
            )
        shapes = {tuple(layer.shape[:1] + layer.shape[2:]) for layer in layers}
        if shapes != {(1, len(rows), len(columns))} or layers[0].ndim != 4:
            raise InputError(
                f"{kind} returned weights of the shape {tuple(layers[0].shape)}, which are not "
                f"one for each pair of {len(rows)} x {len(columns)} pieces; choose another model."
            )
        return [layer[0] for layer in layers]
