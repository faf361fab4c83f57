"""Judge claims whose outcome is known without a trial, over five seeds; and count false alarms.

python tests/trial_figures.py prints a table of models made by hand, models trained to recall and
the course's models, and how many of 200 random claims about untrained models are called read. It
ends with an error if a claim is judged differently, if lesson 15 counts the claims differently, or
if more than 2 % of the random claims are called read.
"""

import sys
from functools import cache
from itertools import count
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent.parent))

from execute import NOTEBOOKS
from replay import markdown_cells

from helpers.models.judge import NEEDED, UNDECIDED, UNNEEDED, UNREAD, judge
from helpers.models.small import Small, course, train
from helpers.models.subject import Case, Subject
from helpers.models.trial import BY_SEED, Claim, trial

SEEDS = range(5)
(LESSON,) = NOTEBOOKS.glob("15_*.ipynb")
ALARMS, MOST = 200, 0.02
SENTENCE = "the purple girl took the blue hat and examined it"
N, SINK, A, B, COPY, LAST = 6, 0, 1, 2, 3, 5  # number of words, and positions among them


class ByHand:
    """A model of six words: a sink, numbers a and b below k, two fillers, and the one being asked.

    layers: for each a list of heads: (query, key, values) with key a position or key(x), and
    values(x) -> (n, k), what is written; x (n, 3, k): the number at a word, what the first layer
    wrote there, and what the second did.  read(x of the last word) -> answers.
    """

    def __init__(self, layers, seed, k=8, read=None):
        self.layers, self.k, self.read = layers, k, read or (lambda x: x[1] + x[2])
        self.noise = 0.02 * torch.rand(k, k, generator=torch.Generator().manual_seed(seed))

    def weights(self, words):
        found = []
        self.answers(words, lambda layer, *both: (found.append(both[0]), both)[1])
        return found

    def answers(self, words, change=None):
        x = torch.zeros(N, 3, self.k)
        for place in (A, B):
            x[place, 0] = torch.eye(self.k)[words[place]] + self.noise[words[place]]
        for k, heads in enumerate(self.layers):
            weights = torch.full((len(heads), N, N), 1 / N)
            for head, (query, key, _) in enumerate(heads):
                at = key(x) if callable(key) else key
                weights[head, query] = (6.0 * F.one_hot(torch.tensor(at), N)).softmax(dim=-1)
            values = torch.stack([values(x) for *_, values in heads])
            weights, values = change(k, weights, values) if change else (weights, values)
            x[:, 1 + k] = (weights @ values).sum(dim=0)
        return self.read(x[LAST])


def own(x):
    return x[:, 0]


def less(x):
    return -2 * x[:, 0]


def moved(x):
    return x[:, 1]


def constant(x):
    """Return -5 for answer 7 at the sink, and nothing elsewhere."""
    return -5 * torch.eye(N)[SINK][:, None] * torch.eye(8)[7]


def noisy(x):
    """Return own(x), with a lot of answer 7 at one filler."""
    return own(x) + 9 * torch.eye(N)[4][:, None] * torch.eye(8)[7]


def where_nothing_is_written(x):
    return A if x[LAST, 1].max() < 0.5 else SINK


def a_and_b(x):
    """Return scores of (a + b) % 8, from the halves that the two heads have written."""
    both = x[1][:4, None] * x[2][None, :4]
    sums = torch.arange(4)[:, None] + torch.arange(4)
    return torch.zeros(8).index_add(0, sums.flatten(), both.flatten())


