"""What is said of a wrong answer: the WITNESSES at the end of this file are asked in their order,
and the first that answers speaks. Each takes the Submission and k, the position of the first wrong
case, and returns a Fact or None. None calls another, but each may rely on those above it having
found nothing."""

import ast
import re

from ._calls import in_another_order, layer_as_function, not_called
from ._code import data_from_above, known_functions, nodes, reads, set_anew
from ._direction import (
    another_order,
    lost_results,
    one_factor,
    one_part_only,
    rows_without_effect,
    size_to_look_for,
    some_rows_right,
    unused_variable,
)
from ._hints import after_error, fixed_sizes, only_arguments, python_says, seen_advice, step_of
from ._misuse import is_stub
from ._repairs import NOT_KEPT, REPAIRS, RETURN_IN_A_LOOP
from ._search import repaired
from ._texts import HINT, Fact, read_toml
from .match import established, partly
from .message import number
from .results import close, has_equal_rows, same_fact

# What makes numbers NaN or infinite, if this regular expression is in the code.
NOT_FINITE = {
    "/|div|softmax": "0 / 0, x / 0 and inf / inf",
    "exp|softmax": "exp of a large number, which is inf, or of one far below 0, which is 0",
    r"\blog": "log of 0 or of a negative number",
    r"sqrt|\*\* ": "the root of a negative number",
    r"\binf\b|1e\d": "0 * inf and inf - inf",
    r"\bempty": "places that are never filled",
}
# A place to look, no cause: the cases differ in more than their sizes.
KEPT = "look for what is kept from one call to the next, and for names from other cells."
SLOW = """\
let torch work on whole tensors: loops over single numbers, loops that never end and much printing \
take too long."""
# Code that divides by a sum, or by a name that is one.
DIVIDES = r"\bsoftmax\(|/=? [^\n]*\bsum\(|\b(\w+) (\+= |= [^\n]*\bsum\()(?s:.*)/=? \1\b"
INSTEAD = {
    "a coroutine": "write def instead of async def.",
    "a builtin_function_or_method": "write () after the method's name: it is not called.",
    "a generator": "collect the parts in a list, and return it after the loop: yield returns none.",
}


def evidence(submission):
    """Return what the first witness says that knows something, a Fact."""
    k = submission.wrong[0]
    for witness in WITNESSES:
        if fact := witness(submission, k):
            return fact._replace(by=witness.__name__)
    raise AssertionError("the last witness always answers")


def _asked(submission):
    return f"The exercise asks for {submission.exercise.signature}."


# --- mistakes and repairs ---


def method_not_called(submission, k):
    if submission.tree and (method := not_called(submission.tree)):
        advice = f"write `{method}()`: without the brackets, nothing is done."
        return Fact(f"`{method}` is not called.", advice)
    return None


def calls_a_stub(submission, k):
    others = [f for f in known_functions(submission.answer) if f.__name__ != "__init__"]
    for name in [f.__name__ for f in others if is_stub(f)]:
        return Fact(f"`{name}` is not written yet.", f"write `{name}` first: your code calls it.")
    return None


def layer_not_called(submission, k):
    result, error = submission.mine[k], submission.mine[k].outcome.error
    advice = layer_as_function(result, error and step_of(error, submission))
    if not advice:
        return None
    what = f"raised {type(error).__name__}" if error else f"returned {result.instead}"
    return Fact(f"it {what}.", advice)


def order_of_arguments(submission, k):
    if order := in_another_order(submission, k):
        of = " of __init__" if submission.exercise.is_class else ""
        advice = f"put the arguments{of} in this order: {order}."
        return Fact("the arguments are in another order.", advice)
    return None


def self_is_missing(submission, k):
    for name in data_from_above(submission.answer) if submission.exercise.is_class else ():
        if re.search(rf"\bself\.{name}\b|register_\w+\('{name}'", submission.body):
            what = f"`{name}` is a name from a cell above, not your module's."
            return Fact(what, f"write self.{name} instead of {name}.")
    return None


def return_in_a_loop(submission, k):
    return repaired(submission, RETURN_IN_A_LOOP)


def mistakes(submission, k):
    """Say which mistake explains the numbers, or which two do."""
    found = established(submission)
    if not found:
        return None
    first, names = found[0], tuple(mistake.name for mistake in found)
    lost = lost_results(submission, k)
    if lost and lost.what.startswith("only the last") and submission.right[k].numbers.dim():
        lost = None  # the last row may be what is asked for
    says_more = repaired(submission, NOT_KEPT) or lost or first
    is_set = "" if submission.exercise.is_class else _overwritten(submission, submission.arguments)
    is_why = is_set and f"`{submission.ignored()}`" in is_set
    return Fact(f"{first.name}.", is_set if is_why else says_more.advice, first.why, names)


def one_of_several_mistakes(submission, k):
    """Say which mistake explains the first wrong case and one of another size, but not all."""
    if found := partly(submission):
        return Fact(f"{found.name}.", found.advice, found.why, (found.name, ""))
    return None


