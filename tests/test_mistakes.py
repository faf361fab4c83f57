"""What check() does with every mistake and every answer, lesson by lesson: it names a declared
mistake, and gives what people wrote the verdict that it should get.

The ids begin with the lesson, so that `pytest -k 06` runs what belongs to lesson 6."""

import inspect
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from execute import CI
from making import every_way, made
from rates import answers, fault, followed

from helpers import guard
from helpers.checks import check, exercises, lessons
from helpers.checks.catalogue import scale
from helpers.checks.code import variables_of
from helpers.checks.exercise import Mistake, explained
from helpers.checks.exercises import CHECKED, LESSON_OF
from helpers.checks.results import attempt, call_ours, same
from helpers.checks.texts import contents, text_of
from helpers.errors import InputError

EXERCISES = [exercise for exercise in CHECKED.values() if not exercise.texts]


def student(code):
    """Return code as a function or a class that does not show where it comes from."""
    if inspect.isclass(code):
        return type("Student", (code,), {})
    return lambda *args: code(*args)


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


def offered(exercise):
    """Return the names that an exercise's stages offer, before it renames any."""
    stages = exercise.pipeline.wrong() if exercise.pipeline else ()
    return {name for _, wrong in stages for name in wrong}


def give_the_same(exercise, code, other):
    """Do two codes give the same results on all probes?"""
    pairs = ([attempt(x, p, call_ours) for x in (code, other)] for p in exercise.probes())
    return all(same(*pair) for pair in pairs)


# --- declared mistakes ---


@pytest.mark.parametrize(
    "exercise, k",
    [
        pytest.param(e, k, id=f"{LESSON_OF[e.name]}-{e.name}-{mistake.name}")
        for e in EXERCISES
        for k, mistake in enumerate(e.all_mistakes)
        if mistake.ways
    ],
)
def test_every_declared_mistake_is_rejected_and_called_by_its_name(exercise, k):
    """What a stage offers may be right in an exercise, or give the numbers of an earlier mistake:
    then the verdict names that one."""
    mistake = exercise.all_mistakes[k]
    of_stage = mistake.name in {exercise.names.get(n, n) for n in offered(exercise)}
    for answer in every_way(exercise, mistake):
        verdict = check(exercise.name, student(answer))
        if of_stage and verdict.passed:
            continue
        assert verdict.passed is False
        assert verdict.message.startswith(f"✘ {exercise.name}: {verdict.mistakes[0]}.")
        assert max(map(len, verdict.message.splitlines())) <= 100
        if verdict.mistakes != (mistake.name,):
            first = [m for m in exercise.all_mistakes[:k] if (m.name,) == verdict.mistakes]
            ways = [way for m in first for way in every_way(exercise, m)]
            assert of_stage and any(give_the_same(exercise, answer, way) for way in ways)


def ways_of_stages():
    """Return each way that a stage offers, with the exercises that have it."""
    found = {}
    for exercise in EXERCISES:
        names = {exercise.names.get(name, name) for name in offered(exercise)}
        for mistake in exercise.all_mistakes:
            for choice in mistake.choices if mistake.name in names else ():
                way = tuple((stage, id(variant)) for stage, variant in choice.items())
                found.setdefault(way, []).append((exercise, mistake.name, choice))
    return [pytest.param(x, id=f"{x[0][1]}-{k}") for k, x in enumerate(found.values())]


@pytest.mark.parametrize("offers", ways_of_stages())
def test_every_way_that_a_stage_offers_is_told_in_an_exercise_at_least(offers):
    for exercise, name, choice in offers:
        answer = made(exercise, choice)
        if check(exercise.name, student(answer)).mistakes == (name,):
            return
    pytest.fail(f"{offers[0][1]} is told in none of {[e.name for e, *_ in offers]}")


def test_what_an_exercise_leaves_out_or_renames_is_offered_by_a_stage():
    for exercise in EXERCISES:
        assert exercise.without.keys() | exercise.names.keys() <= offered(exercise), exercise.name
        assert all(exercise.without.values())


# An answer for each mistake that is found by something other than the numbers of a code.
DETECTED = {m.name for e in EXERCISES for m in e.all_mistakes if m.detect or not m.ways}
MADE = [answer for answer in answers() if answer.names and answer.names[0] in DETECTED]
FIRST = {answer.names[0]: answer for answer in reversed(MADE)}


@pytest.mark.parametrize("name", sorted(DETECTED))
def test_a_mistake_that_is_detected_is_named_in_an_answer_that_makes_it(name):
    assert check(FIRST[name].exercise, FIRST[name].run()).mistakes == (name,)


@pytest.mark.parametrize("exercise", each())
def test_a_mistake_is_never_declared_by_nan_or_by_code_that_does_not_run(exercise):
    # Or any answer that is all NaN, or has that slip, would get the name, whatever its cause.
    for mistake in exercise.all_mistakes:
        if mistake.detect or mistake.counterfactual:
            continue  # not found by these numbers
        for answer in every_way(exercise, mistake):
            results = [attempt(answer, p, call_ours) for p in exercise.probes()]
            for error in (result.outcome.error for result in results):
                slip = isinstance(error, NameError | AttributeError | TypeError | KeyError)
                assert not slip, f"'{mistake.name}' ({exercise.name}) does not run: {error!r}"
            results = [r for r in results if r.observed is None]
            assert not results or not all(
                r.numbers is not None and r.numbers.isnan().all() for r in results
            )


# --- what is said about them ---


