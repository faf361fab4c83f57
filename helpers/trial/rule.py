"""The trial itself: weights are changed while a model runs, and its answers decide.

A subject is any model with weights(words) -> list by layer of (heads, n, n), and
answers(words, change=None) -> scores or log-probabilities (answers,). change(layer, weights) is
called in every layer, counted from 0, with its weights (heads, queries, keys) after softmax, and
what it returns is used instead. It may say what each word may see, seen(words) -> list by layer of
(n, n) of bool; otherwise that is what any head of the layer gives more than 0. See small.Subject.

Terms: to change an activation inside a running model and watch its answer is a causal mediation
analysis (Vig et al. 2020) or activation patching (Meng et al. 2022). Even weights, and a weight
taken out, are ablations: of a head (Michel et al. 2019; Wiegreffe and Pinter 2019 for even
weights), of a weight (Serrano and Smith 2019). That the weights alone do not tell: Jain and
Wallace 2019. Whatever is done to the word of the claim is done to others as well: the controls.
"""

from dataclasses import dataclass
from itertools import islice

import torch

from ..attention import erase, exchange
from ..guard import InputError
from ..intervene import even_over

STAGES = 16, 32, 64, 128  # sentences; the next stage only while something is open
FEWEST = 8  # sentences
TAKEN = 10 * STAGES[-1]  # of them, at most, where the one word cannot see the other in all
ERRORS = 3  # standard errors to both sides: where a mean is taken to lie
FALL = 0.2  # of the chance of the answer, 0 to 1
MORE = 0.05  # than controls: of a weight, or of a fall
MOST = 2 / 3  # of the sentences
BLIND = 0.01  # a smaller change is none
WORDS = 8  # drawn at random from each sentence as controls
HEADS = 24  # other heads as controls; drawn at random where there are more

SUPPORTED, NOT_NEEDED, ALSO_WITHOUT = "supported", "not needed", "also without it"
BY_SEED, CANNOT = "depends on the seed", "cannot be told"
RULES = {
    SUPPORTED: f"in two thirds of the sentences the word has over {MORE} more weight than others; "
    f"the chance of the answer falls by over {FALL} with each of the three changes, and by over "
    f"{MORE} more than when words drawn at random, or the same words in any other head, are taken "
    "out or exchanged",
    NOT_NEEDED: "the weight is there, but with one of the three changes the answer does not "
    f"change as claimed: its chance falls by at most {FALL}",
    ALSO_WITHOUT: "in too many sentences other words have as much weight; or other words, or "
    "another head, changed in the same way, do as much",
    BY_SEED: "of models that differ in their seed only, some support the claim and some do not",
    CANNOT: f"there are fewer than {FEWEST} sentences, or the model does not give this answer, or "
    "nothing that was tried changes it, or the spread is too wide",
}
WEIGHT, EVEN, OUT, EXCHANGED, TURNED = range(5)
TRIED = "weight", "made even", "taken out", "exchanged", "exchanged: turns"
OWN, OTHER_WORDS, OTHER_HEADS = 0, 1, slice(2, None)


@dataclass
class Case:
    """One sentence of a claim.

    words: as the subject takes them.  query, key: positions of the word that looks and of the
    one looked at.  answer: the number of the answer that comes of it, as is claimed.
    instead, turns: the word with which the weights are exchanged, and the answer that should
    come then; None: with a word drawn at random, and any other answer.
    """

    words: object
    query: int
    key: int
    answer: int
    instead: int | None = None
    turns: int | None = None


@dataclass
class Outcome:
    """What came out for one model.

    verdict: one of RULES, with why, a sentence.  sentences: how many it needed.
    right: the share of them with the claimed answer.
    figures: (5, 2 + controls, 2), rows as TRIED; columns: the claim's own, words drawn at random,
    then the same in each other head; each a mean over the sentences and three standard errors.
    The first row are weights, the others falls of the chance of the answer (of the last row, the
    rise of that of the other one). NaN where there was nothing to try.
    """

    verdict: str
    why: str
    sentences: int
    right: float
    figures: torch.Tensor

    def largest_head(self, tried):
        """(mean, error) of the other head that comes out highest in this row, or NaN."""
        others = self.figures[tried, OTHER_HEADS]
        if not len(others) or others[:, 0].isnan().all():
            return torch.full((2,), torch.nan)
        return others[others[:, 0].nan_to_num(-torch.inf).argmax()]


