"""What a teacher runs for a class: python -m helpers.classroom watch | release | grade

watching      who is at which exercise, from the notebooks as they are saved; watch() in a notebook
release       the class's copy of the course, also for nbgrader
grade         reads all notebooks, runs them anew (run_notebook, each in a kernel of its own, by
              kernel), reads what the checks said, prints the table, and writes points
folder, read_notebook, table  whose notebooks there are; what is in one; the tables of a class
"""

from .watching import watch

__all__ = ["watch"]
