"""Draw tiles: where each number of a word goes when words are split into heads and merged again."""

import itertools
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...pictures.given import as_array, one_word, wide
from ...pictures.sketch import Sketch
from ...pictures.view import View
from ..compose import tile

STEPS = ["words", "cut", "heads", "merged"]
NO_GUESS = "no guess"
COLOURS = "first", "second", "third"  # roles, used for the words in turn
SIZE, GAP = 30, 12  # pixels of a tile, and between the tiles of two heads
ROW = SIZE + 6
APART = 56  # pixels between the words and the heads
TOP = 24


@dataclass
class Tiles(View):
    """Tiles(numbered, words, heads=split(numbered)): words as rows of numbered tiles, a colour for
    each word, and where each tile lands in the heads.

    matrix: (n, d) or a batch of one (1, n, d), each number once, torch.arange for instance.
    tokens: the n words.
    heads: (num_heads, n, head_dim), or (1, ...), what a function returned for them: the number
        on a tile shows where it went.
    merged: (n, d) or (1, n, d), the merged heads; needed for the last step only.
    step: "words", "cut" between the numbers of two heads, "heads" or "merged".
    guess: {tile: place}: where a reader expects this tile, one of Tiles.places(...). A click on
        a place of a head sets a control named "guess".
    caption: by default a sentence about this step.
    The other arguments are those of View.  Raises InputError if they do not fit together.
    """

    steps = STEPS

    heads: object = None
    merged: object = None
    step: str = "words"
    guess: object = None
    is_below, tight = False, dict(is_below=True)  # whether the heads stand below the words

    def __post_init__(self):
        self.start = start = _one("the words", self.matrix, 2)
        self.split = _one("heads", self.heads, 3)
        if self.step not in STEPS or self.step == "merged" and self.merged is None:
            raise InputError(
                f"step is {self.step!r}; one of {', '.join(STEPS)} is expected, and merged= for "
                "the last."
            )
        self.back = start if self.merged is None else _one("merged", self.merged, 2)
        for what, numbers in ("the words", start), ("heads", self.split), ("merged", self.back):
            if sorted(numbers.ravel()) != sorted(set(start.ravel())):
                raise InputError(
                    f"{what}: each number of the words is expected once, as in torch.arange."
                )
        self.matrix = {"heads": np.hstack(list(self.split)), "merged": self.back}.get(
            self.step, start
        )
        self.keys = [str(k) for k in range(self.matrix.shape[1])]
        if self.step == "heads":
            count, _, size = self.split.shape
            self.keys = [f"head {h}, {k}" for h in range(count) for k in range(size)]
        self.heads, self.digits, self.axes = None, 0, ("Word", "Number")
        self.explain = self.explain or self._origin
        super().__post_init__()
        ((self.asked, self.place),) = (self.guess or {None: NO_GUESS}).items()
        if self.place not in self._places:
            raise InputError(f"guess is {self.place!r}; one of Tiles.places(...) is expected.")
        self.caption = self.caption or self._seen()
        if self.step in STEPS[2:] and self.place != NO_GUESS:
            self._judge()

    @staticmethod
    def places(num_heads, words, head_dim):
        """Return the choices of a control named guess: "no guess", "head 0, Your, number 0"...

        words: those of the picture, each of them different."""
        every = itertools.product(range(num_heads), map(one_word, words), range(head_dim))
        return [NO_GUESS, *(f"head {h}, {word}, number {k}" for h, word, k in every)]

    @property
    def _places(self):
        num_heads, _, head_dim = self.split.shape
        return self.places(num_heads, self.tokens, head_dim)

    @property
    def _strays(self):
        """Return the number of tiles in the row of a different word."""
        return sum(self._of(x)[0] != i for (i, _), x in np.ndenumerate(self.matrix))

    def _seen(self):
        """Return what the picture shows at this step."""
        if self.step == "words":
            return "Each row is a word, and each tile is one of its numbers."
        if self.step == "cut":
            return f"Each word is cut: every head gets {self.split.shape[2]} of its numbers."
        if self._strays:
            return f"{self._strays} of {self.start.size} tiles are in the row of another word."
        every = (
            "Every head has a row for each word" if self.step == "heads" else "The words are back"
        )
        return f"{every}: no tile is in the row of another word."

    def _judge(self):
        """Add the result of the guess to the caption, or a tick if it was right."""
        tile, right = self.asked, self._landed(self.asked)
        word, k = self._of(tile)
        size = self.split.shape[2]
        h = k // size
        said = f"Tile {tile} went to {right}"
        why = "this split does not keep a word in its row"
        by_numbers = self.start.reshape(len(self.start), -1, size).swapaxes(0, 1)
        if np.array_equal(self.split, by_numbers):
            every = ", ".join(map(str, range(h * size, (h + 1) * size)))
            why = f"head {h} gets the numbers {every} of every word"
        why = f"It is number {k} of {self.tokens[word]}, and {why}."
        if self.place != right:
            self.caption += f"\n{said}; your guess was {self.place}. {why}"
        elif self.reached == "":
            self.reached = f"{said}, as you guessed. {why}"

    def _landed(self, number):
        place = int(np.flatnonzero(self.split.ravel() == number)[0])
        return self._places[1 + place]

    def _of(self, number):
        """Return (word, index in that word) of a number at the start."""
        return tuple(map(int, np.argwhere(self.start == number)[0]))

    def _origin(self, i, j):
        word, k = self._of(self.matrix[i, j])
        return f"number {k} of {self.tokens[word]}"

    def sketch(self):
        """Return the words on the left, the heads on the right, and each tile in its place."""
        heads, n, size = self.split.shape
        left = 8 * max(map(wide, self.tokens)) + 12
        d = self.start.shape[1]
        width, high = left + d * SIZE + (d // size) * GAP, TOP + n * ROW + 4
        apart, down = (left, high) if self.is_below else (width + APART, 0)
        width = max(width, apart + heads * (size * SIZE + 2 * GAP))
        sketch = Sketch(width, high + down)

        def in_word(i, k):
            return left + k * SIZE + (k // size) * GAP * (self.step != "words"), TOP + i * ROW

        def in_head(h, i, k):
            return apart + h * (size * SIZE + 2 * GAP) + k * SIZE, down + TOP + i * ROW

        for i, word in enumerate(self.tokens):
            for top in sorted({0, down}):
                y = top + TOP + i * ROW + SIZE / 2
                sketch.text(left - 8, y, word, f"{COLOURS[i % 3]} strong", side="right")
        for h in range(heads):
            x, _ = in_head(h, 0, 0)
            sketch.text(x + size * SIZE / 2, down + TOP / 2, f"head {h}", "rest")
        names = self._places
        for place, (h, i, k) in enumerate(np.ndindex(self.split.shape), start=1):
            x, y = in_head(h, i, k)
            sketch.frame(x, y, SIZE, SIZE, "rest", 1, opacity=0.6)
            more = dict(sets=("guess", place, names[place]), label=names[place])
            sketch.box(x + 1, y + 1, SIZE - 2, SIZE - 2, "rest", opacity=0.12, **more)
        for (i, k), number in np.ndenumerate(self.start):
            at = in_word(i, k)
            sketch.frame(*at, SIZE, SIZE, "rest", 1, opacity=0.6)
            if self.step == "heads":
                at = in_head(*np.argwhere(self.split == number)[0])
            elif self.step == "merged":
                at = in_word(*np.argwhere(self.back == number)[0])
            sketch.put(self._tile(i, number), *at)
        if self.place != NO_GUESS:
            x, y = in_head(*np.unravel_index(names.index(self.place) - 1, self.split.shape))
            sketch.frame(x, y, SIZE, SIZE, "ink", 3)
            if self.step in STEPS[:2]:
                sketch.text(x + SIZE / 2, y + SIZE / 2, f"{self.asked}?", "ink strong")
        return [sketch]

    def _tile(self, i, number):
        """Return the tile of a number of word i."""
        row, column = map(int, np.argwhere(self.matrix == number)[0])
        text = f"{number:g}"
        more = dict(cell=(row, column), label=f"tile {text}, of {self.tokens[i]}")
        look, edge = ("ink strong", 4) if number == self.asked else ("ink", 2)
        fill = 0.3 if i < len(COLOURS) else 0.1
        return tile(text, SIZE, SIZE, COLOURS[i % 3], look, fill, edge, free=2, **more)

    def _in_words(self):
        heads, n, size = self.split.shape
        rows = "; ".join(
            f"{word}: {', '.join(f'{x:g}' for x in row)}"
            for word, row in zip(self.tokens, self.matrix, strict=True)
        )
        if self.step == "heads":
            rows = "; ".join(
                f"head {h}: " + " | ".join(", ".join(f"{x:g}" for x in row) for row in head)
                for h, head in enumerate(self.split)
            )
        return f"Words as rows of numbered tiles, step {self.step}. {rows}."


def _one(what, given, ndim):
    """Return an array of ndim dimensions; remove the batch dimension of a batch of one."""
    if given is None:
        raise InputError(f"Tiles needs {what}.")
    array = as_array(given, what)
    if array.ndim == ndim + 1 and len(array) == 1:
        array = array[0]
    if array.ndim != ndim or not array.size:
        shape = "(n, d)" if ndim == 2 else "(num_heads, n, head_dim)"
        raise InputError(f"{what} has the shape {array.shape}; {shape} is expected.")
    return array
