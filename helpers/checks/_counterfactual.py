"""Call an answer in a world where torch differs in one thing."""

from torch.overrides import TorchFunctionMode


class World(TorchFunctionMode):
    """Torch with one change: every call of a torch function goes through call(). called: the names
    of these functions."""

    def __init__(self):
        super().__init__()
        self.called = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.called.append(getattr(func, "__name__", ""))
        return self.call(func, self.called[-1], args, kwargs or {})

    def call(self, func, name, args, kwargs):
        """Return what func gives in this world. name: of the function or method."""
        return func(*args, **kwargs)


class NoEndlessLists(World):
    """torch.tensor raises an error for a list that contains itself; it would end the kernel."""

    def call(self, func, name, args, kwargs):
        if name in ("tensor", "as_tensor") and "[...]" in repr(args):
            raise ValueError("a list contains itself")
        return func(*args, **kwargs)
