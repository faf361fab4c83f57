"""What can be observed of a student's class: it is built, our matrices are put into it, and it is
called. Its names, and how it keeps the matrices, are the student's choice.

cls: the class.  sizes: what it is built with, (d_in, d_out, context_length, dropout, num_heads) or
the first of these. d_in is no multiple of d_out, nor of the size of a head, nor the other way
round.  inputs: what the module is called with.  matrices: ours for query, key and value, each
(d_in, d_out), and with several heads W_out, (d_out, d_out).
"""

import re
from contextlib import suppress
from itertools import permutations, product

import torch
from torch import nn

from ..checks.results import Observed, close, numbers_of, same
from .worlds import NotesWhatMeets, NothingDropped

# --- building it ---


def build(cls, sizes, seed=0):
    """Return a module in evaluation. Raises AttributeError if Module.__init__ was not called."""
    torch.default_generator.manual_seed(seed)
    module = cls(*sizes)
    if "_parameters" not in vars(module):
        raise AttributeError("attributes were set before Module.__init__() call")
    return module.eval()


def heads_of(sizes):
    """Return the number of heads."""
    return sizes[4] if len(sizes) > 4 else 1


def blocks(named, sizes):
    """Return what each head has of the matrices among these named tensors, once each, as (name,
    memory (d_in, head_dim)): columns of a Parameter or of a part of it, rows of an nn.Linear."""
    d_in, width = sizes[0], sizes[1] // heads_of(sizes)
    found = []
    for name, x in named:
        x = x.detach()
        if x.dim() > 2 and x.shape[0] == d_in:
            x = x.flatten(1)
        if x.dim() > 2:
            found += blocks([(name, part) for part in x], sizes)
        elif x.dim() == 2:
            x = x if x.shape[0] == d_in else x.T
            if x.shape[0] == d_in and x.shape[1] % width == 0:
                found += [(name, part) for part in x.split(width, dim=1)]
    return [*{memory.data_ptr(): (name, memory) for name, memory in found}.values()]


def outputs_of(named, sizes):
    """Return the memory (rows, d_out) of the matrices that read the merged heads, in one piece or
    in parts; [] if the class has one head."""
    d_in, d_out = sizes[:2]
    found = []
    for name, x in named if len(sizes) > 4 else ():
        x = x.detach()
        x = x.flatten(0, -2) if x.dim() > 2 and d_in not in x.shape else x
        if x.dim() == 2 and d_in not in x.shape and d_out in x.shape:
            turned = x.shape[1] != d_out or name.endswith("weight")  # as in an nn.Linear
            x = x.T if turned and x.shape[0] == d_out else x
            found += [x] if x.shape[0] % (d_out // heads_of(sizes)) == 0 else []
    return found


def role(name):
    """Return 0, 1 or 2 if the name of a matrix means query, key or value, else None."""
    for k, (word, letter) in enumerate([("quer", "q"), ("key", "k"), ("val", "v")]):
        short = rf"(^|[._])(w|to|lin|linear|proj)?{letter}(w|proj|lin|linear)?\d*([._]|$)"
        if word in name.lower() or re.search(short, name.lower()):
            return k
    return None


def orders(found, heads):
    """Return the orders in which our matrices may go into those found, lists of (matrix, head): one
    order if the names say which is which; otherwise all, the order of creation first."""
    roles = [role(name) for name, _ in found]
    if all(roles.count(k) == heads for k in range(3)):
        return [[(k, roles[:place].count(k)) for place, k in enumerate(roles)]]
    ways = [list(product(order, range(heads))) for order in permutations(range(3))]
    by_head = [sorted(way, key=lambda place: place[1]) for way in ways]
    return ways + by_head * (heads > 1)


MATRICES = "matrices (d_in, d_out) to train"
OUTPUTS = "matrices (d_out, d_out) to train"


class Filled:
    """A module in which ours can be put for its matrices.

    counts: how many it has to train.  complete: has it one of each?  ways: those in which ours may
    go in, the likeliest first.
    """

    def __init__(self, cls, sizes):
        self.module, self.sizes = build(cls, sizes), sizes
        named = list(self.module.named_parameters())
        self.found, self.outs = blocks(named, sizes), outputs_of(named, sizes)
        self.counts = counts(named, sizes)
        self.complete = self.counts == {MATRICES: 3, **({OUTPUTS: 1} if len(sizes) > 4 else {})}
        # A layer is called, or its weight transposed; a plain matrix may stand either way round.
        layers = [x for x in self.module.modules() if type(x) is nn.Linear]
        is_layer = any(x.in_features == x.out_features == sizes[1] for x in layers)
        turns = (False, True) if len(self.outs) == 1 and not is_layer else (False,)
        if self.complete:
            self.ways = [*product(orders(self.found, heads_of(sizes)), turns)]

    def put(self, matrices, way=None):
        """Copy our matrices into those found in this way, and zeros into the biases."""
        order, turned = way or self.ways[0]
        *three, W_out = matrices if self.outs else (*matrices, None)
        with torch.no_grad():
            for x in filter(lambda x: is_bias(x, self.sizes), self.module.parameters()):
                x.zero_()
            for (_, memory), (k, head) in zip(self.found, order, strict=True):
                width = memory.shape[1]
                memory.copy_(three[k][:, head * width : (head + 1) * width])
            if self.outs:
                rows = (W_out.T if turned else W_out).split([len(x) for x in self.outs])
                for memory, part in zip(self.outs, rows, strict=True):
                    memory.copy_(part)
        return self.module


def counts(named, sizes):
    """Return how many matrices there are among these named tensors: {what: number}."""
    named, heads = list(named), heads_of(sizes)
    found = {MATRICES: len(blocks(named, sizes)) / heads}
    if len(sizes) > 4:
        found[OUTPUTS] = sum(len(x) for x in outputs_of(named, sizes)) / sizes[1]
    return {what: int(x) if x == int(x) else x for what, x in found.items()}


def is_bias(x, sizes):
    """Can x be a bias of queries, keys, values, or of all of them at once?"""
    width = sizes[1] // heads_of(sizes)
    return bool(x.dim()) and x.numel() == max(x.shape) and x.numel() % width == 0


# --- measuring: see exercise.Case ---

CHANGES = "one call affects another"
LIKE_TRAINING = "the same numbers in training and evaluation"
GROWS = "it grows with each call"
BESIDE = "trainable numbers outside the matrices"
UNUSED = "numbers of a bias that change nothing"
LEFT, BUFFERS = "what .to() leaves behind", "buffers"
ALIKE = "two modules begin with the same matrices"


def keeping(cls, inputs, sizes, matrices):
    """Observe how a class keeps its matrices: how many of each kind there are."""
    module = build(cls, sizes)
    parameters = list(module.named_parameters())
    kept = {
        "matrices that are frozen": [x for x in parameters if not x[1].requires_grad],
        "matrices as plain tensors": [*_plain(module), *module.named_buffers()],
        "matrices in a list or dict": _listed(module),
    }
    found = counts([x for x in parameters if x[1].requires_grad], sizes)
    return Observed(found | {what: counts(named, sizes)[MATRICES] for what, named in kept.items()})


def _outputs(module, inputs, seed=0):
    """Return the outputs in evaluation, or a fact if they change in training or at a later call."""

    def called(mode, inputs):
        # With the same seed, what still differs is not due to chance alone.
        torch.default_generator.manual_seed(seed)
        return numbers_of(module.train(mode)(inputs))

    before = inputs.clone()
    result, trained = called(False, inputs), called(True, before.clone())
    again = result if close(result, trained) else called(False, before)
    module.eval()
    if not close(result, again):
        return Observed({CHANGES: True})
    return result if close(result, trained) else Observed({LIKE_TRAINING: False})


def outputs_like(reference):
    """Return a measure of the outputs. reference: the class whose outputs decide which matrix is
    which, if their names do not say."""

    def outputs(cls, inputs, sizes, matrices):
        before = inputs.clone()
        kept = Filled(cls, sizes)
        if not kept.complete:
            kept.module(inputs)  # an error is shown before anything else
            return Observed(kept.counts)
        first, *others = kept.ways
        result = _outputs(kept.put(matrices, first), inputs)
        if isinstance(result, Observed):
            return result
        others = others if cls is not reference else ()
        wanted = outputs(reference, before, sizes, matrices) if others else result
        for way in () if close(result, wanted) else others:
            other = numbers_of(kept.put(matrices, way)(before.clone()))
            if close(other, wanted):
                return other
        return result

    outputs.of_formula = True
    return outputs


def formula_args(case):
    """Return inputs and matrices if the case measures outputs, else None; see Exercise."""
    if case.measure is drawn_after:
        inputs, sizes, seed = case.args
        generator = torch.Generator().manual_seed(seed)
        return (inputs, *(torch.rand(sizes, generator=generator) for _ in range(3)))
    if hasattr(case.measure, "of_formula"):
        inputs, sizes, matrices = case.args
        return (inputs, *matrices, *sizes[4:])
    return None


def drawn_after(cls, inputs, sizes, seed):
    """Return the outputs of a class with its own matrices, drawn after this seed."""
    return _outputs(build(cls, sizes, seed), inputs, seed)


def training(cls, inputs, sizes, matrices, has_mask=False):
    """Observe whether a class can be used and trained like any module. has_mask: then it may have
    biases, and its mask must move with it to another device."""
    if not (kept := Filled(cls, sizes)).complete:
        return Observed(kept.counts)

    def made():
        return Filled(cls, sizes).put(matrices)

    fresh, module = made(), made()
    first, trained, moved = _trained(fresh, inputs, sizes, matrices, has_mask)
    called = _called_again(module, made, inputs, first)
    left = {LEFT: moved.met} if has_mask else {}
    return Observed({**called, **trained, **birth(cls, inputs, sizes), **left})


def _trained(fresh, inputs, sizes, matrices, has_mask):
    """Return (the output of a module's first call, what its gradients show, the world in which it
    had moved to another device)."""
    # Listed before the first call: what forward creates is not trained.
    trained = [x for x in fresh.parameters() if x.requires_grad]
    with torch.enable_grad():
        words = inputs.clone().requires_grad_()
        with _moved(fresh, words) as world:
            first = fresh(words)
        *gradients, reached = _gradients(first, [*trained, words])
    parts = blocks([("", g) for g in gradients if g is not None], sizes)
    biases = {id(x) for x in trained if has_mask and is_bias(x, sizes)}
    others = [x.numel() for x in trained if id(x) not in biases]
    unused = [x for x, g in zip(trained, gradients, strict=True) if g is None and id(x) in biases]
    facts = {
        BESIDE: sum(others) - sum(x.numel() for x in matrices),
        UNUSED: sum(x.numel() for x in unused) * (reached is not None),
        "matrices that learn": sum(bool(part.any()) for _, part in parts) / heads_of(sizes),
        "a gradient reaches the words": reached is not None and bool(reached.any()),
    }
    return first, facts, world


def _called_again(module, made, inputs, first):
    """Return whether one call of a module affects another, and whether it grows.

    made: makes another module.  first: what the first call of another one returned for inputs."""
    # This module's first call gets a smaller batch and a shorter sentence than the later ones.
    other = inputs / 2 + 0.25
    returned = module(other[tuple(slice(n - 1) for n in inputs.shape[:-1])].clone())
    before, kept, alike = numbers_of(returned), [], False
    with suppress(Exception):  # raised by a later call only
        alike = close(numbers_of(module(inputs.clone())), numbers_of(first))
        kept.append(_kept(module))
        alike &= close(numbers_of(module(other.clone())), numbers_of(made()(other.clone())))
        kept.append(_kept(module))
        while kept[-2] < kept[-1] and len(kept) < 50:  # some keep the last few
            module(other.clone())
            kept.append(_kept(module))
    changes = not (alike and close(numbers_of(returned), before))
    return {CHANGES: changes, GROWS: kept[-1:] > kept[-2:-1]}


def _moved(module, words):
    """Return a world in which module and words have moved to another device."""
    for part in module.modules():  # a buffer that moves is a new tensor
        part._buffers = {name: x if x is None else x.clone() for name, x in part._buffers.items()}
    kept = [x for _, x in (*_plain(module), *_listed(module)) if not isinstance(x, nn.Parameter)]
    return NotesWhatMeets((*module.parameters(), *module.buffers(), words), kept)


def birth(cls, inputs, sizes, *_):
    """Observe whether each module draws new matrices. A seed may be set by __init__ or by a call;
    matrices filled with a single number are not due to a seed."""
    build(cls, sizes)(inputs)
    one = cls(*sizes)
    one(inputs)
    named = (module.named_parameters() for module in (one, cls(*sizes)))
    pairs = zip(*(blocks(each, sizes) for each in named), strict=False)
    alike = (torch.equal(x, y) and bool((x != x[0, 0]).any()) for (_, x), (_, y) in pairs)
    return Observed({ALIKE: any(alike)})


LEARNS, FINITE = "a gradient reaches the arguments", "its numbers are finite"


def learning(loss, given, *others):
    """Observe whether a loss, a function of the tensor `given`, can be trained."""
    given = given.clone().requires_grad_()
    with torch.enable_grad(), suppress(RuntimeError):  # numpy refuses a tensor that is trained
        (gradient,) = _gradients(loss(given, *others), [given])
        reached = gradient is not None and bool(gradient.any())
        return Observed({LEARNS: reached, FINITE: not reached or bool(gradient.isfinite().all())})
    return Observed({LEARNS: False, FINITE: True})


# --- looking inside ---


def _attributes(module):
    """Return names and values of the attributes of a module and of the modules inside it."""
    return [item for part in module.modules() for item in vars(part).items()]


def _plain(module):
    """Return the attributes that are tensors but not parameters or buffers, with their names."""
    named = [(name, x) for name, x in _attributes(module) if torch.is_tensor(x)]
    return [(name, x) for name, x in named if not isinstance(x, nn.Parameter)]


def _listed(module):
    """Yield named tensors in lists, tuples and dicts, where a module does not look for them."""
    for name, many in _attributes(module):
        if isinstance(many, list | tuple | dict) and not name.startswith("_"):
            for x in many.values() if isinstance(many, dict) else many:
                if torch.is_tensor(x):
                    yield name, x
                elif isinstance(x, nn.Module):
                    yield from x.named_parameters()


def _kept(module):
    """Return how many numbers and other things a module, its parts and their classes keep."""
    parts = [x for part in module.modules() for x in (part, type(part))]
    return sum(_many(dict(vars(x))) for x in parts)


def _many(x):
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, list | tuple | set):
        return len(x) + sum(map(_many, x))
    return x.numel() if torch.is_tensor(x) else 0


def _gradients(output, parameters):
    """Return the gradient for each of these parameters; None for those that none reaches."""
    if isinstance(output, list | tuple):
        output = torch.stack(list(output))
    if not (torch.is_tensor(output) and output.requires_grad):
        return [None] * len(parameters)
    return torch.autograd.grad(output.square().sum(), parameters, allow_unused=True)


# --- facts that show a mistake: exercises.toml and steps.toml name them ---


def drops(submission):
    """Does dropout change the numbers of the first wrong case?"""
    k = submission.wrong[0]
    return "dropout" in submission.code.lower() and not same(
        submission.ask(k, NothingDropped), submission.mine[k]
    )


def differs_in_training(submission):
    """Does the class give different numbers in training, even where nothing can be dropped?"""
    without = (submission.ask(k, NothingDropped) for k in range(len(submission.mine)))
    return submission.fact(LIKE_TRAINING) is False and any(
        LIKE_TRAINING in (result.observed or ()) for result in without
    )


def cut(submission):
    """Does a gradient miss one of the matrices, or the words?"""
    learning = submission.fact("matrices that learn")
    return (learning is not None and learning < 3) or submission.fact(
        "a gradient reaches the words"
    ) is False


def more_to_train(submission):
    """Are there numbers to train besides the three matrices, or a bias that is not used?"""
    more = [submission.fact(name) or 0 for name in (BESIDE, UNUSED)]
    return max(more) > 0 or (submission.fact(MATRICES) or 0) > 3
