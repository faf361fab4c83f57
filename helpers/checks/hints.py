"""What to try where no cause is known: what the error says, and sizes that the code has fixed."""

import linecache
import re

import torch

from .code import all_codes, data_from_above
from .texts import contents


def after_error(error, seen):
    """What to try after this error."""
    text = f"{type(error).__name__}: {error}"
    for entry in contents("slips.toml")["errors"]:
        if re.search(entry["words"], text):
            return entry["try"]
    if isinstance(error, OverflowError) and seen.exercise.kind != "scores":
        return "subtract the LARGEST score first: Python's exp overflows above 709."
    if said := fixed(seen):
        return said
    if found := re.search(r"index (\d+) is out of bounds for dimension \d+ with size (\d+)", text):
        last = int(found[2]) - 1
        return f"the last index there is {last}: let the loop count what it reads from."
    if seen.exercise.is_class and isinstance(error, NameError):
        return "is it known in __init__ only? Keep it there as self.name, and use self.name here."
    if "shapes cannot be multiplied" in text and (names := data_from_above(seen.answer)):
        missing = "is self. missing? " if seen.exercise.is_class else ""
        return f"{missing}{names[0]} is a name from a cell above, not what is given."
    if type(error) in (RuntimeError, ValueError) and (found := _shapes(error, seen)):
        return f"see whether these fit: in that line {found}."
    return "print what goes into that line, just before it."


def _shapes(error, seen):
    """Such as "a is (6, 3), b is (2, 3)": the tensors of the line that raised."""
    files = {code.co_filename for code in all_codes(seen.answer)}
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
    written = {
        x for code in all_codes(seen.answer) for x in code.co_consts if type(x) is int and x > 1
    }
    if numbers := sorted(sizes & written):
        said = " and ".join(map(str, numbers))
        return f"see whether {said} in your function is a size: take sizes from the arguments."
    if names := data_from_above(seen.answer):
        said = " and ".join(names)
        return f"your function uses {said} of a cell above, the same whatever it is given."
    return ""
