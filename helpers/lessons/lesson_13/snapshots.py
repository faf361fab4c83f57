"""Read the recorded training of lesson 13."""

from dataclasses import dataclass

import torch

from ...attention.data import DATA, rows_of

FILE = DATA / "training.csv"


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
    """Return the recorded training of lesson 13: a list of Snapshot, first to last."""
    snapshots = {}
    for step, loss, name, *numbers in rows_of(FILE):
        one = snapshots.setdefault(step, Snapshot(int(step), float(loss), {}))
        one.state.setdefault(name, []).append([float(x) for x in numbers])
    for one in snapshots.values():
        one.state = {name: torch.tensor(matrix) for name, matrix in one.state.items()}
    return list(snapshots.values())
