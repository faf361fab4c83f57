"""Draw arcs over a sentence: where one word looks, and what the model answers."""

from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from textwrap import wrap

import numpy as np

from ..errors import InputError
from ..pictures.given import as_array, bare, one_line, one_word, shaped, wide, words
from ..pictures.sketch import LARGE, Sketch
from ..pictures.view import View
from .compose import bar, below, beside, written

MAX_WORDS = 64
MAX_ANSWERS, DEEP = 8, 4  # bars in all, and below each other
THICK = 8  # pixels that an arc of weight 1 is wider than one of nearly 0, at the word that looks
TIP = 0.5  # of this remains at the word that it looks at
LOOP = 30, 36, 14  # pixels that an arc of a word to itself is bent aside and up; half its width
HOOK = 6, 44, 8  # of words below each other: the same, and how far it ends below its start
THIN, PALE = 0.005, 0.7  # the least weight that is drawn below the words; a thick arc's opacity
HIGH, LOW = 64, 52  # pixels of the arcs above the words and below them
ABOVE = 2  # pixels that stay free above the arcs
ROW, WORD, BAR = 22, 80, 120  # pixels of a line of text, of "model says", of bars for a share of 1
SHARE = 40  # pixels of a share
LETTER = 0.58 * LARGE  # pixels of a letter of the result
SHORT = 80  # pixels of the bars if the words stand below each other
CLOSE = 16  # words; in a longer sentence they are closer together
PHONE = 304  # pixels; a wider drawing is too wide for JupyterLab on a phone


class Layout:
    """Where the words stand, on one line or, if it is turned, below each other.

    Places are (along, away): along the words, and away from the top of the arcs above them.
    room: pixels of each word along the words, after start.  away: where the arcs above the words
    end, the words, their numbers, and where the arcs below them begin.
    """

    def __init__(self, room, away, start=0, is_turned=False):
        self.room, self.is_turned = room, is_turned
        self.foot, self.word, self.number, self.under = away
        ends = accumulate(room, initial=start)
        self.at = [end + own / 2 for own, end in zip(room, ends, strict=False)]
        self.long = start + sum(room) + (8 if is_turned else 0)  # for the loop of the last word

    def place(self, along, away):
        """Return (x, y), or what is given for these directions."""
        return (away, along) if self.is_turned else (along, away)

    def arc(self, i, j, foot, high):
        """Return the points of an arc from word i to word j, which rises up to `high` pixels, or
        hangs if that is below 0. From a word to itself it is a loop, which stays in the picture; if
        the words stand below each other, below the arcs to the words above."""
        begin, end, back, on = self.at[i], self.at[j], 0, 0
        # a cubic curve reaches three quarters of the way to its inner points
        most, widest = (abs(high) - THICK / 2) / 0.75, 28 + 0.34 * self.long
        up = (28 + 0.34 * abs(end - begin)) * min(1, most / widest)
        if i == j and self.is_turned:
            on, up, low = HOOK
            end = begin + low
        elif i == j:
            on, up, half = LOOP
            back = on
            begin = end = min(max(begin, half), self.long - half)
        top = foot - up * np.sign(high)
        corners = (begin, foot), (begin - back, top), (end + on, top), (end, foot)
        return [self.place(*corner) for corner in corners]


