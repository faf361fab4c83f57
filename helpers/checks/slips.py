"""Slips of Python and PyTorch, which happen in every exercise: told only when they are shown.

Shown means: the error says it; or one small change of the student's own code, from a catalogue
of them, makes everything right. Such a change is an experiment like those of counterfactual.py.
"""

import ast
import copy
import dis
import linecache
import re
from contextlib import suppress
from itertools import chain, combinations, islice, product
from types import ModuleType
from typing import NamedTuple

import torch

from ..guard.session import own_functions


class Fact(NamedTuple):
    """what: is wrong.  advice: what to try.  why: a sentence, may be empty."""

    what: str
    advice: str
    why: str = ""


MOST = 400  # changes that are tried


def mended(seen):
    """The Fact on a small change of the student's code that makes everything right; () without."""
    tree = seen.tree
    if tree is None or _all(tree, ast.While):
        return ()  # a changed `while` may never end
    changes = chain.from_iterable(mend(tree, seen) for mend in MENDS)
    with suppress(RecursionError):  # code that is nested so deep is nobody's slip
        for what, advice, new in islice(changes, MOST):
            # deepcopy takes from its memo what is there: a new part in place of an old one.
            changed = copy.deepcopy(tree, {id(old): part for old, part in new})
            if seen.right_with(ast.fix_missing_locations(changed)):
                why = "With one small change of your code everything is right."
                # If it is right as it is, then its own cells have left something behind.
                return () if seen.right_with(tree) else (Fact(what, advice, why),)
    return ()


def _said(node):
    lines = ast.unparse(ast.fix_missing_locations(node)).splitlines()
    return f"`{lines[0]}{' …' if lines[1:] else ''}`"


def _for(what, old, new):
    return what, f"write {_said(new)} for {_said(old)}.", [(old, new)]


def _all(tree, *kinds):
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def _expression(text):
    return ast.parse(text, mode="eval").body