def test_every_text_has_a_name():
    names = {m.name for e in EXERCISES for m in e.all_mistakes if not m.text}
    for name, entry in contents("mistakes.toml").items():
        assert name in names, f"mistakes.toml speaks of '{name}', which no exercise declares."
        for other in entry.get("instead", ()):
            for exercise in other["in"]:
                known = {mistake.name for mistake in CHECKED[exercise].all_mistakes}
                assert name in known, f"'{name}' has a text for {exercise}, which lacks it."


NOT_IN_THE_LESSONS = ("token", "entr", "feature", "embedding", "log-weight")


@pytest.mark.parametrize("exercise", each())
def test_a_text_says_what_to_try_in_the_words_of_the_lessons_and_where_it_was_seen(exercise):
    for probe in exercise.probes():
        assert not any(word in probe.label.lower() for word in NOT_IN_THE_LESSONS)
    new = NOT_IN_THE_LESSONS + ("probabilit",) * (LESSON_OF[exercise.name] < "06")
    for mistake in exercise.all_mistakes:
        text = text_of(mistake, exercise.name)
        assert text.advice.endswith((".", "?")), mistake.name
        assert not any(word in (text.why + text.advice).lower() for word in new)
        assert 0 < len(text.source) <= 100


CHANGING = Path(__file__).parent.parent / ".github" / "CONTRIBUTING.md"
CUBE, DOUBLED = re.findall(r"```python\n(.*?)```", CHANGING.read_text(encoding="utf-8"), re.S)


def test_a_mistake_is_one_entry_in_one_table(monkeypatch):
    table = eval(f"{{{CUBE}}}", vars(scale) | {"explained": explained})
    exercise = replace(CHECKED["scaled_scores"], variants={"scale": table})
    monkeypatch.setitem(CHECKED, "scaled_scores", exercise)
    verdict = check("scaled_scores", lambda q, k: q @ k.mT / q.shape[-1] ** (1 / 3))
    assert verdict.mistakes == ("cube root",) and "cube root of d_k." in verdict.message


def test_an_exercise_and_its_mistakes_stand_in_one_file(tmp_path, monkeypatch):
    code = DOUBLED.replace("\n    },\n)", '\n        "squared": lambda x: x**2,\n    },\n)')
    (tmp_path / "lesson_01_doubled.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(lessons, "__path__", [*lessons.__path__, str(tmp_path)])
    lesson, name, exercise = next(row for row in exercises._found() if row[1] == "doubled")
    del sys.modules["helpers.checks.lessons.lesson_01_doubled"]
    monkeypatch.setitem(CHECKED, name, exercise)
    assert lesson == "01" and check("doubled", lambda x: 2 * x).passed
    verdict = check("doubled", lambda x: -2 * x)
    assert verdict.mistakes == ("sign flipped",)
    assert "the wrong sign." in verdict.message and "Multiply by 2, not" in verdict.message
    with pytest.raises(InputError, match="no try in words for 'squared'"):
        [text_of(mistake, name) for mistake in exercise.all_mistakes]


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
        ["e / e.sum(1)", "s - s.max(dim=1)[0]", "for j in range(max(0, i - w), i)"],
        ["s - s.max(dim=0).values", "s - s.amax(0)", "s - torch.max(s, dim=0)[0]"],
    ),
    "not divided by the sum": (
        ["e = np.exp(s - s.max())", "math.e ** s"],
        ["w = torch.softmax(s, 0)"],
    ),
}


@pytest.mark.parametrize("name", CODE)
def test_a_line_allows_or_excludes_a_mistake(name):
    pattern, (can, cannot) = text_of(Mistake((), name), "self_attention").code, CODE[name]
    assert [line for line in can + cannot if re.search(pattern, line)] == can


def test_code_of_an_inner_comprehension_is_read_with_the_functions_that_it_names():
    def helper(row):
        return row.exp()

    function = eval("lambda rows: [[helper(x) for x in row] for row in rows]", {"helper": helper})
    assert variables_of(function) == [helper]


# --- answers as students write them ---


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(answer, id=f"{LESSON_OF[answer.exercise]}-{answer.exercise}-written-{k}")
        for k, answer in enumerate(answers())
        # CI tries every fourth, and all that must be told something; python tests/rates.py all
        if k % (4 if CI else 16) == 0 or "; said: " in answer.what
    ],
)
def test_what_people_wrote_gets_the_verdict_that_it_should(answer):
    verdict = check(answer.exercise, answer.run())
    assert fault(answer, verdict) == "", answer.what
    assert verdict or followed(answer, verdict) in (None, True), verdict.message


@pytest.mark.parametrize("exercise", each())
def test_a_right_answer_that_takes_most_of_a_second_a_call_is_in_time(exercise):
    """Half a second for a module, which is called more often: what it keeps is checked too."""
    times, seconds = [], 0.5 if exercise.is_class else 0.9
    assert check(exercise.name, changed(exercise, lambda *args: times.append(1))).passed
    assert seconds * len(times) < guard.SECONDS


@pytest.mark.parametrize("exercise", each([e for e in EXERCISES if e.first_is_tensor]))
def test_a_right_answer_that_changes_its_argument_is_not_right(exercise):
    verdict = check(exercise.name, changed(exercise, lambda *args: args[0][-1].add_(1)))
    assert verdict.mistakes == ("input changed in place",)
    assert "before" in verdict.message and "after" in verdict.message


@pytest.mark.parametrize("exercise", each([e for e in EXERCISES if e.is_class]))
def test_another_default_type_changes_no_verdict_on_a_class(exercise):
    torch.set_default_dtype(torch.float64)
    try:
        assert check(exercise.name, student(exercise.reference)).passed
    finally:
        torch.set_default_dtype(torch.float32)
