"""What the lessons use: the sentence, the still picture, the live picture, the checks."""

import torch

from .checks import check, progress
from .data import load_journey
from .explore import explore
from .guard import InputError
from .still import Still, heatmap
from .view import View

__all__ = ["InputError", "Still", "View", "check", "explore", "heatmap", "load_journey", "progress"]

# The course computes with small tensors: a second thread gains nothing there, and on a busy
# machine, a class on one server, it makes everything wait.
torch.set_num_threads(1)
