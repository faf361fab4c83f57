"""Draw what a model computes, keeps and throws away while it writes word by word."""

from dataclasses import dataclass

import numpy as np

from ...pictures.given import wide
from ...pictures.sketch import Sketch
from ...pictures.view import View

ROW, BOX = 26, 56  # pixels: the height of a word, the width of its query, key or value
GAP = 112  # between queries and keys, where the scores are


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
        left = 8 * max(map(wide, self.tokens)) + 12
        starts = {"query": left, "key": left + BOX + GAP, "value": left + 2 * BOX + GAP + 12}
        sketch = Sketch(starts["value"] + BOX + 4, ROW * (len(self.tokens) + 1))
        middles = ROW * (np.arange(len(self.tokens)) + 1.5)
        for i, j in np.ndindex(self.now.shape):
            ends = [(left + BOX + 2, middles[i]), (starts["key"] - 2, middles[j])]
            sketch.line(ends, "rest", 1.5, opacity=0.7 * self.now[i, j])
        for role, x in starts.items():
            sketch.text(x + BOX / 2, ROW / 2, role, f"{role} strong")
            for i, y in enumerate(middles):
                state, high = self._state(i, role), ROW / 2 - 3
                held = state in ("new", "kept")
                sketch.box(x, y - high, BOX, 2 * high, role, opacity=0.3 * (state == "new"))
                sketch.frame(x, y - high, BOX, 2 * high, role, 1.5, opacity=float(held))
                sketch.text(x + BOX / 2, y, state, "ink" if held else "rest")
        for i, y in enumerate(middles):
            sketch.text(left - 8, y, self.tokens[i], side="right")
        return [sketch]

    def _in_words(self):
        roles = "query", "key", "value"
        every = {role: [self._state(i, role) for i in range(len(self.tokens))] for role in roles}
        said = (
            ", ".join(f"{role} {states.count(state)}" for role, states in every.items())
            for state in ("new", "kept", "gone")
        )
        return "Computed now: {}; kept: {}; gone: {}; {} scores.".format(*said, self.now.sum())
