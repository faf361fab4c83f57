"""Define the models of lessons 13 and 14, and their sentences, each with a changed copy.

A task trains its model from a seed, draws sentences of one form, and names the positions in them:
claims use these names, because "its noun" is sometimes the second word and sometimes the fifth.
"""

from copy import deepcopy
from dataclasses import dataclass
from functools import cache

import torch
from torch import nn
from torch.nn import functional as F

from ..attention import causal_mask, look_back, merge_heads, scaled_scores, split_heads
from ..errors import InputError
from .language import FIRST, SECOND, load_language
from .training import Adam

WIDTH = 24
SHORTEST = 7  # letters of a string with a question


class Small(nn.Module):
    """Layers of attention that add their contexts to the words: the models of lessons 13 and 14.

    answers, vocabulary: their numbers.  length: the longest sentence, 0 for a model without
    positions.  heads: in each layer; they share its 24 numbers.
    """

    def __init__(self, answers, vocabulary, length=0, layers=1, causal=False, heads=1):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(length, WIDTH) if length else None
        self.layers = nn.ModuleList(_Layer() for _ in range(layers))
        self.out = nn.Linear(WIDTH, answers, bias=False)
        self.causal, self.heads = causal, heads

    def forward(self, words, change=None):
        """Return (scores (b, n, answers), the list of the weights that were used).
        words: (b, n), or (b, n, 2) for a word with its colour.  change: see subject.py."""
        x = self.embedding(words)
        x = x.sum(dim=2) if words.dim() == 3 else x
        n, used = x.shape[1], []
        if self.positions is not None:
            x = x + self.positions.weight[:n]
        for k, layer in enumerate(self.layers):
            queries, keys, values = (split_heads(W(x), self.heads) for W in layer.children())
            scores = scaled_scores(queries, keys)
            if self.causal:
                scores = scores.masked_fill(causal_mask(n), -torch.inf)
            weights = torch.softmax(scores, dim=-1)
            weights, values = change(k, weights, values) if change else (weights, values)
            used.append(weights)
            x = x + merge_heads(weights @ values)
        return self.out(x), used


class _Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3)
        )


@dataclass
class Sentence:
    """One sentence.  words, other: as the model takes them; other has different content.
    names: n str.  places: {name: position}.  answer, turns: the right answers for words and for
    other.  form: equal for sentences of the same form."""

    words: torch.Tensor
    names: list
    places: dict
    answer: int
    other: torch.Tensor
    turns: int
    form: object = None


class Task:
    """One of the course's models: how it is built and trained, and its sentences.

    contents: possible differences of the other sentence, the usual one first.  answers: their
    names.  build() -> Small.  steps, rate: of the training.  draw(draws) -> (words, answers) of
    one step.  sentences(draws, count, content) -> list of Sentence.
    """

    def __init__(self):
        self._known = cache(lambda seed: train(self.build, self.draw, seed, self.steps, self.rate))

    def trained(self, seed):
        """Return a copy of the Small of this seed, which is trained once, as in the lessons."""
        return deepcopy(self._known(seed))


def train(build, draw, seed, steps, rate):
    """Return a trained model of lessons 13 and 14: Adam, at a rate that falls to 0. The global
    random state is kept."""
    with (
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),
        torch.enable_grad(),
    ):
        torch.manual_seed(seed)
        model, draws = build(), torch.Generator().manual_seed(seed)
        adam = Adam(model)
        for step in range(steps + 1):
            words, answers = draw(draws)
            loss = F.cross_entropy(model(words)[0].mT, answers, ignore_index=-1)
            adam.step(loss, rate * (1 - step / steps))
    return model


