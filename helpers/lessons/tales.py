"""Make up stories in a small language, measure how much of them cannot be predicted, and how well a
model predicts them."""

from math import log

import torch
from torch.nn import functional as F

from .stories import ACTS, LENGTH, NAMES, NUMBER, OBJECT, PLACES, SOUNDS

BATCH = 32
RECALLS = "act", "sound", "where", "who"


class Story:
    """A woman and a man, each with a thing in a place, and an animal; then what they do.

    draws: random.Random.
    words: LENGTH str.  recalls: {position of a word: which of RECALLS} for the words that the
    earlier text decides.  surprise: for each word, -log of its probability for a reader who knows
    the language.  at: {pronoun: position of the word that decides what follows it}: the thing that
    she or he has, and the animal.
    """

    def __init__(self, draws):
        self._draws, self._facts = draws, {}
        self.words, self.recalls, self.surprise, self.at = [], {}, [0.0], {}
        self._say(self._pick(["", "today"]))
        owners, things, places = [*NAMES], [*ACTS], [*PLACES]
        for part in self._shuffled(["owner", "owner", "animal"]):
            if part == "owner":
                self._owner(self._taken(owners), things, places)
            else:
                self._say("a")
                self.at["it"] = len(self.words)
                self._say(self._pick([*SOUNDS]))
                self._say(self._pick(["comes", "waits"]), ".")
        self._animal = self.words[self.at["it"]]
        left = {"finds": [*NAMES], "follows": [*NAMES]}
        for part in self._shuffled([*self.at, "animal", "animal", "animal"]):
            self._say(self._pick(["", "soon"]))
            if part == "animal":
                self._deed(left)
            else:
                self._say(part)
                kind, verbs = ("sound", SOUNDS) if part == "it" else ("act", ACTS)
                noun = self.words[self.at[part]]
                self._recall(kind, verbs[noun])
                self._say(*(["the", noun] if kind == "act" else []))
            self._say(".")
        self.words, self.surprise = self.words[:LENGTH], self.surprise[:LENGTH]
        self.recalls = {at: kind for at, kind in self.recalls.items() if at < LENGTH}

    def _deed(self, left):
        """Add a sentence: the animal finds her in the park, or follows her to Ben."""
        self._say("the", self._animal)
        verb = self._pick([verb for verb, people in left.items() if people])
        self._say(verb)
        who = self._taken(left[verb])
        self._say(OBJECT[who])
        if verb == "finds":
            self._say("in", "the")
            self._recall("where", self._facts[who][1])
        else:
            self._say("to")
            self._recall("who", self._facts["he" if who == "she" else "she"][0])

    def _owner(self, who, things, places):
        name = self._pick(NAMES[who])
        verb = self._pick(["has", "takes", "is", "goes"])
        near = "in" if verb in ("has", "is") else "to"
        self._say(name, verb)
        if verb in ("has", "takes"):  # Anna has a kite in the park
            self._thing(who, things)
            self._say(near, "the")
            place = self._taken(places)
            self._say(place, ".")
        else:  # Anna is in the park with a kite
            self._say(near, "the")
            place = self._taken(places)
            self._say(place, "with")
            self._thing(who, things)
            self._say(".")
        self._facts[who] = name, place

    def _thing(self, who, things):
        thing = self._taken(things)
        self._say("an" if thing == "apple" else "a")
        self.at[who] = len(self.words)
        self._say(thing)

    def _shuffled(self, parts):
        """Yield the parts in random order, each drawn after the one before it is written."""
        while parts:
            part = self._pick(sorted({*parts}))
            parts.remove(part)
            yield part

    def _taken(self, among):
        one = self._pick(among)
        among.remove(one)
        return one

    def _pick(self, among):
        """Return one of them, drawn evenly; its surprise counts for the next word."""
        self.surprise[-1] += log(len(among))
        return self._draws.choice(among)

    def _recall(self, kind, word):
        self.recalls[len(self.words)] = kind
        self._say(word)

    def _say(self, *words):
        for word in filter(None, words):
            self.words.append(word)
            self.surprise.append(0.0)


def draw_stories(draws, count=BATCH):
    """Return count stories, (count, LENGTH) of word numbers.  draws: random.Random."""
    return torch.tensor([[NUMBER[word] for word in Story(draws).words] for _ in range(count)])


def story_loss(model, stories):
    """Return the mean loss of predicting each next word of stories (b, n)."""
    return F.cross_entropy(model(stories[:, :-1]).mT, stories[:, 1:])


def shares_of(found, stories):
    """Return {kind of RECALLS: share of its words that were found}.

    found: (count, LENGTH - 1) of bool, whether the word after each word was.
    """
    hits = {kind: [] for kind in RECALLS}
    for hit, story in zip(found.tolist(), stories, strict=True):
        for at, kind in story.recalls.items():
            hits[kind].append(hit[at - 1])
    return {kind: sum(of_kind) / len(of_kind) for kind, of_kind in hits.items()}
