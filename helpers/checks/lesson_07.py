"""Lesson 07: learned attention."""

import torch

from .. import attention
from . import stages
from .declare import Exercise, Mistake, Probe
from .experiments import FillsInPlace, ZeroTimesInfinityIsZero, plus_is_minus
from .sources import SOURCES

# --- uniform_causal ---


def _seen(n, diagonal=0):
    """(n, n) of 1 where a word may look, else 0."""
    return torch.ones(n, n).tril(diagonal)


def _divided(count, diagonal=0):
    """What a word may look at, each row divided by a count. count: takes the numbers of the
    rows as (n, 1) and n."""
    return lambda n: _seen(n, diagonal) / count(torch.arange(n)[:, None], n)


def _one_by_number(n):
    weights = torch.zeros(n, n)
    for i in range(n):
        weights[i, : i + 1] = 1 / i
    return weights


def _fill_dropped(n):
    scores = torch.zeros(n, n)
    scores.masked_fill(_seen(n) == 0, -torch.inf)
    return scores.softmax(-1)


def _upside_down(n):
    return _seen(n).T / _seen(n).T.sum(-1, keepdim=True)


UNIFORM = Exercise(
    "uniform_causal",
    "uniform_causal(n) -> (n, n)",
    "weights",
    attention.uniform_causal,
    lambda: [Probe("6 words", (6,)), Probe("9 words", (9,)), Probe("1 word", (1,))],
    (
        Mistake(
            "masked_fill result dropped",
            _fill_dropped,
            stages.DROPPED,
            world=FillsInPlace,
            source=SOURCES["masked_fill result dropped"],
        ),
        Mistake(
            "the future not hidden",
            lambda n: torch.full((n, n), 1 / n),
            "Each word looks at all n words, the later ones too. Give what comes later a weight "
            "of 0.",
            source="softmax of n equal scores, without a mask",
        ),
        Mistake(
            "divided by n",
            _divided(lambda i, n: n),
            "Word i may look at i + 1 words, not at n, so most rows sum to less than 1. Divide "
            "row i by i + 1.",
            source="jsboige/CoursIA#15045 (a mean over more); asked in songyouwei/ABSA-PyTorch#192",
        ),
        Mistake(
            "not divided",
            _seen,
            "These are ones, and the weights of a row must sum to 1. Divide each row by its own "
            "sum.",
            source=SOURCES["not divided by the sum"],
        ),
        Mistake(
            "later words kept",
            lambda n: _divided(lambda i, n: i + 1, diagonal=n)(n),
            "Row i holds 1 / (i + 1) for the later words too. Set what comes after word i to 0.",
            source="the count was thought of, the mask was not",
        ),
        Mistake(
            "divided by i",
            _divided(lambda i, n: i),
            "The words 0 to i are i + 1 words, and 1 / 0 is no weight. Divide row i by i + 1.",
            also=(_one_by_number, lambda n: (1 / torch.arange(n))[:, None].expand(n, n).tril()),
            source=SOURCES["1-based index"],
        ),
        Mistake(
            "divided by i + 2",
            _divided(lambda i, n: i + 2),
            "Rows 0, 1, 2 have 1, 2, 3 words, so these rows sum to less than 1. Divide row i by "
            "i + 1.",
            source="1 added to a count that had it already",
        ),
        Mistake(
            "diagonal masked too",
            lambda n: _seen(n, -1) / _seen(n, -1).sum(-1, keepdim=True),
            "A word may look at itself, and word 0 at nothing else. Count the word itself among "
            "those that it may look at.",
            also=(
                lambda n: _seen(n, -1) / _seen(n, -1).sum(-1, keepdim=True).clamp(min=1),
                _divided(lambda i, n: i + 1, diagonal=-1),
            ),
            source=SOURCES["diagonal masked too"],
        ),
        Mistake(
            "one step too generous",
            lambda n: _seen(n, 1) / _seen(n, 1).sum(-1, keepdim=True),
            "Off by one: each word sees the NEXT word too. Use diagonal=0 in tril, diagonal=1 in "
            "triu, or [: i + 1] in a loop.",
            also=(
                _divided(lambda i, n: i + 1, diagonal=1),
                _divided(lambda i, n: i + 2, diagonal=1),
            ),
            source=SOURCES["one step too generous"],
        ),
        Mistake(
            "the past hidden instead",
            _upside_down,
            "Upside down: each word looks at itself and at what comes later. Hide what is above "
            "the diagonal.",
            also=(lambda n: _seen(n).T / torch.arange(1, n + 1)[:, None],),
            source="tril and triu exchanged",
        ),
        Mistake(
            "weights transposed",
            lambda n: attention.uniform_causal(n).T,
            "Your matrix is the transpose. Make row = query, column = key.",
            source=SOURCES["weights transposed"],
        ),
        Mistake(
            "keepdim forgotten",
            lambda n: _seen(n) / _seen(n).sum(-1),
            "(n, n) divided by (n,) divides COLUMN j by j + 1, not row i by i + 1. Use "
            "keepdim=True, or [:, None] behind the counts.",
            source="jacobgil/vit-explain#16",
        ),
        Mistake(
            "columns divided by their sums",
            lambda n: _seen(n) / _seen(n).sum(0),
            "Columns sum to 1, but a row is one query. Divide each ROW by its sum (dim=-1).",
            source="dim=0 taken for the rows",
        ),
        Mistake(
            "divided by the sum of the whole matrix",
            lambda n: _seen(n) / _seen(n).sum(),
            "The whole matrix sums to 1, not every ROW. Divide each row by its own sum.",
            source=SOURCES["softmax over the whole matrix"],
        ),
        Mistake(
            "masked with 0",
            lambda n: _seen(n).softmax(-1),
            "exp(0) = 1, so softmax gives a 0 a weight too. Fill with minus infinity before "
            "softmax, or divide by the sum of the row without it.",
            also=(lambda n: attention.uniform_causal(n).softmax(-1),),
            source=SOURCES["masked with 0"],
        ),
        Mistake(
            "mask * -inf added",
            lambda n: (torch.ones(n, n).triu(1) * -torch.inf).softmax(-1),
            stages.TIMES_INFINITY,
            world=ZeroTimesInfinityIsZero,
            source=SOURCES["mask * -inf added"],
        ),
        Mistake(
            "+inf",
            lambda n: torch.zeros(n, n).masked_fill(_seen(n) == 0, torch.inf).softmax(-1),
            stages.PLUS_INFINITY,
            world=plus_is_minus,
            source=SOURCES["+inf"],
        ),
        Mistake(
            "still scores",
            lambda n: torch.zeros(n, n).masked_fill(_seen(n) == 0, -torch.inf),
            "These are scores, 0 and minus infinity. Apply softmax to each row.",
            source=SOURCES["still scores"],
        ),
        Mistake(
            "each word looks at itself only",
            lambda n: torch.eye(n),
            "All weight is on the word itself. Give each of the words 0 to i the same weight.",
            source="torch.eye is causal too, and its rows sum to 1",
        ),
        Mistake(
            "cut to whole numbers",
            lambda n: attention.uniform_causal(n).floor(),
            "In whole numbers 1 / 2 is 0: // drops the fraction, and so does a tensor of dtype "
            "torch.long. Use / and a tensor of floating-point numbers.",
            source="a list of whole numbers makes a tensor of them, which drops fractions",
        ),
        Mistake(
            "loop stops one early",
            lambda n: attention.uniform_causal(n) * (torch.arange(n) < n - 1)[:, None],
            "The loop missed the last word. Run it over all words.",
            source=SOURCES["loop stops one early"],
        ),
    ),
    first_is_tensor=False,
)


