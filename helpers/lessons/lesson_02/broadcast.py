"""Draw how PyTorch divides a table by a tensor of a different shape: it repeats the smaller one."""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...pictures.given import as_array
from ...pictures.view import View
from ..compose import below, beside, tile, written

ROW = 26  # pixels
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
    # pixels of a cell, and between two tables, for a sign
    box, gap, tight = 50, 34, dict(box=44, gap=14)

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
        sources = np.arange(self.divisor.size).reshape(self.divisor.shape)
        # for each repeated number its index in divisor, and where it stands first
        sources = np.broadcast_to(sources, self.matrix.shape)
        is_first = np.zeros(self.matrix.shape, bool)
        is_first.flat[np.unique(sources, return_index=True)[1]] = True
        rows, columns = self.matrix.shape

        def cell(matrix, i, j):
            role, number = SOURCES[sources[i, j] % len(SOURCES)], self.number(matrix[i, j])
            is_framed = matrix is self.repeated and is_first[i, j]
            more = {}
            if matrix is self.matrix:
                more = dict(cell=(i, j), label=f"{self.tokens[i]}, {self.keys[j]}: {number}")
            look, edge = (f"{role} strong", 2) if is_framed else ("ink", 0)
            return tile(number, self.box, ROW, role, look, 0.25, edge, **more)

        def titled(title, matrix):
            lines = (beside(*(cell(matrix, i, j) for j in range(columns))) for i in range(rows))
            return below(written(title, columns * self.box, ROW, "rest"), *lines)

        def sign(text):
            return below(ROW, written(text, self.gap, rows * ROW, "ink strong"))

        table, divisor = titled("table", self.dividend), titled("divided by", self.repeated)
        gives = titled("gives", self.matrix)
        return [beside(table, sign("/"), divisor, sign("="), gives)]

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
