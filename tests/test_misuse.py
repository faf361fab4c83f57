"""Before an answer is called: is it written yet, and can it be called as the exercise requires? And
slips of Python and PyTorch in what is called."""

import pytest
import torch
from torch import nn

from helpers import attention
from helpers.checks import Verdict, check
from helpers.checks.message import Message
from helpers.pages.exercises import Answer


def function(body):
    namespace = {}
    exec(f"def dots(scores):\n    {body}", namespace)
    return namespace["dots"]


class Right(attention.SelfAttention):
    """Attention as a student has it, where a part may still be the stub."""


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


# --- slips ---

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
PLAIN = "def mine(x, w, b): return x @ w.T + b"
SUM = "def mine(inputs, i): return (inputs * inputs[i]).sum(dim=1)"
HEAD = "def mine(W, h, n): W, s = W.clone(), len(W) // n; W[h * s:(h + 1) * s] = 0; return W"
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
        ("scores", LOOP, "] += inputs", "] = inputs", "= keeps only the last term; += adds up"),
        ("scores", LOOP, "    return", "        return", "Write `return out` after the loop"),
        ("scores", LOOP, "return out", "print(out)", "End with `return out`"),
        ("scores", LOOP, "return out", "out", "nothing is returned"),
        ("scores", LIST, "):\n    out = []", ", out=[]):", "once, when `def` runs"),
        ("scores", LIST.replace("out", "kept"), "    kept = []\n", "", "Write `kept = []` as"),
        ("all_scores", STACK, "torch.stack", "torch.tensor", "torch.tensor does not join"),
        ("scores", LIST, "x @ inputs[i]", "(x * inputs[i]).sum", "is not called without its ()"),
        ("scores", LOOP, "range(len(inputs))", "range(6)", "Write `inputs.shape[0]` instead of 6"),
        ("scores", LOOP, "range(len(inputs))", "range(len(inputs) + 1)", "off by one"),
        ("scores", LOOP, "range(len(inputs))", "range(i + 1)", "has the wrong range"),
        ("scores", LOOP, "inputs, i):", "x, i):", "Write `x` instead of `inputs`"),
        ("scores", LOOP, "inputs[i, k]", "query[k]", "`query` is a name from a cell above"),
        ("scores", LOOP, "s[j, k]", "s[i, k]", "instead of `out[j] += inputs[i, k] * inputs["),
        ("scores", LOOP, "(inputs))\n ", "(inputs), dtype=int)\n ", "`dtype=int` should go"),
        ("scores", LOOP, "len(inputs))\n", "len(inputs) / 1)\n", "Write `len(inputs) // 1`"),
        ("scores", LIST, "stack(out)", "stack(x)", "`x` is the wrong variable here."),
        ("without_head", HEAD, "+ 1) * s", "+ 1) * s - 1", "off by one."),
        ("causal_weights", MASKED, "scores.mask", "later.mask", "`later` is the wrong variable"),
        ("softmax", ROWS, ".values", "", "Write `scores.max(dim=-1, keepdim=True).values`"),
        ("softmax", ROWS, "torch.exp", "math.exp", "Write `torch.exp` instead of `math.exp`"),
        ("softmax", ROWS, ".sum(dim=-1, keepdim=True)", ".sum", "Write `exps.sum()` instead of"),
        ("cosine_scores", UNIT, ", keepdim=True", "", "keepdim=True is missing"),
        ("linear", PLAIN, "x @ w.T + b", "x @ (w.T + b)", "parentheses are missing, or in"),
        ("causal_weights", MASKED, "** 0.5", "^ 0.5", "^ is not a power in Python. One small"),
        ("causal_weights", MASKED, "d_k ** 0.5", "torch.sqrt(d_k)", "torch.sqrt takes tensors"),
        ("scores", SUM, "dim=1", "", "sum needs a dimension here"),
        ("SelfAttention", CLASS, "__init__(self", "_init_(self", "__init__ is named _init_"),
        ("SelfAttention", CLASS, "forward", "foward", "forward is named foward"),
        ("SelfAttention", CLASS, "x @ self.", "x @ ", "self. is missing in forward"),
        ("SelfAttention", CLASS, "    self.W", "    W", "self. is missing in __init__"),
        ("SelfAttention", CLASS, "d(d_in, d_out)", "d(3, 2)", "`d_out` instead of 2 and `d_in`"),
    ],
)
def test_a_slip_is_told_with_what_to_write(exercise, code, old, new, words):
    assert old in code and check(exercise, Answer("", True, "", (), ABOVE, code).run()).passed
    verdict = check(exercise, Answer("", False, "", (), ABOVE, code.replace(old, new)).run())
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert words in " ".join(verdict.message.split())


