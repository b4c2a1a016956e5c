"""Atomic writes: a file is complete or absent."""

import hashlib
import json
import os
import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from resaudit.base.errors import MachineError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path``, renamed to it on success and removed on failure."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            with temporary.open("rb") as file:
                to_disk(file)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise MachineError(
            f"cannot write {path}: {error.strerror or error}; free space or allow it, or choose another folder with "
            "paths.*"
        ) from error


def to_disk(file: IO[bytes]) -> None:
    """Have a file's bytes survive a power cut; some file systems report only here that they are full."""
    try:
        os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, f"the disk does not confirm what it was given ({error.strerror})") from error


def remove_partial(*folders: Path, spared: Collection[str] = ()) -> None:
    """Remove the temporary files of killed writers, except in the folders named ``spared``, where others may write."""
    for folder in folders:
        for path in folder.rglob(".*.part"):
            if path.relative_to(folder).parts[0] not in spared:
                path.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write JSON, readable and ending in a newline."""
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


MOST_FORCED = 8
"""Results that a command names one by one; of more it names the kinds, whose other results are then made too."""


def again(*folders: Path) -> str:
    """What to do about missing or damaged results, which may be expensive.

    A plain run would not: Snakemake asks for no result behind a figure that is there.
    """
    results = [str(folder / "provenance.json") for folder in folders]
    forced = ["--force", *results] if len(folders) <= MOST_FORCED else ["-R", *sorted({f.parent.name for f in folders})]
    make = shlex.join(["snakemake", "--cores", "all", *forced])
    what, them = (folders[0], "it") if len(folders) == 1 else (folders[0].parents[1], "them")
    return f"copy {what} again, or make {them} again (with the run's --config: {make})"


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    return json.loads(path.read_text(encoding="utf-8"))
