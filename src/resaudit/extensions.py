"""The optional C extensions. Needs the standard library only, so that they can be asked for at no cost."""

import ctypes
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

NOT_BUILT = "the compiled kernel was not built (it needs a C compiler; pip install -e . builds it)"


def extension(folder: Path, name: str) -> ctypes.CDLL | None:
    """The extension ``name`` in a package's folder; None where it was not built, for want of a C compiler."""
    paths = (folder / f"{name}{suffix}" for suffix in EXTENSION_SUFFIXES)
    found = next((path for path in paths if path.is_file()), None)
    return ctypes.CDLL(str(found)) if found else None
