"""What every lesson must keep, beyond what strict comparison of its outputs shows."""

import ast
import contextlib
import copy
import gc
import io
import os
import re
import tempfile
from pathlib import Path
from unittest.mock import patch

import nbformat
import pytest
import torch
from execute import CI, NOTEBOOKS, WIDGET, clean, lessons
from nbconvert import ScriptExporter
from optional import OPTIONAL
from replay import (
    Spoiling,
    as_in_a_new_kernel,
    code_cells,
    committed,
    exercises,
    markdown_cells,
    optional,
    picture_of,
    quick,
    quoted,
    replay,
    run,
    shown_by,
    solutions,
    try_quoted,
    whole_range,
)

from helpers import attention, yours
from helpers.checks.exercises import CHECKED, LESSON_OF
from helpers.contents import has_memory
from helpers.tools.pages.closed import ASIDE
from helpers.tools.pages.record import restored

each_lesson = pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
each_notebook = pytest.mark.parametrize("path", [*lessons(), OPTIONAL], ids=lambda path: path.stem)


@pytest.mark.skipif(not CI, reason="CI does it: nbval's kernels compute as this process does")
@each_notebook
def test_every_cell_shows_the_same_on_another_processor(path):
    """nbval's kernels compute as an old processor, see conftest.py; this process as a newer one."""
    for cell, text in zip(code_cells(path), replay(path)[2], strict=True):
        if quick(cell.source) != cell.source:
            return  # it trains, and here only for one step
        assert text == committed(cell), cell.source


def test_no_kernel_reads_the_settings_of_ipython_of_whoever_runs_the_tests():
    """One of them shows every value of a cell, and not only the last one."""
    assert Path(os.environ["IPYTHONDIR"]).parent == Path(tempfile.gettempdir())


@pytest.mark.skipif(not CI, reason="CI does it: every lesson a second time")
@each_notebook
def test_scrolling_back_changes_nothing(path):
    """Run from the last cell to the first: if a name gets a second meaning further down, this shows
    it, while running twice from the top would hide it."""
    namespace, _, *shown = replay(path)
    first = list(zip([quick(cell.source) for cell in code_cells(path)], *shown, strict=True))
    # Other tests in this process may have printed and checked since.
    as_in_a_new_kernel()
    settings = [one for one in first if re.search(r"set_printoptions|check\(", one[0])]
    for source, text, picture in [*settings, *reversed(first)]:
        value, again = shown_by(source, namespace)
        assert (again, picture_of(value)) == (text, picture), source


@each_notebook
def test_committed_as_executed_from_top_to_bottom_and_clean(path):
    """nbval would pass a cell whose output was cleared."""
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))
    notebook = nbformat.read(path, as_version=4)
    assert notebook == clean(copy.deepcopy(notebook)), "run: python tests/scripts/execute.py"
    assert path.stat().st_size < 1_000_000
    _, export = ScriptExporter().from_notebook_node(notebook)
    assert export["output_extension"] == ".py"
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))


@each_notebook
def test_every_cell_is_compared_and_none_complains(path):
    for cell in code_cells(path):
        tags = [x for x in cell.metadata.get("tags", ()) if not x.startswith("record: ")]
        assert set(tags) <= {ASIDE}, "an exempt cell"
        assert not re.search(r"NBVAL|nbval|%%time|clear_output|interact\(", cell.source)
        for output in cell.outputs:
            assert WIDGET not in output.get("data", {}), "its id differs from run to run"
            assert output.output_type != "error", cell.source
            assert output.get("name") != "stderr", cell.source
            assert not re.search(r"/(home|root|tmp|Users|work)/|0x[0-9a-f]{6}", str(output)[:5000])


@each_notebook
def test_every_picture_says_in_words_what_it_shows(path):
    for cell in code_cells(path):
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                (picture,) = re.findall("<img [^>]*>", data["text/html"])
                assert re.match(r'<img alt="[^"]{20,}"', picture), cell.source
                assert len(data["text/plain"]) > 20


@each_notebook
def test_no_name_gets_a_second_meaning(path):
    first = {}
    for number, cell in enumerate(code_cells(path)):
        for node in ast.parse(cell.source).body:
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            found = [n.id for t in targets if t for n in ast.walk(t) if isinstance(n, ast.Name)]
            if isinstance(node, ast.For):
                found = []  # the loop's variable is used only in the loop
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.append(node.name)
            for name in found:
                assert first.setdefault(name, number) == number, f"{name} in cell {number}"


