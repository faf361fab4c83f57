"""What the lessons import: the sentence, the pictures, the questions before an answer, the checks.

What a lesson imports:
attention  the correct definition of everything, in the order of the lessons, and their data
pictures   a matrix as a still picture and as a live one, with controls; drawings/ has more kinds,
           browser/ what runs there; predict() asks for a guess before an answer
checks     what check() does with an answer: its own __init__ describes the files
models     the small models of the lessons, and the reader's own model

What no lesson imports:
tools      the course as web pages, the commands for a class

guard calls the reader's code safely, session restores the notebook afterwards, and errors has the
error for bad input.
Imports go one way: attention imports from no other room, and the checks need no picture.
"""

import sys

# in a kernel of some other installation; first, since an older Python lacks what comes next
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(
        f"This kernel runs Python {sys.version.split()[0]}, and the course needs 3.11 to 3.14. "
        "Choose the kernel of .venv, or install the course as README.md says."
    )

from importlib import import_module

import torch

from .attention import load_journey
from .checks import check, progress
from .errors import InputError
from .pictures.explore import explore
from .pictures.given import yours
from .pictures.predict import predict
from .pictures.still import Still, heatmap
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
    "predict",
    "progress",
    "yours",
]

# The course computes with small tensors, where a second thread saves no time. On a busy machine,
# such as one server for a class, it slows everything down.
torch.set_num_threads(1)


def __getattr__(name):
    """Import a drawing when a lesson asks for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".pictures.drawings.{name.lower()}", __name__), name)
