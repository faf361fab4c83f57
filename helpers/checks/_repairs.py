"""Slips of Python and PyTorch, which happen in every exercise, and small changes that undo them. A
change is told if it makes everything right (see _search.py).

Each repair yields (what is wrong, what to try, pairs of an old and a new part). If there is nothing
to try but to write the new part instead of the old one, it leaves these words to _search.py.
"""

import ast
import copy
import re
from itertools import chain, product

import torch

from ._code import (
    arguments_in,
    blocks,
    changed,
    data_from_above,
    fits,
    functions_in,
    is_name,
    loops,
    never_used,
    nodes,
    own_functions,
    written,
)
from ._texts import read_toml


def quoted(node):
    """Return code between backticks, of more lines only the first and …"""
    if isinstance(node, ast.stmt):  # unparse reads where a statement stands
        ast.fix_missing_locations(node)
    first, *more = written(node).splitlines()
    more = more or (isinstance(node, ast.stmt) and hasattr(node, "body"))
    return f"`{first}{' …' if more else ''}`"


def _instead(what, old, new):
    return what, "", [(old, new)]


def _code(text):
    """Return the node of the expression or statement in this text."""
    node = ast.parse(text).body[0]
    return node.value if isinstance(node, ast.Expr) else node


def _name(text):
    return ast.Name(text, ast.Load())


def _in_the_table(*kinds):
    """Return a repair from repairs.toml, which writes its new pattern wherever its old one fits."""

    def repair(tree, submission):
        conditions = _conditions(tree)
        for entry in chain.from_iterable(read_toml("repairs.toml")[kind] for kind in kinds):
            if re.search(entry.get("unless", "(?!)"), submission.body):
                continue
            inside = nodes(tree, ast.For) if entry.get("in_loops") else [tree]
            parts = dict.fromkeys(chain.from_iterable(map(ast.walk, inside)))
            # With a condition that never holds, the result may be right by accident.
            parts = [x for x in parts if "more" not in kinds or x not in conditions]
            for line in entry["write"]:
                pattern, new = map(_code, line.split("  ->  "))
                for old in parts:
                    holds = {}
                    if fits(pattern, old, holds):
                        pairs = [(n, holds.get(n.id, n)) for n in nodes(new, ast.Name)]
                        made = changed(new, pairs)
                        if hasattr(old, "ctx") and hasattr(made, "ctx"):
                            made.ctx = old.ctx  # where it is written to
                        yield _instead(entry["what"], old, made)

    return repair


def _return_in_a_loop(tree, submission):
    for body, k, loop in loops(tree):
        for inner in blocks(loop):
            for end in (x for x in inner if isinstance(x, ast.Return)):
                rest = [x for x in inner if x is not end] or [ast.Pass()]
                new = [*body[:k], changed(loop, [(inner, rest)]), end, *body[k + 1 :]]
                advice = f"write {quoted(end)} after the loop, indented like its `for`."
                yield "`return` inside the loop ends it too early.", advice, [(body, new)]


def _indented_wrongly(tree, submission):
    single = ast.Assign | ast.AugAssign | ast.Expr  # what has lines below it is hardly misplaced
    for body, k, loop in loops(tree):
        *rest, last = loop.body
        at = quoted(loop).replace(" …", "")
        if rest and isinstance(last, single):
            new = [*body[:k], changed(loop, [(loop.body, rest)]), last, *body[k + 1 :]]
            advice = f"indent {quoted(last)} like {at}: it belongs after that loop, not in it."
            yield f"{quoted(last)} is indented too far.", advice, [(body, new)]
        for after in (x for x in body[k + 1 : k + 2] if isinstance(x, single)):
            inside = changed(loop, [(loop.body, [*loop.body, after])])
            advice = f"indent {quoted(after)} as far as the lines below {at}: it belongs to them."
            new = [*body[:k], inside, *body[k + 2 :]]
            yield f"{quoted(after)} is not indented far enough.", advice, [(body, new)]