@dataclass
class Arcs(View):
    """Arcs(weights, words, query=7): a sentence on one line, and an arc from one word to each
    word that it looks at, as wide as the weight of that word.

    matrix: the weights (n,) of the word that looks, from 0 to 1.  tokens: the n words.
    query: the index of the word that looks, counted from 0; by default the last word.
    answers: {word: share}, up to 8 words with shares from 0 to 1: bars below the sentence.
    below: weights (n, n) of an earlier layer, drawn below the words, for all words at once.
    result: what comes of it, such as the words that a model writes: large, below the sentence.
    drags: the name of a control that holds weights (n,): dragging a word's number up or down
        changes it.
    A click on a word sets a control named "query". The other arguments are those of View.
    Raises InputError if the arguments do not fit together.
    """

    query: int | None = None
    answers: object = None
    below: object = None
    result: str = ""
    drags: str = ""

    def __post_init__(self):
        hint = ": the weights of one word, for instance weights[1]"
        weights = shaped(self.matrix, "weights", "n", hint=hint)
        n = weights.size
        if n > MAX_WORDS:
            raise InputError(f"there are {n} words; at most {MAX_WORDS} fit on one line.")
        if self.keys is not None:
            raise InputError(f"keys is {self.keys}; use query= to choose the word that looks.")
        self.keys = words(self.tokens, n)
        self.query = n - 1 if self.query is None else bare(self.query)
        if self.query not in range(n):
            raise InputError(f"query is {self.query}; an index from 0 to {n - 1} is expected.")
        self.matrix, self.tokens = weights[None], [self.keys[self.query]]
        super().__post_init__()
        for what, given, shape in ("weights", self.matrix, (1, n)), ("below", self.below, (n, n)):
            if given is None:
                continue
            known = shaped(given, what, *shape)
            if not (known[np.isfinite(known)] >= 0).all() or np.nanmax(known, initial=0) > 1 + 1e-6:
                raise InputError(f"{what} has a number outside 0 to 1; no arc can show it.")
        self.below = None if self.below is None else np.nan_to_num(as_array(self.below))
        self.answers, self.result = self._shares(), one_line(str(self.result))

    def _shares(self):
        given = self.answers or {}
        try:
            shares = {one_word(word): float(bare(x)) for word, x in given.items()}
            fits = len(shares) <= MAX_ANSWERS and all(0 <= x <= 1.001 for x in shares.values())
        except (AttributeError, TypeError, ValueError):
            fits = False
        if not fits:
            raise InputError(
                f"answers is {str(given)[:60]}; up to {MAX_ANSWERS} words with shares from 0 to 1, "
                "{word: share}, are expected."
            )
        return shares

    @property
    def _weights(self):
        return np.where(self.shown, np.nan_to_num(self.matrix), 0.0)[0]

    def sketch(self):
        """Return the sentence with its arcs, and below the word that looks what comes of it."""
        return [self._drawn(self._on_one_line())]

    def narrow(self):
        """Return the same for a phone, with the words below each other."""
        return [self._drawn(self._below_each_other())]

    def _on_one_line(self):
        gap = 14 if len(self.keys) <= CLOSE else 8
        room = [8 * max(wide(word), 2 + self.digits) + gap for word in self.keys]
        foot = HIGH + ABOVE
        number = foot + (1.75 if self.drags else 1.5) * ROW  # what can be dragged has a ring
        return Layout(room, (foot, foot + ROW / 2, number, number + ROW / 2 + 10))

    def _below_each_other(self):
        """Return the layout with the arcs to the left of the words."""
        # a number that can be dragged has a ring
        room = [30 if self.drags else 26 if len(self.keys) <= CLOSE else 22] * len(self.keys)
        start = 0 if self.below is None else ROW  # for the names of the layers
        foot = 1.5 * HIGH + ABOVE
        word = foot + 6
        number = word + 8 * max(map(wide, self.keys)) + 14
        under = number + 8 * (2 + self.digits) + 10
        return Layout(room, (foot, word, number, under), start, is_turned=True)

    def _drawn(self, layout):
        """Return the drawing: arcs and words, and below them what comes of it."""
        under = layout.under + 4 + (0 if self.below is None else LOW)
        width, top = layout.place(layout.long, under)
        top += 0 if self.below is None else ROW / 2
        answers, lines = self._answers(layout), self._lines(layout)
        letters = LETTER * max(map(wide, lines), default=0)
        width = max(width, answers.size[0], letters)
        high = top + answers.size[1]
        sketch = Sketch(width, high + (len(lines) * (LARGE + 4) + 8 if lines else 0))
        self._arcs(sketch, layout)
        self._words(sketch, layout)
        # Colour should not be the only sign. Added last, since each mark keeps its place in order.
        if self.below is not None:
            sketch.text(2, 9, "later layer", "rest", side="left")
            x, y, side = (width - 2, 9, "right") if layout.is_turned else (2, under - 8, "left")
            sketch.text(x, y, "earlier layer", "rest", side=side)
        for _, j in sorted(self.highlights):
            half = layout.room[j] / 2 - 3
            left, low = layout.place(layout.at[j] - half, layout.foot)
            right, high = layout.place(layout.at[j] + half, layout.under - 10)
            sketch.frame(left, low, right - left, high - low, "ink", 1.5)
        middle = 0 if layout.is_turned else layout.at[self.query]
        left = np.clip(middle - answers.size[0] / 2, 0, width - answers.size[0])
        sketch.put(answers, left, top)
        for k, line in enumerate(reversed(lines)):
            # below the word that looks; near an edge it begins or ends there
            place = dict(x=width / 2 if layout.is_turned else middle)
            if place["x"] < letters / 2:
                place = dict(x=0, side="left")
            elif place["x"] > width - letters / 2:
                place = dict(x=width, side="right")
            y = sketch.size[1] - LARGE / 2 - 6 - k * (LARGE + 4)
            sketch.text(y=y, text=line, role="ink large", **place)
        return sketch

    def _lines(self, layout):
        """Return the lines of the result, about equally long if there have to be several."""
        count = ceil(LETTER * wide(self.result) / PHONE) if layout.is_turned else 1
        if count > 1:
            return wrap(self.result, len(self.result) // count + 3)
        return [self.result] if self.result else []

    @property
    def _most(self):
        """Return the index of the word with most weight; None if several have as much."""
        weights = self._weights
        (largest,) = np.nonzero(weights == weights.max())
        return int(largest[0]) if len(largest) == 1 else None

    def _arcs(self, sketch, layout):
        most = self._most
        for (i, j), weight in np.ndenumerate(() if self.below is None else self.below):
            role, opacity = ("key", 1) if i == most else ("rest", PALE)
            points = layout.arc(i, j, layout.under, -LOW)
            _arc(sketch, points, i == j, weight, role, opacity if weight >= THIN else 0)
        for j, weight in enumerate(self._weights):
            cell = dict(cell=(0, j), label=f"{self.keys[self.query]} looks at {self.keys[j]}")
            points = layout.arc(self.query, j, layout.foot, layout.foot - ABOVE)
            # an arc to a word with the number 0 only keeps its place among the marks
            opacity = 1 if float(self.number(weight)) else 0
            _arc(sketch, points, j == self.query, weight, "key", opacity, **cell)

    def _words(self, sketch, layout):
        most, side = self._most, dict(side="left") if layout.is_turned else {}
        for j, (word, along) in enumerate(zip(self.keys, layout.at, strict=True)):
            role = "key strong" if j == most else "ink"
            if j == self.query:
                role = "query strong under"
            sets = dict(sets=("query", j, word), label=word)
            sketch.text(*layout.place(along, layout.word), word, role, **sets, **side)
            number = self.number(self.matrix[0, j]) if self.shown[0, j] else ""
            more = dict(cell=(0, j), label=f"{word}: {number}")
            if self.drags:
                more["drags"] = (self.drags, j, *layout.place(None, HIGH))
            sketch.text(*layout.place(along, layout.number), number, "ink", **more, **side)

    def _answers(self, layout):
        """Return the bars of the answers, DEEP of them below each other."""
        if not self.answers:
            return Sketch(0, 0)
        columns = [[*self.answers][k : k + DEEP] for k in range(0, len(self.answers), DEEP)]
        long = (SHORT if layout.is_turned else BAR) // len(columns)
        # room for answers of seven letters, so that nothing moves when they change
        room = 8 * max(7, *map(wide, self.answers)) + 4
        columns = (below(*(self._answer(x, room, long) for x in column)) for column in columns)
        says, shares = written("model says", WORD, ROW, "rest", side="left"), beside(*columns)
        is_tight = layout.is_turned and WORD + shares.size[0] > PHONE
        return (below if is_tight else beside)(says, shares)

    def _answer(self, answer, room, long):
        share, best = self.answers[answer], max(self.answers, key=self.answers.get)
        role, colour = ("ink strong", "ink") if answer == best else ("ink", "rest")
        name = written(answer, room, ROW, role, side="right")
        number = self.number(share)
        return beside(name, 6, bar(long * share, long + SHARE, ROW, number, colour, role))

    def numbers(self):
        """Return the lines of numbers as text: the weights, the answers and the layer below."""
        lines = super().numbers()
        if self.result:
            lines.append(self.result)
        if self.answers:
            shares = (f"{word} {self.number(x)}" for word, x in self.answers.items())
            lines.append(f"answer: {', '.join(shares)}")
        if self.below is not None:
            below = View(self.below, self.keys, digits=self.digits)
            lines += ["the layer below", *below.numbers()]
        return lines

    def _in_words(self):
        order = np.argsort(-self._weights, kind="stable")[:2]
        most = " and ".join(f"{self.keys[j]} ({self.number(self._weights[j])})" for j in order)
        said = f"Arcs over a sentence: {self.keys[self.query]} looks mostly at {most}."
        if self.answers:
            word = max(self.answers, key=self.answers.get)
            said += f" The answer is {word} ({self.number(self.answers[word])})."
        return f"{said} {self.result}"


def _arc(sketch, points, is_loop, weight, role, opacity, **more):
    """Add an arc as wide as a weight; one of opacity 0 has no width."""
    width = round(2 + THICK * float(weight), 1) if opacity else 0
    opacity = opacity and round(1 - (1 - opacity) * float(weight), 2)  # thin arcs need the most
    sketch.curve(points, role, width, 1 if is_loop else TIP, opacity=opacity, **more)
