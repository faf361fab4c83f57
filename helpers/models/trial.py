"""A claim in words, its trial over several seeds, and the card: the result, as data."""

import hashlib
import json
import platform
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

import torch

from ..errors import InputError
from . import judge, small, subject
from .small import course
from .subject import Case, Subject
from .training import counted

BY_SEED = "depends on the seed"
MOST_SEEDS = 5
WIDE, NAME = 96, 28  # characters, of a line of a card and of a name in it
FIRST, COLUMN = 33, 11  # and of its columns
DRAWN, AT_ONCE = 1600, 64  # sentences


@dataclass(frozen=True)
class Claim:
    """What Claim("two layers", layer=2, looks="pronoun", at="its colour") claims.

    model: the name of one of the course's models, see course(), or of your own.
    layer: counted from 1.  looks, at: the word that looks and the word it looks at, each as the
    name of a place in the sentences of this model, or as a word of the sentence.
    head: counted from 1, or "all" heads of the layer together.
    answer: the answer that the weight is said to cause; "right" for the course's models.
    instead: what is different in the other sentence; None means the usual content of this model.
    sentence: has these words, and the trial draws sentences of its form; None means sentences of
    all forms that the model knows.
    seeds: of the models on trial, at most 5; a model of your own has none.
    draw: the seed of the sentences.
    """

    model: str
    layer: int
    looks: str
    at: str
    head: int | str = "all"
    answer: str = "right"
    instead: str | None = None
    sentence: str | None = None
    seeds: tuple = (0, 1, 2, 3, 4)
    draw: int = 0

    def __post_init__(self):
        for name in ("model", "looks", "at", "answer", "instead", "sentence"):
            given = getattr(self, name)
            if given is None and name in ("instead", "sentence"):
                continue
            if not isinstance(given, str) or not given.strip():
                raise InputError(f"{name} is {repr(given)[:40]}; a word is expected.")
        for name, low in (("layer", 1), ("head", 1), ("draw", 0)):
            given = getattr(self, name)
            if not _whole(given, low) and (name, given) != ("head", "all"):
                other = ', or "all"' * (name == "head")
                raise InputError(
                    f"{name} is {repr(given)[:40]}; a whole number of at least {low}{other} is "
                    "expected."
                )
        seeds = (self.seeds,) if _whole(self.seeds, 0) else self.seeds
        fits = isinstance(seeds, (list, tuple, range)) and len(seeds) <= MOST_SEEDS
        if not fits or not all(_whole(seed, 0) for seed in seeds):
            raise InputError(
                f"seeds is {repr(self.seeds)[:40]}; up to {MOST_SEEDS} whole numbers of at least "
                "0, such as (0, 1, 2), are expected."
            )
        object.__setattr__(self, "seeds", tuple(dict.fromkeys(seeds)))

    def __str__(self):
        head = "" if self.head == "all" else f", head {self.head}"
        looks, at = shorten(self.looks, NAME), shorten(self.at, NAME)
        return f"In layer {self.layer}{head}, “{looks}” reads “{at}”."


