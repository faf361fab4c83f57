"""Before an answer is called: is it written yet, and can it be called as the exercise asks?"""

import pytest
import torch
from torch import nn

from helpers import attention
from helpers.checks import Verdict, check
from helpers.checks.message import Message


def function(body):
    namespace = {}
    exec(f"def dots(scores):\n    {body}", namespace)
    return namespace["dots"]


class Right(attention.SelfAttention):
    """Attention as a student has it, in which a part may still be the stub."""


def module(body):
    namespace = {"Right": Right}
    exec(f"class Dots(Right):\n    {body}", namespace)
    return namespace["Dots"]


dots, Dots = function("..."), module("def forward(self, inputs): ...")

# --- the stub ---

BODIES = (
    "...",
    "pass",
    "'Softmax.'",
    "'Softmax.'\n    pass",
    "return",
    "weights = ...\n    return weights",
    "raise NotImplementedError",
    "'Softmax.'\n    raise NotImplementedError('your turn')",
)


@pytest.mark.parametrize(
    "stub", [*map(function, BODIES), torch.no_grad()(dots), lambda scores: ...]
)
def test_a_stub_is_neither_right_nor_wrong(stub):
    verdict = check("softmax", stub)
    assert verdict == Verdict(None, Message("… softmax: not written yet."), ())
    assert verdict.message == "… softmax: not written yet."
    assert not verdict


@pytest.mark.parametrize(
    "body",
    [
        "def forward(self, inputs): ...",
        "def __init__(self, d_in, d_out): ...",
        "def forward(self, inputs):\n        'Context vectors.'\n        ...",
        "def forward(self, inputs):\n        context = ...\n        return context",
        "def forward(self, inputs): raise NotImplementedError",
        "def __init__(self, d_in, d_out):\n        'Matrices.'",
        "def __init__(self, d_in, d_out): raise NotImplementedError('your turn')",
    ],
)
def test_a_stub_of_a_class_is_neither_right_nor_wrong(body):
    verdict = check("SelfAttention", module(body))
    assert (verdict.passed, verdict.message) == (None, "… SelfAttention: not written yet.")
    assert check("SelfAttention", type("Mine", (module(body),), {})).passed is None


def test_a_class_without_a_forward_is_not_a_stub():
    class Misspelt(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.W_query = nn.Parameter(torch.rand(d_in, d_out))

        def foward(self, inputs): ...

    assert check("SelfAttention", Misspelt).passed is False


def test_a_word_as_the_answer_is_not_a_stub():
    assert check("softmax", lambda scores: "x").passed is False
    assert check("softmax", function("return 'nothing'")).passed is False


def test_an_operation_that_torch_does_not_have_is_not_a_stub():
    def helper():
        raise NotImplementedError("'add' not implemented for 'Bool'")

    assert check("softmax", lambda scores: torch.empty(2, device="meta") + helper()).passed is False


# --- bad use ---


class Foreign:
    def __init__(self, d_in, d_out):
        self.W = torch.rand(d_in, d_out)


class TwoInputs(Right):
    def forward(self, x, mask):
        return super().forward(x)


@pytest.mark.parametrize(
    "args, words",
    [
        (("sofmax", dots), "there is no exercise 'sofmax'. Did you mean 'softmax'?"),
        (("x" * 500, dots), "The exercises are scores, "),
        ((dots, "softmax"), "the name of the exercise comes first"),
        ((dots,), "the name of the exercise comes first"),
        ((None, None), "the name of the exercise comes first"),
        (("softmax",), "a function is expected, this is None"),
        (("softmax", torch.ones(6)), "a function is expected, this is a Tensor"),
        (("softmax", "softmax"), "a function is expected, this is a str"),
        (("softmax", dict), "a function is expected, this is the class dict"),
        (("softmax", lambda a, b: a), "your function takes (a, b). It is called with (scores)"),
        (("scores", None), "Write def my_scores(inputs, i): and pass its name"),
        (("softmax", dict), "Write def my_softmax(scores): and pass its name"),
        (("scores", lambda: 1), "write def my_scores(inputs, i):"),
        (("scores", dots), "write def dots(inputs, i):"),
        (("scores", lambda: 1), "your function takes (). It is called with (inputs, i)"),
        (("scores", lambda inputs, *, i: 1), "It is called with (inputs, i)"),
        (("softmax", Dots), "a function is expected, this is the class Dots"),
        (("SelfAttention", Dots(1, 1)), "this is an object of the class Dots"),
        (("SelfAttention", Dots(1, 1)), 'without calling it: check("SelfAttention", Dots)'),
        (("SelfAttention", dots), "a class is expected, this is a function"),
        (("SelfAttention", lambda d_in, d_out: 1), "a class is expected, this is a function"),
        (("SelfAttention",), "a class is expected, this is None"),
        (("SelfAttention", torch.ones(6)), "a class is expected, this is a Tensor"),
        (("SelfAttention", dict), "your class dict is not an nn.Module"),
        (("SelfAttention", Foreign), "Write class Foreign(nn.Module): and call super()"),
        (("SelfAttention", attention.CausalAttention), "takes (d_in, d_out, context_length, d"),
        (("CausalAttention", Dots), "write def __init__(self, d_in, d_out, context_length):"),
        (("CausalAttention", attention.CausalAttention), "It is called with (d_in, d_out"),
        (("SelfAttention", TwoInputs), "the forward of your class takes (self, x, mask)"),
        (("SelfAtention", Dots), "Did you mean 'SelfAttention'?"),
        (("softmax", torch.softmax), 'softmax() missing 1 required positional arguments: "dim"'),
    ],
)
def test_bad_use_is_answered_in_a_sentence(args, words, capsys):
    verdict = check(*args)
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert words in " ".join(verdict.message.split())
    assert max(map(len, verdict.message.splitlines())) <= 100
    assert capsys.readouterr().out == verdict.message + "\n"