# --- weight_between and exchange ---

COLON = (
    "With a colon every sentence is asked at the positions of ALL sentences. Use torch.arange(b) "
    "in place of the colon, or a loop over the sentences."
)
FIRST_POSITIONS = (
    "In each sentence the words stand elsewhere, but you used positions of sentence 0 for all. "
    "{use}"
)
COUNTED_FROM_0 = (
    "Positions count from 0, as Python does, so nothing is to be added or subtracted. {use}"
)


def _sentences(weights):
    """The numbers of the sentences, (b,)."""
    return torch.arange(len(weights))


def _batch(n, dtype=torch.float32, **positions):
    """A probe of weights (b, n, n), and these positions of words in the b sentences."""
    b = len(next(iter(positions.values())))
    weights = torch.rand(b, n, n, generator=torch.Generator().manual_seed(b), dtype=dtype)
    said = ", ".join(f"{name} {' '.join(map(str, at))}" for name, at in positions.items())
    return Probe(
        f"{b} {'sentence' if b == 1 else 'sentences'} of {n} words ({said})",
        (weights / weights.sum(-1, keepdim=True), *map(torch.tensor, positions.values())),
    )


# No word stands at the same position in two sentences, none at the end, where one more raises.
def _pairs():
    return [
        _batch(6, queries=[4, 3, 2], keys=[1, 2, 0]),
        _batch(5, torch.float64, queries=[3, 1], keys=[0, 3]),
        _batch(4, queries=[2], keys=[1]),
    ]


