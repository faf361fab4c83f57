"""Draw one sentence as several tasks: each beginning asks for the next word."""

from dataclasses import dataclass
from itertools import accumulate

from ...pictures.given import as_array, wide, words
from ...pictures.sketch import Sketch
from ...pictures.view import View

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

    def __post_init__(self):
        n = len(as_array(self.matrix, "the numbers")) + 1
        self.words = words(self.tokens, n)
        self.tokens = [
            f"{' '.join(self.words[: i + 1])} → {self.words[i + 1]}" for i in range(n - 1)
        ]
        super().__post_init__()

    def sketch(self):
        room = [8 * max(wide(word), 4) + 26 for word in self.words]
        left = [end - own for own, end in zip(room, accumulate(room), strict=True)]
        rows, columns = self.matrix.shape
        sketch = Sketch(sum(room) + 20 + COLUMN * columns, ROW * (rows + 1))
        at = [sum(room) + 20 + COLUMN * (j + 0.5) for j in range(columns)]
        for j, key in enumerate(self.keys):
            sketch.text(at[j], ROW / 2, key, "rest")
        for i in range(rows):
            y, is_shown = ROW * (i + 1.5), bool(self.shown[i].all())
            for j, word in enumerate(self.words[: i + 1]):
                role = "query strong" if j == i else "ink"
                sketch.text(left[j] + room[j] / 2, y, word, role)
            start, tip = left[i] + room[i] - 8, left[i + 1] + 10
            faint = dict(opacity=1 if is_shown else 0)
            sketch.arrow((start, y), (tip, y), "query", 1.5, **faint)
            middle = left[i + 1] + 14 + 4 * wide(self.words[i + 1])
            sketch.text(middle, y, self.words[i + 1], "key strong", **faint)
            for j in range(columns):
                number = self.number(self.matrix[i, j]) if self.shown[i, j] else ""
                label = f"{self.tokens[i]}, {self.keys[j]}: {number}"
                sketch.text(at[j], y, number, "ink", cell=(i, j), label=label)
        return [sketch]

    def _in_words(self):
        tasks = "; ".join(
            f"{name}, {', '.join(map(self.number, row))}"
            for name, row, on in zip(self.tokens, self.matrix, self.shown, strict=True)
            if on.all()
        )
        return f"Beginnings and next words: {tasks}."
