"""Score and scale: dot products of queries and keys, divided by the square root of d_k."""

from torch.nn.functional import normalize

from ..pipeline import Stage
from .softmax import weigh

# --- score ---


def dot(state):
    return state.queries @ state.keys.transpose(-2, -1)


def cosine(state):
    queries, keys = normalize(state.queries, dim=-1), normalize(state.keys, dim=-1)
    return queries @ keys.transpose(-2, -1)


def between_coordinates(state):
    return state.queries.transpose(-2, -1) @ state.keys


# --- scale ---


def by(divisor):
    """Return a variant that divides the scores. divisor: takes the state."""
    return lambda s: s.scores / divisor(s)


by_root = by(lambda s: s.d_k**0.5)


def by_count(count):
    """Return two variants with a count instead of d_k: its square root and the count itself."""
    return by(lambda s: count(s) ** 0.5), by(count)


def unscaled(state):
    return state.scores


# --- the stages ---

SCORE = Stage(
    dot,
    {
        "sign flipped": lambda s: -dot(s),
        "averaged instead of added": lambda s: dot(s) / s.keys.shape[-1],
    },
)
# For queries and keys that are made by matrices.
SCORE_OF_KEYS = SCORE.plus(
    {"queries and keys normalised": ({"score": cosine}, {"score": cosine, "scale": unscaled})}
)
SCALE = Stage(
    by_root,
    {
        "no scaling": unscaled,
        "divided by d_k itself": by(lambda s: s.d_k),
        "multiplied by sqrt(d_k)": by(lambda s: s.d_k**-0.5),
        "parentheses forgotten": (by(lambda s: s.d_k / 2), by(lambda s: s.d_k * 2)),
        "square root taken twice": by(lambda s: s.d_k**0.25),
        "always sqrt(2)": by(lambda s: 2**0.5),
        "scaled by the number of words": by_count(lambda s: s.scores.shape[-1]),
        "scaled after softmax": {"scale": unscaled, "normalise": lambda s: weigh(s) / s.d_k**0.5},
    },
)
# For values whose size can differ from d_k.
SCALE_BESIDE_VALUES = SCALE.plus(
    {"scaled by the size of a value": by(lambda s: s.values.shape[-1] ** 0.5)}
)
# For keys that are made from words.
SCALE_OF_KEYS = SCALE_BESIDE_VALUES.plus(
    {"scaled by the size of a word": by(lambda s: s.inputs.shape[-1] ** 0.5)}
)