def _start_on_the_wrong_side_of_the_loop(tree, submission):
    for body, k, loop in loops(tree):
        # After the loop, such a name would hold only what the last pass gave it.
        after = {n.id for x in body[k + 1 :] for n in nodes(x, ast.Name)}
        starts = (x for x in body[:k] if isinstance(x, ast.Assign))
        for start in (x for x in starts if not is_name(x.targets[0], *after)):
            for within in nodes(loop, ast.For):
                inside = changed(loop, [(within.body, [start, *within.body])])
                new = [*(x for x in body[:k] if x is not start), inside, *body[k + 1 :]]
                at = quoted(within).replace(" …", "")
                advice = f"write {quoted(start)} as the first line inside {at}."
                yield "each pass carries on where the last one left off.", advice, [(body, new)]
        for start in (x for x in loop.body if isinstance(x, ast.Assign)):
            counted = {n.id for n in nodes(loop.target, ast.Name)}
            if not (rest := [x for x in loop.body if x is not start]):
                continue  # a loop needs a line
            if {n.id for n in nodes(start.value, ast.Name)} & counted:
                continue  # it is about this pass
            new = [*body[:k], start, changed(loop, [(loop.body, rest)]), *body[k + 1 :]]
            advice = f"write {quoted(start)} before the loop, not in it."
            yield f"{quoted(start)} stands inside the loop.", advice, [(body, new)]


# How code changes what a name holds: by assigning to it or a part of it, or by a method.
CHANGES = r"^ *{0}(\[.*\])? [-+*/@|&]*= |\b{0}\.(\w+_|append|extend|insert|update|add)\("


def _kept_between_calls(tree, submission):
    space = own_functions(submission.answer)[0].__globals__
    advice = "write {} as the first line of the function."
    for function, _ in functions_in(tree):
        if function.args.defaults and not isinstance(function.args.defaults[-1], ast.Constant):
            new = copy.deepcopy(function)
            name, value = new.args.args.pop().arg, new.args.defaults.pop()
            start = ast.Assign([ast.Name(name, ast.Store())], value)
            new.body.insert(0, start)
            what = f"`{name}` is created once, when `def` runs, and kept from call to call."
            yield what, advice.format(quoted(start)), [(function, new)]
        for name in dict.fromkeys(node.id for node in nodes(function, ast.Name)):
            if not re.search(CHANGES.format(name), submission.code, re.MULTILINE):
                continue
            value = space.get(name)
            zeros = f"torch.zeros({tuple(value.shape)})" if torch.is_tensor(value) else ""
            if zeros or type(value) in (list, dict, set, int, float):
                start = _code(f"{name} = {zeros or repr(type(value)())}")
                rest = [x for x in function.body if not isinstance(x, ast.Global)]
                what = f"`{name}`, created outside the function, is kept from call to call."
                yield what, advice.format(quoted(start)), [(function.body, [start, *rest])]


def _no_return(tree, submission):
    for function, _ in functions_in(tree):
        if function.name != "__init__" and not nodes(function, ast.Return):
            last, body = function.body[-1], function.body
            shown = nodes(last, ast.expr)[:4] if isinstance(last, ast.Expr) else []
            named = [n.id for n in nodes(function, ast.Name) if isinstance(n.ctx, ast.Store)]
            for value in [*shown, *map(_name, dict.fromkeys(reversed(named)))]:
                new = ast.Return(value)
                yield "nothing is returned.", f"end with {quoted(new)}.", [(body, [*body, new])]


def _not_kept(tree, submission):
    what, variables = "a result is not kept.", _variables(tree)
    for old in nodes(tree, ast.Expr):
        if isinstance(old.value, ast.Compare) and isinstance(old.value.ops[0], ast.Eq):
            target = _code(f"{ast.unparse(old.value.left)} = 0").targets
            new = ast.Assign(target, old.value.comparators[0])
            yield "== compares; = sets.", f"write {quoted(new)}: == only compares.", [(old, new)]
        for part in nodes(old.value, ast.Name, ast.Subscript):
            if is_name((nodes(part, ast.Name) or [None])[0], *variables):
                new = _code(f"{ast.unparse(part)} = {ast.unparse(old)}")
                yield what, f"keep the result: write {quoted(new)}.", [(old, new)]


