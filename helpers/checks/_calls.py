"""What is wrong with a call: it is not made, it makes a layer, or its arguments do not fit."""

import ast
import difflib
import inspect
import re
from contextlib import suppress

import torch
from torch import nn
from torch.nn import functional

from ._code import nodes, part_at, tree_of, written
from ._texts import listed
from .exercise import returned

METHODS = torch, torch.Tensor, nn.Module, torch.optim.Optimizer  # what has them
DIMENSION = "axis", "axes", "dims", "dimension"  # other libraries' names for dim


def not_called(tree):
    """Return the first method that stands alone, or after `with`, without brackets; ""."""
    parts = [node.value for node in nodes(tree, ast.Expr)]
    parts += [item.context_expr for node in nodes(tree, ast.With) for item in node.items]
    for part in parts:
        if isinstance(part, ast.Attribute):
            if any(callable(getattr(x, part.attr, None)) for x in METHODS):
                return written(part)
    return ""


# --- layers ---


def layer_as_function(result, step):
    """Return what to write instead of a layer of torch that is given the numbers at once; "".
    step: that of an error in the student's code, or None."""
    made = type(result.outcome.value)
    if result.outcome.error is not None:
        made = _layer_of_tensors(step.tb_frame) if step else None
    return _instead_of_layer(made.__name__) if _is_layer(made) else ""


def _is_layer(x):
    return inspect.isclass(x) and issubclass(x, nn.Module) and x.__module__.startswith("torch.nn")


def _layer_of_tensors(frame):
    """Return the class of layers that a function gives a tensor when it makes one; or None."""
    names = {**frame.f_globals, **frame.f_locals}
    for call in nodes(tree_of(frame.f_code) or ast.Module([], []), ast.Call):
        made = _value(call.func, names)
        if _is_layer(made) and any(_is_tensor(x, names) for x in call.args):
            return made
    return None


def _value(node, names):
    """Return what a name, or a name with attributes, stands for; or None."""
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, names), node.attr, None)
    return names.get(node.id) if isinstance(node, ast.Name) else None


def _is_tensor(node, names):
    """Is it a tensor of the student's, a part of one, or computed from one, but not its size?"""
    if isinstance(node, ast.Call):
        node = getattr(node.func, "value", node.func)
    parts = nodes(node, ast.Attribute)
    is_size = any(part.attr in ("shape", "size") for part in parts)
    return not is_size and any(torch.is_tensor(names.get(n.id)) for n in nodes(node, ast.Name))


def _instead_of_layer(name):
    short = re.sub("(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("Loss")).lower()
    known = [x for x in (short, f"{short}_loss") if hasattr(functional, x)]
    write = f"nn.{name}()(…)"
    if "softmax" in short:
        write = f"torch.{short}(…, dim=-1)"
    elif known:
        write += f" or nn.functional.{known[0]}(…)"
    return f"write {write}: nn.{name}(…) makes a layer, and computes nothing yet."


# --- arguments ---


def in_another_order(submission, k):
    """Return the arguments in the order of the exercise, such as "inputs, i", if those of the
    answer have the same names in another one, and fit in that; else ""."""
    wanted = list(inspect.signature(submission.exercise.reference).parameters)
    mine = wanted
    with suppress(Exception):  # a built-in function may have none
        mine = list(inspect.signature(submission.answer).parameters)
    if mine == wanted or sorted(mine) != sorted(wanted):
        return ""
    told = ", ".join(wanted)
    if submission.exercise.is_class:
        return told if submission.mine[k].outcome.error is not None else ""
    order = [wanted.index(name) for name in mine]

    def reordered(answer, *args):
        return returned(answer, *(args[j] for j in order))

    plain = [j for j in submission.wrong if submission.cases[j].measure is returned]
    fits = plain and all(
        submission.is_right(j, submission.ask(j, measure=reordered)) for j in plain
    )
    return told if fits else ""


def unknown_keyword(step, error):
    """Return advice on an argument of the failing call whose name the function does not know."""
    call, name, takes = _failing_call(step)
    listed = str(error).partition("expected one of")[2]
    takes |= dict.fromkeys(re.findall(r"\w (\w+)(?=,| =|\))", listed))
    for keyword in call.keywords if takes else ():
        if keyword.arg and keyword.arg not in takes:
            near = difflib.get_close_matches(keyword.arg, takes, n=1, cutoff=0.5)
            if keyword.arg in DIMENSION and "dim" in takes:
                near = ["dim"]
            if near:
                return f"did you mean `{near[0]}`? `{name}` takes no `{keyword.arg}`."
            known = ", ".join(takes)
            return f"leave out `{keyword.arg}`: `{name}` takes {known}."
    return ""


def missing_arguments(step):
    """Return advice on a call that lacks arguments."""
    call, name, takes = _failing_call(step)
    needed = [key for key, is_needed in takes.items() if is_needed]
    given = {keyword.arg for keyword in call.keywords}
    left = [key for key in needed if key not in given][len(call.args) :]
    if not left:
        return ""
    are = "is" if len(left) == 1 else "are"
    missing = " and ".join(f"`{key}`" for key in left)
    return f"write `{name}({', '.join(needed)})`: {missing} {are} missing."


def _failing_call(step):
    """Return (the call that failed, an ast.Call, the name of what it calls, {argument that this
    takes: is it needed?}); {} if that is not known."""
    frame = step.tb_frame
    with suppress(SyntaxError, IndexError, AttributeError, ValueError):
        (line,) = ast.parse(part_at(frame.f_code, step.tb_lasti)).body
        if isinstance(line.value, ast.Call):
            names = {**frame.f_globals, **frame.f_locals}
            return line.value, ast.unparse(line.value.func), _takes(line.value.func, names)
    return ast.Call(ast.Name(""), [], []), "", {}


def _takes(node, names):
    called = _value(node, names)
    is_method = called is None
    if is_method:  # of something that is computed first
        called = getattr(torch.Tensor, getattr(node, "attr", ""), None)
    with suppress(TypeError, ValueError):
        plain = inspect.signature(called).parameters.values()
        kinds = {x.kind for x in plain}
        if not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}:
            return {x.name: x.default is x.empty for x in plain if x.name != "self"}
        return {}
    written_out = re.match(r"\s*\w+\(([^()]*)\) ->", getattr(called, "__doc__", None) or "")
    parts = [part.strip() for part in written_out[1].split(",")] if written_out else []
    return {part.partition("=")[0]: "=" not in part for part in parts if part.strip("*")}


def shapes_at(step):
    """Return advice on sizes that do not fit, with the shapes of the tensors in what failed."""
    advice = "check the shapes in that line: the message names two sizes that do not fit."
    if step is None:
        return advice
    text, known = part_at(step.tb_frame.f_code, step.tb_lasti), step.tb_frame.f_locals
    with suppress(SyntaxError):
        call, name, takes = _failing_call(step)
        if len(takes) > 1 and name.isidentifier():  # a function of the course or another cell
            return f"look at what you give to `{name}`: in this order, {', '.join(takes)}."
        tree = ast.parse(text)
        ends = [n.id for part in nodes(tree, ast.Slice) for n in nodes(part, ast.Name)]
        sizes = {}
        for name in (n.id for n in sorted(nodes(tree, ast.Name), key=lambda n: n.col_offset)):
            x = known.get(name)
            if isinstance(shape := getattr(x, "shape", None), tuple):
                sizes[name] = tuple(shape)
            elif name in ends and type(x) is int:
                sizes[name] = x
        if sizes:
            said = listed(f"`{name}` is {size}" for name, size in sizes.items())
            return f"make the shapes in `{text}` fit: {said}."
    return advice