def _lists(tree):
    """All lists of statements."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            if isinstance(getattr(node, name, None), list):
                yield getattr(node, name)


# --- the catalogue: each yields (what is wrong, what to write, pairs of an old and a new part) ---


def _equals_in_a_loop(tree, seen):
    assigned = chain.from_iterable(_all(loop, ast.Assign) for loop in _all(tree, ast.For))
    for old in dict.fromkeys(assigned):
        new = ast.AugAssign(old.targets[0], ast.Add(), old.value)
        advice = f"write {_said(new)}: = keeps the last round only, += adds up all rounds."
        yield "= where += is needed.", advice, [(old, new)]


def _return_in_a_loop(tree, seen):
    for body in _lists(tree):
        for k, loop in enumerate(body):
            for inner in _lists(loop) if isinstance(loop, ast.For) else ():
                for end in (x for x in inner if isinstance(x, ast.Return)):
                    rest = [x for x in inner if x is not end] or [ast.Pass()]
                    after = copy.deepcopy(loop, {id(inner): rest})
                    advice = f"write {_said(end)} under the loop, as far left as its `for`."
                    new = [*body[:k], after, end, *body[k + 1 :]]
                    yield (
                        "`return` inside the loop ends it in its first round.",
                        advice,
                        [(body, new)],
                    )


def _start_outside_the_loop(tree, seen):
    for body in _lists(tree):
        for k, loop in enumerate(body):
            for start in body[:k] if isinstance(loop, ast.For) else ():
                for within in _all(loop, ast.For) if isinstance(start, ast.Assign) else ():
                    inside = copy.deepcopy(loop, {id(within.body): [start, *within.body]})
                    new = [x for x in body[:k] if x is not start] + [inside, *body[k + 1 :]]
                    at = _said(within).removesuffix(" …`") + "`"
                    advice = f"write {_said(start)} as the first line inside {at}."
                    yield (
                        "each round goes on with what the round before left.",
                        advice,
                        [(body, new)],
                    )


def _kept_between_calls(tree, seen):
    space = own_functions(seen.answer)[0].__globals__
    for function in _all(tree, ast.FunctionDef):
        if function.args.defaults and not isinstance(function.args.defaults[-1], ast.Constant):
            new = copy.deepcopy(function)
            name, value = new.args.args.pop().arg, new.args.defaults.pop()
            start = ast.Assign([ast.Name(name, ast.Store())], value)
            new.body.insert(0, start)
            what = f"{name} is made once, by `def`, and kept from call to call."
            yield what, f"write {_said(start)} as the first line inside.", [(function, new)]
        for name in dict.fromkeys(node.id for node in _all(function, ast.Name)):
            value = space.get(name)
            if not torch.is_tensor(value) and type(value) not in (list, dict, set, int, float):
                continue
            zeros = f"torch.zeros({tuple(value.shape)})" if torch.is_tensor(value) else ""
            start = ast.parse(f"{name} = {zeros or repr(type(value)())}").body[0]
            rest = [x for x in function.body if not isinstance(x, ast.Global)]
            what = f"{name} is kept from call to call, in a cell above."
            advice = f"write {_said(start)} as the first line inside."
            yield what, advice, [(function.body, [start, *rest])]


def _no_return(tree, seen):
    for function in _all(tree, ast.FunctionDef):
        if function.name == "__init__" or _all(function, ast.Return):
            continue
        last, body = function.body[-1], function.body
        named = [n for n in _all(function, ast.Name) if isinstance(n.ctx, ast.Store)]
        values = [ast.Name(name, ast.Load()) for name in dict.fromkeys(n.id for n in named[::-1])]
        for value in [*(_all(last, ast.expr)[:4] if isinstance(last, ast.Expr) else ()), *values]:
            new = ast.Return(value)
            yield "nothing is returned.", f"end with {_said(new)}.", [(body, [*body, new])]


def _without_self(tree, seen):
    kept = {n.attr for n in _all(tree, ast.Attribute) if _is_name(n.value, "self")}
    start = _named(tree, "__init__")
    made = {n.id for n in _all(start, ast.Name) if isinstance(n.ctx, ast.Store)} if start else set()
    own, both = {*kept, *made}, []
    for method in _all(tree, ast.FunctionDef) if seen.exercise.is_class else ():
        args = {arg.arg for arg in method.args.args}
        names = [n for n in _all(method, ast.Name) if n.id in own - args]
        if names:
            new = [(n, ast.Attribute(ast.Name("self", ast.Load()), n.id, n.ctx)) for n in names]
            both.append((f"self. is missing in {method.name}.", names[0].id, new))
    groups = [*both, *((a[0], a[1], a[2] + b[2]) for a, b in combinations(both, 2))]
    for what, name, new in groups:
        yield what, f"write self.{name} for {name}: without self. it is another variable.", new


def _wrong_name(tree, seen):
    for wanted in ("__init__", "forward") if seen.exercise.is_class else ():
        if any(f.name == wanted for f in tree.body[0].body):
            continue
        for old in _all(tree, ast.FunctionDef):
            new = copy.copy(old)
            new.name = wanted
            if old in tree.body[0].body:
                what, advice = f"{wanted} is spelled {old.name}.", f"write def {wanted}(...)."
                yield what, advice, [(old, new)]
        for method in tree.body[0].body:
            for old in (f for f in method.body if getattr(f, "name", "") == wanted):
                rest = [x for x in method.body if x is not old]
                new = copy.deepcopy(tree.body[0], {id(method.body): rest})
                new.body.append(old)
                advice = f"move def {wanted} to the left, as far as def {method.name}."
                yield f"{wanted} stands inside {method.name}.", advice, [(tree.body[0], new)]


def _names_from_above(tree, seen):
    for function, name in product(_all(tree, ast.FunctionDef), data_from_above(seen)):
        args = [arg.arg for arg in function.args.args if arg.arg != "self"]
        for value in [*args, *(f"{a}[{b}]" for a in args for b in args if a != b)]:
            old = [n for n in _all(function, ast.Name) if n.id == name]
            what = f"{name} is a name from a cell above, not what the function is given."
            yield what, f"write {value} for {name}.", [(n, _expression(value)) for n in old]


def _written_sizes(tree, seen):
    function = _function(tree, seen)
    args = [a.arg for a in function.args.args if a.arg != "self"]
    options = {}
    if seen.exercise.is_class:
        sizes = next((p.args[1] for p in seen.probes if isinstance(p.args[1], tuple)), ())
        for constant in _integers(tree):
            options[constant.value] = args[: len(sizes)]
    else:
        for name, x in zip(args, seen.probes[0].args, strict=False):
            for d, size in enumerate(x.shape if torch.is_tensor(x) else ()):
                options.setdefault(size, []).append(f"{name}.shape[{d}]")
            if isinstance(x, int | float):
                options.setdefault(x, []).append(name)
    written = {c.value for c in _integers(tree)} & {size for size in options if size > 1}
    for count in range(1, len(written) + 1):
        for values in combinations(sorted(written), count):
            for names in product(*(options[value] for value in values)):
                said = dict(zip(values, names, strict=True))
                old = [c for c in _integers(tree) if c.value in said]
                what = f"a size is written as a number: {' and '.join(map(str, values))}."
                pairs = ", ".join(f"{name} for {value}" for value, name in said.items())
                yield what, f"write {pairs}.", [(c, _expression(said[c.value])) for c in old]


def _exchanged(tree, seen):
    function = _function(tree, seen)
    args = function.args.args
    for a, b in combinations(args, 2):
        if "self" not in (a.arg, b.arg):
            new = copy.copy(function.args)
            new.args = [b if x is a else a if x is b else x for x in args]
            line = f"def {function.name}({', '.join(x.arg for x in new.args)})"
            yield f"{a.arg} and {b.arg} are exchanged.", f"write {line}.", [(function.args, new)]
    for call in _all(tree, ast.Call):
        for k in range(len(call.args) - 1):
            a, b = call.args[k : k + 2]
            new = ast.Call(call.func, [*call.args[:k], b, a, *call.args[k + 2 :]], call.keywords)
            yield _for("two arguments are exchanged.", call, new)
    for old in _all(tree, ast.BinOp):
        if isinstance(old.op, ast.Sub | ast.Div | ast.MatMult | ast.Pow):
            yield _for("two sides are exchanged.", old, ast.BinOp(old.right, old.op, old.left))


SIGNS = {
    ast.BitXor: "^", ast.Pow: "**", ast.Mult: "*", ast.MatMult: "@", ast.FloorDiv: "//", ast.Div: "/",
    ast.Add: "+", ast.Sub: "-", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=",
}  # fmt: skip
WRONG_SIGNS = "^ ** * @ @ * // / / // / * * / + * + - - + < <= <= < > >= >= > == != != ==".split()


def _operators(tree, seen):
    signs = {text: sign for sign, text in SIGNS.items()}
    for wrong, right in zip(WRONG_SIGNS[::2], WRONG_SIGNS[1::2], strict=True):
        for old in _all(tree, ast.BinOp, ast.Compare):
            binary = isinstance(old, ast.BinOp)
            if type(old.op if binary else old.ops[0]) is signs[wrong]:
                new = copy.copy(old)
                vars(new).update(op=signs[right]()) if binary else vars(new).update(
                    ops=[signs[right]()]
                )
                yield _for(f"{wrong} stands where {right} is needed.", old, new)
    for old in _all(tree, ast.BoolOp):
        op = ast.BitOr() if isinstance(old.op, ast.Or) else ast.BitAnd()
        new = ast.BinOp(old.values[0], op, old.values[1])
        yield _for("`or` and `and` want one truth, a tensor has many.", old, new)
    for old in _all(tree, ast.AugAssign):
        new = ast.Assign([old.target], old.value)
        yield _for("it is added to what is there already.", old, new)


def _dimensions(tree, seen):
    for old in _all(tree, ast.Call):
        name = getattr(old.func, "attr", "")
        if name not in "softmax log_softmax sum mean max amax norm cumsum argmax stack cat".split():
            continue
        args = [x for x in old.args if not ast.unparse(x).lstrip("-").isdigit()]
        others = [k for k in old.keywords if k.arg not in ("dim", "keepdim")]
        dims = [x for x in old.args if x not in args] + [
            k.value for k in old.keywords if k.arg == "dim"
        ]
        keep = ast.keyword("keepdim", ast.Constant(True))
        for dim in (*dims, ast.Constant(-1), ast.Constant(0)):
            new = [*others, ast.keyword("dim", dim)]
            yield _for(f"{name} goes over another dimension.", old, ast.Call(old.func, args, new))
            what = "keepdim=True is missing, so the shapes do not stand beside each other."
            yield _for(what, old, ast.Call(old.func, args, [*new, keep]))
        for other in {"sum": ["mean"], "mean": ["sum"], "max": ["min", "amax"]}.get(name, ()):
            func = ast.Attribute(old.func.value, other, ast.Load())
            new = ast.Call(func, old.args, old.keywords)
            yield _for(f"{name} stands where {other} is needed.", old, new)


def _torch(tree, seen):
    called = {id(call.func) for call in _all(tree, ast.Call)}
    for old in _all(tree, ast.Attribute):
        if _is_name(old.value, "math", "np", "numpy"):
            new = ast.Attribute(ast.Name("torch", ast.Load()), old.attr, ast.Load())
            yield _for(f"{ast.unparse(old)} does not take tensors.", old, new)
        elif id(old) not in called and callable(getattr(torch.Tensor, old.attr, None)):
            new = ast.Call(old, [], [])
            yield _for("a method without its parentheses is not called.", old, new)
    for old in _all(tree, ast.Call):
        name = ast.unparse(old.func) if old.args else ""
        if getattr(old.func, "attr", "") in ("max", "min", "sort", "topk"):
            what = f"{old.func.attr} gives values and their places."
            yield _for(what, old, ast.Attribute(old, "values", ast.Load()))
        if name == "torch.sqrt":
            what = "torch.sqrt takes tensors only."
            yield _for(what, old, ast.BinOp(old.args[0], ast.Pow(), ast.Constant(0.5)))
        if name == "torch.tensor":
            yield _for(
                "torch.tensor does not join tensors.",
                old,
                _expression(f"torch.stack({ast.unparse(old.args[0])})"),
            )
        if name.startswith("torch."):
            what = f"{name} takes tensors only."
            new = _expression(f"torch.as_tensor({ast.unparse(old.args[0])})")
            yield _for(what, old, ast.Call(old.func, [new, *old.args[1:]], old.keywords))


def _whole_numbers(tree, seen):
    what = "whole numbers have no decimals."
    for old in _all(tree, ast.Call):
        if ast.unparse(old.func) in ("torch.zeros_like", "torch.empty_like", "torch.full_like"):
            new = [*old.keywords, ast.keyword("dtype", _expression("torch.float32"))]
            yield _for(what, old, ast.Call(old.func, old.args, new))
    for old in _all(tree, ast.List):
        if old.elts and all(isinstance(x, ast.Constant) and type(x.value) is int for x in old.elts):
            new = ast.List([ast.Constant(float(x.value)) for x in old.elts], ast.Load())
            yield _for(what, old, new)


def _one_off(tree, seen):
    what = "the count is one off."
    one = ast.Constant(1)
    for old in _all(tree, ast.BinOp):
        if isinstance(old.op, ast.Add | ast.Sub) and ast.unparse(old.right) == "1":
            yield _for(what, old, old.left)
    for old in _all(tree, ast.Call):
        if _is_name(old.func, "range") and len(old.args) > 1:
            yield _for(what, old, ast.Call(old.func, [ast.Constant(0), *old.args[1:]], []))
        if _is_name(old.func, "range") and old.args:
            at = min(1, len(old.args) - 1)
            for op in (ast.Add(), ast.Sub()):
                new = [*old.args[:at], ast.BinOp(old.args[at], op, one), *old.args[at + 1 :]]
                yield _for(what, old, ast.Call(old.func, new, []))
    for old in _all(tree, ast.Subscript):
        if isinstance(old.slice, ast.Slice):
            s = old.slice
            for op in (ast.Add(), ast.Sub()):
                lower = s.lower and ast.BinOp(s.lower, op, one)
                upper = s.upper and ast.BinOp(s.upper, op, one)
                for new in (ast.Slice(lower, s.upper), ast.Slice(s.lower, upper)):
                    yield _for(what, old, ast.Subscript(old.value, new, old.ctx))


def _another_index(tree, seen):
    for old in _all(tree, ast.Call):
        if getattr(old.func, "attr", "") in ("view", "reshape"):
            new = ast.Attribute(old.func.value, "T", ast.Load())
            yield _for(
                f"{old.func.attr} puts the numbers in other places, .T turns a table.", old, new
            )
        for arg in _arguments(tree) if _is_name(old.func, "range") else ():
            new = _expression(f"range(len({arg}))")
            yield _for("the loop counts to another end.", old, new)
    counted = [n.id for loop in _all(tree, ast.For) for n in _all(loop.target, ast.Name)]
    names = dict.fromkeys([*counted, *_arguments(tree)])
    for old in _all(tree, ast.Subscript):
        for index in _all(old.slice, ast.Name):
            for name in (n for n in names if n != index.id):
                new = copy.deepcopy(old, {id(index): ast.Name(name, ast.Load())})
                yield _for(f"{index.id} is the index of something else.", old, new)


def _too_much(tree, seen):
    for body in _lists(tree):
        for old in body:
            if isinstance(old, ast.Expr | ast.Assign | ast.AugAssign | ast.If):
                rest = [x for x in body if x is not old] or [ast.Pass()]
                yield f"{_said(old)} is too much.", f"leave out {_said(old)}.", [(body, rest)]
    for old in _all(tree, ast.Call):
        for part in [*old.keywords, *old.args[1:]]:
            args = [x for x in old.args if x is not part]
            new = ast.Call(old.func, args, [x for x in old.keywords if x is not part])
            yield _for(f"{_said(part)} is too much.", old, new)
    for old in _all(tree, ast.Call, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Subscript):
        for new in _parts(old):
            rest = ast.unparse(old).replace(ast.unparse(new), "…")
            yield _for(f"`{rest}` is too much.", old, new)


def _parts(node, depth=2):
    """The expressions in it, without names of modules, as far down as that."""
    for part in ast.iter_child_nodes(node) if depth else ():
        if isinstance(part, ast.expr):
            if not _is_name(part, "torch", "F", "math", "np", "nn") and not _is_shape(part):
                yield part
            yield from _parts(part, depth - 1)


def _is_shape(node):
    return isinstance(node, ast.Attribute) and node.attr == "shape"


MENDS = (
    _wrong_name,
    _without_self,
    _no_return,
    _equals_in_a_loop,
    _return_in_a_loop,
    _start_outside_the_loop,
    _kept_between_calls,
    _names_from_above,
    _written_sizes,
    _operators,
    _torch,
    _whole_numbers,
    _dimensions,
    _exchanged,
    _one_off,
    _another_index,
    _too_much,
)


# --- what the code says ---


def _is_name(node, *names):
    return isinstance(node, ast.Name) and node.id in names


def _named(tree, name):
    return next((f for f in _all(tree, ast.FunctionDef) if f.name == name), None)


def _function(tree, seen):
    """The student's function; of a class its __init__."""
    first = tree.body[0]
    return (
        _named(tree, "__init__") or _all(tree, ast.FunctionDef)[0]
        if seen.exercise.is_class
        else first
    )


