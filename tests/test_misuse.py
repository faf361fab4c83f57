"""Before an answer is called: is it written yet, and can it be called as the exercise requires? And
small repairs of Python and PyTorch in what is called."""

import pytest
import torch
from torch import nn

from helpers import attention
from helpers.checks import Verdict, check
from helpers.checks.message import Message
from helpers.tools.pages.puzzle import Answer


def function(body):
    return Answer("", None, "", (), "", f"def dots(scores):\n    {body}").run()


class Right(attention.SelfAttention):
    """Attention as a student has it, where a part may still be the stub."""


def module(body):
    above = "from test_misuse import Right"
    return Answer("", None, "", (), above, f"class Dots(Right):\n    {body}").run()


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
        ((None, None), "the name of the exercise comes first"),
        (("softmax",), "check() expects a function, but this is None"),
        (("softmax", torch.ones(6)), "check() expects a function, but this is a Tensor"),
        (("softmax", dict), "check() expects a function, but this is the class dict"),
        (("scores", None), "Write def my_scores(inputs, i): and pass its name"),
        (("scores", dots), "write def dots(inputs, i):"),
        (("scores", lambda: 1), "your function takes (). It is called with (inputs, i)"),
        (("softmax", Dots), "check() expects a function, but this is the class Dots"),
        (("SelfAttention", Dots(1, 1)), "this is an object of the class Dots"),
        (("SelfAttention", Dots(1, 1)), 'without calling it: check("SelfAttention", Dots)'),
        (("SelfAttention", dots), "check() expects a class, but this is a function"),
        (("SelfAttention", dict), "your class dict is not an nn.Module"),
        (("SelfAttention", Foreign), "Write class Foreign(nn.Module) and call super()"),
        (("SelfAttention", attention.CausalAttention), "takes (d_in, d_out, context_length, d"),
        (("CausalAttention", Dots), "write def __init__(self, d_in, d_out, context_length):"),
        (("CausalAttention", attention.CausalAttention), "It is called with (d_in, d_out"),
        (("SelfAttention", TwoInputs), "your forward takes (self, x, mask)"),
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


# --- repairs ---

ABOVE = """
import math
import torch
import torch.nn.functional as F
from torch import nn
from helpers import load_journey
inputs = load_journey()[1]
query = inputs[1]
W_query, W_key, W_value = torch.rand(3, 3, 2)
kept = []
"""
CLASS = """
class Mine(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(q @ k.T / k.shape[1] ** 0.5, dim=-1) @ v
"""
LOOP = """
def mine(inputs, i):
    out = torch.zeros(len(inputs))
    for j in range(len(inputs)):
        for k in range(inputs.shape[1]):
            out[j] += inputs[j, k] * inputs[i, k]
    return out
"""
LIST = """
def mine(inputs, i):
    out = []
    for x in inputs:
        out.append(x @ inputs[i])
    return torch.stack(out)
"""
STACK = "def mine(inputs): return torch.stack([inputs @ x for x in inputs])"
UNIT = """
def mine(inputs, i):
    unit = inputs / inputs.norm(dim=1, keepdim=True)
    return unit @ unit[i]
"""
MASKED = """
def mine(scores, d_k):
    later = torch.ones_like(scores).triu(1) > 0
    return torch.softmax(scores.masked_fill(later, -torch.inf) / d_k ** 0.5, dim=-1)
"""
ROWS = """
def mine(scores):
    exps = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return exps / exps.sum(dim=-1, keepdim=True)
"""


@pytest.mark.parametrize(
    "exercise, code, old, new, words",
    [
        ("scores", LIST.replace("out", "kept"), "    kept = []\n", "", "Write `kept = []` as"),
        ("all_scores", STACK, "torch.stack", "torch.tensor", "torch.tensor does not join"),
        ("scores", LIST, "x @ inputs[i]", "(x * inputs[i]).sum", "Write () after the method"),
        ("scores", LOOP, "s[j, k]", "s[i, k]", "instead of `out[j] += inputs[i, k] * inputs["),
        ("scores", LOOP, "len(inputs))\n", "len(inputs) / 1)\n", "Write `len(inputs) // 1`"),
        ("scores", LIST, "stack(out)", "stack(x)", "`x` is the wrong variable here."),
        ("softmax", ROWS, ".values", "", "Write `scores.max(dim=-1, keepdim=True).values`"),
        ("cosine_scores", UNIT, ", keepdim=True", "", "keepdim=True is missing"),
        ("causal_weights", MASKED, "** 0.5", "^ 0.5", "Write ** instead of ^, which"),
        ("causal_weights", MASKED, "d_k ** 0.5", "torch.sqrt(d_k)", "torch.sqrt takes tensors"),
    ],
)
def test_a_repair_is_told_with_what_to_write(exercise, code, old, new, words):
    assert old in code and check(exercise, Answer("", True, "", (), ABOVE, code).run()).passed
    verdict = check(exercise, Answer("", False, "", (), ABOVE, code.replace(old, new)).run())
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert words in " ".join(verdict.message.split())


def test_what_matters_is_not_said_to_change_nothing_where_numbers_are_huge():
    code = CLASS.replace("** 0.5, dim=-1) @ v", "** 0.6, dim=-1) @ v + v.mean(0)")
    verdict = check("SelfAttention", Answer("", False, "", (), ABOVE, code).run())
    assert not verdict and "should stay the same" not in verdict.message


# --- what Python says: nothing is searched, and no right step is advised away ---

SCALED = "def my(queries, keys): return queries @ keys.mT / {} "
CAUSAL = """
class My(nn.Module):
    def __init__(self, d_in, d_out, context_length):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, False) for _ in range(3))
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())
    def forward(self, x):
        n = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        return torch.softmax(scores.masked_fill(self.mask[:n, :n], -torch.inf), dim=-1) @ values
"""
QKV = """
def my(inputs, W_query, W_key, W_value):
    q, k, v = inputs @ W_query, inputs @ W_key, inputs @ W_value
    return {}softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ {}
"""
LISTED = "self.W_query, self.W_key, self.W_value and self.mask."
SAYS = [
    ("scaled_scores", SCALED.format("math.sqrt(keys.shape[-1])"), "Write ** 0.5: `math` is not"),
    ("qkv_attention", QKV.format("F.", "v"), "Write torch.softmax: `F` is not imported"),
    ("qkv_attention", QKV.format("nn.", "v"), "Write torch.softmax: `torch.nn` has no `softmax`."),
    ("qkv_attention", QKV.format("torch.", "values"), "Did you mean `v`?"),
    ("CausalAttention", CAUSAL.replace("self.W_query(x)", "self.queries(x)"), LISTED),
    ("CausalAttention", CAUSAL.replace("self.mask[", "self.tril["), LISTED),
    ("CausalAttention", CAUSAL.replace("self.mask[", "mask["), "write self.mask instead of mask"),
    ("scores", "def my(inputs, i):\n  sys.exit()", "write `import sys` above"),
]


@pytest.mark.parametrize("exercise, code, words", SAYS)
def test_what_python_says_is_explained_with_the_names_of_the_student(exercise, code, words):
    above = "import torch\nfrom torch import nn"
    verdict = check(exercise, Answer("", False, "", (), above, code).run())
    assert words.lower() in " ".join(verdict.message.split()).lower()
    assert "One small change" not in verdict.message
