"""Draw what a model computes, keeps and throws away while it writes word by word."""

from dataclasses import dataclass

import numpy as np

from ...pictures.given import wide
from ...pictures.sketch import Sketch
from ...pictures.view import View
from ..compose import below, beside, tile, written

ROW, BOX = 26, 62  # pixels: the height of a word, the width of its query, key or value
ROLES = "query", "key", "value"


@dataclass
class Cache(View):
    """Cache(counts, words, now=now): a query, a key and a value for each word written so far, and
    a line for each score that is computed for the newest word.

    matrix: (n, n), how often each score was computed so far; a row is a query.  tokens: the words.
    now: (n, n) of bool, the scores computed for the newest word. A word with True in its row is
        computed again; one with True only in its column is read from the cache, without its query.
    The other arguments are those of View. Raises InputError if they do not fit together.
    """

    now: object = None
    gap, tight = 106, dict(gap=44)  # pixels between queries and keys, where the scores are

    def __post_init__(self):
        super().__post_init__()
        self.now = self._cells("now", self.now)

    def _state(self, i, role):
        """Return "new", "kept" or "gone" for a vector; "" while its word is not written yet."""
        if self.now[i].any():
            return "new"
        if self.now[:, i].any() and role != "query":
            return "kept"
        return "gone" if (self.matrix[i] > 0).any() else ""

    def sketch(self):
        """Return one drawing: a row for each word, and lines from each query to its keys."""
        room = 8 * max(map(wide, self.tokens)) + 4
        words = (written(token, room, ROW, side="right") for token in self.tokens)
        queries, keys, values = map(self._column, ROLES)
        return [beside(below(ROW, *words), 5, queries, self._lines(), keys, 6, values)]

    def _column(self, role):
        """Return what a role's vectors are now, below its name."""
        title, tiles = written(role, BOX, ROW, f"{role} strong"), []
        for i in range(len(self.tokens)):
            state = self._state(i, role)
            look, edge = ("ink", 1.5) if state in ("new", "kept") else ("rest", 0)
            fill = 0.3 if state == "new" else 0
            tiles.append(tile(state, BOX, ROW, role, look, fill, edge, free=3))
        return below(title, *tiles)

    def _lines(self):
        lines = Sketch(self.gap, ROW * (len(self.tokens) + 1))
        for i, j in np.ndindex(self.now.shape):
            ends = [(0, ROW * (i + 1.5)), (self.gap, ROW * (j + 1.5))]
            lines.line(ends, "rest", 1.5, opacity=0.7 * self.now[i, j])
        return lines

    def _in_words(self):
        every = {role: [self._state(i, role) for i in range(len(self.tokens))] for role in ROLES}
        said = (
            ", ".join(f"{role} {states.count(state)}" for role, states in every.items())
            for state in ("new", "kept", "gone")
        )
        return "Computed now: {}; kept: {}; gone: {}; {} scores.".format(*said, self.now.sum())
