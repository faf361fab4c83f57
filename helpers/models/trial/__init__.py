"""A claim about attention, tried: what a head does, not what its picture shows.

card   Claim, trial(claim) -> Card, repeat(text of a card)
rule   judge(): the changes, the controls and the rule; it knows no model and no sentence
small  the models of the course by name, and their sentences
"""

from .card import Card, Claim, repeat, trial
from .rule import RULES, Case, judge
from .small import Subject, course

__all__ = ["RULES", "Card", "Case", "Claim", "Subject", "course", "judge", "repeat", "trial"]
