"""The stages of attention, each with its right variant and its wrong ones, which are mistakes of
every exercise with that stage. In a lambda, s is the state of the pipeline."""
