"""Show a training of minutes while it runs: the losses, and what the model writes."""

import textwrap

from IPython.display import display

from ...pictures.sketch import INK, ROLES
from ...pictures.still import Still, own_settings

TRAINED, UNSEEN = ROLES["key"][0], ROLES["query"][0]  # the colours of the two curves
SHOWN = 7  # pictures of a training, besides one for each text: drawing them takes time
WIDE, HIGH = 9, 2.1  # inches of the picture, and of the curves
LETTERS, LINE = 140, 0.16  # a line of a text in the picture, and its height in inches


class Log:
    """Log(steps) shows a training while it runs: a picture that is replaced by a later one.

    Its plain text is fixed, since the losses after hundreds of steps differ between machines.
    luck: a loss that no model can beat, drawn as a dashed line; None for no line.
    losses: one for each step.  unseen: (step, loss on texts that are not used for the training).
    texts: (step, loss, what the model writes after so many steps).
    """

    def __init__(self, steps, luck=None):
        self.steps, self.losses, self.unseen, self.texts = steps, [], [], []
        self.luck = luck
        self._output = display(self.still(), display_id=True)  # None outside a notebook

    def add(self, loss, unseen=None, text=""):
        """Add the loss of the next step, a tensor; the loss on unseen texts; and a text."""
        step = len(self.losses)
        self.losses.append(loss.item())
        if unseen is not None:
            self.unseen.append((step, unseen.item()))
        if text:
            self.texts.append((step, loss.item(), text))
        if self._output and (text or step % max(1, self.steps // SHOWN) == 0):
            self._output.update(self.still())

    @own_settings()
    def still(self):
        """Return the curves and the texts so far as a Still."""
        from matplotlib.figure import Figure

        said = [
            textwrap.fill(f"after {step} steps, loss {loss:.2f}: {text}", LETTERS)
            for step, loss, text in self.texts
        ]
        # places in inches: without matplotlib's own layout, a picture takes half the time
        below = LINE * sum(2 + text.count("\n") for text in said)
        high = below + HIGH + 0.6
        figure = Figure((WIDE, high))
        place = 0.6 / WIDE, (below + 0.5) / high, 1 - 0.9 / WIDE, HIGH / high
        curve = figure.add_axes(place)
        curve.plot(self.losses, color=TRAINED, linewidth=0.8, label="loss of each step")
        if self.unseen:
            step, loss = min(self.unseen, key=lambda one: one[1])
            lowest = f"loss on unseen text, lowest after {step} steps: {loss:.2f}"
            curve.plot(*zip(*self.unseen, strict=True), color=UNSEEN, label=lowest)
        if self.luck is not None:
            label = f"luck alone: {self.luck:.2f}"
            curve.axhline(self.luck, color=INK, linewidth=1, linestyle="--", label=label)
        curve.legend(loc="upper right")
        curve.set(xlabel="steps", ylabel="loss", xlim=(0, self.steps), ylim=(0, None))
        figure.text(
            0.1 / WIDE, below / high, "\n\n".join(said), va="top", fontsize=9, parse_math=False
        )
        line = "" if self.luck is None else f", a line at {self.luck:.2f} for luck alone"
        alt = f"The losses over {self.steps} steps{line}, and what the model wrote."
        return Still(figure, alt)
