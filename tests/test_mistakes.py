"""What check() promises of every mistake and every answer, lesson by lesson: a declared mistake
is called by its name, a right answer is right in any style, and an unknown cause is not guessed.

The ids begin with the lesson, so that `pytest -k 06` runs what belongs to lesson 6."""

import inspect
import re

import pytest
import torch
from answers import AS_WRITTEN, STYLES, UNKNOWN
from rates import answers, fault
from remember import remember, trust

from helpers import guard
from helpers.checks import check
from helpers.checks.exercises import CHECKED, LESSON_OF
from helpers.checks.results import attempt, call_ours
from helpers.checks.session import variables_of
from helpers.checks.texts import contents, text_of
from helpers.checks.verdict import forget

EXERCISES = [exercise for exercise in CHECKED.values() if not exercise.texts]


def student(code):
    """code as a function, or a class, that shows nothing of where it comes from."""
    if inspect.isclass(code):
        return type("Student", (code,), {})
    return lambda *args: code(*args)


def changed(exercise, change):
    """The right answer, which calls change(its arguments) after it is done."""
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
    """A parameter for each exercise."""
    return [pytest.param(e, id=f"{LESSON_OF[e.name]}-{e.name}") for e in exercises]


def rows(tables):
    """A parameter for each row of a table of answers, by lesson."""
    return [
        pytest.param(*row, id=f"{lesson}-{row[0]}-{k}")
        for lesson, table in tables.items()
        for k, row in enumerate(table)
    ]


@pytest.fixture(autouse=True)
def new_kernel():
    """What a verdict says may depend on what was told before."""
    forget()


# --- declared mistakes ---


@pytest.mark.parametrize(
    "exercise, mistake",
    [
        pytest.param(e, mistake, id=f"{LESSON_OF[e.name]}-{e.name}-{mistake.name}")
        for e in EXERCISES
        for mistake in e.all_mistakes
    ],
)
def test_every_declared_mistake_is_rejected_and_called_by_its_name(exercise, mistake, monkeypatch):
    remember(monkeypatch)
    if not (mistake.detect or mistake.counterfactual):  # for these the session decides
        trust(monkeypatch)
    for answer in exercise.answers(mistake):
        verdict = check(exercise.name, student(answer))
        assert (verdict.passed, verdict.mistakes) == (False, (mistake.name,))
        assert verdict.message.startswith(f"✘ {exercise.name}: {mistake.name}.")
        assert max(map(len, verdict.message.splitlines())) <= 100


@pytest.mark.parametrize("exercise", each())
def test_a_mistake_is_never_declared_by_nan_or_by_code_that_does_not_run(exercise):
    # Then every answer that is all NaN, or has that slip, would get the name, whatever its cause.
    for mistake in exercise.all_mistakes:
        if mistake.detect or mistake.counterfactual:
            continue  # not found by these numbers
        for answer in exercise.answers(mistake):
            results = [attempt(answer, p, call_ours) for p in exercise.probes()]
            for error in (result.outcome.error for result in results):
                slip = isinstance(error, NameError | AttributeError | TypeError | KeyError)
                assert not slip, f"'{mistake.name}' ({exercise.name}) does not run: {error!r}"
            results = [r for r in results if r.observed is None]
            assert not results or not all(
                r.numbers is not None and r.numbers.isnan().all() for r in results
            )


def test_what_an_exercise_leaves_out_or_renames_is_offered_by_a_stage_and_has_a_reason():
    differs = contents("stages.toml")
    for entry in (*differs["none"], *differs["name"]):
        for exercise in entry["in"]:
            offered = {name for _, wrong in CHECKED[exercise].pipeline.wrong() for name in wrong}
            assert entry["mistake"] in offered and (entry.get("because") or entry["here"])


# --- what is said about them ---