def _moved(*steps):
    """The right weight for positions that are moved by these steps."""
    return lambda weights, queries, keys: attention.weight_between(
        weights, queries + steps[0], keys + steps[1]
    )


BETWEEN = Exercise(
    "weight_between",
    "weight_between(weights, queries, keys) -> (b,)",
    "scores",
    attention.weight_between,
    _pairs,
    (
        Mistake(
            "query and key exchanged",
            lambda weights, queries, keys: weights[_sentences(weights), keys, queries],
            "This is how much the KEY looks at the query; row = query, column = key. Put the "
            "query first: weights[k, queries[k], keys[k]].",
            source=SOURCES["query and key exchanged"],
        ),
        Mistake(
            "every sentence with every pair",
            lambda weights, queries, keys: weights[:, queries, keys],
            COLON,
            also=(
                lambda weights, queries, keys: weights[:, queries, keys].T,
                lambda weights, queries, keys: weights[:, keys, queries],
                lambda weights, queries, keys: weights[:, queries][:, :, keys],
            ),
            source=SOURCES["every sentence with every pair"],
        ),
        Mistake(
            "positions of the first sentence for all",
            lambda weights, queries, keys: weights[:, queries[0], keys[0]],
            FIRST_POSITIONS.format(use="Use queries[k] and keys[k] for sentence k."),
            also=(
                lambda weights, queries, keys: weights[_sentences(weights), queries[0], keys],
                lambda weights, queries, keys: weights[_sentences(weights), queries, keys[0]],
            ),
            source=SOURCES["positions of the first sentence for all"],
        ),
        Mistake(
            "always the first sentence",
            lambda weights, queries, keys: weights[0, queries, keys],
            "All these weights are taken from sentence 0. Use weights[k] for sentence k.",
            source="weights[0] was right for the sentence that was looked at first",
        ),
        Mistake(
            "only the first sentence",
            lambda weights, queries, keys: weights[0, queries[0], keys[0]],
            "This is the weight of sentence 0 alone. Return one weight for each sentence: after "
            "the loop, not inside it.",
            also=(lambda weights, queries, keys: weights[:1, queries[0], keys[0]],),
            source=SOURCES["only the first sentence"],
        ),
        Mistake(
            "one number for all sentences",
            lambda weights, queries, keys: attention.weight_between(weights, queries, keys).mean(),
            "You averaged, or added, the weights of all sentences. Return one for each sentence.",
            also=(
                lambda weights, queries, keys: attention.weight_between(
                    weights, queries, keys
                ).sum(),
            ),
            source="the mean is what a table shows",
        ),
        Mistake(
            "the whole row",
            lambda weights, queries, keys: weights[_sentences(weights), queries],
            "These are the weights of the query with ALL words. Take the one at position keys[k].",
            source="one of the two positions forgotten",
        ),
        Mistake(
            "the whole column",
            lambda weights, queries, keys: weights[_sentences(weights), :, keys],
            "These are the weights of ALL words with the key. Take the one at position queries[k].",
            source="one of the two positions forgotten",
        ),
        Mistake(
            "1-based position",
            _moved(-1, -1),
            COUNTED_FROM_0.format(use="Use queries[k] and keys[k] as they are."),
            also=tuple(
                _moved(*steps)
                for steps in ((1, 1), (0, 1), (1, 0), (0, -1), (-1, 0))  # one or both
            ),
            source=SOURCES["1-based index"],
        ),
        Mistake(
            "the last word as the query",
            lambda weights, queries, keys: weights[_sentences(weights), -1, keys],
            "The query need not be the last word of its sentence. Use queries[k] for the row.",
            source=SOURCES["the last word as the query"],
        ),
        Mistake(
            "the largest weight",
            lambda weights, queries, keys: weights[_sentences(weights), queries].amax(-1),
            "You took the largest weight of the query, whichever word has it. Take the one at "
            "position keys[k].",
            source="after training it is often the largest",
        ),
        Mistake(
            "a position instead of a weight",
            lambda weights, queries, keys: weights[_sentences(weights), queries].argmax(-1),
            "These are positions: argmax says WHERE the largest weight is. Take the weight at "
            "position keys[k].",
            source="argmax taken for the weight of what is found",
        ),
        Mistake(
            "one word taken twice",
            lambda weights, queries, keys: weights[_sentences(weights), queries, queries],
            "Row and column are the same word, so this is its weight with itself. Use queries[k] "
            "for the row and keys[k] for the column.",
            also=(lambda weights, queries, keys: weights[_sentences(weights), keys, keys],),
            source="one name copied, the other one not put in",
        ),
        Mistake(
            "no index for the sentence",
            lambda weights, queries, keys: weights[queries, keys],
            "The first index of weights is the number of the sentence, so positions do not fit "
            "there. Use weights[k, queries[k], keys[k]].",
            also=(lambda weights, queries, keys: weights[keys, queries],),
            source=SOURCES["no index for the sentence"],
        ),
        Mistake(
            "softmax twice",
            lambda weights, queries, keys: attention.weight_between(
                weights.softmax(-1), queries, keys
            ),
            "What you are given are weights already; another softmax flattens them. Take them as "
            "they are.",
            source=SOURCES["softmax twice"],
        ),
        Mistake(
            "loop stops one early",
            lambda weights, queries, keys: attention.weight_between(weights, queries, keys)[:-1],
            "The loop missed the last sentence. Run it over all sentences.",
            also=(
                lambda weights, queries, keys: (
                    attention.weight_between(weights, queries, keys)
                    * (_sentences(weights) < len(weights) - 1)
                ),
            ),
            source=SOURCES["loop stops one early"],
        ),
    ),
)


