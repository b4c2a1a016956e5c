"""The optional C extensions. Needs the standard library only, so that they can be asked for at no cost."""

import ctypes
import hashlib
import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

NOT_BUILT = "the compiled kernel was not built from this source (it needs a C compiler; pip install -e . builds it)"

VECTOR_BITS = "RESAUDIT_VECTOR_BITS"
"""Environment variable: the widest vectors that the kernels may use, as an older processor would have them."""


def lanes_allowed(lanes: int, bits: int) -> int:
    """How many numbers of ``bits`` bits go into a vector: ``lanes``, or fewer where :data:`VECTOR_BITS` says so."""
    return min(lanes, int(os.environ.get(VECTOR_BITS, lanes * bits)) // bits)


def extension(folder: Path, name: str) -> ctypes.CDLL | None:
    """The extension ``_name`` in a package's folder; None where it was not built from the source beside it."""
    paths = (folder / f"_{name}{suffix}" for suffix in EXTENSION_SUFFIXES)
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        return None
    loaded = ctypes.CDLL(str(found))
    built_from = getattr(loaded, "resaudit_source", None)
    if built_from is None:
        return None
    built_from.restype = ctypes.c_char_p
    return loaded if built_from().decode() == source_sha256(folder, name) else None


def source_sha256(folder: Path, name: str) -> str:
    """SHA-256 of an extension's source, as setup.py compiles it in."""
    return hashlib.sha256(b"".join((folder / f"{name}{part}").read_bytes() for part in (".c", "_lanes.h"))).hexdigest()
