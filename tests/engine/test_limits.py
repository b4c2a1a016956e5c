"""What a process may use. Oracle: Linux, where it lets groups be made; elsewhere files in its format.

Sees jobs started for each processor of the host of a container, and memory that the container does not have.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from resaudit.runtime.limits import MOUNTED, memory, processors

ASKED = "from resaudit.runtime.limits import memory, processors; print(processors(), memory())"
PRESENT, BYTES = processors(), memory()
GIB = 2**30


def asked(first: str = "") -> tuple[int, int]:
    """Processors and memory of a new process, after it has run some code."""
    said = subprocess.run(
        [sys.executable, "-c", f"{first}\n{ASKED}"], capture_output=True, text=True, check=True
    ).stdout
    count, size = map(int, said.split())
    return count, size


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no system call for it")
def test_a_process_that_may_use_one_processor_has_one() -> None:
    assert asked("import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})")[0] == 1


@contextmanager
def group(controller: str, **values: int) -> Iterator[Path]:
    """A real control group with these values, of version 2 or of a controller's version 1."""
    outermost = MOUNTED if (MOUNTED / "cgroup.controllers").exists() else MOUNTED / controller
    made = outermost / f"resaudit-test-{os.getpid()}"
    try:
        made.mkdir()
    except OSError as error:
        pytest.skip(f"this machine allows no control groups: {error.strerror}")
    try:
        known = {name: value for name, value in values.items() if (made / name).exists()}
        if not known:
            pytest.skip(f"control groups here have no controller {controller}")
        for name, value in known.items():
            (made / name).write_text(f"{value}\n", encoding="ascii")
        yield made / "cgroup.procs"
    finally:
        made.rmdir()


def test_a_real_quota_of_half_a_processor_is_one() -> None:
    with group("cpu", **{"cpu.max": 50_000, "cpu.cfs_quota_us": 50_000}) as members:
        assert asked(f"import os; open({str(members)!r}, 'w').write(str(os.getpid()))")[0] == 1


def test_a_real_limit_of_memory_is_it() -> None:
    with group("memory", **{"memory.max": GIB, "memory.limit_in_bytes": GIB}) as members:
        assert asked(f"import os; open({str(members)!r}, 'w').write(str(os.getpid()))")[1] == GIB


VERSION_1 = "9:cpu,cpuacct:{path}\n4:memory:{path}\n0::/\n"
VERSION_2 = "0::{path}\n"


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        (VERSION_2, {"a/b/cpu.max": "100000 100000", "a/b/memory.max": GIB, "a/memory.max": "max"}, (1, GIB)),
        # The tightest of those around it counts.
        (VERSION_2, {"a/b/cpu.max": "max 100000", "a/cpu.max": "20000 50000", "a/memory.max": GIB}, (1, GIB)),
        (VERSION_2, {"a/b/cpu.max": "max 100000", "a/b/memory.max": "max"}, (PRESENT, BYTES)),
        (VERSION_2, {"a/b/cpu.max": "99900000 100000", "a/b/memory.max": 2**62}, (PRESENT, BYTES)),
        # A container's own group is the outermost that it sees.
        (VERSION_2, {"cpu.max": "70000 100000", "memory.max": GIB}, (1, GIB)),
        (VERSION_1, {
            "cpu/a/b/cpu.cfs_quota_us": 100000, "cpu/a/b/cpu.cfs_period_us": 100000,
            "cpu/a/cpu.cfs_quota_us": -1, "cpu/a/cpu.cfs_period_us": 100000,
            "memory/a/b/memory.limit_in_bytes": GIB, "memory/memory.limit_in_bytes": 9223372036854771712,
        }, (1, GIB)),
        (VERSION_1, {
            "cpu/cpu.cfs_quota_us": 50000, "cpu/cpu.cfs_period_us": 100000, "memory/memory.limit_in_bytes": GIB,
        }, (1, GIB)),
        (VERSION_1, {"cpu/a/b/cpu.cfs_quota_us": -1, "cpu/a/b/cpu.cfs_period_us": 100000}, (PRESENT, BYTES)),
        (VERSION_2, {}, (PRESENT, BYTES)),
    ],
)  # fmt: skip
def test_the_least_of_affinity_and_groups_counts(
    groups: str, files: dict[str, str | int], expected: tuple[int, int], tmp_path: Path
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{content}\n", encoding="ascii")
    own = tmp_path / "own"
    own.write_text(groups.format(path="/a/b"), encoding="ascii")
    assert (processors(own, tmp_path), memory(own, tmp_path)) == expected


def test_a_system_without_control_groups_has_no_limits(tmp_path: Path) -> None:
    assert processors(tmp_path / "none", tmp_path) >= PRESENT
