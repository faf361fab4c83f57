"""Small models that learn while a lesson runs, the model that a reader brings, and the trial of
a claim about what one of them does. cost says what attention takes."""
