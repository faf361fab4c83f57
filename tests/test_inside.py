"""Interventions in models of transformers: equal to hooks written by hand, shown, put on trial."""
# ruff: noqa: F401, F811 (fixtures are imported)

import copy
import re
from dataclasses import replace

import pytest
import torch
from own_models import TEXT, built, complaint, tiny

from helpers.models import judge
from helpers.models.inside import GAP, NEXT, OwnModel
from helpers.models.training import Adam
from helpers.models.trial import Claim, trial

ASKED = "the man took the hat and ___ it on a fox"
# The attention, its output matrix, and the values of head 3 computed from the attention's input:
CHANGED = {
    # in GPT-2 the values are the last third of one matrix
    "gpt2": ("transformer.h.1.attn", "c_proj", lambda a, x: a.c_attn(x)[..., 64 + 16 : 64 + 24]),
    # with grouped heads, heads 3 and 4 share the second key and value
    "llama": ("model.layers.1.self_attn", "o_proj", lambda a, x: a.v_proj(x)[..., 8:16]),
    "gemma2": ("model.layers.1.self_attn", "o_proj", lambda a, x: a.v_proj(x)[..., 8:16]),
    # in GPT-NeoX query, key and value of each head are side by side
    "gpt_neox": ("gpt_neox.layers.1.attention", "dense",
                 lambda a, x: a.query_key_value(x)[..., 2 * 24 + 16 : 2 * 24 + 24]),
    "bert": ("bert.encoder.layer.1.attention", "output.dense",
             lambda a, x: a.self.value(x)[..., 16:24]),
    "roberta": ("roberta.encoder.layer.1.attention", "output.dense",
                lambda a, x: a.self.value(x)[..., 16:24]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_weights_that_are_replaced_by_themselves_change_nothing(built, name):
    model, calls = built(name), []

    def itself(layer, weights, values):
        calls.append(layer)
        return weights, values

    plain = direct_answers(model)
    torch.testing.assert_close(model.answers(ASKED), plain, rtol=0, atol=1e-6)
    torch.testing.assert_close(model.answers(ASKED, itself), plain, rtol=0, atol=1e-6)
    assert calls == [0, 1]


def direct_answers(model):
    """Return the answers of a plain model of transformers with the same parameters."""
    inner = model.model
    own = type(inner)._from_config(copy.deepcopy(inner.config), attn_implementation="eager").eval()
    own.load_state_dict(inner.state_dict())
    inputs, *_ = model._inputs(ASKED)
    with torch.no_grad():
        logits = own(**inputs).logits[0]
    ids = inputs["input_ids"][0].tolist()
    gap = model.tokenizer.mask_token_id
    return logits[ids.index(gap) if model.asks == GAP else -1].log_softmax(-1)


def test_each_number_of_the_map_is_that_of_one_intervention(built, capsys):
    model = built("gemma2")  # a model that has a window in every other layer
    view, before = model.effects(ASKED), model.answers(ASKED)
    for at, head in [(k, h) for k in range(2) for h in range(4)]:

        def made_even(layer, weights, values, at=at, head=head):
            if layer == at:
                seen = (weights > 0).any(0).float()
                weights[head] = seen / seen.sum(-1, keepdim=True)
            return weights, values

        after = model.answers(ASKED, made_even)
        moved = (after.exp() - before.exp()).abs().sum() / 2
        assert abs(view.matrix[at, head] - moved) < 2e-5
    assert view.matrix.max() > 1e-4, "nothing moved: the test would see nothing"
    assert "■" * 20 in capsys.readouterr().out


def by_hand(name, model, weights, times=1, asked=ASKED, new=None):
    """Put the output of head 3 in by hand, at the input of the output matrix: weights (n, n) times
    its values, times a number. Return (answers, values).  new: (query, key, values): the query gets
    from this key one of these values."""
    place, out, values = CHANGED[name]
    attention, found = model.model.get_submodule(place), {}

    def keep(_, args, kwargs):
        found.update(x=(args or tuple(kwargs.values()))[0])

    def put(_, args):
        (x,) = args
        x = x.clone()
        found["values"] = own = values(attention, found["x"])[0]
        x[0, :, 16:24] = times * weights @ own
        if new:
            query, key, others = new
            x[0, query, 16:24] += weights[query, key] * (others[key] - own[key])
        return (x,)

    hooks = [
        attention.register_forward_pre_hook(keep, with_kwargs=True),
        attention.get_submodule(out).register_forward_pre_hook(put),
    ]
    try:
        inputs = model._inputs(asked)[0]
        return model._answer(model._forward(inputs), inputs), found["values"]
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize("name", CHANGED)
def test_an_intervention_equals_hooks_written_by_hand(built, name):
    """The weights of head 3 of the last layer are turned round, its values are tripled."""
    model = built(name)
    weights = model.weights(ASKED)[1][2]

    def turn(layer, weights, values):
        if layer == 1:
            weights[2], values[2] = weights[2].flip(0), 3 * values[2]
        return weights, values

    mine, before = model.answers(ASKED, turn), model.answers(ASKED)
    theirs, _ = by_hand(name, model, weights.flip(0), 3)
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-5)
    assert (mine - before).abs().max() > 1e-3
    same, _ = by_hand(name, model, weights)
    torch.testing.assert_close(same, before, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", CHANGED)
def test_what_a_trial_changes_equals_hooks_written_by_hand(built, name):
    """Head 3 looks one back from the answer: no weight, an even row, a different text's value."""
    model, other = built(name), ASKED.replace("and", "cat").replace(" a ", " cat ")
    weights = model.weights(ASKED)[1][2]
    at = len(weights) - 1 if model.asks == NEXT else 6
    edge, zero, even = judge.Edge(1, [2], at, at - 1), weights.clone(), weights.clone()
    zero[at, at - 1], even[at] = 0, 1 / len(weights)
    others = by_hand(name, model, model.weights(other)[1][2], asked=other)[1]
    before, there = model.answers(ASKED), judge._run(model, other)[1]
    for change, theirs in (
        (judge._set_to_0(edge), by_hand(name, model, zero)),
        (judge._made_even(edge), by_hand(name, model, even)),
        (judge._interchanged(edge, there), by_hand(name, model, weights, new=(at, at - 1, others))),
    ):
        mine = model.answers(ASKED, change)
        torch.testing.assert_close(mine, theirs[0], rtol=0, atol=1e-5)
        assert (mine - before).abs().max() > 1e-4


@pytest.mark.parametrize(
    "name, said",
    [
        ("deberta", "its attention weights cannot be read in every layer; choose a decoder"),
        ("granite_swa", "its answers change when its own weights are put back; choose"),
    ],
)
def test_a_model_whose_weights_cannot_be_changed_says_why(built, name, said):
    assert f"{name} cannot be shown: {said}" in complaint(built, name)


def test_a_model_of_texts_and_pictures_needs_both(tiny):
    import transformers as hf

    of_text = dict(vocab_size=80, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    of_pictures = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=32)
    config = hf.CLIPConfig(text_config=of_text, vision_config=of_pictures)
    text = complaint(OwnModel, "clip", hf.CLIPModel(config), tiny.tokenizer, "")
    assert "clip cannot be shown: it does not run on a text (" in text and "choose a dec" in text


def test_a_weight_that_is_taken_out_is_divided_among_the_rest(tiny):
    look, keep = tiny.look(TEXT), torch.ones(5, 5, dtype=torch.bool)
    keep[4, 1] = keep[4, 2] = keep[0, 0] = keep[0, 4] = False
    view = tiny.without(TEXT, 3, 2, keep)
    before = look.layers[2][1]
    expected = before.clone()
    expected[4, 1] = expected[4, 2] = expected[0, 0] = 0
    expected[4] /= expected[4].sum()
    torch.testing.assert_close(torch.tensor(view.matrix).float(), expected)
    assert view.mark(4, 1) == view.mark(0, 0) == "out" and view.mark(0, 4) == view.mark(4, 0) == ""

    def change(layer, weights, values):
        if layer == 2:
            weights[1] = expected
        return weights, values

    old, new = tiny.answers(TEXT), tiny.answers(TEXT, change)
    first, second, third = view.caption.split("\n")
    assert first == f"Before: {tiny.likeliest(old)}." and second == f"After: {tiny.likeliest(new)}."
    best = new.argmax().item()
    assert f"After: {tiny._names([best])[0]} {new[best].exp():.2f}, " in second
    assert third.startswith(f"{(new.exp() - old.exp()).abs().sum() / 2:.2f} of the probability")
    assert view.explain(4, 3).endswith(f"the model has {before[4, 3]:.2f} here")
    assert "keep has the shape (2, 2); (5, 5) is expected" in complaint(
        tiny.without, TEXT, 1, 1, keep[:2, :2]
    )


def test_a_gap_is_needed_where_a_model_fills_gaps(built):
    bert = built("bert")
    assert bert.look(TEXT).rows == TEXT.split(), "a text without a gap can be looked at"
    for text in (TEXT, "the ___ took the ___", "hat " * 600 + "___"):
        assert "type ___ once" in complaint(bert.answers, text)
    assert torch.equal(bert.answers("the ___ took it"), bert.answers("the [MASK] took it"))
    assert bert.look("the _____ took it").rows[1] == "[MASK]"


def test_a_change_that_returns_something_else_is_told(tiny):
    wide = torch.ones(4, 5, 6)
    endless = torch.ones(4, 5, 5) / 0, torch.ones(4, 5, 8)
    for wrong in (None, torch.ones(5, 5), (torch.ones(5, 5), wide), (wide, wide), endless):
        assert "change returned" in complaint(tiny.answers, TEXT, lambda *_, wrong=wrong: wrong)
    with pytest.raises(ZeroDivisionError):
        tiny.answers(TEXT, lambda *_: 1 // 0)
    before = tiny.answers(TEXT)
    assert torch.isfinite(before).all(), "and it goes on"
    tiny.answers(TEXT).zero_()
    tiny.answers(TEXT, lambda layer, w, v: (w.zero_(), v.zero_()))
    tiny.weights(TEXT)[0].zero_()
    assert torch.equal(tiny.answers(TEXT), before) and tiny.weights(TEXT)[0].sum() > 0


def test_one_piece_has_no_piece_before_it(tiny):
    look = tiny.look("hat")
    assert look.per_head(lambda weights: weights[0, 0]).matrix.min() == 1
    said = complaint(look.per_head, lambda weights: weights.diagonal(-1).mean())
    assert "pieces: 1; type a longer text" in said


FORM = "the man took the {dog cat fox hat one brown quick saw} it"


def test_a_claim_is_tried_on_the_sentences_that_it_names(tiny):
    claim = Claim("tiny", 3, "it", "{}", head=1, answer="likeliest", sentence=FORM)
    cases = list(tiny.cases(claim))
    assert [case.words.split()[4] for case in cases] == FORM[18:-4].split()
    for case in cases:
        assert (case.query, case.key) == (5, 4)
        assert case.answer == tiny.answers(case.words).argmax() != case.turns
        assert case.turns == tiny.answers(case.other).argmax()
    assert "8 of 8" in str(trial(claim, tiny))
    cat = list(tiny.cases(replace(claim, looks="the", at="the")))[1]
    assert (cat.query, cat.key) == (3, 0), "the last that looks, the first that is looked at"
    for wrong, said in (
        (dict(sentence="the cat took it"), "needs words to choose from"),
        (dict(sentence=None), "needs words to choose from"),
        (dict(answer="hat"), "answer='likeliest'"),
        (dict(sentence=FORM.replace("cat", "dogs")), "'dogs' is not a piece of this text"),
        (dict(layer=4), "there is no layer 4 with attention; it has: 1, 2, 3"),
    ):
        assert said in complaint(trial, replace(claim, **wrong), tiny)


NOUNS = "hat man cat dog fox one brown quick she saw was is in on of has and"


def test_what_a_model_learned_to_read_is_read_and_needed(tiny):
    """A GPT-2 of one layer learns to name the first of two nouns."""
    import transformers as hf

    config = copy.deepcopy(tiny.model.config)
    config.update(dict(n_layer=1, n_head=1, initializer_range=0.2))
    numbers = torch.tensor(tiny.tokenizer(NOUNS)["input_ids"])
    frame = torch.tensor(tiny.tokenizer("the cat took the hat and took it")["input_ids"])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = hf.GPT2LMHeadModel._from_config(config, attn_implementation="eager").eval()
        adam = Adam(model)
        for _ in range(200):
            words = frame.repeat(64, 1)
            words[:, [1, 4]] = numbers[torch.randint(len(numbers), (64, 2))]
            said = model(words, use_cache=False).logits[:, -1]
            adam.step(torch.nn.functional.cross_entropy(said, words[:, 1]), 0.01)
    learned = OwnModel("learned", model, tiny.tokenizer, NEXT)
    sentence = f"the {{{NOUNS.removeprefix('hat ')}}} took the hat and took it"
    claim = Claim("learned", 1, "it", "{}", answer="likeliest", sentence=sentence)
    assert trial(claim, learned).outcome == "read and needed"
    assert trial(replace(claim, at="hat"), learned).outcome == "not read"
