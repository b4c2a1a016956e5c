"""Where a run's files lie, and writing them so that a name never stands for half a file."""

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
        return self.data / name

    def whitened(self, data_id: str) -> Path:
        return self.results / "whiten" / data_id

    def training(self, ensemble_id: str) -> Path:
        return self.results / "train" / ensemble_id

    def curvature(self, ensemble_id: str) -> Path:
        return self.results / "curvature" / ensemble_id

    def figure(self, name: str, suffix: str) -> Path:
        return self.figures / f"{name}.{suffix}"

    def reference(self, name: str) -> Path:
        return self.figures / "reference" / f"{name}.csv"


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path`` to write to, renamed on success and removed on failure.

    Raises:
        ResauditError: the folder cannot be written to, or the disk is full.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        reason = error.strerror or error
        raise ResauditError(f"cannot write {path}: {reason}; free or allow it, or choose another paths.*") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write JSON, readable and ending in a newline."""
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
