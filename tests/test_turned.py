"""Lesson 16: what it says of models with turned positions holds over five seeds; its model, its
exercises and its pictures agree."""

import pytest
import torch

from helpers import Groups, InputError, Turns
from helpers.attention import split_heads
from helpers.lessons.lesson_16 import turned
from helpers.lessons.lesson_16.functions import grouped_attention, next_turned_context, rotate


@pytest.fixture(scope="module")
def model():
    return turned.load_turned()


TURNED = "turned", "turned, shared"


def test_what_the_lesson_says_of_five_seeds_holds():
    table = turned.five_seeds("table", 1)
    after = [turned.five_seeds(name, 1) for name in TURNED]
    both = {kind: sum((each[kind] for each in after), []) for kind in turned.ASKED}
    assert {len(each) for each in both.values()} == {10}
    assert {len(each) for each in table.values()} == {5}
    without = turned.five_seeds("no positions", 1)
    for kind in ("act", "sound"):
        assert min(both[kind]) > max(table[kind] + without[kind])
    worst = min(both["who"])
    assert f"{worst:.2f}" == "0.15" and worst < min(table["who"])
    for name in ("table", "no positions", *TURNED):
        alone, again = (turned.five_seeds(name, k) for k in (0, 1))
        for kind in ("sound", "who"):
            assert min(alone[kind]) == 1 > max(again[kind]), "each gets worse"
    means = [[f"{sum(each[kind]) / 5:.2f}" for each in after] for kind in ("sound", "act")]
    assert means == [["0.78", "0.66"], ["0.68", "0.69"]]


def test_distances_that_no_training_showed_do_harm():
    trained, moved = (turned.five_seeds("turned, shared", 0, gap)["act"] for gap in (0, 48))
    assert len(moved) == 5
    assert all(map(float.__gt__, trained, moved)), "in each model"


def test_the_kept_model_is_not_among_the_ten(model):
    sound = turned.recalls_after(model, 1)["sound"]
    assert sound < min(min(turned.five_seeds(name, 1)["sound"]) for name in TURNED)


def test_only_distances_count_in_the_model(model):
    words = turned.after_others(0, 20)[1]
    near, far = model(words), model(words, positions=torch.arange(1000, 1048))
    torch.testing.assert_close(near.softmax(-1), far.softmax(-1), rtol=0, atol=0.02)
    assert not torch.allclose(near, model(words, turn=lambda x, positions, base: x), atol=1)
    moved = model(words, positions=turned.moved(48))
    torch.testing.assert_close(moved[:, :20], near[:, :20])
    assert not torch.allclose(moved[:, 20:], near[:, 20:], atol=1)
    torch.testing.assert_close(model(words, positions=turned.moved(0)), near)


def test_the_model_attends_as_the_exercises_do(model):
    """A word at a time with a cache of turned keys, and all heads of the last word at once."""
    a, n = model.blocks[0].attention, 7
    x = torch.randn(1, n, 64, generator=torch.Generator().manual_seed(1))
    seen = []
    a.out_proj.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    a(x, torch.arange(5, 5 + n))
    heads = split_heads(seen[0], 4)[0]
    q = split_heads(a.W_query(x), 4)[0]
    k, v = (split_heads(W(x), 2)[0] for W in (a.W_key, a.W_value))
    positions = torch.arange(5, 5 + n)
    keys = rotate(k, positions, turned.BASE)
    for h in range(4):
        new = q[h, -1], k[h // 2, -1], v[h // 2, -1], keys[h // 2, :-1], v[h // 2, :-1]
        mine = next_turned_context(*new, position=4 + n, base=turned.BASE)
        torch.testing.assert_close(mine, heads[h, -1], rtol=1e-4, atol=1e-5)
    every = grouped_attention(rotate(q, positions, turned.BASE), keys, v)
    torch.testing.assert_close(every[:, -1], heads[:, -1], rtol=1e-4, atol=1e-5)


def test_arrows_say_how_they_were_turned_and_refuse_what_does_not_fit():
    before = torch.tensor([[0.9, 0.4], [0.7, -0.5]])
    after = rotate(before, torch.tensor([9, 3]), 100)
    show = dict(before=before, positions=(9, 3), speeds=torch.ones(1))
    picture = Turns(after, **show)
    assert picture.explain(0, 1) == "0.90 sin 9.00 + 0.40 cos 9.00, the angle being 9 × 1.00"
    assert picture.score == pytest.approx(float(after[0] @ after[1]))
    assert Turns(after + 1, **show).explain(0, 1) == "", "numbers of a different function"
    for wrong in (dict(positions=(9, 21)), dict(before=before[:1]), dict(speeds=torch.ones(2))):
        with pytest.raises(InputError):
            Turns(after, **show | wrong)


def test_groups_need_room():
    assert "query heads read the key heads [0, 1]" in Groups(torch.eye(2)).alt()
    for shape in ((17, 2), (2, 3)):
        with pytest.raises(InputError):
            Groups(torch.ones(shape))
