"""What lessons 7 and 11 measure of a mask."""

import torch

from ..checks.results import NotNumbers, Observed

TRUTHS = "made of True and False"


def is_of_truths(mask, *sizes):
    """Observe whether mask(*sizes) is made of True and False. Raises NotNumbers."""
    made = mask(*sizes)
    if isinstance(made, list) and torch.is_tensor(made[0]):
        raise NotNumbers(made, "a list of tensors")
    return Observed({TRUTHS: torch.as_tensor(made).dtype == torch.bool})
