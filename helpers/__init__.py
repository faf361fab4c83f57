"""What the lessons use: the sentence, the still picture, the live picture, the checks.

attention  the right definition of everything, in the order of the lessons
view       what there is to say about a matrix; still draws it with matplotlib, explore live,
           with controls (and a still picture, which stays in the saved notebook)
checks     what check() does with an answer: its own __init__ has the map
guard      calls the reader's code so that it does no harm; for a check, session leaves the
           notebook's variables (snapshot) and torch itself (genuine) as they were
data       reads the files of data/: the sentence, recorded and published figures
marks (lesson 9), language, training (lessons 10, 11), cost (lessons 12, 13), own_model (the
optional notebook: it loads a model; inside runs it, intervene changes its weights)
trial  a claim about attention, tried on a model: its verdict, and a card (lesson 11)
classroom  the teacher's command; pages: the one that makes the course's pages

The checks need no picture: of all this they import attention, data and guard.
"""

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
