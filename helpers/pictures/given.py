"""What a reader gives, as plain Python: numbers, names and texts of any library."""

import unicodedata

import numpy as np
import torch

from ..errors import InputError


def as_array(values, what="the matrix"):
    """as_array(weights): torch, numpy or nested lists as a float64 array of its own.

    Raises InputError, about `what`, if they are no real numbers or rows differ in length.
    """

    def unpack(values):
        if torch.is_tensor(values):
            values = values.detach().cpu().to_dense()
            if not values.is_complex():  # numpy has no bfloat16
                values = values.to(torch.float64)
            return values.numpy()
        return [unpack(v) for v in values] if isinstance(values, (list, tuple)) else values

    try:
        array = np.asarray(unpack(values))
    except (ValueError, RecursionError):
        raise InputError(f"the rows of {what} differ in length; give each the same.") from None
    except RuntimeError as error:  # nested tensors, and those without numbers (meta)
        raise InputError(f"the numbers of {what} cannot be read: {str(error)[:80]}") from None
    if array.dtype.kind == "c":
        raise InputError(f"{what} holds complex numbers; real numbers are expected.")
    if array.dtype.kind not in "biuf":
        kind = "None" if values is None else f"{type(values).__name__} ({str(values)[:40]!r})"
        numbers = "a matrix of numbers is expected: torch, numpy or nested lists."
        raise InputError(f"{what} is {kind}; {numbers}")
    return array.astype(np.float64)


def bare(value):
    """A single number of torch or numpy as Python's own; anything else as it is."""
    single = isinstance(value, (torch.Tensor, np.ndarray, np.generic)) and value.ndim == 0
    return value.item() if single else value


def is_whole(x, low, high):
    """Whether x is a whole number from low to high; True is none."""
    return isinstance(x, int) and not isinstance(x, bool) and low <= x <= high


def one_line(text):
    """A line break as \\n and so on: real tokens have them, and a table would fall apart."""
    if text.isprintable():
        return text
    odd = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of pairs, line and paragraph ends
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in odd else c for c in text
    )


def as_text(text):
    """A title or caption as str, which may have line breaks but nothing else that is odd."""
    return "" if text is None else "\n".join(map(one_line, str(text).split("\n")))


def names(given, count, what):
    """Names as a list of str, one for each row or column; numbers from 0 if None is given."""
    if given is None:
        return [str(i) for i in range(count)]
    if isinstance(given, (str, bytes)):
        raise InputError(f"{what} is one text, {given[:40]!r}; a list of {count} is expected.")
    if not np.iterable(given):
        raise InputError(f"{what} is {str(given)[:40]}; a list of {count} words is expected.")
    given = [one_line(str(bare(name))) for name in given]
    if len(given) != count:
        raise InputError(f"{what} has {len(given)} names; {count} are needed.")
    return given


def wide(text):
    """Columns that a text takes in a fixed-width font."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