# In the second probe the query gives one of the two weights to itself.
def _triples():
    return [
        _batch(6, queries=[4, 3, 2], first=[1, 4, 0], second=[2, 0, 3]),
        _batch(5, torch.float64, queries=[3, 1], first=[0, 3], second=[2, 1]),
        _batch(4, queries=[2], first=[0], second=[1]),
    ]


def _writing(to_first, to_second):
    """What is written at the two positions of the query's row. to_first, to_second: take the
    two weights as they were; None writes nothing."""

    def code(weights, queries, first, second):
        changed, k = weights.clone(), _sentences(weights)
        one, other = weights[k, queries, first], weights[k, queries, second]
        if to_first:
            changed[k, queries, first] = to_first(one, other)
        if to_second:
            changed[k, queries, second] = to_second(one, other)
        return changed

    return code


def _the_other(one, other):
    return other


def _the_one(one, other):
    return one


def _zero(one, other):
    return torch.zeros_like(one)


def _at_places(places):
    """Exchanges what is at two places. places: takes the number of a sentence, the query and
    the two positions, returns two places in weights."""

    def code(weights, queries, first, second):
        changed = weights.clone()
        for k in range(len(weights)):
            one, other = places(k, int(queries[k]), int(first[k]), int(second[k]))
            changed[one], changed[other] = weights[other], weights[one]
        return changed

    return code


def _of_sentences(chosen):
    """Exchanges in these sentences only. chosen: takes their number."""

    def code(weights, *positions):
        changed = weights.clone()
        part = slice(chosen(len(weights)))
        changed[part] = attention.exchange(weights[part], *(x[part] for x in positions))
        return changed

    return code


def _for_all(weights, queries, first, second):
    changed = weights.clone()
    changed[:, queries, first] = weights[:, queries, second]
    changed[:, queries, second] = weights[:, queries, first]
    return changed


def _with_positions(change):
    """The right answer for other positions. change: takes weights and the three, returns three."""
    return lambda weights, *positions: attention.exchange(weights, *change(weights, *positions))


def _first_of(*names):
    """The three positions, those at these places in the arguments as in sentence 0."""
    return _with_positions(
        lambda weights, *positions: [
            x[:1].expand_as(x) if j in names else x for j, x in enumerate(positions)
        ]
    )


