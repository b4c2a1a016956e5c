"""Dataclasses of arrays as files."""

from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from resaudit.base.errors import reading
from resaudit.base.files import again, written_whole

Arrays = TypeVar("Arrays")


def save_arrays(path: Path, arrays: Any) -> None:
    """Write a dataclass whose fields are arrays or numbers as an uncompressed ``.npz``, atomically."""
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **{f.name: getattr(arrays, f.name) for f in fields(arrays)})


def load_arrays(path: Path, kind: type[Arrays], without: tuple[str, ...] = ()) -> Arrays:
    """Read what :func:`save_arrays` wrote; fields named in ``without`` come back empty and are not read."""
    with reading(path, again(path.parent)), np.load(path, allow_pickle=False) as file:
        names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
        return kind(**{name: np.empty(0) if name in without else np.asarray(file[name]) for name in names})
