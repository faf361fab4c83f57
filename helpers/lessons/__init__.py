"""A folder for each lesson, and beside them what several lessons share.

lesson_NN/exercises.toml  the lesson's exercises: right answers and mistakes
lesson_NN/checks.py       what only these exercises measure, or compute with
lesson_NN/functions.py    from lesson 11 on: the right definition of what the lesson builds
other files in lesson_NN  what only this lesson, or this one first, draws or trains

arcs      the drawing of weights over a sentence, in most lessons
measures  what can be observed of a student's class, lessons 5 to 10; worlds changes torch for it
masks     what can be observed of a mask, lessons 7 and 11
path      the path of the course, in lessons 1 to 10
compose   rows and columns, of which drawings are made
in_full   how a number is computed, in words
stories   the model that writes, of lessons 1 to 11 and 16; tales makes up its stories
training  Adam, and a progress bar
language  the sentences of lessons 13 to 15
cost      what attention takes, lessons 11 and 12
"""
