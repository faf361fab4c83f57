"""Small models that learn while a lesson runs, and the model that a reader brings. cost says what
attention takes."""
