"""Locks of the operating system's, which go with the process that holds them, however it ends."""

import errno
import fcntl
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import IO

from resaudit.errors import ResauditError

REFUSED = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK)
"""What a file system says that has no locks."""


def locked(path: Path, shared: bool = False, tries: int = 1) -> IO[str] | None:
    """An open file with a lock on it, held until the file is closed or the process ends.

    Args:
        path: of the file, made if it is not there.
        shared: whether others may hold such a lock too; the file is then only read, and must be there.
        tries: at intervals of 0.05 s, since another process may hold it for an instant only, to see whether it is held.

    Returns:
        None where another process holds it.

    Raises:
        OSError: the file cannot be opened, or its file system has no locks.
    """
    file = path.open("r" if shared else "a+", encoding="utf-8")
    for left in reversed(range(tries)):
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            time.sleep(0.05 if left else 0)
        except OSError:
            file.close()
            raise
    file.close()
    return None


def own_folder(name: str) -> Path:
    """The user's own folder of this name for locks, among the temporary files of this machine.

    Raises:
        ResauditError: it cannot be made, or is another user's.
    """
    folder = Path(tempfile.gettempdir()) / f"resaudit-{name}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise ResauditError(
            f"cannot make {folder} for locks: {error.strerror}; set TMPDIR to another folder"
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise ResauditError(f"{folder}, for locks, is not a folder of yours; set TMPDIR to another")
    return folder
