"""Operating-system locks, released when the process that holds them ends, even by SIGKILL."""

import errno
from pathlib import Path

from filelock import FileLock, Timeout

_NO_FLOCK = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
_held: list[FileLock] = []
"""Keeps the objects alive: a lock is released with its object."""


def is_held(path: Path) -> bool:
    """Whether a process holds a lock on a file; False if that cannot be known."""
    if not path.is_file():
        return False
    try:
        with FileLock(path, blocking=False, fallback_to_soft=False):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def hold(path: Path) -> bool:
    """Hold a lock on a file until this process ends; a second call changes nothing.

    Returns:
        Whether this process holds it; False if another does.

    Raises:
        NotImplementedError: the file system has no flock.
        OSError: the file cannot be opened.
    """
    # Without filelock's soft fallback: a run killed on one node would block the next one on another.
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