@each_notebook
def test_prose_is_short_and_nothing_is_fetched(path):
    for cell in markdown_cells(path):
        visible = re.sub(r"<details.*?</details>", "", cell.source, flags=re.S)
        assert len(visible.split()) <= 120, cell.source[:60]
        assert cell.source.count("<details>") == cell.source.count("</details>")
        assert not re.search(r"!\[|<img|<script|<style|https?:", cell.source), cell.source[:60]
    for cell in code_cells(path):
        lines = cell.source.splitlines()
        assert max(map(len, lines)) <= 90, "too wide for a projector"
        assert len(lines) <= 15 or re.search(r"(?m)^(class|explore\()", cell.source), "too long"


# The mistakes in the code that a lesson gives to repair, in the order of the computation.
BROKEN = {
    "repair_context": ("the last numbers left out",),
    "repair_qkv": ("scaled by the size of a word",),
    "repair_causal": ("softmax over columns",),
    "repair_heads": ("scaled by sqrt(d_out)", "merged without transposing back"),
}


def test_what_is_to_be_repaired_is_checked_as_the_exercise_of_the_same_answer():
    assert {name for name in CHECKED if name.startswith("repair_")} == set(BROKEN)


@each_lesson
def test_an_exercise_is_open_and_what_is_to_be_repaired_has_its_mistakes(path):
    verdicts = [value for value in replay(path)[1] if hasattr(value, "passed")]
    assert len(verdicts) >= {"12": 2, "14": 2, "15": 2}.get(path.stem[:2], 3)  # long lessons
    for (name, code), verdict in zip(exercises(path), verdicts, strict=True):
        if name in BROKEN:
            assert (verdict.passed, verdict.mistakes) == (False, BROKEN[name])
            assert "..." not in code, "complete, but for its mistakes"
        else:
            assert verdict.passed is None, name
            assert "# your code here" in code


@each_lesson
def test_the_folded_solutions_pass_and_then_the_last_cell_says_so(path):
    namespace = dict(replay(path)[0])  # a solution may use the one before it
    for (_, code), answer in zip(exercises(path), solutions(path), strict=True):
        # the same function or class, checked by the same line
        same = r"(?m)^(?:def|class|check|    def __init__)\b.*"
        assert re.findall(same, code) == re.findall(same, answer)
        with contextlib.redirect_stdout(io.StringIO()):
            assert run(answer, namespace).passed is True, answer
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run(code_cells(path)[-1].source, namespace)
    more = len(optional(path))
    count, apart = len(exercises(path)) - more, f", and {more} of {more} optional" * bool(more)
    assert f"{count} of {count} solved{apart}." in printed.getvalue()


@each_notebook
def test_what_a_text_calls_works_once_the_exercises_are_solved(path):
    namespace = dict(replay(path)[0])
    with contextlib.redirect_stdout(io.StringIO()), torch.random.fork_rng():
        for answer in solutions(path):
            run(answer, namespace)
        for source in quoted(path):
            try_quoted(source, namespace, path)


WRONG = "naive(q, k)|cost.own_times()|F.softmax(q, dims=1)"  # these can run
WRONG += "|times_and_memory(inner)|cost.own_times(block_size)|own_times()|triu(diag=1)|x.sizes(0)"


def test_a_call_that_would_not_work_is_found():
    path = NOTEBOOKS / "12_cost_of_attention.ipynb"
    for source in WRONG.split("|"):
        with pytest.raises((AttributeError, NameError, TypeError)):
            try_quoted(source, dict(replay(path)[0]), path)


@each_lesson
def test_the_last_cell_lists_all_exercises_of_the_lesson_in_their_order(path):
    last = code_cells(path)[-1]
    names = [name for name, _ in exercises(path)]
    assert sorted(names) == sorted(n for n in CHECKED if LESSON_OF[n] == path.stem[:2])
    call = ast.parse(last.source).body[0].value
    own, more = [name for name in names if name not in optional(path)], optional(path)
    assert (call.func.id, [arg.value for arg in call.args]) == ("progress", own)
    assert [ast.literal_eval(word.value) for word in call.keywords] == [more] * bool(more)
    assert re.findall(r"(?m)^ *[✔✘…] (\w+)", committed(last)) == names


