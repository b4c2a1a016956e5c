"""Locks of the operating system's, which end with the process that holds them, however it ends."""

import errno
from pathlib import Path

from filelock import FileLock, Timeout

_NO_FLOCK = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
_held: list[FileLock] = []
"""A lock is released with its object."""


def hold(path: Path) -> bool:
    """Hold a lock on a file until this process ends; to hold it twice is to hold it once.

    Returns:
        Whether this process holds it; False where another does.

    Raises:
        NotImplementedError: the file system has no flock.
        OSError: the file cannot be opened.
    """
    # Not filelock's own fallback: a run killed on one node would keep out the next one on another.
    lock = FileLock(path, blocking=False, fallback_to_soft=False, is_singleton=True)
    try:
        lock.acquire()
    except Timeout:
        return False
    except OSError as error:
        if error.errno in _NO_FLOCK:
            raise NotImplementedError(f"the file system of {path.parent} has no flock") from error
        raise
    _held.append(lock)
    return True