def _steps(*steps):
    return _with_positions(
        lambda weights, *positions: [x + s for x, s in zip(positions, steps, strict=True)]
    )


EXCHANGE = Exercise(
    "exchange",
    "exchange(weights, queries, first, second) -> (b, n, n)",
    "scores",
    attention.exchange,
    _triples,
    (
        Mistake(
            "both weights are the same now",
            _writing(_the_other, None),
            "Only one of the two was written, or one was overwritten before it was read (a view "
            "is no copy). Take both weights from the tensor that you were given, and write them "
            "into its clone.",
            also=(_writing(None, _the_one),),
            source="pytorch/pytorch#17008 (x[i], x[j] = x[j], x[i])",
        ),
        Mistake(
            "nothing exchanged",
            lambda weights, queries, first, second: weights.clone(),
            "The weights are as they were. New names, and x[i][:, j] = ... with a tensor i, leave "
            "the tensor alone. Write into it with one pair of brackets: x[k, queries[k], "
            "first[k]] = ...",
            source="pytorch/pytorch#3531, numpy/numpy#14292 (x[i][j] = ... writes into a copy)",
        ),
        Mistake(
            "exchanged in every row",
            _at_places(
                lambda k, query, one, other: ((k, slice(None), one), (k, slice(None), other))
            ),
            "You exchanged two COLUMNS, so that every word looks elsewhere. Exchange two weights "
            "in the row of the query only.",
            source="a colon in place of the query",
        ),
        Mistake(
            "two rows exchanged",
            _at_places(lambda k, query, one, other: ((k, one), (k, other))),
            "You exchanged what the two words look at themselves. Exchange two weights inside the "
            "row of the query.",
            source="x[k, first[k]] is a row of weights, not one weight",
        ),
        Mistake(
            "in the column of the query",
            _at_places(lambda k, query, one, other: ((k, one, query), (k, other, query))),
            "You exchanged how much the two words look at the query; row = query, column = key. "
            "Put the query first: x[k, queries[k], first[k]].",
            source=SOURCES["query and key exchanged"],
        ),
        Mistake(
            "weights set to 0",
            _writing(_zero, _zero),
            "Both weights are gone, and the row no longer sums to 1. Put each in the place of the "
            "other.",
            also=(_writing(_zero, None), _writing(None, _zero)),
            source="the usual intervention takes weights away",
        ),
        Mistake(
            "moved, not exchanged",
            _writing(_the_other, _zero),
            "One weight was moved and left a 0 behind; the other one is gone. Put each in the "
            "place of the other.",
            also=(_writing(_zero, _the_one),),
            source="an exchange thought of as a move",
        ),
        Mistake(
            "only the first sentence",
            _of_sentences(lambda b: 1),
            "Only sentence 0 was changed. Run the loop over all sentences, and return after it.",
            source=SOURCES["only the first sentence"],
        ),
        Mistake(
            "positions of the first sentence for all",
            _first_of(0, 1, 2),
            FIRST_POSITIONS.format(use="Use queries[k], first[k] and second[k] for sentence k."),
            also=(_first_of(0), _first_of(1), _first_of(2), _first_of(1, 2)),
            source=SOURCES["positions of the first sentence for all"],
        ),
        Mistake(
            "every sentence with every pair",
            _for_all,
            COLON,
            source=SOURCES["every sentence with every pair"],
        ),
        Mistake(
            "always the last row",
            _with_positions(
                lambda weights, queries, first, second: (
                    torch.full_like(queries, weights.shape[-1] - 1),
                    first,
                    second,
                )
            ),
            "The query need not be the last word of its sentence. Use queries[k] for the row.",
            source=SOURCES["the last word as the query"],
        ),
        Mistake(
            "a key taken for the query",
            _with_positions(lambda weights, queries, first, second: (first, queries, second)),
            "You exchanged weights in the row of a key. Use queries[k] for the row, first[k] and "
            "second[k] for the columns.",
            also=(
                _with_positions(lambda weights, queries, first, second: (second, queries, first)),
            ),
            source="three positions in a row are easily mixed up",
        ),
        Mistake(
            "1-based position",
            _steps(-1, -1, -1),
            COUNTED_FROM_0.format(use="Use queries[k], first[k] and second[k] as they are."),
            also=(_steps(1, 1, 1), _steps(-1, 0, 0), _steps(1, 0, 0), _steps(0, -1, -1)),
            source=SOURCES["1-based index"],
        ),
        Mistake(
            "no index for the sentence",
            lambda weights, queries, first, second: weights[queries, second],
            "The first index of weights is the number of the sentence, so positions do not fit "
            "there. Use x[k, queries[k], first[k]], and the same with second[k].",
            also=(lambda weights, queries, first, second: weights[queries, first],),
            source=SOURCES["no index for the sentence"],
        ),
        Mistake(
            "only the row of the query",
            lambda weights, queries, *keys: attention.exchange(weights, queries, *keys)[
                _sentences(weights), queries
            ],
            "You returned one row of each sentence. Return the whole matrices, with the other "
            "rows as they were.",
            source="the row was cut out to be changed, and not put back",
        ),
        Mistake(
            "batch lost",
            lambda *args: attention.exchange(*args)[0],
            "You returned the matrix of sentence 0 alone. Return those of all sentences.",
            source=SOURCES["batch lost"],
        ),
        Mistake(
            "loop stops one early",
            _of_sentences(lambda b: b - 1),
            "The loop missed the last sentence. Run it over all sentences.",
            source=SOURCES["loop stops one early"],
        ),
    ),
)


