"""The stages of attention, each with its right variant and its wrong ones, which every exercise
with the stage offers. In a lambda, s is the state of the pipeline."""
