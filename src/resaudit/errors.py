"""The exceptions that a user is meant to read."""


class ResauditError(Exception):
    """Bad input or a missing piece; its text is one line: what is wrong, what is allowed, what to do."""

    def __str__(self) -> str:
        return in_one_line(super().__str__())


def in_one_line(text: str) -> str:
    """A text without line breaks: what other libraries or a file's content say of themselves may have some."""
    return " ".join(text.splitlines())


class Interrupted(Exception):
    """A signal asked the process to stop, and it did so with nothing lost.

    Attributes:
        signal: its number.
    """

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal
