"""The models of the course by name, as lessons 10 and 11 train them, and their sentences.

Five tasks: pronouns (lesson 10), two layers, copying (lesson 11), who bites whom, naming. Each
knows how to train its model from a seed, draws sentences of one form, and names what stands where
in them: claims are about these names, because "its noun" is now the second word, now the fifth.
"""

from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache

import torch
from torch import nn
from torch.nn import functional as F

from ...attention import causal_mask, look_back, merge_heads, scaled_scores, split_heads
from ...errors import InputError
from ..language import FIRST, SECOND, load_language
from ..training import Adam

WIDTH = 24
SHORTEST = 7  # letters of a string that is asked


class Small(nn.Module):
    """Layers of attention that add their contexts to the words: the models of lessons 10 and 11.

    answers, vocabulary: how many there are.  length: the longest sentence, 0 for a model that
    does not know positions.  heads: of each layer; they share its 24 numbers.
    """

    def __init__(self, answers, vocabulary, length=0, layers=1, causal=False, heads=1):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(length, WIDTH) if length else None
        self.layers = nn.ModuleList(_Layer() for _ in range(layers))
        self.out = nn.Linear(WIDTH, answers, bias=False)
        self.causal, self.heads = causal, heads

    def forward(self, words, change=None):
        """words: (b, n), or (b, n, 2) for a word with its colour.

        change(layer, weights): called in each layer, from 0, with its weights (b, heads, n, n);
        what it returns is used instead.
        Returns (scores (b, n, answers), the list of the weights that were used).
        """
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
            weights = change(k, weights) if change else weights
            used.append(weights)
            x = x + merge_heads(weights @ values)
        return self.out(x), used


class _Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3)
        )


class Subject:
    """What a trial needs of a model: its weights, and its answers while they are changed.

    model(words, change) -> (scores (1, n, answers), weights used): a Small, or the reader's own
    model of lesson 11. The answer is the one at the last word.
    """

    def __init__(self, model):
        self.model = model

    @torch.inference_mode()
    def weights(self, words):
        """words: (n,) or (n, 2).  Returns a list by layer of weights (heads, n, n)."""
        return [w.reshape(-1, *w.shape[-2:]) for w in self.model(words[None])[1]]

    def seen(self, words):
        """A list by layer of (n, n) of bool, what each word may see: all, or the words up to it.
        A weight of 0 is no proof: so small a one may have been rounded to 0."""
        weights = self.weights(words)
        causal = not any(w.triu(diagonal=1).any() for w in weights)
        every = torch.ones(weights[0].shape[-2:], dtype=torch.bool)
        return [every.tril() if causal else every] * len(weights)

    @torch.inference_mode()
    def answers(self, words, change=None):
        """Log-probability of each answer, (answers,).

        change(layer, weights): called in each layer, counted from 0, with (heads, n, n); what
        it returns is used instead.
        """

        def reshaped(layer, weights):
            return change(layer, weights.reshape(-1, *weights.shape[-2:])).view_as(weights)

        scores = self.model(words[None], reshaped if change else None)[0]
        return scores[0, -1].log_softmax(dim=-1)


@dataclass
class Sentence:
    """words: (n,) or (n, 2), as the model takes them.  names: n str.  places: {what stands
    there: position}.  answers: {"right": number of an answer, "other": that of the other one}.
    form: equal for sentences of the same form.
    """

    words: torch.Tensor
    names: list
    places: dict
    answers: dict
    form: object = None


class Task:
    """What one of the course's models is made of, how it is trained, and its sentences.

    about: one line.  answers: their names.  build() -> Small.  steps, rate: of the training.
    draw(draws) -> (words, answers) of one step.  sentences(draws, count) -> list of Sentence.
    read(text) -> the Sentence that somebody typed; raises InputError.
    """

    def __init__(self):
        self._known = cache(lambda seed: train(self.build, self.draw, seed, self.steps, self.rate))

    def trained(self, seed):
        """The Small of this seed, trained once, as the lessons do it: a copy of your own."""
        return deepcopy(self._known(seed))


