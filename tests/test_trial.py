"""A claim on trial: known answers, the changes, the controls, what does not fit."""

import contextlib
import io
import re
from dataclasses import replace

import own_subject
import pytest
import torch
import trial_figures
from learned_figures import SECOND as LESSON
from replay import code_cells, run
from torch.nn import functional as F
from trial_figures import KINDS, LAST, READER, RECALL, A, B, ByHand, by_hand, by_recall, own

from helpers import InputError
from helpers.models import judge, small
from helpers.models.judge import NEEDED, UNDECIDED, UNREAD
from helpers.models.small import course
from helpers.models.subject import Case, Subject
from helpers.models.trial import BY_SEED, Claim, trial

PRONOUN = Claim("pronouns", 1, "pronoun", "its noun", seeds=(0,))
SENTENCE = "the purple man took the blue hat and washed it"


# --- the course's models and their sentences ---


def lessons_own(steps):
    """Return the names of lesson 14 up to its training, which is cut to `steps` steps."""
    names, wanted = {"__name__": "__main__"}, r"^import sys|^class |^language|def (train|apart|at_)"
    for cell in code_cells(LESSON)[:9]:
        if re.search(wanted, cell.source, re.M):
            run(cell.source.replace("steps=400", f"steps={steps}"), names)
    return names


def test_the_lessons_models_and_their_training_are_those_of_the_trial(monkeypatch):
    """Otherwise a card would not repeat what the lesson shows."""
    monkeypatch.chdir(LESSON.parent)
    names, task = lessons_own(steps=3), course()["two layers"]
    with contextlib.redirect_stdout(io.StringIO()):
        mine = names["new_model"](2, answers=8, vocabulary=38, length=10)
        names["train"](mine, names["draw_apart"], 2)
    theirs = small.train(task.build, task.draw, 2, 3, task.rate)
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=0)
    words = task.read(SENTENCE).words
    torch.testing.assert_close(Subject(mine).answers(words), Subject(theirs).answers(words))
    torch.testing.assert_close(Subject(mine).weights(words), Subject(theirs).weights(words))


KINDS_OF_SENTENCES = [(name, content) for name in course() for content in course()[name].contents]


@pytest.mark.parametrize("name, content", KINDS_OF_SENTENCES)
def test_places_and_both_answers_are_what_a_reader_would_say(name, content):
    task = course()[name]
    for s in task.sentences(torch.Generator().manual_seed(4), 40, content):
        others = task.named(s.other) if name != "copying" else [task.answers[k] for k in s.other]
        right, turned = task.answers[s.answer], task.answers[s.turns]
        word, other = ({p: names[at] for p, at in s.places.items()} for names in (s.names, others))
        changed = {p for p in word if word[p] != other[p]}
        assert right != turned and len(s.words) == len(s.other)
        if name == "copying":
            assert word["its copy"] == word["last letter"] == other["last letter"] == others[-1]
            assert word["letter after its copy"] == right
            back = "".join(others[:-1]).rindex(others[-1])
            assert others[back + 1] == turned
            at = "letter after its copy" if content == "other letter" else "its copy"
            assert {at, "letter before it"} <= changed
            assert sum(a != b for a, b in zip(s.names, others, strict=True)) == 2
            continue
        colour = "its colour" if name == "two layers" else "its noun"
        assert word[colour].split()[0] == right
        assert task.language._pronoun[word["its noun"].split()[-1]] == word["pronoun"]
        if content == "other colour":
            assert other[colour].split()[0] == turned and turned not in " ".join(s.names)
        else:
            assert word["its noun"].split()[-1] == other["other noun"].split()[-1]
            assert (
                turned == other["other colour" if name == "two layers" else "other noun"].split()[0]
            )


def test_training_for_a_trial_leaves_the_random_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    with torch.inference_mode():  # as in a live view
        course()["pronouns"]._known(9)
    assert torch.equal(torch.rand(1), expected)


# --- known answers; all of them over five seeds: tests/trial_figures.py ---


