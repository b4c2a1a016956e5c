"""The exceptions whose text users read."""

from collections.abc import Sequence
from difflib import get_close_matches

MOST_SUGGESTED = 3
MOST_LISTED = 20


class ResauditError(Exception):
    """Bad input or a missing file; its text is one line: what is wrong, what is allowed, what to do."""

    def __str__(self) -> str:
        return in_one_line(super().__str__())


def in_one_line(text: str) -> str:
    r"""A text without line breaks, which messages of other libraries may contain, and with other controls escaped.

    >>> in_one_line("a\nb \x1b[2J")
    'a b \\x1b[2J'
    """
    text = " ".join(text.splitlines())
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def suggestion(wanted: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown name: near names if there are any, else all.

    Args:
        wanted: what was given.
        known: the names, such as ``fig04`` or ``paper/fig04``.

    >>> suggestion("fig7", ["fig04", "fig07", "fig11"]), suggestion("x", ["fig04", "fig07"])
    ('; did you mean fig07?', '; allowed: fig04, fig07')
    """
    near = near_names(wanted, known)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    more = f" … ({len(known)} in all)" if len(known) > MOST_LISTED else ""
    return f"; allowed: {', '.join(known[:MOST_LISTED]) or 'none'}{more}"


def near_names(wanted: str, known: Sequence[str]) -> list[str]:
    """At most :data:`MOST_SUGGESTED` names: those that begin with what was given, else those spelt most like it."""
    short = {name.rpartition("/")[2]: name for name in known}
    begin = [name for last, name in short.items() if wanted and last.startswith(wanted)]
    like = [short[last] for last in get_close_matches(wanted.rpartition("/")[2], short, MOST_SUGGESTED, cutoff=0.7)]
    return (begin or like)[:MOST_SUGGESTED]


def one_named(what: str, wanted: str, known: Sequence[str]) -> str:
    """The name that is meant: in full, without the paper, or by the beginning of one name only.

    Args:
        what: such as ``claim``, for messages.
        wanted: as given.
        known: names ``paper/name``.

    Raises:
        ResauditError: there is none, or several.
    """
    short = {name: name.rpartition("/")[2] for name in known}
    found = [name for name in known if wanted in (name, short[name])]
    found = found or [name for name in known if wanted and (short[name].startswith(wanted) or name.startswith(wanted))]
    if not found:
        raise ResauditError(f"unknown {what} {wanted!r}{suggestion(wanted, known)}")
    if len(found) > 1:
        raise ResauditError(f"{what} {wanted!r} may be {', '.join(found)}; write more of it")
    return found[0]


class Interrupted(Exception):
    """A signal stopped the process; its work is in a checkpoint.

    Attributes:
        signal: its number.
    """

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal
