"""Opening a zip that somebody else made. Nothing is extracted: entries are read, or copied to a path that we choose."""

import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from resaudit.base.errors import ResauditError
from resaudit.base.models import one_line, shown

MOST_ENTRIES = 100_000
LARGEST_ENTRY = 8 * 2**30
LARGEST_TOTAL = 64 * 2**30
"""Bytes of all entries of a zip together, unpacked."""
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)


class Opened:
    """A zip whose directory has been checked.

    Attributes:
        entries: by name.
    """

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._archive, self._path = archive, path
        self.entries = {info.filename: info for info in archive.infolist()}

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
        with to.open("xb") as file:
            for chunk in self._chunks(name):
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        return digest.hexdigest()

    def _chunks(self, name: str) -> Iterator[bytes]:
        # zipfile reads no more than the size in the directory, which has been checked, and checks the CRC.
        with _errors_of(f"{name} in {self._path}"), self._archive.open(name) as file:
            while chunk := file.read(2**20):
                yield chunk


@contextmanager
def opened(path: Path, check: Callable[[zipfile.ZipInfo], None]) -> Iterator[Opened]:
    """A zip, after checks of the number of its entries, their names and their sizes.

    Args:
        path: of the zip.
        check: raises ResauditError for an entry that has no place there.

    Raises:
        ResauditError: the zip is damaged, too large, or has an entry twice.
    """
    with _errors_of(str(path)):
        archive = zipfile.ZipFile(path)
    with archive:
        infos = archive.infolist()
        if len(infos) > MOST_ENTRIES:
            raise ResauditError(f"{path} has {len(infos)} entries; allowed: at most {MOST_ENTRIES}")
        known: set[str] = set()
        for info in infos:
            if (folded := info.filename.casefold()) in known:
                raise ResauditError(f"{path}: the entry {shown(info.filename)} is there twice; get the archive again")
            known.add(folded)
            if info.file_size > LARGEST_ENTRY:
                raise ResauditError(
                    f"{path}: {shown(info.filename)} has {info.file_size} bytes; allowed: {LARGEST_ENTRY}"
                )
            check(info)
        total = sum(info.file_size for info in infos)
        if total > LARGEST_TOTAL:
            raise ResauditError(f"{path} unpacks to {total} bytes; allowed: at most {LARGEST_TOTAL}")
        yield Opened(archive, path)


@contextmanager
def _errors_of(what: str) -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        raise ResauditError(
            f"{what} cannot be read ({one_line(str(error)) or type(error).__name__}); get the archive again"
        ) from error
