"""Draw a strip of fixed length that is cut into parts: softmax, from scores to weights."""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...pictures.given import as_array, shaped, wide, words
from ...pictures.sketch import Sketch
from ...pictures.view import View
from ..compose import below, beside, tile, written

MAX_WORDS = 6  # so that the numbers fit
NAME = 58  # pixels for each name; with less, names stand on two lines in turn
UNIT = 16  # pixels of a bar of 1
UP, DOWN = 72, 32  # pixels of a bar above and below 0; a longer bar leaves the picture
ROW = 16  # pixels of a line of text
THICK = 24  # pixels of the strip
# pixels from the words down to it, of a marker's handle below it, and of the handle's ring
TIE, HANDLE, RING = 10, 12, 8
EDGE, FREE = 8, 3  # pixels on either side of it, and around a sample of a colour


@dataclass
class Strip(View):
    """Strip(scores, words): two bars for each word, its score and its exp, and below the bars a
    strip of length 1, cut into a part for each word, as long as its weight.

    matrix: the scores (n,) of up to 6 words.  tokens: the words.
    exps: (n,), by default exp(score - largest score).
    weights: (n,), by default the exps divided by their sum. If the strip cannot be cut, for
        instance at nan, it shows why.
    cut: False while the strip is whole.
    markers: (m,) from 0 to 1 on the strip, for instance guesses of the cuts.
    drags: the name of a control that holds the markers: dragging a marker changes it.
    The numbers are (3, n), scores, exps and weights; they have explanations and a caption. The
    other arguments are those of View. Attribute: cuts (n - 1,), the positions where the parts
    meet.
    Raises InputError if the arguments do not fit together.
    """

    exps: object = None
    weights: object = None
    cut: bool = True
    markers: object = ()
    drags: str = ""
    long, tight = 352, dict(long=286)  # pixels of the strip, and of the bars above it

    def __post_init__(self):
        hint = f": one row, of up to {MAX_WORDS} words, for instance scores[1]"
        scores = shaped(self.matrix, "the matrix of scores", "n", hint=hint)
        n = scores.size
        if n > MAX_WORDS:
            raise InputError(f"there are {n} scores; at most {MAX_WORDS} fit.")
        self.is_shifted = self.exps is None
        with np.errstate(all="ignore"):  # the picture shows nan
            exps = np.exp(scores - scores.max()) if self.is_shifted else as_array(self.exps, "exps")
            weights = exps / exps.sum() if self.weights is None else self.weights
        exps, weights = shaped(exps, "exps", n), shaped(weights, "weights", n)
        self.markers = as_array(self.markers, "markers").ravel()
        if not ((self.markers >= 0) & (self.markers <= 1)).all():
            raise InputError(f"markers is {self.markers}; numbers from 0 to 1 are expected.")
        self.keys, self.tokens = words(self.tokens, n), ["score", "exp", "weight"]
        self.matrix = np.stack([scores, exps, weights])
        if not self.cut:
            self.shown = [[True] * n, [True] * n, [False] * n]
        self.cuts = np.cumsum(weights)[:-1]
        super().__post_init__()
        self.explain = self.explain or self._in_full
        self.caption = self.caption or self._told()

    def _told(self):
        if not self.cut:
            return "The whole strip is 1. It is not cut yet."
        if obstacle := self._obstacle():
            return f"The strip cannot be cut. {obstacle}."
        j = int(self.matrix[2].argmax())
        said = f'The longest part belongs to "{self.keys[j]}": {self.number(self.matrix[2, j])}.'
        for at in self.markers if self.cuts.size else ():
            cut = min(self.cuts, key=lambda cut: abs(cut - at))
            said += f" The cut nearest to the marker at {self.number(at)} is at {self.number(cut)}."
        return said

    def _in_full(self, i, j):
        scores, exps, weights = self.matrix
        # in float32, as the lessons compute: a larger type could hold what is inf there
        with np.errstate(all="ignore"):
            total = float(exps.astype(np.float32).sum())
            quotient = exps[j] / total
        if i == 1:
            return self._exp_in_full(j)
        if i == 2 and np.isclose(weights[j], quotient, atol=1e-5, equal_nan=True):
            return f"{_short(exps[j])} / {_short(total)}, its exp divided by the sum of all exps"
        return ""

    def _exp_in_full(self, j):
        score, exp = self.matrix[:2, j]
        said = f"exp({score:.2f})"
        if self.is_shifted:
            said = f"exp({score:.2f} - {self.matrix[0].max():.2f})"
            return f"{said}: the largest score is subtracted first"
        if exp == np.inf:
            return f"{said}, more than the largest float32 number"
        return f"{said}, too small for float32: rounded to 0" if exp == 0 else said

    def _obstacle(self):
        """Return in words why the strip cannot be cut; "" if it can, or if cut is False."""
        _, exps, weights = self.matrix
        if not self.cut:
            return ""
        if np.isnan(weights).any():
            what = "∞ / ∞" if np.isinf(exps).any() else "0 / 0" if not exps.any() else ""
            return f"{what} = nan: no part has a length".removeprefix(" = ")
        if (weights < 0).any():
            return f"{_short(weights.min())}: no part has a length below 0"
        if not weights.any():
            return "every weight is 0: no part has a length"
        return ""

    def sketch(self):
        """Return one drawing: the bars of each word, and the strip below them."""
        column = self.long / len(self.keys)
        middles = EDGE + column * (np.arange(len(self.keys)) + 0.5)
        what = "exp(score - largest score)" if self.is_shifted else "exp(score)"
        legend = (_sample("rest", "score", 70), _sample("key", what, self.long - 70))
        lines = 1 if column >= NAME else 2
        words, room = Sketch(self.long + 2 * EDGE, lines * ROW), int(lines * column / 8)
        # pixels from below each name to below all names
        above = [ROW * (lines - 1 - j % lines) for j in range(len(self.keys))]
        for x, name, up in zip(middles, self.keys, above, strict=True):
            y = lines * ROW - up - ROW / 2
            words.text(x, y, name if wide(name) <= room else name[: room - 1] + "…")
        bars, strip = self._bars(middles, column), self._strip(middles, above)
        drawing = below(beside(EDGE - FREE, *legend), bars, words, strip)
        self._mark(drawing)
        return [drawing]

    def _bars(self, middles, column):
        """Return a bar for each score and for each exp, side by side."""
        zero = ROW + UP
        bars = Sketch(self.long + 2 * EDGE, zero + DOWN + ROW)
        bars.line([(EDGE, zero), (EDGE + self.long, zero)], "rest", 1)
        apart = min(column / 4, 21)  # of a bar from the middle of its word
        for i, role, aside in (0, "rest", -apart), (1, "key", apart):
            for j, x in enumerate(middles + aside):
                value = self.matrix[i, j]
                end = _bar(bars, x, zero, value, role)
                # where there is no room for two numbers side by side, an exp has its number below
                # 0, where the score next to it rarely has one
                low = i == 1 and column < 80
                y = zero + 9 if low else end + (8 if value < 0 else -8)
                label = f"{self.tokens[i]} of {self.keys[j]}: {_short(value)}"
                bars.text(x, y, _short(value), role, cell=(i, j), label=label)
        return bars

    def _strip(self, middles, above):
        """Return the strip, and a line to each of its parts from the word above it."""
        is_cut = self.cut and not self._obstacle()
        weights = self.matrix[2] if is_cut else np.zeros(len(self.keys))
        ends = EDGE + self.long * np.minimum(np.cumsum(weights), 1)
        strip, left = Sketch(self.long + 2 * EDGE, TIE + THICK + HANDLE + RING), EDGE
        for j, (name, end) in enumerate(zip(self.keys, ends, strict=True)):
            middle, number = (left + end) / 2, _short(self.matrix[2, j])
            strip.box(left, TIE, end - left, THICK, "key", opacity=(0.5, 0.25)[j % 2])
            opacity = 0.7 if is_cut else 0
            tie = [(middles[j], -above[j]), (middles[j], 0), (middle, TIE)]
            strip.line(tie[not above[j] :], "key", 1.5, opacity=opacity)
            fits = (text for text in (f"{name} {number}", number) if 7.5 * wide(text) < end - left)
            more = dict(cell=(2, j), label=f"weight of {name}: {number}") if self.cut else {}
            strip.text(middle, TIE + THICK / 2, next(fits, ""), **more)
            left = end
        strip.frame(EDGE, TIE, self.long, THICK, "rest", 1.5)
        strip.text(EDGE + self.long / 2, TIE + THICK / 2, self._obstacle(), "ink strong")
        return strip

    def _mark(self, drawing):
        """Add the markers to the strip at the foot of a drawing."""
        low = drawing.size[1] - HANDLE - RING
        for k, at in enumerate(self.markers):
            x = EDGE + at * self.long
            drawing.line([(x, low - THICK - 6), (x, low)], "ink", 2.5)
            more = dict(drags=(self.drags, k, self.long, None)) if self.drags else {}
            handle = [(x, low), (x - 7, low + HANDLE), (x + 7, low + HANDLE)]
            drawing.area(handle, "ink", label=f"marker at {self.number(at)}", **more)

    def numbers(self):
        """Return the lines of numbers as text: scores, exps and weights, and the markers."""
        lines = [*super().numbers(), self._obstacle()]
        lines += [f"marker at {self.number(at)}" for at in self.markers]
        return [line for line in lines if line]

    def _in_words(self):
        said = "Bars of the scores and of their exps; below them a strip of length 1"
        if obstacle := self._obstacle():
            said += f", which cannot be cut: {obstacle}"
        elif self.cut:
            parts = zip(self.keys, map(self.number, self.matrix[2]), strict=True)
            said += f", cut into {', '.join(map(' '.join, parts))}"
        return f"{said}."


def _sample(role, text, width):
    """Return a colour and what it stands for."""
    sample = tile("", ROW, ROW, role, fill=1, edge=0, free=FREE)
    return beside(sample, 2, written(text, width - ROW - 2, ROW, role, side="left"))


def _bar(sketch, x, zero, value, role):
    """Add a bar, which ends in a point at the picture's edge if it is too long; return its end."""
    half, long = 9, UNIT * np.nan_to_num(value, posinf=np.inf, neginf=-np.inf)
    end = zero - np.clip(long, -DOWN, UP)
    shoulder = end if -DOWN <= long <= UP else end + 10 * np.sign(long)
    left, right = x - half, x + half
    sketch.area([(left, zero), (left, shoulder), (x, end), (right, shoulder), (right, zero)], role)
    return end


def _short(x):
    """Return a number in up to five characters."""
    if not np.isfinite(x) or abs(x) >= 10000:
        return f"{x:.0e}".replace("e+", "e")
    return f"{x:z.{2 if abs(x) < 10 else 1 if abs(x) < 100 else 0}f}"
