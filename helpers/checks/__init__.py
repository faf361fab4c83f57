"""The checks: one verdict per exercise, and a cause only where it is established.

engine     check(): calls the answer and the right one on the same probes, and makes a verdict
misuse     is the answer written yet, and can it be called?
results    calls an answer once (attempt), and compares results
evidence   what is known of a wrong answer, and further calls of it
diagnose   which mistakes give exactly these results (search: two wrong stages at once)
facts      what can be seen when no mistake is established: hints reads errors, mending finds a
           small change to the student's code that makes it right (slips has the list), code reads
           the code, direction compares numbers, trace finds what makes the first NaN
message    what a verdict says; texts reads what is said about a mistake from mistakes.toml
verdict    how a verdict looks, and progress()

exercise   what an exercise is: right answer, probes, tables of mistakes
pipeline   an answer in stages
modules    what can be measured of a class, a torch.nn.Module
counterfactual  worlds in which a mistake does no harm: a table says cured(world, ...)
catalogue  the stages of attention with their wrong variants; whole and multi_head join them
lessons    the exercises, found by exercises.py
"""

from .engine import check
from .verdict import Verdict, progress

__all__ = ["Verdict", "check", "progress"]
