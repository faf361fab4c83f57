"""Read the student's code: its functions, its source, and the names it uses from other cells."""

import ast
import copy
import inspect
import linecache
import operator
import os
import re
import sys
import textwrap
from contextlib import suppress
from itertools import chain
from types import FunctionType, MethodType, ModuleType

import torch

from ..copies import codes_of, names_in


def own_functions(answer):
    """Return the functions of an answer that are not a library's: the function itself, or the
    methods that a class has, from its base classes those that it does not replace."""
    found = [answer]
    if inspect.isclass(answer):
        methods = {}
        for name, f in chain.from_iterable(vars(cls).items() for cls in answer.__mro__):
            methods.setdefault(name, f)
        found = list(methods.values())
    found = [unwrapped(f) for f in found if callable(f)]
    found = [f for f in found if type(f) in (FunctionType, MethodType)]
    return [f for f in found if "site-packages" not in f.__code__.co_filename]


def unwrapped(function):
    """Return the function without its decorators, as far as Python can remove them."""
    try:
        return inspect.unwrap(function)
    except Exception:  # wrappers in a circle, or attributes that the student defined
        return function


def known_functions(answer):
    """Return own_functions(), and the functions from other cells that they name."""
    found = own_functions(answer)
    for function in found:  # the list grows on the way
        named = filter(inspect.isfunction, variables_of(function))
        found += [f for f in named if f not in found and not os.path.exists(f.__code__.co_filename)]
    return found


def tree_of_all(answer):
    """Return the ast.Module of known_functions(); an empty one if some cannot be read, because a
    part proves nothing. Code in files is left out: it is not the student's."""
    codes = dict.fromkeys(f.__code__ for f in known_functions(answer))
    parts = [tree_of(code) for code in codes if not os.path.exists(code.co_filename)]
    return ast.Module([] if None in parts else [x for part in parts for x in part.body], [])


def tree_of(code):
    """Return the ast.Module of a code object's source; None if it cannot be read. Its nodes keep
    the lines of the source, for written()."""
    # inspect.getsource would look through every module that is loaded, each time
    below = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        source = textwrap.dedent("".join(inspect.getblock(below)))
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    if not tree.body:
        return None
    lines = source.splitlines()
    for node in nodes(tree, ast.stmt, ast.expr):
        node.lines, node.file = lines, code.co_filename
    return tree


def all_codes(answer):
    """Return the code objects of an answer, including those of nested functions."""
    return [code for function in own_functions(answer) for code in codes_of(function)]


def variables_of(function):
    """Return the values of the notebook's variables that a function names."""
    known = function.__globals__
    return [known[name] for name in sorted(names_in(function)) if name in known]


def built_on(answer):
    """Yield (name, x) for each function or class x from another cell, or from a file, that an
    answer's code names, and for each class that it inherits from. Of torch's own modules only
    classes: a method may have the name of a function."""
    yield from ((x.__name__, x) for x in answer.__mro__[1:]) if inspect.isclass(answer) else ()
    for function in known_functions(answer):
        names = names_in(function)
        spaces = [function.__globals__, {n: sys.modules[n] for n in names & sys.modules.keys()}]
        for space in spaces:  # the list grows on the way, by the modules inside
            of_torch = space.get("__name__", "").startswith("torch")
            for name in sorted(names & space.keys()):
                x = space[name]
                if isinstance(x, ModuleType) and not any(vars(x) is other for other in spaces):
                    spaces.append(vars(x))
                if inspect.isclass(x) or (inspect.isroutine(x) and not of_torch):
                    yield name, x


def data_from_above(answer):
    """Return the names of global variables that hold data and that the student's code reads."""
    found = {}
    for function in own_functions(answer):
        codes = codes_of(function)
        own = {name for c in codes for name in c.co_varnames + c.co_cellvars + c.co_freevars}
        for name in _read_in(function) or ():
            x = function.__globals__.get(name, print)
            # A lambda's line may hold more than the lambda: names_in() holds only its names.
            if name in names_in(function) - own and not callable(x):
                found[name] = x
    return [name for name, x in found.items() if not isinstance(x, ModuleType)]


def reads(answer, name):
    """Does the student's code read the argument of this name? True if that cannot be known."""
    read = list(map(_read_in, own_functions(answer)))
    if not read or None in read or not any(name in c.co_varnames for c in all_codes(answer)):
        return True
    return not {name, "locals", "vars", "eval", "exec"}.isdisjoint(chain.from_iterable(read))


