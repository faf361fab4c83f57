"""Controls made from abbreviations: what the page gets, and what a function gets for a value."""

import numpy as np
import pytest
import torch

from helpers import InputError
from helpers.pictures.controls import control

NAN, INF = float("nan"), float("inf")
SWITCHES, VECTORS = torch.ones(2, 1).bool(), torch.ones(2, 2)


def made(short, *default):
    """Return the control that this abbreviation gives for a parameter with this default."""
    if not default:
        return control("x", short, lambda x: None)
    return control("x", short, lambda x=default[0]: None)


ABBREVIATIONS = [
    ((0, 5), dict(kind="slider", low=0, high=5, by=1, value=2)),
    ((0.0, 1.0), dict(kind="slider", low=0.0, high=1.0, by=0.1, value=0.5)),
    ((0.1, 0.7), dict(kind="slider", low=0.1, high=0.7, by=0.1, value=0.3)),
    ((-3, 3, 0.5), dict(kind="slider", low=-3.0, high=3.0, by=0.5, value=0.0)),
    (["a", "b"], dict(kind="choice", labels=["a", "b"], value=0)),
    ({"one": 1, "two": 2}, dict(kind="choice", labels=["one", "two"], value=0)),
    ([0.1, 1, 10], dict(kind="stops", labels=["0.1", "1", "10"], value=0)),
    (list(torch.tensor([1, 2, 3])), dict(kind="stops", labels=["1", "2", "3"], value=0)),
    ([1, 2], dict(kind="choice", labels=["1", "2"], value=0)),
    ([3, 2, 1], dict(kind="choice", labels=["3", "2", "1"], value=0)),
    ([1, "a", None], dict(kind="choice", labels=["1", "a", "None"], value=0)),
    ("hello", dict(kind="text", value="hello")),
    (True, dict(kind="switch", value=True)),
    (torch.eye(2).bool(), dict(kind="cells", value=[[True, False], [False, True]])),
    ([(True,), [np.bool_(False)]], dict(kind="cells", value=[[True], [False]])),
    ([True, False], dict(kind="choice", labels=["True", "False"], value=0)),
    ({"a": [[True]]}, dict(kind="choice", labels=["a"], value=0)),
    ([[1, 0], [2]], dict(kind="choice", labels=["[1, 0]", "[2]"], value=0)),
    (np.array([[1, 0], [0.5, 2]]), dict(kind="plane", value=[[1, 0], [0.5, 2]], limit=3)),
    (torch.zeros(3, 2), dict(kind="plane", value=[[0.0, 0.0]] * 3, limit=1)),
]


@pytest.mark.parametrize("short, spec", ABBREVIATIONS)
def test_every_abbreviation(short, spec):
    assert made(short).spec == {"name": "x", **spec}


