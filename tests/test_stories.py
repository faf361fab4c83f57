"""The stories are correct English, and the kept model writes them because of where it looks."""

import random
import re

import pytest
import torch
from execute import NOTEBOOKS
from replay import replay
from story_figures import COUNT, Measured

from helpers import InputError
from helpers.attention import merge_heads, split_heads
from helpers.models import stories
from helpers.models.stories import (
    Storyteller,
    even,
    even_heads,
    load_stories,
    next_words,
    numbered,
    recalled,
    write,
)
from helpers.models.tales import ACTS, LENGTH, NAMES, PLACES, SOUNDS, WORDS, Story

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
def measured():
    return Measured()


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


def test_a_small_temperature_takes_the_likeliest_word_and_a_large_one_any(kept):
    best = [max(next_words(kept, START, temperature=T).values()) for T in (0.3, 1, 2)]
    assert best[0] > 0.9 > 0.6 > best[1] > 0.4 > best[2]
    assert sum(next_words(kept, START).values()) == pytest.approx(1, abs=1e-4)
    likeliest = next(iter(next_words(kept, START)))
    assert {write(kept, START, 1, temperature=0.01, seed=s) for s in range(5)} == {
        f"{START} {likeliest}"
    }


@pytest.mark.parametrize(
    "start, said",
    [
        ("Anna has a kitten.", "'kitten' is not a word .* Did you mean 'kite'.* Known words: Anna"),
        ("Zebulon", "'Zebulon' is not a word of the stories. Known words: Anna Nora"),
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
    file.write_text("The rain, the sun, don't stop. " * 12 + "Snow!", encoding="utf-8")
    known, text = stories.own_text(file, most=7)
    assert (len(known), text.shape) == (8, (110,)) and {"the", ",", "."} < {*known}
    assert known[text[-2]] == stories.RARE and "don't" in {*stories.own_text(file)[0]}
    passages = stories.draw_passages(text, random.Random(0), 50)
    starts = {int(row) for row in passages[:, 0]}
    assert passages.shape == (50, LENGTH) and len(starts) > 3
    model = Storyteller(known=known)
    assert write(model, "the , the", words=4).startswith("the, the")
    with pytest.raises(InputError, match="'snow' is not a word of the text. Known words: "):
        write(model, "snow")


@pytest.mark.parametrize(
    "content, said",
    [
        (None, "nothing.txt' cannot be read: .* A text file in UTF-8 is expected"),
        (b"\xff\xfe\x00", "nothing.txt' cannot be read: .* A text file in UTF-8 is expected"),
        (b"one two three", "the text has 3 words; at least 96 are expected"),
    ],
)
def test_a_file_that_is_no_text_to_learn_from_is_refused(tmp_path, monkeypatch, content, said):
    monkeypatch.chdir(tmp_path)  # so that the sentence has a short path
    if content:
        (tmp_path / "nothing.txt").write_bytes(content)
    with pytest.raises(InputError, match=said):
        stories.own_text("nothing.txt")


def test_the_kept_model_recalls_and_with_even_weights_it_does_not(kept, measured):
    with torch.inference_mode():
        loss = stories.story_loss(kept, measured.words).item()
    assert measured.floor() - 0.01 < loss < measured.floor() + 0.03
    assert min(recalled(kept, None, COUNT).values()) > 0.95
    assert max(recalled(kept, even, COUNT).values()) < 0.5


def test_it_does_what_fits_the_noun_at_which_it_looks(kept, measured):
    """In the last layer, exchanging two weights turns the answers round."""
    own, others = measured.turned(kept, [(1, head) for head in range(4)])
    assert others > 0.8 and own < 0.2
    assert measured.turned(kept, [])[0] > 0.95


def test_a_later_word_changes_nothing_before_it(kept):
    words = numbered(START)
    other = words.clone()
    other[0, 12] = (other[0, 12] + 1) % len(WORDS)
    with torch.inference_mode():
        one, two = kept(words), kept(other)
    assert torch.equal(one[:, :12], two[:, :12]) and not torch.equal(one[:, 12], two[:, 12])


def test_a_change_is_used_where_it_is_made():
    """One head is made even; the result is computed by hand with the module's own parts."""
    model, words = Storyteller(), numbered(START)
    with torch.inference_mode():
        scores, used = model.look(words)
        torch.testing.assert_close(scores, model(words))
        assert [w.shape for w in used] == [(1, 4, 21, 21)] * 2
        changed, even_used = model.look(words, even_heads((1, 2)))
        first, last = model.blocks
        x = first(model.embedding(words) + model.positions.weight[: words.shape[1]])
        weights = used[1].clone()
        weights[0, 2] = torch.tensor(
            [[1 / (i + 1) * (j <= i) for j in range(21)] for i in range(21)]
        )
        values = split_heads(last.attention.W_value(last.norm_1(x)), 4)
        x = x + last.attention.out_proj(merge_heads(weights @ values))
        x = x + last.feed_forward(last.norm_2(x))
        torch.testing.assert_close(changed, model.out(model.norm(x)))
        torch.testing.assert_close(even_used[1], weights)


def test_the_model_of_lesson_10_is_the_one_that_is_kept(kept):
    lesson, words = (
        replay(NOTEBOOKS / "10_a_block_that_writes.ipynb", quickly=True)[0],
        numbered(START),
    )
    model = lesson["Model"](WORDS)
    missing, unknown = model.load_state_dict(kept.state_dict(), strict=False)
    assert not missing and not unknown
    torch.testing.assert_close(model(words), kept(words))


def test_a_damaged_file_says_how_to_restore_it(monkeypatch, tmp_path):
    monkeypatch.setattr(stories, "FILE", tmp_path / "stories.npz")
    for content in (None, b"", b"no numbers"):
        if content is not None:
            stories.FILE.write_bytes(content)
        with pytest.raises(InputError, match="git checkout data/stories.npz"):
            load_stories()
