"""What to try when no cause is known: what an error means, and sizes written as numbers."""

import ast
import builtins
import difflib
import inspect
import linecache
import os
import re
import sys
from contextlib import suppress
from types import ModuleType
from typing import NamedTuple

import torch

from . import _counterfactual
from ._calls import missing_arguments, shapes_at, unknown_keyword
from ._code import (
    all_codes,
    data_from_above,
    is_name,
    nodes,
    own_functions,
    part_at,
    tree_of,
    unwrapped,
    written,
    written_into,
)
from ._texts import Fact, listed, read_toml

# --- what Python says ---

# Errors that say what is wrong in their own words, or nearly: nothing else is looked for.
PLAIN = {
    RecursionError: "your function calls itself, again and again: use another name in that line.",
    KeyError: "print the keys of that dict: this one is not in it. A tensor is a key only as the \
same object, so use its position instead.",
    SystemExit: "use `return` to end a function: this ends the whole program.",
    KeyboardInterrupt: "leave out what raises KeyboardInterrupt: it ends the whole program.",
    AssertionError: "correct this `assert`: it does not hold for these arguments.",
}
IMPORTS = {
    "math": "import math",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
}


def python_says(error, submission):
    """Return the Fact about an error that Python explains itself, with the student's own names, or
    None: a name or an attribute that is not there, a failed assert, an endless recursion."""
    what, step = f"it raised {type(error).__name__}.", step_of(error, submission)
    if advice := known_advice(error, submission, first=True):
        return Fact(what, advice)
    is_own = is_raised_here(step)
    if isinstance(error, UnboundLocalError):
        advice = _unbound(error, submission)
    elif isinstance(error, NameError):
        advice = _unknown(error.name, error, submission)
    elif isinstance(error, AttributeError):
        advice = _no_attribute(error, submission)
    elif isinstance(error, ImportError):
        advice = f"do without `{error.name}`, which cannot be imported here: torch is enough."
    elif isinstance(error, TypeError) and (name := _pythons_own(error, submission)):
        advice = f"`{name}` is Python's own function: {_or_else(name, error, submission)}"
    elif isinstance(error, TypeError) and is_own:
        advice = unknown_keyword(step, error)
    elif is_own or not isinstance(error, AssertionError | KeyError):
        advice = next((said for kind, said in PLAIN.items() if isinstance(error, kind)), "")
    return Fact(what, advice) if advice else None


def is_raised_here(step):
    """Is this step of a traceback the last one, but for our World? Else a library raised it."""
    last = step and step.tb_next
    while last and last.tb_frame.f_code.co_filename == _counterfactual.__file__:
        last = last.tb_next
    return step is not None and last is None


def _or_else(name, error, submission):
    """Return what to write instead of Python's own function of this name, used as a value."""
    step = step_of(error, submission)
    known = step.tb_frame.f_locals if step else {}
    if near := _nearest(name, known, cutoff=0.7):
        return f"did you mean `{near[0]}`?"
    tensors = [key for key, x in known.items() if torch.is_tensor(x)]
    if tensors and hasattr(torch.Tensor, name):
        return f"call it, as in `{tensors[0]}.{name}()`."
    return "give your variable a different name."


def _nearest(name, known, cutoff=0.75):
    """Return [the known name that looks most like this one], or []. The same letters, large or
    small, come first."""
    alike = [k for k in known if k.lower() == name.lower()]
    return alike[:1] or difflib.get_close_matches(name, known, n=1, cutoff=cutoff)


def _locals(error, submission):
    """Return the names of local variables that have a value where the error was raised."""
    step = step_of(error, submission)
    return list(step.tb_frame.f_locals) if step else []


def _unbound(error, submission):
    name = re.search(r"'(\w+)'", str(error))[1]
    step = step_of(error, submission)
    if step and name in step.tb_frame.f_globals:
        return f"start `{name}` inside your function, above this line: a function that writes to \
`{name}` does not see the `{name}` of a cell above."
    if step and (tree := tree_of(code := step.tb_frame.f_code)):
        here = step.tb_lineno - code.co_firstlineno + 1
        made = [x for x in nodes(tree, ast.Assign) if is_name(x.targets[0], name)]
        if made and all(x.lineno > here for x in made):
            return f"move this line below `{written(made[0])}`, which gives `{name}` its value."
    return f"give `{name}` a value above this line, in every case: an `if` or a loop may skip it."


class Unknown(NamedTuple):
    """A name without a value.  used: the attribute that is read of it, or "".  step: where the
    error was raised, or None.  known: the names of local variables there."""

    name: str
    used: str
    submission: object
    step: object
    known: list

    @property
    def own_work(self):
        """A regular expression for what the exercise asks for."""
        exercise = self.submission.exercise
        return f"{exercise.name}|{exercise.avoid}"


def _unknown(name, error, submission):
    """Return advice on a name that has no value, by where it comes from."""
    used = re.search(rf"(?<![\w.]){name}\.(\w+)", submission.body)
    step, known = step_of(error, submission), _locals(error, submission)
    unknown = Unknown(name, used[1] if used else "", submission, step, known)
    return next(filter(None, (said(unknown) for said in COMES_FROM)))


