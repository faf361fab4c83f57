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
    except ValueError:
        raise InputError(f"the rows of {what} differ in length; give each the same.") from None
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{what} is {' '.join(str(values)[:40].split())} ({type(values).__name__}); "
            "real numbers are expected: torch, numpy or nested lists."
        )
    return array.astype(np.float64)


def bare(value):
    """A single number of torch or numpy as Python's own; anything else as it is."""
    single = isinstance(value, (torch.Tensor, np.ndarray, np.generic)) and value.ndim == 0
    return value.item() if single else value


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
    if isinstance(given, str) or not np.iterable(given):
        raise InputError(f"{what} is {str(given)[:40]!r}; a list of {count} words is expected.")
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


def yours(mine, course):
    """yours(my_softmax, softmax): the reader's own function as soon as it is written.

    It is called like either. As long as mine returns None, as a stub does, it answers what course
    does; its attribute `whose` says which of them answered last.
    """

    def run(*args, **options):
        result, run.whose = mine(*args, **options), f"your {mine.__name__}"
        if result is None:
            result = course(*args, **options)
            run.whose = f"the course's {course.__name__}, until you have written {mine.__name__}"
        return result

    run.whose = ""
    return run
