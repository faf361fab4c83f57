"""Draw a blend in a plane: values as points, the space between them, and the resulting context.

The weights are bars next to the plane; the queries and keys behind them are drawn if given.
"""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...pictures.given import as_array, bare, shaped, wide, words
from ...pictures.view import View
from ..compose import bar, below, beside, written
from ..in_full import dot_in_full
from .plane import SIDE, Plane, hull, is_inside

MAX_WORDS = 16
THICK = 14  # pixels of a tie of weight 1
BAR, SHORT = 104, 30  # pixels of the bar of weight 1, and on a phone
ROW, LINE = 24, 20  # pixels of a word and its bar, for a finger; of another line of text
APART, NUMBER, COLUMN = 6, 38, 48  # pixels between both; of a weight; of a number of the context


@dataclass
class Blend(View):
    """Blend(weights, words, values=values): the values as points in a plane, the space between
    them shaded, and a dot, the context, tied to each value by a line as wide as its weight.

    matrix: the weights (n,) of one word, or (n, n), a row for each word.  tokens: the n words.
    values: (n, d); the plane shows the first two of their d numbers.
    query: the word whose weights are drawn, counted from 0; by default the first row.
    context: (d,) or (n, d), to show what a function returned instead of weights @ values.
    beside: (queries, keys), (n, 2) each, or one query (2,), drawn in a separate plane.
    coordinates: names of the d numbers.
    pull: (x, y) from -1 to 1: a handle at this distance from the middle, tied to the dot.
    drags: {"keys": name, "values": name, "pull": name}, the controls whose rows are dragged here.
    moved: the only word whose key and value can be dragged; their controls have one row.
    window: {"keys": 2, "values": (0, 1)}, what the planes show, from -2 to 2 and from 0 to 1; by
        default all their points. It is required for anything that can be dragged.
    caption: by default a sentence about the picture.
    A click on a word of the weights sets a control named "query". The other arguments are those
    of View; explain is called for weights only. Raises InputError if they do not fit together.
    """

    values: object = None
    query: int | None = None
    context: object = None
    beside: object = None
    coordinates: object = None
    pull: object = None
    drags: object = None
    moved: int | None = None
    window: object = None

    def __post_init__(self):
        self.weights = np.atleast_2d(as_array(self.matrix, "the weights"))
        rows, n = self.weights.shape[-2:]
        if self.weights.ndim != 2 or rows not in (1, n) or not 0 < n <= MAX_WORDS:
            raise InputError(
                f"weights has the shape {np.shape(self.matrix)}; (n,) or (n, n) is expected, "
                f"for up to {MAX_WORDS} words."
            )
        if self.values is None or self.keys is not None:
            raise InputError("Blend needs values=, (n, 2); give vectors of keys as beside=.")
        self.values = self._points("values", self.values, n)
        self.words = words(self.tokens, n)
        self.query = 0 if self.query is None and rows > 1 else bare(self.query)
        if self.query not in (None, *range(n)):
            raise InputError(f"query is {self.query}; an index from 0 to {n - 1} is expected.")
        self.row = self.query if rows > 1 else 0
        d, given = self.values.shape[1], self.coordinates
        self.coordinates = words(given or range(d), d, "coordinates")
        self.axis_names = self.coordinates[:2] if given else ("", "")
        made = self.weights @ self.values if self.context is None else self.context
        sizes = (d,) if rows == 1 and np.ndim(made) == 1 else (rows, d)
        self.context = _finite("the context", np.atleast_2d(shaped(made, "the context", *sizes)))
        if self.beside is not None:
            self._fit_beside()
        if self.pull is not None:
            (self.pull,) = self._points("pull", np.atleast_2d(as_array(self.pull)), 1, exactly=True)
        self.drags, self.window = dict(self.drags or {}), dict(self.window or {})
        self.explain_weight = self.explain or self._from
        # the table of numbers: the weights of each word, and its context
        vars(self).update(
            matrix=np.hstack([self.weights, self.context]),
            keys=self.words + [f"context {x}" for x in self.coordinates],
            tokens=self.words if rows > 1 else [self._whose],
            axes=("Word", "Weight"),
            explain=self._in_full,
            caption=self.caption or self._seen(),
            reached=self.reached or self._pulled(),
        )
        super().__post_init__()

    def _fit_beside(self):
        queries, keys = self.beside
        queries, n = np.atleast_2d(as_array(queries, "queries")), len(self.words)
        many = len(queries) > 1 and self.query is not None
        queries = self._points("queries", queries, n if many else 1, exactly=True)
        self.beside = queries, self._points("keys", keys, n, exactly=True)
        self.asking = self.query if many else 0

    def _points(self, what, given, count, exactly=False):
        points = as_array(given, what)
        size = points.shape[-1] if points.ndim == 2 else 0
        if len(points) != count or size < 2 or exactly and size != 2:
            raise InputError(f"{what} has the shape {points.shape}; ({count}, 2) is expected.")
        return _finite(what, points)

    @property
    def _whose(self):
        return "" if self.query is None else self.words[self.query]

    @property
    def inside(self):
        """Return whether the context lies between the values, as far as the plane shows."""
        return is_inside(self.context[self.row, :2], hull(self.values[:, :2]))

    def _seen(self):
        """Return what the picture shows, and whether the context lies where a blend can."""
        if not self.inside:
            return "The dot has left the space between the values: it is not a blend of them."
        if self.beside is not None:
            return "The query (arrow) meets the keys; the resulting weights blend the values."
        return "The dot is the context: each point times its weight, added up."

    def _round_the_middle(self):
        """Return the window for a handle: (low, high), centred on the middle of the values."""
        values = self.values[:, :2]
        far = 1.2 * max(np.abs(values - values.mean(0)).max(), 1e-3)
        return values.mean(0) - far, values.mean(0) + far

    def _hand(self):
        """Return the position of the handle, in numbers of the plane."""
        low, high = self._round_the_middle()
        return (low + high) / 2 + self.pull * (high - low) / 2

    def _pulled(self):
        """Return a sentence once the handle is outside and the dot is inside, else ""."""
        outside = self.pull is not None and not is_inside(self._hand(), hull(self.values[:, :2]))
        if not outside or not self.inside:
            return ""
        return (
            "You pull from outside, but the dot stays inside: no weight is below 0, and the "
            "weights sum to 1."
        )

    def _in_full(self, i, j):
        k = j - len(self.words)
        return self.explain_weight(i, j) if k < 0 else self._made_of(i, k)

    def _made_of(self, i, k):
        """Explain how number k of context i is computed."""
        right = self.weights[i] @ self.values[:, k]
        how = dot_in_full(self.weights[i], self.values[:, k])
        return how if np.isclose(right, self.context[i, k], atol=1e-5) else f"not {how}"

    def _from(self, i, j):
        """Explain how weight j of row i is computed from the query and the keys, else ""."""
        if self.beside is None:
            return ""
        queries, keys = self.beside
        query = queries[i if len(self.matrix) > 1 else self.asking]
        parts = np.exp((keys - keys[j]) @ query / 2**0.5)  # every exp divided by that of key j
        if not np.isclose(1 / parts.sum(), self.weights[i, j], atol=1e-5):
            return ""
        return f"softmax of ({dot_in_full(query, keys[j])}) / √2"

    def sketch(self):
        """Return the queries and keys, if given, the weights, and the values with their blend."""
        asking = [] if self.beside is None else [self._asking()]
        return [*asking, self._bars(BAR), self._blend()]

    def narrow(self):
        """Return shorter bars for a phone, which stand next to a plane there."""
        return [None] * (self.beside is not None) + [self._bars(SHORT), None]

    def _asking(self):
        queries, keys = self.beside
        window = self.window.get("keys")
        plane = Plane([*queries, *keys], window, even=True, title="query and keys")
        for i, point in enumerate(queries):
            chosen = i == self.asking
            thick, opacity = (3, 1) if chosen else (1.5, 0.75)
            plane.keep_free((0, 0), point)
            plane.sketch.arrow(*plane.at([(0, 0), point]), "query", thick, opacity=opacity)
            if chosen:
                plane.name(point, "query", "query strong")
        for j, point in enumerate(keys):
            self._point(plane, "keys", j, point)
        plane.place_names()
        return plane.sketch

    def _point(self, plane, what, j, point):
        """Add a key or a value with its name; the point is larger if it can be dragged."""
        role, word = what[:-1], self.words[j]
        if what in self.drags and self.moved in (None, j):
            place = ", ".join(map(self.number, point[:2]))
            drags = plane.drag(self.drags[what], j if self.moved is None else 0)
            plane.dot(point, role, 16, drags=drags, label=f"{role} of {word}: {place}")
            plane.name(point, word, f"{role} strong")
        else:
            plane.dot(point, role, 10)
            plane.name(point, word, role)

    def _bars(self, long):
        """Return a bar for each weight, and the context's numbers.  long: pixels of a weight of
        1."""
        room = 8 * max(map(wide, self.words))
        title = written("weights", long, LINE, "rest", side="left")
        rows = (self._bar(j, long, room) for j in range(len(self.words)))
        whose = f"context of {self._whose}".removesuffix(" of ")
        whose = written(whose, 8 * wide(whose), LINE, "rest", side="left")
        context = below(whose, beside(*map(self._number, range(len(self.coordinates)))))
        return below(beside(room + APART, title), *rows, 4, beside(4, context))

    def _bar(self, j, long, room):
        """Return the name of word j and the bar of its weight.  room: pixels of a name."""
        name, weight = self.words[j], self.weights[self.row, j]
        sets = dict(sets=("query", j, name), label=name)
        number = self.number(weight)
        cell = dict(cell=(self.row, j), label=f"weight of {name}: {number}")
        role = "query strong" if j == self.query else "ink"
        return beside(
            written(name, room, ROW, role, side="right", **sets),
            APART,
            bar(long * _part(weight), long + NUMBER, ROW, number, "key", **cell),
        )

    def _number(self, k):
        """Return number k of the context."""
        number = self.number(self.context[self.row, k])
        cell = dict(cell=(self.row, len(self.words) + k))
        label = f"context, {self.coordinates[k]}: {number}"
        return written(number, COLUMN, LINE, "ink strong", side="left", label=label, **cell)

    def _blend(self):
        values, contexts = self.values[:, :2], self.context[:, :2]
        window = self.window.get("values")
        if self.pull is not None:
            window = self._round_the_middle()
        title = "" if self.axis_names[0] else "values and context"
        plane = Plane([*values, *contexts], window, title=title, axes=self.axis_names)
        sketch, (dot,) = plane.sketch, plane.at(contexts[self.row])
        sketch.area(plane.at(hull(values)), "value", opacity=0.25)
        for j, end in enumerate(plane.at(values)):
            width = THICK * _part(self.weights[self.row, j])
            plane.keep_free(contexts[self.row], values[j])
            cell = dict(cell=(self.row, j), label=f"tie to {self.words[j]}")
            sketch.curve(np.linspace(dot, end, 4), "value", round(width, 1), opacity=0.6, **cell)
        for other in contexts:
            plane.dot(other, "ink", 5, opacity=0.5)
        plane.name(contexts[self.row], "context", "ink strong")
        for j, point in enumerate(values):
            self._point(plane, "values", j, point)
        if self.pull is not None:
            (hand,), more = plane.at(self._hand()), {}
            sketch.line([dot, hand], "query", 2)
            if "pull" in self.drags:
                label = f"pull: {', '.join(map(self.number, self.pull))}"
                more = dict(drags=(self.drags["pull"], 0, SIDE / 2, SIDE / 2), label=label)
            plane.dot(self._hand(), "query", 21, **more)
        plane.dot(contexts[self.row], "ink", 13)  # above the handle, too
        plane.place_names()
        return sketch

    def _in_words(self):
        weights = self.weights[self.row]
        order = np.argsort(-weights, kind="stable")[:2]
        most = " and ".join(f"{self.words[j]} ({self.number(weights[j])})" for j in order)
        where = "inside" if self.inside else "outside"
        said = (
            f"{len(self.words)} values as points in a plane; {where} the space between them is "
            f"the context{self._whose and ' of ' + self._whose}, tied mostly to {most}."
        )
        if self.beside is not None:
            said += " A second plane shows the query and the keys."
        return said


def _finite(what, numbers):
    if not np.isfinite(numbers).all():
        raise InputError(f"{what} has a nan or an infinity; only finite numbers can be drawn.")
    return numbers


def _part(weight):
    """Return a weight as a fraction of a length: clipped to 0 to 1."""
    return min(1.0, max(0.0, float(weight)))  # 0 for nan