# --- look_back ---


# One word three times; a word right after itself, and the number 0; no copies at all.
def _texts():
    texts = [5, 2, 5, 5, 7, 2], [4, 0, 9, 4, 0, 0, 4, 8, 9], [3, 1, 0, 2], [6]
    return [Probe(f"the words {words}", (torch.tensor(words),)) for words in texts]


def _looking(
    at=lambda i, n: range(i),
    chosen=-1,
    found=lambda j, i, words: j + 1,
    new=lambda i, n: -1,
):
    """look_back with something else. at: positions where a copy is looked for, of word i of n.
    chosen: which of the copies.  found: takes its position, i and all words.  new: what is
    returned without a copy."""

    def code(words):
        words, positions = words.tolist(), []
        for i, word in enumerate(words):
            copies = [j for j in at(i, len(words)) if words[j] == word]
            some = found(copies[chosen], i, words) if copies else new(i, len(words))
            positions.append(some)
        return torch.tensor(positions)

    return code


def _zero_at(i, n):
    return 0


def _others(i, n):
    return [j for j in range(n) if j != i]


def _later(i, n):
    return range(i + 1, n)


def _count(words):
    return (words[:, None] == words).tril(-1).sum(-1)


def _other_axis(words):
    copies = (words[:, None] == words).tril(-1)
    return torch.where(copies, torch.arange(1, len(words) + 1), -1).amax(0)


