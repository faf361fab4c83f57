"""Real attention: a model of Hugging Face, the pieces of a text, its weights as Views, and what
it answers when they are changed.

Only the optional notebook "Your own model" uses this, and only the functions here import
transformers: the course does without it.
"""

import inspect
import re
import tomllib
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import torch

from . import intervene
from .guard import InputError
from .training import counted
from .view import MAX_HEADS, MAX_SIDE, View

PIP = ".venv/bin/python -m pip install"  # as the README says it, for Linux and macOS
INSTALL = f"{PIP} -r notebooks/your_own_model.txt"
WORDS = "a and brown cat dog examined fox has hat in is it man of on one quick saw she the took was"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TINY = "a tiny model with random parameters"
SHORT = "a b c"  # what a model is tried with as soon as it is loaded
LONGER = " ".join(LETTERS)  # reaches beyond a small window
NEXT, GAP = "what comes next", "what stands in the gap"
LIKELIEST = 5
AT_ONCE = 1024  # pieces in one run, of all copies of a text together
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

    intervene.register(transformers)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    huggingface_hub.utils.enable_progress_bars()
    return transformers


def _tiny(transformers):
    """(model, tokenizer, answers): three layers of four heads; words and letters as pieces."""
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
        model = transformers.GPT2LMHeadModel._from_config(config, attn_implementation="eager")
    return model, tokenizer, NEXT


def _load(transformers, name, place, only_here):
    """(model, tokenizer, what it answers) from a folder or the hub. only_here: no download."""
    import huggingface_hub

    how = dict(local_files_only=only_here, trust_remote_code=False)
    try:
        if not only_here:  # one question: each file that is asked for in vain takes half a minute
            huggingface_hub.model_info(name, timeout=10)
        config = transformers.AutoConfig.from_pretrained(place, **how)
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **how)
        for kind, answers in _heads(transformers, config):
            # last, because they are large; only "eager" keeps the weights of attention
            model, report = kind.from_pretrained(
                place, config=config, attn_implementation="eager", dtype=torch.float32,
                output_loading_info=True, **how,
            )  # fmt: skip
            if not report["missing_keys"]:
                break
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
    return model, tokenizer, answers


def _heads(transformers, config):
    """The classes to try, each with what it answers; the last one has no head for answers."""
    both = [(transformers.AutoModelForCausalLM, NEXT), (transformers.AutoModelForMaskedLM, GAP)]
    if getattr(config, "is_encoder_decoder", False):
        both = [(transformers.AutoModelForSeq2SeqLM, NEXT)]
    # those that can do both were saved as one of them
    named = [
        (kind, answers)
        for kind, answers in both
        if type(config) in kind._model_mapping
        and kind._model_mapping[type(config)].__name__ in (config.architectures or ())
    ]
    known = [(kind, answers) for kind, answers in both if type(config) in kind._model_mapping]
    return [*(named or known[-1:]), (transformers.AutoModel, "")]


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

    layers: a list of tensors (heads, rows, columns), one for each layer of the model; where a
        layer has no attention, it has 0 heads. Rows sum to 1.
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
        if not len(heads):
            where = ", ".join(map(str, self.numbers()))
            raise InputError(f"layer {layer} has no attention; these layers have it: {where}.")
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

    def numbers(self):
        """The layers that have attention, counted from 1."""
        return [k + 1 for k, layer in enumerate(self.layers) if len(layer)]

    def per_head(self, number):
        """A View of layers by heads: number(weights) of each, weights (rows, columns).

        The largest is outlined; the caption says what weights would give that are even over
        all that any head of the layer looks at: from, to, where layers look at different pieces.
        Raises InputError if number has no value for any head (nan).
        """
        layers = [layer for layer in self.layers if len(layer)]
        found = [[float(number(head)) for head in layer] for layer in layers]
        if np.isnan(sum(found, [])).all():
            raise InputError(
                f"a text of {len(self.rows)} x {len(self.columns)} pieces has no such number; "
                "type a longer one."
            )
        even = {f"{float(number(intervene.even(layer)[0])):.2f}" for layer in layers}
        ends = " to ".join(sorted({min(even, key=float), max(even, key=float)}, key=float))
        return self.by_heads(found, f"Even weights would give {ends}.")

    def by_heads(self, found, caption):
        """A View of layers by heads, the largest outlined.

        found: for each layer that has attention a list of a number for each head; where a head
        has none (nan), or a layer has fewer heads than others, nothing is shown.
        """
        table = np.full((len(found), max(map(len, found))), np.nan)
        for row, numbers in zip(table, found, strict=True):
            row[: len(numbers)] = numbers
        lit, layers = [], self.numbers()
        if not np.isnan(table).all():
            i, j = np.unravel_index(np.nanargmax(table), table.shape)
            caption = f"Largest: {table[i, j]:.2f} in layer {layers[i]}, head {j + 1}. {caption}"
            lit = [(i, j)]
        return View(
            table, [f"layer {layer}" for layer in layers], shown=~np.isnan(table),
            keys=[f"head {j + 1}" for j in range(len(table[0]))], axes=("Layer", "Head"),
            highlights=lit, caption=f"{caption} Model: {self.about}. {self.note}".strip(),
        )  # fmt: skip


