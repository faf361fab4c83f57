"""Is it written yet, and can it be called as the exercise asks?"""

import difflib
import inspect

from torch import nn

from ._code import own_functions, unwrapped
from .exercises import CHECKED
from .message import shorten
from .results import kind

# --- not written yet ---


def _empty(): ...


def _only_documented():
    """What this Python makes of a docstring is compared with a stub's code."""


NOTHING = {function.__code__.co_code for function in (_empty, _only_documented)}


def is_stub(answer):
    """Is the body only `...`, `pass` or a docstring? For a class, that of forward or __init__."""
    if inspect.isclass(answer):
        return is_stub(answer.forward) or is_stub(answer.__init__)
    answer = unwrapped(answer)
    code = getattr(answer, "__code__", None)
    return (
        inspect.iscode(code)
        and code.co_code in NOTHING
        and all(const is None or const == answer.__doc__ for const in code.co_consts)
    )


def is_left_to_do(result, answer):
    """Did the answer return the `...` of the stub, or raise NotImplementedError itself? (Some
    operations of torch raise it too; those count as ordinary errors.)"""
    if isinstance(result.outcome.error, NotImplementedError):
        return any("NotImplementedError" in f.__code__.co_names for f in own_functions(answer))
    return result.outcome.value is ...


# --- cannot be used ---


def misuse(name, answer):
    """Return (what is wrong, what to do) if name or answer cannot be used, else None."""
    if not isinstance(name, str):
        return (
            "check: the name of the exercise comes first, then your function.",
            'Write it like this: check("softmax", my_softmax).',
        )
    if name not in CHECKED:
        return no_exercise("check", name)
    exercise = CHECKED[name]
    return (_of_class if exercise.is_class else _of_function)(exercise, answer)


def no_exercise(asked, name):
    """Return what misuse() does, for an unknown name. asked: the function called with it."""
    near = difflib.get_close_matches(name, CHECKED, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return (
        f"{asked}: there is no exercise {shorten(repr(name), 40)}.{hint}",
        f"The exercises are {', '.join(CHECKED)}.",
    )


def _of_function(exercise, fn):
    name, signature = exercise.name, exercise.takes
    if inspect.isclass(fn) or not callable(fn):
        what = f"the class {fn.__name__}" if inspect.isclass(fn) else kind(fn)
        return (
            f"{name}: check() expects a function, but this is {what}.",
            f"Write def my_{name}{signature}: and pass its name without calling it.",
        )
    own = getattr(fn, "__name__", "")
    own = own if own.isidentifier() else f"my_{name}"
    wanted = _required(exercise.reference)
    return _refused(f"{name}: your function", fn, wanted, f"def {own}{signature}:")


def _of_class(exercise, cls):
    name, own = exercise.name, getattr(cls, "__name__", "")
    if isinstance(cls, nn.Module):
        own = type(cls).__name__
        return (
            f"{name}: check() expects a class, but this is an object of the class {own}.",
            f'Pass the class itself without calling it: check("{name}", {own}).',
        )
    if not inspect.isclass(cls):
        what = "a function" if inspect.isroutine(cls) else kind(cls)
        return (
            f"{name}: check() expects a class, but this is {what}.",
            f"Write class My{name}(nn.Module): and pass its name without calling it.",
        )
    if not issubclass(cls, nn.Module):
        return (
            f"{name}: your class {own} is not an nn.Module.",
            f"Write class {own}(nn.Module) and call super().__init__() first.",
        )
    wanted = _required(exercise.reference)
    init = f"def __init__{exercise.takes.replace('(', '(self, ', 1)}:"
    forward = "def forward(self, inputs):"
    return _refused(f"{name}: your class", cls, wanted, init) or _refused(
        f"{name}: your forward", cls.forward, ["self", "inputs"], forward
    )


def _required(reference):
    wanted = inspect.signature(reference).parameters.values()
    return [p.name for p in wanted if p.default is p.empty]


def _refused(what, fn, wanted, write):
    """Return what misuse() does, if fn cannot be called with the wanted arguments; else None."""
    try:
        takes = inspect.signature(fn)
    except Exception:  # some built-in functions have none; __signature__ may be anything
        return None
    try:
        takes.bind(*wanted)
    except TypeError:
        given = "self and the inputs" if wanted[0] == "self" else f"({', '.join(wanted)})"
        return (
            f"{what} takes ({', '.join(takes.parameters)}).",
            f"It is called with {given}: write {write}",
        )
    return None
