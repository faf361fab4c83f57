"""A claim in words, its trial over several seeds, and the card: one page that can be repeated."""

import html
import platform
import re
from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path
from textwrap import fill

import torch

from ...errors import InputError
from ...pictures.still import MARKED, Still
from ..training import counted
from . import rule
from .rule import BY_SEED, CANNOT, OWN, RULES, SUPPORTED, TRIED, TURNED, Case, judge
from .small import Subject, course, single

TITLE = "A claim on trial"
WIDE, INDENT = 88, "  "  # letters of a line
NONE = "-"
MOST_SEEDS = 20
SOME = 50  # times sentences are drawn
MOST_PANELS = 5


@dataclass(frozen=True)
class Claim:
    """Claim("two layers", layer=2, looks="pronoun", at="its colour"): what is claimed.

    model: one of the course's, see course(); of another model its name.
    layer: from 1.  looks, at: what looks, and what it looks at: the name of a place in the
    sentences of this model, or a word of the sentence.
    head: from 1, or "all" heads of the layer together.
    answer: what the model answers because of it: "right", or "other", the other noun's.
    instead: exchanged with this word, the other answer should come; None: any word, any answer.
    sentence: the words stand in it, and sentences of its form are drawn for the trial; None:
    sentences of all forms that the model knows.
    seeds: of the models that are tried, none for a model of your own.  draw: seed of the sentences.
    controls: seed of the words and heads that are drawn as controls.
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
    controls: int = 0

    def __post_init__(self):
        for name in ("model", "looks", "at", "answer", "instead", "sentence"):
            given, may_miss = getattr(self, name), name in ("instead", "sentence")
            fits = isinstance(given, str) and given.strip() == given and given != NONE
            if not (fits and len(given.splitlines()) == 1 or given is None and may_miss):
                raise InputError(f"{name} is {repr(given)[:40]}; a word is expected.")
        for name, low in (("layer", 1), ("head", 1), ("draw", 0), ("controls", 0)):
            given = getattr(self, name)
            if not _whole(given, low) and (name, given) != ("head", "all"):
                other = ', or "all"' * (name == "head")
                raise InputError(
                    f"{name} is {repr(given)[:40]}; a whole number from {low} on is "
                    f"expected{other}."
                )
        given = (self.seeds,) if _whole(self.seeds, 0) else self.seeds
        seeds = tuple(given) if isinstance(given, (list, tuple, range)) else (given,)
        if not (len(seeds) <= MOST_SEEDS and all(_whole(seed, 0) for seed in seeds)):
            raise InputError(
                f"seeds is {repr(given)[:40]}; up to {MOST_SEEDS} whole numbers from 0 on, such as "
                "(0, 1, 2, 3, 4), are expected."
            )
        object.__setattr__(self, "seeds", tuple(dict.fromkeys(seeds)))

    def __str__(self):
        heads = "all heads" if self.head == "all" else f"head {self.head}"
        because = f"because of it the model gives the {self.answer} answer"
        if self.instead:
            because += f"; exchanged with {self.instead}, the other one"
        return (
            f"“{self.model}”, layer {self.layer}, {heads}: {self.looks} looks at {self.at}, and "
            f"{because}."
        )


def _whole(x, low):
    return isinstance(x, int) and not isinstance(x, bool) and low <= x < 2**31


def trial(claim, models=None):
    """trial(Claim("copying", layer=2, looks="last letter", at="letter after its copy")): a Card.

    models: {seed: model}, as they were trained in lesson 11; by default the course's, which are
    trained for it, each once. Of a model that is not the course's: a subject (see rule.py),
    with cases(claim), an iterable of Case.
    Raises InputError if the claim does not fit the model or its sentences.
    """
    if not isinstance(claim, Claim):
        raise InputError(f"the claim is {repr(claim)[:40]}; a Claim is expected.")
    if hasattr(models, "cases"):
        if claim.model in course():
            raise InputError(f"{claim.model!r} is a model of the course; give yours another name.")
        claim = replace(claim, seeds=())
        outcome = judge(models, *_place(claim), models.cases(claim), claim.controls)
        return Card(claim, {"as given": outcome})
    if claim.model not in course():
        raise InputError(
            f"there is no model {claim.model[:40]!r}; the course has {', '.join(course())}."
        )
    if not claim.seeds:
        raise InputError("seeds is (); at least one is expected.")
    task = course()[claim.model]
    if models is not None and not isinstance(models, dict):
        raise InputError("models should be {seed: model}, as in trial(claim, {0: model}).")
    outcomes = {}
    with single():
        form, places = _places(claim, task)
        for seed in claim.seeds if models is not None else _counted(claim.seeds):
            if models is not None and seed not in models:
                known = ", ".join(map(repr, models)) or "none"
                raise InputError(f"there is no model of seed {seed}; models has {known}.")
            subject = Subject(models[seed] if models is not None else task.trained(seed))
            _expect_fit(subject, task, seed)
            cases = _cases(claim, task, form, places)
            outcomes[f"seed {seed}"] = judge(subject, *_place(claim), cases, claim.controls)
    return Card(claim, outcomes)


def _counted(seeds):
    """While they are trained a bar grows."""
    return seeds if len(seeds) == 1 else (seeds[k] for k in counted(len(seeds), "models tried"))


def _expect_fit(subject, task, seed):
    one = task.sentences(torch.Generator().manual_seed(0), 1)[0]
    try:
        fits = subject.answers(one.words, lambda layer, w: w).shape == (len(task.answers),)
        fits = fits and {w.shape[1:] for w in subject.weights(one.words)} == {(len(one.words),) * 2}
    except Exception:  # of the reader's own code
        fits = False
    if not fits:
        raise InputError(
            f"the model of seed {seed} is of another kind: as in lesson 11, model(words, change) "
            "-> (scores, weights) is expected, for the words and answers of the claim's model."
        )


def _place(claim):
    return claim.layer - 1, None if claim.head == "all" else claim.head - 1


def _places(claim, task):
    """The form of its sentences, None for all, and the names of the places of its words:
    [looks, at, instead or None]."""
    sample = task.sentences(torch.Generator().manual_seed(claim.draw), 1)[0]
    one = task.read(claim.sentence) if claim.sentence else sample
    if claim.answer not in one.answers:
        raise InputError(
            f"the answer is {claim.answer[:40]!r}; {' or '.join(one.answers)} is expected."
        )
    found = []
    for word in (claim.looks, claim.at, claim.instead):
        if word is None or word in one.places:
            found.append(word)
            continue
        at = [k for k, name in enumerate(one.names) if word in (name, name.split()[-1])]
        named = [name for name, place in one.places.items() if place in at[:1]]
        if not claim.sentence or not named:
            where = f"“{' '.join(one.names)}”" if claim.sentence else "a sentence of this model"
            raise InputError(f"{word[:40]!r} is not in {where}; it has {', '.join(one.places)}.")
        if len(at) > 1:
            raise InputError(
                f"{word!r} stands {len(at)} times in the sentence; name the place: "
                f"{', '.join(one.places)}."
            )
        found.append(named[0])
    if found[1] == found[2]:
        raise InputError(f"instead is {claim.instead!r}, the word looked at; name another one.")
    return one.form if claim.sentence else None, found


def _cases(claim, task, form, places):
    """Sentences of the form of the claim, without those in which the word looked at is also the
    one to exchange it with."""
    draws = torch.Generator().manual_seed(claim.draw)
    turns = {"right": "other", "other": "right"}[claim.answer]
    for _ in range(SOME):
        for one in task.sentences(draws, rule.STAGES[0]):
            looks, at, instead = (name and one.places[name] for name in places)
            turn = None if instead is None else one.answers[turns]
            if at != instead and form in (None, one.form):
                yield Case(one.words, looks, at, one.answers[claim.answer], instead, turn)


class Card:
    """What was claimed, what was tried, what came out, and what is needed to repeat it.

    claim: a Claim.  outcomes: {"seed 0": Outcome}.  verdict: one of RULES.  why: a sentence.
    str(card) is its text, which repeat() takes; card.save("card.html") writes a page.
    """

    def __init__(self, claim, outcomes):
        self.claim, self.outcomes = claim, outcomes
        self.verdict, self.why = _together(outcomes)

    def __str__(self):
        head = [fill(line, WIDE) for line in self._head()]
        return "\n".join([*head, *self._body()])

    __repr__ = __str__

    def _head(self):
        return [f"{TITLE}: {self.verdict}", str(self.claim), f"Because: {self.why}"]

    def _body(self):
        claimed = [f"  {name:10}{_written(value)}" for name, value in _values(self.claim)]
        tried = []
        for name, outcome in self.outcomes.items():
            tried.append(f"  {name}: {outcome.verdict}, {self._counted(outcome)}")
            tried += [f"    {row:17}{'  '.join(cells)}" for row, *cells in _rows(outcome)]
        return [
            "",
            "What was claimed",
            *claimed,
            "",
            "What was tried",
            "  Means over the sentences ± three standard errors: the weight, then how much of",
            "  the chance of the answer, 0 to 1, is lost. In brackets: in how many sentences the",
            "  weight is there, or another answer becomes the likeliest. Taken out: the rest is",
            "  divided to sum to 1; set to 0: it is not. Other words: the one that loses most (in",
            "  brackets, where one changes the answer both taken out and set to 0); in the rows",
            "  of weights and exchanges their median.",
            f"    {'':17}{'the claim':18}  {'other words':18}{self._other_column()}".rstrip(),
            *tried,
            "",
            f"What “{self.verdict}” means",
            *fill(
                f"{RULES[self.verdict]}.", WIDE, initial_indent=INDENT, subsequent_indent=INDENT
            ).splitlines(),
            "",
            "To repeat it: from helpers.trial import repeat; repeat(this text)",
            f"made with torch {torch.__version__.split('+')[0]}, Python "
            f"{platform.python_version()}",
        ]

    def _counted(self, outcome):
        """How many sentences, words and heads one model needed."""
        said = f"{outcome.sentences} sentences"
        if outcome.right == outcome.right:
            said += f", answer in {outcome.right:.2f}, claim holds in {outcome.follow}"
        if outcome.other:
            (layer, heads), (tried, total) = outcome.other, outcome.heads
            which = f"layer {layer}" + f", head {heads[0]}" * (self.claim.head != "all")
            most = f"which does most of {tried}{f' of {total}' * (tried < total)}"
            said += (
                f"\n    another {self._kind()}: {which}, {most if total > 1 else 'the only one'}"
            )
            said += f"; one or another in {outcome.any_other}" * (total > 1)
        tried, total = outcome.words
        if tried < total:
            said += f"\n    other words: {tried} of up to {total}"
        return said

    def _kind(self):
        return "layer" if self.claim.head == "all" else "head"

    def _other_column(self):
        some = any(outcome.other for outcome in self.outcomes.values())
        return f"  another {self._kind()}" * some

    def same_as(self, text):
        """Whether a card's text says the same as this one, digit for digit; versions aside.

        Raises InputError if text is no str."""
        if not isinstance(text, str):
            raise InputError(f"the text is {repr(text)[:40]}; that of a card is expected.")
        return _compared(str(self)) == _compared(text)

    def picture(self):
        """The page as a Still: bars of what was tried, and the text below them."""
        from matplotlib.figure import Figure

        text = str(self).rpartition("\n")[0]  # without the versions
        shown = {name: o for name, o in self.outcomes.items() if o.figures is not None}
        shown = dict([*shown.items()][:MOST_PANELS])
        bars = 2.5 * bool(shown)  # inches
        height = bars + 0.2 + 0.147 * len(text.splitlines())
        figure = Figure(figsize=(8.4, height))
        if shown:
            place = figure.subplots(
                1, len(shown), sharey=True, squeeze=False,
                gridspec_kw=dict(
                    top=1 - 0.3 / height, bottom=1 - 2 / height, left=0.13, right=0.97
                ),
            )[0]  # fmt: skip
            for axes, (name, outcome) in zip(place, shown.items(), strict=True):
                _draw_bars(axes, outcome)
                axes.set_title(f"{name}: {outcome.verdict}", fontsize=8)
            place[0].invert_yaxis()
            handles, labels = place[0].get_legend_handles_labels()
            at = (0.5, 1 - 2.45 / height)
            figure.legend(handles, labels, loc="lower center", bbox_to_anchor=at, ncols=3,
                          fontsize=8, frameon=False)  # fmt: skip
        figure.text(
            0.03, 1 - bars / height, text, va="top", family="monospace", fontsize=7.5,
            linespacing=1.4, parse_math=False,
        )  # fmt: skip
        return Still(figure, " ".join(self._head()), text)

    def html(self):
        """The page as HTML, which shows what the text says."""
        verdict, claim, why = map(html.escape, self._head())
        body = html.escape("\n".join(self._body()).strip())
        return (
            f'<section aria-label="{verdict}"><h4>{verdict}</h4><p>{claim}</p><p>{why}</p>'
            f'<pre style="overflow-x: auto">{body}</pre></section>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": str(self), "text/html": self.html()}

    def save(self, path):
        """Write the page; the name's end, .txt, .html or .png, says how. No file is replaced."""
        path = Path(path).expanduser()
        kinds = {
            ".txt": lambda: (str(self) + "\n").encode(),
            ".html": lambda: (
                f'<!doctype html><meta charset="utf-8"><title>{TITLE}</title>\n{self.html()}\n'
            ).encode(),
            ".png": lambda: self.picture().png(),
        }
        if path.suffix not in kinds:
            raise InputError(f"{path.name!r} should end in {', '.join(kinds)}.")
        try:
            with path.open("xb") as file:
                file.write(kinds[path.suffix]())
        except FileExistsError:
            raise InputError(f"{path.name!r} is there already; choose another name.") from None
        except OSError as error:
            raise InputError(f"{path.name!r} cannot be written: {error.strerror}.") from None


