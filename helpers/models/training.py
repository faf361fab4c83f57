"""Train the models of lessons 11 and 12: Adam, a progress bar, and the recorded training."""

from dataclasses import dataclass

import torch

from ..attention.data import DATA, rows_of

FILE = DATA / "training.csv"
BLOCKS = 20


def counted(steps, what="training"):
    """Yield the steps of range(steps), and print a progress bar of 20 blocks meanwhile."""
    print(what, end=" ", flush=True)
    for step in range(steps):
        yield step
        print("■" * (BLOCKS * (step + 1) // steps - BLOCKS * step // steps), end="", flush=True)
    print()


class Adam:
    """Adam(model).step(loss, rate) moves each number of a model against its gradient.

    The mean of the last gradients is divided by their size, so that every number moves by about
    rate, however small its gradient is. The correction of the first steps is left out.
    torch.optim.Adam does the same, but importing it takes seconds and 70 MB in each kernel.
    Source: Kingma and Ba 2015.
    """

    def __init__(self, model):
        self.learned = [(p, torch.zeros_like(p), torch.zeros_like(p)) for p in model.parameters()]

    def step(self, loss, rate):
        learned = [p for p, _, _ in self.learned]
        gradients = torch.autograd.grad(loss, learned, materialize_grads=True)
        for (p, mean, square), gradient in zip(self.learned, gradients, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.05 * (gradient * gradient - square)
            p.data -= rate * mean / (square.sqrt() + 1e-8)


@dataclass
class Snapshot:
    """A model after some steps of training.

    loss: on the sentences of the next step.  state: name -> tensor, as in model.state_dict().
    """

    step: int
    loss: float
    state: dict

    @classmethod
    def of(cls, model, step, loss):
        """Return a Snapshot of the model, which later training does not change."""
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        return cls(step, loss.item(), state)


def load_training():
    """Return the recorded training of lesson 11: a list of Snapshot, first to last."""
    with rows_of(FILE, "step, loss, parameter and numbers", ", or train instead.") as rows:
        snapshots = {}
        for step, loss, name, *numbers in rows:
            if step == "step":
                continue
            one = snapshots.setdefault(step, Snapshot(int(step), float(loss), {}))
            one.state.setdefault(name, []).append([float(x) for x in numbers])
        for one in snapshots.values():
            one.state = {name: torch.tensor(matrix) for name, matrix in one.state.items()}
        if not snapshots:
            raise ValueError("it has no steps")
    return list(snapshots.values())
