"""Is a word read here, and is it needed? Two questions to a subject, see subject.py.

Read: what this weight brings is taken from the same sentence with another content. Does the answer
go there? That is an interchange, or activation patching (Vig and others 2020, Meng and others 2022;
how to read it: Heimersheim and Nanda 2024, Zhang and Nanda 2024). Needed: is the answer lost when
the weight is set to 0 and the rest left, and also when its row is made even? That is an ablation. A
weight with a backup is read, but not needed; so it is taken out together with its strongest rival.

What is asked is the lead of the answer over others, a difference of scores, so that an answer which
becomes a coin flip counts as lost, also where there are only two.
"""

import hashlib
from itertools import islice
from typing import NamedTuple

import torch

from ..errors import InputError
from .intervene import even_over
from .subject import Case

SENTENCES, FEWEST = 64, 8
READ = 1 / 4  # of the way to what the other sentence gives, or further, goes what is read
LOST = 1 / 3  # of its lead over all others, or less, is left of an answer that is lost
MOST, FEW = 1 / 2, 1 / 3  # of the sentences: clearly more means yes, clearly fewer no
SURE = 1.96  # standard errors of an interval of 95 %
RIVALS, CONTROLS = 24, 4
TOLD_BY = 5000  # sentences

NEEDED, UNNEEDED = "read and needed", "read, but not needed"
UNREAD, CANNOT = "not read", "cannot be told"


class Edge(NamedTuple):
    """One weight: from the query to the key, in these heads of a layer."""

    layer: int
    heads: list
    query: int
    key: int


@torch.no_grad()
def judge(subject, layer, head, cases):
    """judge(subject, 1, None, cases): what came out, a dict that JSON takes.

    layer, head: from 0; head None for all heads of the layer together.  cases: an iterable of
    Case, of which the first 64 are taken.
    It holds the outcome and why; how many sentences there were, as_claimed of them, and in how
    many of these the answer follows, is read, is lost when the row is even, the weight zero, or
    both (lost); means of the weight and of the way that is moved; the interval of read; the rival,
    and how often it is read, needed (zero), or only_both together; the chance of a guess; hashes.
    Raises InputError if a case does not fit, or a control shows that the subject is broken.
    """
    cases, rows, told = _different(cases), [], hashlib.sha256()
    for k, case in enumerate(cases):
        if k == 0:
            heads = _heads(subject.weights(case.words), layer, head)
        weights = _controlled(subject, case) if k < CONTROLS else subject.weights(case.words)
        for x in (*weights, subject.answers(case.words)):
            told.update(x.float().cpu().contiguous().numpy().tobytes())
        rows.append(_tried(subject, case, Edge(layer, heads, case.query, case.key), head is None))
    hashes = {"model": told.hexdigest(), "sentences": _hash(map(_plain, cases))}
    content = cases[0].content if cases else "other content"
    return _decide(rows, content) | {"hashes": hashes, "content": content}


def _different(cases):
    """The first 64 different cases; of many that are alike not more than 640 are drawn."""
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
    """What a case holds, as numbers and str."""
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


# --- controls: without them "nothing changed" says nothing ---


def _controlled(subject, case):
    """The weights of the subject, when all controls hold for this sentence."""
    weights, before = subject.weights(case.words), subject.answers(case.words)
    same, got = _run(subject, case.words)
    _expect_fit(case, len(before), weights[0].shape[-1], subject.weights(case.other))
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
    if not before.isfinite().all():
        raise InputError("the model's answers are not finite: there is nothing to compare.")
    if not torch.allclose(same, before, atol=1e-4):
        raise InputError("the model answers otherwise when change returns what it was given.")
    for what, gone in (
        ("weights", lambda _, weights, values: (0 * weights, values)),
        ("values", lambda _, weights, values: (weights, 0 * values)),
    ):
        if torch.allclose(subject.answers(case.words, gone), before, atol=1e-6):
            raise InputError(
                f"the model answers the same when change sets all {what} to 0: it does not use "
                "what change returns."
            )
    return weights


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
            "the other sentence of a case should be as long as its own and have another answer."
        )


# --- what is changed ---


