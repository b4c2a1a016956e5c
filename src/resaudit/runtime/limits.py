"""The processors and the memory that this process may use, which a container or Slurm may limit; how it keeps memory.

Imports only the standard library.
"""

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/proc/self/cgroup")
"""Names the control groups of this process."""
MOUNTED = Path("/sys/fs/cgroup")
"""Where Linux shows control groups."""
# glibc's malloc.h; the largest threshold that it takes is 32 MiB.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_LARGEST_THRESHOLD, _PAD, _NEVER = 32 << 20, 64 << 20, 2**31 - 1


def processors(groups: Path = GROUPS, mounted: Path = MOUNTED) -> int:
    """How many processors this process may use, by its affinity and its control groups; part of one counts as one."""
    present = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = [math.ceil(share) for share in _shares(groups, mounted)]
    return max(1, min(present, *shares)) if shares else present


def memory(groups: Path = GROUPS, mounted: Path = MOUNTED) -> int:
    """How many bytes of memory this process and those in its control groups may use."""
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    files = ("memory.max", "memory.limit_in_bytes")
    said = [word for folder in _folders("memory", groups, mounted) for name in files for word in _words(folder / name)]
    return min([present, *(int(word) for word in said if word != "max")])


def _shares(groups: Path, mounted: Path) -> Iterator[float]:
    """The processors that each of the control groups may use, of those that have a quota."""
    for folder in _folders("cpu", groups, mounted):
        found = _words(folder / "cpu.max") or [
            word for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us") for word in _words(folder / name)
        ]
        if found and found[0] not in ("max", "-1"):
            quota, period = map(int, found)
            yield quota / period


def _folders(controller: str, groups: Path, mounted: Path) -> Iterator[Path]:
    """The folders of this process's control groups up to the outermost, of version 2 and of a controller's version 1.

    A container may show only the outermost, whose files are then those of its own group.
    """
    try:
        lines = groups.read_text(encoding="utf-8").splitlines()
    except OSError:  # no Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            outermost = mounted / controller if controllers else mounted
            names = path.strip("/").split("/")
            yield from (outermost.joinpath(*names[:depth]) for depth in range(len(names), -1, -1))


def _words(file: Path) -> list[str]:
    """The words in a file; none without the file, as in the outermost group."""
    try:
        return file.read_text(encoding="utf-8").split()
    except OSError:
        return []


def keep_memory() -> None:
    """Let the C library keep freed memory to the end of the process; without glibc, do nothing.

    Fresh pages in each step cost a training up to as much as its arithmetic.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform.startswith("linux") else None
    if mallopt is not None:
        options = {_TRIM_THRESHOLD: _NEVER, _TOP_PAD: _PAD, _MMAP_THRESHOLD: _LARGEST_THRESHOLD}
        for option, value in options.items():
            mallopt(option, value)
