"""Which cells of a notebook its checks need, by the names in them. In doubt, all of them."""

import ast
import symtable

from IPython.core.inputtransformer2 import TransformerManager

# What reads or writes names that stand nowhere in the text; magics become get_ipython().
UNSEEN = {
    *("exec", "eval", "compile", "globals", "locals", "vars", "dir", "setattr", "delattr"),
    *("__import__", "__builtins__", "builtins", "importlib", "get_ipython"),
}
HARMLESS = {"set_printoptions"}  # the same in every check


def needed(cells, own=()):
    """The numbers of the cells to run, a set, from 0.  cells: the source of each code cell.
    own: the numbers of those that a student wrote or changed; what these do cannot be told from
    their names, so all of them are run.

    Needed are these and the checks; each cell that gives a meaning to a name which a needed cell
    uses; and each that may change what such a name stands for: it mentions it, or a function that
    does.
    """
    parts = [_Cell(source) for source in cells]
    checks = {k for k, part in enumerate(parts) if part.checks}
    if not checks or any(part.in_doubt for part in parts):
        return set(range(len(cells)))
    parts = parts[: max(checks) + 1]
    found = checks | {k for k in own if k < len(parts)}
    imports = set().union(*(part.imports for part in parts))
    data = set().union(*(part.data for part in parts))
    reached = [_reached(part.now | part.later, parts, data) for part in parts]

    def matters(part, reaches, names):
        return part.binds & names or part.sets & names or reaches & names & data

    while True:
        # What counts when a check calls an answer; of what was made from a thing, the thing too,
        # which may be a part of it.
        late, before = set(), None
        while late != before:
            before = set(late)
            for k in found:
                late |= parts[k].later
                late |= parts[k].now if parts[k].checks or parts[k].data & late else set()
        more = {
            j
            for j, part in enumerate(parts)
            if part.sets & imports
            or matters(part, reached[j], late)
            or any(matters(part, reached[j], parts[k].now) for k in found if k > j)
        }
        if more <= found:
            return found
        found |= more


def _reached(names, parts, data):
    """These names, and those that functions and classes use which are called by them."""
    names = set(names)
    while True:
        more = set()
        for part in parts:
            if part.binds & names:
                more |= part.later | (part.now - data)
        if more <= names:
            return names
        names |= more


class _Cell:
    """What the text of a cell says.

    now: the notebook's names that it uses when it runs.  later: those of its functions, also what
    they assign.
    binds: names that it may give a meaning; of these data are no functions, classes or imports.
    sets: names of which it changes an attribute or a setting.  checks: does it call check()?
    in_doubt: is there what cannot be told?
    """

    def __init__(self, source):
        self.now, self.later, self.binds, self.imports = set(), set(), set(), set()
        self.data, self.sets = set(), set()
        self.checks = self.in_doubt = False
        try:
            text = TransformerManager().transform_cell(source)
            tree = ast.parse(text)
            self._names(symtable.symtable(text, "cell", "exec"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.checks = True  # it raises, whatever went before: to be told
            return
        self.data = self.binds - self.imports - _only_defined(tree)
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(ctx=ast.Store() | ast.Del()):
                    self.sets.add(_root(node))
                case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("set_"):
                    self.sets |= {_root(node.func)} if name not in HARMLESS else set()
                case (
                    ast.alias(name="*")
                    | ast.alias(name="check", asname=str())
                    | ast.Attribute(attr="check" | "__dict__" | "__globals__" | "user_ns")
                    | ast.Attribute(value=ast.Name(id="sys"), attr="modules")
                ):
                    self.in_doubt = True
        named = sum(isinstance(node, ast.Name) and node.id == "check" for node in ast.walk(tree))
        called = sum(map(_is_check, tree.body))
        self.checks = called > 0
        # Named but not called, or called somewhere inside: nobody knows when and with what.
        self.in_doubt |= named != called or not UNSEEN.isdisjoint(self.now | self.later)

    def _names(self, table):
        """Of a scope, and of those in it: what a function keeps to itself is left out."""
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            name = symbol.get_name()
            if top or symbol.is_global():
                if symbol.is_referenced() or not top:
                    (self.now if top else self.later).add(name)
                if symbol.is_assigned() or symbol.is_imported():
                    self.binds.add(name)
                if symbol.is_imported():
                    self.imports.add(name)
        for inner in table.get_children():
            self._names(inner)


def _only_defined(tree):
    """The names of functions and classes that are given to nothing else, too."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)} - stored


def _root(node):
    """The name with which a.b[c].d begins, or ""."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_check(statement):
    """check(...) by itself, or x = check(...), or assert check(...)."""
    call = getattr(statement, "value", None) or getattr(statement, "test", None)
    return (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check"
    )