def what_python_says(submission, k):
    error = submission.mine[k].outcome.error
    return None if error is None else python_says(error, submission)


def small_repair(submission, k):
    return repaired(submission, REPAIRS)


# --- calls ---


def too_slow(submission, k):
    if not submission.mine[k].stopped:
        return None
    tests = [ast.unparse(x.test) for x in nodes(ast.parse(submission.code), ast.While)]
    advice = f"find out whether `{tests[0]}` ever becomes False." if tests else SLOW
    if tests and "len(" in tests[0]:
        advice += " len(...) of a tensor counts its dimension 0."
    return Fact("it takes too long.", advice)


def changed_later(submission, k):
    if submission.overwritten:
        new = "make a new tensor in every call."
        return Fact("a later call changes an earlier result.", new)
    return None


def different_after_others(submission, k):
    if submission.is_first_again(k):
        return Fact("the same arguments give a different result after other calls.", KEPT)
    return None


def not_repeated(submission, k):
    draws = "multinomial" in " ".join(submission.exercise.program.steps.values())
    if submission.repeats or draws:  # what must draw differs by chance, whatever is wrong
        return None
    if submission.unread and submission.cases[k].parts:
        return None  # it works on a model of the notebook
    advice = "look for anything random, or anything kept from an earlier call."
    if re.search(r"(nn\.Linear|Attention)\(", submission.body):
        advice = "use the arguments only: a layer that you create draws random numbers of its own."
    return Fact("a second call with the same arguments gives a different result.", advice)


def any_error(submission, k):
    error = submission.mine[k].outcome.error
    if error is None:
        return None
    return Fact(f"it raised {type(error).__name__}.", after_error(error, submission))


def no_numbers(submission, k):
    instead = submission.mine[k].instead
    if instead == "None":
        what = "it returned None (is `return` missing?)."
        return Fact(what, "always return the result.", _asked(submission))
    if instead:
        advice = INSTEAD.get(instead, "return the result and nothing else.")
        return Fact(f"it returned {instead}.", advice, _asked(submission))
    return None


def other_facts(submission, k):
    """Compare what was measured of a class."""
    facts, right = submission.mine[k].observed, submission.right[k].observed or {}
    if facts is None:
        return None
    differs = (f for f in facts if f in right and not same_fact(facts[f], right[f]))
    advice, name = read_toml("repairs.toml")["facts"], next(differs, "")
    told = advice.get(f"{name}: {facts.get(name)}") or advice.get(name, HINT)
    return Fact("not what the exercise asks for.", told)


# --- numbers ---


def wrong_shape(submission, k):
    mine = submission.mine[k].numbers
    if mine.shape == submission.right[k].numbers.shape:
        return None
    if part := one_part_only(submission, k):
        lost = lost_results(submission, k)
        return part._replace(advice=lost.advice) if lost else part
    if isinstance(submission.mine[k].outcome.value, tuple):
        advice = "return ONE result: with a comma after return, you return several, a tuple."
    elif mine.dim() == 0 and re.search("for |while |sum|mean|dot|@", submission.body):
        advice = "check for a `return` inside a loop, or an unwanted sum or mean."
    elif mine.dim() == 0:
        advice = "find the step that leaves a single number, such as an index too many."
    else:
        joined = seen_advice("shape", submission)
        advice = joined or fixed_sizes(submission) or size_to_look_for(submission, k)
    return Fact("wrong shape.", advice, _asked(submission))


def not_finite(submission, k):
    got = submission.mine[k].numbers
    bad = int((~got.isfinite()).sum())
    if not bad:
        return None
    verb = "is" if bad == 1 else "are"
    share = f"all {bad}" if 1 < bad == got.numel() else f"{bad} of {got.numel()}"
    many = f"{share} numbers" if got.dim() else "the result"
    what = "NaN" if got.isnan().any() else "infinite"
    known = [cause for code, cause in NOT_FINITE.items() if re.search(code, submission.body)]
    look = f"look for {', for '.join(known or NOT_FINITE.values())}."
    return Fact(f"{many} {verb} {what}.", seen_advice(what, submission) or look)


def equal_rows(submission, k):
    got, right = submission.mine[k].numbers.double(), submission.right[k].numbers
    equal = [x.dim() == 2 and has_equal_rows(x) for x in (got, right)]
    if equal == [True, False] and got.any():
        new = "look at what should differ from row to row: a diagonal, an index, a dimension."
        if re.search(r"\bfor |stack|\] \* ", submission.body):
            new = "compute each row from its own word, in a new tensor."
        return Fact("all rows are equal.", seen_advice("equal rows", submission) or new)
    return None