READER, IDLE = (LAST, A, own), (LAST, 4, own)
PAIR = [[(LAST, A, own)], [(LAST, B, own)]]
MOVED = [[(COPY, A, own)], [(LAST, COPY, moved)]]
BACKUP = [[READER], [(LAST, where_nothing_is_written, own)]]
SUPPRESSES = [[(LAST, A, own), (LAST, B, own), (LAST, B, less)]]
# name: layers, (layer, head, query, key) of the claim, outcome, more arguments of ByHand
KINDS = {
    "a reader": ([[READER, IDLE]], (0, 0, LAST, A), NEEDED, {}),
    "a reader of one of two": ([[READER, IDLE]], (0, 0, LAST, A), NEEDED, dict(k=2)),
    "an idle head beside it": ([[READER, IDLE]], (0, 1, LAST, 4), UNREAD, {}),
    "one of twins": ([[READER, READER]], (0, 0, LAST, A), UNNEEDED, {}),
    "one of twins, beside noise": ([[(LAST, A, noisy), READER]], (0, 0, LAST, A), UNNEEDED, {}),
    "one of five readers": ([[READER] * 5], (0, 0, LAST, A), UNDECIDED, {}),
    "a reader with a backup": (BACKUP, (0, 0, LAST, A), UNNEEDED, {}),
    "the backup": (BACKUP, (1, 0, LAST, SINK), UNREAD, {}),
    "a sink with a constant": (
        [[READER, (LAST, SINK, constant)]], (0, 1, LAST, SINK), UNREAD,
        dict(read=lambda x: x[1] + 5 * torch.eye(8)[7]),
    ),
    "a of a + b": (PAIR, (0, 0, LAST, A), NEEDED, dict(read=a_and_b)),
    "b of a + b": (PAIR, (1, 0, LAST, B), NEEDED, dict(read=a_and_b)),
    "a bias does it too": (
        [[READER]], (0, 0, LAST, A), UNNEEDED, dict(read=lambda x: x[1] + 0.5 * torch.eye(8)[0]),
    ),
    "suppression of the other": (SUPPRESSES, (0, 2, LAST, B), NEEDED, {}),
    "moved first": (MOVED, (0, 0, COPY, A), NEEDED, {}),
    "then read": (MOVED, (1, 0, LAST, COPY), NEEDED, {}),
    "where it was before": (MOVED, (1, 0, LAST, A), UNREAD, {}),
}  # fmt: skip


def by_hand(name, seed):
    """Judge the claim about a model made by hand."""
    layers, (layer, head, query, key), _, more = KINDS[name]
    model = ByHand(layers, seed, **more)
    draws = torch.Generator().manual_seed(seed)

    def cases():
        while True:
            below = 4 if "a + b" in name else model.k
            a, b, new = torch.randperm(below, generator=draws)[[0, 1, -1]].tolist()
            a, new = (0, new or a) if "bias" in name else (a, new)
            words, other = [0, a, b, *draw_fillers(draws)], None
            other = words.copy()
            other[B if name == "b of a + b" else A] = new
            if name.startswith("suppression"):
                other[A], other[B] = b, a
            given = [int(model.answers(one).argmax()) for one in (words, other)]
            yield Case(words, query, key, given[0], other, given[1])

    return judge(model, layer, head, cases())


def draw_fillers(draws):
    return torch.randint(1000, (3,), generator=draws).tolist()


# claim about a model trained to recall: outcome; only the digit leads it to the answer
RECALL = {"its pair": NEEDED, "another pair": UNREAD, "its pair, when another is asked": UNREAD}
PAIRS = 2, 3, 6


def recalled(pairs, count, draws):
    """Return (words, where the answer is, all digits). Each word is a letter with a digit, the last
    an earlier letter with "?", 16. The digit that "?" replaces belongs to no letter now."""
    letters, digits = (torch.rand(count, 8, generator=draws).argsort(dim=1) for _ in range(2))
    at = torch.randint(pairs, (count,), generator=draws)
    words = torch.stack([letters, 8 + digits], dim=-1)[:, : pairs + 1]
    words[:, pairs, 0], words[:, pairs, 1] = letters[range(count), at], 16
    return words, at, digits


@cache
def recalls(pairs, seed):
    """Return a model of one layer that has learned the digit of the letter being asked."""

    def draw(draws):
        words, at, digits = recalled(pairs, 64, draws)
        return words, F.pad(digits[range(64), at][:, None], (pairs, 0), value=-1)

    return Subject(train(lambda: Small(answers=8, vocabulary=17), draw, seed, 300, 0.01))