LABELS = "the claim", "other words", "another head or layer"
COLOURS = MARKED, "#8c8c8c", "#3f6f9f"


def _draw_bars(axes, outcome):
    for column, figures in enumerate(outcome.figures[:TURNED].nan_to_num(0).unbind(dim=1)):
        means, errors = figures.mT.tolist()
        at = [row + 0.27 * column for row in range(TURNED)]
        axes.barh(at, means, 0.25, xerr=errors, color=COLOURS[column], label=LABELS[column])
    axes.set_yticks([0.27 + row for row in range(TURNED)], TRIED[:TURNED])
    axes.set_xlim(-0.2, 1.2)
    axes.tick_params(labelsize=8, left=False)


def _together(outcomes):
    """(verdict, why) over all seeds."""
    if len(outcomes) == 1:
        (one,) = outcomes.values()
        return one.verdict, one.why
    told = {name: o for name, o in outcomes.items() if o.verdict != CANNOT}
    yes = [name for name, o in told.items() if o.verdict == SUPPORTED]
    no = [name for name in told if name not in yes]
    if yes and no:
        open_ = [name for name in outcomes if name not in told]
        cannot = f"; {', '.join(open_)} cannot tell" if open_ else ""
        return BY_SEED, f"supported in {', '.join(yes)}, not in {', '.join(no)}{cannot}."
    if 2 * len(told) <= len(outcomes):
        return CANNOT, f"only {len(told)} of {len(outcomes)} models can tell."
    (verdict, times), *_ = Counter(o.verdict for o in told.values()).most_common()
    whys = [*{o.why: 0 for o in told.values() if o.verdict == verdict}]
    why = whys[0].removesuffix(".") if len(whys) == 1 else "for more than one reason, see below"
    return verdict, f"{why} (in {times} of {len(outcomes)} models)."


