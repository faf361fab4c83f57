"""All exercises, in the order of the lessons, read from exercises.toml in each lesson's folder of
helpers/lessons. An entry is an exercise:

    [softmax_of_one]
    gives = "(n,)"                      the shape of what is returned
    kind = "weights"                    see Exercise
    args = ["scores = any_size n"]      names, and their makers, see _arguments.py
    code = '''
    use exp                             the steps of steps.toml with that name
    weights = soft(scores, exp)         a step of its own; the last one is the result
    '''

    [softmax_of_one.cases]              first arguments, if the makers' are not enough
    "scores near 1000" = "numbers('large')[0]"

    [softmax_of_one.mistakes."sign flipped"]
    code = "weights = soft(-scores)"    or a list of ways
    why = "..."
    try = "..."

An exercise that uses steps has their mistakes, too (those whose steps it has), except the names in
`without`; `names` renames them. A mistake without a `try` has the text that the same name has
elsewhere; without code, it is only another text for a shared one. More: `same_as` takes all of
another exercise; `least` and `avoid`, see _arguments.wide and Exercise; `remark`, or the first of
several, says something of right answers, `when` an expression holds; `only_if` and `detect`, see
Mistake; `takes`, the arguments of a class's formula. Cases, `when`, `detect`, `reference` and
`answer` (a way that is a whole answer) are Python, with the names of results.py and _arguments.py,
those of checks.py beside the file, and those of measures.py if checks.py imports it. `cases` may
also be one expression, for all cases; a case may be a table with `args` and what else a Case has.
"""

from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from .. import attention
from ..errors import InputError
from . import _arguments, results
from ._texts import read_toml
from .exercise import Case, Exercise, Mistake, returned
from .program import Program, steps

LESSONS = Path(__file__).parents[1] / "lessons"
ANYWHERE = "anywhere"  # mistakes of every exercise; their code is an expression with the result
# How many ways to round count, the coarsest first: more decimals are within the tolerance.
DECIMALS = {"weights": 3, "positions": 0}


@cache
def _names(lesson):
    """Return {name: what it means} of all that the Python in a lesson's file may use."""
    own = None
    if (LESSONS / f"lesson_{lesson}/checks.py").exists():
        own = import_module(f"..lessons.lesson_{lesson}.checks", __package__)
    modules = filter(None, (results, _arguments, getattr(own, "measures", None), own))
    every = {name: x for module in modules for name, x in vars(module).items()}
    return every | {"attention": attention}


def _maker(spec, known):
    """Return a maker of an argument, see _arguments.py.

    spec: the name of a size, or that of a maker and what it takes, such as "words n d".
    known: see _names()."""
    kind, *names = spec.split()
    if names:
        return known[kind](*names)
    return known.get(kind) or (lambda sizes, step: sizes[kind])


def _listed(x):
    return x if isinstance(x, list) else [x]


def _group(shared, name):
    """Return (code, mistakes) of the shared steps of this name."""
    entry = shared[name]
    code, mistakes = _group(shared, entry["like"]) if "like" in entry else ("", {})
    mistakes = {**mistakes, **entry.get("mistakes", {})}
    left_out = entry.get("without", ())
    return entry.get("code", code), {k: x for k, x in mistakes.items() if k not in left_out}


def _texts(entries):
    """Return {name of a mistake: its first entry that says what to try}."""
    found = {}
    for entry in entries:
        for name, mistake in entry.get("mistakes", {}).items():
            if "try" in mistake:
                found.setdefault(name, mistake)
    return found