class OwnModel:
    """A model and its tokenizer; look(text) gives its attention, answers(text) what it answers.

    layers, heads: what can be chosen, from 1; of more than 16 heads those of one group.
    groups: {"group": [1, 2, ...]} for models with more than 16 heads, otherwise {}.
    parts: {"part": [...], "answer": text} for models with encoder and decoder, otherwise {}.
    asks: what it answers, "what comes next" or "what stands in the gap"; "" if nothing.
    silent: why its weights cannot be changed; "" if they can.
    """

    def __init__(self, name, model, tokenizer, asks):
        self.name, self.tokenizer, self.model, self.asks = name, tokenizer, model.eval(), asks
        self.two_sided = bool(getattr(model.config, "is_encoder_decoder", False))
        self._run = lru_cache(2)(self._run)  # moving a slider asks for the same text again
        self._calls, self.silent = [], ""
        self._attach()
        every, _ = self._run(SHORT, SHORT)
        layers = [layer for look in every.values() for layer in look.layers]
        self.layers = sorted({k for look in every.values() for k in look.numbers()})
        self.heads = list(range(1, min(MAX_HEADS, max(map(len, layers))) + 1))
        groups = max(len(layer.split(MAX_HEADS)) for layer in layers)
        self.groups = {"group": list(range(1, groups + 1))} if groups > 1 else {}
        self.parts = {"part": list(every), "answer": "it"} if self.two_sided else {}

    def __repr__(self):
        lines = [f"{self.name}: {type(self.model).__name__}, texts of up to {self.limit()} pieces"]
        for part, look in self._run(SHORT, SHORT)[0].items():
            counts = sorted({len(layer) for layer in look.layers if len(layer)})
            heads = " to ".join(map(str, {counts[0]: 0, counts[-1]: 0}))
            line = f"{part}: {len(look.layers)} layers of {heads} heads"
            if len(look.numbers()) < len(look.layers):
                line += f", in {len(look.numbers())} of them: {', '.join(map(str, look.numbers()))}"
            lines.append(line)
        said = f"it answers {self.asks}" if self.asks else "it has no head that answers"
        lines.append(f"{said}; its weights {'cannot' if self.silent else 'can'} be changed")
        return "\n".join(lines)

    def _attach(self):
        """Let the model compute attention by our function, if it then gives the same numbers."""
        inputs, *_ = self._inputs(LONGER, LONGER)
        plain = self._forward(inputs)[0]
        run = intervene.Run()
        try:
            self.model.set_attn_implementation(intervene.NAME)
            with run.watch():
                same = self._forward(inputs)[0]
            if not run.modules:
                raise InputError(
                    f"{type(self.model).__name__} does not use transformers' interface of "
                    "attention functions"
                )
            if not torch.allclose(plain, same, rtol=1e-5, atol=1e-6):
                raise InputError("through the interface of attention functions it computes others")
            self._calls = self._numbered(run.modules)
        except Exception as error:
            self.silent = _first_line(error)
            self.model.set_attn_implementation("eager")

    def _numbered(self, modules):
        """[(part, layer, layers of this part)] of each call of attention."""
        if not self.two_sided:
            layers, total = intervene.places(self.model, modules)
            if len(set(layers)) < len(layers):
                raise InputError("some of its layers compute attention more than once")
            return [("", layer, total) for layer in layers]
        inside = set(self.model.get_encoder().modules())
        reads = [module for module in modules if module in inside]
        layers, total = intervene.places(self.model, reads)
        calls = [("encoder", layer, total) for layer in layers]
        layers, total = intervene.places(self.model, modules[len(reads) :])
        for k, layer in enumerate(layers):  # each layer looks at its own pieces first
            calls.append(("cross" if layer in layers[:k] else "decoder", layer, total))
        return calls

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
        looks, _ = self._run(text, answer)
        part = next(iter(looks)) if part is None else part
        if part not in looks:
            raise InputError(f"part is {str(part)[:40]!r}; this model has {', '.join(looks)}.")
        return looks[part]

    def weights(self, text, part=None, answer=""):
        """look(text, part, answer).layers: a list by layer of tensors (heads, rows, columns)."""
        return self.look(text, part, answer).layers

    @cached_property
    def pieces(self):
        """The names of all possible answers, a list."""
        return self._names(range(self.answers(f"{SHORT} ___").numel()))

    def answers(self, text, change=None, part=None, answer=""):
        """How likely each answer is: log-probabilities (pieces,), named by self.pieces.

        text: a model that says what stands in the gap needs one, typed as ___.
        change(layer, weights) -> weights: called in every layer with attention while the model
            runs; layer counted from 0, weights (heads, rows, columns) after softmax. What it
            returns is what meets the values.
        part, answer: as for look(); of a model with encoder and decoder the weights of one part
            are changed, by default the encoder's.
        Raises InputError if the model answers nothing, if its weights cannot be changed, or if
        change returns something else.
        """
        self.look(text, part, answer)
        before = self._run(text, answer)[1]
        if not self.asks:
            raise InputError(f"{self.name} was saved without a head that says {NEXT} or {GAP}.")
        if before is None:
            raise InputError(f"{self.name} says {GAP}: type ___ once, for the piece that is missing.")
        if change is None:
            return before[0]

        def one(layer, weights):
            changed = change(layer, weights[0].clone())
            if not torch.is_tensor(changed) or changed.shape != weights.shape[1:]:
                got = getattr(changed, "shape", type(changed).__name__)
                raise InputError(
                    f"change returned {got}; weights of {weights.shape[1:]}, heads by rows by "
                    "columns, are expected."
                )
            return changed[None]

        return self._answers(text, answer, part, one)[0]

    def likeliest(self, answers):
        """The five likeliest of answers (pieces,): "hat 0.31, dog 0.12, ..."."""
        best = answers.exp().topk(min(LIKELIEST, len(answers)))
        names = self._names(best.indices.tolist())
        return ", ".join(f"{n} {p:.2f}" for n, p in zip(names, best.values.tolist(), strict=True))

    def without(self, text, layer, head, keep, group=1, part=None, answer=""):
        """A View of one head with weights taken out, and what the model answers before and after.

        layer, head, group: as for Look.view, from 1.  keep: bool (rows, columns), False where a
        weight is taken out; the rest of its row is divided so that it sums as before.
        """
        look = self.look(text, part, answer)
        view = look.view(layer, head, group)
        layer = min(max(layer, 1), len(look.layers)) - 1
        place = (group - 1) * MAX_HEADS + view.head
        if tuple(keep.shape) != view.matrix.shape:
            raise InputError(
                f"keep has the shape {tuple(keep.shape)}; {view.matrix.shape} is expected, rows by "
                "columns of this text."
            )

        def change(number, weights):
            if number == layer:
                weights[place] = intervene.without(weights[place], keep)
            return weights

        before = self.answers(text, None, part, answer)
        after = self.answers(text, change, part, answer)
        gone = ~keep & (look.layers[layer][place] > 0)
        moved = float((before.exp() - after.exp()).abs().sum() / 2)
        said = (
            f"Before: {self.likeliest(before)}.\nAfter: {self.likeliest(after)}.\n"
            f"{moved:.2f} of the probability moved."
        )
        return replace(
            view, matrix=intervene.without(look.layers[layer][place], keep), heads=None, head=None,
            marked={"out": gone}, caption=f"{said} {view.caption}",
        )  # fmt: skip

    def effects(self, text, part=None, answer=""):
        """A View of layers by heads: how much the answer changes when one head is made even.

        The head's weights are made even over all that its layer looks at. The change is the
        total variation: the share of the probability that moves to other answers, from 0 to 1.
        A bar grows meanwhile; interrupted, it shows what was computed by then.
        Raises InputError as answers() does.
        """
        look = self.look(text, part, answer)
        before = self.answers(text, None, part, answer).exp()
        found = [[np.nan] * len(layer) for layer in look.layers]
        several = max(1, AT_ONCE // max(len(look.rows), len(look.columns)))
        jobs = [
            (layer, heads)
            for layer, numbers in enumerate(found)
            for heads in torch.arange(len(numbers)).split(several)
            if len(heads)
        ]
        note, done = "", 0
        try:
            for k in counted(len(jobs), "heads made even"):
                at, heads = jobs[k]

                def change(layer, weights, at=at, heads=heads):
                    if layer != at:
                        return weights
                    weights, copies = weights.clone(), torch.arange(len(heads))
                    even = intervene.even(weights)[:, 0]
                    weights[copies, heads] = even * weights[copies, heads].sum(-1, keepdim=True)
                    return weights

                after = self._answers(text, answer, part, change, len(heads)).exp()
                moved = (after - before).abs().sum(-1) / 2
                for head, share in zip(heads.tolist(), moved.tolist(), strict=True):
                    found[at][head] = share
                done += len(heads)
        except KeyboardInterrupt:
            print()
            note = f"Stopped after {done} of {sum(map(len, found))} heads. "
        caption = f"{note}The share of the probability that moves when the head is made even."
        return look.by_heads([row for row in found if row], caption)

    def _answers(self, text, answer, part, change, copies=1):
        """Log-probabilities (copies, pieces) with change(layer, weights (copies, heads, ...))."""
        if self.silent:
            raise InputError(f"the weights of {self.name} cannot be changed: {self.silent}.")
        inputs, *_ = self._inputs(text, answer)
        part = part or self._calls[0][0]

        def at(call, weights):
            which, layer, _ = self._calls[call]
            return change(layer, weights) if which in ("", part) else weights

        inputs = {name: x.expand(copies, -1) for name, x in inputs.items()}
        return self._said(self._forward(inputs, run := intervene.Run(at)), inputs)

    def _said(self, output, inputs):
        """Log-probabilities (copies, pieces) of the answer; None if there is none."""
        if not self.asks:
            return None
        place = -1
        if self.asks == GAP:
            gaps = (inputs["input_ids"][0] == self.tokenizer.mask_token_id).nonzero().flatten()
            if len(gaps) != 1:
                return None
            place = int(gaps)
        return output.logits[:, place].log_softmax(-1)

    def _inputs(self, text, answer):
        """(what the model gets, {part: its pieces}, a note on what was cut off)"""
        ids, note = self._pieces(text)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        rows = self._names(ids[0].tolist())
        if not self.two_sided:
            return inputs, {"": (rows, rows)}, note
        inputs["decoder_input_ids"], more = self._answer(answer)
        written = self._names(inputs["decoder_input_ids"][0].tolist())
        sides = {"encoder": (rows, rows), "decoder": (written, written), "cross": (written, rows)}
        return inputs, sides, f"{note} {more}".strip()

    def _run(self, text, answer):
        """({part: Look} of all parts of the model, its answers)"""
        inputs, sides, note = self._inputs(text, answer)
        run = intervene.Run()
        output = self._forward(inputs, run)
        looks = {}
        for part, (rows, columns) in sides.items():
            layers = self._layers(run, output, part, rows, columns)
            if not part:
                part = "encoder" if any(x.triu(1).any() for x in layers) else "decoder"
            about = f"{self.name}, {part}" if self.two_sided else self.name
            looks[part] = Look(layers, rows, columns, about, note)
        return looks, self._said(output, inputs)

    def _forward(self, inputs, run=None):
        """What the model gives; run: an intervene.Run that watches it."""
        parameters = inspect.signature(self.model.forward).parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        if not self._calls:  # those of run.weights otherwise
            inputs = {**inputs, "output_attentions": True}
        if not takes_all:
            inputs = {name: x for name, x in inputs.items() if name in parameters}
        wanted = {"use_cache": False, "logits_to_keep": 1}  # of the last piece only
        if self.asks == GAP:
            del wanted["logits_to_keep"]
        inputs |= {name: x for name, x in wanted.items() if name in parameters}
        try:
            with torch.no_grad(), run.watch() if run else nullcontext():
                output = self.model(**inputs)
            if run and len(run.modules) != len(self._calls) and self._calls:
                raise ValueError("its layers compute attention as often as the text asks for.")
            return output
        except Exception as error:
            if run and run.error:  # what the reader's function raised is the reader's
                raise run.error from None
            raise InputError(
                f"{self.name} could not be run on this text: {_first_line(error)} Try a shorter "
                "text; a model that needs more than a text (pictures, sound) cannot be shown here."
            ) from None

    def _pieces(self, text):
        """(ids (1, n), a note about what was cut off)"""
        limit = self.limit()
        if self.asks == GAP and self.tokenizer.mask_token:
            text = re.sub("_{3,}", self.tokenizer.mask_token, text)
        try:
            ids = self.tokenizer(text, verbose=False)["input_ids"]
            total = len(ids)
            if total > limit:
                ids = self.tokenizer(text, truncation=True, max_length=limit)["input_ids"]
        except Exception as error:
            raise InputError(f"the tokenizer cannot read this text: {_first_line(error)}") from None
        if total == 0:
            raise InputError("the tokenizer finds nothing in this text: type at least one word.")
        if self.asks == NEXT and not self.two_sided and ids[-1] == self.tokenizer.eos_token_id:
            ids, total = ids[:-1] or ids, max(total - 1, 1)  # nothing comes after the end
        table = getattr(self.model.get_input_embeddings(), "num_embeddings", None)
        if table and max(ids) >= table:
            raise InputError(
                f"the tokenizer of {self.name} gives the piece number {max(ids)}, the model knows "
                f"{table}: it belongs to another model; put this model's own tokenizer there."
            )
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
        """The pieces of these numbers as they are read: without the marks of a space, but never empty."""
        names = []
        for number in ids:
            text = self.tokenizer.decode([number]).strip()
            if not text or "\ufffd" in text:  # a space, or a part of a letter
                text = str(self.tokenizer.convert_ids_to_tokens(number))
            names.append(text)
        return names

    def _layers(self, run, output, part, rows, columns):
        """The weights of a part of the model, of a batch of one: a list of (heads, rows, columns)."""
        pairs = zip(self._calls, run.weights, strict=False)
        known = {layer: x for (which, layer, _), x in pairs if which == part}
        total = max((total for which, _, total in self._calls if which == part), default=0)
        layers = list(known.values())
        if not self._calls:
            name = f"{part}_attentions" if part else "attentions"
            layers = [x for x in getattr(output, name, None) or () if torch.is_tensor(x)]
            known, total = dict(enumerate(layers)), len(layers)
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
        none = layers[0].new_zeros(0, len(rows), len(columns))
        return [known[k][0] if k in known else none for k in range(total)]