def test_every_text_has_a_name():
    names = {mistake.name for e in EXERCISES for mistake in e.all_mistakes}
    for name, entry in contents("mistakes.toml").items():
        assert name in names or "answers" in entry, (
            f"mistakes.toml speaks of '{name}', which no exercise declares."
        )
        for other in entry.get("instead", ()):
            for exercise in other["in"]:
                known = {mistake.name for mistake in CHECKED[exercise].all_mistakes}
                assert name in known, f"'{name}' has a text for {exercise}, which lacks it."


VERBS = """Add Apply Assign Blend Build Call Compare Count Create Cut Divide Draw Drop Exchange Fill
Give Hide Keep Let Make Move Multiply Normalise Put Register Remove Return Run Set Slice Start
Subtract Take Toss Use Wrap Write""".split()
NOT_IN_THE_LESSONS = ("token", "entr", "feature", "embedding", "probabilit", "log-weight")


@pytest.mark.parametrize("exercise", each())
def test_a_text_says_what_to_try_in_the_words_of_the_lessons_and_where_it_was_seen(exercise):
    for probe in exercise.probes():
        assert not any(word in probe.label.lower() for word in NOT_IN_THE_LESSONS)
    for mistake in exercise.all_mistakes:
        text = text_of(mistake.name, exercise.name)
        assert text.advice.split()[0] in VERBS and text.advice.endswith("."), mistake.name
        assert not any(word in (text.why + text.advice).lower() for word in NOT_IN_THE_LESSONS)
        assert 0 < len(text.seen) <= 100


# --- what the code says of them ---

CODE = {  # lines that can make a mistake; such as give the same numbers by another
    "naive exp overflow": (
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
    pattern, (can, cannot) = text_of(name, "self_attention").code, CODE[name]
    assert [line for line in can + cannot if re.search(pattern, line)] == can


def test_code_of_an_inner_comprehension_is_read_with_the_functions_that_it_names():
    def helper(row):
        return row.exp()

    function = eval("lambda rows: [[helper(x) for x in row] for row in rows]", {"helper": helper})
    assert variables_of(function) == [helper]


# --- answers as students write them ---


@pytest.mark.parametrize("exercise, code, names", rows(AS_WRITTEN))
def test_a_mistake_has_its_name_as_a_student_writes_it(exercise, code, names):
    assert check(exercise, code).mistakes == ((names,) if isinstance(names, str) else names)


@pytest.mark.parametrize(
    "exercise, code",
    [
        pytest.param(name, code, id=f"{lesson}-{name}-{k}")
        for lesson, table in STYLES.items()
        for name, codes in table.items()
        for k, code in enumerate([*codes, student(CHECKED[name].reference)])
    ],
)
def test_a_right_answer_is_right_in_any_style(exercise, code, monkeypatch):
    trust(monkeypatch)
    verdict = check(exercise, code)
    assert verdict.passed is True and verdict
    assert (verdict.mistakes, verdict.message) == ((), f"✔ {exercise}: right.")


@pytest.mark.parametrize("exercise, code, fact", rows(UNKNOWN))
def test_what_nobody_declared_is_rejected_without_a_cause(exercise, code, fact, monkeypatch):
    remember(monkeypatch)
    verdict = check(exercise, code)
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert fact in " ".join(verdict.message.split())
    assert max(map(len, verdict.message.splitlines())) <= 100


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(answer, id=f"{LESSON_OF[answer.exercise]}-{answer.exercise}-written-{k}")
        for k, answer in enumerate(answers())
        if k % 20 == 0  # python tests/rates.py judges all
    ],
)
def test_what_people_wrote_gets_the_verdict_that_it_should(answer, monkeypatch):
    remember(monkeypatch)
    assert fault(answer, check(answer.exercise, answer.run())) == "", answer.what


@pytest.mark.parametrize("exercise", each())
def test_a_right_answer_that_takes_most_of_a_second_a_call_is_in_time(exercise):
    """Half a second for a module, which is called more often: what it keeps counts too."""
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
