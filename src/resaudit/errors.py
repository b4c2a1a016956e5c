"""The exceptions whose text users read."""

from collections.abc import Sequence
from difflib import get_close_matches

MOST_SUGGESTED = 3


class ResauditError(Exception):
    """Bad input or a missing file; its text is one line: what is wrong, what is allowed, what to do."""

    def __str__(self) -> str:
        return in_one_line(super().__str__())


def in_one_line(text: str) -> str:
    """A text without line breaks, which messages of other libraries may contain."""
    return " ".join(text.splitlines())


def suggestion(wanted: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown name: near names if there are any, else all.

    Args:
        wanted: what was given.
        known: the names, such as ``fig04`` or ``paper/fig04``.

    >>> suggestion("fig7", ["fig04", "fig07", "fig11"]), suggestion("x", ["fig04", "fig07"])
    ('; did you mean fig07?', '; allowed: fig04, fig07')
    """
    near = near_names(wanted, known)
    return f"; did you mean {' or '.join(near)}?" if near else f"; allowed: {', '.join(known) or 'none'}"


def near_names(wanted: str, known: Sequence[str]) -> list[str]:
    """At most :data:`MOST_SUGGESTED` names: those that begin with what was given, else those spelt most like it."""
    short = {name.rpartition("/")[2]: name for name in known}
    begin = [name for last, name in short.items() if wanted and last.startswith(wanted)]
    like = [short[last] for last in get_close_matches(wanted.rpartition("/")[2], short, MOST_SUGGESTED, cutoff=0.7)]
    return (begin or like)[:MOST_SUGGESTED]


class Interrupted(Exception):
    """A signal stopped the process; its work is in a checkpoint.

    Attributes:
        signal: its number.
    """

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal
