"""The error for bad input, which is shown without a traceback through helpers; and what can be sent
of a text."""


def sendable(text):
    """Return the text in a form that can be sent: a lone surrogate has no bytes in UTF-8."""
    return str(text).encode("utf-8", "backslashreplace").decode()


class InputError(ValueError):
    """An error in what the reader passed: what was wrong, what is expected, what to do.

    A notebook shows this message alone, because a traceback through helpers would hide it.
    """

    def __init__(self, message=""):
        super().__init__(sendable(message))

    def _render_traceback_(self):
        return [f"InputError: {self}"]