@pytest.mark.parametrize("name", KINDS)
def test_a_model_made_by_hand_is_judged_as_it_is_known(name, monkeypatch):
    monkeypatch.setattr(judge, "SENTENCES", 16)
    found = by_hand(name, seed=1)
    assert (found["outcome"], found["sentences"]) == (KINDS[name][2], 16), found
    spare = "twins" in name or name == "a reader with a backup"
    assert ("lost only if layer" in found["why"]) == spare
    assert found["chance"] == (0.5 if "of two" in name else 1 / 8)
    if name in ("a reader", "one of twins"):  # its rival does nothing, or the same
        assert found["rival"]["read"] == (16 if name == "one of twins" else 0)


@pytest.mark.parametrize("claimed, outcome", RECALL.items())
def test_recall_of_two_pairs_is_judged_as_it_is_known(claimed, outcome):
    assert by_recall(2, claimed, 0)["outcome"] == outcome


@pytest.mark.parametrize(
    "claim, outcome",
    [
        (PRONOUN, NEEDED),
        (replace(PRONOUN, at="hat", looks="it", sentence=SENTENCE), NEEDED),
        (replace(PRONOUN, at="verb"), UNREAD),
        (replace(PRONOUN, instead="other noun"), UNREAD),  # only the colour of its noun is read
        (replace(PRONOUN, at="second noun"), UNDECIDED),  # meant in half of the sentences
    ],
)
def test_the_course_s_model_is_judged_as_it_is_known(claim, outcome):
    card = trial(claim)
    assert card.outcome == outcome, card
    if outcome == UNDECIDED:
        assert card.why == "read in 32 of 64 sentences; make a claim about one kind of sentence."


def test_a_claim_may_depend_on_the_seed():
    text = "the purple girl took the blue hat and examined it"
    claim = Claim("two layers", 1, "blue", "girl", instead="other noun", sentence=text)
    card = trial(replace(claim, seeds=(1, 4)))
    assert card.outcome == BY_SEED
    assert card.why == "not read with seed 1; read and needed with seed 4."


def test_no_random_claim_about_an_untrained_model_is_called_read(monkeypatch):
    monkeypatch.setattr(judge, "SENTENCES", 16)
    assert trial_figures.false_alarms(10) == 0


# --- the changes ---


def test_each_change_is_what_its_definition_says():
    draws = torch.Generator().manual_seed(0)
    own, values, copies = (torch.rand(3, 4, d, generator=draws) for d in (4, 2, 2))
    edge = judge.Edge(0, [1], 3, 2)
    moved = own @ values
    moved[1, 3] += own[1, 3, 2] * (copies[1, 2] - values[1, 2])
    zero, even = own.clone(), own.clone()
    zero[1, 3, 2], even[1, 3] = 0, 1 / 4
    for change, expected in (
        (judge._interchanged(edge, {0: (own, copies)}), moved),
        (judge._set_to_0(edge), zero @ values),
        (judge._made_even(edge), even @ values),
    ):
        before = own.clone(), values.clone()
        weights, brought = change(0, own, values)
        torch.testing.assert_close(weights @ brought, expected)
        assert torch.equal(own, before[0]) and torch.equal(values, before[1])
        assert all(map(torch.equal, change(1, own, values), before)), "another layer"
    past = judge._made_even(edge._replace(query=2))(0, own.tril(), values)[0]
    torch.testing.assert_close(past[1, 2], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0]))


# --- the controls ---


class Broken(ByHand):
    """A reader of two layers that calls change() wrongly."""

    def __init__(self, wrong):
        super().__init__([[READER, (LAST, 4, own)], [(LAST, B, own)]], 0)
        self.wrong = wrong

    def answers(self, words, change=None):
        return super().answers(words, change and (lambda *given: self.wrong(change, *given)))


def ignored(change, layer, *both):
    change(layer, *both)
    return both


def sums_to_1_again(change, layer, *both):
    weights, values = change(layer, *both)
    return weights / weights.sum(-1, keepdim=True), values


def only_of_layer_1(change, layer, *both):
    changed = change(layer, *both)
    return both if layer else changed


def reversed_heads(change, layer, *both):
    return change(layer, *(x.flip(0) for x in both))