@contextmanager
def single():
    """Numbers of 32 bits, whatever the reader has made the default: others draw other models."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def train(build, draw, seed, steps, rate):
    """A model of lessons 10 and 11: Adam, at a rate that falls to 0. Other random draws of this
    process go on as if nothing had been trained."""
    with (
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),
        torch.enable_grad(),
        single(),
    ):
        torch.manual_seed(seed)
        model, draws = build(), torch.Generator().manual_seed(seed)
        adam = Adam(model)
        for step in range(steps + 1):
            words, answers = draw(draws)
            loss = F.cross_entropy(model(words)[0].mT, answers, ignore_index=-1)
            adam.step(loss, rate * (1 - step / steps))
    return model


def last_only(answers, n):
    """(b,) -> (b, n): asked at the last word; -1 says that nothing is asked at the others."""
    return F.pad(answers[:, None], (n - 1, 0), value=-1)


class Pronouns(Task):
    """Lesson 10: which colour has the noun that the pronoun stands for? One layer."""

    steps, rate, length, layers = 200, 0.005, 0, 1

    def __init__(self):
        super().__init__()
        self.language = load_language()
        pairs = self.language.pairs()
        order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))
        self.known = [pairs[k] for k in order[16:]]
        self.tested = [pairs[k] for k in order[:16]]  # never together in the training
        self.answers = self.language.colours

    def build(self):
        return Small(len(self.answers), len(self.language.words), self.length, self.layers)

    def draw(self, draws):
        s = self.language.sentences(self.known, 128, draws)
        words = self.inputs(s.words)
        return words, last_only(self.asked(s)[0], words.shape[1])

    def sentences(self, draws, count):
        return self._sentences(self.language.sentences(self.tested, count, draws))

    def read(self, text):
        return self._sentences(self.language.sentence(text))[0]

    def inputs(self, words):
        """What the model is given of (b, 8, 2)."""
        return words

    def asked(self, s):
        """The right answers (b,), and those for the other noun."""
        return s.answer, s.other_answer

    def named(self, words):
        return self.language.write(words)

    def places(self, its, other):
        names = "first the, first noun, verb, second the, second noun, and, act, pronoun"
        stand = {name: at for at, name in enumerate(names.split(", "))}
        return {"its noun": its, "other noun": other} | stand

    def _sentences(self, s):
        rows = zip(self.inputs(s.words), s.antecedent, s.other, *self.asked(s), strict=True)
        made = []
        for words, *numbers in rows:
            its, other, right, wrong = map(int, numbers)
            names, answers = self.named(words), {"right": right, "other": wrong}
            form = its, names[-1] == "it"  # which noun comes first, and which is meant
            made.append(Sentence(words, names, self.places(its, other), answers, form))
        return made


class TwoLayers(Pronouns):
    """Lesson 11: the same question, but each colour is a word of its own. Two layers."""

    steps, rate, length, layers = 400, 0.01, 10, 2

    def inputs(self, words):
        word, colour = words[..., 0], words[..., 1]
        parts = word[:, :1], colour[:, 1:2], word[:, 1:4], colour[:, 4:5], word[:, 4:]
        return torch.cat(parts, dim=1)

    def named(self, words):
        return [self.language.words[k] for k in words.tolist()]

    def places(self, its, other):
        stand = super().places(its, other)
        stand = {name: at + (at >= FIRST) + (at >= SECOND) for name, at in stand.items()}
        nouns = [name for name in stand if name.endswith(" noun")]
        return {name.replace("noun", "colour"): stand[name] - 1 for name in nouns} | stand


class Naming(Pronouns):
    """Which noun does the pronoun stand for? Lesson 10's model, on sentences without colours."""

    steps = 400

    def __init__(self):
        super().__init__()
        self.tested = self.known
        self.answers = [*self.language.people, *self.language.things]

    def inputs(self, words):
        return words[..., 0]

    def named(self, words):
        return [self.language.words[k] for k in words.tolist()]

    def asked(self, s):
        first = self.language.words.index(self.answers[0])  # they stand together in the list
        rows = torch.arange(len(s.words))
        return [s.words[rows, at, 0] - first for at in (s.antecedent, s.other)]


