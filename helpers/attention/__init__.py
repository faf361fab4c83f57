"""The correct definition of everything, in the order of the lessons: functions, modules made from
them, and the sentence that the lessons compute with."""

from .beyond import *  # noqa: F403
from .data import load_journey  # noqa: F401
from .functions import *  # noqa: F403
from .modules import *  # noqa: F403
