"""Two questions about a weight: is a word read here, and is it needed?

Read: what the weight brings is taken from the same sentence with different content. Does the answer
follow? That is an interchange, or activation patching (Vig and others 2020, Meng and others 2022;
how to read it: Heimersheim and Nanda 2024, Zhang and Nanda 2024). Needed: is the answer lost when
the weight is set to 0 and the rest is left, and also when its row is made even? That is an
ablation. A weight with a backup is read but not needed, so it is also taken out together with its
strongest rival.

Both look at how far the score of the answer is above other scores, so an answer that becomes a coin
flip counts as lost, even where there are only two answers.
"""

import hashlib
from itertools import islice
from typing import NamedTuple

import torch

from ..errors import InputError
from .subject import Case

SENTENCES, FEWEST = 64, 8
READ = 1 / 4  # a weight is read if the answer goes this far towards that of the other sentence
PARTLY = 1 / 10  # a weight that moves the answer this far may be one of several readers
LOST = 1 / 3  # an answer is lost if this much of the gap to the next score is left, or less
MOST, FEW = 1 / 2, 1 / 3  # of the sentences: clearly more means yes, clearly fewer means no
SURE = 1.96  # standard errors of an interval of 95 %
RIVALS, CONTROLS = 24, 4
DECIDED_BY = 5000  # sentences

NEEDED, UNNEEDED = "read and needed", "read, but not needed"
UNREAD, UNDECIDED = "not read", "undecided"


class Edge(NamedTuple):
    """One weight: from the query to the key, in these heads of one layer."""

    layer: int
    heads: list
    query: int
    key: int


@torch.no_grad()
def judge(subject, layer, head, cases):
    """Return what judge(subject, 1, None, cases) finds: a dict that can be written as JSON.

    layer, head: counted from 0; head None means all heads of the layer together.  cases: an
    iterable of Case, of which the first 64 different ones are used.
    The dict holds the outcome and why; the number of sentences and how many of them the model
    answers as_claimed; in how many of these the answer follows, the weight is read (or partly), and
    the answer is lost with the row even, with the weight zero, and both ways (lost); the mean
    weight, and how far the answer moved on average; the interval of read; the rival, and how often
    it is read, needed (zero), or needed only_both; the chance of a guess; hashes.
    Raises InputError if a case does not fit, or if a control shows that the subject is broken.
    """
    cases, rows, seen = _different(cases), [], hashlib.sha256()
    for k, case in enumerate(cases):
        if k == 0:
            heads = _heads(subject.weights(case.words), layer, head)
        weights = subject.weights(case.words)
        if k < CONTROLS:
            _control(subject, case, weights)
        for x in (*weights, subject.answers(case.words)):
            seen.update(x.float().cpu().contiguous().numpy().tobytes())
        rows.append(_tried(subject, case, Edge(layer, heads, case.query, case.key), head is None))
    hashes = {"model": seen.hexdigest(), "sentences": _hash(map(_plain, cases))}
    content = cases[0].content if cases else "other content"
    return _decide(rows, content) | {"hashes": hashes, "content": content}


def _different(cases):
    """Return the first 64 different cases; if many are equal, at most 640 are drawn."""
    if not hasattr(cases, "__iter__"):
        raise InputError(f"the cases are {repr(cases)[:40]}; Cases are expected.")
    found = {}
    for case in islice(cases, 10 * SENTENCES):
        if not isinstance(case, Case):
            raise InputError(f"a case is {repr(case)[:40]}; a Case is expected.")
        found.setdefault(str(_plain(case)[0]), case)
        if len(found) == SENTENCES:
            break
    return list(found.values())


def _plain(case):
    """Return the fields of a case, as numbers and str."""
    return [x.tolist() if torch.is_tensor(x) else x for x in vars(case).values()]


def _hash(things):
    return hashlib.sha256(repr(list(things)).encode()).hexdigest()


def _heads(weights, layer, head):
    if not all(torch.is_tensor(w) and w.ndim == 3 for w in weights):
        raise InputError("weights(words) should be a list by layer of tensors (heads, n, n).")
    having = [k for k, w in enumerate(weights) if len(w)]
    if layer not in having:
        listed = ", ".join(str(k + 1) for k in having)
        raise InputError(f"there is no layer {layer + 1} with attention; it has: {listed}.")
    count = len(weights[layer])
    if head is not None and not 0 <= head < count:
        raise InputError(f"there is no head {head + 1} in layer {layer + 1}; it has {count}.")
    return list(range(count)) if head is None else [head]


# --- controls: a model that ignores every change would pass as one that needs nothing ---


