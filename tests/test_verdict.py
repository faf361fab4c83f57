"""How a verdict looks, and progress(): three short parts, the same words in plain text and in
HTML."""

import html
import re

import pytest
import torch

from helpers import check, progress
from helpers.checks import Verdict, message, verdict
from helpers.checks.message import Message, Table


@pytest.fixture(autouse=True)
def new_kernel():
    verdict.forget()
    yield
    verdict.forget()


def twice(scores):
    return torch.softmax(torch.softmax(scores, 0), 0)


def right(scores):
    return torch.softmax(scores, 0)


def stub(scores): ...


def hostile(scores):
    print("</pre><b>bold</b> & <img src=x onerror=alert(1)> $x_1$")
    raise ValueError("<script>alert(1)</script>")


HALF = "\ud83d"  # of a pair of surrogates, as a cut text has it


def changes(inputs):
    weights = torch.softmax(inputs @ inputs.T, -1) @ inputs
    inputs[0] = 0
    return weights + 1


WRONG = [
    ("softmax", twice),
    ("softmax", lambda scores: scores.exp() / scores.exp().sum()),  # right on the first only
    ("softmax", lambda scores: torch.softmax(scores, 0) + 0.01),  # wrong for no known reason
    ("softmax", hostile),
    ("scores", lambda inputs, i: inputs),  # a different shape
    ("scores", lambda inputs, i: print(inputs)),
    ("self_attention", changes),
]


def as_words(markup):
    """Return the words of HTML, as a reader sees them."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).split()


def test_every_part_of_a_message_is_in_both():
    said = Message(
        "✘ head.",
        why=("Why one.", "Why two."),
        table=Table("Caption:", (("yours", "1.0", "-2.0"), ("right", "3.0"))),
        advice="advice.",
        after="After.",
        printed=("Your function printed:", "line 1", "line 2"),
    )
    assert said.text().splitlines() == [
        "✘ head.",
        "  Why one.",
        "  Why two.",
        "  Caption:",
        "    yours 1.0 -2.0",
        "    right 3.0",
        "  Try: advice.",
        "  After.",
        "  Your function printed:",
        "    line 1",
        "    line 2",
    ]
    assert as_words(verdict.as_html(said, False)) == said.text().split()


@pytest.mark.parametrize("name, code", WRONG)
def test_a_verdict_has_three_parts_in_order_and_one_small_table(name, code):
    tried = check(name, code)
    lines = tried.message.splitlines()
    assert lines[0].startswith(f"✘ {name}: ")
    [advice] = [k for k, line in enumerate(lines) if line.startswith("  Try: ")]
    assert advice >= 2  # the reasons come in between
    assert sum(line.startswith(("    yours ", "    before ")) for line in lines[:advice]) <= 1
    assert not any("yours " in line for line in lines[advice:])
    assert all(line.startswith("  ") and len(line) <= message.WIDTH for line in lines[1:])
    assert len(lines) <= 12
    assert as_words(verdict.as_html(tried.said, tried.passed)) == tried.message.split()


# --- HTML ---


def test_what_a_student_prints_or_raises_is_never_markup():
    tried = check("softmax", hostile)
    markup = verdict.as_html(tried.said, tried.passed)
    for text in ("<script", "<img", "<b>"):
        assert text in tried.message and text not in markup
    assert markup.count("</pre>") == 1
    assert re.match(r'<div role="alert" class="[^"]*mathjax_ignore[ "]', markup)  # $x_1$ stays


def halves(scores):
    print(HALF)
    raise ValueError(HALF)


def test_half_a_pair_of_surrogates_gets_a_verdict_that_can_be_sent(capfd):
    with pytest.raises(UnicodeEncodeError):
        HALF.encode()
    for name, answer in (("softmax", halves), ("softmax", HALF), (HALF, right)):
        tried = check(name, answer)
        markup = verdict.as_html(tried.said, tried.passed)
        assert (tried.message + markup).encode() and not tried
    assert r"ValueError: \ud83d" in (said := check("softmax", halves).message)
    assert said.endswith("    \\ud83d")
    progress(HALF)
    assert r"no exercise '\ud83d'" in capfd.readouterr().out


# --- progress ---


def test_progress_says_what_is_solved_and_what_is_open(capsys):
    check("softmax", right)
    check("self_attention", changes)
    check("attention_weights", stub)
    check("scores", lambda inputs, i: 0.5)
    capsys.readouterr()
    names = ("softmax", "self_attention", "attention_weights", "scores", "erase")
    assert progress(*names) is None
    assert capsys.readouterr().out.splitlines() == [
        "Your exercises:",
        "  ✔ softmax           right",
        "  ✘ self_attention    input changed in place",
        "  … attention_weights not written yet",
        "  ✘ scores            not right yet",
        "  … erase             not checked since the kernel started",
        "1 of 5 solved.",
    ]


def test_progress_tells_one_mistake_at_a_time(capsys):
    names = tuple(f"a mistake with a long name {k}" for k in range(9))
    verdict.remember("softmax", Verdict(False, Message("✘ x: y."), names))
    progress("softmax", "softmax_with_temperature")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= message.WIDTH
    assert "a mistake with a long name 0, and 8 more" in lines[1]
    assert "name 1" not in " ".join(lines)


@pytest.mark.parametrize(
    "names, text",
    [
        ((), "progress: it expects the names of exercises, and"),
        ((right,), 'Write it like this: progress("scores", "all_scores", optional'),
        ((["scores"],), "progress: it expects the names of exercises, and"),
        (("scores", "sofmax"), "there is no exercise 'sofmax'. Did you mean 'softmax'?"),
        (("x" * 500,), "The exercises are scores, "),
    ],
)
def test_bad_use_of_progress_is_answered_in_a_sentence(names, text, capsys):
    progress(*names)
    said = capsys.readouterr().out
    assert said.startswith("✘ progress: ") and text in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= message.WIDTH


def test_progress_counts_what_is_optional_apart(capsys):
    check("softmax", right)
    check("scores", stub)
    for optional, said in (
        (["scores"], "1 of 1 solved, and 0 of 1 optional."),
        ([], "1 of 1 solved."),
        ("scores", "those that are optional as a list."),
        (["sofmax"], "there is no exercise 'sofmax'."),
    ):
        capsys.readouterr()
        progress("softmax", optional=optional)
        assert said in capsys.readouterr().out.replace("\n  ", " ")
