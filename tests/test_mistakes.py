"""What check() does with every mistake, lesson by lesson: it names a declared mistake.

The ids begin with the lesson, so that `pytest -k 06` runs what belongs to lesson 6."""

import re
from importlib import import_module

import pytest
import torch
from making import give_the_same, made, student
from rates import answers

from helpers import attention, guard
from helpers.checks import check, exercises
from helpers.checks._code import variables_of
from helpers.checks._texts import read_toml
from helpers.checks.exercises import CHECKED, LESSON_OF
from helpers.checks.match import NUMBER
from helpers.checks.program import steps
from helpers.checks.results import attempt, call_ours, same
from helpers.checks.submission import Submission

# code to repair that is checked like the exercise with the same right answer
ALIKE = "repair_context", "repair_weights", "repair_qkv", "repair_causal"
EXERCISES = [e for e in CHECKED.values() if e.name not in ALIKE]


def changed(exercise, change):
    """Return the right answer, changed to call change(its arguments) when it is done."""
    if not exercise.is_class:

        def answer(*args):
            result = exercise.reference(*args)
            change(*args)
            return result

        return answer

    class Answer(exercise.reference):
        def forward(self, inputs):
            result = super().forward(inputs)
            change(inputs)
            return result

    return Answer


def each(exercises=EXERCISES):
    """Return a parameter for each exercise."""
    return [pytest.param(e, id=f"{LESSON_OF[e.name]}-{e.name}") for e in exercises]


# --- declared exercises ---


def function_of(name):
    """Return the function that an exercise asks for: lessons after 10 have it in their folder."""
    if known := getattr(attention, name, None):
        return known
    return getattr(import_module(f"helpers.lessons.lesson_{LESSON_OF[name]}.functions"), name)


def by_module(inputs, W_query, W_key, W_value, W_out, b_out, num_heads):
    module = attention.MultiHeadAttention(*W_query.shape, inputs.shape[1], 0.0, num_heads)
    matrices = {"W_query": W_query, "W_key": W_key, "W_value": W_value, "out_proj": W_out}
    state = {f"{name}.weight": W.T for name, W in matrices.items()}
    module.to(inputs).load_state_dict(state | {"out_proj.bias": b_out, "mask": module.mask})
    return module(inputs)


TRUTH = {
    "softmax_with_temperature": attention.softmax,
    "repair_heads": by_module,
    "attention_loss": attention.attention_loss,
}


@pytest.mark.parametrize("exercise", each([e for e in EXERCISES if not e.is_class]))
def test_each_program_is_the_function_of_its_name_and_changes_no_argument(exercise):
    truth = TRUTH.get(exercise.name) or function_of(exercise.name)
    results = [
        (attempt(truth, p, call_ours), attempt(exercise.program, p, call_ours))
        for p in exercise.cases()
    ]
    assert results and all(same(*pair) for pair in results)
    assert not any(result.changed for pair in results for result in pair), "its arguments stay"


def listed(x):
    return x if isinstance(x, list) else [x]


SHARED = read_toml("steps.toml")
SHARED_WAYS = [
    (name, steps(code))
    for key, group in SHARED.items()
    if key != exercises.ANYWHERE
    for name, mistake in group.get("mistakes", {}).items()
    for code in listed(mistake.get("code", []))
]


def takes_numbers(mistake):
    """Does it have ways with numbers of the student's code? Then it is tried as people write it."""
    return any(isinstance(way, dict) and NUMBER in str(way) for way in mistake.ways)


# --- declared mistakes ---


@pytest.fixture
def any_code(monkeypatch):
    """The numbers alone decide: no code contradicts a mistake."""
    monkeypatch.setattr(Submission, "contradicts", lambda self, mistake: False)


@pytest.mark.parametrize("exercise", each())
def test_every_declared_mistake_is_rejected_and_called_by_its_name(exercise, any_code):
    """A shared mistake may be right in an exercise, or give the numbers of an earlier mistake: then
    the verdict names that one."""
    for k, mistake in enumerate(exercise.mistakes):
        for way in () if takes_numbers(mistake) else mistake.ways:
            is_called_by_its_name(exercise, k, way)


def is_called_by_its_name(exercise, k, way):
    mistake = exercise.mistakes[k]
    may_be_right = mistake.name in SHARED[exercises.ANYWHERE]["mistakes"]
    answer = made(exercise, way)
    verdict = check(exercise.name, student(answer))
    if verdict.passed and (may_be_right or is_shared(way)):
        return
    assert verdict.passed is False, mistake.name
    if verdict.mistakes != (mistake.name,):
        first = [m for m in exercise.mistakes[:k] if (m.name,) == verdict.mistakes]
        ways = [made(exercise, other) for m in first for other in m.ways]
        unknown = not verdict.mistakes and is_shared(way)
        same_numbers = any(give_the_same(exercise, answer, other) for other in ways)
        assert unknown or same_numbers, mistake.name
        return
    assert verdict.message.startswith(f"✘ {exercise.name}: {mistake.name}.")
    assert max(map(len, verdict.message.splitlines())) <= 100


def is_shared(way):
    return any(way == other for _, other in SHARED_WAYS)


@pytest.mark.parametrize("name, way", [w for w in SHARED_WAYS if NUMBER not in str(w)])
def test_every_shared_way_is_named_in_an_exercise_at_least(name, way, monkeypatch):
    """Or nobody would miss it. Another mistake that needs its own code is not in this code."""

    def needs_other_code(self, other):
        return bool(other.only_if) and other.name != name

    monkeypatch.setattr(Submission, "contradicts", needs_other_code)
    for exercise in EXERCISES:
        for mistake in exercise.mistakes:
            if way in mistake.ways:
                verdict = check(exercise.name, student(made(exercise, way)))
                if verdict.mistakes == (mistake.name,):
                    return
    pytest.fail(f"{name} is named in no exercise")


