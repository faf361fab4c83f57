"""Show a training of minutes while it runs: the losses, and what the model writes."""

import html
import textwrap

import ipywidgets
from IPython.display import display

from ...pictures.sketch import INK, ROLES, roles_css
from ...pictures.still import Still, own_settings

# JupyterLab shows an error for a widget whose kernel is gone; the note below it hides that.
NOTE = """<div class="training-note"><style>
.jp-OutputArea-child:has(.training) + .jp-OutputArea-child:has(.training-note),
.jp-OutputArea-child:not(:has(.training)):has(+ .jp-OutputArea-child .training-note) {{
  display: none; }}
</style><p><em>{}</em></p></div>"""
TRAINED, UNSEEN = "key", "query"  # the roles whose colours the two curves have


class Log:
    """Log(steps) shows a training while it runs: a bar, the losses, and texts of the model.

    Its plain text is fixed, since the losses after hundreds of steps differ between machines.
    luck: a loss that no model can beat, drawn as a dashed line; None for no line.
    losses: one for each step.  unseen: (step, loss on texts that are not used for the training).
    texts: (step, loss, what the model writes after so many steps).
    """

    def __init__(self, steps, luck=None):
        self.steps, self.losses, self.unseen, self.texts = steps, [], [], []
        self.luck = luck
        self._live = ipywidgets.HTML(self._page())
        display(self)

    def __repr__(self):
        return f"The losses and texts of {self.steps} steps appear here while the model trains."

    def _ipython_display_(self):
        live = self._live._repr_mimebundle_()
        display({kind: of for kind, of in live.items() if kind != "text/plain"}, raw=True)
        display({"text/plain": repr(self), "text/html": NOTE.format(repr(self))}, raw=True)

    def add(self, loss, unseen=None, text=""):
        """Add the loss of the next step, a tensor; the loss on unseen texts; and a text."""
        step = len(self.losses)
        self.losses.append(loss.item())
        if unseen is not None:
            self.unseen.append((step, unseen.item()))
        if text:
            self.texts.append((step, loss.item(), text))
        if text or step % max(1, self.steps // 40) == 0:
            self._live.value = self._page()

    @own_settings()
    def still(self):
        """Return the curves and the texts as a Still."""
        from matplotlib.figure import Figure

        said = [textwrap.fill(f"{about}: {text}", 110) for about, text in self._said()]
        lines = sum(2 + text.count("\n") for text in said)
        figure = Figure((9, 2.6 + 0.19 * lines), layout="constrained")
        curve, below = figure.subplots(2, 1, height_ratios=(2.6, 0.19 * lines + 0.01))
        curve.plot(self.losses, color=ROLES[TRAINED][0], linewidth=0.8, label="loss of each step")
        if self.unseen:
            curve.plot(
                *zip(*self.unseen, strict=True), color=ROLES[UNSEEN][0], label=self._lowest()
            )
        if self.luck is not None:
            curve.axhline(self.luck, color=INK, linewidth=1, linestyle="--", label=self._least())
        if self.unseen or self.luck is not None:
            curve.legend()
        curve.set(xlabel="steps", ylabel="loss", ylim=(0, None))
        below.axis("off")
        below.text(0, 1, "\n\n".join(said), va="top", fontsize=9, parse_math=False)
        kinds = "curve of the loss" if not self.unseen else "curves of both losses"
        line = "" if self.luck is None else f", a line at {self.luck:.2f} for luck alone"
        alt = f"The {kinds} over {self.steps} steps{line}, and what the model wrote."
        return Still(figure, alt)

    def _lowest(self):
        step, loss = min(self.unseen, key=lambda one: one[1])
        return f"loss on unseen text, lowest after {step} steps: {loss:.2f}"

    def _least(self):
        return f"luck alone: {self.luck:.2f}"

    def _said(self):
        for step, loss, text in self.texts:
            yield f"after {step} steps, loss {loss:.2f}", text

    def _page(self):
        """Return what the live picture shows, as HTML."""
        done, high = len(self.losses) - 1, max([1.0, *self.losses])
        now = f", loss {self.losses[-1]:.2f}" if self.losses else ""
        lowest = f"<br>{self._lowest()}" if self.unseen else ""
        line = ""
        if self.luck is not None:
            lowest += f"<br>dashed: {self._least()}"
            y = f"{100 - 96 * self.luck / high:.1f}"
            line = f'<line x2="600" y1="{y}" y2="{y}" stroke="gray" stroke-dasharray="6 4"/>'
        curves = (
            (TRAINED, list(enumerate(self.losses))[:: max(1, self.steps // 300)]),
            (UNSEEN, self.unseen),
        )
        drawn = "".join(
            f'<polyline fill="none" stroke="var(--{role})" stroke-width="1.5" points="'
            + " ".join(f"{600 * x / self.steps:.1f},{100 - 96 * y / high:.1f}" for x, y in points)
            + '"/>'
            for role, points in curves
        )
        said = "".join(
            f"<p style='margin: 4px 0; line-height: 1.3'><b>{about}:</b> {html.escape(text)}</p>"
            for about, text in self._said()
        )
        return (
            f"<style>{roles_css('.training')}</style>"
            f'<div class="training"><progress max="{self.steps}" value="{max(0, done)}"></progress>'
            f" {max(0, done)} of {self.steps} steps{now}{lowest}<br>"
            '<svg viewBox="0 0 600 102" width="600" style="max-width: 100%" role="img" '
            f'aria-label="The loss so far{now}."><line x2="600" y1="100" y2="100" stroke="gray"/>'
            f"{line}{drawn}</svg>{said}</div>"
        )
