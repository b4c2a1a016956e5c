"""Files of a folder or a tar archive, read one by one without unpacking."""

import gzip
import lzma
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePath, PurePosixPath

LARGEST_MEMBER = 2**28
"""Bytes of a file that is read at once; five times a file of CIFAR."""
LARGEST_ARCHIVE = 2**31
"""Bytes of an archive that is looked into if a folder is searched."""
IMAGE_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""Those that torchvision's ImageFolder reads."""
UNREAD_SUFFIXES = (".avif", ".gif", ".heic", ".heif", ".jfif", ".jp2", ".jpe", ".jxl", ".pbm", ".pnm", ".tga")
"""Of other images, which it would leave out."""

DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError)
"""Raised when a compressed file or an archive is missing, damaged or not one."""

_WEB_PAGE = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)

Name = PurePosixPath
"""Of a file, relative to its folder or archive."""


class Refused(Exception):
    """Why a source failed."""


def files_in(place: Path, wanted: Callable[[Name], bool]) -> Iterator[tuple[Name, bytes]]:
    """Each wanted file of a folder or a tar archive (packed or not), with its bytes; hidden ones are left out.

    Raises:
        Refused: one cannot be read, has more than :data:`LARGEST_MEMBER` bytes, or is neither a file nor, in an
            archive, a hard link to one.
    """
    try:
        yield from _in_folder(place, wanted) if place.is_dir() else _in_archive(place, wanted)
    except DAMAGED as error:
        raise Refused(f"{place} cannot be read ({reason(place, error)})") from error


def names_in(place: Path) -> Iterator[Name]:
    """The name of each file, from an archive as far as it can be read."""
    with suppress(*DAMAGED):
        if place.is_dir():
            yield from (name for name, path in _paths(place))
        else:
            with tarfile.open(place) as opened:
                yield from (name for name, member in _members(opened))


def beginning(path: Path, count: int) -> bytes:
    """The first bytes of a file, unpacked if it is named ``.gz``; no more are kept in memory.

    Raises:
        Refused: it cannot be read, or is no regular file.
    """
    try:
        if path.exists() and not path.is_file():
            raise Refused(f"{path} is a folder, a device or a pipe; allowed: a file")
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return file.read(count)
    except FileNotFoundError:
        raise
    except DAMAGED as error:
        raise Refused(f"{path} cannot be read ({reason(path, error)})") from error


def archives_in(folder: Path) -> list[Path]:
    """The tar archives of a folder, sorted by name."""
    try:
        found = [path for path in sorted(folder.iterdir()) if re.search(r"^[^.].*\.(tar(\.\w+)?|tgz)$", path.name)]
    except OSError as error:
        raise Refused(f"{folder} cannot be read ({error.strerror})") from error
    return [path for path in found if path.is_file() and path.stat().st_size <= LARGEST_ARCHIVE]


def is_image(name: Name) -> bool:
    """By its suffix.

    >>> is_image(Name("train/cat/1.JPG")), is_image(Name("train/README.md"))
    (True, False)
    """
    return name.suffix.lower() in IMAGE_SUFFIXES


def is_hidden(name: PurePath) -> bool:
    """Whether a part of it begins with a dot, as ``.ipynb_checkpoints`` and macOS's ``._1.png``.

    >>> is_hidden(Name("train/.old/1.png")), is_hidden(Name("../train/cat/1.png"))
    (True, False)
    """
    return any(part.startswith(".") and part != ".." for part in name.parts)


def first_line(error: BaseException) -> str:
    """Of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")


def is_web_page(path: Path) -> bool:
    """Whether a file begins as one: what a proxy, a portal or a login answers in place of a file."""
    with suppress(OSError):
        return path.is_file() and _WEB_PAGE.match(_start_of(path)) is not None
    return False


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1024)


def reason(path: Path, error: BaseException) -> str:
    """Why a file cannot be read, in one line."""
    return "it is a web page, not the file" if is_web_page(path) else first_line(error)


def _paths(folder: Path) -> Iterator[tuple[Name, Path]]:
    """All that is no folder, and folders that cannot be read, level by level.

    A link to a folder that it lies in is left out: all in there is found without it.
    """
    level = [folder]
    while level:
        below = []
        for path in sorted(child for parent in level for child in parent.iterdir()):
            name = Name(path.relative_to(folder).as_posix())
            if is_hidden(name):
                continue
            if not path.is_dir() or not os.access(path, os.R_OK | os.X_OK):
                yield name, path
            elif not (path.is_symlink() and path.resolve() in {above.resolve() for above in path.parents}):
                below.append(path)
        level = below


def _in_folder(folder: Path, wanted: Callable[[Name], bool]) -> Iterator[tuple[Name, bytes]]:
    for name, path in _paths(folder):
        if not path.is_file():
            _check_unwanted(folder, name, wanted)
        elif wanted(name):
            _check_size(folder, name, path.stat().st_size)
            yield name, path.read_bytes()


def _in_archive(archive: Path, wanted: Callable[[Name], bool]) -> Iterator[tuple[Name, bytes]]:
    with tarfile.open(archive) as opened:
        for name, member in _members(opened):
            if not member.isreg() and not member.islnk():
                _check_unwanted(archive, name, wanted)
            elif wanted(name):
                target = _target(opened, member) if member.islnk() else member
                if not target.isreg():
                    raise Refused(f"{name} of {archive} is a link to {member.linkname}, which is no file before it")
                _check_size(archive, name, target.size)
                file = opened.extractfile(target)
                assert file is not None  # it is a regular file
                yield name, file.read()


def _members(archive: tarfile.TarFile) -> Iterator[tuple[Name, tarfile.TarInfo]]:
    for member in archive:
        name = Name(member.name)
        if not is_hidden(name) and not member.isdir():
            yield name, member


def _target(archive: tarfile.TarFile, link: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member that a hard link names; the link itself if there is none."""
    try:
        return archive.getmember(link.linkname)
    except KeyError:
        return link


def _check_unwanted(place: Path, name: Name, wanted: Callable[[Name], bool]) -> None:
    """Check that nothing wanted is lost with what cannot be read; a link or a folder may be a whole class."""
    if wanted(name) or wanted(name / "1.png"):
        raise Refused(
            f"{name} of {place} is a link, a device, a pipe or a folder that cannot be read; allowed: files "
            "(tar follows links with -h)"
        )


def _check_size(place: Path, name: Name, size: int) -> None:
    if size > LARGEST_MEMBER:
        raise Refused(f"{name} of {place} has {size} bytes; allowed: at most {LARGEST_MEMBER}")
