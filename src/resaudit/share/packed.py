"""An archive of ``resaudit crate`` that somebody else made: its files with digests, and who ran which job.

Nothing is extracted: entries are read, or copied to a path that we choose.
"""

import hashlib
import json
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import Field

from resaudit.base.errors import ArchiveError, listed
from resaudit.base.files import to_disk
from resaudit.base.models import Line, Model, one_line, shown, validated

METADATA = "ro-crate-metadata.json"
MOST_ENTRIES = 100_000
LARGEST_ENTRY = 8 * 2**30
LARGEST_JSON = 64 * 2**20
"""Bytes; the metadata of a run of four papers has three million."""
LARGEST_TABLE = 256 * 2**20
"""Bytes of a table, which is read at once."""
LARGEST_TOTAL = 64 * 2**30
"""Bytes of all entries together, unpacked."""
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)
_KIND, _ID, _FILE = "[a-z][a-z0-9_]*", "[a-z0-9_-]+", r"[a-z][a-z0-9_]*\.(?:json|npz)"
# Only results are ever copied out; of all else, paths have no part that is empty or begins with a dot.
_PLACES = re.compile(
    rf"results/plan/{_KIND}/{_ID}\.json|results/{_KIND}/{_ID}/{_FILE}"
    r"|(figures|config|papers|profiles|workflow|src)(/[A-Za-z0-9_][A-Za-z0-9_.@+=,-]*)+"
    r"|[A-Za-z][A-Za-z0-9_.-]*"
)
_RESULT = re.compile(rf"results/(?!plan/)({_KIND}/{_ID})/({_FILE})")
_ORCID = re.compile(r"https://orcid\.org/([0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])")


@dataclass(frozen=True)
class Packed:
    """An archive whose files are those that its metadata lists."""

    path: Path  # the archive
    digests: dict[str, str]  # SHA-256 of every file, by name
    sizes: dict[str, int]  # bytes of every file, by name
    agents: dict[str, str | None]  # who ran each job, by ``kind/id``; None if the archive does not say
    jobs: dict[str, set[str]]  # names of the result files of every job, by ``kind/id``
    audit: dict[str, Any]  # its ``audit.json``
    _zip: zipfile.ZipFile

    def parsed(self, name: str) -> Any:
        """The JSON of an entry; raises ResauditError."""
        return _parsed(self._zip, name)

    def copy(self, name: str, target: Path) -> None:
        """Copy an entry to a new file in an existing folder.

        Raises:
            ResauditError: the entry is damaged, or changed since the archive was opened.
            OSError: the file is there already, or cannot be written.
        """
        digest = hashlib.sha256()
        with target.open("xb") as file:
            for chunk in _chunks(self._zip, name):
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            to_disk(file)
        if digest.hexdigest() != self.digests[name]:
            raise ArchiveError(f"{self.path} changes while it is read; copy it and import the copy")


class _Agent(Model):
    """A name that stays a line with an ORCID, and that a crate of these results takes in its turn."""

    name: Annotated[Line, Field(max_length=170, pattern="^[^<> ]([^<>]*[^<> ])?$")]


@contextmanager
def unpacked(path: Path) -> Iterator[Packed]:
    """Open an archive, after checks of its entries' names, number and sizes, and of every digest in its metadata."""
    with _errors_of(path):
        with path.open("rb") as file:
            begins = file.read(4) == b"PK\3\4"
        if begins and not zipfile.is_zipfile(path):
            raise ArchiveError(
                f"{path} has lost its end, as by a download or a copy that broke off; get the archive again"
            )
        archive = zipfile.ZipFile(path)
    with archive:
        _check_entries(path, archive.infolist())
        yield _packed(path, archive)


def refused_names(names: Sequence[str]) -> set[str]:
    """The names that no entry may have; some file systems take those that differ in case for the same."""
    times = Counter(name.casefold() for name in names)
    return {name for name in names if not _PLACES.fullmatch(name) or times[name.casefold()] > 1}


def _check_entries(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    names = [entry.filename for entry in entries]
    if METADATA not in names and (inner := [name for name in names if name.endswith(".zip")]):
        raise ArchiveError(f"{path} is no run, but holds {listed(inner[:3])}; unpack it, and give that")
    if again := [name for name in names if name.endswith(("/", f"/{METADATA}")) or name.startswith("__MACOSX/")]:
        raise ArchiveError(
            f"{path} was unpacked and packed again ({shown(again[0])} is in none that resaudit crate wrote); get it "
            "as it was"
        )
    refused = refused_names(names)
    sizes = {"the number of its entries": (len(entries), MOST_ENTRIES)}
    for entry in entries:
        name = shown(entry.filename)
        if entry.filename in refused:
            raise ArchiveError(f"{path}: the entry {name} is not of a run, or is there twice")
        largest = {".json": LARGEST_JSON, ".csv": LARGEST_TABLE}.get(
            PurePosixPath(entry.filename).suffix, LARGEST_ENTRY
        )
        sizes[f"the size of {name} in bytes"] = entry.file_size, largest
    sizes["its unpacked size in bytes"] = sum(entry.file_size for entry in entries), LARGEST_TOTAL
    for what, (size, largest) in sizes.items():
        if size > largest:
            raise ArchiveError(f"{path}: {what} is over {largest}: {size}")


def _packed(path: Path, archive: zipfile.ZipFile) -> Packed:
    sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    metadata = _parsed(archive, METADATA) if sizes.pop(METADATA, None) else None
    graph = metadata.get("@graph") if isinstance(metadata, dict) else None
    if not isinstance(graph, list) or not all(isinstance(e, dict) and isinstance(e.get("@id"), str) for e in graph):
        raise ArchiveError(f"{path} has no {METADATA} that resaudit crate writes")
    entities = {entity["@id"]: entity for entity in graph}
    listed = {
        name: entity.get("sha256")
        for name, entity in entities.items()
        if (kind := entity.get("@type")) == "File" or (isinstance(kind, list) and "File" in kind)
    }
    digests: dict[str, str] = {}
    for name in sizes:
        digest = hashlib.sha256()
        for chunk in _chunks(archive, name):
            digest.update(chunk)
        digests[name] = digest.hexdigest()
    changed = {name for name, digest in digests.items() if listed.get(name) != digest}
    if changed := changed | (listed.keys() - digests.keys()):
        raise ArchiveError(f"{path}: {shown(min(changed))} is not what its {METADATA} lists; get the archive again")
    jobs: dict[str, set[str]] = {}
    for match in filter(None, map(_RESULT.fullmatch, sizes)):
        jobs.setdefault(match[1], set()).add(match[2])
    audit = _parsed(archive, "figures/audit.json") if "figures/audit.json" in sizes else {}
    agents = {key: _agent(entities, key, path) for key in jobs}
    return Packed(path, digests, sizes, agents, jobs, audit if isinstance(audit, dict) else {}, archive)


def _agent(entities: dict[str, dict[str, Any]], key: str, path: Path) -> str | None:
    """Who ran a job, as ``Name`` or ``Name <ORCID>``."""
    reference = entities.get(f"#job/{key}", {}).get("agent")
    if not isinstance(reference, dict) or not isinstance(reference.get("@id"), str):
        return None
    identifier = reference["@id"]
    agent = validated(_Agent, {"name": entities.get(identifier, {}).get("name")}, f"{path}: {METADATA}: agent")
    orcid = _ORCID.fullmatch(identifier)
    return f"{agent.name} <{orcid[1]}>" if orcid else agent.name


def _parsed(archive: zipfile.ZipFile, name: str) -> Any:
    content = b"".join(_chunks(archive, name))
    try:
        value = json.loads(content)
        # Python reads NaN and numbers beyond the largest, which are not JSON.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(
            f"{archive.filename}: {name} is not valid JSON ({one_line(str(error))}); get the archive again"
        ) from error
    return value


def _chunks(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    # zipfile reads no more than the size in the directory, which has been checked, and checks the CRC.
    with _errors_of(f"{name} in {archive.filename}"), archive.open(name) as file:
        while chunk := file.read(2**20):
            yield chunk


@contextmanager
def _errors_of(what: object) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        reason = one_line(str(error)) or type(error).__name__
        raise ArchiveError(f"{what} cannot be read ({reason}); get the archive again") from error
