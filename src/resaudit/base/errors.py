"""The exceptions whose text users read."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from string import Formatter

MOST_SUGGESTED = 3
MOST_LISTED = 20


class _Sentence(Formatter):
    """Formats a sentence; lists are joined with commas."""

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, list | tuple):
            value = ", ".join(map(str, value)) or "none"
        return str(super().format_field(value if format_spec else str(value), format_spec))


class ResauditError(Exception):
    """Bad input or a missing file, said in one line: what is wrong, what is allowed, what to do.

    Args:
        code: the stable name of the fault, such as ``unknown-figure``.
        sentence: a format string over the fields.
        fields: the values in the sentence; a list is printed with commas.

    Attributes:
        code: as given.
        fields: as given.

    >>> error = ResauditError("unknown-device", "no device {name!r}; allowed: {allowed}", name="x", allowed=["cpu"])
    >>> error.line, error.fields["allowed"]
    ("no device 'x'; allowed: cpu [unknown-device]", ['cpu'])
    """

    def __init__(self, code: str, sentence: str | None = None, **fields: object) -> None:
        super().__init__(code, sentence)
        if sentence is None:
            code, sentence, fields = "uncoded", "{text}", {"text": code}
        self.code, self.sentence, self.fields = code, sentence, fields

    def __str__(self) -> str:
        return in_one_line(_Sentence().format(self.sentence, **self.fields))

    @property
    def line(self) -> str:
        """What commands print: the sentence and the code."""
        return f"{self} [{self.code}]"


def in_one_line(text: str) -> str:
    r"""A text without line breaks, which messages of other libraries may contain, and with other controls escaped.

    >>> in_one_line("a\nb \x1b[2J")
    'a b \\x1b[2J'
    """
    text = " ".join(text.splitlines())
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def suggestion(wanted: str, known: Sequence[str], shown: Callable[[str], str] = str) -> str:
    """The end of a message about an unknown name: near names if there are any, else all.

    Args:
        wanted: what was given.
        known: the names, such as ``fig04`` or ``paper/fig04``.
        shown: how a name is to be written there.

    >>> suggestion("fig7", ["fig04", "fig07", "fig11"]), suggestion("x", ["fig04", "fig07"])
    ('; did you mean fig07?', '; allowed: fig04, fig07')
    """
    near = near_names(wanted, known)
    if near:
        return f"; did you mean {' or '.join(map(shown, near))}?"
    more = f" … ({len(known)} in all)" if len(known) > MOST_LISTED else ""
    return f"; allowed: {', '.join(map(shown, known[:MOST_LISTED])) or 'none'}{more}"


def near_names(wanted: str, known: Sequence[str]) -> list[str]:
    """Names that begin with what was given, else those spelt most like it; of all papers that have a short name.

    At most :data:`MOST_SUGGESTED` short names, of the given paper if there is such a paper.

    >>> near_names("fig6", ["a/fig06", "b/fig06", "b/fig07"]), near_names("b/fig6", ["a/fig06", "b/fig06"])
    (['a/fig06', 'b/fig06'], ['b/fig06'])
    """
    paper, _, last = wanted.rpartition("/")
    names = [name for name in known if paper and name.startswith(f"{paper}/")] or known
    short = {name: name.rpartition("/")[2] for name in names}
    begin = [each for each in dict.fromkeys(short.values()) if wanted and each.startswith(wanted)]
    near = begin[:MOST_SUGGESTED] or get_close_matches(last, dict.fromkeys(short.values()), MOST_SUGGESTED, cutoff=0.7)
    return [name for each in near for name in names if short[name] == each]


def figures_named(wanted: str, known: Sequence[str]) -> list[str]:
    """The figures that are meant by a full name, by a short one that one paper has, or by the name of their paper.

    Args:
        wanted: as given.
        known: every ``paper/figure``.

    Raises:
        ResauditError: there is none, or several papers have one.

    >>> known = ["a/fig01", "a/map", "b/fig01"]
    >>> figures_named("map", known), figures_named("a", known), figures_named("b/fig01", known)
    (['a/map'], ['a/fig01', 'a/map'], ['b/fig01'])
    """
    found = [name for name in known if wanted in (name, *name.split("/"))]
    if not found:
        raise ResauditError(f"unknown figure {wanted!r}{suggestion(wanted, known)}")
    if len({name.split("/")[0] for name in found}) > 1:
        raise ResauditError(f"figure {wanted!r} may be {', '.join(found)}; write it in full, as {found[0]}")
    return found


def least_name(name: str, known: Iterable[str]) -> str:
    """A ``paper/name`` without its paper, unless several of the known names would be the same then.

    >>> known = ["a/fig01", "a/map", "b/fig01"]
    >>> least_name("a/map", known), least_name("b/fig01", known)
    ('map', 'b/fig01')
    """
    short = name.rpartition("/")[2]
    return name if sum(each.rpartition("/")[2] == short for each in known) > 1 else short


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
