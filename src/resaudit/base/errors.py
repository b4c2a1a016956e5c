"""The exceptions whose text users read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
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
        code, fields: the arguments.
        file: the file of configuration at fault, put before the sentence; None: unknown, or in the sentence.

    >>> error = ResauditError("unknown-device", "no device {name!r}; allowed: {allowed}", name="x", allowed=["cpu"])
    >>> error.line, error.fields["allowed"]
    ("no device 'x'; allowed: cpu [unknown-device]", ['cpu'])
    """

    def __init__(self, code: str, sentence: str, **fields: object) -> None:
        super().__init__(code, sentence)
        self.code, self.sentence, self.fields = code, sentence, fields
        self.file: Path | None = None

    def __str__(self) -> str:
        sentence = _Sentence().format(self.sentence, **self.fields)
        return in_one_line(f"{self.file}: {sentence}" if self.file else sentence)

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


@contextmanager
def reading(path: Path, remedy: str) -> Iterator[None]:
    """Raise whatever goes wrong with a file as an error with what to do about it."""
    try:
        yield
    except FileNotFoundError:
        raise ResauditError("missing-file", "{path} does not exist; {remedy}", path=path, remedy=remedy) from None
    # On damaged bytes zipfile, zlib, struct, tokenize and NumPy each raise their own exceptions.
    except Exception as error:
        raise ResauditError(
            "unreadable-file",
            "{path} cannot be read ({reason}); {remedy}",
            path=path,
            reason=str(error) or type(error).__name__,
            remedy=remedy,
        ) from error


OF_YOUR_OWN = "'resaudit list' has the figures, 'resaudit audit' the claims; your own paper needs papers_path=FOLDER"


def suggestion(name: str, known: Sequence[str], shown: Callable[[str], str] = str, elsewhere: str = "") -> str:
    """The end of a message about an unknown name: near names if there are any, else where to look, or all.

    Args:
        name: the unknown one.
        known: the names, such as ``fig04`` or ``paper/fig04``.
        shown: returns a name as the message writes it.
        elsewhere: where to look, if too many to list are known.

    >>> suggestion("fig7", ["fig04", "fig07", "fig11"]), suggestion("x", ["fig04", "fig07"])
    ('; did you mean fig07?', '; allowed: fig04, fig07')
    """
    near = near_names(name, known)
    if near:
        return f"; did you mean {' or '.join(map(shown, near))}?"
    if elsewhere and len(known) > MOST_LISTED:
        return f"; {elsewhere}"
    more = f" … ({len(known)} in all)" if len(known) > MOST_LISTED else ""
    return f"; allowed: {', '.join(map(shown, known[:MOST_LISTED])) or 'none'}{more}"


def near_names(name: str, known: Sequence[str]) -> list[str]:
    """Names that begin like this one, else those spelt most like it; of all papers that have a short name.

    At most :data:`MOST_SUGGESTED` short names, of the same paper if there is such a paper.

    >>> near_names("fig6", ["a/fig06", "b/fig06", "b/fig07"]), near_names("b/fig6", ["a/fig06", "b/fig06"])
    (['a/fig06', 'b/fig06'], ['b/fig06'])
    """
    paper, _, last = name.rpartition("/")
    candidates = [other for other in known if paper and other.startswith(f"{paper}/")] or known
    short = {other: other.rpartition("/")[2] for other in candidates}
    near = [end for end in dict.fromkeys(short.values()) if name and end.startswith(name)][:MOST_SUGGESTED]
    near = near or get_close_matches(last, dict.fromkeys(short.values()), MOST_SUGGESTED, cutoff=0.7)
    return [other for end in near for other in candidates if short[other] == end]


def figures_named(name: str, known: Sequence[str]) -> list[str]:
    """The figures that a full name, a short name or the name of their paper stands for.

    Raises:
        ResauditError: there is none, or several papers have one of that short name.

    >>> known = ["a/fig01", "a/map", "b/fig01"]
    >>> figures_named("map", known), figures_named("a", known), figures_named("b/fig01", known)
    (['a/map'], ['a/fig01', 'a/map'], ['b/fig01'])
    """
    figures = [figure for figure in known if name in (figure, *figure.split("/"))]
    if not figures:
        hint = suggestion(name, known, elsewhere=OF_YOUR_OWN)
        raise ResauditError("unknown-figure", "unknown figure {name!r}{hint}", name=name, hint=hint)
    if len({figure.split("/")[0] for figure in figures}) > 1:
        raise ResauditError(
            "ambiguous-figure",
            "figure {name!r} may be {figures}; write it in full, as {first}",
            name=name,
            figures=figures,
            first=figures[0],
        )
    return figures


def least_name(name: str, known: Iterable[str]) -> str:
    """A ``paper/name`` without its paper, unless several of the known names would be the same then.

    >>> known = ["a/fig01", "a/map", "b/fig01"]
    >>> least_name("a/map", known), least_name("b/fig01", known)
    ('map', 'b/fig01')
    """
    short = name.rpartition("/")[2]
    return name if sum(each.rpartition("/")[2] == short for each in known) > 1 else short


def one_named(kind: str, name: str, known: Sequence[str]) -> str:
    """The name that is meant: in full, without the paper, or by the beginning of one name only.

    Args:
        kind: what is named, such as ``claim``, for messages.
        name: a name as the user wrote it.
        known: names ``paper/name``.
    """
    ends = {full: full.rpartition("/")[2] for full in known}
    names = [full for full, end in ends.items() if name in (full, end)]
    names = names or [full for full, end in ends.items() if name and (end.startswith(name) or full.startswith(name))]
    if not names:
        hint = suggestion(name, known, elsewhere=OF_YOUR_OWN)
        raise ResauditError("unknown-name", "unknown {kind} {name!r}{hint}", kind=kind, name=name, hint=hint)
    if len(names) > 1:
        raise ResauditError(
            "ambiguous-name", "{kind} {name!r} may be {names}; write more of it", kind=kind, name=name, names=names
        )
    return names[0]


class Interrupted(Exception):
    """A signal stopped the process; its work is in a checkpoint.

    Attributes:
        signal: its number.
    """

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal
