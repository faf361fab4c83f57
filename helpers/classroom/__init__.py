"""What a teacher runs for a class: python -m helpers.classroom watch | release | grade

watching      who is at which exercise, from the notebooks as they are saved; watch() in a notebook
release       the class's copy of the course, also for nbgrader
grade         runs the notebooks anew (run_notebook, each as far as needed says), prints the table,
              and gives points and feedback back (hand_back)
folder, table  whose notebooks there are; the tables of a class
"""

from .watching import watch

__all__ = ["watch"]
