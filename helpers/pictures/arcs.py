"""Draw arcs over a sentence: where one word looks, and what the model answers."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ..errors import InputError
from .given import as_array, bare, one_line, one_word, shaped, wide, words
from .sketch import LARGE, Sketch
from .view import View

MAX_WORDS = 64
MAX_ANSWERS, DEEP = 8, 4  # bars in all, and below each other
THICK = 8  # pixels that an arc of weight 1 is wider than one of nearly 0, at the word that looks
TIP = 0.5  # of this remains at the word that it looks at
LOOP = 30, 36, 14  # pixels that an arc of a word to itself is bent aside and up; half its width
THIN = 0.005  # an arc of less is not drawn below the words
HIGH, LOW = 64, 52  # pixels of the arcs above the words and below them
ROW, WORD, BAR = 22, 80, 120  # pixels of a line of text, of "model says", of bars for a share of 1
CLOSE = 16  # words; in a longer sentence they are closer together
PHONE = 370  # pixels; a wider drawing is too wide for a phone


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
        return [self._drawn(down=False)]

    def narrow(self):
        """Return the same for a phone if the sentence is too long for it: the words stand below
        each other, and their arcs to the left of them."""
        return [self._drawn(down=True)] if sum(self._room()) > PHONE else []

    def _room(self):
        """Return the pixels of each word on one line."""
        gap = 14 if len(self.keys) <= CLOSE else 8
        return [8 * max(wide(word), 2 + self.digits) + gap for word in self.keys]

    def _drawn(self, down):
        """Return the drawing.  down: the words stand below each other."""
        weights, has_below = self._weights, self.below is not None
        high = 1.5 * HIGH if down else HIGH
        foot = high + 2
        # Places are (along, away): along the words, and away from the top of the arcs.
        room, start = self._room(), 0
        word_at, number_at, under = foot + ROW / 2, foot + 1.5 * ROW, foot + 2 * ROW + 10
        if down:
            room, start = [26 if len(room) <= CLOSE else 22] * len(room), ROW * has_below
            word_at = foot + 6
            number_at = word_at + 8 * max(map(wide, self.keys)) + 14
            under = number_at + 8 * (2 + self.digits) + 4
        place = (lambda along, away: (away, along)) if down else (lambda *both: both)
        side = dict(side="left") if down else {}
        at = [start + end - own / 2 for own, end in zip(room, accumulate(room), strict=True)]
        long, deep = start + sum(room), under + LOW * has_below + 4
        lines, columns = min(DEEP, len(self.answers)), -(-len(self.answers) // DEEP)
        bar = (80 if down else BAR) // max(1, columns)
        # room for answers of seven letters, so that nothing moves when they change
        own = 8 * max(7, *map(wide, self.answers), 0) + bar + 50
        width, end = place(long, deep)
        letters = 0.58 * LARGE * wide(self.result)
        width = max(width, (WORD + own * columns) * bool(self.answers), letters)
        sketch = Sketch(width, end + ROW * lines + (LARGE + 12) * bool(self.result))

        def arc(i, j, weight, role, foot, high, faint=1, **more):
            # high: how far it may rise at most, below 0 if it hangs
            begin, end, bent, tip = at[i], at[j], 0, TIP
            # a cubic curve reaches three quarters of the way to its inner points
            most, widest = (abs(high) - THICK / 2) / 0.75, 28 + 0.34 * long
            up = (28 + 0.34 * abs(end - begin)) * min(1, most / widest)
            if i == j:  # the word looks at itself: a loop of one width, which stays in the picture
                (bent, up, half), tip = LOOP, 1
                begin = end = min(max(begin, half), long - half)
            top = foot - up * np.sign(high)
            over = place(begin - bent, top), place(end + bent, top)
            points = place(begin, foot), *over, place(end, foot)
            # an arc to a word with the number 0 only keeps its place among the marks
            is_drawn = weight >= THIN if high < 0 else float(self.number(weight)) != 0
            width = is_drawn * (1.5 + THICK * float(weight))
            opacity = is_drawn * faint * (0.5 + 0.5 * float(weight))
            sketch.curve(points, role, round(width, 1), tip, opacity=round(opacity, 2), **more)

        most = int(weights.argmax())
        is_most = (weights == weights[most]).sum() == 1  # with even weights no word stands out
        for i, row in enumerate(self.below if has_below else ()):
            for j, weight in enumerate(row):
                role, faint = ("key", 1) if i == most and is_most else ("rest", 0.4)
                arc(i, j, weight, role, under, -LOW, faint)
        for j, weight in enumerate(weights):
            cell = dict(cell=(0, j), label=f"{self.keys[self.query]} looks at {self.keys[j]}")
            arc(self.query, j, weight, "key", foot, high, **cell)
        for j, word in enumerate(self.keys):
            role = "query strong under" if j == self.query else "ink"
            if j == most != self.query and is_most:
                role = "key strong"
            sets = ("query", j, word)
            sketch.text(*place(at[j], word_at), word, role, sets=sets, label=word, **side)
            number = self.number(self.matrix[0, j]) if self.shown[0, j] else ""
            more = dict(cell=(0, j), label=f"{word}: {number}")
            if self.drags:
                more["drags"] = (self.drags, j, *place(None, HIGH))
            sketch.text(*place(at[j], number_at), number, "ink", **more, **side)
        # Colour should not be the only sign. Added last, since each mark keeps its place in order.
        if has_below:
            sketch.text(2, 9, "later layer", "rest", side="left")
            earlier = (width - 2, 9, "right") if down else (2, deep - 8, "left")
            sketch.text(*earlier[:2], "earlier layer", "rest", side=earlier[2])
        for _, j in sorted(self.highlights):
            half, low = 8 if down else room[j] / 2 - 3, under - 10
            left, right = at[j] - half, at[j] + half
            frame = [(left, foot), (right, foot), (right, low), (left, low), (left, foot)]
            sketch.line([place(*corner) for corner in frame], "ink", 1.5)
        middle, wide_as = 0 if down else at[self.query], WORD + own * columns
        left = np.clip(middle - wide_as / 2, 0, max(0, width - wide_as))
        self._bars(sketch, left, end, own, bar)
        if self.result:
            x = np.clip(middle, letters / 2, width - letters / 2)
            sketch.text(x, sketch.size[1] - LARGE / 2 - 6, self.result, "ink large")
        return sketch

    def _bars(self, sketch, left, top, own, bar):
        if self.answers:
            sketch.text(left, top + ROW / 2, "model says", "rest", side="left")
        best = max(self.answers, key=self.answers.get, default="")
        for k, (word, share) in enumerate(self.answers.items()):
            x = left + WORD + own * (k // DEEP + 1) - bar - 50
            y = top + ROW * (k % DEEP + 0.5)
            role = "ink strong" if word == best else "ink"
            sketch.text(x + 4, y, word, role, side="right")
            sketch.box(x + 10, y - 7, max(1, bar * share), 14, "ink" if word == best else "rest")
            sketch.text(x + bar * share + 15, y, self.number(share), role, side="left")

    def numbers(self):
        """Return the lines of numbers as text: the weights, the answers and the layer below."""
        lines = super().numbers() + [self.result] * bool(self.result)
        if self.answers:
            shares = (f"{word} {self.number(x)}" for word, x in self.answers.items())
            lines.append(f"answer: {', '.join(shares)}")
        if self.below is not None:
            below = View(self.below, self.keys, digits=self.digits)
            lines += ["the layer below", *below.numbers()]
        return lines

    def alt(self):
        """Describe the picture in words for people who cannot see it."""
        order = np.argsort(-self._weights, kind="stable")[:2]
        most = " and ".join(f"{self.keys[j]} ({self.number(self._weights[j])})" for j in order)
        said = f"Arcs over a sentence: {self.keys[self.query]} looks mostly at {most}."
        if self.answers:
            word = max(self.answers, key=self.answers.get)
            said += f" The answer is {word} ({self.number(self.answers[word])})."
        said += f" {self.result}"
        return " ".join(f"{said} {self.caption}".split())
