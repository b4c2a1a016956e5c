"""Bounds on memory and time that hold for every fuzzed input."""

import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = 2 * 2**30
"""Bytes of address space that a test may take beyond what the process has when it begins."""
SECONDS = 3600
"""Not a speed that is asked for: it ends a test that would never end."""


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """An input that asks for more memory gets a MemoryError, which no test here allows."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture(autouse=True)
def bounded_time() -> Iterator[None]:
    """Ends the process where an input runs for ever."""
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
