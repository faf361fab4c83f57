"""Counterfactuals: call an answer in a world where one thing is different. If the answer is right
there, then that thing was what was wrong with it."""

import math

import torch
from torch.overrides import TorchFunctionMode


class World(TorchFunctionMode):
    """Torch with one change: every call of a torch function goes through call()."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.call(func, getattr(func, "__name__", ""), args, kwargs or {})

    def call(self, func, name, args, kwargs):
        """Return what func gives in this world. name: of the function or method."""
        return func(*args, **kwargs)


class EmptyIsZero(World):
    """torch.empty gives zeros."""

    def call(self, func, name, args, kwargs):
        result = func(*args, **kwargs)
        if func in (torch.empty, torch.empty_like, torch.Tensor.new_empty):
            result.zero_()
        return result


class FillsInPlace(World):
    """masked_fill changes the tensor that it is called on."""

    def call(self, func, name, args, kwargs):
        return (torch.Tensor.masked_fill_ if name == "masked_fill" else func)(*args, **kwargs)


class NoEndlessLists(World):
    """torch.tensor raises an error for a list that contains itself; it would end the kernel."""

    def call(self, func, name, args, kwargs):
        if name in ("tensor", "as_tensor") and "[...]" in repr(args):
            raise ValueError("a list contains itself")
        return func(*args, **kwargs)


class ZeroTimesInfinityIsZero(World):
    def call(self, func, name, args, kwargs):
        if name not in ("mul", "multiply", "mul_"):
            return func(*args, **kwargs)
        a, b = (torch.as_tensor(x) == 0 for x in args[:2])
        result = func(*args, **kwargs)
        return (result.masked_fill_ if name == "mul_" else result.masked_fill)(a | b, 0)


class FillsWith(ZeroTimesInfinityIsZero):
    """Masks hide with a different number. other: takes the Python number in the student's code,
    returns the one that is used instead."""

    FILLING = ("masked_fill", "masked_fill_", "where", "full", "full_like", "fill_", "__setitem__")

    def __init__(self, other):
        super().__init__()
        self.other = other

    def call(self, func, name, args, kwargs):
        masks = (torch.is_tensor(x) and bool(((x == 0) | (x == 1)).all()) for x in args)
        if name in self.FILLING or name.startswith("mul") and any(masks):
            args = tuple(map(self._replace, args))
            kwargs = {key: self._replace(value) for key, value in kwargs.items()}
        return super().call(func, name, args, kwargs)

    def _replace(self, value):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return self.other(value) if number else value


def low_is_lowest():
    """Return a world where a mask's low number is minus infinity: filled, subtracted or added."""
    return FillsWith(lambda x: math.copysign(math.inf, x) if x < 0 or x > 1 else x)


def plus_is_minus():
    """Return a world where masks hide with minus infinity instead of plus infinity."""
    return FillsWith(lambda x: -math.inf if x == math.inf else x)


class TurnsTheLastTwo(World):
    """.T and other ways to transpose a matrix leave the dimension of the batch alone."""

    def call(self, func, name, args, kwargs):
        by_dims = name in ("transpose", "swapaxes", "swapdims") and set(args[1:]) == {0, 1}
        turns = by_dims or name == "t" or func == torch.Tensor.T.__get__
        return args[0].mT if turns and args[0].dim() > 2 else func(*args, **kwargs)


class LooksBack(World):
    """tril takes a diagonal above the main one as the diagonal equally far below it."""

    def call(self, func, name, args, kwargs):
        if name not in ("tril", "tril_"):
            return func(*args, **kwargs)
        x, diagonal = (*args, kwargs.get("diagonal", 0))[:2]
        return func(x, diagonal=-abs(diagonal))


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


class NotesWhatIsDrawn(World):
    """Keeps the tensors of random numbers in drawn, in the order in which they were made."""

    DRAWING = ("rand", "uniform", "normal_")

    def __init__(self):
        super().__init__()
        self.drawn = []

    def call(self, func, name, args, kwargs):
        result = func(*args, **kwargs)
        if torch.is_tensor(result) and any(word in name + "_" for word in self.DRAWING):
            self.drawn.append(result)
        return result
