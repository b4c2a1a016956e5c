"""The exceptions that a user is meant to read."""


class ResauditError(Exception):
    """Bad input or a missing piece; its text is one line: what is wrong, what is allowed, what to do."""

    def __str__(self) -> str:
        # What other libraries or a file's content say of themselves may have several.
        return " ".join(super().__str__().splitlines())


class Interrupted(Exception):
    """A signal asked the process to stop, and it did so with nothing lost.

    Attributes:
        signal: its number.
    """

    def __init__(self, signal: int, said: str) -> None:
        super().__init__(said)
        self.signal = signal
