"""Writing with a cache: what lesson 15 says of published models, of masks and of its counts."""

import re

import pytest
import torch
from execute import NOTEBOOKS
from replay import code_cells, committed, replay

from helpers import attention
from helpers.models import cost

LESSON = NOTEBOOKS / "15_writing_with_a_cache.ipynb"


@pytest.fixture(autouse=True, params=[LESSON], ids=[LESSON.stem])
def own(request):
    """What the lesson defines. All tests have its name in their ids, for pytest -k 15."""
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
    assert "512 words: 44,870,400 scores or 131,328, 342 times as many" in text
    assert "is_causal: the first value True" in text
    assert "lower right one: True, step: True" in text and "no mask one: False" in text
    assert "cache 2.00 GiB, parameters 13 GiB" in text
    assert "4,096 words: 14%" in text and "half at 24,704 words" in text


def test_word_by_word_counts_every_score(own):
    word_by_word = own["word_by_word"]
    again = word_by_word(6, False)
    assert again.matrix.sum() == 91 and again.matrix[0, 0] == again.matrix.max() == 6
    assert torch.tensor(again.matrix).triu(1).sum() == 35
    assert word_by_word(6, True).matrix.sum() == 21
    assert "1 scores now" in word_by_word(1, False).caption
    assert (word_by_word(1, False).matrix == word_by_word(1, True).matrix).all()


def test_the_masks_of_the_lesson_are_those_that_it_names(own):
    masks = own["masks"]
    assert torch.equal(masks["lower right"], attention.cache_mask(4, 2))
    options = [dict(is_causal=True), dict(attn_mask=masks["is_causal"])]
    queries, keys, values = (own[name] for name in ("queries", "keys", "values"))
    contexts = [
        torch.nn.functional.scaled_dot_product_attention(queries[4:], keys, values, **one)
        for one in options
    ]
    torch.testing.assert_close(*contexts)


def test_the_published_models_show_what_the_lesson_says(own):
    published = own["published"]
    models = cost.load_models()
    names = [m.model for m in models]
    for n in (1024, 131072):
        gib = published(n=n).matrix
        for m, row in zip(models, gib, strict=True):
            size = attention.cache_bytes(n, m.layers, m.num_kv_heads, m.head_dim, 2, 1)
            assert row[1] == pytest.approx(size / 2**30)
            assert row[0] == pytest.approx(m.heads * n * n * 2 / 2**30)
        cache = gib[:, 1].tolist()
        assert names[cache.index(max(cache))] == "Llama 2 7B"
        assert names[cache.index(min(cache))] == "Falcon 7B"
        of = dict(zip(names, cache, strict=True))
        assert 0.98 < of["Llama 3.1 405B"] / of["Llama 2 7B"] < 1
        assert of["Falcon 7B"] < of["GPT-2 small"]
    assert (gib[:, 1] < 80).all() and (gib[:, 0] > 80).all()
    large = published(n=131072)
    assert large.highlights == {(i, 0) for i in range(len(models))}
