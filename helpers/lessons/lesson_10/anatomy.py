"""Draw the block of lesson 10 and its whole model, with the sizes of the one at hand."""

from ...pictures.sketch import Sketch
from ...pictures.still import pictured
from ..compose import below, beside, tile, written

HIGH, STEP, NOTE = 40, 16, 26  # pixels: of a box, of an arrow to the next, of a note below a box
LINE = 86  # pixels from the top to the line of sums
WIDE = 520
WIDTHS = {"embedding": 86, "block": 56, "norm": 50, "out": 50}


def draw_block(block):
    """Return a block as a Still: the words go straight on, and its two parts are loops beside them.

    block: has norm_1, attention with num_heads, norm_2 and feed_forward, as in the lesson.
    """
    count = block.attention.num_heads
    heads = f"{count} heads" if count > 1 else "1 head"
    first, _, last = block.feed_forward
    sizes = f"{first.in_features} → {first.out_features} → {last.out_features}"
    loops = _loop("norm_1", "attention", heads), _loop("norm_2", "feed_forward", sizes)
    sums = Sketch(WIDE, 36)
    sums.arrow((8, 0), (WIDE - 8, 0), "ink", 4)
    sums.text(8, 22, "x", side="left")
    sums.text(246, 22, "x + attention(…)")
    sums.text(WIDE - 8, 22, "… + feed_forward(…)", side="right")
    alt = "A block: a straight line of sums. Two loops leave it and come back to it where they are "
    alt += f"added: norm_1 and attention ({heads}), then norm_2 and feed_forward."
    return pictured(below(beside(24, *loops), sums), alt)


def _loop(norm, *part):
    """Return a norm and a part as a loop, which leaves a line at its foot and comes back to it."""
    boxes = beside(_arrow(), _box(64, norm), _arrow(), _box(106, *part))
    loop = below(4, beside(boxes, 40), LINE - 4 - HIGH)
    right, middle = boxes.size[0], 4 + HIGH / 2
    plus = right + 12
    loop.line([(0, LINE), (0, middle), (4, middle)], "ink", 1.5)
    loop.line([(right, middle), (plus, middle)], "ink", 1.5)
    loop.arrow((plus, middle), (plus, LINE - 4), "ink", 1.5)
    loop.text(plus + 12, LINE - 18, "+", "query strong large")
    return loop


def draw_model(model):
    """Return the whole model as a Still; below each part, how many numbers it trains.

    model: has embedding, positions, blocks, norm and out, as in the lesson.
    """
    counts = {name: _trained(part) for name, part in model.named_children()}
    parts = [("embedding", counts["embedding"])]
    parts += [("block", _trained(block)) for block in model.blocks]
    parts += [(name, counts[name]) for name in ("norm", "out")]
    chain = [written("words", 42, HIGH, side="left"), _arrow()]
    for name, count in parts:
        note = written(f"{count:,}", WIDTHS[name], NOTE, "rest")
        chain += [below(_box(WIDTHS[name], name), note), _arrow()]
    chain[3] = _arrow(2.5 * STEP)  # from the embedding, where the positions are added
    chain += [4, written("scores", 52, HIGH, side="left")]
    plus = sum(part.size[0] for part in chain[:3]) + 1.25 * STEP
    positions = written(f"{counts['positions']:,}", 60, HIGH, "rest", side="left")
    top = beside(plus - 44, _box(88, "positions"), 6, positions)
    drawing, middle = below(2, top, 14, beside(2, *chain)), 56 + HIGH / 2
    drawing.arrow((plus, 2 + HIGH), (plus, middle - 2), "ink", 1.5)
    drawing.text(plus + 11, middle - 9, "+", "query strong")
    named = ", ".join(f"{name} {count:,}" for name, count in parts)
    alt = f"The model, from words to scores, with the numbers that each part trains: {named}. "
    alt += f"Positions, {counts['positions']:,}, are added to the embedding. "
    return pictured(drawing, f"{alt}In all {sum(counts.values()):,}.")


def _trained(part):
    return sum(p.numel() for p in part.parameters())


def _box(width, *lines):
    return tile(lines, width, HIGH, "ink", fill=0.09, edge=1.2, free=0)


def _arrow(long=STEP):
    """Return an arrow from one box to the next."""
    arrow = Sketch(long, HIGH)
    arrow.arrow((0, HIGH / 2), (long - 2, HIGH / 2), "ink", 1.5)
    return arrow
