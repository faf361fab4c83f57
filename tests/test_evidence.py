"""What is said of a wrong answer: the witnesses are asked in one order, and the first speaks."""

from types import SimpleNamespace

from rates import ONLY_NUMBERS, answers

from helpers.checks import evidence
from helpers.checks._texts import Fact

MOST_ONLY_NUMBERS = 4  # of 100 wrong answers


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
    told = ["calls_a_stub", "method_not_called", "self_is_missing", "return_in_a_loop", "mistakes"]
    told += ["what_python_says", "small_repair", "one_of_several_mistakes", "any_error"]
    told += ["unread_argument", "wrong_shape", "ignored_argument", "lost_results", "rows"]
    assert sorted(told, key=names.index) == told
    assert names[-1] == "only_the_numbers" and len({*names}) == len(names)


def test_few_wrong_answers_get_only_their_numbers():
    """They are listed in tests/written, and test_written.py sees that the list is true."""
    wrong = [answer for answer in answers() if answer.right is False]
    only = [answer for answer in wrong if ONLY_NUMBERS in answer.what]
    assert len(only) <= MOST_ONLY_NUMBERS * len(wrong) / 100