def _rows(outcome):
    """[what, claim, words, heads] of each change that was tried, as text."""
    if outcome.figures is None:
        return
    for what, figures, counts in zip(TRIED, outcome.figures, outcome.counts, strict=True):
        if not figures[OWN].isnan().any():
            pairs = zip(figures.tolist(), counts.tolist(), strict=True)
            yield [what, *(_cell(*pair, count) for pair, count in pairs)]


def _cell(mean, error, count):
    if mean != mean:
        return f"{NONE:18}"
    mean = round(mean, 2) + 0.0  # no -0.00
    times = "" if count != count else f" ({count:.0f})"
    return f"{f'{mean:.2f} ± {error:.2f}{times}':18}"


def _values(claim):
    return [(field.name, getattr(claim, field.name)) for field in fields(claim)]


def _written(value):
    if isinstance(value, tuple):
        value = " ".join(map(str, value)) or None
    return NONE if value is None else value


def _compared(text):
    """The words of a card, without its versions."""
    return re.sub(r"made with torch \S+ Python \S+", "", " ".join(text.split())).strip()


def repeat(text, models=None):
    """repeat(str(card)): the claim of a card, tried again; a new Card.

    card.same_as(text) says whether it came out the same. models: as for trial.
    Raises InputError if the text is no card or is damaged.
    """
    if not isinstance(text, str) or TITLE not in text:
        raise InputError(f"this is no card: its first line should begin with “{TITLE}”.")
    if (several := len(re.findall(r"What was claimed\s*\n", text))) > 1:
        raise InputError(f"this text holds {several} cards; repeat one at a time.")
    known = [field.name for field in fields(Claim)]
    block = re.search(r"What was claimed\s*\n(.*?)\n\s*What was tried", text, re.S)
    lines = (
        [line.split(maxsplit=1) for line in block[1].splitlines() if line.strip()] if block else []
    )
    given = {name: value.strip() for name, *values in lines for value in values}
    missing = [name for name in known if name not in given]
    if missing or len(lines) != len(known):
        what = f"the line {missing[0]!r}" if missing else "one line for each"
        raise InputError(
            f"this card is damaged: below “What was claimed”, {what} is expected, of "
            f"{', '.join(known)}."
        )
    for name in ("layer", "draw", "controls", "seeds", "head"):
        numbers = given[name].split()
        if given[name] == "all" and name == "head":
            continue
        if given[name] == NONE and name == "seeds":
            numbers = []
        if not all(re.fullmatch("[0-9]{1,10}", number) for number in numbers) or (
            name != "seeds" and len(numbers) > 1
        ):
            raise InputError(
                f"this card is damaged: {name} is {given[name][:40]!r}; "
                f"{'numbers are' if name == 'seeds' else 'one number is'} expected."
            )
        numbers = tuple(int(number) for number in numbers)
        given[name] = numbers if name == "seeds" else numbers[0]
    for name in ("instead", "sentence"):
        given[name] = None if given[name] == NONE else given[name]
    return trial(Claim(**given), models)