LOOK_BACK = Exercise(
    "look_back",
    "look_back(words) -> (n,)",
    "positions",
    attention.look_back,
    _texts,
    (
        Mistake(
            "the copy itself",
            _looking(found=lambda j, i, words: j),
            "This is where the copy stands; an induction head looks at the word AFTER it. Add 1 "
            "to the position of the copy.",
            # With another mistake, which is told when this one is mended.
            also=(
                _looking(found=lambda j, i, words: j, new=_zero_at),
                _looking(found=lambda j, i, words: j, chosen=0),
                lambda words: (words[:, None] == words).int().argmax(-1),  # list.index
            ),
            source="Sudharsanselvaraj/Token-Print#16 (said of induction heads)",
        ),
        Mistake(
            "the first copy instead of the last",
            _looking(chosen=0),
            "Of several copies the LAST one before the word counts. Let a later copy replace an "
            "earlier one, without break or argmax.",
            # argmax of a row without a copy is 0, and one more is 1.
            also=(_looking(chosen=0, new=lambda i, n: 1), _looking(chosen=0, new=_zero_at)),
            source="vllm-project/vllm#40704 (argmax of the matches is the first of them)",
        ),
        Mistake(
            "counts itself as a copy",
            _looking(at=lambda i, n: range(i + 1)),
            "Each word is equal to itself, but that is no copy. Compare it with the words before "
            "it only, j < i.",
            also=(_looking(at=lambda i, n: range(i + 1), chosen=0),),
            source="<= in place of <, or the word noted before it is looked up",
        ),
        Mistake(
            "looks at later copies too",
            _looking(at=_others),
            "You compared with all words, and what comes later cannot be seen. Compare with the "
            "words before it only, j < i.",
            also=(
                _looking(at=_others, chosen=0),
                _looking(at=_others, new=_zero_at),
                _looking(at=lambda i, n: range(n)),
            ),
            source="the loop of the scores runs over all words",
        ),
        Mistake(
            "looks at later copies only",
            _looking(at=_later),
            "You compared with the words AFTER each word, which it cannot see. Compare with the "
            "words before it only, j < i.",
            also=(_looking(at=_later, chosen=0),),
            source="triu and tril exchanged",
        ),
        Mistake(
            "not -1 where a word is new",
            _looking(new=_zero_at),
            "A word that was not there before has no copy, and 0, 1 or i are positions of words. "
            "Put -1 there.",
            also=(
                _looking(new=lambda i, n: i),
                _looking(new=lambda i, n: i + 1),
                _looking(new=lambda i, n: n),
                _looking(new=lambda i, n: 1),
            ),
            source="torch.zeros to start with; pytorch/vision#8194 (argmax of nothing is 0)",
        ),
        Mistake(
            "the word before the copy",
            _looking(found=lambda j, i, words: j - 1),
            "You went one step back from the copy; what is looked for comes AFTER it. Add 1 to "
            "the position of the copy.",
            source="the wrong sign",
        ),
        Mistake(
            "two words after the copy",
            _looking(found=lambda j, i, words: j + 2),
            "Off by one: this is two steps after the copy. Add 1 to its position once only.",
            source="1 added when it was noted, and again when it was looked up",
        ),
        Mistake(
            "the word instead of its position",
            _looking(found=lambda j, i, words: words[j + 1]),
            "This is the number of the word after the copy. Return its position, j + 1.",
            source="words[j + 1] is what the model predicts in the end",
        ),
        Mistake(
            "a distance instead of a position",
            _looking(found=lambda j, i, words: i - j - 1),
            "This is how many steps to go back. Return the position that is reached, j + 1.",
            also=(_looking(found=lambda j, i, words: i - j),),
            source="positions are often told as steps back",
        ),
        Mistake(
            "copies counted",
            _count,
            "These are numbers of copies. Return the position after the last copy.",
            source="sum in place of max over the copies",
        ),
        Mistake(
            "only the word right before is compared",
            _looking(at=lambda i, n: range(max(i - 1, 0), i)),
            "Only a copy right before the word is found; an else in the loop, for one, overwrites "
            "all earlier ones. Put -1 there before the loop, and nothing in an else.",
            source="`else: -1` inside the loop over the earlier words",
        ),
        Mistake(
            "the copy at position 0 is missed",
            _looking(at=lambda i, n: range(1, i)),
            "0 counts as False in an if, and a loop may begin at 1. Compare a position with `is "
            "not None` or with -1, and begin loops at 0.",
            source="leonid-pishchulin/poseval#18, nortikin/sverchok#4443 (position 0 is False)",
        ),
        Mistake(
            "no copy is ever found",
            lambda words: torch.full_like(words, -1),
            "All are -1; in a dict, for one, a tensor is never found again. Use words.tolist(), "
            "or .item() of each word.",
            source="pytorch/pytorch#7733 (a tensor as the key of a dict)",
        ),
        Mistake(
            "a copy of the word before",
            lambda words: attention.look_back(words).roll(1).index_fill(0, torch.tensor(0), -1),
            "You looked for copies of words[i - 1]. Compare words[i] with the words before it.",
            source="the first layer of the two looks at the word before",
        ),
        Mistake(
            "maximum over the wrong axis",
            _other_axis,
            "Word i got a position if it comes BACK later, not if it was there before: rows and "
            "columns are mixed up. Take the maximum over the words before word i.",
            source="dim=0 and dim=1 mixed up",
        ),
        Mistake(
            "loop stops one early",
            lambda words: attention.look_back(words).index_fill(
                0, torch.tensor(len(words) - 1), -1
            ),
            "A loop missed its last word. Run i over range(len(words)) and j over range(i).",
            also=(
                lambda words: attention.look_back(words)[:-1],
                _looking(at=lambda i, n: range(i - 1)),
            ),
            source=SOURCES["loop stops one early"],
        ),
    ),
)
