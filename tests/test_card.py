"""The card of a trial: ten lines, data with hashes, a file."""

import json
import re
from dataclasses import replace

import pytest
import torch
from test_trial import PRONOUN
from trial_figures import by_hand

from helpers import InputError
from helpers.models import judge, small
from helpers.models.judge import NEEDED, UNDECIDED, UNREAD
from helpers.models.small import course
from helpers.models.trial import WIDE, Card, Claim, trial


def test_a_card_is_data_with_hashes_that_repeats_itself_and_prints_ten_lines(tmp_path):
    card = trial(replace(PRONOUN, seeds=(0, 1)))
    lines = str(card).splitlines()
    assert len(lines) == 10 and max(map(len, lines)) <= WIDE and repr(card) == str(card)
    card.save(tmp_path / "card.json")
    data = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    assert data == card.data
    course()["pronouns"]._known.cache_clear()  # so it is trained again
    assert trial(Claim(**data["claim"])).data == data
    for path, said in (("card.json", "exists already"), ("no/card.json", "cannot be written")):
        with pytest.raises(InputError, match=said):
            card.save(tmp_path / path)


@pytest.mark.parametrize("layer", [1, 48])
def test_a_card_has_ten_lines_also_with_long_names_and_many_outcomes(layer):
    names = dict(model="a model " * 20, looks="##examined" * 9, at="what it is " * 9, head=layer)
    found = by_hand("one of twins", seed=1)
    found["rival"] |= dict(layer=layer, heads=[layer])
    for outcomes in ([found["outcome"]], [NEEDED, UNREAD, UNDECIDED, found["outcome"], NEEDED]):
        models = {f"seed {1000 + k}": found | dict(outcome=x) for k, x in enumerate(outcomes)}
        lines = str(Card(replace(PRONOUN, layer=layer, **names), models)).splitlines()
        assert len(lines) == 10 and max(map(len, lines)) <= WIDE
        assert f"layer {layer}" in lines[1] and " reads " in lines[1]
        assert all(" " in cell for cell in re.findall(r".{11}(?!$)", lines[-1][33:]))


def test_another_model_sentence_or_code_has_another_hash(monkeypatch):
    def hashes(claim=PRONOUN, moved=0.0):
        model = course()["pronouns"].trained(0)
        with torch.no_grad():
            model.layers[0].W_query.weight += moved
        data = trial(claim, {0: model}).data
        return [*data["models"]["seed 0"]["hashes"].values(), data["code"]]

    first = hashes()
    assert hashes() == first
    assert [a == b for a, b in zip(hashes(moved=1e-4), first, strict=True)] == [False, True, True]
    drawn = hashes(replace(PRONOUN, draw=1))
    assert [a == b for a, b in zip(drawn, first, strict=True)] == [False, False, True]
    monkeypatch.setattr(judge, "__file__", small.__file__)
    assert hashes()[2] != first[2]
