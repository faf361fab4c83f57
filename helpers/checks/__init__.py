"""The checks: one verdict per exercise, and a cause only where it is established.

engine     check(): calls the answer on probes, beside the right one, and makes a verdict
misuse     is it written yet, can it be called?
results    calls an answer once (attempt), and compares what came of it
evidence   what is known of a wrong answer, and what else can be asked of it
diagnose   which mistakes give exactly that (search: two wrong stages at once)
facts      what can be seen where no mistake is established: slips are small changes of the
           student's code that make it right, hints read errors, code reads the code
unnamed    which answers without a name are alike, and what a teacher calls them
message    what a verdict says; texts reads what is said about a mistake from mistakes.toml
verdict    how it looks; what was told before, and progress()

exercise   what an exercise is: right answer, probes, tables of mistakes
pipeline   an answer in stages
modules    what can be seen of a class, such as a torch.nn.Module
counterfactual  worlds in which a mistake does no harm: a table says cured(world, ...)
catalogue  the stages of attention with their wrong variants; whole, multi_head: all together
lessons    the exercises, found by exercises.py
"""

from .engine import check
from .verdict import Verdict, progress

__all__ = ["Verdict", "check", "progress"]