def _exercise(name, entry, shared, texts, known):
    """Return the Exercise that an entry declares. Raises InputError.  known: see _names()."""
    groups, lines, python = [], [], partial(_python, known)
    for line in entry["code"].strip().splitlines():
        if line.startswith("use "):
            groups.append(_group(shared, line.removeprefix("use ")))
            lines.append(groups[-1][0])
        else:
            lines.append(line)
    args = dict(each.split(" = ") for each in entry["args"])
    program = Program(args, steps("\n".join(lines)))
    own, without = entry.get("mistakes", {}), entry.get("without", ())
    given = entry.get("cases", {})
    makers = [_maker(spec, known) for spec in args.values()]

    def cases():
        if isinstance(given, str):
            return python(given)
        first = [_case(*one, python) for one in given.items()] or [*_arguments.small(*makers)]
        wide = _arguments.wide(*makers, **entry.get("least", {}))
        plain = [case for case in first if case.measure is returned]
        return [*plain, *wide, *(case for case in first if case.measure is not returned)]

    def found():
        for _, mistakes in groups:
            for key, mistake in mistakes.items():
                if key not in without:
                    known = entry.get("names", {}).get(key, key)
                    other = {"why": "", **_text(texts.get(known, {}))} if known != key else {}
                    yield known, {**mistake, **other, **_text(own.get(known, {}))}
        yield from own.items()
        last, expression = [*program.steps.items()][-1]
        for key, mistake in shared[ANYWHERE]["mistakes"].items():
            lines = _listed(mistake.get("code", []))[: DECIMALS.get(entry["kind"], 2)]
            code = [line.replace("result", f"({expression})") for line in lines]
            yield key, {**mistake, "code": [f"{last} = {line}" for line in code]}

    mistakes = [_mistake(key, mistake, program, texts, name, python) for key, mistake in found()]
    reference = python(entry["reference"]) if "reference" in entry else program
    remarks = _listed(entry.get("remark", []))
    takes = entry.get("takes", list(args))
    gives = f" -> {entry['gives']}" if "gives" in entry else ""
    return Exercise(
        signature=f"{name}({', '.join(takes)}){gives}",
        kind=entry["kind"],
        program=program,
        reference=reference,
        cases=cases,
        mistakes=tuple(filter(None, mistakes)),
        formula_args=known["formula_args"] if "reference" in entry else (lambda case: case.args),
        avoid=entry.get("avoid", ""),
        remark=lambda submission: next(
            (each["say"] for each in remarks if python(each["when"], submission=submission)), ""
        ),
    )


def _text(entry):
    return {key: entry[key] for key in ("why", "try", "only_if") if key in entry}


def _python(known, text, **more):
    return eval(text, known | more)


def _case(label, entry, python):
    entry = dict(entry) if isinstance(entry, dict) else {"args": entry}
    args = python(f"({entry.pop('args')},)")
    if "measure" in entry:
        entry["measure"] = python(entry["measure"])
    return Case(label, args, **entry)


def _mistake(name, entry, program, texts, exercise, python):
    """Return the Mistake, or None if the program lacks the steps, or the entry is only a text."""
    ways = [steps(code) for code in _listed(entry.get("code", []))]
    ways = [way for way in ways if program.has(way)]
    ways += [python(text) for text in _listed(entry.get("answer", []))]
    detect = entry.get("detect")
    if not ways and not detect:
        return None
    said = entry if "try" in entry else {**texts.get(name, {}), **entry}
    if "try" not in said:
        raise InputError(f"'{name}' ({exercise}) does not say what to try.")
    return Mistake(
        name,
        tuple(ways),
        said.get("why", ""),
        said["try"],
        said.get("only_if", ""),
        detect and (lambda submission: python(detect, submission=submission)),
    )


class Exercises(Mapping):
    """{name: Exercise}, in the order of the lessons. An exercise is made, and the Python of its
    lesson imported, when it is first asked for.  lesson_of: {name: "01"}."""

    def __init__(self):
        self._shared, files = read_toml("steps.toml"), sorted(LESSONS.glob("*/exercises.toml"))
        self._entries, self.lesson_of, self._made = {}, {}, {}
        for path in files:
            file = read_toml(path)
            self._entries |= file
            self.lesson_of |= dict.fromkeys(file, path.parent.name.removeprefix("lesson_"))
        self._texts = _texts([*self._shared.values(), *self._entries.values()])

    def __getitem__(self, name):
        if name not in self._made:
            entry, known = self._entries[name], _names(self.lesson_of[name])
            if "same_as" in entry:
                known = _names(self.lesson_of[entry["same_as"]]) | known
                entry = {**self._entries[entry["same_as"]], **entry}
            self._made[name] = _exercise(name, entry, self._shared, self._texts, known)
        return self._made[name]

    def __iter__(self):
        return iter(self._entries)

    def __len__(self):
        return len(self._entries)


# Includes exercises with code to repair, checked like the one with the same right answer.
CHECKED = Exercises()
LESSON_OF = CHECKED.lesson_of
