"""The correct definition of what lessons 1 to 10 build, in their order: functions, modules made
from them, and the sentence that the lessons compute with. Later lessons have their own functions in
their folders."""

from .data import load_journey  # noqa: F401
from .functions import *  # noqa: F403
from .modules import *  # noqa: F403