def _made_in_vain(tree, submission):
    unused = never_used(tree)
    for old in nodes(tree, ast.Name) if unused else ():
        if is_name(old, *_variables(tree)) and isinstance(old.ctx, ast.Load):
            line = quoted([x for x in nodes(tree, ast.stmt) if old in ast.walk(x)][-1])
            advice = f"use `{unused}` instead of `{old.id}` in {line}: nothing reads `{unused}`."
            yield f"`{unused}` is made, and never used.", advice, [(old, _name(unused))]
    for _, _, loop in loops(tree):
        inside = ast.Module(loop.body, [])
        named = {n.id for n in nodes(inside, ast.Name)}
        for unused in (n.id for n in nodes(loop.target, ast.Name) if n.id not in named):
            what = f"nothing uses the loop's `{unused}`."
            for old in (x for x in nodes(inside, ast.Subscript) if isinstance(x.ctx, ast.Load)):
                yield _instead(what, old, _name(unused))
            for name in named if unused[0] != "_" else ():
                pairs = [(n, _name(unused)) for n in nodes(inside, ast.Name) if n.id == name]
                yield what, f"write `{unused}` instead of `{name}` in the loop.", pairs


def _variables(tree):
    stored = (n.id for n in nodes(tree, ast.Name) if isinstance(n.ctx, ast.Store))
    return dict.fromkeys([*arguments_in(tree), *stored])


def _names_from_above(tree, submission):
    for (function, args), name in product(functions_in(tree), data_from_above(submission.answer)):
        for value in [*args, *(f"{a}[{b}]" for a in args for b in args if a != b)]:
            pairs = [(n, _code(value)) for n in nodes(function, ast.Name) if n.id == name]
            what = f"`{name}` is a name from a cell above, not one of the arguments."
            yield what, "" if len(pairs) == 1 else f"write `{value}` instead of `{name}`.", pairs


def _exchanged(tree, submission):
    for call in nodes(tree, ast.Call):
        for a, b in zip(call.args, call.args[1:], strict=False):
            yield _instead("two arguments are swapped.", call, changed(call, [(a, b), (b, a)]))


def _dimensions(tree, submission):
    for old in nodes(tree, ast.Call):
        name = getattr(old.func, "attr", "")
        if name in "softmax log_softmax sum mean max amax norm cumsum argmax stack cat".split():
            args = [x for x in old.args if not ast.unparse(x).lstrip("-").isdigit()]
            others = [k for k in old.keywords if k.arg not in ("dim", "keepdim")]
            dims = [k.value for k in old.keywords if k.arg == "dim"]
            dims += [x for x in old.args if x not in args]
            kept = any(k.arg == "keepdim" for k in old.keywords)
            for dim in (*dims, ast.Constant(-1), ast.Constant(0)):
                new = ast.Call(old.func, args, [*others, ast.keyword("dim", dim)])
                what = f"{name} needs a dimension here."
                if dims:
                    what = f"{name} needs a different dimension here."
                fewer = "keepdim=True is too much here." if dim in dims else what
                yield _instead(fewer, old, new)
                keep = [*new.keywords, ast.keyword("keepdim", ast.Constant(True))]
                if dim in dims and not kept:
                    what = "keepdim=True is missing, so the shapes do not line up."
                if dim in dims or kept:
                    yield _instead(what, old, ast.Call(old.func, args, keep))


def _another_index(tree, submission):
    if _has_keys(tree):
        return  # filed under another key, a value is found no more: that is no index put right
    counted = [n.id for loop in nodes(tree, ast.For) for n in nodes(loop.target, ast.Name)]
    names = dict.fromkeys([*counted, *arguments_in(tree)])
    for old in nodes(tree, ast.Subscript):
        for index, name in product(nodes(old.slice, ast.Name), names):
            if name != index.id:
                new = changed(old, [(index, _name(name))])
                yield _instead(f"`{index.id}` is the wrong index here.", old, new)


