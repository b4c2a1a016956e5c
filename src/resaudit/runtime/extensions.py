"""The optional C extensions. Imports only the standard library, so that asking for them is cheap."""

import ctypes
import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

NOT_BUILT = "the compiled kernel was not built from this source (it needs a C compiler; pip install -e . builds it)"

VECTOR_BITS = "RESAUDIT_VECTOR_BITS"
"""Environment variable: the widest vectors, in bits, that the kernels may use; it imitates an older processor."""


def extension(folder: Path, name: str) -> ctypes.CDLL | None:
    """The extension ``_name`` in a package's folder; None if it was not built from the source beside it."""
    paths = (folder / f"_{name}{suffix}" for suffix in EXTENSION_SUFFIXES)
    path = next(filter(Path.is_file, paths), None)
    if path is None:
        return None
    library = ctypes.CDLL(str(path))
    built_from = getattr(library, "resaudit_source", None)
    if built_from is None:
        return None
    built_from.restype = ctypes.c_char_p
    return library if built_from().decode() == source_sha256(folder, name) else None


def source_sha256(folder: Path, name: str) -> str:
    """SHA-256 of an extension's source, as setup.py compiles it in."""
    return hashlib.sha256(b"".join((folder / f"{name}{part}").read_bytes() for part in (".c", "_lanes.h"))).hexdigest()


_LANES: dict[str, Callable[[], int | None]] = {}


def kernel(
    folder: Path, name: str, computes: str, bits: int
) -> tuple[Callable[[], ctypes.CDLL | None], Callable[[], int | None]]:
    """Two functions: the :func:`extension`, loaded once, and the lanes of the widest vector that it may use.

    Both return None if it was not built. Its lanes become part of the CPU platform.

    Args:
        folder: of the package.
        name: of the extension, whose ``resaudit_lanes`` gives the lanes that the processor supports.
        computes: what, in the CPU platform.
        bits: of a lane.
    """
    library = cache(lambda: extension(folder, name))

    def lanes() -> int | None:
        if not (loaded := library()):
            return None
        widest = int(loaded.resaudit_lanes())
        return min(widest, int(os.environ.get(VECTOR_BITS, widest * bits)) // bits)

    _LANES[computes] = lanes
    return library, lanes


def vector_lanes() -> dict[str, int | None]:
    """The lanes of every registered extension, by name."""
    return {name: _LANES[name]() for name in sorted(_LANES)}
