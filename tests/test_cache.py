"""Writing with a cache: what lesson 11 writes, and what it claims of models, masks and counts."""

import contextlib
import io
import re

import pytest
import torch
from execute import NOTEBOOKS
from replay import code_cells, committed, markdown_cells, replay, run

from helpers.lessons import cost

LESSON = NOTEBOOKS / "11_writing_with_a_cache.ipynb"


@pytest.fixture(autouse=True, params=[LESSON], ids=[LESSON.stem])
def own(request):
    """Return the names that the lesson defines. All test ids contain its name, for pytest -k 11."""
    return replay(request.param)[0]


def test_heads_share_keys_and_values_evenly_and_every_model_has_its_source():
    models = cost.load_models()
    assert len({m.model for m in models}) == len(models) >= 5
    for m in models:
        assert m.heads % m.num_kv_heads == 0
        assert 2019 <= m.year <= 2026 and (m.year == 2019) == (m.model == "GPT-2 small")
        assert re.search(r"20\d\d|\.(com|co)/", m.source)


def test_the_lesson_prints_the_counts_of_the_course():
    text = " ".join(" ".join(committed(cell) for cell in code_cells(LESSON)).split())
    assert "512 words: 22,500,864 scores or 131,328: 171 times as many" in text
    assert "is_causal: equals first value: True" in text
    assert "recorded: 15 times as long" in text and "takes 1.3 times as long" in text
    assert "lower right it: True, barks: True" in text and "no mask it: False" in text


def test_the_share_that_grows_with_the_text_is_as_folded():
    (fold,) = [c.source for c in markdown_cells(LESSON) if "how much of the work grows" in c.source]
    own, network = 4 * 4096**2, 3 * 4096 * 11008
    grows = 2 * 4096 * 4096
    share, with_own = (x / (grows + own + network) for x in (grows, grows + own))
    half, half_with_own = ((network + sign * own) // (2 * 4096) for sign in (1, -1))
    assert f"{share:.0%} at 4,096 words, and half at {half:,}." in fold
    ours = f"{with_own:.0%} at 4,096 words, and half at {half_with_own:,}."
    assert f"attention takes {ours}" in fold


def test_word_by_word_counts_every_score(own):
    word_by_word = own["word_by_word"]
    again = word_by_word(6, False)
    assert again.matrix.sum() == 56 and again.matrix[0, 0] == again.matrix.max() == 6
    assert torch.tensor(again.matrix).triu(1).sum() == 0  # what the mask hides is not counted
    assert word_by_word(6, True).matrix.sum() == 21
    assert "1 scores now" in word_by_word(1, False).caption
    assert (word_by_word(1, False).matrix == word_by_word(1, True).matrix).all()


def test_the_cells_work_below_the_training_of_lesson_10_as_the_fold_says(own):
    lesson_10 = replay(next(NOTEBOOKS.glob("10_*.ipynb")))[0]
    (fold,) = [c.source for c in markdown_cells(LESSON) if "rename `write`" in c.source.lower()]
    cells = re.findall(r"`(\w+)`", fold[fold.index("Copy the cells with") :].split(".")[0])
    prompt = own["numbered"]("Anna has a kite in the park. a dog comes.")
    names = dict(lesson_10, model=lesson_10["trained"], prompt=prompt)
    for cell in code_cells(LESSON):
        if re.search(rf"(?m)^(class|def) ({'|'.join(cells)})\b", cell.source):
            with contextlib.redirect_stdout(io.StringIO()):
                run(re.sub(r"\bwrite\(", "write_fast(", cell.source), names)
    words, scores = names["write_slowly"](prompt)
    cached, cached_scores, _ = names["write_fast"](prompt)
    assert torch.equal(words, cached)
    torch.testing.assert_close(scores, cached_scores, atol=1e-4, rtol=0)
    assert names["written"](cached) == names["written"](words)
    changed = {name for name in lesson_10 if names[name] is not lesson_10[name]}
    assert changed <= {"model", "prompt"}, "lesson 10 needs them"


def test_the_target_of_the_published_models_is_met_at_the_last_length_only(own):
    met = [bool(own["published"](n=n).reached) for n in (1024, 4096, 8192, 32768, 131072)]
    assert met == [False] * 4 + [True]