def _run(subject, words, change=None):
    """(answers, {layer: its weights and values, before they were changed})"""
    got = {}

    def watched(layer, weights, values):
        got[layer] = weights, values
        return change(layer, weights, values) if change else (weights, values)

    return subject.answers(words, watched), got


def _interchanged(edge, other):
    """The weight goes to a copy of the word as it was in the other run: one more key."""

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
        weights[edge.heads, edge.query] = even_over(seen)[edge.query].to(weights)
        return weights, values

    return change


# --- one sentence ---


def _tried(subject, case, edge, whole):
    """What came of one sentence: {what: bool or number, "rivals": {place: ...}}; None where the
    model does not answer it, or the other one, as is claimed."""
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

    def lead(answers):
        return float(answers[case.answer] - answers[others].max())

    def lost(change):
        return lead(subject.answers(case.words, change)) < LOST * lead(before)

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
        even=even, zero=zero, lost=even and zero, rivals=rivals, chance=1 / len(before),
    )  # fmt: skip


def _rivals(subject, case, edge, whole):
    """For each head its strongest weight of the same word, while the edge is taken out: a backup
    looks elsewhere before. Those with most weight."""
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
    """The share of all sentences, from k of n, with 95 % (Wilson 1927)."""
    share, z = k / n, SURE**2 / n
    middle, half = share + z / 2, SURE * (share * (1 - share) / n + z / (4 * n)) ** 0.5
    return (middle - half) / (1 + z), (middle + half) / (1 + z)


def _told(k, n):
    """Whether it is so in most sentences: True, False, or None where that cannot be told."""
    low, high = _interval(k, n)
    return True if low > MOST else False if high < FEW else None


def _enough(k, n):
    """How many sentences would tell, or why none would."""
    for more in range(n, TOLD_BY):
        if _told(k / n * more, more) is not None:
            return f"about {more} sentences would tell"
    return "true in some sentences, not in others: claim it of one form"


def _decide(rows, content):
    tried = [row for row in rows if row is not None]
    n, total = len(tried), len(rows)
    out = dict(sentences=total, as_claimed=n)
    if n < FEWEST or 2 * n < total:
        why = f"of {total} different sentences the model answers {n} as is claimed, and with the "
        why += f"{content}; {max(FEWEST, total // 2)} would do."
        return out | dict(outcome=CANNOT, why=why)
    for what in ("follows", "read", "even", "zero", "lost"):
        out[what] = sum(row[what] for row in tried)
    for what in ("weight", "moved", "chance"):
        out[what] = round(sum(row[what] for row in tried) / n, 4)
    out["interval"] = [round(x, 4) for x in _interval(out["read"], n)]
    out["rival"] = rival = _strongest([row["rivals"] for row in tried])
    read, lost = _told(out["read"], n), _told(out["lost"], n)
    follows = f"the answer follows the {content}"
    if read is False:
        return out | dict(outcome=UNREAD, why=f"the answer stays with the {content} there.")
    if read is None:
        return out | dict(outcome=CANNOT, why=f"is it read? {_enough(out['read'], n)}.")
    if lost is None:
        return out | dict(outcome=CANNOT, why=f"read; is it needed? {_enough(out['lost'], n)}.")
    if lost:
        return out | dict(outcome=NEEDED, why=f"{follows}, and is lost without it.")
    why = "something else does it too"
    if rival and _told(rival["only_both"], n):
        why = f"needed only together with layer {rival['layer']}, {_named(rival['heads'])}"
    return out | dict(outcome=UNNEEDED, why=f"{follows}; {why}.")


def _named(heads):
    return f"head {heads[0]}" if len(heads) == 1 else "all heads"


def _strongest(rows):
    """The rival with which together the answer is most often lost, though with neither alone; else
    the one that is most often read or needed."""
    sums = {}
    for row in rows:
        for place, counts in row.items():
            sums[place] = [a + b for a, b in zip(sums.get(place, [0, 0, 0]), counts, strict=True)]
    if not sums:
        return None
    (layer, heads), counts = max(sums.items(), key=lambda pair: (pair[1][2], sum(pair[1])))
    named = dict(layer=layer + 1, heads=[h + 1 for h in heads])
    return named | dict(zip(("read", "zero", "only_both"), counts, strict=True))
