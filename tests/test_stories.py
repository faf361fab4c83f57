"""The stories are correct English, and the kept model writes them because of where it looks."""

import contextlib
import random
import re
from unittest.mock import patch

import pytest
import torch
from execute import NOTEBOOKS
from replay import code_cells, markdown_cells, quick, replay, run, shown_by, solutions
from story_figures import claims_of_parts, lesson_10

from helpers import InputError, attention, yours
from helpers.lessons import stories
from helpers.lessons.lesson_09 import recalls
from helpers.lessons.lesson_10 import trials
from helpers.lessons.lesson_10.anatomy import draw_block, draw_model
from helpers.lessons.lesson_10.log import Log
from helpers.lessons.stories import (
    ACTS,
    LENGTH,
    NAMES,
    PLACES,
    SOUNDS,
    WORDS,
    Storyteller,
    load_stories,
    numbered,
    weights_of,
    write,
)
from helpers.lessons.tales import Story
from helpers.lessons.training import Adam
from helpers.tools.pages.record import restored

LESSON = NOTEBOOKS / "10_a_block_that_writes.ipynb"
START = "Anna has a kite in the park. Ben is in the yard with a book. a dog comes."
NAME = f"({'|'.join(sum(NAMES.values(), []))})"
THING, PLACE = f"(a|an) ({'|'.join(ACTS)})", f"the ({'|'.join(PLACES)})"
ANIMAL = f"({'|'.join(SOUNDS)})"
SENTENCES = [
    f"{NAME} (has {THING} in|takes {THING} to) {PLACE}",
    f"{NAME} (is in|goes to) {PLACE} with {THING}",
    f"a {ANIMAL} (comes|waits)",
    rf"(she|he) \w+ the ({'|'.join(ACTS)})",
    r"it \w+",
    f"the {ANIMAL} finds (her|him) in {PLACE}",
    f"the {ANIMAL} follows (her|him) to {NAME}",
]


@pytest.fixture(scope="module")
def kept():
    return load_stories()


@pytest.fixture(scope="module")
def lesson():
    """The names of lesson 10, up to its training."""
    return lesson_10()


def test_every_sentence_of_a_story_is_right_and_says_what_was_said_before():
    draws = random.Random(1)
    for _ in range(500):
        story = Story(draws)
        said = " ".join(story.words)
        assert len(story.words) == LENGTH and set(story.words) <= {*WORDS}
        sentences = [re.sub("^ ?(today|soon) ", "", s).strip() for s in said.split(" .")[:-1]]
        assert all(any(re.fullmatch(form, s) for form in SENTENCES) for s in sentences), said
        assert len({*sentences}) == len(sentences) and not re.search(r"\ba apple|an [^a]", said)
        facts, deeds = sentences[:3], sentences[3:]
        people = {who: next(s for s in facts if s.split()[0] in NAMES[who]) for who in NAMES}
        (animal,) = re.findall(f"a {ANIMAL} (?:comes|waits)", said)
        assert story.words[story.at["it"]] == animal
        for who, fact in people.items():
            assert story.words[story.at[who]] == re.search(f" {THING}", fact)[2]
        for deed in deeds:
            first, *_, last = deed.split()
            who = "she" if {first, *deed.split()} & {"she", "her"} else "he"
            other = people["he" if who == "she" else "she"]
            if first in NAMES:
                assert ACTS[last] in deed and f" {last}" in people[who], said
            elif first == "it":
                assert last == SOUNDS[animal], said
            else:
                assert f"the {animal} " in deed, said
                assert last in (people[who] if "finds" in deed else other.split()[0]), said


def test_a_seed_writes_the_same_text_and_leaves_other_draws_alone(kept):
    before = torch.get_rng_state()
    text = write(kept, START, words=15, seed=3)
    assert text.startswith(START) and len(stories.read(text)) == len(stories.read(START)) + 15
    assert text == write(kept, START, words=15, seed=3) != write(kept, START, words=15, seed=4)
    assert torch.equal(torch.get_rng_state(), before)
    assert len(stories.read(write(kept, START, words=500))) == LENGTH


@pytest.mark.parametrize(
    "start, said",
    [
        ("Anna has a kitten.", "'kitten' is not a known word. Known words: Anna Nora"),
        (" ", "the start has 0 words; 1 to 48 are expected"),
        ("a " * 49, "the start has 49 words"),
    ],
)
def test_a_start_that_cannot_be_read_is_refused_with_what_is_expected(start, said):
    with pytest.raises(InputError, match=said):
        write(Storyteller(), start)
    with pytest.raises(InputError, match="temperature is 0; a number above 0"):
        write(Storyteller(), "Anna", temperature=0)


