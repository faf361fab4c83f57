"""Call a class where nothing is dropped, or note where tensors of two devices would meet."""

import torch

from ..checks._counterfactual import World


class NothingDropped(World):
    """Dropout drops nothing, not even in training."""

    def call(self, func, name, args, kwargs):
        if "dropout" in name:
            return args[0]
        if name == "scaled_dot_product_attention":
            args, kwargs = args[:4], {k: x for k, x in kwargs.items() if k != "dropout_p"}
        return func(*args, **kwargs)


class NotesWhatMeets(World):
    """Treats some tensors as moved to another device, and some as left behind. met: did an
    operation use both kinds, or what was made from them? On two devices it would fail."""

    # These move a tensor to the other's device, or accept one from any device.
    ALLOWED = ("to", "type_as", "__getitem__", "__setitem__", "view_as", "expand_as")

    def __init__(self, moved, stayed):
        super().__init__()
        self.moved, self.stayed, self.met = list(moved), list(stayed), False

    def call(self, func, name, args, kwargs):
        tensors = [x for x in (*args, *kwargs.values()) if torch.is_tensor(x) and x.dim()]
        moved, stayed = (
            any(x is y for x in tensors for y in known) for known in (self.moved, self.stayed)
        )
        result = func(*args, **kwargs)
        if name in ("to", "type_as") and len(args) > 1 and not isinstance(args[1], torch.dtype):
            return result.detach() if result is args[0] else result
        self.met |= moved and stayed and name not in self.ALLOWED
        if torch.is_tensor(result) and (moved or stayed):
            (self.moved if moved else self.stayed).append(result)
        return result