def test_a_word_is_said_once_and_what_is_left_out_or_renamed_is_offered():
    """A text that no mistake has, or a step that no exercise uses, is dead."""
    entries = {
        name: entry
        for path in sorted(exercises.LESSONS.glob("*/exercises.toml"))
        for name, entry in read_toml(path).items()
    }
    used = re.findall(r"^use (\w+)$", "\n".join(e.get("code", "") for e in entries.values()), re.M)
    inherited = [group["like"] for group in SHARED.values() if "like" in group]
    assert set(SHARED) == {*used, *inherited, exercises.ANYWHERE}
    for name, entry in entries.items():
        known = {mistake.name for mistake in CHECKED[name].mistakes}
        assert set(entry.get("mistakes", {})) <= known, name
        groups = re.findall(r"^use (\w+)$", entry.get("code", ""), re.M)
        offered = {key for group in groups for key in exercises._group(SHARED, group)[1]}
        assert {*entry.get("without", ()), *entry.get("names", {})} <= offered, name


def test_a_mistake_that_is_found_by_more_than_numbers_is_made_in_a_written_answer():
    """test_written.py sees that it is named."""
    detected = {m.name for e in EXERCISES for m in e.mistakes if m.detect or takes_numbers(m)}
    assert detected <= {answer.names[0] for answer in answers() if answer.names}


SLIPS = NameError, AttributeError, SyntaxError, TypeError, KeyError


@pytest.mark.parametrize("exercise", each())
def test_a_mistake_is_never_declared_by_nan_or_by_code_that_does_not_run(exercise):
    # Or any answer that is all NaN, or has that slip, would get the name, whatever its cause.
    cases = [case for case in exercise.cases() if not case.if_right]
    for mistake in exercise.mistakes:
        for way in mistake.ways:
            results = [attempt(made(exercise, way), p, call_ours) for p in cases]
            for error in (result.outcome.error for result in results):
                slip = isinstance(error, SLIPS)
                assert not slip, f"'{mistake.name}' ({exercise.name}) does not run: {error!r}"
            results = [r for r in results if r.observed is None]
            proves = not results or not all(
                r.numbers is not None and r.numbers.isnan().all() for r in results
            )
            assert proves or mistake.only_if, mistake.name


# --- what the code says of them ---

CODE = {  # lines that can make the mistake; lines that give its numbers for a different reason
    "exp overflows": (
        ["e = torch.exp(s)", "p = np.exp(x @ x[i - 1])", "e = math.e ** s[n - 1]", "w = 1 - m"],
        ["e = torch.exp(s - s.argmax())", "e = (s - top).exp()", "z = (s - m) / t", "s -= s[0]"],
    ),
    "averaged instead of added": (
        ["(x * q).mean(-1)", "np.average(p, 1)", "t / len(w)", "s /= x.size(1)", "s / x.shape[1]"],
        ["s / 2", "s * 0.5", "s / math.ceil(k.shape[-1] ** 0.5)", "s / k.shape[-1] ** 0.5"],
    ),
    "keepdim forgotten": (
        ["e / e.sum(1)", "s - s.max(dim=1)[0]", "range(max(0, i - w), i); e.sum(-1)"],
        ["s - s.max(dim=0).values", "s - s.amax(0)", "s - torch.max(s, dim=0)[0]", "e / e.sum()"],
    ),
    "not divided by the sum": (
        ["e = np.exp(s - s.max())", "math.e ** s"],
        ["w = torch.softmax(s, 0)"],
    ),
}


@pytest.mark.parametrize("name", CODE)
def test_a_line_allows_or_excludes_a_mistake(name):
    (pattern,) = {m.only_if for m in CHECKED["self_attention"].mistakes if m.name == name}
    can, cannot = CODE[name]
    assert [line for line in can + cannot if re.search(pattern, line)] == can


def test_code_of_an_inner_comprehension_is_read_with_the_functions_that_it_names():
    def helper(row):
        return row.exp()

    function = eval("lambda rows: [[helper(x) for x in row] for row in rows]", {"helper": helper})
    assert variables_of(function) == [helper]


# --- right answers that are slow, or change what they get ---


@pytest.mark.parametrize("exercise", each())
def test_a_right_answer_that_takes_most_of_a_second_a_call_is_in_time(exercise):
    """Half a second for a module, which is called more often: what it keeps is checked too."""
    times, seconds = [], 0.5 if exercise.is_class else 0.9
    assert check(exercise.name, changed(exercise, lambda *args: times.append(1))).passed
    assert seconds * len(times) < guard.SECONDS


@pytest.mark.parametrize(
    "exercise", each([e for e in EXERCISES if torch.is_tensor(e.cases()[0].args[0])])
)
def test_a_right_answer_that_changes_its_argument_is_not_right(exercise):
    def change(x, *_):
        x[-1] = ~x[-1] if x.dtype == torch.bool else x[-1] + 1

    verdict = check(exercise.name, changed(exercise, change))
    assert verdict.mistakes == ("input changed in place",)
    assert "before" in verdict.message and "after" in verdict.message


@pytest.mark.parametrize("exercise", each([e for e in EXERCISES if e.is_class]))
def test_another_default_type_changes_no_verdict_on_a_class(exercise):
    torch.set_default_dtype(torch.float64)
    try:
        assert check(exercise.name, student(exercise.reference)).passed
    finally:
        torch.set_default_dtype(torch.float32)
