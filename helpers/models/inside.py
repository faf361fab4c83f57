"""A model of transformers from inside: its attention, and what it answers when that is changed."""

import inspect
import re
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache

import torch

from ..errors import InputError
from ..pictures.view import MAX_SIDE
from . import intervene
from .look import Look
from .subject import Case
from .training import counted

# what a model is tried with as soon as it is loaded: reaches beyond a small window
LONGER = "a b c d e f g h i j k l m n o p q r s t u v w x y z"
NEXT, GAP = "what comes next", "what stands in the gap"
LIKELIEST = 5
KINDS = "choose a decoder such as distilgpt2, or a masked model such as distilbert-base-uncased"


class OwnModel:
    """A model and its tokenizer; look(text) gives its attention, answers(text) what it answers.

    layers, heads: what can be chosen, from 1.
    asks: what it answers, "what comes next" or "what stands in the gap"; "" if nothing.
    silent: why its weights cannot be changed; "" if they can.
    """

    def __init__(self, name, model, tokenizer, asks):
        self.name, self.tokenizer, self.model, self.asks = name, tokenizer, model.eval(), asks
        self.about = f"{name} ({type(model).__name__})"
        self._run = lru_cache(2)(self._run)  # moving a slider asks for the same text again
        self.silent = ""
        self._attach()
        look, _ = self._run(LONGER)
        if self.asks == NEXT and self._looks_ahead(look):  # it has seen what it would say
            self.asks = ""
        self.layers = list(range(1, len(look.layers) + 1))
        self.heads = list(range(1, max(map(len, look.layers)) + 1))

    def __repr__(self):
        look, _ = self._run(LONGER)
        kind = "encoder" if self._looks_ahead(look) else "decoder"
        said = f"it answers {self.asks}" if self.asks else "it has no head that answers"
        can = "cannot" if self.silent else "can"
        return (
            f"{self.name}: {type(self.model).__name__}, texts of up to {self.limit()} pieces\n"
            f"{kind}: {len(self.layers)} layers of {len(self.heads)} heads\n"
            f"{said}; its weights {can} be changed"
        )

    @staticmethod
    def _looks_ahead(look):
        return any(bool(x.triu(1).any()) for x in look.layers)

    def _attach(self):
        """Let the model compute attention by our function, if it then gives the same numbers, also
        with its weights replaced by themselves."""
        inputs, *_ = self._inputs(LONGER)
        plain = self._forward(inputs)[0]
        run = intervene.Run(lambda layer, weights, values: (weights.clone(), values))
        try:
            self.model.set_attn_implementation(intervene.NAME)
            same = self._forward(inputs, run)[0]
            if len(run.weights) != self.model.config.get_text_config().num_hidden_layers:
                raise InputError("it does not compute attention once in each layer, by name")
            if not torch.allclose(plain, same, rtol=1e-5, atol=1e-6):
                raise InputError("its attention gives more than its weights times its values")
        except Exception as error:
            self.silent = str(error) if isinstance(error, InputError) else first_line(error)
            self.model.set_attn_implementation("eager")

    def limit(self):
        """Pieces that are looked at: what the model takes, at most 512."""
        positions = getattr(self.model.config, "max_position_embeddings", None) or 0
        most = [x for x in (positions, self.tokenizer.model_max_length) if x > 0]  # -1 is "any"
        return int(min([*most, MAX_SIDE]))

    def look(self, text):
        """What the model does with this text: a Look. Raises InputError if there is no text."""
        if not isinstance(text, str):
            raise InputError(f"the text is {str(text)[:40]!r}; words are expected.")
        if not text.strip():
            raise InputError("there is no text: type at least one word.")
        return self._run(text)[0]

    def weights(self, text):
        """A list by layer of tensors (heads, pieces, pieces), of your own."""
        return [layer.clone() for layer in self.look(text).layers]

    def answers(self, text, change=None):
        """How likely each answer is: log-probabilities (pieces,).

        text: a model that says what stands in the gap needs one, typed as ___.
        change(layer, weights, values) -> weights, values: called in every layer while the model
            runs; layer counted from 0, weights (heads, n, n) after softmax, values (heads, n, d).
        Raises InputError if the model answers nothing, if its weights cannot be changed, or if
        change returns something else.
        """
        look, before = self.look(text), self._run(text)[1]
        if not self.asks:
            raise InputError(f"{self.about} has no head that says {NEXT}, or {GAP}.")
        if before is None and self.tokenizer.mask_token is None:
            raise InputError(f"{self.name} says {GAP}, but its tokenizer has no piece for a gap.")
        if before is None:
            said = f"{self.name} says {GAP}: type ___ once, for the piece that is missing."
            raise InputError(f"{said} {look.note}".strip())
        if change is None:
            return before.clone()
        if self.silent:
            raise InputError(f"the weights of {self.name} cannot be changed: {self.silent}.")
        run = intervene.Run(lambda *given: _fitting(change(*given), *given[1:]))
        inputs, *_ = self._inputs(text)
        return self._said(self._forward(inputs, run), inputs)

    def cases(self, claim):
        """The sentences of a claim, which trial(claim, model) tries: a Case for each word.

        claim.sentence: with words to choose from, such as "the {cat dog fox} took the hat"; the
        other sentence has claim.instead there, or the next of the words with another answer.
        claim.looks, claim.at: pieces, or "{}" for the word that was chosen; of a piece that
        stands several times the last one looks, and the first one is looked at.
        claim.answer: "{}", the word itself, or "likeliest": what the model answers.
        Raises InputError where the sentence has no words to choose from, or lacks a piece.
        """
        form = re.fullmatch(r"([^{}]*)\{([^{}]*\w[^{}]*)\}([^{}]*)", claim.sentence or "")
        if form is None or claim.answer not in ("{}", "likeliest"):
            raise InputError(
                "the sentence of the claim needs words to choose from, as in sentence='the {cat "
                "dog fox} took the hat', and the answer is '{}', that word, or 'likeliest'."
            )
        words, said = form[2].split(), {}
        for word in dict.fromkeys([*words, claim.instead or words[0]]):
            text = form[1] + word + form[3]
            likeliest = int(self.answers(text).argmax())
            said[word] = text, self._number(word) if claim.answer == "{}" else likeliest
        for k, word in enumerate(words):
            text, answer = said[word]
            others = [claim.instead] if claim.instead else words[k + 1 :] + words[:k]
            other = next((said[o] for o in others if said[o][1] != answer), None)
            if other:
                ends = self._ends(text, word, claim)
                yield Case(text, *ends, answer, *other, claim.instead or "next word")

    def _ends(self, text, word, claim):
        rows = self.look(text).rows
        looks, at = (word if name == "{}" else name for name in (claim.looks, claim.at))
        for piece in (looks, at):
            if piece not in rows:
                raise InputError(f"{piece!r} is no piece of this text; it has {rows}.")
        return len(rows) - 1 - rows[::-1].index(looks), rows.index(at)

    def _number(self, piece):
        """The number of an answer: with a space before it, as within a text, if there is one."""
        for text in (f" {piece}", piece):
            ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
            if len(ids) == 1 and ids[0] != self.tokenizer.unk_token_id:
                return ids[0]
        raise InputError(f"{piece!r} is not one piece of this model; choose another answer.")

    def likeliest(self, answers):
        """The five likeliest of answers (pieces,): "hat 0.31, dog 0.12, ..."."""
        best = answers.exp().topk(min(LIKELIEST, len(answers)))
        names = self._names(best.indices.tolist())
        return ", ".join(f"{n} {p:.2f}" for n, p in zip(names, best.values.tolist(), strict=True))

    def without(self, text, layer, head, keep):
        """A View of one head with weights taken out, and what the model answers before and after.

        layer, head: as for Look.view, from 1.  keep: bool (pieces, pieces), False where a weight
        is taken out; the rest of its row is divided so that it sums as before.
        """
        look, keep = self.look(text), torch.as_tensor(keep).bool()
        view = look.view(layer, head)
        layer, head = look.place(layer, head)
        own = look.layers[layer][head]
        if keep.shape != own.shape:
            raise InputError(
                f"keep has the shape {tuple(keep.shape)}; {tuple(own.shape)} is expected, rows "
                "by columns of this text."
            )
        left = intervene.without(own, keep)

        def change(number, weights, values):
            if number == layer:
                weights = weights.clone()
                weights[head] = intervene.without(weights[head], keep)
            return weights, values

        def explain(i, j):
            pair = f"the weight from “{look.rows[i]}” to “{look.rows[j]}”"
            return f"{pair}; in the model itself it is {own[i, j]:.2f}"

        before, after = self.answers(text), self.answers(text, change)
        said = (
            f"Before: {self.likeliest(before)}.\nAfter: {self.likeliest(after)}.\n"
            f"{_variation(before, after):.2f} of the probability moved."
        )
        return replace(
            view, matrix=left, heads=None, head=None, marked={"out": ~keep & (own > 0)},
            caption=f"{said} {view.caption}", explain=explain,
        )  # fmt: skip

    def effects(self, text):
        """A View of layers by heads: how much the answer changes when one head is made even.

        The head's weights are made even over all that its layer looks at. The change is the
        total variation: the share of the probability that moves to other answers, from 0 to 1.
        A bar grows meanwhile.
        """
        look, before = self.look(text), self.answers(text)
        heads = [(at, head) for at, layer in enumerate(look.layers) for head in range(len(layer))]
        found = [[] for _ in look.layers]
        for k in counted(len(heads), "heads made even"):
            after = self.answers(text, _made_even(*heads[k]))
            found[heads[k][0]].append(_variation(before, after))
        return look.by_heads(
            found, "The share of the probability that moves when the head is made even."
        )

    def _said(self, output, inputs):
        """Log-probabilities (pieces,) of the answer; None if there is none."""
        if not self.asks:
            return None
        place = -1
        if self.asks == GAP:
            ids, gap = inputs["input_ids"][0].tolist(), self.tokenizer.mask_token_id
            if ids.count(gap) != 1:
                return None
            place = ids.index(gap)
        said = output.logits[0, place].log_softmax(-1)
        if said.isnan().any():
            raise InputError(
                f"{self.name} answers with what is no number (nan): its weights may be damaged."
            )
        return said

    def _run(self, text):
        """(a Look, the answers)"""
        inputs, rows, note = self._inputs(text)
        run = intervene.Run()
        output = self._forward(inputs, run)
        layers = list(run.weights or getattr(output, "attentions", None) or ())
        n, wanted = len(rows), self.model.config.get_text_config().num_hidden_layers
        if len(layers) != wanted or any(x.shape[2:] != (n, n) or x.min() < 0 for x in layers):
            raise InputError(
                f"{self.about} did not return weights of attention in each of its layers, one for "
                f"each pair of pieces: it cannot be shown; {KINDS}."
            )
        return Look([x[0] for x in layers], rows, self.name, note), self._said(output, inputs)

    def _forward(self, inputs, run=None):
        """What the model gives; run: an intervene.Run that watches it."""
        parameters = inspect.signature(self.model.forward).parameters
        wanted = {"use_cache": False, "logits_to_keep": 1}  # of the last piece only
        if self.asks == GAP:
            del wanted["logits_to_keep"]
        wanted = {name: x for name, x in wanted.items() if name in parameters}
        if self.silent:  # otherwise they are in run.weights
            wanted["output_attentions"] = True
        try:
            with torch.no_grad(), run.watch() if run else nullcontext():
                return self.model(**inputs, **wanted)
        except InputError:
            raise
        except Exception as error:
            if run and run.error:  # what the reader's function raised is the reader's
                raise run.error from None
            raise InputError(
                f"{self.name} could not be run on a text of {inputs['input_ids'].shape[1]} pieces: "
                f"{first_line(error)} A shorter text may help; else {KINDS}."
            ) from None

    def _inputs(self, text):
        """(what the model gets, its pieces, a note on what was cut off)"""
        limit = self.limit()
        if self.asks == GAP and self.tokenizer.mask_token:
            text = re.sub("_{3,}", self.tokenizer.mask_token, text)
        try:
            ids = self.tokenizer(text, verbose=False)["input_ids"]
            total = len(ids)
            if total > limit:
                ids = self.tokenizer(text, truncation=True, max_length=limit)["input_ids"]
        except Exception as error:
            raise InputError(f"the tokenizer cannot read this text: {first_line(error)}") from None
        if total == 0:
            raise InputError("the tokenizer finds nothing in this text: type at least one word.")
        if self.asks == NEXT and ids[-1] == self.tokenizer.eos_token_id:
            ids, total = ids[:-1] or ids, max(total - 1, 1)  # nothing comes after the end
        try:
            table = self.model.get_input_embeddings().num_embeddings
        except NotImplementedError:  # a model of texts and pictures has several
            table = max(ids) + 1
        if max(ids) >= table:
            raise InputError(
                f"the tokenizer of {self.name} gives the piece number {max(ids)}, the model knows "
                f"{table}: it belongs to another model; put this model's own tokenizer there."
            )
        why = "no more can be drawn" if limit == MAX_SIDE else "the model takes no more"
        note = f"Only the first {limit} of {total} pieces: {why}." * (total > limit)
        given = torch.tensor([ids])
        inputs = {"input_ids": given, "attention_mask": torch.ones_like(given)}
        return inputs, self._names(ids), note

    def _names(self, ids):
        """These pieces as they are read: without the marks of a space, but never empty."""
        names = []
        for number in ids:
            text = self.tokenizer.decode([number]).strip()
            if not text or "\ufffd" in text:  # a space, or a part of a letter
                text = self.tokenizer.convert_ids_to_tokens(number)
            names.append(str(text or f"piece {number}"))  # a model may have more than its tokenizer
        return names


def _fitting(changed, weights, values):
    """What change returned, if it can be used."""
    try:
        contexts = changed[0] @ changed[1]
        fits = contexts.shape == values.shape
    except Exception:  # it can be anything
        fits = False
    if not fits:
        raise InputError(
            "change returned something else; two tensors are expected: weights "
            f"{tuple(weights.shape)}, heads by rows by columns, and values {tuple(values.shape)}."
        )
    if not contexts.isfinite().all():
        raise InputError("change returned numbers that are not finite; was a row divided by 0?")
    return changed


def _made_even(at, head):
    def change(layer, weights, values):
        if layer == at:
            weights, even = weights.clone(), intervene.even(weights)[0]
            weights[head] = even * weights[head].sum(-1, keepdim=True)
        return weights, values

    return change


def _variation(before, after):
    """The total variation of log-probabilities (pieces,): the share that moves, 0 to 1."""
    return float((after.exp() - before.exp()).abs().sum() / 2)


def first_line(error):
    """An error as one line, at most 200 characters."""
    first, *_ = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {first.strip()}"[:200]