@each_lesson
def test_the_minutes_of_the_readme_the_lesson_and_its_exercises_agree(path):
    text = "\n".join(cell.source for cell in markdown_cells(path))
    stated = re.search(r"(?m)^\*(\d+) minutes(?:, and (\d+) for the exercises?)?\.", text)
    lesson, practice = (int(minutes or 0) for minutes in stated.groups())
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    assert f"(notebooks/{path.name}) | {lesson + practice} |" in readme
    core, _, more = text.partition("\n## If you have more time\n")  # more: in none of the times
    each, later = (re.findall(r"\*\((\d+) minutes\)\*", part) for part in (core, more))
    assert len(each) + len(later) == len(exercises(path))
    each = [int(minutes) for minutes in each]
    if practice:
        assert abs(sum(each) - practice) <= 3, "stated in fives"
    else:
        assert sum(each) < lesson


def test_the_steps_of_lesson_05_are_those_of_torch_optim():
    path = NOTEBOOKS / "05_self_attention_module.ipynb"
    (last,) = (c.source for c in code_cells(path) if "same_as_train(by_hand)" in c.source)
    (loop,) = (code for code in quoted(path) if "optimizer.step()\n" in code)
    step = next(code for code in solutions(path) if "def my_one_step" in code)
    wrong = loop.replace("optimizer.zero_grad()", "pass"), step.replace("rate *", "1.01 *")
    for written, same in (((loop, step), True), (wrong, False)):
        namespace = dict(replay(path)[0])
        for source in written:
            shown_by(source, namespace)
        text = shown_by(last, namespace)[1]
        assert text == f"your loop:   {same}\nmy_one_step: {same}"


# Each class of helpers/attention: its lesson, and arguments for it and for the lesson's class.
SIZES = dict(d_in=3, d_out=6, qkv_bias=True)
CAUSAL = SIZES | dict(context_length=7, dropout=0.5)
TWINS = [
    ("05_self_attention_module", "SelfAttention", dict(d_in=3, d_out=6)),
    ("05_self_attention_module", "SelfAttentionLinear", SIZES),
    ("07_causal_attention_module", "CausalAttention", CAUSAL),
    ("09_multi_head_module", "MultiHeadAttentionWrapper", CAUSAL | dict(num_heads=3)),
    ("09_multi_head_module", "MultiHeadAttention", CAUSAL | dict(num_heads=3)),
]


def test_every_class_of_the_reference_has_its_twin_in_a_lesson():
    classes = [c for c in vars(attention).values() if isinstance(c, type)]
    own = [c.__name__ for c in classes if c.__module__.startswith(attention.__name__)]
    assert sorted(own) == sorted(name for _, name, _ in TWINS)


@pytest.mark.parametrize("lesson, name, arguments", TWINS)
def test_a_lessons_own_class_and_its_twin_give_the_same_outputs(lesson, name, arguments):
    own = replay(NOTEBOOKS / f"{lesson}.ipynb")[0][name]
    batch = torch.rand(2, 5, 3, generator=torch.Generator().manual_seed(4))
    modules = []
    for cls in (own, getattr(attention, name)):
        torch.manual_seed(11)
        modules.append(cls(**arguments))
    mine, twin = modules
    assert type(mine) is not type(twin)
    assert mine.state_dict().keys() == twin.state_dict().keys()
    for mode in (True, False):  # with dropout and without
        outputs = []
        for module in modules:
            torch.manual_seed(12)
            outputs.append(module.train(mode)(batch))
        torch.testing.assert_close(*outputs)
    if hasattr(mine, "weights"):
        torch.testing.assert_close(mine.weights(batch), twin.weights(batch))


@each_notebook
def test_every_live_view_answers_over_its_whole_range(path):
    views = [value for value in replay(path)[1] if hasattr(value, "compute")]
    assert len(views) >= 1
    for view in views:
        start = {control["name"]: control["value"] for control in view.controls}
        ends = {control["name"]: list(whole_range(control))[-1] for control in view.controls}
        for control in view.controls:
            assert control["name"] != "step" or "labels" in control, "a bare number"
            shown = shown_over(view, control)
            if len(shown) == 1 and control["kind"] != "text":  # it may do something elsewhere
                view.compute(ends)
                shown = shown_over(view, control)
            assert len(shown) > 1 or control["kind"] == "text", f"{control['name']}: for nothing"
            view.compute(start)