class Copying(Task):
    """Lesson 11: what followed this letter last time? Two layers that do not see the future."""

    steps, rate = 400, 0.01
    answers = list("abcdefghijklmnop")

    def build(self):
        return Small(16, 16, length=16, layers=2, causal=True)

    def draw(self, draws, count=64):
        words = torch.randint(16, (count, 16), generator=draws)
        at = torch.stack([look_back(one) for one in words])
        return words, words.gather(1, at.clamp(min=0)).masked_fill(at < 0, -1)

    def sentences(self, draws, count):
        """Strings that end where a letter comes again for which there is a place before its copy,
        one between, and another letter than the right one."""
        found = []
        while len(found) < count:
            for words in self.draw(draws)[0]:
                at = look_back(words)
                ends = [
                    k
                    for k in range(SHORTEST - 1, 16)
                    if 2 <= at[k] < k - 1 and words[at[k]] != words[k]
                ]
                if ends:
                    end = ends[torch.randint(len(ends), (1,), generator=draws)]
                    found.append(self._sentence(words[: end + 1]))
        return found[:count]

    def read(self, text):
        word = text.strip().lower()
        if not SHORTEST <= len(word) <= 16 or set(word) - set(self.answers):
            raise InputError(f"{text[:40]!r} is no string of 7 to 16 letters from a to p.")
        words = torch.tensor([self.answers.index(one) for one in word])
        if not 2 <= look_back(words)[-1] < len(word) - 1:
            raise InputError(
                f"the last letter of {word!r} should stand in it once more, with letters before "
                "that copy and between, as in cabfedca."
            )
        return self._sentence(words)

    def _sentence(self, words):
        after, last = int(look_back(words)[-1]), len(words) - 1
        places = {
            "last letter": last, "letter before it": last - 1, "its copy": after - 1,
            "letter after its copy": after, "letter before its copy": after - 2,
        }  # fmt: skip
        places |= {f"place {k + 1}": k for k in range(SHORTEST)}
        names = [self.answers[k] for k in words.tolist()]
        answers = {"right": int(words[after]), "other": int(words[after - 2])}
        return Sentence(words, names, places, answers)


class Biting(Task):
    """Who bites? "the dog bites the cat", asked at the last word. One layer with positions."""

    steps, rate = 200, 0.01
    answers = "dog cat fox cow hen pig owl bee".split()
    vocabulary = [*answers, "the", "bites"]
    form = "the {} bites the {}"

    def build(self):
        return Small(len(self.answers), len(self.vocabulary), length=5)

    def draw(self, draws, count=128):
        two = torch.rand(count, len(self.answers), generator=draws).argsort(1)[:, :2]
        words = torch.tensor([8, 0, 9, 8, 0]).repeat(count, 1)
        words[:, [1, 4]] = two
        return words, last_only(two[:, 0], 5)

    def sentences(self, draws, count):
        return [self._sentence(words) for words in self.draw(draws, count)[0]]

    def read(self, text):
        typed = text.lower().replace(".", " ").split()
        form = [word for word in typed if word not in self.answers]
        if form != ["the", "bites", "the"] or len({*typed[1::3]} & {*self.answers}) != 2:
            raise InputError(
                f"{text[:60]!r} is not understood; two different animals are expected, as in: "
                f"{self.form.format('dog', 'cat')}. They are: {', '.join(self.answers)}."
            )
        return self._sentence(torch.tensor([self.vocabulary.index(word) for word in typed]))

    def _sentence(self, words):
        places = {"who bites": 1, "who is bitten": 4, "verb": 2, "first the": 0, "second the": 3}
        names = [self.vocabulary[k] for k in words.tolist()]
        return Sentence(words, names, places, {"right": int(words[1]), "other": int(words[4])})


@cache
def course():
    """{name: Task} of the models of the course."""
    return {
        "pronouns": Pronouns(),
        "two layers": TwoLayers(),
        "naming": Naming(),
        "copying": Copying(),
        "who bites whom": Biting(),
    }
