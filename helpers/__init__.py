"""What the lessons use: the sentence, the still picture, the live picture, the checks.

Six rooms:
attention  the right definition of everything, in the order of the lessons, and the data they use
pictures   a matrix as a still picture and as a live one, with controls
checks     what check() does with an answer: its own __init__ has the map
models     the small models of the lessons, the reader's own model, and the trial of a claim
pages      makes the course's pages
classroom  the teacher's command

guard calls the reader's code so that it does no harm, session leaves the notebook as it was;
errors has the error for bad input.
Imports run one way: attention knows no other room; the checks need no picture.
"""

import torch

from .attention import load_journey
from .checks import check, progress
from .errors import InputError
from .pictures.arcs import Arcs
from .pictures.blend import Blend
from .pictures.broadcast import Broadcast
from .pictures.cache import Cache
from .pictures.explore import explore
from .pictures.given import yours
from .pictures.prefixes import Prefixes
from .pictures.shadow import Shadow
from .pictures.still import Still, heatmap
from .pictures.strip import Strip
from .pictures.tiles import Tiles
from .pictures.view import View

__all__ = [
    "Arcs",
    "Blend",
    "Broadcast",
    "Cache",
    "InputError",
    "Prefixes",
    "Shadow",
    "Still",
    "Tiles",
    "Strip",
    "View",
    "check",
    "explore",
    "heatmap",
    "load_journey",
    "progress",
    "yours",
]

# The course computes with small tensors: a second thread gains nothing there, and on a busy
# machine, a class on one server, it makes everything wait.
torch.set_num_threads(1)