def judge(subject, layer, head, cases, seed=0):
    """judge(subject, 1, None, cases): an Outcome.

    layer, head: from 0; head None for all heads of the layer together.  cases: an iterable of
    Case, of which it takes as many as it needs, at most 128, without those in which the one word
    cannot see the other.  seed: of what is drawn as controls.
    Raises InputError if there is no such layer or head, or nothing else that the word could see.
    """
    draws, rows, place, others = torch.Generator().manual_seed(seed), [], None, None
    cannot_see = 0
    for case in islice(cases, TAKEN):
        weights = subject.weights(case.words)
        if place is None:
            place, others = _heads([len(w) for w in weights], layer, head, draws)
        seen = _seen(subject, case.words, weights)
        if not all(seen[layer][case.query, j] for j in (case.key, case.instead) if j is not None):
            cannot_see += 1
            continue
        rows.append(_tried(subject, case, weights, seen, place, others, draws))
        if len(rows) == STAGES[-1]:
            break
        if len(rows) in STAGES and (outcome := _decide(rows)):
            return outcome
    if cannot_see and not rows:
        raise InputError("the word that looks cannot see the other one, which comes later.")
    return _decide(rows, final=True)


def _heads(counts, layer, head, draws):
    """(layer, its heads) of the claim, and the same of the controls."""
    if not (isinstance(layer, int) and 0 <= layer < len(counts) and counts[layer]):
        having = ", ".join(str(k + 1) for k, count in enumerate(counts) if count)
        raise InputError(f"there is no layer {layer + 1} with attention; there are {having}.")
    if head is None:
        whole = {k: (k, list(range(count))) for k, count in enumerate(counts) if count}
        return whole.pop(layer), list(whole.values())
    if not (isinstance(head, int) and 0 <= head < counts[layer]):
        raise InputError(
            f"there is no head {head + 1} in layer {layer + 1}; it has {counts[layer]}."
        )
    every = [(k, [h]) for k, count in enumerate(counts) for h in range(count)]
    every.remove((layer, [head]))
    if len(every) > HEADS:
        every = [every[k] for k in torch.randperm(len(every), generator=draws)[:HEADS].tolist()]
    return (layer, [head]), every


def _seen(subject, words, weights):
    """A list by layer of (n, n) of bool, what each word may see."""
    if hasattr(subject, "seen"):
        return subject.seen(words)
    return [(w > 0).any(dim=0) for w in weights]  # what any head of the layer looks at


def _tried(subject, case, weights, seen, place, others, draws):
    """What all changes do to one sentence: (5, 2 + controls), and a last row: whether the
    claimed answer came."""
    before = _chances(subject.answers(case.words))
    q, k = case.query, case.key
    words = [j for j in seen[place[0]][q].nonzero()[:, 0].tolist() if j != k]
    if not words:
        raise InputError("the word that looks sees no other word: there is nothing to change.")
    words = [words[j] for j in torch.randperm(len(words), generator=draws)[:WORDS].tolist()]
    partner = words[0] if case.instead is None else case.instead
    exchanges = [(k, partner), *zip(words, words[1:] + words[:1], strict=True)]

    def with_(change, at):
        """The chances of the answers when the heads of one layer have changed weights."""
        layer, heads = at

        def changed(number, weights):
            if number != layer:
                return weights
            weights = weights.clone()
            weights[heads] = change(weights[heads], seen[layer])
            return weights

        return _chances(subject.answers(case.words, changed))

    def fall(change, at):
        return (before - with_(change, at))[case.answer].item()

    def every(number, own, of_words, middle=torch.mean):
        """A row of the result. number(what, (layer, heads)): of one change."""
        controls = torch.tensor([number(what, place) for what in of_words])
        return [number(own, place), middle(controls), *(number(own, at) for at in others)]

    def turn(what, at):
        return (with_(what, at) - before)[case.turns].item()

    taken = [_without(q, j) for j in [k, *words]]
    swapped = [_with_exchange(q, *two) for two in exchanges]
    return torch.tensor(
        [
            every(
                lambda key, at: weights[at[0]][at[1], q, key].mean().item(), k, words, torch.median
            ),
            every(fall, _even, []),
            every(fall, taken[0], taken[1:]),
            every(fall, swapped[0], swapped[1:]),
            every(turn, swapped[0], swapped[1:])
            if case.turns is not None
            else [torch.nan] * (2 + len(others)),
            [float(before.argmax() == case.answer)] * (2 + len(others)),
        ]
    )


