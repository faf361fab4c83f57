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

Sentences are counted, and means decide nothing: in a mean, sentences in which the claim does not
hold are outweighed by others. Supported means needed: where the answer comes from, an exchange of
weights tells, with the answer that should come then.
"""

from dataclasses import dataclass
from itertools import islice
from math import comb

import torch

from ...attention import erase, exchange
from ...errors import InputError
from ..intervene import even_over

STAGES = 32, 64, 128  # sentences; the next stage only while it is open
FEWEST = 8  # sentences
TAKEN = 10 * STAGES[-1]  # of them, at most: one that came before is left out
MOST, HALF, SOME = 2 / 3, 1 / 2, 1 / 3  # of the sentences
ENOUGH = 3  # of the four changes: a model that has lost the answer still guesses it now and then
LEVEL = 0.05  # so unlikely is a count of sentences if the share of all is MOST, or HALF
FALL = 0.2  # of the chance of the answer, as a mean: where it falls more ...
GUESSED = 0.1  # ... and the answer changes in more of the sentences, it does not just stay
MORE = 0.05  # weight than other words; where there are many, over half of an even one
MANY = 24  # other words, or heads, are tried; of more the half with most weight, others drawn
ERRORS = 3  # standard errors that a figure shows

SUPPORTED, NOT_NEEDED, ALSO_WITHOUT = "supported", "not needed", "also without it"
NOT_ALONE, BY_SEED, CANNOT = "not alone", "depends on the seed", "cannot be told"
RULES = {
    SUPPORTED: "of the sentences with this answer clearly more than two thirds (binomial test) are "
    "like this. "
    f"The weight is there: over {MORE} more than that of other words (their median; in long "
    f"sentences over half of an even weight more). At least {ENOUGH} of the four changes make "
    "another answer the likeliest, each of them in clearly more than a third of the sentences; "
    "and an exchange brings the other answer, where that is claimed. No control does as much: no "
    "other word that is taken out and set to 0, not most exchanges of words drawn at random, not "
    "both in another head",
    NOT_NEEDED: "in too many sentences the answer stays when this weight is changed as the reason "
    "says",
    ALSO_WITHOUT: "in too many sentences other words have as much weight, and in too many the "
    "answer stays without this one",
    NOT_ALONE: "the answer needs this weight, but in too many sentences other words have as much, "
    "or another word or head is needed as much, or an exchange does not bring the other answer",
    BY_SEED: "of models that differ in their seed only, some support the claim and some do not",
    CANNOT: f"there are fewer than {FEWEST} sentences, or the model does not give this answer, or "
    "in some sentences the claim holds and in others not",
}
WEIGHT, EVEN, OUT, ZERO, EXCHANGED, TURNED = range(6)
TRIED = "weight", "made even", "taken out", "set to 0", "exchanged", "exchanged: turns"
CHANGES = (
    "all weights are made even",
    "the weight is taken out",
    "the weight is set to 0",
    "the weights of two words are exchanged",
)
OWN, OTHER_WORDS = range(2)


@dataclass
class Case:
    """One sentence of a claim.

    words: as the subject takes them.  query, key: positions of the word that looks and of the
    one looked at.  answer: the number of the answer that comes of it, as is claimed.
    instead, turns: the word with which the weights are exchanged, and the answer that should
    come then; None: with a word drawn at random that has less weight, and any other answer.
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

    verdict: one of RULES, with why, a sentence.  sentences: how many different ones it needed.
    right: the share of them with the claimed answer; all that follows is about these.
    follow: in how many of them all holds that SUPPORTED asks for.
    figures: (6, columns, 2), rows as TRIED; columns: the claim's own, other words (the largest
    of those that are taken out or set to 0, else their median), and, if there is one, the other
    head that does most; each a mean over sentences and three standard errors. The first row are
    weights, the others falls of the chance of the answer (the last one: the rise of that of the
    other answer). NaN where nothing was tried.
    counts: (6, columns), in how many sentences the weight is there, or the answer changes; NaN
    where that was not asked.
    other: its layer and its heads, from 1.  any_other: in how many sentences one or another head
    changes the answer.  heads, words: how many others were tried, and how many there are, of
    words in the longest sentence.
    """

    verdict: str
    why: str
    sentences: int
    right: float = torch.nan
    follow: int = 0
    figures: torch.Tensor | None = None
    counts: torch.Tensor | None = None
    other: tuple | None = None
    any_other: int = 0
    heads: tuple = (0, 0)
    words: tuple = (0, 0)


def judge(subject, layer, head, cases, seed=0):
    """judge(subject, 1, None, cases): an Outcome.

    layer, head: from 0; head None for all heads of the layer together.  cases: an iterable of
    Case in random order (a list is shuffled), of which it takes as many as it needs, at most 128,
    each sentence once. Where the one word cannot see the other, the claim does not hold.
    seed: of what is drawn as controls.
    Raises InputError if there is no such layer or head, if a case, or what the subject gives, is
    of another form, or if in most sentences the word cannot see the other, or no other at all.
    """
    draws, rows, known, unseen, place = torch.Generator().manual_seed(seed), [], {}, 0, None
    words = 0, 0
    for case in islice(_iterable(cases, draws), TAKEN):
        at = case.query, case.key, case.instead
        same = repr(case.words.tolist() if torch.is_tensor(case.words) else case.words)
        if known.setdefault(same, at) != at:
            raise InputError(f"a sentence comes twice, at other places: {same[:60]}.")
        if len(known) == len(rows):
            continue
        weights = _weights(subject, case.words)
        before = _chances(subject.answers(case.words))
        _expect_fit(case, weights[0].shape[-1], len(before))
        if place is None:
            place, others, total = _heads(weights, layer, head, case, draws)
            _expect_asked(subject, case.words, weights)
        seen = _seen(subject, case, weights)
        visible = all(seen[layer][at[0], j] for j in at[1:] if j is not None)
        unseen += not visible
        if before.argmax() != case.answer:
            rows.append(None)
        elif not visible:
            rows.append(torch.zeros(6, 2 + len(others), 2))
        else:
            row, tried = _tried(subject, case, before, weights, seen, place, others, draws)
            rows.append(row)
            words = max(words, tried, key=lambda pair: pair[1])
        counts = dict(heads=(len(others), total), words=words)
        final = len(rows) == STAGES[-1]
        if 2 * unseen <= len(rows) in STAGES and (outcome := _decide(rows, others, counts, final)):
            return outcome
        if final:
            break
    if 2 * unseen > len(rows):
        raise InputError(
            "in most sentences the word that looks cannot see the other one: it comes later, or is "
            "too far away."
        )
    return _decide(rows, *((others, counts) if rows else ([], {})), final=True)


def _iterable(cases, draws):
    if isinstance(cases, (list, tuple)):
        cases = [cases[k] for k in torch.randperm(len(cases), generator=draws).tolist()]
    try:
        cases = iter(cases)
    except TypeError:
        raise InputError(
            f"the cases are {repr(cases)[:40]}; an iterable of Case is expected."
        ) from None
    for case in cases:
        if not isinstance(case, Case):
            raise InputError(f"a case is {repr(case)[:40]}; a Case is expected.")
        yield case


def _weights(subject, words):
    weights = subject.weights(words)
    given = weights if isinstance(weights, (list, tuple)) else ()
    shapes = {tuple(w.shape[1:]) if torch.is_tensor(w) else () for w in given}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 2 or shape[0] != shape[1]:
        raise InputError(
            "the model's weights(words) should be a list by layer of tensors (heads, n, n), with "
            "0 heads where a layer has no attention."
        )
    if not all((w >= 0).all() and (w.sum(dim=-1) < 1.001).all() for w in weights):
        raise InputError(
            "the model's weights(words) should come after softmax: none below 0, and no row with a "
            "sum above 1."
        )
    return weights


def _expect_asked(subject, words, weights):
    """Or changes would be made elsewhere, or nowhere."""
    asked = {}
    same = subject.answers(words, lambda k, w: (asked.update({k: w.shape}), w)[1])
    if asked != {k: w.shape for k, w in enumerate(weights) if len(w)}:
        raise InputError(
            "the model's answers(words, change) should call change(layer, weights) in every layer "
            "with attention, counted from 0, with (heads, n, n) as weights(words) gives them."
        )
    if not torch.allclose(same, subject.answers(words), atol=1e-4):
        raise InputError("the model answers otherwise when change returns the weights as they are.")


def _expect_fit(case, n, answers):
    wanted = dict(query=n, key=n, answer=answers, instead=n, turns=answers)
    for name, below in wanted.items():
        given = getattr(case, name)
        if given is None and name in ("instead", "turns"):
            continue
        if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < below:
            raise InputError(
                f"{name} of a case is {repr(given)[:40]}; a whole number from 0 to {below - 1} is "
                "expected."
            )
    if case.key == case.instead or (case.turns is not None and case.instead is None):
        raise InputError(
            f"instead of a case is {case.instead}; another word than its key, {case.key}, is "
            "expected, with which the weights are exchanged."
        )


def _heads(weights, layer, head, case, draws):
    """(layer, its heads) of the claim, the same of each control, and how many others there are."""
    counts = [len(w) for w in weights]
    if not (type(layer) is int and 0 <= layer < len(counts) and counts[layer]):
        having = ", ".join(str(k + 1) for k, count in enumerate(counts) if count)
        raise InputError(f"there is no layer {layer + 1} with attention; it has: {having}.")
    if head is None:
        whole = {k: (k, list(range(count))) for k, count in enumerate(counts) if count}
        return whole.pop(layer), list(whole.values()), len(whole)
    if not (type(head) is int and 0 <= head < counts[layer]):
        raise InputError(
            f"there is no head {head + 1} in layer {layer + 1}; it has {counts[layer]}."
        )
    every = [(k, [h]) for k, count in enumerate(counts) for h in range(count)]
    every.remove((layer, [head]))
    by_weight = [weights[k][h[0], case.query, case.key].item() for k, h in every]
    return (layer, [head]), _controls(every, by_weight, draws), len(every)


def _controls(every, weights, draws):
    """Of more than MANY the half with most weight, and others drawn; those with most come first."""
    ordered = sorted(range(len(every)), key=lambda k: -weights[k])
    most, rest = ordered[: MANY // 2], ordered[MANY // 2 :]
    drawn = [rest[k] for k in torch.randperm(len(rest), generator=draws)[: MANY // 2].tolist()]
    return [every[k] for k in most + drawn]


def _seen(subject, case, weights):
    """A list by layer of (n, n) of bool, what each word may see."""
    if hasattr(subject, "seen"):
        return subject.seen(case.words)
    seen = [(w > 0).any(dim=0) for w in weights]  # what any head of the layer looks at
    for one in seen:  # a weight of 0 may be one of the model's own
        one[case.query, [j for j in (case.key, case.instead) if j is not None]] = True
    return seen


def _tried(subject, case, before, weights, seen, place, others, draws):
    """What all changes do to one sentence in which the claimed answer comes.

    before: its chances (answers,).  Returns (6, 2 + controls, 2), rows as TRIED: the weight or
    the fall of the chance, and 1 where the weight is there or the answer changes, else 0; and how
    many other words were tried, and how many there are.
    """
    q, k = case.query, case.key
    words = [j for j in seen[place[0]][q].nonzero()[:, 0].tolist() if j != k]
    if not words:
        raise InputError(
            "the word that looks sees no other word: there is nothing to change. (If it may see "
            "others and gives them no weight, the model needs seen(words), which says so.)"
        )
    of_words = weights[place[0]][place[1], q].mean(dim=0)
    other_words = _controls(words, of_words[words].tolist(), draws)
    drawn = [other_words[j] for j in torch.randperm(len(other_words), generator=draws).tolist()]
    # exchanged with a word that has more, it would have more itself
    lighter = [j for j in drawn if of_words[j] < of_words[k]] or drawn
    partner = lighter[0] if case.instead is None else case.instead

    def after(change, at):
        """The chances of the answers when the heads of one layer have changed weights."""
        layer, heads = at

        def changed(number, weights):
            if number != layer:
                return weights
            weights = weights.clone()
            weights[heads] = change(weights[heads], seen[layer])
            return weights

        return _chances(subject.answers(case.words, changed))

    def fall(change, at=place):
        chances = after(change, at)
        fell = (before - chances)[case.answer]
        return fell.item(), float(chances.argmax() != case.answer)

    def weight(at):
        row = weights[at[0]][at[1], q].mean(dim=0)
        others, more = row[words].median(), min(MORE, 0.5 / (len(words) + 1))
        return (row[k].item(), float(row[k] - others > more)), (others.item(), torch.nan)

    nothing = torch.nan, torch.nan
    rows = [[*weight(place), *(weight(at)[0] for at in others)]]
    rows.append([fall(_even), nothing, *(nothing for _ in others)])
    both = _taken_out, _set_to_0
    found = torch.tensor([[fall(change(q, j)) for j in other_words] for change in both])
    as_much = float(found[..., 1].all(dim=0).any())  # a word of which both change the answer
    for change, largest in zip(both, found[..., 0].amax(dim=1), strict=True):
        own = change(q, k)
        rows.append([fall(own), (largest, as_much), *(fall(own, at) for at in others)])
    swapped = _exchanged(q, k, partner)
    of_others = nothing
    drawn.remove(other_words[0])  # each word that got the most weight would stand out
    if len(drawn) > 1:
        pairs = zip(drawn, drawn[1:] + drawn[:1], strict=True)
        of_words = torch.tensor([fall(_exchanged(q, *pair)) for pair in pairs])
        of_others = of_words[:, 0].median(), float(of_words[:, 1].mean() > HALF)
    rows.append([fall(swapped), of_others, *(fall(swapped, at) for at in others)])
    turned = nothing
    if case.turns is not None:
        chances = after(swapped, place)
        rise = chances[case.turns] - before[case.turns]
        turned = rise.item(), float(chances.argmax() == case.turns)
    rows.append([turned, nothing, *(nothing for _ in others)])
    table = torch.tensor([[[*map(float, pair)] for pair in row] for row in rows])
    return table, (len(other_words), len(words))


def _chances(answers):
    if not torch.is_tensor(answers) or answers.ndim != 1:
        raise InputError("the model's answers(words) should be a tensor (answers,).")
    chances = answers.double().log_softmax(dim=-1).exp()
    if not chances.isfinite().all():
        raise InputError("the model's answers hold nan: there is nothing to compare.")
    return chances


# The four changes, of weights (heads, n, n); seen: (n, n), what a word may see.
def _even(weights, seen):
    return even_over(seen).to(weights).expand_as(weights)


def _taken_out(query, key):
    """And the rest of the row divided, so that it sums to 1 again."""

    def change(weights, seen):
        erased = erase(weights, *_at(weights, query, key))
        rest = seen[query].clone()
        rest[key] = False  # where it had all the weight, the others share it evenly
        return torch.where(erased.isnan(), even_over(rest).to(weights), erased)

    return change


def _set_to_0(query, key):
    """And the rest left: in a head that puts its weight where it does no harm, dividing what
    little is left would make that large."""

    def change(weights, seen):
        weights = weights.clone()
        weights[:, query, key] = 0
        return weights

    return change


def _exchanged(query, first, second):
    return lambda weights, seen: exchange(weights, *_at(weights, query, first, second))


def _at(weights, *positions):
    return [torch.full((len(weights),), at) for at in positions]


def _clear(yes, share):
    """Whether clearly more than this share of all sentences would be True, from these, (cases,)
    of 0 and 1: True, False, or None if it can be either (binomial test of one side)."""
    n, k = len(yes), int(yes.sum())

    def chance(counts):
        return sum(comb(n, c) * share**c * (1 - share) ** (n - c) for c in counts)

    if chance(range(k, n + 1)) < LEVEL:
        return True
    return False if chance(range(k + 1)) < LEVEL else None


def _decide(rows, others, counts, final=False):
    """An Outcome, or None if more sentences are needed."""
    if len(rows) < FEWEST:
        few = f"{len(rows)} different sentences of this form are too few; {FEWEST} are needed."
        return Outcome(CANNOT, few, len(rows))
    answered = torch.tensor([row is not None for row in rows])
    right = _clear(answered, HALF)
    if right is None and not final:
        return None
    known = counts | dict(sentences=len(rows), right=answered.double().mean().item())
    if not right:
        why = "the model does not clearly give this answer in most of the sentences."
        return Outcome(CANNOT, why, **known)
    table = torch.stack([row for row in rows if row is not None])
    columns = [OWN, OTHER_WORDS]
    if others:  # of those that change the answer most often the one with the largest fall
        as_much = (table[:, [OUT, ZERO], 2:, 1] > 0).all(dim=1)  # (sentences, other heads)
        other = int((as_much.sum(dim=0) + table[:, OUT, 2:, 0].mean(dim=0) / 2).argmax())
        columns.append(2 + other)
        at, heads = others[other]
        any_other = as_much.any(dim=1)
        known |= dict(other=(at + 1, [h + 1 for h in heads]), any_other=int(any_other.sum()))
    shown = table[:, :, columns]
    own, words = (shown[..., column, 1] > 0 for column in (OWN, OTHER_WORDS))
    known |= dict(counts=shown[..., 1].sum(dim=0), figures=_spread(shown))
    changes = own[:, EVEN:TURNED]
    needed, alone = changes.sum(dim=1) >= ENOUGH, ~(words[:, OUT] | words[:, EXCHANGED])
    # in the order in which they are asked: in how many sentences; the verdict and why if not
    parts = [(own[:, WEIGHT], MOST, ALSO_WITHOUT, "other words have as much weight")]
    for change, what in zip(changes.T, CHANGES, strict=True):
        parts.append((change, SOME, NOT_NEEDED, f"the answer stays when {what}"))
    stays = "the answer stays with two of the four changes, or more"
    parts.append((needed, MOST, NOT_NEEDED, stays))
    if not shown[:, TURNED, OWN].isnan().any():
        needed = needed & own[:, TURNED]
        stays = "the other answer does not come when the weights are exchanged"
        parts.append((own[:, TURNED], MOST, NOT_ALONE, stays))
    parts.append((alone, MOST, NOT_ALONE, "the answer needs another word as much"))
    if others:
        alone = alone & ~any_other
        parts.append((alone, MOST, NOT_ALONE, "the answer needs another head as much"))
    follow = own[:, WEIGHT] & needed & alone
    parts.append((follow, MOST, CANNOT, "one part of the claim or another does not hold"))
    known |= dict(follow=int(follow.sum()))
    clear = [_clear(part, share) for part, share, *_ in parts]
    lost = _clear(own[:, OUT] & own[:, ZERO], MOST)
    failed, unsure = False in clear, None in clear
    if not final and (unsure and not failed or clear[0] is False and lost is None):
        return None
    if not failed and not unsure:
        why = "the answer needs this weight, and no other word or head as much."
        return Outcome(SUPPORTED, why, **known)
    part, _, verdict, why = parts[clear.index(False if failed else None)]
    # with few answers one that is lost often comes by chance
    guessed = known["figures"][EVEN:TURNED, OWN, 0].min() > FALL and part.double().mean() > GUESSED
    if not failed or verdict == NOT_NEEDED and guessed:
        verdict = CANNOT
    if verdict == ALSO_WITHOUT:
        verdict = {True: NOT_ALONE, False: ALSO_WITHOUT, None: CANNOT}[lost]
    if verdict == CANNOT:
        return Outcome(CANNOT, f"in some sentences {why}, in others not.", **known)
    return Outcome(verdict, f"{'in too many sentences ' * bool(part.any())}{why}.", **known)


def _spread(shown):
    """Means over the sentences and their errors, (6, columns, 2)."""
    values = shown[..., 0].double()
    errors = ERRORS * values.std(dim=0) / len(values) ** 0.5
    return torch.stack([values.mean(dim=0), errors], dim=-1)
