"""A picture works on copies of what the notebook holds, beside running cells and other pictures."""

import threading
import time

import torch
from asking import change
from torch import nn

from helpers import check, explore, guard
from helpers.copies import on_copies
from helpers.session import unchanged_by_a_picture


def test_a_picture_goes_on_drawing_random_numbers_and_the_notebook_does_too():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    widget = explore(lambda again=1: torch.rand(2, 2), again=(1, 3))
    cells = [change(widget, again=k)["panels"][0]["cells"] for k in (2, 3)]
    assert cells[0] != cells[1] and torch.rand(1) == expected


def test_pictures_and_cells_at_the_same_time_restore_only_what_is_theirs(monkeypatch):
    def slow(again=1):
        torch.set_default_dtype(torch.float64)
        time.sleep(0.2)
        return [[again]]

    monkeypatch.setattr(guard, "cell_elsewhere", lambda: "")
    pictures = [explore(slow, again=(1, 2)) for _ in "ab"]
    threads = [threading.Thread(target=one.compute, args=[{"again": 2}]) for one in pictures]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join()
    assert torch.get_default_dtype() == torch.float32
    with unchanged_by_a_picture([]):
        monkeypatch.setattr(guard, "cell_elsewhere", lambda: "runs")  # one has begun
        torch.manual_seed(7)
    assert torch.initial_seed() == 7


def test_a_picture_and_a_check_leave_a_training_alone(monkeypatch):
    monkeypatch.setattr(guard, "cell_elsewhere", lambda: "runs")
    weight = torch.ones(2, requires_grad=True)
    weight.grad = torch.ones(2)
    # to read a gradient that a training writes may crash
    assert on_copies(lambda: weight.grad)() is None

    def trains(scores):
        weight.grad.add_(1)  # as if by the cell
        return torch.softmax(scores, -1)

    assert check("softmax", trains).passed
    assert weight.grad[0] > 1


def test_a_step_in_a_picture_goes_on_from_the_notebooks_optimizer():
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], momentum=0.5)

    def step():
        weight.grad = torch.ones(2)
        optimizer.step()
        return weight.tolist()

    step()
    assert on_copies(step)() == step()


def test_what_shares_memory_shares_it_in_a_picture_too():
    layer = nn.Linear(2, 2)
    view = layer.weight.detach()
    assert on_copies(lambda: view.add_(1).equal(layer.weight))()