def _read_in(function):
    """Return the names of variables that a function's source reads, in order; None if the source
    cannot be read. It comes from the syntax tree, because each Python has other instructions."""
    tree = tree_of(function.__code__)
    if tree is None:
        return None
    names = [n for n in nodes(tree, ast.Name) if not isinstance(n.ctx, ast.Store)]
    names += [n.target for n in nodes(tree, ast.AugAssign) if isinstance(n.target, ast.Name)]
    return dict.fromkeys(node.id for node in names)


def part_at(code, position):
    """Return the source of what the instruction at this position of a code computes, as
    ast.unparse writes it; "" if it cannot be read."""
    first, last, start, end = list(code.co_positions())[position // 2]
    lines = linecache.getlines(code.co_filename)[first - 1 : last] if first and last else []
    if not lines or start is None:
        return ""
    lines[-1] = lines[-1].encode()[:end].decode()
    lines[0] = lines[0].encode()[start:].decode()
    for text in (f"({''.join(lines)})", "".join(lines)):  # an expression may go over lines
        with suppress(SyntaxError):
            return ast.unparse(ast.parse(text))
    return ""


def fits(pattern, part, holds):
    """Does part match the pattern? A single capital stands for one expression, kept in holds."""
    if isinstance(pattern, ast.Name) and len(pattern.id) == 1 and pattern.id.isupper():
        held = holds.setdefault(pattern.id, part)
        alike = held is part or ast.dump(held) == ast.dump(part)
        return isinstance(part, ast.expr) and alike
    if isinstance(pattern, ast.BinOp) and isinstance(pattern.op, ast.MatMult):
        part = product_of(part) or part
    pattern, part = as_method(pattern), as_method(part)
    if type(pattern) is not type(part):
        return False
    if isinstance(pattern, list):
        pairs = zip(pattern, part, strict=False)
        return len(pattern) == len(part) and all(fits(*pair, holds) for pair in pairs)
    if not isinstance(pattern, ast.AST):
        return pattern == part
    fields = [f for f in pattern._fields if f not in ("ctx", "type_comment")]
    return all(fits(getattr(pattern, f), getattr(part, f), holds) for f in fields)


def as_method(node):
    """Return A.sum(dim=0) for torch.sum(A, dim=0) and the like; other nodes as they are."""
    if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
        if is_name(node.func.value, "torch", "F") and hasattr(torch.Tensor, node.func.attr):
            method = ast.Attribute(node.args[0], node.func.attr, ast.Load())
            return ast.Call(method, node.args[1:], node.keywords)
    return node


def product_of(call):
    """Return A @ B for a call such as torch.matmul(A, B), A.bmm(B) or torch.einsum("ij,jk->ik", A,
    B); None for others."""
    call = as_method(call)
    name = getattr(call.func, "attr", "") if isinstance(call, ast.Call) else ""
    if name == "einsum" and len(call.args) == 3 and isinstance(call.args[0], ast.Constant):
        letters = re.sub(r"\s", "", str(call.args[0].value))
        is_plain = re.fullmatch(r"(\w?)(\w),\2(\w?)->\1\3", letters)
        factors = call.args[1:] if is_plain else ()
    else:
        factors = [call.func.value, *call.args] if name in PRODUCTS else ()
    return ast.BinOp(factors[0], ast.MatMult(), factors[1]) if len(factors) == 2 else None


PRODUCTS = "matmul", "mm", "bmm"


# --- parts of a syntax tree ---


def nodes(tree, *kinds):
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def functions_in(tree):
    """Yield all functions, each with the names of its arguments except self."""
    for function in nodes(tree, ast.FunctionDef):
        yield function, [arg.arg for arg in function.args.args if arg.arg != "self"]


def arguments_in(tree):
    """Return the names of the arguments of all functions, except self, as one list."""
    return list(chain.from_iterable(names for _, names in functions_in(tree)))


def blocks(tree):
    """Yield all lists of statements."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            if isinstance(getattr(node, name, None), list):
                yield getattr(node, name)


def loops(tree):
    """Yield (list of statements, position, loop) for each `for` loop."""
    for body in blocks(tree):
        yield from ((body, k, x) for k, x in enumerate(body) if isinstance(x, ast.For))


def written_into(tree):
    """Return the names of variables whose parts are written into, as in x[0] = 1."""
    parts = [n for n in nodes(tree, ast.Subscript) if isinstance(n.ctx, ast.Store)]
    return [n.value.id for n in parts if isinstance(n.value, ast.Name)]


def never_used(tree):
    """Return the first name of a function that is given a value and never read; ""."""
    for function in nodes(tree, ast.FunctionDef):
        names = nodes(function, ast.Name)
        read = {n.id for n in names if not isinstance(n.ctx, ast.Store)}
        outside = {x for node in nodes(function, ast.Global, ast.Nonlocal) for x in node.names}
        for node in nodes(function, ast.Assign):
            if is_single := len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
            if is_single and name not in read | outside and not name.startswith("_"):
                return name
    return ""


def set_anew(tree, name):
    """Return the first line of a statement that gives this argument a value without reading it;
    ""."""
    for line in nodes(tree, ast.For, ast.Assign) if tree else ():
        targets = [line.target] if isinstance(line, ast.For) else line.targets
        value = line.iter if isinstance(line, ast.For) else line.value
        if is_name(targets[0], name) and name not in _read_names(value):
            return written(line)
    return ""


def lost_in_a_loop(tree):
    """Return (a name to which each pass of a loop gives a value that no pass reads, does the loop
    itself set it, too?); ("", False) if there is none. Only the last value is left."""
    for _, _, loop in loops(tree):
        of_loop = {n.id for n in nodes(loop.target, ast.Name)}
        for k, line in enumerate(loop.body if not nodes(loop, ast.Break, ast.Return) else ()):
            name = _set_by(line)
            passes = loop.body[k + 1 :] if name in of_loop else loop.body
            read = set(chain.from_iterable(map(_read_names, passes)))
            if name and name not in read and (name in of_loop or name in _below(loop, tree)):
                return name, name in of_loop
    return "", False


def computed_above(tree):
    """Return (a name that a loop gives a new value which nothing reads, the line above the loop
    that reads the old one), as (str, str); ("", "") if there is none."""
    for body, k, loop in loops(tree):
        read = _read_names(loop) | _below(loop, tree)
        for name in map(_set_by, loop.body):
            above = (x for x in body[:k] if isinstance(x, ast.Assign) and name in _read_names(x))
            if name and name not in read and (stays := next(above, None)):
                return name, written(stays)
    return "", ""


def _set_by(line):
    """Return the name to which a line assigns; ""."""
    return getattr(line.targets[0], "id", "") if isinstance(line, ast.Assign) else ""


def _below(loop, tree):
    """Return the names that stand below a loop."""
    return {n.id for n in nodes(tree, ast.Name) if n.lineno > loop.end_lineno}


def _read_names(node):
    added_to = [n.target for n in nodes(node, ast.AugAssign)]
    names = [n for n in nodes(node, ast.Name) if n in added_to or not isinstance(n.ctx, ast.Store)]
    return {n.id for n in names}


def is_name(node, *names):
    return isinstance(node, ast.Name) and node.id in names


# What has parts that may be replaced.
PARTED = ast.mod, ast.stmt, ast.expr, ast.comprehension, ast.keyword, ast.arguments, ast.arg


def changed(part, pairs):
    """Return part with its old parts replaced by new ones. What holds no old part is shared, not
    copied: hundreds of copies of the whole code would take longer than calling it."""
    made = {id(old): new for old, new in pairs}
    for new in made.values():
        for x in new if isinstance(new, list) else [new]:
            ast.fix_missing_locations(x)

    def put(x):
        if id(x) in made:
            return made[id(x)]
        if isinstance(x, list):
            parts = [put(y) for y in x]
            return x if all(map(operator.is_, parts, x)) else parts
        if not isinstance(x, PARTED):
            return x
        fields = {}
        for name in x._fields:
            before = getattr(x, name, None)
            after = put(before)
            if after is not before:
                fields[name] = after
        if fields:
            x = copy.copy(x)
            vars(x).update(fields, lines=None)  # see written()
        return x

    return put(part)


# --- the student's own text ---


def written(node):
    """Return an expression or statement in the student's own words, a statement with its comment, a
    loop or the like by its first line. What a change made, and what goes over several lines, is as
    ast.unparse writes it."""
    lines = getattr(node, "lines", None)
    is_block = isinstance(node, ast.stmt) and hasattr(node, "body")
    if not lines or (node.lineno != node.end_lineno and not is_block):
        return ast.unparse(node)
    line = lines[node.lineno - 1].encode()
    end = None if is_block else node.end_col_offset
    if isinstance(node, ast.stmt) and re.fullmatch(rb"\s*#[^`]*", line[node.end_col_offset :]):
        end = None
    return line[node.col_offset : end].decode()
