"""Project: make the queries (which ask), the keys (matched) and the values (blended)."""

from ..pipeline import Stage


def roles(order):
    """Return a variant. order: what makes queries, keys and values, as three letters: q is
    W_query, k is W_key, v is W_value; x stands for the inputs as they are."""

    def project(state):
        matrices = dict(q="W_query", k="W_key", v="W_value")
        return tuple(
            state.inputs if letter == "x" else state.inputs @ getattr(state, matrices[letter])
            for letter in order
        )

    return project


def _written_over(state):
    queries = state.inputs @ state.W_query
    keys = queries @ state.W_key
    return queries, keys, keys @ state.W_value


def _turned(state):
    return tuple(state.inputs @ W.T for W in (state.W_query, state.W_key, state.W_value))


def every_word(state):
    """Use the inputs, as they are, as queries, keys and values."""
    return (state.inputs,) * 3


def asks(query):
    """Return a variant with one query, (1, d). query: takes the state, returns the word (d,)."""
    return lambda s: (query(s)[None], s.inputs, s.inputs)


# For exercises that take inputs and i.
ONE_QUERY = Stage(
    asks(lambda s: s.inputs[s.i]),
    {
        "a neighbour used as the query": (
            asks(lambda s: s.inputs[s.i + 1]),
            asks(lambda s: s.inputs[s.i - 1]),
        ),
        "the same query for every word": asks(lambda s: s.inputs[1]),
    },
)
PROJECT = Stage(
    roles("qkv"),
    {
        "keys and values swapped": roles("qvk"),
        "queries and keys swapped": roles("kqv"),
        "queries used as keys": roles("qqv"),
        "keys used as queries": roles("kkv"),
        "values used as keys": roles("qvv"),
        "queries used as values": roles("qkq"),
        "keys used as values": roles("qkk"),
        "matrices transposed": _turned,
        "queries not projected": roles("xkv"),
        "words blended, not values": roles("qkx"),
        "nothing projected": roles("xxx"),
        "values made from the keys": lambda s: (*roles("qk")(s), s.inputs @ s.W_key @ s.W_value),
        "inputs overwritten": _written_over,
    },
)
