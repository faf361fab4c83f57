"""Draw the block of lesson 10 and its whole model, with the sizes of the one at hand."""

from ...pictures.sketch import INCH, Sketch
from ...pictures.still import Still

HIGH, LINE = 40, 86  # pixels: of a box, and from the top to the line of sums


def draw_block(block):
    """Return a block as a Still: the words go straight on, and its two parts are loops beside them.

    block: has norm_1, attention with num_heads, norm_2 and feed_forward, as in the lesson.
    """
    sketch, heads = Sketch(520, 122), block.attention.num_heads
    first, _, last = block.feed_forward
    sizes = f"{first.in_features} → {first.out_features} → {last.out_features}"
    sketch.arrow((8, LINE), (512, LINE), "ink", 4)
    loops = (
        (24, "norm_1", ("attention", f"{heads} head{'s' * (heads > 1)}")),
        (268, "norm_2", ("feed_forward", sizes)),
    )
    for left, norm, part in loops:
        boxes = ((left + 14, 64, (norm,)), (left + 92, 106, part))
        sketch.line([(left, LINE), (left, 4 + HIGH / 2), (left + 4, 4 + HIGH / 2)], "ink", 1.5)
        for x, width, lines in boxes:
            sketch.arrow((x - 12, 4 + HIGH / 2), (x - 2, 4 + HIGH / 2), "ink", 1.5)
            _box(sketch, x, 4, width, lines)
        plus = left + 210
        sketch.line([(left + 198, 4 + HIGH / 2), (plus, 4 + HIGH / 2)], "ink", 1.5)
        sketch.arrow((plus, 4 + HIGH / 2), (plus, LINE - 4), "ink", 1.5)
        sketch.text(plus + 12, LINE - 18, "+", "query strong large")
    sketch.text(8, LINE + 22, "x", side="left")
    sketch.text(246, LINE + 22, "x + attention(…)")
    sketch.text(512, LINE + 22, "… + feed_forward(…)", side="right")
    alt = "A block: a straight line of sums. Two loops leave it and come back to it where they are "
    alt += f"added: norm_1 and attention ({heads} head{'s' * (heads > 1)}), then norm_2 and "
    return _still(sketch, alt + "feed_forward.")


def draw_model(model):
    """Return the whole model as a Still; below each part, how many numbers it trains.

    model: has embedding, positions, blocks, norm and out, as in the lesson.
    """
    sketch, y, middle = Sketch(520, 122), 56, 56 + HIGH / 2
    counts = {name: _trained(part) for name, part in model.named_children()}
    parts = [(54, 86, "embedding", counts["embedding"])]
    parts += [(180, 56, "block", _trained(block)) for block in model.blocks]
    parts += [(0, 50, name, counts[name]) for name in ("norm", "out")]
    sketch.text(2, middle, "words", side="left")
    right, plus = 42, 160
    for k, (x, width, name, count) in enumerate(parts):
        x = x if k < 2 else right + 16
        sketch.arrow((right, middle), (x - 2, middle), "ink", 1.5)
        _box(sketch, x, y, width, (name,), f"{count:,}")
        right = x + width
    sketch.arrow((right, middle), (right + 14, middle), "ink", 1.5)
    sketch.text(right + 18, middle, "scores", side="left")
    _box(sketch, plus - 44, 2, 88, ("positions",))
    sketch.text(plus + 50, 2 + HIGH / 2, f"{counts['positions']:,}", "rest", side="left")
    sketch.arrow((plus, 2 + HIGH), (plus, middle - 2), "ink", 1.5)
    sketch.text(plus + 11, middle - 9, "+", "query strong")
    named = ", ".join(f"{name} {count:,}" for _, _, name, count in parts)
    alt = f"The model, from words to scores, with the numbers that each part trains: {named}. "
    alt += f"Positions, {counts['positions']:,}, are added to the embedding. "
    return _still(sketch, alt + f"In all {sum(counts.values()):,}.")


def _trained(part):
    return sum(p.numel() for p in part.parameters())


def _box(sketch, x, y, width, lines, note=""):
    """Add a box with its top left corner at (x, y), its lines of text, and a note below it."""
    low, right = y + HIGH, x + width
    sketch.box(x, y, width, HIGH, "rest", opacity=0.12)
    sketch.line([(x, y), (right, y), (right, low), (x, low), (x, y)], "ink", 1.2)
    for k, text in enumerate(lines):
        sketch.text(x + width / 2, y + HIGH / 2 + 16 * (k - (len(lines) - 1) / 2), text)
    if note:
        sketch.text(x + width / 2, low + 13, note, "rest")


def _still(sketch, alt):
    from matplotlib.figure import Figure

    figure = Figure(figsize=[pixels / INCH for pixels in sketch.size])
    sketch.paint(figure.add_axes((0, 0, 1, 1)))
    return Still(figure, alt)
