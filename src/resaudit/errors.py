"""The exceptions that a user is meant to read."""


class ResauditError(Exception):
    """Bad input or a missing piece; its text is one line: what is wrong, what is allowed, what to do."""


class Interrupted(Exception):
    """A signal asked the process to stop, and it did so with nothing lost.

    Attributes:
        signal: its number.
    """

    def __init__(self, signal: int, said: str) -> None:
        super().__init__(said)
        self.signal = signal
