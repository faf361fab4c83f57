"""Commands for a teacher with a class: python -m helpers.tools.classroom watch | release | grade

watching      shows who is at which exercise, from the saved notebooks
release       makes the class's copy of the course, also for nbgrader
grade         shows who solved what, from the saved notebooks, and writes points
folder, read_notebook, table  find the notebooks, read one, and make the tables of a class
"""