def _self(x):
    if x.name == "self":
        return "leave out self.: this is a function, and everything it needs is an argument."


def _module_with_own_work(x):
    if x.used and re.fullmatch(x.own_work, x.used):
        return _own_work(x._replace(name=x.used))


def _not_imported(x):
    if x.name in IMPORTS:
        tensors = any(map(torch.is_tensor, x.submission.cases[0].args))
        done = _instead_of(x.used) if x.used and tensors else ""
        return (
            f"{done or f'write `{IMPORTS[x.name]}` above your code'}: `{x.name}` is not imported."
        )


def _of_self(x):
    module = x.step.tb_frame.f_locals.get("self") if x.step else None
    if x.submission.exercise.is_class and hasattr(module, x.name):
        return f"write self.{x.name} instead of {x.name}: it belongs to the module."


def _own_work(x):
    if re.fullmatch(x.own_work, x.name):
        return f"write the steps of {x.name} yourself, as the exercise asks."


def _of_python(x):
    if x.name in sys.stdlib_module_names:
        return f"write `import {x.name}` above your code, or do without it."


def _of_torch(x):
    if callable(getattr(torch, x.name, None)) or x.name == "inf":
        return f"{_instead_of(x.name)}: there is no `{x.name}` without its module."


def _written_into(x):
    if x.submission.tree and x.name in written_into(x.submission.tree):
        return f"make `{x.name}` above this line, with torch.zeros: then you can write into it."


def _alike(x):
    # v for values: the reader's own short name is nearer than one that looks alike.
    is_role = re.match("quer|key|val", x.name)
    near = [k for k in x.known if is_role and len(k) < 3 and x.name.startswith(k)]
    near = near if len(near) == 1 else _nearest(x.name, x.known)
    if not near and x.step:
        own = getattr(unwrapped(x.submission.answer), "__name__", "")
        others = [k for k in x.step.tb_frame.f_globals if k != own]
        near = _nearest(x.name, others, cutoff=0.85)
    if near:
        return f"did you mean `{near[0]}`? `{x.name}` has no value."


def _of_nowhere(x):
    if x.submission.exercise.is_class:
        return f"give `{x.name}` a value: make it from the arguments, or store it in __init__ as \
self.{x.name} and use that."
    takes = x.submission.exercise.takes
    return f"use the arguments, {takes}, or what you make of them: there is no `{x.name}` here."


COMES_FROM = (
    _self,
    _module_with_own_work,
    _not_imported,
    _of_self,
    _own_work,
    _of_python,
    _of_torch,
    _written_into,
    _alike,
    _of_nowhere,
)


def _instead_of(name):
    """Return what to write instead of a function such as math.sqrt or np.exp."""
    if name == "sqrt":
        return "write ** 0.5"
    return f"write torch.{name}" if hasattr(torch, name) else ""


def _no_attribute(error, submission):
    """Return advice on an attribute that an object does not have."""
    name, x = error.name, error.obj
    if said := known_advice(error, submission):
        return said
    if isinstance(x, torch.nn.Module) and type(x).__name__ == submission.answer.__name__:
        return _never_set(name, x)
    if isinstance(x, ModuleType):
        if x is not torch and name and hasattr(torch, name):
            return f"write torch.{name}: `{x.__name__}` has no `{name}`."
        near = _nearest(name, dir(x))
        return f"did you mean `{near[0]}`? There is no `{name}`." if near else ""
    if isinstance(x, list | tuple) and hasattr(torch.Tensor, name):
        with_what = "torch.stack" if all(map(torch.is_tensor, x)) else "torch.tensor"
        return f"make that {type(x).__name__} a tensor, with {with_what}: it has no .{name}."
    near = _nearest(name, dir(x))
    return f"did you mean `{near[0]}`? There is no `{name}`." if near else ""


def _never_set(name, module):
    """Return advice on self.name, which this module of the student's class has not got."""
    own = vars(module)
    kept = *(own.get(k, {}) for k in ("_parameters", "_modules", "_buffers")), own
    made = [k for names in kept for k in names if k[0] != "_" and k != "training"]
    if near := _nearest(name, made):
        return f"did you mean self.{near[0]}? self.{name} was never set."
    if not made:
        return f"set self.{name} in __init__, or define a method {name}."
    is_set = listed(f"self.{k}" for k in made)
    return f"set self.{name} in __init__, or define a method {name}, or use what is set: {is_set}."


def _pythons_own(error, submission):
    """Return the name of a function of Python's own that the failing line uses as a value; ""."""
    step = step_of(error, submission)
    if step is None:
        return ""
    with suppress(SyntaxError):
        tree = ast.parse(part_at(step.tb_frame.f_code, step.tb_lasti))
        called = {id(call.func) for call in nodes(tree, ast.Call)}
        frame = step.tb_frame
        for n in nodes(tree, ast.Name):
            own = getattr(builtins, n.id, None)
            hidden = n.id in frame.f_locals or n.id in frame.f_globals
            if callable(own) and not hidden and id(n) not in called and not inspect.isclass(own):
                return n.id
    return ""


