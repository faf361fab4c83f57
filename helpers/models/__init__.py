"""Small models that learn while a lesson runs, and the model that a reader brings.

stories   the model that writes, of lessons 1 to 11; tales makes up its stories
marks     lesson 9's task
language  the sentences of lessons 13 to 15; small has lesson 14's models for 15
training  Adam, what is shown during a training, the recorded one
own_model a model that a reader brings
cost      what attention takes, lessons 11 and 12
"""
