"""Pictures of weights: view describes a matrix; still draws it with matplotlib, and explore draws
it live, with controls (and a still picture, which stays in the saved notebook).

browser/ runs in the browser. given reads what a reader passes in. sketch has the marks of drawings.

A drawing is a View with sketch(), numbers() and _in_words(). It stands with the lessons, in a file
of its name, so that `from helpers import Arcs` finds it. helpers/README.md lists them all.
"""
