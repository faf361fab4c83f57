"""Make answers out of the wrong stages that an exercise declares."""

from torch import nn


def made(exercise, *choices):
    """Return the answer with other variants of stages.  choices: dicts from stage to variant."""
    formula = exercise.pipeline.replace(*choices)
    if not exercise.is_class:
        return formula

    class Module(exercise.reference):
        def forward(self, inputs):
            layers = (self.W_query, self.W_key, self.W_value)
            return formula(inputs, *(W.weight.T if isinstance(W, nn.Linear) else W for W in layers))

    return Module


def every_way(exercise, mistake):
    """Yield every answer that makes this mistake."""
    for way in mistake.ways:
        yield made(exercise, way) if isinstance(way, dict) else way
