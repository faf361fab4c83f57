"""An answer as a program: one step a line, `name = expression`. A mistake is a line, or several,
that somebody wrote instead of the steps of the same names."""

import inspect
from functools import cache

import torch
from torch.nn import functional as F

# --- what the lines may use, besides torch and Python's own functions ---


def put(x, index, value):
    """Return a copy of x with this value at the index."""
    x = x.clone()
    x[index] = value
    return x


def swap(x, here, there):
    """Return a copy of x with what is at these two indices swapped."""
    return put(put(x, here, x[there]), there, x[here])


def divided(x, dim=-1):
    """Return x divided by its sums along dim."""
    return x / x.sum(dim, keepdim=True)


def stable(scores, dim=-1):
    """Return exp of the scores less their maximum."""
    return (scores - scores.amax(dim, keepdim=True)).exp()


def naive(scores, dim=-1):
    """Return exp of the scores as they are, which overflows above 88 in float32."""
    return scores.exp()


def less(reduced):
    """Return an exp that subtracts reduced(scores) instead of the maximum."""
    return lambda scores, dim=-1: (scores - reduced(scores)).exp()


def soft(scores, exp=stable, dim=-1):
    """Return softmax of the scores along dim, or dims, with this exp."""
    return divided(exp(scores, dim), dim)


def future(n, diagonal=1):
    """Return (n, n) of bool: True from this diagonal up."""
    return torch.ones(n, n, dtype=torch.bool).triu(diagonal)


def past(n, diagonal=0):
    """Return (n, n) of bool: True from this diagonal down."""
    return torch.ones(n, n, dtype=torch.bool).tril(diagonal)


def in_blocks(scores, size, of_sum=None, of_blend=None, top=torch.maximum, at_once=False):
    """Return weights (1, n), collected block by block from scores (1, n), as in lesson 12.

    size: of a block.  of_sum, of_blend: take the old maximum and the new one, return the factor for
    what was collected before; exp(old - new) by default.  top: takes the old maximum and that of
    the block, returns the new one.  at_once: divide after every block, not once at the end?
    """

    def shrunk(old, new):
        return (old - new).exp()

    of_sum, of_blend = of_sum or shrunk, of_blend or shrunk
    blocks = scores.split(size, dim=-1)
    maximum = blocks[0].amax(-1, keepdim=True)
    total, shares = torch.zeros_like(maximum), blocks[0][..., :0]
    for block in blocks:
        larger = top(maximum, block.amax(-1, keepdim=True))
        exps = (block - larger).exp()
        total = total * of_sum(maximum, larger) + exps.sum(-1, keepdim=True)
        shares = torch.cat([shares * of_blend(maximum, larger), exps], dim=-1)
        shares = shares / total if at_once else shares
        maximum = larger
    return shares if at_once else shares / total


def repeated(step, x, times):
    """Return step(... step(x)), so many times."""
    for _ in range(times):
        x = step(x)
    return x


HELPERS = in_blocks, repeated, put, swap, divided, stable, naive, less, soft, future, past
KNOWN = {f.__name__: f for f in HELPERS} | {"torch": torch, "F": F, "inf": torch.inf}


# --- programs ---


@cache
def _compiled(expression):
    return compile(expression, f"<{expression}>", "eval")


def steps(code):
    """Return {name: expression} of code: a step a line, or several between semicolons."""
    lines = [line.strip() for line in code.replace(";", "\n").splitlines() if line.strip()]
    return dict(line.split(" = ", 1) for line in lines)


class Program:
    """takes: the names of the arguments.  steps: {name: expression}; the last one is returned.

    Called with the arguments, it raises what a step raises.
    """

    def __init__(self, takes, steps):
        self.takes, self.steps = tuple(takes), steps
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        # so that inspect.signature(program) is that of the exercise
        self.__signature__ = inspect.Signature([inspect.Parameter(x, kind) for x in self.takes])

    def __call__(self, *args):
        state = self.start(args)
        for name in self.steps:
            self.take(state, name)
        return state[name]

    def start(self, args):
        """Return what is known before the first step: {name: value}."""
        return KNOWN | dict(zip(self.takes, args, strict=True))

    def take(self, state, name, line=None):
        """Take the step of this name, or this line instead: put what it gives into the state."""
        state[name] = eval(_compiled(line or self.steps[name]), state)

    def changed(self, *ways):
        """Return the program with the steps of these ways, dicts like steps, for its own."""
        return Program(self.takes, {**self.steps, **{k: x for way in ways for k, x in way.items()}})

    def has(self, way):
        """Has it all steps that this way, {name: expression}, changes?"""
        return way.keys() <= self.steps.keys()