@pytest.mark.parametrize(
    "short, value",
    [
        ((0, np.int64(5)), 2),
        ((0, torch.tensor(5)), 2),
        ((np.float32(0), np.float32(1)), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
    ],
)
def test_values_of_numpy_and_torch_become_pythons_own(short, value):
    start = made(short).spec["value"]
    assert (start, type(start)) == (value, type(value))


def test_a_step_starts_at_its_beginning():
    assert control("step", (1, 9), lambda step: 0).spec["value"] == 1
    assert control("step", (1, 9), lambda step=4: 0).spec["value"] == 4


def test_a_step_has_the_names_it_is_given():
    for short in (["project", "mask"], {"project": 7, "mask": 8}):
        made = control("step", short, lambda step: 0)
        assert made.spec | {"value": 0} == {
            "name": "step", "kind": "stops", "value": 0, "labels": ["project", "mask"]
        }  # fmt: skip
        assert made.argument(1) == (short[1] if isinstance(short, list) else 8)
    assert control("stage", ["project", "mask"], lambda stage: 0).kind == "choice"


@pytest.mark.parametrize(
    "default, short, value",
    [
        *((two, (0, 5), 2) for two in (2, 2.0, np.int64(2), torch.tensor(2))),
        (0.3, (0.0, 1.0), 0.3),
        (0.77, (-3.0, 3.0, 0.01), 0.77),
        ("b", ["a", "b"], 1),
        (int("2000"), {"one": 1000, "two": int("2000")}, 1),  # an equal object, but not the same
        ("two", {"one": 1, "two": 2}, 1),
        (None, ["a", None], 1),
        (False, True, False),
        ("b", "a", "b"),
        (torch.tensor([[False], [True]]), SWITCHES, [[False], [True]]),
        ([[False], [False]], SWITCHES, [[False], [False]]),
        (torch.tensor([[0.5, -1], [0, 0]]), VECTORS, [[0.5, -1.0], [0.0, 0.0]]),
        ([[0, 1], [1, 0]], VECTORS, [[0.0, 1.0], [1.0, 0.0]]),
    ],
)
def test_the_default_of_the_parameter_is_the_start(default, short, value):
    start = made(short, default).spec["value"]
    assert (start, type(start)) == (value, type(value))


@pytest.mark.parametrize(
    "short, default",
    [
        *(((0, 5), x) for x in (9, 2.5, NAN, None, True)),
        ((0.0, 1.0), 0.25),
        (["a", "b"], "c"),
        (True, "no"),
        ("text", 5),
        (SWITCHES, [[1], [0]]),
        (SWITCHES, torch.ones(1, 2).bool()),
        (VECTORS, VECTORS * 3),
        (VECTORS, torch.ones(1, 2)),
    ],
)
def test_a_default_that_the_control_cannot_have_is_refused(short, default):
    with pytest.raises(InputError, match="^x starts at "):
        pytest.fail(f"{made(short, default).spec}")


NO_CONTROL = [
    *[(1, 1), (5, 1), (0, 5, 0), (0, NAN), (0, INF), [], {}, None, 5, {1, 2}, range(3)],
    *[np.arange(3), torch.rand(2, 3), torch.rand(0, 2), torch.tensor([[1.0, NAN]])],
    torch.ones(3).bool(),
]


@pytest.mark.parametrize("short", NO_CONTROL, ids=lambda x: repr(x)[:9])
def test_what_is_no_control_is_refused(short):
    with pytest.raises(InputError, match=r"(?s)^x=.*(\(low, high\)|a list of choices)") as caught:
        made(short)
    assert len(str(caught.value)) < 260 and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "short, sentence",
    [
        (torch.ones(2, 65).bool(), r"x has the shape \(2, 65\); at most 64 fit"),
        (torch.ones(65, 2), r"x has the shape \(65, 2\); at most 64 fit"),
    ],
)
def test_a_matrix_that_does_not_fit_the_picture_is_refused(short, sentence):
    with pytest.raises(InputError, match=sentence):
        made(short)


@pytest.mark.parametrize("fn", [lambda x: 0, lambda: 0])
def test_a_control_without_a_parameter_is_refused(fn):
    with pytest.raises(InputError, match="the function has no parameter 'y'"):
        control("y", (0, 1), fn)


@pytest.mark.parametrize("kind", [torch.Tensor.numpy, torch.Tensor.clone, torch.Tensor.tolist])
@pytest.mark.parametrize("short", [torch.ones(3, 2).tril() == 1, torch.ones(3, 2).tril()])
def test_a_matrix_is_given_as_a_tensor_of_its_own(kind, short):
    start = short.clone().numpy()
    one = made(start)
    for value in (torch.zeros_like(short), short):
        assert one.plain(kind(value)) == value.tolist()
        argument = one.argument(one.plain(kind(value)))
        assert argument.equal(value) and argument.dtype == short.dtype
        argument.fill_(0)
    assert start.tolist() == one.spec["value"] == short.tolist(), "the caller's is not changed"
    start[0] = 0
    assert one.spec["value"] == short.tolist(), "and not kept"
