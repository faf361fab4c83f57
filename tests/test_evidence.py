"""What is said of a wrong answer: the witnesses are asked in one order, and the first speaks."""

from types import SimpleNamespace

from helpers.checks import evidence
from helpers.checks._texts import Fact


def test_the_first_witness_that_knows_something_speaks(monkeypatch):
    asked = []

    def witness(name, fact):
        def ask(submission, k):
            asked.append((name, k))
            return fact

        ask.__name__ = name
        return ask

    known = Fact("what", "advice")
    order = witness("one", None), witness("two", known), witness("three", known)
    monkeypatch.setattr(evidence, "WITNESSES", order)
    said = evidence.evidence(SimpleNamespace(wrong=[3, 4]))
    assert said == known._replace(by="two")
    assert asked == [("one", 3), ("two", 3)]


def test_the_witnesses_are_asked_in_the_order_of_what_they_prove():
    names = [witness.__name__ for witness in evidence.WITNESSES]
    told = ["method_not_called", "return_in_a_loop", "mistakes", "what_python_says", "small_repair"]
    told += ["one_of_several_mistakes", "any_error", "wrong_shape", "ignored_argument", "rows"]
    assert sorted(told, key=names.index) == told
    assert names[-1] == "only_the_numbers" and len({*names}) == len(names)
