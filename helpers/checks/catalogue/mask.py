"""Mask: what may not be seen gets the score minus infinity. The state's hidden(state) is the
mask of the pipeline, True where something is hidden."""

import torch

from ..counterfactual import FillsInPlace, ZeroTimesInfinityIsZero, low_is_lowest, plus_is_minus
from ..exercise import alone, cured
from ..pipeline import Stage
from .softmax import divided, exp_is, naive, soft, weigh

# --- masks ---


def future(scores, diagonal=1):
    """(n, n) of bool: True above the diagonal."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)


def past(scores, diagonal=0):
    """(n, n) of bool: True on and below the diagonal."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril(diagonal)


def the_future(state):
    return future(state.scores)


def itself_too(state):
    return state.hidden(state) | torch.eye(state.scores.shape[-1], dtype=torch.bool)


def but_the_next(state):
    return state.hidden(state) & (future(state.scores, 2) | past(state.scores))


# --- variants ---


def hide(hidden=None, value=-torch.inf):
    """What is hidden gets this value. hidden: another mask than that of the pipeline."""
    return lambda s: s.scores.masked_fill((hidden or s.hidden)(s), value)


def nothing_hidden(state):
    return state.scores


def dropped(state):
    state.scores.masked_fill(state.hidden(state), -torch.inf)
    return state.scores


def added(value):
    return lambda s: s.scores + s.hidden(s) * value


def later(hidden=None, before=nothing_hidden):
    """Hidden in the weights, after softmax."""

    def normalise(state):
        return weigh(state).masked_fill((hidden or state.hidden)(state), 0)

    return {"mask": before, "normalise": normalise}


def _between(state):
    """Softmax twice, hidden between."""
    return soft(weigh(state).masked_fill(state.hidden(state), -torch.inf))


def _exps_divided(state):
    return divided(naive(state.scores).masked_fill(state.hidden(state), 0))


def _evenly(state):
    """Equal weights of all that is not hidden."""
    return divided((state.scores > -torch.inf).to(state.scores.dtype))


def _scores_of_0_too(state):
    return state.hidden(state) | (state.scores == 0)


# --- the stages ---

# Whatever is hidden.
MASK = Stage(
    hide(),
    {
        "result of masked_fill not used": cured(FillsInPlace, dropped),
        "mask * -inf added": cured(ZeroTimesInfinityIsZero, added(-torch.inf)),
        "nothing hidden": nothing_hidden,
        "mask after softmax": later(),
        "masked with 0": hide(value=0.0),
        "plus infinity": cured(plus_is_minus, hide(value=torch.inf)),
        "a large number instead of a low one": hide(value=1e9),
        "mask of ones added": added(1),
        "mask only, scores unused": {"normalise": _evenly},
        # Known by its value, or by an experiment.
        "a number not low enough": (
            alone(hide(value=-1.0), hide(value=-10.0)),
            cured(low_is_lowest, hide(value=-35.0)),
        ),
        # Mistakes of other stages that a mask allows in another way.
        "softmax twice": {"mask": nothing_hidden, "normalise": _between},
        "exp overflows": {
            "mask": nothing_hidden,
            "exp": exp_is(naive),
            "normalise": _exps_divided,
        },
    },
)
# What is hidden are keys that come later than the query.
CAUSAL_MASK = MASK.plus(
    {
        "masked wherever a score is 0": (hide(_scores_of_0_too), hide(_scores_of_0_too, -1e9)),
        "mask upside down": hide(lambda s: past(s.scores)),
        "mask upside down, diagonal kept": hide(lambda s: past(s.scores, -1)),
        "diagonal masked too": (hide(itself_too), hide(itself_too, -1e9)),
        "the next word not hidden": hide(but_the_next),
        "queries masked instead of keys": hide(
            lambda s: (torch.arange(s.scores.shape[-2]) > 0)[:, None]
        ),
    }
)
