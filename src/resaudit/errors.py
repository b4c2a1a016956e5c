"""The exceptions whose text users read."""


class ResauditError(Exception):
    """Bad input or a missing file; its text is one line: what is wrong, what is allowed, what to do."""

    def __str__(self) -> str:
        return in_one_line(super().__str__())


def in_one_line(text: str) -> str:
    """A text without line breaks, which messages of other libraries may contain."""
    return " ".join(text.splitlines())


class Interrupted(Exception):
    """A signal stopped the process; its work is in a checkpoint.

    Attributes:
        signal: its number.
    """

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal
