"""Operating-system locks, released when the process that holds them ends, even by SIGKILL."""

import errno
import os
import sys
from pathlib import Path

from filelock import FileLock, Timeout

from resaudit.base.errors import BusyError, MachineError

LOCK = ".lock"
"""The lock's file in a folder of results."""

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


def hold_lock(folder: Path) -> None:
    """Hold a lock on a results folder until this process ends; without flock, warn and continue.

    Snakemake's own lock cannot replace it: the profile disables that (``nolock``) before the Snakefile is read.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not hold(path):
            raise BusyError(
                f"another run (process {path.read_text(encoding='utf-8')}) is at work in {folder}; wait for it, or "
                "give this one another paths.results and paths.figures"
            )
        path.write_text(str(os.getpid()), encoding="utf-8")
    except NotImplementedError as error:
        print(f"resaudit: warning: {error}: start one run at a time there, a second is not noticed", file=sys.stderr)
    except OSError as error:
        raise MachineError(f"cannot write into {folder}: {error.strerror}; choose another paths.results") from error