def test_a_text_of_your_own_keeps_its_most_frequent_words(tmp_path):
    file = tmp_path / "own.txt"
    file.write_text("The rain, the sun, don't stop. " * 24 + "Snow!", encoding="utf-8")
    known, text = trials.own_text(file, most=7)
    assert (len(known), text.shape) == (8, (218,)) and {"the", ",", "."} < {*known}
    assert known[text[-2]] == trials.RARE and "don't" in {*trials.own_text(file)[0]}
    passages = trials.draw_passages(text, random.Random(0), 50)
    starts = {int(row) for row in passages[:, 0]}
    assert passages.shape == (50, LENGTH) and len(starts) > 3
    model = Storyteller(known=known)
    assert write(model, "the , the", words=4).startswith("the, the")
    with pytest.raises(InputError, match="'snow' is not a known word"):
        write(model, "snow")


def test_a_text_that_is_too_short_to_learn_from_is_refused(tmp_path):
    (tmp_path / "short.txt").write_text("one two three")
    with pytest.raises(InputError, match="the text has 3 words; at least 192 are expected"):
        trials.own_text(tmp_path / "short.txt")


def test_the_model_of_lesson_10_is_the_one_that_is_kept(kept, lesson):
    words = numbered(START)
    model = lesson["Model"](WORDS)
    missing, unknown = model.load_state_dict(kept.state_dict(), strict=False)
    assert not missing and not unknown
    torch.testing.assert_close(model(words), kept(words))
    torch.testing.assert_close(weights_of(model, START), weights_of(kept, START))


class Fused(torch.nn.Module):
    """Attention that nothing can look into: one matrix for queries, keys and values."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        self.num_heads, self.qkv = num_heads, torch.nn.Linear(d_in, 3 * d_out)

    def forward(self, x):
        return self.qkv(x)[..., : x.shape[-1]]


def test_look_refuses_a_model_whose_weights_it_would_not_show(lesson, kept):
    with pytest.raises(InputError, match="Fused has no W_query; a picture needs the parts"):
        weights_of(Storyteller(Fused), START)
    model = lesson["Model"](WORDS)
    model.blocks[0].forward = model.blocks[0].attention.forward  # no sum, no network
    with pytest.raises(InputError, match="do not give its scores"):
        weights_of(model, START)

    def careless(layer, weights, values):
        return weights.nothing

    with pytest.raises(AttributeError, match="nothing"):
        weights_of(kept, START, careless)


def test_a_log_draws_the_line_of_luck():
    log = Log(100, 0.534)
    log.add(torch.tensor(4.0))
    (axes,), said = log.still().figure.axes, log.still().alt
    assert [line.get_label() for line in axes.lines][-1] == "luck alone: 0.53"
    assert "a line at 0.53 for luck alone" in said
    assert abs(trials.luck() - 0.53) < 0.01


def test_a_log_is_drawn_anew_while_it_runs_and_its_words_are_the_same_on_every_machine():
    """Losses after hundreds of steps are not; a reader sees them in the picture."""
    logs = []
    for loss in (4.0, 0.5):
        shown = []
        with patch("helpers.lessons.lesson_10.log.display") as display:
            display.return_value.update = shown.append
            log = Log(100)
        for step in range(101):
            unseen = None if step % 10 else torch.tensor(1 + abs(step - 30) / 100)
            log.add(torch.tensor(loss), unseen, "a <b>" if step in (50, 100) else "")
        logs.append(log)
        assert 7 <= len(shown) <= 10
        (curve,), (texts,) = shown[-1].figure.axes, shown[-1].figure.texts
        assert [len(line.get_xdata()) for line in curve.lines] == [101, 11]
        assert "lowest after 30 steps: 1.00" in curve.lines[1].get_label()
        assert f"after 50 steps, loss {loss:.2f}: a <b>" in texts.get_text()
    one, other = (log.still() for log in logs)
    assert repr(one) == repr(other) and one.alt == other.alt and one.png() != other.png()


def views_of(values):
    return {value.title: value for value in values if hasattr(value, "compute")}


def test_the_targets_of_lesson_10_are_confirmed_where_they_are_and_nowhere_else():
    views = views_of(replay(LESSON)[1])
    first, writes = views["what comes next"], views["go on"]
    ends = ["a dog waits. it", "a dog waits. she", "he is in the", "she", "soon she"]
    with restored(first), restored(writes):
        assert sum(bool(first.compute({"step": k})["reached"]) for k in range(20)) == 1
        found = [writes.compute({"end": end})["reached"] for end in ends]
    assert found[:3] == [""] * 3 and found[3] == found[4] != ""
    assert found[3].startswith("No one flies a kitchen.")


@pytest.mark.parametrize("heads, part", [(1, None), (2, "positions"), (8, "heads")])
def test_any_number_of_heads_and_a_part_left_out_run_every_cell_and_picture(
    heads, part, monkeypatch
):
    few = recalls.new_stories(20)
    for room in (recalls, trials):
        monkeypatch.setattr(room, "new_stories", lambda count: few)
    edits = {"known, num_heads=4": f"known, num_heads={heads}"}
    edits |= {"left_out = None": f"left_out = {part!r}"}
    names, values = {"__name__": "__main__"}, []
    for cell in code_cells(LESSON):
        source = quick(cell.source)
        for before in [before for before in edits if before in source]:
            source = source.replace(before, edits.pop(before))
        values.append(shown_by(source, names)[0])
    views, own = [value for value in values if hasattr(value, "compute")], {}
    assert not edits and len(views) == 6
    for view in views:
        for control in view.controls:
            labels = control.get("labels", ())
            own[view.title, control["name"]] = [x for x in labels if x.startswith("yours ")]
            for k in range(len(labels)):
                picture = view.compute({control["name"]: k})
                assert picture["error"] == "", (view.title, control["name"])
                if control["name"] == "missing":  # below five models, only the part that is chosen
                    rows = picture["panels"][0]["rows"]
                    assert rows[5:] == ["yours"] * (labels[k] == part)
    assert names["trained"].blocks[1].attention.num_heads == heads
    assert len(own["swap one", "head"]) == len(own["what comes next", "head"]) + 1 == heads + 1
    if part:
        model = names["smaller"]
        assert model.blocks[0].attention.num_heads == (1 if part == "heads" else heads)
        # a step of training leaves positions that were left out at 0
        names["training_loop"](model, lambda: names["stories"], 0, lambda *more: None)
        assert bool(model.positions.weight.any()) == (part == "heads")


def test_what_lesson_10_says_of_models_without_a_part_is_true_of_five_seeds():
    figures = trials.five_seeds()
    claims_of_parts(figures)
    text = " ".join(cell.source for cell in markdown_cells(LESSON))
    of = {part: [shares[2] for shares in figures[part].values()] for part in figures}
    ends = [f"{min(of[part]):.2f} to {max(of[part]):.2f}" for part in figures]
    said = f"{ends[0]} with nothing left out, {ends[1]} without positions, {ends[2]} with one head."
    assert said in text
    acts = {part: [shares[0] for shares in figures[part].values()] for part in figures}
    least = acts["nothing"][2]
    assert f"seed 2 gets only {least:.2f} of *act*" in text
    assert least < min(acts["positions"] + acts["heads"])
    assert f"one gets {min(shares[3] for shares in figures['heads'].values()):.2f} of them" in text


def test_the_loop_of_lesson_10_takes_the_steps_that_its_kept_models_took(lesson):
    """They were trained with the course's own Adam: figures of five seeds hold for both."""
    ours, theirs = lesson["new_model"](), lesson["new_model"]()
    dice, adam, losses = random.Random(0), Adam(ours), []
    batches = [lesson["draw_stories"](dice, 4) for _ in range(20)]
    for step, batch in enumerate(batches):
        losses.append(lesson["loss_of"](ours, batch))
        adam.step(losses[-1], 0.005 * (step + 1) / 50 * (1 - step / 1400))

    def report(step, loss, optimizer):
        optimizer.param_groups[0]["lr"] = lesson["step_length"](step, 1400)
        assert abs(loss - losses[step]) < 0.002

    lesson["training_loop"](theirs, iter(batches).__next__, 19, report)
    assert losses[0] - losses[-1] > 0.5


