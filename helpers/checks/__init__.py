"""The checks: one verdict per exercise, and a cause only where it is established.

These files tell how a check works; read them in this order:
exercise   what an exercise is made of: cases, mistakes
program    a right answer as a program, one step a line
exercises  reads the exercises from text files: CHECKED, {name: Exercise}. A lesson's own are in its
           folder of helpers/lessons; steps.toml has what several share
submission what is known of an answer
results    calls an answer once (attempt), and compares results
engine     check(): calls the answer and the right one on the same cases, and makes a verdict
match      which mistakes, alone or two together, give exactly the answer's numbers
evidence   the one list of what may be said of a wrong answer, in its order
message    how the text of a verdict is made; verdict shows it, and makes progress()

What you may skip, until you need it, begins with an underscore:
_arguments   makers of arguments, from the numbers of arguments.toml
_misuse      is the answer written yet, and can it be called?
_code        reads the answer's code
_hints       what errors say; _calls, what is wrong with a call; _search finds a small change that
             makes the answer right (_repairs and repairs.toml have the list); _direction compares
             numbers
_counterfactual  runs torch with one change; _texts reads the text files
"""

from .engine import check
from .verdict import Verdict, progress

__all__ = ["Verdict", "check", "progress"]