@pytest.mark.parametrize(
    "wrong, said",
    [
        (ignored, "answers the same when change replaces all weights of layer 1"),
        (lambda change, k, w, v: (change(k, w, v)[0][..., :6], v), "with the same product"),
        (lambda change, k, w, v: (w, change(k, w, v)[1][:, :6]), "with the same product"),
        (sums_to_1_again, "with the same product"),
        (only_of_layer_1, "the same when change replaces all weights of layer 2"),
        (lambda change, k, w, v: change(1 - k, w, v), r"in their order.*it called: \[1, 0\]"),
        (lambda change, k, *both: both, r"should call change.*it called: \[\]"),
        (lambda change, k, w, v: change(k, w.roll(1, -1), v), "layer 1 are not those of weights"),
        (reversed_heads, "layer 1 are not those of weights"),
        (lambda change, k, w, v: [x / 2 for x in change(k, w, v)], "with the same product"),
        (lambda change, k, w, v: change(k, w, v * torch.nan), "with the same product"),
    ],
)
def test_a_broken_subject_is_refused_in_one_sentence(wrong, said):
    model = Broken(wrong)
    model.weights = ByHand(model.layers, 0).weights
    case = Case([0, 1, 2, 0, 0, 0], LAST, A, 1, [0, 3, 2, 0, 0, 0], 3)
    with pytest.raises(InputError, match=said) as error:
        judge.judge(model, 0, 0, [case])
    assert "\n" not in str(error.value)
    right = Broken(lambda change, *given: change(*given))
    assert judge.judge(right, 0, 0, [case])["outcome"] == UNDECIDED, "of one sentence"


def test_invented_weights_and_answers_that_are_no_numbers():
    model = ByHand([[READER]], 0)
    case = Case([0, 1, 2, 0, 0, 0], LAST, A, 1, [0, 3, 2, 0, 0, 0], 3)
    for wrong in (lambda x: x[1] / 0, lambda x: x[1][None]):
        model.read = wrong
        with pytest.raises(InputError, match="should be a tensor .answers,. of finite numbers"):
            judge.judge(model, 0, 0, [case])
    model.read = lambda x: F.dropout(x[1])
    with pytest.raises(InputError, match="differently when it runs twice: is dropout still on"):
        judge.judge(model, 0, 0, [case])
    for invented, said in (((1, 6, 6), "are not those of weights"), ((6, 6), "should be a list")):
        model = ByHand([[READER]], 0)
        model.weights = lambda words, shape=invented: [torch.full(shape, 1 / 6)]
        with pytest.raises(InputError, match=said):
            judge.judge(model, 0, 0, [case])


def test_a_model_may_overwrite_what_it_gave():
    """Otherwise the other sentence's value would be what the next layer left there."""

    def overwritten(change, layer, *both):
        changed = [x.clone() for x in change(layer, *both)]
        for x in both:
            x.zero_()
        return changed

    model = Broken(overwritten)
    model.layers = [[READER], [(LAST, 4, own)]]
    model.weights = ByHand(model.layers, 0).weights
    assert judge.judge(model, 0, 0, numbered(16))["outcome"] == NEEDED


# --- how many sentences ---


def numbered(count, claimed=lambda k: True):
    """Yield sentences about A; those that are not as claimed ask for B."""
    for k in range(count):
        a, b, new = k % 8, (k + 1) % 8, (k + 3) % 8
        at = A if claimed(k) else B
        yield Case([0, a, b, k, 0, 0], LAST, at, a, [0, new, b, k, 0, 0], new)


def test_the_number_of_sentences_is_fixed_and_too_few_decide_nothing():
    model = ByHand([[READER]], 0)
    for count, counted, outcome in ((1000, 64, NEEDED), (8, 8, NEEDED), (7, 7, UNDECIDED)):
        found = judge.judge(model, 0, 0, numbered(count))
        assert (found["sentences"], found["outcome"]) == (counted, outcome)
    assert "only 7 of 7 sentences" in found["why"] and "at least 8 are" in found["why"]
    same = judge.judge(model, 0, 0, 20 * [*numbered(1)])
    assert same["sentences"] == 1, "each sentence counts once"


def test_answers_that_are_not_given_leave_it_undecided():
    model = ByHand([[READER]], 0)
    for wrong in ("answer", "turns"):
        cases = [replace(case, **{wrong: (case.answer + 2) % 8}) for case in numbered(16)]
        found = judge.judge(model, 0, 0, cases)
        assert (found["outcome"], found["as_claimed"]) == (UNDECIDED, 0)