class Pronouns(Task):
    """Lesson 13: what is the colour of the noun that the pronoun refers to? One layer."""

    steps, rate, length, layers = 200, 0.005, 0, 1
    contents = "other colour", "other noun"

    def __init__(self):
        super().__init__()
        self.language = load_language()
        self.answers = self.language.colours
        pairs = self.language.pairs()
        order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))
        self.known = [pairs[k] for k in order[16:]]
        self.tested = [pairs[k] for k in order[:16]]  # never together in the training

    def build(self):
        return Small(len(self.answers), len(self.language.words), self.length, self.layers)

    def draw(self, draws):
        s = self.language.sentences(self.known, 128, draws)
        words = self.inputs(s.words)
        # the last word asks the question; -1 means that the other words ask none
        return words, F.pad(s.answer[:, None], (words.shape[1] - 1, 0), value=-1)

    def sentences(self, draws, count, content=contents[0]):
        drawn = self.language.sentences(self.tested, count, draws)
        return self._sentences(drawn, content, draws)

    def read(self, text):
        """Return the Sentence for a typed text."""
        drawn = self.language.sentence(text)
        return self._sentences(drawn, self.contents[0], torch.Generator().manual_seed(0))[0]

    def inputs(self, words):
        """Return the part of words (b, 8, 2) that the model gets."""
        return words

    def named(self, words):
        return self.language.write(words)

    def places(self, own, other):
        names = "first the, first noun, verb, second the, second noun, and, act, pronoun"
        stand = {name: at for at, name in enumerate(names.split(", "))}
        return {"its noun": own, "other noun": other} | stand

    def _sentences(self, s, content, draws):
        others, turns = s.words.clone(), s.other_answer
        rows = torch.arange(len(others))
        if content == "other noun":  # the two nouns swap places; their colours stay
            others[:, [FIRST, SECOND], 0] = others[:, [SECOND, FIRST], 0]
        else:  # a colour that is not yet in the sentence
            free = torch.rand(len(others), len(self.answers), generator=draws)
            free[rows, s.answer] = free[rows, s.other_answer] = -1
            turns = free.argmax(dim=1)
            others[rows, s.antecedent, 1] = turns
        made = []
        parts = self.inputs(s.words), self.inputs(others), s.antecedent, s.other, s.answer, turns
        for words, other, *numbers in zip(*parts, strict=True):
            own, second, answer, turned = map(int, numbers)
            names = self.named(words)
            form = own, names[-1] == "it"  # the noun's position, and whether it is the thing
            places = self.places(own, second)
            made.append(Sentence(words, names, places, answer, other, turned, form))
        return made


class TwoLayers(Pronouns):
    """Lesson 14: the same question, but each colour is a separate word. Two layers."""

    steps, rate, length, layers = 400, 0.01, 10, 2

    def inputs(self, words):
        word, colour = words[..., 0], words[..., 1]
        parts = word[:, :1], colour[:, 1:2], word[:, 1:4], colour[:, 4:5], word[:, 4:]
        return torch.cat(parts, dim=1)

    def named(self, words):
        return [self.language.words[k] for k in words.tolist()]

    def places(self, own, other):
        stand = super().places(own, other)
        stand = {name: at + (at >= FIRST) + (at >= SECOND) for name, at in stand.items()}
        nouns = [name for name in stand if name.endswith(" noun")]
        return {name.replace("noun", "colour"): stand[name] - 1 for name in nouns} | stand


class Copying(Task):
    """Lesson 14: what followed this letter last time? Two layers that do not see the future."""

    steps, rate = 400, 0.01
    answers = list("abcdefghijklmnop")
    contents = "other letter", "other copy"

    def build(self):
        return Small(16, 16, length=16, layers=2, causal=True)

    def draw(self, draws, count=64):
        words = torch.randint(16, (count, 16), generator=draws)
        at = torch.stack([look_back(one) for one in words])
        return words, words.gather(1, at.clamp(min=0)).masked_fill(at < 0, -1)

    def sentences(self, draws, count, content=contents[0]):
        """Return strings that end with a repeated letter, with a letter before its copy and one
        in between. The other content is a different letter after the copy, or instead of the
        copy, so that an earlier copy counts. The letter before the last one differs, too."""
        found = []
        while len(found) < count:
            for words in self.draw(draws)[0]:
                end = int(torch.randint(SHORTEST - 1, 16, (1,), generator=draws))
                words, after = words[: end + 1], int(look_back(words)[end])
                changed = after - (content == "other copy")
                other = words.clone()
                other[changed] = torch.randint(16, (1,), generator=draws)
                other[end - 1] = next(k for k in range(16) if k not in words[end - 1 :])
                back = int(look_back(other)[-1])
                if 2 <= after < end - 1 and back > 0 and words[end] not in (
                    words[after], other[changed],
                ) and words[after] != other[back]:  # fmt: skip
                    found.append(self._sentence(words, after, other, int(other[back])))
        return found[:count]

    def _sentence(self, words, after, other, turns):
        last = len(words) - 1
        places = {
            "last letter": last, "letter before it": last - 1, "its copy": after - 1,
            "letter after its copy": after, "letter before its copy": after - 2,
        }  # fmt: skip
        names = [self.answers[k] for k in words.tolist()]
        return Sentence(words, names, places, int(words[after]), other, turns)

    def read(self, text):
        raise InputError("the strings of copying are drawn at random; leave out sentence=.")


@cache
def course():
    """Return {name: Task} of the models of the course."""
    return {"pronouns": Pronouns(), "two layers": TwoLayers(), "copying": Copying()}
