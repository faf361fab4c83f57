"""The error for bad input: one sentence, without a traceback through helpers."""


class InputError(ValueError):
    """What was wrong and what is expected, in one sentence.

    A notebook shows that sentence alone: a traceback through helpers would only hide it.
    """

    def _render_traceback_(self):
        return [f"InputError: {self}"]