@pytest.mark.parametrize("yes, said", [(6, r"about (\d+) sentences would"), (4, "about one kind")])
def test_what_is_undecided_says_what_would_decide(yes, said):
    model = ByHand([[READER]], 0)
    found = judge.judge(model, 0, 0, numbered(8, lambda k: k < yes))
    assert (found["outcome"], found["read"]) == (UNDECIDED, yes)
    words = re.search(said, found["why"])
    assert found["why"].startswith(f"read in {yes} of 8 sentences; ")
    if words.groups():
        n = int(words[1])
        assert judge._clear(yes / 8 * n, n) and judge._clear(yes / 8 * (n - 1), n - 1) is None


def test_the_interval_is_that_of_wilson():
    assert judge._interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)


# --- a model of one's own ---


def test_a_model_of_ones_own_is_tried():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = own_subject.trained()
        claim = Claim("mine", 1, "last", "second", head=1, answer="right")
        card = trial(claim, model)
        assert card.outcome == NEEDED and "as given" in str(card) and not card.claim.seeds
        assert trial(replace(claim, at="third"), model).outcome == UNREAD
        assert trial(replace(claim, instead="other number"), model).outcome == NEEDED
        with pytest.raises(InputError, match="instead is 'zebra', but the other sentence has"):
            trial(replace(claim, instead="zebra"), model)
        with pytest.raises(InputError, match="'copying' is a model of the course; give yours"):
            trial(replace(claim, model="copying"), model)


# --- what does not fit ---


@pytest.mark.parametrize(
    "given, said",
    [
        (dict(model="GPT-2"), "there is no model 'GPT-2'; the course has pronouns, two layers"),
        (dict(model=None), "model is None; a word is expected"),
        (dict(instead="zebra"), "instead is 'zebra'; these sentences can have: other colour"),
        (dict(instead=" "), "instead is ' '; a word is expected"),
        (dict(layer=0), "layer is 0; a whole number of at least 1 is"),
        (dict(layer=2), "there is no layer 2 with attention; it has: 1"),
        (dict(layer=True), "layer is True"),
        (dict(head=2), "there is no head 2 in layer 1; it has 1"),
        (dict(head="first"), "head is 'first'; a whole number of at least 1, or \"all\" is"),
        (dict(looks="cat"), "'cat' is not in a sentence of this model; it has its noun"),
        (dict(at="cat", sentence=SENTENCE), "'cat' is not in “the purple man took the blue hat"),
        (dict(at="the", sentence=SENTENCE), "'the' is there 2 times; name its place"),
        (dict(sentence="the cat sat"), "'cat' is not a word of the small language"),
        (
            dict(sentence="the purple man took it"),
            "a person and a thing are expected, each with a colour",
        ),
        (dict(model="copying", sentence="abcabca"), "leave out sentence"),
        (dict(answer="wrong"), "the answer is 'wrong'; 'right' is expected"),
        (dict(seeds=()), "models by their seeds are expected"),
        (dict(seeds="01"), "seeds is '01'; up to 5"),
        (dict(seeds=range(6)), "up to 5 whole numbers"),
        (dict(seeds=(-1,)), "up to 5 whole numbers of at least 0"),
    ],
)
def test_a_claim_that_does_not_fit_is_one_sentence(given, said):
    with pytest.raises(InputError, match=said) as error:
        trial(Claim(**{**vars(PRONOUN), **given}))
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


@pytest.mark.parametrize(
    "models, said",
    [
        ({1: None}, "there is no model of seed 0; models has 1"),
        ("the model", "models by their seeds are expected, as in trial(claim, {0: model})"),
        ({0: None}, "the model of seed 0 does not fit"),
        ({0: course()["copying"].build()}, "the model of seed 0 does not fit"),
    ],
)
def test_models_of_another_kind(models, said):
    with pytest.raises(InputError, match=re.escape(said)):
        trial(PRONOUN, models)


def test_what_is_no_claim_and_no_case():
    model, (one,) = ByHand([[READER]], 0), numbered(1)
    for cases, said in (
        (None, "the cases are None; Cases are expected"),
        ([3], "a case is 3; a Case is expected"),
        ([replace(one, key=99)], "key of a case is 99; a whole number from 0 to 5"),
        ([replace(one, answer=2.0)], "answer of a case is 2.0; a whole"),
        ([replace(one, turns=one.answer)], "have the same length and a different answer"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            judge.judge(model, 0, 0, cases)
    with pytest.raises(InputError, match="the claim is 'copying'; a Claim is expected"):
        trial("copying")
