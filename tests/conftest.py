"""What every test needs: one thread for small tensors, and an nbval that waits and looks."""

import os
import time
from queue import Empty

# Before torch is imported, here and in every kernel: with two threads on a busy machine
# small tensors become twenty times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The kernel chooses its own; a foreign one would change what a figure prints.
os.environ.pop("MPLBACKEND", None)

from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell

_get_message = RunningKernel.get_message


def _get_message_while_alive(self, stream, timeout=None):
    """As nbval's, but a kernel that died is noticed within two seconds."""
    end = time.monotonic() + (timeout or 0)
    while True:
        left = 2 if timeout is None else min(2, max(0.01, end - time.monotonic()))
        try:
            return _get_message(self, stream, left)
        except Empty:
            if not self.is_alive():
                raise RuntimeError("The kernel died in this cell.") from None
            if timeout is not None and time.monotonic() >= end:
                raise


RunningKernel.get_message = _get_message_while_alive


def pytest_collection_modifyitems(items):
    # The longest file first, or one worker waits for the other at the end.
    items.sort(key=lambda item: "test_stages.py" not in item.nodeid)
    for item in items:
        if isinstance(item, IPyNbCell):
            item.output_timeout = 60  # seconds of silence; five are too few on a busy machine
