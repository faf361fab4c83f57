"""Pictures of weights: view describes a matrix; still draws it with matplotlib, and explore draws
it live, with controls (and a still picture, which stays in the saved notebook)."""
