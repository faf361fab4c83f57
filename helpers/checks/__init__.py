"""The checks: one verdict per exercise, and a cause only where it is established.

What an exercise is, in text files: lessons/ (right answers and mistakes), steps.toml (what they
share), arguments.toml (numbers), repairs.toml (small repairs, and what
errors mean).
exercises  reads them: CHECKED, {name: Exercise}
exercise   what an exercise is made of: cases, mistakes
program    a right answer as a program, one step a line
arguments  makers of arguments; examples has those of single lessons
modules    what is measured of a class; classes has classes with mistakes

How an answer is judged:
engine     check(): calls the answer and the right one on the same cases, and makes a verdict
misuse     is the answer written yet, and can it be called?
results    calls an answer once (attempt), and compares results
submission what is known of a wrong answer; code reads the answer's code
match      which mistakes, alone or two together, give exactly these results
facts      what can be seen when no mistake is established: hints reads errors, search finds a
           small change that makes the answer right (repairs has the list), direction compares
           numbers
counterfactual  runs torch with one change; texts reads the text files
message    what a verdict says; verdict shows it, and progress()
"""

from .engine import check
from .verdict import Verdict, progress

__all__ = ["Verdict", "check", "progress"]
