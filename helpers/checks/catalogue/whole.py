"""Complete attention, in all its stages: for one query, or for all words of the inputs."""

from ..pipeline import Pipeline
from .blend import BLEND, BLEND_OF_ALL, blend
from .mask import CAUSAL_MASK, hide, nothing_hidden, the_future
from .project import PROJECT
from .scale import SCALE_OF_KEYS, SCORE_OF_KEYS
from .softmax import EXP, EXP_OF_ROWS, ROUNDED, SOFTMAX, SOFTMAX_OF_MASKED, SOFTMAX_OF_ROWS


def of_one_query(takes, project, score, scale):
    """Return the Pipeline for one query's context; project gives the query as a batch of one."""
    return Pipeline(
        takes,
        lambda s: s.contexts[0],
        project=project,
        score=score,
        scale=scale,
        mask=nothing_hidden,
        exp=EXP,
        normalise=SOFTMAX.plus(ROUNDED),
        blend=BLEND,
    )


ATTENTION = Pipeline(
    "inputs W_query W_key W_value",
    "contexts",
    project=PROJECT,
    score=SCORE_OF_KEYS,
    scale=SCALE_OF_KEYS,
    mask=nothing_hidden,
    exp=EXP_OF_ROWS,
    normalise=SOFTMAX_OF_ROWS.plus(ROUNDED),
    blend=BLEND_OF_ALL,
)
# More mistakes in attention, for exercises in which every word may look at every word.
IN_FORMULA = {
    "mask": {"causal mask applied": hide(the_future)},
    "blend": {"only the context of one word": lambda s: blend(s)[1]},
}
CAUSAL_ATTENTION = ATTENTION.replace(
    {"mask": CAUSAL_MASK, "normalise": SOFTMAX_OF_MASKED.plus(ROUNDED)}, hidden=the_future
)