def _arguments(tree):
    every = chain.from_iterable(f.args.args for f in _all(tree, ast.FunctionDef))
    return [arg.arg for arg in every if arg.arg != "self"]


def _integers(tree):
    return [c for c in _all(tree, ast.Constant) if type(c.value) is int]


def _codes(seen):
    """The code objects of the answer, and of what stands inside."""
    todo = [f.__code__ for f in own_functions(seen.answer)]
    for code in todo:
        todo += [x for x in code.co_consts if hasattr(x, "co_consts")]
    return todo


def data_from_above(seen):
    """The names in the student's code under which cells keep data."""
    spaces = [f.__globals__ for f in own_functions(seen.answer)]
    names = dict.fromkeys(name for code in _codes(seen) for name in code.co_names)
    found = {name: space[name] for space in spaces for name in names if name in space}
    return [k for k, x in found.items() if not callable(x) and not isinstance(x, ModuleType)]


# --- what the error says ---

ERRORS = (
    (r"torch.return_types.max", "add .values (or use amax): max(dim=...) returns values and places."),
    (
        r"Boolean value of Tensor",
        "write | for or, & for and: `or`, `and` and `if` want one truth, a tensor has many.",
    ),
    (r"masked_fill.*bool", "add .bool() to the mask: masked_fill needs True and False."),
    (r"tuple of ints,but got float", "write // for /: a size is a whole number."),
    (r"'float' object cannot be interpreted as an integer", "write // for /: range counts in whole numbers."),
    (r"only one element tensors|only integer tensors of a single", "write torch. for math. or int(...), or torch.stack for torch.tensor: it is a tensor of many numbers."),
    (r"'(builtin_function_or_|)method'|builtin_function_or_method", "write () after the method's name: without them it is not called."),
    (r"UnboundLocalError", "give it its start inside the function: += needs what is there already."),
    (r"unsupported operand.*\^|for \^|bitwise_xor", "write ** for ^: that is the power in Python."),
    (r"leaf Variable that requires grad", "make a new tensor, such as x = x + y for x += y: what is trained is not changed in place."),
    (r"[Ii]nference tensor", "work on a copy: x.clone() before you change it."),
    (r"must be Tensor, not (list|float|int|numpy)", "make it a tensor first: torch.stack for a list of tensors, torch.tensor for numbers."),
    (r"numpy.*Tensor|Tensor.*numpy|ndarray", "stay with torch, or turn arrays with torch.from_numpy(...)."),
    (r"result type Float can't be cast to|result type Double can't be cast to", "write 0.0 for 0, or leave dtype= out: whole numbers have no decimals."),
)  # fmt: skip


