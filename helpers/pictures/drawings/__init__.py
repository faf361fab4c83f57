"""Pictures that only some lessons draw: live, still or recorded, with their numbers as text.

A kind is a View with sketch(), numbers() and alt(), as in arcs.py; helpers/__init__.py exports it,
and helpers/README.md lists it. plane.py is no kind: blend.py and shadow.py draw in it.
"""
