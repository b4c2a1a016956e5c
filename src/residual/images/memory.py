"""The C library's allocator, told to keep memory between steps: fresh pages cost a training more than arithmetic."""

import ctypes
import sys

# glibc's malloc.h; the largest threshold that it takes is 32 MiB.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_LARGEST_THRESHOLD, _PAD, _NEVER = 32 << 20, 64 << 20, 2**31 - 1


def keep_memory() -> None:
    """Give freed memory back to the system only at the end of the process; without glibc, do nothing."""
    if not sys.platform.startswith("linux"):
        return
    options = {_TRIM_THRESHOLD: _NEVER, _TOP_PAD: _PAD, _MMAP_THRESHOLD: _LARGEST_THRESHOLD}
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in options.items():
            mallopt(option, value)