CACHE_WRITTEN_OVER = """
def mine(query, key, value, keys, values):
    keys, values = keys.clone(), values.clone()
    keys[-1:], values[-1:] = key, value
    return torch.softmax(keys @ query / len(query) ** 0.5, dim=0) @ values
"""
ALONE = """
def mine(x, a, b, c, d):
    x = torch.stack([x[:, t] + b(a(x[:, t : t + 1]))[:, 0] for t in range(x.shape[1])], 1)
    return x + d(c(x))
"""
ABOVE_READ = "def mine(x, k): return (x @ x[k] ** 2 + query[1]) * query[2] + query[0]"
NEARLY = """
def mine(x, k):
    more = x[:, 0] - x[0, 0]
    return x @ x[k] + 3e-5 + more + more**3 + more**5 + more**7
"""
EXCHANGED = """
def mine(w, i, one, other):
    s, new = torch.arange(len(w)), w.clone()
    new[s, i, one], new[s, i, other] = w[s, one, i], w[s, other, i]
    return new
"""
MERGED_BATCH = """
class Mine(nn.Module):
    def __init__(self, d_in, d_out, length):
        super().__init__()
        self.three = nn.ModuleList(nn.Linear(d_in, d_out) for _ in "qkv")
    def forward(self, x):
        shape, (x, *rest) = x.shape, x
        for more in rest:
            x = torch.cat([x, more])
        out = F.scaled_dot_product_attention(*(f(x)[None] for f in self.three), is_causal=True)
        return out.reshape(*shape[:-1], -1)
"""
TWO_ROWS = """
class Mine(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.three = nn.ParameterList(torch.rand(d_in, d_out) for _ in "qkv")
    def forward(self, x):
        return (x @ self.three[2])[:2]
"""