def by_recall(pairs, claimed, seed):
    """Judge a claim of RECALL."""
    drawn = recalled(pairs, 64, torch.Generator().manual_seed(100 + seed))
    cases = []
    for words, at, digits in zip(*drawn, strict=True):
        at, other = int(at), words.clone()
        another = (at + 1) % pairs
        if claimed.endswith("asked"):
            other[pairs, 0], turns = words[another, 0], digits[another]
        else:
            turns = digits[pairs]
            other[at, 1] = 8 + turns
        key = another if claimed == "another pair" else at
        cases.append(Case(words, pairs, key, int(digits[at]), other, int(turns)))
    return judge(recalls(pairs, seed), 0, None, cases)


OF_THE_COURSE = [
    (Claim("pronouns", 1, "pronoun", "its noun"), NEEDED),
    (Claim("pronouns", 1, "pronoun", "verb"), UNREAD),
    (Claim("pronouns", 1, "pronoun", "second noun"), UNDECIDED),  # meant in half of the sentences
    (Claim("copying", 2, "last letter", "letter after its copy"), NEEDED),
    (Claim("copying", 1, "letter after its copy", "its copy", instead="other copy"), NEEDED),
    (Claim("copying", 1, "last letter", "letter before it"), UNREAD),
    (Claim("copying", 2, "its copy", "letter before its copy"), UNREAD),  # not the last row
    (
        Claim(
            "two layers", 1, "blue", "girl", instead="other noun", sentence=SENTENCE, seeds=(1, 4)
        ),
        BY_SEED,
    ),
]


def random_claim(number):
    """Return the outcome of a random claim about why an untrained model answers right."""
    draws = torch.Generator().manual_seed(number)

    def one_of(things):
        things = list(things)
        return things[torch.randint(len(things), (1,), generator=draws)]

    task = course()[one_of(course())]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number)
        model = task.build()
    model.heads = one_of((1, 2, 4))
    places = task.sentences(draws, 1)[0].places
    ends, content = (one_of(places), one_of(places)), one_of(task.contents)

    def cases():
        for _ in count():
            for s in task.sentences(draws, 16, content):
                yield Case(s.words, *(s.places[p] for p in ends), s.answer, s.other, s.turns)

    layer, head = one_of(range(len(model.layers))), one_of(range(model.heads))
    return judge(Subject(model), layer, head, cases())["outcome"]


def false_alarms(number=ALARMS):
    """Count the random claims that are called read."""
    return sum(random_claim(k) in (NEEDED, UNNEEDED) for k in range(number))


def table():
    """Print the table; return its lines, and what is judged differently from its known outcome."""
    lines, wrong = [], []

    def judged(what, expected, outcomes, shown):
        lines.append(f"{what}: {expected}")
        print(lines[-1], flush=True)
        if set(outcomes) != {expected}:
            wrong.append(f"{what}: {expected} expected\n{shown}")

    for name, (*_, expected, _) in KINDS.items():
        found = [by_hand(name, seed) for seed in SEEDS]
        judged(f"by hand: {name}", expected, [one["outcome"] for one in found], found)
    for pairs in PAIRS:
        for claimed, expected in RECALL.items():
            found = [by_recall(pairs, claimed, seed) for seed in SEEDS]
            what = f"recall of {pairs} pairs: {claimed}"
            judged(what, expected, [one["outcome"] for one in found], found)
    for claim, expected in OF_THE_COURSE:
        card = trial(claim)
        where = f" ({claim.sentence})" if claim.sentence else ""
        what = f"{claim.model}, layer {claim.layer}: {claim.looks} → {claim.at}{where}"
        judged(what, expected, [card.outcome], card)
    return lines, wrong


if __name__ == "__main__":
    lines, wrong = table()
    counted = f"{len(lines)} claims whose outcome is known, {len(KINDS)} of them about models made"
    if counted not in "\n".join(cell.source for cell in markdown_cells(LESSON)):
        wrong.append(f"lesson 15 should count {counted}.")
    alarms = false_alarms()
    print(f"{alarms} of {ALARMS} random claims about untrained models are called read")
    if alarms > MOST * ALARMS:
        wrong.append("that are too many")
    sys.exit("\n\n".join(wrong) or 0)
