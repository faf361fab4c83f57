"""Draw which head of keys and values each head of queries reads."""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...pictures.sketch import Sketch
from ...pictures.view import View
from ..compose import below, beside, tile, written

GAP = 8  # pixels between two heads
HIGH, APART, NAME = 32, 68, 22  # pixels of a row of heads, between the rows, of a row's name


@dataclass
class Groups(View):
    """Groups(reads): tiles for the heads of queries above those of keys, and a line from each to
    the key head that it reads.

    matrix: (num_heads, num_kv_heads), how much each query head reads of each key head: 0 or 1, or
    what a function of your own mixes.  The other arguments are those of View.
    Raises InputError if there are more than 16 query heads, or more key heads than query heads.
    """

    tile, tight = 54, dict(tile=42)  # pixels of a head

    def __post_init__(self):
        super().__post_init__()
        count, shared = self.matrix.shape
        if count > 16 or shared > count:
            raise InputError(f"{count} query heads and {shared} key heads; at most 16 fit.")
        self.tokens = [f"query head {h}" for h in range(count)]
        self.keys = [f"key head {k}" for k in range(shared)]
        self.axes = "Query head", "Key head"

    def sketch(self):
        """Return one drawing: query heads, the lines to the key heads that they read, key heads."""
        count, shared = self.matrix.shape
        width = count * (self.tile + GAP)
        queries, keys = (width * (np.arange(n) + 0.5) / n for n in (count, shared))
        lines = Sketch(width, APART)
        for h, k in np.ndindex(self.matrix.shape):
            part = float(np.clip(self.matrix[h, k], 0, 1))
            cell = dict(cell=(h, k), label=f"query head {h} reads key head {k}: {part:.2f}")
            lines.line([(queries[h], 0), (keys[k], APART)], "rest", 2.5, opacity=part, **cell)
        above = _name("query heads", width, "query")
        under = _name("key heads (each with its values)", width, "key")
        rows = self._row(queries, width, "query"), lines, self._row(keys, width, "key")
        return [below(above, *rows, under)]

    def _row(self, middles, width, role):
        """Return a row of heads, tiles with these middles."""
        row = Sketch(width, HIGH)
        for number, x in enumerate(middles):
            row.put(tile(number, self.tile, HIGH, role, "ink strong"), x - self.tile / 2)
        return row

    def _in_words(self):
        return f"In order, the query heads read the key heads {self.matrix.argmax(1).tolist()}."


def _name(text, width, role):
    return beside(GAP / 2, written(text, width - GAP / 2, NAME, f"{role} strong", side="left"))
