"""Make the course into static pages with live views: python -m helpers.tools.pages FOLDER

record     records what a live view shows while its lesson runs
closed     decides which answers and which code are folded, here and in notebooks
puzzle     makes a puzzle of each exercise: which mistake does this answer have?
lesson     writes a notebook that was run as a page: it fills templates/; pages.css is the
           style, pages.js plays the recordings, and reading.js does the rest
"""
