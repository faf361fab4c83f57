"""The small language: drawn sentences have a right answer, one that is read has its colours."""

import pytest
import torch

from helpers import InputError
from helpers.lessons.language import load_language

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


def test_what_is_read_is_what_is_written():
    read = small.read("the purple man took the blue hat and examined it")
    assert small.write(read) == "the,purple man,took,the,blue hat,and,examined,it".split(",")
    with pytest.raises(InputError, match="'dog' is not a word of the small language: purple, "):
        small.read("the dog took it")
