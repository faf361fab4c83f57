"""Turn what a reader passes in, from any library, into plain numbers, names and texts."""

import unicodedata
from functools import partial

import numpy as np
import torch

from ..copies import on_copies
from ..errors import InputError
from ..session import unchanged_by_a_picture

# Characters that are drawn as nothing, besides blanks and what Unicode calls a format: fillers, an
# empty pattern of Braille, variation selectors.
BLANK = "\u034f\u115f\u1160\u2800\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10)))


def as_array(values, what="the matrix"):
    """Return a copy of torch, numpy or nested lists as a float64 array.

    Raises InputError, which names `what`, if there are no real numbers, if rows differ in length,
    or if a mask of numpy hides some.
    """

    def unpack(values):
        if np.ma.is_masked(values):
            raise InputError(
                f"{what} has numbers that its mask hides; only View and heatmap leave them out. "
                "Fill them in, as in weights.filled(0)."
            )
        if torch.is_tensor(values):
            values = values.detach().cpu().to_dense()
            if not values.is_complex():  # numpy has no bfloat16
                values = values.to(torch.float64)
            return values.numpy()
        return [unpack(v) for v in values] if isinstance(values, (list, tuple)) else values

    plain = unpack(values)
    try:
        array = np.asarray(plain)
    except ValueError:
        raise InputError(f"the rows of {what} differ in length; make them equally long.") from None
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{what} is {' '.join(str(values)[:40].split())} ({type(values).__name__}); "
            "real numbers are expected, as a tensor, a numpy array or nested lists."
        )
    return array.astype(np.float64)


def shaped(given, what, *sizes, hint=""):
    """Return as_array(given, what), which must have these sizes: a whole number, or a name, such as
    "n", for any number above 0. Raises InputError, with a hint at its end."""
    array = as_array(given, what)
    fits = (
        own == size if isinstance(size, int) else own
        for own, size in zip(array.shape, sizes, strict=False)
    )
    if array.ndim != len(sizes) or not all(fits):
        asked = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(map(str, sizes))})"
        raise InputError(f"{what} has the shape {array.shape}; {asked} is expected{hint}.")
    return array


def bare(value):
    """Return a single number of torch or numpy as a Python number; anything else unchanged."""
    single = isinstance(value, (torch.Tensor, np.ndarray, np.generic)) and value.ndim == 0
    return value.item() if single else value


def one_line(text):
    """Return the text with line breaks written as \\n and so on: they would break a table."""
    if text.isprintable():
        return text
    odd = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of pairs, line and paragraph ends
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in odd else c for c in text
    )


def one_word(word):
    """Return a word as text on one line; one that nobody would see, as Python writes it: ''."""
    text = one_line(str(word))
    hidden = (c.isspace() or c in BLANK or unicodedata.category(c) == "Cf" for c in text)
    return ascii(text) if all(hidden) else text


def as_text(text):
    """Return a title or caption as str, which keeps line breaks but no other control characters."""
    return "" if text is None else "\n".join(map(one_line, str(text).split("\n")))


def names(given, count, what):
    """Return names as a list of str, one for each row or column; numbers from 0 for None."""
    if given is None:
        return [str(i) for i in range(count)]
    if isinstance(given, str) or not np.iterable(given):
        raise InputError(f"{what} is {str(given)[:40]!r}; a list of {count} words is expected.")
    given = [one_line(str(bare(name))) for name in given]
    if len(given) != count:
        raise InputError(f"{what} has {len(given)} names; {count} are needed.")
    return given


def words(given, count, what="tokens"):
    """Return names that can all be seen, see one_word(); only a single row may have none."""
    given = names(given, count, what)
    return given if given == [""] else [one_word(word) for word in given]


def wide(text):
    """Return how many columns a text takes in a fixed-width font."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def copied(x):
    """Return a copy of tensors and arrays, also those in lists, tuples and dicts."""
    if torch.is_tensor(x):
        return x.clone()
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, dict):
        return {key: copied(value) for key, value in x.items()}
    return type(x)(map(copied, x)) if type(x) in (list, tuple) else x


def yours(mine, course):
    """Return a function that calls the reader's own as soon as it is written, else the course's.

    yours(my_softmax, softmax) takes the same arguments as either, and hands mine copies of them,
    and of what it names of the notebook.
    While mine returns None, as a stub does, the course's result is returned; the attribute `whose`
    names the one used last, and says so if its numbers are wrong.
    Raises InputError if mine returns a different shape.
    """
    name = mine.__name__

    def run(*args, **options):
        copies, luck = copied((args, options)), torch.get_rng_state()
        with unchanged_by_a_picture(None):
            result = on_copies(mine)(*copies[0], **copies[1])
        torch.set_rng_state(luck)  # so that both draw the same random numbers
        wanted = course(*args, **options)
        if result is None:
            run.whose = f"the course's {course.__name__} (until you write {name})"
            return wanted
        got, ours = as_array(result, name), as_array(wanted)
        if got.shape != ours.shape:
            raise InputError(f"{name} returned shape {got.shape}, not {ours.shape}: see its check.")
        run.whose, alike = f"your {name}", partial(np.allclose, ours, rtol=0.01, atol=1e-3)
        if not alike(got) and alike(as_array(course(*args, **options))):  # not drawn at random
            run.whose += ", whose numbers are wrong here: see its check"
        if not torch.is_tensor(wanted):
            return result
        # a check accepts lists, arrays and other precisions; a tensor keeps its gradient
        return (result if torch.is_tensor(result) else torch.tensor(got)).to(wanted.dtype)

    run.whose = ""
    return run