def _control(subject, case, weights):
    """Raise InputError unless what the subject is given and what it returns can be trusted."""
    before = subject.answers(case.words)
    if before.ndim != 1 or not before.isfinite().all():
        raise InputError("answers(words) should be a tensor (answers,) of finite numbers.")
    if not torch.allclose(subject.answers(case.words), before, atol=1e-4):
        raise InputError("the model answers differently when it runs twice: is dropout still on?")
    _expect_fit(case, len(before), weights[0].shape[-1], subject.weights(case.other))
    same, got = _run(subject, case.words, _the_same_product)
    if list(got) != [k for k, w in enumerate(weights) if len(w)]:
        raise InputError(
            "the model should call change(layer, weights, values) once in every layer with "
            f"attention, in their order, counted from 0; it called: {list(got)}."
        )
    for k, (given, _) in got.items():
        if given.shape != weights[k].shape or not torch.allclose(given, weights[k], atol=1e-4):
            raise InputError(
                f"the weights that change gets in layer {k + 1} are not those of weights(words)."
            )
    if not torch.allclose(same, before, atol=1e-4):
        raise InputError(
            "the model answers differently when change returns tensors with the same product: it "
            "should use weights @ values, as change returns them."
        )
    for k, what in [(k, what) for k in got for what in ("weights", "values")]:
        if torch.allclose(subject.answers(case.words, _noise(k, what)), before, atol=1e-6):
            raise InputError(
                f"the model answers the same when change replaces all {what} of layer {k + 1}: it "
                "does not use what change returns."
            )


def _the_same_product(layer, weights, values):
    """Double the weights, halve the values, and add one more key that gets no weight."""
    weights = torch.cat([2 * weights, torch.zeros_like(weights[..., :1])], dim=-1)
    return weights, torch.cat([values / 2, torch.ones_like(values[..., :1, :])], dim=-2)


def _noise(at, what):
    """Return a change that replaces the weights, or the values, of one layer by random numbers."""

    def change(layer, weights, values):
        if layer != at:
            return weights, values
        draws = torch.Generator().manual_seed(layer)
        old = weights if what == "weights" else values
        new = torch.randn(old.shape, generator=draws).to(old)
        return (new, values) if what == "weights" else (weights, new)

    return change


def _expect_fit(case, answers, n, others):
    for name, below in dict(query=n, key=n, answer=answers, turns=answers).items():
        given = getattr(case, name)
        if type(given) is not int or not 0 <= given < below:
            raise InputError(
                f"{name} of a case is {repr(given)[:40]}; a whole number from 0 to {below - 1} is "
                "expected."
            )
    if case.answer == case.turns or others[0].shape[-1] != n:
        raise InputError(
            "the other sentence of a case should have the same length and a different answer."
        )


# --- what is changed ---


def _run(subject, words, change=None):
    """Return (answers, {layer: its weights and values, before they were changed})."""
    got = {}

    def watched(layer, weights, values):
        got[layer] = weights.clone(), values.clone()
        return change(layer, weights, values) if change else (weights, values)

    return subject.answers(words, watched), got


def _interchanged(edge, other):
    """Return a change that moves the weight to one more key: the word as the other run had it."""

    def change(layer, weights, values):
        if layer != edge.layer:
            return weights, values
        moved = torch.zeros_like(weights[..., :1])
        moved[edge.heads, edge.query, 0] = weights[edge.heads, edge.query, edge.key]
        kept, _ = _set_to_0(edge)(layer, weights, values)
        copy = other[layer][1][:, edge.key : edge.key + 1]
        return torch.cat([kept, moved], dim=-1), torch.cat([values, copy], dim=-2)

    return change


def _set_to_0(*edges):
    def change(layer, weights, values):
        weights = weights.clone()
        for edge in edges:
            if edge.layer == layer:
                weights[edge.heads, edge.query, edge.key] = 0
        return weights, values

    return change


def _made_even(edge):
    def change(layer, weights, values):
        if layer != edge.layer:
            return weights, values
        weights, seen = weights.clone(), torch.ones(weights.shape[1:], dtype=torch.bool)
        seen = seen if weights.triu(diagonal=1).any() else seen.tril()
        flat = seen / seen.sum(-1, keepdim=True)
        weights[edge.heads, edge.query] = flat[edge.query].to(weights)
        return weights, values

    return change


# --- one sentence ---


def _tried(subject, case, edge, whole):
    """Return the findings for one sentence: {what: bool or number, "rivals": {place: ...}}; None if
    the model does not answer this sentence, or the other one, as claimed."""
    before, got = _run(subject, case.words)
    there, other = _run(subject, case.other)
    if before.argmax() != case.answer or there.argmax() != case.turns:
        return None

    def between(answers):
        return float(answers[case.answer] - answers[case.turns])

    def read(edge):
        after = subject.answers(case.words, _interchanged(edge, other))
        moved = (between(before) - between(after)) / (between(before) - between(there))
        return bool(after.argmax() == case.turns), moved

    def gap(answers):
        return float(answers[case.answer] - answers[others].max())

    def lost(change):
        return gap(subject.answers(case.words, change)) < LOST * gap(before)

    others = torch.arange(len(before)) != case.answer

    follows, moved = read(edge)
    even, zero = lost(_made_even(edge)), lost(_set_to_0(edge))
    rivals = {}
    for rival in _rivals(subject, case, edge, whole):
        follow, way = read(rival)
        alone, both = lost(_set_to_0(rival)), lost(_set_to_0(edge, rival))
        only = both and not (alone or zero)
        rivals[rival.layer, tuple(rival.heads)] = [follow or way >= READ, alone, only]
    weight = float(got[edge.layer][0][edge.heads, edge.query, edge.key].mean())
    return dict(
        weight=weight, follows=follows, moved=moved, read=follows or moved >= READ,
        partly=follows or moved >= PARTLY, even=even, zero=zero, lost=even and zero,
        rivals=rivals, chance=1 / len(before),
    )  # fmt: skip


def _rivals(subject, case, edge, whole):
    """Return for each head the strongest weight of the same word, for the heads with the most.

    The edge is taken out meanwhile, because a backup may look elsewhere as long as it is there.
    """
    _, got = _run(subject, case.words, _set_to_0(edge))
    found = []
    for layer, (weights, _) in got.items():
        every = range(len(weights))
        for heads in [list(every)] if whole else [[h] for h in every]:
            row = weights[heads, case.query].mean(dim=0).clone()
            if (layer, heads) == edge[:2]:
                row[case.key] = -1
            found.append((float(row.max()), Edge(layer, heads, case.query, int(row.argmax()))))
    found = [pair for pair in found if pair[0] > 0]
    return [edge for _, edge in sorted(found, key=lambda pair: -pair[0])[:RIVALS]]


# --- all sentences ---


def _interval(k, n):
    """Return the 95 % interval of a share, from k of n sentences (Wilson 1927)."""
    share, z = k / n, SURE**2 / n
    middle, half = share + z / 2, SURE * (share * (1 - share) / n + z / (4 * n)) ** 0.5
    return max(0.0, (middle - half) / (1 + z)), min(1.0, (middle + half) / (1 + z))


def _clear(k, n):
    """Return True if it holds in most sentences, False if in few, None if that is undecided."""
    low, high = _interval(k, n)
    return True if low > MOST else False if high < FEW else None


def _enough(k, n):
    """Return how many sentences would decide, or why no number of them would."""
    for more in range(n, DECIDED_BY):
        if _clear(k / n * more, more) is not None:
            return f"about {more} sentences would decide"
    return "make a claim about one kind of sentence"


def _decide(rows, content):
    tried = [row for row in rows if row is not None]
    n, total = len(tried), len(rows)
    out = dict(sentences=total, as_claimed=n)
    if n < FEWEST or 2 * n < total:
        why = f"only {n} of {total} sentences are answered as claimed in both versions; at least "
        why += f"{max(FEWEST, (total + 1) // 2)} are needed."
        return out | dict(outcome=UNDECIDED, why=why)
    for what in ("follows", "read", "partly", "even", "zero", "lost"):
        out[what] = sum(row[what] for row in tried)
    for what in ("weight", "moved", "chance"):
        out[what] = round(sum(row[what] for row in tried) / n, 4)
    out["interval"] = [round(x, 4) for x in _interval(out["read"], n)]
    out["rival"] = rival = _strongest([row["rivals"] for row in tried])
    read, partly, lost = (_clear(out[what], n) for what in ("read", "partly", "lost"))
    moves = f"the answer follows the {content}"
    if read is False and partly:
        why = f"it moves the answer {out['moved']:.0%} of the way: is it one of several readers?"
        return out | dict(outcome=UNDECIDED, why=why)
    if read is False:
        return out | dict(outcome=UNREAD, why=f"the answer does not follow the {content}.")
    for what, clear in (("read", read), ("lost", lost)):
        if clear is None:
            why = f"read{', and needed' * (what == 'lost')} in {out[what]} of {n} sentences; "
            why += f"{_enough(out[what], n)}."
            return out | dict(outcome=UNDECIDED, why=why)
    if lost:
        return out | dict(outcome=NEEDED, why=f"{moves}, and is lost without this weight.")
    why = "but something else gives the same answer"
    if rival and _clear(rival["only_both"], n):
        head = f", head {rival['heads'][0]}" * (len(rival["heads"]) == 1)
        why = f"and is lost only if layer {rival['layer']}{head} goes too"
    return out | dict(outcome=UNNEEDED, why=f"{moves}, {why}.")


def _strongest(rows):
    """Return the rival without which, and without the edge, the answer is lost most often, though
    it is kept without either; otherwise the rival that is most often read or needed."""
    sums = {}
    for row in rows:
        for place, counts in row.items():
            sums[place] = [a + b for a, b in zip(sums.get(place, [0, 0, 0]), counts, strict=True)]
    if not sums:
        return None
    (layer, heads), counts = max(sums.items(), key=lambda pair: (pair[1][2], sum(pair[1])))
    named = dict(layer=layer + 1, heads=[h + 1 for h in heads])
    return named | dict(zip(("read", "zero", "only_both"), counts, strict=True))
