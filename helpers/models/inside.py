"""A model of transformers from inside: the weights of its attention as Views, and what it answers
when they are changed."""

import inspect
import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import torch

from ..errors import InputError
from ..pictures.view import MAX_HEADS, MAX_SIDE, View
from . import intervene
from .training import counted
from .trial import Case

SHORT = "a b c"
# what a model is tried with as soon as it is loaded: reaches beyond a small window
LONGER = "a b c d e f g h i j k l m n o p q r s t u v w x y z"
NEXT, GAP = "what comes next", "what stands in the gap"
LIKELIEST = 5
AT_ONCE = 1024  # pieces in one run, of all copies of a text together


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
        layer, first, head = self.place(layer, head, group)
        heads = self.layers[layer]
        small = heads[first : first + MAX_HEADS]
        which = f"Layer {layer + 1} of {len(self.layers)}, head {first + head + 1} of {len(heads)}"
        if len(heads) > MAX_HEADS:
            which += f" (beside it heads {first + 1} to {first + len(small)})"
        weights, size = small[head], f"{len(self.rows)} pieces"
        if self.rows is not self.columns:
            size = f"{size} look at {len(self.columns)}"

        def explain(i, j):
            larger = int((weights[i] > weights[i, j]).sum())
            rank = f"{larger} in its row are larger" if larger else "the largest of its row"
            return f"the weight from “{self.rows[i]}” to “{self.columns[j]}”, {rank}"

        return View(
            weights, self.rows, keys=self.columns, heads=small, head=head,
            caption=f"{which}; {size}. Model: {self.about}. {self.note}".strip(), explain=explain,
        )  # fmt: skip

    def place(self, layer, head, group):
        """(layer, first head of the group, head in it), from 0, of those that view() shows."""
        layer = min(max(layer, 1), len(self.layers))
        count = len(self.layers[layer - 1])
        if not count:
            where = ", ".join(map(str, self.numbers()))
            raise InputError(
                f"layer {layer} has no weights of attention; these layers have: {where}."
            )
        first = min(max(group - 1, 0), (count - 1) // MAX_HEADS) * MAX_HEADS
        return layer - 1, first, min(max(head, 1), MAX_HEADS, count - first) - 1

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
        every, _ = self._run(LONGER, LONGER)
        if self.asks == NEXT and list(every) == ["encoder"]:  # it has seen what it would say
            self.asks = ""
        layers = [layer for look in every.values() for layer in look.layers]
        self.layers = sorted({k for look in every.values() for k in look.numbers()})
        self.heads = list(range(1, min(MAX_HEADS, max(map(len, layers))) + 1))
        groups = max(len(layer.split(MAX_HEADS)) for layer in layers)
        self.groups = {"group": list(range(1, groups + 1))} if groups > 1 else {}
        self.parts = {"part": list(every), "answer": "it"} if self.two_sided else {}

    def __repr__(self):
        lines = [f"{self.name}: {type(self.model).__name__}, texts of up to {self.limit()} pieces"]
        for part, look in self._run(LONGER, LONGER)[0].items():
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
        """Let the model compute attention by our function, if it then gives the same numbers, also
        with its weights replaced by themselves."""
        inputs, *_ = self._inputs(LONGER, LONGER)
        plain = self._forward(inputs)[0]
        run = intervene.Run(lambda call, weights: weights.clone())
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
                raise InputError("its attention gives more than its weights times its values")
            self._calls = self._numbered(run.modules)
        except Exception as error:
            self.silent = str(error) if isinstance(error, InputError) else first_line(error)
            self.model.set_attn_implementation("eager")

    def _numbered(self, modules):
        """[(part, layer, layers of this part)] of each call of attention."""
        inside = set(self.model.get_encoder().modules()) if self.two_sided else ()
        first = [module for module in modules if not self.two_sided or module in inside]
        calls = []
        for of_part, names in ((first, ["encoder"]), (modules[len(first) :], ["decoder", "cross"])):
            layers, total = intervene.places(self.model, of_part)
            for k, layer in enumerate(layers):  # each layer looks at its own pieces first
                before = layers[:k].count(layer)
                if before == len(names):
                    raise InputError("a layer of it computes attention more than once")
                calls.append((names[before] if self.two_sided else "", layer, total))
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
        """A list by layer of tensors (heads, rows, columns), of your own: see look."""
        return [layer.clone() for layer in self.look(text, part, answer).layers]

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
            raise InputError(
                f"{self.name} ({type(self.model).__name__}) has no head that says {NEXT}, or {GAP}."
            )
        if before is None and self.tokenizer.mask_token is None:
            raise InputError(f"{self.name} says {GAP}, but its tokenizer has no piece for a gap.")
        if before is None:
            said = f"{self.name} says {GAP}: type ___ once, for the piece that is missing."
            raise InputError(f"{said} {self.look(text).note}".strip())
        if change is None:
            return before[0].clone()

        def one(layer, weights):
            changed = change(layer, weights[0])
            if not torch.is_tensor(changed) or changed.shape != weights.shape[1:]:
                kind, shape = type(changed).__name__, tuple(weights.shape[1:])
                got = tuple(getattr(changed, "shape", ()))
                raise InputError(
                    f"change returned {kind} {got}; a tensor {shape}, heads by rows by columns, is "
                    "expected."
                )
            if not changed.isfinite().all():
                raise InputError(
                    "change returned numbers that are not finite; was a row divided by 0?"
                )
            return changed[None]

        return self._answers(text, answer, part, one)[0]

    def cases(self, claim):
        """The sentences of a claim, which trial(claim, model) tries: a Case for each word.

        claim.sentence: with words to choose from, such as "the {cat dog fox} took the hat".
        claim.looks, claim.at: pieces, or "{}" for the word that was chosen; of a piece that
        stands several times the last one looks, and the first one is looked at.
        claim.answer: a piece, "{}", or "likeliest": what the model answers to this sentence.
        Raises InputError where the sentence has no words to choose from, or lacks a piece.
        """
        form = re.fullmatch(r"([^{}]*)\{([^{}]*\w[^{}]*)\}([^{}]*)", claim.sentence or "")
        if form is None:
            raise InputError(
                "the sentence of the claim needs words to choose from, as in "
                "sentence='the {cat dog fox} took the hat'."
            )
        for word in form[2].split():
            text = form[1] + word + form[3]
            rows, said = self.look(text).rows, self.answers(text)
            looks, at = (word if name == "{}" else name for name in (claim.looks, claim.at))
            for piece in (looks, at):
                if piece not in rows:
                    raise InputError(f"{piece!r} is no piece of this text; it has {rows}.")
            likeliest = claim.answer == "likeliest"
            answer = said.argmax() if likeliest else self._number(claim.answer.replace("{}", word))
            query = len(rows) - 1 - rows[::-1].index(looks)
            yield Case(text, query, rows.index(at), int(answer))

    def _number(self, piece):
        """The number of an answer: with a space before it, as within a text, if there is one."""
        for text in (f" {piece}", piece):
            ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
            if len(ids) == 1 and ids[0] != self.tokenizer.unk_token_id:
                return ids[0]
        raise InputError(
            f"{piece!r} is not one piece of this model; choose another answer, or likeliest."
        )

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
        look, keep = self.look(text, part, answer), torch.as_tensor(keep).bool()
        view = look.view(layer, head, group)
        layer, first, head = look.place(layer, head, group)
        place = first + head
        weights = look.layers[layer][place]
        if keep.shape != weights.shape:
            raise InputError(
                f"keep has the shape {tuple(keep.shape)}; {tuple(weights.shape)} is expected, rows "
                "by columns of this text."
            )

        def change(number, weights):
            if number == layer:
                weights[place] = intervene.without(weights[place], keep)
            return weights

        def explain(i, j):
            pair = f"the weight from “{look.rows[i]}” to “{look.columns[j]}”"
            return f"{pair}; in the model itself it is {weights[i, j]:.2f}"

        before = self.answers(text, None, part, answer)
        after = self.answers(text, change, part, answer)
        moved = float(_variation(before, after))
        said = (
            f"Before: {self.likeliest(before)}.\nAfter: {self.likeliest(after)}.\n"
            f"{moved:.2f} of the probability moved."
        )
        left = intervene.without(weights, keep)
        return replace(
            view, matrix=left, heads=None, head=None, marked={"out": ~keep & (weights > 0)},
            caption=f"{said} {view.caption}", explain=explain,
        )  # fmt: skip

    def effects(self, text, part=None, answer=""):
        """A View of layers by heads: how much the answer changes when one head is made even.

        The head's weights are made even over all that its layer looks at. The change is the
        total variation: the share of the probability that moves to other answers, from 0 to 1.
        A bar grows meanwhile; interrupted, it shows what was computed by then.
        Raises InputError as answers() does.
        """
        look = self.look(text, part, answer)
        before = self.answers(text, None, part, answer)
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

                after = self._answers(text, answer, part, change, len(heads))
                for head, share in zip(heads.tolist(), _variation(before, after), strict=True):
                    found[at][head] = float(share)
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
        return self._said(self._forward(inputs, intervene.Run(at)), inputs)

    def _said(self, output, inputs):
        """Log-probabilities (copies, pieces) of the answer; None if there is none."""
        if not self.asks:
            return None
        place = -1
        if self.asks == GAP:
            ids, gap = inputs["input_ids"][0].tolist(), self.tokenizer.mask_token_id
            if ids.count(gap) != 1:
                return None
            place = ids.index(gap)
        said = output.logits[:, place].log_softmax(-1)
        if said.isnan().any():
            raise InputError(
                f"{self.name} answers with what is no number (nan): its weights may be damaged."
            )
        return said

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
            known = getattr(self.model.config.get_text_config(), "num_hidden_layers", None)
            if self.silent and not self.two_sided and known and len(layers) < known:
                note += f" It returns the weights of {len(layers)} of its {known} layers only."
            looks[part] = Look(layers, rows, columns, about, note.strip())
        return looks, self._said(output, inputs)

    def _forward(self, inputs, run=None):
        """What the model gives; run: an intervene.Run that watches it."""
        parameters = inspect.signature(self.model.forward).parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        if self.silent:  # otherwise they are in run.weights
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
        except InputError:
            raise
        except Exception as error:
            if run and run.error:  # what the reader's function raised is the reader's
                raise run.error from None
            raise InputError(
                f"{self.name} could not be run on a text of {inputs['input_ids'].shape[1]} pieces: "
                f"{first_line(error)} A shorter text may help; a model that needs more than a text "
                "(its language, pictures, sound) cannot be shown here."
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
            raise InputError(f"the tokenizer cannot read this text: {first_line(error)}") from None
        if total == 0:
            raise InputError("the tokenizer finds nothing in this text: type at least one word.")
        if self.asks == NEXT and not self.two_sided and ids[-1] == self.tokenizer.eos_token_id:
            ids, total = ids[:-1] or ids, max(total - 1, 1)  # nothing comes after the end
        try:
            table = getattr(self.model.get_input_embeddings(), "num_embeddings", None)
        except NotImplementedError:  # a model of texts and pictures has several
            table = None
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
        """These pieces as they are read: without the marks of a space, but never empty."""
        names = []
        for number in ids:
            text = self.tokenizer.decode([number]).strip()
            if not text or "\ufffd" in text:  # a space, or a part of a letter
                text = self.tokenizer.convert_ids_to_tokens(number)
            names.append(str(text or f"piece {number}"))  # a model may have more than its tokenizer
        return names

    def _layers(self, run, output, part, rows, columns):
        """The weights of a part of the model, a list of (heads, rows, columns)."""
        if self._calls:
            pairs = zip(self._calls, run.weights, strict=True)
            known = {layer: x for (which, layer, _), x in pairs if which == part}
            total = max((count for which, _, count in self._calls if which == part), default=0)
        else:
            given = getattr(output, f"{part}_attentions" if part else "attentions", None) or ()
            known, total = {k: x for k, x in enumerate(given) if torch.is_tensor(x)}, len(given)
        layers = list(known.values())
        kind = f"{self.name} ({type(self.model).__name__})"
        if not layers:
            raise InputError(
                f"{kind} returned no attention weights, although it was asked for them: it "
                "computes without attention, or keeps the weights to itself; choose another "
                "model, such as distilgpt2."
            )
        for layer in layers:
            if layer.ndim != 4 or layer[:, 0].shape != (1, len(rows), len(columns)):
                raise InputError(
                    f"{kind} returned weights of the shape {tuple(layer.shape)}, which are not one "
                    f"for each pair of {len(rows)} x {len(columns)} pieces; choose another model."
                )
            if layer.min() < 0 or layer.sum(-1).max() > 1.001:
                raise InputError(
                    f"{kind} returned numbers that are no weights of attention: some are negative, "
                    "or a row sums to more than 1; choose another model."
                )
        none = layers[0].new_zeros(0, len(rows), len(columns))
        return [known[k][0] if k in known else none for k in range(total)]


def _variation(before, after):
    """The total variation of log-probabilities (..., pieces): the share that moves, 0 to 1."""
    return (after.exp() - before.exp()).abs().sum(-1) / 2


def first_line(error):
    """An error as one line, at most 200 characters."""
    first, *_ = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {first.strip()}"[:200]
