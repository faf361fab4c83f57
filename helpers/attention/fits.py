"""Check widths and rates, and raise InputError where they do not fit."""

from ..errors import InputError


def expect_rate(p):
    """Raise InputError unless p is a rate of dropout, from 0 to below 1."""
    if not (isinstance(p, int | float) and 0 <= p < 1):
        raise InputError(f"dropout is {p!r}; a number from 0 to below 1 is expected.")


def expect_head_dim(d_out, num_heads):
    """Return d_out / num_heads; raise InputError if that is no whole number."""
    if num_heads < 1 or d_out % num_heads:
        raise InputError(
            f"d_out = {d_out} is not divisible by num_heads = {num_heads}, but every head needs "
            "d_out / num_heads numbers. Choose a different one of the two."
        )
    return d_out // num_heads


def expect_width(inputs, d_in):
    """Raise InputError unless inputs is (n, d_in) or (b, n, d_in)."""
    if inputs.dim() < 2 or inputs.shape[-1] != d_in:
        raise InputError(
            f"the inputs have the shape {tuple(inputs.shape)}; (n, {d_in}) or (b, n, {d_in}) is "
            f"expected, because the module was created with d_in = {d_in}. Change one of the two."
        )
