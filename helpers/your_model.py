"""A model that the reader brings: its attention, and its answers when weights are changed.

Only the notebook "Your own model" uses this. Without a name it is the story model of lesson 10; a
Hugging Face model needs transformers, which is imported only then.

A model that computes attention with transformers' AttentionInterface calls the function that is
registered under a name. Ours calls the model's own eager function: scaling, mask, window, cap, bias
and softmax stay the model's. Only changed weights are multiplied with the values again.
Source: transformers, "Attention Interface" in its documentation.
"""

import sys
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from .errors import InputError
from .lessons.stories import load_stories, look, numbered
from .lessons.training import counted
from .pictures.view import MAX_HEADS, MAX_SIDE, View

INSTALL = ".venv/bin/python -m pip install -r notebooks/your_own_model.txt"
# the text that every model is tried on when it is loaded; longer than a small window
LONGER = "a b c d e f g h i j k l m n o p q r s t u v w x y z"
NAME = "weights_that_can_be_changed"
WORK = "Two that work: distilgpt2 and HuggingFaceTB/SmolLM2-135M."
NO_DECODER = f"it is no decoder, which predicts what comes next from what stands before. {WORK}"
NO_TOKENIZER = (
    "its files have no tokenizer that can be read, to cut a text into pieces; tokenizer.json and "
    "tokenizer_config.json are expected, as tokenizer.save_pretrained writes them."
)
LIKELIEST = 5
# (change, weights so far, keys and values so far) of a run; each thread has its own
_running = ContextVar("running")


def load_model(name=None):
    """Return an OwnModel, ready to run.

    name: on the Hugging Face hub, such as "distilgpt2" (downloaded the first time, then kept
        on this computer), or a folder with config.json, weights and tokenizer. None is the story
        model of lesson 10.
    Raises InputError if the model cannot be loaded, or its weights cannot be read and changed.
    """
    if name is None:
        return StoryModel()
    transformers, hub = _packages()
    folder = Path(name).expanduser()
    try:
        if folder.is_dir():
            return HuggingFaceModel(folder.resolve().name, *_load(transformers, folder))
        try:  # an earlier download first: without a network, a question to the hub takes minutes
            loaded = _load(transformers, name)
        except Exception:  # incomplete, or not there
            hub.model_info(name, timeout=10)  # fails sooner than a download
            loaded = _load(transformers, name, only_here=False)
        return HuggingFaceModel(name, *loaded)
    except Exception as error:  # transformers raises almost any
        first, *_ = str(error).strip().splitlines() or [""]
        why = first if isinstance(error, InputError) else f"{type(error).__name__}: {first}"[:200]
        raise InputError(f"{name} cannot be shown: {why}") from None


def even(weights):
    """Return even weights (n, n) over all pieces that a head of a layer (heads, n, n) looks at."""
    seen = (weights > 0).any(0)
    return seen / seen.sum(-1, keepdim=True).clamp(min=1)


@dataclass
class Look:
    """What a model did with a text.

    pieces: n str.  weights: for each layer a tensor (heads, n, n).  answers: (known pieces,), the
    probability of each to come next.
    """

    pieces: list
    weights: list
    answers: torch.Tensor


