"""Pictures of weights: view says what there is to say about a matrix; still draws it with
matplotlib, explore live, with controls (and a still picture, which stays in the saved notebook)."""
