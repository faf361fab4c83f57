"""What lesson 10 needs around a training: a bar that grows, and the recorded training."""

from dataclasses import dataclass

import torch

from .data import DATA, rows_of

FILE = DATA / "training.csv"
BLOCKS = 20


def counted(steps, what="training"):
    """for step in counted(300): a range(300), while a bar of 20 printed blocks grows."""
    print(what, end=" ", flush=True)
    for step in range(steps):
        yield step
        print("■" * (BLOCKS * (step + 1) // steps - BLOCKS * step // steps), end="", flush=True)
    print()


@dataclass
class Snapshot:
    """A model after so many steps of training.

    loss: of the sentences of the next step.  state: name -> tensor, as model.state_dict().
    """

    step: int
    loss: float
    state: dict


def load_training():
    """The training of lesson 10 as it was recorded: a list of Snapshot, first to last."""
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