class OwnModel:
    """What the notebook does with a model: views of its weights, answers with weights changed.

    layers, heads: the numbers to choose from, starting at 1.
    key_heads: how many heads of keys each layer has; fewer than heads if several read the same.
    turned: for each layer, whether positions turn its queries and keys, or a part of them.
    A kind of model defines look(text, change=None) -> Look, and known(numbers) -> names of pieces.
    """

    def __init__(self, name, text, key_heads=(), turned=()):
        self.name, found = name, self.look(text)
        self.layers = [k + 1 for k in range(len(found.weights))]
        self.heads = [k + 1 for k in range(len(found.weights[0]))]
        self.key_heads = list(key_heads) or [len(self.heads)] * len(self.layers)
        self.turned = list(turned) or [False] * len(self.layers)

    def __repr__(self):
        size = f"{_count(self.layers, 'layer')} of {_count(self.heads, 'head')}"
        fewest, most = min(self.key_heads), max(self.key_heads)
        if fewest < len(self.heads):
            few = f"{fewest} to " if fewest < most else ""
            size += f", which share {few}{_count(range(most), 'head')} of keys and values"
        count, turned = sum(self.turned), ""
        if count:
            where = f" in {count} of {len(self.layers)} layers" if count < len(self.layers) else ""
            turned = f" Queries and keys are turned by their positions{where}."
        return f"{self.name}: {size}.{turned} It predicts what comes next."

    def answers(self, text, change=None):
        """Return the probability of each known piece to come next, (known pieces,).

        change(layer, weights, values) -> weights, values: called in every layer while the model
            runs; layer counted from 0, weights (heads, n, n) after softmax, values (heads, n, d).
        """
        return self.look(text, change).answers

    def likeliest(self, answers):
        """Return the five likeliest of answers (known pieces,) as text: "hat 0.31, dog 0.12"."""
        best = answers.topk(min(LIKELIEST, len(answers)))
        names = self.known(best.indices.tolist())
        return ", ".join(f"{n} {p:.2f}" for n, p in zip(names, best.values.tolist(), strict=True))

    def view(self, text, layer=1, head=1):
        """Return a View of one head, with those of its layer small next to it if they are few.

        layer, head: counted from 1.
        """
        return self._view(self.look(text), layer, head)

    def without(self, text, layer, head, keep):
        """Return a View of one head with weights taken out, and the answers before and after.

        layer, head: counted from 1.  keep: bool (n, n), False where a weight is set to 0; all
        others stay. The view is reached when the likeliest answer has less than half of the
        probability that it had.
        """
        look, keep = self.look(text), torch.as_tensor(keep).bool()
        own = look.weights[layer - 1][head - 1]
        left = own * keep
        after = self.answers(text, _put(layer - 1, head - 1, left))
        view = self._view(look, layer, head)
        best = int(look.answers.argmax())
        (name,) = self.known([best])
        lost = after[best] < look.answers[best] / 2
        return replace(
            view, matrix=left, heads=None, head=None, marked={"out": ~keep & (own > 0)},
            caption=f"Before: {self.likeliest(look.answers)}.\n"
            f"After: {self.likeliest(after)}.\n{view.caption}",
            reached=f"Now “{name}” has {after[best]:.2f}." if lost else "",
        )  # fmt: skip

    def per_head(self, text, number):
        """Return a View of layers by heads: number(weights) of each head, weights (n, n).

        The largest is outlined. The caption gives the number for even weights; a range if it
        differs between layers.  Raises InputError if the text is too short to have the number.
        """
        look = self.look(text)
        found = [[float(number(head.clone())) for head in layer] for layer in look.weights]
        if np.isnan(found).any():
            raise InputError("this text is too short for this question; type a longer one.")
        ends = sorted(float(number(even(layer))) for layer in look.weights)
        ends = " to ".join(dict.fromkeys(f"{x:.2f}" for x in (ends[0], ends[-1])))
        return self._map(found, f"Even weights would give {ends}.")

    def effects(self, text):
        """Return a View of layers by heads: how much the answer changes without each head.

        All weights of the head are set to 0. The change is the total variation: the share of the
        probability that moves to other answers, from 0 to 1.
        Prints a bar: a large model has hundreds of heads.
        """
        before = self.answers(text)

        def moved(at, head):
            return float((self.answers(text, _put(at, head, 0)) - before).abs().sum() / 2)

        size = len(self.layers), len(self.heads)
        moves = [moved(*divmod(k, size[1])) for k in counted(size[0] * size[1], "each head")]
        found = np.reshape(moves, size)
        return self._map(found, "Each number: the share of the probability that moves.")

    def _view(self, look, layer, head):
        heads, pieces = look.weights[layer - 1], look.pieces
        beside = dict(heads=heads, head=head - 1) if len(heads) <= MAX_HEADS else {}
        where = f"Layer {layer} of {len(self.layers)}, head {head} of {len(heads)}"
        keys = self.key_heads[layer - 1]
        if keys < len(heads):  # neighbours read the same keys
            where += f" (it reads key head {(head - 1) * keys // len(heads) + 1} of {keys})"
        return View(
            heads[head - 1], pieces, keys=pieces, **beside,
            explain=lambda i, j: f"the weight from “{pieces[i]}” to “{pieces[j]}”",
            caption=f"{where}. Model: {self.name}.",
        )  # fmt: skip

    def _map(self, found, caption):
        """Return a View of a number for each head, the largest outlined.  found: by layer."""
        i, j = np.unravel_index(np.argmax(found), np.shape(found))
        caption = f"Largest: {found[i][j]:.2f} in layer {i + 1}, head {j + 1}. {caption}"
        return View(
            found, [f"layer {k}" for k in self.layers], keys=[f"head {k}" for k in self.heads],
            axes=("Layer", "Head"), highlights=[(i, j)],
            caption=f"{caption} Model: {self.name}.",
        )  # fmt: skip


