"""What the student's code is: its functions, its source, and the names of other cells in it."""

import ast
import dis
import inspect
import os
import textwrap
from itertools import chain
from types import FunctionType, MethodType, ModuleType


def own_functions(answer):
    """The functions that belong to it and are not a library's: itself, or the methods of a
    class and of those that it is made from."""
    found = [answer]
    if inspect.isclass(answer):
        found = [f for cls in answer.__mro__ for f in vars(cls).values()]
    found = [unwrapped(f) for f in found if callable(f)]
    found = [f for f in found if type(f) in (FunctionType, MethodType)]
    return [f for f in found if "site-packages" not in f.__code__.co_filename]


def unwrapped(function):
    """Without what decorators put around it."""
    try:
        return inspect.unwrap(function)
    except Exception:  # a circle, or attributes of the student's own making
        return function


def code_of(answer):
    """What cells of the notebook say of an answer, and of the functions of other cells that it
    names: see Evidence.code. What stands in a file is not the student's."""
    todo, read, texts = own_functions(answer), set(), []
    while todo:
        function = todo.pop()
        code = function.__code__
        if code in read or os.path.exists(code.co_filename):
            continue
        read.add(code)
        try:
            texts.append(ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(code)))))
        except (OSError, SyntaxError, ValueError):
            return ""  # a part of it would prove nothing
        todo += filter(inspect.isfunction, variables_of(function))
    return "\n".join(texts)


def codes_of(function):
    """Its code, and that of comprehensions and functions inside."""
    codes = [function.__code__]
    for code in codes:  # those inside are found on the way
        codes += filter(inspect.iscode, code.co_consts)
    return codes


def names_in(function):
    """Return the names of variables, attributes and modules in its code."""
    return {name for code in codes_of(function) for name in code.co_names}


def all_codes(answer):
    """Return the code objects of an answer, and of what stands inside."""
    return [code for function in own_functions(answer) for code in codes_of(function)]


def named_by(answer):
    """Return pairs of the global variables of each function of an answer, and names in them."""
    return [(function.__globals__, names_in(function)) for function in own_functions(answer)]


def variables_of(function):
    """The values of the variables of its notebook that a function names."""
    known = function.__globals__
    return [known[name] for name in sorted(names_in(function)) if name in known]


def data_from_above(answer):
    """Return the names in the student's code under which cells keep data."""
    functions = own_functions(answer)
    names = dict.fromkeys(name for code in all_codes(answer) for name in code.co_names)
    spaces = [f.__globals__ for f in functions]
    found = {name: space[name] for space in spaces for name in names if name in space}
    return [k for k, x in found.items() if not callable(x) and not isinstance(x, ModuleType)]


def reads(answer, name):
    """Does the student's code read the argument of this name, as far as that is known?"""
    codes = all_codes(answer)
    steps = chain.from_iterable(map(dis.get_instructions, codes))
    loaded = {step.argval for step in steps if step.opname.startswith("LOAD")}
    return name in loaded or not any(name in code.co_varnames for code in codes)
