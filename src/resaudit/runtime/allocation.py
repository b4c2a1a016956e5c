"""How the C library allocates memory in this process."""

import ctypes
import sys

# glibc's malloc.h; the largest threshold that it takes is 32 MiB.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_LARGEST_THRESHOLD, _PAD, _NEVER = 32 << 20, 64 << 20, 2**31 - 1


def keep_memory() -> None:
    """Let the C library keep freed memory to the end of the process; without glibc, do nothing.

    Fresh pages in each step cost a training up to as much as its arithmetic.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform.startswith("linux") else None
    if mallopt is not None:
        options = {_TRIM_THRESHOLD: _NEVER, _TOP_PAD: _PAD, _MMAP_THRESHOLD: _LARGEST_THRESHOLD}
        for option, value in options.items():
            mallopt(option, value)
