"""Draw how PyTorch divides a table by a tensor of a different shape: it repeats the smaller one."""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...pictures.given import as_array
from ...pictures.sketch import Sketch
from ...pictures.view import View

ROW, BOX = 26, 50  # pixels: a cell
GAP = 34  # pixels between two tables, for a sign
SOURCES = "first", "second", "third"  # the colours of the repeated numbers


@dataclass
class Broadcast(View):
    """Broadcast(table / sums, dividend=table, divisor=sums): which number divides which number.

    matrix: the quotients (n, m).  dividend: (n, m).
    divisor: (m,) or (1, m), a row, repeated downwards; (n, 1), a column, repeated across; or
        a table (n, m).
    The other arguments are those of View. Raises InputError if the quotients are not these.
    """

    dividend: object = None
    divisor: object = None

    def __post_init__(self):
        super().__post_init__()
        self.dividend = as_array(self.dividend, "dividend")
        self.divisor = as_array(self.divisor, "divisor")
        self.repeated = np.broadcast_to(self.divisor, self.matrix.shape)
        with np.errstate(all="ignore"):
            right = np.allclose(self.dividend / self.repeated, self.matrix, 1e-4, equal_nan=True)
        if not right:
            raise InputError("the first matrix does not equal dividend / divisor.")
        self.explain = self.explain or (lambda i, j: self._in_full(i, j))

    def _in_full(self, i, j):
        return f"{self.number(self.dividend[i, j])} / {self.number(self.repeated[i, j])}"

    def sketch(self):
        """Return one drawing: the table, the numbers that divide it, and the quotients."""
        n, m = self.matrix.shape
        wide, middle = m * BOX, ROW * (n / 2 + 1)
        starts = [k * (wide + GAP) + 2 for k in range(3)]
        sketch = Sketch(starts[2] + wide + 4, ROW * (n + 1) + 2)
        for x, title in zip(starts, ("table", "divided by", "gives"), strict=True):
            sketch.text(x + wide / 2, ROW / 2, title, "rest")
        for x, sign in zip(starts[1:], "/=", strict=True):
            sketch.text(x - GAP / 2, middle, sign, "ink strong")
        # for each repeated number, its index in divisor
        sources = np.broadcast_to(np.arange(self.divisor.size).reshape(self.divisor.shape), (n, m))
        seen = set()
        for i, j in np.ndindex(n, m):
            k = sources[i, j]
            role, is_copy = SOURCES[k % len(SOURCES)], k in seen
            seen.add(k)
            for x, matrix in zip(starts, (self.dividend, self.repeated, self.matrix), strict=True):
                left, top = x + j * BOX, ROW * (i + 1)
                sketch.box(left + 1, top + 1, BOX - 2, ROW - 2, role, opacity=0.25)
                is_given = matrix is self.repeated and not is_copy
                shown = float(is_given)
                sketch.frame(left + 1, top + 1, BOX - 2, ROW - 2, role, opacity=shown)
                number, more = self.number(matrix[i, j]), {}
                if matrix is self.matrix:
                    name = f"{self.tokens[i]}, {self.keys[j]}: {number}"
                    more = dict(cell=(i, j), label=name)
                look = f"{role} strong" if is_given else "ink"
                sketch.text(left + BOX / 2, top + ROW / 2, number, look, **more)
        return [sketch]

    def numbers(self):
        """Return the lines of numbers as text: each quotient with its two numbers."""
        n, m = self.matrix.shape
        cells = [
            [f"{self._in_full(i, j)} = {self.number(self.matrix[i, j])}" for j in range(m)]
            for i in range(n)
        ]
        return [", ".join(row) for row in cells]

    def _in_words(self):
        return f"{'; '.join(self.numbers())}."
