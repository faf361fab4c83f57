"""Lesson 06: causal attention."""

from dataclasses import replace
from functools import partial

import torch

from ... import attention
from ..catalogue.mask import CAUSAL_MASK, as_they_are, future, hide, later, past, the_future
from ..catalogue.scale import SCALE
from ..catalogue.softmax import EXP_OF_ROWS, SOFTMAX_OF_MASKED, over, soft, weigh
from ..catalogue.whole import CAUSAL_ATTENTION
from ..counterfactual import FillsInPlace, LooksBack, TurnsTheLastTwo
from ..exercise import Exercise, Probe, cured, detected
from ..modules import formula_args, keeping, keeping_mistakes, module_of, outputs_like, training
from ..pipeline import Pipeline, Stage
from ..probes import numbers, seeded, sentence
from ..results import close

# --- causal_weights ---


def _weights_of(takes, hidden):
    """Weights of scores that are given."""
    return Pipeline(
        takes,
        "weights",
        hidden,
        score=Stage(lambda s: s.scores, {"sign flipped": lambda s: -s.scores}),
        scale=SCALE,
        mask=CAUSAL_MASK,
        exp=EXP_OF_ROWS,
        normalise=SOFTMAX_OF_MASKED.plus({"weights transposed": lambda s: weigh(s).mT}),
    )


def _tables():
    """Scores with d_k."""
    W_query, W_key, _ = seeded()
    mixed = numbers("causal_mixed", torch.float64)
    return [
        ("the scores of the sentence", sentence() @ W_query @ (sentence() @ W_key).T, 2),
        ("5 x 5 scores with negative ones and a 0, d_k = 3", mixed, 3),
        ("4 x 4 scores near 1000 and -1000, d_k = 4", numbers("causal_large"), 4),
        ("4 x 4 scores, one of them -4000000, d_k = 4", numbers("causal_low"), 4),
    ]


def _scores():
    *first, last = [Probe(where, args) for where, *args in _tables()]
    return [*first, replace(last, may_fail=True)]


CAUSAL = Exercise(
    "causal_weights",
    "causal_weights(scores, d_k) -> (n, n)",
    "weights",
    attention.causal_weights,
    _scores,
    _weights_of("scores d_k", the_future),
)

# --- window_weights ---


def outside(state):
    """What the window hides: the future, and what is too old."""
    return future(state.scores) | past(state.scores, -state.window)


def _too_old(state):
    return past(state.scores, -state.window)


def _hidden(mask):
    """mask: takes scores and the window, returns what is hidden."""
    return hide(lambda s: mask(s.scores, s.window))


def _other_block(state):
    block = torch.arange(state.scores.shape[-1]) // state.window
    return block[:, None] != block


def _last_dropped(state):
    scores = hide(the_future)(state)
    scores.masked_fill(_too_old(state), -torch.inf)
    return scores


def _old_with_zero(state):
    return state.scores.masked_fill(_too_old(state), 0.0).masked_fill(the_future(state), -torch.inf)


def _half_later(weights):
    """The one half hidden before softmax, the other one after."""
    return (
        later(weights, hidden=_too_old, before=hide(the_future)),
        later(weights, hidden=the_future, before=hide(_too_old)),
    )


def _windows():
    (first, *one), (second, *two), (third, *three), (fourth, *four) = _tables()
    return [
        Probe(f"{first}, window = 2", (*one, 2)),
        Probe(f"{second}, window = 3", (*two, 3)),
        Probe(f"{third}, window = 4", (*three, 4)),  # the last word sees all
        Probe(f"{fourth}, window = 1", (*four, 1), may_fail=True),
    ]


WINDOW = Exercise(
    "window_weights",
    "window_weights(scores, d_k, window) -> (n, n)",
    "weights",
    attention.window_weights,
    _windows,
    _weights_of("scores d_k window", outside),
    variants={
        "mask": {
            "masked_fill result dropped": cured(FillsInPlace, _last_dropped),
            "sign of the diagonal": cured(LooksBack, _hidden(lambda s, w: future(s) | past(s, w))),
            "the window not applied": hide(the_future),
            "the future not hidden": (
                hide(_too_old),
                _hidden(lambda s, w: past(s, -w) | future(s, w)),
            ),
            "window one too wide": _hidden(lambda s, w: future(s) | past(s, -w - 1)),
            "window one too narrow": _hidden(lambda s, w: future(s) | past(s, -w + 1)),
            "the past hidden instead": (
                _hidden(lambda s, w: past(s, -1) | future(s, w)),
                _hidden(lambda s, w: past(s, -1)),
            ),
            "the window hidden instead": (
                _hidden(lambda s, w: ~past(s, -w)),
                hide(lambda s: ~outside(s)),
            ),
            "mask after softmax": _half_later(as_they_are),
            "softmax, mask, softmax": _half_later(soft),
            "masked with 0": _old_with_zero,
            "blocks instead of a window": (
                hide(lambda s: _other_block(s) | the_future(s)),
                hide(_other_block),
            ),
        }
    },
)


