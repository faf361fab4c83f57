"""The checks: one verdict per exercise, and a cause only where it is established.

engine     check(): calls the answer on probes, beside the right one, and makes a verdict
misuse     before that: is it written yet, can it be called?
results    what came of a call, as something that can be compared
evidence   what is known of a wrong answer, and what else can be asked of it
diagnose   which mistakes give exactly that (search: several at once; counterfactual:
           worlds in which a mistake does no harm)
message    what a verdict says (texts: mistakes.toml); verdict: how it looks, progress()

exercise   what an exercise is: right answer, probes, tables of mistakes (pipeline: an answer
           in stages, whose mistakes can be others here: stages.toml; modules: a class)
catalogue  the stages of attention with their wrong variants
lessons    the exercises, found by exercises.py
"""

from .engine import check
from .verdict import Verdict, progress

__all__ = ["Verdict", "check", "progress"]
