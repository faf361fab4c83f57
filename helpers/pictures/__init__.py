"""Pictures of weights: view describes a matrix; still draws it with matplotlib, and explore draws
it live, with controls (and a still picture, which stays in the saved notebook).

browser/ runs in the browser. sketch has the marks of drawings, drawings/ their kinds, and path
draws the course. given reads what a reader passes in.
"""
