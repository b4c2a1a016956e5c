"""Progress of long loops, a line every few seconds; standard streams that never fail."""

import io
import os
import sys
import time
from collections.abc import Collection, Iterator
from typing import TextIO, TypeVar

T = TypeVar("T")
SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Progress of work that is counted in many small items: a line every few seconds, with speed and time left.

    Args:
        total: items of the work.
        unit: name of the items.
        what: name of the work.
    """

    def __init__(self, total: int, unit: str, what: str) -> None:
        self._total, self._unit, self._what = total, unit, what
        self._done = self._skipped = 0
        self._start = self._last = time.monotonic()

    @classmethod
    def over(cls, items: Collection[T], what: str) -> Iterator[T]:
        """Iterate over items and report progress.

        Args:
            items: any items.
            what: the work and, as last word, what the items are, such as ``train/x-1 epochs``.
        """
        name, _, unit = what.rpartition(" ")
        progress = cls(len(items), unit, name)
        for item in items:
            yield item
            progress.add(1)
        progress.end()

    def skip(self, items: int) -> None:
        """Count items that an earlier run has done."""
        self._done += items
        self._skipped += items

    def add(self, items: int) -> None:
        """Count items; log how far the work is if the last line is old enough."""
        self._done += items
        now = time.monotonic()
        if now - self._last > SECONDS_BETWEEN_LINES:
            self._last = now
            speed = (self._done - self._skipped) / (now - self._start)
            left = (self._total - self._done) / speed / 60
            log(f"{self._so_far}, {speed:.0f} {self._unit}/s, {left:.0f} min left")

    def end(self) -> None:
        """Log that the work is done."""
        log(f"{self._so_far} after {time.monotonic() - self._start:.1f} s")

    @property
    def _so_far(self) -> str:
        return f"{self._what}: {self._done} of {self._total} {self._unit}"


def log(line: str, fallback: TextIO | None = None) -> None:
    """Print a line to standard error; a full disk under it is ignored."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        if fallback:
            print(line, file=fallback, flush=True)


def flush_stderr() -> None:
    """Discard what standard error could not take: flushing it at exit would change the exit status."""
    try:
        sys.stderr.flush()
    except OSError:
        sys.stderr = None


def open_streams() -> None:
    """Open closed standard streams to nowhere, and print replacements for characters that an encoding lacks.

    Services and cron close them: Python then has None for a stream, and the next file opened takes its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or os.fdopen(0, "r")
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
