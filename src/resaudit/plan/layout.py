"""The folders of a run."""

import os
from pathlib import Path

from resaudit.base.errors import MachineError, ResauditError
from resaudit.plan.models import Paths

FORMATS = ("pdf", "svg", "png")
SUFFIXES = ("csv", *FORMATS, "json")
"""Of all files of a figure: table, drawings, and what they are of."""


class Layout:
    """The paths of a run's files, used by the code and by the rules."""

    def __init__(self, paths: Paths) -> None:
        self.data = Path(paths.data)
        self.results = Path(paths.results)
        self.figures = Path(paths.figures)

    def figure(self, name: str, suffix: str) -> Path:
        """A file of ``paper/figure``."""
        return self.figures / f"{name}.{suffix}"

    def check_unused(self, fetches: bool = True) -> None:
        """Check before any plan the folders that are empty or missing, and that of data if some are to be fetched.

        Others may be read-only, if the run has nothing to do.
        """
        folders = {key: getattr(self, key) for key in ("results", "figures")}
        unused = [key for key, folder in folders.items() if not (folder.is_dir() and any(folder.iterdir()))]
        self.check_writable(*(["data"] if fetches else []), *unused)

    def check_writable(self, *keys: str) -> None:
        """Check before any job that folders are writable, or can be created."""
        for key in keys:
            folder: Path = getattr(self, key)
            try:
                nearest = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
            except OSError as error:
                raise _unwritable(folder, error.strerror or str(error), key) from error
            if not nearest.is_dir() or not os.access(nearest, os.W_OK):
                raise _unwritable(folder, f"{nearest} is not {'writable' if nearest.is_dir() else 'a folder'}", key)


def _unwritable(folder: Path, reason: str, key: str) -> ResauditError:
    return MachineError(f"cannot write into {folder}: {reason}; choose another paths.{key}")
