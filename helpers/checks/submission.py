"""What is known of an answer, and further experiments with it."""

import ast
import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from ..copies import copies, names_in
from ._code import built_on, is_name, known_functions, nodes, own_functions, reads, tree_of_all
from ._counterfactual import NoEndlessLists, World
from .exercise import returned
from .results import (
    Result,
    attempt,
    call_ours,
    close,
    divides_zero_by_zero,
    factor,
    numbers_of,
    same,
)


@dataclass
class Submission:
    """What is known of an answer: for each case called so far (cases), the Result of the
    reference (right) and of the answer (mine).  call: runs the answer, see guard.call.  again: two
    more on the first case; () if stopped.  overwritten: did later calls change a result?  called:
    see noting()."""

    exercise: object
    answer: Callable
    call: Callable
    cases: list = field(default_factory=list)
    right: list = field(default_factory=list)
    mine: list = field(default_factory=list)
    again: tuple[Result, ...] = ()
    overwritten: bool = False
    called: list = field(default_factory=list)

    def noting(self):
        """Return a World that notes in called which functions of torch are called."""
        world = World()
        self.called = world.called
        return world

    def is_right(self, k, result):
        """Does this Result agree with the right one on case k?"""
        if self.right[k].outcome.error is not None:
            return False  # ours failed: nothing to compare with
        if same(result, self.right[k]):
            return True
        return self.cases[k].may_fail and divides_zero_by_zero(result, self.right[k])

    @property
    def wrong(self):
        """The positions of the cases on which the answer is wrong."""
        return [k for k, result in enumerate(self.mine) if not self.is_right(k, result)]

    @cached_property
    def wrong_first(self):
        """The positions of all cases, wrong ones first, because most shows there. It is cached, so
        read it only when all cases have been called."""
        wrong = self.wrong
        return sorted(range(len(self.mine)), key=lambda k: k not in wrong)

    @property
    def only_first(self):
        """Is the first case right, and no other? False if something is measured, because then
        the cases differ in more than their arguments."""
        plain = self.cases[0].measure is returned
        return plain and self.wrong == list(range(1, len(self.cases)))

    @property
    def repeats(self):
        """Do further calls on the first case give what the first call gave?"""
        return all(same(result, self.mine[0]) for result in self.again)

    def look_again(self):
        """Read the returned tensors again: if a later call changed one, its new numbers count."""
        read = {k: r.outcome.value for k, r in enumerate(self.mine) if r.numbers is not None}
        tensors = {k: value for k, value in read.items() if torch.is_tensor(value)}
        now = self.call(lambda: list(map(numbers_of, tensors.values()))).value or ()
        for k, numbers in zip(tensors, now, strict=False):
            if not close(numbers, self.mine[k].numbers):
                self.mine[k] = replace(self.mine[k], numbers=numbers)
                self.overwritten = True

    def is_first_again(self, k):
        """Is case k the first one again, after others?"""
        return k > 0 and self.cases[k].args is self.cases[0].args

    # --- the student's code ---

    @cached_property
    def code(self):
        """The student's code as text, without comments, written as ast.unparse does; "" if it
        cannot be read."""
        return ast.unparse(tree_of_all(self.answer))

    @cached_property
    def body(self):
        """The code without the names of its functions, which are no part of how it works."""
        return re.sub(r"\bdef \w+", "def _", self.code)

    @cached_property
    def has_loop(self):
        """Does the code run in a loop, or in a function that makes one?"""
        tree = ast.parse(self.code)
        return bool(nodes(tree, ast.For, ast.While, ast.comprehension)) or any(
            is_name(node.func, "map") for node in nodes(tree, ast.Call)
        )

    @cached_property
    def numbers_written(self):
        """The numbers in the code, each once."""
        found = (x.value for x in nodes(ast.parse(self.code), ast.Constant))
        return list(dict.fromkeys(x for x in found if type(x) in (int, float)))

    def contradicts(self, mistake):
        """Does the code not show what this mistake needs in it? It shows nothing if it cannot be
        read."""
        return bool(mistake.only_if) and not re.search(mistake.only_if, self.body)

    @cached_property
    def tree(self):
        """The student's code as an ast.Module, the answer first; None if it cannot be read."""
        tree, name = tree_of_all(self.answer), getattr(self.answer, "__name__", "")
        if self.exercise.is_class and tree.body:
            own = [node for node in tree.body if getattr(node, "name", "") in vars(self.answer)]
            others = [node for node in tree.body if node not in own]
            bases = [ast.Starred(ast.Name("_bases", ast.Load()), ast.Load())]
            tree.body = [ast.ClassDef(name, bases, [], own, []), *others]
            ast.fix_missing_locations(tree)
        for function in nodes(tree, ast.FunctionDef) if not self.exercise.is_class else ():
            function.decorator_list = []  # each try would call them again
        return tree if tree.body and getattr(tree.body[0], "name", "") == name else None

    def is_right_with(self, tree, file):
        """Is the answer right with this tree instead of submission.tree, on further cases too?
        file: where its code pretends to be from. It runs on copies of the notebook's variables,
        since what was local in the answer may be a variable of the notebook in this code."""
        made, world = [], NoEndlessLists if "tensor(" in self.code else None

        def answer(*args):
            if not made:
                space = dict(own_functions(self.answer)[0].__globals__)
                space["_bases"] = getattr(self.answer, "__bases__", ())
                code = compile(tree, file, "exec")
                space.update(copies(space, names_in(code)))
                exec(code, space)
                made.append(space[self.answer.__name__])
            return made[0](*args)

        def is_right(k):
            return self.is_right(k, attempt(answer, self.cases[k], self.call, world))

        if not all(map(is_right, self.wrong_first)):
            return False
        # Also test on cases that did not select this code: the rest, then backwards and again.
        known = self.exercise.cases()
        others = [*known[len(self.cases) :], *(x.backwards() for x in known if not x.may_fail)]
        wanted = ((x, self.ours(x)) for x in others)
        return is_right(0) and all(
            same(attempt(answer, x, self.call), right)
            for x, right in wanted
            if right.outcome.error is None
        )

    def works_through(self):
        """Return the names of what works for the answer, as pairs (in its code, of its own): of
        functions and classes from elsewhere, and of torch functions that run. A helper with the
        name of a torch function is the student's own."""
        own = known_functions(self.answer)
        found = [
            (name, x.__name__)
            for name, x in built_on(self.answer)
            if x not in own or not hasattr(torch, x.__name__)
        ]
        return [*found, *((name, name) for name in self.called)]

    # --- counterfactuals, and other arguments ---

    def part(self, positions):
        """Return the Submission on the cases at these positions only."""
        rows = ([each[k] for k in positions] for each in (self.cases, self.right, self.mine))
        return Submission(self.exercise, self.answer, self.call, *rows)

    def ours(self, case):
        """Return the Result of the reference on a case."""
        return attempt(self.exercise.reference, case, call_ours)

    def ask(self, k, world=None, **changes):
        """Return the Result of the answer on case k with these changes, in this world."""
        return attempt(self.answer, replace(self.cases[k], **changes), self.call, world)

    def _stays(self, k, j, value):
        """Return (bool, bool): do the answer's numbers, and the right ones, stay the same on case
        k with this value of argument j? None if either are missing."""
        pair = self.numbers_with(k, j, value)
        before = self.mine[k].numbers, self.right[k].numbers
        missing = any(x is None for x in (*before, *pair))
        return None if missing else tuple(map(close, pair, before))

    def numbers_with(self, k, j, value):
        """Return (the answer's numbers, the right ones) on case k with this value of argument j."""
        case = self.cases[k].with_argument(j, value)
        return attempt(self.answer, case, self.call).numbers, self.ours(case).numbers

    @cached_property
    def arguments(self):
        """The names of the arguments, of forward for a class; the student's own where they can be
        read."""
        is_class, answer = self.exercise.is_class, self.answer
        names = list(inspect.signature(self.exercise.reference).parameters)
        with suppress(AttributeError, TypeError, ValueError):
            own = inspect.signature(answer.forward if is_class else answer).parameters.values()
            plain = [x.name for x in own if x.kind is x.POSITIONAL_OR_KEYWORD]
            names = plain[1:] if is_class else [*plain[: len(names)], *names[len(plain) :]]
        return names

    @cached_property
    def unread(self):
        """The positions of the arguments that the code of a function never reads."""
        if self.exercise.is_class:
            return []
        return [j for j, name in enumerate(self.arguments) if not reads(self.answer, name)]

    def ignored(self):
        """Return the name of an argument of which even very different values change nothing on any
        case, although they must; or None."""
        asked = [k for k, result in enumerate(self.mine) if result.numbers is not None]
        named = enumerate(self.arguments)
        ignored = (name for j, name in named if all(self._ignores(k, j) for k in asked))
        return next(ignored, None) if asked else None

    def _ignores(self, k, j):
        """Does argument j make no difference on case k, where it must make one?"""
        args = self.cases[k].args
        if j >= len(args):  # one with a default
            return False
        x = args[j]
        if callable(x) or (torch.is_tensor(x) and not x.is_floating_point()):
            return not reads(self.answer, self.arguments[j])  # counts may stay the same by chance
        if torch.is_tensor(x):
            changed = x * 1.25 + x.roll(1, -1), x.flip(0) - 3 * x, torch.zeros_like(x) + 1
        else:
            changed = (x - 1 if x > 1 else x + 1), x + 2, 4 * x
        return self.is_without_effect(k, j, changed)

    def is_without_effect(self, k, j, values):
        """Do these values of argument j change nothing on case k, although they must?"""
        stays = [self._stays(k, j, value) for value in values]
        telling = [pair[0] for pair in stays if pair and not pair[1]]
        return bool(telling) and all(telling)

    # --- relations ---

    def fact(self, name):
        """Return the first value that was measured under this name, or None."""
        facts = (result.observed or {} for result in self.mine)
        return next((fact[name] for fact in facts if name in fact), None)

    def measured(self, measure, name, k=0):
        """Return the value that this measure finds on case k under this name, or None."""
        return (self.ask(k, measure=measure).observed or {}).get(name)

    def raises(self, error, words):
        """Does the first wrong case raise this error, with these words in its message?"""
        found = self.mine[self.wrong[0]].outcome.error
        return isinstance(found, error) and words in str(found)

    @property
    def adds_up(self):
        """Is the result always k times the right one, k > 1 and whole, or does each call add the
        right result to the one before?"""
        if times := factor(self.mine, self.right):
            return times > 1.5 and abs(times - round(times)) < 1e-3
        if self.repeats or any(result.numbers is None for result in self.again):
            return False
        first, second = (result.numbers for result in self.again)
        return first.shape == second.shape and close(second - first, self.right[0].numbers)

    def always(self, relation):
        """Does relation(the student's numbers, the right numbers) hold on every case?"""
        return all(
            a.numbers is not None
            and not a.changed
            and relation(a.numbers.double(), b.numbers.double())
            for a, b in zip(self.mine, self.right, strict=True)
        )