class StoryModel(OwnModel):
    """The trained model of lesson 10. Its pieces are the words of the stories."""

    def __init__(self):
        self.model = load_stories()
        super().__init__("the story model", "she")

    def known(self, numbers):
        """Return the words with these numbers."""
        return [self.model.known[k] for k in numbers]

    @torch.no_grad()
    def look(self, text, change=None):
        """Return a Look at this text.  change: see answers().  InputError for other words."""

        def in_batch(layer, weights, values):
            return [x[None] for x in change(layer, weights[0], values[0])]

        words = numbered(text, self.model.known)
        scores, used = look(self.model, words, change and in_batch)
        answers = scores[0, -1].softmax(-1)
        return Look(self.known(words[0].tolist()), [layer[0] for layer in used], answers)


class HuggingFaceModel(OwnModel):
    """A decoder of transformers and its tokenizer.

    Raises InputError unless it has a tokenizer, no piece looks at a later one, and its numbers stay
    the same when our function computes the attention and the weights are replaced by equal ones.
    """

    def __init__(self, name, model, tokenizer):
        self.model, self.tokenizer = model.eval(), tokenizer
        config = model.config.get_text_config()  # one that also reads pictures has several
        config.use_cache = False
        limits = getattr(config, "max_position_embeddings", None), tokenizer.model_max_length
        self.limit = int(min([MAX_SIDE, *(x for x in limits if x and x > 0)]))  # -1 is "any"
        if len(set(tokenizer(LONGER)["input_ids"])) < 3:  # one without a vocabulary can be built
            raise InputError(NO_TOKENIZER)
        ids = self._ids(LONGER)
        plain = self._run(ids)[0]
        model.set_attn_implementation(NAME)
        same, weights, _ = self._run(ids, lambda _, weights, values: (weights.clone(), values))
        layers, n = config.num_hidden_layers, ids.shape[1]
        if not weights:
            raise InputError(
                f"transformers computes the attention of {config.model_type}, if it has any, where "
                f"weights cannot be read and changed. {WORK}"
            )
        if (readable := sum(x.shape[1:] == (n, n) for x in weights)) < layers:
            raise InputError(
                f"only {readable} of its {layers} layers can be read: in {config.model_type}, the "
                f"others work without weights between all words. {WORK}"
            )
        if any(x.triu(1).any() for x in weights):
            raise InputError(NO_DECODER)
        if not torch.allclose(plain[0], same[0], rtol=1e-5, atol=1e-6):
            raise InputError(f"its answers change when its own weights are put back. {WORK}")
        found = self._run(ids[:, :1].expand(1, n), _all_even)[2]
        # one piece, again and again: without positions in the words, no value differs from another,
        # so keys that differ are turned. (Some models turn in some layers only.)
        turned = [_same(values) and not _same(keys) for keys, values in found]
        super().__init__(name, LONGER, [len(values) for _, values in found], turned)

    def known(self, numbers):
        """Return the pieces as readable texts: without the mark of a space, but never empty."""
        names = []
        for number in numbers:
            text = self.tokenizer.decode([number]).strip()
            if not text or "\ufffd" in text:  # a space, or a part of a letter
                text = self.tokenizer.convert_ids_to_tokens(number)
            names.append(str(text or f"piece {number}"))  # a model may have more than its tokenizer
        return names

    def look(self, text, change=None):
        """Return a Look at this text.  change: see answers().

        Raises InputError if the text is empty or too long.
        """
        ids = self._ids(text)
        output, weights, _ = self._run(ids, change)
        return Look(self.known(ids[0].tolist()), weights, output.logits[0, -1].softmax(-1))

    def _ids(self, text):
        ids = self.tokenizer(str(text), verbose=False)["input_ids"]
        if not 0 < len(ids) <= self.limit:
            raise InputError(f"the text has {len(ids)} pieces; 1 to {self.limit} are expected.")
        return torch.tensor([ids])

    def _run(self, ids, change=None):
        """Return (the model's output, the weights of each layer before any change, the keys and
        values of each layer)."""
        weights, keys = [], []
        _running.set((change, weights, keys))
        with torch.no_grad():
            output = self.model(input_ids=ids, attention_mask=torch.ones_like(ids))
        return output, weights, keys


def _count(numbers, what):
    return f"{len(numbers)} {what}{'s' if len(numbers) > 1 else ''}"


def _packages():
    """Return (transformers, huggingface_hub), silent but for the progress of a download."""
    try:
        import huggingface_hub
        import transformers
    except ImportError:
        raise InputError(
            f"the package transformers is not installed; run {INSTALL} in the course's folder "
            r"(on Windows .venv\Scripts\python for .venv/bin/python), then restart the kernel."
        ) from None
    transformers.AttentionInterface.register(NAME, _attention)
    masks = transformers.AttentionMaskInterface
    masks.register(NAME, masks()["eager"])
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    huggingface_hub.utils.enable_progress_bars()
    return transformers, huggingface_hub


def _load(transformers, place, only_here=True):
    """Return (model, tokenizer) from a folder or the hub.  only_here: without a download."""
    how = dict(local_files_only=only_here, trust_remote_code=False)
    config = transformers.AutoConfig.from_pretrained(place, **how)
    kinds = transformers.MODEL_FOR_CAUSAL_LM_MAPPING
    trained = " ".join(config.architectures or ())
    other = config.is_encoder_decoder or trained.endswith(("Classification", "Answering"))
    if type(config) not in kinds or other:
        raise InputError(NO_DECODER)
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        place, config=config, dtype=torch.float32, output_loading_info=True, **how,
        attn_implementation="eager",  # only this keeps the weights of attention
    )  # fmt: skip
    if missing := report["missing_keys"]:  # they would be filled with random numbers
        raise InputError(f"its files lack tensors, such as {min(missing)}; copy them again.")
    try:
        return model, transformers.AutoTokenizer.from_pretrained(place, **how)
    except Exception:  # of several kinds
        raise InputError(NO_TOKENIZER) from None


def _attention(module, query, key, value, attention_mask, **kwargs):
    """Compute attention as the model does, keep its weights, and let them be changed."""
    own = sys.modules[type(module).__module__].eager_attention_forward
    output, weights = own(module, query, key, value, attention_mask, **kwargs)
    change, kept, keys = _running.get()
    kept.append(weights[0])
    keys.append((key[0], value[0]))
    if change is None:
        return output, weights
    # grouped keys: several heads read each value
    values = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
    changed, values = change(len(kept) - 1, weights[0], values[0])
    blended = (changed.to(values.dtype) @ values).transpose(0, 1)
    return blended.reshape(output.shape).contiguous(), changed[None]


def _all_even(layer, weights, values):
    """A change that makes all weights even; then contexts of equal values are equal."""
    return even(weights).expand_as(weights), values


def _same(vectors):
    """Return whether all places have the same vectors (heads, n, d), but for rounding."""
    return torch.allclose(vectors, vectors[:, :1], rtol=1e-3, atol=1e-3 * float(vectors.std()))


def _put(at, head, matrix):
    """Return a change that replaces the weights of one head by a matrix (n, n), or a number."""

    def change(layer, weights, values):
        if layer == at:
            weights = weights.clone()
            weights[head] = matrix
        return weights, values

    return change
