"""The exceptions whose text users read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

MOST_SUGGESTED = 3
MOST_LISTED = 20


class ResauditError(Exception):
    """Bad input or a missing file, said in one line: what is wrong, what is allowed, what to do."""

    def __str__(self) -> str:
        return in_one_line(super().__str__())


class ConfigError(ResauditError):
    """A setting, an override, an argument or a file of configuration; correct it.

    Args:
        sentence: what is wrong.
        place: the key at fault, if the sentence begins with it.
        file: the file at fault, put before the sentence; None: unknown, or in the sentence.

    Attributes:
        place, file: the arguments, which whoever knows better may change.

    >>> print(ConfigError("is 3; allowed: even numbers", place="protocol.depth"))
    protocol.depth is 3; allowed: even numbers
    """

    def __init__(self, sentence: str, place: str = "", file: Path | None = None) -> None:
        super().__init__(sentence)
        self.place, self.file = place, file

    def __str__(self) -> str:
        before = f"{self.file}: " if self.file else ""
        return before + f"{in_one_line(self.place)} {super().__str__()}".lstrip()


class PaperError(ResauditError):
    """The code of a paper; correct it."""


class DataError(ResauditError):
    """Raw data are missing, damaged or others than asked for; give the right ones."""


class ResultsError(ResauditError):
    """A file of a run is missing, damaged or of another plan; run Snakemake again, after removing it if it is there."""


class TableError(ResauditError):
    """A figure's table, record or drawing is missing, damaged or of another plan; draw it again, or leave it out.

    Args:
        sentence: what is wrong.
        row: the position of the row at fault, from 0; None: no single one, or
        least_of: the column whose least value is at fault.
    """

    def __init__(self, sentence: str, row: int | None = None, least_of: str | None = None) -> None:
        super().__init__(sentence)
        self.row, self.least_of = row, least_of


class OtherSettings(TableError):
    """A table is whole, but of other settings than asked for."""


class UnplannedTable(TableError):
    """A table is as it was drawn, but has what the plan cannot give."""


class CheckError(TableError):
    """A claim's check does not fit the table; correct either."""


class ArchiveError(ResauditError):
    """An archive of a run is damaged, or not what it says; get it again."""


class MachineError(ResauditError):
    """The machine lacks memory, a device, rights or an installation."""


class BusyError(ResauditError):
    """Another process is at work in the same folder; wait for it."""


class DifferenceError(ResauditError):
    """Runs or tables that should agree do not."""


class VerdictError(ResauditError):
    """Claims do not have the verdict that was asked for, or none."""


def listed(values: Iterable[object]) -> str:
    """Values with commas between them.

    >>> listed([1, 2]), listed([])
    ('1, 2', 'none')
    """
    return ", ".join(map(str, values)) or "none"


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
        raise ResultsError(f"{path} does not exist; {remedy}") from None
    # On damaged bytes zipfile, zlib, struct, tokenize and NumPy each raise their own exceptions.
    except Exception as error:
        raise ResultsError(f"{path} cannot be read ({str(error) or type(error).__name__}); {remedy}") from error


INSTALL_TORCH = "python -m pip install 'resaudit[torch]'"
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


def _meant(name: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown ``paper/name``: near names, else a paper that is spelt almost like it."""
    papers = list(dict.fromkeys(each.split("/")[0] for each in known))
    paper = get_close_matches(name, papers, 1, cutoff=0.7) if not near_names(name, known) else []
    return f"; did you mean {paper[0]}?" if paper else suggestion(name, known, elsewhere=OF_YOUR_OWN)


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

    >>> known = ["a/fig01", "a/map", "b/fig01"]
    >>> figures_named("map", known), figures_named("a", known), figures_named("b/fig01", known)
    (['a/map'], ['a/fig01', 'a/map'], ['b/fig01'])
    """
    figures = [figure for figure in known if name in (figure, *figure.split("/"))]
    if not figures:
        raise ConfigError(f"unknown figure {name!r}{_meant(name, known)}")
    if len({figure.split("/")[0] for figure in figures}) > 1:
        raise ConfigError(f"figure {name!r} may be {listed(figures)}; write it in full, as {figures[0]}")
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
        raise ConfigError(f"unknown {kind} {name!r}{_meant(name, known)}")
    if len(names) > 1:
        raise ConfigError(f"{kind} {name!r} may be {listed(names)}; write more of it")
    return names[0]


class Interrupted(Exception):
    """A signal stopped the process; its work is in a checkpoint.

    Attributes:
        signal: its number.
    """

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal
