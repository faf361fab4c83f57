"""Lesson 16: what it says of models with turned positions holds over five seeds; its model, its
exercises and its pictures agree."""

import pytest
import torch

from helpers import Groups, InputError, Turns
from helpers.attention import grouped_attention, next_turned_context, rotate, split_heads
from helpers.attention.data import rows_of
from helpers.lessons.lesson_16 import turned


@pytest.fixture(scope="module")
def model():
    return turned.load_turned()


def test_a_table_forgets_more_than_any_turned_model_after_another_story():
    """What the lesson says of the acts and the sounds of all five seeds, and of who."""
    assert len(rows_of(turned.FIGURES)) == 5 * (3 * 3 + 2)
    table, *others = (turned.spread(name, 1) for name in ("table", "turned", "turned, shared"))
    for other in others:
        for k, kind in enumerate(turned.ASKED):
            assert (table[k][2] < other[k][1]) == (kind != "who")
    for name in ("table", "turned", "turned, shared"):
        alone, after = (turned.spread(name, count) for count in (0, 1))
        assert all(low >= 0.69 for _, low, _ in alone)
        assert [high for _, _, high in after] < [high for _, _, high in alone]


def test_only_distances_count_in_the_model(model):
    words = turned.after_others(0, 20)[1]
    near, far = model(words), model(words, first=1000)
    torch.testing.assert_close(near.softmax(-1), far.softmax(-1), rtol=0, atol=0.02)
    assert not torch.allclose(near, model(words, turn=lambda x, places, base: x), atol=1)
    # a window of all words hides nothing, one of a single word hides the rest
    torch.testing.assert_close(model(words, window=48), near)
    first = model(words[:, 20:21])
    torch.testing.assert_close(model(words, window=1)[:, 20:21], first, rtol=1e-4, atol=1e-4)


def test_the_model_attends_as_the_exercises_do(model):
    """A word at a time with a cache of turned keys, and all heads of the last word at once."""
    a, n = model.blocks[0].attention, 7
    x = torch.randn(1, n, 64, generator=torch.Generator().manual_seed(1))
    seen = []
    a.out_proj.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    a(x, first=5)
    heads = split_heads(seen[0], 4)[0]
    q, k, v = split_heads(a.W_query(x), 4)[0], *(split_heads(W(x), 2)[0] for W in (a.W_key, a.W_value))
    places = torch.arange(5, 5 + n)
    keys = rotate(k, places, turned.BASE)
    for h in range(4):
        new = q[h, -1], k[h // 2, -1], v[h // 2, -1], keys[h // 2, :-1], v[h // 2, :-1]
        mine = next_turned_context(*new, position=4 + n, base=turned.BASE)
        torch.testing.assert_close(mine, heads[h, -1], rtol=1e-4, atol=1e-5)
    every = grouped_attention(rotate(q, places, turned.BASE), keys, v)
    torch.testing.assert_close(every[:, -1], heads[:, -1], rtol=1e-4, atol=1e-5)


def test_arrows_say_how_they_were_turned_and_refuse_what_does_not_fit():
    before = torch.tensor([[0.9, 0.4], [0.7, -0.5]])
    after = rotate(before, torch.tensor([9, 3]), 100)
    show = dict(before=before, places=(9, 3), speeds=torch.ones(1))
    picture = Turns(after, **show)
    assert picture.explain(0, 1) == "0.90 sin 9.00 + 0.40 cos 9.00, the angle being 9 × 1.00"
    assert picture.score == pytest.approx(float(after[0] @ after[1]))
    assert Turns(after + 1, **show).explain(0, 1) == "", "numbers of a different function"
    for wrong in (dict(places=(9, 21)), dict(before=before[:1]), dict(speeds=torch.ones(2))):
        with pytest.raises(InputError):
            Turns(after, **show | wrong)


def test_groups_need_room():
    assert "query heads read the key heads 0, 1" in Groups(torch.eye(2)).alt()
    for shape in ((17, 2), (2, 3)):
        with pytest.raises(InputError):
            Groups(torch.ones(shape))
