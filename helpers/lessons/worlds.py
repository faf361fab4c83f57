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
    """Treats some tensors as moved to another device, with what is made from them or for their
    device, and all others as left on the CPU. met: which of these, KEPT or ELSEWHERE, an operation
    used together with moved ones, as fails on two devices; else NOTHING. What holds one number
    only, many times, may meet them: it is no mask, but zeros to add to.

    moved, kept: the tensors that a module moves, and those that it keeps but leaves behind.
    """

    MOVED, KEPT, ELSEWHERE, NOTHING = "moved", "an attribute", "a tensor on the CPU", "nothing"
    # These accept tensors from any device.
    ALLOWED = "__getitem__", "__setitem__", "copy_", "view_as", "expand_as"

    def __init__(self, moved, kept):
        super().__init__()
        # By id; the tensors are held, so that no other one gets the same.
        self.places = {id(x): (x, self.KEPT) for x in kept}
        self.places |= {id(x): (x, self.MOVED) for x in moved}
        self.met = self.NOTHING

    def call(self, func, name, args, kwargs):
        given = [(x, self._place(x)) for x in _tensors((args, kwargs))]
        behind = [(x, place) for x, place in given if place != self.MOVED]
        is_moved = len(behind) < len(given)
        if is_moved and name not in self.ALLOWED:
            self.met = next((place for x, place in behind if _differs(x)), self.met)
        result = func(*args, **kwargs)
        if _names_a_device(name, args, kwargs):
            is_moved, result = True, result.view_as(result)  # a new object: the old one stays
        place = self.MOVED if is_moved else next((p for _, p in behind), self.ELSEWHERE)
        filled = args[0] if name == "__setitem__" else ()
        self.places |= {id(x): (x, place) for x in _tensors((result, filled))}
        return result

    def _place(self, x):
        # What is inside of torch.vmap, and what comes out of it, was not seen before.
        unseen = x.requires_grad or torch._C._functorch.is_functorch_wrapped_tensor(x)
        return self.places.get(id(x), (x, self.MOVED if unseen else self.ELSEWHERE))[1]


def _tensors(x):
    """Yield the tensors in x, but none without dimensions: these may be on any device."""
    if torch.is_tensor(x) and x.dim():
        yield x
    elif isinstance(x, list | tuple | dict):
        for part in x.values() if isinstance(x, dict) else x:
            yield from _tensors(part)


def _differs(x):
    return bool(x.numel()) and bool((x != x.flatten()[0]).any())


def _names_a_device(name, args, kwargs):
    """Does this call bring its result to a device, or to that of another tensor?"""
    if name in ("to", "type_as"):
        more = (*args[1:], *kwargs.values())
        return any(isinstance(x, str | torch.device | torch.Tensor) for x in more)
    return kwargs.get("device") is not None and name != "device"