def shorten(text, most):
    """Return the start and the end of a text that is too long, with … between them."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def _whole(x, low):
    return type(x) is int and low <= x < 2**31


def trial(claim, models=None):
    """Try trial(Claim("copying", layer=2, looks="last letter", at="letter after its copy")).

    models: {seed: model}, as lesson 14 trains them; without it the course's models are trained
    first, each once. For a model of your own: a subject (see subject.py) that also has
    cases(claim), an iterable of Case.
    Returns a Card. Raises InputError if the claim does not fit the model or its sentences, or if
    the model is broken.
    """
    if not isinstance(claim, Claim):
        raise InputError(f"the claim is {repr(claim)[:40]}; a Claim is expected.")
    place = claim.layer - 1, None if claim.head == "all" else claim.head - 1
    if hasattr(models, "cases"):
        if claim.model in course():
            raise InputError(f"{claim.model!r} is a model of the course; give yours another name.")
        cases = _honoured(claim, models.cases(claim))
        return Card(replace(claim, seeds=()), {"as given": judge.judge(models, *place, cases)})
    if claim.model not in course():
        raise InputError(
            f"there is no model {claim.model[:40]!r}; the course has {', '.join(course())}."
        )
    if not claim.seeds or models is not None and not isinstance(models, dict):
        raise InputError("models by their seeds are expected, as in trial(claim, {0: model}).")
    task, found = course()[claim.model], {}
    cases = list(islice(_cases(claim, task), judge.SENTENCES))
    # a bar grows while the models are trained
    several = counted(len(claim.seeds), "models tried") if models is None else claim.seeds
    for seed, _ in zip(claim.seeds, several, strict=True):
        if models is not None and seed not in models:
            known = ", ".join(map(repr, models)) or "none"
            raise InputError(f"there is no model of seed {seed}; models has {known}.")
        model = task.trained(seed) if models is None else models[seed]
        _expect_fit(model, cases[0], len(task.answers), seed)
        found[f"seed {seed}"] = judge.judge(Subject(model), *place, cases)
    return Card(claim, found)


def _expect_fit(model, case, answers, seed):
    try:
        fits = Subject(model).answers(case.words, lambda layer, *both: both).shape == (answers,)
    except Exception:  # of the reader's own code
        fits = False
    if not fits:
        raise InputError(
            f"the model of seed {seed} does not fit: as in lesson 14, model(words, change) -> "
            "(scores, weights) is expected, with the words and answers of the claim's model."
        )


def _honoured(claim, cases):
    """Yield the cases if they have the claimed content, or the card would state what was not so."""
    for case in cases:
        if claim.instead and isinstance(case, Case) and case.content != claim.instead:
            raise InputError(
                f"instead is {claim.instead[:40]!r}, but the other sentence has {case.content!r}."
            )
        yield case


def _cases(claim, task):
    """Yield sentences of the form that the claim names."""
    if claim.answer != "right":
        raise InputError(f"the answer is {claim.answer[:40]!r}; 'right' is expected.")
    content = claim.instead or task.contents[0]
    if content not in task.contents:
        raise InputError(
            f"instead is {content[:40]!r}; these sentences can have: {', '.join(task.contents)}."
        )
    draws = torch.Generator().manual_seed(claim.draw)
    one = task.read(claim.sentence) if claim.sentence else task.sentences(draws, 1, content)[0]
    looks, at = (_place(word, one, claim.sentence) for word in (claim.looks, claim.at))
    for _ in range(DRAWN // AT_ONCE):
        for s in task.sentences(draws, AT_ONCE, content):
            if not claim.sentence or s.form == one.form:
                ends = s.places[looks], s.places[at]
                yield Case(s.words, *ends, s.answer, s.other, s.turns, content)


def _place(word, one, typed):
    """Return the name of the claimed place, or of the place of this word in the typed sentence."""
    if word in one.places:
        return word
    at = [k for k, name in enumerate(one.names) if word in (name, name.split()[-1])]
    named = [name for name, place in one.places.items() if place in at[:1]]
    if not typed or not named:
        where = f"“{' '.join(one.names)}”" if typed else "a sentence of this model"
        raise InputError(f"{word[:40]!r} is not in {where}; it has {', '.join(one.places)}.")
    if len(at) > 1:
        places = ", ".join(one.places)
        raise InputError(f"{word!r} is there {len(at)} times; name its place: {places}.")
    return named[0]


class Card:
    """A claim and the result of its trial.

    data: everything, ready for JSON, with hashes of what the models gave, of the sentences and of
    the code. print(card) shows ten lines. To repeat it: trial(Claim(**card.data["claim"])).
    """

    def __init__(self, claim, models):
        self.claim = claim
        self.outcome, self.why = _together(models)
        self.data = {
            "outcome": self.outcome, "why": self.why, "claim": asdict(claim), "models": models,
            "code": _code(), "torch": torch.__version__, "python": platform.python_version(),
        }  # fmt: skip
        self.data["claim"]["seeds"] = list(claim.seeds)

    def __str__(self):
        models = self.data["models"]
        cells = [_cells(one) for one in models.values()]
        table = [("", *models), *zip(ROWS, *cells, strict=True)]
        name = shorten(self.claim.model, 2 * NAME)
        head = f"“{name}” on trial: {self.outcome}", f"Claim: {self.claim}", f"Why: {self.why}"
        rows = [f"{a:{FIRST}}" + "".join(f"{x:{COLUMN}}" for x in more) for a, *more in table]
        return "\n".join([shorten(x, WIDE) for x in head] + [row.rstrip() for row in rows])

    __repr__ = __str__

    def save(self, path):
        """Write the data as JSON. No file is replaced."""
        path = Path(path).expanduser()
        try:
            with path.open("x", encoding="utf-8") as file:
                json.dump(self.data, file, indent=1, ensure_ascii=False)
        except FileExistsError:
            raise InputError(f"{path.name!r} exists already; choose a different name.") from None
        except OSError as error:
            raise InputError(f"{path.name!r} cannot be written: {error.strerror}.") from None


ROWS = (
    "mean weight", "sentences answered as claimed", "read: the answer moves in",
    "  of all such sentences (95%)", "needed: without it, lost in", "  only if a rival goes too",
)  # fmt: skip


def _cells(one):
    answered = f"{one['as_claimed']} of {one['sentences']}"
    if "read" not in one:
        return "-", answered, "-", "-", "-", "-"
    low, high = one["interval"]
    rival, both = one["rival"], "-"
    if rival:
        heads = f" H{rival['heads'][0]}" * (len(rival["heads"]) == 1)
        both = f"{rival['only_both']} (L{rival['layer']}{heads})"
    weight, share = f"{one['weight']:.2f}", f"{low:.2f}-{high:.2f}"
    return weight, answered, str(one["read"]), share, str(one["lost"]), both


def _code():
    """Return a hash of the code of the trial."""
    read = hashlib.sha256()
    for module in (judge, small, subject):
        read.update(Path(module.__file__).read_text(encoding="utf-8").encode())
    return read.hexdigest()


def _together(models):
    """Return (outcome, why) over all seeds."""
    by = {}
    for name, one in models.items():
        by.setdefault(one["outcome"], []).append(name.removeprefix("seed "))
    if len(by) == 1:
        whys = {one["why"] for one in models.values()}
        return [*by][0], whys.pop() if len(whys) == 1 else "the reasons differ; see data."
    parts = [f"{outcome} with seed {', '.join(seeds)}" for outcome, seeds in by.items()]
    return BY_SEED, f"{'; '.join(parts)}."