@each_lesson
def test_no_function_of_a_reader_changes_what_a_lesson_holds(path):
    namespace, values, *_ = replay(path)
    sources = [cell.source for cell in code_cells(path)]
    found = re.findall(r"(?m)^(\w+) = yours\((\w+), ([\w.]+)\)$", "\n".join(sources))
    first = next(k for k, source in enumerate(sources) if " = yours(" in source)
    views = [value for value in values[first:] if hasattr(value, "compute")]
    kinds = torch.Tensor, torch.nn.Parameter
    held = [x for x in gc.get_objects() if type(x) in kinds and has_memory(x)]
    before = [x.detach().clone() for x in held]
    spoiling = {name: Spoiling(mine, run(course, namespace)) for name, mine, course in found}
    with patch.dict(namespace, {name: yours(f, f.course) for name, f in spoiling.items()}):
        for view in views:
            ends = {control["name"]: list(whole_range(control))[-1] for control in view.controls}
            with restored(view):
                view.compute({})
                view.compute(ends)
    for x, was in zip(held, before, strict=True):
        torch.testing.assert_close(x.detach(), was, rtol=0, atol=0, equal_nan=True)
    for spoiler in spoiling.values():
        assert spoiler.was_called(), "it is in a picture"


def shown_over(view, control):
    """Return all that is shown while a control moves over its range."""
    shown = set()
    for value in whole_range(control):
        picture = view.compute({control["name"]: value})
        assert picture["error"] == "" and picture["printed"] == "", (control, value)
        assert picture["values"][control["name"]] == value
        assert picture["panels"] and picture["caption"]
        shown.add(repr((picture["caption"], picture["panels"])))
    return shown


# The numbers that the course is known by, the textbook's first: a lesson must print each of them,
# digit for digit. Counts of lessons 11 and 12 are tested in test_cache.py and test_cost.py.
NUMBERS = {
    "01_dot_products": """
        [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]
        [0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310]
        [0.6310, 1.0865, 1.0605, 0.6565, 0.2935, 0.9450]
        journey 1.2227|tensor([0, 1, 2, 3, 4, 5])""",
    "02_softmax": """
        [0.1455, 0.2278, 0.2249, 0.1285, 0.1077, 0.1656]
        [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]) sum 1.0
        [0.2098, 0.2006, 0.1981, 0.1242, 0.1220, 0.1452]
        [0.1385, 0.2184, 0.2128, 0.1420, 0.0988, 0.1896]
        tensor([1.0000, 0.0000]) tensor([nan, 0.])|in all 6.0""",
    "03_context_vectors": """
        [0.4419, 0.6515, 0.5683]|[0.4421, 0.5931, 0.5790]|[0.4431, 0.6496, 0.5671]
        [0.4304, 0.6298, 0.5510]|[0.4671, 0.5910, 0.5266]|[0.4177, 0.6503, 0.5645]""",
    "04_queries_keys_values": """
        query tensor([0.4306, 1.4551])|key tensor([0.4433, 1.1419])|value tensor([0.3951, 1.0037])
        tensor(1.8524)|[1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440]
        [0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820]|tensor([0.3061, 0.8210])
        64 63.80 0.818 0.164|1024 1021.95 0.953 0.164|0.334 of the rows""",
    "05_self_attention_module": """
        [0.2996, 0.8053]|[0.3061, 0.8210]|loss 2.2374, after one step 1.8898""",
    "06_causal_attention": """
        [0.1921, 0.3700, 0.5357, 0.6775, 0.8415, 1.0000]|mean 1.7888""",
    "07_causal_attention_module": "values tensor([0., 2.])|[-0.0983, 0.0489]",
    "08_multi_head_attention": "[-0.4519, 0.2216, 0.4772, 0.1063]",
    "09_multi_head_module": """
        [-0.4519, 0.2216, 0.4772, 0.1063]|[0.3190, 0.4858]|2,362,368""",
}


@pytest.mark.parametrize("lesson", NUMBERS)
def test_the_known_numbers_are_printed(lesson):
    cells = code_cells(NOTEBOOKS / f"{lesson}.ipynb")
    text = " ".join(" ".join(map(committed, cells)).split())
    for number in re.split(r"[|\n]", NUMBERS[lesson]):
        assert number.strip() in text
