"""The small language: drawn sentences have a right answer, typed ones are understood or refused."""

import pytest
import torch

from helpers import InputError
from helpers.models.language import load_language

small = load_language()


def pronoun_of(noun):
    if noun in small.things:
        return "it"
    return "him" if noun in ("man", "boy", "king", "uncle") else "her"


def test_every_sentence_has_one_answer_that_a_reader_would_give():
    s = small.sentences(small.pairs(), 500, torch.Generator().manual_seed(0))
    for k, words in enumerate(s.words):
        names = small.write(words)
        nouns = {1: names[1].split(), 4: names[4].split()}
        meant = [at for at, (_, noun) in nouns.items() if pronoun_of(noun) == names[7]]
        assert meant == [s.antecedent[k]] and {s.antecedent[k].item(), s.other[k].item()} == {1, 4}
        assert nouns[meant[0]][0] == small.colours[s.answer[k]]
        assert nouns[s.other[k].item()][0] == small.colours[s.other_answer[k]]
        assert s.answer[k] != s.other_answer[k]
        assert [names[0], names[3], names[5]] == ["the", "the", "and"]
        assert names[2] in small.verbs and names[6] in small.acts


def test_what_is_typed_is_what_is_drawn():
    read = small.read(" The PURPLE man took the blue hat, and examined it. ")
    assert small.write(read) == "the,purple man,took,the,blue hat,and,examined,it".split(",")


@pytest.mark.parametrize(
    "text, said",
    [
        ("the dog took it", "'dog' is not a word of the small language. Its words: the, and"),
        ("the purple took it", "a noun is expected after the colour 'purple', not 'took'"),
        ("the purple man took the hat", "the last word asks the question: him, her, it"),
        ("", "the last word asks the question"),
        ("the " * 30 + "it", "after at most 29 words"),
        ("x" * 1000, f"'{'x' * 30}' is not a word"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_what_is_expected(text, said):
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        small.read(text)
