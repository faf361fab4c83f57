"""Mask: what may not be seen gets the score minus infinity. The state's hidden(state) is the
mask of the pipeline, True where something is hidden."""

import torch

from ..counterfactual import FillsInPlace, ZeroTimesInfinityIsZero, low_is_lowest, plus_is_minus
from ..exercise import alone, cured
from ..pipeline import Stage
from .softmax import divided, exp_is, naive, soft, weigh

# --- masks ---


def future(scores, diagonal=1):
    """Return (n, n) of bool, True from this diagonal up: by default, above the main one."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)


def past(scores, diagonal=0):
    """Return (n, n) of bool, True on and below this diagonal."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril(diagonal)


def the_future(state):
    return future(state.scores)


def itself_too(state):
    return state.hidden(state) | torch.eye(state.scores.shape[-1], dtype=torch.bool)


def but_the_next(state):
    return state.hidden(state) & (future(state.scores, 2) | past(state.scores))


# --- variants ---


def hide(hidden=None, value=-torch.inf):
    """Return a variant that fills hidden scores with value. hidden: replaces the state's mask."""
    return lambda s: s.scores.masked_fill((hidden or s.hidden)(s), value)


def nothing_hidden(state):
    return state.scores


def dropped(state):
    state.scores.masked_fill(state.hidden(state), -torch.inf)
    return state.scores


def added(value):
    return lambda s: s.scores + s.hidden(s) * value


def later(hidden=None, before=nothing_hidden):
    """Return a choice that hides weights, after softmax, instead of scores."""

    def normalise(state):
        return weigh(state).masked_fill((hidden or state.hidden)(state), 0)

    return {"mask": before, "normalise": normalise}


def _between(state):
    """Apply softmax twice, and hide between the two."""
    return soft(weigh(state).masked_fill(state.hidden(state), -torch.inf))


def _exps_divided(state):
    return divided(naive(state.scores).masked_fill(state.hidden(state), 0))


def _evenly(state):
    """Give all words that are not hidden equal weights."""
    return divided((state.scores > -torch.inf).to(state.scores.dtype))


def _scores_of_0_too(state):
    return state.hidden(state) | (state.scores == 0)


# --- the stages ---

# For any mask.
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
        # Recognised by the value, or by an experiment.
        "the fill value is too high": (
            alone(hide(value=-1.0), hide(value=-10.0)),
            cured(low_is_lowest, hide(value=-35.0)),
        ),
        # Mistakes of other stages that can be made in a different way where there is a mask.
        "softmax twice": {"mask": nothing_hidden, "normalise": _between},
        "exp overflows": {
            "mask": nothing_hidden,
            "exp": exp_is(naive),
            "normalise": _exps_divided,
        },
    },
)
# For the mask that hides keys later than the query.
CAUSAL_MASK = MASK.plus(
    {
        "masked wherever a score is 0": (hide(_scores_of_0_too), hide(_scores_of_0_too, -1e9)),
        "mask upside down": hide(lambda s: past(s.scores)),
        "mask upside down, diagonal kept": hide(lambda s: past(s.scores, -1)),
        "diagonal masked too": (hide(itself_too), hide(itself_too, -1e9)),
        "next word not hidden": hide(but_the_next),
        "queries masked instead of keys": hide(
            lambda s: (torch.arange(s.scores.shape[-2]) > 0)[:, None]
        ),
    }
)
