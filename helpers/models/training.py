"""What lessons 11 and 12 need for a training: Adam, a bar that grows, the recorded training."""

from dataclasses import dataclass

import torch

from ..attention.data import DATA, rows_of

FILE = DATA / "training.csv"
BLOCKS = 20


def counted(steps, what="training"):
    """for step in counted(300): a range(300), while a bar of 20 printed blocks grows."""
    print(what, end=" ", flush=True)
    for step in range(steps):
        yield step
        print("■" * (BLOCKS * (step + 1) // steps - BLOCKS * step // steps), end="", flush=True)
    print()


class Adam:
    """Adam(model).step(loss, rate): each number of a model moves against its gradient.

    The mean of its last gradients is divided by their size, so that every number moves by about
    rate, however small its gradient is. The correction of the first steps is left out.
    torch.optim.Adam does the same, but to import it takes seconds and 70 MB of each kernel.
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
    """A model after so many steps of training.

    loss: of the sentences of the next step.  state: name -> tensor, as model.state_dict().
    """

    step: int
    loss: float
    state: dict

    @classmethod
    def of(cls, model, step, loss):
        """The model as it is now; what it learns later does not change it."""
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        return cls(step, loss.item(), state)


def load_training():
    """The training of lesson 11 as it was recorded: a list of Snapshot, first to last."""
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
            raise ValueError("there is none")
    return list(snapshots.values())
