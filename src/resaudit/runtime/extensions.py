"""The optional C extensions. Imports only the standard library, so that asking for them is cheap."""

import ctypes
import hashlib
import os
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

NOT_BUILT = "the compiled kernel was not built from this source (it needs a C compiler; pip install -e . builds it)"

VECTOR_BITS = "RESAUDIT_VECTOR_BITS"
"""Environment variable: the widest vectors, in bits, that the kernels may use; it imitates an older processor."""


def lanes_allowed(lanes: int, bits: int) -> int:
    """How many numbers of ``bits`` bits fit into a vector: ``lanes``, or fewer if :data:`VECTOR_BITS` is set."""
    return min(lanes, int(os.environ.get(VECTOR_BITS, lanes * bits)) // bits)


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


def register_lanes(name: str, lanes: Callable[[], int | None]) -> None:
    """Make an extension part of the CPU platform.

    Args:
        name: what it computes.
        lanes: numbers in the widest vector that extension and processor support; None if it was not built.
    """
    _LANES[name] = lanes


def vector_lanes() -> dict[str, int | None]:
    """The lanes of every registered extension, by name."""
    return {name: _LANES[name]() for name in sorted(_LANES)}