@pytest.mark.parametrize(
    "exercise, code, words",
    [
        # k is not read; k is read, but changes nothing; no single change makes the code right.
        ("scores", "def mine(x, k): return x[:, 0] ** 3", "it ignores `k`."),
        ("scores", "def mine(x, k): return x[:, 0] ** 3 + 0 * k", "changing `k` has no effect."),
        ("scores", "def mine(x, k): return (x @ x[k]).sinh().tanh().sinh()", "Work out"),
        ("scores", "def mine(x, k): return inputs[[0, 1]] @ query - x[0, 0]", "wrong shape."),
        ("scores", "def mine(x, k): return x.T @ query[:2]", "shape (2,); `query` is from"),
        ("scores", "def mine(x, k): return (x or k) + x", "Write | instead of or"),
        ("scores", NEARLY, "the numbers"),
        ("scores", "def mine(x, k): return torch.exp([x, k])", "Make it a tensor first"),
        ("scores", "def mine(x, k): return x[len(x)]", "the largest allowed is 5"),
        ("scores", "def mine(x, k): return x @ x[k - 1] * 2", "Two small changes fix your code"),
        ("scores", "def mine(x, k): return x.flip(0) @ x[[k]].T", "Dimension 1 of size 1 is left"),
        ("repair_weights", "def mine(s):\n e = s.exp()\n return 6 * e / e.sum()", "by its OWN sum"),
        ("next_chances", "def mine(s, t): return s[:, -1, :]", "Use fewer indices"),
        ("SelfAttention", TWO_ROWS, "size of dimension 0. It is 2, but should be 7."),
        (
            "causal_weights",
            "def mine(s, d):\n w = (s / d**0.5).softmax(-1).tril()\n return w / w.sum(-1, True)",
            "Hide the unwanted scores before softmax",
        ),
        # a known mistake, and another one where the cache is empty
        ("next_context", CACHE_WRITTEN_OVER, "✘ next_context: last word of the cache replaced."),
        ("next_context", CACHE_WRITTEN_OVER, "-1000), your code is wrong in another way."),
        (
            "erase",
            "def mine(w, i, j):\n e = w.clone()\n e[[0, 1, 2], i, j] = 0\n return e.softmax(-1)",
            "row [0, 0] should stay as it is in `w`",
        ),
        # h is right only where no score is negative
        (
            "all_scores",
            "def mine(x):\n h = (x @ x.T).abs()\n return h.sinh().sinh()",
            "Work out one of",
        ),
        (
            "all_scores",
            "def mine(x):\n h = (x @ x.T).triu()\n return h + h.T",
            "only the diagonal",
        ),
        # the operation that first gives NaN; a new tensor that is filled later is not its cause
        (
            "erase",
            "def mine(w, i, j):\n e = torch.empty(w.shape)\n e[:] = w\n"
            " e[[0, 1, 2], i] = 0\n e /= e.sum(-1, True)\n return e",
            "Try: Look at `e /= e.sum(-1, True)`: it gives the first NaN, 0 / 0.",
        ),
        ("softmax", "def mine(s): return torch.tensor([[0 * math.inf] * 6])[0]", "Look for exp"),
        # nor is NaN that does not reach the result
        (
            "softmax",
            "def mine(s):\n e = (s - 1000).exp() + 0 * (s / 0 - s / 0).nan_to_num()\n"
            " return e / e.sum()",
            "Try: Look at `e / e.sum()`: it gives the first NaN, 0 / 0.",
        ),
        # some bias + weight is 0 on this probe only, so "yours does not change" would mislead
        ("linear", "def mine(x, w, b): return 2 * x @ (w.T + b).sinh()", "Work out"),
        ("dropout", "def mine(w, p, t): return w[torch.rand(w.shape) >= p] / (1 - p)", "by a mask"),
        ("block", "def mine(x, a, b, c, d):\n y = b(a(x))\n return x + y + d(c(y))", "wrong."),
        # an experiment for the student: a part that should matter, one that should not, a law
        ("block", ALONE, "Set `x[0, 0]` to 2: row 1 of table [0] of your result should change"),
        ("exchange", EXCHANGED, "to 2: row 4 of table [0] of your result should stay the same"),
        (
            "cache_bytes",
            "def mine(n, k, h, d, s, b): return 2 * n * k * h * d * s // b",
            "but it is",
        ),
        ("scores", ABOVE_READ, "not `query`: a value"),
        # one sentence reads the one before it, but no word reads a later one
        ("CausalAttention", MERGED_BATCH, "some numbers are right; the first error is in table"),
    ],
)
def test_what_is_seen_is_told_where_no_slip_is_shown(exercise, code, words):
    verdict = check(exercise, Answer("", False, "", (), ABOVE, code).run())
    said = " ".join(verdict.message.split())
    assert (verdict.passed, verdict.mistakes) == (False, ())
    assert words in said and "One small change" not in said


def test_what_matters_is_not_said_to_change_nothing_where_numbers_are_huge():
    code = CLASS.replace("** 0.5, dim=-1) @ v", "** 0.6, dim=-1) @ v + v.mean(0)")
    verdict = check("SelfAttention", Answer("", False, "", (), ABOVE, code).run())
    assert not verdict and "should stay the same" not in verdict.message
