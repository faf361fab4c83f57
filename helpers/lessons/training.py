"""Train the small models: Adam, and a progress bar."""

import torch

BLOCKS = 20


def counted(steps, what="training"):
    """Yield the steps of range(steps), and print a progress bar of 20 blocks meanwhile."""
    print(what, end=" ", flush=True)
    for step in range(steps):
        yield step
        print("■" * (BLOCKS * (step + 1) // steps - BLOCKS * step // steps), end="", flush=True)
    print()


class Adam:
    """Adam(model).step(loss, rate) moves each number of a model against its gradient.

    The mean of the last gradients is divided by their size, so that every number moves by about
    rate, however small its gradient is; a parameter without requires_grad stays as it is. The
    correction of the first steps is left out.
    torch.optim.Adam does the same, but importing it takes seconds and 70 MB in each kernel.
    Source: Kingma and Ba 2015.
    """

    def __init__(self, model):
        learned = (p for p in model.parameters() if p.requires_grad)
        self.learned = [(p, torch.zeros_like(p), torch.zeros_like(p)) for p in learned]

    def step(self, loss, rate):
        learned = [p for p, _, _ in self.learned]
        gradients = torch.autograd.grad(loss, learned, materialize_grads=True)
        for (p, mean, square), gradient in zip(self.learned, gradients, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.05 * (gradient * gradient - square)
            p.data -= rate * mean / (square.sqrt() + 1e-8)