# --- errors of PyTorch ---


SHAPES = """shapes? cannot be|must match the|mismatch|invalid for input of size|for first two dim|\
same number of dim|to be equal size|must match except|inconsistent tensor size|could not be broad"""


def after_error(error, submission):
    """Return what to try after this error, a sentence."""
    text = f"{type(error).__name__}: {error}"
    if submission.only_first and (said := only_arguments(submission.answer)):
        return said
    names = data_from_above(submission.answer)
    if submission.exercise.is_class and (given := submission.arguments[0]) in names:
        return f"move what uses `{given}` into forward: only there, it is what you are given."
    if names and re.search(SHAPES, text):
        missing = "is self. missing? " if submission.exercise.is_class else ""
        return f"{missing}`{names[0]}` is a name from a cell above, not one of the arguments."
    if said := known_advice(error, submission) or fixed_sizes(submission):
        return said
    if found := re.search(r"index \d+ is out of bounds for dimension (\d+) with size (\d+)", text):
        at_most = f"in dimension {found[1]} the largest allowed is {int(found[2]) - 1}"
        step = step_of(error, submission)
        part = part_at(step.tb_frame.f_code, step.tb_lasti) if step else ""
        base = part.partition("[")[0]
        can_grow = base.isidentifier() and base not in submission.arguments
        made = f", or the size of `{base}`" if can_grow else ""
        index = f"the index in `{part}`" if part else "that index"
        return f"check {index}{made}: {at_most}."
    if isinstance(error, TypeError) and (said := _missing(error, submission)):
        return said
    if re.search(SHAPES, text):
        return shapes_at(step_of(error, submission))
    return "print what each name in that line holds: one of them is not what the line needs."


def _missing(error, submission):
    step = step_of(error, submission)
    return missing_arguments(step) if is_raised_here(step) else ""


def known_advice(error, submission, first=False):
    """Return what repairs.toml says to try after this error, with this code; or "". first: only if
    it says so before anything else is looked for."""
    text, step = f"{type(error).__name__}: {error}", step_of(error, submission)
    line = linecache.getline(step.tb_frame.f_code.co_filename, step.tb_lineno) if step else ""
    looked = {"words": text, "code": submission.body, "line": line}
    for entry in read_toml("repairs.toml")["errors"]:
        if not _is_for(entry, submission) or (entry.get("own") and not is_raised_here(step)):
            continue
        if all(re.search(entry.get(key, ""), found) for key, found in looked.items()):
            return entry["try"] if entry.get("first", False) or not first else ""
    return ""


def seen_advice(what, submission):
    """Return what repairs.toml says to try when this is seen of the numbers; or ""."""
    for entry in read_toml("repairs.toml")["seen"]:
        if what in entry["of"] and _is_for(entry, submission):
            if re.search(entry["code"], submission.body):
                return entry["try"]
    return ""


def _is_for(entry, submission):
    """Is an entry of repairs.toml for this exercise, by its name or by a step of its program?"""
    exercise = submission.exercise
    has_step = entry.get("step", "") in ("", *exercise.program.steps)
    return has_step and re.search(entry.get("in", ""), exercise.name)


def step_of(error, submission):
    """Return the last step of the traceback that is in a cell or in the student's code, or None."""
    files = {code.co_filename for code in all_codes(submission.answer)}
    step, last = error.__traceback__, None
    while step:
        name = step.tb_frame.f_code.co_filename
        if name in files or (linecache.getlines(name) and not os.path.exists(name)):
            last = step
        step = step.tb_next
    return last


def _written(submission):
    """Return the whole numbers in the code, except those that name dimensions."""
    tree = ast.parse(submission.code)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    turns = "transpose", "permute", "softmax", "sum", "stack", "cat", "unsqueeze", "swapaxes"
    turned = [call for call in calls if getattr(call.func, "attr", "") in turns]
    dims = {x for call in turned for y in (*call.args, *call.keywords) for x in ast.walk(y)}
    found = {x for x in ast.walk(tree) if isinstance(x, ast.Constant) and type(x.value) is int}
    return {x.value for x in found - dims}


def fixed_sizes(submission):
    """Return what to try when only the first case is right, if the code shows it; or ""."""
    if not submission.only_first:
        return ""
    first = submission.cases[0].args
    sizes = {n for x in first for n in (x.shape if torch.is_tensor(x) else [x])}
    if numbers := sorted(sizes & _written(submission) - {0, 1}):
        said = " and ".join(map(str, numbers))
        return f"look for {said} in your code: take sizes from the arguments."
    return only_arguments(submission.answer)


def only_arguments(answer):
    """Return what to try when the code reads data from cells above; or ""."""
    names = data_from_above(answer)
    trees = filter(None, (tree_of(f.__code__) for f in own_functions(answer)))
    for name in [name for tree in trees for name in written_into(tree) if name in names]:
        return f"make your own `{name}` first, with torch.zeros: this one is from a cell above."
    said = listed(f"`{name}`" for name in names)
    if not said:
        return ""
    return f"use the arguments, and what you make of them, not {said} from a cell above."
