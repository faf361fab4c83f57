"""The weights of a model's attention for one text, as Views: one head, or a number for each."""

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..pictures.view import MAX_HEADS, View
from . import intervene


@dataclass
class Look:
    """What a model did with a text.

    layers: a list of tensors (heads, pieces, pieces), one for each layer of the model; rows sum
    to 1.  rows: the pieces of the text.  about: the model.  note: what was cut off; often empty.
    """

    layers: list
    rows: list
    about: str
    note: str = ""

    def view(self, layer=1, head=1):
        """A View of one head, with others of its layer beside it, up to sixteen.

        layer, head: counted from 1.
        """
        heads = self.layers[layer - 1]
        first = (head - 1) // MAX_HEADS * MAX_HEADS
        small = heads[first : first + MAX_HEADS]
        which = f"Layer {layer} of {len(self.layers)}, head {head} of {len(heads)}"
        if len(heads) > MAX_HEADS:
            which += f" (beside it heads {first + 1} to {first + len(small)})"
        weights, rows = heads[head - 1], self.rows

        def explain(i, j):
            larger = int((weights[i] > weights[i, j]).sum())
            rank = f"{larger} in its row are larger" if larger else "the largest of its row"
            return f"the weight from “{rows[i]}” to “{rows[j]}”, {rank}"

        caption = f"{which}; {len(rows)} pieces. Model: {self.about}. {self.note}".strip()
        beside = dict(heads=small, head=head - 1 - first)
        return View(weights, rows, keys=rows, caption=caption, explain=explain, **beside)

    def per_head(self, number):
        """A View of layers by heads: number(weights) of each, weights (pieces, pieces).

        The largest is outlined; the caption says what weights would give that are even over
        all that any head of the layer looks at: from, to, where layers look at different pieces.
        Raises InputError if number has no value for any head (nan).
        """
        found = [[float(number(head)) for head in layer] for layer in self.layers]
        even = sorted(float(number(intervene.even(layer)[0])) for layer in self.layers)
        ends = " to ".join(dict.fromkeys(f"{x:.2f}" for x in (even[0], even[-1])))
        return self.by_heads(found, f"Even weights would give {ends}.")

    def by_heads(self, found, caption):
        """A View of layers by heads, the largest outlined.

        found: for each layer a list of a number for each head; nothing is shown where it is nan.
        """
        table = np.array(found)
        if np.isnan(table).all():
            raise InputError(
                f"a text of {len(self.rows)} pieces has no such number; type a longer one."
            )
        i, j = np.unravel_index(np.nanargmax(table), table.shape)
        caption = f"Largest: {table[i, j]:.2f} in layer {i + 1}, head {j + 1}. {caption}"
        return View(
            table, [f"layer {k + 1}" for k in range(len(table))], shown=~np.isnan(table),
            keys=[f"head {k + 1}" for k in range(len(table[0]))], axes=("Layer", "Head"),
            highlights=[(i, j)], caption=f"{caption} Model: {self.about}. {self.note}".strip(),
        )  # fmt: skip
