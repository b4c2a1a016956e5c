"""Files that a user or a download brings: read to a limit, archives unpacked, errors that say why."""

import gzip
import lzma
import re
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from resaudit.base.errors import DataError, ResauditError, listed
from resaudit.data.dataset import StoredFile

LARGEST_ARCHIVE = 2**31
"""Bytes of the files in an archive; ten times CIFAR's."""
DAMAGED = (OSError, EOFError, LookupError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError)
"""Raised when a compressed file or an archive is missing, damaged or not one."""
_WEB_PAGE = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)


@contextmanager
def unpacked(place: Path) -> Iterator[Path]:
    """A folder itself, or the files of a tar archive in a temporary folder; hidden ones are left out."""
    if place.is_dir():
        yield place
        return
    size = 0

    def taken(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
        nonlocal size
        size += member.size
        if size > LARGEST_ARCHIVE:
            raise ValueError(f"it has more than {LARGEST_ARCHIVE} bytes")
        return None if is_hidden(PurePath(member.name)) else tarfile.data_filter(member, folder)

    with tempfile.TemporaryDirectory() as folder:
        with _readable(place), tarfile.open(place, errorlevel=2) as archive:
            archive.extractall(folder, filter=taken)
            # At a header that is cut or damaged, tarfile ends as at the archive's end, which is two blocks of zeros.
            assert archive.fileobj is not None
            archive.fileobj.seek(archive.offset)
            rest = [0 if block.strip(b"\0") else len(block) for block in _blocks(archive.fileobj.read)]
            if 0 in rest or sum(rest) < 2 * tarfile.BLOCKSIZE:
                raise EOFError("it is cut off or damaged, or goes on after its end")
        yield Path(folder)


def children(folder: Path) -> list[Path]:
    """What is in a folder, sorted; hidden names are left out."""
    with _readable(folder):
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def beginning(path: Path, count: int) -> bytes:
    """The first bytes of a file, unpacked if it is named ``.gz``; no more are kept in memory."""
    with _readable(path):
        if path.exists() and not path.is_file():
            raise OSError("it is a folder, a device or a pipe")
        if other := what_it_is(path):
            raise ValueError(other)
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return b"".join(_blocks(file.read, count))


def _blocks(read: Callable[[int], bytes], count: int = sys.maxsize) -> Iterator[bytes]:
    """The first bytes of a file, in blocks: ``read(count)`` would allocate as many, whatever the file has."""
    while block := read(min(count, 2**20)):
        yield block
        count -= len(block)


def right_one(candidates: Sequence[Path], read: Callable[[Path], bytes], file: StoredFile) -> bytes:
    """The bytes of the first of several candidates for a file that has its digest."""
    faults: list[ResauditError] = []
    for path in candidates:
        try:
            content = read(path)
            file.check(content)
        except ResauditError as error:
            faults.append(error)
        else:
            return content
    if len(faults) == 1:
        raise faults[0]
    raise DataError(f"none of {listed(candidates)} is the right {file.name}: {listed(faults)}")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGED as error:
        raise DataError(f"{path} cannot be read ({what_it_is(path) or first_line(error)})") from error


def is_hidden(name: PurePath) -> bool:
    """Whether a part of a name begins with a dot, as ``.ipynb_checkpoints`` and macOS's ``._1.png``.

    >>> is_hidden(PurePath("train/.old/1.png")), is_hidden(PurePath("../train/cat/1.png"))
    (True, False)
    """
    return any(part.startswith(".") and part != ".." for part in name.parts)


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")


def what_it_is(path: Path) -> str | None:
    """What a file is, if it is what often stands in another's place."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(1024)
            if _WEB_PAGE.match(start):
                return "it is a web page, not the file"  # of a proxy, a portal or a login
            if start.startswith(b"version https://git-lfs.github.com/spec/"):
                return "it is a pointer of git-LFS, not the file; 'git lfs pull' gets that"
            if start.startswith(b"PK\x03\x04"):
                return "it is a zip archive; unpack it"
    return None
