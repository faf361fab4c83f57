"""A model of transformers: its attention weights, and its answers when they are changed."""

import re
from dataclasses import replace
from functools import lru_cache

import torch

from ..errors import InputError
from ..pictures.view import MAX_SIDE
from . import intervene
from .look import Look
from .subject import Case
from .training import counted

# the text that every model is tried on when it is loaded; longer than a small window
LONGER = "a b c d e f g h i j k l m n o p q r s t u v w x y z"
NEXT, GAP = "what comes next", "what fills the gap"
LIKELIEST = 5
KINDS = "choose a decoder such as distilgpt2, or a masked model such as distilbert-base-uncased"


class OwnModel:
    """A model and its tokenizer; look(text) returns its attention, answers(text) its answers.

    layers, heads: the numbers to choose from, starting at 1.
    asks: what it predicts, "what comes next" or "what fills the gap"; "" if nothing.
    Raises InputError if its attention weights cannot be read and changed.
    """

    def __init__(self, name, model, tokenizer, asks):
        self.name, self.tokenizer, self.model, self.asks = name, tokenizer, model.eval(), asks
        model.config.use_cache = False
        self._run = lru_cache(2)(self._run)  # moving a slider asks for the same text again
        try:
            self._attach()
        except Exception as error:
            why = f"it does not run on a text ({first_line(error)})"
            why = error if isinstance(error, InputError) else why
            raise InputError(f"{name} cannot be shown: {why}; {KINDS}.") from None
        layers = self._run(LONGER)[0].layers
        self.layers = list(range(1, len(layers) + 1))
        self.heads = list(range(1, len(layers[0]) + 1))

    def __repr__(self):
        looks_ahead = any(bool(x.triu(1).any()) for x in self._run(LONGER)[0].layers)
        said = f"It predicts {self.asks}" if self.asks else "It has no output head"
        return (
            f"{self.name}: {type(self.model).__name__}, reads up to {self.limit()} pieces\n"
            f"{'Encoder' if looks_ahead else 'Decoder'} with {len(self.layers)} layers of "
            f"{len(self.heads)} heads\n{said}; its weights can be changed."
        )

    def _attach(self):
        """Let our function compute the attention. Raises InputError unless the numbers stay
        the same, even when the weights are replaced by equal ones."""
        inputs, rows, _ = self._inputs(LONGER)
        plain = self._forward(inputs)[0]
        self.model.set_attn_implementation(intervene.NAME)
        run = intervene.Run(lambda layer, weights, values: (weights.clone(), values))
        same = self._forward(inputs, run)[0]
        square = all(x.shape[1:] == (len(rows), len(rows)) for x in run.weights)
        if not square or len(run.weights) != self.model.config.get_text_config().num_hidden_layers:
            raise InputError("its attention weights cannot be read in every layer")
        if not torch.allclose(plain, same, rtol=1e-5, atol=1e-6):
            raise InputError("its answers change when its own weights are put back")

    def limit(self):
        """Return how many pieces of a text are used: the model's limit, at most 512."""
        positions = getattr(self.model.config, "max_position_embeddings", None) or 0
        most = [x for x in (positions, self.tokenizer.model_max_length) if x > 0]  # -1 is "any"
        return int(min([*most, MAX_SIDE]))

    def look(self, text):
        """Return a Look at this text. Raises InputError if the text is empty."""
        if not isinstance(text, str) or not text.strip():
            raise InputError("the text is empty; type at least one word.")
        return self._run(text)[0]

    def weights(self, text):
        """Return a list with a new tensor (heads, pieces, pieces) for each layer."""
        return [layer.clone() for layer in self.look(text).layers]

    def answers(self, text, change=None):
        """Return how likely each answer is: log-probabilities (pieces,).

        text: for a model that fills gaps, with one gap, typed as ___.
        change(layer, weights, values) -> weights, values: called in every layer while the model
            runs; layer counted from 0, weights (heads, n, n) after softmax, values (heads, n, d).
        Raises InputError if the model predicts nothing, or if change returns anything else.
        """
        look, before = self.look(text), self._run(text)[1]
        if not self.asks:
            raise InputError(f"{self.name} predicts neither {NEXT} nor {GAP}; {KINDS}.")
        if before is None:
            said = f"{self.name} predicts {GAP}; type ___ once, where a piece is missing."
            raise InputError(f"{said} {look.note}".strip())
        if change is None:
            return before.clone()
        run = intervene.Run(lambda *given: _fitting(change(*given), *given[1:]))
        inputs, *_ = self._inputs(text)
        return self._answer(self._forward(inputs, run), inputs)

    def cases(self, claim):
        """Yield the sentences of a claim, which trial(claim, model) tries: a Case for each word.

        claim.sentence: a sentence with words to choose from, such as "the {cat dog fox} took the
        hat". Each word is compared with the next one that has a different answer.
        claim.looks, claim.at: pieces, or "{}" for the chosen word. If a piece occurs several
        times, the last one looks, and the first one is looked at.
        claim.answer: "likeliest", the likeliest answer of the model.
        Raises InputError if the sentence has no words to choose from, or lacks a piece.
        """
        form = re.fullmatch(r"([^{}]*)\{([^{}]*\w[^{}]*)\}([^{}]*)", claim.sentence or "")
        if form is None or claim.answer != "likeliest":
            raise InputError(
                "a claim about this model needs words to choose from, as in sentence='the {cat dog "
                "fox} took the hat', and answer='likeliest'."
            )
        words = form[2].split()
        texts = [form[1] + word + form[3] for word in words]
        said = [(text, int(self.answers(text).argmax())) for text in texts]
        for k, (word, (text, answer)) in enumerate(zip(words, said, strict=True)):
            other = next((one for one in said[k + 1 :] + said[:k] if one[1] != answer), None)
            if other:
                yield Case(text, *self._ends(text, word, claim), answer, *other, "next word")

    def _ends(self, text, word, claim):
        rows = self.look(text).rows
        looks, at = (word if name == "{}" else name for name in (claim.looks, claim.at))
        for piece in (looks, at):
            if piece not in rows:
                raise InputError(f"{piece!r} is not a piece of this text; choose one of {rows}.")
        return len(rows) - 1 - rows[::-1].index(looks), rows.index(at)

    def likeliest(self, answers):
        """Return the five likeliest of answers (pieces,) as text: "hat 0.31, dog 0.12, ..."."""
        best = answers.exp().topk(min(LIKELIEST, len(answers)))
        names = self._names(best.indices.tolist())
        return ", ".join(f"{n} {p:.2f}" for n, p in zip(names, best.values.tolist(), strict=True))

    def without(self, text, layer, head, keep):
        """Return a View of one head with weights taken out, and the answers before and after.

        layer, head: counted from 1.  keep: bool (pieces, pieces), False where a weight is taken
        out; the rest of its row is scaled so that its sum stays the same.
        """
        look, keep = self.look(text), torch.as_tensor(keep).bool()
        view, own = look.view(layer, head), look.layers[layer - 1][head - 1]
        if keep.shape != own.shape:
            raise InputError(
                f"keep has the shape {tuple(keep.shape)}; {tuple(own.shape)} is expected, a "
                "switch for each weight of this text. Make it again for this text."
            )
        left = intervene.without(own, keep)

        def explain(i, j):
            pair = f"the weight from “{look.rows[i]}” to “{look.rows[j]}”"
            return f"{pair}; unchanged, the model has {own[i, j]:.2f} here"

        before, after = self.answers(text), self.answers(text, _put(layer - 1, head - 1, left))
        said = (
            f"Before: {self.likeliest(before)}.\nAfter: {self.likeliest(after)}.\n"
            f"{_variation(before, after):.2f} of the probability moved."
        )
        return replace(
            view, matrix=left, heads=None, head=None, marked={"out": ~keep & (own > 0)},
            caption=f"{said} {view.caption}", explain=explain,
        )  # fmt: skip

    def effects(self, text):
        """Return a View of layers by heads: how much the answer changes when one head is made even.

        The head's weights are made even over all pieces that its layer looks at. The change is the
        total variation: the share of the probability that moves to other answers, from 0 to 1.
        It prints a bar that grows.
        """
        look, before = self.look(text), self.answers(text)
        heads = [(at, head) for at, layer in enumerate(look.layers) for head in range(len(layer))]
        found = [[] for _ in look.layers]
        for k in counted(len(heads), "heads made even"):
            at, head = heads[k]
            weights = look.layers[at]
            even = intervene.even(weights)[0] * weights[head].sum(-1, keepdim=True)
            found[at].append(_variation(before, self.answers(text, _put(at, head, even))))
        return look.by_heads(
            found, "Each number: the share of the probability that moves if the head is made even."
        )

    def _answer(self, output, inputs):
        """Return the log-probabilities (pieces,) of the answer; None if there is none."""
        if not self.asks:
            return None
        place = -1
        if self.asks == GAP:
            ids, gap = inputs["input_ids"][0].tolist(), self.tokenizer.mask_token_id
            if ids.count(gap) != 1:
                return None
            place = ids.index(gap)
        return output.logits[0, place].log_softmax(-1)

    def _run(self, text):
        """Return (a Look, the answers)."""
        inputs, rows, note = self._inputs(text)
        run = intervene.Run()
        output = self._forward(inputs, run)
        return Look(run.weights, rows, self.name, note), self._answer(output, inputs)

    def _forward(self, inputs, run=None):
        """Return the output of the model.  run: an intervene.Run that records its attention."""
        with torch.no_grad(), (run or intervene.Run()).watch():
            return self.model(**inputs)

    def _inputs(self, text):
        """Return (the model's inputs, their pieces, a note on what was cut off)."""
        limit = self.limit()
        if self.asks == GAP and self.tokenizer.mask_token:
            text = re.sub("_{3,}", self.tokenizer.mask_token, text)
        ids = self.tokenizer(text, verbose=False)["input_ids"]
        total = len(ids)
        if total > limit:
            ids = self.tokenizer(text, truncation=True, max_length=limit)["input_ids"]
        if not ids:
            raise InputError("the tokenizer finds no piece in this text; type at least one word.")
        why = "more cannot be drawn" if limit == MAX_SIDE else "the model reads no more"
        note = f"Only the first {limit} of {total} pieces are used: {why}." * (total > limit)
        given = torch.tensor([ids])
        inputs = {"input_ids": given, "attention_mask": torch.ones_like(given)}
        return inputs, self._names(ids), note

    def _names(self, ids):
        """Return the pieces as readable texts: without the mark of a space, but never empty."""
        names = []
        for number in ids:
            text = self.tokenizer.decode([number]).strip()
            if not text or "\ufffd" in text:  # a space, or a part of a letter
                text = self.tokenizer.convert_ids_to_tokens(number)
            names.append(str(text or f"piece {number}"))  # a model may have more than its tokenizer
        return names


def _fitting(changed, weights, values):
    """Return what change returned. Raises InputError if it cannot be used."""
    try:
        contexts = changed[0] @ changed[1]
        fits = contexts.shape == values.shape and contexts.isfinite().all()
    except Exception:  # it can be anything
        fits = False
    if not fits:
        raise InputError(
            "change returned something else; return two tensors of finite numbers: weights "
            f"{tuple(weights.shape)}, heads by rows by columns, and values {tuple(values.shape)}."
        )
    return changed


def _put(at, head, matrix):
    """Return a change that replaces the weights of one head by a matrix (n, n)."""

    def change(layer, weights, values):
        if layer == at:
            weights = weights.clone()
            weights[head] = matrix
        return weights, values

    return change


def _variation(before, after):
    """Return the total variation of log-probabilities (pieces,), 0 to 1: the share that moves."""
    return float((after.exp() - before.exp()).abs().sum() / 2)


def first_line(error):
    """Return an error as one line of at most 200 characters."""
    first, *_ = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {first.strip()}"[:200]
