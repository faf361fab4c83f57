"""Draw which head of keys and values each head of queries reads."""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...pictures.sketch import Sketch
from ...pictures.view import View

TILE, GAP = 52, 10  # pixels of a head, and between two of them
HIGH, APART = 30, 70  # pixels of a row of heads, and between the rows


@dataclass
class Groups(View):
    """Groups(reads): tiles for the heads of queries above those of keys, and a line from each to
    the key head that it reads.

    matrix: (num_heads, num_kv_heads), how much each query head reads of each key head: 0 or 1, or
    what a function of your own mixes.  The other arguments are those of View.
    Raises InputError if there are more than 16 query heads, or more key heads than query heads.
    """

    def __post_init__(self):
        super().__post_init__()
        count, shared = self.matrix.shape
        if count > 16 or shared > count:
            raise InputError(f"{count} query heads and {shared} key heads; at most 16 fit.")
        self.tokens = [f"query head {h}" for h in range(count)]
        self.keys = [f"key head {k}" for k in range(shared)]
        self.axes = "Query head", "Key head"

    def sketch(self):
        """Return one drawing: query heads, key heads, and the lines between them."""
        count, shared = self.matrix.shape
        wide = count * (TILE + GAP) - GAP
        sketch, low = Sketch(wide + 12, 2 * HIGH + APART + 44), HIGH + APART + 22
        tops = 6 + (TILE + GAP) * np.arange(count) + TILE / 2
        feet = 6 + wide * (np.arange(shared) + 0.5) / shared
        for h, k in np.ndindex(self.matrix.shape):
            part = float(np.clip(self.matrix[h, k], 0, 1))
            ends = [(tops[h], 22 + HIGH), (feet[k], low)]
            cell = dict(cell=(h, k), label=f"query head {h} reads key head {k}: {part:.2f}")
            sketch.line(ends, "rest", 2.5, opacity=part, **cell)
        rows = ("query", 22, tops), ("key", low, feet)
        for role, top, middles in rows:
            for number, x in enumerate(middles):
                inside = x - TILE / 2, top, TILE, HIGH
                sketch.box(*inside, role, opacity=0.2)
                sketch.frame(*inside, role, 2)
                sketch.text(x, top + HIGH / 2, number, "ink strong")
        sketch.text(6, 10, "query heads", "query strong", side="left")
        below = "key heads (each with its values)"
        sketch.text(6, low + HIGH + 12, below, "key strong", side="left")
        return [sketch]

    def alt(self):
        """Describe the picture in words for people who cannot see it."""
        said = f"In order, the query heads read the key heads {self.matrix.argmax(1).tolist()}."
        return " ".join(f"{said} {self.caption}".split())