def test_the_readers_own_loop_writes_the_words_of_the_picture(kept):
    names, values = dict(replay(LESSON)[0]), replay(LESSON)[1]
    for answer in solutions(LESSON)[1:3]:
        with contextlib.redirect_stdout(None):
            run(answer, names)
    view, own, course = views_of(values)["go on"], names["my_write_on"], attention.write_on
    start, told = names["PEOPLE"] + "a dog waits. it", []
    with patch.dict(replay(LESSON)[0], own_text_of=yours(own, course)), restored(view):
        for temperature in range(4):
            picture = view.compute({"temperature": temperature})
            assert "Text: your my_write_on." in picture["caption"]
            told.append(repr(picture["panels"]))
            text = write(kept, start, 3, [0.3, 1, 2, 3][temperature])
            assert text.removeprefix(start).strip() in told[-1]
    assert len({*told}) > 1

    def my_write_on(model, words, count, temperature):
        return own(model, words, count, 0.001).flip(1)

    with patch.dict(replay(LESSON)[0], own_text_of=yours(my_write_on, course)), restored(view):
        picture = view.compute({"temperature": 1})
    assert repr(picture["panels"]) not in told, "the picture shows what the reader's function wrote"


def test_the_drawings_have_the_sizes_of_the_model_at_hand(lesson):
    model = lesson["new_model"](num_heads=1)
    count = sum(p.numel() for p in model.parameters())
    assert draw_model(model).alt.endswith(f"In all {count:,}.")
    assert "attention (1 head), then norm_2" in draw_block(model.blocks[0]).alt