def _another_name(tree, submission):
    names = _variables(tree)
    # Over another list, a loop might make longer what it runs over.
    over = {x for loop in nodes(tree, ast.For, ast.comprehension) for x in ast.walk(loop.iter)}
    # In a loop over a list, a name for one part is hardly meant to be the whole list.
    parts_of = {
        (n.id, whole.id)
        for loop in nodes(tree, ast.For)
        for n, whole in product(nodes(loop.target, ast.Name), nodes(loop.iter, ast.Name))
    }
    kinds = ast.Attribute, ast.Call, ast.BinOp, ast.Subscript, ast.Return
    for old in (x for x in nodes(tree, *kinds) if x not in over):
        parts = [x for x in ast.iter_child_nodes(old) if is_name(x, *names)]
        if isinstance(old, ast.Subscript) and _has_keys(tree):
            continue
        for part, name in product(parts, names):
            twice = isinstance(old, ast.Call) and any(is_name(x, name) for x in parts)
            if name != part.id and (part.id, name) not in parts_of and not twice:
                what = f"`{part.id}` is the wrong variable here."
                yield _instead(what, old, changed(old, [(part, _name(name))]))


def _too_much(tree, submission):
    for body in blocks(tree):
        for k, old in enumerate(body):
            if isinstance(old, ast.Expr | ast.Assign | ast.AugAssign | ast.If):
                new = [*body[:k], *body[k + 1 :]] or [ast.Pass()]
                yield f"{quoted(old)} should go.", f"leave out {quoted(old)}.", [(body, new)]
            if isinstance(old, ast.If):
                new = [*body[:k], *old.body, *body[k + 1 :]]
                advice = f"remove `if {ast.unparse(old.test)}:`, but not the lines under it."
                yield f"{quoted(old)} should go.", advice, [(body, new)]
    for old in nodes(tree, ast.Call):
        for part in [*old.keywords, *old.args[1:]]:
            args, keywords = ([x for x in y if x is not part] for y in (old.args, old.keywords))
            yield _instead(f"{quoted(part)} should go.", old, ast.Call(old.func, args, keywords))
    conditions = _conditions(tree)
    has_keys = _has_keys(tree)
    for old in nodes(tree, ast.Call, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Subscript):
        is_key = has_keys and getattr(getattr(old, "func", 0), "attr", "") in ("tolist", "item")
        for new in () if old in conditions or is_key else _parts(old):
            rest = quoted(changed(old, [(new, _name("_rest_"))])).replace("_rest_", "…")
            yield _instead(f"{rest} should go.", old, new)


def _has_keys(tree):
    """Is there a dict or a set? Among its keys, no two tensors are equal."""
    return bool(nodes(tree, ast.Dict, ast.DictComp, ast.Set))


def _conditions(tree):
    return {node for test in nodes(tree, ast.If) for node in ast.walk(test.test)}


def _parts(node, depth=2):
    """Yield the expressions in a node, down to depth, except names of functions and modules."""
    makes = re.match(r"torch\.(zeros|ones|full|empty|arange)\b", ast.unparse(node))
    for part in ast.iter_child_nodes(node) if depth and not makes else ():
        if isinstance(part, ast.expr) and part is not getattr(node, "slice", None):
            if part is not getattr(node, "func", None) and getattr(part, "attr", "") != "shape":
                if not is_name(part, "torch", "F", "math", "np", "nn"):
                    yield part
            yield from _parts(part, depth - 1)


RETURN_IN_A_LOOP = (_return_in_a_loop,)
NOT_KEPT = (_in_the_table("kept"), _not_kept, _made_in_vain)
REPAIRS = (
    _no_return,
    _not_kept,
    _made_in_vain,
    _in_the_table("first"),
    *RETURN_IN_A_LOOP,
    _indented_wrongly,
    _start_on_the_wrong_side_of_the_loop,
    _kept_between_calls,
    _names_from_above,
    _dimensions,
    _in_the_table("counts", "signs"),
    _exchanged,
    _another_index,
    _in_the_table("more"),
    _too_much,
    _in_the_table("last"),
    _another_name,
)
