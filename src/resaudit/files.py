"""Where a run's files lie, and writing them so that a name never stands for half a file."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from resaudit.config import Paths
from resaudit.errors import ResauditError


class Layout:
    """The paths of every result, as Snakemake's rules name them too."""

    def __init__(self, paths: Paths) -> None:
        self.data = Path(paths.data)
        self.results = Path(paths.results)
        self.figures = Path(paths.figures)

    def dataset(self, name: str) -> Path:
        """Folder of a data set's raw files."""
        return self.data / name

    def whitened(self, data_id: str) -> Path:
        """Folder of whitened data."""
        return self.results / "whiten" / data_id

    def training(self, ensemble_id: str) -> Path:
        """Folder of an ensemble's trajectory."""
        return self.results / "train" / ensemble_id

    def curvature(self, hessians_id: str) -> Path:
        """Folder of the spectra of Hessians."""
        return self.results / "curvature" / hessians_id

    def theory(self, verification_id: str) -> Path:
        """Folder of what the check of a theorem measured."""
        return self.results / "theory" / verification_id

    def state(self, job_id: str) -> Path:
        """Folder of what a long job keeps on its way; no rule's output: Snakemake removes those of a failed job."""
        return self.results / "state" / job_id

    def figure(self, name: str, suffix: str) -> Path:
        """A file of ``paper/figure``."""
        return self.figures / f"{name}.{suffix}"

    def variant(self, name: str) -> Path:
        """Folder of the figures drawn under a variant, by paper."""
        return self.results / "variants" / name

    def check_writable(self) -> None:
        """See that all folders exist or can be made, before anything is run.

        Raises:
            ResauditError: one cannot be written to.
        """
        for key in ("data", "results", "figures"):
            folder: Path = getattr(self, key)
            try:
                there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
            except OSError as error:
                raise ResauditError(f"cannot write into paths.{key}: {error.strerror}; choose another") from error
            if not there.is_dir() or not os.access(there, os.W_OK):
                reason = "not writable" if there.is_dir() else "not a folder"
                raise ResauditError(f"cannot write into {folder}: {there} is {reason}; choose another paths.{key}")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path`` to write to, renamed on success and removed on failure.

    Raises:
        ResauditError: the folder cannot be written to, or the disk is full.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            _to_the_disk(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise ResauditError(f"cannot write {path}: {reason}; free or allow it, or choose another paths.*") from error


def sweep(*folders: Path) -> None:
    """Remove what writers that were killed have left under a temporary name; no other run may be at work there."""
    for folder in folders:
        for path in folder.rglob(".*.part"):
            path.unlink(missing_ok=True)


def _to_the_disk(path: Path) -> None:
    """Bytes that memory alone holds go with the power, and some file systems say only here that they are full."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_json(path: Path, content: Any) -> None:
    """Write JSON, readable and ending in a newline."""
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> Any:
    """What a JSON file holds.

    Raises:
        OSError: it is missing or may not be read.
        ValueError: it is no JSON.
    """
    return json.loads(path.read_text(encoding="utf-8"))
