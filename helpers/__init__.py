"""What the lessons import: the sentence, the pictures, the questions before an answer, the checks.

The core, which every lesson uses:
attention  the correct definition of what lessons 1 to 10 build, in their order, and their data
pictures   a matrix as a still picture and as a live one, with controls; browser/ runs in the
           browser; predict() asks for a guess before an answer
checks     what check() does with an answer: its own __init__ describes the files
guard calls the reader's code safely, session restores the notebook afterwards, contents finds what
it holds, copies copies that for a picture, and errors has the error for bad input.

lessons    a folder for each lesson: its exercises, what only it measures, draws or trains
your_model the model that a reader brings, for one notebook
tools      what no lesson imports: the course as web pages, the commands for a class

Imports go one way: the core imports no lesson. A lesson's checks are read when one of its exercises
is asked for, its drawing when it is imported.
"""

import sys

# in a kernel of some other installation; first, since an older Python lacks what comes next
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(
        f"This kernel runs Python {sys.version.split()[0]}, and the course needs 3.11 to 3.14. "
        "Choose the kernel of .venv, or install the course as README.md says."
    )

from importlib import import_module
from pathlib import Path

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
    "InputError",
    "Still",
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
    """Import a drawing, such as Tiles, when a lesson asks for it: its file is tiles.py."""
    here = Path(__file__).parent
    files = [*here.glob(f"lessons/**/{name.lower()}.py")]
    if not files or not name[0].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if len(files) > 1:
        raise ImportError(f"{len(files)} lessons have a file {files[0].name}: rename one.")
    file = files[0].relative_to(here).with_suffix("")
    return getattr(import_module(f".{'.'.join(file.parts)}", __name__), name)
