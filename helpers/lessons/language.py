"""Define the small language of lessons 13 to 15, draw its sentences, and read one."""

from dataclasses import dataclass

import torch

from ..attention.data import DATA, rows_of
from ..errors import InputError

FILE = DATA / "language.csv"
PRONOUNS = ("him", "her", "it")
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
        """Return the words of a sentence, (n, 2): "the purple man took the hat and washed it".

        A colour belongs to the word after it. Raises InputError for an unknown word.
        """
        words, colour = [], ""
        for word in text.split():
            if word not in self._number:
                known = ", ".join(filter(None, self.words))
                raise InputError(f"{word!r} is not a word of the small language: {known}.")
            if word in self.colours:
                colour = word
            else:
                words.append([self._number[word], self._number[colour]])
                colour = ""
        return torch.tensor(words)


def load_language():
    """Return the small language of data/language.csv."""
    kinds = {}
    for kind, word in rows_of(FILE):
        kinds.setdefault(kind, []).append(word)
    return Language(kinds)
