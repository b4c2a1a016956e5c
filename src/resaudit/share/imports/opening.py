"""Opening a zip that may be hostile: its directory is checked before any byte is read, and nothing is ever extracted.

Formats: PKWARE's APPNOTE 6.3.10 (4.3.14 to 4.3.16, the end records).
"""

import hashlib
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from resaudit.base.errors import ResauditError
from resaudit.base.models import one_line, shown

LARGEST_ARCHIVE = 64 * 2**30
MOST_ENTRIES = 100_000
LARGEST_DIRECTORY = 64 * 2**20
_END, _LOCATOR, _END_64 = struct.Struct("<4s4H2LH"), struct.Struct("<4sLQL"), struct.Struct("<4sQ2H2L4Q")
_LOCAL_HEADER = 30
_ENCRYPTED = 0x1 | 0x20 | 0x40
"""Flags of encryption, strong encryption and patched data."""
_CHUNK = 2**20
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


class Opened:
    """A zip whose directory has been checked.

    Attributes:
        entries: by name.
    """

    def __init__(self, archive: zipfile.ZipFile, path: Path, entries: dict[str, zipfile.ZipInfo]) -> None:
        self._archive, self._path, self.entries = archive, path, entries

    def read(self, name: str) -> bytes:
        """The bytes of a small entry; raises ResauditError if they are damaged."""
        return b"".join(self._chunks(name))

    def sha256(self, name: str) -> str:
        """The digest of an entry's bytes; raises likewise."""
        digest = hashlib.sha256()
        for chunk in self._chunks(name):
            digest.update(chunk)
        return digest.hexdigest()

    def copy(self, name: str, to: Path) -> str:
        """Copy an entry to a new file in an existing folder; its digest. Raises likewise, or OSError."""
        digest = hashlib.sha256()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(to, flags, 0o644), "wb") as file:
            for chunk in self._chunks(name):
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        return digest.hexdigest()

    def _chunks(self, name: str) -> Iterator[bytes]:
        entry, left = self.entries[name], self.entries[name].file_size
        with _errors_of(f"{name} in {self._path}"), self._archive.open(entry) as file:
            while chunk := file.read(_CHUNK):
                left -= len(chunk)
                yield chunk
        if left:
            raise ResauditError(f"{name} in {self._path} has not as many bytes as it says; get the archive again")


@contextmanager
def opened(path: Path, check: Callable[[zipfile.ZipInfo], None]) -> Iterator[Opened]:
    """A zip, after checks of its end, its directory and every entry.

    Args:
        path: of the zip.
        check: raises ResauditError for an entry that has no place there.

    Raises:
        ResauditError: the zip is damaged, or more than a plain zip of regular files.
    """
    with _errors_of(str(path)):
        file = path.open("rb")
    with file:
        with _errors_of(str(path)):
            count, start = _end_of(file, path)
            archive = zipfile.ZipFile(file)
        infos = archive.infolist()
        if len(infos) != count:
            raise ResauditError(f"{path} has {len(infos)} entries and says {count}; get the archive again")
        for info in infos:
            _check_entry(info, path)
            check(info)
        _check_names(infos, path)
        _check_places(infos, start, path)
        yield Opened(archive, path, {info.filename: info for info in infos})


@contextmanager
def _errors_of(what: str) -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        raise ResauditError(
            f"{what} cannot be read ({one_line(str(error)) or type(error).__name__}); get the archive again"
        ) from error


def _end_of(file: BinaryIO, path: Path) -> tuple[int, int]:
    """The number of entries and where the directory starts, by the end records."""
    size = file.seek(0, os.SEEK_END)
    if not _END.size <= size <= LARGEST_ARCHIVE:
        raise ResauditError(f"{path} has {size} bytes; allowed: a zip of at most {LARGEST_ARCHIVE}")
    file.seek(at := size - _END.size)
    mark, *_disks, count, length, start, comment = _END.unpack(file.read(_END.size))
    if mark != b"PK\5\6" or comment:
        raise ResauditError(f"{path} does not end as a zip without a comment does; allowed: what resaudit crate writes")
    if count == 0xFFFF or length == 0xFFFFFFFF or start == 0xFFFFFFFF:
        file.seek(max(at - _LOCATOR.size, 0))
        mark, _, where, _ = _LOCATOR.unpack(file.read(_LOCATOR.size))
        if mark != b"PK\6\7" or where + _END_64.size + _LOCATOR.size != at:
            raise ResauditError(f"{path} has no end record of a large zip where it belongs; get the archive again")
        file.seek(at := where)
        *_, count, length, start = _END_64.unpack(file.read(_END_64.size))
    if count > MOST_ENTRIES or length > LARGEST_DIRECTORY:
        raise ResauditError(f"{path} has {count} entries in {length} bytes; allowed: {MOST_ENTRIES} in 64 MiB")
    if start + length != at:
        raise ResauditError(f"{path} has bytes before, in or after its directory that no entry explains")
    return count, start


def _check_entry(info: zipfile.ZipInfo, path: Path) -> None:
    name, kind = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
    parts = name.split("/")
    if name != info.filename or not name.isascii() or not name.isprintable() or "\\" in name:
        raise _refused(name, path, "has a name that is not plain ASCII")
    if any(part in ("", ".", "..") for part in parts) or ":" in parts[0]:
        raise _refused(name, path, "lies outside of the archive's folders")
    if kind not in (0, stat.S_IFREG) or info.external_attr & 0x10:
        raise _refused(name, path, "is a link, a folder or a device")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(name, path, f"is compressed by method {info.compress_type}")
    if info.flag_bits & _ENCRYPTED:
        raise _refused(name, path, "is encrypted")


def _refused(name: str, path: Path, what: str) -> ResauditError:
    return ResauditError(f"{path}: the entry {shown(name)} {what}; allowed: regular files, stored or deflated")


def _check_names(infos: list[zipfile.ZipInfo], path: Path) -> None:
    known: set[str] = set()
    for info in infos:
        if (folded := info.filename.casefold()) in known:
            raise _refused(info.filename, path, "is there twice")
        known.add(folded)


def _check_places(infos: list[zipfile.ZipInfo], end: int, path: Path) -> None:
    """No two entries share bytes; Python before 3.11.8 does not check this."""
    in_order = sorted(infos, key=lambda info: info.header_offset)
    ends = [info.header_offset + _LOCAL_HEADER + len(info.filename) + info.compress_size for info in in_order]
    starts = [*(info.header_offset for info in in_order[1:]), end]
    for info, (stop, start) in zip(in_order, zip(ends, starts, strict=True), strict=True):
        if stop > start:
            raise _refused(info.filename, path, "shares bytes with another")