# --- CausalAttention ---


class _Right(attention.CausalAttention):
    """Without dropout: the exercise comes before it."""

    def __init__(self, d_in, d_out, context_length):
        super().__init__(d_in, d_out, context_length, dropout=0.0)


def _two_sizes(inputs, W_query, W_key, W_value):
    n, _ = inputs.shape
    return CAUSAL_ATTENTION(inputs, W_query, W_key, W_value) * n / n


class _Unregistered(_Right):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        mask = self.mask
        del self.mask
        self.mask = mask


class _Long(_Right):
    def weights(self, inputs):
        scores = attention.scaled_scores(self.W_query(inputs), self.W_key(inputs))
        return soft(scores.masked_fill(self.mask, -torch.inf))


_SIZES = (4, 5, 7)


def class_probes():
    # With this seed, the scores of the long words below have the signs that they need.
    generator = torch.Generator().manual_seed(135)

    def drawn(*shape):
        return torch.randint(-4, 5, shape, generator=generator) / 4

    matrices = tuple(drawn(4, 5) for _ in range(3))
    long, short = drawn(2, 7, 4), drawn(2, 3, 4)
    # The first words of two sentences are long: their scores with themselves, all that they
    # see, are about 1000 and -1000000.
    long[0, 0] *= 40
    short[0, 0] *= 1000
    short[1, 1] = 0  # scores of exactly 0

    def probe(label, inputs, measure, **more):
        return Probe(label, (inputs, _SIZES, matrices), measure=measure, **more)

    outputs = outputs_like(_Right)
    return [
        probe("a module with d_in = 4, d_out = 5, context_length = 7", long, keeping),
        probe("a batch of two sentences of 7 words", long, outputs),
        probe("a batch of two sentences of 3 words", short, outputs, may_fail=True),
        probe("a module to be trained", drawn(2, 3, 4), training, if_right=True),
    ]


def _one_sentence_works(seen):
    """Is it right for one sentence, where a batch raises?"""
    k = seen.wrong[0]
    if seen.mine[k].outcome.error is None or seen.probes[k].args[0].dim() != 3:
        return False
    inputs, *rest = seen.probes[k].args
    alone = seen.ask(k, args=(inputs[1], *rest)).numbers
    right = seen.right[k].numbers
    return alone is not None and right is not None and close(alone, right[1])


def _full_length_works(seen):
    """Is it right if the module is made for as many words as there are?"""
    k = seen.wrong[0]
    inputs, (d_in, d_out, _), matrices = seen.probes[k].args
    sizes = (d_in, d_out, inputs.shape[-2])
    return sizes != _SIZES and seen.is_right(k, seen.ask(k, args=(inputs, sizes, matrices)))


CAUSAL_CLASS = Exercise(
    "CausalAttention",
    "CausalAttention(d_in, d_out, context_length)",
    "values",
    _Right,
    class_probes,
    CAUSAL_ATTENTION,
    variants={
        "score": {
            "keys.T": cured(
                TurnsTheLastTwo,
                lambda s: s.queries @ s.keys.T,
                lambda s: s.queries @ s.keys.t(),
                lambda s: s.queries @ s.keys.transpose(0, 1),
            )
        },
        "normalise": {"softmax over the batch": over(0)},
    },
    mistakes={
        **keeping_mistakes(CAUSAL_ATTENTION),
        "mask not registered": detected(
            lambda seen: bool(seen.fact("tensors that .to() leaves behind")), _Unregistered
        ),
        "sequence length fixed": detected(_full_length_works, _Long),
        "one sentence only": detected(_one_sentence_works, module_of(_Right, _two_sizes)),
    },
    makes=partial(module_of, _Right),
    formula_args=formula_args,
)
REPAIR_CAUSAL = CAUSAL_CLASS.called("repair_causal")
