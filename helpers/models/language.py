"""Define the small language of lessons 13 to 15, draw its sentences, and read typed ones."""

from dataclasses import dataclass

import torch

from ..attention.data import DATA, rows_of
from ..errors import InputError

FILE = DATA / "language.csv"
PRONOUNS = ("him", "her", "it")
MOST = 30  # words of a typed sentence
# Positions of the two nouns of a sentence: the purple man took the blue hat and washed it.
FIRST, SECOND, LENGTH = 1, 4, 8


@dataclass
class Sentences:
    """b sentences, each with a person and a thing, that ask for the colour of the pronoun's noun.

    words: (b, 8, 2), the number of each word and the number of its colour.
    answer: (b,), the number of the right colour, 0 to 7.  other_answer: the other noun's colour.
    antecedent: (b,), the position of the noun that the pronoun refers to, 1 or 4.
    other: (b,), the position of the other noun.
    """

    words: torch.Tensor
    answer: torch.Tensor
    other_answer: torch.Tensor
    antecedent: torch.Tensor
    other: torch.Tensor


class Language:
    """The words of sentences such as "the purple man took the blue hat and washed it".

    kinds: {kind: list of words}, as in data/language.csv.
    words: all words; the number of a word is its index in this list. The colours come first, so
    that the number of a colour is also the number of an answer; "" means "no colour".
    colours, people, things, verbs, acts: words of one kind.
    """

    def __init__(self, kinds):
        self.colours, self.things = kinds["colour"], kinds["it"]
        self.people = kinds["him"] + kinds["her"]
        self.verbs, self.acts = kinds["verb"], kinds["act"]
        self.words = [
            *self.colours, "", "the", "and", *PRONOUNS, *self.people, *self.things,
            *self.verbs, *self.acts,
        ]  # fmt: skip
        self._number = {word: k for k, word in enumerate(self.words)}
        self._pronoun = {noun: p for p in PRONOUNS for noun in kinds[p]}

    def pairs(self):
        """Return all pairs (person, thing)."""
        return [(person, thing) for person in self.people for thing in self.things]

    def sentences(self, pairs, count, generator, never=()):
        """Return random Sentences: sentences([("man", "hat")], 100, generator) has a hundred.

        pairs: list of (person, thing).  generator: torch.Generator.  never: nouns that no
        pronoun refers to; the pronoun then refers to the other noun of the pair.
        The order of the nouns, two different colours, the verbs and the pronoun's noun are
        drawn evenly.
        """

        def draw(high, size=(count,)):
            return torch.randint(high, size, generator=generator)

        numbers = torch.tensor([[self._number[noun] for noun in pair] for pair in pairs])
        pronouns = torch.tensor([[self._number[self._pronoun[n]] for n in pair] for pair in pairs])
        barred = torch.tensor([[noun in never for noun in pair] for pair in pairs])
        pick, row = draw(len(pairs)), torch.arange(count)
        place = torch.tensor([[FIRST, SECOND], [SECOND, FIRST]])[draw(2)]
        asked = draw(2)
        asked = torch.where(barred[pick, asked], 1 - asked, asked)
        colour = torch.rand(count, len(self.colours), generator=generator).argsort(1)[:, :2]

        words = torch.full((count, LENGTH, 2), self._number[""])
        words[..., 0] = self._number["the"]
        words[row[:, None], place] = torch.stack([numbers[pick], colour], dim=-1)
        words[:, 2, 0] = self._number[self.verbs[0]] + draw(len(self.verbs))
        words[:, 5, 0] = self._number["and"]
        words[:, 6, 0] = self._number[self.acts[0]] + draw(len(self.acts))
        words[:, 7, 0] = pronouns[pick, asked]
        return Sentences(
            words, colour[row, asked], colour[row, 1 - asked],
            place[row, asked], place[row, 1 - asked],
        )  # fmt: skip

    def write(self, words):
        """Return the words of one sentence, (n, 2), as a list of n str such as "purple man"."""
        return [f"{self.words[c]} {self.words[w]}".strip() for w, c in words.tolist()]

    def read(self, text):
        """Return the words of a typed sentence, (n, 2): "the purple man took the hat and ...".

        Raises InputError if a word is unknown, a colour has no noun after it, or the last
        word is not a pronoun.
        """
        typed = text.lower().replace(".", " ").replace(",", " ").split()
        words, colour = [], ""
        for word in typed[:MOST]:
            if word not in self._number:
                kinds = (self.people, self.things, self.colours, [*self.verbs, *self.acts])
                raise InputError(
                    f"{word[:30]!r} is not a word of the small language. Its words: the, and, him, "
                    f"her, it; {'; '.join(map(', '.join, kinds))}."
                )
            if colour and word not in self._pronoun:
                raise InputError(f"a noun is expected after the colour {colour!r}, not {word!r}.")
            if word in self.colours:
                colour = word
            else:
                words.append([self._number[word], self._number[colour]])
                colour = ""
        if colour or not typed or typed[-1] not in PRONOUNS or len(typed) > MOST:
            raise InputError(
                f"the last word asks the question: {', '.join(PRONOUNS)} is expected there, after "
                f"at most {MOST - 1} words, as in: the purple man took the blue hat and washed it"
            )
        return torch.tensor(words)

    def sentence(self, text):
        """Return the Sentences with one typed sentence: "the purple man took the blue hat and ...".

        Raises InputError as read does, and if the sentence has a different form from those drawn.
        """
        words = self.read(text)
        drawn = [self.words[w] for w in words[:, 0].tolist()]
        nouns, pronoun = [drawn[at] for at in (FIRST, SECOND) if at < len(drawn)], drawn[-1]
        fits = [self._pronoun.get(noun) == pronoun for noun in nouns]
        one_each = sum(noun in self.people for noun in nouns) == 1 == sum(fits)
        coloured = [at for at, (_, colour) in enumerate(words.tolist()) if self.words[colour]]
        if len(words) != LENGTH or not one_each or coloured != [FIRST, SECOND]:
            raise InputError(
                "a person and a thing are expected, each with a colour, and a pronoun for one of "
                "them, as in: the purple man took the blue hat and washed it"
            )
        own, other = (FIRST, SECOND) if fits[0] else (SECOND, FIRST)
        own, other = torch.tensor([own]), torch.tensor([other])
        return Sentences(words[None], words[own, 1], words[other, 1], own, other)


def load_language():
    """Return the small language of data/language.csv."""
    with rows_of(FILE, "a kind and a word in each line") as rows:
        _, *rows = rows
        kinds = {}
        for kind, word in rows:
            kinds.setdefault(kind, []).append(word)
        return Language(kinds)
