"""Exp and normalise, which together are softmax: they turn scores into weights."""

from ..pipeline import Stage

# --- exp: takes scores and a dim ---


def stable(scores, dim=-1):
    return (scores - scores.amax(dim, keepdim=True)).exp()


def naive(scores, dim=-1):
    return scores.exp()


def global_max(scores, dim=-1):
    return (scores - scores.max()).exp()


def less_column_max(scores, dim=-1):
    """Subtract the maxima of the rows from the columns, as if keepdim=True were forgotten."""
    return (scores - scores.amax(-1)).exp()


def less_maximum_or_0(scores, dim=-1):
    return (scores - scores.amax(dim, keepdim=True).clamp(min=0)).exp()


def exp_is(variant):
    """Return a variant of the stage exp; the stage makes a function, which normalise calls."""
    return lambda s: variant


# --- normalise ---


def soft(scores, exp=stable, dim=-1):
    """Return softmax of the scores along dim, computed with this exp."""
    exps = exp(scores, dim)
    return exps / exps.sum(dim, keepdim=True)


def weigh(state):
    return soft(state.scores, state.exp)


def over(*dims):
    """Return a variant of normalise: softmax along these dimensions."""
    return lambda s: soft(s.scores, s.exp, dim=dims)


def divided(x, dim=-1):
    return x / x.sum(dim, keepdim=True)


# --- the stages ---


EXP = Stage(
    exp_is(stable),
    {
        "exp overflows": exp_is(naive),
        "maximum never below 0": exp_is(less_maximum_or_0),
        "large scores cut off": (
            *(exp_is(lambda x, dim=-1, high=k: x.clamp(max=high).exp()) for k in (50, 80, 88, 100)),
            exp_is(lambda x, dim=-1: x.clamp(-80, 80).exp()),
        ),
    },
)
# For several rows.
EXP_OF_ROWS = EXP.plus({"the same maximum for every row": exp_is(global_max)})

SOFTMAX = Stage(
    weigh,
    {
        "softmax twice": lambda s: soft(weigh(s)),
        "not divided by the sum": (lambda s: stable(s.scores), lambda s: naive(s.scores)),
        "sigmoid instead of softmax": lambda s: s.scores.sigmoid(),
        "sigmoid, then divided by the sum": lambda s: divided(s.scores.sigmoid()),
        "maximum subtracted in the numerator only": lambda s: (
            stable(s.scores) / naive(s.scores).sum(-1, keepdim=True)
        ),
        "1 added to the sum": lambda s: (
            s.exp(s.scores) / (1 + s.exp(s.scores).sum(-1, keepdim=True))
        ),
        "maximum subtracted after exp": lambda s: divided(
            naive(s.scores) - naive(s.scores).amax(-1, keepdim=True)
        ),
        "softmax over one number": lambda s: soft(s.scores[..., None], s.exp)[..., 0],
        "logarithms of the weights": lambda s: s.scores.log_softmax(-1),
        "scores divided by their sum": (
            lambda s: divided(s.scores),
            lambda s: divided(s.scores - s.scores.amin(-1, keepdim=True)),
            lambda s: divided(s.scores - s.scores.amax(-1, keepdim=True)),
        ),
        "exp missing in the sum": lambda s: naive(s.scores) / s.scores.sum(-1, keepdim=True),
        "scores instead of weights": lambda s: s.scores,
    },
)
SOFTMAX_OF_ROWS = SOFTMAX.plus(
    {
        "softmax over the wrong axis": over(-2),
        "softmax over the whole matrix": over(-2, -1),
        "keepdim forgotten": (
            lambda s: s.exp(s.scores) / s.exp(s.scores).sum(-1),
            lambda s: soft(s.scores, less_column_max),
            lambda s: less_column_max(s.scores) / less_column_max(s.scores).sum(-1),
        ),
        "columns normalised as well": lambda s: divided(weigh(s), dim=-2),
    }
)
# If some scores are minus infinity, these give infinite sums and NaN, which tell nothing.
SOFTMAX_OF_MASKED = SOFTMAX_OF_ROWS.less(
    "scores divided by their sum",
    "exp missing in the sum",
    "softmax over one number",
    "columns normalised as well",
)
# For pipelines that blend; if weights are the result, "numbers rounded" covers it.
ROUNDED = {"weights rounded to 2 decimals first": lambda s: weigh(s).round(decimals=2)}
