"""The optional compiled count. Imports only the standard library, so that asking for it is cheap."""

import ctypes
from functools import cache
from pathlib import Path

from resaudit.paper import extension, lanes_allowed, register_lanes


class CountWork(ctypes.Structure):
    """Arguments and results of a count; the layout is that in counts.c."""

    _fields_ = (
        ("depth", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("unit_depth", ctypes.c_int32),
        ("has_shortcuts", ctypes.c_int32),
        ("weights", ctypes.c_void_p),
        ("before", ctypes.c_void_p),
        ("slopes", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("threshold", ctypes.c_double),
        ("most_delayed", ctypes.c_int32),
        ("shifts", ctypes.c_int32),
        ("shift", ctypes.c_void_p),
        ("negative", ctypes.c_void_p),
        ("delayed", ctypes.c_void_p),
        ("log_determinant", ctypes.c_void_p),
        ("largest", ctypes.c_void_p),
        ("memory", ctypes.c_void_p),
    )


@cache
def library() -> ctypes.CDLL | None:
    """The extension ``_counts``; None if it was not built."""
    loaded = extension(Path(__file__).parent, "counts")
    if loaded:
        loaded.resaudit_count.argtypes = (ctypes.POINTER(CountWork), ctypes.c_int)
        loaded.resaudit_count.restype = None
        loaded.resaudit_count_memory.restype = ctypes.c_int64
    return loaded


def lanes() -> int | None:
    """Doubles in the widest vector that extension and processor support; None without the extension."""
    loaded = library()
    return lanes_allowed(loaded.resaudit_count_lanes(), 64) if loaded else None


register_lanes("counts", lanes)
