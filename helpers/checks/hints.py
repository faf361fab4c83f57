"""What to try when no cause is known: advice from the error, and on sizes written as numbers."""

import ast
import difflib
import linecache
import os
import re
from contextlib import suppress

import torch

from .code import all_codes, data_from_above, part_at
from .texts import contents


def after_error(error, evidence):
    """Return what to try after this error, a sentence."""
    text = f"{type(error).__name__}: {error}"
    if evidence.only_first and (said := only_arguments(evidence.answer)):
        return said
    if said := known_advice(text, evidence) or _meant(error, evidence):
        return said
    if said := fixed_sizes(evidence):
        return said
    if found := re.search(r"index \d+ is out of bounds for dimension (\d+) with size (\d+)", text):
        at_most = f"in dimension {found[1]} the largest allowed is {int(found[2]) - 1}"
        return f"check that index: {at_most}. Is the tensor too small, or the dimension wrong?"
    if "shapes cannot be multiplied" in text and (names := data_from_above(evidence.answer)):
        missing = "is self. missing? " if evidence.exercise.is_class else ""
        return f"{missing}`{names[0]}` is a name from a cell above, not one of the arguments."
    if isinstance(error, RuntimeError | ValueError) and (found := _shapes(error, evidence)):
        above = [n for n in data_from_above(evidence.answer) if re.search(rf"\b{n}\b", found)]
        found += f"; `{above[0]}` is from a cell above" if above else ""
        return f"check the shapes in that line: {found}."
    return "print what goes into that line, just before it runs."


def known_advice(text, evidence):
    """Return what slips.toml says to try after these words, with this code; or ""."""
    for entry in contents("slips.toml")["errors"]:
        if re.search(entry["words"], text) and re.search(entry.get("code", ""), evidence.code):
            return entry["try"]
    return ""


def _meant(error, evidence):
    """Return advice on a name that is not defined, such as "did you mean ...?"; or ""."""
    name = getattr(error, "name", None)
    if isinstance(error, NameError) and name and (step := _step_of(error, evidence)):
        known = {**step.tb_frame.f_globals, **step.tb_frame.f_locals}
    elif isinstance(error, AttributeError) and name:
        known = dir(error.obj)
    else:
        return ""
    near = difflib.get_close_matches(name, [k for k in known if k != name], n=1, cutoff=0.75)
    if near:
        return f"did you mean `{near[0]}`? `{name}` is not defined."
    if f"self.{name}" in evidence.code:
        return f"write self.{name} instead of {name}: they are different variables."
    if isinstance(error, AttributeError):
        own = isinstance(error.obj, torch.nn.Module)
        return f"set self.{name} in __init__, or define it as a method." if own else ""
    if not evidence.exercise.is_class:
        return f"`{name}` is not defined: compute it from the arguments, {evidence.exercise.takes}."
    if any(name in code.co_varnames for code in all_codes(evidence.answer)):
        return f"`{name}` is known in one method only: store it as self.{name}, and use that here."
    return f"`{name}` is not defined: compute it here, or store it in __init__ as self.{name}."


def _step_of(error, evidence):
    """Return the last step of the traceback that is in a cell or in the student's code, or None."""
    files = {code.co_filename for code in all_codes(evidence.answer)}
    step, last = error.__traceback__, None
    while step:
        name = step.tb_frame.f_code.co_filename
        if name in files or (linecache.getlines(name) and not os.path.exists(name)):
            last = step
        step = step.tb_next
    return last


VIEWS = "transpose permute unsqueeze squeeze flatten float bool t sum mean norm amax".split()


def _shapes(error, evidence):
    """Return such as "a has shape (6, 3)": the tensors of the operation that raised."""
    step = _step_of(error, evidence)
    if step is None:
        return ""
    found, todo = {}, [ast.parse(part_at(step.tb_frame.f_code, step.tb_lasti))]
    while todo:
        node = todo.pop(0)
        value = _viewed(node, step.tb_frame) if isinstance(node, ast.expr) else None
        if torch.is_tensor(value) and value.dim():
            found[ast.unparse(node)] = tuple(value.shape)
        else:
            todo += ast.iter_child_nodes(node)
    *most, last = (f"{name} has shape {shape}" for name, shape in found.items()) if found else ("",)
    return f"{', '.join(most)} and {last}" if most else last


def _viewed(node, frame):
    """Return the value of a name, an attribute or a view of it; None if more would be computed."""
    for part in ast.walk(node):
        name = getattr(getattr(part, "func", None), "attr", None)
        if isinstance(part, ast.Call) and name not in VIEWS:
            return None
        if isinstance(part, ast.BinOp | ast.Lambda | ast.comprehension | ast.NamedExpr | ast.Await):
            return None
    with suppress(Exception):
        code = compile(ast.Expression(node), "<view>", "eval")
        return eval(code, frame.f_globals, frame.f_locals)
    return None


def _written(evidence):
    """Return the whole numbers in the code, except those that name dimensions."""
    if not evidence.code:
        return {x for code in all_codes(evidence.answer) for x in code.co_consts if type(x) is int}
    tree = ast.parse(evidence.code)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    turns = "transpose", "permute", "softmax", "sum", "stack", "cat", "unsqueeze", "swapaxes"
    dims = {x for call in calls if getattr(call.func, "attr", "") in turns for x in ast.walk(call)}
    found = {x for x in ast.walk(tree) if isinstance(x, ast.Constant) and type(x.value) is int}
    return {x.value for x in found - dims}


def fixed_sizes(evidence):
    """Return what to try when only the first probe is right, if the code shows it; or ""."""
    if not evidence.only_first:
        return ""
    first = evidence.probes[0].args
    sizes = {n for x in first for n in (x.shape if torch.is_tensor(x) else [x])}
    if numbers := sorted(sizes & _written(evidence) - {0, 1}):
        said = " and ".join(map(str, numbers))
        return f"look for {said} in your code: take sizes from the arguments."
    return only_arguments(evidence.answer)


def only_arguments(answer):
    """Return what to try when the code reads data from cells above; or ""."""
    said = " and ".join(f"`{name}`" for name in data_from_above(answer))
    if not said:
        return ""
    return f"use the arguments, not {said}: a value from a cell above stays the same."