def _chances(answers):
    chances = answers.double().log_softmax(dim=-1).exp()
    if not chances.isfinite().all():
        raise InputError("the model's answers hold nan: there is nothing to compare.")
    return chances


# The three changes, of weights (heads, n, n); seen: (n, n), what a word may see.
def _even(weights, seen):
    return even_over(seen).to(weights).expand_as(weights)


def _without(query, key):
    def change(weights, seen):
        erased = erase(weights, *_at(weights, query, key))
        rest = seen[query].clone()
        rest[key] = False  # where it had all the weight, the others share it evenly
        return torch.where(erased.isnan(), even_over(rest).to(weights), erased)

    return change


def _with_exchange(query, first, second):
    return lambda weights, seen: exchange(weights, *_at(weights, query, first, second))


def _at(weights, *positions):
    return [torch.full((len(weights),), at) for at in positions]


def _interval(values):
    """Mean and three standard errors, of (cases, ...): (2, ...)."""
    error = ERRORS * values.std(dim=0) / len(values) ** 0.5
    return torch.stack([values.mean(dim=0), error])


def _over(values, limit):
    """Whether a mean over sentences lies over a limit: True, False, or None if that is open."""
    mean, error = _interval(values).tolist()
    return True if mean - error > limit else False if mean + error <= limit else None


def _decide(rows, final=False):
    """An Outcome, or None if more sentences are needed."""
    if len(rows) < FEWEST:
        few = f"{len(rows)} sentences of this form are too few; {FEWEST} or more are needed."
        return Outcome(CANNOT, few, len(rows), torch.nan, torch.full((5, 2, 2), torch.nan))
    table = torch.stack(rows).double()
    right, table = table[:, -1, OWN], table[:, :-1]
    own, words, heads = table[..., OWN], table[..., OTHER_WORDS], table[..., OTHER_HEADS]

    def outcome(verdict, why):
        figures = _interval(table).permute(1, 2, 0)
        return Outcome(verdict, why, len(rows), right.mean().item(), figures)

    changes = table[:, EVEN : EXCHANGED + 1].mean(dim=0).nan_to_num(0).abs()
    if not _over(right, 0.5) and (final or _over(right, 0.5) is False):
        return outcome(CANNOT, "the model does not give this answer in most of the sentences.")
    if changes.max() < BLIND:
        return outcome(CANNOT, "nothing that was tried changes the answer.")
    more_weight = own[:, WEIGHT] - words[:, WEIGHT]
    questions = [  # in the order in which they are asked; with the verdict and why if it is no
        (_over(right, 0.5), CANNOT, ""),
        (
            _over(more_weight, MORE),
            ALSO_WITHOUT, "the weight is not there: other words have as much.",
        ),
        (
            _over((more_weight > MORE).double(), MOST),
            ALSO_WITHOUT, "the weight is there in some of the sentences only.",
        ),
        *(
            (_over(own[:, k], FALL), NOT_NEEDED, f"the answer stays when {what}.")
            for k, what in (
                (EVEN, "the head's weights are made even"),
                (OUT, "the weight is taken out"),
                (EXCHANGED, "the weights of two words are exchanged"),
            )
        ),
    ]  # fmt: skip
    if not own[:, TURNED].isnan().any():
        turned = "with the weights exchanged, the other answer does not come."
        questions.append((_over(own[:, TURNED], FALL), NOT_NEEDED, turned))
    for k, what in ((OUT, "taken out"), (EXCHANGED, "exchanged")):
        found = _over(own[:, k] - words[:, k], MORE)
        questions.append(
            (found, ALSO_WITHOUT, f"other words, {what}, do as much: the answer needs them all.")
        )
        if heads.shape[-1]:
            most = heads[:, k].mean(dim=0).argmax()
            found = _over(own[:, k] - heads[:, k, most], MORE)
            questions.append((found, ALSO_WITHOUT, f"in another head, {what}, they do as much."))
    answers = [answer for answer, *_ in questions]
    if all(answers):
        return outcome(SUPPORTED, "the answer needs this weight, and more than the controls.")
    for answer, verdict, why in questions:
        if answer is False:
            return outcome(verdict, why)
        if answer is None and not final:
            return None
    return outcome(CANNOT, f"the spread over {len(rows)} sentences is too wide.")