def after_error(error, seen):
    """What to try after this error."""
    text = f"{type(error).__name__}: {error}"
    for words, advice in ERRORS:
        if re.search(words, text):
            return advice
    if isinstance(error, OverflowError) and seen.exercise.kind != "scores":
        return "subtract the LARGEST score first: Python's exp overflows above 709."
    if found := re.search(r"index (\d+) is out of bounds for dimension \d+ with size (\d+)", text):
        last = int(found[2]) - 1
        return f"the last index there is {last}: let the loop count what it reads from."
    if seen.exercise.is_class and isinstance(error, NameError):
        return "is it known in __init__ only? Keep it there as self.name, and use self.name here."
    if found := _shapes(error, seen):
        return f"see whether these fit: in that line {found}."
    return fixed(seen) or "print what goes into that line, just before it."


def _shapes(error, seen):
    """Such as "a is (6, 3), b is (2, 3)": the tensors of the line that raised."""
    files = {code.co_filename for code in _codes(seen)}
    step, last = error.__traceback__, None
    while step:
        last = step if step.tb_frame.f_code.co_filename in files else last
        step = step.tb_next
    if last is None:
        return ""
    frame = last.tb_frame
    line = linecache.getline(frame.f_code.co_filename, last.tb_lineno)
    names = dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*", line))
    space = {**frame.f_globals, **frame.f_locals}
    found = {name: space[name] for name in names if torch.is_tensor(space.get(name))}
    return ", ".join(f"{name} is {tuple(x.shape)}" for name, x in found.items() if x.dim())


def fixed(seen):
    """What to try where only the first probe is right, as far as the code shows it; or ""."""
    if not seen.only_first:
        return ""
    first = seen.probes[0].args
    sizes = {n for x in first for n in (x.shape if torch.is_tensor(x) else [x])}
    written = {x for code in _codes(seen) for x in code.co_consts if type(x) is int and x > 1}
    if numbers := sorted(sizes & written):
        said = " and ".join(map(str, numbers))
        return f"see whether {said} in your function is a size: take sizes from the arguments."
    if names := data_from_above(seen):
        said = " and ".join(names)
        return f"your function uses {said} of a cell above, the same whatever it is given."
    return ""


def reads(seen, name):
    """Does the student's code read the argument of this name? True if that is not known."""
    codes = _codes(seen)
    steps = [step for code in codes for step in dis.get_instructions(code)]
    loaded = {step.argval for step in steps if step.opname.startswith("LOAD")}
    return not codes or name in loaded
