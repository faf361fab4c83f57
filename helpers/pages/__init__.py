"""The course as static pages, on which every view is alive: python -m helpers.pages FOLDER

record     what a live view shows, recorded while its lesson runs
closed     which answers and which code are out of a reader's way, here and in notebooks
exercises  a puzzle for each exercise: which mistake has this answer?
lesson     a notebook that was run, as a page: page/ has the templates, pages.css the style,
           pages.js what plays the recordings, reading.js what moves without them, present.js
           and present.css the steps for a projector
"""