def sums_of_weights(submission, k):
    if submission.exercise.kind != "weights":
        return None
    got, is_table = submission.mine[k].numbers.double(), submission.mine[k].numbers.dim() == 2
    sums = got.sum(-1)
    off = (sums - 1).abs()
    if off.max() <= 1e-3:
        return None
    row = (off == off.max()).nonzero()[0]
    which = "the weights sum"
    if len(row):
        which = f"row {row.tolist() if len(row) > 1 else int(row)} sums"
    why = f"On {submission.cases[k].label}, {which} to {number(sums[tuple(row)])}, not 1"
    if is_table and (got.sum(0) - 1).abs().max() < 1e-3:
        why += ", but every column sums to 1"
    helps = close(got / sums[..., None], submission.right[k].numbers)
    if not got[tuple(row)].any():
        hides = "hidden" in submission.exercise.program.steps
        why_0 = "is a word hidden from itself" if hides else "is a sum of exps infinite"
        advice = f"find out why these are all 0: not filled, or {why_0}?"
    elif not helps and "/" in submission.body or re.search(DIVIDES, submission.body):
        advice = "look where your code divides (softmax does, too): is each row divided "
        advice += "by its OWN sum, once that is complete, and what happens to it afterwards?"
    else:
        advice = "as the last step, divide all numbers of a row by their sum."
    what = "a row does not sum to 1." if is_table else "the weights do not sum to 1."
    return Fact(what, seen_advice("sums", submission) or advice, f"{why}.")


def visible_future(submission, k):
    got, right = submission.mine[k].numbers.double(), submission.right[k].numbers
    if submission.exercise.kind != "weights" or got.dim() != 2:
        return None
    if right.triu(1).any() or not got.triu(1).any():
        return None
    i, j = got.triu(1).nonzero()[0].tolist()
    weight, label = number(got[i, j]), submission.cases[k].label
    return Fact(
        "the future is visible.",
        seen_advice("future", submission)
        or "give later words a weight of 0: with softmax, set their scores to -inf first.",
        f"On {label}, row {i} gives the later word {j} a weight of {weight}.",
    )


def unread_argument(submission, k):
    name = submission.ignored() if submission.unread else None
    if submission.exercise.is_class or (submission.unread and submission.cases[k].parts):
        name = submission.arguments[(submission.unread or [0])[0]]
    if not name or reads(submission.answer, name):
        return None
    advice = only_arguments(submission.answer) or f"use `{name}`: the result must depend on it."
    return Fact(f"it ignores `{name}`.", advice, f"The result is the same whatever `{name}` is.")


def ignored_argument(submission, k):
    if submission.exercise.is_class or not (name := submission.ignored()):
        return None
    print_it = f"print each step for two values of `{name}`: which steps do not change?"
    advice = _overwritten(submission, [name]) or print_it
    return Fact(f"changing `{name}` has no effect.", advice)


def _overwritten(submission, names):
    """Return advice on the first of these arguments that gets another value; ""."""
    for name in names:
        if line := set_anew(submission.tree and submission.tree.body[0], name):
            return f"use the `{name}` that you are given: `{line}` gives it another value."
    return ""


def _wrong(submission, k):
    verb = " is" if submission.mine[k].numbers.dim() == 0 else "s are"
    return f"the number{verb} wrong."


def sizes_in_the_code(submission, k):
    if submission.exercise.kind == "weights" or not (advice := fixed_sizes(submission)):
        return None
    return Fact(_wrong(submission, k), advice)


def rows(submission, k):
    """Say which rows, columns or texts are wrong."""
    if fact := some_rows_right(submission):
        part = "columns" if "column" in fact.what else "rows" if "row" in fact.what else "parts"
        advice = _last_advice(submission) or seen_advice(part, submission)
        return fact._replace(advice=advice or fact.advice)
    return None


def seen_in_the_code(submission, k):
    advice = _last_advice(submission)
    return Fact(_wrong(submission, k), advice) if advice else None


def _last_advice(submission):
    return seen_advice("wrong", submission) or only_arguments(submission.answer)


def only_the_numbers(submission, k):
    return Fact(_wrong(submission, k), HINT)


WITNESSES = (
    # calls that explain everything else
    calls_a_stub,
    method_not_called,
    layer_not_called,
    order_of_arguments,
    self_is_missing,
    # a mistake, but for one whose numbers come from a first pass alone
    return_in_a_loop,
    mistakes,
    # a name that is not defined is no reason to change anything else
    what_python_says,
    small_repair,
    one_of_several_mistakes,
    # what the calls show: without an error, there is a result below
    too_slow,
    changed_later,
    different_after_others,
    not_repeated,
    any_error,
    no_numbers,
    other_facts,
    # what the numbers show
    unread_argument,
    wrong_shape,
    not_finite,
    equal_rows,
    sums_of_weights,
    visible_future,
    ignored_argument,
    lost_results,
    unused_variable,
    sizes_in_the_code,
    another_order,
    one_factor,
    rows,
    seen_in_the_code,
    rows_without_effect,
    only_the_numbers,
)
