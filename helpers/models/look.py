"""Views of a model's attention weights for one text: one head, or one number for each head."""

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..pictures.view import MAX_HEADS, View
from . import intervene


@dataclass
class Look:
    """The attention of a model on one text.

    layers: a list of tensors (heads, pieces, pieces), one for each layer; their rows sum to 1.
    rows: the pieces of the text.  about: the name of the model.  note: what was cut off, or "".
    """

    layers: list
    rows: list
    about: str
    note: str = ""

    def view(self, layer=1, head=1):
        """Return a View of one head, with up to sixteen heads of its layer small next to it.

        layer, head: counted from 1.
        """
        heads = self.layers[layer - 1]
        first = (head - 1) // MAX_HEADS * MAX_HEADS
        small = heads[first : first + MAX_HEADS]
        which = f"Layer {layer} of {len(self.layers)}, head {head} of {len(heads)}"
        if len(heads) > MAX_HEADS:
            which += f" (next to it heads {first + 1} to {first + len(small)})"
        weights, rows = heads[head - 1], self.rows

        def explain(i, j):
            larger = int((weights[i] > weights[i, j]).sum())
            are = "weights in this row are" if larger > 1 else "weight in this row is"
            rank = f"{larger} {are} larger" if larger else "the largest in this row"
            return f"the weight from “{rows[i]}” to “{rows[j]}”, {rank}"

        caption = f"{which}; {len(rows)} pieces. Model: {self.about}. {self.note}".strip()
        beside = dict(heads=small, head=head - 1 - first)
        return View(weights, rows, keys=rows, caption=caption, explain=explain, **beside)

    def per_head(self, number):
        """Return a View of layers by heads: number(weights) of each head, with a copy of its
        weights (pieces, pieces).

        The largest is outlined. The caption gives the number for weights that are even over all
        pieces that any head of the layer looks at; a range if it differs between layers.
        Raises InputError if number is nan for every head.
        """
        found = [[float(number(head.clone())) for head in layer] for layer in self.layers]
        even = sorted(float(number(intervene.even(layer)[0])) for layer in self.layers)
        ends = " to ".join(dict.fromkeys(f"{x:.2f}" for x in (even[0], even[-1])))
        return self.by_heads(found, f"Even weights would give {ends}.")

    def by_heads(self, found, caption):
        """Return a View of layers by heads, the largest outlined.

        found: for each layer a list with a number for each head; a nan is not shown.
        """
        table = np.array(found)
        if np.isnan(table).all():
            raise InputError(
                f"no head has this number for this text, pieces: {len(self.rows)}; type a longer "
                "text, or one in which a word occurs twice."
            )
        i, j = np.unravel_index(np.nanargmax(table), table.shape)
        caption = f"Largest: {table[i, j]:.2f} in layer {i + 1}, head {j + 1}. {caption}"
        return View(
            table, [f"layer {k + 1}" for k in range(len(table))], shown=~np.isnan(table),
            keys=[f"head {k + 1}" for k in range(len(table[0]))], axes=("Layer", "Head"),
            highlights=[(i, j)], caption=f"{caption} Model: {self.about}. {self.note}".strip(),
        )  # fmt: skip
