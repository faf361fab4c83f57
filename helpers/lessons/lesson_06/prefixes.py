"""Draw one sentence as several tasks: each beginning asks for the next word."""

from dataclasses import dataclass

from ...pictures.given import as_array, wide, words
from ...pictures.view import View
from ..compose import below, beside, written

ROW = 24  # pixels
COLUMN = 58


@dataclass
class Prefixes(View):
    """Prefixes(numbers, words, keys=["chance", "loss"]): a row for each beginning of a sentence,
    with an arrow to the next word, and the numbers of that row.

    matrix: (n - 1, columns), a row for each beginning.  tokens: the n words.
    The other arguments are those of View; a row that is not shown has no arrow yet.
    Raises InputError if the arguments do not fit together.
    """

    is_below, tight = False, dict(is_below=True)  # whether numbers stand below their row

    def __post_init__(self):
        n = len(as_array(self.matrix, "the numbers")) + 1
        self.words = words(self.tokens, n)
        self.tokens = [
            f"{' '.join(self.words[: i + 1])} → {self.words[i + 1]}" for i in range(n - 1)
        ]
        super().__post_init__()

    def sketch(self):
        """Return one drawing: a row for each beginning, with its next word and its numbers."""
        room = [8 * max(wide(text), 4) + 26 for text in self.words]
        if self.is_below:
            room = [8 * wide(text) + 13 for text in self.words]
        titles = beside(*(written(key, COLUMN, ROW, "rest") for key in self.keys))
        left = max(0, sum(room) - titles.size[0]) if self.is_below else sum(room) + 20
        rows = (self._row(i, room, left) for i in range(len(self.matrix)))
        return [below(beside(left, titles), *rows)]

    def _row(self, i, room, left):
        """Return a row: a beginning, an arrow to the next word, and the numbers.  room: pixels of
        each word.  left: pixels to the left of the numbers."""
        opacity = 1 if self.shown[i].all() else 0
        side = "left" if self.is_below else "middle"
        beginning = (written(self.words[j], room[j], ROW, side=side) for j in range(i))
        last = written(self.words[i], room[i], ROW, "query strong", side)
        following = written(
            self.words[i + 1], room[i + 1], ROW, "key strong", side, opacity=opacity
        )
        numbers = beside(*(self._number(i, j) for j in range(len(self.keys))))
        row, start = beside(*beginning, last, following), sum(room[: i + 1])
        if self.is_below:
            row, ends = below(row, beside(left, numbers)), (start - 11, start - 2)
        else:
            row, ends = beside(row, left - row.size[0], numbers), (start - 8, start + 10)
        row.arrow(*((x, ROW / 2) for x in ends), "query", 1.5, opacity=opacity)
        return row

    def _number(self, i, j):
        number = self.number(self.matrix[i, j]) if self.shown[i, j] else ""
        label = f"{self.tokens[i]}, {self.keys[j]}: {number}"
        return written(number, COLUMN, ROW, cell=(i, j), label=label)

    def _in_words(self):
        tasks = "; ".join(
            f"{name}, {', '.join(map(self.number, row))}"
            for name, row, on in zip(self.tokens, self.matrix, self.shown, strict=True)
            if on.all()
        )
        return f"Beginnings and next words: {tasks or 'none is shown yet'}."
