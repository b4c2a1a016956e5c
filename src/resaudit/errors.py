"""The one exception that a user is meant to read."""


class ResauditError(Exception):
    """Bad input or a missing piece; its text is one line: what is wrong, what is allowed, what to do."""
