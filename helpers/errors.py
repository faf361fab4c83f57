"""The error for bad input, which is shown without a traceback through helpers."""


class InputError(ValueError):
    """An error in what the reader passed: what was wrong, what is expected, what to do.

    A notebook shows this message alone, because a traceback through helpers would hide it.
    """

    def _render_traceback_(self):
        return [f"InputError: {self}"]
